import torch
from torch.nn.functional import scaled_dot_product_attention

heads = query[:1, :1], key[:1, :1], value[:1, :1]
few = [each.double().requires_grad_() for each in heads]
right = torch.autograd.gradcheck(scaled_dot_product_attention, few)
