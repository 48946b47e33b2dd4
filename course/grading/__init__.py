"""What grades the assignments: a judge, and what nbgrader is given to run it and to collect.

A hidden test is one call of a function here. The class's phrase is looked up at this door: all
behind it are told whose data they judge on.
"""

from collections.abc import Callable

from course.grading import judging
from course.grading.seeds import class_phrase


def judge(name: str, answer: Callable) -> None:
    """Raise WrongAnswer unless a function is right on data drawn from the class's secret."""
    judging.judge(name, answer, class_phrase())


def judge_value(name: str, measured, *read) -> None:
    """Raise WrongAnswer unless measured numbers, and the one read off them, are the class's."""
    judging.judge_value(name, measured, *read, phrase=class_phrase())
