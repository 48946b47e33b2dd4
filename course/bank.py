"""What a chapter's room fills: banks of right and wrong answers, and the truth of what is told.

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
        self.loops: dict[str, list[Callable]] = defaultdict(list)

    def right_for(self, exercise: str, *, loops: bool = False):
        """Record a right answer; of some it is said that they loop in Python."""

        def record(answer):
            self.right[exercise].append(answer)
            if loops:
                self.loops[exercise].append(answer)
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


class Truths:
    """What is told about a chapter outside its text, each worked out again; used as decorators.

    A function is called as the question whose truth it is, takes that question and returns what
    the right choice has and no other: its id, or numbers or code in its text; of several, all. One
    for the session takes what its cells have shown: a list of pairs of a cell's code and its
    outputs. One for the assignment takes a function that returns a measured task's numbers for
    some class, and returns numbers that the model answer has. ``said`` has, for a variable that
    the class names in a session, values to try; the first is the one that is printed.
    """

    def __init__(self, said: dict[str, list[str]] | None = None):
        self.said = said or {}
        self.questions: dict[str, Callable] = {}
        self.session: list[Callable] = []
        self.assignment: list[Callable] = []

    def question(self, function):
        """Record what works out the right answer to a question."""
        name = function.__name__.replace("_", "-")
        if name in self.questions:
            raise ValueError(f"the id {name!r} is used twice: rename one of the two truths")
        self.questions[name] = function
        return function

    def of_session(self, function):
        """Record a check of what the session's cells show."""
        self.session.append(function)
        return function

    def of_assignment(self, function):
        """Record what works out what the assignment's model answer says."""
        self.assignment.append(function)
        return function
