"""Where each number goes as heads are split and merged, and which tests see a mistake."""

import numpy as np

from attnbook import merge_heads, split_heads
from tests.browser.live.figures import tried


def three_tests(split, merge):
    """Return which properties of a right split and merge hold, for 4 tokens of 3 heads of 2."""
    x = np.arange(24.0).reshape(4, 6)
    own = np.arange(6) // 2 == np.arange(3)[:, None]  # (heads, columns)

    def moves(given, mix):
        return merge(mix(split(x + given))) != merge(mix(split(x)))

    def running(heads):
        return heads.cumsum(axis=-2)

    def later(t):
        return np.arange(4)[:, None] >= t

    tokens = np.eye(4)[..., None]  # (which, token, 1)
    slices = np.stack([x[:, columns] for columns in own])
    return {
        "exact": np.array_equal(split(x), slices) and np.array_equal(merge(slices), x),
        "trip": np.array_equal(merge(split(x)), x),
        "leak": all(not (moves(1.0 * tokens[t], running) & ~later(t)).any() for t in range(4)),
    }


def test_its_numbers_are_attnbooks(open_figure):
    page, _ = open_figure("numbers")
    ways = {
        "split": {
            "right": lambda x: split_heads(x, 3),
            "wrong": lambda x: x.reshape(3, 4, 2),
            "turns": lambda x: x.reshape(4, 2, 3).transpose(2, 0, 1),
        },
        "merge": {
            "right": merge_heads,
            "wrong": lambda heads: heads.reshape(4, 6),
            "turns": lambda heads: heads.transpose(1, 2, 0).reshape(4, 6),
        },
    }
    settings = [
        {"number": number, "split": split, "merge": merge}
        for split in ways["split"]
        for merge in ways["merge"]
        for number in range(24)
    ]
    read = """{cells: [...e.querySelectorAll(".cell")].map((cell) => +cell.textContent),
      followed: [...e.querySelectorAll(".cell")].flatMap((cell, at) =>
        cell.matches(".followed") ? [at] : []),
      lamps: Object.fromEntries([...e.querySelectorAll(".lamp")].map((lamp) =>
        [lamp.dataset.test, lamp.textContent.startsWith("✓")]))}"""
    x = np.arange(24.0).reshape(4, 6)
    for setting, shown in zip(settings, tried(page, "numbers", settings, read), strict=True):
        split, merge = (ways[step][setting[step]] for step in ("split", "merge"))
        cells = np.concatenate([x.ravel(), split(x).ravel(), merge(split(x)).ravel()])
        assert shown["cells"] == cells.tolist()
        assert shown["followed"] == np.flatnonzero(cells == setting["number"]).tolist()
        assert shown["lamps"] == three_tests(split, merge)
