from torch.nn.functional import scaled_dot_product_attention

output = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v)
