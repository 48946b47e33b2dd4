from attnbook import additive_attention

v = w_q[0, :head_dim]  # what scores the hidden units
w_query, w_key = w_k[:head_dim, :head_dim], w_o[:head_dim, :head_dim]
output, weights = additive_attention(query, key, value, w_query, w_key, v, mask)
