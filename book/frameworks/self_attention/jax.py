import jax

q, k, v = ((x @ w)[:, :, None] for w in (w_q, w_k, w_v))  # one head
output = jax.nn.dot_product_attention(q, k, v, is_causal=True)[:, :, 0]
