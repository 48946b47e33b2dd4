from attnbook import causal_mask, scaled_dot_product_attention

output = scaled_dot_product_attention(key, key, value, causal_mask(len_k)).output
