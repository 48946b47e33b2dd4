import numpy as np
from attnbook import Adam, cross_entropy, linear_backward, warmup_cosine

w, adam, losses = embedding.T, Adam.start(embedding.T), []
for step in range(4):
    loss, gradient = cross_entropy(x @ w, tokens)
    _, d_w = linear_backward(gradient, x, w)
    d_w = d_w * min(1, 0.5 / np.linalg.norm(d_w))
    w, adam = adam.step(w, d_w, warmup_cosine(step, 20, 5, 0.01))
    losses.append(loss)
