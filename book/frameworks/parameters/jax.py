import jax.numpy as jnp
import numpy as np
from attnbook.pretrained import storyteller

def tensors(thing):  # of a Decoder, a DecoderLayer, a MultiHeadAttention
    held = vars(thing).items()
    return {n: jnp.asarray(a) for n, a in held if isinstance(a, np.ndarray)}

vectors = tensors(storyteller.load())["embedding"]
