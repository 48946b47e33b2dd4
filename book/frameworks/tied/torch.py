import torch

vectors = torch.nn.functional.embedding(tokens, embedding)
predicted = torch.nn.functional.linear(vectors, embedding)
