from attnbook import alibi_bias, causal_mask, scaled_dot_product_attention

k, v, causal = key[:, :8], value[:, :8], causal_mask(len_k)  # 8 heads
penalty = alibi_bias(8, len_k)
output = scaled_dot_product_attention(k, k, v, causal, bias=penalty).output
