"""Assignment 2, Compute scaled dot-product attention."""

from __future__ import annotations

import numpy as np

from attnbook.diagnostics import entropy
from attnbook.functional import softmax
from course.grading.task import Measurement, Task, level, sizes

# window-mask


def _steps_back(length):
    position = np.arange(length)
    return position[:, None] - position


def _window(rule):
    return lambda length, window: rule(_steps_back(length), window)


def _window_cases(rng):
    hint = "Token i may see itself and the window - 1 tokens before it."
    for lengths, windows in (((7, 11), (3, 6)), ((11, 17), (6, 10)), ((19, 29), (11, 17))):
        length, window = int(rng.integers(*lengths)), int(rng.integers(*windows))
        yield {"length": length, "window": window}, hint
    length, window = int(rng.integers(3, 6)), int(rng.integers(7, 12))
    hint = "A window longer than the sequence is a plain causal mask."
    yield {"length": length, "window": window}, hint


def _sliced(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        mask[i, i - window + 1 : i + 1] = True
    return mask


WINDOW_MASK = Task(
    call="window_mask(length, window)",
    reference=_window(lambda back, window: (back >= 0) & (back < window)),
    cases=_window_cases,
    sized=lambda rng, n: {"length": n, "window": 3},
    boolean=True,
    mistakes={
        "this is a causal mask without a window: tokens further back are hidden, too.": _window(
            lambda back, window: back >= 0
        ),
        "the window is one too wide: it counts the token itself.": _window(
            lambda back, window: (back >= 0) & (back <= window)
        ),
        "the window is one too narrow: it counts the token itself once.": _window(
            lambda back, window: (back >= 0) & (back < window - 1)
        ),
        "a token does not see itself: the window ends with the token.": _window(
            lambda back, window: (back > 0) & (back < window)
        ),
        "the window reaches into the future as well: it is causal.": _window(
            lambda back, window: np.abs(back) < window
        ),
        "the window lies in the future: this is the transpose.": _window(
            lambda back, window: (back <= 0) & (-back < window)
        ),
        "the mask is inverted: True means may attend.": _window(
            lambda back, window: ~((back >= 0) & (back < window))
        ),
        "these are blocks: the window slides, it moves by one token each row.": (
            lambda length, window: (
                (_steps_back(length) >= 0)
                & (np.arange(length)[:, None] // window == np.arange(length) // window)
            )
        ),
        "the first tokens see nothing: i - window + 1 is negative there, and a slice counts that from the end.": _sliced,
        "each token sees only the last one of its window: it sees all of them.": _window(
            lambda back, window: back == window - 1
        ),
    },
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
    hint = "Find for each row the temperature at which the entropy is the wanted one."
    scores = 2 * rng.standard_normal(sizes(rng, (2, 3, 5), (7,)))
    yield {"scores": scores, "wanted": float(rng.uniform(1.5, 1.7))}, hint
    scores = 5 * rng.standard_normal(sizes(rng, (3, 5), (11, 13)))
    yield {"scores": scores, "wanted": float(rng.uniform(1, 2))}, hint
    hint = "These scores are large: subtract the largest, and let the temperature go far enough."
    yield {"scores": 1000 * _apart(rng, 2, 5), "wanted": 0.6}, hint
    hint = "These scores are close together: only a temperature far below 1 tells them apart."
    wanted = float(rng.uniform(0.5, 0.65))
    yield {"scores": 0.05 * _apart(rng, 3, 5), "wanted": wanted}, hint


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


ENTROPY_WEIGHTS = Task(
    call="entropy_weights(scores, wanted)",
    reference=_solve,
    cases=_entropy_cases,
    mistakes={
        "this is the plain softmax: the temperature stays 1.": lambda s, wanted: softmax(s),
        "wanted is used as the temperature: search for the one that gives this entropy.": (
            lambda s, wanted: softmax(s / wanted)
        ),
        "one temperature serves all rows: each row needs its own.": _one_temperature,
        "the entropy is counted in bits: use the natural logarithm.": (
            lambda s, wanted: _solve(s, wanted * np.log(2))
        ),
        "the weights are equal: is wanted taken as a share of log(n), or in another unit? It is the entropy itself, in nats.": (
            lambda s, wanted: _solve(s, wanted * np.log(s.shape[-1]))
        ),
        "these weights are mixed with equal ones: divide the scores by a temperature.": _blend,
        "the best keys share the weight equally: all keys get some, by softmax.": _kept,
        "the order is turned: the largest score gets the smallest weight.": (
            lambda s, wanted: _solve(-s, wanted)
        ),
        "wanted is taken for the number of keys, exp(entropy).": (
            lambda s, wanted: _solve(s, np.log(wanted))
        ),
        "the softmax runs over the columns: each row has its entropy.": (
            lambda s, wanted: _solve(s.T, wanted).T
        ),
    },
)


# keep-few

KEPT = np.arange(1, 61)


def _keep_cases(rng):
    query, key = 1.5 * rng.standard_normal((20, 16)), rng.standard_normal((60, 16))
    value = rng.standard_normal((60, 4))
    hint = "Keep the largest k weights of each row, divide by their sum, compare the outputs."
    yield {"query": query, "key": key, "value": value, "kept": KEPT.copy()}, hint


def _norm(x):
    return np.linalg.norm(x)


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


def _equal(weights, k):
    return (weights >= -np.sort(-weights)[:, [k - 1]]) / k


KEEP_FEW = Measurement(
    call="errors",
    reference=_few(_largest),
    cases=_keep_cases,
    returns=("errors",),
    read=lambda rng, q, key, v, kept: kept[_few(_largest)(q, key, v, kept) < level(rng)][0],
    how="enough is the smallest k of the list with an error below level",
    mistakes={
        "the kept weights are not divided by their sum.": _few(_not_renormalised),
        "the first k keys are kept: keep the k with the largest weights in each row.": _few(_first),
        "the smallest weights are kept: keep the largest.": _few(_smallest),
        "the kept keys share the weight equally: keep their weights.": _few(_equal),
        "argsort gives keys in order, not the rank of each key: use it twice, or np.put_along_axis.": (
            _few(_by_one_argsort)
        ),
        "the kept weights go through softmax again: divide them by their sum.": (
            _few(_softmax_again)
        ),
        "the error is not relative: divide by the norm of the full output.": _few(
            _largest, lambda off, full: _norm(off)
        ),
        "these are squares of the relative error: take the root.": _few(
            _largest, lambda off, full: _relative(off, full) ** 2
        ),
        "these are the largest differences: compare norms.": _few(
            _largest, lambda off, full: np.abs(off).max()
        ),
        "these are mean absolute differences: compare norms.": _few(
            _largest, lambda off, full: np.abs(off).mean()
        ),
        "the scores are not scaled: divide by sqrt(d_k).": _few(_largest, scale=1.0),
        "these are means of one ratio per query: take the norm of the whole arrays.": _few(
            _largest,
            lambda off, full: np.mean(np.linalg.norm(off, axis=-1) / np.linalg.norm(full, axis=-1)),
        ),
    },
)

TASKS = {
    "window-mask": WINDOW_MASK,
    "entropy-weights": ENTROPY_WEIGHTS,
    "keep-few": KEEP_FEW,
}
