"""The exercises of the chapter Train it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import (
    MASK,
    SOFTMAX,
    but,
    each,
    guarded_above,
    hard_far,
    hard_max,
    masked,
    naive_softmax,
    returning,
    taking,
)
from attnbook.functional import softmax

# Softmax, backwards


def _softmax_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, sharp: float = 1) -> Any:
        d_weights = rng.standard_normal(shape) + 1
        return {"d_weights": d_weights, "weights": softmax(sharp * rng.standard_normal(shape))}

    yield inputs(2, 3, 5), "less_the_average"
    yield inputs(5, 7, 3), "less_the_average"
    yield inputs(3, 5, 7, sharp=9), "sharp"
    yield inputs(7), "leading_axes"
    yield inputs(2, 3, 5, 7), "leading_axes"
    yield inputs(2, 1, 3), "single"
    whole = inputs(3, 5, 2)
    whole["d_weights"] = rng.integers(-3, 4, (3, 5, 2))
    yield whole, "stored_as_integers"
    empty = inputs(5, 3)
    empty["weights"][2] = 0
    empty["weights"][3] = 0, 1, 0
    yield empty, "empty"


def _sum(x: Any) -> Any:
    return x.sum(axis=-1, keepdims=True)


def _jacobian(d: Any, w: Any) -> Any:
    return w * (d - _sum(w * d))


# Of the gradient d of weights w.
_JACOBIAN: dict[str, Function] = dict(
    no_average=lambda d, w: w * d,
    plain_mean=lambda d, w: w * (d - d.mean(axis=-1, keepdims=True)),
    plain_sum=lambda d, w: w * (d - _sum(d)),
    added=lambda d, w: w * (d + _sum(w * d)),
    unweighted=lambda d, w: d - _sum(w * d),
    diagonal=lambda d, w: d * w * (1 - w),
    off_diagonal=lambda d, w: w * (w * d - _sum(w * d)),
    over_queries=lambda d, w: w * (d - (w * d).sum(axis=-2, keepdims=True)),
    average_of_all=lambda d, w: w * (d - (w * d).sum()),
    turned=lambda d, w: -_jacobian(d, w),
    squared=lambda d, w: w * _jacobian(d, w),
    unchanged=lambda d, w: d,
    average_alone=lambda d, w: -w * _sum(w * d),
    of_the_weights=lambda d, w: d * (w - _sum(w * d)),
)

_SOFTMAX_BACKWARD = Exercise(
    call="softmax_backward(d_weights, weights)",
    reference=_jacobian,
    cases=_softmax_cases,
    mistakes=dict(
        but(_JACOBIAN, "of_the_weights"),
        mean_of_products=lambda d, w: w * (d - (w * d).mean(axis=-1, keepdims=True)),
        swapped_arguments=lambda d, w: _jacobian(w, d),
        softmax_again=lambda d, w: _jacobian(d, softmax(w)),
        forward=lambda d, w: softmax(d),
        difference=lambda d, w: w - d,
        averages_alone=lambda d, w: (w * d).sum(axis=-1),
        **returning(
            _jacobian,
            scaled=lambda d: d / np.sqrt(d.shape[-1]),
            mean_of_rows=lambda d: d / d.shape[-1],
        ),
        empty_nan=lambda d, w: _jacobian(d, w / _sum(w)),
        empty_uniform=lambda d, w: _jacobian(d, np.where(_sum(w) == 0, 1 / w.shape[-1], w)),
        cut_to_integers=lambda d, w: _jacobian(d, w).astype(d.dtype),
    ),
    clues={"broadcast|not aligned": "keepdims", "unpack|out of bounds|matmul": "leading_axes"},
)


# The gradient of queries


def _attention_inputs(rng: np.random.Generator, up: float, *shapes: tuple[int, ...]) -> Any:
    """Draw d_output, query, key and value; ``up`` is added to all scores."""
    arrays = [rng.standard_normal(shape) for shape in shapes]
    _, query, key, _ = arrays
    if up:
        query[..., 0], key[..., 0] = 50, up * np.sqrt(query.shape[-1]) / 50
    return dict(zip(("d_output", "query", "key", "value"), arrays, strict=True))


def _query_cases(rng: np.random.Generator) -> Cases:
    def inputs(
        leading: tuple[int, ...], len_q: int, len_k: int, d_k: int, d_v: int, up: float = 0
    ) -> Any:
        sizes = (len_q, d_v), (len_q, d_k), (len_k, d_k), (len_k, d_v)
        return _attention_inputs(rng, up, *((*leading, *size) for size in sizes))

    yield inputs((5,), 5, 5, 5, 5), "three_steps"
    yield inputs((2,), 3, 7, 5, 11), "three_steps"
    yield inputs((3,), 7, 5, 2, 13, up=1000), "maximum"
    yield inputs((3,), 5, 7, 11, 2, up=-1000), "below"
    yield inputs((), 5, 3, 2, 7), "leading_axes"
    yield inputs((2, 3), 5, 7, 3, 2), "leading_axes"
    yield inputs((1,), 1, 3, 1, 2), "single"
    whole = inputs((2,), 5, 3, 7, 2)
    yield {name: np.round(2 * x).astype(int) for name, x in whole.items()}, "stored_as_integers"


def _root(q: Any, k: Any, v: Any) -> Any:
    return 1 / np.sqrt(q.shape[-1])


_SCALES: dict[str, Function] = dict(
    unscaled=lambda q, k, v: 1,
    by_d_k=lambda q, k, v: 1 / q.shape[-1],
    times_root=lambda q, k, v: np.sqrt(q.shape[-1]),
    by_len_k=lambda q, k, v: 1 / np.sqrt(k.shape[-2]),
    by_len_q=lambda q, k, v: 1 / np.sqrt(q.shape[-2]),
    by_d_v=lambda q, k, v: 1 / np.sqrt(v.shape[-1]),
    by_half=lambda q, k, v: 2 / q.shape[-1],
)


def _queries(
    scale: Function = _root,
    factor: Function | None = None,
    weigh: Function = softmax,
    worth: Function = lambda g, q, k, v: g @ v.mT,
    jacobian: Function = _jacobian,
    back: Function = lambda d, w, g, q, k: d @ k,
) -> Function:
    """Make a gradient of queries: of the scale forward, and at the end, and of each step."""

    def gradient(g: Array, q: Array, k: Array, v: Array) -> Any:
        w = weigh(q @ k.mT * scale(q, k, v))
        d = jacobian(worth(g, q, k, v), w)
        return back(d, w, g, q, k) * (factor or scale)(q, k, v)

    return gradient


_D_QUERY = Exercise(
    call="d_query(d_output, query, key, value)",
    reference=_queries(),
    cases=_query_cases,
    mistakes=dict(
        **each(lambda jacobian: _queries(jacobian=jacobian), **but(_JACOBIAN, "over_queries")),
        average_over_queries=_queries(jacobian=_JACOBIAN["over_queries"]),
        **each(_queries, **_SCALES),
        **each(
            lambda factor: _queries(factor=factor),
            no_scale_at_the_end=lambda q, k, v: 1,
            scaled_twice=lambda q, k, v: 1 / q.shape[-1],
            times_root_at_the_end=lambda q, k, v: np.sqrt(q.shape[-1]),
        ),
        scale_at_the_end_alone=_queries(lambda q, k, v: 1, _root),
        **each(
            lambda weigh: _queries(weigh=weigh),
            **but(SOFTMAX, "no_softmax", "turned", "underflow"),
            underflow=guarded_above,
            scores_turned=lambda s: softmax(-s),
        ),
        **each(
            lambda worth: _queries(worth=worth),
            no_loss=lambda g, q, k, v: np.ones(g.shape) @ v.mT,
            worth_of_keys=lambda g, q, k, v: g @ k.mT,
            values_not_transposed=lambda g, q, k, v: g @ v,
        ),
        **each(
            lambda back: _queries(back=back),
            by_queries=lambda d, w, g, q, k: d @ q,
            transposed=lambda d, w, g, q, k: d.mT @ k,
            keys_transposed=lambda d, w, g, q, k: d @ k.mT,
            d_key=lambda d, w, g, q, k: d.mT @ q,
            by_weights=lambda d, w, g, q, k: w @ k,
            scores_given=lambda d, w, g, q, k: d,
            summed=lambda d, w, g, q, k: (d @ k).sum(axis=-2),
        ),
        axes_reversed=lambda g, q, k, v: (
            _jacobian(g @ v.T, softmax(q @ k.T * _root(q, k, v))) @ k * _root(q, k, v)
        ),
        d_value=_queries(
            factor=lambda q, k, v: 1, back=lambda d, w, g, q, k: w.mT @ g
        ),
        cut_to_integers=lambda g, q, k, v: _queries()(g, q, k, v).astype(q.dtype),
    ),
    clues={"unpack|out of bounds|axes don't match": "leading_axes"},
)  # fmt: skip


# A causal mask, backwards


def _causal_cases(rng: np.random.Generator) -> Cases:
    def inputs(leading: tuple[int, ...], length: int, d_k: int, d_v: int, up: float = 0) -> Any:
        sizes = d_v, d_k, d_k, d_v
        return _attention_inputs(rng, up, *((*leading, length, size) for size in sizes))

    yield inputs((5,), 5, 5, 5), "the_past_alone"
    yield inputs((2,), 7, 3, 11), "the_past_alone"
    yield inputs((3,), 5, 7, 2, up=1000), "maximum"
    yield inputs((3,), 7, 2, 5, up=-1000), "below"
    rising = inputs((2,), 5, 7, 3)
    rising["query"][..., 0], rising["key"][..., 0] = 50, 50 * np.arange(5).clip(2)
    yield rising, "far_future"
    yield inputs((), 5, 3, 2), "leading_axes"
    yield inputs((2, 3), 5, 2, 7), "leading_axes"
    yield inputs((2,), 1, 3, 1), "first_token"
    whole = inputs((2,), 5, 3, 7)
    yield {name: np.round(2 * x).astype(int) for name, x in whole.items()}, "stored_as_integers"
    yield inputs((), 557, 2, 3), "long"
    for name, hint in (("key", "nan_in_a_key"), ("value", "nan_in_a_value")):
        spoilt = inputs((2,), 7, 3, 5)
        spoilt[name][:, 4:] = np.nan
        yield spoilt, hint


def _before_nan(answer: Function, d_output: Array, query: Array, key: Array, value: Array) -> Any:
    """Return all gradients, or those of the queries before a NaN, which no other may have."""
    gradients = answer(d_output, query, key, value)
    if not (np.isnan(key).any() or np.isnan(value).any()):
        return gradients
    place = int(np.argmax(np.isnan(key + value[..., :1]).any(axis=(0, -1))))
    return tuple(np.asarray(d)[..., : place * (n == 0), :] for n, d in enumerate(gradients))


def _causal(
    weigh: Function = masked,
    seen: Function = lambda n: np.tri(n, dtype=bool),
    scale: Function = _root,
    factors: Function = lambda f: (f, f, 1),
    jacobian: Function = _jacobian,
    hide: Function = lambda d, m: d,
    back: Function = lambda d, w, g, q, k: (d @ k, d.mT @ q, w.mT @ g),
    safe: tuple[bool, bool] = (True, True),
) -> Function:
    """Make gradients of causal attention: ``safe`` says whether NaN in keys, values is kept off."""

    def gradients(g: Array, q: Array, k: Array, v: Array) -> Any:
        m = np.broadcast_to(seen(q.shape[-2]), (*q.shape[:-1], k.shape[-2]))
        f = scale(q, k, v)
        w = weigh(q @ k.mT * f, m)
        worth = g @ v.mT
        if safe[1]:
            worth = np.where(np.isnan(worth), 0, worth)
        if safe[0]:
            k = np.where(np.isnan(k), 0, k)
        parts = back(hide(jacobian(worth, w), m), w, g, q, k)
        return tuple(d * by for d, by in zip(parts, factors(f), strict=True))

    return gradients


_CAUSAL = _causal()


_NOT_HERE = "over_queries", "no_softmax", "one_fill", "added_mask", "far_scores", "underflow"


def _far(s: Any, m: Any) -> Any:
    """Guard against scores that are too large, whether the mask hides them or not."""
    return guarded_above(np.where(m, s, -np.inf))


_MASKED_BACKWARD = Exercise(
    call="causal_backward(d_output, query, key, value)",
    returns=("d_query", "d_key", "d_value"),
    reference=_CAUSAL,
    cases=_causal_cases,
    play=_before_nan,
    mistakes=dict(
        **each(
            _causal,
            **but(MASK, *_NOT_HERE),
            far_scores=lambda s, m: naive_softmax(np.where(m, s, -np.inf)),
            underflow=_far,
            over_queries=lambda s, m: softmax(np.where(m, s, -np.inf), axis=-2),
        ),
        **each(
            lambda seen: _causal(seen=seen),
            not_itself=lambda n: np.tri(n, k=-1, dtype=bool),
            one_ahead=lambda n: np.tri(n, k=1, dtype=bool),
        ),
        masked_gradient=_causal(
            lambda s, m: softmax(s), hide=lambda d, m: np.where(m, d, 0)
        ),
        mask_turned_backwards=_causal(hide=lambda d, m: np.where(m.mT, d, 0)),
        **each(
            lambda jacobian: _causal(jacobian=jacobian),
            **but(_JACOBIAN, "over_queries", "off_diagonal", "of_the_weights", "average_alone"),
        ),
        **each(
            lambda scale: _causal(scale=scale),
            **but(_SCALES, "by_len_q", "by_half", "times_root"),
        ),
        **each(
            lambda factors: _causal(factors=factors),
            no_scale_at_the_end=lambda f: (1, 1, 1),
            keys_not_scaled=lambda f: (f, 1, 1),
            queries_not_scaled=lambda f: (1, f, 1),
            values_scaled=lambda f: (f, f, f),
        ),
        **each(
            lambda back: _causal(back=back),
            keys_not_transposed=lambda d, w, g, q, k: (d @ k, d @ q, w.mT @ g),
            values_not_transposed=lambda d, w, g, q, k: (d @ k, d.mT @ q, w @ g),
            values_by_scores=lambda d, w, g, q, k: (d @ k, d.mT @ q, d.mT @ g),
            by_its_own=lambda d, w, g, q, k: (d @ q, d.mT @ k, w.mT @ g),
            values_as_if_seen_by_all=lambda d, w, g, q, k: (
                d @ k, d.mT @ q, np.full(w.shape, 1 / w.shape[-1]) @ g
            ),
            value_of_itself=lambda d, w, g, q, k: (d @ k, d.mT @ q, g),
            last_query=lambda d, w, g, q, k: (
                d @ k, d[..., -1:, :].mT @ q[..., -1:, :], w[..., -1:, :].mT @ g[..., -1:, :]
            ),
        ),
        **returning(
            _CAUSAL,
            keys_and_values_swapped=lambda parts: (parts[0], parts[2], parts[1]),
            values_first=lambda parts: parts[::-1],
            query_alone=lambda parts: parts[0],
        ),
        nan_in_a_key=_causal(safe=(False, False)),
        nan_in_a_value=_causal(safe=(True, False)),
        cut_to_integers=lambda g, q, k, v: tuple(
            d.astype(x.dtype) for d, x in zip(_CAUSAL(g, q, k, v), (q, k, v), strict=True)
        ),
    ),
    clues={"unpack|out of bounds|axes don't match|at least 2": "leading_axes"},
)  # fmt: skip


# Cross-entropy


def _entropy_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, up: Any = 0, times: float = 1) -> Any:
        logits = times * rng.standard_normal(shape) + up
        return {"logits": logits, "targets": rng.integers(0, shape[-1], shape[:-1])}

    yield inputs(2, 3, 7), "mean_of_all"
    yield inputs(7, 2, 3), "mean_of_all"
    yield inputs(5, 11), "leading_axes"
    yield inputs(2, 3, 5, 7), "leading_axes"
    yield inputs(3, 5, 7, up=1000), "maximum"
    yield inputs(5, 3, 11, up=-1000), "below"
    yield inputs(3, 2, 5, up=np.array([[[1005.0]], [[2.0]], [[-990.0]]])), "row_by_row"
    far = inputs(5, 3)
    far["targets"] = np.array([0, 1, 2, 2, 0])
    far["logits"][np.arange(5), far["targets"]] -= 2000
    yield far, "far_target"
    yield inputs(2, 1, 3), "single"
    whole = inputs(3, 2, 5)
    yield whole | {"logits": np.round(2 * whole["logits"]).astype(int)}, "stored_as_integers"
    yield inputs(3, 1009), "long"


def _logs(x: Any) -> Any:
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(_sum(np.exp(x)))


def _one_hot(logits: Array, targets: Any) -> Any:
    return 1.0 * (targets[..., None] == np.arange(logits.shape[-1]))


def _cross_entropy(
    loss: Function = lambda x, t: -(t * _logs(x)).sum() / t.sum(),
    gradient: Function = lambda x, t: (softmax(x) - t) / t.sum(),
    one_hot: Function = _one_hot,
) -> Function:
    """Make a loss and a gradient, both of logits x and one-hot targets t."""

    def both(logits: Array, targets: Array) -> Any:
        t = one_hot(logits, targets)
        return loss(logits, t), gradient(logits, t)

    return both


_CROSS = _cross_entropy()


def _by(of: Function) -> Function:
    """Make both of what stands for softmax."""
    return _cross_entropy(
        lambda x, t: -np.log(of(x)[t > 0]).sum() / t.sum(),
        lambda x, t: (of(x) - t) / t.sum(),
    )


_CROSS_ENTROPY = Exercise(
    call="cross_entropy(logits, targets)",
    returns=("loss", "d_logits"),
    reference=_CROSS,
    cases=_entropy_cases,
    mistakes=dict(
        **each(
            _cross_entropy,
            loss_summed=lambda x, t: -(t * _logs(x)).sum(),
            loss_per_target=lambda x, t: -(t * _logs(x)).sum(axis=-1),
            loss_by_all=lambda x, t: -(t * _logs(x)).mean(),
            loss_turned=lambda x, t: (t * _logs(x)).sum() / t.sum(),
            loss_in_bits=lambda x, t: -(t * _logs(x)).sum() / t.sum() / np.log(2),
            no_logarithm=lambda x, t: 1 - (t * softmax(x)).sum() / t.sum(),
            minus_probability=lambda x, t: -(t * softmax(x)).sum() / t.sum(),
            squares=lambda x, t: ((softmax(x) - t) ** 2).sum() / t.sum(),
            perplexity=lambda x, t: np.exp(-(t * _logs(x)).sum() / t.sum()),
            all_classes=lambda x, t: -_logs(x).sum() / t.sum(),
            entropy=lambda x, t: -(softmax(x) * _logs(x)).sum() / t.sum(),
            logit_alone=lambda x, t: -(t * x).sum() / t.sum(),
            share_of_errors=lambda x, t: (x.argmax(axis=-1) != t.argmax(axis=-1)).mean(),
            mean_probability=lambda x, t: -np.log((t * softmax(x)).sum() / t.sum()),
            log_of_zero=lambda x, t: -np.log(softmax(x)[t > 0]).sum() / t.sum(),
            small_added=lambda x, t: -np.log(softmax(x)[t > 0] + 1e-9).sum() / t.sum(),
        ),
        **each(
            lambda gradient: _cross_entropy(gradient=gradient),
            gradient_of_the_sum=lambda x, t: softmax(x) - t,
            gradient_by_vocab=lambda x, t: (softmax(x) - t) / x.shape[-1],
            gradient_by_all=lambda x, t: (softmax(x) - t) / x.size,
            gradient_by_batch=lambda x, t: (softmax(x) - t) / len(x),
            gradient_by_length=lambda x, t: (softmax(x) - t) / x.shape[-2],
            no_one_hot=lambda x, t: softmax(x) / t.sum(),
            gradient_turned=lambda x, t: (t - softmax(x)) / t.sum(),
            targets_alone=lambda x, t: t * (softmax(x) - 1) / t.sum(),
            minus_one_hot=lambda x, t: -t / t.sum(),
            of_probabilities=lambda x, t: -t / softmax(x) / t.sum(),
            softmax_twice=lambda x, t: _jacobian(softmax(x) - t, softmax(x)) / t.sum(),
            logits_less_one_hot=lambda x, t: (x - t) / t.sum(),
            errors_alone=lambda x, t: (hard_max(x) - t) / t.sum(),
            one_from_every_row=lambda x, t: (
                (softmax(x) - t.reshape(-1, t.shape[-1]).any(axis=0)) / t.sum()
            ),
            gradient_overflow=lambda x, t: (naive_softmax(x) - t) / t.sum(),
        ),
        **each(
            lambda one_hot: _cross_entropy(one_hot=one_hot),
            one_early=lambda x, t: _one_hot(x, (t - 1) % x.shape[-1]),
            one_late=lambda x, t: _one_hot(x, (t + 1) % x.shape[-1]),
            likeliest=lambda x, t: _one_hot(x, x.argmax(axis=-1)),
        ),
        both_summed=_cross_entropy(
            lambda x, t: -(t * _logs(x)).sum(), lambda x, t: softmax(x) - t
        ),
        both_by_batch=_cross_entropy(
            lambda x, t: -(t * _logs(x)).sum() / len(x), lambda x, t: (softmax(x) - t) / len(x)
        ),
        both_turned=_cross_entropy(
            lambda x, t: (t * _logs(x)).sum() / t.sum(), lambda x, t: (t - softmax(x)) / t.sum()
        ),
        **each(
            _by,
            over_queries=lambda x: softmax(x, axis=-2),
            overflow=naive_softmax,
            underflow=guarded_above,
            one_maximum=lambda x: naive_softmax(x - x.max()),
            hard_far=hard_far,
            no_sum=lambda x: np.exp(x - x.max(axis=-1, keepdims=True)),
            sum_of_all=lambda x: np.exp(x) / np.exp(x).sum(),
        ),
        **returning(
            _CROSS,
            swapped=lambda both: both[::-1],
            loss_alone=lambda both: both[0],
            gradient_alone=lambda both: both[1],
        ),
        cut_to_integers=lambda x, t: (_CROSS(x, t)[0], _CROSS(x, t)[1].astype(x.dtype)),
    ),
    clues={"broadcast|index .* out of bounds": "one_per_row", "unpack|out of bounds": "leading_axes"},
)  # fmt: skip


# A step of Adam


def _adam_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, step: int = 3, rate: float = 0.5, size: float = 1) -> Any:
        parameter, gradient, m = rng.standard_normal((3, *shape))
        v = size**2 * rng.uniform(0.5, 2, shape)
        values = parameter, size * gradient, 0.5 * size * m, v, step, rate
        names = "parameter", "gradient", "m", "v", "step", "rate"
        return dict(zip(names, values, strict=True))

    yield inputs(5, 3), "each_line"
    yield inputs(7, 2, step=11, rate=0.25), "each_line"
    first = inputs(3, 5, step=1, rate=2)
    yield first | {"m": np.zeros((3, 5)), "v": np.zeros((3, 5))}, "first_step"
    yield inputs(3, 2, step=20_000), "late_step"
    yield inputs(2, 5, step=1000, rate=3, size=1e-8), "small_gradient"
    still = inputs(3, 2, step=2)
    yield still | {name: np.zeros((3, 2)) for name in ("gradient", "m", "v")}, "no_gradient"
    yield inputs(7), "any_axes"
    yield inputs(2, 3, 5), "any_axes"
    yield inputs(1, 1), "single"
    whole = inputs(5, 2)
    yield whole | {"parameter": rng.integers(-3, 4, (5, 2))}, "stored_as_integers"


def _adam(
    first: Function = lambda m, g: 0.9 * m + 0.1 * g,
    second: Function = lambda v, g: 0.999 * v + 0.001 * g**2,
    correct: Function = lambda m, v, t: (m / (1 - 0.9**t), v / (1 - 0.999**t)),
    move: Function = lambda m, v: m / (np.sqrt(v) + 1e-8),
    place: Function = lambda p, rate, move: p - rate * move,
) -> Function:
    """Make a step of Adam of its lines."""

    def step(p: Array, g: Array, m: Array, v: Array, t: int, rate: float) -> Any:
        m, v = first(m, g), second(v, g)
        return place(p, rate, move(*correct(m, v, t))), m, v

    return step


_ADAM = _adam()


def _corrected(p: Array, g: Array, m: Array, v: Array, t: int, rate: float) -> Any:
    p, m, v = _ADAM(p, g, m, v, t, rate)
    return p, m / (1 - 0.9**t), v / (1 - 0.999**t)


_ADAM_STEP = Exercise(
    call="adam_step(parameter, gradient, m, v, step, rate)",
    returns=("parameter", "m", "v"),
    reference=_ADAM,
    cases=_adam_cases,
    mistakes=dict(
        **each(
            _adam,
            m_betas_swapped=lambda m, g: 0.1 * m + 0.9 * g,
            m_by_beta_2=lambda m, g: 0.999 * m + 0.001 * g,
            m_added=lambda m, g: 0.9 * m + g,
            m_of_squares=lambda m, g: 0.9 * m + 0.1 * g**2,
            m_of_the_gradient=lambda m, g: g,
            m_kept=lambda m, g: m,
        ),
        **each(
            lambda second: _adam(second=second),
            v_betas_swapped=lambda v, g: 0.001 * v + 0.999 * g**2,
            v_by_beta_1=lambda v, g: 0.9 * v + 0.1 * g**2,
            v_added=lambda v, g: 0.999 * v + g**2,
            v_not_squared=lambda v, g: 0.999 * v + 0.001 * g,
            v_absolute=lambda v, g: 0.999 * v + 0.001 * np.abs(g),
            v_of_all=lambda v, g: 0.999 * v + 0.001 * (g**2).mean(),
            v_by_99=lambda v, g: 0.99 * v + 0.01 * g**2,
            v_kept=lambda v, g: v,
        ),
        betas_exchanged=_adam(
            lambda m, g: 0.999 * m + 0.001 * g,
            lambda v, g: 0.9 * v + 0.1 * g**2,
            lambda m, v, t: (m / (1 - 0.999**t), v / (1 - 0.9**t)),
        ),
        **each(
            lambda correct: _adam(correct=correct),
            no_correction=lambda m, v, t: (m, v),
            m_not_corrected=lambda m, v, t: (m, v / (1 - 0.999**t)),
            v_not_corrected=lambda m, v, t: (m / (1 - 0.9**t), v),
            correction_swapped=lambda m, v, t: (m / (1 - 0.999**t), v / (1 - 0.9**t)),
            correction_multiplied=lambda m, v, t: (m * (1 - 0.9**t), v * (1 - 0.999**t)),
            correction_of_one_step=lambda m, v, t: (m / 0.1, v / 0.001),
            step_from_0=lambda m, v, t: (m / (1 - 0.9 ** (t - 1)), v / (1 - 0.999 ** (t - 1))),
            step_ahead=lambda m, v, t: (m / (1 - 0.9 ** (t + 1)), v / (1 - 0.999 ** (t + 1))),
            beta_times_step=lambda m, v, t: (m / (1 - 0.9 * t), v / (1 - 0.999 * t)),
            power_alone=lambda m, v, t: (m / 0.9**t, v / 0.999**t),
        ),
        **each(
            lambda move: _adam(move=move),
            no_root=lambda m, v: m / (v + 1e-8),
            root_of_both=lambda m, v: m / np.sqrt(v + 1e-8),
            no_eps=lambda m, v: m / np.sqrt(v),
            large_eps=lambda m, v: m / (np.sqrt(v) + 1e-6),
            tiny_eps=lambda m, v: m / (np.sqrt(v) + 1e-12),
            momentum_alone=lambda m, v: m,
            multiplied=lambda m, v: m * np.sqrt(v),
            signs=lambda m, v: np.sign(m),
        ),
        **each(
            lambda place: _adam(place=place),
            upwards=lambda p, rate, move: p + rate * move,
            no_rate=lambda p, rate, move: p - move,
            decayed=lambda p, rate, move: p - rate * (move + 0.01 * p),
            move_alone=lambda p, rate, move: rate * move,
            minus_move_alone=lambda p, rate, move: -rate * move,
            parameter_kept=lambda p, rate, move: p,
        ),
        of_the_gradient=lambda p, g, m, v, t, rate: (
            p - rate * g / (np.sqrt(_ADAM(p, g, m, v, t, rate)[2] / (1 - 0.999**t)) + 1e-8),
            *_ADAM(p, g, m, v, t, rate)[1:],
        ),
        old_averages=lambda p, g, m, v, t, rate: (
            p - rate * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8),
            *_ADAM(p, g, m, v, t, rate)[1:],
        ),
        plain_descent=lambda p, g, m, v, t, rate: (
            p - rate * g, *_ADAM(p, g, m, v, t, rate)[1:]
        ),
        corrected_returned=_corrected,
        **taking(
            _ADAM,
            rate_falls=lambda p, g, m, v, t, rate: (p, g, m, v, t, rate / np.sqrt(t)),
            first_step_always=lambda p, g, m, v, t, rate: (p, g, 0 * m, 0 * v, 1, rate),
        ),
        **returning(
            _ADAM,
            averages_swapped=lambda found: (found[0], found[2], found[1]),
            parameter_last=lambda found: (*found[1:], found[0]),
            parameter_alone=lambda found: found[0],
        ),
        cut_to_integers=lambda p, g, m, v, t, rate: (
            _ADAM(p, g, m, v, t, rate)[0].astype(p.dtype),
            *_ADAM(p, g, m, v, t, rate)[1:],
        ),
    ),
    clues={"unpack|out of bounds|too many indices": "any_axes"},
)  # fmt: skip


EXERCISES = with_hints(
    __file__,
    {"softmax-backward": _SOFTMAX_BACKWARD, "d-query": _D_QUERY}
    | {"masked-backward": _MASKED_BACKWARD, "cross-entropy": _CROSS_ENTROPY}
    | {"adam-step": _ADAM_STEP},
)
