import torch
from torch.nn.functional import scaled_dot_product_attention

leaves = [heads.clone().requires_grad_() for heads in (query, key, value)]
output = scaled_dot_product_attention(*leaves, attn_mask=mask)
d_query, d_key, d_value = torch.autograd.grad(output, leaves, d_output)
