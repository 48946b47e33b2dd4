"""Check a reader's answer to an exercise, and name the mistake when it is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["Exercise", "WrongAnswer", "check"]

_TOLERANCE = {"rtol": 1e-5, "atol": 1e-8}


class WrongAnswer(AssertionError):
    """An answer that fails its check; the message names the likely mistake."""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What a right answer returns, the inputs to try it on, and the mistakes people make.

    ``cases(rng)`` yields pairs ``(arguments, hint)``: a dict of named arguments, and what to
    think of when the answer fails there and no known mistake explains it. ``mistakes``
    maps a hint to a function that computes what that mistake would return.
    """

    call: str
    reference: Callable
    cases: Callable[[np.random.Generator], Iterator[tuple[dict, str]]]
    mistakes: dict[str, Callable]
    rows_sum_to_one: bool = False


def check(name: str, answer: Callable) -> None:
    """Print one line if the answer to the named exercise is right, else say what is wrong.

    Parameters
    ----------
    name : str
        The exercise's name, as its statement in the book gives it.
    answer : callable
        Your function itself, not its result.

    Raises
    ------
    WrongAnswer with a hint at the likely cause; ValueError for an unknown exercise;
    TypeError if the answer is not a function.

    Examples
    --------
    >>> check("attention-share", lambda length, d_model: (2 * d_model + length)
    ...                                                / (6 * d_model + length))
    attention-share: correct
    """
    exercises = _all_exercises()
    if name not in exercises:
        raise ValueError(f"no exercise is called {name!r}; there are: {', '.join(exercises)}")
    if not callable(answer):
        raise TypeError(f"check takes your function itself, got {type(answer).__name__}")
    exercise = exercises[name]
    for arguments, hint in exercise.cases(np.random.default_rng(0)):
        problem = _problem(exercise, answer, arguments, hint)
        if problem:
            raise WrongAnswer(f"{name}: {problem}")
    print(f"{name}: correct")


def _all_exercises():
    from attnbook.exercises import scaled_dot_product

    return {**scaled_dot_product.EXERCISES}


def _problem(exercise, answer, arguments, hint):
    """Return what is wrong with an answer on one set of arguments, or None."""
    given = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        try:
            result = answer(*given.values())
        except Exception as error:
            return f"{exercise.call} raised {type(error).__name__}: {error}. {hint}".rstrip()
        for argument in given:
            if not np.array_equal(given[argument], arguments[argument], equal_nan=True):
                return f"{argument} was changed in place: compute on a copy, the caller owns it."
        expected = _arrays(exercise.reference(*copy.deepcopy(arguments).values()))
        got = _arrays(result)
        if _same(got, expected):
            return None
        for mistake, wrong in exercise.mistakes.items():
            if _same(got, _arrays(wrong(*copy.deepcopy(arguments).values()))):
                return mistake
    return _symptom(exercise, got, expected, hint)


def _symptom(exercise, got, expected, hint):
    if got is None:
        return f"{exercise.call} returned something that is not numbers. {hint}".rstrip()
    if len(got) != len(expected):
        return f"{exercise.call} must return {len(expected)} array(s), got {len(got)}."
    if [g.shape for g in got] != [e.shape for e in expected]:
        shapes = [" and ".join(str(a.shape) for a in arrays) for arrays in (got, expected)]
        return f"the result has shape {shapes[0]}, expected {shapes[1]}."
    if any(np.isnan(g).any() for g in got):
        return f"the result has NaN. {hint}".rstrip()
    rows = got[-1].sum(axis=-1) if exercise.rows_sum_to_one else np.ones(1)
    wanted = expected[-1].sum(axis=-1) if exercise.rows_sum_to_one else np.ones(1)
    worst = np.abs(rows - wanted).argmax()
    if not np.allclose(rows, wanted, rtol=1e-3):
        return (
            f"a row sums to {rows.flat[worst]:.3g}, not {wanted.flat[worst]:.3g}: "
            "is the softmax over the last axis, and over the allowed keys only?"
        )
    gap = max(np.abs(g - e).max() for g, e in zip(got, expected, strict=True))
    return f"the result is off by up to {gap:.3g}. {hint}".rstrip()


def _arrays(result):
    """Return the result as a tuple of float arrays, or None if it is not numbers."""
    try:
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(np.asarray(part, dtype=np.float64) for part in parts)
    except (TypeError, ValueError):
        return None


def _same(got, expected):
    return (
        got is not None
        and len(got) == len(expected)
        and all(
            g.shape == e.shape and np.allclose(g, e, equal_nan=True, **_TOLERANCE)
            for g, e in zip(got, expected, strict=True)
        )
    )
