from attnbook import MultiHeadAttention

layer = MultiHeadAttention(
    w_q=w_q, w_k=w_k[:13], w_v=w_v[:11], w_o=w_o, num_heads=num_heads,
)  # fmt: skip
output = layer(x, memory[..., :13], memory[..., :11]).output
