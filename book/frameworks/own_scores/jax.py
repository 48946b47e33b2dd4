import jax

weights = jax.nn.softmax(scores, where=mask)
output = weights @ value
