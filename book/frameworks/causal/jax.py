import jax

k, v = key.swapaxes(1, 2), value.swapaxes(1, 2)
output = jax.nn.dot_product_attention(k, k, v, is_causal=True).swapaxes(1, 2)
