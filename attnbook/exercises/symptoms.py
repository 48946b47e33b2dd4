"""Describe a wrong result that no known mistake explains, as exactly as its numbers allow."""

from __future__ import annotations

import inspect
import numbers
import re
from typing import Any, NamedTuple

import numpy as np

from attnbook.exercises.exercise import Array, Exercise, Function, Inputs

_TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}  # what float32 computes is right, too

# What to think of when an error of NumPy's or Python's has these words (regular expressions).
_CLUES = {
    "matmul|remapped shapes": "axes_of_matmul",
    "broadcast together": "broadcast_together",
    "not aligned": "not_aligned",
    "boolean index": "boolean_index",
    "positional argument|keyword argument": "calls_others",
}


class Told(NamedTuple):
    """What a reader is told, and the ids of the hints that it is made of."""

    ids: tuple[str, ...]
    text: str


def tell(exercise: Exercise, symptom: str, *more: str, **fields: Any) -> Told:
    """Name a symptom, and then what to think of."""
    parts = [exercise.say(symptom, **fields), *map(exercise.say, more)]
    return Told((symptom, *more), " ".join(parts))


def to_arrays(result: Any, count: int) -> tuple[Array, ...] | None:
    """Return the result as a tuple of float arrays, or None if it is not numbers."""
    arrays = [_to_array(part) for part in _parts(result, count)]
    present = tuple(array for array in arrays if array is not None)
    return present if len(present) == len(arrays) else None


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
) -> Told:
    """Say what an answer raised, and what may have caused it."""
    message = ": ".join(filter(None, [type(error).__name__, str(error).rstrip(". ")]))
    about = {"call": exercise.call, "error": message}
    if isinstance(error, NotImplementedError):
        return tell(exercise, "not_written", **about)
    if isinstance(error, TypeError) and not _takes(answer, arguments):
        return tell(exercise, "other_arguments", **about, arguments=", ".join(arguments))
    clues = [*exercise.clues.items(), *_CLUES.items()]  # the exercise's own come first
    clue = next((clue for words, clue in clues if re.search(words, str(error))), hint)
    return tell(exercise, "raised", clue, **about)


def _takes(function: Function, arguments: Inputs) -> bool:
    """Tell whether a function can be called with so many arguments, as far as Python knows."""
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as error:
        return isinstance(error, ValueError)  # some functions written in C have no signature
    return True


def describe(
    exercise: Exercise, result: Any, expected: tuple[Array, ...], hint: str, first: bool = True
) -> Told:
    """Say how a wrong result differs: in kind, number, shape, then in its numbers.

    ``first`` is False if the answer was right in an earlier case.
    """
    if result is None:
        return tell(exercise, "none", call=exercise.call)
    parts = _parts(result, len(expected))
    if len(parts) != len(expected):
        about = {"call": exercise.call, "names": ", ".join(exercise.returns)}
        return tell(exercise, "count", **about, expected=len(expected), got=len(parts))
    for name, part in zip(exercise.returns, parts, strict=True):
        if _to_array(part) is None:
            return tell(exercise, "kind", name=name, kind=type(part).__name__)
    got = to_arrays(result, len(expected)) or ()
    for name, g, e in zip(exercise.returns, got, expected, strict=True):
        if g.shape != e.shape:
            more = [] if first else [hint]
            if e.ndim > 1 and g.shape == e.swapaxes(-1, -2).shape:
                more = ["swapped_axes"]
            elif isinstance(result, tuple) and g.shape == (1, *e.shape):
                more = ["stray_comma"]
            elif g.ndim < e.ndim and np.squeeze(g).shape == np.squeeze(e).shape:
                more = ["lost_axis"]
            return tell(exercise, "shape", *more, name=name, got=g.shape, expected=e.shape)
    for name, g, e in zip(exercise.returns, got, expected, strict=True):
        if exercise.boolean and not np.isin(g, (0, 1)).all():
            number = g[~np.isin(g, (0, 1))][0]
            return tell(exercise, "not_true_or_false", hint, name=name, number=f"{number:.3g}")
        odd = g[~np.isfinite(g) & (g != e)]
        if odd.size:
            return tell(exercise, "not_finite", hint, name=name, number=odd[0])
    if exercise.rows_sum_to_one and (problem := _weights_problem(exercise, got, expected, hint)):
        return problem
    return _difference(exercise, got, expected, hint)


def _weights_problem(
    exercise: Exercise, arrays: tuple[Array, ...], wanted: tuple[Array, ...], hint: str
) -> Told | None:
    """Say which property of weights, the last of the arrays, is broken, if one is."""
    got, expected = arrays[-1], wanted[-1]
    if got.min() < 0:
        return tell(exercise, "negative_weight", hint, number=f"{got.min():.3g}")
    sums, right = got.sum(axis=-1), expected.sum(axis=-1)
    if not np.allclose(sums, right, atol=1e-3):
        row = _index_of_largest(np.abs(sums - right))
        about = {"row": row, "got": f"{sums[row]:.3g}", "expected": f"{right[row]:.3g}"}
        return tell(exercise, "row_sum", hint, **about)
    leak = np.where(expected == 0, got, 0).max()
    small = "number_for_inf" if "no_mask" in exercise.mistakes else "small_added"
    clue = small if leak < 1e-3 else hint
    return tell(exercise, "leak", clue, number=f"{leak:.3g}") if leak else None


def _difference(
    exercise: Exercise, arrays: tuple[Array, ...], wanted: tuple[Array, ...], hint: str
) -> Told:
    """Say how the last array that is wrong differs: wrong weights explain a wrong output."""
    exact, both = exercise.rows_sum_to_one, list(zip(arrays, wanted, strict=True))
    last = max(i for i, (g, e) in enumerate(both) if not same((g,), (e,), exact))
    got, expected, name = arrays[last], wanted[last], exercise.returns[last]
    if others := exercise.returns[last + 1 : len(arrays)]:
        rest = _difference(exercise, arrays[: last + 1], wanted[: last + 1], hint)
        right = exercise.say("others_right", names=", ".join(others))
        return Told(("others_right", *rest.ids), f"{right} {rest.text}")
    if got.ndim > 2 and same((got[0],), (expected[0],)):
        leading = exercise.say(exercise.leading)
        return tell(exercise, "first_only", hint, name=name, leading=leading)
    gap = np.abs(np.where(got == expected, 0, got) - np.where(got == expected, 0, expected))
    if gap.max() < 0.01 * np.abs(expected[np.isfinite(expected)]).max(initial=0):
        return tell(exercise, "nearly", name=name, gap=f"{gap.max():.1g}")
    where = _index_of_largest(gap)
    name += f"[{', '.join(map(str, where))}]" if where else ""
    show = (lambda number: str(bool(number))) if exercise.boolean else "{:.3g}".format
    about = {"name": name, "got": show(got[where]), "expected": show(expected[where])}
    return tell(exercise, "differs", hint, **about)


def _index_of_largest(array: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(array.argmax(), array.shape))
