import torch

shares, order = torch.softmax(logits, dim=-1).sort(descending=True)
before = shares.cumsum(dim=-1) - shares  # of all that are likelier
kept = shares.masked_fill(before >= 0.9, 0)
probabilities = torch.zeros_like(logits).scatter(-1, order, kept)
probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
