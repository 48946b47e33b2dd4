from attnbook import merge_heads, split_heads

split = split_heads(x, num_heads)
merged = merge_heads(split)
