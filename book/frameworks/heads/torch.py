split = x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
merged = split.transpose(1, 2).flatten(-2)
