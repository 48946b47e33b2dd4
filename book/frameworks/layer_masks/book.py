from attnbook import MultiHeadAttention, causal_mask, padding_mask

layer = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)
output = layer(x, mask=causal_mask(len_k) & padding_mask(lengths)).output
