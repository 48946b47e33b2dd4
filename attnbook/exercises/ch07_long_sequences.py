"""The exercises of the chapter Attend to long sequences."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import (
    STAGES,
    each,
    hard_far,
    hard_max,
    naive_softmax,
    number_cases,
    returning,
)
from attnbook.functional import scaled_dot_product_attention, softmax
from attnbook.masks import causal_mask

# Softmax over two halves


def _bare(function: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """Call a function of NumPy's on arrays without a class of their own."""
    plain = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs]
    options |= {"out": tuple(map(np.asarray, options["out"]))} if "out" in options else {}
    return function(*plain, **options)


class _Apart(np.ndarray[Any, Any]):
    """An array that cannot be put together with another one."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _bare(getattr(ufunc, method), inputs, options)

    def __array_function__(self, func: Any, *given: Any) -> Any:
        if func in (np.concatenate, np.hstack, np.append, np.block):
            raise TypeError("these two halves are not to be put together")
        return super().__array_function__(func, *given)


def _halves_cases(rng: np.random.Generator) -> Cases:
    def inputs(shape: tuple[int, ...], other: int, up: Any = 0, other_up: Any = 0) -> Any:
        first = rng.standard_normal(shape) + up
        return {"first": first, "second": rng.standard_normal((*shape[:-1], other)) + other_up}

    rows = np.array([[[1005.0], [2.0], [-990.0]]])
    yield inputs((2, 3, 5), 7, 1), "one_sum"
    yield inputs((3, 5, 11), 2, 0, 2), "one_sum"
    yield inputs((5, 7, 3), 3, -7, -9), "one_sum"
    yield inputs((3, 5, 7), 2, 1000, 1003), "maximum"
    yield inputs((3, 5, 2), 7, 900, -900), "maximum"
    yield inputs((3, 5, 2), 7, -2, 1000), "maximum"
    yield inputs((3, 5, 7), 2, -2002, -2000), "below"
    yield inputs((2, 3, 5), 7, rows, rows - 1), "row_by_row"
    yield inputs((5,), 3), "leading_axes"
    yield inputs((2, 3, 5, 7), 11), "leading_axes"
    yield inputs((2, 1, 1), 1), "single"
    whole = rng.integers(-3, 4, (2, 3, 5)), rng.integers(-3, 4, (2, 3, 2))
    yield dict(zip(("first", "second"), whole, strict=True)), "stored_as_integers"
    one_empty = inputs((4, 5), 3)
    one_empty["first"][1:] = one_empty["second"][0] = -np.inf
    one_empty["first"][3, 2] = one_empty["second"][3, 1] = 1
    yield one_empty, "half_empty"
    both_empty = inputs((3, 5), 7)
    both_empty["first"][1] = both_empty["second"][1] = -np.inf
    yield both_empty, "both_empty"
    yield {name: x.view(_Apart) for name, x in inputs((3, 5), 2).items()}, "put_together"


def _top(x: Array) -> Any:
    return x.max(axis=-1, keepdims=True)


def _finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 0)


def _sum(x: Array) -> Any:
    return x.sum(axis=-1, keepdims=True)


def _divided(x: Any, by: Any) -> Any:
    return x / np.where(by == 0, 1, by)


def _halves(
    total: Function = lambda t, s, m, n: t * np.exp(m - n) + s,
    tops: Function = lambda m, n: (n, n),
) -> Function:
    """Make weights of two halves: by their total, and what is subtracted of each.

    ``total`` gets both sums, of what the first was before it met the second, then two maxima: the
    first's own and that of both.
    """

    def weights(first: Array, second: Array) -> Any:
        own, both = _finite(_top(first)), _finite(np.maximum(_top(first), _top(second)))
        mine = _sum(np.exp(first - own))
        whole = total(mine, _sum(np.exp(second - both)), own, both)
        exponentials = (
            np.exp(x - top) for x, top in zip((first, second), tops(own, both), strict=True)
        )
        return tuple(_divided(e, whole) for e in exponentials)

    return weights


_HALVES = _halves()


def _joint(of: Function) -> Function:
    """Make two results of one that is taken over the halves put together."""

    def weights(first: Array, second: Array) -> Any:
        whole = of(np.concatenate([np.asarray(first), np.asarray(second)], axis=-1))
        return whole[..., : first.shape[-1]], whole[..., first.shape[-1] :]

    return weights


def _own_maxima(first: Array, second: Array) -> Any:
    e = [np.exp(x - _finite(_top(x))) for x in (first, second)]
    return tuple(_divided(each_, _sum(e[0]) + _sum(e[1])) for each_ in e)


def _by_length(first: Array, second: Array) -> Any:
    n = first.shape[-1] + second.shape[-1]
    return tuple(softmax(x) * x.shape[-1] / n for x in (first, second))


def _half_nan(first: Array, second: Array) -> Any:
    tops = _top(first), _top(second)
    both = np.maximum(*tops)
    e = [np.exp(x - t) * np.exp(t - both) for x, t in zip((first, second), tops, strict=True)]
    return e[0] / (_sum(e[0]) + _sum(e[1])), e[1] / (_sum(e[0]) + _sum(e[1]))


def _larger_half(first: Array, second: Array) -> Any:
    mine = _top(first) >= _top(second)
    return softmax(first) * mine, softmax(second) * ~mine


_TWO_HALVES = Exercise(
    call="two_halves(first, second)",
    returns=("weights of first", "weights of second"),
    reference=_HALVES,
    cases=_halves_cases,
    rows_sum_to_one=True,
    mistakes=dict(
        each_half=lambda f, s: (softmax(f), softmax(s)),
        halved=lambda f, s: (softmax(f) / 2, softmax(s) / 2),
        by_length=_by_length,
        own_maxima=_own_maxima,
        larger_half=_larger_half,
        **each(
            lambda total: _halves(total),
            total_uncorrected=lambda t, s, m, n: t + s,
            inverse_factor=lambda t, s, m, n: t * np.exp(n - m) + s,
            second_alone=lambda t, s, m, n: s,
            first_alone=lambda t, s, m, n: t * np.exp(m - n),
        ),
        weights_uncorrected=_halves(tops=lambda m, n: (m, n)),
        first_maximum=lambda f, s: (
            np.exp(f - _top(f)) / (_sum(np.exp(f - _top(f))) + _sum(np.exp(s - _top(f)))),
            np.exp(s - _top(f)) / (_sum(np.exp(f - _top(f))) + _sum(np.exp(s - _top(f)))),
        ),
        **each(
            _joint,
            overflow=lambda x: naive_softmax(x),
            underflow=lambda x: softmax(x) if x.max() > 0 else naive_softmax(x),
            one_maximum=lambda x: naive_softmax(x - x.max()),
            hard=hard_max,
            hard_far=hard_far,
            no_sum=lambda x: np.exp(x - _top(x)),
            bare=np.exp,
            no_softmax=lambda x: x,
            no_exponential=lambda x: x / _sum(x),
            uniform=lambda x: np.full(x.shape, 1 / x.shape[-1]),
            over_rows=lambda x: softmax(x, axis=-2),
            sum_of_all=lambda x: np.exp(x) / np.exp(x).sum(),
            turned=lambda x: softmax(-x),
            empty_uniform=lambda x: softmax(np.maximum(x, -1e9)),
            empty_nan=lambda x: naive_softmax(x - _top(x)),
        ),
        half_nan=_half_nan,
        **returning(
            _HALVES,
            swapped=lambda both: both[::-1],
            one_array=lambda both: np.concatenate(both, axis=-1),
            first_returned=lambda both: both[0],
        ),
        cut_to_integers=lambda f, s: tuple(
            w.astype(x.dtype) for w, x in zip(_HALVES(f, s), (f, s), strict=True)
        ),
    ),
    clues={
        "put together": "put_together",
        "unpack": "leading_axes",
        "out of bounds": "leading_axes",
        "broadcast": "keepdims",
    },
)


# Merging by logsumexp


def _merge_cases(rng: np.random.Generator) -> Cases:
    names = "output_1", "logsumexp_1", "output_2", "logsumexp_2"

    def inputs(*shape: int, up: Any = 0, other_up: Any = 0) -> Any:
        outputs = rng.standard_normal((2, *shape))
        totals = rng.standard_normal((2, *shape[:-1])) + 2
        values = outputs[0], totals[0] + up, outputs[1], totals[1] + other_up
        return dict(zip(names, values, strict=True))

    yield inputs(5, 5, 5), "shares"
    yield inputs(2, 7, 3, other_up=1), "shares"
    yield inputs(3, 5, 2, up=-9, other_up=-8), "shares"
    yield inputs(3, 5, 7, up=1000, other_up=1001), "large"
    yield inputs(3, 5, 7, up=3, other_up=-900), "large"
    yield inputs(3, 5, 7, up=-1001, other_up=-1000), "below"
    rows = np.array([1005.0, 2.0, -990.0])
    yield inputs(3, 5, up=rows, other_up=rows - 1), "row_by_row"
    yield inputs(5, 3), "leading_axes"
    yield inputs(2, 3, 5, 7), "leading_axes"
    yield inputs(1, 1, 1), "single"
    whole = inputs(2, 5, 3)
    outputs = np.cumsum(rng.integers(1, 9, (2, 2, 5, 3)), axis=0)  # between two, and not at one
    whole |= dict(zip(names[::2], outputs, strict=True))
    yield whole, "stored_as_integers"
    one = inputs(4, 3)
    for number, row in ((1, 0), (2, 1)):
        one[f"logsumexp_{number}"][row] = -np.inf
        one[f"output_{number}"][row] = 0
    yield one, "one_empty"
    both = inputs(5, 3)
    for number in (1, 2):
        both[f"logsumexp_{number}"][2] = -np.inf
        both[f"output_{number}"][2] = 0
    yield both, "both_empty"


def _shares(one: Array, other: Array) -> Any:
    whole = _finite(np.logaddexp(one, other))
    return np.exp(one - whole), np.exp(other - whole)


def _merging(shares: Function = _shares, total: Function = np.logaddexp) -> Function:
    """Make a merge: of the shares of two halves, and the total of both."""

    def merge(o: Array, one: Array, p: Array, other: Array) -> Any:
        mine, its = shares(one, other)
        return np.expand_dims(mine, -1) * o + np.expand_dims(its, -1) * p, total(one, other)

    return merge


_MERGED = _merging()


def _pair(of: Function) -> Function:
    """Make shares by what stands for softmax, over an axis of two halves."""
    return lambda one, other: tuple(np.moveaxis(of(np.stack([one, other], -1)), -1, 0))


def _nan_shares(one: Array, other: Array) -> Any:
    return tuple(np.exp(x - np.logaddexp(one, other)) for x in (one, other))


def _nan_total(one: Array, other: Array) -> Any:
    top = np.maximum(one, other)
    return top + np.log(np.exp(one - top) + np.exp(other - top))


def _naive_total(one: Array, other: Array) -> Any:
    return np.log(np.exp(one) + np.exp(other))


def _one_maximum(o: Array, one: Array, p: Array, other: Array) -> Any:
    """Merge by one maximum, that of all rows."""
    top = max(one.max(), other.max())
    e, f = np.exp(one - top), np.exp(other - top)
    whole = np.where(e + f == 0, 1, e + f)
    return ((e / whole)[..., None] * o + (f / whole)[..., None] * p), np.log(e + f) + top


_MERGE = Exercise(
    call="merge(output_1, logsumexp_1, output_2, logsumexp_2)",
    returns=("output", "logsumexp"),
    reference=_MERGED,
    cases=_merge_cases,
    mistakes=dict(
        **each(
            lambda shares: _merging(shares),
            mean=lambda one, other: (0 * _finite(one) + 0.5, 0 * _finite(one) + 0.5),
            added=lambda one, other: (0 * _finite(one) + 1, 0 * _finite(one) + 1),
            inverse=lambda one, other: _shares(other, one),
            inverse_factors=lambda one, other: tuple(1 / s for s in _shares(one, other)),
            linear=lambda one, other: (one / (one + other), other / (one + other)),
            hard=_pair(hard_max),
            hard_far=_pair(hard_far),
            no_sum=_pair(lambda x: np.exp(x - _top(x))),
            bare=lambda one, other: (np.exp(one), np.exp(other)),
            base_2=_pair(lambda x: softmax(x * np.log(2))),
            first_corrected=lambda one, other: (_shares(one, other)[0], 0 * _finite(one) + 1),
            of_all_rows=lambda one, other: tuple(
                x / (np.exp(one) + np.exp(other)).sum() for x in (np.exp(one), np.exp(other))
            ),
            over_queries=lambda one, other: (softmax(one), softmax(other)),
        ),
        **each(
            lambda total: _merging(total=total),
            totals_added=lambda one, other: one + other,
            largest=np.maximum,
            mean_of_totals=lambda one, other: (one + other) / 2,
            no_exponential=lambda one, other: np.log(one + other),
            no_logarithm=lambda one, other: np.exp(one) + np.exp(other),
            no_maximum_added=lambda one, other: np.log1p(np.exp(-np.abs(one - other))),
            log_2=lambda one, other: np.logaddexp(one, other) / np.log(2),
            minus_log_2=lambda one, other: np.logaddexp(one, other) - np.log(2),
            first_total=lambda one, other: one,
            second_total=lambda one, other: other,
            total_overflow=_naive_total,
        ),
        overflow=_merging(_pair(naive_softmax), _naive_total),
        shares_overflow=_merging(_pair(naive_softmax)),
        underflow=_merging(
            _pair(lambda x: softmax(x) if x.max() > 0 else naive_softmax(x)),
            lambda one, other: (
                np.logaddexp(one, other)
                if max(one.max(), other.max()) > 0
                else _naive_total(one, other)
            ),
        ),
        one_maximum=_one_maximum,
        both_nan=_merging(_nan_shares),
        total_nan=_merging(total=_nan_total),
        all_nan=_merging(_nan_shares, _nan_total),
        sum_nan=_merging(_nan_shares, lambda one, other: one + np.log1p(np.exp(other - one))),
        by_columns=lambda o, one, p, other: (
            _shares(one, other)[0] * o + _shares(one, other)[1] * p,
            np.logaddexp(one, other),
        ),
        **returning(
            _MERGED,
            swapped=lambda both: both[::-1],
            output_alone=lambda both: both[0],
            column=lambda both: (both[0], both[1][..., None]),
        ),
        cut_to_integers=lambda o, one, p, other: (
            _MERGED(o, one, p, other)[0].astype(o.dtype),
            np.logaddexp(one, other),
        ),
    ),
    clues={"broadcast": "row_of_numbers", "unpack|out of bounds|axis": "leading_axes"},
)


# Blockwise, and nothing above the diagonal


class _Watched(np.ndarray[Any, Any]):
    """Queries or keys that note what scores are made of them.

    A row's first number, divided by its second, is its position. Notes are pairs: how many scores
    one product made, and whether the mask hides all of them.
    """

    notes: list[tuple[int, bool]]
    role = ""

    def __array_finalize__(self, source: Any) -> None:
        self.notes, self.role = getattr(source, "notes", []), getattr(source, "role", "")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        watched = {x.role: x for x in inputs if isinstance(x, _Watched)}
        result = _bare(getattr(ufunc, method), inputs, options)
        if ufunc in _PRODUCTS and len(watched) == 2:
            self._note(watched, result)
        elif len(watched) == 1 and np.shape(result) == self.shape:  # as when it is scaled
            result = result.view(_Watched)
            result.notes, result.role = self.notes, self.role
        return result

    def __array_function__(self, func: Any, types: Any, given: Any, options: Any) -> Any:
        result = super().__array_function__(func, types, given, options)
        watched = {x.role: x for x in given if isinstance(x, _Watched)}
        if func in _PRODUCTS and len(watched) == 2:
            self._note(watched, result)
        return result

    def _note(self, watched: dict[str, Any], scores: Any) -> None:
        if not all(_WIDE in x.shape for x in watched.values()):
            return  # of columns of both, and so no scores
        first, last = _places(watched["key"]).min(), _places(watched["query"]).max()
        self.notes.append((np.size(scores), bool(first > last)))


_PRODUCTS = {np.matmul, np.dot, np.inner, np.einsum}
_WIDE = 13  # numbers of a query that is watched: no block is as long


def _places(x: Any) -> Any:
    x = np.asarray(x)
    rows = np.moveaxis(x, x.shape.index(_WIDE), -1)
    return np.round(rows[..., 0] / rows[..., 1])


def _watch(x: Array, role: str, notes: list[tuple[int, bool]]) -> Any:
    watched = x.view(_Watched)
    watched.notes, watched.role = notes, role
    return watched


def _observed(answer: Function, query: Array, key: Array, value: Array, block_size: int) -> Any:
    """Return whether memory grew with the square, the hidden blocks, the scores at once, the output."""
    notes: list[tuple[int, bool]] = []
    square = False
    if query.shape[1] == _WIDE:
        watched = _watch(query, "query", notes), _watch(key, "key", notes)
        output = answer(*watched, value, block_size)
    else:
        output, most = _with_peak(answer, query, key, value, block_size)
        square = len(query) > 500 and most > len(query) ** 2 // 2
    if output is None:
        return None
    largest = max([block_size**2, *(size for size, _ in notes)])
    return square, sum(hidden for _, hidden in notes), largest, output


def _with_peak(function: Function, *arguments: Any) -> tuple[Any, int]:
    """Return a result, and the most bytes that were held for it at once."""
    others = tracemalloc.is_tracing()
    if not others:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        result = function(*arguments)
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not others:
            tracemalloc.stop()


def _blockwise_cases(rng: np.random.Generator) -> Cases:
    def inputs(
        length: int, d_k: int, d_v: int, block_size: int, up: float = 0, by: float = 0
    ) -> Any:
        query, key = rng.standard_normal((2, length, d_k))
        if d_k == _WIDE:
            # The position and 1, for `_places`; what it adds to a score, the fourth takes off.
            query[:, 0] = key[:, 0] = key[:, 3] = np.arange(length)
            query[:, 1] = key[:, 1] = 1
            query[:, 3] = -query[:, 0]
            query[:, 2] = 3
            key[:, 2] += up + np.linspace(0, by, length)  # later keys score higher, or lower
        value = rng.standard_normal((length, d_v))
        return {"query": query, "key": key, "value": value, "block_size": block_size}

    yield inputs(23, _WIDE, 3, 5, by=3), "block_by_block"
    yield inputs(28, _WIDE, 5, 7, by=-4), "block_by_block"
    yield inputs(11, _WIDE, 2, 3, up=1000, by=4), "maximum"
    yield inputs(11, _WIDE, 2, 3, up=-1004, by=4), "below"
    yield inputs(11, _WIDE, 5, 2, by=3000), "far_apart"
    yield inputs(7, _WIDE, 3, 11), "one_block"
    yield inputs(5, _WIDE, 3, 1), "single_rows"
    yield inputs(1, _WIDE, 1, 3), "single"
    whole = inputs(7, 2, 3, 5)
    for name in ("query", "key", "value"):
        whole[name] = np.round(2 * whole[name]).astype(int)
    yield whole, "stored_as_integers"
    yield inputs(709, 3, 2, 31), "long"


def _factor(old: Any, new: Any) -> Any:
    return np.exp(old - new)


def _online(
    scale: Function = lambda s, q, k, v: s / np.sqrt(q.shape[-1]),
    hides: Function = lambda i, j, start, first: j > i,
    factors: Function = lambda old, new: 2 * (_factor(old, new),),
    end: Function = lambda first, size, length: first + size,
    exponential: Function = lambda s, new: np.exp(s - new),
    tail: Function = lambda length, size: length,
    after: Function = lambda output, total: output,
    finish: Function = lambda output, total: output / total,
) -> Function:
    """Make blockwise attention of its steps.

    ``hides`` gets places of queries and keys and where their blocks begin, ``factors`` says by what
    output and total are multiplied at a new maximum, ``end`` which keys a block of queries meets, ``tail`` which queries there are, ``after`` what is done to the output after each
    block.
    """

    def attend(query: Array, key: Array, value: Array, size: int) -> Any:
        length, d_v = value.shape
        result = np.zeros((length, d_v))
        for start in range(0, tail(length, size), size):
            q = query[start : start + size]
            i = np.arange(start, start + len(q))[:, None]
            top, total = np.full((len(q), 1), -np.inf), np.zeros((len(q), 1))
            output = np.zeros((len(q), d_v))
            for first in range(0, min(end(start, size, length), length), size):
                k, v = key[first : first + size], value[first : first + size]
                j = np.arange(first, first + len(k))
                s = np.where(hides(i, j, start, first), -np.inf, scale(q @ k.T, q, key, value))
                new = np.maximum(top, _top(s))
                e = exponential(s, _finite(new))
                kept, counted = factors(top, _finite(new))
                output, total, top = kept * output + e @ v, counted * total + _sum(e), new
                output = after(output, total)
            result[start : start + size] = finish(output, total)
        return result

    return attend


_ATTEND = _online()


def _making(products: Function) -> Function:
    """Make right outputs, of other products: of slices of queries and keys."""

    def attend(query: Array, key: Array, value: Array, size: int) -> Any:
        for rows, columns in products(len(query), size):
            query[rows] @ key[columns].T
        return _ATTEND(query, key, value, size)

    return attend


def _slices(length: int, size: int) -> list[slice]:
    return [slice(at, at + size) for at in range(0, length, size)]


def _whole(query: Array, key: Array, value: Array, size: int) -> Any:
    return scaled_dot_product_attention(query, key, value, causal_mask(len(query))).output


def _by_block(of: Function) -> Function:
    """Make attention that takes a softmax in each block of keys, then puts the outputs together."""

    def attend(query: Array, key: Array, value: Array, size: int) -> Any:
        mask = causal_mask(len(query))
        parts = [
            scaled_dot_product_attention(query, key[at], value[at], mask[:, at]).output
            for at in _slices(len(query), size)
        ]
        return of(sum(parts), np.arange(len(query))[:, None] // size + 1)

    return attend


def _far(one: Function, other: Function) -> Function:
    """Use one of two where scores are large."""
    return lambda s, new: (one if np.abs(new).max() > 700 else other)(s, new)


_BLOCKWISE = Exercise(
    call="causal_attention(query, key, value, block_size)",
    returns=("len_by_len", "hidden blocks", "scores at once", "output"),
    reference=_ATTEND,
    cases=_blockwise_cases,
    play=_observed,
    mistakes=dict(
        **each(
            lambda factors: _online(factors=factors),
            no_correction=lambda old, new: (1, 1),
            output_uncorrected=lambda old, new: (1, _factor(old, new)),
            total_uncorrected=lambda old, new: (_factor(old, new), 1),
            inverse_factor=lambda old, new: 2 * (np.exp(np.where(old > -np.inf, new - old, 0)),),
            last_block=lambda old, new: (0, 0),
            last_output=lambda old, new: (0, _factor(old, new)),
            last_total=lambda old, new: (_factor(old, new), 0),
        ),
        **each(
            lambda hides: _online(hides=hides),
            not_itself=lambda i, j, start, first: j >= i,
            one_ahead=lambda i, j, start, first: j > i + 1,
            own_block_whole=lambda i, j, start, first: j < 0,
            mask_of_each_block=lambda i, j, start, first: j - first > i - start,
            inverted=lambda i, j, start, first: j <= i,
        ),
        no_mask=_online(
            hides=lambda i, j, start, first: j < 0, end=lambda start, size, length: length
        ),
        before_own_block=_online(end=lambda start, size, length: start),
        **each(
            lambda scale: _online(scale=scale),
            **{
                id_: STAGES["scale"][id_]
                for id_ in ("unscaled", "by_d_k", "times_root", "by_d_v", "by_len_k", "by_half")
            },
            by_block=lambda s, q, k, v: s / np.sqrt(s.shape[-1]),
        ),
        **each(
            lambda exponential: _online(exponential=exponential, factors=lambda old, new: (1, 1)),
            overflow=lambda s, new: np.exp(s),
            uniform=lambda s, new: 1.0 * (s > -np.inf),
        ),
        underflow=_online(
            exponential=lambda s, new: np.exp(s - np.maximum(new, 0)),
            factors=lambda old, new: 2 * (_factor(np.maximum(old, 0), np.maximum(new, 0)),),
        ),
        **each(
            lambda hard: _online(
                exponential=hard(lambda s, new: 1.0 * (s == new), lambda s, new: np.exp(s - new)),
                factors=lambda old, new: (
                    2 * (hard(lambda s, n: 1.0 * (s == n), _factor)(old, new),)
                ),
            ),
            hard=lambda one, other: one,
            hard_far=_far,
        ),
        rest_left_out=_online(tail=lambda length, size: length - length % size),
        no_sum=_online(finish=lambda output, total: output),
        divided_each_time=_online(
            after=lambda output, total: output / total, finish=lambda output, total: output
        ),
        mean_of_blocks=_by_block(lambda outputs, blocks: outputs / blocks),
        sum_of_blocks=_by_block(lambda outputs, blocks: outputs),
        **each(
            _making,
            all_blocks=lambda n, b: [(i, j) for i in _slices(n, b) for j in _slices(n, b)],
            one_block_more=lambda n, b: [
                (i, slice(i.stop, i.stop + b)) for i in _slices(n, b) if i.stop < n
            ],
            whole=lambda n, b: [(slice(n), slice(n))],
            stripes=lambda n, b: [(i, slice(n)) for i in _slices(n, b)],
            stripes_cut=lambda n, b: [(i, slice(i.stop)) for i in _slices(n, b)],
        ),
        len_by_len=_whole,
        cut_to_integers=lambda q, k, v, b: _ATTEND(q, k, v, b).astype(v.dtype),
    ),
    clues={"could not broadcast input": "sizes_of_blocks"},
)


# A cache that grows


def _grow_cases(rng: np.random.Generator) -> Cases:
    for hint, room, dim, length, num_new in (
        ("room", 8, 3, 5, 2),
        ("room", 11, 5, 3, 1),
        ("just_fits", 7, 2, 4, 3),
        ("full", 6, 3, 6, 1),
        ("does_not_fit", 7, 2, 6, 3),
        ("many_new", 3, 5, 2, 11),
        ("empty", 0, 3, 0, 2),
        ("single", 3, 1, 1, 1),
        ("long", 6007, 2, 6007, 1),
    ):
        store = rng.standard_normal((room, dim)).astype(np.float32)
        store[length:] = np.nan  # nobody has written there yet
        new = rng.standard_normal((num_new, dim)).astype(np.float32)
        yield {"store": store, "length": length, "new": new}, hint


def _grown(append: Function, store: Array, length: int, new: Array) -> Any:
    """Return what it cost, the room as far as it is needed, the number of rows in use, these."""
    mine = store.copy()
    kept, count = append(mine, length, new)
    kept, end = np.asarray(kept), length + len(new)
    needed = len(store) if end <= len(store) else max(2 * len(store), end)
    room = min(len(kept), needed)
    return not np.shares_memory(kept, mine), kept.dtype.itemsize, room, count, kept[:count]


def _append(
    fits: Function = lambda store, end: end <= len(store),
    room: Function = lambda store, end: max(2 * len(store), end),
    write: Function = lambda store, length, end, new: store.__setitem__(slice(length, end), new),
    keep: Function = lambda larger, store, length: larger.__setitem__(
        slice(length), store[:length]
    ),
    dtype: Any = np.float32,
    give: Function = lambda store, end, length, new: (store, end),
) -> Function:
    """Make an append of its steps."""

    def append(store: Array, length: int, new: Array) -> Any:
        end = length + len(new)
        if not fits(store, end):
            larger = np.zeros((room(store, end), store.shape[1]), dtype)
            keep(larger, store, length)
            store = larger
        write(store, length, end, new)
        return give(store, end, length, new)

    return append


def _put(place: Function) -> Function:
    """Make an append that writes the new rows elsewhere."""
    return _append(write=lambda store, length, end, new: store.__setitem__(place(length, end), new))


_GROW = Exercise(
    call="append(store, length, new)",
    returns=("moved", "bytes of a number", "room", "length", "rows"),
    reference=_append(),
    cases=_grow_cases,
    play=_grown,
    mistakes=dict(
        concatenated=lambda s, n, new: (np.concatenate([s[:n], new]), n + len(new)),
        behind_the_room=lambda s, n, new: (np.concatenate([s, new]), n + len(new)),
        copied=lambda s, n, new: _append()(s.copy(), n, new),
        early=_append(lambda store, end: end < len(store)),
        **each(
            lambda room: _append(room=room),
            exact=lambda store, end: end,
            half_more=lambda store, end: max(3 * len(store) // 2, end),
            by_64=lambda store, end: end + 64,
            by_few=lambda store, end: end + 1,
        ),
        **each(
            _put,
            at_start=lambda n, end: slice(0, end - n),
            at_end=lambda n, end: slice(n - end, None),
            one_early=lambda n, end: slice(n - 1, end - 1),
        ),
        nowhere=_append(write=lambda s, n, end, new: None),
        first_row=_append(write=lambda s, n, end, new: s.__setitem__(n, new[0])),
        last_row=_append(write=lambda s, n, end, new: s.__setitem__(slice(n, end), new[-1])),
        old_lost=_append(keep=lambda larger, store, length: None),
        wider=_append(dtype=np.float64),
        **each(
            lambda give: _append(give=give),
            rows_returned=lambda store, end, length, new: (store[:end], end),
            length_kept=lambda store, end, length, new: (store, length),
            length_by_one=lambda store, end, length, new: (store, length + 1),
            length_of_new=lambda store, end, length, new: (store, len(new)),
            length_of_room=lambda store, end, length, new: (store, len(store)),
        ),
        new_alone=lambda s, n, new: (new, len(new)),
        cut_to_integers=lambda s, n, new: _append(dtype=int)(s, n, new),
    ),
    clues={
        "unpack|too many indices|unsized|shares_memory": "pair",
        "slice indices|integer": "whole_number",
    },
)


# How far back windows see


def _reach(
    back: Function, clip: Function = lambda position, back: max(0, position - back)
) -> Function:
    """Make the earliest position, of how far back the windows see."""
    return lambda windows, position: clip(position, back(np.array(windows)))


_RECEPTIVE_FIELD = Exercise(
    call="receptive_field(windows, position)",
    reference=_reach(lambda w: (w - 1).sum()),
    cases=number_cases(
        "unlike_layers like_layers the_beginning no_window one_layer only_itself long",
        windows=[
            [4, 8, 2, 7],
            [4, 4, 4],
            [5, 9, 5],
            [4, np.inf, 4],
            [7],
            [1, 1, 1, 1],
            [4096] * 32,
        ],
        position=[500, 50, 11, 60, 30, 17, 200_000],
    ),
    mistakes=dict(
        **each(
            _reach,
            with_itself=np.sum,
            itself_once=lambda w: w.sum() - 1,
            one_less=lambda w: (w - 2).sum(),
            one_more=lambda w: (w - 1).sum() + 1,
            last_layer=lambda w: w[-1] - 1,
            first_layer=lambda w: w[0] - 1,
            widest=lambda w: w.max() - 1,
            narrowest=lambda w: w.min() - 1,
            same_windows=lambda w: (w[0] - 1) * len(w),
            product=np.prod,
            product_of_steps=lambda w: (w - 1).prod(),
            layers=len,
            last_left_out=lambda w: (w[:-1] - 1).sum(),
            mean=lambda w: np.mean(w - 1),
            both_sides=lambda w: (w // 2).sum(),
            no_window_skipped=lambda w: (w[np.isfinite(w)] - 1).sum(),
            everything=lambda w: np.inf,
        ),
        **each(
            lambda clip: _reach(lambda w: (w - 1).sum(), clip),
            not_clipped=lambda position, back: position - back,
            clipped_at_1=lambda position, back: max(1, position - back),
            how_far=lambda position, back: back,
            how_many=lambda position, back: min(position, back) + 1,
            forward=lambda position, back: position + back,
        ),
    ),
    clues={
        "infinity|Maximum allowed size|float": "no_window",
        "out of bounds|[Uu]nable to allocate|empty": "long",
    },
)


EXERCISES = with_hints(
    __file__,
    {"two-halves": _TWO_HALVES, "merge": _MERGE, "blockwise-causal": _BLOCKWISE}
    | {"grow": _GROW, "receptive-field": _RECEPTIVE_FIELD},
)
