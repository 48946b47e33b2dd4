"""The translator of dates, a character of the source hidden."""

import numpy as np
import pytest

from attnbook import softmax
from attnbook.pretrained import date_translator
from attnbook.toys import dates
from attnbook.toys.translator import after_start
from tests.browser.live.figures import said, tried
from tests.browser.waiting import wait_for


def translated(model, text, hidden):
    """Return what a model writes where some characters are hidden from its decoder, and how."""
    source = dates.encode("".join(char for char in text if char in dates.ALPHABET))
    kept = [mark for char, mark in zip(text, hidden, strict=True) if char in dates.ALPHABET]
    left = np.where(np.array(kept) == "_", dates.PAD, source)
    memory = model.trace(source, [[dates.START]]).memory
    written = model.greedy(left, memory)
    trace = model.trace(left, after_start(written), memory)
    return named(written[0]), softmax(trace.logits[0]), trace.cross_weights[0]


def named(tokens):
    return "".join([*dates.ALPHABET, "?", "?"][token] for token in tokens)


def a_text(rng):
    """Write a date, perhaps with a character changed, or with one that no date has."""
    [example] = dates.examples(rng, 1)
    text, at = list(example.written), int(rng.integers(len(example.written)))
    text[at] = str(rng.choice([text[at], *dates.ALPHABET, *"Aü;é"]))
    return "".join(text)


def test_its_numbers_are_attnbooks(open_figure):
    rng, model = np.random.default_rng(0), date_translator.load()
    page, _ = open_figure("dates", reduced_motion="reduce")
    settings = []
    for _ in range(200):
        text = a_text(rng)
        left = ["_" if rng.random() < 0.2 else char for char in text.lower()]
        settings.append(
            {
                "text": text,
                "digit": int(rng.integers(1, 11)),
                "head": str(rng.choice(["mean", "0", "1", "2", "3"])),
                "hidden": "".join(left) if rng.random() < 0.5 and "_" in left else "",
            }
        )
    read = """{weights: [...e.querySelectorAll(".char")].map((char) => +char.dataset.weight),
      hidden: [...e.querySelectorAll(".char")].map((char) =>
        char.getAttribute("aria-pressed") === "true"),
      lines: [...e.querySelectorAll("path")].map((line) => +line.getAttribute("stroke-width")),
      answer: [...e.querySelectorAll(".digit b")].map((digit) => digit.textContent).join(""),
      changed: [...e.querySelectorAll(".digit s")].map((digit) => digit.textContent),
      probabilities: [...e.querySelectorAll(".digit")].map((digit) => +digit.dataset.probability),
      best: [...e.querySelectorAll(".guesses b")].map((name) => name.textContent).join(""),
      bars: [...e.querySelectorAll(".guesses i")].map((bar) => +bar.dataset.probability)}"""
    for setting, shown in zip(settings, tried(page, "dates", settings, read), strict=True):
        text, at = setting["text"].lower(), setting["digit"] - 1
        hidden = setting["hidden"] or text
        answer, probabilities, weights = translated(model, text, hidden)
        before = translated(model, text, text)[0]
        assert shown["answer"] == answer
        assert shown["changed"] == [
            "" if a == b else a for a, b in zip(before, answer, strict=True)
        ]
        known = [char in dates.ALPHABET for char in text]
        assert shown["hidden"] == [a and mark == "_" for a, mark in zip(known, hidden, strict=True)]
        row = weights.mean(axis=0) if setting["head"] == "mean" else weights[int(setting["head"])]
        expected = np.zeros(len(text))
        expected[known] = row[at]
        np.testing.assert_allclose(shown["weights"], expected, atol=1e-6)
        np.testing.assert_allclose(shown["lines"], 12 * expected[expected >= 0.02], atol=1e-6)
        np.testing.assert_allclose(shown["probabilities"], probabilities.max(axis=-1), atol=1e-6)
        best = probabilities[at].argsort()[:-4:-1]
        np.testing.assert_allclose(shown["bars"], probabilities[at, best], atol=1e-6)
        assert shown["best"] == named(best)


def test_a_character_is_hidden_by_keyboard_and_shown_again(open_figure):
    page, figure = open_figure("dates", "?dates.text=13 mar 98")
    state, first = figure.locator("[name=hidden]"), said(figure)
    figure.locator(".char").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert "“m”" in said(figure)
    assert state.input_value() == "13 _ar 98"
    page.keyboard.press("Enter")
    assert said(figure) == first
    assert state.input_value() == ""
    figure.get_by_role("button", name="hide all else").click()
    assert said(figure) != first
    weights = figure.locator(".char").evaluate_all("e => e.map((each) => +each.dataset.weight)")
    assert [char == "_" for char in state.input_value()] == [weight == 0 for weight in weights]
    figure.get_by_role("button", name="show all").click()
    assert said(figure) == first
    figure.get_by_role("button", name="hide where it looks").click()
    assert "_" in state.input_value()
    figure.locator("[name=text]").fill("4 mär 98")
    assert "“ä”" in said(figure)
    assert state.input_value() == ""  # what was hidden was of another text
    figure.locator("[name=text]").fill("")
    assert said(figure)
    assert not figure.locator(".digit").first.is_visible()
    assert page.troubles == []


# How many digits are seen, at each change of them.
WATCH = """(e) => {
  window.counts = [];
  const count = () => window.counts.push(e.querySelectorAll(".digit:not(.later)").length);
  new MutationObserver(count).observe(e.querySelector(".target"), {
    attributes: true, attributeFilter: ["class"], subtree: true,
  });
  const text = e.querySelector("[name=text]");
  text.value = "5/31/2049";  // no digit is the first answer's
  text.dispatchEvent(new Event("input", {bubbles: true}));
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_answer_appears_digit_by_digit_where_motion_is_wanted(open_figure, motion):
    page, figure = open_figure("dates", reduced_motion=motion)
    said(figure)
    figure.evaluate(WATCH)
    said(figure)
    written = "e => window.counts.length && !e.querySelector('.digit.later')"
    wait_for(page, written, "all digits are written", arg=figure.element_handle())
    stages = list(dict.fromkeys(page.evaluate("counts")))
    assert stages == ([*range(1, 11)] if motion == "no-preference" else [10])
