"""Assignment 1, Why attention."""

from __future__ import annotations

import numpy as np

from attnbook.functional import softmax
from course.grading.task import Measurement, Task, level, sizes

# local-lines


def _gaussian(x_query, x, bandwidth):
    return softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))


def _line(weights, x_query, x, y):
    """Fit a line for each row of weights by least squares, and read it at the row's query."""
    mean_x, mean_y = weights @ x, weights @ y
    slope = (weights @ (x * y) - mean_x * mean_y) / (weights @ x**2 - mean_x**2)
    return mean_y + slope * (x_query - mean_x)


def _lines(weigh):
    return lambda x_query, x, y, bandwidth: _line(weigh(x_query, x, bandwidth), x_query, x, y)


def _curve(rng, queries, points, bandwidth):
    # Spread, and about 0: lines from means of squares are right in float32, too.
    x = np.linspace(-1.5, 1.5, points) + rng.uniform(-1, 1, points) / points
    y = np.sin(2 * x) + x + 0.1 * rng.standard_normal(points)
    x_query = rng.uniform(-1.5, 1.5, queries)
    x_query[[0, -1]] = 1.75, -1.75  # beyond the ends, too
    return {"x_query": x_query, "x": x, "y": y, "bandwidth": bandwidth}


def _curve_cases(rng):
    hint = "Fit a line around each x_query and read it off there."
    yield _curve(rng, *sizes(rng, (3, 5), (11, 13)), float(rng.uniform(0.6, 0.8))), hint
    hint = "Right before, wrong for other sizes or another bandwidth."
    yield _curve(rng, *sizes(rng, (7, 11), (11, 13, 17)), float(rng.uniform(0.45, 0.55))), hint


def _intercepts(x_query, x, y, bandwidth):
    weights = _gaussian(x_query, x, bandwidth)
    return _line(weights, 0 * x_query, x, y)


def _steps(x_query, x, y, bandwidth):
    weights = _gaussian(x_query, x, bandwidth)
    mean_x, mean_y = weights @ x, weights @ y
    slope = (weights @ (x * y) - mean_x * mean_y) / (weights @ x**2 - mean_x**2)
    return mean_y + slope * (mean_x - x_query)


LOCAL_LINES = Task(
    call="local_lines(x_query, x, y, bandwidth)",
    reference=_lines(_gaussian),
    cases=_curve_cases,
    sized=lambda rng, n: _curve(rng, n, 11, 0.5),
    mistakes={
        "this is the weighted average of y: fit a line, which has a slope, too.": (
            lambda q, x, y, b: _gaussian(q, x, b) @ y
        ),
        "this is one line for all points: the weights make no difference.": _lines(
            lambda q, x, b: np.full((len(q), len(x)), 1 / len(x))
        ),
        "the weights use the bandwidth itself: it is squared in exp(-d**2 / (2 bandwidth**2)).": (
            _lines(lambda q, x, b: softmax(-((q[:, None] - x) ** 2) / (2 * b)))
        ),
        "the weights are exp(-d**2 / bandwidth**2): is the 2 missing, or a weight squared, as np.polyfit squares its w?": _lines(
            lambda q, x, b: softmax(-((q[:, None] - x) ** 2) / b**2)
        ),
        "the weights fall with the distance, not with its square.": _lines(
            lambda q, x, b: softmax(-np.abs(q[:, None] - x) / b)
        ),
        "this is each line at 0: read it off at x_query.": _intercepts,
        "the slope has the wrong sign: the step is from the mean of x to x_query.": _steps,
        "the step is taken from 0: it is from the mean of x to x_query.": (
            lambda q, x, y, b: _line(_gaussian(q, x, b), q + _gaussian(q, x, b) @ x, x, y)
        ),
        "each point's weights sum to 1 over the queries: each query's do over the points.": _lines(
            lambda q, x, b: softmax(-((q[:, None] - x) ** 2) / (2 * b**2), axis=0)
        ),
        "these are the slopes: return the lines' values at x_query.": (
            lambda q, x, y, b: (
                _lines(_gaussian)(q + 1, x, y, b) * 0
                + _line(_gaussian(q, x, b), q + 1, x, y)
                - _line(_gaussian(q, x, b), q, x, y)
            )
        ),
        "the values come in the order of the points, not of x_query.": (
            lambda q, x, y, b: np.sort(_lines(_gaussian)(q, x, y, b))
        ),
    },
)


# loo-errors


def _no_own(scores):
    return np.where(np.eye(len(scores), dtype=bool), -np.inf, scores)


def _left_out(x, bandwidth):
    return softmax(_no_own(-((x[:, None] - x) ** 2) / (2 * bandwidth**2)))


def _errors(weigh, score=lambda error: np.mean(error**2)):
    return lambda x, y, bandwidths: np.array([score(weigh(x, b) @ y - y) for b in bandwidths])


def _loo_cases(rng):
    hint = "Each point is predicted from all the others, with weights that sum to 1."
    for points, bandwidths in (((11, 13), (0.2, 0.5, 1.1)), ((17, 19), (0.3, 0.9, 0.6, 2, 0.15))):
        curve = _curve(rng, 1, int(rng.choice(points)), 1.0)
        bandwidths = np.array(bandwidths) * rng.uniform(0.9, 1.1)
        yield {"x": curve["x"], "y": curve["y"], "bandwidths": bandwidths}, hint


def _emptied(x, bandwidth):
    weights = _gaussian(x, x, bandwidth)
    return weights * (1 - np.eye(len(x)))


LOO_ERRORS = Task(
    call="loo_errors(x, y, bandwidths)",
    reference=_errors(_left_out),
    cases=_loo_cases,
    mistakes={
        "each point helps to predict itself: give its own score -inf.": _errors(
            lambda x, b: _gaussian(x, x, b)
        ),
        "the weights sum to less than 1: leave the point out before the softmax.": (
            _errors(_emptied)
        ),
        "these are roots of the mean squared errors: return the mean squares.": _errors(
            _left_out, lambda error: np.sqrt(np.mean(error**2))
        ),
        "these are sums of squares: divide by the number of points.": _errors(
            _left_out, lambda error: np.sum(error**2)
        ),
        "the sums of squares are divided by one less: divide by the number of points.": _errors(
            _left_out, lambda error: np.sum(error**2) / (len(error) - 1)
        ),
        "the distances are not squared: the scores are -d**2 / (2 bandwidth**2).": _errors(
            lambda x, b: softmax(_no_own(-np.abs(x[:, None] - x) / (2 * b**2)))
        ),
        "these are mean absolute errors: square the errors.": _errors(
            _left_out, lambda error: np.mean(np.abs(error))
        ),
        "these are mean errors: errors of both signs cancel; square them first.": _errors(
            _left_out, np.mean
        ),
        "the 2 is missing: the scores are -d**2 / (2 bandwidth**2).": _errors(
            lambda x, b: _left_out(x, b / np.sqrt(2))
        ),
        "the scores are divided by 2 bandwidth: the bandwidth is squared.": _errors(
            lambda x, b: _left_out(x, np.sqrt(b))
        ),
        "the errors are sorted: keep the order of the bandwidths.": (
            lambda x, y, b: np.sort(_errors(_left_out)(x, y, b))
        ),
    },
)


# sharp-enough

SHARPNESS = np.linspace(1, 32, 249)


def _lookup_cases(rng):
    key = rng.standard_normal((40, 8))
    key /= np.linalg.norm(key, axis=-1, keepdims=True)
    query = key + 0.25 * rng.standard_normal(key.shape)
    hint = "Weights of query i on key i, averaged over i, for each sharpness."
    yield {"query": query, "key": key, "sharpness": SHARPNESS.copy()}, hint


def _mean_of(pick, weigh=lambda scores, s: softmax(s * scores)):
    return lambda query, key, sharpness: np.array(
        [np.mean(pick(weigh(query @ key.T, s))) for s in sharpness]
    )


_on_itself = _mean_of(np.diagonal)

SHARP_ENOUGH = Measurement(
    call="mean_weight",
    reference=_on_itself,
    cases=_lookup_cases,
    returns=("mean_weight",),
    read=lambda rng, query, key, sharpness: sharpness[
        _on_itself(query, key, sharpness) > level(rng)
    ][0],
    how="needed is the smallest sharpness of the list with a mean weight above level",
    mistakes={
        "these are means over all weights, always 1/40: take the weight on the own key.": (
            _mean_of(lambda w: w)
        ),
        "these are the largest weights: the largest is not always on the own key.": _mean_of(
            lambda w: w.max(axis=-1)
        ),
        "these count how often the own key wins: average its weight.": _mean_of(
            lambda w: w.argmax(axis=-1) == np.arange(len(w))
        ),
        "the scores are divided by the sharpness: multiply.": _mean_of(
            np.diagonal, lambda scores, s: softmax(scores / s)
        ),
        "the scores are divided by sqrt(d_k) as well: multiply by the sharpness alone.": _mean_of(
            np.diagonal, lambda scores, s: softmax(s * scores / np.sqrt(8))
        ),
        "the softmax runs over the queries: each query shares out one unit, axis=-1.": _mean_of(
            np.diagonal, lambda scores, s: softmax(s * scores, axis=0)
        ),
        "these are sums over the queries: take the mean.": (
            lambda q, k, s: len(q) * _on_itself(q, k, s)
        ),
        "these are the weights of the first query only: average over all.": _mean_of(
            lambda w: w[0, 0]
        ),
        "these are medians: take the mean.": _mean_of(lambda w: np.median(np.diagonal(w))),
    },
)

TASKS = {"local-lines": LOCAL_LINES, "loo-errors": LOO_ERRORS, "sharp-enough": SHARP_ENOUGH}
