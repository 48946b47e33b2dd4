from attnbook import cross_attention

output = cross_attention(x, memory, w_q, w_k, w_v).output
