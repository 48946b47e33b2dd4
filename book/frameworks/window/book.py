import numpy as np
from attnbook import causal_mask, scaled_dot_product_attention

window = causal_mask(len_k) & ~np.tri(len_k, k=-3, dtype=bool)  # and two before
output = scaled_dot_product_attention(key, key, value, window).output
