import torch
from torch import nn

layer = nn.MultiheadAttention(
    d_model, num_heads, bias=False, batch_first=True, dtype=x.dtype
)
packed = torch.cat([w_q.T, w_k.T, w_v.T])
layer.load_state_dict({"in_proj_weight": packed, "out_proj.weight": w_o.T})
_, maps = layer(x, x, x, average_attn_weights=False)  # (batch, heads, len, len)
head = maps[0, 3]
