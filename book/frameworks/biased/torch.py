import torch
from torch.nn.functional import scaled_dot_product_attention

both = bias.masked_fill(~mask, -torch.inf)
output = scaled_dot_product_attention(query, key, value, attn_mask=both)
