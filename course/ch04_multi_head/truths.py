"""What is told about chapter 4 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from attnbook import scaled_dot_product_attention, split_heads
from course.quiz import numbers
from course.truths import Truths

TRUTHS = Truths()
rng = np.random.default_rng(0)


@TRUTHS.question
def one_head_two_places(question):
    places = np.reshape(numbers(question), (2, 2)).astype(float)

    def look(share, places):
        scores = np.log([[share], [1 - share]])
        return scaled_dot_product_attention(np.ones((1, 1)), scores, places, scale=1).output[0]

    for share in (0.05, 0.5, 0.75, 0.99):
        moved = places + np.outer([1 - share, -share], rng.standard_normal(2))
        assert not np.allclose(moved, places)
        np.testing.assert_allclose(look(share, moved), look(share, places))
    one_each = [look(share, places) for share in (1 - 1e-15, 1e-15)]
    np.testing.assert_allclose(one_each, places)
    x, y = look(0.5, places)
    return f"({x:.0f}, {y:.0f})", "many-places"


@TRUTHS.question
def shortcut(question):
    length, width, *wrong_shape = numbers(question)
    x = rng.standard_normal((length, width))
    changed = x + np.isin(np.arange(width), (3, 4, 5))

    def wrong(x):
        return x.reshape(wrong_shape)

    def moved(split):
        weights = [
            scaled_dot_product_attention(*[split(each)] * 3).weights for each in (x, changed)
        ]
        return [not np.allclose(*heads) for heads in zip(*weights, strict=True)]

    assert wrong(x).shape == split_heads(x, 4).shape
    np.testing.assert_array_equal(wrong(x).reshape(x.shape), x)
    weights = scaled_dot_product_attention(*[wrong(x)] * 3).weights
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    assert moved(lambda x: split_heads(x, 4)) == [False, True, False, False]
    assert moved(wrong) == [True] * 4
    runs = np.split(x.ravel(), 4)  # of neighbouring tokens, as the feedback says
    np.testing.assert_array_equal(wrong(x).reshape(4, -1), runs)
    return "change-features"


@TRUTHS.question
def more_heads(question):
    n, d_model = 11, 48
    counts = {}
    for heads in (1, 8):
        size = d_model // heads
        weights = np.prod(split_heads(np.zeros((n, d_model)), heads).shape[:2]) * n
        products = 4 * n * d_model**2 + 2 * heads * n * n * size
        wide, deep = rng.standard_normal((2, d_model, size))
        rank = np.linalg.matrix_rank(wide @ deep.T)
        counts[heads] = {"attention-weights": weights, "parameters": 4 * heads * d_model * size}
        counts[heads] |= {"multiplications": products, "rank": rank}
    grown = [name for name in counts[1] if counts[8][name] > counts[1][name]]
    assert grown == ["attention-weights"]
    assert counts[8]["rank"] == d_model // 8 < counts[1]["rank"]
    return "attention-weights"


@TRUTHS.question
def mask_for_two(question):
    sizes = numbers(question)
    mask = np.arange(7) < np.array([7, 3])[:, None, None]
    assert list(mask.shape) == sizes[:3]
    scores = rng.standard_normal(sizes[3:])
    seen = np.where(mask, scores, -np.inf) > -np.inf
    for sequence, head in np.ndindex(2, 2):
        assert (seen[sequence, head] == mask[head]).all()
    assert (np.broadcast_to(mask[:, None], scores.shape)[1] == mask[1]).all()
    with pytest.raises(ValueError, match="broadcast"):
        np.broadcast_to(mask, (2, 3, 5, 7))
    return "first-for-head-0"


@TRUTHS.question
def shared_keys(question):
    query_heads, all_heads, few_heads = numbers(question)
    n, head_dim = 13, 5
    query = rng.standard_normal((query_heads, n, head_dim))
    counts = []
    for kv_heads in (all_heads, few_heads):
        key, value = rng.standard_normal((2, kv_heads, n, head_dim))
        scores = query.reshape(kv_heads, -1, n, head_dim) @ key[:, None].swapaxes(-1, -2)
        counts.append((key.size + value.size, scores.size))
    assert Fraction(counts[1][0], counts[0][0]) == Fraction(1, 4)
    assert counts[1][1] == counts[0][1]
    return "a-quarter-of-the-cache"


@TRUTHS.of_assignment
def the_bytes_of_keys_and_values(measured):
    size = np.empty((2, 24, 16, 64, 4096), dtype=np.float16).nbytes
    return size, size // 2**20, size // 4 // 2**20


@TRUTHS.of_assignment
def what_is_said_of_the_errors_holds_in_every_class(measured):
    one, two, four, _ = measured("fewer-groups")
    assert 0.15 < four < 0.4  # about a quarter
    assert min(one, two) > 0.75  # nearly all
    return ()
