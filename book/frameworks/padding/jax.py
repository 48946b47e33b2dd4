import jax
import jax.numpy as jnp

padding = (jnp.arange(len_k) < lengths[:, None])[:, None, None]
q, k, v = (heads.swapaxes(1, 2) for heads in (query, key, value))
output = jax.nn.dot_product_attention(q, k, v, mask=padding).swapaxes(1, 2)
