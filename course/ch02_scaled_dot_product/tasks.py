"""Assignment 2, Compute scaled dot-product attention."""

from __future__ import annotations

import numpy as np

from attnbook.diagnostics import entropy
from attnbook.exercises.exercise import with_hints
from attnbook.exercises.mistakes import each, taking
from attnbook.functional import softmax
from course.grading.task import Measurement, Task, level, sizes

# window-mask


def _steps_back(length):
    position = np.arange(length)
    return position[:, None] - position


def _window(rule):
    return lambda length, window: rule(_steps_back(length), window)


def _window_cases(rng):
    for lengths, windows in (((7, 11), (3, 6)), ((11, 17), (6, 10)), ((19, 29), (11, 17))):
        length, window = int(rng.integers(*lengths)), int(rng.integers(*windows))
        yield {"length": length, "window": window}, "itself_and_before"
    length, window = int(rng.integers(3, 6)), int(rng.integers(7, 12))
    yield {"length": length, "window": window}, "longer_than_all"


def _sliced(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        mask[i, i - window + 1 : i + 1] = True
    return mask


_WINDOW_MASK = Task(
    call="window_mask(length, window)",
    reference=_window(lambda back, window: (back >= 0) & (back < window)),
    cases=_window_cases,
    sized=lambda rng, n: {"length": n, "window": 3},
    boolean=True,
    mistakes=dict(
        **each(
            _window,
            no_window=lambda back, window: back >= 0,
            too_wide=lambda back, window: (back >= 0) & (back <= window),
            too_narrow=lambda back, window: (back >= 0) & (back < window - 1),
            without_itself=lambda back, window: (back > 0) & (back < window),
            both_sides=lambda back, window: np.abs(back) < window,
            ahead=lambda back, window: (back <= 0) & (-back < window),
            inverted=lambda back, window: ~((back >= 0) & (back < window)),
            last_alone=lambda back, window: back == window - 1,
        ),
        blocks=lambda length, window: (
            (_steps_back(length) >= 0)
            & (np.arange(length)[:, None] // window == np.arange(length) // window)
        ),
        sliced=_sliced,
    ),
)


# entropy-weights


def _solve(scores, wanted, measure=entropy):
    """Return softmax(sharpness * scores) with the wanted entropy in each row, by bisection."""
    low, high = np.full(scores.shape[:-1], -20.0), np.full(scores.shape[:-1], 20.0)
    for _ in range(80):
        middle = (low + high) / 2
        spread = measure(softmax(np.exp(middle)[..., None] * scores)) > wanted
        low, high = np.where(spread, middle, low), np.where(spread, high, middle)
    return softmax(np.exp(middle)[..., None] * scores)


def _apart(rng, *shape):
    """Draw scores, the best two of each row apart: no temperature beyond reason is needed."""
    scores = rng.standard_normal(shape)
    best = np.sort(scores)[:, -2:]
    return scores if np.diff(best).min() > 0.02 else _apart(rng, *shape)


def _entropy_cases(rng):
    scores = 2 * rng.standard_normal(sizes(rng, (2, 3, 5), (7,)))
    yield {"scores": scores, "wanted": float(rng.uniform(1.5, 1.7))}, "temperature"
    scores = 5 * rng.standard_normal(sizes(rng, (3, 5), (11, 13)))
    yield {"scores": scores, "wanted": float(rng.uniform(1, 2))}, "temperature"
    yield {"scores": 1000 * _apart(rng, 2, 5), "wanted": 0.6}, "large"
    wanted = float(rng.uniform(0.5, 0.65))
    yield {"scores": 0.05 * _apart(rng, 3, 5), "wanted": wanted}, "close"


def _one_temperature(scores, wanted):
    middle = _solve(scores, wanted, lambda w: np.full(w.shape[:-1], entropy(w).mean()))
    return middle


def _blend(scores, wanted):
    weights, size = softmax(scores), scores.shape[-1]
    low, high = np.zeros((len(scores), 1)), np.ones((len(scores), 1))
    for _ in range(60):
        middle = (low + high) / 2
        more = entropy((1 - middle) * weights + middle / size)[:, None] < wanted
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return (1 - middle) * weights + middle / size


def _kept(scores, wanted):
    count = round(np.exp(wanted))
    order = np.argsort(np.argsort(-scores, axis=-1), axis=-1)
    return (order < count) / count


_ENTROPY_WEIGHTS = Task(
    call="entropy_weights(scores, wanted)",
    reference=_solve,
    cases=_entropy_cases,
    mistakes=dict(
        plain=lambda s, wanted: softmax(s),
        wanted_as_temperature=lambda s, wanted: softmax(s / wanted),
        one_temperature=_one_temperature,
        mixed_with_equal=_blend,
        best_equal=_kept,
        columns=lambda s, wanted: _solve(s.T, wanted).T,
        **taking(
            _solve,
            bits=lambda s, wanted: (s, wanted * np.log(2)),
            share_of_log=lambda s, wanted: (s, wanted * np.log(s.shape[-1])),
            turned=lambda s, wanted: (-s, wanted),
            number_of_keys=lambda s, wanted: (s, np.log(wanted)),
        ),
    ),
)


# keep-few

KEPT = np.arange(1, 61)


def _keep_cases(rng):
    query, key = 1.5 * rng.standard_normal((20, 16)), rng.standard_normal((60, 16))
    value = rng.standard_normal((60, 4))
    yield {"query": query, "key": key, "value": value, "kept": KEPT.copy()}, "largest_of_each_row"


def _norm(x):
    return np.linalg.norm(x)


def _norms(x):
    return np.linalg.norm(x, axis=-1)


def _relative(off, full):
    return _norm(off) / _norm(full)


def _few(thin, measure=_relative, scale=None):
    def errors(query, key, value, kept):
        scores = query @ key.T * (0.25 if scale is None else scale)
        weights = softmax(scores)
        return np.array(
            [measure(thin(weights, k) @ value - weights @ value, weights @ value) for k in kept]
        )

    return errors


def _largest(weights, k):
    few = np.where(weights >= -np.sort(-weights)[:, [k - 1]], weights, 0)
    return few / few.sum(axis=-1, keepdims=True)


def _not_renormalised(weights, k):
    return np.where(weights >= -np.sort(-weights)[:, [k - 1]], weights, 0)


def _first(weights, k):
    few = np.where(np.arange(weights.shape[1]) < k, weights, 0)
    return few / few.sum(axis=-1, keepdims=True)


def _smallest(weights, k):
    few = np.where(weights <= np.sort(weights)[:, [k - 1]], weights, 0)
    return few / few.sum(axis=-1, keepdims=True)


def _by_one_argsort(weights, k):
    few = np.where(np.argsort(-weights, axis=-1) < k, weights, 0)
    return few / few.sum(axis=-1, keepdims=True)


def _softmax_again(weights, k):
    return softmax(np.where(weights >= -np.sort(-weights)[:, [k - 1]], weights, -np.inf))


_KEEP_FEW = Measurement(
    call="errors",
    reference=_few(_largest),
    cases=_keep_cases,
    returns=("errors",),
    read=lambda rng, q, key, v, kept: kept[_few(_largest)(q, key, v, kept) < level(rng)][0],
    how="smallest_below_level",
    mistakes=dict(
        **each(
            _few,
            not_divided=_not_renormalised,
            first_kept=_first,
            smallest_kept=_smallest,
            shared_equally=lambda w, k: (w >= -np.sort(-w)[:, [k - 1]]) / k,
            one_argsort=_by_one_argsort,
            softmax_again=_softmax_again,
        ),
        unscaled=_few(_largest, scale=1.0),
        **each(
            lambda measure: _few(_largest, measure),
            not_relative=lambda off, full: _norm(off),
            squares=lambda off, full: _relative(off, full) ** 2,
            largest_differences=lambda off, full: np.abs(off).max(),
            mean_differences=lambda off, full: np.abs(off).mean(),
            mean_of_ratios=lambda off, full: np.mean(_norms(off) / _norms(full)),
        ),
    ),
)

TASKS = with_hints(
    __file__,
    {"window-mask": _WINDOW_MASK, "entropy-weights": _ENTROPY_WEIGHTS, "keep-few": _KEEP_FEW},
)
