"""What a loss wants of every parameter of a decoder."""

import dataclasses
import re

import numpy as np
import pytest

from attnbook import (
    Adam,
    Alibi,
    Decoder,
    DecoderLayer,
    MultiHeadAttention,
    Placed,
    Rotary,
    Sinusoidal,
    apply_rotary,
)
from attnbook.gradients import check_gradient
from attnbook.training import loss_and_gradient
from tests.package.schemes import PartialRotary, ScaledRotary

# Heads of 4 on 2, of two pairs; d_model is even, for sinusoids. Token 3 stands twice, 8 is
# only asked for.
VOCAB, D_MODEL, NUM_HEADS, KV_HEADS, HEAD_DIM, HIDDEN = 11, 6, 4, 2, 4, 7
TOKENS = np.array([[3, 0, 10, 3, 5], [7, 7, 1, 2, 8], [0, 4, 3, 9, 6]])
COUNTS = np.array([[1, 1, 1, 1, 1], [0, 0, 1, 0, 1], [1, 1, 1, 0, 0]], dtype=bool)


def random_decoder(num_kv_heads=KV_HEADS, **options):
    rng = np.random.default_rng(0)

    def matrix(*shape):
        return rng.standard_normal(shape) / np.sqrt(shape[0])

    def layer():
        queries, kv = NUM_HEADS * HEAD_DIM, (num_kv_heads or NUM_HEADS) * HEAD_DIM
        shapes = {"q": (D_MODEL, queries), "k": (D_MODEL, kv), "v": (D_MODEL, kv)}
        shapes |= {"o": (queries, D_MODEL)}
        weights = {f"w_{letter}": 2 * matrix(*shape) for letter, shape in shapes.items()}
        biases = {f"b_{letter}": matrix(columns) for letter, (_, columns) in shapes.items()}
        return DecoderLayer(
            attention_norm=1 + matrix(D_MODEL),
            attention=MultiHeadAttention(
                **weights, **biases, num_heads=NUM_HEADS, num_kv_heads=num_kv_heads
            ),
            feed_forward_norm=1 + matrix(D_MODEL),
            w_gate=matrix(D_MODEL, HIDDEN),
            w_up=matrix(D_MODEL, HIDDEN),
            w_down=matrix(HIDDEN, D_MODEL),
        )

    parameters = {"embedding": 3 * matrix(VOCAB, D_MODEL), "final_norm": 1 + matrix(D_MODEL)}
    if options.pop("untied", False):
        parameters["output"] = matrix(D_MODEL, VOCAB)
    return Decoder(**parameters, layers=(layer(), layer()), norm_eps=0.1, **options)


def arrays_of(thing):
    if isinstance(thing, np.ndarray):
        return [thing]
    if dataclasses.is_dataclass(thing):
        thing = [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    if isinstance(thing, (tuple, list)):
        return [array for each in thing for array in arrays_of(each)]
    return []


def rebuilt(thing, arrays):
    """Return a decoder like this one, of other arrays."""
    if isinstance(thing, np.ndarray):
        return next(arrays)
    if isinstance(thing, tuple):
        return tuple(rebuilt(each, arrays) for each in thing)
    if not dataclasses.is_dataclass(thing):
        return thing
    fields = [field.name for field in dataclasses.fields(thing)]
    return type(thing)(**{name: rebuilt(getattr(thing, name), arrays) for name in fields})


def loss_of(model, tokens, counts=True):
    """Return the mean of the losses that count, of the first token none, from all the logits."""
    logits = model.logits(tokens)
    losses = []
    for *row, place in np.ndindex(*np.shape(tokens)):
        if place and np.broadcast_to(counts, np.shape(tokens))[(*row, place)]:
            scores = logits[(*row, place - 1)]
            losses.append(np.log(np.exp(scores).sum()) - scores[tokens[(*row, place)]])
    return np.mean(losses)


CASES = {
    "rotary": {},
    "rotary, one head each, untied": {"num_kv_heads": None, "untied": True},
    "halves": {"positions": Rotary(5.0, "halves"), "num_kv_heads": 1},
    "sinusoidal": {"positions": Sinusoidal(base=50.0)},
    "alibi": {"positions": Alibi()},
    "none": {"positions": None},
    "partial rotary": {"positions": PartialRotary(2)},
    "scaled rotary": {"positions": ScaledRotary(4.0)},
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_the_gradient_of_every_parameter_equals_differences(options):
    model = random_decoder(**options)
    loss, _ = loss_and_gradient(model, TOKENS, COUNTS)
    assert loss == pytest.approx(loss_of(model, TOKENS, COUNTS), rel=1e-13)

    def f(*arrays):
        return loss_of(rebuilt(model, iter(arrays)), TOKENS, COUNTS)

    def backward(d_loss, *arrays):
        gradient = loss_and_gradient(rebuilt(model, iter(arrays)), TOKENS, COUNTS)[1]
        return [d_loss * array for array in arrays_of(gradient)]

    check_gradient(f, backward, *arrays_of(model))


def test_all_tokens_but_the_first_count_unless_told_otherwise():
    model = random_decoder()
    loss, gradient = loss_and_gradient(model, TOKENS)
    assert loss == pytest.approx(loss_of(model, TOKENS), rel=1e-13)
    # A mean of what three sequences say, which may also be asked one at a time.
    alone = [loss_and_gradient(model, tokens) for tokens in TOKENS]
    assert loss == pytest.approx(np.mean([each for each, _ in alone]), rel=1e-13)
    of_each = zip(*(arrays_of(each) for _, each in alone), strict=True)
    for found, parts in zip(arrays_of(gradient), of_each, strict=True):
        np.testing.assert_allclose(found, np.mean(parts, axis=0), atol=1e-14)
    several = loss_and_gradient(model, TOKENS[:, None], COUNTS[:, None])
    assert several[0] == loss_and_gradient(model, TOKENS, COUNTS)[0]


def test_what_does_not_count_changes_nothing():
    model, other = random_decoder(), TOKENS.copy()
    other[2, 3:] = 1, 10  # at the end, after all that counts
    loss, gradient = loss_and_gradient(model, other, COUNTS)
    expected, of_expected = loss_and_gradient(model, TOKENS, COUNTS)
    assert loss == expected
    for found, wanted in zip(arrays_of(gradient), arrays_of(of_expected), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_is_a_decoder_like_the_one_it_is_of(dtype):
    tokenizer = object()
    model = random_decoder(positions=Rotary(7.0, "halves"), tokenizer=tokenizer)
    model = rebuilt(model, (array.astype(dtype) for array in arrays_of(model)))
    before = [array.copy() for array in arrays_of(model)]
    loss, gradient = loss_and_gradient(model, TOKENS)
    assert type(loss) is float
    assert type(gradient) is Decoder
    assert gradient.tokenizer is tokenizer
    assert (gradient.positions, gradient.norm_eps) == (Rotary(7.0, "halves"), 0.1)
    attention = gradient.layers[1].attention
    assert (attention.num_heads, attention.num_kv_heads) == (NUM_HEADS, KV_HEADS)
    for array, own, copy in zip(arrays_of(gradient), arrays_of(model), before, strict=True):
        assert (array.shape, array.dtype) == (own.shape, dtype)
        np.testing.assert_array_equal(own, copy)


WRONG = {
    "one token": (([3],), ValueError, r"tokens must be at least 2, \(..., len\), got shape \(1,\)"),
    "a number": ((3,), ValueError, r"tokens must be at least 2, \(..., len\), got shape \(\)"),
    "fractions": (([0.0, 1.0],), TypeError, "tokens must be integers, got dtype float64"),
    "the last one": (([0, 11],), ValueError, "tokens must be from 0 to 10, got 0 to 11"),
    "numbers": (([0, 1], [0, 1]), TypeError, "mask must be boolean, .* got dtype int64"),
    "a mask of what is asked": (
        ([0, 1], [True]),
        ValueError,
        r"mask must have shape \(2,\), got \(1,\)",
    ),
    "nothing": (([0, 1], [True, False]), ValueError, "at least 1 target must count, got 0 of 1"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_learned_from_is_named(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        loss_and_gradient(random_decoder(), *arguments)


@dataclasses.dataclass(frozen=True)
class Stretched:
    """Make queries and keys longer with their positions: no rotation."""

    by: np.ndarray

    def place(self, positions, key_positions, sizes):
        return Placed(turn=lambda heads: heads * (1 + self.by * positions[:, None]))


@dataclasses.dataclass(frozen=True)
class OneWay:
    """Do nothing at -positions."""

    def place(self, positions, key_positions, sizes):
        return Placed(turn=(lambda heads: 2 * heads) if positions.max(initial=0) > 0 else None)


@pytest.mark.parametrize("scheme", [Stretched(np.array(0.1)), OneWay()], ids=["longer", "one way"])
def test_positions_that_do_not_turn_back_are_named(scheme):
    model = random_decoder(positions=scheme)
    shown = re.escape(repr(scheme))
    message = f"^positions must turn back at -positions .*, to be trained; {shown} do not$"
    with pytest.raises(ValueError, match=message):
        loss_and_gradient(model, TOKENS)


@dataclasses.dataclass(frozen=True)
class SingleRotary:
    """Turn as Rotary does, in single precision."""

    def place(self, positions, key_positions, sizes):
        return Placed(turn=lambda heads: apply_rotary(heads.astype(np.float32), positions))


def test_a_rotation_of_one_s_own_may_be_rounded():
    # Of so many products some are near 0, where no relative error is small.
    model = random_decoder(positions=SingleRotary())
    loss, _ = loss_and_gradient(model, np.arange(201) % VOCAB)
    assert loss == pytest.approx(loss_of(random_decoder(), np.arange(201) % VOCAB), rel=1e-4)


@dataclasses.dataclass(frozen=True)
class Distances:
    """Bias the scores of all heads by a table."""

    table: np.ndarray

    def place(self, positions, key_positions, sizes):
        bias = self.table[positions[:, None] - key_positions]
        return Placed(bias=np.broadcast_to(bias, (sizes.num_heads, *bias.shape)))


def test_what_positions_hold_learns_nothing():
    table = np.random.default_rng(0).standard_normal(9)
    model = random_decoder(positions=Distances(table.copy()))
    gradient = loss_and_gradient(model, TOKENS)[1]
    np.testing.assert_array_equal(gradient.positions.table, 0)
    moved, _ = Adam.start(model).step(model, gradient, 0.1)
    np.testing.assert_array_equal(moved.positions.table, table)
    assert (moved.embedding != model.embedding).any()
