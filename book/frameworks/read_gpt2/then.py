from attnbook import causal_mask

output = layer(x, mask=causal_mask(len_k)).output
