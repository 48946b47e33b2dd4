"""Attention with projections. What holds for every attention is tested in test_functional.py."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnbook
from attnbook import (
    MultiHeadAttention,
    cross_attention,
    merge_heads,
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
    with pytest.raises(ValueError, match=message):
        cross_attention(**{key: normal(*size) for key, size in {**shapes, name: shape}.items()})


def test_self_attention_names_its_own_argument():
    with pytest.raises(ValueError, match=r"w_k must .* 11 features of x"):
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
    with pytest.raises(ValueError, match=message):
        split_heads(np.ones(shape), num_heads)


def test_the_number_of_heads_is_an_integer():
    with pytest.raises(TypeError, match="integer"):
        split_heads(np.ones((LEN_Q, 10)), 2.0)


def test_merge_heads_needs_heads():
    with pytest.raises(ValueError, match=r"x must have at least 3 axes .* \(5, 10\)"):
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
    with pytest.raises(ValueError, match=message):
        square_layer()(query, key, mask=np.ones(mask_shape, bool))


def test_a_mask_that_does_not_broadcast_is_named_as_it_was_given():
    x, mask = normal(BATCH, LEN_Q, 2 * HEAD_DIM), np.ones((2, LEN_Q, LEN_Q), bool)
    with pytest.raises(ValueError, match=r"mask of shape \(2, 5, 5\)"):
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
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**given, num_heads=NUM_HEADS)


@pytest.mark.parametrize(
    ("sizes", "num_heads", "message"),
    [
        ({"q": (2, 10), "k": (2, 10)}, 3, r"d_model \(10\) must be divisible by num_heads \(3\)"),
        ({"v": (2, 10), "o": (10, 2)}, 3, r"columns of w_v \(10\) must be divisible .* \(3\)"),
        ({}, 0, r"num_heads \(0\) must be at least 1"),
        ({}, -3, r"num_heads \(-3\) must be at least 1"),
    ],
)
def test_a_number_of_heads_that_does_not_divide_is_named(sizes, num_heads, message):
    sizes = {letter: (6, 6) for letter in "qkvo"} | sizes
    with pytest.raises(ValueError, match=message):
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
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**parameters(), num_heads=NUM_HEADS)(*given)


# --- MultiHeadAttention.init --------------------------------------------------------


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
    with pytest.raises(ValueError, match=f"{message} must be at least 1"):
        MultiHeadAttention.init(np.random.default_rng(0), d_model, num_heads)


@pytest.mark.parametrize("rng", [0, None, np.random, np.random.RandomState(0)])
def test_init_takes_a_generator_only(rng):
    message = f"rng must be a numpy.random.Generator, got {type(rng).__name__}"
    with pytest.raises(TypeError, match=message):
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
