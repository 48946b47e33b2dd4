import jax
import jax.numpy as jnp

packed = jnp.concatenate([w_q, w_k, w_v], axis=1), jnp.concatenate([b_q, b_k, b_v])
heads = (x @ packed[0] + packed[1]).reshape(*x.shape[:2], 3, num_heads, -1)
q, k, v = jnp.moveaxis(heads, (2, 3), (0, 2))  # each (batch, heads, len, head_dim)
weights = jax.nn.softmax(q @ k.mT / head_dim**0.5)
output = (weights @ v).swapaxes(1, 2).reshape(x.shape) @ w_o + b_o
