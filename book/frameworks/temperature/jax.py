import jax

probabilities = jax.nn.softmax(logits / 0.7)
drawn = jax.random.categorical(jax.random.key(0), logits / 0.7)  # takes logits
