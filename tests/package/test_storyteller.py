"""The storyteller and its twins: that they answer, and do what was recorded of them."""

import hashlib
import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from attnbook import pretrained
from attnbook.small_world import COLOURS, WORDS, story

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attnbook/data"
GOLDEN = json.loads((ROOT / "tests/package/golden/storyteller.json").read_text(encoding="utf-8"))
SCHEMES = ("rotary", "sinusoidal", "alibi", "none")
FILES = {scheme: f"storyteller_{scheme}.npz" for scheme in SCHEMES} | {"rotary": "storyteller.npz"}
NUMBERS = {word: number for number, word in enumerate(WORDS)}


def told(seed, count, **options):
    rng = np.random.default_rng(seed)
    return [story(rng, **options) for _ in range(count)]


def losses(model, words):
    """Return the loss at each word after the first, and the word held likeliest there."""
    tokens = [NUMBERS[word] for word in words]
    scores = model.logits(tokens).astype(np.float64)[:-1]
    found = [
        np.log(np.exp(row - row.max()).sum()) + row.max() - row[token]
        for row, token in zip(scores, tokens[1:], strict=True)
    ]
    return np.array(found), [WORDS[number] for number in scores.argmax(axis=-1)]


def answered(model, stories):
    """Return for each question its kind, its distance, and whether the model is right."""
    found = []
    for words, questions in stories:
        _, said = losses(model, words)
        found += [
            (question.kind, question.distance, said[question.position - 1] == question.answer)
            for question in questions
        ]
    return found


# --- What it can do -------------------------------------------------------------------


def test_it_answers_the_questions_of_unseen_stories():
    found = answered(pretrained.storyteller(), told(5, 500))
    assert len(found) == 2589
    assert np.mean([right for *_, right in found]) >= 0.98
    for kind in ("has", "given", "place", "moved", "pronoun", "colour"):
        assert np.mean([right for each, _, right in found if each == kind]) >= 0.98, kind
    for low in range(0, 106, 20):
        rights = [right for _, distance, right in found if low <= distance < low + 20]
        assert np.mean(rights) >= 0.98, low
        assert len(rights) > 90


def test_it_tells_stories_whose_questions_it_answers_itself():
    # Greedy, from a story's middle: the question that it asks is its own, and the answer true.
    model = pretrained.storyteller()
    prompt = "<start> the kite is with Ann . Ann is in the park . who has the"
    text = model.tokenizer.decode(model.generate(model.tokenizer.encode(prompt), 4))
    assert text.endswith("who has the kite ? Ann .")
    # Another colour, another answer: it reads, and does not remember.
    for colour in COLOURS:
        prompt = f"<start> the hat is with Leo . the hat is {colour} . what colour is the hat ?"
        tokens = model.generate(model.tokenizer.encode(prompt), 1)
        assert model.tokenizer.decode(tokens[-1:]) == colour


# --- What was recorded ----------------------------------------------------------------


@pytest.mark.parametrize("positions", SCHEMES)
def test_logits_are_pytorchs(positions):
    logits = pretrained.storyteller_twin(positions).logits(GOLDEN["tokens"])
    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits[::17], GOLDEN["logits"][positions], atol=1e-4)


@pytest.mark.parametrize("positions", SCHEMES)
def test_rounding_changes_the_loss_by_less_than_0_005(positions):
    # The last of the curve was measured before the parameters were rounded.
    model, record = pretrained.storyteller_twin(positions), pretrained.storyteller_record(positions)
    stories = told(2, 100)
    loss = np.concatenate([losses(model, each.words)[0] for each in stories]).mean()
    assert loss == pytest.approx(record.loss[-1], abs=0.005)
    right = np.mean([right for *_, right in answered(model, stories)])
    assert right == pytest.approx(record.right[-1], abs=0.01)


@pytest.mark.parametrize("positions", SCHEMES)
def test_loss_and_answers_by_position_are_those_recorded(positions):
    model, record = pretrained.storyteller_twin(positions), pretrained.storyteller_record(positions)
    loss, right = [[] for _ in range(16)], [[] for _ in range(8)]
    for words, questions in told(3, 64, length=512, ask=0.3):
        found, said = losses(model, words)
        for position, each in enumerate(found, start=1):
            loss[position // 32].append(each)
        for question in questions:
            correct = said[question.position - 1] == question.answer
            right[question.position // 64].append(correct)
    np.testing.assert_allclose([np.mean(each) for each in loss], record.long_loss, atol=2e-3)
    np.testing.assert_allclose([np.mean(each) for each in right], record.long_right, atol=0.01)


@pytest.mark.parametrize("positions", SCHEMES)
def test_the_curve_runs_over_the_whole_training(positions):
    record = pretrained.storyteller_record(positions)
    np.testing.assert_array_equal(record.steps, np.arange(50, 8001, 50))
    assert {len(record.loss), len(record.right), len(record.pairs)} == {160}


def test_binding_comes_suddenly_and_first_in_bare_lists():
    record = pretrained.storyteller_record()
    pairs, right = (
        dict(zip(record.steps, shares, strict=True)) for shares in (record.pairs, record.right)
    )
    assert pairs[150] < 0.5 < 0.95 < pairs[300]
    assert right[300] < 0.05 < 0.85 < right[1250]
    assert right[8000] > 0.98


# --- What is shipped ------------------------------------------------------------------


@pytest.mark.parametrize("positions", SCHEMES)
def test_what_is_stored_is_small_and_is_what_the_card_describes(positions):
    place = DATA / FILES[positions]
    content = place.read_bytes()
    assert len(content) < (600_000 if positions == "rotary" else 500_000 / 3)
    card = (DATA / "storyteller.README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in card
    with np.load(place) as stored:
        matrices = {name: stored[name] for name in stored if stored[name].ndim == 2}
        wanted = np.float16 if positions == "rotary" else np.int8
        assert {array.dtype for array in matrices.values()} == {np.dtype(wanted)}
        if positions != "rotary":
            # Each row uses all of its 8 bits.
            assert all(
                (abs(array.astype(int)).max(axis=1) == 127).all() for array in matrices.values()
            )
        assert sum(array.size for name, array in stored.items() if "scale" not in name) == 127_296


def test_the_vocabulary_is_that_of_the_small_world():
    facts = json.loads((DATA / "storyteller.json").read_text(encoding="utf-8"))
    assert tuple(facts["words"]) == WORDS == pretrained.storyteller().tokenizer.words


def test_words_become_tokens_and_back():
    tokenizer = pretrained.storyteller().tokenizer
    tokens = tokenizer.encode("<start> Tom is in\n the  park .")
    assert tokens == [NUMBERS[word] for word in ["<start>", "Tom", "is", "in", "the", "park", "."]]
    assert tokenizer.decode(np.array(tokens)) == "<start> Tom is in the park ."
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""
    message = "^text must be of the vocabulary's words, got 'dog'$"
    with pytest.raises(ValueError, match=message):
        tokenizer.encode("Tom has the dog .")
    with pytest.raises(FrozenInstanceError):
        tokenizer.words = ()


def test_each_model_is_the_readers_own():
    for positions in SCHEMES:
        model = pretrained.storyteller_twin(positions)
        assert model.positions == positions
        assert model.embedding.dtype == model.layers[3].w_down.dtype == np.float32
        assert (model.rope_base, model.norm_eps, model.output) == (10000.0, 1e-5, None)
        (heads,) = {
            (each.attention.num_heads, each.attention.num_kv_heads) for each in model.layers
        }
        assert heads == (4, 2)
        before = model.embedding.copy()
        model.embedding.setflags(write=True)
        model.embedding[:] = 0
        np.testing.assert_array_equal(pretrained.storyteller_twin(positions).embedding, before)


def test_other_positions_are_refused():
    message = (
        r"^positions must be one of \('rotary', 'sinusoidal', 'alibi', 'none'\), got 'learned'$"
    )
    assert get_args(pretrained.Scheme) == SCHEMES
    for function in (pretrained.storyteller_twin, pretrained.storyteller_record):
        with pytest.raises(ValueError, match=message):
            function("learned")
