"""The backward passes of the other parts: against differences, loops and PyTorch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import (
    MultiHeadAttention,
    apply_rotary,
    attention_backward,
    blockwise_attention_backward,
    check_gradient,
    cross_entropy,
    embedding_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    linear_backward,
    multi_head_backward,
    relu_backward,
    rms_norm,
    rms_norm_backward,
    rotary_backward,
    softmax,
    softmax_backward,
    swiglu,
    swiglu_backward,
)
from tests.package import oracles

D_IN, HIDDEN, D_OUT, LEN, VOCAB = 5, 7, 3, 11, 13


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


# What each is checked with: forward, backward, the arrays' shapes (of which x comes first).
PARTS = {
    "linear": (lambda x, w, b: x @ w + b, linear_backward, [(D_IN,), (D_IN, D_OUT), (D_OUT,)]),
    "linear without b": (np.matmul, linear_backward, [(D_IN,), (D_IN, D_OUT)]),
    "rms_norm": (rms_norm, rms_norm_backward, [(D_IN,), (D_IN,)]),
    "rms_norm, eps": (
        lambda *arrays: rms_norm(*arrays, 0.3),
        lambda *arrays: rms_norm_backward(*arrays, 0.3),
        [(D_IN,), (D_IN,)],
    ),
    "layer_norm": (layer_norm, layer_norm_backward, [(D_IN,), (D_IN,), (D_IN,)]),
    "layer_norm, eps": (
        lambda *arrays: layer_norm(*arrays, 0.3),
        lambda *arrays: layer_norm_backward(*arrays, 0.3),
        [(D_IN,), (D_IN,), (D_IN,)],
    ),
    "relu": (lambda x: np.maximum(x, 0), relu_backward, [(D_IN,)]),
    "feed_forward": (
        feed_forward,
        feed_forward_backward,
        [(D_IN,), (D_IN, HIDDEN), (HIDDEN,), (HIDDEN, D_OUT), (D_OUT,)],
    ),
    "swiglu": (swiglu, swiglu_backward, [(D_IN,), (D_IN, HIDDEN), (D_IN, HIDDEN), (HIDDEN, D_OUT)]),
    "softmax": (softmax, lambda d, x: softmax_backward(d, softmax(x)), [(D_IN,)]),
}


@pytest.mark.parametrize("leading", [(), (LEN,), (2, 3)], ids=str)
@pytest.mark.parametrize(("forward", "backward", "shapes"), PARTS.values(), ids=PARTS)
def test_parts_equal_differences(forward, backward, shapes, leading):
    x, *parameters = (normal(*shape, seed=seed) for seed, shape in enumerate(shapes))
    x = normal(*leading, *shapes[0])
    check_gradient(forward, backward, x, *parameters)


@pytest.mark.parametrize("kv_heads", [None, 3, 1])
@pytest.mark.parametrize("leading", [(), (2,), (2, 1)], ids=str)
def test_multi_head_equals_differences(kv_heads, leading):
    heads, size, value_size, d_key, d_value = 3, 2, 5, 7, 11
    groups = heads if kv_heads is None else kv_heads
    shapes = {"w_q": (D_IN, heads * size), "w_k": (d_key, groups * size)}
    shapes |= {"w_v": (d_value, groups * value_size), "w_o": (heads * value_size, D_OUT)}
    shapes |= {f"b_{letter}": shapes[f"w_{letter}"][1:] for letter in "qkvo"}
    parameters = [normal(*shape, seed=seed) / 2 for seed, shape in enumerate(shapes.values())]
    mask = normal(*leading, 3, 4) < 0.7
    xs = normal(*leading, 3, D_IN), normal(*leading, 4, d_key), normal(*leading, 4, d_value)

    def layer(held):
        held = dict(zip(shapes, held, strict=True))
        return MultiHeadAttention(**held, num_heads=heads, num_kv_heads=kv_heads)

    def forward(query, key, value, *held):
        return layer(held)(query, key, value, mask)

    def backward(d_output, query, key, value, *held):
        weights = forward(query, key, value, *held).weights
        arguments = d_output, layer(held), query, key, value, mask
        *d_inputs, d_layer = multi_head_backward(*arguments, weights=weights)
        assert (d_layer.num_heads, d_layer.num_kv_heads) == (heads, groups)
        return *d_inputs, *(getattr(d_layer, name) for name in shapes)

    check_gradient(forward, backward, *xs, *parameters)


@pytest.mark.parametrize("masked", [False, True])
def test_cross_entropy_equals_differences(masked):
    targets = np.random.default_rng(0).integers(0, VOCAB, (2, LEN))
    mask = normal(2, LEN) < 0.3 if masked else None
    check_gradient(
        lambda logits: cross_entropy(logits, targets, mask)[0],
        lambda d, logits: d * cross_entropy(logits, targets, mask)[1],
        normal(2, LEN, VOCAB),
    )


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("positions", [None, np.array([3, 0, 7], np.uint8), normal(2, 3)])
def test_rotary_equals_differences(positions, pairing):
    options = {"base": 17.0, "pairing": pairing}
    check_gradient(
        lambda x: apply_rotary(x, positions, **options),
        lambda d, x: rotary_backward(d, positions, **options),
        normal(2, 3, 6),
    )


def test_embedding_equals_differences():
    tokens = np.array([[2, 0, 2], [6, 2, 4]])
    check_gradient(
        lambda table: table[tokens],
        lambda d, table: embedding_backward(d, tokens, len(table)),
        normal(7, 3),
    )


# --- PyTorch's ------------------------------------------------------------------------

GOLDEN = oracles.BACKWARD_GOLDEN["parts"]
TOLERANCE = {np.float64: 1e-9, np.float32: 3e-6}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE)


def case(name, dtype, *names):
    """Return arrays of a case: d_output, those named, and the gradients of these."""
    golden, suffix = GOLDEN[name], np.dtype(dtype)
    arrays = [np.array(golden[each], dtype) for each in ("d_output", *names)]
    return golden, arrays, [np.array(golden[f"d_{each}_{suffix}"]) for each in names]


def assert_equal_gradients(gradients, expected, dtype):
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for one, other in zip(gradients, expected, strict=True):
        assert one.dtype == dtype
        assert one.shape == other.shape
        atol = TOLERANCE[dtype] * np.abs(other).max(initial=1)
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@DTYPES
@pytest.mark.parametrize(
    ("name", "backward", "names"),
    [
        ("linear", linear_backward, ["x", "w_in", "b_in"]),
        ("relu", relu_backward, ["x"]),
        ("rms_norm", rms_norm_backward, ["x", "gain"]),
        ("layer_norm", layer_norm_backward, ["x", "gain", "bias"]),
        ("feed_forward", feed_forward_backward, ["x", "w_in", "b_in", "w_out", "b_out"]),
        ("swiglu", swiglu_backward, ["x", "w_gate", "w_up", "w_down"]),
    ],
)
def test_parts_equal_pytorch(name, backward, names, dtype):
    golden, arrays, expected = case(name, dtype, *names)
    options = {"eps": golden["eps"]} if "eps" in golden else {}
    assert_equal_gradients(backward(*arrays, **options), expected, dtype)


@DTYPES
def test_softmax_equals_pytorch(dtype):
    _, (d_output, scores), expected = case("softmax", dtype, "scores")
    assert_equal_gradients(softmax_backward(d_output, softmax(scores)), expected, dtype)


@DTYPES
def test_embedding_equals_pytorch(dtype):
    golden, (d_output, table), expected = case("embedding", dtype, "table")
    found = embedding_backward(d_output, golden["tokens"], len(table))
    assert_equal_gradients(found, expected, dtype)


@DTYPES
@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotary_equals_pytorch(pairing, dtype):
    golden, (d_output, _), expected = case(pairing, dtype, "turned")
    found = rotary_backward(d_output, golden["positions"], base=golden["base"], pairing=pairing)
    assert_equal_gradients(found, expected, dtype)


@DTYPES
@pytest.mark.parametrize("name", ["cross_entropy", "masked"])
def test_cross_entropy_equals_pytorch(name, dtype):
    golden, (d_output, logits), expected = case(name, dtype, "logits")
    loss, d_logits = cross_entropy(logits, golden["targets"], golden.get("mask"))
    assert type(loss) is float
    assert loss == pytest.approx(golden[f"output_{np.dtype(dtype)}"], rel=TOLERANCE[dtype])
    assert_equal_gradients(d_output * d_logits, expected, dtype)


@DTYPES
@pytest.mark.parametrize("name", ["heads", "grouped", "one_kv_head"])
def test_multi_head_equals_pytorch(name, dtype):
    names = [f"{kind}_{letter}" for letter in "qkvo" for kind in "wb"]
    golden, arrays, expected = case(name, dtype, "query", "key", "value", *names)
    d_output, query, key, value, *parameters = arrays
    heads = {"num_heads": golden["num_heads"], "num_kv_heads": golden["num_kv_heads"]}
    layer = MultiHeadAttention(**dict(zip(names, parameters, strict=True)), **heads)
    output, weights = layer(query, key, value, golden["mask"])
    np.testing.assert_allclose(output, golden[f"output_{np.dtype(dtype)}"], atol=1e-5)
    *found, d_layer = multi_head_backward(
        *(d_output, layer, query, key, value, golden["mask"]), weights=weights
    )
    found += [getattr(d_layer, each) for each in names]
    assert_equal_gradients(tuple(found), expected, dtype)


# --- What holds for all ---------------------------------------------------------------


def multi_head(d_output, query, key, value):
    layer = MultiHeadAttention.init(np.random.default_rng(0), 4, 2, dtype=np.float64)
    mask = np.tri(3, 5, dtype=bool)
    weights = layer(query, key, value, mask).weights
    *d_inputs, d_layer = multi_head_backward(
        *(d_output, layer, query, key, value, mask), weights=weights
    )
    return *d_inputs, d_layer.w_q, d_layer.w_k, d_layer.w_v, d_layer.w_o, d_layer.b_o


TARGETS = np.array([4, 0, 2, 2, 1, 0, 3])

# Each with the shapes of the arrays that give the dtype, then of others.
ALL = {
    "linear": (linear_backward, [(7, 3), (7, 5)], [(5, 3), (3,)]),
    "embedding": (lambda d: embedding_backward(d, TARGETS, 5), [(7, 3)], []),
    "rms_norm": (rms_norm_backward, [(7, 5), (7, 5)], [(5,)]),
    "layer_norm": (layer_norm_backward, [(7, 5), (7, 5)], [(5,), (5,)]),
    "relu": (relu_backward, [(7, 5), (7, 5)], []),
    "feed_forward": (
        feed_forward_backward,
        [(7, 3), (7, 5)],
        [(5, 11), (11,), (11, 3), (3,)],
    ),
    "swiglu": (swiglu_backward, [(7, 3), (7, 5)], [(5, 11), (5, 11), (11, 3)]),
    "rotary": (rotary_backward, [(7, 6)], []),
    "softmax": (softmax_backward, [(7, 5), (7, 5)], []),
    "cross_entropy": (lambda x: cross_entropy(x, TARGETS)[1], [(7, 5)], []),
    "multi_head": (multi_head, [(3, 4), (3, 4), (5, 4), (5, 4)], []),
}
EACH = pytest.mark.parametrize(("backward", "inputs", "parameters"), ALL.values(), ids=ALL)


def as_tuple(gradients):
    return gradients if isinstance(gradients, tuple) else (gradients,)


@EACH
@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float64),
    ],
)
def test_gradients_have_the_dtype_of_the_inputs(
    backward, inputs, parameters, given_dtype, expected
):
    arrays = [
        (2 * normal(*shape, seed=seed)).astype(given_dtype) for seed, shape in enumerate(inputs)
    ]
    arrays += [normal(*shape) for shape in parameters]  # wider ones do not widen
    found = as_tuple(backward(*arrays))
    exact = as_tuple(backward(*(array.astype(np.float64) for array in arrays)))
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == expected
        atol = 32 * np.finfo(expected).eps * max(1, np.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


@EACH
def test_no_input_is_changed_or_handed_out(backward, inputs, parameters):
    arrays = [normal(*shape, seed=seed) for seed, shape in enumerate([*inputs, *parameters])]
    before = [array.tobytes() for array in arrays]
    first, second = as_tuple(backward(*arrays)), as_tuple(backward(*arrays))
    assert [array.tobytes() for array in arrays] == before
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
        assert not any(np.shares_memory(one, array) for array in arrays)


@EACH
def test_lists_are_taken(backward, inputs, parameters):
    arrays = [normal(*shape, seed=seed) for seed, shape in enumerate([*inputs, *parameters])]
    lists = [array.tolist() for array in arrays]
    for one, other in zip(as_tuple(backward(*lists)), as_tuple(backward(*arrays)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("backward", "inputs", "parameters"),
    [
        each
        for name, each in ALL.items()
        if name not in ("embedding", "cross_entropy", "multi_head")
    ],
)
def test_nothing_gives_nothing(backward, inputs, parameters):
    arrays = [normal(0, shape[1]) for shape in inputs] + [normal(*shape) for shape in parameters]
    for gradient in as_tuple(backward(*arrays)):
        np.testing.assert_array_equal(gradient, 0)


def test_a_token_that_occurs_nowhere_gets_nothing():
    np.testing.assert_array_equal(embedding_backward(normal(0, 3), [], 5), np.zeros((5, 3)))
    one_nan = embedding_backward([[np.nan, 1], [2, 3], [4, 5]], [2, 0, 2], 3)
    np.testing.assert_array_equal(one_nan, [[2, 3], [0, 0], [np.nan, 6]])
    np.testing.assert_array_equal(embedding_backward([[1, 2], [3, 4]], [0, 0], 1), [[4, 6]])
    found = embedding_backward([1.0, 2.0], 3, 5)  # one token, without an axis
    np.testing.assert_array_equal(found, [[0, 0]] * 3 + [[1, 2], [0, 0]])


def test_a_gate_that_is_shut_lets_no_gradient_through():
    for gradient in swiglu_backward([[3.0]], [[-1e3]], [[1.0]], [[1.0]], [[1.0]]):
        np.testing.assert_array_equal(gradient, 0)
    d_x, *_ = swiglu_backward([[3.0]], [[1e3]], [[1.0]], [[1.0]], [[1.0]])
    np.testing.assert_allclose(d_x, [[6e3]])  # wide open, x * x is left


# --- Errors ---------------------------------------------------------------------------

W, B, D, X = normal(5, 3), normal(3), normal(7, 3), normal(7, 5)
IN, B_IN, OUT, B_OUT = normal(5, 11), normal(11), normal(11, 3), normal(3)
GATE, DOWN, GAIN = normal(5, 11), normal(11, 3), normal(5)
WRONG = {
    "linear, d_output": (lambda: linear_backward(X, X, W), r"d_output must have shape \(7, 3\), "),
    "linear, w": (lambda: linear_backward(D, D, W), r"w must have 2 axes .* 3 features of x, "),
    "linear, b": (lambda: linear_backward(D, X, W, GAIN), r"b must have shape \(3,\), got \(5,\)"),
    "linear, x": (lambda: linear_backward(D, 1.0, W), "x must have at least 1 axis"),
    "embedding, d_output": (
        lambda: embedding_backward(D, [1, 2], 5),
        r"d_output must have shape \(2, 3\), got \(7, 3\)",
    ),
    "embedding, no axis": (
        lambda: embedding_backward(1.0, 1, 5),
        r"d_output must have at least 1 axis \(\.\.\., d_model\), got",
    ),
    "embedding, tokens": (
        lambda: embedding_backward(D, [0, 1, 2, 3, 4, 5, 0], 5),
        "tokens must be from 0 to 4, got 0 to 5",
    ),
    "embedding, negative": (
        lambda: embedding_backward(D, [0, 1, 2, -1, 4, 3, 0], 5),
        "tokens must be from 0 to 4, got -1 to 4",
    ),
    "embedding, size": (
        lambda: embedding_backward(D, TARGETS, 0),
        "vocab_size must be at least 1, got 0",
    ),
    "rms_norm, gain": (lambda: rms_norm_backward(X, X, B), r"gain must have shape \(5,\), got"),
    "rms_norm, d_output": (
        lambda: rms_norm_backward(D, X, GAIN),
        r"d_output must have shape \(7, 5\)",
    ),
    "layer_norm, gain": (lambda: layer_norm_backward(X, X, B, GAIN), r"gain must have shape \(5,"),
    "layer_norm, bias": (lambda: layer_norm_backward(X, X, GAIN, B), r"bias must have shape \(5,"),
    "layer_norm, d_output": (
        lambda: layer_norm_backward(X[:1], X, GAIN, GAIN),
        r"d_output must have shape \(7, 5\), got \(1, 5\)",
    ),
    "relu": (lambda: relu_backward(X[:1], X), r"d_output must have shape \(7, 5\), got \(1, 5\)"),
    "feed_forward, w_in": (
        lambda: feed_forward_backward(D, D, IN, B_IN, OUT, B_OUT),
        r"w_in must have shape \(3, 11\), got \(5, 11\)",
    ),
    "feed_forward, w_out": (
        lambda: feed_forward_backward(D, X, IN, B_IN, OUT, GAIN),
        r"w_out must have shape \(11, 5\), got \(11, 3\)",
    ),
    "feed_forward, d_output": (
        lambda: feed_forward_backward(D[:1], X, IN, B_IN, OUT, B_OUT),
        r"d_output must have shape \(7, 3\), got \(1, 3\)",
    ),
    "swiglu, w_up": (
        lambda: swiglu_backward(D, X, GATE, DOWN, DOWN),
        r"w_up must have shape \(5, 11\), got \(11, 3\)",
    ),
    "swiglu, d_output": (
        lambda: swiglu_backward(D[:1], X, GATE, GATE, DOWN),
        r"d_output must have shape \(7, 3\), got \(1, 3\)",
    ),
    "rotary, axes": (lambda: rotary_backward(B), "d_output must have at least 2 axes"),
    "rotary, odd": (lambda: rotary_backward(X), "head_dim must be positive and even, got 5"),
    "rotary, pairing": (lambda: rotary_backward(D[:, :2], pairing="pairs"), "pairing must be"),
    "rotary, positions": (lambda: rotary_backward(D[:, :2], [0, 1]), r"positions of shape \(2,\)"),
    "softmax": (
        lambda: softmax_backward(X[:1], X),
        r"d_weights must have shape \(7, 5\), got \(1, 5\)",
    ),
    "softmax, no axis": (
        lambda: softmax_backward(1.0, 1.0),
        r"weights must have at least 1 axis \(\.\.\., n\), got",
    ),
    "cross_entropy, targets": (
        lambda: cross_entropy(X, [1, 2]),
        r"targets must have shape \(7,\), got \(2,\)",
    ),
    "cross_entropy, vocab": (
        lambda: cross_entropy(D, TARGETS),
        "targets must be from 0 to 2, got 0 to 4",
    ),
    "cross_entropy, mask": (
        lambda: cross_entropy(X, TARGETS, [True]),
        r"mask must have shape \(7,\), got \(1,\)",
    ),
    "cross_entropy, nothing": (
        lambda: cross_entropy(X, TARGETS, TARGETS > 9),
        "at least 1 target must count, got 0 of 7",
    ),
    "cross_entropy, no logits": (
        lambda: cross_entropy(normal(7, 0), TARGETS),
        r"logits must have shape \(\.\.\., vocab\), vocab > 0, got \(7, 0\)",
    ),
    "cross_entropy, no axis": (lambda: cross_entropy(1.0, 0), "logits must have shape"),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_what_is_of_another_kind_is_named():
    with pytest.raises(TypeError, match=r"^targets must be integers, got dtype float64"):
        cross_entropy(X, TARGETS / 1)
    with pytest.raises(
        TypeError, match=r"^mask must be boolean, True where a target counts, got dtype float64$"
    ):
        cross_entropy(X, TARGETS, np.ones(7))
    with pytest.raises(TypeError, match=r"^tokens must be integers, got dtype float64"):
        embedding_backward(D, TARGETS / 1, 5)
    with pytest.raises(TypeError, match=r"^tokens must be integers, got dtype bool"):
        embedding_backward(D, TARGETS > 1, 5)
    with pytest.raises(TypeError, match="integer"):
        embedding_backward(D, TARGETS, 5.0)


# Arguments that fit, by name: each holds real numbers.
NAMED = {
    linear_backward: {"d_output": D, "x": X, "w": W, "b": B},
    embedding_backward: {"d_output": D},
    rms_norm_backward: {"d_output": X, "x": X, "gain": GAIN},
    layer_norm_backward: {"d_output": X, "x": X, "gain": GAIN, "bias": GAIN},
    relu_backward: {"d_output": X, "x": X},
    feed_forward_backward: {
        **{"d_output": D, "x": X},
        **{"w_in": IN, "b_in": B_IN, "w_out": OUT, "b_out": B_OUT},
    },
    swiglu_backward: {"d_output": D, "x": X, "w_gate": GATE, "w_up": GATE, "w_down": DOWN},
    rotary_backward: {"d_output": X[:, :4]},
    softmax_backward: {"d_weights": X, "weights": X},
    cross_entropy: {"logits": X},
    attention_backward: {"d_output": D, "query": X, "key": X, "value": D},
    blockwise_attention_backward: {
        **{"d_output": D, "query": X, "key": X, "value": D},
        **{"output": D, "logsumexp": X[:, 0]},
    },
    multi_head_backward: {
        **{"d_output": normal(3, 4), "query": normal(3, 4)},
        **{"key": normal(5, 4), "value": normal(5, 4), "weights": normal(2, 3, 5)},
    },
}
OTHERS = {
    embedding_backward: {"tokens": TARGETS, "vocab_size": 5},
    cross_entropy: {"targets": TARGETS},
    multi_head_backward: {"layer": MultiHeadAttention.init(np.random.default_rng(0), 4, 2)},
}


@pytest.mark.parametrize(
    ("backward", "name"),
    [(backward, name) for backward, arrays in NAMED.items() for name in arrays],
)
def test_what_holds_no_real_numbers_is_named(backward, name):
    arguments = NAMED[backward] | OTHERS.get(backward, {})
    backward(**arguments)
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers, got dtype complex128$"):
        backward(**arguments | {name: arguments[name].astype(complex)})


LAYER = MultiHeadAttention.init(np.random.default_rng(0), 4, 2)
WRONG_HEADS = {
    "d_output": ({"d_output": normal(3, 5)}, r"d_output must have shape \(3, 4\), got \(3, 5\)"),
    "d_output, more": ({"d_output": normal(2, 3, 4)}, r"d_output must have shape \(3, 4\), got"),
    "weights": ({"weights": normal(3, 5)}, r"weights must have shape \(2, 3, 5\), got \(3, 5\)"),
    "query": ({"query": normal(4)}, "query must have at least 2 axes"),
    "key": ({"key": normal(5, 3)}, "w_k must have 2 axes and one row for each of the 3 features"),
    "value": ({"value": normal(7, 4)}, "key and value must have the same length"),
    "mask": ({"mask": np.ones((2, 2, 3, 5), bool)}, "mask must not have more axes than query"),
    "mask of a batch": (
        {"query": normal(1, 3, 4), "mask": np.ones((7, 3, 5), bool)},
        r"weights must have shape \(7, 2, 3, 5\), got \(2, 3, 5\)",
    ),
}


@pytest.mark.parametrize(("changed", "message"), WRONG_HEADS.values(), ids=WRONG_HEADS)
def test_what_does_not_fit_the_layer_is_named(changed, message):
    usual = {"d_output": normal(3, 4), "layer": LAYER, "query": normal(3, 4)}
    usual |= {"key": normal(5, 4), "weights": normal(2, 3, 5)}
    with pytest.raises(ValueError, match=f"^{message}"):
        multi_head_backward(**usual | changed)


# --- Multi-head -----------------------------------------------------------------------


def test_keys_default_to_queries_and_values_to_keys():
    x, memory, d_output = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 3, 4, seed=2)
    for passed, all_three in (((x,), (x, x, x)), ((x, memory), (x, memory, memory))):
        weights = LAYER(*passed).weights
        *found, d_layer = multi_head_backward(d_output, LAYER, *passed, weights=weights)
        *expected, d_same = multi_head_backward(d_output, LAYER, *all_three, weights=weights)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(d_layer.w_k, d_same.w_k)


def test_self_attention_is_the_sum_of_three():
    def backward(d_output, x):
        weights = LAYER(x).weights
        return sum(multi_head_backward(d_output, LAYER, x, weights=weights)[:3])

    check_gradient(LAYER, backward, normal(3, 4))


@pytest.mark.parametrize("kv_heads", [2, 1])
@pytest.mark.parametrize(
    ("q", "k", "v", "m"),
    [
        ((3,), (), (), None),
        ((), (3,), (3,), (3,)),
        ((), (), (3,), ()),
        ((2, 1), (3,), (1, 3), (3,)),
        ((1,), (), (), (3,)),
    ],
)
def test_gradients_are_summed_over_axes_that_were_broadcast(q, k, v, m, kv_heads):
    layer = MultiHeadAttention.init(np.random.default_rng(1), 4, 2, kv_heads)
    arrays = normal(*q, 2, 4), normal(*k, 5, 4, seed=1), normal(*v, 5, 4, seed=2)
    mask = None if m is None else normal(*m, 2, 5) < 0.5

    def backward(d_output, *arrays):
        weights = layer(*arrays, mask).weights
        return multi_head_backward(d_output, layer, *arrays, mask, weights=weights)[:3]

    check_gradient(lambda *arrays: layer(*arrays, mask), backward, *arrays)


@pytest.mark.parametrize("shape", [(), (5,), (3, 1), (2, 1, 5)])
def test_a_mask_broadcasts_as_forward(shape):
    arrays = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4, seed=1)
    arrays[1][0, 2] = np.nan
    mask = normal(*shape, seed=1) < 0.5
    full = np.broadcast_to(mask, (2, 3, 5))
    weights = LAYER(*arrays, mask).weights
    d_output = normal(2, 3, 4, seed=3)
    found = multi_head_backward(d_output, LAYER, *arrays, mask, weights=weights)
    expected = multi_head_backward(d_output, LAYER, *arrays, full, weights=weights)
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_bias_is_in_the_weights():
    bias = normal(2, 3, 5)

    def backward(d_output, *arrays):
        weights = LAYER(*arrays, bias=bias).weights
        return multi_head_backward(d_output, LAYER, *arrays, weights=weights)[:3]

    arrays = normal(3, 4), normal(5, 4), normal(5, 4, seed=1)
    check_gradient(lambda *arrays: LAYER(*arrays, bias=bias), backward, *arrays)


def test_values_alone_may_have_more_axes_where_keys_are_hidden():
    query, key, value, d_output = normal(3, 4), normal(5, 4), normal(2, 5, 4), normal(2, 3, 4)
    mask = np.arange(5) < 3
    weights = LAYER(query, key, value, mask).weights
    expected = multi_head_backward(d_output, LAYER, query, key, value, mask, weights=weights)
    value[1, 4] = key[3] = np.nan
    found = multi_head_backward(d_output, LAYER, query, key, value, mask, weights=weights)
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[3].w_v, expected[3].w_v, rtol=1e-12, atol=1e-14)


@given(st.data())
@settings(deadline=None)
def test_what_is_masked_and_not_finite_reaches_nothing(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    kv_heads = data.draw(st.sampled_from([1, 2]))
    layer = MultiHeadAttention.init(rng, 4, 2, kv_heads)
    leading = data.draw(st.sampled_from([(), (3,)]))
    shared = data.draw(st.booleans())  # one memory for the whole batch
    arrays = [rng.standard_normal((*leading, 5, 4))]
    arrays += [rng.standard_normal((*(() if shared else leading), 7, 4)) for _ in "kv"]
    mask = rng.random((*leading, 5, 7)) < 0.7
    mask[..., :, 2] = False  # a key that nobody sees
    mask[..., 3, :] = False  # a query that sees nothing
    number = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    which = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=1, unique=True))
    spoiled = [array.copy() for array in arrays]
    for n in which:
        spoiled[n][..., 3 if n == 0 else 2, data.draw(st.sampled_from([0, slice(None)]))] = number
    d_output = rng.standard_normal((*leading, 5, 4))
    found, expected = (
        multi_head_backward(d_output, layer, *given, mask, weights=layer(*given, mask).weights)
        for given in (spoiled, arrays)
    )
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    for name in ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"):
        one, other = getattr(found[3], name), getattr(expected[3], name)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_a_nan_reaches_those_that_see_it():
    query, memory = normal(3, 4), normal(5, 4)
    mask = np.tri(3, 5, dtype=bool)
    query[1, 0] = np.nan  # sees keys 0 and 1
    weights = LAYER(query, memory, mask=mask).weights
    found = multi_head_backward(normal(3, 4), LAYER, query, memory, None, mask, weights=weights)
    for gradient, touched in zip(found[:3], ([1], [0, 1], [0, 1]), strict=True):
        hit = np.isnan(gradient).any(axis=-1)
        np.testing.assert_array_equal(np.flatnonzero(hit), touched)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_reaches_what_its_query_sees(number):
    query, memory, d_output = normal(3, 4), normal(5, 4), normal(3, 4, seed=1)
    mask = np.tri(3, 5, dtype=bool)
    weights = LAYER(query, memory, mask=mask).weights
    d_output[1, 2] = number
    found = multi_head_backward(d_output, LAYER, query, memory, None, mask, weights=weights)
    for gradient, touched in zip(found[:3], ([1], [0, 1], [0, 1]), strict=True):
        hit = ~np.isfinite(gradient).all(axis=-1)
        np.testing.assert_array_equal(np.flatnonzero(hit), touched)


def test_weights_that_overflow_reach_what_their_query_sees():
    # Scores of 1e400 are infinite, though queries and keys are not.
    layer = MultiHeadAttention(w_q=[[1]], w_k=[[1]], w_v=[[1]], w_o=[[1]], num_heads=1)
    query, memory = np.array([[1e200], [1.0]]), np.array([[1e200], [1e200], [1.0]])
    mask = np.array([[True, True, False], [False, False, True]])
    with np.errstate(over="ignore"):
        weights = layer(query, memory, mask=mask).weights
    found = multi_head_backward(normal(2, 1), layer, query, memory, None, mask, weights=weights)
    for gradient, touched in zip(found[:3], ([0], [0, 1], [0, 1]), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(~np.isfinite(gradient[:, 0])), touched)


def test_weights_are_real_numbers():
    weights = LAYER(normal(3, 4)).weights * 1j
    with pytest.raises(TypeError, match=r"^weights must hold real numbers, got dtype complex128"):
        multi_head_backward(normal(3, 4), LAYER, normal(3, 4), weights=weights)


# --- Softmax and cross-entropy --------------------------------------------------------


def test_a_weight_of_zero_gets_no_gradient():
    weights, d_weights = [[0.25, 0, 0.75], [0, 0, 0]], [[8, np.nan, 16], [np.inf, 1, -np.inf]]
    np.testing.assert_array_equal(softmax_backward(d_weights, weights), [[-1.5, 0, 1.5], [0, 0, 0]])


def test_an_infinite_gradient_of_a_weight_is_not_hidden():
    assert np.isnan(softmax_backward([np.inf, 1], [0.5, 0.5])).any()


@given(st.data())
@settings(deadline=None)
def test_cross_entropy_equals_loops(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n, vocab = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    logits = data.draw(st.sampled_from([1, 1e4])) * rng.standard_normal((n, vocab))
    targets, mask = rng.integers(0, vocab, n), rng.random(n) < 0.6
    mask[rng.integers(n)] = True
    losses, expected = [], np.zeros((n, vocab))
    for i in range(n):
        if mask[i]:
            row = oracles.softmax_row(logits[i].tolist())
            largest = max(logits[i])
            total = sum(np.exp(logit - largest) for logit in logits[i].tolist())
            losses.append(largest + np.log(total) - logits[i][targets[i]])
            for j in range(vocab):
                expected[i][j] = (row[j] - (j == targets[i])) / mask.sum()
    spoiled = np.where(mask[:, None], logits, np.nan)
    elsewhere = np.where(mask, targets, -100)  # what does not count need not be a token
    loss, d_logits = cross_entropy(spoiled, elsewhere, mask)
    assert loss == pytest.approx(sum(losses) / len(losses), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(d_logits, expected, rtol=1e-12, atol=1e-15)


def test_the_loss_of_equal_logits_is_the_log_of_the_vocabulary():
    loss, d_logits = cross_entropy(np.full((2, 3, VOCAB), 5.0), np.full((2, 3), 7))
    assert loss == pytest.approx(np.log(VOCAB))
    assert d_logits[1, 2, 7] == pytest.approx((1 / VOCAB - 1) / 6)


def test_logits_of_minus_infinity():
    # A token that is ruled out has no gradient; as a target, it costs all there is.
    loss, d_logits = cross_entropy([[0.0, -np.inf, 0.0]], [2])
    assert loss == pytest.approx(np.log(2))
    np.testing.assert_array_equal(d_logits, [[0.5, 0, -0.5]])
    for logits in ([[0.0, -np.inf]], [[-np.inf, -np.inf]]):
        assert cross_entropy(logits, [1])[0] == np.inf
    assert np.isnan(cross_entropy([[np.inf, 0.0]], [1])[0])  # and no warning
