"""The translator: against PyTorch and differences, what it may see, and a run that is stopped."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import MultiHeadAttention, check_gradient, cross_entropy
from attnbook.toys.dates import ALPHABET, PAD, START, encode
from attnbook.toys.translator import (
    EncoderLayer,
    Parts,
    Training,
    Translator,
    TranslatorLayer,
    after_start,
    loss_and_gradient,
    train_step,
)
from attnbook.training import map_arrays

GOLDEN = json.loads((Path(__file__).parent / "golden/translator.json").read_text("utf-8"))
SOURCE, TARGET = np.array(GOLDEN["source"]), np.array(GOLDEN["target"])
TEXTS = st.text(ALPHABET, min_size=1, max_size=13)


def flat(thing, name=""):
    """Return all arrays of a translator by name, `encoder.attention.w_q` for instance."""
    if isinstance(thing, np.ndarray):
        return {name: thing}
    parts = [each.name for each in dataclasses.fields(thing)]
    held = {part: getattr(thing, part) for part in parts}
    arrays = {part: each for part, each in held.items() if not isinstance(each, int | None | Parts)}
    found = [flat(each, f"{name}.{part}".strip(".")) for part, each in arrays.items()]
    return {key: array for each in found for key, array in each.items()}


def built(parameters, num_heads):
    """Make a translator of arrays by these names."""

    def part(cls, name, **more):
        own = {
            key.removeprefix(name + "."): np.array(array)
            for key, array in parameters.items()
            if key.startswith(name + ".")
        }
        return cls(**{key: each for key, each in own.items() if "." not in key}, **more)

    def attention(name):
        return part(MultiHeadAttention, name, num_heads=num_heads)

    decoder_attentions = {
        name: attention(f"decoder.{name}") for name in ("attention", "cross_attention")
    }
    return Translator(
        encoder=part(EncoderLayer, "encoder", attention=attention("encoder.attention")),
        decoder=part(TranslatorLayer, "decoder", **decoder_attentions),
        **{key: np.array(array) for key, array in parameters.items() if "." not in key},
    )


def of_torch():
    return built(GOLDEN["parameters"], GOLDEN["num_heads"])


def random_translator(seed=0):
    """Return one of d_model 14, 7 heads, hidden 11, whose biases and gains are random, too."""
    rng = np.random.default_rng(seed)
    model = Translator.init(rng, 14, 7, 11)
    return map_arrays(lambda array: array + 0.3 * rng.standard_normal(array.shape), model)


# --- Against others -------------------------------------------------------------------


def test_it_computes_what_pytorch_computes():
    trace = of_torch().trace(SOURCE, after_start(TARGET))
    for name, expected in GOLDEN["computed"].items():
        kept = np.ones(np.shape(expected), bool)
        if name == "memory":  # of padding nobody asks
            kept = (SOURCE != PAD)[..., None] & kept
        elif name == "encoder_weights":
            kept = (SOURCE != PAD)[:, None, :, None] & kept
        found = getattr(trace, name)
        np.testing.assert_allclose(found[kept], np.array(expected)[kept], rtol=1e-9, atol=1e-9)


def test_its_gradients_are_pytorchs():
    loss, gradient = loss_and_gradient(of_torch(), SOURCE, TARGET)
    assert loss == pytest.approx(GOLDEN["loss"], rel=1e-12)
    assert type(gradient) is Translator
    found = flat(gradient)
    assert set(found) == set(GOLDEN["gradients"])
    for name, expected in GOLDEN["gradients"].items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-8, atol=1e-10, err_msg=name)


def test_its_gradients_are_what_small_changes_do():
    parameters = flat(of_torch())
    source = encode("13.7.", "may")
    target = encode("19-", "203")

    def loss(*arrays):
        model = built(dict(zip(parameters, arrays, strict=True)), GOLDEN["num_heads"])
        logits = model.logits(source, after_start(target))
        return cross_entropy(logits, target)[0]

    def backward(d_loss, *arrays):
        model = built(dict(zip(parameters, arrays, strict=True)), GOLDEN["num_heads"])
        _, gradient = loss_and_gradient(model, source, target)
        return [d_loss * array for array in flat(gradient).values()]

    assert check_gradient(loss, backward, *parameters.values()) < 1e-6


def test_the_loss_is_that_of_its_logits():
    model = random_translator()
    source, target = encode("13 mar 98", "3/13/1998", "x"[:0] + "1"), encode("19", "80", "2-")
    logits = model.logits(source, after_start(target))
    expected = 0.0
    for row, tokens in zip(logits, target, strict=True):
        for scores, token in zip(row, tokens, strict=True):
            expected += np.log(np.exp(scores - scores[token]).sum()) / 6
    loss, _ = loss_and_gradient(model, source, target)
    assert loss == pytest.approx(expected, rel=1e-12)


# --- What it may see ------------------------------------------------------------------


@settings(max_examples=20)
@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS, st.integers(0, 5))
def test_padding_changes_nothing(texts, other, seed):
    model = random_translator(seed)
    target_in = after_start(encode(*["20-1"] * (len(texts) + 1)))
    together = model.logits(encode(*texts, other), target_in)
    for row, text in zip(together, [*texts, other], strict=True):
        alone = model.logits(encode(text), target_in[:1])
        np.testing.assert_allclose(row, alone[0], atol=1e-12)


def test_padding_learns_nothing():
    _, gradient = loss_and_gradient(random_translator(), encode("1.2.03", "may"), encode("2", "1"))
    used = sorted({*encode("1.2.03may").ravel(), START})
    assert not gradient.embedding[PAD].any()
    assert sorted(np.flatnonzero(gradient.embedding.any(axis=1))) == used


@given(st.integers(0, 6), TEXTS)
def test_no_character_depends_on_what_comes_after_it(position, text):
    model = random_translator()
    target_in = encode("1998-03")
    changed = target_in.copy()
    changed[0, position] = START
    first, second = (model.logits(encode(text), each)[0] for each in (target_in, changed))
    np.testing.assert_array_equal(first[:position], second[:position])
    assert (first[position] != second[position]).any()


@given(st.permutations(range(9)))
def test_the_order_of_the_memory_means_nothing(order):
    model = random_translator()
    source, target_in = encode("13 mar 98"), after_start(encode("1998-"))
    memory = model.memory(source)
    trace = model.trace(source, target_in, memory[:, order])
    as_it_was = model.trace(source, target_in)
    np.testing.assert_allclose(trace.logits, as_it_was.logits, atol=1e-12)
    expected = as_it_was.cross_weights[..., order]
    np.testing.assert_allclose(trace.cross_weights, expected, atol=1e-12)
    np.testing.assert_array_equal(trace.memory, memory[:, order])
    np.testing.assert_array_equal(model.greedy(source, memory[:, order]), model.greedy(source))


def test_another_memory_is_looked_at():
    model = random_translator()
    source, target_in = encode("13 mar 98"), after_start(encode("1998-"))
    another = model.memory(encode("3 may 201"))
    expected = model.logits(encode("3 may 201"), target_in)
    np.testing.assert_array_equal(model.logits(source, target_in, another), expected)
    np.testing.assert_array_equal(model.greedy(source, another), model.greedy(encode("3 may 201")))
    assert (model.greedy(source, another) != model.greedy(source)).any()


def test_greedy_writes_the_most_probable_after_its_own():
    model = random_translator(2)
    source = encode("3/13/98", "the 1st of may 2049")
    written = model.greedy(source)
    assert written.shape == (2, 10)
    logits = model.logits(source, after_start(written))
    np.testing.assert_array_equal(logits.argmax(axis=-1), written)
    assert len({*written[0]}) > 1  # not one character all along


def test_translate_reads_and_writes_text():
    model = random_translator(3)
    texts = "3/13/98", "the 1st of may 2049"
    characters = [*ALPHABET, "", ""]
    expected = ["".join(characters[t] for t in row) for row in model.greedy(encode(*texts))]
    assert model.translate(*texts) == expected
    assert [model.translate(text)[0] for text in texts] == expected
    with pytest.raises(ValueError, match="got 'F' in 'Friday'"):
        model.translate("13 mar 98", "Friday")


def test_after_start():
    expected = [[START, 1, 2], [START, 4, 5]]
    np.testing.assert_array_equal(after_start([[1, 2, 3], [4, 5, 6]]), expected)
    np.testing.assert_array_equal(after_start([1, 2, 3]), expected[0])


def test_any_leading_axes_to_look_but_two_to_learn():
    model = random_translator()
    source, target = np.array([[encode("1.2.03")[0]] * 3] * 2), np.full((2, 3, 5), 7)
    trace = model.trace(source, target)
    assert trace.logits.shape == (2, 3, 5, 39)
    assert trace.cross_weights.shape == (2, 3, 7, 5, 6)
    alone = model.logits(encode("1.2.03"), target[0, :1])
    np.testing.assert_allclose(trace.logits[1, 2], alone[0], atol=1e-12)
    for source, target in (((6,), (5,)), ((2, 6), (3, 5)), ((2, 3, 6), (2, 3, 5))):
        shapes = str((source, target))[1:-1].replace("), (", ") and (")
        message = f"source and target must .* got {shapes}".replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(ValueError, match=message):
            loss_and_gradient(model, np.zeros(source, int), np.zeros(target, int))


@pytest.mark.parametrize("name", ["source", "target_in"])
@pytest.mark.parametrize(
    ("tokens", "error", "message"),
    [
        ([[1.0]], TypeError, "{} must be integers, got dtype float64"),
        ([[39]], ValueError, "{} must be from 0 to 38, got 39 to 39"),
        ([[-1]], ValueError, "{} must be from 0 to 38, got -1 to -1"),
        ([[]], ValueError, r"{} must have shape \(..., len\), len > 0, got \(1, 0\)"),
        (5, ValueError, r"{} must have shape \(..., len\), len > 0, got \(\)"),
    ],
)
def test_tokens_that_are_none(name, tokens, error, message):
    fine = {"source": [[1, 2]], "target_in": [[START]]}
    with pytest.raises(error, match=message.format(name)):
        random_translator().logits(**fine | {name: tokens})


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda model, tokens: model.memory(tokens), "source"),
        (lambda model, tokens: model.greedy(tokens), "source"),
        (lambda model, tokens: model.trace(tokens, [[START]]), "source"),
        (lambda model, tokens: model.trace([[1]], tokens), "target_in"),
        (lambda model, tokens: loss_and_gradient(model, tokens, [[1]]), "source"),
        (lambda model, tokens: loss_and_gradient(model, [[1]], tokens), "target"),
    ],
)
def test_each_boundary_names_its_own_tokens(call, name):
    with pytest.raises(ValueError, match=f"^{name} must be from 0 to 38, got 39 to 39$"):
        call(random_translator(), [[39]])
    with pytest.raises(TypeError, match=f"^{name} must be integers, got dtype float64$"):
        call(random_translator(), [[1.5]])


@pytest.mark.parametrize("call", ["logits", "trace", "greedy"])
def test_a_memory_that_holds_no_numbers(call):
    model = random_translator()
    inputs = [encode("1.2.03")] if call == "greedy" else [encode("1.2.03"), [[START]]]
    with pytest.raises(TypeError, match=r"^memory must hold real numbers, got dtype complex128$"):
        getattr(model, call)(*inputs, memory=np.zeros((1, 6, 14), complex))


def test_a_memory_of_another_length():
    model = random_translator()
    with pytest.raises(ValueError, match=r"memory must have shape \(1, 6, 14\), got \(1, 7, 14\)"):
        model.logits(encode("1.2.03"), [[START]], np.zeros((1, 7, 14)))
    with pytest.raises(ValueError, match=r"memory must have shape \(1, 6, 14\), got \(1, 7, 14\)"):
        model.greedy(encode("1.2.03"), np.zeros((1, 7, 14)))


def test_it_is_shown_in_one_line_of_sizes():
    model = Translator.init(np.random.default_rng(0), d_model=12, num_heads=3, hidden=7)
    assert repr(model) == "Translator(d_model 12, 3 heads, hidden 7, vocab 39, float64)"
    heads = "MultiHeadAttention(d_model 12, 3 heads of 4 on 3, float64)"
    assert repr(model.encoder) == f"EncoderLayer({heads}, hidden 7)"
    assert repr(model.decoder) == f"TranslatorLayer({heads}, {heads}, hidden 7)"


# --- Variants -------------------------------------------------------------------------


def test_a_part_is_where_it_is_named():
    """Each in place of the usual one, told apart by what changes: what it gives is doubled."""
    source, target = encode("13 mar 98"), encode("1998-")
    model = random_translator()
    loss, gradient = loss_and_gradient(model, source, target)
    for each in dataclasses.fields(Parts):
        usual = getattr(model.parts, each.name)

        def doubled(*arguments, usual=usual):
            given = usual(*arguments)
            if isinstance(given, tuple):  # (loss, d_logits), or gradients and a layer of such
                return *given[:-1], map_arrays(lambda one: 2 * one, given[-1])
            return ~given if given.dtype == bool else 2 * given

        variant = dataclasses.replace(model, parts=Parts(**{each.name: doubled}))
        other, changed = loss_and_gradient(variant, source, target)
        backward_only = each.name.endswith("backward") or each.name == "cross_entropy"
        assert (other == loss) is backward_only, each.name
        assert type(changed.parts) is Parts
        assert any((flat(changed)[name] != array).any() for name, array in flat(gradient).items())


# --- Learning -------------------------------------------------------------------------


def test_the_beginning():
    model = Translator.init(np.random.default_rng(5))
    sizes = {name: array.size for name, array in flat(model).items()}
    assert sum(sizes.values()) == 23776
    assert len(sizes) == 3 * 8 + 2 * 4 + 2 + 3 + 4
    heads = {layer.num_heads for layer in (model.encoder.attention, model.decoder.cross_attention)}
    assert heads == {4}
    again, other = (Translator.init(np.random.default_rng(seed)) for seed in (5, 6))
    assert (again.output == model.output).all()
    assert (other.output != model.output).all()
    ones = {name for name, array in flat(model).items() if (array == 1).all()}
    assert ones == {name for name in sizes if name.endswith("norm")}
    zeros = {name for name, array in flat(model).items() if (array == 0).all()}
    assert zeros == {name for name in sizes if name.split(".")[-1].startswith("b_")}
    spreads = {name: array.std() for name, array in flat(model).items() if array.ndim == 2}
    for name, spread in spreads.items():
        expected = {"embedding": 0.5, "output": 0.3 / 32**0.5}.get(name, 32**-0.5)
        expected /= 2 if name.endswith("w_o") else 1
        expected = 0.5 / 8 if name.endswith("w_out") else expected
        assert spread == pytest.approx(expected, rel=0.08), name


def begun(steps, **options):
    return Training(steps=steps, warmup=2, batch_size=5, **options)


def run_of(steps, **options):
    run = begun(steps, **options)
    while len(run.losses) < run.steps:
        train_step(run)
    return run


def test_a_run_is_shown_by_its_settings():
    shown = "Training(seed=0, steps=1200, warmup=50, peak=0.006, batch_size=32)"
    assert repr(Training()) == shown


def test_a_stopped_run_ends_as_if_it_had_not_been():
    whole = run_of(5)
    calls = []

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return loss_and_gradient(*arguments)

    run = begun(5, loss_and_gradient=stopped)
    for _ in range(2):
        train_step(run)
    with pytest.raises(KeyboardInterrupt):
        train_step(run)
    assert len(run.losses) == 2
    while len(run.losses) < run.steps:
        train_step(run)
    assert run.losses == whole.losses
    ended, expected = flat(run.model), flat(whole.model)
    assert all((ended[name] == expected[name]).all() for name in expected)
    assert all((array == array.round(6)).all() for array in ended.values())
    assert run.adam.steps == 5


def test_another_order_of_additions_makes_no_other_run():
    expected = flat(run_of(7, peak=0.01).model)
    rng = np.random.default_rng(0)

    def of_another_machine(*arguments):
        loss, gradient = loss_and_gradient(*arguments)
        return loss, map_arrays(lambda d: d * (1 + 1e-14 * rng.standard_normal(d.shape)), gradient)

    found = flat(run_of(7, peak=0.01, loss_and_gradient=of_another_machine).model)
    assert all((found[name] == expected[name]).all() for name in expected)


def test_runs_differ_by_seed_and_by_rate():
    first = run_of(3).losses
    assert first == run_of(3).losses
    assert first != run_of(3, seed=1).losses
    assert first[0] == run_of(3, peak=0.1).losses[0]
    assert first[2] != run_of(3, peak=0.1).losses[2]


def test_it_learns():
    losses = run_of(60, peak=0.01).losses
    assert losses[0] == pytest.approx(np.log(39), abs=0.5)
    assert np.mean(losses[-5:]) < 2.2
