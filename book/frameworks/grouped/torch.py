from torch.nn.functional import scaled_dot_product_attention as attention

output = attention(query, shared_key, shared_value, enable_gqa=True)
