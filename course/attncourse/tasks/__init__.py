"""The tasks of the assignments, one module for each chapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attnbook.exercises import Exercise


@dataclass(frozen=True, kw_only=True)
class Task(Exercise):
    """An exercise with, where loops cost points, inputs ``sized(rng, n)`` that grow with n."""

    sized: Callable[[np.random.Generator, int], dict] | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement(Exercise):
    """Numbers to measure on data that the class's public seed draws, then one to read off.

    ``read(rng, *arguments)`` is the number to read off, ``how`` says how it is read; a threshold
    that it needs is drawn after the data.
    """

    read: Callable
    how: str


def sizes(rng: np.random.Generator, *among: tuple[int, ...]) -> list[int]:
    """Draw one size from each of some lists, no two of them equal."""
    drawn = [int(rng.choice(each)) for each in among]
    return drawn if len(set(drawn)) == len(drawn) else sizes(rng, *among)


def level(rng: np.random.Generator) -> float:
    """Draw the class's threshold, as the release does after its data."""
    return round(rng.uniform(0.3, 0.6), 2)


def all_tasks() -> dict[str, Task | Measurement]:
    """Return every task by its name."""
    from attncourse.tasks import (
        multi_head,
        scaled_dot_product,
        self_and_cross,
        sinusoidal_encoding,
        why_attention,
    )

    return {
        **why_attention.TASKS,
        **scaled_dot_product.TASKS,
        **self_and_cross.TASKS,
        **multi_head.TASKS,
        **sinusoidal_encoding.TASKS,
    }
