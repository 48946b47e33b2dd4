import jax
import jax.numpy as jnp

q, k, v = (heads.swapaxes(1, 2) for heads in (query, key, value))
aligned = jnp.tri(len_q, len_k, len_k - len_q, dtype=bool)[None, None]
output = jax.nn.dot_product_attention(q, k, v, mask=aligned).swapaxes(1, 2)
