from torch import nn

options = {"kdim": 13, "vdim": 11, "bias": False, "batch_first": True}
layer = nn.MultiheadAttention(d_model, num_heads, **options, dtype=x.dtype)
state = {"q_proj_weight": w_q.T, "k_proj_weight": w_k[:13].T}
state |= {"v_proj_weight": w_v[:11].T, "out_proj.weight": w_o.T}
layer.load_state_dict(state)
output, _ = layer(x, memory[..., :13], memory[..., :11], need_weights=False)
