"""The exercises of the chapter Why attention?."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs, with_hints
from attnbook.exercises.stages import (
    SOFTMAX,
    but,
    coarse,
    cosine,
    each,
    projection,
    returning,
    taking,
)
from attnbook.functional import softmax


def _lookup_cases(rng: np.random.Generator) -> Cases:
    def inputs(items: int, d_k: int, d_v: int, sharpness: float) -> Inputs:
        shapes = {"query": (d_k,), "key": (items, d_k), "value": (items, d_v)}
        drawn = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
        return drawn | {"sharpness": sharpness}

    yield inputs(5, 7, 3, 0.6), "step_by_step"
    yield inputs(2, 3, 11, 1.7), "sizes"
    integers = inputs(7, 5, 2, 1)
    for name, high in (("query", 2), ("key", 2), ("value", 10)):
        integers[name] = rng.integers(-high, high, integers[name].shape)
    yield integers, "stored_as_integers"
    for sign in (1, -1):  # all scores far above 0, then all far below
        sharp = inputs(5, 7, 3, 1000.0)
        sharp["key"] += sign * (1 + np.abs(sharp["key"] @ sharp["query"]).max()) * sharp["query"]
        yield sharp, "maximum"
    for sign in (1, -1):  # the same with scores close to one another
        close = {"query": coarse(rng, 7), "key": coarse(rng, 5, 7), "value": coarse(rng, 5, 1)}
        close["query"][0], close["key"][:, 0] = 50, sign * 50
        yield close | {"sharpness": 2}, "maximum"


def _weighed(weigh: Function) -> Function:
    """Make a mistake in the weights into a whole, otherwise right, lookup."""
    return lambda q, k, v, s: weigh(s, k @ q) @ v


_right_lookup = _weighed(lambda s, scores: softmax(s * scores))
_SOFT_LOOKUP = Exercise(
    call="soft_lookup(query, key, value, sharpness)",
    reference=_right_lookup,
    cases=_lookup_cases,
    mistakes=dict(
        **each(
            lambda weigh: _weighed(lambda s, scores: weigh(s * scores)),
            **but(SOFTMAX, "over_queries", "sum_of_all"),
            all_ones=np.ones_like,
            sigmoid=lambda x: 1 / (1 + np.exp(-x)),
            by_items=lambda x: softmax(x) / x.size,
            overflow_hidden=lambda x: np.nan_to_num(SOFTMAX["overflow"](x)),
        ),
        weights_multiplied=_weighed(lambda s, scores: s * softmax(scores)),
        weights_to_a_power=_weighed(lambda s, scores: softmax(scores) ** s),
        twice=_weighed(lambda s, scores: softmax(s * softmax(scores))),
        no_sharpness=lambda q, k, v, s: _right_lookup(q, k, v, 1),
        by_sharpness=lambda q, k, v, s: _right_lookup(q, k, v, 1 / s),
        by_root=lambda q, k, v, s: _right_lookup(q, k, v, s / np.sqrt(q.size)),
        mixed_keys=lambda q, k, v, s: _right_lookup(q, k, k, s),
        weights_alone=lambda q, k, v, s: _right_lookup(q, k, np.eye(len(k)), s),
        cosine=lambda q, k, v, s: softmax(s * cosine(q[None], k)[0]) @ v,
        squared_distances=lambda q, k, v, s: softmax(-s * ((k - q) ** 2).sum(axis=1)) @ v,
        distances=lambda q, k, v, s: softmax(-s * np.linalg.norm(k - q, axis=1)) @ v,
        integers_like_input=lambda q, k, v, s: _right_lookup(q, k, v, s).astype(v.dtype),
    ),
    clues={"matmul": "row_for_each_item"},
)


def _recall_cases(rng: np.random.Generator) -> Cases:
    for steps, units, hint in ((34, 3, "halves"), (61, 7, "sizes"), (23, 2, "sizes")):
        # Means away from 0, so that a missing intercept shows; noise, so that no recall is 1.
        states = 1 + rng.standard_normal((steps, units))
        wanted = 3 + states @ rng.standard_normal(units) + 0.8 * rng.standard_normal(steps)
        yield {"states": states, "wanted": wanted}, hint
    whole = rng.integers(-9, 10, (31, 4))
    yield {"states": whole[:, 1:] + whole[:, :1], "wanted": whole[:, 0]}, "stored_as_integers"


def _recall(
    fit: str = "first",
    score: str = "second",
    measure: Function = lambda p, w: np.corrcoef(p, w)[0, 1] ** 2,
    design: Function = lambda states: np.column_stack([states, np.ones(len(states))]),
    rounding: int = 0,
    last_fitted: int = 0,
    first_scored: int = 0,
    last_scored: int | None = None,
    ridge: float = 0.0,
) -> Function:
    """Make a recall that fits on some steps, scores others and sums that up in one number."""

    def recall(states: Array, wanted: Array) -> Any:
        half = (len(states) + rounding) // 2
        rest = slice(half + first_scored, last_scored)
        steps = {"first": slice(half + last_fitted), "second": rest, "all": slice(None)}
        steps |= {"even": slice(0, None, 2), "odd": slice(1, None, 2)}
        inputs, units = design(states), states.shape[1]
        penalty = np.sqrt(ridge) * np.eye(units, inputs.shape[1])
        stacked = np.concatenate([inputs[steps[fit]], penalty])
        weights = np.linalg.lstsq(stacked, np.append(wanted[steps[fit]], np.zeros(units)))[0]
        return measure(inputs[steps[score]] @ weights, wanted[steps[score]])

    return recall


_right_recall = _recall()
_RECALL = Exercise(
    call="one_recall(states, wanted)",
    reference=_right_recall,
    cases=_recall_cases,
    mistakes=dict(
        all_steps=_recall(fit="all", score="all"),
        scored_on_first=_recall(score="first"),
        fitted_on_all=_recall(fit="all"),
        fitted_on_second=_recall(fit="second"),
        halves_swapped=_recall(fit="second", score="first"),
        scored_on_all=_recall(score="all"),
        even_and_odd=_recall(fit="even", score="odd"),
        half_rounded_up=_recall(rounding=1),
        fit_one_short=_recall(last_fitted=-1),
        fit_one_too_long=_recall(last_fitted=1),
        scored_one_late=_recall(first_scored=1),
        last_left_out=_recall(last_scored=-1),
        integers_like_input=_recall(
            measure=lambda p, w: np.corrcoef(p.astype(w.dtype), w)[0, 1] ** 2
        ),
        not_squared=_recall(measure=lambda p, w: np.corrcoef(p, w)[0, 1]),
        squared_twice=_recall(measure=lambda p, w: np.corrcoef(p, w)[0, 1] ** 4),
        explained=_recall(measure=lambda p, w: 1 - ((w - p) ** 2).mean() / w.var()),
        squared_error=_recall(measure=lambda p, w: ((p - w) ** 2).mean()),
        root_of_error=_recall(measure=lambda p, w: np.sqrt(((p - w) ** 2).mean())),
        covariance=_recall(measure=lambda p, w: np.cov(p, w)[0, 1]),
        squared_covariance=_recall(measure=lambda p, w: np.cov(p, w)[0, 1] ** 2),
        squared_cosine=_recall(measure=lambda p, w: (p @ w) ** 2 / (p @ p) / (w @ w)),
        share=_recall(measure=lambda p, w: p.var() / w.var()),
        matrix=_recall(measure=np.corrcoef),
        squared_matrix=_recall(measure=lambda p, w: np.corrcoef(p, w) ** 2),
        prediction=_recall(measure=lambda p, w: p),
        no_intercept=_recall(design=lambda states: states),
        centred=_recall(design=lambda states: states - states.mean(axis=0)),
        best_unit=lambda x, w: max(_right_recall(unit[:, None], w) for unit in x.T),
        mean_unit=lambda x, w: _right_recall(x.mean(axis=1, keepdims=True), w),
        ridge=_recall(ridge=1.0),
    ),
    clues={"matmul": "both_have_ones"},
)


def _jacobian_cases(rng: np.random.Generator) -> Cases:
    for steps, units, hint in ((5, 3, "one_step"), (2, 7, "sizes"), (1, 2, "single_step")):
        w = 1.5 * projection(rng, units, units)
        states = [np.tanh(rng.standard_normal(units))]
        for _ in range(steps):
            states.append(np.tanh(states[-1] @ w + 0.7 * rng.standard_normal(units)))
        yield {"w": w, "states": np.array(states[1:])}, hint
    yield {"w": np.array([[2.0]]), "states": rng.uniform(-1, 1, (3, 1))}, "single_unit"
    shift = np.eye(5, k=1, dtype=int)
    yield {"w": shift, "states": rng.uniform(-1, 1, (3, 5))}, "stored_as_integers"


def _steps(w: Array, h: Array) -> Any:
    return (1 - h**2)[..., None] * w.T


def _product(steps: Function) -> Function:
    """Multiply the Jacobians of the steps, the latest leftmost."""
    return lambda w, h: functools.reduce(lambda j, step: step @ j, steps(w, h), np.eye(len(w)))


_right_jacobian = _product(_steps)
_STATE_JACOBIAN = Exercise(
    call="state_jacobian(w, states)",
    reference=_right_jacobian,
    cases=_jacobian_cases,
    mistakes=dict(
        reversed=lambda w, h: _right_jacobian(w, h[::-1]),
        not_transposed=lambda w, h: _right_jacobian(w.T, h),
        reversed_not_transposed=lambda w, h: _right_jacobian(w.T, h[::-1]),
        no_derivative=lambda w, h: _right_jacobian(w, 0 * h),
        power=lambda w, h: _right_jacobian(w.T, 0 * h),
        tanh_again=lambda w, h: _right_jacobian(w, np.tanh(h)),
        first_twice=lambda w, h: _right_jacobian(w, np.append(h[:1], h, axis=0)),
        first_left_out=lambda w, h: _right_jacobian(w, h[1:]),
        last_left_out=lambda w, h: _right_jacobian(w, h[:-1]),
        last_alone=lambda w, h: _right_jacobian(w, h[-1:]),
        first_alone=lambda w, h: _right_jacobian(w, h[:1]),
        transposed=lambda w, h: _right_jacobian(w, h).T,
        from_ones=lambda w, h: _right_jacobian(w, h) @ np.ones_like(w),
        zeros=lambda w, h: 0 * w,
        one_minus_h=_product(lambda w, h: (1 - h)[..., None] * w.T),
        h_squared=_product(lambda w, h: (h**2)[..., None] * w.T),
        sign_turned=_product(lambda w, h: -_steps(w, h)),
        sigmoid=_product(lambda w, h: (h * (1 - h))[..., None] * w.T),
        tanh_itself=_product(lambda w, h: h[..., None] * w.T),
        entry_by_entry=lambda w, h: _steps(w, h).prod(axis=0),
        entry_by_entry_from_identity=lambda w, h: np.diag(np.diag(_steps(w, h).prod(axis=0))),
        summed=lambda w, h: _steps(w, h).sum(axis=0),
        one_by_one=_steps,
        columns=lambda w, h: _right_jacobian(w.T, h[::-1]).T,
        columns_reversed=lambda w, h: _right_jacobian(w.T, h).T,
        w_once_more=lambda w, h: w.T @ _right_jacobian(w, h),
    ),
    clues={"matmul": "row_for_each_step"},
)


def _regression_cases(rng: np.random.Generator) -> Cases:
    def inputs(queries: int, points: int, bandwidth: float) -> Inputs:
        x = np.sort(rng.uniform(0, 3, points))
        y = np.sin(2 * x) + 0.3 * rng.standard_normal(points) + 1
        return {"x_query": rng.uniform(0, 3, queries), "x": x, "y": y, "bandwidth": bandwidth}

    yield inputs(5, 11, 0.6), "row"
    x_query, x, y = [2, 7, 5], [1, 4, 6, 9, 3, 8, 2], [5, -2, 3, 8, 1, 0, 4]
    integers = {"x_query": np.array(x_query), "x": np.array(x), "y": np.array(y), "bandwidth": 2}
    yield integers, "stored_as_integers"
    far = inputs(3, 7, 0.4)
    # Between the far ones is one near the data: a single maximum for all rows does not do.
    far["x_query"][[0, 2]] = -80, 400
    yield far, "far"
    # So far that every exponential is 0, and yet several points count; exact in float32, too.
    y = coarse(rng, 7)
    for place in (1440, -1440):
        wide = {"x_query": np.array([place]), "x": np.arange(7) / 2, "y": y, "bandwidth": 32}
        yield {**wide, "x_query": wide["x_query"].astype(float)}, "far"


def _right_regression(x_query: Array, x: Array, y: Array, bandwidth: float) -> Array:
    return softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2)) @ y


def _regressed(
    kernel: Function = lambda d, h: np.exp(-(d**2) / (2 * h**2)),
    mix: Function = lambda k, y, h: k @ y / k.sum(axis=1),
) -> Function:
    """Make a regression of a kernel of the distances, and of how the kernels mix y."""
    return lambda q, x, y, h: mix(kernel(q[:, None] - x, h), y, h)


def _nearest_if_far(x_query: Array, x: Array, y: Array, bandwidth: float) -> Any:
    distance = np.abs(x_query[:, None] - x)
    nearest = y[distance.argmin(axis=1)]
    right = _right_regression(x_query, x, y, bandwidth)
    return np.where(distance.min(axis=1) > 38.6 * bandwidth, nearest, right)


_KERNEL_REGRESSION = Exercise(
    call="kernel_regression(x_query, x, y, bandwidth)",
    reference=_right_regression,
    cases=_regression_cases,
    mistakes=dict(
        size_of_distance=_regressed(lambda d, h: np.exp(-np.abs(d) / (2 * h**2))),
        signed_distance=_regressed(lambda d, h: np.exp(-d / (2 * h**2))),
        laplace=_regressed(lambda d, h: np.exp(-np.abs(d) / h)),
        no_exponential=_regressed(lambda d, h: d**2),
        no_minus=_regressed(
            lambda d, h: np.exp((d**2 - (d**2).max(axis=1, keepdims=True)) / (2 * h**2))
        ),
        box=_regressed(lambda d, h: np.abs(d) <= h),
        inverse_squares=_regressed(lambda d, h: 1 / d**2),
        inverse_distances=_regressed(lambda d, h: 1 / np.abs(d)),
        over_queries=_regressed(mix=lambda k, y, h: k / k.sum(axis=0) @ y),
        sum_of_all=_regressed(mix=lambda k, y, h: k @ y / k.sum()),
        no_sum=_regressed(mix=lambda k, y, h: k @ y),
        by_points=_regressed(mix=lambda k, y, h: k @ y / y.size),
        densities=_regressed(mix=lambda k, y, h: k @ y / (h * np.sqrt(2 * np.pi))),
        density_of_points=_regressed(mix=lambda k, y, h: k.mean(axis=1) / (h * np.sqrt(2 * np.pi))),
        nearest=_regressed(mix=lambda k, y, h: y[k.argmax(axis=1)]),
        uniform=_regressed(mix=lambda k, y, h: np.full(len(k), y.mean())),
        far_nearest=_nearest_if_far,
        far_nan=_regressed(mix=lambda k, y, h: k @ y / k.sum(axis=1)),
        far_zero=_regressed(mix=lambda k, y, h: np.nan_to_num(k @ y / k.sum(axis=1))),
        far_mean=_regressed(mix=lambda k, y, h: np.nan_to_num(k @ y / k.sum(axis=1), nan=y.mean())),
        no_two=lambda q, x, y, h: _right_regression(q, x, y, h / np.sqrt(2)),
        not_squared=lambda q, x, y, h: _right_regression(q, x, y, np.sqrt(h)),
        two_squared=lambda q, x, y, h: _right_regression(q, x, y, h * np.sqrt(2)),
        no_parentheses=lambda q, x, y, h: _right_regression(q, x, y, 1 / h),
        no_bandwidth=lambda q, x, y, h: _right_regression(q, x, y, 1),
        mixed_x=lambda q, x, y, h: _right_regression(q, x, x, h),
        at_x=lambda q, x, y, h: _right_regression(x, x, y, h),
        weights_alone=lambda q, x, y, h: _right_regression(q, x, np.eye(x.size), h),
        line=lambda q, x, y, h: np.interp(q, np.sort(x), y[np.argsort(x)]),
        integers_like_input=lambda q, x, y, h: _right_regression(q, x, y, h).astype(q.dtype),
    ),
    clues={r"broadcast together with shapes \(\d+,\) \(\d+,\)": "every_point"},
)


def _additive_cases(rng: np.random.Generator) -> Cases:
    # Equal sizes of query and key: swapped matrices show as wrong numbers, not as an error.
    sizes: Any = ((3, 5, 7, 7, 11, "entry"), (5, 2, 3, 13, 7, "sizes"))
    for len_q, len_k, d_q, d_k, hidden, hint in sizes:
        inputs = {
            "query": rng.standard_normal((len_q, d_q)),
            "key": rng.standard_normal((len_k, d_k)),
            "w_query": projection(rng, d_q, hidden),
            "w_key": projection(rng, d_k, hidden),
            "w_score": rng.standard_normal(hidden),
        }
        yield inputs, hint
    integers = {**inputs, "query": rng.integers(-2, 3, (1, 3)), "key": rng.integers(-2, 3, (7, 13))}
    yield integers, "stored_as_integers"


def _additive(combine: Function) -> Function:
    """Make what is done with the two projections, before w_score, into whole scores."""
    return lambda q, k, wq, wk, ws: combine((q @ wq)[:, None], (k @ wk)[None]) @ ws


_right_additive = _additive(lambda q, k: np.tanh(q + k))
_ADDITIVE_SCORES = Exercise(
    call="additive_scores(query, key, w_query, w_key, w_score)",
    reference=_right_additive,
    cases=_additive_cases,
    mistakes=dict(
        no_tanh=_additive(np.add),
        multiplied=_additive(lambda q, k: np.tanh(q * k)),
        subtracted=_additive(lambda q, k: np.tanh(q - k)),
        one_by_one=_additive(lambda q, k: np.tanh(q) + np.tanh(k)),
        tanh_of_key=_additive(lambda q, k: q + np.tanh(k)),
        tanh_of_query=_additive(lambda q, k: np.tanh(q) + k),
        relu=_additive(lambda q, k: np.maximum(q + k, 0)),
        sigmoid=_additive(lambda q, k: 1 / (1 + np.exp(-(q + k)))),
        **returning(_additive(np.add), tanh_late=np.tanh),
        **returning(_right_additive, tanh_twice=np.tanh, transposed=np.transpose),
        **returning(_right_additive, weights_already=softmax, turned=np.negative),
        **returning(_right_additive, minus_largest=lambda s: s - s.max(axis=1, keepdims=True)),
        **taking(
            _right_additive,
            by_root_of_hidden=lambda q, k, wq, wk, ws: (q, k, wq, wk, ws / np.sqrt(ws.size)),
            by_root_of_d_k=lambda q, k, wq, wk, ws: (q, k, wq, wk, ws / np.sqrt(k.shape[1])),
            by_hidden=lambda q, k, wq, wk, ws: (q, k, wq, wk, ws / ws.size),
            sum_of_hidden=lambda q, k, wq, wk, ws: (q, k, wq, wk, np.ones(ws.size)),
            mean_of_hidden=lambda q, k, wq, wk, ws: (q, k, wq, wk, np.ones(ws.size) / ws.size),
            inside=lambda q, k, wq, wk, ws: (q, k, wq * ws, wk * ws, np.ones(ws.size)),
            hidden_units=lambda q, k, wq, wk, ws: (q, k, wq, wk, np.eye(ws.size)),
            swapped=lambda q, k, wq, wk, ws: (q, k, wk, wq, ws),
            w_query_twice=lambda q, k, wq, wk, ws: (q, k, wq, wq, ws),
            w_key_twice=lambda q, k, wq, wk, ws: (q, k, wk, wk, ws),
            query_twice=lambda q, k, wq, wk, ws: (q, q, wq, wk, ws),
            no_key=lambda q, k, wq, wk, ws: (q, k, wq, 0 * wk, ws),
            no_query=lambda q, k, wq, wk, ws: (q, k, 0 * wq, wk, ws),
        ),
        dot_product=lambda q, k, wq, wk, ws: q @ wq @ (k @ wk).T,
        dot_of_tanhs=lambda q, k, wq, wk, ws: np.tanh(q @ wq) @ np.tanh(k @ wk).T,
    ),
    clues={
        # Two rows of hidden units that do not pair up: (len_q, hidden) and (len_k, hidden).
        r"broadcast together with shapes \(\d+,(\d+)\) \(\d+,\1\)": "every_key",
        "matmul": "which_matrix",
    },
)


def _settings_cases(rng: np.random.Generator) -> Cases:
    def case(units: int, cause: int) -> Inputs:
        a, b = rng.standard_normal((2, units))
        measure = lambda x: float(np.tanh(a @ x) + b @ x**2)  # noqa: E731
        return {"measure": measure, "x": rng.standard_normal(units), "cause": cause}

    yield case(5, 2), "each_other"
    yield case(7, 0), "first_or_last"
    yield case(3, 2), "first_or_last"
    integers = case(6, 3)
    yield integers | {"x": rng.permutation(6) + 1}, "stored_as_integers"
    yield case(2, 1), "one_other"


def _set(x: Array, unit: Any, to: float = 0.0) -> Array:
    return np.where(np.isin(np.arange(len(x)), np.asarray(unit)), to, x)


def _others(x: Array, c: int) -> list[int]:
    return [i for i in range(len(x)) if i != c]


def _each(zeros: Function = lambda x, c, i: i) -> Function:
    """Make a control of what is set to zero for each other unit i."""
    return lambda m, x, c: [m(_set(x, zeros(x, c, i))) for i in _others(x, c)]


def _settings(
    control: Function = _each(),  # noqa: B008
    without: Function = lambda m, x, c: m(_set(x, c)),
    with_cause: Function = lambda m, x, c: m(x),
) -> Function:
    """Make the three settings, one of them perhaps wrong."""
    return lambda *a: (with_cause(*a), without(*a), np.array(control(*a)))


def _put(change: Function) -> Function:
    """Make a mistake in what a unit is set to, in the intervention and in its control."""
    return _settings(
        lambda m, x, c: [m(change(x, i)) for i in _others(x, c)],
        lambda m, x, c: m(change(x, c)),
    )


_THREE_SETTINGS = Exercise(
    call="three_settings(measure, x, cause)",
    reference=_settings(),
    cases=_settings_cases,
    returns=("with_cause", "without", "control"),
    mistakes=dict(
        **each(
            lambda zeros: _settings(_each(zeros)),
            both=lambda x, c, i: [i, c],
            not_restored=lambda x, c, i: range(i + 1),
            others_not_restored=lambda x, c, i: _others(x, c)[: i + (i < c)],
            kept_alone=lambda x, c, i: _others(x, i),
            unchanged=lambda x, c, i: [],
            same_again=lambda x, c, i: c,
        ),
        **each(
            _settings,
            cause_too=lambda m, x, c: [m(_set(x, i)) for i in range(len(x))],
            all_at_once=lambda m, x, c: m(_set(x, _others(x, c))),
            averaged=lambda m, x, c: np.mean(_each()(m, x, c)),
            backwards=lambda m, x, c: _each()(m, x, c)[::-1],
            first_left_out=lambda m, x, c: [m(_set(x, i)) for i in range(1, len(x))],
            last_left_out=lambda m, x, c: [m(_set(x, i)) for i in range(len(x) - 1)],
            differences=lambda m, x, c: np.subtract(_each()(m, x, c), m(x)),
        ),
        **each(
            _put,
            to_one=lambda x, i: _set(x, i, 1),
            to_mean=lambda x, i: _set(x, i, x.mean()),
            sign_turned=lambda x, i: np.where(np.arange(len(x)) == i, -x, x),
        ),
        changed_before=_settings(with_cause=lambda m, x, c: m(_set(x, c))),
        without_others=_settings(without=lambda m, x, c: m(_set(x, _others(x, c)))),
        without_unchanged=_settings(without=lambda m, x, c: m(x)),
        exchanged=_settings(without=lambda m, x, c: m(x), with_cause=lambda m, x, c: m(_set(x, c))),
    ),
    clues={"mismatch|shape|aligned": "deleted"},
)


EXERCISES = with_hints(
    __file__,
    {"soft-lookup": _SOFT_LOOKUP, "recall": _RECALL, "state-jacobian": _STATE_JACOBIAN}
    | {"kernel-regression": _KERNEL_REGRESSION, "additive-scores": _ADDITIVE_SCORES}
    | {"three-settings": _THREE_SETTINGS},
)
