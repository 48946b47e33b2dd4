from torch.nn.functional import scaled_dot_product_attention

output = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=True)
