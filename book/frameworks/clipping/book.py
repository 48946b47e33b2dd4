import numpy as np

norm = np.linalg.norm([*w_q.flat, *w_k.flat])  # of all gradients as one vector
clipped = w_q * min(1, 1 / norm)
