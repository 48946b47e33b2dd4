"""A query and a key that rotary positions turn."""

import numpy as np
import pytest

from attnbook import apply_rotary
from course.promises import keep
from tests.browser.live.figures import said, tried
from tests.browser.waiting import at_rest


def on_circle(degrees):
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def test_its_numbers_are_attnbooks(open_figure):
    page, _ = open_figure("rotary")
    rng = np.random.default_rng(0)
    # Which way the query turns and in which pairs; the same of the key.
    mistakes = {
        "none": ((1, "interleaved"), (1, "interleaved")),
        "backward": ((1, "interleaved"), (-1, "interleaved")),
        "halves": ((1, "interleaved"), (1, "halves")),
        "backward-both": ((-1, "interleaved"), (-1, "interleaved")),
        "halves-both": ((1, "halves"), (1, "halves")),
    }
    settings = [
        {
            **{name: int(rng.integers(0, 25)) for name in ("m", "n")},
            "both": int(rng.integers(0, 33)),
            "mistake": str(rng.choice(list(mistakes))),
            **{name: int(rng.integers(-180, 181)) for name in ("query", "key")},
        }
        for _ in range(200)
    ]
    read = """{arrows: ["before", "after"].map((when) => ["query", "key"].map((name) =>
        [...e.querySelectorAll(`path.${name}.${when}`)].map((arrow) =>
          [...(arrow.getAttribute("d") + arrow.getAttribute("transform"))
            .match(/H(.+?)m0-5 (.+?) .*rotate\\((.+?)\\)/)].slice(1).map(Number)))),
      grips: ["before", "after"].map((when) => ["query", "key"].map((name) =>
        ["cx", "cy"].map((at) => +e.querySelector(`.${name}.${when}.grip`).getAttribute(at)))),
      curve: e.querySelector(".curve").getAttribute("d").slice(1).split("L")
        .map((at) => at.split(" ").map(Number)),
      right: e.querySelector(".right").getAttribute("d").match(/ (.+)H/)?.[1],
      dot: ["cx", "cy"].map((at) => +e.querySelector(".dot").getAttribute(at)),
      score: +e.querySelector(".dot").dataset.score,
      told: e.querySelector("text.score").textContent}"""
    moved = np.arange(0, 32.25, 0.25)
    for setting, shown in zip(settings, tried(page, "rotary", settings, read), strict=True):
        before, after, right, offset = [], [], [], setting["both"]
        for name, fast, at, (way, pairing) in zip(
            ("query", "key"), (20, -40), "mn", mistakes[setting["mistake"]], strict=True
        ):
            row = np.concatenate([0.5 * on_circle(fast), on_circle(setting[name])])
            positions = setting[at] + moved
            rows = np.tile(row, (len(moved), 1))
            before.append(row)
            after.append(apply_rotary(rows, way * positions, base=100, pairing=pairing))
            right.append(apply_rotary(rows, positions, base=100))
        long, head, turned = np.moveaxis(np.array(shown["arrows"]), -1, 0)
        ends = (long + head) / 84 * on_circle(-turned)  # (x and y, when, query or key, plane)
        now = [rows[4 * offset] for rows in after]
        expected = np.array([before, now]).reshape(2, 2, 2, 2)[:, :, ::-1]  # the slow pair first
        np.testing.assert_allclose(np.moveaxis(ends, 0, -1), expected, atol=1e-6)
        tips = [125, 130] + 84 * expected[:, :, 0] * [1, -1]
        np.testing.assert_allclose(shown["grips"], tips, atol=1e-4)
        scores = (after[0] * after[1]).sum(axis=-1)
        assert shown["score"] == pytest.approx(scores[4 * offset], abs=1e-6)
        assert shown["told"].replace("−", "-") == f"{scores[4 * offset]:.2f}"
        across, heights = np.array(shown["curve"]).T
        np.testing.assert_allclose(340 - heights, 50 * scores / 1.25, atol=1e-4)
        assert shown["dot"] == pytest.approx([across[4 * offset], heights[4 * offset]])
        if setting["mistake"] == "none":
            assert np.ptp(scores) < 1e-12
            assert shown["right"] is None
        else:
            best = (right[0] * right[1]).sum(axis=-1)[0]
            assert 340 - float(shown["right"]) == pytest.approx(50 * best / 1.25, abs=1e-4)


def test_arrows_are_dragged_and_the_curve_moves_both(open_figure):
    _, figure = open_figure("rotary", "?rotary.m=0&rotary.n=10")
    rim, mouse = figure.locator(".rim").first.bounding_box(), figure.page.mouse
    for name, expected in (("query", -90), ("key", -90 - 57)):  # the key has turned by 10 positions
        box = figure.locator(f".{name}.after.grip").bounding_box()
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        mouse.down()
        mouse.move(rim["x"] + rim["width"] / 2, rim["y"] + rim["height"] - 3, steps=4)
        mouse.up()
        said(figure)
        found = int(figure.locator(f"[name={name}]").input_value())
        assert found == pytest.approx(expected, abs=1)
    first = figure.locator("text.score").text_content()
    figure.locator(".back").click(force=True)
    assert figure.locator("[name=both]").input_value() == "16"
    assert "16" in said(figure)
    assert figure.locator("text.score").text_content() == first


def test_a_finger_turns_an_arrow_and_not_the_page(open_figure):
    page, figure = open_figure("rotary", width=390, own={"has_touch": True})
    before, fingers = at_rest(page), page.context.new_cdp_session(page)
    box = figure.locator(".query.after.grip").bounding_box()
    keep("rotary", "a live figure", "target", min(box["width"], box["height"]))
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for i in range(9):
        about = {"type": "touchMove" if i else "touchStart"}
        points = [{"x": x - 4 * i, "y": y + 12 * i}]
        fingers.send("Input.dispatchTouchEvent", {**about, "touchPoints": points})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert "NaN" not in said(figure)
    assert 90 < int(figure.locator("[name=query]").input_value()) < 170
    assert at_rest(page) == before
