import numpy as np

rng = np.random.default_rng(0)
batch, len_q, len_k, head_dim, hidden, vocab = 2, 5, 7, 10, 13, 61
num_heads, num_kv_heads, d_model = 9, 3, 90


def draw(*shape):
    return rng.standard_normal(shape)


query = draw(batch, num_heads, len_q, head_dim)
key, value = draw(2, batch, num_heads, len_k, head_dim)
shared_key, shared_value = draw(2, batch, num_kv_heads, len_k, head_dim)
scores, bias = draw(2, batch, num_heads, len_q, len_k)
mask = rng.random((batch, 1, len_q, len_k)) < 0.6  # True: may attend
mask[..., 0] = True
empty = mask.copy()
empty[1, 0, 2] = False  # a query that may attend to nothing
lengths = np.array([7, 4])
x = draw(batch, len_k, d_model)
memory = draw(batch, 11, d_model)
w_q, w_k, w_v, w_o = draw(4, d_model, d_model) / d_model**0.5
b_q, b_k, b_v, b_o = draw(4, d_model)
gain, shift = draw(2, d_model)
w_gate, w_up = draw(2, d_model, hidden) / d_model**0.5
w_down = draw(hidden, d_model) / hidden**0.5
b_in = draw(hidden)
embedding = draw(vocab, d_model)
tokens = rng.integers(vocab, size=(batch, len_k))
logits = 3 * draw(batch, len_k, vocab)
d_output = draw(batch, num_heads, len_q, head_dim)
