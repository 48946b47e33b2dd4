import jax.numpy as jnp

def interleaved(w):  # a head's columns: from two halves to pairs of neighbours
    return w.reshape(len(w), num_heads, 2, -1).mT.reshape(w.shape)

projected = (x @ interleaved(w) for w in (w_q, w_k))
split = (each.reshape(batch, len_k, num_heads, -1) for each in projected)
turned = [rotary(each.swapaxes(1, 2), jnp.arange(len_k)) for each in split]
scores = turned[0] @ turned[1].mT
