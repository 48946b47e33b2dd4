import torch
from torch import nn

options = {"bias": False, "batch_first": True, "dtype": x.dtype}
layer = nn.MultiheadAttention(d_model, num_heads, **options)
packed = torch.cat([w_q.T, w_k.T, w_v.T])
layer.load_state_dict({"in_proj_weight": packed, "out_proj.weight": w_o.T})
later = torch.ones(len_k, len_k, dtype=torch.bool).triu(1)  # True: blocked
padding = torch.arange(len_k) >= lengths[:, None]  # True: padding
output, _ = layer(x, x, x, key_padding_mask=padding, attn_mask=later)
