import numpy as np
import torch
from attnbook.pretrained import storyteller

def tensors(thing):  # of a Decoder, a DecoderLayer, a MultiHeadAttention
    held = vars(thing).items()
    return {n: torch.from_numpy(a) for n, a in held if isinstance(a, np.ndarray)}

vectors = tensors(storyteller.load())["embedding"]
