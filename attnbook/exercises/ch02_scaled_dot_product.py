"""The exercises of the chapter Compute scaled dot-product attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs, with_hints
from attnbook.exercises.stages import (
    ATTEND,
    MASK,
    MASK_OF_ALL,
    SCALED_LATE,
    SOFTMAX,
    but,
    coarse,
    each,
    masked,
    naive_softmax,
    put_wrong,
    returning,
    scaled,
    taking,
)
from attnbook.functional import scaled_dot_product_attention, softmax
from attnbook.masks import causal_mask


def _other_batch(x: Array) -> Array:
    return np.roll(x, 1, axis=0)


def _softmax_cases(rng: np.random.Generator) -> Cases:
    # Three axes: an answer written for one row or one matrix only must not pass.
    yield {"x": rng.standard_normal((2, 3, 5))}, "row_by_row"
    yield {"x": rng.integers(-3, 4, (3, 2, 7))}, "integers"
    # One row far below the others: the maximum of the whole array, or of 0 and the row, empties it.
    large = 1000.0 * rng.permutation(np.arange(-15, 15)).reshape(2, 3, 5)
    large[0, 1] -= 100_000
    yield {"x": large}, "maximum"
    for center in (5000, -5000):  # close to one another, and far from 0
        yield {"x": center + coarse(rng, 2, 3, 5)}, "maximum"
    for shape in ((5,), (1, 1, 7), (2, 3, 2, 5)):
        yield {"x": rng.standard_normal(shape)}, "any_axes"


_SOFTMAX = Exercise(
    call="my_softmax(x)",
    reference=softmax,
    cases=_softmax_cases,
    mistakes=dict(
        over_first=lambda x: softmax(x, axis=0),
        **but(SOFTMAX, "overflow"),
        **returning(softmax, logarithm=np.log, twice=softmax),
        base_two=lambda x: softmax(x * np.log(2)),
        rooted=lambda x: softmax(x / np.sqrt(x.shape[-1])),
        sigmoid=lambda x: 1 / (1 + np.exp(-x)),
        integers_like_input=lambda x: softmax(x).astype(x.dtype),
        far_scores=naive_softmax,
        maximum_of_all=lambda x: naive_softmax(x - x.max()),
    ),
    rows_sum_to_one=True,
)


def _scores_cases(rng: np.random.Generator) -> Cases:
    def inputs(batch: int, len_q: int, len_k: int, d_k: int) -> Inputs:
        shapes = {"query": (batch, len_q, d_k), "key": (batch, len_k, d_k)}
        return {name: rng.standard_normal(shape) for name, shape in shapes.items()}

    yield inputs(2, 3, 5, 7), "entry"
    yield inputs(3, 7, 2, 13), "sizes"
    integers = {name: rng.integers(-4, 5, (2, n, 7)) for name, n in (("query", 3), ("key", 5))}
    yield integers, "stored_as_integers"
    yield inputs(1, 1, 5, 3), "single"


_SCORES = Exercise(
    call="batch_scores(query, key)",
    reference=scaled,
    cases=_scores_cases,
    mistakes=dict(
        **each(lambda wrong: wrong.scores, **but(put_wrong("score", "scale"), "by_d_v")),
        by_root_of_batch=lambda q, k: q @ k.swapaxes(-1, -2) / np.sqrt(len(q)),
        distances=lambda q, k: np.linalg.norm(q[..., :, None, :] - k[..., None, :, :], axis=-1),
        summed_batch=lambda q, k: np.einsum("bid,bjd->ij", q, k) / np.sqrt(q.shape[-1]),
        every_pair=lambda q, k: np.dot(q, k.swapaxes(-1, -2)) / np.sqrt(q.shape[-1]),
        integers_like_input=lambda q, k: scaled(q, k).astype(q.dtype),
        **returning(scaled, weights_already=softmax, cut_to_integers=np.trunc),
        transposed=lambda q, k: scaled(k, q),
        other_batch=lambda q, k: scaled(q, _other_batch(k)),
        all_batches=lambda q, k: scaled(q, np.broadcast_to(k.sum(axis=0), k.shape)),
    ),
)


def _attention_cases(rng: np.random.Generator) -> Cases:
    def inputs(batch: int, len_q: int, len_k: int, d_k: int, d_v: int) -> Inputs:
        shapes = (batch, len_q, d_k), (batch, len_k, d_k), (batch, len_k, d_v)
        names = ("query", "key", "value")
        return {name: rng.standard_normal(shape) for name, shape in zip(names, shapes, strict=True)}

    yield inputs(2, 3, 5, 7, 11), "step_by_step"
    yield inputs(3, 7, 2, 13, 5), "sizes"
    large = inputs(2, 3, 5, 7, 11)
    large["query"] *= 10_000
    yield large, "maximum"
    for sign in (1, -1):  # the same with scores close to one another
        shapes = {"query": (2, 3, 4), "key": (2, 5, 4), "value": (2, 5, 7)}
        close = {name: coarse(rng, *shape) for name, shape in shapes.items()}
        close["query"][..., 0], close["key"][..., 0] = 100, sign * 100
        yield close, "maximum"
    yield {name: np.round(4 * x).astype(int) for name, x in close.items()}, "stored_as_integers"
    yield inputs(1, 1, 5, 7, 3), "single"


_ATTENTION = Exercise(
    call="attention(query, key, value)",
    returns=("output", "weights"),
    reference=scaled_dot_product_attention,
    cases=_attention_cases,
    mistakes=dict(
        **put_wrong("score", "scale", "weigh", "mix", "give"),
        scaled_late=SCALED_LATE,
        over_batch=replace(ATTEND, weigh=lambda s, m: softmax(s, axis=0)),
        other_batch_mixed=replace(ATTEND, mix=lambda w, s, k, v: w @ _other_batch(v)),
    ),
    rows_sum_to_one=True,
)


def _causal_cases(rng: np.random.Generator) -> Cases:
    few_queries = rng.standard_normal((2, 3, 5))
    few_queries[0, 0, 1] = 0.0  # a score of 0 is a score, not the sign of a masked one
    yield {"scores": few_queries}, "aligned_last"
    yield {"scores": rng.standard_normal((3, 7, 7))}, "aligned_last"
    yield {"scores": _far_below(rng, (2, 5, 11))}, "maximum_allowed"
    for center in (5000, -5000):  # close to one another, and far from 0
        yield {"scores": center + coarse(rng, 2, 3, 5)}, "maximum_allowed"
    yield {"scores": rng.integers(-3, 4, (2, 3, 7))}, "stored_as_integers"
    yield {"scores": rng.standard_normal((1, 1, 7))}, "single"
    yield {"scores": rng.standard_normal((1, 1, 1031))}, "long"


def _far_below(rng: np.random.Generator, shape: Any) -> Any:
    """Return scores which attract masked keys filled with too small a number, as -10000."""
    return 5000.0 * rng.integers(-5, 6, shape) - 2_000_000


def _late(scores: Array, extra: int = 0) -> Array:
    len_q, len_k = scores.shape[-2:]
    return np.tri(len_q, len_k, len_k - len_q + extra, dtype=bool)


_CAUSAL = Exercise(
    call="causal_weights(scores)",
    reference=lambda s: masked(s, causal_mask(s.shape[-1])[s.shape[-1] - s.shape[-2] :]),
    cases=_causal_cases,
    mistakes=dict(
        **each(lambda weigh: lambda s: weigh(s, _late(s)), **but(MASK, "uniform")),
        **each(
            lambda mask: lambda s: masked(s, mask(s)),
            upper=lambda s: ~_late(s, -1),
            without_itself=lambda s: _late(s, -1),
            one_ahead=lambda s: _late(s, 1),
            aligned_first=lambda s: np.tri(*s.shape[-2:], dtype=np.bool_),
            zero_is_masked=lambda s: _late(s) & (s != 0),
        ),
        inverted_nan=lambda s: naive_softmax(np.where(_late(s), -np.inf, s)),
        offset_turned=lambda s: naive_softmax(
            np.where(_late(s, 2 * (s.shape[-2] - s.shape[-1])), s, -np.inf)
        ),
        running_mean=lambda s: _late(s) / _late(s).sum(axis=-1, keepdims=True) + 0 * s,
    ),
    rows_sum_to_one=True,
    clues={
        "1031": "long",
        # Two equal lengths in the error: a square mask. "axis 1" is the axis of the queries.
        r"broadcast together.*\b(\d+),\1\)": "mask_shape",
        r"boolean index.*axis 1": "mask_shape",
    },
)


def _masked_softmax_cases(rng: np.random.Generator) -> Cases:
    scores = rng.standard_normal((2, 3, 5))
    scores[0, 0, 1] = 0.0  # a score of 0 is a score, not the sign of a masked one
    # One mask for each sequence: what a query may see differs between the sequences.
    mask = np.array([[[1, 1, 0, 0, 0]], [[0, 1, 1, 0, 1]]], dtype=bool)
    yield {"scores": scores, "mask": mask}, "true_may_attend"
    mask = rng.random((2, 3, 5)) < 0.6
    mask[0, 2] = False
    mask[1, 0] = True
    yield {"scores": rng.standard_normal((2, 3, 5)), "mask": mask}, "empty_row"
    mask = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0]], dtype=bool)
    yield {"scores": _far_below(rng, (3, 2, 7)), "mask": mask}, "maximum_allowed"
    for center in (5000, -5000):  # close to one another, and far from 0
        scores = center + coarse(rng, 2, 3, 5)
        yield {"scores": scores, "mask": rng.random((3, 5)) < 0.7}, "maximum_allowed"
    yield {"scores": rng.integers(-3, 4, (2, 3, 5)), "mask": np.tri(3, 5) > 0}, "stored_as_integers"
    mask = np.array([[[1, 1, 0, 0, 1]], [[0, 0, 0, 0, 0]]], dtype=bool)
    yield {"scores": rng.standard_normal((2, 3, 5)), "mask": mask}, "empty_sequence"
    for few in (mask[0, 0], np.array([[1], [0], [1]], dtype=bool)):
        yield {"scores": rng.standard_normal((1, 3, 5)), "mask": few}, "few_axes"


_MASKED_SOFTMAX = Exercise(
    call="masked_softmax(scores, mask)",
    reference=masked,
    cases=_masked_softmax_cases,
    mistakes=dict(
        **MASK_OF_ALL,
        zero_is_masked=lambda s, m: masked(s, m & (s != 0)),
        mask_of_first_query=lambda s, m: masked(s, m[:, :1]),
    ),
    rows_sum_to_one=True,
)


def _share_cases(_: np.random.Generator) -> Cases:
    yield {"length": 900, "d_model": 768, "d_ff": 2000}, "per_token"
    yield {"length": 131, "d_model": 257, "d_ff": 1019}, "sizes"
    yield {"length": 4099, "d_model": 521, "d_ff": 4 * 521}, "sizes"


def _share(projections: float = 4.0, products: float = 2.0, feed_forward: float = 2.0) -> Function:
    def share(n: int, d: int, f: int) -> float:
        attention = projections * d * d + products * n * d
        return attention / (attention + feed_forward * d * f)

    return share


_right_share = _share()


_SHARE = Exercise(
    call="attention_share(length, d_model, d_ff)",
    reference=_right_share,
    cases=_share_cases,
    mistakes=dict(
        no_projections=_share(projections=0),
        three_projections=_share(projections=3),
        one_product=_share(products=1),
        no_products=_share(products=0),
        four_times=_share(feed_forward=8),
        one_matrix=_share(feed_forward=1),
        three_matrices=_share(feed_forward=3),
        **taking(
            _right_share,
            always_four=lambda n, d, f: (n, d, 4 * d),
            square=lambda n, d, f: (n, d, d),
            both_inner=lambda n, d, f: (n, d, f * f / d),
            inner_squared=lambda n, d, f: (n, d, f * f / d / 2),
            lacks_d_model=lambda n, d, f: (n, d, f / d),
            length_for_d_model=lambda n, d, f: (d, n, f),
            d_model_for_d_ff=lambda n, d, f: (n, f, d),
            length_for_d_ff=lambda n, d, f: (f, d, n),
            other_order=lambda n, d, f: (f, n, d),
        ),
        **returning(_right_share, percentage=lambda share: 100 * share, rest=lambda s: 1 - s),
        ratio=lambda n, d, f: (2 * d + n) / f,
        integer_division=lambda n, d, f: 0,
        whole_lacks_the_rest=lambda n, d, f: 1,
        whole_lacks_products=lambda n, d, f: (2 * d + n) / (2 * d + f),
        length_twice=lambda n, d, f: _share(products=2 * n)(n, d, f),
        products_not_times_length=lambda n, d, f: _share(products=2 / n)(n, d, f),
        one_token_to_all=lambda n, d, f: n * (2 * d + n) / (n * (2 * d + n) + f),
        count=lambda n, d, f: 4 * d * d + 2 * n * d,
        products_alone=lambda n, d, f: n / (2 * d + n + f),
        projections_alone=lambda n, d, f: 2 * d / (2 * d + n + f),
    ),
)


EXERCISES = with_hints(
    __file__,
    {"softmax": _SOFTMAX, "scores": _SCORES, "attention": _ATTENTION, "causal": _CAUSAL}
    | {"masked-softmax": _MASKED_SOFTMAX, "attention-share": _SHARE},
)
