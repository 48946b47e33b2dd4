"""Right and wrong answers to the assignments' tasks, as students write them.

Each stands alone, with `np` and `attnbook` and nothing else, so that it can be handed in. Answers
to a measurement are functions of its data that return the numbers.
"""

from __future__ import annotations

import importlib

CHAPTERS = (
    "why_attention",
    "scaled_dot_product",
    "self_and_cross",
    "multi_head",
    "sinusoidal_encoding",
)


def all_banks():
    """Return each chapter's bank by the chapter's name."""
    return {name: importlib.import_module(f"banks.{name}").BANK for name in CHAPTERS}
