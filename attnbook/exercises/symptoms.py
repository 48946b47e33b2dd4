"""Describe a wrong result that no known mistake explains, as exactly as its numbers allow."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Exercise, Function, Inputs

_TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}  # what float32 computes is right, too

_AXES = "@ contracts the last axis with the second-to-last: transpose with swapaxes(-1, -2)."

# What to think of when an error has these words (regular expressions).
_CLUES = {
    "matmul": _AXES,
    "remapped shapes": _AXES,
    "broadcast together": (
        "Does a sum need keepdims=True, a matrix product @, or a mask another shape?"
    ),
    "not aligned": "Use @, with swapaxes(-1, -2) to transpose: .T reverses all the axes.",
    "boolean index": "The mask broadcasts to the scores: np.where does it for you.",
    "positional argument|keyword argument": "A function that your answer calls takes others.",
}


def to_arrays(result: Any, count: int) -> tuple[Array, ...] | None:
    """Return the result as a tuple of float arrays, or None if it is not numbers."""
    arrays = [_to_array(part) for part in _parts(result, count)]
    found = tuple(array for array in arrays if array is not None)
    return found if len(found) == len(arrays) else None


def _parts(result: Any, count: int) -> Any:
    return result if count > 1 and isinstance(result, tuple | list) else [result]


def _to_array(part: Any) -> Array | None:
    if isinstance(part, np.ma.MaskedArray):  # its masked elements are no numbers
        return None
    try:
        array = np.asarray(part)
    except ValueError:  # rows of different lengths
        return None
    if array.dtype.kind in "fiub" or all(isinstance(x, numbers.Real) for x in array.flat):
        return array.astype(np.float64)
    return None


def same(
    got: tuple[Array, ...] | None, expected: tuple[Array, ...], exact_zeros: bool = False
) -> bool:
    """Tell whether two tuples of arrays have the same shapes and, nearly, the same numbers.

    With weights zeros are exact, since a masked key gets no weight at all; elsewhere a 0 may
    come out as a rounding error.
    """
    return (
        got is not None
        and len(got) == len(expected)
        and all(
            g.shape == e.shape
            and np.allclose(g, e, equal_nan=True, **_TOLERANCE)
            and not (exact_zeros and g[e == 0].any())
            for g, e in zip(got, expected, strict=True)
        )
    )


def describe_error(
    exercise: Exercise, answer: Function, arguments: Inputs, error: Exception, hint: str
) -> str:
    """Say what an answer raised, and what may have caused it."""
    told = ": ".join(filter(None, [type(error).__name__, str(error).rstrip(". ")]))
    if isinstance(error, NotImplementedError):
        return f"{exercise.call} is not written yet: it raised {told}."
    clues = [*exercise.clues.items(), *_CLUES.items()]  # the exercise's own come first
    clue = next((clue for words, clue in clues if re.search(words, str(error))), hint)
    if isinstance(error, TypeError) and not _takes(answer, arguments):
        clue = f"Your function gets: {', '.join(arguments)}."
    return f"{exercise.call} raised {told}. {clue}"


def _takes(function: Function, arguments: Inputs) -> bool:
    """Tell whether a function can be called with so many arguments, as far as Python knows."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some functions written in C have no signature
        return True
    return True


def describe_numbers_for_booleans(result: Any) -> str | None:
    """Say that right values are not boolean, or return None where they are."""
    dtype = np.asarray(result).dtype
    if dtype.kind == "b":
        return None
    return f"the values are right, but have dtype {dtype}: make them bool, as by .astype(bool)."


def describe(exercise: Exercise, result: Any, expected: tuple[Array, ...], hint: str) -> str:
    """Say how a wrong result differs: in kind, number, shape, then in its numbers."""
    if result is None:
        return f"{exercise.call} returned None: is a return missing?"
    parts = _parts(result, len(expected))
    if len(parts) != len(expected):
        wanted = _listed(exercise.returns)
        return f"{exercise.call} must return {len(expected)} arrays, {wanted}; got {len(parts)}."
    for name, part in zip(exercise.returns, parts, strict=True):
        if _to_array(part) is None:
            kind = type(part).__name__
            return f"{name} has the type {kind}; expected real numbers, in full rows."
    got = to_arrays(result, len(expected)) or ()
    for name, g, e in zip(exercise.returns, got, expected, strict=True):
        if g.shape != e.shape:
            clue = ""
            if e.ndim > 1 and g.shape == e.swapaxes(-1, -2).shape:
                clue = " Are the last two axes swapped?"
            elif isinstance(result, tuple) and g.shape == (1, *e.shape):
                clue = " Is it a tuple, made by a stray comma?"
            return f"the shape of {name} is {g.shape}, expected {e.shape}.{clue}"
    for name, g in zip(exercise.returns, got, strict=True):
        if exercise.boolean and not np.isin(g, (0, 1)).all():
            number = g[~np.isin(g, (0, 1))][0]
            return f"{name} has {number:.3g} in it, expected only True and False. {hint}"
        if not np.isfinite(g).all():
            return f"{name} has {g[~np.isfinite(g)].flat[0]} in it. {hint}"
    problem = _weights_problem(got[-1], expected[-1], hint) if exercise.rows_sum_to_one else None
    if problem:
        return problem
    # The last array that is wrong: wrong weights explain a wrong output.
    exact = exercise.rows_sum_to_one
    wrong = max(i for i in range(len(got)) if not same(got[i : i + 1], expected[i : i + 1], exact))
    others = _listed(exercise.returns[wrong + 1 :])
    right = f"you have {others} right, but " if others else ""
    show = (lambda number: str(bool(number))) if exercise.boolean else "{:.3g}".format
    name = exercise.returns[wrong]
    return right + _difference(name, got[wrong], expected[wrong], hint, show, exercise.leading)


def _weights_problem(got: Array, expected: Array, hint: str) -> str | None:
    """Say which property of weights is broken, if one is."""
    if got.min() < 0:
        return f"a weight is negative: {got.min():.3g}. {hint}"
    sums, wanted = got.sum(axis=-1), expected.sum(axis=-1)
    if not np.allclose(sums, wanted, atol=1e-3):
        row = _index_of_largest(np.abs(sums - wanted))
        return f"row {row} sums to {sums[row]:.3g}, not {wanted[row]:.3g}. {hint}"
    leak = np.where(expected == 0, got, 0).max()
    clue = "Is a masked score a number, and not -inf?" if leak < 1e-3 else hint
    return f"a key that should get no weight gets {leak:.3g}. {clue}" if leak else None


def _difference(
    name: str, got: Array, expected: Array, hint: str, show: Function, leading: str
) -> str:
    """Say where, and by how much, two arrays of the same shape differ."""
    if got.ndim > 2 and same((got[0],), (expected[0],)):
        return f"{name} is right for the first {leading}, but not for all. {hint}"
    gap = np.abs(got - expected)
    if gap.max() < 0.01 * np.abs(expected).max():
        return f"{name} is off by {gap.max():.1g}: is a number rounded, or a small one added?"
    where = _index_of_largest(gap)
    place = f"[{', '.join(map(str, where))}]" if where else ""
    return f"{name}{place} is {show(got[where])}, expected {show(expected[where])}. {hint}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(", ".join(names).rsplit(", ", 1))


def _index_of_largest(array: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(array.argmax(), array.shape))
