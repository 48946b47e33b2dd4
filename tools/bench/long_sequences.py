"""Attention over long sequences, and one step of generation with shared heads."""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from attnbook import (
    KVCache,
    blockwise_attention,
    blockwise_attention_backward,
    scaled_dot_product_attention,
)
from tools.bench.lean import lean_there_and_back
from tools.bench.table import best_times, peak_of_numpy, peak_of_process, threads

HEADS, HEAD_DIM = 8, 64
ROUNDS = {512: 30, 2048: 15, 8192: 3, 32_768: 2}
THERE_AND_BACK = (512, 2048)  # at 8,192 the matrices of 8 heads have 2 GB each
ALONE = 32_768  # here the matrix of 8 heads has 34 GB: one head, and only what needs no matrix
CACHED = 8192  # tokens before the one that is generated
MB = 1e6


def measure(table):
    kernels = torch_kernels()
    rng = np.random.default_rng(0)
    for length, rounds in ROUNDS.items():
        heads = 1 if length == ALONE else HEADS
        shape = 1, heads, length, HEAD_DIM
        arrays = [rng.standard_normal(shape, dtype=np.float32) for _ in range(3)]
        ours = functools.partial(blockwise_attention, *arrays)
        others = {name: functools.partial(kernel, *arrays) for name, kernel in kernels.items()}
        others["whole matrix"] = functools.partial(scaled_dot_product_attention, *arrays)
        if length == ALONE:
            others = {name: run for name, run in others.items() if "fused" in name}
        compare(table, length, rounds, ours, others)
    for length in THERE_AND_BACK:
        there_and_back(table, rng, length)
    decode(table, rng)


def compare(table, length, rounds, ours, others):
    what = "blockwise, 1 head" if length == ALONE else "blockwise"
    causal = functools.partial(ours, causal=True)
    time, of_causal, *times = 1e3 * best_times([ours, causal, *others.values()], (), rounds)
    table.add(f"{what}, causal", of_causal, f"{what}, full", time, "ms", length)
    for name, of_other in zip(others, times, strict=True):
        table.add(what, time, name, of_other, "ms", length)
    peak = peak_of_numpy(ours) / MB
    for name, other in others.items():
        of_other = (
            peak_of_torch(name, *other.args[-3:]) if "torch" in name else peak_of_numpy(other)
        )
        table.add(f"{what}, peak memory", peak, name, of_other / MB, "MB", length)


def there_and_back(table, rng, length):
    """Compare what is kept for the gradients: all weights, or one sum for each query."""
    shape = 1, HEADS, length, HEAD_DIM
    arrays = [rng.standard_normal(shape, dtype=np.float32) for _ in range(4)]

    def ours(d_output, *inputs):
        return blockwise_attention_backward(d_output, *inputs, *blockwise_attention(*inputs))

    for one, other in zip(ours(*arrays), lean_there_and_back(*arrays), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    what, other = "gradients, blockwise", "weights kept"
    times = 1e3 * best_times([ours, lean_there_and_back], arrays, ROUNDS[length])
    table.add(what, times[0], other, times[1], "ms", length)
    peaks = [
        peak_of_numpy(functools.partial(run, *arrays)) / MB for run in (ours, lean_there_and_back)
    ]
    table.add(f"{what}, peak memory", peaks[0], other, peaks[1], "MB", length)


def peak_of_torch(name, *arrays):
    """Measure in a process of its own, where nothing freed before can be used again."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_peak_of_torch, name, *arrays).result()


def _peak_of_torch(name, *arrays):
    kernel = torch_kernels()[name]
    kernel(*(array[..., :64, :] for array in arrays))  # its threads and buffers are there now
    return peak_of_process(functools.partial(kernel, *arrays))


def torch_kernels():
    """Return PyTorch's attention, eager and fused, on NumPy's arrays, where it is installed."""
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        print("PyTorch is not installed: no rows for it.")
        return {}
    torch.set_num_threads(threads())

    def run(backend, *arrays):
        with sdpa_kernel(backend), torch.inference_mode():
            tensors = map(torch.from_numpy, arrays)
            return torch.nn.functional.scaled_dot_product_attention(*tensors)

    backends = {"eager": SDPBackend.MATH, "fused": SDPBackend.FLASH_ATTENTION}
    version = torch.__version__.partition("+")[0]
    return {
        f"torch {version}, {name}": functools.partial(run, backend)
        for name, backend in backends.items()
    }


def decode(table, rng):
    """Measure one new token's attention over a cache, with fewer and fewer KV heads."""
    steps, sizes = {}, {}
    for kv_heads in (HEADS, 4, 1):
        cache = KVCache()
        shape = kv_heads, CACHED, HEAD_DIM
        key, value = cache.append(*(rng.standard_normal(shape, dtype=np.float32) for _ in "kv"))
        # The query heads that share keys and values are rows of one matrix.
        query = rng.standard_normal((kv_heads, HEADS // kv_heads, HEAD_DIM), dtype=np.float32)
        steps[kv_heads] = functools.partial(scaled_dot_product_attention, query, key, value)
        sizes[kv_heads] = cache.nbytes / MB
    times = dict(zip(steps, 1e3 * best_times(steps.values(), (), 30), strict=True))
    for kv_heads in (4, 1):
        what, other = f"{kv_heads} KV heads of {HEADS}", f"{HEADS} KV heads"
        table.add(f"{what}: cache", sizes[kv_heads], other, sizes[HEADS], "MB", CACHED)
        table.add(f"{what}: one step", times[kv_heads], other, times[HEADS], "ms", CACHED)
