"""Examine an answer to an exercise on all its cases."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs, WrongAnswer
from attnbook.exercises.symptoms import Told, describe, describe_error, read, same, tell, to_arrays


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
    cases = exercise.cases(rng)
    for arguments, hint in cases:
        problem = _problem(exercise, answer, arguments, hint, passed, cases)
        if problem:
            raise WrongAnswer(f"{name}: {problem.text}", *problem.ids)
        passed.append(arguments)


def _problem(
    exercise: Exercise,
    answer: Function,
    arguments: Inputs,
    hint: str,
    passed: Sequence[Inputs],
    rest: Cases,
) -> Told | None:
    """Return what is wrong with an answer on one set of arguments, or None.

    ``passed`` holds the arguments on which the answer was right, ``rest`` those to come.
    """
    copied = copy.deepcopy(arguments)
    try:
        result = _played(exercise, answer, copied)
    except _RAISED as error:
        return describe_error(exercise, answer, arguments, error, hint)
    # What the answer set, by `np.seterr`, does not hold for what judges it.
    with np.errstate(all="ignore"):
        for argument, now in copied.items():
            before = arguments[argument]  # a function's copy is itself
            if now is not before and not _alike(now, before):
                return tell(exercise, "in_place", argument=argument)
        expected = _run(exercise, exercise.reference, arguments)
        returned = read(result, expected)
        got = returned and returned.arrays
        if _same(exercise, got, expected):
            dtype = returned.dtypes[0] if returned and exercise.boolean else np.dtype(bool)
            return None if dtype.kind == "b" else tell(exercise, "not_boolean", dtype=dtype)
        explaining = [
            mistake
            for mistake in exercise.known
            if got and _explains(exercise, mistake.wrong, got, arguments, passed)
        ]
        if explaining:
            later = list(_later(exercise, answer, rest))
            more = [_explains_more(exercise, mistake.wrong, later) for mistake in explaining]
            if max(more) >= 0:
                mistake = explaining[more.index(max(more))]
                return Told((mistake.id,), mistake.hint)
        return describe(exercise, returned, expected, hint, first=not passed)


# What an answer may raise: its own `exit()` too, but not the reader's Ctrl-C.
_RAISED = (Exception, SystemExit, GeneratorExit)

_FEW = 3_000  # numbers of a case: on more a mistake takes long, and shows no more


def _played(exercise: Exercise, answer: Function, arguments: Inputs) -> Any:
    with np.errstate(all="ignore"):
        return exercise.play(answer, *arguments.values())


def _same(exercise: Exercise, got: tuple[Array, ...] | None, expected: tuple[Array, ...]) -> bool:
    return same(got, expected, exact_zeros=exercise.rows_sum_to_one)


def _alike(now: Any, before: Any) -> bool:
    """Tell whether an argument is what it was: words, what is looked up by them, or numbers."""
    try:
        words = isinstance(before, list) and all(isinstance(part, str) for part in before)
        if words or isinstance(before, dict):
            return bool(now == before)
        return np.array_equal(now, before, equal_nan=True)
    except Exception:  # an answer put something of its own into it
        return False


def _explains(
    exercise: Exercise,
    wrong: Function,
    got: tuple[Array, ...],
    arguments: Inputs,
    passed: Sequence[Inputs],
) -> bool:
    """Tell whether a mistake gives the same result, and none that the answer did not give before.

    A mistake that shows on inputs where the answer was right is not the one it makes.
    """
    try:
        return _same(exercise, got, _run(exercise, wrong, arguments)) and all(
            _same(
                exercise,
                _run(exercise, wrong, earlier),
                _run(exercise, exercise.reference, earlier),
            )
            for earlier in passed
        )
    except (ValueError, IndexError):
        return False  # it does not fit these shapes: it would have raised an error


class _Later(NamedTuple):
    """A case to come: its arguments, what is right there, and what the answer returned."""

    arguments: Inputs
    expected: tuple[Array, ...]
    got: tuple[Array, ...]


def _later(exercise: Exercise, answer: Function, rest: Cases) -> Iterator[_Later]:
    """Yield the cases to come on which an answer returns numbers, the large ones left out."""
    for arguments, _ in rest:
        if sum(np.size(given) for given in arguments.values()) > _FEW:
            continue
        expected = _run(exercise, exercise.reference, arguments)
        with contextlib.suppress(*_RAISED):
            result = _played(exercise, answer, copy.deepcopy(arguments))
            with np.errstate(all="ignore"):
                returned = read(result, expected)
            if returned and returned.arrays:
                yield _Later(arguments, expected, returned.arrays)


def _explains_more(exercise: Exercise, wrong: Function, later: Sequence[_Later]) -> int:
    """Count in how many more of the cases a mistake explains an answer than it does not.

    One case may be explained by chance. Where an answer has a second mistake, which shows in some,
    the first one still is its own.
    """
    agreed, differed = 1, 0
    for arguments, expected, got in later:
        try:
            explained = _run(exercise, wrong, arguments)
        except (ValueError, IndexError):
            continue
        if not _same(exercise, got, explained):
            differed += all(np.isfinite(part).all() for part in got)
        elif not _same(exercise, got, expected):
            agreed += 1
    return agreed - differed


def _run(exercise: Exercise, function: Function, arguments: Inputs) -> Any:
    result = exercise.play(function, *copy.deepcopy(arguments).values())
    return to_arrays(result, len(exercise.returns))
