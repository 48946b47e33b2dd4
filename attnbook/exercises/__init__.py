"""Check a reader's answer to an exercise, and name the mistake when it is wrong."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnbook.exercises._types import Array, Cases, Function, Inputs
from attnbook.exercises.symptoms import (
    describe,
    describe_error,
    describe_numbers_for_booleans,
    same,
    to_arrays,
)

__all__ = ["Exercise", "WrongAnswer", "check"]


class WrongAnswer(AssertionError):
    """An answer that fails its check; the message names the likely mistake."""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What a right answer returns, the inputs to try it on, and the mistakes people make.

    ``cases(rng)`` yields pairs ``(arguments, hint)``: a dict of named arguments, and what to
    think of when the answer fails there and no known mistake explains it. ``mistakes``
    maps a hint to a function that computes what that mistake would return. ``returns`` names
    the arrays of a result, and ``boolean`` says that they must be boolean, not ones and zeros.
    ``leading`` says what the first axis counts in a result of three axes or more.
    ``clues`` maps a regular expression to what to think of when an answer raises an error with
    such a message.
    """

    call: str
    reference: Function
    cases: Callable[[np.random.Generator], Cases]
    mistakes: dict[str, Function]
    returns: tuple[str, ...] = ("result",)
    rows_sum_to_one: bool = False
    boolean: bool = False
    leading: str = "sequence of the batch"
    clues: dict[str, str] = field(default_factory=dict)


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
    >>> check("softmax", np.exp)
    Traceback (most recent call last):
    attnbook.exercises.WrongAnswer: softmax: these are bare exponentials: divide them by their sum.
    """
    exercises = _all_exercises()
    if name not in exercises:
        raise ValueError(f"no exercise is called {name!r}; there are: {', '.join(exercises)}")
    if not callable(answer):
        raise TypeError(f"check takes your function itself, got {type(answer).__name__}")
    examine(name, exercises[name], answer, np.random.default_rng(0))
    print(f"{name}: correct")


def examine(name: str, exercise: Exercise, answer: Function, rng: np.random.Generator) -> None:
    """Raise WrongAnswer, with a hint at the likely cause, unless an answer is right on all cases.

    Parameters
    ----------
    name : str, which begins the message
    exercise : Exercise
    answer : callable
    rng : numpy.random.Generator, from which the inputs are drawn

    Raises
    ------
    WrongAnswer
        On the first case where the answer is wrong.

    Examples
    --------
    >>> import attnbook
    >>> softmax = _all_exercises()["softmax"]
    >>> examine("softmax", softmax, attnbook.softmax, np.random.default_rng(1))
    """
    passed: list[Inputs] = []
    for arguments, hint in exercise.cases(rng):
        problem = _problem(exercise, answer, arguments, hint, passed)
        if problem:
            raise WrongAnswer(f"{name}: {problem}")
        passed.append(arguments)


def _all_exercises() -> dict[str, Exercise]:
    from attnbook.exercises import (
        multi_head,
        scaled_dot_product,
        self_and_cross,
        sinusoidal_encoding,
        why_attention,
    )

    return {
        **why_attention.EXERCISES,
        **scaled_dot_product.EXERCISES,
        **self_and_cross.EXERCISES,
        **multi_head.EXERCISES,
        **sinusoidal_encoding.EXERCISES,
    }


def _problem(
    exercise: Exercise,
    answer: Function,
    arguments: Inputs,
    hint: str,
    passed: Sequence[Inputs] = (),
) -> str | None:
    """Return what is wrong with an answer on one set of arguments, or None.

    ``passed`` holds the arguments on which the answer was right.
    """
    given = copy.deepcopy(arguments)
    alike = functools.partial(same, exact_zeros=exercise.rows_sum_to_one)
    with np.errstate(all="ignore"):
        try:
            result = answer(*given.values())
        except Exception as error:
            return describe_error(exercise, answer, arguments, error, hint)
        for argument in given:
            if not _equal(given[argument], arguments[argument]):
                return f"the argument {argument} was changed in place: work on a copy."
        expected = _run(exercise, exercise.reference, arguments)
        got = to_arrays(result, len(exercise.returns))
        if alike(got, expected):
            return describe_numbers_for_booleans(result) if exercise.boolean else None
        for mistake, wrong in exercise.mistakes.items():
            if _explains(exercise, wrong, got, arguments, passed, alike):
                return mistake
        return describe(exercise, result, expected, hint)


def _equal(given: Any, original: Any) -> bool:
    """Tell whether an argument is as it was; a function is, since its copy is itself."""
    return given is original or np.array_equal(given, original, equal_nan=True)


def _explains(
    exercise: Exercise,
    wrong: Function,
    got: tuple[Array, ...] | None,
    arguments: Inputs,
    passed: Sequence[Inputs],
    alike: Function,
) -> bool:
    """Tell whether a mistake gives the same result, and none that the answer did not give before.

    A mistake that shows on inputs where the answer was right is not the one it makes.
    """
    try:
        return alike(got, _run(exercise, wrong, arguments)) and all(
            alike(_run(exercise, wrong, earlier), _run(exercise, exercise.reference, earlier))
            for earlier in passed
        )
    except ValueError:  # the mistake does not fit these shapes: it would have raised an error
        return False


def _run(exercise: Exercise, function: Function, arguments: Inputs) -> Any:
    result = function(*copy.deepcopy(arguments).values())
    return to_arrays(result, len(exercise.returns))
