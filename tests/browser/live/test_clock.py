"""The clock that a query asks."""

import numpy as np
import pytest

from attnbook import effective_keys, scaled_dot_product_attention
from tests.browser.live.figures import said, tried


def on_clock(hour):
    return np.stack([np.sin(hour * np.pi / 6), np.cos(hour * np.pi / 6)], axis=-1)


def test_its_numbers_are_attnbooks(open_figure):
    rng = np.random.default_rng(0)
    page, _ = open_figure("clock")
    settings = [
        {
            "hand": round(rng.uniform(0.5, 12.5), 1),
            "temperature": round(rng.uniform(0.02, 3), 2),
            "hour": int(rng.integers(1, 13)),
            "length": round(rng.uniform(1, 4), 1),
        }
        for _ in range(200)
    ]
    read = """{weights: [...e.querySelectorAll(".dot")].map((dot) => +dot.dataset.weight),
      radii: [...e.querySelectorAll(".dot")].map((dot) => +dot.getAttribute("r")),
      output: e.querySelector(".answer").dataset.output.split(",").map(Number),
      place: e.querySelector(".answer").getAttribute("transform"),
      effective: +e.querySelector(".answer").dataset.effective}"""
    hours = on_clock(np.arange(1, 13))
    for setting, shown in zip(settings, tried(page, "clock", settings, read), strict=True):
        keys = hours * np.where(np.arange(1, 13) == setting["hour"], setting["length"], 1)[:, None]
        output, weights = scaled_dot_product_attention(
            on_clock(np.array([setting["hand"]])), keys, hours, scale=1 / setting["temperature"]
        )
        np.testing.assert_allclose(shown["weights"], weights[0], atol=1e-6)
        np.testing.assert_allclose(shown["radii"], np.sqrt(6 + 700 * weights[0]), atol=1e-6)
        np.testing.assert_allclose(shown["output"], output[0], atol=1e-6)
        x, y = map(float, shown["place"].removeprefix("translate(").rstrip(")").split())
        np.testing.assert_allclose([x, -y], 100 * output[0], atol=1e-4)
        assert shown["effective"] == pytest.approx(effective_keys(weights)[0], abs=1e-6)


def test_the_hand_of_the_clock_is_dragged(open_figure):
    page, figure = open_figure("clock")
    box = figure.locator("svg").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 80, middle[1], steps=4)
    page.mouse.up()
    assert said(figure)
    assert figure.locator("[name=hand]").input_value() == "9"
    assert "clock.hand=9" in page.url
