import jax
import jax.numpy as jnp
import optax

def mean_loss(logits):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens)
    return losses.mean(where=counts)

counts = jnp.arange(len_k) < lengths[:, None]
loss, d_logits = jax.value_and_grad(mean_loss)(logits)
