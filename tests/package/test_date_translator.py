"""The trained translator: that it translates, and does what was recorded of it."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from attnbook.pretrained import date_translator
from attnbook.toys.dates import FORMS, encode, fields, unseen_examples
from attnbook.toys.translator import after_start

DATA = Path(__file__).resolve().parents[2] / "attnbook/data"
TEST = unseen_examples()
SOURCE = encode(*[example.written for example in TEST])
TARGET = encode(*[example.iso for example in TEST])


def test_it_translates_unseen_dates_as_recorded():
    model = date_translator.load()
    written = model.translate(*[example.written for example in TEST])
    right = np.array([each == example.iso for each, example in zip(written, TEST, strict=True)])
    assert right.mean() >= 0.98
    own = date_translator.runs()["whole"][0]
    # That of the parameters before they were rounded to float16: not one answer is another.
    assert right.mean() == pytest.approx(own.exact)
    by_form = [right[n :: len(FORMS)].mean() for n in range(len(FORMS))]
    np.testing.assert_allclose(by_form, own.by_form, atol=1e-4)
    characters = [
        a == b
        for one, example in zip(written, TEST, strict=True)
        for a, b in zip(one, example.iso, strict=True)
    ]
    assert np.mean(characters) == pytest.approx(own.characters)


def test_the_last_snapshot_is_what_the_model_does():
    record = date_translator.record()
    assert record.steps.tolist() == list(range(0, 1201, 25))
    trace = date_translator.load().trace(SOURCE, after_start(TARGET))
    losses, shares = np.zeros(10), np.zeros((4, 3, 4))
    for row, target, example, weights in zip(
        trace.logits, TARGET, TEST, trace.cross_weights, strict=True
    ):
        for position, (scores, token) in enumerate(zip(row, target, strict=True)):
            losses[position] += np.log(np.exp(scores - scores[token]).sum()) / 500
        on = {letter: [c == letter for c in fields(example)] for letter in "ymd"}
        for field, digits in enumerate(([0, 1, 2, 3], [5, 6], [8, 9])):
            for digit in digits:
                seen = weights[:, digit, : len(example.written)]
                parts = [seen[:, where].sum(axis=1) for where in on.values()]
                parts.append(1 - sum(parts))
                shares[:, field] += np.stack(parts, axis=1) / len(digits) / 500
    np.testing.assert_allclose(record.losses[-1], losses, atol=0.002)
    np.testing.assert_allclose(record.shares[-1], shares, atol=0.002)
    own = date_translator.runs()["whole"][0]
    assert own.loss == pytest.approx(losses.mean(), abs=2e-4)

    one = date_translator.load().trace(encode(record.text), after_start(encode("1998-03-13")))
    assert list(record.weights) == [0, 200, 300, 400, 600, 1200]
    np.testing.assert_allclose(record.weights[1200], one.cross_weights[0], atol=0.01)


def test_it_begins_knowing_nothing_and_looking_anywhere():
    record = date_translator.record()
    assert record.losses[0].mean() == pytest.approx(np.log(39), abs=0.2)
    np.testing.assert_allclose(record.shares.sum(axis=-1), 1, atol=0.003)
    # Fields of year, month and day have 0.28, 0.27 and 0.17 of the characters.
    at_first = record.shares[0, :, :, :3]
    np.testing.assert_allclose(at_first, np.broadcast_to([0.28, 0.27, 0.17], (4, 3, 3)), atol=0.15)
    own = np.einsum("nhii->nhi", record.shares[:, :, :, :3]).mean(axis=1)
    assert (own[-1] > 0.65).all()


def test_runs_are_by_seed_and_their_curves_by_step():
    runs = date_translator.runs()
    assert len(runs) == 30
    assert [run.seed for run in runs["whole"]] == [0, 1, 2, 3, 4]
    assert min(run.exact for run in runs["whole"]) >= 0.98
    for name, of_seeds in runs.items():
        for seed, run in enumerate(of_seeds):
            assert run.seed == seed, name
            assert run.curve.shape == (48,), name
            assert run.by_form.shape == (12,), name
            assert np.mean(run.by_form) == pytest.approx(run.exact, abs=0.01), name
            assert 0 <= run.exact <= run.characters <= 1, name
    for name in ("descent_3.0", "not_divided_descent_0.3"):
        assert np.isnan(runs[name][0].loss)
        assert np.isnan(runs[name][0].curve[-1])


def exact(name):
    return [run.exact for run in date_translator.runs()[name]]


def test_what_matters_more_than_the_seed():
    least = min(exact("whole"))
    for name in (
        *("no_source_positions", "no_causal_mask", "no_cross_attention", "no_residuals"),
        *("descent_1.0", "no_warmup_0.02", "adam_0.0006", "adam_0.06"),
        *("keys_without_gradient", "memory_by_values_only", "softmax_without_dot_product"),
    ):
        assert max(exact(name)) < least, name
    for name in (
        *("no_target_positions", "no_scale", "one_head", "no_feed_forward", "no_warmup"),
        *("no_norms", "no_residuals_longer"),
        *("repeated_characters_lost", "not_divided"),
    ):
        assert max(exact(name)) > least, name


def test_a_leak_looks_like_success():
    runs = date_translator.runs()
    leak, right = runs["no_causal_mask"], runs["whole"]
    assert max(run.loss for run in leak) < min(run.loss for run in right) / 3
    assert {run.exact for run in leak} == {0}


def test_what_is_stored_is_small_and_is_what_the_card_describes():
    card = (DATA / "translator.README.md").read_text(encoding="utf-8")
    sizes = {"translator.npz": 60_000, "translator.json": 110_000, "unseen_dates.txt": 5500}
    for name, most in sizes.items():
        content = (DATA / name).read_bytes()
        assert len(content) <= most
        assert hashlib.sha256(content).hexdigest() in card
    for name, of_seeds in date_translator.runs().items():
        assert ", ".join(f"{run.exact:.3f}" for run in of_seeds) in card, name
    with np.load(DATA / "translator.npz") as stored:
        assert {array.dtype for array in stored.values()} == {np.dtype(np.float16)}
        assert sum(array.size for array in stored.values()) == 23_776


def test_each_model_is_the_readers_own():
    first, second = date_translator.load(), date_translator.load()
    assert first.output.dtype == np.float64
    first.output[:] = 0
    first.decoder.cross_attention.w_q[:] = 0
    assert second.output.any()
    assert date_translator.load().decoder.cross_attention.w_q.any()
    date_translator.record().shares[:] = 7
    assert date_translator.record().shares.max() <= 1
