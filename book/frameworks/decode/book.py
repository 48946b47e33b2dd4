import numpy as np
from attnbook import KVCache, scaled_dot_product_attention

cache, outputs = KVCache(), []
cache.append(key[..., :4, :], value[..., :4, :])  # the prompt
for t in range(4, len_k):
    seen = cache.append(key[..., t, None, :], value[..., t, None, :])
    outputs.append(scaled_dot_product_attention(key[..., t, None, :], *seen).output)
output = np.concatenate(outputs, axis=-2)
