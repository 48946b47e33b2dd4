"""The exercises of the chapter Tell positions apart with sine and cosine."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import (
    FREQUENCIES,
    but,
    each,
    exponents,
    frequencies,
    number_cases,
    returning,
)
from attnbook.positional import relative_rotation, sinusoidal_encoding


def _first(right: Function, **change: Function) -> dict[str, Function]:
    """Give a right answer another first argument than it should get."""
    return each(lambda of: lambda first, *rest: right(of(first), *rest), **change)


_CLUES = {
    "[Ii]ntegers to negative integer powers": "fraction_first",
    "cannot be interpreted as an integer": "whole_number",
}


def _encode(length: int, d_model: int, base: float) -> Array:
    return sinusoidal_encoding(length, d_model, base=base)


def _waves(angles: Array) -> Any:
    return np.where(np.arange(angles.shape[1]) % 2, np.cos(angles), np.sin(angles))


def _encoded(frequencies: Function = frequencies, wave: Function = _waves) -> Function:
    """Make an encoding of frequencies, one for each pair or each column."""
    return lambda n, d, b: wave(np.c_[:n] * np.repeat(w := frequencies(d, b), d // len(w)))


_angles = _encoded(wave=np.copy)

# Those that a sum shows, too.
_ENCODINGS: dict[str, Function] = dict(
    **each(_encoded, **FREQUENCIES, own_exponents=lambda d, b: b ** (-np.arange(d) / d)),
    from_one=lambda n, d, b: _encode(n + 1, d, b)[1:],
    **returning(_encode, halves=lambda e: np.hstack([e[:, 0::2], e[:, 1::2]])),
    **returning(_encode, cosine_first=lambda e: e[:, np.arange(e.shape[1]) ^ 1]),
)

_SINUSOIDAL = Exercise(
    call="encode(length, d_model, base)",
    reference=_encode,
    cases=number_cases(
        "first_rows other_base integer_base one_pair one_position long",
        length=[7, 5, 13, 11, 1, 5003],
        d_model=[10, 22, 6, 2, 14, 4],
        base=[50.0, 10000.0, 300, 20.0, 100.0, 16.0],  # the last: exact in float32, too
    ),
    mistakes=dict(
        _ENCODINGS,
        by_column=_encoded(lambda d, b: b ** (-2 * np.arange(d) / d)),
        power_alone=_encoded(lambda d, b: -exponents(d) / 2 / b**2),
        power_of_both=lambda n, d, b: _waves((np.c_[:n] / b) ** -np.repeat(exponents(d), 2)),
        **returning(_angles, sines_alone=np.sin, by_rows=lambda a: _waves(a.T).T),
        **returning(_angles, angles=np.copy, by_length=lambda a: _waves(a / len(a))),
        **returning(_encode, transposed=np.transpose, cut_to_integers=np.trunc),
        **returning(_encode, stacked=lambda e: e.reshape(len(e), -1, 2)),
        **returning(_encode, padded=lambda e: e * (np.c_[: len(e)] > 0)),
        **returning(_encode, cosine_halves=lambda e: np.hstack([e[:, 1::2], e[:, 0::2]])),
    ),
    clues=_CLUES | {"broadcast": "rows_and_columns", "out of bounds": "columns_of_pair"},
)


def _rotation(offset: float, d_model: int, base: float) -> Array:
    return relative_rotation(offset, d_model, base=base)


def _blocked(block: str = "c s -s c", of: Function = frequencies, axes: str = "piqj") -> Function:
    """Make a matrix of a block for each pair; axes "ipjq" have all sines before all cosines."""

    def matrix(offset: float, d: int, base: float) -> Any:
        c, s = np.cos(angles := offset * of(d, base)), np.sin(angles)
        entries = {"c": c, "-c": -c, "s": s, "-s": -s}
        blocks = np.reshape([entries[entry] for entry in block.split()], (2, 2, d // 2))
        return np.einsum(f"ijp,pq->{axes}", blocks, np.eye(d // 2)).reshape(d, d)

    return matrix


_IN_BLOCKS: dict[str, Function] = dict(
    last_block=lambda m: m[-2:, -2:],
    one_by_one=lambda m: [m[i : i + 2, i : i + 2] for i in range(0, len(m), 2)],
)

_ROTATION = Exercise(
    call="rotation(offset, d_model, base)",
    reference=_rotation,
    cases=number_cases(
        "of_p negative sizes nothing_moves one_pair long",
        offset=[3, -2, 5, 0, 7, 5003],
        d_model=[10, 6, 14, 6, 2, 4],
        base=[50.0, 10000.0, 300, 20.0, 30.0, 16.0],
    ),
    mistakes=dict(
        **each(_blocked, transposed="c -s s c", two_pluses="c s s c", two_minuses="c -s -s c"),
        **each(_blocked, sine_first="s c -c s", minus_at_cosine="c s s -c", reflection="-c s s c"),
        halves=_blocked(axes="ipjq"),
        halves_back=_blocked("c -s s c", axes="ipjq"),
        **_first(_rotation, no_offset=lambda p: 1, one_too_far=lambda p: p + 1, no_sign=abs),
        added=lambda p, d, b: _blocked(of=lambda d, b: p + frequencies(d, b))(1, d, b),
        identity=lambda p, d, b: np.eye(d),
        shifted_columns=lambda p, d, b: np.roll(np.eye(d), p, axis=0),
        **returning(_rotation, **_IN_BLOCKS, around_ones=lambda m: np.where(m == 0, 1, m)),
        **returning(_rotation, no_sine_below=np.triu, no_sines=lambda m: np.diag(np.diag(m))),
        **returning(_rotation, cut_to_integers=np.trunc),
        **returning(_rotation, encoding=lambda m: m[:, 1::2].sum(axis=1)),
        **returning(_rotation, on_diagonal=lambda m: np.diag(m[:, 1::2].sum(axis=1))),
        **each(lambda wrong: _blocked(of=wrong), **FREQUENCIES),
        last_frequency=_blocked(of=lambda d, b: np.full(d // 2, frequencies(d, b)[-1])),
        offset_in_degrees=_blocked(of=lambda d, b: np.full(d // 2, np.pi / 180)),
    ),
    clues=_CLUES | {"out of bounds|broadcast": "block_of_pair"},
)


def _add_cases(rng: np.random.Generator) -> Cases:
    shapes = {"second_axis": (5, 5, 6), "seven_tokens": (3, 7, 10), "sizes": (11, 2, 14)}
    for hint, shape in shapes.items():
        yield {"x": rng.standard_normal(shape)}, hint
    yield {"x": rng.integers(-9, 10, (2, 5, 6))}, "stored_as_integers"
    yield {"x": rng.standard_normal((1, 5003, 2))}, "long"


def _added(combine: Function) -> Function:
    """Make a sum, or another function, of x and its right encoding."""
    return lambda x: combine(x, sinusoidal_encoding(*x.shape[1:]))


_ADD_POSITIONS = Exercise(
    call="add_positions(x)",
    reference=_added(np.add),
    cases=_add_cases,
    mistakes=dict(
        **each(_added, of_first=lambda x, e: x + e[0], of_last=lambda x, e: x + e[-1]),
        **each(_added, mean=lambda x, e: x + e.mean(axis=0), backwards=lambda x, e: x + e[::-1]),
        **each(_added, encoding_alone=lambda x, e: e, product=np.multiply, subtracted=np.subtract),
        numbers=_added(lambda x, e: x + np.c_[: len(e)]),
        by_root=_added(lambda x, e: x + e / np.sqrt(x.shape[2])),
        by_norm=_added(lambda x, e: x + e / np.sqrt(x.shape[2] / 2)),
        scaled_x=_added(lambda x, e: x * np.sqrt(x.shape[2]) + e),
        first_sequence=_added(lambda x, e: np.concatenate([x[:1] + e, x[1:]])),
        concatenated=_added(lambda x, e: np.concatenate([x, 0 * x + e], axis=2)),
        as_tokens=_added(lambda x, e: np.concatenate([0 * x + e, x], axis=1)),
        cut_to_integers=_added(lambda x, e: (x + e).astype(x.dtype)),
        by_batch=lambda x: x + sinusoidal_encoding(len(x), x.shape[2])[:, None],
        of_len=lambda x: x + sinusoidal_encoding(x.shape[1] + 1, x.shape[2])[-1],
        counted_on=lambda x: x + sinusoidal_encoding(x[..., 0].size, x.shape[2]).reshape(x.shape),
        of_features=lambda x: x + sinusoidal_encoding(x.shape[2], 2 * x.shape[1])[:, ::2].T,
        fixed_base=lambda x: x + sinusoidal_encoding(*x.shape[1:], base=1000),
        **each(lambda e: lambda x: x + e(*x.shape[1:], 1e4), **but(_ENCODINGS, "fixed_base")),
    ),
    clues=_CLUES
    | {
        "5003": "long",
        "broadcast": "row_per_token",
        "Cannot cast": "in_place_sum",
        "bounds|unpack": "three_axes",
    },
)


def _cosines(offset: float, d_model: int, base: float) -> Any:
    return np.cos(offset * frequencies(d_model, base))


def _score(offset: float, d_model: int, base: float) -> Any:
    return _cosines(offset, d_model, base).sum()


_OFFSET_SCORE = Exercise(
    call="offset_score(offset, d_model, base)",
    returns=("score",),
    reference=_score,
    cases=number_cases(
        "three_apart negative far_apart no_offset_here negative_score long",
        offset=[3, -13, 38, 0, 3, 5003],
        d_model=[10, 6, 14, 22, 2, 4],
        base=[50.0, 10000.0, 300, 20.0, 30.0, 16.0],
    ),
    mistakes=dict(
        sines=lambda o, d, b: np.sin(o * frequencies(d, b)).sum(),
        sines_and_cosines=lambda o, d, b: (np.sin(a := o * frequencies(d, b)) + np.cos(a)).sum(),
        cosine_of_sum=lambda o, d, b: np.cos(o * frequencies(d, b).sum()),
        **returning(_cosines, product=np.prod, one_by_one=np.copy, mean=np.mean, with_itself=len),
        **returning(_cosines, first_pair=lambda c: c[0], last_pair=lambda c: c[-1]),
        **returning(_cosines, squares=lambda c: c @ c, absolute_cosines=lambda c: abs(c).sum()),
        **returning(_score, absolute=abs, twice=lambda score: 2 * score),
        **returning(_cosines, by_d_model=lambda c: c.mean() / 2),
        **returning(_cosines, by_root=lambda c: c.sum() / np.sqrt(2 * len(c))),
        **returning(_cosines, distance=lambda c: np.sqrt(2 * (1 - c).sum())),
        **_first(_score, no_offset=lambda offset: 1, one_too_far=lambda offset: offset + 1),
        offset_outside=lambda o, d, b: o * _score(1, d, b),
        sines_of_0=lambda o, d, b: 0,
        **each(lambda wrong: lambda o, d, b: np.cos(o * wrong(d, b)).sum(), **FREQUENCIES),
    ),
    clues=_CLUES | {"out of bounds": "long_table", "negative": "negative"},
)


_turned = _blocked("-c s s c")  # end and p into end - p


def _reversed(block: str = "-c s s c", **others: Any) -> Function:
    return lambda length, d, b: _blocked(block, **others)(length - 1, d, b)


_REVERSAL = Exercise(
    call="reversal(length, d_model, base)",
    reference=lambda n, d, b: _rotation(n - 1, d, b) @ np.diag([-1, 1] * (d // 2)),
    # More positions than columns, so that one matrix alone reverses them all.
    cases=number_cases(
        "of_p other_base sizes one_pair long",
        length=[23, 59, 97, 5, 5003],
        d_model=[10, 6, 14, 2, 4],
        base=[50.0, 10000.0, 300, 30.0, 16.0],
    ),
    mistakes=dict(
        **each(_reversed, rotation="c s -s c", rotation_back="c -s s c", moved_first="-c -s -s c"),
        **each(_reversed, wrong_cosine="c s s -c", pluses="c s s c", two_minuses="-c s s -c"),
        **each(_reversed, minus_below="-c s -s c", negative="c -s -s -c", sine_first="-s c c s"),
        halves=_reversed(axes="ipjq"),
        **_first(_turned, from_length=lambda n: n, too_short=lambda n: n - 2, about_0=lambda n: 0),
        **_first(_turned, middle=lambda n: (n - 1) / 2, half_of_length=lambda n: n / 2),
        cosines_turned=lambda length, d, b: np.diag([1, -1] * (d // 2)),
        swapped_pairs=lambda length, d, b: np.eye(d)[np.arange(d) ^ 1],
        identity=lambda length, d, b: np.eye(d),
        columns_reversed=lambda length, d, b: np.fliplr(np.eye(d)),
        rows_reversed=lambda length, d, b: np.fliplr(np.eye(length)),
        encodings=lambda length, d, b: _encode(length, d, b)[::-1],
        **returning(_reversed(), **_IN_BLOCKS, cut_to_integers=np.trunc),
        **each(lambda wrong: _reversed(of=wrong), **FREQUENCIES),
    ),
    clues=_CLUES | {"out of bounds|broadcast": "block_of_pair"},
)


EXERCISES = with_hints(
    __file__,
    {"sinusoidal": _SINUSOIDAL, "rotation": _ROTATION, "add-positions": _ADD_POSITIONS}
    | {"offset-score": _OFFSET_SCORE, "reversal": _REVERSAL},
)
