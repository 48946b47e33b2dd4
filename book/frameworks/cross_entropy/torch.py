import torch
from torch.nn.functional import cross_entropy

counts = torch.arange(len_k) < lengths[:, None]
targets = tokens.masked_fill(~counts, -100)  # ignore_index
scored = logits.clone().requires_grad_()
loss = cross_entropy(scored.flatten(0, 1), targets.flatten())
(d_logits,) = torch.autograd.grad(loss, scored)
