import optax

adam = optax.adam(0.01)
stepped, state = w_q, adam.init(w_q)
for gradient in (w_k, w_v, w_o):
    updates, state = adam.update(gradient, state)
    stepped = optax.apply_updates(stepped, updates)
