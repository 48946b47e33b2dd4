from attnbook import MultiHeadAttention
from attnbook.pretrained.state_dicts import take

def thirds(name, *shape):  # of queries, keys, values
    return take(state, name, (3 * d_model, *shape)).reshape(3, d_model, *shape)
w_q, w_k, w_v = thirds("in_proj_weight", d_model).mT  # W x there, x @ w here
b_q, b_k, b_v = thirds("in_proj_bias")
w_o = take(state, "out_proj.weight", (d_model, d_model)).T
b_o = take(state, "out_proj.bias", (d_model,))
read = dict(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, b_q=b_q, b_k=b_k, b_v=b_v, b_o=b_o)
layer = MultiHeadAttention(**read, num_heads=num_heads)
