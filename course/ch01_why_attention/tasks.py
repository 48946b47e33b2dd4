"""Assignment 1, Why attention."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.functional import softmax
from course.grading.task import Measurement, level, sizes

# local-lines


def _gaussian(distance, bandwidth):
    return softmax(-(distance**2) / (2 * bandwidth**2))


def _lines(weigh=_gaussian, read=lambda q, mean_x: q):
    """Fit a line for each row of weights by least squares, and read it off, right or wrong."""

    def lines(x_query, x, y, bandwidth):
        weights = weigh(x_query[:, None] - x, bandwidth)
        mean_x, mean_y = weights @ x, weights @ y
        slope = (weights @ (x * y) - mean_x * mean_y) / (weights @ x**2 - mean_x**2)
        return mean_y + slope * (read(x_query, mean_x) - mean_x)

    return lines


def _curve(rng, queries, points, bandwidth):
    # Spread, and about 0: lines from means of squares are right in float32, too.
    x = np.linspace(-1.5, 1.5, points) + rng.uniform(-1, 1, points) / points
    y = np.sin(2 * x) + x + 0.1 * rng.standard_normal(points)
    x_query = rng.uniform(-1.5, 1.5, queries)
    if queries > 1:
        x_query[[0, -1]] = 1.75, -1.75  # beyond the ends, too
    return {"x_query": x_query, "x": x, "y": y, "bandwidth": bandwidth}


def _curve_cases(rng):
    yield _curve(rng, *sizes(rng, (3, 5), (11, 13)), float(rng.uniform(0.6, 0.8))), "line_around"
    other = _curve(rng, *sizes(rng, (7, 11), (11, 13, 17)), float(rng.uniform(0.45, 0.55)))
    yield other, "other_sizes"
    yield _curve(rng, 1, *sizes(rng, (11, 13)), float(rng.uniform(0.6, 0.8))), "single"


_right_lines = _lines()
_LOCAL_LINES = Exercise(
    call="local_lines(x_query, x, y, bandwidth)",
    reference=_right_lines,
    cases=_curve_cases,
    mistakes=dict(
        one_line=_lines(lambda d, b: np.full(d.shape, 1 / d.shape[1])),
        not_squared=_lines(lambda d, b: softmax(-np.abs(d) / b)),
        over_queries=_lines(lambda d, b: softmax(-(d**2) / (2 * b**2), axis=0)),
        average=_lines(read=lambda q, mean_x: mean_x),
        at_zero=_lines(read=lambda q, mean_x: 0),
        sign_of_slope=_lines(read=lambda q, mean_x: 2 * mean_x - q),
        step_from_zero=_lines(read=lambda q, mean_x: mean_x + q),
        plain_bandwidth=_lines(lambda d, b: _gaussian(d, np.sqrt(b))),
        no_two=_lines(lambda d, b: _gaussian(d, b / np.sqrt(2))),
        slopes=lambda *a: _lines(read=lambda q, mean_x: q + 1)(*a) - _right_lines(*a),
    ),
)


# loo-errors


def _no_own(scores):
    return np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)


def _left_out(distance, bandwidth):
    return softmax(_no_own(-(distance**2) / (2 * bandwidth**2)))


def _errors(weigh=_left_out, score=lambda error: np.mean(error**2)):
    return lambda x, y, bandwidths: np.array(
        [score(weigh(x[:, None] - x, b) @ y - y) for b in bandwidths]
    )


def _loo_cases(rng):
    for points, bandwidths, part in (
        ((11, 13), (0.2, 0.5, 1.1), "all_the_others"),
        ((17, 19), (0.3, 0.9, 0.6, 2, 0.15), "all_the_others"),
        ((11, 13), (0.7,), "single"),
    ):
        curve = _curve(rng, 1, int(rng.choice(points)), 1.0)
        bandwidths = np.array(bandwidths) * rng.uniform(0.9, 1.1)
        yield {"x": curve["x"], "y": curve["y"], "bandwidths": bandwidths}, part


_LOO_ERRORS = Exercise(
    call="loo_errors(x, y, bandwidths)",
    reference=_errors(),
    cases=_loo_cases,
    mistakes=dict(
        own_point=_errors(_gaussian),
        sum_below_one=_errors(lambda d, b: _gaussian(d, b) * (1 - np.eye(len(d)))),
        distance=_errors(lambda d, b: softmax(_no_own(-np.abs(d) / (2 * b**2)))),
        no_two=_errors(lambda d, b: _left_out(d, b / np.sqrt(2))),
        plain_bandwidth=_errors(lambda d, b: _left_out(d, np.sqrt(b))),
        roots=_errors(score=lambda error: np.sqrt(np.mean(error**2))),
        sums=_errors(score=lambda error: np.sum(error**2)),
        one_less=_errors(score=lambda error: np.sum(error**2) / (len(error) - 1)),
        absolute=_errors(score=lambda error: np.mean(np.abs(error))),
    ),
)


# sharp-enough


def _lookup_cases(rng):
    key = rng.standard_normal((40, 8))
    key /= np.linalg.norm(key, axis=-1, keepdims=True)
    query = key + 0.25 * rng.standard_normal(key.shape)
    yield {"query": query, "key": key, "sharpness": np.linspace(1, 32, 249)}, "own_key"


def _mean_of(pick=np.diagonal, weigh=lambda scores, s: softmax(s * scores)):
    return lambda query, key, sharpness: np.array(
        [np.mean(pick(weigh(query @ key.T, s))) for s in sharpness]
    )


_on_itself = _mean_of()
_SHARP_ENOUGH = Measurement(
    call="mean_weight",
    reference=_on_itself,
    cases=_lookup_cases,
    returns=("mean_weight",),
    read=lambda rng, q, k, sharpness: sharpness[_on_itself(q, k, sharpness) > level(rng)][0],
    how="smallest_above_level",
    mistakes=dict(
        all_weights=_mean_of(lambda w: w),
        largest=_mean_of(lambda w: w.max(axis=-1)),
        wins=_mean_of(lambda w: w.argmax(axis=-1) == np.arange(len(w))),
        sums=_mean_of(lambda w: len(w) * np.diagonal(w)),
        medians=_mean_of(lambda w: np.median(np.diagonal(w))),
        by_sharpness=_mean_of(weigh=lambda scores, s: softmax(scores / s)),
        scaled=_mean_of(weigh=lambda scores, s: softmax(s * scores / np.sqrt(8))),
        over_queries=_mean_of(weigh=lambda scores, s: softmax(s * scores, axis=0)),
    ),
)

TASKS = with_hints(
    __file__,
    {"local-lines": _LOCAL_LINES, "loo-errors": _LOO_ERRORS, "sharp-enough": _SHARP_ENOUGH},
)
