"""The mask lab: who may see whom, and what leaks."""

import numpy as np

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


def test_a_cell_of_the_mask_is_pressed_by_keyboard(open_figure):
    _, figure = open_figure("masks", page_of=PAGE)
    cell = figure.get_by_role("button", name="crane may see fish")
    assert cell.get_attribute("aria-pressed") == "false"
    cell.press("Enter")
    said(figure)
    assert figure.locator("[name=start]").input_value() == "own"
    assert cell.get_attribute("aria-pressed") == "true"
