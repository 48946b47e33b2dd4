from attnbook import MultiHeadAttention

layer = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)
head = layer(x).weights[0, 3]  # (len, len)
