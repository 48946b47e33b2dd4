from attnbook import blockwise_attention

output = blockwise_attention(query, key, value).output
