from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

aligned = causal_lower_right(len_q, len_k)
output = scaled_dot_product_attention(query, key, value, attn_mask=aligned)
