from attnbook import causal_mask, self_attention

output = self_attention(x, w_q, w_k, w_v, causal_mask(len_k)).output
