import jax

scores = query @ key.mT / query.shape[-1] ** 0.5
weights = jax.nn.softmax(scores, where=mask)
output = weights @ value
