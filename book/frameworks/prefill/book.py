from attnbook import KVCache, causal_mask, scaled_dot_product_attention

cache = KVCache()
seen = cache.append(key[..., :4, :], value[..., :4, :])
output = scaled_dot_product_attention(key[..., :4, :], *seen, causal_mask(4)).output
