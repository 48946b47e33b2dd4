from torch.nn.functional import scaled_dot_product_attention

output = scaled_dot_product_attention(key, key, value, is_causal=True)
