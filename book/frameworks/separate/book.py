from attnbook import MultiHeadAttention

read = {"w_q": w_q, "w_k": w_k[:13], "w_v": w_v[:11], "w_o": w_o}
layer = MultiHeadAttention(**read, num_heads=num_heads)
output = layer(x, memory[..., :13], memory[..., :11]).output
