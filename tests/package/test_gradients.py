"""The backward passes against loops, PyTorch and differences; and the check itself."""

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import blockwise_attention, gradients, scaled_dot_product_attention
from attnbook.gradients import (
    attention_backward,
    blockwise_attention_backward,
    check_gradient,
)
from tests.package import oracles

BATCH, LEN_Q, LEN_K, D_K, D_V, OUTER = 3, 5, 7, 11, 13, 2


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def inputs(*leading, len_q=LEN_Q, len_k=LEN_K):
    """Return query, key and value."""
    shapes = (len_q, D_K), (len_k, D_K), (len_k, D_V)
    return [normal(*leading, *shape, seed=seed) for seed, shape in enumerate(shapes)]


def causal_seen(len_q, len_k):
    return np.tri(len_q, len_k, len_k - len_q, dtype=bool)


def by_blocks(d_output, query, key, value, mask=None, *, causal=False, scale=None, block_size=3):
    forward = blockwise_attention(query, key, value, mask, causal=causal, scale=scale)
    return blockwise_attention_backward(
        *(d_output, query, key, value, *forward, mask),
        **{"causal": causal, "scale": scale, "block_size": block_size},
    )


BOTH = pytest.mark.parametrize("backward", [attention_backward, by_blocks])


def assert_close(gradients, expected, tolerance=1e-12):
    """Compare gradients, each relative to its largest entry, or to 1."""
    for one, other in zip(gradients, expected, strict=True):
        assert one.shape == other.shape
        atol = tolerance * np.abs(other).max(initial=1)
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# --- Both ---------------------------------------------------------------------------


@BOTH
def test_gradients_by_hand(backward):
    # Scores 0, ln 2, ln 5 at scale 1/2: weights 1/8, 2/8, 5/8. Along the first axis d_weights is
    # 8, 16, 24 with mean 20, so d_scores is -12/8, -8/8, 20/8.
    query = np.array([[2.0, 0, 0, 0]])
    key = np.array([[0.0, 1, 2, 3], [np.log(2), 3, 2, 1], [np.log(5), 0, 1, 0]])
    value = np.array([[8.0, 0], [16, 8], [24, 0]])
    d_query, d_key, d_value = backward(np.array([[1.0, 0]]), query, key, value)
    expected = (-1.5 * key[0] - key[1] + 2.5 * key[2]) / 2
    np.testing.assert_allclose(d_query, [expected], rtol=1e-14)
    np.testing.assert_allclose(d_key[:, 0], [-1.5, -1, 2.5], rtol=1e-13)
    np.testing.assert_array_equal(d_key[:, 1:], 0)
    np.testing.assert_allclose(d_value, [[1 / 8, 0], [2 / 8, 0], [5 / 8, 0]], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", oracles.GOLDEN["gradients"], ids=lambda case: case["name"])
def test_gradients_equal_pytorch(case, dtype):
    names = "d_output", "query", "key", "value"
    given = [np.array(case[name], dtype) for name in names]
    expected = [np.array(case[f"d_{name}_{np.dtype(dtype)}"]) for name in names[1:]]
    tolerance = 1e-9 if dtype == np.float64 else 2e-6
    mask = None if case["mask"] is None else np.array(case["mask"])
    if case["name"] != "grouped":
        seen = causal_seen(5, 5) if case["causal"] else mask
        found = attention_backward(*given, seen, bias=case["bias"], scale=case["scale"])
        assert_close(found, expected, tolerance)
        assert [gradient.dtype for gradient in found] == [dtype] * 3
    if case["bias"] is None:
        found = by_blocks(
            *(*given, mask),
            **{"causal": case["causal"], "scale": case["scale"], "block_size": 2},
        )
        assert_close(found, expected, tolerance)
        assert [gradient.dtype for gradient in found] == [dtype] * 3


@BOTH
@given(st.data())
@settings(deadline=None)
def test_gradients_equal_loops(backward, data):
    len_q, len_k, d_k, d_v, heads = (data.draw(st.integers(1, 5)) for _ in range(5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    size = data.draw(st.sampled_from([1, 100, 1e4]))  # of the scores
    query = size * rng.standard_normal((heads, len_q, d_k))
    key, value = rng.standard_normal((heads, len_k, d_k)), rng.standard_normal((heads, len_k, d_v))
    d_output = rng.standard_normal((heads, len_q, d_v))
    mask = data.draw(st.sampled_from([None, rng.random((heads, len_q, len_k)) < 0.6]))
    scale = data.draw(st.sampled_from([None, 0.7, -0.2]))
    found = backward(d_output, query, key, value, mask, scale=scale)
    expected = oracles.attention_gradients(d_output, query, key, value, mask, scale)
    # Scores of 1e4 are rounded to 1e-12, so their weights are known to 1e-12 only, and what is
    # left of weights that cancel, to 1e-12 of what was there.
    for one, other, largest in zip(found, expected, (key, query, [1]), strict=True):
        bound = np.abs(d_output).max() * np.abs(value).max() * np.abs(largest).max()
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-15 * (10 + size) * bound * 50)
    if mask is not None:
        np.testing.assert_array_equal(found[0][~mask.any(axis=-1)], 0)  # empty rows
        for gradient in found[1:]:
            np.testing.assert_array_equal(gradient[~mask.any(axis=-2)], 0)  # keys nobody sees


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_gradients_equal_differences(data):
    len_q, len_k, d_k, d_v = (data.draw(st.integers(1, 7)) for _ in range(4))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    size = data.draw(st.sampled_from([1, 10]))
    arrays = [size * rng.standard_normal(s) for s in ((len_q, d_k), (len_k, d_k), (len_k, d_v))]
    mask = rng.random((len_q, len_k)) < data.draw(st.sampled_from([0.2, 0.7, 1]))
    block_size, causal = data.draw(st.integers(1, 8)), data.draw(st.booleans())
    seen = mask & causal_seen(len_q, len_k) if causal else mask
    bias = rng.standard_normal((len_q, len_k))

    def attend(query, key, value):
        return scaled_dot_product_attention(query, key, value, seen).output

    def in_blocks(*all_four):
        return by_blocks(*all_four, mask, causal=causal, block_size=block_size)

    check_gradient(attend, lambda *all_four: attention_backward(*all_four, seen), *arrays)
    check_gradient(attend, in_blocks, *arrays)
    check_gradient(
        lambda *qkv: scaled_dot_product_attention(*qkv, seen, bias=bias, scale=0.3).output,
        lambda *all_four: attention_backward(*all_four, seen, bias=bias, scale=0.3),
        *arrays,
    )


LEADING = [
    ((BATCH,), (), (), None),
    ((), (BATCH,), (BATCH,), None),
    ((), (), (BATCH,), ()),
    ((), (), (), (BATCH,)),
    ((OUTER, 1), (BATCH,), (1, BATCH), (BATCH,)),
    ((OUTER, BATCH), (1,), (BATCH,), (OUTER, 1)),
]


@BOTH
@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_gradients_are_summed_over_axes_that_were_broadcast(leading, backward):
    q, k, v, m = leading
    query, key, value = normal(*q, LEN_Q, D_K), normal(*k, LEN_K, D_K), normal(*v, LEN_K, D_V)
    mask = None if m is None else normal(*m, LEN_Q, LEN_K) < 0.5
    shape = np.broadcast_shapes(q, k, v, m or ())
    d_output = normal(*shape, LEN_Q, D_V)
    found = backward(d_output, query, key, value, mask)
    assert_close(found, oracles.attention_gradients(d_output, query, key, value, mask))


@BOTH
@pytest.mark.parametrize("shape", [(), (LEN_K,), (1, LEN_K), (LEN_Q, 1), (BATCH, 1, LEN_K)])
def test_a_mask_broadcasts_as_forward(shape, backward):
    arrays = [normal(BATCH, LEN_Q, D_V), *inputs(BATCH)]
    mask = normal(*shape, seed=1) < 0.5
    full = np.broadcast_to(mask, (BATCH, LEN_Q, LEN_K))
    assert_close(backward(*arrays, mask), oracles.attention_gradients(*arrays, full))


def test_a_bias_broadcasts_and_its_infinity_masks():
    arrays = [normal(BATCH, LEN_Q, D_V), *inputs()]
    bias = normal(BATCH, 1, LEN_K)
    bias[normal(BATCH, 1, LEN_K, seed=1) < 0] = -np.inf
    bias[0] = -np.inf
    found = attention_backward(*arrays, bias=bias)
    assert_close(found, oracles.attention_gradients(*arrays, bias=bias))
    # On one axis, alone and beside a mask.
    row = bias[1, 0]
    arrays[0] = arrays[0][0]
    for mask in (None, normal(LEN_Q, LEN_K) < 0):
        arrays[2][row == -np.inf] = np.nan
        found = attention_backward(*arrays, mask, bias=row)
        arrays[2][row == -np.inf] = 0
        assert_close(found, oracles.attention_gradients(*arrays, mask, bias=row))


@BOTH
@given(st.data())
@settings(deadline=None)
def test_what_is_not_finite_reaches_only_what_sees_it(backward, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    arrays = [normal(LEN_Q, D_V), *inputs()]
    mask = rng.random((LEN_Q, LEN_K)) < data.draw(st.sampled_from([0.1, 0.3, 0.6]))
    which = data.draw(st.integers(0, 3))
    at = data.draw(st.integers(0, len(arrays[which]) - 1))
    clean = [array.copy() for array in arrays]
    arrays[which][at, data.draw(st.sampled_from([0, slice(None)]))] = number = data.draw(
        st.sampled_from([np.nan, np.inf, -np.inf])
    )
    clean[which][at] = 0
    # Queries with such a number, or that see one, and keys that such a query sees.
    queries = mask[:, at] if which > 1 else (np.arange(LEN_Q) == at) & mask.any(axis=-1)
    keys = mask[queries].any(axis=0)
    d_query, d_key, d_value = backward(*arrays, mask)
    expected = backward(*clean, mask)
    for found, other, touched in zip(
        (d_query, d_key, d_value), expected, (queries, keys, keys), strict=True
    ):
        np.testing.assert_allclose(found[~touched], other[~touched], rtol=1e-11, atol=1e-13)
    if np.isnan(number):  # and these are not hidden
        assert np.isnan(d_query[queries]).any(axis=-1).all()


@BOTH
@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
    ],
)
def test_gradients_keep_the_dtype(given_dtype, expected, backward):
    arrays = [
        (2 * normal(OUTER, *shape)).astype(given_dtype)
        for shape in ((5, 3), (5, 2), (7, 2), (7, 3))
    ]
    wide = [array.astype(np.float64) for array in arrays]
    found = backward(*arrays)
    assert [gradient.dtype for gradient in found] == [expected] * 3
    assert_close(found, oracles.attention_gradients(*wide), 32 * np.finfo(expected).eps)


def test_wider_arrays_beside_the_inputs_do_not_widen_the_gradients():
    arrays = [array.astype(np.float32) for array in (normal(LEN_Q, D_V), *inputs())]
    bias = normal(LEN_Q, LEN_K)
    for gradient in attention_backward(*arrays, bias=bias):
        assert gradient.dtype == np.float32
    wide = attention_backward(arrays[0].astype(np.float64), *arrays[1:])
    assert [gradient.dtype for gradient in wide] == [np.float64] * 3  # but d_output is an input
    output, logsumexp = blockwise_attention(*(array.astype(np.float64) for array in arrays[1:]))
    for gradient in blockwise_attention_backward(*arrays, output, logsumexp):
        assert gradient.dtype == np.float32
    wide = blockwise_attention_backward(normal(LEN_Q, D_V), *arrays[1:], output, logsumexp)
    assert [gradient.dtype for gradient in wide] == [np.float64] * 3


@BOTH
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_no_input_is_changed(dtype, backward):
    arrays = [array.astype(dtype) for array in (normal(LEN_Q, D_V), *inputs())]
    mask = normal(LEN_Q, LEN_K) < 0
    before = [array.tobytes() for array in (*arrays, mask)]
    first = backward(*arrays, mask)
    second = backward(*arrays, mask)
    assert [array.tobytes() for array in (*arrays, mask)] == before
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not any(np.shares_memory(one, array) for array in arrays)


def test_no_forward_result_is_changed():
    arrays = [normal(LEN_Q, D_V), *inputs()]
    mask = normal(LEN_Q, LEN_K) < -1  # with empty rows
    assert not mask.any(axis=-1).all()
    forward = [array.copy() for array in blockwise_attention(*arrays[1:], mask)]
    before = [array.tobytes() for array in forward]
    blockwise_attention_backward(*arrays, *forward, mask)
    assert [array.tobytes() for array in forward] == before


@BOTH
@pytest.mark.parametrize("length", [(0, 5), (5, 0)])
def test_gradients_of_nothing_are_zeros(length, backward):
    len_q, len_k = length
    arrays = [normal(len_q, 3), normal(len_q, 2), normal(len_k, 2), normal(len_k, 3)]
    for gradient, array in zip(backward(*arrays), arrays[1:], strict=True):
        np.testing.assert_array_equal(gradient, np.zeros_like(array))


WRONG = {
    "d_output": (
        {"d_output": normal(LEN_Q, D_K)},
        r"d_output must have shape \(5, 13\), got \(5, 11\)",
    ),
    "d_output that would broadcast": (
        {"d_output": normal(1, D_V)},
        r"d_output must have shape \(5, 13\), got \(1, 13\)",
    ),
    "d_output under a mask": (
        {"mask": np.ones((BATCH, 1, LEN_K), bool)},
        r"d_output must have shape \(3, 5, 13\), got \(5, 13\)",
    ),
    "query": ({"query": normal(D_K)}, r"query must have at least 2 axes .* \(11,\)"),
    "lengths": ({"key": normal(LEN_Q, D_K)}, "key and value must have the same length"),
    "d_k": ({"query": normal(LEN_Q, D_V)}, "query and key must have the same last axis d_k"),
    "leading": (
        {"query": normal(2, LEN_Q, D_K), "key": normal(3, LEN_K, D_K)},
        "leading axes of query, key and value must broadcast",
    ),
    "mask": ({"mask": np.ones((2, LEN_K), bool)}, r"mask of shape \(2, 7\) must broadcast"),
}
WRONG_BLOCKS = {
    "output": ({"output": normal(LEN_Q, D_K)}, r"output must have shape \(5, 13\), got \(5, 11\)"),
    "logsumexp": (
        {"logsumexp": normal(LEN_Q, 1)},
        r"logsumexp must have shape \(5,\), got \(5, 1\)",
    ),
    "block_size": ({"block_size": 0}, "block_size must be at least 1, got 0"),
}


def usual():
    names = ("d_output", "query", "key", "value")
    return dict(zip(names, (normal(LEN_Q, D_V), *inputs()), strict=True))


@pytest.mark.parametrize(("changed", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(changed, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        attention_backward(**usual() | changed)


@pytest.mark.parametrize(
    ("changed", "message"), (WRONG | WRONG_BLOCKS).values(), ids=WRONG | WRONG_BLOCKS
)
def test_what_does_not_fit_the_blocks_is_named(changed, message):
    forward = {"output": normal(LEN_Q, D_V), "logsumexp": normal(LEN_Q)}
    with pytest.raises(ValueError, match=f"^{message}"):
        blockwise_attention_backward(**usual() | forward | changed)


def test_masks_and_biases_are_not_confused():
    with pytest.raises(TypeError, match=r"^mask must be boolean"):
        attention_backward(**usual(), mask=np.ones((LEN_Q, LEN_K)))
    with pytest.raises(TypeError, match=r"^bias must hold numbers"):
        attention_backward(**usual(), bias=np.ones((LEN_Q, LEN_K), bool))
    with pytest.raises(ValueError, match=r"^bias of shape"):
        attention_backward(**usual(), bias=np.ones((2, LEN_K)))


# --- Blocks -------------------------------------------------------------------------


@given(st.data())
@settings(deadline=None)
def test_blocks_equal_the_whole(data):
    len_q, len_k = data.draw(st.integers(1, 23)), data.draw(st.integers(1, 23))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    query, key, value = inputs(OUTER, len_q=len_q, len_k=len_k)
    d_output = rng.standard_normal((OUTER, len_q, D_V))
    mask = data.draw(st.sampled_from([None, rng.random((len_q, len_k)) < 0.7]))
    causal = data.draw(st.booleans())
    seen = np.ones((len_q, len_k), bool) if mask is None else mask
    seen = seen & causal_seen(len_q, len_k) if causal else seen
    found = by_blocks(
        *(d_output, query, key, value, mask),
        **{"causal": causal, "block_size": data.draw(st.integers(1, 29))},
    )
    assert_close(found, attention_backward(d_output, query, key, value, seen))


@pytest.mark.parametrize(("heads", "kv_heads"), [(6, 3), (6, 2), (6, 1), (2, 2), (5, 1)])
@pytest.mark.parametrize("masked", [None, 1, "heads"])
def test_heads_that_share_keys_and_values_add_up(heads, kv_heads, masked):
    query, _, _ = inputs(OUTER, heads)
    _, key, value = inputs(OUTER, kv_heads)
    d_output = normal(OUTER, heads, LEN_Q, D_V)
    mask = None
    if masked:
        mask = normal(OUTER, heads if masked == "heads" else 1, LEN_Q, LEN_K) < 0.5
    repeated = [np.repeat(part, heads // kv_heads, axis=-3) for part in (key, value)]
    found = by_blocks(d_output, query, key, value, mask)
    expected = oracles.attention_gradients(d_output, query, *repeated, mask)
    for n in (1, 2):  # the copies of one KV head are neighbours
        of_each = expected[n].reshape(OUTER, kv_heads, -1, *expected[n].shape[-2:])
        expected[n] = of_each.sum(axis=2)
    assert_close(found, expected)


def test_heads_that_share_keys_may_share_values_and_mask_with_all():
    query, key, value = normal(6, LEN_Q, D_K), normal(2, LEN_K, D_K), normal(1, LEN_K, D_V)
    d_output, mask = normal(6, LEN_Q, D_V), normal(LEN_Q, LEN_K) < 0.5
    repeated = np.repeat(key, 3, axis=0)
    found = by_blocks(d_output, query, key, value, mask)
    expected = oracles.attention_gradients(d_output, query, repeated, value, mask)
    expected[1] = expected[1].reshape(2, 3, LEN_K, D_K).sum(axis=1)
    assert_close(found, expected)


@BOTH
def test_a_row_whose_scores_are_all_minus_infinity_is_empty(backward):
    query, key, value = np.ones((LEN_Q, D_K)), np.full((LEN_K, D_K), -np.inf), inputs()[2]
    _, d_key, d_value = backward(normal(LEN_Q, D_V), query, key, value)
    np.testing.assert_array_equal(d_key, 0)
    np.testing.assert_array_equal(d_value, 0)


def test_heads_that_do_not_divide_are_refused():
    query, key, value = normal(5, LEN_Q, D_K), normal(2, LEN_K, D_K), normal(2, LEN_K, D_V)
    with pytest.raises(ValueError, match=r"^leading axes of query, key and value must broadcast"):
        blockwise_attention_backward(normal(5, LEN_Q, D_V), query, key, value, query, query)


@pytest.mark.parametrize(
    ("len_q", "len_k", "blocks", "all_seen"),
    [(13, 13, 10, 7), (5, 13, 7, 6), (13, 5, 3, 2), (1, 13, 4, 4)],
)
def test_blocks_that_are_hidden_are_skipped(len_q, len_k, blocks, all_seen, monkeypatch):
    # Blocks of 4; 13 against 13: 1 + 2 + 3 + 4, of which the first three end in a triangle.
    # The last query stands at the last key.
    query, key, value = inputs(len_q=len_q, len_k=len_k)
    d_output, calls = normal(len_q, D_V), []
    real = gradients._through_attention
    monkeypatch.setattr(
        gradients, "_through_attention", lambda *args: calls.append(args) or real(*args)
    )
    found = by_blocks(d_output, query, key, value, causal=True, block_size=4)
    assert len(calls) == blocks
    seen = causal_seen(len_q, len_k)
    assert_close(found, oracles.attention_gradients(d_output, query, key, value, seen))
    assert sum(args[6] is None for args in calls) == all_seen


@pytest.mark.parametrize("causal", [False, True])
def test_no_array_of_all_weights_is_made(causal):
    length = 1021
    arrays = [normal(length, 4, seed=seed).astype(np.float32) for seed in range(4)]
    mask = np.ones((1, length), bool)
    mask[..., -7:] = False
    forward = blockwise_attention(*arrays[1:], mask, causal=causal)
    tracemalloc.start()
    blockwise_attention_backward(*arrays, *forward, mask, causal=causal, block_size=128)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < length**2 / 2  # not even an array of booleans


# --- check_gradient -----------------------------------------------------------------


def attend(query, key, value):
    return scaled_dot_product_attention(query, key, value).output


def attend_backward(d_output, query, key, value, *, wrong=None):
    """The backward pass written once more, right, or with one known mistake."""
    scale = 1 / np.sqrt(query.shape[-1])
    weights = scaled_dot_product_attention(query, key, value).weights
    d_weights = d_output @ value.T
    mean = (weights * d_weights).sum(axis=-1, keepdims=True)
    d_scores = weights * (d_weights - (0 if wrong == "no mean" else mean))
    if wrong == "no scale":
        scale = 1
    if wrong == "mean of a column":
        d_scores = weights * (d_weights - (weights * d_weights).sum(axis=0))
    d_query, d_key, d_value = (
        scale * d_scores @ key,
        scale * d_scores.T @ query,
        weights.T @ d_output,
    )
    if wrong == "no key":
        d_key = np.zeros_like(d_key)
    if wrong == "last query forgotten":
        d_value = weights[:-1].T @ d_output[:-1]
    return d_query, d_key, d_value


def test_what_is_right_passes():
    check_gradient(attend, attend_backward, *inputs())
    check_gradient(attend, attention_backward, *inputs())


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ("no scale", 0),
        ("no mean", 0),
        ("mean of a column", 0),
        ("no key", 1),
        ("last query forgotten", 2),
    ],
)
def test_known_mistakes_are_caught(wrong, argument):
    def backward(*arrays):
        return attend_backward(*arrays, wrong=wrong)

    with pytest.raises(AssertionError, match=rf"^gradient of argument {argument}: \d+ of \d+ "):
        check_gradient(attend, backward, *inputs())


def test_the_message_has_the_argument_the_entry_and_both_numbers():
    d_output = []

    def backward(d, x, y):
        d_output.append(d)
        d_y = d * x
        d_y[1, 2] *= 2
        d_y[0, 1] *= 1.0001
        return d * y, d_y

    x, y = normal(2, 3), normal(2, 3, seed=1)
    with pytest.raises(AssertionError) as caught:
        check_gradient(np.multiply, backward, x, y)
    found = re.fullmatch(
        r"gradient of argument 1: 2 of 6 entries are wrong, most of all \(1, 2\): "
        r"backward gives (\S+), differences give (\S+)",
        str(caught.value),
    )
    right = (d_output[0] * x)[1, 2]
    np.testing.assert_allclose([float(number) for number in found.groups()], [2 * right, right])


def test_d_output_is_random_and_always_the_same():
    seen = []
    for _ in range(2):
        check_gradient(np.negative, lambda d, x: seen.append(d) or -d, normal(3, 5))
    np.testing.assert_array_equal(*seen)
    assert len(set(np.abs(seen[0]).ravel())) == 15
    assert set(np.sign(seen[0]).ravel()) == {-1, 1}


MISSING = {
    "one too few": (lambda d, x, y: (d * y,), "backward must return 2 gradients, .* got 1"),
    "one alone": (lambda d, x, y: d * y, "backward must return 2 gradients, .* got 1"),
    "one too many": (lambda d, x, y: (d * y, d * x, d), "backward must return 2 .* got 3"),
    "none": (
        lambda d, x, y: (d * y, None),
        r"gradient of argument 1 must have its shape \(2, 3\), got \(\)",
    ),
    "broadcast": (
        lambda d, x, y: ((d * y)[:1], d * x),
        r"gradient of argument 0 must have its shape \(2, 3\), got \(1, 3\)",
    ),
    "NaN": (lambda d, x, y: (d * y, d * x * np.nan), "gradient of argument 1: 6 of 6 .* nan"),
}


@pytest.mark.parametrize(("backward", "message"), MISSING.values(), ids=MISSING)
def test_what_is_missing_is_named(backward, message):
    with pytest.raises(AssertionError, match=f"^{message}"):
        check_gradient(np.multiply, backward, normal(2, 3), normal(2, 3, seed=1))


def test_a_backward_that_writes_into_its_arguments_hides_nothing():
    def tripled(d, x):
        d *= 3
        return d * 2 * x

    def moved(d, x):
        x += 1
        return d * 2 * x

    for backward in (tripled, moved):
        with pytest.raises(AssertionError, match="3 of 3 entries are wrong"):
            check_gradient(np.square, backward, normal(3))


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1, 1e6, 1e12])
def test_small_and_large_gradients_are_compared_alike(size):
    def f(x):
        return size * np.sin(x)

    x = normal(LEN_Q)
    check_gradient(f, lambda d, x: d * size * np.cos(x), x)
    with pytest.raises(AssertionError, match=r"of 5 entries are wrong"):
        check_gradient(f, lambda d, x: d * size * np.cos(x) * 1.00001, x)


@pytest.mark.parametrize("size", [1, 1e3, 1e6])
def test_entries_may_be_large(size):
    x = size * normal(LEN_Q)
    check_gradient(lambda x: (x / size) ** 3, lambda d, x: d * 3 * x**2 / size**3, x)
    with pytest.raises(AssertionError, match="entries are wrong"):
        check_gradient(lambda x: (x / size) ** 3, lambda d, x: d * 3.00003 * x**2 / size**3, x)


def test_a_small_gradient_beside_a_large_output():
    check_gradient(lambda x: 1e6 + np.sin(x), lambda d, x: d * np.cos(x), normal(LEN_Q))
    with pytest.raises(AssertionError, match="entries are wrong"):
        check_gradient(lambda x: 1e6 + np.sin(x), lambda d, x: 1.01 * d * np.cos(x), normal(LEN_Q))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (2, 3, 5)])
def test_arrays_of_any_shape(shape):
    check_gradient(np.exp, lambda d, x: d * np.exp(x), normal(*shape))
    check_gradient(np.sum, lambda d, x: np.full(x.shape, d), normal(*shape))
    check_gradient(lambda x: x, lambda d, x: d, normal(*shape))  # returns its own argument


def test_arrays_are_taken_in_float64_and_left_alone():
    x = normal(2, 3).astype(np.float32)
    before = x.tobytes()
    taken = []

    def f(x, y):
        taken.append(x.dtype == y.dtype == np.float64)
        return x @ y

    def backward(d_output, x, y):
        taken.append(x.dtype == y.dtype == np.float64)
        return [d_output @ y.T, x.T @ d_output]

    check_gradient(f, backward, x, [[1, 2], [3, 4], [5, 6]])
    assert all(taken)
    assert x.tobytes() == before


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(ValueError, match=r"^argument 1 must be finite, got \[inf\]$"):
        check_gradient(np.multiply, lambda d, x, y: (d * y, d * x), [1.0], [np.inf])
    with pytest.raises(TypeError, match=r"^argument 0 must hold real numbers"):
        check_gradient(np.positive, lambda d, x: d, [1j])
    with pytest.raises(ValueError, match=r"^the output of f must be finite"):
        check_gradient(lambda x: x * np.nan, lambda d, x: d, [1.0])
    with pytest.raises(TypeError, match=r"^f must return one array, got tuple"):
        check_gradient(lambda x: (x, x), lambda d, x: d, [1.0])


def test_of_what_an_attention_returns_the_output_is_meant():
    error = check_gradient(scaled_dot_product_attention, attention_backward, *inputs())
    assert 0 < error < 1e-7


def test_the_largest_error_is_returned_relative_to_its_array():
    x, y = [1.0, 2.0], [1e3, 1e3]

    def slightly_wrong(d, x, y):  # of y by 5e-7 of its largest gradient
        gradients = d * y, d * x
        gradients[1][0] += 5e-7 * np.abs(gradients[1]).max()
        return gradients

    assert check_gradient(np.multiply, slightly_wrong, x, y) == pytest.approx(5e-7, rel=0.01)


def repeated(heads, of_each):
    """Give each query head keys or values of its own."""
    return np.repeat(heads, of_each, axis=-3)


SHARED = {  # of queries, of keys, of values
    "six heads on three": ((6, 3, 5), (3, 7, 5), (3, 7, 2)),
    "six heads on two, a batch": ((2, 6, 3, 5), (2, 2, 7, 5), (2, 2, 7, 2)),
    "one memory for a batch": ((2, 6, 3, 5), (3, 7, 5), (1, 3, 7, 2)),
    "values of one head": ((6, 3, 5), (3, 7, 5), (1, 7, 2)),
    "values for all": ((4, 3, 5), (2, 7, 5), (7, 2)),
    "one KV head": ((4, 3, 5), (1, 7, 5), (1, 7, 2)),
}


@pytest.mark.parametrize("which", SHARED)
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_heads_that_share_keys_are_sums_over_them(which, masked):
    query, key, value = (normal(*shape, seed=n) for n, shape in enumerate(SHARED[which]))
    heads, kv_heads = query.shape[-3], key.shape[-3]
    mask = normal(heads, 3, 7) < 0.7 if masked else None
    bias = normal(heads, 3, 7, seed=1) if masked else None
    whole = [query, repeated(key, heads // kv_heads), value]
    if value.ndim > 2:
        whole[2] = repeated(value, heads // value.shape[-3])
    d_output = normal(*query.shape[:-1], 2)
    if masked:
        mask[:, 1] = False  # a query that sees nothing
    found = attention_backward(d_output, query, key, value, mask, bias=bias, scale=0.3)
    expected = oracles.attention_gradients(d_output, *whole, mask, 0.3, bias)
    for one, other, array in zip(found, expected, (query, key, value), strict=True):
        assert one.shape == array.shape
        if array.ndim > 2 and other.shape[-3] != array.shape[-3]:
            of_each = other.shape[-3] // array.shape[-3]
            other = sum(other[..., n::of_each, :, :] for n in range(of_each))
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_blocks_of_heads_that_share_keys_give_the_same_gradients():
    query, key, value = normal(2, 6, 11, 5), normal(2, 3, 13, 5), normal(3, 13, 2)
    mask, d_output = normal(2, 1, 11, 13) < 0.7, normal(2, 6, 11, 2)
    forward = blockwise_attention(query, key, value, mask, causal=True)
    found = blockwise_attention_backward(
        d_output, query, key, value, *forward, mask, causal=True, block_size=4
    )
    mask = mask & causal_seen(11, 13)
    for one, other in zip(
        found, attention_backward(d_output, query, key, value, mask), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_a_masked_nan_of_shared_heads_reaches_no_gradient(poison):
    query, key, value, d_output = normal(4, 3, 5), normal(2, 7, 5), normal(2, 7, 3), normal(4, 3, 3)
    mask = np.ones((3, 7), dtype=bool)
    mask[:, 2] = False
    expected = attention_backward(d_output, query, key, value, mask)
    key[1, 2], value[1, 2] = poison, poison
    found = attention_backward(d_output, query, key, value, mask)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
