"""The romanizer's recorded cross-attention, against the formula from its own states."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from attnbook import scaled_dot_product_attention
from attnbook.pretrained import romanizer

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attnbook/data"
NAMES = romanizer.names()


@pytest.mark.parametrize("name", NAMES)
def test_recorded_weights_come_from_states_queries_and_the_score_matrix(name):
    found = romanizer.alignment(name)
    assert found.states.shape == (len(found.letters), 256)
    assert found.queries.shape == (len(found.output), 256)
    for row, query in zip(found.weights, found.queries, strict=True):
        scores = [sum(query @ found.w_score * state) for state in found.states]
        shares = np.exp(np.array(scores) - max(scores))
        np.testing.assert_allclose(shares / shares.sum(), row, atol=1e-3)
    memory = found.states
    attended = scaled_dot_product_attention(
        found.queries @ found.w_score, memory, memory, scale=1.0
    )
    np.testing.assert_allclose(attended.weights, found.weights, atol=1e-3)


def test_the_score_matrix_is_not_interchangeable_with_what_it_could_be_mistaken_for():
    found = romanizer.alignment(NAMES[0])
    for wrong in (found.w_score.T, np.eye(256)):
        weights = scaled_dot_product_attention(
            found.queries @ wrong, found.states, found.states, scale=1.0
        ).weights
        assert abs(weights - found.weights).max() > 0.9


def test_letters_answers_and_what_the_inverted_mask_gives():
    assert NAMES[:3] == ("محمد", "فاطمة", "خديجة")
    assert len(set(NAMES)) == 10
    for name in NAMES:
        found = romanizer.alignment(name)
        assert found.letters == ("country", "role", *name, "end")
        assert found.output[-1] == "end"
        assert found.weights.argmax(axis=-1)[-1] == len(found.letters) - 1
        np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-3)
    found = romanizer.alignment("محمد")
    assert "".join(found.output[:-1]) == "Mohamed"
    assert (found.inverted, found.inverted_attention) == ("Mamma", "Mohammed")
    # M o h a m e d end: each at the letter it stands for, or at the next one.
    assert found.weights.argmax(axis=-1).tolist() == [2, 3, 3, 4, 4, 5, 5, 6]
    assert found.weights.max(axis=-1).min() > 0.995


def test_every_array_comes_back_as_it_is_stored_and_is_the_readers_own():
    with np.load(DATA / "romanizer.npz") as stored:
        arrays = dict(stored)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    assert len(arrays) == 31
    for number, name in enumerate(NAMES):
        found = romanizer.alignment(name)
        places = {f"name{number}.{each}": each for each in ("states", "queries", "weights")}
        for place, each in {**places, "w_score": "w_score"}.items():
            array = getattr(found, each)
            assert array.dtype == np.float64
            assert np.array_equal(array, arrays[place])
            array[...] = 7
        assert np.array_equal(romanizer.alignment(name).w_score, arrays["w_score"])


@pytest.mark.parametrize("name", ["Mohamed", "", 0, NAMES[0][::-1]])
def test_an_unknown_name_is_refused(name):
    message = f"name must be one of names(), got {name!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        romanizer.alignment(name)


def test_provenance_and_licence_lie_beside_the_data():
    facts = json.loads((DATA / "romanizer.json").read_text(encoding="utf-8"))
    readme = (DATA / "romanizer.README.md").read_text(encoding="utf-8")
    script = (ROOT / "tools/extract_romanizer.py").read_text(encoding="utf-8")
    for about in facts["source"].values():
        assert about in readme
        assert about in script
    digest = hashlib.sha256((DATA / "romanizer.npz").read_bytes()).hexdigest()
    assert digest in readme
    assert facts["licence"] == "MIT"
    assert "MIT License" in (DATA / "romanizer.LICENSE.txt").read_text()
