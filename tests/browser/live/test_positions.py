"""Two positions on the clocks of the sinusoidal encoding."""

import numpy as np
import pytest

from attnbook import sinusoidal_encoding
from tests.browser.live.figures import tried


def test_its_numbers_are_attnbooks(open_figure):
    page, _ = open_figure("positions")
    rng = np.random.default_rng(0)
    settings = [
        {
            "position": int(rng.integers(0, 201)),
            "offset": int(rng.integers(0, 65)),
            "base": str(rng.choice([4, 100, 10000])),
            "columns": str(rng.choice([8, 16, 24])),
        }
        for _ in range(200)
    ]
    read = """{hands: ["here", "there"].map((name) => [...e.querySelectorAll(`line.${name}`)]
        .map((hand) => ["x1", "y1", "x2", "y2"].map((end) => +hand.getAttribute(end)))),
      curve: e.querySelector(".curve").getAttribute("d").slice(1).split("L")
        .map((at) => +at.split(" ")[1]),
      dot: ["cx", "cy"].map((at) => +e.querySelector(".dot").getAttribute(at)),
      product: +e.querySelector(".dot").dataset.product}"""
    for setting, shown in zip(settings, tried(page, "positions", settings, read), strict=True):
        d_model, base = int(setting["columns"]), float(setting["base"])
        table = sinusoidal_encoding(300, d_model, base=base)
        rows = table[[setting["position"], setting["position"] + setting["offset"]]]
        ends = np.array(shown["hands"])
        hands = (ends[..., 2:] - ends[..., :2]) * [1, -1] / 28  # to the right, and up
        np.testing.assert_allclose(hands.reshape(2, -1), rows, atol=1e-6)
        assert shown["product"] == pytest.approx(rows[0] @ rows[1], abs=1e-6)
        products = table[:65] @ table[0] / (d_model / 2)
        heights = np.array(shown["curve"])
        scale = (heights[0] - heights[1]) / (products[0] - products[1])
        np.testing.assert_allclose(heights - heights[0], scale * (products - 1), atol=1e-6)
        assert shown["dot"][1] == pytest.approx(heights[setting["offset"]], abs=1e-6)
