from attnbook import MultiHeadAttention

layer = MultiHeadAttention(
    w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o,
    b_q=b_q, b_k=b_k, b_v=b_v, b_o=b_o, num_heads=num_heads,
)
output, weights = layer(x)
