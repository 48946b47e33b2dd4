import torch
from torch.nn.functional import scaled_dot_product_attention

window = torch.ones(len_k, len_k, dtype=torch.bool).tril().triu(-2)
output = scaled_dot_product_attention(key, key, value, attn_mask=window)
