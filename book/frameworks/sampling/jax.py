import jax
import jax.numpy as jnp

likeliest, at = jax.lax.top_k(logits / 0.7, 9)  # 1. temperature, 2. top-k
shares = jax.nn.softmax(likeliest)
kept = shares.cumsum(axis=-1) - shares < 0.8  # 3. top-p
shares = jax.nn.softmax(likeliest, where=kept)
zeros = jnp.zeros_like(logits)
probabilities = jnp.put_along_axis(zeros, at, shares, -1, inplace=False)
