"""Examine an answer to an exercise on all its cases."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Exercise, Function, Inputs, WrongAnswer
from attnbook.exercises.symptoms import Told, describe, describe_error, same, tell, to_arrays


def examine(name: str, exercise: Exercise, answer: Function, rng: np.random.Generator) -> None:
    """Raise WrongAnswer, with a hint at the likely cause, unless an answer is right on all cases.

    The inputs are drawn from ``rng``; ``name`` begins the message.

    Examples
    --------
    >>> double = Exercise(
    ...     call="double(x)",
    ...     reference=lambda x: 2 * x,
    ...     cases=lambda rng: [({"x": rng.standard_normal(3)}, "twice")],
    ...     mistakes={"square": np.square},
    ...     hints={"square": "this is the square.", "twice": "Is it twice as much?"},
    ... )
    >>> examine("double", double, np.square, np.random.default_rng(1))
    Traceback (most recent call last):
    attnbook.exercises.exercise.WrongAnswer: double: this is the square.
    """
    passed: list[Inputs] = []
    for arguments, hint in exercise.cases(rng):
        problem = _problem(exercise, answer, arguments, hint, passed)
        if problem:
            raise WrongAnswer(f"{name}: {problem.text}", *problem.ids)
        passed.append(arguments)


def _problem(
    exercise: Exercise, answer: Function, arguments: Inputs, hint: str, passed: Sequence[Inputs]
) -> Told | None:
    """Return what is wrong with an answer on one set of arguments, or None.

    ``passed`` holds the arguments on which the answer was right.
    """
    copied = copy.deepcopy(arguments)
    alike = functools.partial(same, exact_zeros=exercise.rows_sum_to_one)
    with np.errstate(all="ignore"):
        try:
            result = exercise.play(answer, *copied.values())
        except Exception as error:
            return describe_error(exercise, answer, arguments, error, hint)
        for argument, now in copied.items():
            before = arguments[argument]  # a function's copy is itself
            if now is not before and not _alike(now, before):
                return tell(exercise, "in_place", argument=argument)
        expected = _run(exercise, exercise.reference, arguments)
        result = _unpacked(result, expected)
        got = to_arrays(result, len(exercise.returns))
        if alike(got, expected):
            dtype = np.asarray(result).dtype if exercise.boolean else np.dtype(bool)
            return None if dtype.kind == "b" else tell(exercise, "not_boolean", dtype=dtype)
        for mistake in exercise.known:
            if _explains(exercise, mistake.wrong, got, arguments, passed, alike):
                return Told((mistake.id,), mistake.hint)
        return describe(exercise, result, expected, hint, first=not passed)


def _alike(now: Any, before: Any) -> bool:
    """Tell whether an argument is what it was: words, what is looked up by them, or numbers."""
    words = isinstance(before, list) and all(isinstance(part, str) for part in before)
    if words or isinstance(before, dict):
        return bool(now == before)
    return np.array_equal(now, before, equal_nan=True)


def _unpacked(result: Any, expected: tuple[Array, ...]) -> Any:
    """Return the arrays that a stacked one unpacks into, if it has the shapes of the expected."""
    shapes = [e.shape for e in expected]
    several = isinstance(result, np.ndarray) and len(result.shape) > 0 and len(shapes) > 1
    return tuple(result) if several and [*map(np.shape, result)] == shapes else result


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
    except (ValueError, IndexError):
        return False  # it does not fit these shapes: it would have raised an error


def _run(exercise: Exercise, function: Function, arguments: Inputs) -> Any:
    result = exercise.play(function, *copy.deepcopy(arguments).values())
    return to_arrays(result, len(exercise.returns))
