"""What a chapter's room fills: banks of right and wrong answers.

The answers to exercises, in `exercise_answers`, are written as readers write them. They use
neither the checkers nor, except where one says so, the package: the right ones are independent
oracles for the checkers. Those to tasks, in `task_answers`, are written as students write them;
each stands alone, with `np` and `attnbook` and nothing else, so that it can be handed in, and one
to a measurement is a function of its data that returns the numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong answer, and the ids of the hints that its message must consist of.

    Where a class's data decide which, there are several.
    """

    answer: Callable
    ids: list[str]
    names_mistake: bool


class Bank:
    """The answers of one chapter, by exercise; filled by decorators."""

    def __init__(self):
        self.right: dict[str, list[Callable]] = defaultdict(list)
        self.wrong: dict[str, list[Wrong]] = defaultdict(list)

    def right_for(self, exercise: str):
        """Record a right answer."""

        def record(answer):
            self.right[exercise].append(answer)
            return answer

        return record

    def wrong_for(self, exercise: str, *, names: str | None = None, symptom: str | None = None):
        """Record a wrong answer whose message names the mistake, or else gives a symptom.

        Either is said by the ids of its hints, with spaces between them, and | between what
        different classes are told.
        """
        if (names is None) == (symptom is None):
            raise TypeError("give either names or symptom")

        def record(answer):
            self.wrong[exercise].append(
                Wrong(answer, (names or symptom or "").split("|"), names is not None)
            )
            return answer

        return record
