import jax.numpy as jnp

def rotary_halves(x, positions, base=10000.0):
    size, (first, second) = x.shape[-1], jnp.split(x, 2, axis=-1)
    frequencies = base ** (-jnp.arange(0, size, 2, dtype=x.dtype) / size)
    angles = positions[:, None] * frequencies
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    turned = first * cosine - second * sine, second * cosine + first * sine
    return jnp.concatenate(turned, axis=-1)

rotated = rotary_halves(query, jnp.arange(len_q))
