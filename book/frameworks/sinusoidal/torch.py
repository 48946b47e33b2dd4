import torch

frequencies = 10000 ** (-torch.arange(0, d_model, 2, dtype=x.dtype) / d_model)
angles = torch.arange(len_k)[:, None] * frequencies  # (len, d_model / 2)
encoding = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
