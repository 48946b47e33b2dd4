import torch

least = logits.topk(5).values[..., -1:]
kept = logits.masked_fill(logits < least, -torch.inf)
probabilities = torch.softmax(kept, dim=-1)
