import jax
import jax.numpy as jnp

shares, order = jax.lax.top_k(jax.nn.softmax(logits), vocab)
before = shares.cumsum(axis=-1) - shares  # of all that are likelier
kept = jnp.where(before < 0.9, shares, 0)
kept = kept / kept.sum(axis=-1, keepdims=True)
zeros = jnp.zeros_like(logits)
probabilities = jnp.put_along_axis(zeros, order, kept, -1, inplace=False)
