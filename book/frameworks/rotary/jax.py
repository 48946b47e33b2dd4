import jax.numpy as jnp

def rotary(x, positions, base=10000.0):
    size, pairs = x.shape[-1], x.reshape(*x.shape[:-1], -1, 2)
    frequencies = base ** (-jnp.arange(0, size, 2, dtype=x.dtype) / size)
    angles = positions[:, None] * frequencies
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    even, odd = pairs[..., 0], pairs[..., 1]
    turned = even * cosine - odd * sine, even * sine + odd * cosine
    return jnp.stack(turned, axis=-1).reshape(x.shape)

rotated = rotary(query, jnp.arange(len_q))
