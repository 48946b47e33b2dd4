"""What grades the assignments: a door, a judge, and what nbgrader is given to run it.

A hidden test is one call of a function here, which says on whose data is judged: on examples first,
of which a student may be told everything, and, when all of a notebook has run, on the class's.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from course.grading import judging
from course.grading.seeds import class_phrase

EXAMPLES = "examples that anybody may see"
_PHRASE: ContextVar[str] = ContextVar("phrase", default="")


@contextlib.contextmanager
def on_examples() -> Iterator[None]:
    """Judge functions on examples that are nobody's data."""
    before = _PHRASE.set(EXAMPLES)
    try:
        yield
    finally:
        _PHRASE.reset(before)


def judge(name: str, answer: Callable) -> None:
    """Raise WrongAnswer unless a function is right on data drawn from the class's secret."""
    judging.judge(name, answer, _PHRASE.get() or class_phrase())


def judge_value(name: str, measured, *read) -> None:
    """Raise WrongAnswer unless measured numbers, and the one read off them, are the class's."""
    judging.judge_value(name, measured, *read, phrase=class_phrase())
