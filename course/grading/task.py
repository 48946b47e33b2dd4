"""What tasks of assignments need beside exercises; those of a chapter are in its `tasks`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnbook.exercises.exercise import Exercise


@dataclass(frozen=True, kw_only=True)
class Measurement(Exercise):
    """Numbers to measure on data that the class's public seed draws, then one to read off.

    ``read(rng, *arguments)`` is the number to read off, ``how`` the id of how it is read; a
    threshold that it needs is drawn after the data.
    """

    read: Callable
    how: str


def sizes(rng: np.random.Generator, *among: tuple[int, ...]) -> list[int]:
    """Draw one size from each of some lists, no two of them equal."""
    drawn = [int(rng.choice(each)) for each in among]
    return drawn if len(set(drawn)) == len(drawn) else sizes(rng, *among)


def relative(off: np.ndarray, full: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return the norm of what is off, as a share of the norm of the whole."""
    return np.linalg.norm(off, axis=axis) / np.linalg.norm(full, axis=axis)


# The same, put wrong.
NOT_RELATIVE = {
    "not_relative": lambda off, full: np.linalg.norm(off),
    "squares": lambda off, full: relative(off, full) ** 2,
    "mean_of_ratios": lambda off, full: relative(off, full, axis=-1).mean(),
}


def level(rng: np.random.Generator) -> float:
    """Draw the class's threshold, as the release does after its data."""
    return round(rng.uniform(0.3, 0.6), 2)
