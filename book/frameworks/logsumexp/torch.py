import torch

scores = query @ key.mT / head_dim**0.5
logsumexp = scores.logsumexp(dim=-1)
output = torch.softmax(scores, dim=-1) @ value
