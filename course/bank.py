"""What a chapter's room fills: banks of right and wrong answers.

The answers to exercises, in `exercise_answers`, are written as readers write them. They use
neither the checkers nor, except where one says so, the package: the right ones are independent
oracles for the checkers. Those to tasks, in `task_answers`, are written as students write them;
each stands alone, with `np` and `attnbook` and nothing else, so that it can be handed in, and one
to a measurement is a function of its data that returns the numbers.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# Classes of mistakes that are tried on every exercise: its bank has a wrong answer of each, or says
# why there can be none.
CLASSES = {
    "one_hot": "one-hot weights where scores are large, however close they are",
    "one_sign": "overflow is guarded against, underflow is not",
    "axes": "a fixed number of axes",
    "integers": "an array of integers for a result, or for a step, that is none",
    "squeeze": "an axis of length 1 is lost",
    "table": "a table or a mask of fixed length",
    "mask": "the mask broadcasts, and is read as if it did not",
    "tolerance": "numbers are rounded, a small one is added, or a small difference is overlooked",
}


class Wrong(NamedTuple):
    """A wrong answer, and the ids of the hints that its message must consist of.

    Where a class's data decide which, there are several.
    """

    answer: Callable
    ids: list[str]
    names_mistake: bool
    of: str | None = None  # one of `CLASSES`


class Bank:
    """The answers of one chapter, by exercise; filled by decorators."""

    def __init__(self):
        self.right: dict[str, list[Callable]] = defaultdict(list)
        self.wrong: dict[str, list[Wrong]] = defaultdict(list)
        self.reasons: dict[tuple[str, str], str] = {}

    def right_for(self, exercise: str):
        """Record a right answer."""

        def record(answer):
            self.right[exercise].append(answer)
            return answer

        return record

    def wrong_for(
        self,
        exercise: str,
        *,
        names: str | None = None,
        symptom: str | None = None,
        of: str | None = None,
    ):
        """Record a wrong answer whose message names the mistake, or else gives a symptom.

        Either is said by the ids of its hints, with spaces between them, and | between what
        different classes are told. ``of`` is the class of mistakes that it belongs to.
        """
        if (names is None) == (symptom is None):
            raise TypeError("give either names or symptom")

        def record(answer):
            self.wrong[exercise].append(
                Wrong(answer, (names or symptom or "").split("|"), names is not None, of)
            )
            return answer

        return record

    def vary(self, exercise: str, answer: Callable, **parts: Callable) -> None:
        """Record wrong answers that differ in one part, each by the id of the mistake it makes.

        ``answer`` takes the part first, and then what the exercise gives.
        """
        for id_, part in parts.items():
            self.wrong_for(exercise, names=id_)(_varied(answer, id_, part))

    def never(self, classes: str, why: str, *exercises: str) -> None:
        """Record why exercises can have no wrong answer of some classes."""
        self.reasons |= {(of, name): why for of in classes.split() for name in exercises}

    def spoil(self, of: str, names: str, *exercises: str) -> None:
        """Record wrong answers: what the first right ones return, spoilt as `SPOILT` says."""
        for exercise in exercises:
            self.wrong_for(exercise, names=names, of=of)(_spoilt(self.right[exercise][0], of))


SPOILT: dict[str, Callable] = {
    "squeeze": lambda result, *_: np.squeeze(result),
    "integers": lambda result, first, *_: np.asarray(result).astype(first.dtype),
    "tolerance": lambda result, *_: np.round(result, 4),
}


def _spoilt(right: Callable, of: str) -> Callable:
    @functools.wraps(right)
    def answer(*arguments):
        result, spoil = right(*arguments), SPOILT[of]
        if isinstance(result, tuple | list):
            return tuple(spoil(part, *arguments) for part in result)
        return spoil(result, *arguments)

    answer.__name__ = f"{right.__name__}_{of}"
    return answer


def _varied(answer: Callable, id_: str, part: Callable) -> Callable:
    def varied(*arguments):
        return answer(part, *arguments)

    varied.__name__ = f"{answer.__name__}_{id_}"
    return varied


# What those make of a softmax who once met an overflow.


def one_hot_where_large(scores):
    if np.abs(scores[np.isfinite(scores)]).max() > 700:
        return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def guarded_above(scores):
    if scores.max() > 700:
        scores = scores - scores.max(axis=-1, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)
