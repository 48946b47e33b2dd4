import numpy as np
from attnbook import softmax

kept = logits / 0.7  # 1. temperature
kept[kept < np.sort(kept)[..., -9, None]] = -np.inf  # 2. top-k
likeliest = -np.sort(-kept)
shares = softmax(likeliest)
reach = shares.cumsum(axis=-1) - shares < 0.8
kept[kept < np.where(reach, likeliest, np.inf).min(axis=-1)[..., None]] = -np.inf
probabilities = softmax(kept)  # 3. top-p
