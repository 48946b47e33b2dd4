import torch
from torch import nn

layer = nn.MultiheadAttention(d_model, num_heads, batch_first=True, dtype=x.dtype)
state = {
    "in_proj_weight": torch.cat([w_q.T, w_k.T, w_v.T]),
    "in_proj_bias": torch.cat([b_q, b_k, b_v]),
    "out_proj.weight": w_o.T,
    "out_proj.bias": b_o,
}
layer.load_state_dict(state)
output, weights = layer(x, x, x, average_attn_weights=False)
