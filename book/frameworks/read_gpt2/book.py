import numpy as np
from attnbook import MultiHeadAttention
from attnbook.pretrained.state_dicts import take

packed = take(state, "c_attn.weight", (d_model, 3 * d_model))  # x @ w there, too
w_q, w_k, w_v = np.split(packed, 3, axis=1)
b_q, b_k, b_v = np.split(take(state, "c_attn.bias", (3 * d_model,)), 3)
w_o = take(state, "c_proj.weight", (d_model, d_model))
b_o = take(state, "c_proj.bias", (d_model,))
read = dict(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, b_q=b_q, b_k=b_k, b_v=b_v, b_o=b_o)
layer = MultiHeadAttention(**read, num_heads=num_heads)
