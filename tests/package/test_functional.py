"""softmax, the two attention functions, and what holds for every attention of the package."""

import inspect
import json
import math
import re
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import attnbook
from attnbook import (
    AttentionOutput,
    MultiHeadAttention,
    _checks,
    additive_attention,
    causal_mask,
    cross_attention,
    functional,
    layers,
    padding_mask,
    scaled_dot_product_attention,
    self_attention,
    softmax,
)
from tests.package import oracles

# Every size is another prime, so that no two axes can be confused.
BATCH, LEN_Q, LEN_K, D_K, D_V, HIDDEN, OUTER = 3, 5, 7, 11, 13, 17, 19


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def random_mask(*shape, seed=0):
    """Draw a mask with at least one key for every query."""
    mask = np.random.default_rng([seed, *shape]).random(shape) < 0.5
    mask[..., 0] |= ~mask.any(axis=-1)
    return mask


def numbers(*shape, bound=10.0):
    return hnp.arrays(np.float64, shape, elements=st.floats(-bound, bound, allow_subnormal=False))


def booleans(*shape):
    return hnp.arrays(np.bool_, shape)


# --- softmax --------------------------------------------------------------------


def test_softmax_by_hand():
    # exp gives 1, 2 and 5, which sum to 8.
    row = softmax([0.0, math.log(2), math.log(5)])
    np.testing.assert_allclose(row, [1 / 8, 2 / 8, 5 / 8], rtol=1e-14)


@pytest.mark.parametrize("case", oracles.GOLDEN["softmax"], ids=lambda case: f"axis {case['axis']}")
def test_softmax_equals_pytorch(case):
    result = softmax(oracles.as_floats(case["x"]), axis=case["axis"])
    np.testing.assert_allclose(result, oracles.as_floats(case["output"]), rtol=1e-9)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_normalises_the_axis_it_is_given(axis):
    x = normal(2, 3, 5)
    rows = np.moveaxis(x, axis, -1)
    expected = np.array([oracles.softmax_row(row) for row in rows.reshape(-1, rows.shape[-1])])
    expected = np.moveaxis(expected.reshape(rows.shape), -1, axis)
    np.testing.assert_allclose(softmax(x, axis=axis), expected, rtol=1e-13)


def test_softmax_takes_the_last_axis_by_default():
    np.testing.assert_array_equal(softmax(normal(2, 3, 5)), softmax(normal(2, 3, 5), axis=2))


@given(numbers(LEN_Q, LEN_K, bound=1e4))
def test_softmax_of_large_scores_is_finite_and_sums_to_one(x):
    rows = softmax(x)
    assert np.isfinite(rows).all()
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=1e-12)


@given(numbers(LEN_Q, LEN_K), numbers(LEN_Q, 1, bound=1e3))
def test_adding_a_constant_to_a_row_changes_nothing(x, constants):
    np.testing.assert_allclose(softmax(x + constants), softmax(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_of_an_empty_row_is_zeros(axis):
    x = normal(LEN_Q, LEN_K)
    x[1, :] = -np.inf
    x[:, 2] = -np.inf
    result = softmax(x, axis=axis)
    empty = (slice(None), 2) if axis == 0 else (1, slice(None))
    np.testing.assert_array_equal(result[empty], 0)
    sums = np.delete(result.sum(axis=axis), 2 if axis == 0 else 1)
    np.testing.assert_allclose(sums, 1, rtol=1e-14)


def test_softmax_of_minus_infinity_is_exactly_zero():
    np.testing.assert_array_equal(softmax([-np.inf, 3.0, -np.inf]), [0, 1, 0])


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (2, 0, 3)])
def test_softmax_of_nothing_is_nothing(shape):
    assert softmax(np.empty(shape)).shape == shape


@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
        (np.uint16, np.float64),
        (np.bool_, np.float64),
    ],
)
def test_softmax_keeps_the_dtype(given_dtype, expected):
    x = np.array([[0, 1, 1], [1, 0, 1]], dtype=given_dtype)
    result = softmax(x)
    assert result.dtype == expected
    row = oracles.softmax_row([0, 1, 1])
    np.testing.assert_allclose(result[0], row, rtol=2 * np.finfo(expected).eps)


def test_softmax_in_half_precision_is_computed_in_single():
    # The two scores are 1.3e5 apart: in float16 their difference overflows.
    np.testing.assert_array_equal(softmax(np.array([65000, -65000], np.float16)), [1, 0])
    x = 8 * normal(LEN_Q, LEN_K).astype(np.float16)
    expected = softmax(x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(softmax(x), expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_softmax_changes_no_input(dtype):
    x = (5 * normal(LEN_Q, LEN_K)).astype(dtype)
    before = x.tobytes()
    softmax(x)
    softmax(x[:, ::2], axis=0)
    assert x.tobytes() == before


@pytest.mark.parametrize("x", [np.ones(3, complex), np.array(["1"]), np.array([None])])
def test_softmax_refuses_what_is_not_a_real_number(x):
    with pytest.raises(TypeError, match=f"^x must hold real numbers, got dtype {x.dtype}"):
        softmax(x)


def test_softmax_of_a_single_number():
    assert softmax(3.0) == 1


# --- scaled_dot_product_attention -------------------------------------------------


def test_attention_by_hand():
    # Scores 0, ln 2 and ln 5 at scale 1/sqrt(4): weights 1/8, 2/8 and 5/8.
    query = [[2.0, 0, 0, 0]]
    key = [[0.0, 1, 2, 3], [math.log(2), 3, 2, 1], [math.log(5), 0, 1, 0]]
    value = [[8.0, 0], [16.0, 8], [24.0, 0]]
    result = scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(result.weights, [[1 / 8, 2 / 8, 5 / 8]], rtol=1e-14)
    np.testing.assert_allclose(result.output, [[1 + 4 + 15, 2]], rtol=1e-14)


@pytest.mark.parametrize("case", oracles.GOLDEN["sdpa"], ids=lambda case: case["name"])
def test_attention_equals_pytorch(case):
    query, key, value = (oracles.as_floats(case[name]) for name in ("query", "key", "value"))
    mask = causal_mask(query.shape[-2]) if case["is_causal"] else case["mask"]
    result = scaled_dot_product_attention(query, key, value, mask, scale=case["scale"])
    for name in ("output", "weights"):
        expected = oracles.as_floats(case[name])
        np.testing.assert_allclose(getattr(result, name), expected, rtol=1e-9)


CONVENTIONS = json.loads(
    (resources.files("attnbook") / "data" / "mask_conventions.json").read_text("utf-8")
)
RECIPES = {
    "mask": lambda mask: mask,
    "~mask": lambda mask: ~mask,
    "additive": lambda mask: np.where(mask, 0.0, -np.inf),
}


@pytest.mark.parametrize("row", CONVENTIONS["rows"], ids=lambda row: row["call"])
def test_other_libraries_agree_once_their_mask_is_translated(row):
    mask = np.array(CONVENTIONS[row["of"]])
    given = np.array(row["given"], dtype=float)
    np.testing.assert_array_equal(RECIPES[row["recipe"]](mask).reshape(given.shape), given)
    inputs = [np.array(CONVENTIONS[name]) for name in ("query", "key", "value")]
    result = scaled_dot_product_attention(*inputs, mask)
    np.testing.assert_allclose(result.output, oracles.as_floats(row["output"]), atol=1e-5)


@pytest.mark.parametrize("scale", [None, 0.3, 0.0, -2.0, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_equals_loops(scale, masked):
    inputs = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    mask = random_mask(BATCH, LEN_Q, LEN_K) if masked else None
    result = scaled_dot_product_attention(*inputs, mask, scale=scale)
    expected = oracles.dot_product_attention(*inputs, mask, scale)
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.weights, expected[1], rtol=1e-10)


@given(scores=numbers(LEN_Q, LEN_K, bound=1e4), mask=booleans(LEN_Q, LEN_K))
def test_scores_of_ten_thousand_stay_finite(scores, mask):
    # With the unit vectors as keys the queries are the scores, and the output is the weights.
    result = scaled_dot_product_attention(scores, np.eye(LEN_K), np.eye(LEN_K), mask, scale=1)
    expected = [oracles.softmax_row(*row) for row in zip(scores, mask, strict=True)]
    # Weights below 1e-300 have fewer digits.
    np.testing.assert_allclose(result.weights, expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(result.output, result.weights)


@given(numbers(LEN_Q, D_K, bound=3), numbers(LEN_K, D_K, bound=3), numbers(D_K, bound=3))
def test_moving_all_keys_alike_changes_no_weight(query, key, step):
    # query . (key + step) adds query . step to the whole row of scores.
    still = scaled_dot_product_attention(query, key, key).weights
    moved = scaled_dot_product_attention(query, key + step, key).weights
    np.testing.assert_allclose(moved, still, rtol=1e-9, atol=1e-12)


# Leading axes of query, key, value and mask; `None` for no mask.
LEADING = [
    ((), (), (), None),
    ((BATCH,), (), (), None),
    ((), (BATCH,), (BATCH,), None),
    ((), (), (BATCH,), None),
    ((), (), (), (BATCH,)),
    ((OUTER, 1), (BATCH,), (1, BATCH), (BATCH,)),
    ((OUTER, BATCH), (), (BATCH,), (OUTER, 1)),
    ((BATCH,), (BATCH,), (BATCH,), ()),
]


@pytest.mark.parametrize("leading", LEADING, ids=str)
@pytest.mark.parametrize("additive", [False, True])
def test_leading_axes_broadcast(leading, additive):
    q, k, v, m = leading
    query, key, value = normal(*q, LEN_Q, D_K), normal(*k, LEN_K, D_K), normal(*v, LEN_K, D_V)
    mask = None if m is None else random_mask(*m, LEN_Q, LEN_K)
    if additive:
        learned = normal(D_K, HIDDEN), normal(D_K, HIDDEN, seed=1), normal(HIDDEN)
        result = additive_attention(query, key, value, *learned, mask)
        expected = oracles.additive_attention(query, key, value, *learned, mask)
    else:
        result = scaled_dot_product_attention(query, key, value, mask)
        expected = oracles.dot_product_attention(query, key, value, mask)
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-9, atol=1e-12)
    # The oracle repeats weights for the leading axes of the value; NumPy need not.
    shared = np.broadcast_to(result.weights, expected[1].shape)
    np.testing.assert_allclose(shared, expected[1], rtol=1e-9)


@pytest.mark.parametrize(
    "shape", [(), (1,), (LEN_K,), (1, LEN_K), (LEN_Q, 1), (LEN_Q, LEN_K), (BATCH, 1, LEN_K)]
)
def test_a_mask_broadcasts_to_the_scores(shape):
    inputs = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    mask = np.random.default_rng(1).random(shape) < 0.5
    result = scaled_dot_product_attention(*inputs, mask)
    full = scaled_dot_product_attention(*inputs, np.broadcast_to(mask, (BATCH, LEN_Q, LEN_K)))
    np.testing.assert_array_equal(result.weights, full.weights)
    allowed = np.broadcast_to(mask, full.weights.shape)
    np.testing.assert_array_equal(result.weights > 0, allowed)


SHAPES = {
    "query of 1 axis": ((D_K,), (LEN_K, D_K), (LEN_K, D_V), r"query must .* 2 axes .* \(11,\)"),
    "key of 1 axis": ((LEN_Q, D_K), (D_K,), (LEN_K, D_V), r"key must .* 2 axes .* \(11,\)"),
    "value of 1 axis": ((LEN_Q, D_K), (LEN_K, D_K), (D_V,), r"value must .* 2 axes .* \(13,\)"),
    "lengths of key and value": (
        (LEN_Q, D_K),
        (LEN_K, D_K),
        (LEN_Q, D_V),
        "key and value must have the same length len_k, got 7 and 5",
    ),
    "leading axes": (
        (BATCH, LEN_Q, D_K),
        (OUTER, LEN_K, D_K),
        (LEN_K, D_V),
        r"leading axes of query, key and value must broadcast, got \(3,\), \(19,\) and \(\)",
    ),
}


@pytest.mark.parametrize(("query", "key", "value", "message"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("additive", [False, True])
def test_shapes_that_do_not_fit_are_named(query, key, value, message, additive):
    learned = (np.ones((D_K, 2)), np.ones((D_K, 2)), np.ones(2)) if additive else ()
    function = additive_attention if additive else scaled_dot_product_attention
    with pytest.raises(ValueError, match=f"^{message}"):
        function(normal(*query), normal(*key), normal(*value), *learned)


def test_query_and_key_must_have_the_same_d_k():
    message = "query and key must have the same last axis d_k, got 11 and 13"
    with pytest.raises(ValueError, match=f"^{message}"):
        scaled_dot_product_attention(normal(LEN_Q, D_K), normal(LEN_K, D_V), normal(LEN_K, D_V))


def test_d_k_must_not_be_zero():
    with pytest.raises(ValueError, match=r"^d_k must be at least 1, .* \(3, 0\)"):
        scaled_dot_product_attention(np.ones((3, 0)), np.ones((5, 0)), np.ones((5, 2)))


def test_leading_axes_of_mask_and_value_that_do_not_broadcast_are_named():
    inputs = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    with pytest.raises(ValueError, match=r"^mask.*\(19, 5, 7\)"):
        scaled_dot_product_attention(*inputs, random_mask(OUTER, LEN_Q, LEN_K))


# --- bias ---------------------------------------------------------------------------


def test_a_bias_by_hand():
    # The product 2 at scale 1/2 and the bias ln 3: 1 + ln 3 against 1, so 3/4 and 1/4.
    bias = [[math.log(3), 0.0]]
    result = scaled_dot_product_attention(
        [[2.0, 0, 0, 0]], [[1.0, 0, 0, 0]] * 2, [[4.0], [8.0]], bias=bias
    )
    np.testing.assert_allclose(result.weights, [[3 / 4, 1 / 4]], rtol=1e-14)
    np.testing.assert_allclose(result.output, [[5.0]], rtol=1e-14)


@pytest.mark.parametrize(
    "shape",
    [(), (LEN_K,), (LEN_Q, 1), (LEN_Q, LEN_K), (BATCH, 1, LEN_K), (2, 1, LEN_Q, LEN_K)],
    ids=str,
)
@pytest.mark.parametrize("mask_shape", [None, (LEN_K,), (BATCH, LEN_Q, LEN_K)], ids=str)
def test_a_bias_equals_loops(shape, mask_shape):
    inputs = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    mask = None if mask_shape is None else random_mask(*mask_shape)
    bias = normal(*shape)
    result = scaled_dot_product_attention(*inputs, mask, bias=bias, scale=0.7)
    expected = oracles.dot_product_attention(*inputs, mask, scale=0.7, bias=bias)
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.weights, expected[1], rtol=1e-10)


def test_a_bias_may_add_leading_axes():
    inputs = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    bias = normal(2, LEN_Q, LEN_K)  # one for each of two heads, as ALiBi's
    result = scaled_dot_product_attention(*inputs, bias=bias)
    expected = oracles.dot_product_attention(*inputs, bias=bias)
    assert result.output.shape == (2, LEN_Q, D_V)
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.weights, expected[1], rtol=1e-10)


def test_a_bias_of_minus_infinity_is_a_mask():
    inputs = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    mask, other = random_mask(LEN_Q, LEN_K), random_mask(LEN_Q, LEN_K, seed=1)
    mask[2] = False
    hidden = np.where(mask, 0.0, -np.inf)
    for got, expected in (
        (scaled_dot_product_attention(*inputs, bias=hidden), mask),
        (scaled_dot_product_attention(*inputs, other, bias=hidden), mask & other),
        (scaled_dot_product_attention(*inputs, bias=-np.inf), np.False_),
    ):
        expected = scaled_dot_product_attention(*inputs, expected)
        np.testing.assert_array_equal(got.weights, expected.weights)
        np.testing.assert_array_equal(got.output, expected.output)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("inputs_dtype", [np.float16, np.float32, np.float64])
def test_a_bias_does_not_decide_the_dtype(dtype, inputs_dtype):
    shapes = (LEN_Q, D_K), (LEN_K, D_K), (LEN_K, D_V)
    inputs = [normal(*shape).astype(inputs_dtype) for shape in shapes]
    bias = (3 * normal(LEN_Q, LEN_K)).astype(dtype)
    before = bias.tobytes()
    result = scaled_dot_product_attention(*inputs, bias=bias)
    assert result.output.dtype == result.weights.dtype == inputs_dtype
    assert bias.tobytes() == before
    exact = oracles.dot_product_attention(*(x.astype(float) for x in inputs), bias=bias)
    close = {np.float16: 1e-3, np.float32: 1e-6, np.float64: 1e-13}[inputs_dtype]
    np.testing.assert_allclose(result.weights, exact[1], rtol=0, atol=close)


def test_a_bias_is_added_in_its_own_precision():
    # In float32 2**30 + 1 is 2**30, and the two keys would get equal weights.
    zeros = np.zeros((2, 1), np.float32)
    result = scaled_dot_product_attention(zeros[:1], zeros, zeros, bias=[2.0**30, 2.0**30 + 1])
    np.testing.assert_allclose(result.weights, [oracles.softmax_row([0, 1])], rtol=1e-7)


def test_a_boolean_bias_is_a_mask_by_the_wrong_name():
    inputs = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    with pytest.raises(TypeError, match=r"^bias must hold numbers.* got dtype bool.* as mask$"):
        scaled_dot_product_attention(*inputs, bias=random_mask(LEN_Q, LEN_K))


@pytest.mark.parametrize("dtype", [complex, object])
def test_a_bias_of_no_real_numbers_is_refused(dtype):
    inputs = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    message = f"^bias must hold real numbers, got dtype {np.dtype(dtype)}$"
    with pytest.raises(TypeError, match=f"^{message}"):
        scaled_dot_product_attention(*inputs, bias=np.zeros((LEN_Q, LEN_K), dtype))


@pytest.mark.parametrize(
    ("bias", "mask", "message"),
    [
        ((LEN_K, LEN_Q), None, r"(7, 5) must broadcast to (..., len_q, len_k) = (3, 5, 7)"),
        ((2, 1, 1), None, r"(2, 1, 1) must broadcast to (..., len_q, len_k) = (3, 5, 7)"),
        ((2, 1, 1, 1), (OUTER, 1, 1, 1), "(2, 1, 1, 1) must broadcast to (..., len_q, len_k) = "),
    ],
)
def test_a_bias_that_does_not_broadcast_is_named(bias, mask, message):
    inputs = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    mask = None if mask is None else np.ones(mask, bool)
    with pytest.raises(ValueError, match=r"^bias of shape " + re.escape(message)):
        scaled_dot_product_attention(*inputs, mask, bias=normal(*bias))


def test_a_bias_cannot_make_one_query_many():
    message = re.escape("bias of shape (5, 7) must broadcast to (..., len_q, len_k) = (1, 7)")
    with pytest.raises(ValueError, match=f"^{message}$"):
        scaled_dot_product_attention(
            normal(1, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V), bias=normal(LEN_Q, LEN_K)
        )


# --- Numbers that are not finite ----------------------------------------------------

poisons = st.sampled_from([np.nan, np.inf, -np.inf])
mask_ends = st.sampled_from([(1, 1), (1, 5), (3, 1), (3, 5)])


def poisoned(data, array, most=4):
    """Put some numbers into an array that are not finite."""
    array = array.copy()
    places = st.tuples(*(st.integers(0, size - 1) for size in array.shape))
    for at, poison in data.draw(st.lists(st.tuples(places, poisons), max_size=most)):
        array[at] = poison
    return array


@given(data=st.data(), leading=st.sampled_from(LEADING))
def test_what_is_not_finite_reaches_who_may_see_it_as_ieee_has_it(data, leading):
    q, k, v, m = leading
    query, key, value = normal(*q, 3, 2), normal(*k, 5, 2), normal(*v, 5, 2)
    key, value = poisoned(data, key), poisoned(data, value)
    mask = None if m is None else data.draw(booleans(*m, *data.draw(mask_ends)))
    bias = None
    if data.draw(st.booleans()):
        bias = np.where(data.draw(booleans(3, 5)), normal(3, 5), -np.inf)
    with np.errstate(invalid="raise", over="raise", divide="raise"):  # and it does so silently
        result = scaled_dot_product_attention(query, key, value, mask, bias=bias)
    expected = oracles.attention_as_ieee_has_it(query, key, value, mask, bias)
    np.testing.assert_allclose(result.output, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_padding_that_is_not_finite_is_as_good_as_zeros(poison):
    inputs = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    query, key, value = inputs
    mask = padding_mask([LEN_K, 2, 0])
    key[1, 2:] = value[1, 2:] = key[2] = value[2] = poison
    got = scaled_dot_product_attention(query, key, value, mask)
    key[1, 2:] = value[1, 2:] = key[2] = value[2] = 0
    expected = scaled_dot_product_attention(query, key, value, mask)
    np.testing.assert_array_equal(got.output, expected.output)
    np.testing.assert_array_equal(got.weights, expected.weights)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("masked", [False, True])
def test_a_bias_of_minus_infinity_hides_what_is_not_finite(poison, masked):
    query, key, value = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    mask = random_mask(LEN_Q, LEN_K) if masked else None
    bias = normal(LEN_Q, LEN_K)
    bias[1:, 2] = -np.inf
    clean = scaled_dot_product_attention(query, key, value, mask, bias=bias)
    key[2], value[2] = poison, poison
    got = scaled_dot_product_attention(query, key, value, mask, bias=bias)
    np.testing.assert_allclose(got.output[1:], clean.output[1:], rtol=1e-12)
    np.testing.assert_allclose(got.weights[1:], clean.weights[1:], rtol=1e-12)
    assert masked or not np.isfinite(got.output[0]).any()


# --- additive_attention -----------------------------------------------------------


def test_additive_attention_by_hand():
    # tanh(atanh(1/2) + 0) = 1/2, tanh(atanh(1/2) - atanh(1/2)) = 0; times 2 ln 3: ln 3 and 0.
    half = math.atanh(0.5)
    one = [[1.0]]
    result = additive_attention(
        [[half]], [[0.0], [-half]], [[4.0], [8.0]], one, one, [2 * math.log(3)]
    )
    np.testing.assert_allclose(result.weights, [[3 / 4, 1 / 4]], rtol=1e-14)
    np.testing.assert_allclose(result.output, [[5.0]], rtol=1e-14)


@pytest.mark.parametrize("masked", [False, True])
def test_additive_attention_equals_loops(masked):
    d_q = 19  # query and key need not be alike
    inputs = normal(BATCH, LEN_Q, d_q), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)
    learned = normal(d_q, HIDDEN), normal(D_K, HIDDEN), normal(HIDDEN)
    mask = random_mask(BATCH, LEN_Q, LEN_K) if masked else None
    result = additive_attention(*inputs, *learned, mask)
    expected = oracles.additive_attention(*inputs, *learned, mask)
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.weights, expected[1], rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("w_query", (D_K, 2), r"w_query must have shape \(11, 17\), got \(11, 2\)"),
        ("w_query", (D_K,), r"w_query must have shape \(11, 17\), got \(11,\)"),
        ("w_key", (D_K, HIDDEN), r"w_key must have shape \(13, 17\), got \(11, 17\)"),
        ("w_score", (HIDDEN, 1), r"w_score must have shape \(hidden,\), got \(17, 1\)"),
    ],
)
def test_learned_weights_of_the_wrong_shape_are_named(name, shape, message):
    shapes = {"w_query": (D_K, HIDDEN), "w_key": (D_V, HIDDEN), "w_score": (HIDDEN,)}
    learned = {**{key: normal(*size) for key, size in shapes.items()}, name: normal(*shape)}
    with pytest.raises(ValueError, match=f"^{message}"):
        additive_attention(normal(LEN_Q, D_K), normal(LEN_K, D_V), normal(LEN_K, 2), **learned)


# --- What holds for every attention -------------------------------------------------

# Each is called as call(x, memory, mask, dtype): x (..., len_q, d_k) asks, memory (..., len_k, d_v)
# answers, and the learned weights have the dtype. Self-attention only looks at memory.
NUM_HEADS = 2


def call_dot(x, memory, mask=None, dtype=np.float64):
    return scaled_dot_product_attention(x, memory[..., :D_K], memory, mask)


def call_additive(x, memory, mask=None, dtype=np.float64):
    learned = normal(D_K, HIDDEN), normal(D_V, HIDDEN), normal(HIDDEN)
    return additive_attention(x, memory, memory, *(w.astype(dtype) for w in learned), mask)


def call_self(x, memory, mask=None, dtype=np.float64):
    learned = normal(D_V, D_K), normal(D_V, D_K, seed=1), normal(D_V, HIDDEN)
    return self_attention(memory, *(w.astype(dtype) for w in learned), mask)


def call_cross(x, memory, mask=None, dtype=np.float64):
    learned = normal(D_K, 2), normal(D_V, 2), normal(D_V, HIDDEN)
    return cross_attention(x, memory, *(w.astype(dtype) for w in learned), mask)


def call_multi_head(x, memory, mask=None, dtype=np.float64):
    sizes = {"q": (D_K, 2 * 23), "k": (D_V, 2 * 23), "v": (D_V, 2 * 29), "o": (2 * 29, HIDDEN)}
    learned = {f"w_{letter}": normal(*size).astype(dtype) for letter, size in sizes.items()}
    learned["w_o"] = learned["w_o"] / 8  # or the output of large float16 inputs is no float16
    biases = {f"b_{letter}": normal(size[1]).astype(dtype) for letter, size in sizes.items()}
    return MultiHeadAttention(**learned, **biases, num_heads=NUM_HEADS)(x, memory, mask=mask)


CALLS = [call_dot, call_additive, call_self, call_cross, call_multi_head]
every_attention = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__[5:])


def len_q_of(call, len_k=LEN_K):
    return len_k if call is call_self else LEN_Q


def per_head(mask, call):
    """Give a mask of scores the axis of the heads where the weights have one."""
    return np.stack([mask] * NUM_HEADS, axis=-3) if call is call_multi_head else mask


@every_attention
def test_the_result_is_a_named_pair(call):
    result = call(normal(LEN_Q, D_K), normal(LEN_K, D_V))
    assert isinstance(result, AttentionOutput)
    assert result._fields == ("output", "weights")
    assert result.weights.shape == per_head(np.ones((len_q_of(call), LEN_K)), call).shape
    assert result.output.shape[:-1] == (len_q_of(call),)


@every_attention
@given(data=st.data())
def test_rows_sum_to_one_and_masked_weights_are_exactly_zero(call, data):
    len_q = len_q_of(call)
    x, memory = data.draw(numbers(BATCH, len_q, D_K)), data.draw(numbers(BATCH, LEN_K, D_V))
    mask = data.draw(booleans(BATCH, len_q, LEN_K))
    weights = call(x, memory, mask).weights
    allowed = per_head(mask, call)
    assert (weights[~allowed] == 0).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), allowed.any(axis=-1), rtol=1e-12)


@every_attention
@given(data=st.data())
def test_permuting_keys_and_values_together_changes_nothing(call, data):
    x, memory = data.draw(numbers(LEN_Q, D_K)), data.draw(numbers(LEN_K, D_V))
    mask = data.draw(booleans(len_q_of(call), LEN_K))
    order = np.array(data.draw(st.permutations(range(LEN_K))))
    # In self-attention the queries are the tokens, too, and move along.
    rows = order if call is call_self else np.arange(LEN_Q)
    result = call(x, memory, mask)
    moved = call(x, memory[order], mask[rows][:, order])
    np.testing.assert_allclose(moved.output, result.output[rows], rtol=1e-9, atol=1e-9)
    expected = result.weights[..., rows, :][..., order]
    np.testing.assert_allclose(moved.weights, expected, rtol=1e-9, atol=1e-12)


@every_attention
@given(data=st.data(), now=st.integers(0, LEN_K - 2))
def test_the_future_cannot_change_the_past(call, data, now):
    x = data.draw(numbers(LEN_K, D_K))
    memory, other = data.draw(numbers(LEN_K, D_V)), data.draw(numbers(LEN_K, D_V))
    changed = np.concatenate([memory[: now + 1], other[now + 1 :]])
    before, after = (call(x, m, causal_mask(LEN_K)) for m in (memory, changed))
    past = slice(0, now + 1)
    np.testing.assert_allclose(after.output[past], before.output[past], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        after.weights[..., past, :], before.weights[..., past, :], rtol=1e-12, atol=1e-15
    )


@every_attention
def test_a_query_that_may_attend_to_nothing_gets_zeros(call):
    len_q = len_q_of(call)
    mask = random_mask(BATCH, len_q, LEN_K)
    mask[1, 2] = False
    result = call(normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_V), mask)
    assert np.isfinite(result.output).all()
    sums = result.weights.sum(axis=-1)
    np.testing.assert_allclose(sums, per_head(mask, call).any(axis=-1), rtol=1e-12)
    # What multi-head attention adds to the zeros of its heads is its own output bias.
    nothing = normal(HIDDEN) if call is call_multi_head else np.zeros(result.output.shape[-1])
    np.testing.assert_array_equal(result.output[1, 2], nothing)


@every_attention
@pytest.mark.parametrize("mask", [np.False_, np.zeros(LEN_K, bool), np.zeros((1, LEN_K), bool)])
def test_a_mask_of_nothing_gives_zeros_everywhere(call, mask):
    result = call(normal(LEN_Q, D_K), normal(LEN_K, D_V), mask)
    np.testing.assert_array_equal(result.weights, 0)


@every_attention
def test_nan_in_a_key_reaches_no_query_that_may_not_see_it(call):
    memory = normal(LEN_K, D_V)
    mask = np.ones((len_q_of(call), LEN_K), bool)
    mask[1:, 0] = False  # only query 0 sees key 0
    poisoned = memory.copy()
    poisoned[0, 3] = np.nan
    weights = call(normal(LEN_Q, D_K), poisoned, mask).weights
    clean = call(normal(LEN_Q, D_K), memory, mask).weights
    assert np.isnan(weights[..., 0, :]).all()
    np.testing.assert_array_equal(weights[..., 1:, 0], 0)
    np.testing.assert_allclose(weights[..., 1:, 1:], clean[..., 1:, 1:], rtol=1e-12)


@every_attention
@given(data=st.data())
def test_a_token_that_is_not_finite_reaches_only_who_may_see_it(call, data):
    len_q = len_q_of(call)
    batched = data.draw(st.booleans())
    leading = (BATCH,) if batched else ()
    x, memory = normal(*leading, LEN_Q, D_K), normal(*leading, LEN_K, D_V)
    ends = data.draw(st.sampled_from([(LEN_K,), (1, LEN_K), (len_q, 1), (len_q, LEN_K)]))
    axes = data.draw(st.sampled_from([(), leading])) if len(ends) == 2 else ()
    mask = data.draw(booleans(*axes, *ends))
    broken = poisoned(data, memory)
    bad = ~np.isfinite(broken).all(axis=-1)  # (..., len_k)
    sees = (np.broadcast_to(mask, (*leading, len_q, LEN_K)) & bad[..., None, :]).any(axis=-1)
    if call is call_self:  # a query of such numbers is none, and where it sees nothing a 0
        sees = sees | (bad & np.broadcast_to(mask, (*leading, len_q, LEN_K)).any(axis=-1))
    got = call(x, broken, mask)
    clean = call(x, memory, mask)
    np.testing.assert_allclose(got.output[~sees], clean.output[~sees], rtol=1e-12, atol=1e-12)
    by_query = [np.moveaxis(weights, -2, len(leading)) for weights in (got.weights, clean.weights)]
    np.testing.assert_allclose(by_query[0][~sees], by_query[1][~sees], rtol=1e-12)
    if call is not call_self:
        assert not np.isfinite(got.output[sees]).all(axis=-1).any()


@every_attention
@pytest.mark.parametrize(("len_q", "len_k"), [(0, LEN_K), (LEN_Q, 0), (0, 0)])
@pytest.mark.parametrize("masked", [False, True])
def test_no_queries_or_no_keys(call, len_q, len_k, masked):
    len_q = len_k if call is call_self else len_q
    mask = np.ones((len_q, len_k), bool) if masked else None
    result = call(normal(len_q, D_K), normal(len_k, D_V), mask)
    assert result.weights.shape[-2:] == (len_q, len_k)
    assert result.output.shape[-2] == len_q
    assert np.isfinite(result.output).all()
    if len_k == 0 and call is not call_multi_head:  # whose output is its bias
        np.testing.assert_array_equal(result.output, 0)


@every_attention
@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int32, np.float64),
        (np.uint8, np.float64),
        (np.bool_, np.float64),
    ],
)
@pytest.mark.parametrize("learned", [np.float32, np.float64])
def test_the_inputs_decide_the_dtype(call, given_dtype, expected, learned):
    x, memory = ((3 * normal(n, d)).astype(given_dtype) for n, d in ((LEN_Q, D_K), (LEN_K, D_V)))
    for mask in (None, random_mask(len_q_of(call), LEN_K)):
        result = call(x, memory, mask, learned)
        assert result.output.dtype == expected
        assert result.weights.dtype == expected
        exact = call(x.astype(float), memory.astype(float), mask, learned)
        close = {np.float16: 1e-2, np.float32: 1e-4, np.float64: 1e-12}[expected]
        np.testing.assert_allclose(result.weights, exact.weights, rtol=0, atol=close)
        np.testing.assert_allclose(result.output, exact.output, rtol=close, atol=10 * close)


@every_attention
@pytest.mark.parametrize("size", [1, 300])
def test_half_precision_is_computed_in_single_precision(call, size):
    # At size 300 scores and projections exceed 65504, where float16 overflows.
    x, memory = (
        np.clip(size * normal(n, d), -900, 900).astype(np.float16)
        for n, d in ((LEN_Q, D_K), (LEN_K, D_V))
    )
    result = call(x, memory, None, np.float16)
    single = call(x.astype(np.float32), memory.astype(np.float32), None, np.float16)
    np.testing.assert_array_equal(result.weights, single.weights.astype(np.float16))
    np.testing.assert_array_equal(result.output, single.output.astype(np.float16))
    assert np.isfinite(result.output).all()


def test_additive_scores_beyond_half_precision_stay_finite():
    learned = np.ones((D_K, HIDDEN)), np.ones((D_V, HIDDEN)), np.full(HIDDEN, 6e4)
    x, memory = np.ones((LEN_Q, D_K), np.float16), -np.eye(LEN_K, D_V, dtype=np.float16)
    memory[0] = -5
    learned = [w.astype(np.float16) for w in learned]
    result = additive_attention(x, memory, memory, *learned)
    share = np.float16(1 / (LEN_K - 1))
    np.testing.assert_array_equal(result.weights, [[0] + [share] * (LEN_K - 1)] * LEN_Q)


@every_attention
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_inputs_are_never_changed(call, dtype):
    x, memory = ((5 * normal(n, d)).astype(dtype) for n, d in ((LEN_Q, D_K), (LEN_K, D_V)))
    mask = random_mask(len_q_of(call), LEN_K)
    mask[1] = False
    before = [array.tobytes() for array in (x, memory, mask)]
    call(x, memory, mask, dtype)
    call(x, memory, None, dtype)
    assert [array.tobytes() for array in (x, memory, mask)] == before


@pytest.mark.parametrize("function", [additive_attention, self_attention, cross_attention])
def test_learned_weights_are_never_changed(function):
    names = list(inspect.signature(function).parameters)[:-1]
    square = {name: normal(D_K, D_K, seed=seed) for seed, name in enumerate(names)}
    if "w_score" in square:
        square["w_score"] = normal(D_K)
    before = {name: array.tobytes() for name, array in square.items()}
    function(**square, mask=causal_mask(D_K))
    assert {name: array.tobytes() for name, array in square.items()} == before


@every_attention
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64, np.float32])
def test_a_mask_that_is_not_boolean_says_how_to_convert_it(call, dtype):
    x, memory = normal(LEN_Q, D_K), normal(LEN_K, D_V)
    mask = random_mask(len_q_of(call), LEN_K)
    name = np.dtype(dtype).name
    message = rf"mask must be boolean, True where .* {name}: .*mask\.astype\(bool\).*mask == 0"
    with pytest.raises(TypeError, match=f"^{message}"):
        call(x, memory, mask.astype(dtype))


def test_the_advice_on_masks_is_right():
    x, memory = normal(LEN_Q, D_K), normal(LEN_K, D_V)
    mask = random_mask(LEN_Q, LEN_K)
    expected = call_dot(x, memory, mask).weights
    ones, additive = mask.astype(int), np.where(mask, 0, -np.inf)
    np.testing.assert_array_equal(call_dot(x, memory, ones.astype(bool)).weights, expected)
    np.testing.assert_array_equal(call_dot(x, memory, additive == 0).weights, expected)


@every_attention
@pytest.mark.parametrize("shape", [(LEN_K, 2), (2,), (2, LEN_K), (11, 1), (2, 1, 1)])
def test_a_mask_that_does_not_broadcast_is_named(call, shape):
    inputs = normal(OUTER, LEN_Q, D_K), normal(OUTER, LEN_K, D_V)
    with pytest.raises(
        ValueError, match=r"^mask of shape .* must broadcast to \(..., len_q, len_k\)"
    ):
        call(*inputs, np.ones(shape, bool))


def test_a_mask_cannot_make_one_query_many():
    with pytest.raises(ValueError, match=r"^mask of shape \(5, 7\) must broadcast .* = \(1, 7\)"):
        call_dot(normal(1, D_K), normal(LEN_K, D_V), np.ones((LEN_Q, LEN_K), bool))


@every_attention
def test_each_input_is_checked_once(call, monkeypatch):
    checked = []

    def counting(check):
        def count(first, *others, **named):
            checked.append(first if isinstance(first, str) else check.__name__)
            return check(first, *others, **named)

        return count

    for check in (_checks.real_array, _checks.check_mask):
        for module in (_checks, functional, layers):
            monkeypatch.setattr(module, check.__name__, counting(check), raising=False)
    call(normal(LEN_Q, D_K), normal(LEN_K, D_V), random_mask(len_q_of(call), LEN_K))
    assert {"check_mask"} < set(checked)
    assert len(checked) == len(set(checked))


@every_attention
@pytest.mark.parametrize("dtype", [complex, object])
def test_numbers_that_are_not_real_are_refused(call, dtype):
    x, memory = normal(LEN_Q, D_K), normal(LEN_K, D_V)
    message = rf"^\w+ must hold real numbers, got dtype {np.dtype(dtype)}"
    with pytest.raises(TypeError, match=f"^{message}"):
        call(x, memory.astype(dtype))
    if call is not call_self:
        with pytest.raises(TypeError, match=f"^{message}"):
            call(x.astype(dtype), memory)
    if call is not call_dot:
        with pytest.raises(TypeError, match=f"^{message}"):
            call(x, memory, None, dtype)


def test_every_attention_of_the_package_is_tested_here():
    attentions = {name for name in attnbook.__all__ if name.lower().endswith("attention")}
    assert attentions == {
        "scaled_dot_product_attention",
        "additive_attention",
        "self_attention",
        "cross_attention",
        "MultiHeadAttention",
        "blockwise_attention",  # in test_long.py
    }
    assert len(CALLS) == len(attentions) - 1


@pytest.mark.parametrize("parameters", [{}, {"w_query": np.eye(2), "w_key": np.eye(2)}])
@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_an_attention_names_the_input_that_is_not_real(parameters, name):
    inputs = dict.fromkeys(("query", "key", "value"), np.eye(2)) | parameters
    attention = scaled_dot_product_attention
    if parameters:
        attention, inputs["w_score"] = additive_attention, np.ones(2)
    inputs[name] = inputs[name] * 1j
    with pytest.raises(TypeError, match=rf"^{name} must hold real numbers"):
        attention(**inputs)


@pytest.mark.parametrize("name", ["w_query", "w_key", "w_score"])
def test_additive_attention_names_the_parameter_that_is_not_real(name):
    parameters = {"w_query": np.eye(2), "w_key": np.eye(2), "w_score": np.ones(2)}
    x, parameters[name] = np.eye(2), parameters[name] * 1j
    with pytest.raises(TypeError, match=rf"^{name} must hold real numbers"):
        additive_attention(x, x, x, **parameters)


# --- attend: any scores -----------------------------------------------------------


def mixed(scores, value, mask=None, bias=None):
    """Weigh each row by the loop's softmax, and mix by the loop's product."""
    scores = scores + (0 if bias is None else bias)
    mask = np.broadcast_to(True if mask is None else mask, scores.shape)
    weights = np.empty(scores.shape)
    for at in np.ndindex(scores.shape[:-1]):
        weights[at] = oracles.softmax_row(scores[at].tolist(), mask[at])
    return weights


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_any_scores_become_weights(masked, biased):
    scores, value = 3 * normal(BATCH, LEN_Q, LEN_K), normal(LEN_K, D_V)
    mask = random_mask(LEN_Q, LEN_K) if masked else None
    bias = normal(LEN_Q, LEN_K) if biased else None
    before = scores.copy()
    output, weights = functional.attend(scores, value, mask, bias=bias)
    expected = mixed(scores, value, mask, bias)
    np.testing.assert_allclose(weights, expected, rtol=1e-12, atol=1e-15)
    for at in np.ndindex(BATCH, LEN_Q):
        np.testing.assert_allclose(output[at], oracles.matmul(expected[at][None], value)[0])
    np.testing.assert_array_equal(scores, before)


def test_attention_is_one_line_above_it():
    query, key, value = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    mask, bias = random_mask(LEN_Q, LEN_K), normal(LEN_Q, LEN_K)
    found = functional.attend(0.3 * query @ key.T, value, mask, bias=bias)
    expected = scaled_dot_product_attention(query, key, value, mask, bias=bias, scale=0.3)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_what_scores_or_mask_hide_reaches_nobody(poison):
    scores, value = normal(LEN_Q, LEN_K), normal(LEN_K, D_V)
    scores[:, 2] = -np.inf
    mask = np.arange(LEN_K) != 3
    clean = functional.attend(scores, value, mask)
    value[2] = value[3] = poison
    scores[:, 3] = poison
    with np.errstate(all="raise"):
        found = functional.attend(scores, value, mask)
    np.testing.assert_allclose(found.output, clean.output, rtol=1e-12)
    np.testing.assert_array_equal(found.weights, clean.weights)
    assert not found.weights[:, 2:4].any()


def test_rows_of_scores_that_see_nothing_give_zeros():
    scores = normal(3, LEN_K)
    scores[0] = -np.inf
    mask = np.array([[True], [False], [True]])
    output, weights = functional.attend(scores, normal(LEN_K, D_V), mask)
    assert not output[:2].any()
    assert not weights[:2].any()
    assert weights[2].sum() == pytest.approx(1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_scores_and_values_give_the_dtype(dtype):
    scores, value = (4 * normal(LEN_Q, LEN_K)).astype(dtype), (4 * normal(LEN_K, 2)).astype(dtype)
    found = functional.attend(scores, value, bias=np.zeros(LEN_K))
    expected = np.float64 if dtype == np.int64 else dtype
    assert (found.output.dtype, found.weights.dtype) == (expected, expected)
    exact = functional.attend(scores.astype(float), value.astype(float))
    np.testing.assert_allclose(found.weights, exact.weights, atol=2e-3)
    np.testing.assert_allclose(found.output, exact.output, atol=2e-2)


def test_float16_scores_of_a_large_sum_do_not_overflow():
    found = functional.attend(np.full((1, 3), 60000, np.float16), np.eye(3), bias=[0, 0, 60000.0])
    np.testing.assert_array_equal(found.weights, [[0, 0, 1]])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"scores": normal(LEN_K)}, ValueError, "scores must have at least 2 axes"),
        ({"value": normal(LEN_K)}, ValueError, "value must have at least 2 axes"),
        ({"value": normal(5, 2)}, ValueError, "scores and value .* same length len_k, got 7 and 5"),
        ({"scores": normal(4, 3, LEN_K), "value": normal(3, LEN_K, 2)}, ValueError,
         r"leading axes of scores and value must broadcast, got \(4,\) and \(3,\); heads of scores "
         r"\(axis -3\) may be a multiple of those of value"),
        ({"mask": np.ones(LEN_K)}, TypeError, "mask must be boolean"),
        ({"mask": np.ones((2, LEN_K), bool)}, ValueError, r"mask of shape \(2, 7\) must broadcast"),
        ({"bias": np.ones(LEN_K, bool)}, TypeError, "bias must hold numbers"),
        ({"bias": np.ones((2, LEN_K))}, ValueError, r"bias of shape \(2, 7\) must broadcast"),
        ({"scores": normal(3, LEN_K) * 1j}, TypeError, "scores must hold real numbers"),
        ({"value": normal(LEN_K, 2) * 1j}, TypeError, "value must hold real numbers"),
    ],
)  # fmt: skip
def test_scores_that_do_not_fit_are_named(changed, error, message):
    given = {"scores": normal(3, LEN_K), "value": normal(LEN_K, 2)} | changed
    with pytest.raises(error, match=f"^{message}"):
        functional.attend(**given)


# --- heads that share keys and values -----------------------------------------------

SHARED = {  # of queries, of keys, of values
    "six heads on three": ((6, LEN_Q, D_K), (3, LEN_K, D_K), (3, LEN_K, 2)),
    "six heads on two, a batch": ((2, 6, LEN_Q, D_K), (2, 2, LEN_K, D_K), (2, 2, LEN_K, 2)),
    "one memory for a batch": ((2, 6, LEN_Q, D_K), (3, LEN_K, D_K), (1, 3, LEN_K, 2)),
    "values of one head": ((6, LEN_Q, D_K), (3, LEN_K, D_K), (1, LEN_K, 2)),
    "keys of one head": ((6, LEN_Q, D_K), (LEN_K, D_K), (2, LEN_K, 2)),
    "two queries": ((6, 2, D_K), (3, LEN_K, D_K), (3, LEN_K, 2)),
    "one query": ((6, 1, D_K), (3, LEN_K, D_K), (3, LEN_K, 2)),
    "one KV head": ((4, LEN_Q, D_K), (1, LEN_K, D_K), (1, LEN_K, 2)),
}


def of_own(query, heads):
    """Give each query head its own copy of the keys or values that it uses."""
    return np.stack([
        heads if heads.ndim == 2 else heads[..., h * heads.shape[-3] // query.shape[-3], :, :]
        for h in range(query.shape[-3])
    ], axis=-3)  # fmt: skip


@pytest.mark.parametrize("which", SHARED)
@pytest.mark.parametrize("hidden", ["nothing", "for all heads", "for each head"])
def test_heads_that_share_keys_equal_loops(which, hidden):
    query, key, value = (normal(*shape) for shape in SHARED[which])
    heads, len_q = query.shape[-3:-1]
    shape = (heads, len_q, LEN_K) if hidden == "for each head" else (len_q, LEN_K)
    mask, bias = (None, None) if hidden == "nothing" else (random_mask(*shape), normal(*shape))
    found = scaled_dot_product_attention(query, key, value, mask, bias=bias, scale=0.4)
    own = query, of_own(query, key), of_own(query, value)
    expected = oracles.dot_product_attention(*own, mask, 0.4, bias)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@given(data=st.data())
def test_what_is_not_finite_stays_with_the_heads_that_share_it(data):
    kv_heads = data.draw(st.sampled_from([2, 3]))
    query, key, value = normal(6, 3, 2), normal(kv_heads, 5, 2), normal(kv_heads, 5, 2)
    key, value = poisoned(data, key), poisoned(data, value)
    mask = data.draw(booleans(*data.draw(st.sampled_from([(), (1,), (6,)])), 3, 5))
    with np.errstate(invalid="raise", over="raise", divide="raise"):
        result = scaled_dot_product_attention(query, key, value, mask)
    own = query, of_own(query, key), of_own(query, value)
    expected = oracles.attention_as_ieee_has_it(*own, mask)
    np.testing.assert_allclose(result.output, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "of_values"), [(6, 4, 4), (3, 6, 6), (6, 3, 2), (6, 0, 0), (6, 6, 3)]
)
def test_heads_that_cannot_share_are_told_how_they_could(heads, kv_heads, of_values):
    message = (
        f"leading axes of query, key and value must broadcast, got ({heads},), ({kv_heads},) and "
        f"({of_values},); heads of query (axis -3) may be a multiple of those of key and value"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        scaled_dot_product_attention(
            normal(heads, 3, 2), normal(kv_heads, 5, 2), normal(of_values, 5, 2)
        )


def test_other_attentions_do_not_say_that_heads_may_share():
    w = np.eye(2), np.eye(2), np.ones(2)
    with pytest.raises(ValueError, match=r"must broadcast, got \(6,\), \(3,\) and \(3,\)$"):
        additive_attention(normal(6, 3, 2), normal(3, 5, 2), normal(3, 5, 2), *w)
