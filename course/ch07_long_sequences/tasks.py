"""Assignment 7, Attend to long sequences."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import each, returning
from attnbook.functional import scaled_dot_product_attention, softmax
from course.grading.task import NOT_RELATIVE, Measurement, relative, sizes

# share-heads


def _shared(query=lambda q, kv: _cut(q, kv), key=lambda k, times: k[:, :, None], value=None):
    def share(q, k, v):
        kv = k.shape[1]
        times = q.shape[1] // kv
        return query(q, kv), key(k, times), (value or key)(v, times)

    return share


def _cut(q, kv):
    return q.reshape(len(q), kv, -1, *q.shape[2:])


def _in_turns(q, kv):
    return q.reshape(len(q), -1, kv, *q.shape[2:]).swapaxes(1, 2)


def _repeated(k, times):
    return np.repeat(k[:, :, None], times, axis=2)


def _share_cases(rng):
    def inputs(batch, kv_heads, times, lengths, dims):
        b, kv, t, len_q, len_k, d_k, d_v = sizes(
            rng, batch, kv_heads, times, lengths, lengths, dims, dims
        )
        return {
            "query": rng.standard_normal((b, kv * t, len_q, d_k)),
            "key": rng.standard_normal((b, kv, len_k, d_k)),
            "value": rng.standard_normal((b, kv, len_k, d_v)),
        }

    yield inputs((5,), (2,), (3, 4), (7, 9), (8, 11, 13)), "group_by_group"
    yield inputs((2,), (3,), (4,), (5, 7, 9), (6, 8, 11)), "group_by_group"
    yield inputs((2, 3), (1,), (4, 6), (5, 7, 9), (8, 11)), "one_kv_head"
    yield inputs((2, 3), (4, 5), (1,), (7, 9), (6, 8, 11)), "as_many"
    one = {"query": (1, 6, 1, 5), "key": (1, 2, 3, 5), "value": (1, 2, 3, 1)}
    yield {name: rng.standard_normal(shape) for name, shape in one.items()}, "single"


_SHARE_HEADS = Exercise(
    call="share_heads(query, key, value)",
    reference=_shared(),
    cases=_share_cases,
    returns=("query", "key", "value"),
    clues={"reshape": "sizes_of_groups"},
    mistakes=dict(
        in_turns=_shared(_in_turns),
        repeated=_shared(key=_repeated),
        values_repeated=_shared(value=_repeated),
        keys_repeated=_shared(key=_repeated, value=lambda v, times: v[:, :, None]),
        repeated_heads=_shared(lambda q, kv: q, lambda k, times: np.repeat(k, times, axis=1)),
        tiled_heads=_shared(lambda q, kv: q, lambda k, times: np.tile(k, (1, times, 1, 1))),
        groups_first=_shared(lambda q, kv: _cut(q, kv).swapaxes(1, 2), lambda k, t: k[:, None]),
        turns_first=_shared(lambda q, kv: _in_turns(q, kv).swapaxes(1, 2), lambda k, t: k[:, None]),
        **each(
            lambda key: _shared(key=key),
            axis_before=lambda k, times: k[:, None],
            axis_behind=lambda k, times: k[:, :, :, None],
            no_axis=lambda k, times: k,
        ),
        torn=_shared(lambda q, kv: q.reshape(len(q), kv, q.shape[2], -1, q.shape[3]).swapaxes(2, 3)),
        means=_shared(lambda q, kv: _cut(q, kv).mean(axis=2, keepdims=True)),
        scaled=_shared(lambda q, kv: _cut(q, kv) / np.sqrt(q.shape[-1])),
        keys_transposed=lambda q, k, v: (
            _cut(q, k.shape[1]), k[:, :, None].swapaxes(-1, -2), v[:, :, None]
        ),
        **returning(
            _shared(),
            other_order=lambda parts: [parts[i] for i in (1, 2, 0)],
            outputs=lambda parts: scaled_dot_product_attention(*parts).output,
        ),
    ),
)  # fmt: skip


# sink-mask


def _places(len_q, len_k):
    """Return the positions of queries and keys, as a column and a row."""
    return np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)


def _windowed(
    places=_places,
    near=lambda p, j, window: p - j < window,
    sinks=lambda p, j, n: j < n,
    join=lambda p, j, near, sinks: (j <= p) & (near | sinks),
):
    def mask(len_q, len_k, window, num_sinks):
        p, j = places(len_q, len_k)
        return join(p, j, near(p, j, window), sinks(p, j, num_sinks))

    return mask


def _sink_cases(rng):
    def numbers(queries, keys, windows, sinks):
        len_q, len_k, window, num_sinks = sizes(rng, queries, keys, windows, sinks)
        return {"len_q": len_q, "len_k": len_k, "window": window, "num_sinks": num_sinks}

    yield numbers((7, 8), (19, 23, 27), (4, 5), (3,)), "fewer_queries"
    same = numbers((13, 17), (14,), (3, 4), (2, 5, 6))
    yield same | {"len_k": same["len_q"]}, "as_many"
    yield numbers((1,), (11, 13, 17), (3, 4, 5), (2,)), "one_query"
    yield numbers((5, 7), (12, 15), (3, 4), (0,)), "no_sinks"
    yield numbers((3, 5), (9, 11), (30, 40), (2, 4)), "wide_window"
    yield numbers((2, 3), (9, 11), (1,), (4, 5)), "itself_alone"
    yield numbers((3,), (6000, 7000), (50, 90), (4,)), "long"


_SINK_MASK = Exercise(
    call="sink_mask(len_q, len_k, window, num_sinks)",
    returns=("mask",),
    reference=_windowed(),
    cases=_sink_cases,
    boolean=True,
    clues={"out of bounds|broadcast": "sizes_of_masks"},
    mistakes=dict(
        **each(
            lambda places: _windowed(places),
            first_key=lambda len_q, len_k: (np.arange(len_q)[:, None], np.arange(len_k)),
            one_behind=lambda q, k: (_places(q, k)[0] - 1, np.arange(k)),
            one_ahead=lambda q, k: (_places(q, k)[0] + 1, np.arange(k)),
            queries_reversed=lambda q, k: (_places(q, k)[0][::-1], np.arange(k)),
        ),
        **each(
            lambda near: _windowed(near=near),
            one_more=lambda p, j, window: p - j <= window,
            one_less=lambda p, j, window: p - j < window - 1,
            no_window=lambda p, j, window: j >= 0,
            itself_left_out=lambda p, j, window: (p - j < window) & (j != p),
            not_near=lambda p, j, window: p - j >= window,
            last_keys=lambda p, j, window: (j >= j.size - window) & (p >= 0),
        ),
        **each(
            lambda sinks: _windowed(sinks=sinks),
            sinks_left_out=lambda p, j, n: j < 0,
            one_sink_more=lambda p, j, n: j <= n,
            one_sink_less=lambda p, j, n: j < n - 1,
            first_sink=lambda p, j, n: (j == 0) & (n > 0),
            last_sink=lambda p, j, n: j == n - 1,
        ),
        **each(
            lambda join: _windowed(join=join),
            sinks_alone=lambda p, j, near, sinks: (j <= p) & sinks,
            both_at_once=lambda p, j, near, sinks: (j <= p) & near & sinks,
            future_sinks=lambda p, j, near, sinks: ((j <= p) & near) | sinks,
            future=lambda p, j, near, sinks: near | sinks,
            inverted=lambda p, j, near, sinks: ~((j <= p) & (near | sinks)),
        ),
        both_sides=_windowed(
            near=lambda p, j, window: np.abs(p - j) < window,
            join=lambda p, j, near, sinks: near | sinks,
        ),
        sinks_in_window=lambda q, k, w, n: _windowed()(q, k, max(w - n, 0), n),
        sinks_widen=lambda q, k, w, n: _windowed()(q, k, w + n, n),
        swapped_numbers=lambda q, k, w, n: _windowed()(q, k, n, w),
        **returning(_windowed(), transposed=np.transpose, one_row=lambda mask: mask[-1]),
    ),
)


# rounded-cache

BITS = np.arange(2, 9)


def _rounded_cases(rng):
    query = 1.5 * rng.standard_normal((16, 32))
    key, value = rng.standard_normal((2, 200, 32))
    yield {"query": query, "key": key, "value": value, "bits": BITS.copy()}, "round_and_compare"


def _row_size(x):
    return np.abs(x).max(axis=1, keepdims=True)


def _levels(bits):
    return 2 ** (bits - 1) - 1


def _rounded(
    size=_row_size, levels=_levels, rounds=np.round, back=lambda whole, step: whole * step
):
    def rounded(x, bits):
        step = size(x) / levels(bits)
        return back(rounds(x / step), step)

    return rounded


def _same(x, bits):
    return x


_ROUNDED = _rounded()


def _errors(keys=_ROUNDED, values=None, queries=_same, measure=relative, scale=1):
    values = values or keys

    def errors(query, key, value, bits):
        def run(query, key, value):
            return softmax(query @ key.T * (scale / np.sqrt(32))) @ value

        full = run(query, key, value)
        few = (run(queries(query, b), keys(key, b), values(value, b)) for b in bits)
        return np.array([measure(output - full, full) for output in few])

    return errors


def _limit(rng):
    """Draw the class's limit, as the release does after its data."""
    return round(10 ** rng.uniform(-1.9, -0.4), 4)


def _fewest(rng, query, key, value, bits):
    return bits[_errors()(query, key, value, bits) < _limit(rng)][0]


_ROUNDED_CACHE = Measurement(
    call="errors",
    reference=_errors(),
    cases=_rounded_cases,
    returns=("errors",),
    read=_fewest,
    how="fewest_below_limit",
    mistakes=dict(
        keys_alone=_errors(values=_same),
        values_alone=_errors(_same, _ROUNDED),
        queries_too=_errors(queries=_ROUNDED),
        unscaled=_errors(scale=np.sqrt(32)),
        **each(
            lambda rounded: _errors(rounded),
            one_step=_rounded(lambda x: np.abs(x).max()),
            by_columns=_rounded(lambda x: np.abs(x).max(axis=0)),
            no_sign=_rounded(lambda x: x.max(axis=1, keepdims=True)),
            by_norm=_rounded(lambda x: np.linalg.norm(x, axis=1, keepdims=True)),
            by_range=_rounded(lambda x: np.ptp(x, axis=1, keepdims=True)),
            one_bit_more=_rounded(levels=lambda bits: 2**bits - 1),
            all_levels=_rounded(levels=lambda bits: 2**bits),
            one_level_more=_rounded(levels=lambda bits: 2 ** (bits - 1)),
            levels_are_bits=_rounded(levels=lambda bits: bits),
            cut_off=_rounded(rounds=np.trunc),
            rounded_down=_rounded(rounds=np.floor),
            rounded_up=_rounded(rounds=np.ceil),
            not_scaled_back=_rounded(back=lambda whole, step: whole),
            decimals=lambda x, bits: np.round(x, bits),
        ),
        **returning(_errors(), opposite_order=lambda errors: errors[::-1]),
        **each(lambda measure: _errors(measure=measure), **NOT_RELATIVE),
    ),
)

TASKS = with_hints(
    __file__,
    {
        "share-heads": _SHARE_HEADS,
        "sink-mask": _SINK_MASK,
        "rounded-cache": _ROUNDED_CACHE,
    },
)
