"""The mask lab: who may see whom, and what leaks."""

import numpy as np
import pytest

from attnbook import scaled_dot_product_attention, softmax
from tests.browser.live.figures import said, tried

PAGE = "book/02-scaled-dot-product.html"


def hidden_by(x, seen, way):
    """Attend with a mask that is applied in one of three ways."""
    if way == "before":
        return scaled_dot_product_attention(x, x, x, seen)
    scores = x @ x.T / np.sqrt(2)
    weights = softmax(scores) * seen if way == "after" else softmax(np.where(seen, scores, -1e9))
    return weights @ x, weights


def test_its_numbers_are_attnbooks(open_figure):
    page, _ = open_figure("masks", page_of=PAGE)
    rng = np.random.default_rng(0)
    x = np.array([[1.0, 1], [0, 1], [2, 0], [1, 0]])
    settings = [
        {
            "wiggle": str(rng.choice(["none", "0", "1", "2", "3"])),
            "apply": str(rng.choice(["before", "large", "after"])),
            "start": "own",
            "mask": "".join(rng.choice(["0", "1"], size=16)),
        }
        for _ in range(200)
    ]
    read = """{weights: [...e.querySelectorAll(".weight")].map((cell) => +cell.dataset.weight),
      outputs: [...e.querySelectorAll(".output")].map((row) =>
        row.dataset.output.split(",").map(Number)),
      states: [...e.querySelectorAll(".output")].map((row) => row.textContent)}"""
    for setting, shown in zip(settings, tried(page, "masks", settings, read), strict=True):
        seen = np.array(list(setting["mask"]), dtype=int).reshape(4, 4) == 1
        output, weights = hidden_by(x, seen, setting["apply"])
        np.testing.assert_allclose(shown["weights"], weights.ravel(), atol=1e-6)
        np.testing.assert_allclose(shown["outputs"], output, atol=1e-6)
        changed = x.copy()
        token = None if setting["wiggle"] == "none" else int(setting["wiggle"])
        if token is not None:
            changed[token] += 0.5
        moved = np.abs(hidden_by(changed, seen, setting["apply"])[0] - output).max(axis=-1) > 1e-9
        expected = [
            "stays" if not moved[i] else "moves" if i == token or seen[i, token] else "leaks"
            for i in range(4)
        ]
        assert shown["states"] == expected


# The mask, the way, the word, and what a reader is told of them first.
TOLD = [
    ("inverted", "before", "2", "“crane” and “lifts” may see “fish”, which comes later"),
    ("inverted", "before", "0", "“today” may see nothing"),
    ("inverted", "large", "2", "“today” may see nothing, and gets an equal share"),
    ("padding", "before", "2", "Every word may see “fish”"),
    ("padding", "before", "3", "Nothing leaks: “today” may not see itself"),
    ("all", "before", "3", "Every word may see “today”"),
    ("causal", "before", "2", "Nothing leaks"),
    ("causal", "after", "2", "“crane” and “lifts” may not see “fish”, and yet"),
    ("causal", "after", "none", "Masked after the softmax, “crane” has weights that sum to"),
]


@pytest.mark.parametrize(("start", "apply", "wiggle", "told"), TOLD)
def test_what_is_told_is_the_fault_of_the_setting(open_figure, start, apply, wiggle, told):
    asked = f"?masks.start={start}&masks.apply={apply}&masks.wiggle={wiggle}"
    _, figure = open_figure("masks", asked, page_of=PAGE)
    assert said(figure).startswith(told)


def test_a_cell_of_the_mask_is_pressed_by_keyboard(open_figure):
    _, figure = open_figure("masks", page_of=PAGE)
    cell = figure.get_by_role("button", name="crane may see fish")
    assert cell.get_attribute("aria-pressed") == "false"
    cell.press("Enter")
    said(figure)
    assert figure.locator("[name=start]").input_value() == "own"
    assert cell.get_attribute("aria-pressed") == "true"
