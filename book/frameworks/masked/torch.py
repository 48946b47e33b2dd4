from torch.nn.functional import scaled_dot_product_attention

output = scaled_dot_product_attention(query, key, value, attn_mask=mask)
