"""Assignment 6, Rotate queries and keys: modern positions."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import (
    FREQUENCIES,
    but,
    each,
    frequencies,
    naive_softmax,
    returning,
    taking,
)
from attnbook.positional import apply_rotary
from course.grading.task import Measurement, level, sizes

# partial-rotary


def _partial(turn=apply_rotary, pairing="halves"):
    def rotate(x, positions, rotated):
        turned = turn(x[..., :rotated], positions, pairing=pairing)
        return np.concatenate([turned, x[..., rotated:]], axis=-1)

    return rotate


def _partial_cases(rng):
    def inputs(lengths, dims, rotated):
        num_heads, length, head_dim, r = sizes(rng, (2, 3, 4), lengths, dims, rotated)
        x = rng.standard_normal((num_heads, length, head_dim))
        return {"x": x, "positions": np.sort(rng.permutation(60)[:length]) + 2, "rotated": r}

    yield inputs((5, 7, 9), (14, 18, 22), (4, 6)), "first_columns"
    yield inputs((11, 13), (16, 20, 24), (6, 8, 10, 12)), "first_columns"
    yield inputs((5, 7), (10, 14), (2,)) | {"rotated": 2}, "one_pair"
    all_ = inputs((5, 7), (10, 14), (6,))
    yield all_ | {"rotated": all_["x"].shape[-1]}, "all_columns"
    yield inputs((1,), (10, 14), (6, 8)), "single"


def _over_head_dim(x, positions, rotated):
    w = frequencies(x.shape[-1], 10000.0)[: rotated // 2]
    first, second = np.split(x[..., :rotated], 2, axis=-1)
    c, s = np.cos(positions[:, None] * w), np.sin(positions[:, None] * w)
    turned = (first * c - second * s, first * s + second * c)
    return np.concatenate([*turned, x[..., rotated:]], axis=-1)


def _partners_of_head(x, positions, rotated):
    """Pair the columns across the whole head, and rotate the first pairs."""
    w = np.zeros(x.shape[-1] // 2)
    w[: rotated // 2] = frequencies(rotated, 10000.0)
    first, second = np.split(x, 2, axis=-1)
    c, s = np.cos(positions[:, None] * w), np.sin(positions[:, None] * w)
    return np.concatenate([first * c - second * s, first * s + second * c], axis=-1)


def _last_columns(x, positions, rotated):
    return _partial()(x[..., ::-1], positions, rotated)[..., ::-1]


def _last_columns_in_order(x, positions, rotated):
    rest = x.shape[-1] - rotated
    turned = apply_rotary(x[..., rest:], positions, pairing="halves")
    return np.concatenate([x[..., :rest], turned], axis=-1)


_PARTIAL_ROTARY = Exercise(
    call="partial_rotary(x, positions, rotated)",
    reference=_partial(),
    cases=_partial_cases,
    leading="head",
    mistakes=dict(
        neighbours=_partial(pairing="interleaved"),
        backwards=_partial(lambda x, p, pairing: apply_rotary(x, -p, pairing=pairing)),
        base_100000=_partial(lambda x, p, pairing: apply_rotary(x, p, base=1e5, pairing=pairing)),
        over_head_dim=_over_head_dim,
        partners_of_head=_partners_of_head,
        last_columns=_last_columns_in_order,
        all_columns_turned=lambda x, p, r: apply_rotary(x, p, pairing="halves"),
        so_many_pairs=lambda x, p, r: _partial()(x, p, min(2 * r, x.shape[-1])),
        unchanged=lambda x, p, r: x,
        **taking(
            _partial(),
            counted=lambda x, p, r: (x, np.arange(len(p)), r),
            from_one=lambda x, p, r: (x, p + 1, r),
        ),
        rotated_alone=lambda x, p, r: _partial()(x, p, r)[..., :r],
        rest_first=lambda x, p, r: np.roll(_partial()(x, p, r), -r, axis=-1),
        rest_zero=lambda x, p, r: _partial()(x, p, r) * (np.arange(x.shape[-1]) < r),
    ),
)


# turns


def _turned(of=frequencies, cut=np.floor, steps=lambda length: length - 1, whole=2 * np.pi):
    return lambda d, base, length: cut(steps(length) * of(d, base) / whole)


# Each gives other numbers in the first case; in_turns is the missing 2 pi, told below.
_OTHER_TURNS = dict(
    from_length=_turned(steps=lambda length: length),
    not_cut=_turned(cut=np.copy),
    rounded=_turned(cut=np.round),
    rounded_up=_turned(cut=np.ceil),
    half_turns=_turned(whole=np.pi),
    radians=_turned(whole=1),
    by_360=_turned(whole=360),
    to_positions=lambda d, base, length: np.floor(2 * np.pi / frequencies(d, base)),
    **each(_turned, **but(FREQUENCIES, "times_base", "in_turns", "degrees")),
    **returning(
        _turned(),
        columns=lambda turns: np.repeat(turns, 2),
        all_together=np.sum,
        at_least_one=lambda turns: np.sum(turns >= 1),
        yes_or_no=lambda turns: turns >= 1,
        reversed_pairs=lambda turns: turns[::-1],
    ),
)


def _turns_case(rng, dims, bases, lengths, telling):
    """Draw numbers until a case tells what it should, and no pair is about to end a turn."""
    while True:
        base, length = float(np.round(rng.uniform(*bases), 1)), int(rng.integers(*lengths))
        case = (int(rng.choice(dims)), base, length)
        rest = _turned(cut=np.copy)(*case) % 1
        clear = length == 1 or np.minimum(rest, 1 - rest).min() > 1e-6
        if clear and telling(*case):
            return dict(zip(("head_dim", "base", "length"), case, strict=True))


def _all_differ(*case):
    results = [_turned()(*case), *(rule(*case) for rule in _OTHER_TURNS.values())]
    shown = {str(np.asarray(result, dtype=float).tolist()) for result in results}
    return len(shown) == len(results)


def _turns_cases(rng):
    for part, *ranges in (
        ("each_pair", (14, 18, 22), (60, 900), (300, 900)),
        ("each_pair", (10, 12, 26), (1000, 3000), (2000, 9000)),
    ):
        yield _turns_case(rng, *ranges, _all_differ), part
    yield _turns_case(rng, (2,), (20, 90), (30, 300), lambda *case: True), "one_pair"
    yield _turns_case(rng, (32, 48, 64), (5000, 20000), (9000, 30000), lambda *_: True), "long"
    yield _turns_case(rng, (6, 8), (20, 90), (1, 2), lambda *case: True), "one_position"


_TURNS = Exercise(
    call="turns(head_dim, base, length)",
    returns=("turns",),
    reference=_turned(),
    cases=_turns_cases,
    mistakes=_OTHER_TURNS,
    clues={"[Ii]ntegers to negative integer powers": "float_base"},
)


# alibi-reach

SLOPES = 2.0 ** np.linspace(-8, 0, 65)


def _reach_cases(rng):
    query, key = rng.standard_normal((2, 64, 16))
    yield {"query": query, "key": key, "slopes": SLOPES.copy()}, "share_of_near"


_BACK = np.arange(64)[:, None] - np.arange(64)  # how far a key is behind its query
_NEAR = (_BACK >= 0) & (_BACK < 8)


def _plain(raw, slope):
    return raw / 4 - slope * np.abs(_BACK)


def _reach(
    scores=_plain,
    near=_NEAR,
    weigh=lambda s: naive_softmax(np.where(_BACK >= 0, s, -np.inf)),
    over=lambda shares: shares[32:].mean(),
):
    """Return a share for each slope: of weights on what is near, over the last queries."""
    return lambda query, key, slopes: np.array(
        [over((weigh(scores(query @ key.T, s)) * near).sum(axis=1)) for s in slopes]
    )


_ALIBI_REACH = Measurement(
    call="near",
    reference=_reach(),
    cases=_reach_cases,
    returns=("near",),
    read=lambda rng, query, key, slopes: slopes[_reach()(query, key, slopes) > level(rng)][0],
    how="smallest_above_level",
    mistakes=dict(
        **each(
            lambda scores: _reach(scores),
            unscaled=lambda raw, slope: raw - slope * np.abs(_BACK),
            bias_scaled=lambda raw, slope: (raw - slope * np.abs(_BACK)) / 4,
            by_d_k=lambda raw, slope: raw / 16 - slope * np.abs(_BACK),
            rewarded=lambda raw, slope: raw / 4 + slope * np.abs(_BACK),
            no_bias=lambda raw, slope: raw / 4,
            no_scores=lambda raw, slope: -slope * np.abs(_BACK),
        ),
        **each(
            lambda near: _reach(near=near),
            up_to_8=(_BACK >= 0) & (_BACK <= 8),
            seven=(_BACK >= 0) & (_BACK < 7),
            without_itself=(_BACK > 0) & (_BACK <= 8),
            far=_BACK >= 8,
            first_keys=(np.arange(64) < 8) & (_BACK >= 0),
        ),
        **each(
            lambda over: _reach(over=over),
            over_all=np.mean,
            first_half=lambda shares: shares[:32].mean(),
            last_query=lambda shares: shares[-1],
            summed=lambda shares: shares[32:].sum(),
            mean_weight=lambda shares: shares[32:].mean() / 8,
            median=lambda shares: np.median(shares[32:]),
        ),
        no_mask=_reach(weigh=naive_softmax),
        both_sides=_reach(near=np.abs(_BACK) < 8, weigh=naive_softmax),
        over_queries=_reach(
            weigh=lambda s: naive_softmax(np.where(_BACK >= 0, s, -np.inf), axis=0)
        ),
    ),
)

TASKS = with_hints(
    __file__,
    {"partial-rotary": _PARTIAL_ROTARY, "turns": _TURNS, "alibi-reach": _ALIBI_REACH},
)
