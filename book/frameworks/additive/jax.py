import jax
import jax.numpy as jnp

v = w_q[0, :head_dim]
w_query, w_key = w_k[:head_dim, :head_dim], w_o[:head_dim, :head_dim]
hidden = jnp.tanh((query @ w_query)[..., None, :] + (key @ w_key)[..., None, :, :])
weights = jax.nn.softmax(hidden @ v, where=mask)
output = weights @ value
