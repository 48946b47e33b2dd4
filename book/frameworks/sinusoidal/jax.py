import jax.numpy as jnp

frequencies = 10000 ** (-jnp.arange(0, d_model, 2, dtype=x.dtype) / d_model)
angles = jnp.arange(len_k)[:, None] * frequencies  # (len, d_model / 2)
pairs = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1)
encoding = pairs.reshape(len_k, d_model)
