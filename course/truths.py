"""What tests are made of: the truth of what is told in a chapter's room, and a session's cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from course.chapters import Chapter


class Truths:
    """What is told about a chapter outside its text, each worked out again; used as decorators.

    A function is called as the question whose truth it is, takes that question and returns what
    the right choice has and no other: its id, or numbers or code in its text; of several, all. One
    for the session takes what its cells have shown: a list of pairs of a cell's code and its
    outputs. One for the assignment takes a function that returns a measured task's numbers for
    some class, or with ``read_off`` the one to read off them, and returns numbers that the model
    answer has. ``said`` has, for a variable that the class names in a session, values to try; the
    first is the one that is printed.
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


class Snippet(NamedTuple):
    """A cell to paste, the sentence before it, and the section at whose end it goes."""

    sentence: str
    section: str
    code: str


def snippets(chapter: Chapter) -> list[Snippet]:
    """Return the cells that stand below the table of a session."""
    matches = re.findall(r"^([^\n]+)\n\n```python\n(.+?)\n```$", chapter.session, re.M | re.S)
    return [
        Snippet(line, re.search(r"\]\((sec-[\w-]+)\)", line)[1], code) for line, code in matches
    ]


def printed(outputs: list[Any]) -> str:
    """Return what a cell has printed."""
    return "".join(out.text for out in outputs if out.get("name") == "stdout")


def pictures(outputs: list[Any]) -> list[str]:
    """Return the pictures that a cell has drawn."""
    return [out.data["image/svg+xml"] for out in outputs if "image/svg+xml" in out.get("data", {})]
