"""Check a reader's answer to an exercise, and name the mistake when it is wrong."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re

import numpy as np

from attnbook.exercises.examining import examine
from attnbook.exercises.exercise import Exercise, Function, WrongAnswer

__all__ = ["Exercise", "WrongAnswer", "check"]


def check(name: str, answer: Function) -> None:
    """Print one line if the answer to the named exercise is right, else say what is wrong.

    Parameters
    ----------
    name : str
        The exercise's name, as its statement in the book gives it.
    answer : callable
        Your function itself, not its result.

    Raises
    ------
    WrongAnswer
        With a hint at the likely cause.
    ValueError, TypeError
        For an unknown exercise; for an answer that is not a function.

    Examples
    --------
    >>> import attnbook
    >>> check("softmax", attnbook.softmax)
    softmax: correct
    >>> check("softmax", np.exp)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    attnbook.exercises.exercise.WrongAnswer: softmax: these are bare exponentials: divide them ...
    """
    exercises = _all_exercises()
    if not isinstance(name, str) or name not in exercises:
        raise ValueError(f"no exercise is called {name!r}; there are: {', '.join(exercises)}")
    if not callable(answer):
        raise TypeError(f"check takes your function itself, got {type(answer).__name__}")
    examine(name, exercises[name], answer, np.random.default_rng(0))
    print(f"{name}: correct")


@functools.cache
def _all_exercises() -> dict[str, Exercise]:
    """Return the exercises by name; each chapter has a module of them, `chNN_name`."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    chapters = [
        importlib.import_module(f"{__name__}.{name}")
        for name in modules
        if re.match(r"ch\d\d_", name)
    ]
    return {name: exercise for chapter in chapters for name, exercise in chapter.EXERCISES.items()}
