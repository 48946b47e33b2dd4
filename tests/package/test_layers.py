"""Attention with projections. What holds for every attention is tested in test_functional.py."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnbook
from attnbook import (
    AttentionOutput,
    MultiHeadAttention,
    additive_attention,
    causal_mask,
    cross_attention,
    merge_heads,
    scaled_dot_product_attention,
    self_attention,
    split_heads,
)
from tests.package import oracles

# Every size is another prime, so that no two axes can be confused.
NUM_HEADS, BATCH, LEN_Q, LEN_K, D_Q, D_K, D_V, D_OUT = 2, 3, 5, 7, 11, 13, 17, 19
HEAD_DIM, VALUE_DIM = 23, 29


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def random_mask(*shape, seed=0):
    """Draw a mask in which the last query of the first axis may attend to nothing."""
    mask = np.random.default_rng([seed, *shape]).random(shape) < 0.5
    mask[(0,) * (len(shape) - 2) + (-1,)] = False
    return mask


def assert_close(result, expected):
    np.testing.assert_allclose(result.output, expected[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(result.weights, expected[1], rtol=1e-9)


# --- One head -------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention_equals_loops(masked):
    x, memory = normal(BATCH, LEN_Q, D_Q), normal(BATCH, LEN_K, D_K)
    w_q, w_k, w_v = normal(D_Q, 2) / 4, normal(D_K, 2) / 4, normal(D_K, D_V)
    mask = random_mask(BATCH, LEN_Q, LEN_K) if masked else None
    projected = (oracles.matmul(*pair) for pair in ((x, w_q), (memory, w_k), (memory, w_v)))
    expected = oracles.dot_product_attention(*projected, mask)
    assert_close(cross_attention(x, memory, w_q, w_k, w_v, mask), expected)


@pytest.mark.parametrize("masked", [False, True])
def test_self_attention_equals_loops(masked):
    x = normal(BATCH, LEN_K, D_Q)
    w_q, w_k, w_v = normal(D_Q, 2) / 4, normal(D_Q, 2, seed=1) / 4, normal(D_Q, D_V)
    mask = random_mask(BATCH, LEN_K, LEN_K) if masked else None
    expected = oracles.dot_product_attention(*(oracles.matmul(x, w) for w in (w_q, w_k, w_v)), mask)
    assert_close(self_attention(x, w_q, w_k, w_v, mask), expected)


def test_self_attention_by_hand():
    # Queries 0 and 1, keys 0 and ln 3, values 0 and 4: the second token has weights 1/4, 3/4.
    x = [[0.0], [1.0]]
    result = self_attention(x, [[1.0]], [[np.log(3)]], [[4.0]])
    np.testing.assert_allclose(result.weights, [[1 / 2, 1 / 2], [1 / 4, 3 / 4]], rtol=1e-14)
    np.testing.assert_allclose(result.output, [[2], [3]], rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("x", (D_Q,), r"x must have at least 2 axes .* \(11,\)"),
        ("memory", (D_K,), r"memory must have at least 2 axes .* \(13,\)"),
        ("w_q", (D_K, 2), r"w_q must .* 11 features of x, got shape \(13, 2\)"),
        ("w_k", (D_Q, 2), r"w_k must .* 13 features of memory, got shape \(11, 2\)"),
        ("w_v", (D_Q, 2), r"w_v must .* 13 features of memory, got shape \(11, 2\)"),
        ("w_q", (D_Q,), r"w_q must have 2 axes .* got shape \(11,\)"),
        ("w_v", (3, D_K, 2), r"w_v must have 2 axes .* got shape \(3, 13, 2\)"),
        ("w_q", (D_Q, 3), "w_q and w_k must have the same number of columns d_k, got 3 and 2"),
        ("memory", (2, LEN_K, D_K), r"leading axes of x and memory .* got \(3,\) and \(2,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(name, shape, message):
    shapes = {
        "x": (BATCH, LEN_Q, D_Q),
        "memory": (BATCH, LEN_K, D_K),
        "w_q": (D_Q, 2),
        "w_k": (D_K, 2),
        "w_v": (D_K, D_V),
    }
    with pytest.raises(ValueError, match=f"^{message}"):
        cross_attention(**{key: normal(*size) for key, size in {**shapes, name: shape}.items()})


@pytest.mark.parametrize("name", ["x", "memory", "w_q", "w_k", "w_v"])
def test_what_holds_no_real_numbers_is_named(name):
    shapes = {"x": (LEN_Q, D_Q), "memory": (LEN_K, D_K)}
    shapes |= {"w_q": (D_Q, 2), "w_k": (D_K, 2), "w_v": (D_K, D_V)}
    arrays = {key: normal(*shape) for key, shape in shapes.items()}
    arrays[name] = arrays[name] * 1j
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers, got dtype complex128$"):
        cross_attention(**arrays)


def test_self_attention_names_its_own_argument():
    with pytest.raises(TypeError, match=r"^x must hold real numbers"):
        self_attention(normal(LEN_K, D_Q) * 1j, *[normal(D_Q, 2)] * 3)
    with pytest.raises(ValueError, match=r"^w_k must .* 11 features of x"):
        self_attention(normal(LEN_K, D_Q), normal(D_Q, 2), normal(D_K, 2), normal(D_Q, 2))


# --- Heads ----------------------------------------------------------------------


def test_split_heads_gives_each_head_its_own_features():
    x = normal(BATCH, LEN_Q, NUM_HEADS * HEAD_DIM)
    heads = split_heads(x, NUM_HEADS)
    assert heads.shape == (BATCH, NUM_HEADS, LEN_Q, HEAD_DIM)
    for batch, head, token, c in np.ndindex(heads.shape):
        assert heads[batch, head, token, c] == x[batch, token, head * HEAD_DIM + c]


def test_merge_heads_puts_the_heads_side_by_side():
    heads = normal(BATCH, NUM_HEADS, LEN_Q, HEAD_DIM)
    merged = merge_heads(heads)
    assert merged.shape == (BATCH, LEN_Q, NUM_HEADS * HEAD_DIM)
    for batch, token, c in np.ndindex(merged.shape):
        assert merged[batch, token, c] == heads[batch, c // HEAD_DIM, token, c % HEAD_DIM]


@given(
    leading=st.lists(st.integers(0, 3), max_size=2),
    length=st.integers(0, 5),
    num_heads=st.integers(1, 5),
    head_dim=st.integers(1, 5),
)
def test_splitting_and_merging_are_exact_inverses(leading, length, num_heads, head_dim):
    x = normal(*leading, length, num_heads * head_dim)
    heads = split_heads(x, num_heads)
    assert heads.shape == (*leading, num_heads, length, head_dim)
    np.testing.assert_array_equal(merge_heads(heads), x, strict=True)
    np.testing.assert_array_equal(split_heads(merge_heads(heads), num_heads), heads, strict=True)


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, complex])
def test_heads_keep_the_dtype(dtype):
    x = np.ones((LEN_Q, 2 * HEAD_DIM), dtype)
    assert split_heads(x, 2).dtype == dtype
    assert merge_heads(split_heads(x, 2)).dtype == dtype


def test_split_heads_makes_a_view():
    x = normal(LEN_Q, NUM_HEADS * HEAD_DIM)
    assert np.shares_memory(split_heads(x, NUM_HEADS), x)


@pytest.mark.parametrize(
    ("shape", "num_heads", "message"),
    [
        ((LEN_Q, 10), 3, r"d_model \(10\) must be divisible by num_heads \(3\)"),
        ((LEN_Q, 3), 5, r"d_model \(3\) must be divisible by num_heads \(5\)"),
        ((LEN_Q, 10), 0, r"num_heads \(0\) must be at least 1"),
        ((LEN_Q, 10), -2, r"num_heads \(-2\) must be at least 1"),
        ((LEN_Q, 0), 2, r"d_model \(0\) must be at least 1"),
        ((10,), 2, r"x must have at least 2 axes .* \(10,\)"),
    ],
)
def test_heads_that_do_not_fit_are_named(shape, num_heads, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        split_heads(np.ones(shape), num_heads)


def test_the_number_of_heads_is_an_integer():
    with pytest.raises(TypeError, match="integer"):
        split_heads(np.ones((LEN_Q, 10)), 2.0)


def test_merge_heads_needs_heads():
    with pytest.raises(ValueError, match=r"^x must have at least 3 axes .* \(5, 10\)"):
        merge_heads(np.ones((5, 10)))


# --- MultiHeadAttention -----------------------------------------------------------

SIZES = {
    "w_q": (D_Q, NUM_HEADS * HEAD_DIM),
    "w_k": (D_K, NUM_HEADS * HEAD_DIM),
    "w_v": (D_V, NUM_HEADS * VALUE_DIM),
    "w_o": (NUM_HEADS * VALUE_DIM, D_OUT),
}


def parameters(seed=0):
    """Draw weights small enough that no row of attention is a single 1."""
    weights = {name: normal(*size, seed=seed) / size[0] ** 0.5 for name, size in SIZES.items()}
    biases = {f"b_{name[-1]}": normal(size[1], seed=seed) for name, size in SIZES.items()}
    return weights | biases


def inputs():
    return normal(BATCH, LEN_Q, D_Q), normal(BATCH, LEN_K, D_K), normal(BATCH, LEN_K, D_V)


@pytest.mark.parametrize("mask_shape", [None, (LEN_K,), (LEN_Q, LEN_K), (BATCH, LEN_Q, LEN_K)])
def test_multi_head_cross_attention_equals_loops(mask_shape):
    mask = None if mask_shape is None else np.random.default_rng(3).random(mask_shape) < 0.5
    layer = MultiHeadAttention(**parameters(), num_heads=NUM_HEADS)
    result = layer(*inputs(), mask)
    assert result.weights.shape == (BATCH, NUM_HEADS, LEN_Q, LEN_K)
    assert result.output.shape == (BATCH, LEN_Q, D_OUT)
    assert_close(result, oracles.multi_head_attention(*inputs(), parameters(), NUM_HEADS, mask))


@pytest.mark.parametrize("case", oracles.GOLDEN["multi_head"], ids=lambda case: case["name"])
def test_multi_head_attention_equals_pytorch(case):
    state = {name: oracles.as_floats(array) for name, array in case["state_dict"].items()}
    # PyTorch stacks the three projections and applies each as x @ weight.T.
    w_q, w_k, w_v = (w.T for w in np.split(state["in_proj_weight"], 3))
    b_q, b_k, b_v = np.split(state["in_proj_bias"], 3)
    layer = MultiHeadAttention(
        **{"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": state["out_proj.weight"].T},
        **{"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": state["out_proj.bias"]},
        num_heads=case["num_heads"],
    )
    result = layer(*(oracles.as_floats(case[n]) for n in ("query", "key", "value")), case["mask"])
    for name in ("output", "weights"):
        expected = oracles.as_floats(case[name])
        np.testing.assert_allclose(getattr(result, name), expected, rtol=1e-9)


@given(seed=st.integers(0, 2**32), masked=st.booleans())
def test_one_head_is_plain_attention(seed, masked):
    x, memory, mask = normal(LEN_Q, D_Q, seed=seed), normal(LEN_K, D_K, seed=seed), None
    if masked:
        mask = random_mask(LEN_Q, LEN_K, seed=seed)
    w_q, w_k = normal(D_Q, HEAD_DIM, seed=seed) / 4, normal(D_K, HEAD_DIM, seed=seed) / 4
    w_v, w_o = normal(D_K, VALUE_DIM, seed=seed), np.eye(VALUE_DIM)
    many = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=1)(x, memory, mask=mask)
    one = cross_attention(x, memory, w_q, w_k, w_v, mask)
    np.testing.assert_allclose(many.output, one.output, rtol=1e-12)
    np.testing.assert_allclose(many.weights, one.weights[None], rtol=1e-12)


@given(seed=st.integers(0, 2**32), num_heads=st.sampled_from([1, 2, 3, 5]))
def test_heads_by_loop_equal_heads_by_reshape(seed, num_heads):
    x, size = normal(LEN_Q, D_Q, seed=seed), num_heads * HEAD_DIM
    w_q, w_k, w_v = (normal(D_Q, size, seed=seed + i) / 4 for i in range(3))
    w_o = normal(size, D_OUT, seed=seed)
    mask = random_mask(LEN_Q, LEN_Q, seed=seed)
    result = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)(
        x, mask=mask
    )
    columns = [slice(head * HEAD_DIM, (head + 1) * HEAD_DIM) for head in range(num_heads)]
    heads = [self_attention(x, w_q[:, c], w_k[:, c], w_v[:, c], mask) for c in columns]
    output = np.concatenate([head.output for head in heads], axis=-1) @ w_o
    np.testing.assert_allclose(result.output, output, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.weights, [head.weights for head in heads], rtol=1e-9)


def square_layer(d_model=NUM_HEADS * HEAD_DIM):
    return MultiHeadAttention.init(np.random.default_rng(0), d_model, NUM_HEADS)


def test_key_defaults_to_query_and_value_to_key():
    layer = square_layer()
    d_model = NUM_HEADS * HEAD_DIM
    query, key = normal(LEN_Q, d_model), normal(LEN_K, d_model)
    value = normal(LEN_Q, d_model, seed=1)
    for short, full in [
        (layer(query), layer(query, query, query)),
        (layer(query, key), layer(query, key, key)),
        (layer(query, value=value), layer(query, query, value)),
    ]:
        np.testing.assert_array_equal(short.output, full.output)
        np.testing.assert_array_equal(short.weights, full.weights)


@pytest.mark.parametrize("letter", list("qkvo"))
def test_a_bias_defaults_to_zero(letter):
    given, name = parameters(), f"b_{letter}"
    explicit = MultiHeadAttention(**given | {name: 0 * given[name]}, num_heads=NUM_HEADS)
    del given[name]
    short = MultiHeadAttention(**given, num_heads=NUM_HEADS)
    bias = getattr(short, name)
    np.testing.assert_array_equal(bias, np.zeros(SIZES[f"w_{letter}"][1]), strict=True)
    np.testing.assert_array_equal(short(*inputs()).output, explicit(*inputs()).output)


def test_a_default_bias_has_the_dtype_of_its_weight():
    weights = {name: normal(*size).astype(np.float32) for name, size in SIZES.items()}
    layer = MultiHeadAttention(**weights, num_heads=NUM_HEADS)
    assert {getattr(layer, f"b_{letter}").dtype for letter in "qkvo"} == {np.dtype(np.float32)}


def test_a_layer_is_itself_and_no_other():
    layer, twin = square_layer(), square_layer()
    assert layer != twin
    assert {layer: "one", twin: "two"}[layer] == "one"


def test_as_many_kv_heads_as_heads_and_a_bias_of_zeros_by_default():
    layer = MultiHeadAttention(
        **{name: np.eye(2) for name in SIZES}, num_heads=2, num_kv_heads=None, b_q=None
    )
    assert layer.num_kv_heads == 2
    assert layer.keys(np.eye(2)).shape == (2, 2, 1)
    np.testing.assert_array_equal(layer.b_q, [0, 0])


def test_wider_parameters_raise_the_precision_of_the_computation():
    # The difference of 2**-30 is lost in float32, and 2**30 times it is not.
    x = np.array([[1, 1], [-1, 0]], np.float32)
    w_v = np.array([[1 + 2.0**-30], [-1.0]])
    one = np.ones((2, 1))
    for attend in (
        lambda x: self_attention(x[:1], one, one, w_v * 2**30),
        lambda x: cross_attention(x[:1], x[:1], one, one, w_v * 2**30),
        lambda x: additive_attention(x[:1], x, x, 0 * one, 2**30 * w_v, [1.0]),
        lambda x: MultiHeadAttention(w_q=one, w_k=one, w_v=w_v * 2**30, w_o=[[1.0]], num_heads=1)(
            x[:1]
        ),
    ):
        assert attend(x).output.dtype == np.float32
        exact = attend(x.astype(np.float64))
        np.testing.assert_allclose(attend(x).output, exact.output, rtol=1e-6)
    layer = MultiHeadAttention(w_q=w_v, w_k=w_v, w_v=w_v, w_o=one.T, num_heads=1)
    for verb in (layer.queries, layer.keys, layer.values):
        np.testing.assert_array_equal(verb(x[:1]), [[[2.0**-30]]])
        assert verb(x).dtype == np.float32


def test_the_bias_of_the_keys_changes_no_weight():
    # It adds query . b_k to a whole row of scores.
    given = parameters()
    other = given | {"b_k": given["b_k"] + 3}
    results = [MultiHeadAttention(**p, num_heads=NUM_HEADS)(*inputs()) for p in (given, other)]
    np.testing.assert_allclose(results[0].weights, results[1].weights, rtol=1e-10)


def test_weights_may_be_lists():
    one = [[1.0, 0.0], [0.0, 1.0]]
    layer = MultiHeadAttention(w_q=one, w_k=one, w_v=one, w_o=one, num_heads=2, b_o=[1, 2])
    np.testing.assert_array_equal(layer([[3.0, 5.0]]).output, [[4, 7]])


def test_a_layer_is_frozen():
    layer = square_layer()
    with pytest.raises(dataclasses.FrozenInstanceError):
        layer.w_q = np.eye(2)


def test_a_layer_with_another_field_is_another_layer():
    layer = MultiHeadAttention(**grouped_parameters(6, 2), num_heads=6, num_kv_heads=2)
    other = dataclasses.replace(layer, b_o=np.ones(D_OUT))
    np.testing.assert_array_equal(other.w_k, layer.w_k)
    np.testing.assert_array_equal(other.b_o, np.ones(D_OUT))
    assert (other.num_heads, other.num_kv_heads) == (6, 2)


def test_the_same_matrices_serve_another_number_of_heads():
    layer = MultiHeadAttention.init(np.random.default_rng(0), 12, 1)
    other = dataclasses.replace(layer, num_heads=4, num_kv_heads=None)
    assert other.keys(np.ones((LEN_K, 12))).shape == (4, LEN_K, 3)


def test_a_call_changes_no_parameter():
    given = parameters()
    layer = MultiHeadAttention(**given, num_heads=NUM_HEADS)
    layer(*inputs(), random_mask(LEN_Q, LEN_K))
    for name, array in parameters().items():
        np.testing.assert_array_equal(getattr(layer, name), array)
        np.testing.assert_array_equal(given[name], array)


def test_parameters_go_by_name_only():
    one = np.eye(2)
    with pytest.raises(TypeError, match="positional"):
        MultiHeadAttention(one, one, one, one, 1)


def test_a_mask_is_the_same_for_every_head():
    x, mask = normal(BATCH, LEN_Q, 2 * HEAD_DIM), random_mask(BATCH, LEN_Q, LEN_Q)
    weights = square_layer()(x, mask=mask).weights
    for head in range(NUM_HEADS):
        np.testing.assert_array_equal(weights[:, head] > 0, mask)


@pytest.mark.parametrize(
    ("query", "key", "mask", "leading"),
    [
        ((LEN_Q,), (LEN_K,), (1, LEN_K), ()),
        ((BATCH, LEN_Q), (LEN_K,), (BATCH, 1, LEN_K), (BATCH,)),
        ((LEN_Q,), (BATCH, LEN_K), (BATCH, LEN_Q, LEN_K), (BATCH,)),
        ((31, 1, LEN_Q), (BATCH, LEN_K), (LEN_Q, LEN_K), (31, BATCH)),
        ((31, BATCH, LEN_Q), (LEN_K,), (31, 1, LEN_Q, LEN_K), (31, BATCH)),
    ],
)
def test_leading_axes_broadcast(query, key, mask, leading):
    d_model = NUM_HEADS * HEAD_DIM
    layer, allowed = square_layer(), random_mask(*mask)
    query, key = normal(*query, d_model), normal(*key, d_model)
    result = layer(query, key, mask=allowed)
    assert result.output.shape == (*leading, LEN_Q, d_model)
    assert result.weights.shape == (*leading, NUM_HEADS, LEN_Q, LEN_K)
    queries = np.broadcast_to(query, (*leading, *query.shape[-2:]))
    keys = np.broadcast_to(key, (*leading, *key.shape[-2:]))
    masks = np.broadcast_to(allowed, (*leading, LEN_Q, LEN_K))
    for at in np.ndindex(leading):
        assert_close(AtIndex(result, at), layer(queries[at], keys[at], mask=masks[at]))


class AtIndex:
    """One element of a batched result."""

    def __init__(self, result, at):
        self.output, self.weights = result.output[at], result.weights[at]


@pytest.mark.parametrize(
    ("batch", "mask_shape"),
    [((BATCH,), (BATCH, NUM_HEADS, LEN_Q, LEN_K)), ((), (NUM_HEADS, LEN_Q, LEN_K))],
)
def test_a_mask_for_each_head_is_refused(batch, mask_shape):
    query, key = normal(*batch, LEN_Q, 2 * HEAD_DIM), normal(*batch, LEN_K, 2 * HEAD_DIM)
    message = r"mask must not have more axes than query and key .* same for every head.*\(.*2, 5, 7"
    with pytest.raises(ValueError, match=f"^{message}"):
        square_layer()(query, key, mask=np.ones(mask_shape, bool))


def test_a_mask_that_does_not_broadcast_is_named_as_it_was_given():
    x, mask = normal(BATCH, LEN_Q, 2 * HEAD_DIM), np.ones((2, LEN_Q, LEN_Q), bool)
    with pytest.raises(ValueError, match=r"^mask of shape \(2, 5, 5\)"):
        square_layer()(x, mask=mask)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("w_q", (D_Q,), r"w_q must have 2 axes, got shape \(11,\)"),
        ("w_o", (2, 58, 19), r"w_o must have 2 axes, got shape \(2, 58, 19\)"),
        ("w_k", (D_K, 44), r"w_k must have shape \(13, 46\), got \(13, 44\)"),
        ("w_o", (46, D_OUT), r"w_o must have shape \(58, 19\), got \(46, 19\)"),
        ("b_q", (D_Q,), r"b_q must have shape \(46,\), got \(11,\)"),
        ("b_k", (1,), r"b_k must have shape \(46,\), got \(1,\)"),
        ("b_v", (1, 58), r"b_v must have shape \(58,\), got \(1, 58\)"),
        ("b_o", (58,), r"b_o must have shape \(19,\), got \(58,\)"),
    ],
)
def test_parameters_of_the_wrong_shape_are_named(name, shape, message):
    given = {key: array for key, array in parameters().items() if key.startswith("w")}
    given[name] = np.ones(shape)
    with pytest.raises(ValueError, match=f"^{message}"):
        MultiHeadAttention(**given, num_heads=NUM_HEADS)


@pytest.mark.parametrize(
    ("sizes", "num_heads", "message"),
    [
        ({"q": (2, 10), "k": (2, 10)}, 3, r"d_model \(10\) must be divisible by num_heads \(3\)"),
        ({"v": (2, 10), "o": (10, 2)}, 3, r"the columns of w_v \(10\) must be divisible .* \(3\)"),
        ({}, 0, r"num_heads \(0\) must be at least 1"),
        ({}, -3, r"num_heads \(-3\) must be at least 1"),
    ],
)
def test_a_number_of_heads_that_does_not_divide_is_named(sizes, num_heads, message):
    sizes = {letter: (6, 6) for letter in "qkvo"} | sizes
    with pytest.raises(ValueError, match=f"^{message}"):
        MultiHeadAttention(
            **{f"w_{letter}": np.ones(size) for letter, size in sizes.items()}, num_heads=num_heads
        )


@pytest.mark.parametrize(
    ("index", "shape", "message"),
    [
        (0, (D_Q,), r"query must have at least 2 axes .* \(11,\)"),
        (1, (D_K,), r"key must have at least 2 axes .* \(13,\)"),
        (2, (D_V,), r"value must have at least 2 axes .* \(17,\)"),
        (0, (LEN_Q, D_K), r"w_q must .* 13 features of query, got shape \(11, 46\)"),
        (1, (LEN_K, D_V), r"w_k must .* 17 features of key, got shape \(13, 46\)"),
        (2, (LEN_K, D_K), r"w_v must .* 13 features of value, got shape \(17, 58\)"),
        (2, (LEN_Q, D_V), "key and value must have the same length len_k, got 7 and 5"),
    ],
)
def test_inputs_of_the_wrong_shape_are_named(index, shape, message):
    given = [array[0] for array in inputs()]
    given[index] = normal(*shape)
    with pytest.raises(ValueError, match=f"^{message}"):
        MultiHeadAttention(**parameters(), num_heads=NUM_HEADS)(*given)


# --- Fewer heads of keys and values ---------------------------------------------------

# Query heads, heads of keys and values.
GROUPS = [(6, 6), (6, 3), (6, 2), (6, 1)]
grouped = pytest.mark.parametrize(("num_heads", "num_kv_heads"), GROUPS)


def grouped_parameters(num_heads, num_kv_heads):
    sizes = {
        "q": (D_Q, num_heads * HEAD_DIM),
        "k": (D_K, num_kv_heads * HEAD_DIM),
        "v": (D_V, num_kv_heads * VALUE_DIM),
        "o": (num_heads * VALUE_DIM, D_OUT),
    }
    weights = {f"w_{letter}": normal(*size) / size[0] ** 0.5 for letter, size in sizes.items()}
    return weights | {f"b_{letter}": normal(size[1]) for letter, size in sizes.items()}


@grouped
@pytest.mark.parametrize("mask_shape", [None, (LEN_K,), (LEN_Q, LEN_K), (BATCH, LEN_Q, LEN_K)])
def test_grouped_heads_equal_loops(num_heads, num_kv_heads, mask_shape):
    given = grouped_parameters(num_heads, num_kv_heads)
    mask = None if mask_shape is None else random_mask(1, *mask_shape)[0]
    result = MultiHeadAttention(**given, num_heads=num_heads, num_kv_heads=num_kv_heads)(
        *inputs(), mask
    )
    assert result.weights.shape == (BATCH, num_heads, LEN_Q, LEN_K)
    assert_close(
        result, oracles.multi_head_attention(*inputs(), given, num_heads, mask, num_kv_heads)
    )


@grouped
@pytest.mark.parametrize(
    "shape",
    [(), (LEN_K,), (LEN_Q, LEN_K), (1, LEN_Q, 1), (6, LEN_Q, LEN_K), (BATCH, 6, LEN_Q, LEN_K)],
    ids=str,
)
def test_a_bias_of_the_scores_equals_loops(num_heads, num_kv_heads, shape):
    given, bias = grouped_parameters(num_heads, num_kv_heads), normal(*shape)
    layer = MultiHeadAttention(**given, num_heads=num_heads, num_kv_heads=num_kv_heads)
    full = np.broadcast_to(bias, (BATCH, num_heads, LEN_Q, LEN_K))
    for mask in (None, random_mask(BATCH, LEN_Q, LEN_K)):
        expected = oracles.multi_head_attention(
            *inputs(), given, num_heads, mask, num_kv_heads, bias=lambda head: full[:, head]
        )
        result = layer(*inputs(), mask, bias=bias)
        assert result.weights.shape == full.shape
        assert_close(result, expected)


@grouped
def test_a_bias_can_mask_for_each_head(num_heads, num_kv_heads):
    given = grouped_parameters(num_heads, num_kv_heads)
    layer = MultiHeadAttention(**given, num_heads=num_heads, num_kv_heads=num_kv_heads)
    mask = random_mask(BATCH, num_heads, LEN_Q, LEN_K)
    query, key, value = inputs()
    weights = layer(query, key, value, bias=np.where(mask, 0, -np.inf)).weights
    np.testing.assert_array_equal(weights > 0, mask)


def test_the_verbs_are_the_steps_of_a_call():
    given = grouped_parameters(6, 2)
    layer = MultiHeadAttention(**given, num_heads=6, num_kv_heads=2)
    query, key, value = inputs()
    for verb, x, letter, heads in (
        (layer.queries, query, "q", 6),
        (layer.keys, key, "k", 2),
        (layer.values, value, "v", 2),
    ):
        found = verb(x)
        columns = oracles.matmul(x, given[f"w_{letter}"]) + given[f"b_{letter}"]
        size = columns.shape[-1] // heads
        assert found.shape == (BATCH, heads, x.shape[-2], size)
        for head in range(heads):
            expected = columns[..., head * size : (head + 1) * size]
            np.testing.assert_allclose(found[:, head], expected, rtol=1e-10, atol=1e-12)
    heads = normal(BATCH, 6, LEN_Q, VALUE_DIM)
    side_by_side = np.concatenate([heads[:, head] for head in range(6)], axis=-1)
    expected = oracles.matmul(side_by_side, given["w_o"]) + given["b_o"]
    np.testing.assert_allclose(layer.combine(heads), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [(np.float16, np.float16), (np.float32, np.float32), (np.int32, np.float64)],
)
def test_the_verbs_keep_the_dtype(given_dtype, expected):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 46, 2, dtype=np.float16)
    x = (900 * normal(LEN_Q, 46)).astype(given_dtype)
    before = x.tobytes()
    for verb, argument in (
        (layer.queries, x),
        (layer.keys, x),
        (layer.values, x),
        (layer.combine, split_heads(x, 2)),
    ):
        found = verb(argument)
        assert found.dtype == expected
        with np.errstate(over="ignore"):  # float16 is computed in float32, not before it
            exact = verb(argument.astype(np.float32)).astype(expected)
        np.testing.assert_allclose(found, exact, rtol=1e-3 if expected == np.float64 else 0)
    assert x.tobytes() == before


@pytest.mark.parametrize(("verb", "letter"), [("queries", "q"), ("keys", "k"), ("values", "v")])
def test_what_does_not_fit_a_projection_is_named(verb, letter):
    layer = MultiHeadAttention(**grouped_parameters(6, 2), num_heads=6, num_kv_heads=2)
    size = layer.__dict__[f"w_{letter}"].shape
    message = (
        f"w_{letter} must have 2 axes and one row for each of the 3 features of x, got shape {size}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        getattr(layer, verb)(np.ones((LEN_Q, 3)))
    with pytest.raises(ValueError, match=r"^x must have at least 2 axes .* got shape \(3,\)$"):
        getattr(layer, verb)(np.ones(3))
    with pytest.raises(TypeError, match=r"^x must hold real numbers, got dtype complex128$"):
        getattr(layer, verb)(np.ones((LEN_Q, size[0]), complex))


@pytest.mark.parametrize("shape", [(6, VALUE_DIM), (5, LEN_Q, VALUE_DIM), (6, LEN_Q, HEAD_DIM)])
def test_heads_that_cannot_be_combined_are_named(shape):
    layer = MultiHeadAttention(**grouped_parameters(6, 2), num_heads=6, num_kv_heads=2)
    message = f"heads must have shape (..., 6, len, 29), got {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        layer.combine(np.ones(shape))
    with pytest.raises(TypeError, match=r"^heads must hold real numbers, got dtype complex128$"):
        layer.combine(np.ones((6, LEN_Q, VALUE_DIM), complex))


@pytest.mark.parametrize(
    ("num_kv_heads", "message"),
    [
        (4, "num_heads (6) must be divisible by num_kv_heads (4)"),
        (12, "num_heads (6) must be divisible by num_kv_heads (12)"),
        (0, "num_kv_heads (0) must be at least 1"),
        (-2, "num_kv_heads (-2) must be at least 1"),
    ],
)
def test_a_number_of_kv_heads_that_does_not_divide_is_named(num_kv_heads, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MultiHeadAttention.init(np.random.default_rng(0), 12, 6, num_kv_heads)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MultiHeadAttention(**grouped_parameters(6, 6), num_heads=6, num_kv_heads=num_kv_heads)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("w_k", (D_K, 138), "w_k must have shape (13, 46), got (13, 138)"),
        ("w_v", (D_V, 57), "the columns of w_v (57) must be divisible by num_kv_heads (2)"),
        ("w_o", (58, D_OUT), "w_o must have shape (174, 19), got (58, 19)"),
    ],
)
def test_matrices_of_grouped_heads_that_do_not_fit_are_named(name, shape, message):
    given = {key: array for key, array in grouped_parameters(6, 2).items() if key[0] == "w"}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MultiHeadAttention(**given | {name: np.ones(shape)}, num_heads=6, num_kv_heads=2)


@pytest.mark.parametrize("name", ["w_q", "w_o", "b_k", "b_o"])
def test_parameters_of_no_real_numbers_are_refused(name):
    given = parameters()
    given[name] = given[name].astype(complex)
    message = f"{name} must hold real numbers, got dtype complex128"
    with pytest.raises(TypeError, match=f"^{message}$"):
        MultiHeadAttention(**given, num_heads=NUM_HEADS)


@pytest.mark.parametrize("name", ["num_heads", "num_kv_heads"])
def test_a_number_of_heads_is_an_integer(name):
    with pytest.raises(TypeError, match="integer"):
        MultiHeadAttention(**parameters(), **{"num_heads": 2, name: 2.0})


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((BATCH, LEN_Q, LEN_K), "(3, 5, 7)"),
        ((LEN_K, LEN_Q), "(7, 5)"),
        ((31, NUM_HEADS, LEN_Q, LEN_K), "(31, 2, 5, 7)"),
    ],
)
def test_a_bias_of_the_scores_that_does_not_broadcast_is_named(shape, message):
    layer = MultiHeadAttention(**parameters(), num_heads=NUM_HEADS)
    expected = re.escape(
        f"bias of shape {message} must broadcast to (..., num_heads, len_q, len_k) = (3, 2, 5, 7)"
    )
    with pytest.raises(ValueError, match=f"^{expected}$"):
        layer(*inputs(), bias=np.zeros(shape))
    with pytest.raises(TypeError, match=r"^bias must hold numbers, .* as mask$"):
        layer(*inputs(), bias=np.ones((LEN_Q, LEN_K), bool))


# --- Put between the steps from outside -------------------------------------------------


def attend_outside(layer, queries, keys, values, mask=None, bias=None):
    """Attend with what the verbs gave, each query head with its group's keys and values."""
    share = queries.shape[-3] // keys.shape[-3]
    keys, values = (np.repeat(x, share, axis=-3) for x in (keys, values))
    heads, weights = scaled_dot_product_attention(queries, keys, values, mask, bias=bias)
    return layer.combine(heads), weights


def self_layer(num_heads, num_kv_heads, head_dim=6):
    """Make a layer for self-attention, and its parameters."""
    sizes = {
        "q": (D_Q, num_heads * head_dim),
        "k": (D_Q, num_kv_heads * head_dim),
        "v": (D_Q, num_kv_heads * VALUE_DIM),
        "o": (num_heads * VALUE_DIM, D_OUT),
    }
    given = {f"w_{letter}": normal(*size) / size[0] ** 0.5 for letter, size in sizes.items()}
    given |= {f"b_{letter}": normal(size[1]) for letter, size in sizes.items()}
    return MultiHeadAttention(**given, num_heads=num_heads, num_kv_heads=num_kv_heads), given


def rotary(x, positions):
    """Turn pairs of neighbouring numbers by complex multiplication: (..., len, head_dim)."""
    frequencies = 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    turns = np.exp(1j * np.multiply.outer(positions, frequencies))  # (len, head_dim/2)
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


@grouped
def test_rotary_positions_from_outside(num_heads, num_kv_heads):
    layer, given = self_layer(num_heads, num_kv_heads)
    x, mask = normal(BATCH, LEN_K, D_Q), causal_mask(LEN_K)

    def call(first):
        positions = np.arange(first, first + LEN_K)
        queries, keys = (rotary(heads, positions) for heads in (layer.queries(x), layer.keys(x)))
        return attend_outside(layer, queries, keys, layer.values(x), mask)

    def turn(heads):
        turned = np.empty(heads.shape)
        for *at, position in np.ndindex(*heads.shape[:-1]):
            turned[(*at, position)] = oracles.rotated(heads[(*at, position)], position)
        return turned

    expected = oracles.multi_head_attention(
        x, x, x, given, num_heads, mask, num_kv_heads, turn=turn
    )
    for first in (0, 1, 97):  # only distances count
        output, weights = call(first)
        np.testing.assert_allclose(weights, expected[1], rtol=1e-8)
        np.testing.assert_allclose(output, expected[0], rtol=1e-8, atol=1e-9)
    assert np.abs(layer(x, mask=mask).weights - expected[1]).max() > 0.01


@grouped
def test_alibi_from_outside(num_heads, num_kv_heads):
    layer, given = self_layer(num_heads, num_kv_heads)
    x, mask = normal(BATCH, LEN_K, D_Q), causal_mask(LEN_K)
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    distance = np.arange(LEN_K)[:, None] - np.arange(LEN_K)  # (len, len)
    bias = -slopes[:, None, None] * distance  # (num_heads, len, len)

    def alibi(head):
        slope = 2 ** (-8 * (head + 1) / num_heads)
        return [[-slope * (i - j) for j in range(LEN_K)] for i in range(LEN_K)]

    expected = oracles.multi_head_attention(
        x, x, x, given, num_heads, mask, num_kv_heads, bias=alibi
    )
    assert_close(layer(x, mask=mask, bias=bias), expected)
    outside = attend_outside(
        layer, layer.queries(x), layer.keys(x), layer.values(x), mask, bias=bias
    )
    assert_close(AttentionOutput(*outside), expected)


@grouped
def test_a_cache_from_outside(num_heads, num_kv_heads):
    layer, given = self_layer(num_heads, num_kv_heads)
    x = normal(BATCH, LEN_K, D_Q)
    keys = np.empty((BATCH, num_kv_heads, 0, layer.w_k.shape[1] // num_kv_heads))
    values = np.empty((BATCH, num_kv_heads, 0, VALUE_DIM))
    full = layer(x, mask=causal_mask(LEN_K))
    assert_close(
        full,
        oracles.multi_head_attention(x, x, x, given, num_heads, causal_mask(LEN_K), num_kv_heads),
    )
    for position in range(LEN_K):
        token = x[:, position : position + 1]
        keys = np.concatenate([keys, layer.keys(token)], axis=-2)
        values = np.concatenate([values, layer.values(token)], axis=-2)
        output, weights = attend_outside(layer, layer.queries(token), keys, values)
        np.testing.assert_allclose(output[:, 0], full.output[:, position], rtol=1e-10, atol=1e-12)
        seen = full.weights[:, :, position, : position + 1]
        np.testing.assert_allclose(weights[:, :, 0], seen, rtol=1e-10)


# --- MultiHeadAttention.init --------------------------------------------------------


def test_init_draws_the_numbers_it_always_drew():
    # The chapters' stored outputs are made of them.
    bound = (3 / 6) ** 0.5
    drawn = np.random.default_rng(7).uniform(-bound, bound, size=(4, 6, 6))
    layer = MultiHeadAttention.init(np.random.default_rng(7), 6, 3)
    for name, expected in zip(("w_q", "w_k", "w_v", "w_o"), drawn, strict=True):
        np.testing.assert_array_equal(getattr(layer, name), expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, "float64"])
def test_init_draws_in_the_dtype_asked_for(dtype):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 12, 6, 2, dtype)
    double = MultiHeadAttention.init(np.random.default_rng(0), 12, 6, num_kv_heads=2)
    for letter in "qkvo":
        weight, bias = getattr(layer, f"w_{letter}"), getattr(layer, f"b_{letter}")
        assert weight.dtype == bias.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(weight, getattr(double, f"w_{letter}").astype(dtype))


def test_a_layer_of_single_precision_computes_in_it(monkeypatch):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 12, 6, 2, np.float32)
    seen = []
    monkeypatch.setattr(np, "exp", lambda x, out: seen.append(x.dtype) or np.expm1(x, out=out))
    layer(normal(LEN_Q, 12).astype(np.float32))
    assert seen == [np.float32]


@pytest.mark.parametrize("dtype", [np.int64, complex, bool])
def test_init_draws_floats(dtype):
    message = f"^dtype must be one of floats, got {np.dtype(dtype)}$"
    with pytest.raises(TypeError, match=f"^{message}"):
        MultiHeadAttention.init(np.random.default_rng(0), 12, 6, dtype=dtype)


@pytest.mark.parametrize("num_kv_heads", [None, 1, 2, 3, 6])
def test_init_makes_square_matrices_and_narrow_ones(num_kv_heads):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 12, 6, num_kv_heads)
    kv_heads = 6 if num_kv_heads is None else num_kv_heads
    assert (layer.num_heads, layer.num_kv_heads, layer.head_dim) == (6, kv_heads, 2)
    assert layer.w_q.shape == layer.w_o.shape == (12, 12)
    assert layer.w_k.shape == layer.w_v.shape == (12, 2 * kv_heads)
    assert layer(normal(LEN_Q, 12)).weights.shape == (6, LEN_Q, LEN_Q)


def test_init_is_made_from_the_generator_alone():
    first, again, other = (
        MultiHeadAttention.init(np.random.default_rng(seed), 6, 3) for seed in (0, 0, 1)
    )
    for name in ("w_q", "w_k", "w_v", "w_o"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert first.num_heads == 3
    matrices = [first.w_q, first.w_k, first.w_v, first.w_o]
    assert len({matrix.tobytes() for matrix in matrices}) == 4


def test_init_keeps_the_variance_of_a_vector():
    d_model = 211
    layer = MultiHeadAttention.init(np.random.default_rng(0), d_model, 1)
    x = normal(1009, d_model)
    for letter in "qkvo":
        weight, bias = getattr(layer, f"w_{letter}"), getattr(layer, f"b_{letter}")
        assert weight.shape == (d_model, d_model)
        assert (bias == 0).all()
        largest = np.abs(weight).max()
        bound = (3 / d_model) ** 0.5
        assert 0.999 * bound < largest <= bound
        assert abs((x @ weight).var() - 1) < 0.02


def test_init_names_heads_that_do_not_divide():
    with pytest.raises(ValueError, match=r"^d_model \(10\) must be divisible by num_heads \(3\)$"):
        MultiHeadAttention.init(np.random.default_rng(0), 10, 3)


@pytest.mark.parametrize(
    ("d_model", "num_heads", "message"),
    [(10, 0, r"num_heads \(0\)"), (0, 2, r"d_model \(0\)"), (-4, 2, r"d_model \(-4\)")],
)
def test_init_names_sizes_below_one(d_model, num_heads, message):
    with pytest.raises(ValueError, match=f"^{message} must be at least 1"):
        MultiHeadAttention.init(np.random.default_rng(0), d_model, num_heads)


@pytest.mark.parametrize("rng", [0, None, np.random, np.random.RandomState(0)])
def test_init_takes_a_generator_only(rng):
    message = f"rng must be a numpy.random.Generator, got {type(rng).__name__}"
    with pytest.raises(TypeError, match=f"^{message}"):
        MultiHeadAttention.init(rng, 10, 2)


def test_a_packed_torch_layer_gives_what_torch_returned():
    path = Path(attnbook.__file__).parent / "data" / "packed_mha.json"
    packed = json.loads(path.read_text(encoding="utf-8"))
    state = {name: np.array(array) for name, array in packed["state_dict"].items()}
    parts = zip("qkv", state["in_proj_weight"].reshape(3, 6, 6), strict=True)
    biases = dict(zip(("b_q", "b_k", "b_v"), state["in_proj_bias"].reshape(3, 6), strict=True))
    layer = MultiHeadAttention(
        **{f"w_{letter}": matrix.T for letter, matrix in parts},
        **biases,
        w_o=state["out_proj.weight"].T,
        b_o=state["out_proj.bias"],
        num_heads=packed["num_heads"],
    )
    assert len(packed["cases"]) == 2
    for case in packed["cases"]:
        mask = None if case["mask"] is None else np.array(case["mask"])
        output, weights = layer(np.array(case["query"]), np.array(case["memory"]), mask=mask)
        np.testing.assert_allclose(output, case["output"], atol=1e-8, rtol=0)
        np.testing.assert_allclose(weights, case["weights"], atol=1e-8, rtol=0)
        average = weights.mean(axis=1)
        np.testing.assert_allclose(average, case["weights_averaged"], atol=1e-8, rtol=0)


@pytest.mark.parametrize("num_kv_heads", [None, 1, 2, 3])
def test_the_steps_around_attention_are_the_layer(num_kv_heads):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 12, 6, num_kv_heads)
    x, mask, bias = normal(BATCH, LEN_K, 12), causal_mask(LEN_K), normal(6, LEN_K, LEN_K)
    parts = layer.queries(x), layer.keys(x), layer.values(x)
    heads, weights = scaled_dot_product_attention(*parts, mask, bias=bias)
    expected = layer(x, mask=mask, bias=bias)
    np.testing.assert_array_equal(layer.combine(heads), expected.output)
    np.testing.assert_array_equal(weights, expected.weights)


def test_a_layer_is_shown_in_one_line_of_sizes():
    given = grouped_parameters(6, 2)
    layer = MultiHeadAttention(**given, num_heads=6, num_kv_heads=2)
    sizes = f"d_model {D_Q}, 6 heads of {HEAD_DIM} on 2"
    assert repr(layer) == f"MultiHeadAttention({sizes}, float64)"
    one = MultiHeadAttention.init(np.random.default_rng(0), 12, 4, dtype=np.float32)
    assert repr(one) == "MultiHeadAttention(d_model 12, 4 heads of 3 on 4, float32)"


def test_tokens_in_heads_may_share_a_memory():
    x, memory = normal(6, LEN_Q, D_Q), normal(3, LEN_K, D_K)
    w_q, w_k, w_v = normal(D_Q, 5), normal(D_K, 5), normal(D_K, 2)
    found = cross_attention(x, memory, w_q, w_k, w_v)
    for head in range(6):
        one = cross_attention(x[head], memory[head // 2], w_q, w_k, w_v)
        np.testing.assert_allclose(found.output[head], one.output, rtol=1e-12)
        np.testing.assert_allclose(found.weights[head], one.weights, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^leading axes of x and memory must .* of x \(axis -3\)"):
        cross_attention(x[:5], memory, w_q, w_k, w_v)
