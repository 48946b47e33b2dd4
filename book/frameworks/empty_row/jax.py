import jax
import jax.numpy as jnp

q, k, v = (heads.swapaxes(1, 2) for heads in (query, key, value))
output = jax.nn.dot_product_attention(q, k, v, mask=empty).swapaxes(1, 2)
output = jnp.where(empty.any(axis=-1, keepdims=True), output, 0)
