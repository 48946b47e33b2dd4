import jax
import jax.numpy as jnp

def project(x, w):
    return jnp.einsum("btd,dhk->bthk", x, w.reshape(len(w), num_heads, -1))

q = project(x, w_q)
k, v = project(memory[..., :13], w_k[:13]), project(memory[..., :11], w_v[:11])
mixed = jax.nn.dot_product_attention(q, k, v)  # (batch, len, heads, head_dim)
output = mixed.reshape(x.shape) @ w_o
