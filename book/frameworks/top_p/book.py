import numpy as np
from attnbook import softmax

likeliest = -np.sort(-logits)
shares = softmax(likeliest)
before = shares.cumsum(axis=-1) - shares  # of all that are likelier
least = np.where(before < 0.9, likeliest, np.inf).min(axis=-1)[..., None]
probabilities = softmax(np.where(logits < least, -np.inf, logits))
