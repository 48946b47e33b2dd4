"""Print how long attention, rotary positions and generation take, against the leanest NumPy."""

import functools
import math
import timeit

import numpy as np

from attnbook import (
    Decoder,
    DecoderLayer,
    MultiHeadAttention,
    apply_rotary,
    scaled_dot_product_attention,
)

SHAPE = (1, 8, 512, 64)  # batch, heads, length, head_dim
ROUNDS = 60
LEN_K, D_K = 32, 64  # of the small case, one query: there the checks and the calls are what counts
CALLS = 50  # in a row, since one takes microseconds
VOCAB, D_MODEL, HIDDEN, LAYERS, HEADS, KV_HEADS = 100, 64, 172, 4, 8, 4  # of a small decoder
LENGTHS, NEW = (512, 1024), 64


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


def lean_rotary(x):
    """Rotate neighbours as complex numbers, with angles in single precision."""
    length, head_dim = x.shape[-2:]
    frequencies = (10000.0 ** (-np.arange(0, head_dim, 2) / head_dim)).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    turn = np.empty(angles.shape, np.complex64)
    np.cos(angles, out=turn.real)
    np.sin(angles, out=turn.imag)
    return (x.view(np.complex64) * turn).view(np.float32)


def lean_halves(x):
    """Do the same where a pair's numbers are half a head apart."""
    length, head_dim = x.shape[-2:]
    half = head_dim // 2
    frequencies = (10000.0 ** (-np.arange(0, head_dim, 2) / head_dim)).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]
    turned = np.empty_like(x)
    turned[..., :half] = first * cosine - second * sine
    turned[..., half:] = first * sine + second * cosine
    return turned


def random_decoder(rng):
    def matrix(*shape):
        return (rng.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32)

    gain = np.ones(D_MODEL, np.float32)
    layers = tuple(
        DecoderLayer(
            attention_norm=gain,
            attention=MultiHeadAttention.init(rng, D_MODEL, HEADS, KV_HEADS, np.float32),
            feed_forward_norm=gain,
            w_gate=matrix(D_MODEL, HIDDEN),
            w_up=matrix(D_MODEL, HIDDEN),
            w_down=matrix(HIDDEN, D_MODEL),
        )
        for _ in range(LAYERS)
    )
    return Decoder(embedding=matrix(VOCAB, D_MODEL), layers=layers, final_norm=gain)


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

    print(f"\nrotary positions, float32, {SHAPE}, best of {ROUNDS}")
    x = arrays[0]
    pairings = {"interleaved": lean_rotary, "halves": lean_halves}
    for pairing, leaner in pairings.items():
        rotate = functools.partial(apply_rotary, pairing=pairing)
        # Its angles are small numbers in float32, the lean ones' are up to 511.
        np.testing.assert_allclose(rotate(x), leaner(x), atol=5e-4)
        ours, leanest = best_times([rotate, leaner], [x], ROUNDS, calls=10)
        print(
            f"{pairing:16} {1e3 * ours:7.3f} ms   "
            f"leanest NumPy {1e3 * leanest:.3f} ms, attnbook takes {ours / leanest:.2f} x as long"
        )

    sizes = f"{LAYERS} layers, d_model {D_MODEL}, {HEADS} heads on {KV_HEADS}, {VOCAB} tokens"
    print(f"\ngeneration, float32, {sizes}, best of 5")
    model = random_decoder(rng)
    for length in LENGTHS:
        tokens = rng.integers(VOCAB, size=length)
        few = functools.partial(model.generate, tokens[: length - NEW], 1)
        more = functools.partial(model.generate, tokens[: length - NEW], 1 + NEW)
        all_of_it = functools.partial(model.generate, tokens[:1], length)
        again = functools.partial(model.logits, tokens)
        times = best_times([few, more, all_of_it, again], [], rounds=5)
        cached, uncached = (times[1] - times[0]) / NEW, times[3]
        print(
            f"{length:5} tokens     {length / times[2]:7.0f} a second   at the end a token takes "
            f"{1e3 * cached:.2f} ms, without the cache {1e3 * uncached:.1f}: "
            f"{uncached / cached:.0f} x as long"
        )
