from attnbook import MultiHeadAttention, apply_rotary, causal_mask
from attnbook import scaled_dot_product_attention

layer = MultiHeadAttention(
    w_q=w_q, w_k=w_k[:, :30], w_v=w_v[:, :30], w_o=w_o, num_heads=9, num_kv_heads=3
)
q, k = apply_rotary(layer.queries(x)), apply_rotary(layer.keys(x))
attended = scaled_dot_product_attention(q, k, layer.values(x), causal_mask(len_k))
mixed = layer.combine(attended.output)
