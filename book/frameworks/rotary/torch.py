import torch

def rotary(x, positions, base=10000.0):
    size, pairs = x.shape[-1], x.unflatten(-1, (-1, 2))
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = positions[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = pairs.unbind(-1)
    turned = even * cosine - odd * sine, even * sine + odd * cosine
    return torch.stack(turned, dim=-1).flatten(-2)

rotated = rotary(query, torch.arange(len_q))
