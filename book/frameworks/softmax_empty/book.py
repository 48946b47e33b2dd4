import numpy as np
from attnbook import softmax

weights = softmax(np.where(empty, scores, -np.inf))
