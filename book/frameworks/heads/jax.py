split = x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
merged = split.swapaxes(1, 2).reshape(x.shape)
