"""The same in NumPy, PyTorch and JAX, on sizes that chapters use."""

import functools

import numpy as np

from attnbook import MultiHeadAttention, attention_backward, scaled_dot_product_attention
from tools.bench.table import best_times, threads

LENGTH = 512  # of 8 heads of 64
MINILM = 384, 12, 128  # d_model, heads, a sentence of so many tokens
CACHED = 8192
ROUNDS = 60


def measure(table):
    try:
        import jax
        import torch
    except ImportError:
        print("PyTorch and JAX are not both installed: no rows for them.")
        return
    torch.set_num_threads(threads())
    names = {
        "torch": f"torch {torch.__version__.partition('+')[0]}",
        "jax": f"jax {jax.__version__}",
    }
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    heads = [draw(1, 8, LENGTH, 64) for _ in range(4)]
    step = [draw(1, 8, 1, 64), *(draw(1, 8, CACHED, 64) for _ in "kv")]
    jax_attention = jax.jit(jax.nn.dot_product_attention)
    attention = scaled_dot_product_attention, torch_attention, jax_attention
    compare(table, names, "side by side: attention", LENGTH, attention, heads[1:])
    backward = attention_backward, torch_backward, jax.jit(jax_backward)
    compare(table, names, "side by side: its gradients", LENGTH, backward, heads)
    compare(table, names, "side by side: one query", CACHED, attention, step)
    d_model, num_heads, length = MINILM
    layer = MultiHeadAttention.init(rng, d_model, num_heads, dtype=np.float32)
    weights = layer.w_q, layer.w_k, layer.w_v, layer.w_o
    layers = (
        lambda x, *_: layer(x).output,
        functools.partial(torch_layer, num_heads),
        jax.jit(functools.partial(jax_layer, num_heads)),
    )
    inputs = [draw(1, length, d_model), *weights]
    compare(table, names, "side by side: a layer", length, layers, inputs)


def compare(table, names, what, length, functions, arrays):
    """Time all three on the same numbers, once they agree; JAX's lie as its attention has them."""
    import jax
    import torch

    ours, theirs, other = functions
    tensors, placed = (
        [*map(torch.from_numpy, arrays)],
        [*map(jax.numpy.asarray, map(turned, arrays))],
    )
    runs = [
        lambda: ours(*arrays),
        lambda: theirs(*tensors),
        lambda: jax.block_until_ready(other(*placed)),
    ]
    expected, *results = (first(run()) for run in runs)
    results[1] = turned(results[1])
    for result in results:
        np.testing.assert_allclose(result, expected, atol=1e-4)
    time, *others = 1e3 * best_times(runs, (), ROUNDS)
    for name, of_other in zip(names.values(), others, strict=True):
        table.add(what, time, name, of_other, "ms", length)


def turned(array):
    """Move heads behind the length, or back; what has none stays."""
    return array.swapaxes(1, 2) if array.ndim == 4 else array


def first(result):
    """Return an output, or the first of several gradients, as an array."""
    return np.asarray(result[0] if isinstance(result, tuple) else result)


def torch_attention(*heads):
    import torch

    with torch.inference_mode():
        return torch.nn.functional.scaled_dot_product_attention(*heads)


def torch_backward(d_output, *heads):
    import torch

    leaves = [each.detach().requires_grad_() for each in heads]
    output = torch.nn.functional.scaled_dot_product_attention(*leaves)
    return torch.autograd.grad(output, leaves, d_output)


def torch_layer(num_heads, x, w_q, w_k, w_v, w_o):
    heads = ((x @ w).unflatten(-1, (num_heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    return torch_attention(*heads).transpose(1, 2).flatten(-2) @ w_o


def jax_backward(d_output, *heads):
    import jax

    return jax.vjp(jax.nn.dot_product_attention, *heads)[1](d_output)


def jax_layer(num_heads, x, w_q, w_k, w_v, w_o):
    import jax

    heads = ((x @ w).reshape(1, len(x[0]), num_heads, -1) for w in (w_q, w_k, w_v))
    return jax.nn.dot_product_attention(*heads).reshape(x.shape) @ w_o
