import jax
from jax.test_util import check_grads

def attention(q, k, v):
    return jax.nn.softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v

few = query[0, 0], key[0, 0], value[0, 0]
right = check_grads(attention, few, order=1) is None  # else it raises
