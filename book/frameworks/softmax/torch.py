import torch

weights = torch.softmax(scores, dim=-1)
