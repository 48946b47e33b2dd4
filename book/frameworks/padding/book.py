from attnbook import padding_mask, scaled_dot_product_attention

padding = padding_mask(lengths, len_k)[:, None]  # (batch, 1, 1, len_k)
output = scaled_dot_product_attention(query, key, value, padding).output
