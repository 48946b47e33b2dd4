import numpy as np
from attnbook import Decoder, Rotary

table, rotary = x.reshape(-1, d_model), Rotary(pairing="halves")
norms = {"final_norm": np.ones(d_model), "norm_eps": 1e-6}
decoder = Decoder(embedding=table, layers=(layer,), positions=rotary, **norms)
output = decoder.trace(np.arange(len(table)).reshape(batch, len_k)).states[1]
