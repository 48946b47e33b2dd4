from attnbook import sinusoidal_encoding

encoding = sinusoidal_encoding(len_k, d_model)
