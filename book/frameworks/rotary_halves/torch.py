import torch

def rotary_halves(x, positions, base=10000.0):
    size, (first, second) = x.shape[-1], x.chunk(2, dim=-1)
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = positions[:, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    turned = first * cosine - second * sine, second * cosine + first * sine
    return torch.cat(turned, dim=-1)

rotated = rotary_halves(query, torch.arange(len_q))
