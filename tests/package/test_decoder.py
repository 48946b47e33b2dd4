"""The parts of a transformer against PyTorch and loops, and the decoder made of them."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import (
    Alibi,
    AttentionOutput,
    Decoder,
    DecoderLayer,
    KVCache,
    MultiHeadAttention,
    Parts,
    Placed,
    Rotary,
    Sinusoidal,
    apply_rotary,
    causal_mask,
    feed_forward,
    layer_norm,
    rms_norm,
    scaled_dot_product_attention,
    sinusoidal_encoding,
    swiglu,
)
from tests.package import oracles
from tests.package.schemes import PartialRotary, ScaledRotary

PARTS = {
    name: np.array(array) for name, array in oracles.DECODER_GOLDEN["parts"].items()
}  # by PyTorch
SCHEMES = [Rotary(), Sinusoidal(), Alibi(), None]

# Heads of 6 on 3, so that two query heads share keys; no two axes have the same size.
VOCAB, D_MODEL, NUM_HEADS, KV_HEADS, HEAD_DIM, HIDDEN, LEN = 17, 10, 6, 3, 4, 13, 7
TOKENS = np.array([3, 16, 0, 5, 5, 11, 2])


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def random_layer(seed=0, d_model=D_MODEL, num_heads=NUM_HEADS, head_dim=HEAD_DIM):
    queries, kv = num_heads * head_dim, KV_HEADS * head_dim
    return DecoderLayer(
        attention_norm=1 + normal(d_model, seed=seed) / 4,
        attention=MultiHeadAttention(
            w_q=normal(d_model, queries, seed=seed) / 2,
            w_k=normal(d_model, kv, seed=seed) / 2,
            w_v=normal(d_model, kv, seed=seed + 7) / 2,
            w_o=normal(queries, d_model, seed=seed) / 4,
            b_q=normal(queries, seed=seed),
            b_v=normal(kv, seed=seed),
            num_heads=num_heads,
            num_kv_heads=KV_HEADS,
        ),
        feed_forward_norm=1 + normal(d_model, seed=seed + 7) / 4,
        w_gate=normal(d_model, HIDDEN, seed=seed) / 2,
        w_up=normal(d_model, HIDDEN, seed=seed + 7) / 2,
        w_down=normal(HIDDEN, d_model, seed=seed) / 2,
    )


def random_decoder(**options):
    parameters = {
        "embedding": normal(VOCAB, D_MODEL),
        "layers": (random_layer(0), random_layer(1)),
        "final_norm": 1 + normal(D_MODEL) / 4,
    }
    return Decoder(**parameters | options)


def cast(thing, dtype):
    """Return the same decoder, layer or attention in another dtype."""

    def converted(value):
        if isinstance(value, np.ndarray):
            return value.astype(dtype)
        if isinstance(value, tuple):
            return tuple(map(converted, value))
        return cast(value, dtype) if dataclasses.is_dataclass(value) else value

    fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    return type(thing)(**{name: converted(value) for name, value in fields.items()})


# --- The parts ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "relu", "swiglu"])
def test_parts_equal_pytorch_s(name):
    part = PARTS.__getitem__
    x, gain, bias, eps = map(part, ("x", "gain", "bias", "eps"))
    two_layers = [part(key) for key in ("w_in", "b_in", "w_out", "b_out")]
    computed = {
        "rms_norm": lambda: rms_norm(x, gain, eps),
        "layer_norm": lambda: layer_norm(x, gain, bias, eps),
        "relu": lambda: feed_forward(x, *two_layers),
        "swiglu": lambda: swiglu(x, part("w_gate"), part("w_up"), part("w_down")),
    }[name]()
    np.testing.assert_allclose(computed, part(f"{name}_output"), rtol=1e-8, atol=1e-9)


def test_norms_by_hand():
    # 1 and 7: their squares' mean is 25, with eps 11 it is 36. Mean 4, deviations 3, variance 9,
    # with eps 7 it is 16.
    np.testing.assert_allclose(rms_norm([1, 7], [6, 12], eps=11), [1, 14], rtol=1e-15)
    np.testing.assert_allclose(layer_norm([1, 7], [4, 8], [0.5, 1], eps=7), [-2.5, 7], rtol=1e-15)


@pytest.mark.parametrize("norm", [rms_norm, lambda x, gain: layer_norm(x, gain, np.zeros(11))])
def test_a_norm_s_eps_is_small(norm):
    x = np.full(11, 1e-3) * (-1.0) ** np.arange(11)
    x -= x.mean()
    size = math.sqrt(np.vecdot(x, x) / 11 + 1e-5)
    np.testing.assert_allclose(norm(x, np.ones(11)), x / size, rtol=1e-12)
    np.testing.assert_array_equal(norm(np.zeros((3, 11)), np.ones(11)), np.zeros((3, 11)))


@given(scale=st.floats(0.1, 100), shift=st.floats(-10, 10))
def test_a_norm_forgets_the_size_and_layer_norm_the_mean_too(scale, shift):
    x, gain, bias = normal(5, 11), normal(11), normal(11, seed=1)
    np.testing.assert_allclose(rms_norm(scale * x, gain, 0), rms_norm(x, gain, 0), rtol=1e-9)
    expected = layer_norm(x, gain, bias, 0)
    np.testing.assert_allclose(layer_norm(scale * x + shift, gain, bias, 0), expected, atol=1e-9)


def test_swiglu_where_exponentials_overflow():
    one, z = np.ones((1, 1)), np.array([[-1e5], [-90], [0], [90], [1e5]], np.float32)
    expected = [[0], [0], [0], [8100], [1e10]]
    np.testing.assert_allclose(swiglu(z, one, one, one), expected, rtol=1e-6, atol=1e-30)


def relu_layer(x):
    return feed_forward(x, *(PARTS[key] for key in ("w_in", "b_in", "w_out", "b_out")))


OF_X = {
    "rms_norm": lambda x: rms_norm(x, PARTS["gain"]),
    "layer_norm": lambda x: layer_norm(x, PARTS["gain"], PARTS["bias"]),
    "relu": relu_layer,
    "swiglu": lambda x: swiglu(x, PARTS["w_gate"], PARTS["w_up"], PARTS["w_down"]),
}


@pytest.mark.parametrize("name", OF_X)
def test_parts_keep_dtype_and_input(name):
    part = OF_X[name]
    exact = part(PARTS["x"])
    assert exact.dtype == np.float64
    for dtype, tolerance in ((np.float32, 1e-4), (np.float16, 0.1)):
        x = PARTS["x"].astype(dtype)
        before = x.copy()
        result = part(x)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, exact, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(x, before)
    whole = np.arange(11) - 5
    assert part(whole).dtype == np.float64
    np.testing.assert_allclose(part(whole), part(whole.astype(float)), rtol=1e-15)


@pytest.mark.parametrize("name", OF_X)
def test_each_token_stands_for_itself(name):
    part, x = OF_X[name], normal(2, 3, 5, 11)
    result = part(x)
    for at in np.ndindex(2, 3, 5):
        np.testing.assert_allclose(part(x[at]), result[at], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", OF_X)
def test_parts_name_what_is_no_vector(name):
    with pytest.raises(ValueError, match=r"^x must have at least 1 axis \(..., d_model\)"):
        OF_X[name](3.0)
    with pytest.raises(TypeError, match=r"^x must hold real numbers, got dtype complex128"):
        OF_X[name](PARTS["x"] * 1j)
    with pytest.raises(ValueError, match=r"must have shape"):
        OF_X[name](normal(7))


@pytest.mark.parametrize(
    ("part", "changed", "message"),
    [
        ("rms_norm", {"gain": normal(1, 11)}, r"gain must have shape \(11,\), got \(1, 11\)"),
        ("layer_norm", {"gain": normal(7)}, r"gain must have shape \(11,\), got \(7,\)"),
        ("layer_norm", {"bias": normal(1)}, r"bias must have shape \(11,\), got \(1,\)"),
        ("relu", {"w_in": normal(7, 13)}, r"w_in must have shape \(11, 13\), got \(7, 13\)"),
        ("relu", {"w_in": normal(11)}, r"w_in must have shape \(11, 13\), got \(11,\)"),
        ("relu", {"b_in": normal(1, 13)}, r"b_in must have shape \(13,\), got \(1, 13\)"),
        ("relu", {"w_out": normal(11, 7)}, r"w_out must have shape \(13, 7\), got \(11, 7\)"),
        ("relu", {"b_out": normal(1, 7)}, r"b_out must have shape \(7,\), got \(1, 7\)"),
        ("swiglu", {"w_gate": normal(11)}, r"w_gate .* \(11,\) and \(13, 7\)"),
        ("swiglu", {"w_down": normal(13)}, r"w_.* 2 axes, got shapes \(11, 13\) and \(13,\)"),
        ("swiglu", {"w_gate": normal(7, 13)}, r"w_gate must have shape \(11, 13\)"),
        ("swiglu", {"w_up": normal(11, 7)}, r"w_up must have shape \(11, 13\), got \(11, 7\)"),
        ("swiglu", {"w_down": normal(11, 7)}, r"w_down must have shape \(13, 7\), got \(11, 7\)"),
    ],
)
def test_parameters_that_do_not_fit_are_named(monkeypatch, part, changed, message):
    for name, array in changed.items():
        monkeypatch.setitem(PARTS, name, array)
    with pytest.raises(ValueError, match=f"^{message}"):
        OF_X[part](PARTS["x"])


@pytest.mark.parametrize(
    ("part", "name"),
    [
        *(("rms_norm", "gain"), ("layer_norm", "gain"), ("layer_norm", "bias")),
        *(("relu", name) for name in ("w_in", "b_in", "w_out", "b_out")),
        *(("swiglu", name) for name in ("w_gate", "w_up", "w_down")),
    ],
)
def test_parameters_that_are_no_numbers_are_named(monkeypatch, part, name):
    monkeypatch.setitem(PARTS, name, PARTS[name] * 1j)
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers, got dtype complex128"):
        OF_X[part](PARTS["x"])


# --- The decoder, all at once ---------------------------------------------------------


def llama():
    """Build the golden model, which transformers ran: matrices are (out, in) there."""
    golden = oracles.DECODER_GOLDEN["decoder"]
    state = {name: np.array(array) for name, array in golden["state_dict"].items()}
    config = golden["config"]

    def layer(number):
        def weight(name):
            return state[f"model.layers.{number}.{name}.weight"].T

        return DecoderLayer(
            attention_norm=weight("input_layernorm"),
            attention=MultiHeadAttention(
                **{f"w_{letter}": weight(f"self_attn.{letter}_proj") for letter in "qkvo"},
                num_heads=config["num_heads"],
                num_kv_heads=config["num_kv_heads"],
            ),
            feed_forward_norm=weight("post_attention_layernorm"),
            **{f"w_{name}": weight(f"mlp.{name}_proj") for name in ("gate", "up", "down")},
        )

    return golden, Decoder(
        embedding=state["model.embed_tokens.weight"],
        layers=(layer(0), layer(1)),
        final_norm=state["model.norm.weight"],
        output=state["lm_head.weight"].T,
        positions=Rotary(config["rope_theta"], "halves"),
        norm_eps=config["rms_norm_eps"],
    )


def test_a_decoder_equals_a_llama_of_transformers():
    # Its angles are in float32; and padding on the left, with positions and a mask of one's own.
    golden, model = llama()
    padding = np.array(golden["padding"])
    trace = model.trace(golden["tokens"], position_ids=golden["positions"], mask=~padding[:, None])
    logits = np.where(padding[..., None], 0, trace.logits)
    np.testing.assert_allclose(logits, golden["logits"], rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(trace.weights[:, 0], golden["weights"], atol=2e-6)
    # Its list of states ends with one that went through the final norm.
    np.testing.assert_allclose(trace.states[:-1, 0], golden["states"], rtol=1e-5, atol=2e-5)


def test_a_decoder_writes_what_a_llama_of_transformers_does():
    golden, model = llama()
    written = model.generate(golden["tokens"][0], 11)
    assert written.tolist() == golden["greedy"]


@pytest.mark.parametrize("output", [None, normal(D_MODEL, VOCAB, seed=3)], ids=["tied", "untied"])
@pytest.mark.parametrize("scheme", [Rotary(base=50), Sinusoidal(base=70), Alibi(), None], ids=repr)
def test_a_decoder_equals_loops(scheme, output):
    model = random_decoder(positions=scheme, output=output, norm_eps=0.02)
    expected = oracles.decoder(model, TOKENS)
    for computed, wanted in zip(model.trace(TOKENS), expected, strict=True):
        np.testing.assert_allclose(computed, wanted, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(model.logits(TOKENS), model.trace(TOKENS).logits)


@pytest.mark.parametrize("scheme", [*SCHEMES, Rotary(pairing="halves")], ids=repr)
def test_positions_and_mask_of_one_s_own(scheme):
    model = random_decoder(positions=scheme)
    places, mask = normal(LEN) * 20, normal(LEN, LEN) > -0.5
    mask[4] = False  # it may attend to nothing, not even to itself
    expected = oracles.decoder(model, TOKENS, places, mask)
    for computed, wanted in zip(
        model.trace(TOKENS, position_ids=places, mask=mask), expected, strict=True
    ):
        np.testing.assert_allclose(computed, wanted, rtol=1e-8, atol=1e-9)
    logits = model.logits(TOKENS, position_ids=places, mask=mask)
    np.testing.assert_allclose(logits, expected[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_batch_is_its_sequences(scheme):
    model, rng = random_decoder(positions=scheme), np.random.default_rng(0)
    tokens = rng.integers(0, VOCAB, size=(2, 3, LEN))
    places = 20 * normal(2, 1, LEN)
    mask = normal(3, LEN, LEN) > -0.5
    trace = model.trace(tokens, position_ids=places, mask=mask)
    assert trace.logits.shape == (2, 3, LEN, VOCAB)
    assert trace.states.shape == (3, 2, 3, LEN, D_MODEL)
    assert trace.weights.shape == (2, 2, 3, NUM_HEADS, LEN, LEN)
    for a, b in np.ndindex(2, 3):
        one = model.trace(tokens[a, b], position_ids=places[a, 0], mask=mask[b])
        np.testing.assert_allclose(trace.logits[a, b], one.logits, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(trace.states[:, a, b], one.states, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(trace.weights[:, a, b], one.weights, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_one_place_for_all_tokens(scheme):
    model = random_decoder(positions=scheme)
    expected = model.logits(TOKENS, position_ids=[2.5] * LEN)
    for place in (2.5, [2.5]):
        np.testing.assert_array_equal(model.logits(TOKENS, position_ids=place), expected)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_the_future_changes_nothing(scheme):
    model = random_decoder(positions=scheme)
    other = TOKENS.copy()
    other[4:] = [1, 2, 3]
    before, after = model.logits(TOKENS), model.logits(other)
    np.testing.assert_array_equal(before[:4], after[:4])
    assert (before[4:] != after[4:]).all(axis=-1).all()


@pytest.mark.parametrize("scheme", [Rotary(), Alibi(), None], ids=repr)
def test_relative_positions_may_all_move(scheme):
    model = random_decoder(positions=scheme)
    moved = model.logits(TOKENS, position_ids=np.arange(LEN) + 300)
    np.testing.assert_allclose(moved, model.logits(TOKENS), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scheme", [Rotary(), Alibi(), None], ids=repr)
def test_padding_on_the_left_changes_nothing(scheme):
    model = random_decoder(positions=scheme)
    padded = np.r_[[0, 0, 0], TOKENS]
    mask = np.arange(LEN + 3) >= 3
    logits = model.logits(padded, mask=mask)[3:]
    np.testing.assert_allclose(logits, model.logits(TOKENS), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_masked_may_be_no_number(bad):
    embedding = normal(VOCAB, D_MODEL)
    embedding[1] = bad
    padded, mask = np.r_[[1, 1], TOKENS], np.arange(LEN + 2) >= 2
    model = random_decoder(embedding=embedding, output=normal(D_MODEL, VOCAB))
    logits = model.logits(padded, mask=mask)[2:]
    np.testing.assert_allclose(logits, model.logits(TOKENS), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_decoder_keeps_the_dtype_of_its_embedding(scheme, dtype):
    model = cast(random_decoder(positions=scheme), dtype)
    tolerance = 40 * np.finfo(dtype).eps
    exact = cast(model, np.float64).trace(TOKENS)
    for computed, wanted in zip(model.trace(TOKENS), exact, strict=True):
        assert computed.dtype == dtype
        np.testing.assert_allclose(computed, wanted, rtol=tolerance, atol=tolerance)
    assert model.logits(TOKENS).dtype == dtype
    cached = model.generate(TOKENS, 11)
    assert cached.tolist() == cast(model, np.float64).generate(TOKENS, 11).tolist()


def test_one_wide_parameter_makes_all_be_computed_wide():
    narrow = cast(random_decoder(), np.float32)
    exact = cast(narrow, np.float64).logits(TOKENS)
    wide = dataclasses.replace(narrow, final_norm=narrow.final_norm.astype(np.float64))
    logits = wide.logits(TOKENS)
    assert logits.dtype == np.float32
    np.testing.assert_array_equal(logits, exact.astype(np.float32))
    layer = dataclasses.replace(narrow.layers[1], w_up=narrow.layers[1].w_up.astype(np.float64))
    wide = dataclasses.replace(narrow, layers=(narrow.layers[0], layer))
    np.testing.assert_array_equal(wide.logits(TOKENS), exact.astype(np.float32))
    assert wide.generate(TOKENS, 5).size == LEN + 5


def test_an_embedding_of_integers_is_computed_in_float64():
    table = (3 * normal(VOCAB, D_MODEL)).round()
    whole = random_decoder(embedding=table.astype(int))
    np.testing.assert_array_equal(
        whole.logits(TOKENS), random_decoder(embedding=table).logits(TOKENS)
    )


def test_nothing_in_nothing_out():
    trace = random_decoder().trace(np.zeros((2, 0), int))
    shapes = (2, 0, VOCAB), (3, 2, 0, D_MODEL), (2, 2, NUM_HEADS, 0, 0)
    assert tuple(part.shape for part in trace) == shapes


def test_parameters_are_not_changed():
    model = random_decoder()
    before = cast(model, np.float64)
    model.generate(TOKENS, 5)
    for old, new in zip(before.layers, model.layers, strict=True):
        np.testing.assert_array_equal(old.w_gate, new.w_gate)
        np.testing.assert_array_equal(old.attention.w_q, new.attention.w_q)
    np.testing.assert_array_equal(before.embedding, model.embedding)


# --- Generation -----------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_cache_changes_nothing(scheme, monkeypatch):
    model = random_decoder(positions=scheme)
    seen = []
    read = Decoder._read
    monkeypatch.setattr(Decoder, "_read", lambda self, x: seen.append(read(self, x)) or seen[-1])
    written = model.generate(TOKENS, 23)
    monkeypatch.undo()
    assert written[:LEN].tolist() == TOKENS.tolist()
    at_once = model.logits(written[:-1])[LEN - 1 :]
    np.testing.assert_allclose(np.stack(seen), at_once, rtol=0, atol=1e-12)
    assert written[LEN:].tolist() == at_once.argmax(axis=-1).tolist()


def test_without_new_tokens_there_is_the_prompt():
    assert random_decoder().generate(TOKENS, 0).tolist() == TOKENS.tolist()


def test_the_prompt_is_copied():
    prompt = TOKENS.copy()
    random_decoder().generate(prompt, 3)[:] = 0
    np.testing.assert_array_equal(prompt, TOKENS)


@pytest.mark.parametrize("as_list", [False, True])
def test_generation_stops_after_a_token(as_list):
    model = random_decoder()
    free = model.generate(TOKENS, 23)[LEN:].tolist()
    end = free[5]
    stop = [VOCAB - 1 if VOCAB - 1 not in free else end, end] if as_list else end
    stopped = model.generate(TOKENS, 23, stop=stop)[LEN:].tolist()
    assert stopped == free[: free.index(end) + 1]
    assert model.generate(TOKENS, 23, stop=[])[LEN:].tolist() == free


def test_a_stop_in_the_prompt_stops_nothing():
    model = random_decoder()
    free = model.generate(TOKENS, 5).tolist()
    (unused,) = sorted(set(TOKENS.tolist()) - set(free[LEN:]))[:1]
    assert model.generate(TOKENS, 5, stop=unused).tolist() == free


PROBABILITIES = np.array([0.08, 0.4, 0.02, 0.3, 0.2])


def dice(probabilities=PROBABILITIES):
    """Build a decoder whose next token has given probabilities, whatever came before."""
    vocab = len(probabilities)
    zero, one = np.zeros((2, 2)), np.ones(2)
    attention = MultiHeadAttention(w_q=zero, w_k=zero, w_v=zero, w_o=zero, num_heads=1)
    layer = DecoderLayer(
        attention_norm=one,
        attention=attention,
        feed_forward_norm=one,
        w_gate=zero,
        w_up=zero,
        w_down=zero,
    )
    return Decoder(
        embedding=np.tile([1.0, 1.0], (vocab, 1)),
        layers=(layer,),
        final_norm=one,
        output=np.stack([np.log(probabilities), np.zeros(vocab)]),
        norm_eps=0.0,
    )


class Ladder(np.random.Generator):
    """Give numbers that divide the interval from 0 to 1 evenly: shares come out exact."""

    def __init__(self, steps):
        super().__init__(np.random.PCG64(0))
        self.steps = iter((np.arange(steps) + 0.5) / steps)

    def random(self):
        return next(self.steps)


@pytest.mark.parametrize(
    ("temperature", "top_p", "kept"),
    [
        (1.0, 1.0, [0, 1, 2, 3, 4]),
        (0.7, 1.0, [0, 1, 2, 3, 4]),
        (3.0, 1.0, [0, 1, 2, 3, 4]),
        (1.0, 0.65, [1, 3]),  # 0.4 + 0.3 reach it
        (1.0, 0.71, [1, 3, 4]),
        (1.0, 0.95, [0, 1, 3, 4]),
        (1.0, 0.1, [1]),
        (2.0, 0.5, [1, 3]),  # at this temperature they have 0.32 and 0.28
    ],
)
def test_tokens_are_drawn_as_often_as_they_are_likely(temperature, top_p, kept):
    powers = PROBABILITIES ** (1 / temperature)
    expected = np.zeros(5)
    expected[kept] = powers[kept] / powers[kept].sum()
    drawn = dice().generate([0], 251, rng=Ladder(251), temperature=temperature, top_p=top_p)[1:]
    shares = np.bincount(drawn, minlength=5) / 251
    assert set(drawn.tolist()) == set(kept)
    np.testing.assert_allclose(shares, expected, atol=1 / 251)


def test_exactly_as_many_as_reach_top_p():
    # Probabilities 1/2, 1/4, 1/4: half of all is the first alone, 3/4 the first two.
    model = dice([0.5, 0.25, 0.25])
    for top_p, kept in ((0.5, {0}), (0.75, {0, 1}), (0.75 + 1e-12, {0, 1, 2})):
        drawn = model.generate([0], 41, rng=Ladder(41), temperature=1, top_p=top_p)
        assert set(drawn[1:].tolist()) == kept


def test_a_low_temperature_takes_the_likeliest():
    rng = np.random.default_rng(0)
    for temperature in (1e-3, 1e-320):
        drawn = dice().generate([0], 11, rng=rng, temperature=temperature)[1:]
        assert set(drawn.tolist()) == {1}


def test_a_token_without_probability_is_never_drawn():
    # By the smallest number that is drawn, nor by the largest.
    model = dice(np.array([1e-300, 1e-300, 0.6, 1e-300, 0.4]))
    for number, token in ((0.0, 2), (1 - 2**-53, 4)):
        rng = Ladder(1)
        rng.steps = iter([number])
        assert model.generate([0], 1, rng=rng, temperature=0.5).tolist() == [0, token]


def test_the_generator_decides():
    model = random_decoder()
    first, second = (
        model.generate(TOKENS, 19, rng=np.random.default_rng(8), temperature=1).tolist()
        for _ in range(2)
    )
    assert first == second
    other = model.generate(TOKENS, 19, rng=np.random.default_rng(9), temperature=1).tolist()
    assert other != first


def test_temperature_zero_asks_no_generator():
    rng = np.random.default_rng(0)
    model = random_decoder()
    assert model.generate(TOKENS, 7, rng=rng).tolist() == model.generate(TOKENS, 7).tolist()
    assert rng.random() == np.random.default_rng(0).random()


# --- Caches of one's own --------------------------------------------------------------


def used():
    """Return a cache that holds three tokens."""
    cache = KVCache()
    cache.append(np.zeros((KV_HEADS, 3, HEAD_DIM)), np.zeros((KV_HEADS, 3, HEAD_DIM)))
    return cache


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("windows", [(3, 3), (2, 5), (None, 4), (1, None), (LEN, 50), (None, None)])
def test_a_cache_with_a_window_is_a_mask(scheme, windows):
    model = random_decoder(positions=scheme)
    caches = [KVCache(window) for window in windows]
    written = model.generate(TOKENS, 9, caches=caches)
    assert [len(c) for c in caches] == [min(LEN + 8, window or 99) for window in windows]
    layer = iter(2 * [*windows])

    def windowed(query, key, value, mask, **options):
        window = next(layer) or 99
        near = ~causal_mask(query.shape[-2] + window, query.shape[-2])[:-window]
        return scaled_dot_product_attention(query, key, value, mask & near, **options)

    logits = model.logits(written[:-1], parts=Parts(attend=windowed))[LEN - 1 :]
    assert written[LEN:].tolist() == logits.argmax(axis=-1).tolist()
    if min(window or 99 for window in windows) < LEN:
        whole = model.logits(written[:-1])[LEN - 1 :]
        assert abs(whole - logits).max() > 1e-3  # it was not said in vain


def test_windows_change_the_text():
    model = random_decoder()
    near = model.generate(TOKENS, 23, caches=[KVCache(2), KVCache(2)])
    assert near.tolist() != model.generate(TOKENS, 23).tolist()
    whole = model.generate(TOKENS, 23, caches=(KVCache(), KVCache()))
    assert whole.tolist() == model.generate(TOKENS, 23).tolist()


# --- Parts put in place of others ------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_the_public_functions_are_the_parts(scheme):
    model = random_decoder(positions=scheme)
    parts = Parts(rms_norm, scaled_dot_product_attention, swiglu)
    found = model.logits(TOKENS, parts=parts)
    np.testing.assert_array_equal(found, model.logits(TOKENS))


def test_attention_is_called_once_a_layer_with_heads_that_share_keys():
    calls = []

    def attend(query, key, value, mask, **options):
        calls.append((query.shape, key.shape, value.shape, mask.shape, [*options]))
        return scaled_dot_product_attention(query, key, value, mask, **options)

    tokens = np.stack([TOKENS, TOKENS, TOKENS])
    mask = np.ones((3, 1, LEN), bool)
    for scheme, bias in ((Rotary(), []), (Alibi(), ["bias"])):
        model = random_decoder(positions=scheme)
        model.logits(TOKENS, parts=Parts(attend=attend))
        model.logits(tokens, mask=mask, parts=Parts(attend=attend))
        heads, kv_heads = (NUM_HEADS, LEN, HEAD_DIM), (KV_HEADS, LEN, HEAD_DIM)
        one = heads, kv_heads, kv_heads, (LEN, LEN), bias
        three = (3, *heads), (3, *kv_heads), (3, *kv_heads), (3, 1, LEN, LEN), bias
        assert calls == [one, one, three, three]
        calls.clear()


def test_every_norm_and_feed_forward_layer_is_the_given_one():
    model, seen = random_decoder(norm_eps=0.25), []

    def norm(x, gain, eps):
        seen.append(eps)
        return layer_norm(x, gain, 0 * gain, eps)

    def feed(x, w_gate, w_up, w_down):
        return np.maximum(x @ w_gate, 0) @ w_down + 0 * (x @ w_up) @ w_down

    found = model.logits(TOKENS, parts=Parts(norm=norm, feed_forward=feed))
    assert seen == 5 * [0.25]
    x, may = model.embedding[TOKENS], causal_mask(LEN)
    for layer in model.layers:
        attention, normed = layer.attention, norm(x, layer.attention_norm, 0.25)
        turned = [apply_rotary(h) for h in (attention.queries(normed), attention.keys(normed))]
        heads = scaled_dot_product_attention(*turned, attention.values(normed), may).output
        x = x + attention.combine(heads)
        x = x + feed(norm(x, layer.feed_forward_norm, 0.25), layer.w_gate, layer.w_up, layer.w_down)
    expected = norm(x, model.final_norm, 0.25) @ model.embedding.T
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("part", ["norm", "attend", "feed_forward"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_part_that_computes_wider_is_rounded(scheme, part):
    model = cast(random_decoder(positions=scheme), np.float32)

    def wider(usual):
        def wide(x, *others, **options):
            result = usual(x.astype(float), *others, **options)
            assert x.dtype == np.float32
            return result

        return wide

    parts = Parts()._replace(**{part: wider(getattr(Parts(), part))})
    found = model.logits(TOKENS, parts=parts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.logits(TOKENS), atol=1e-4)


def test_attention_may_return_no_weights():
    def of_the_last(query, key, value, mask):
        return AttentionOutput(np.repeat(value, NUM_HEADS // KV_HEADS, axis=-3), None)

    own = random_decoder().logits(TOKENS, parts=Parts(attend=of_the_last))
    alone = random_decoder().logits(TOKENS, mask=np.eye(LEN, dtype=bool))
    np.testing.assert_allclose(own, alone, rtol=1e-10)


# --- Positions of one's own -------------------------------------------------------------


def partly(row, position):
    return [*oracles.rotated(row[:2], position, 30.0), *row[2:]]


def slowed(row, position):
    fast, slow = oracles.rotated(row[:2], position), oracles.rotated(row[2:], position, 1.0)
    angle = position * 30.0 ** (-2 / 4) / 8
    x, y = row[2:]
    slow = [x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)]
    return [*fast, *slow]


@pytest.mark.parametrize(
    ("scheme", "turned"),
    [(PartialRotary(2), partly), (ScaledRotary(8.0), slowed)],
    ids=["partial", "scaled"],
)
def test_a_scheme_of_one_s_own_equals_loops(scheme, turned):
    model = random_decoder(positions=scheme)
    expected = oracles.decoder(model, TOKENS, turned=turned)
    for computed, wanted in zip(model.trace(TOKENS), expected, strict=True):
        np.testing.assert_allclose(computed, wanted, rtol=1e-9, atol=1e-10)
    written = model.generate(TOKENS, 11)
    at_once = model.logits(written[:-1])[LEN - 1 :]
    assert written[LEN:].tolist() == at_once.argmax(axis=-1).tolist()


class Learned:
    """Add a learned vector for each position, and bias scores by a table of distances."""

    def __init__(self, table, distances):
        self.table, self.distances = table, distances

    def place(self, positions, key_positions, sizes):
        assert sizes == (D_MODEL, NUM_HEADS, HEAD_DIM, np.dtype(np.float64))
        distance = positions[..., None] - key_positions[..., None, :]
        return Placed(added=self.table[positions], bias=self.distances[:, distance])


def test_a_scheme_may_add_vectors_and_biases():
    table, distances = normal(30, D_MODEL), normal(NUM_HEADS, 30)
    learned = random_decoder(positions=Learned(table, distances))
    found = learned.trace(TOKENS)
    np.testing.assert_array_equal(found.states[0], learned.embedding[TOKENS] + table[:LEN])
    places = np.arange(LEN)
    attention = learned.layers[0].attention
    normed = rms_norm(found.states[0], learned.layers[0].attention_norm)
    bias = distances[:, places[:, None] - places]
    expected = attention(normed, mask=causal_mask(LEN), bias=bias).weights
    np.testing.assert_allclose(found.weights[0], expected, rtol=1e-12)
    written = learned.generate(TOKENS, 11)
    at_once = learned.logits(written[:-1])[LEN - 1 :]
    assert written[LEN:].tolist() == at_once.argmax(axis=-1).tolist()


def test_a_window_keeps_the_biases_of_the_keys_that_it_keeps():
    model = random_decoder(positions=Learned(0 * normal(30, D_MODEL), 3 * normal(NUM_HEADS, 30)))
    written = model.generate(TOKENS, 9, caches=[KVCache(3), KVCache(3)])
    length = written.size - 1
    near = np.arange(length)[:, None] - np.arange(length) < 3
    logits = model.logits(written[:-1], mask=near)[LEN - 1 :]
    assert written[LEN:].tolist() == logits.argmax(axis=-1).tolist()


def test_sinusoidal_is_a_scheme_of_two_numbers():
    placed = Sinusoidal(base=50.0).place(np.arange(3), np.arange(3), random_decoder()._sizes)
    np.testing.assert_array_equal(placed.added, sinusoidal_encoding(3, D_MODEL, base=50))
    assert (placed.scale, placed.turn, placed.bias) == (math.sqrt(D_MODEL), None, None)


@pytest.mark.parametrize("scheme", [Rotary(), Sinusoidal(), Alibi()], ids=repr)
def test_a_scheme_stays_as_it_is(scheme):
    with pytest.raises(dataclasses.FrozenInstanceError):
        scheme.base = 3.0


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (lambda: Rotary(base=0.0), "base must be positive, got 0.0"),
        (lambda: Rotary(pairing="pairs"), "pairing must be 'interleaved' or 'halves', got 'pairs'"),
        (lambda: Sinusoidal(base=-1.0), "base must be positive, got -1.0"),
    ],
)
def test_positions_that_cannot_be_are_named(positions, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        positions()


def test_a_model_is_shown_in_one_line_of_sizes():
    sizes = "d_model 10, 6 heads of 4 on 3"
    assert repr(random_layer()) == f"DecoderLayer(MultiHeadAttention({sizes}, float64), hidden 13)"
    model = cast(random_decoder(positions=Alibi()), np.float32)
    assert repr(model) == f"Decoder(2 layers, {sizes}, vocab 17, positions Alibi(), float32)"
    alone = random_decoder(layers=(random_layer(),), positions=None)
    assert repr(alone) == f"Decoder(1 layers, {sizes}, vocab 17, positions None, float64)"


# --- What is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"prompt_tokens": []}, ValueError, r"prompt_tokens must .* at least 1 token, got \(0,\)"),
        ({"prompt_tokens": 3}, ValueError, r"prompt_tokens must have shape \(len,\) .* got \(\)"),
        ({"prompt_tokens": [[3]]}, ValueError, r"prompt_tokens must have shape .* got \(1, 1\)"),
        ({"prompt_tokens": [3, VOCAB]}, ValueError, "prompt_tokens must be from 0 to 16, got 3 to"),
        ({"prompt_tokens": [3, -1]}, ValueError, "prompt_tokens must be from 0 to 16, got -1 to 3"),
        ({"prompt_tokens": [0.0]}, TypeError, "prompt_tokens must be integers, got dtype float64"),
        ({"prompt_tokens": [True]}, TypeError, "prompt_tokens must be integers, got dtype bool"),
        ({"max_new_tokens": -1}, ValueError, "max_new_tokens must not be negative, got -1"),
        ({"max_new_tokens": 2.0}, TypeError, ".*integer"),
        ({"temperature": -0.1}, ValueError, "temperature must be finite and not neg.* got -0.1"),
        ({"temperature": math.inf}, ValueError, "temperature must be finite and not neg.* got inf"),
        ({"temperature": math.nan}, ValueError, "temperature must be finite and not neg.* got nan"),
        ({"top_p": 0}, ValueError, "top_p must be above 0 and at most 1, got 0"),
        ({"top_p": 1.1}, ValueError, "top_p must be above 0 and at most 1, got 1.1"),
        ({"top_p": math.nan}, ValueError, "top_p must be above 0 and at most 1, got nan"),
        ({"temperature": 1}, TypeError, "rng must be a numpy.random.Generator .* got NoneType"),
        ({"rng": 7}, TypeError, "rng must be a numpy.random.Generator .* got int"),
        ({"stop": VOCAB}, ValueError, "stop must be from 0 to 16, got 17 to 17"),
        ({"stop": "."}, TypeError, "stop must be integers"),
        (
            {"caches": [KVCache()]},
            ValueError,
            "caches must be one .* 2 layers, got 1 in 1 places",
        ),
        ({"caches": [KVCache()] * 2}, ValueError, "caches must be .* 2 layers, got 1 in 2 places"),
        ({"caches": [KVCache(), {}]}, TypeError, r"caches\[1\] must be a KVCache, got dict"),
        (
            {"caches": [KVCache(), used()]},
            ValueError,
            r"caches must be empty, .* \[0, 3\]",
        ),
    ],
)
def test_a_generation_that_cannot_be_is_named(changed, error, message):
    with pytest.raises(error, match=f"^{message}"):
        random_decoder().generate(**{"prompt_tokens": TOKENS, "max_new_tokens": 2} | changed)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"tokens": 3}, ValueError, r"tokens must have at least 1 axis \(..., len\)"),
        ({"tokens": [VOCAB]}, ValueError, "tokens must be from 0 to 16, got 17 to 17"),
        ({"tokens": [[1.5]]}, TypeError, "tokens must be integers, got dtype float64"),
        ({"position_ids": [0, 1]}, ValueError, r"position_ids of shape \(2,\) must .* = \(7,\)"),
        ({"position_ids": np.zeros((2, LEN))}, ValueError, r"position_ids of shape \(2, 7\) must"),
        ({"position_ids": np.nan}, ValueError, "position_ids must be finite, got nan"),
        ({"mask": np.ones((LEN, LEN))}, TypeError, "mask must be boolean"),
        ({"mask": np.ones((LEN, 3), bool)}, ValueError, r"mask of shape \(7, 3\) must broadcast"),
        (
            {"mask": np.ones((2, LEN, LEN), bool)},
            ValueError,
            r"mask must not .* \(2, 7, 7\) for \(7, 7\)$",
        ),
    ],
)
@pytest.mark.parametrize("method", ["logits", "trace"])
def test_what_cannot_be_computed_is_named(method, changed, error, message):
    with pytest.raises(error, match=f"^{message}"):
        getattr(random_decoder(), method)(**{"tokens": TOKENS} | changed)


OTHER_HEADS = random_layer(num_heads=3)
ODD = random_layer(head_dim=3)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"embedding": normal(5)}, ValueError, r"embedding must have 2 axes, got shape \(5,\)"),
        ({"embedding": normal(5, 10) * 1j}, TypeError, "embedding must hold real numbers"),
        ({"final_norm": normal(11)}, ValueError, r"final_norm must have shape \(10,\), got \(11,"),
        ({"final_norm": ["a"]}, TypeError, "final_norm must hold real numbers"),
        ({"output": normal(VOCAB, 10)}, ValueError, r"output must have shape \(10, 17\), got"),
        ({"output": normal(10, VOCAB) * 1j}, TypeError, "output must hold real numbers"),
        ({"layers": ()}, ValueError, "layers must hold at least 1 DecoderLayer, got none"),
        (
            {"layers": (random_layer(), random_layer(d_model=11))},
            *(ValueError, r"layers\[1\].attention_norm must have shape \(10,\), got \(11,\)"),
        ),
        (
            {"layers": (random_layer(), OTHER_HEADS)},
            *(ValueError, r"layers must be alike .* got \[\(3, 4\), \(6, 4\)\]"),
        ),
        ({"layers": (ODD,)}, ValueError, "head_dim must be positive and even, got 3"),
        (
            {"positions": "rotary"},
            *(
                TypeError,
                r"positions must be None or .* place, as Rotary\(\) has, got 'rotary'",
            ),
        ),
        ({"positions": Placed}, TypeError, "positions must be None or have a method place"),
        (
            {
                "positions": Sinusoidal(),
                "embedding": normal(5, 11),
                "final_norm": normal(11),
                "layers": (random_layer(d_model=11),),
            },
            *(ValueError, "d_model must be positive and even, got 11"),
        ),
    ],
)
def test_a_decoder_that_does_not_fit_is_named(changed, error, message):
    with pytest.raises(error, match=f"^{message}"):
        random_decoder(**changed)


def test_only_rotary_needs_an_even_head_dim():
    for scheme in (Sinusoidal(), Alibi(), None):
        assert random_decoder(layers=(ODD,), positions=scheme).logits(TOKENS).shape == (7, 17)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"attention": None}, TypeError, "attention must be a MultiHeadAttention, got NoneType"),
        ({"attention_norm": normal(3)}, ValueError, r"attention_norm must have shape \(10,\)"),
        ({"feed_forward_norm": normal(3)}, ValueError, r"feed_forward_norm must have shape \(10"),
        ({"w_gate": normal(11, 13)}, ValueError, r"w_gate must have shape \(10, 13\)"),
        ({"w_up": normal(10, 11)}, ValueError, r"w_up must have shape \(10, 13\)"),
        ({"w_down": normal(13, 11)}, ValueError, r"w_down must have shape \(13, 10\)"),
        ({"w_down": [["a"]]}, TypeError, "w_down must hold real numbers"),
        *(
            ({name: np.array([1j])}, TypeError, f"{name} must hold real numbers")
            for name in ("attention_norm", "feed_forward_norm", "w_gate", "w_up")
        ),
    ],
)
def test_a_layer_that_does_not_fit_is_named(changed, error, message):
    with pytest.raises(error, match=f"^{message}"):
        dataclasses.replace(random_layer(), **changed)


@pytest.mark.parametrize("model", [random_layer(), random_decoder()], ids=["layer", "decoder"])
def test_what_is_made_stays_as_it_is(model):
    field = dataclasses.fields(model)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(model, field, getattr(model, field))
    assert model != dataclasses.replace(model)  # equal by identity: arrays have no one truth value
    assert model in {model}
    with pytest.raises(TypeError, match="positional"):
        type(model)(getattr(model, field))


@pytest.mark.parametrize("letter", "qkv")
def test_attention_must_lead_back_to_where_it_came_from(letter):
    attention = dataclasses.replace(
        random_layer().attention,
        **{f"w_{letter}": None}
        | {f"w_{letter}": normal(11, getattr(random_layer().attention, f"w_{letter}").shape[1])},
    )
    message = rf"^attention.w_{letter} must have shape \(10, \d+\), got \(11, \d+\)"
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(random_layer(), attention=attention)


def test_lists_are_parameters_too():
    one, zero = [1.0, 1.0], [[0.0, 0.0], [0.0, 0.0]]
    layer = DecoderLayer(
        attention_norm=one,
        attention=MultiHeadAttention(w_q=zero, w_k=zero, w_v=zero, w_o=zero, num_heads=1),
        feed_forward_norm=one,
        w_gate=zero,
        w_up=zero,
        w_down=zero,
    )
    model = Decoder(embedding=[[1.0, 0.0], [0.0, 1.0]], layers=(layer,), final_norm=one)
    # The vector (1, 0) has root mean square 1/sqrt(2).
    expected = np.array([[0, 1], [1, 0]]) / math.sqrt(0.5 + 1e-5)
    np.testing.assert_allclose(model.logits([1, 0]), expected, rtol=1e-14)


def test_the_mask_takes_from_the_causal_one():
    model, everything = random_decoder(), np.ones((LEN, LEN), bool)
    expected = model.logits(TOKENS)
    np.testing.assert_array_equal(model.logits(TOKENS, mask=everything), expected)
    np.testing.assert_array_equal(model.logits(TOKENS, mask=causal_mask(LEN)), expected)
