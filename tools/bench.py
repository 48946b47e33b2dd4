"""Print how long attention takes, against the leanest NumPy and against the textbook's."""

import functools
import math
import timeit

import numpy as np

from attnbook import scaled_dot_product_attention

SHAPE = (1, 8, 512, 64)  # batch, heads, length, head_dim
ROUNDS = 60
LEN_K, D_K = 32, 64  # of the small case, one query: there the checks and the calls are what counts
CALLS = 50  # in a row, since one takes microseconds


def lean(query, key, value):
    """Compute attention with as few passes over the scores as NumPy allows."""
    scores = (query * np.float32(1 / math.sqrt(query.shape[-1]))) @ key.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores *= 1 / (scores @ np.ones((scores.shape[-1], 1), scores.dtype))
    return scores @ value, scores


def textbook(query, key, value):
    """Compute attention with einsum as tutorials write it, which does not call BLAS."""
    scores = np.einsum("...nd,...md->...nm", query, key) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("...nm,...md->...nd", weights, value), weights


def best_times(functions, arrays, rounds, calls=1):
    """Return each function's best time in seconds; rounds interleave, so load hits all alike."""
    timers = [timeit.Timer(functools.partial(function, *arrays)) for function in functions]
    times = [[timer.timeit(calls) for timer in timers] for _ in range(rounds)]
    return np.min(times, axis=0) / calls


def main():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(SHAPE, dtype=np.float32) for _ in range(3)]
    expected, _ = scaled_dot_product_attention(*arrays)
    for function in (lean, textbook):
        np.testing.assert_allclose(function(*arrays)[0], expected, atol=1e-5)

    ours, leanest = best_times([scaled_dot_product_attention, lean], arrays, ROUNDS)
    (slow,) = best_times([textbook], arrays, rounds=5)
    print(f"float32, (batch, heads, length, head_dim) = {SHAPE}, no mask, best of {ROUNDS}")
    print(f"attnbook         {1e3 * ours:7.2f} ms")
    print(
        f"leanest NumPy    {1e3 * leanest:7.2f} ms   attnbook takes {ours / leanest:.2f} x as long"
    )
    print(f"textbook einsum  {1e3 * slow:7.2f} ms   attnbook is {slow / ours:.1f} x as fast")

    print(f"\none query, {LEN_K} keys of {D_K} numbers, best of {10 * ROUNDS} times {CALLS} calls")
    for dtype in (np.float32, np.float64):
        small = [rng.standard_normal((length, D_K)).astype(dtype) for length in (1, LEN_K, LEN_K)]
        ours, leanest = best_times([scaled_dot_product_attention, lean], small, 10 * ROUNDS, CALLS)
        print(
            f"{dtype.__name__:16} {1e6 * ours:7.2f} us   "
            f"leanest NumPy {1e6 * leanest:.2f} us, attnbook takes {ours / leanest:.2f} x as long"
        )
