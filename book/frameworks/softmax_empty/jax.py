import jax

weights = jax.nn.softmax(scores, where=empty)
