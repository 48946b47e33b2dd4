"""Describe a wrong result that no known mistake explains, as exactly as its numbers allow."""

from __future__ import annotations

import inspect
import numbers
import re
from decimal import Decimal
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
    ids = tuple(filter(None, more))
    return Told(
        (symptom, *ids), " ".join([exercise.say(symptom, **fields), *map(exercise.say, ids)])
    )


class Unread(NamedTuple):
    """A part of a result that is no array of real numbers: what the reader is told of it."""

    symptom: str
    fields: dict[str, Any]


class Returned(NamedTuple):
    """What an answer returned, in arrays of NumPy's own: no code of the answer's is in them.

    ``dtypes`` are those that it had; ``is_tuple`` tells whether it was a tuple.
    """

    parts: tuple[Array | Unread, ...]
    dtypes: tuple[np.dtype[Any], ...]
    is_tuple: bool

    @property
    def arrays(self) -> tuple[Array, ...] | None:
        """All parts, or None if one is not numbers."""
        arrays = tuple(part for part in self.parts if not isinstance(part, Unread))
        return arrays if len(arrays) == len(self.parts) else None


def read(result: Any, expected: tuple[Array, ...]) -> Returned | None:
    """Read what an answer returned; None if that is None.

    Whatever it is, a class that raises in each of its methods among others, nothing is raised.
    """
    if result is None:
        return None
    most = max(_MOST, *(4 * e.size for e in expected))
    parts, dtypes = [], []
    for part in _parts(result, expected):
        array, dtype = _to_array(part, most)
        parts.append(array)
        dtypes.append(dtype)
    return Returned(tuple(parts), tuple(dtypes), issubclass(type(result), tuple))


def to_arrays(result: Any, count: int) -> tuple[Array, ...]:
    """Return what a function of our own returned, as a tuple of float arrays."""
    parts = result if count > 1 and isinstance(result, tuple | list) else [result]
    return tuple(np.asarray(part, dtype=np.float64) for part in parts)


_MOST = 10**6  # numbers that are read of a result, where no more are expected


def _parts(result: Any, expected: tuple[Array, ...]) -> list[Any]:
    """Return the several results, or the one; one array may hold several of the right shapes."""
    if len(expected) == 1:
        return [result]
    if issubclass(type(result), tuple | list):
        try:
            return [*result]
        except Exception:  # a class of its own
            return [result]
    if issubclass(type(result), np.ndarray):
        stacked = np.asarray(result)
        one_each = stacked.ndim > 0 and len(stacked) == len(expected)
        if one_each and all(e.shape == stacked.shape[1:] for e in expected):
            return [*stacked]
    return [result]


def _to_array(part: Any, most: int) -> tuple[Array | Unread, np.dtype[Any]]:
    """Return a part's numbers, or what they are instead, and its dtype."""
    kind, nothing = _kind(part), np.dtype(object)
    try:
        if issubclass(type(part), np.ma.MaskedArray):
            count = int(np.ma.getmaskarray(part).sum())
            if count:
                return Unread("masked_elements", {"count": count}), nothing
            part = np.ma.getdata(part)
        if hasattr(type(part), "__next__"):
            return Unread("iterator", {"kind": kind}), nothing
        array = np.asarray(part)
        if array.size > most:  # nothing is copied: it may be a view of one number
            return Unread("too_many", {"count": array.size, "got": array.shape}), nothing
        if array.dtype.kind in "fiub" or (
            array.dtype.kind == "O" and all(_is_real(number) for number in array.flat)
        ):
            return array.astype(np.float64), array.dtype
        if array.dtype != object:
            kind += f"` of `{array.dtype}"
    except OverflowError:  # a whole number of more than 308 digits
        return Unread("beyond_float", {}), nothing
    except Exception:  # rows of different lengths, or whatever a class of its own raises
        pass
    return Unread("kind", {"kind": kind}), nothing


def _is_real(number: Any) -> bool:
    return issubclass(type(number), numbers.Real | Decimal)


def _kind(part: Any) -> str:
    return str(type.__dict__["__name__"].__get__(type(part)))


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
    exercise: Exercise, answer: Function, arguments: Inputs, error: BaseException, hint: str
) -> Told:
    """Say what an answer raised, and what may have caused it."""
    words = _words(error)
    message = ": ".join(filter(None, [_kind(error), words.rstrip(". ")]))
    about = {"call": exercise.call, "error": message}
    if isinstance(error, NotImplementedError):
        return tell(exercise, "not_written", **about)
    if isinstance(error, TypeError) and not _takes(answer, arguments):
        return tell(exercise, "other_arguments", **about, arguments=", ".join(arguments))
    clues = [*exercise.clues.items(), *_CLUES.items()]  # the exercise's own come first
    clue = next((clue for pattern, clue in clues if re.search(pattern, words)), hint)
    return tell(exercise, "raised", clue, **about)


def _words(error: BaseException) -> str:
    """Return an error's message: one line, and no longer than one reads."""
    try:
        words = str(error)
    except Exception:  # an error of its own
        return ""
    words = " ".join(words[:_LONGEST].split())
    return words + " ..." if len(words) == _LONGEST else words


_LONGEST = 500  # letters of an error


def _takes(function: Function, arguments: Inputs) -> bool:
    """Tell whether a function can be called with so many arguments, as far as Python knows."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except Exception:  # some functions written in C have no signature
        return True
    return True


def describe(
    exercise: Exercise,
    returned: Returned | None,
    expected: tuple[Array, ...],
    hint: str,
    first: bool = True,
) -> Told:
    """Say how a wrong result differs: in kind, number, shape, then in its numbers.

    ``first`` is False if the answer was right in an earlier case.
    """
    if returned is None:
        return tell(exercise, "none", call=exercise.call)
    parts = returned.parts
    if len(parts) != len(expected):
        about = {"call": exercise.call, "names": ", ".join(exercise.returns)}
        return tell(exercise, "count", **about, expected=len(expected), got=len(parts))
    got: list[Array] = []
    for name, part, e in zip(exercise.returns, parts, expected, strict=True):
        if isinstance(part, Unread):
            return tell(exercise, part.symptom, name=name, **part.fields, expected=e.shape)
        got.append(part)
    for name, g, e in zip(exercise.returns, got, expected, strict=True):
        if g.shape != e.shape:
            more = [] if first else [hint]
            if e.ndim > 1 and g.shape == e.swapaxes(-1, -2).shape:
                more = ["swapped_axes"]
            elif returned.is_tuple and g.shape == (1, *e.shape):
                more = ["stray_comma"]
            elif e.shape == () and g.size == 1:
                more = ["one_number"]
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
    arrays = tuple(got)
    if exercise.rows_sum_to_one and (problem := _weights_problem(exercise, arrays, expected, hint)):
        return problem
    half = np.dtype(np.float16)
    if half in returned.dtypes and all(
        np.allclose(g, e, rtol=2e-3, atol=2e-3, equal_nan=True)
        for g, e in zip(got, expected, strict=True)
    ):
        return tell(exercise, "low_precision", dtype=half)
    return _difference(exercise, arrays, expected, hint)


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
        # What was counted while it played is wrong for another reason than the case's numbers.
        hint = hint if exercise.play is Exercise.play else ""
        rest = _difference(exercise, arrays[: last + 1], wanted[: last + 1], hint)
        right = exercise.say("others_right", names=", ".join(others))
        return Told(("others_right", *rest.ids), f"{right} {rest.text}")
    if got.ndim > 2 and same((got[0],), (expected[0],)):
        leading = exercise.say(exercise.leading)
        return tell(exercise, "first_only", hint, name=name, leading=leading)
    gap = np.abs(np.where(got == expected, 0, got) - np.where(got == expected, 0, expected))
    for decimals in range(1, 8):
        if got.any() and np.allclose(
            got, np.round(expected, decimals), rtol=0, atol=1e-9, equal_nan=True
        ):
            return tell(exercise, "rounded", name=name, decimals=decimals)
    counts = (expected == np.round(expected)).all()  # of which each is right or wrong
    if not counts and gap.max() < 0.01 * np.abs(expected[np.isfinite(expected)]).max(initial=0):
        return tell(exercise, "nearly", name=name, gap=f"{gap.max():.1g}")
    where = _index_of_largest(gap)
    name += f"[{', '.join(map(str, where))}]" if where else ""
    show = (lambda number: str(bool(number))) if exercise.boolean else "{:.3g}".format
    about = {"name": name, "got": show(got[where]), "expected": show(expected[where])}
    return tell(exercise, "differs", hint, **about)


def _index_of_largest(array: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(array.argmax(), array.shape))
