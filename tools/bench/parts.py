"""Attention, rotary positions and generation, against the leanest NumPy."""

import functools
import math

import numpy as np

from attnbook import (
    Decoder,
    DecoderLayer,
    MultiHeadAttention,
    apply_rotary,
    scaled_dot_product_attention,
)
from tools.bench.lean import lean, lean_halves, lean_rotary, textbook
from tools.bench.table import best_times

SHAPE = (1, 8, 512, 64)  # batch, heads, length, head_dim
ROUNDS = 60
LEN_K, D_K = 32, 64  # of the small case, one query: there the checks and the calls are what counts
CALLS = 50  # in a row, since one takes microseconds
VOCAB, D_MODEL, HIDDEN, LAYERS, HEADS, KV_HEADS = 100, 64, 172, 4, 8, 4  # of a small decoder
LENGTHS, NEW = (512, 1024), 64


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


def measure(table):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(SHAPE, dtype=np.float32) for _ in range(3)]
    expected, _ = scaled_dot_product_attention(*arrays)
    for function in (lean, textbook):
        np.testing.assert_allclose(function(*arrays)[0], expected, atol=1e-5)

    ours, leanest = best_times([scaled_dot_product_attention, lean], arrays, ROUNDS)
    (slow,) = best_times([textbook], arrays, rounds=5)
    table.add("attention", 1e3 * ours, "leanest NumPy", 1e3 * leanest, "ms", SHAPE[2])
    table.add("attention", 1e3 * ours, "textbook einsum", 1e3 * slow, "ms", SHAPE[2])

    for dtype in (np.float32, np.float64):
        small = [rng.standard_normal((length, D_K)).astype(dtype) for length in (1, LEN_K, LEN_K)]
        times = best_times([scaled_dot_product_attention, lean], small, 4 * ROUNDS, CALLS)
        ours, leanest = 1e6 * times
        table.add(f"one query, {dtype.__name__}", ours, "leanest NumPy", leanest, "us", LEN_K)

    x = arrays[0]
    pairings = {"interleaved": lean_rotary, "halves": lean_halves}
    for pairing, leaner in pairings.items():
        rotate = functools.partial(apply_rotary, pairing=pairing)
        # Its angles are small numbers in float32, the lean ones' are up to 511.
        np.testing.assert_allclose(rotate(x), leaner(x), atol=5e-4)
        ours, leanest = 1e3 * best_times([rotate, leaner], [x], ROUNDS, calls=10)
        table.add(f"rotary positions, {pairing}", ours, "leanest NumPy", leanest, "ms", SHAPE[2])

    model = random_decoder(rng)
    for length in LENGTHS:
        tokens = rng.integers(VOCAB, size=length)
        few = functools.partial(model.generate, tokens[: length - NEW], 1)
        more = functools.partial(model.generate, tokens[: length - NEW], 1 + NEW)
        again = functools.partial(model.logits, tokens)
        times = 1e3 * best_times([few, more, again])
        cached, uncached = (times[1] - times[0]) / NEW, times[2]
        table.add("a token, with the cache", cached, "without it", uncached, "ms", length)
