from attnbook import causal_mask, scaled_dot_product_attention

last = causal_mask(len_q, len_k)
output = scaled_dot_product_attention(query, key, value, last).output
