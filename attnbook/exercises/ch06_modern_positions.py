"""The exercises of the chapter Rotate queries and keys: modern positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import (
    FREQUENCIES,
    each,
    frequencies,
    number_cases,
    returning,
    taking,
)
from attnbook.positional import alibi_bias, apply_rotary, sinusoidal_encoding

# Rotary


def _rotary_cases(rng: np.random.Generator) -> Cases:
    def inputs(shape: tuple[int, ...], base: float, positions: Any) -> dict[str, Any]:
        return {"x": rng.standard_normal(shape), "positions": np.array(positions), "base": base}

    yield inputs((5, 5, 10), 50.0, [7, 2, 0, 11, 4]), "by_pair"
    yield inputs((2, 7, 22), 10000.0, [-2.5, -1, 0, 0.25, 3, 8, 40]), "any_numbers"
    yield inputs((2, 3, 5, 6), 300, [1, 2, 3, 4, 5]), "leading_axes"
    yield inputs((3, 14), 100.0, [9, 1, 5]), "leading_axes"
    yield inputs((3, 11, 2), 20.0, range(3, 14)), "one_pair"
    integers = inputs((2, 5, 6), 30.0, [5, 8, 13, 21, 34])
    yield {**integers, "x": rng.integers(-9, 10, (2, 5, 6))}, "stored_as_integers"
    yield inputs((3, 1, 6), 10000.0, [17]), "single"
    yield inputs((1, 5003, 4), 20.0, range(0, 1_000_600, 200)), "far"


def _apart(x: Array) -> tuple[Array, Array]:
    return x[..., 0::2], x[..., 1::2]


def _together(first: Array, second: Array) -> Array:
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _cut(x: Array) -> tuple[Array, Array]:
    first, second = np.split(x, 2, axis=-1)
    return first, second


def _joined(*parts: Array) -> Array:
    return np.concatenate(parts, axis=-1)


def _turn(x: Array, y: Array, c: Array, s: Array) -> tuple[Array, Array]:
    return x * c - y * s, x * s + y * c


def _rotated(
    of: Function = frequencies,
    turn: Function = _turn,
    apart: Function = _apart,
    together: Function = _together,
) -> Function:
    """Make a rotation: of frequencies, by a turn of two numbers, of pairs that are taken apart."""

    def rotate(x: Array, positions: Array, base: float) -> Any:
        angles = positions[:, None] * of(x.shape[-1], base)
        return together(*turn(*apart(x), np.cos(angles), np.sin(angles)))

    return rotate


def _by_columns(columns: Function, partner: Function) -> Function:
    """Make a rotation by tables with a frequency for each column, and each column's partner."""

    def rotate(x: Array, positions: Array, base: float) -> Any:
        angles = positions[:, None] * columns(x.shape[-1], base)
        return x * np.cos(angles) + partner(x) * np.sin(angles)

    return rotate


def _beside(x: Array) -> Array:
    first, second = _apart(x)
    return _together(-second, first)


def _half_away(x: Array) -> Array:
    first, second = _cut(x)
    return _joined(-second, first)


def _overwritten(x: Array, y: Array, c: Array, s: Array) -> tuple[Array, Array]:
    x = x * c - y * s
    return x, x * s + y * c


def _of_all_heads(x: Array, positions: Array, base: float) -> Any:
    d_model = x.shape[-3] * x.shape[-1]
    return _rotated(lambda d, b: b ** (-2 * np.arange(d // 2) / d_model))(x, positions, base)


def _float32_angles(x: Array, positions: Array, base: float) -> Any:
    angles = np.asarray(positions[:, None] * frequencies(x.shape[-1], base), dtype=np.float32)
    return _together(*_turn(*_apart(x), np.cos(angles), np.sin(angles)))


def _by_batch(x: Array, positions: Array, base: float) -> Any:
    if len(x) != x.shape[-2]:  # of one long sequence the angles would be spread over its square
        raise ValueError("positions are not those of the batch")
    return np.swapaxes(_ROTATED(np.swapaxes(x, 0, -2), positions, base), 0, -2)


_ROTATED = _rotated()

_ROTARY = Exercise(
    call="rotary(x, positions, base)",
    reference=lambda x, positions, base: apply_rotary(x, positions, base=base),
    cases=_rotary_cases,
    mistakes=dict(
        **each(
            lambda turn: _rotated(turn=turn),
            backwards=lambda x, y, c, s: (x * c + y * s, y * c - x * s),
            two_pluses=lambda x, y, c, s: (x * c + y * s, x * s + y * c),
            two_minuses=lambda x, y, c, s: (x * c - y * s, y * c - x * s),
            sine_first=lambda x, y, c, s: _turn(x, y, s, c),
            swapped_pair=lambda x, y, c, s: _turn(x, y, c, s)[::-1],
            overwritten=_overwritten,
            no_sines=lambda x, y, c, s: (x * c, y * c),
            first_of_pair=lambda x, y, c, s: (x * c - y * s, y),
            second_of_pair=lambda x, y, c, s: (x, x * s + y * c),
            product=lambda x, y, c, s: (x * s, y * c),
            added=lambda x, y, c, s: (x + s, y + c),
        ),
        halves=_rotated(apart=_cut, together=_joined),
        halves_back=_rotated(
            turn=lambda x, y, c, s: _turn(x, y, c, -s), apart=_cut, together=_joined
        ),
        halves_out=_rotated(together=_joined),
        halves_in=_rotated(apart=_cut),
        pairs_apart=_rotated(together=lambda x, y: np.stack([x, y], axis=-1)),
        tables_in_halves=_by_columns(lambda d, b: np.tile(frequencies(d, b), 2), _beside),
        partner_in_halves=_by_columns(lambda d, b: np.repeat(frequencies(d, b), 2), _half_away),
        own_exponents=_by_columns(lambda d, b: b ** (-np.arange(d) / d), _beside),
        **each(_rotated, **FREQUENCIES, of_64=lambda d, b: b ** (-np.arange(d // 2) / 32)),
        last_frequency=_rotated(lambda d, b: np.full(d // 2, frequencies(d, b)[-1])),
        over_d_model=_of_all_heads,
        by_batch=_by_batch,
        **taking(
            _ROTATED,
            counted=lambda x, p, b: (x, np.arange(len(p)), b),
            from_one=lambda x, p, b: (x, p + 1, b),
            first_position=lambda x, p, b: (x, np.full(len(p), p[0]), b),
            reversed_positions=lambda x, p, b: (x, p[::-1], b),
            half_angle=lambda x, p, b: (x, p / 2, b),
            twice=lambda x, p, b: (x, 2 * p, b),
            by_length=lambda x, p, b: (x, p / len(p), b),
            no_sign=lambda x, p, b: (x, np.abs(p), b),
            clipped=lambda x, p, b: (x, np.maximum(p, 0), b),
            whole_positions=lambda x, p, b: (x, p.astype(int), b),
        ),
        unchanged=lambda x, p, b: x,
        cut_to_integers=lambda x, p, b: _ROTATED(x, p, b).astype(x.dtype),
        float32_angles=_float32_angles,
    ),
    clues={
        "out of bounds": "far",
        "must be of integer|slice indices": "any_numbers",
        "[Ii]ntegers to negative integer powers": "float_base",
        "Cannot cast": "stored_as_integers",
        "unpack": "leading_axes",
        "broadcast": "column_of_positions",
    },
)


# From halves to interleaved pairs


def _interleave_cases(rng: np.random.Generator) -> Cases:
    for hint, num_heads, *shape in (
        ("second_column", 4, 40, 40),
        ("sizes", 3, 7, 18),
        ("one_head", 1, 5, 14),
        ("bias", 5, 30),
        ("one_pair", 5, 11, 10),
        ("single", 3, 1, 18),
        ("sizes", 2, 13, 256),
    ):
        yield {"w": rng.standard_normal(shape), "num_heads": num_heads}, hint


def _order(num_heads: int, head_dim: int) -> Any:
    """Return which column of the halves goes where: [head, pair, first or second]."""
    columns = np.arange(num_heads * head_dim).reshape(num_heads, 2, -1)
    return columns.swapaxes(1, 2)


def _taken(order: Function) -> Function:
    """Make a permutation of the columns from the number of heads and their size."""
    return lambda w, n: w[..., np.ravel(order(n, w.shape[-1] // n))]


_INTERLEAVED = _taken(_order)


def _first_head(num_heads: int, head_dim: int) -> Any:
    order = np.arange(num_heads * head_dim)
    order[:head_dim] = _order(1, head_dim).ravel()
    return order


_INTERLEAVE = Exercise(
    call="interleave(w, num_heads)",
    reference=_INTERLEAVED,
    cases=_interleave_cases,
    mistakes=dict(
        **each(
            _taken,
            inverse=lambda n, d: np.argsort(_order(n, d), axis=None),
            across_heads=lambda n, d: _order(1, n * d),
            second_first=lambda n, d: _order(n, d)[:, :, ::-1],
            halves_swapped=lambda n, d: np.arange(n * d).reshape(n, 2, -1)[:, ::-1],
            pairs_reversed=lambda n, d: _order(n, d)[:, ::-1],
            heads_reversed=lambda n, d: _order(n, d)[::-1],
            sizes_swapped=lambda n, d: _order(d, n),
            heads_inside=lambda n, d: np.arange(n * d).reshape(n, 2, -1).T,
            first_head=_first_head,
            no_start=lambda n, d: np.tile(_order(1, d).ravel(), n),
            first_halves=lambda n, d: np.repeat(np.arange(n * d).reshape(n, 2, -1)[:, 0], 2),
        ),
        unchanged=lambda w, n: w,
        rows=lambda w, n: _INTERLEAVED(w.T, n).T,
        transposed=lambda w, n: _INTERLEAVED(w, n).T,
        minus=lambda w, n: _INTERLEAVED(w, n) * np.tile([1, -1], w.shape[-1] // 2),
        indices=lambda w, n: _order(n, w.shape[-1] // n).ravel(),
        pairs_apart=lambda w, n: _INTERLEAVED(w, n).reshape(*w.shape[:-1], n, -1, 2),
        heads_apart=lambda w, n: _INTERLEAVED(w, n).reshape(*w.shape[:-1], n, -1),
        cut_to_integers=lambda w, n: np.trunc(_INTERLEAVED(w, n)),
    ),
    clues={
        "unpack": "bias",
        "out of bounds|cannot reshape|broadcast|axis": "last_axis",
        "indices": "bias",
    },
)


# ALiBi


def _slopes(num_heads: int) -> Any:
    return 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)


def _query_positions(len_q: int, len_k: int) -> Any:
    return np.arange(len_k - len_q, len_k)


def _distance(len_q: int, len_k: int) -> Any:
    return np.abs(_ahead(len_q, len_k))


def _ahead(len_q: int, len_k: int) -> Any:
    """Return how far each key is ahead of each query; behind, it is negative."""
    return np.arange(len_k) - _query_positions(len_q, len_k)[:, None]


def _biased(slopes: Function = _slopes, lowered: Function = _distance) -> Function:
    return lambda n, q, k: slopes(n)[:, None, None] * -lowered(q, k)


def _with_slopes(slopes: Function) -> Function:
    """Make a bias of slopes of the numbers 1, 2, ..., num_heads."""
    return _biased(lambda n: slopes(np.arange(1.0, n + 1), n))


_ALIBI = Exercise(
    call="alibi(num_heads, len_q, len_k)",
    reference=alibi_bias,
    cases=number_cases(
        "fewer_queries as_many one_head one_query other_heads long",
        num_heads=[4, 8, 1, 16, 2, 2],
        len_q=[3, 5, 2, 1, 7, 3],
        len_k=[7, 5, 3, 11, 13, 5003],
    ),
    mistakes=dict(
        **each(
            lambda lowered: _biased(lowered=lowered),
            first_key=lambda q, k: np.abs(np.arange(k) - np.c_[:q]),
            one_ahead=lambda q, k: np.abs(_ahead(q, k) - 1),
            one_behind=lambda q, k: np.abs(_ahead(q, k) + 1),
            positive=lambda q, k: -_distance(q, k),
            signed=lambda q, k: -_ahead(q, k),
            signed_back=_ahead,
            future_free=lambda q, k: np.maximum(-_ahead(q, k), 0),
            past_free=lambda q, k: np.maximum(_ahead(q, k), 0),
            future_hidden=lambda q, k: np.where(_ahead(q, k) > 0, np.inf, _distance(q, k)),
            key_alone=lambda q, k: -np.arange(k) + np.zeros((q, 1), int),
            one_more=lambda q, k: _distance(q, k) + 1,
            squared=lambda q, k: _distance(q, k) ** 2,
            logarithm=lambda q, k: np.log1p(_distance(q, k)),
            by_length=lambda q, k: _distance(q, k) / k,
            queries_reversed=lambda q, k: _distance(q, k)[::-1],
        ),
        **each(
            _with_slopes,
            from_h=lambda h, n: 2 ** (-8 * (h - 1) / n),
            divided=lambda h, n: 2 ** (-8 / h),
            base_e=lambda h, n: np.exp(-8 * h / n),
            of_eight=lambda h, n: 2**-h,
            one_more_head=lambda h, n: 2 ** (-8 * h / (n + 1)),
            no_minus=lambda h, n: 2 ** (8 * h / n),
            same_slope=lambda h, n: 2 ** (-8 / n) * np.ones(len(h)),
            last_slope=lambda h, n: 2**-8 * np.ones(len(h)),
            heads_reversed=lambda h, n: 2 ** (-8 * (n + 1 - h) / n),
            inverse_number=lambda h, n: 1 / h,
            linear=lambda h, n: h / n,
            no_slopes=lambda h, n: h**0,
            whole_exponents=lambda h, n: 2 ** (-(8 // n) * h),
        ),
        **returning(
            alibi_bias,
            transposed=lambda bias: bias.swapaxes(1, 2),
            heads_last=lambda bias: bias.transpose(1, 2, 0),
            one_bias=lambda bias: bias[0],
            summed=lambda bias: bias.sum(axis=0),
            exponential=np.exp,
            cut_to_integers=np.trunc,
        ),
    ),
    leading="head",
    clues={
        "[Ii]ntegers to negative integer powers": "float_power",
        "broadcast": "three_axes",
        "out of bounds": "long",
    },
)


# The next positions


def _padded(len_: int, *real: int) -> Any:
    """Return which tokens are real where so many of each sequence are, behind the padding."""
    return np.arange(len_) >= len_ - np.c_[list(real)]


def _next_cases(rng: np.random.Generator) -> Cases:
    for hint, num_new, real in (
        ("real_tokens", 3, _padded(5, 3, 2, 1, 4, 2)),
        ("seven_tokens", 2, _padded(7, 4, 7, 2)),
        ("no_padding", 5, _padded(4, 4, 4)),
        ("nothing_real", 2, _padded(6, 6, 0, 3)),
        ("single", 1, _padded(3, 2)),
        ("long", 3, _padded(9001, 9001, 8999)),
    ):
        yield {"real": real, "num_new": num_new}, hint


def _following(count: Function) -> Function:
    """Make the positions that follow a count of each sequence, of shape (batch, 1)."""
    return lambda real, n: count(real) + np.arange(n) + np.zeros((len(real), 1), int)


def _count(real: Array) -> Any:
    return real.sum(axis=1, keepdims=True)


_NEXT = _following(_count)

_NEXT_POSITIONS = Exercise(
    call="next_positions(real, num_new)",
    returns=("positions",),
    reference=_NEXT,
    cases=_next_cases,
    mistakes=dict(
        **each(
            _following,
            by_len=lambda r: r.shape[1],
            one_more=lambda r: _count(r) + 1,
            one_less=lambda r: _count(r) - 1,
            from_zero=lambda r: 0,
            padding_counted=lambda r: _count(~r),
            twice_padded=lambda r: r.shape[1] + _count(~r),
            longest=lambda r: _count(r).max(),
            shortest=lambda r: _count(r).min(),
            of_first=lambda r: _count(r)[0],
            total=lambda r: r.sum(),
            by_columns=lambda r: r.sum(axis=0)[:, None],
            up_to_first=lambda r: r.argmax(axis=1)[:, None] + 1,
            place_of_first=lambda r: r.argmax(axis=1)[:, None],
        ),
        no_steps=lambda r, n: _count(r) + np.zeros(n, int),
        counted_down=lambda r, n: _NEXT(r, n)[:, ::-1],
        steps_counted_on=lambda r, n: _count(r) + np.arange(len(r) * n).reshape(-1, n),
        all_positions=lambda r, n: np.c_[np.cumsum(r, axis=1) - 1, _NEXT(r, n)],
        old_positions=lambda r, n: np.cumsum(r, axis=1) - 1,
        first_new=lambda r, n: _count(r),
        last_new=lambda r, n: _count(r) + n - 1,
        one_row=lambda r, n: _NEXT(r, n)[0],
        flat=lambda r, n: _NEXT(r, n).ravel(),
        transposed=lambda r, n: _NEXT(r, n).T,
    ),
    clues={
        "axis 0 with size 0": "nothing_real",
        "out of bounds": "long",
        "broadcast": "row_per_sequence",
    },
)


# Does a score depend on the offset alone?


def _positions(length: int) -> tuple[Any, Any]:
    return np.arange(float(length))[:, None], np.arange(float(length))


def _score(table: Array) -> Function:
    def score(m: int, n: int) -> float:
        if min(m, n) < 0 or max(m, n) >= len(table):
            raise IndexError(f"score({m}, {n}) is outside of the positions")
        return float(table[m, n])

    return score


def _rotary_table(rng: np.random.Generator, length: int) -> Any:
    """Return the scores of a query and a key at all positions; the largest is 1."""
    query, key = (
        apply_rotary(np.tile(vector, (length, 1))) for vector in rng.standard_normal((2, 10))
    )
    scores = query @ key.T
    return scores / np.abs(scores).max()


def _added_table(rng: np.random.Generator, length: int) -> Any:
    tokens = sinusoidal_encoding(length, 10) + rng.standard_normal(10)
    return tokens @ rng.standard_normal((10, 10)) @ tokens.T


def _changed(table: Array, m: int, n: int) -> Any:
    """Return a table in which one score is another."""
    changed = table.copy()
    changed[m, n] += 0.5
    return changed


def _offset_cases(rng: np.random.Generator) -> Cases:
    m, n = _positions(23)
    turned = _rotary_table(rng, 23)
    one = _changed(turned, 17, 5)
    last = _rotary_table(rng, 151)
    last[140:, 140:] += np.arange(11.0)
    quarter = np.pi / 4
    ends = [_changed(turned, *at) for at in ((0, 3), (3, 0), (22, 9), (9, 22))]
    # Among so many, who tries a few at random finds none of them.
    lonely = [_changed(_rotary_table(rng, 151), *at) for at in rng.integers(2, 149, (3, 2))]
    for hint, table in (
        ("alibi", -np.abs(m - n) / 4),
        ("key_alone", 0 * m + 10 * np.sin(n)),
        ("symmetric", 100 * np.cos(m) * np.cos(n)),
        ("added", 100 * _added_table(rng, 19)),
        ("one_sided", np.where(m >= n, m - n, 5 * (n - m))),
        ("fractions", 0.5 * turned + 0.4 * np.cos(m)),
        ("rotary", turned),
        (
            "near_zero",
            np.sin(quarter * m) * np.cos(quarter * n) - np.cos(quarter * m) * np.sin(quarter * n),
        ),
        ("after", turned + np.triu(np.cos(m) + 0 * n, 1)),
        ("before", turned + np.tril(np.cos(m) + 0 * n, -1)),
        ("period", turned + np.cos(np.pi * m / 5)),
        ("one_score", one),
        ("slightly", turned + 1e-7 * np.cos(m)),
        ("drift", turned + 8e-10 * m),
        ("large", 1e9 * turned),
        ("small", 1e-9 * turned + 1e-12 * np.cos(m)),
        ("last", last),
        *(("at_an_end", table) for table in ends),
        *(("lonely", table) for table in lonely),
        ("all_zero", 0 * turned),
        ("one_position", turned[:1, :1]),
    ):
        yield {"score": _score(table), "length": len(table)}, hint


def _offset_only(score: Function, length: int) -> bool:
    table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
    spread = [np.ptp(table.diagonal(offset)) for offset in range(1 - length, length)]
    return bool(max(spread) <= 1e-9 * np.abs(table).max())


_OFFSET_ONLY = Exercise(
    call="offset_only(score, length)",
    reference=_offset_only,
    cases=_offset_cases,
    boolean=True,
    # A wrong truth value has one of many causes: each case says what its score is.
    mistakes={},
    clues={"outside of the positions": "outside", "truth value|scalar": "two_numbers"},
)


EXERCISES = with_hints(
    __file__,
    {"rotary": _ROTARY, "interleave": _INTERLEAVE, "alibi": _ALIBI}
    | {"next-positions": _NEXT_POSITIONS, "offset-only": _OFFSET_ONLY},
)
