from attnbook import blockwise_attention

output, logsumexp = blockwise_attention(query, key, value)
