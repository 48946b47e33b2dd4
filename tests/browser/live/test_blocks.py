"""A row of scores, summed block by block and in one piece."""

import numpy as np

from attnbook import blockwise_attention
from tests.browser.live.figures import said, tried

SCORES = np.array([1.0, 3, 2, 5, 4, 0, 3, 1, 4, 2, 0])
VALUES = np.array([2.0, 6, 1, 3, 9, 4, 2, 8, 5, 1, 7, 8])


def attended(scores, size):
    """Return the maximum, total and output of attention to the first keys, by blocks of a size."""
    output, logsumexp = blockwise_attention(
        np.ones((1, 1)), scores[:, None], VALUES[: len(scores), None], scale=1, block_size=size
    )
    return scores.max(), np.exp(logsumexp[0] - scores.max()), output[0, 0]


def test_its_numbers_are_attnbooks(open_figure):
    rng = np.random.default_rng(0)
    page, _ = open_figure("blocks")
    settings = [
        {
            "tile": int(rng.integers(1, 13)),
            "last": round(2 * rng.uniform(-2, 12)) / 2,
            "size": str(rng.choice([1, 2, 3, 4, 6, 12])),
        }
        for _ in range(200)
    ]
    read = """{known: [...e.querySelectorAll("[data-number]")].map((cell) => +cell.dataset.number),
      terms: [...e.querySelectorAll(".term")].map((bar) => +bar.dataset.term),
      heights: [...e.querySelectorAll(".term")].map((bar) => +bar.getAttribute("height")),
      bars: [...e.querySelectorAll(".bar")].map((bar) => +bar.getAttribute("height")),
      tile: ["x", "width"].map((name) => +e.querySelector(".tile").getAttribute(name))}"""
    for setting, shown in zip(settings, tried(page, "blocks", settings, read), strict=True):
        size, scores = int(setting["size"]), np.append(SCORES, setting["last"])
        done = -(-setting["tile"] // size) * size
        sofar = [*attended(scores[:done], size), 4 * size]
        whole = [*attended(scores, 12), 4 * 12]
        np.testing.assert_allclose(shown["known"], np.ravel([sofar, whole], order="F"), atol=1e-6)
        terms = np.exp(scores - scores[:done].max()) * (np.arange(12) < done)
        np.testing.assert_allclose(shown["terms"], terms, atol=1e-6)
        np.testing.assert_allclose(shown["heights"], 40 * terms, atol=1e-6)
        np.testing.assert_allclose(shown["bars"], 9 * np.abs(scores[:done]), atol=1e-6)
        assert shown["tile"] == [52 + 26 * (done - size), 26 * size]


def test_it_begins_with_the_still_picture_and_the_tile_is_dragged(open_figure):
    page, figure = open_figure("blocks")
    assert "1.203" in said(figure)  # the total that the chapter prints before its last
    assert "0.375" in said(figure)
    box = figure.locator("svg").bounding_box()
    at = box["x"] + box["width"] * (52 + 26 * 11.5) / 580
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(at, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert said(figure)
    assert figure.locator("[name=tile]").input_value() == "12"
    assert "blocks.tile=12" in page.url


def test_the_tile_goes_block_by_block_and_outputs_are_green_once_they_agree(open_figure):
    _, figure = open_figure("blocks")
    tile, size = (figure.locator(f"[name={name}]") for name in ("tile", "size"))
    for key, to in (("ArrowRight", "8"), ("ArrowLeft", "6"), ("ArrowLeft", "4")):
        tile.press(key)
        assert tile.input_value() == to, key
    size.select_option("3")  # key 4 stands in the second block, which ends at 6
    assert tile.input_value() == "6"
    assert figure.locator(".out").count() == 0
    for _ in range(4):
        tile.press("ArrowUp")
    assert tile.input_value() == "12"
    said(figure)
    by_blocks, one_piece = figure.locator(".out").all_inner_texts()
    assert by_blocks == one_piece
