"""Right and wrong answers to the exercises, written as readers write them.

One module for each chapter, with a ``BANK``. Nothing here uses the checkers or, except where an
answer says so, the package: the right answers are independent oracles for the checkers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple


class Wrong(NamedTuple):
    """A wrong answer, and the words its message must have (a regular expression)."""

    answer: Callable
    message: str
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
        """Record a wrong answer whose message names the mistake, or else gives a symptom."""
        if (names is None) == (symptom is None):
            raise TypeError("give either names or symptom")

        def record(answer):
            self.wrong[exercise].append(Wrong(answer, names or symptom, names is not None))
            return answer

        return record


def all_banks() -> dict[str, Bank]:
    """Return each chapter's bank by the chapter's name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"answers.{name}").BANK for name in names}
