from attnbook import Adam

stepped, adam = w_q, Adam.start(w_q)
for gradient in (w_k, w_v, w_o):
    stepped, adam = adam.step(stepped, gradient, 0.01)
