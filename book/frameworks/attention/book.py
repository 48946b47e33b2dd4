from attnbook import scaled_dot_product_attention

output = scaled_dot_product_attention(query, key, value).output
