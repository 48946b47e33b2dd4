import jax
import jax.numpy as jnp

padding = (jnp.arange(len_k) < lengths[:, None])[:, None, None]
q, k, v = ((x @ w).reshape(*x.shape[:2], num_heads, -1) for w in (w_q, w_k, w_v))
mixed = jax.nn.dot_product_attention(q, k, v, mask=padding, is_causal=True)
output = mixed.reshape(x.shape) @ w_o
