import jax

q, k = ((x[0] @ w).reshape(len_k, num_heads, -1)[:, 3] for w in (w_q, w_k))
head = jax.nn.softmax(q @ k.T / head_dim**0.5)
