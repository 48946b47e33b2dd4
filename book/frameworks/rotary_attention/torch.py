import torch
from torch.nn.functional import scaled_dot_product_attention

def rotary_attention(x, p, head_dim, base=10000.0):
    split = ((x @ p[f"w_{of}"]).unflatten(-1, (-1, head_dim)) for of in "qkv")
    q, k, v = (heads.transpose(1, 2) for heads in split)
    q, k = (rotary(heads, torch.arange(x.shape[1]), base) for heads in (q, k))
    heads = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return heads.transpose(1, 2).flatten(2) @ p["w_o"]

p = {"w_q": w_q, "w_k": w_k[:, :30], "w_v": w_v[:, :30], "w_o": w_o}
mixed = rotary_attention(x, p, head_dim)
