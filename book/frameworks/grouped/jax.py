import jax

q, k, v = (heads.swapaxes(1, 2) for heads in (query, shared_key, shared_value))
output = jax.nn.dot_product_attention(q, k, v).swapaxes(1, 2)
