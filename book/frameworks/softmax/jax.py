import jax

weights = jax.nn.softmax(scores)
