import jax

least = jax.lax.top_k(logits, 5)[0][..., -1:]
probabilities = jax.nn.softmax(logits, where=logits >= least)
