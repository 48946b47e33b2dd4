import torch

hidden = scores.masked_fill(~mask, -torch.inf)
weights = torch.softmax(hidden, dim=-1)
output = weights @ value
