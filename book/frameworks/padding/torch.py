import torch
from torch.nn.functional import scaled_dot_product_attention

padding = (torch.arange(len_k) < lengths[:, None])[:, None, None]
output = scaled_dot_product_attention(query, key, value, attn_mask=padding)
