import torch

weights = torch.softmax(scores.masked_fill(~empty, -torch.inf), dim=-1)
weights = weights.masked_fill(~empty, 0)  # 0 for NaN, where all is masked
