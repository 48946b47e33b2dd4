import jax
import optax

clip, adam = optax.clip_by_global_norm(0.5), optax.adam(schedule(20, 5, 0.01))
loss_of = optax.softmax_cross_entropy_with_integer_labels
loss_and_gradient = jax.value_and_grad(lambda w: loss_of(x @ w, tokens).mean())
w, step, losses = embedding.T, optax.chain(clip, adam), []
state = step.init(w)
for _ in range(4):
    loss, d_w = loss_and_gradient(w)
    updates, state = step.update(d_w, state)
    w, losses = optax.apply_updates(w, updates), [*losses, loss]
