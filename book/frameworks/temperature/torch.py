import torch

probabilities = torch.softmax(logits / 0.7, dim=-1)
drawn = torch.multinomial(probabilities.flatten(0, 1), 1)
