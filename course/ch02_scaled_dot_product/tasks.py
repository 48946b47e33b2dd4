"""Assignment 2, Compute scaled dot-product attention."""

from __future__ import annotations

import numpy as np

from attnbook.diagnostics import entropy
from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import each, taking
from attnbook.functional import softmax
from course.grading.task import NOT_RELATIVE, Measurement, level, relative, sizes

# window-mask


def _window(rule):
    return lambda length, window: rule(*np.indices((length, length)), window)


def _window_cases(rng):
    near, all_ = "itself_and_before", "longer_than_all"
    for *ranges, part in (
        ((7, 11), (3, 6), near),
        ((11, 17), (6, 10), near),
        ((19, 29), (11, 17), near),
        ((3, 6), (7, 12), all_),
        ((520, 600), (3, 9), "long"),
        ((1, 2), (2, 5), "single"),
    ):
        length, window = (int(rng.integers(*bounds)) for bounds in ranges)
        yield {"length": length, "window": window}, part


def _sliced(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        mask[i, i - window + 1 : i + 1] = True
    return mask


_WINDOW_MASK = Exercise(
    call="window_mask(length, window)",
    reference=_window(lambda i, j, window: (j <= i) & (i - j < window)),
    cases=_window_cases,
    boolean=True,
    mistakes=dict(
        **each(
            _window,
            no_window=lambda i, j, window: j <= i,
            too_wide=lambda i, j, window: (j <= i) & (i - j <= window),
            too_narrow=lambda i, j, window: (j <= i) & (i - j < window - 1),
            without_itself=lambda i, j, window: (j < i) & (i - j < window),
            both_sides=lambda i, j, window: np.abs(i - j) < window,
            ahead=lambda i, j, window: (j >= i) & (j - i < window),
            inverted=lambda i, j, window: (j > i) | (i - j >= window),
            last_alone=lambda i, j, window: i - j == window - 1,
            blocks=lambda i, j, window: (j <= i) & (i // window == j // window),
        ),
        sliced=_sliced,
    ),
)


# entropy-weights


def _sharpened(scores, log_sharpness):
    return softmax(np.exp(log_sharpness) * scores)


def _solve(scores, wanted, measure=entropy, weigh=_sharpened):
    """Return weights with the wanted entropy in each row, by bisection."""
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        middle = (low + high) / 2
        spread = measure(weigh(scores, middle))[:, None] > wanted
        low, high = np.where(spread, middle, low), np.where(spread, high, middle)
    return weigh(scores, middle)


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
    yield {"scores": 2 * _apart(rng, 1, 7), "wanted": float(rng.uniform(0.9, 1.3))}, "single"


def _blended(scores, own):
    share = 1 / (1 + np.exp(own))
    return (1 - share) * softmax(scores) + share / scores.shape[-1]


def _best(x, count):
    return x >= -np.sort(-x)[:, [count - 1]]


def _best_equal(scores, wanted):
    count = round(np.exp(wanted))
    return _best(scores, count) / count


_ENTROPY_WEIGHTS = Exercise(
    call="entropy_weights(scores, wanted)",
    reference=_solve,
    cases=_entropy_cases,
    mistakes=dict(
        plain=lambda s, wanted: softmax(s),
        wanted_as_temperature=lambda s, wanted: softmax(s / wanted),
        one_temperature=lambda s, wanted: _solve(
            s, wanted, lambda w: 0 * w[:, 0] + entropy(w).mean()
        ),
        mixed_with_equal=lambda s, wanted: _solve(s, wanted, weigh=_blended),
        best_equal=_best_equal,
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


def _few(thin, measure=relative):
    def errors(query, key, value, kept):
        weights = softmax(query @ key.T * 0.25)
        return np.array(
            [measure(thin(weights, k) @ value - weights @ value, weights @ value) for k in kept]
        )

    return errors


def _kept(keep=_best):
    """Keep some weights of each row, and divide them by their sum."""

    def thin(weights, k):
        few = np.where(keep(weights, k), weights, 0)
        return few / few.sum(axis=-1, keepdims=True)

    return thin


_right_errors = _few(_kept())
_KEEP_FEW = Measurement(
    call="errors",
    reference=_right_errors,
    cases=_keep_cases,
    returns=("errors",),
    read=lambda rng, q, key, v, kept: kept[_right_errors(q, key, v, kept) < level(rng)][0],
    how="smallest_below_level",
    mistakes=dict(
        **each(
            _few,
            not_divided=lambda w, k: np.where(_best(w, k), w, 0),
            first_kept=_kept(lambda w, k: np.arange(w.shape[1]) < k),
            smallest_kept=_kept(lambda w, k: _best(-w, k)),
            shared_equally=lambda w, k: _best(w, k) / k,
            one_argsort=_kept(lambda w, k: np.argsort(-w, axis=-1) < k),
            softmax_again=lambda w, k: softmax(np.where(_best(w, k), w, -np.inf)),
        ),
        **taking(_right_errors, unscaled=lambda q, *others: (4 * q, *others)),
        **each(
            lambda measure: _few(_kept(), measure),
            **NOT_RELATIVE,
            largest_differences=lambda off, full: np.abs(off).max(),
            mean_differences=lambda off, full: np.abs(off).mean(),
        ),
    ),
)

TASKS = with_hints(
    __file__,
    {"window-mask": _WINDOW_MASK, "entropy-weights": _ENTROPY_WEIGHTS, "keep-few": _KEEP_FEW},
)
