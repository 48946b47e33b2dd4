import numpy as np
from attnbook import cross_entropy

counts = np.arange(len_k) < lengths[:, None]  # padding does not
loss, d_logits = cross_entropy(logits, tokens, counts)
