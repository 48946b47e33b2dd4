import jax
import jax.numpy as jnp

def rotary_attention(x, p, head_dim, base=10000.0):
    split = ((x @ p[f"w_{of}"]).reshape(*x.shape[:2], -1, head_dim) for of in "qkv")
    q, k, v = (heads.swapaxes(1, 2) for heads in split)
    q, k = (rotary(heads, jnp.arange(x.shape[1]), base) for heads in (q, k))
    q, k, v = (heads.swapaxes(1, 2) for heads in (q, k, v))
    heads = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return heads.reshape(*x.shape[:2], -1) @ p["w_o"]
p = {"w_q": w_q, "w_k": w_k[:, :30], "w_v": w_v[:, :30], "w_o": w_o}
mixed = rotary_attention(x, p, head_dim)
