import torch

scores = query @ key.mT / query.shape[-1] ** 0.5
weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
output = weights @ value
