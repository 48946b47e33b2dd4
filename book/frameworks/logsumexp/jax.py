import jax

q, k, v = (heads.swapaxes(1, 2) for heads in (query, key, value))
output, logsumexp = jax.nn.dot_product_attention(q, k, v, return_residual=True)
output, logsumexp = output.swapaxes(1, 2), logsumexp.swapaxes(1, 2)
