from attnbook import scaled_dot_product_attention

output = scaled_dot_product_attention(query, shared_key, shared_value).output
