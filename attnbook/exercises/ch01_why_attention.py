"""The exercises of the chapter Why attention?."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs
from attnbook.exercises.mistakes import (
    MAXIMUM,
    SIZES,
    dot,
    naive_softmax,
    one_hot_argmax,
    projection,
)
from attnbook.functional import softmax

_INTEGERS = "These inputs are integers: is the result stored as integers, too?"


# soft-lookup


def _lookup_cases(rng: np.random.Generator) -> Cases:
    def inputs(items: int, d_k: int, d_v: int, sharpness: float) -> Inputs:
        return {
            "query": rng.standard_normal(d_k),
            "key": rng.standard_normal((items, d_k)),
            "value": rng.standard_normal((items, d_v)),
            "sharpness": sharpness,
        }

    hint = "Print the scores, the weights and their sum: which is the first to differ from the formula?"
    yield inputs(5, 7, 3, 0.6), hint
    yield inputs(2, 3, 11, 1.7), SIZES
    integers = inputs(7, 5, 2, 1)
    for name, high in (("query", 2), ("key", 2), ("value", 10)):
        integers[name] = rng.integers(-high, high, integers[name].shape)
    yield integers, _INTEGERS
    for sign in (1, -1):  # all scores far above 0, then all far below
        sharp = inputs(5, 7, 3, 1000.0)
        sharp["key"] += sign * (1 + np.abs(sharp["key"] @ sharp["query"]).max()) * sharp["query"]
        yield sharp, MAXIMUM


def _looked_up(weigh: Function) -> Function:
    """Make a mistake in the weights into a whole, otherwise right, lookup."""
    return lambda q, k, v, s: weigh(s, k @ q) @ v


_right_lookup = _looked_up(lambda s, scores: softmax(s * scores))


SOFT_LOOKUP = Exercise(
    call="soft_lookup(query, key, value, sharpness)",
    reference=_right_lookup,
    cases=_lookup_cases,
    mistakes={
        "the sharpness makes no difference: multiply the scores by it.": _looked_up(
            lambda s, scores: softmax(scores)
        ),
        "the scores are divided by the sharpness: multiply, then a larger one is sharper.": _looked_up(
            lambda s, scores: softmax(scores / s)
        ),
        "the scores are divided by sqrt(d_k), too: here the sharpness alone scales them.": lambda q, k, v, s: (
            softmax(s * (k @ q) / np.sqrt(q.size)) @ v
        ),
        "the sharpness multiplies the weights: it belongs to the scores, before the softmax.": _looked_up(
            lambda s, scores: s * softmax(scores)
        ),
        "the weights are raised to the power of the sharpness: then they no longer sum to 1.": _looked_up(
            lambda s, scores: softmax(scores) ** s
        ),
        "the softmax is taken twice, the second time of weights: once, of the scores.": _looked_up(
            lambda s, scores: softmax(s * softmax(scores))
        ),
        "this is the value of the best key alone: a soft lookup mixes all values.": _looked_up(
            lambda s, scores: one_hot_argmax(scores)
        ),
        "this is the plain mean of the values: the query makes no difference.": lambda q, k, v, s: (
            v.mean(axis=0)
        ),
        "this is the plain sum of the values: is a softmax taken over an axis of length 1?": lambda q, k, v, s: (
            v.sum(axis=0)
        ),
        "the scores mix the values directly: the softmax is missing.": _looked_up(
            lambda s, scores: s * scores
        ),
        "scores divided by their sum are not a softmax: the exponential is missing.": _looked_up(
            lambda s, scores: scores / scores.sum()
        ),
        "the weights are sigmoids, each for itself: softmax lets the keys compete.": _looked_up(
            lambda s, scores: 1 / (1 + np.exp(-s * scores))
        ),
        "the exponentials are not divided by their sum.": _looked_up(
            lambda s, scores: np.exp(s * (scores - scores.max()))
        ),
        "these are bare exponentials: divide them by their sum.": _looked_up(
            lambda s, scores: np.exp(s * scores)
        ),
        "the result is divided by the number of items: the weights sum to 1 already.": _looked_up(
            lambda s, scores: softmax(s * scores) / scores.size
        ),
        "the scores are cosines: a dot product keeps the lengths of the vectors.": lambda q, k, v, s: (
            softmax(s * (k @ q) / np.linalg.norm(k, axis=1) / np.linalg.norm(q)) @ v
        ),
        "the scores are squared distances: a score is the dot product of key and query.": lambda q, k, v, s: (
            softmax(-s * ((k - q) ** 2).sum(axis=1)) @ v
        ),
        "the scores are distances: a score is the dot product of key and query.": lambda q, k, v, s: (
            softmax(-s * np.linalg.norm(k - q, axis=1)) @ v
        ),
        "the sign of the scores is turned: a key like the query gets a large weight.": _looked_up(
            lambda s, scores: softmax(-s * scores)
        ),
        "the weights mix the keys: they should mix the values.": lambda q, k, v, s: (
            softmax(s * (k @ q)) @ k
        ),
        "these are the weights: mix the values with them, weights @ value.": lambda q, k, v, s: (
            softmax(s * (k @ q))
        ),
        "the result is cut to integers, as the values are here: is its array made with their type?": lambda q, k, v, s: (
            _right_lookup(q, k, v, s).astype(v.dtype)
        ),
        "exp overflows or underflows: subtract the largest exponent first, sharpness included.": _looked_up(
            lambda s, scores: naive_softmax(s * scores)
        ),
        "exp underflowed and NaN was set to 0: subtract the largest exponent first.": _looked_up(
            lambda s, scores: np.nan_to_num(naive_softmax(s * scores))
        ),
    },
    clues={"matmul": "key has a row for each item, so that key @ query has a score for each."},
)


# recall


def _recall_cases(rng: np.random.Generator) -> Cases:
    def inputs(steps: int, units: int) -> Inputs:
        # Means away from 0, so that a missing intercept shows; noise, so that no recall is 1.
        states = 1 + rng.standard_normal((steps, units))
        wanted = 3 + states @ rng.standard_normal(units) + 0.8 * rng.standard_normal(steps)
        return {"states": states, "wanted": wanted}

    hint = (
        "Fit on states[:half] with a column of ones beside them, predict from states[half:], and "
        "correlate that with wanted[half:]."
    )
    yield inputs(34, 3), hint
    yield inputs(61, 7), SIZES
    yield inputs(23, 2), SIZES


def _first(steps: int) -> slice:
    return slice(steps // 2)


def _second(steps: int) -> slice:
    return slice(steps // 2, None)


def _all(steps: int) -> slice:
    return slice(None)


def _correlation(predicted: Array, wanted: Array) -> Any:
    return np.corrcoef(predicted, wanted)[0, 1]


def _recall(
    fit: Function = _first,
    score: Function = _second,
    measure: Function = lambda p, w: _correlation(p, w) ** 2,
    design: Function | None = None,
    ridge: float = 0.0,
) -> Function:
    """Make a recall that fits on some steps, scores others and sums that up in one number."""

    def recall(states: Array, wanted: Array) -> Any:
        steps, units = states.shape
        inputs = np.column_stack([states, np.ones(steps)]) if design is None else design(states)
        known, tested = fit(steps), score(steps)
        penalty = np.sqrt(ridge) * np.eye(units, inputs.shape[1])
        stacked = np.concatenate([inputs[known], penalty])
        weights = np.linalg.lstsq(stacked, np.append(wanted[known], np.zeros(units)))[0]
        return measure(inputs[tested] @ weights, wanted[tested])

    return recall


def _explained(predicted: Array, wanted: Array) -> Any:
    return 1 - ((wanted - predicted) ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum()


def _best_unit(states: Array, wanted: Array) -> Array:
    tested = _second(len(states))
    return max(_correlation(unit[tested], wanted[tested]) ** 2 for unit in states.T)


RECALL = Exercise(
    call="one_recall(states, wanted)",
    reference=_recall(),
    cases=_recall_cases,
    mistakes={
        "the read-out is fitted and scored on all steps: score it on steps it has not seen.": _recall(
            fit=_all, score=_all
        ),
        "this is the score on the first half, where the read-out was fitted: use the second.": _recall(
            score=_first
        ),
        "the second half is part of the fit: fit on the first steps // 2 steps alone.": _recall(
            fit=_all
        ),
        "the read-out is fitted and scored on the second half: fit it on the first.": _recall(
            fit=_second
        ),
        "the halves are swapped: fit on the first, score on the second.": _recall(
            fit=_second, score=_first
        ),
        "the score is over all steps: leave out the half that the read-out was fitted on.": _recall(
            score=_all
        ),
        "the halves are the even and the odd steps: take the first and the second half in time.": _recall(
            fit=lambda _: slice(None, None, 2), score=lambda _: slice(1, None, 2)
        ),
        "the steps are odd in number, and the first half is one too long: it has steps // 2.": _recall(
            fit=lambda steps: slice((steps + 1) // 2),
            score=lambda steps: slice((steps + 1) // 2, None),
        ),
        "the correlation is not squared.": _recall(measure=_correlation),
        "the correlation is squared twice.": _recall(measure=lambda p, w: _correlation(p, w) ** 4),
        "this is 1 - SSE / SST, which a shift of the prediction lowers: square the correlation.": _recall(
            measure=_explained
        ),
        "this is a mean squared error: recall is a squared correlation.": _recall(
            measure=lambda p, w: ((p - w) ** 2).mean()
        ),
        "this is the root of a mean squared error: recall is a squared correlation.": _recall(
            measure=lambda p, w: np.sqrt(((p - w) ** 2).mean())
        ),
        "this is a covariance: divide it by both standard deviations, then square.": _recall(
            measure=lambda p, w: np.cov(p, w)[0, 1]
        ),
        "this is a squared covariance: divide by both variances.": _recall(
            measure=lambda p, w: np.cov(p, w)[0, 1] ** 2
        ),
        "the means are not subtracted: this is a squared cosine, not a squared correlation.": _recall(
            measure=lambda p, w: (p @ w) ** 2 / (p @ p) / (w @ w)
        ),
        "this is the share of the wanted variance that the prediction has, right or wrong: correlate.": _recall(
            measure=lambda p, w: p.var() / w.var()
        ),
        "this is the 2 x 2 matrix of correlations: take entry [0, 1], then square.": _recall(
            measure=np.corrcoef
        ),
        "this is the 2 x 2 matrix of squared correlations: take entry [0, 1].": _recall(
            measure=lambda p, w: np.corrcoef(p, w) ** 2
        ),
        "this is the prediction: return its squared correlation with wanted.": _recall(
            measure=lambda p, w: p
        ),
        "the intercept is missing: put a column of ones beside the states.": _recall(
            design=lambda states: states
        ),
        (
            "the states lose the mean of all steps, and wanted keeps its own: put a column of ones "
            "beside the states instead."
        ): _recall(design=lambda states: states - states.mean(axis=0)),
        "this is the best single unit: the read-out may combine them all.": _best_unit,
        "this is the plain mean of the units: fit a weight for each by least squares.": lambda x, w: (
            _correlation(x.mean(axis=1)[_second(len(x))], w[_second(len(x))]) ** 2
        ),
        "this is ridge regression with a penalty of 1: use plain least squares.": _recall(
            ridge=1.0
        ),
    },
    clues={"matmul": "Do both halves of the states have the column of ones?"},
)


# state-jacobian


def _jacobian_cases(rng: np.random.Generator) -> Cases:
    def inputs(steps: int, units: int) -> Inputs:
        w = 1.5 * projection(rng, units, units)
        states = [np.tanh(rng.standard_normal(units))]
        for _ in range(steps):
            states.append(np.tanh(states[-1] @ w + 0.7 * rng.standard_normal(units)))
        return {"w": w, "states": np.array(states[1:])}

    hint = "One step has the Jacobian diag(1 - h_t**2) @ w.T; the latest stands leftmost."
    yield inputs(5, 3), hint
    yield inputs(2, 7), SIZES
    yield inputs(1, 2), "Here is a single step: the product has one factor."


def _step(w: Array, state: Array) -> Array:
    return (1 - state**2)[:, None] * w.T


def _product(
    step: Function = _step,
    start: Function = np.eye,
    combine: Function = lambda jacobian, step: step @ jacobian,
) -> Function:
    """Make the product of all steps, the latest leftmost, or what a mistake makes of it."""

    def state_jacobian(w: Array, states: Array) -> Array:
        steps = [step(w, state) for state in states]
        return functools.reduce(
            lambda jacobian, step: combine(jacobian, step), steps, start(len(w))
        )

    return state_jacobian


def _earliest_leftmost(jacobian: Array, step: Function) -> Any:
    return jacobian @ step


_right_jacobian = _product()


STATE_JACOBIAN = Exercise(
    call="state_jacobian(w, states)",
    reference=_right_jacobian,
    cases=_jacobian_cases,
    mistakes={
        "the order is reversed: the step of the latest state stands leftmost.": _product(
            combine=_earliest_leftmost
        ),
        "w is not transposed: J[i, j] is the change of entry i by entry j, and h @ w sums over rows.": _product(
            step=lambda w, h: (1 - h**2)[:, None] * w
        ),
        "the order is reversed and w is not transposed.": _product(
            step=lambda w, h: (1 - h**2)[:, None] * w, combine=_earliest_leftmost
        ),
        "this is the transpose: rows are entries of the last state, columns those of h_0.": lambda w, h: (
            _right_jacobian(w, h).T
        ),
        "the derivative of tanh is left out: each step has the factor 1 - h_t**2.": _product(
            step=lambda w, h: w.T
        ),
        "the derivative and the transpose are left out: this is a power of w.": _product(
            step=lambda w, h: w
        ),
        "the derivative is 1 - h**2, not 1 - h.": _product(
            step=lambda w, h: (1 - h)[:, None] * w.T
        ),
        "the derivative is 1 - h**2, not h**2.": _product(step=lambda w, h: (h**2)[:, None] * w.T),
        "the sign of the derivative is turned: it is 1 - h**2.": _product(
            step=lambda w, h: (h**2 - 1)[:, None] * w.T
        ),
        "tanh is taken once more: the states are values of tanh already, so 1 - h**2.": _product(
            step=lambda w, h: _step(w, np.tanh(h))
        ),
        "h * (1 - h) is the derivative of a sigmoid: that of tanh is 1 - h**2.": _product(
            step=lambda w, h: (h * (1 - h))[:, None] * w.T
        ),
        "each step has the tanh of its state as a factor: take the derivative, 1 - h**2.": _product(
            step=lambda w, h: h[:, None] * w.T
        ),
        "the derivative multiplies the columns of w.T: it belongs to the rows, diag(...) @ w.T.": _product(
            step=lambda w, h: w.T * (1 - h**2)
        ),
        "the derivative multiplies the columns of w.T, and the order is reversed.": _product(
            step=lambda w, h: w.T * (1 - h**2), combine=_earliest_leftmost
        ),
        "the steps are multiplied entry by entry: use the matrix product @.": _product(
            combine=lambda jacobian, step: step * jacobian,
            start=lambda units: np.ones((units, units)),
        ),
        "the steps are multiplied entry by entry, from the identity: use the matrix product @.": _product(
            combine=lambda jacobian, step: step * jacobian
        ),
        "the steps are added up: the chain rule multiplies them.": _product(
            combine=lambda jacobian, step: jacobian + step,
            start=lambda units: np.zeros((units, units)),
        ),
        "the product starts from ones: start from the identity, np.eye.": _product(
            start=lambda units: np.ones((units, units))
        ),
        "this is all zeros: start the product from the identity, np.eye.": lambda w, h: 0 * w,
        "w.T stands on the left once more than there are steps: the last step ends in a derivative.": lambda w, h: (
            w.T @ _right_jacobian(w, h)
        ),
        "the product starts from w.T, one step too many: start from the identity.": _product(
            start=lambda units: None,
            combine=lambda jacobian, step: step @ (step if jacobian is None else jacobian),
        ),
        "the first state is left out: its step leads from h_0 to h_1.": lambda w, h: (
            _right_jacobian(w, h[1:])
        ),
        "the last state is left out: its step leads to h_k.": lambda w, h: _right_jacobian(
            w, h[:-1]
        ),
        "this is the step of the last state alone: multiply those of all states.": lambda w, h: (
            _step(w, h[-1])
        ),
        "this is the step of the first state alone: multiply those of all states.": lambda w, h: (
            _step(w, h[0])
        ),
        "these are the steps one by one: multiply them, the latest leftmost.": lambda w, h: (
            np.array([_step(w, state) for state in h])
        ),
    },
    clues={"matmul": "states has a row for each step: go through its rows."},
)


# kernel-regression


def _regression_cases(rng: np.random.Generator) -> Cases:
    def inputs(queries: int, points: int, bandwidth: float) -> Inputs:
        x = np.sort(rng.uniform(0, 3, points))
        y = np.sin(2 * x) + 0.3 * rng.standard_normal(points) + 1
        return {"x_query": rng.uniform(0, 3, queries), "x": x, "y": y, "bandwidth": bandwidth}

    hint = "Row i: the kernels of x_query[i] with all of x, divided by their sum, mix y."
    yield inputs(5, 11, 0.6), hint
    integers = {
        "x_query": np.array([2, 7, 5]),
        "x": np.array([1, 4, 6, 9, 3, 8, 2]),
        "y": np.array([5, -2, 3, 8, 1, 0, 4]),
        "bandwidth": 2,
    }
    yield integers, _INTEGERS
    far = inputs(3, 7, 0.4)
    # Between the far ones is one near the data: a single maximum for all rows does not do.
    far["x_query"][[0, 2]] = -80, 400
    hint = "Here some queries are far from all data, and all their kernels underflow to 0."
    yield far, hint


def _negative_squares(x_query: Array, x: Array, bandwidth: float) -> Array:
    return -((x_query[:, None] - x) ** 2) / (2 * bandwidth**2)


def _regressed(kernel: Function) -> Function:
    """Make a mistake in the kernel into a whole, otherwise right, regression."""

    def regression(x_query: Array, x: Array, y: Array, bandwidth: float) -> Any:
        kernels = kernel(x_query[:, None] - x, bandwidth)
        return kernels @ y / kernels.sum(axis=1)

    return regression


def _kernels(x_query: Array, x: Array, bandwidth: float) -> Array:
    return np.exp(_negative_squares(x_query, x, bandwidth))


def _right_regression(x_query: Array, x: Array, y: Array, bandwidth: float) -> Array:
    return softmax(_negative_squares(x_query, x, bandwidth)) @ y


_naive_regression = _regressed(lambda d, h: np.exp(-(d**2) / (2 * h**2)))


KERNEL_REGRESSION = Exercise(
    call="kernel_regression(x_query, x, y, bandwidth)",
    reference=_right_regression,
    cases=_regression_cases,
    mistakes={
        "the distance is not squared, only its size taken: (x_query - x)**2.": _regressed(
            lambda d, h: np.exp(-np.abs(d) / (2 * h**2))
        ),
        "the distance is not squared, and its sign counts: (x_query - x)**2.": _regressed(
            lambda d, h: np.exp(-d / (2 * h**2))
        ),
        "this is a Laplace kernel, exp(-|distance| / bandwidth): square both, and halve.": _regressed(
            lambda d, h: np.exp(-np.abs(d) / h)
        ),
        "the 2 is missing: the squared distance is divided by 2 * bandwidth**2.": _regressed(
            lambda d, h: np.exp(-(d**2) / h**2)
        ),
        "the bandwidth is not squared: divide by 2 * bandwidth**2.": _regressed(
            lambda d, h: np.exp(-(d**2) / (2 * h))
        ),
        "the 2 is squared, too: (2 * bandwidth)**2 is 4 * bandwidth**2.": _regressed(
            lambda d, h: np.exp(-(d**2) / (2 * h) ** 2)
        ),
        "parentheses are missing: / 2 * bandwidth**2 multiplies by the bandwidth.": _regressed(
            lambda d, h: np.exp(-(d**2) / 2 * h**2)
        ),
        "the bandwidth makes no difference: divide by 2 * bandwidth**2.": _regressed(
            lambda d, h: np.exp(-(d**2) / 2)
        ),
        "the exponential is missing: these kernels grow with the distance.": _regressed(
            lambda d, h: d**2 / (2 * h**2)
        ),
        "the minus sign is missing: points far away get the largest weight.": _regressed(
            lambda d, h: np.exp(d**2 / (2 * h**2))
        ),
        "this is a box: all points nearer than the bandwidth count the same.": _regressed(
            lambda d, h: (np.abs(d) <= h).astype(float)
        ),
        "the weights are inverse squared distances: use the Gaussian kernel.": _regressed(
            lambda d, h: 1 / d**2
        ),
        "the weights are inverse distances: use the Gaussian kernel.": _regressed(
            lambda d, h: 1 / np.abs(d)
        ),
        "the kernels are divided by their sum over the queries: sum over the points, axis=1.": lambda q, x, y, h: (
            softmax(_negative_squares(q, x, h), axis=0) @ y
        ),
        "the kernels are divided by the sum over the whole array: each query has its own sum.": lambda q, x, y, h: (
            _kernels(q, x, h) @ y / _kernels(q, x, h).sum()
        ),
        "the kernels are not divided by their sum.": lambda q, x, y, h: _kernels(q, x, h) @ y,
        "the kernels are divided by the number of points: divide by their own sum.": lambda q, x, y, h: (
            _kernels(q, x, h) @ y / x.size
        ),
        "these are Gaussian densities, not divided by their sum: that replaces their factor.": lambda q, x, y, h: (
            _kernels(q, x, h) @ y / (h * np.sqrt(2 * np.pi))
        ),
        "this is a density of the points: weight y with the kernels.": lambda q, x, y, h: (
            _kernels(q, x, h).mean(axis=1) / (h * np.sqrt(2 * np.pi))
        ),
        "this is the y of the nearest point alone: mix them all.": lambda q, x, y, h: y[
            np.abs(q[:, None] - x).argmin(axis=1)
        ],
        "this is the plain mean of y: the distances make no difference.": lambda q, x, y, h: (
            np.full(q.shape, y.mean())
        ),
        "this is a straight line between neighbours: the kernel mixes all points.": lambda q, x, y, h: (
            np.interp(q, np.sort(x), y[np.argsort(x)])
        ),
        "the weights mix x: they should mix y.": lambda q, x, y, h: _right_regression(q, x, x, h),
        "the regression is read off at x: evaluate it at x_query.": lambda q, x, y, h: (
            _right_regression(x, x, y, h)
        ),
        "these are the weights: mix y with them, weights @ y.": lambda q, x, y, h: softmax(
            _negative_squares(q, x, h)
        ),
        "the result is cut to integers, as the inputs are here: is its array made with their type?": lambda q, x, y, h: (
            _right_regression(q, x, y, h).astype(q.dtype)
        ),
        (
            "far from all data every kernel underflows, and 0 / 0 is NaN: subtract from each row of "
            "exponents its own largest one first, as softmax does."
        ): _naive_regression,
        (
            "far from all data every kernel underflows, and a small number in the denominator, or "
            "nan_to_num, makes the result 0: subtract the largest exponent of each row instead."
        ): lambda q, x, y, h: np.nan_to_num(_naive_regression(q, x, y, h)),
        (
            "far from all data every kernel underflows, and the mean of y takes its place: the "
            "nearest points should still win. Subtract the largest exponent of each row."
        ): lambda q, x, y, h: np.nan_to_num(_naive_regression(q, x, y, h), nan=y.mean()),
    },
    clues={
        r"broadcast together with shapes \(\d+,\) \(\d+,\)": (
            "Every query meets every point: x_query[:, None] - x."
        ),
    },
)


# additive-scores


def _additive_cases(rng: np.random.Generator) -> Cases:
    def inputs(len_q: int, len_k: int, d_q: Any, d_k: int, hidden: Any) -> Inputs:
        return {
            "query": rng.standard_normal((len_q, d_q)),
            "key": rng.standard_normal((len_k, d_k)),
            "w_query": projection(rng, d_q, hidden),
            "w_key": projection(rng, d_k, hidden),
            "w_score": rng.standard_normal(hidden),
        }

    hint = "Entry (i, j) is w_score . tanh(query[i] @ w_query + key[j] @ w_key)."
    # Equal sizes of query and key: swapped matrices show as wrong numbers, not as an error.
    yield inputs(3, 5, 7, 7, 11), hint
    yield inputs(5, 2, 3, 13, 7), SIZES


def _additive(combine: Function) -> Function:
    """Make what is done with the two projections, before w_score, into whole scores."""

    def scores(query: Array, key: Array, w_query: Array, w_key: Array, w_score: Array) -> Any:
        return combine((query @ w_query)[:, None], (key @ w_key)[None]) @ w_score

    return scores


_right_additive = _additive(lambda q, k: np.tanh(q + k))


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


ADDITIVE_SCORES = Exercise(
    call="additive_scores(query, key, w_query, w_key, w_score)",
    reference=_right_additive,
    cases=_additive_cases,
    mistakes={
        "the tanh is missing: without it the best key is the same for every query.": _additive(
            lambda q, k: q + k
        ),
        "the tanh comes after w_score: it belongs to each hidden unit, before the sum.": lambda *a: (
            np.tanh(_additive(lambda q, k: q + k)(*a))
        ),
        "the tanh is taken twice, before and after w_score: only before.": lambda *a: np.tanh(
            _right_additive(*a)
        ),
        "query and key are multiplied: add them.": _additive(lambda q, k: np.tanh(q * k)),
        "the key is subtracted: add it.": _additive(lambda q, k: np.tanh(q - k)),
        "tanh is taken of query and key one by one: add them first.": _additive(
            lambda q, k: np.tanh(q) + np.tanh(k)
        ),
        "tanh is taken of the key alone: add the query first.": _additive(
            lambda q, k: q + np.tanh(k)
        ),
        "tanh is taken of the query alone: add the key first.": _additive(
            lambda q, k: np.tanh(q) + k
        ),
        "this is the transpose: rows are queries, columns are keys.": lambda *a: (
            _right_additive(*a).T
        ),
        "these are weights already: return the scores, before the softmax.": lambda *a: softmax(
            _right_additive(*a)
        ),
        "the scores are divided by sqrt(hidden): additive scores are not scaled.": lambda *a: (
            _right_additive(*a) / np.sqrt(a[-1].size)
        ),
        "the scores are divided by sqrt(d_k): additive scores are not scaled.": lambda *a: (
            _right_additive(*a) / np.sqrt(a[1].shape[1])
        ),
        "the scores are divided by the number of hidden units: sum, w_score is no mean.": lambda *a: (
            _right_additive(*a) / a[-1].size
        ),
        "this is a ReLU: the formula has tanh.": _additive(lambda q, k: _relu(q + k)),
        "this is a sigmoid: the formula has tanh.": _additive(
            lambda q, k: 1 / (1 + np.exp(-(q + k)))
        ),
        "w_score is left out, and the hidden units are summed: take the dot product with it.": lambda q, k, wq, wk, ws: (
            _right_additive(q, k, wq, wk, np.ones_like(ws))
        ),
        "w_score is left out, and the mean of the hidden units taken: take the dot product with it.": lambda q, k, wq, wk, ws: (
            _right_additive(q, k, wq, wk, np.full_like(ws, 1 / ws.size))
        ),
        "w_score multiplies inside of the tanh: it belongs outside.": lambda q, k, wq, wk, ws: (
            _right_additive(q, k, wq * ws, wk * ws, np.ones_like(ws))
        ),
        "these are the hidden units: take their dot product with w_score.": lambda q, k, wq, wk, ws: (
            np.tanh((q @ wq)[:, None] + (k @ wk))
        ),
        "this is a dot product of the projections: add them and take tanh and w_score.": lambda q, k, wq, wk, ws: (
            dot(q @ wq, k @ wk)
        ),
        "this is a dot product of two tanhs: add the projections, then take one tanh.": lambda q, k, wq, wk, ws: (
            dot(np.tanh(q @ wq), np.tanh(k @ wk))
        ),
        "w_query and w_key are swapped.": lambda q, k, wq, wk, ws: _right_additive(
            q, k, wk, wq, ws
        ),
        "query and key are both projected by w_query.": lambda q, k, wq, wk, ws: _right_additive(
            q, k, wq, wq, ws
        ),
        "query and key are both projected by w_key.": lambda q, k, wq, wk, ws: _right_additive(
            q, k, wk, wk, ws
        ),
        "the query is scored against the queries: the second projection is that of the key.": lambda q, k, wq, wk, ws: (
            _right_additive(q, q, wq, wk, ws)
        ),
        "the key makes no difference: its projection is missing.": lambda q, k, wq, wk, ws: (
            _right_additive(q, k, wq, 0 * wk, ws)
        ),
        "the query makes no difference: its projection is missing.": lambda q, k, wq, wk, ws: (
            _right_additive(q, k, 0 * wq, wk, ws)
        ),
        "the sign is turned: a higher score is a better match.": lambda *a: -_right_additive(*a),
        "the largest score of each row is subtracted: that belongs to the softmax.": lambda *a: (
            _right_additive(*a) - _right_additive(*a).max(axis=1, keepdims=True)
        ),
    },
    clues={
        # Two rows of hidden units that do not pair up: (len_q, hidden) and (len_k, hidden).
        r"broadcast together with shapes \(\d+,(\d+)\) \(\d+,\1\)": (
            "Every query meets every key: give the queries an axis, (query @ w_query)[:, None]."
        ),
        "matmul": "query has d_q columns and key has d_k: which matrix belongs to which?",
    },
)


EXERCISES = {
    "soft-lookup": SOFT_LOOKUP,
    "recall": RECALL,
    "state-jacobian": STATE_JACOBIAN,
    "kernel-regression": KERNEL_REGRESSION,
    "additive-scores": ADDITIVE_SCORES,
}
