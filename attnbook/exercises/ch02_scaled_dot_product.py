"""The exercises of the chapter Compute scaled dot-product attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs
from attnbook.exercises.mistakes import (
    ATTENTION_MISTAKES,
    MASKING_MISTAKES,
    MAXIMUM,
    SIZES,
    cosine,
    dot,
    exp_before_mask,
    masked,
    masked_maximum,
    mixed,
    naive_softmax,
    one_hot_argmax,
    scaled,
    torn,
)
from attnbook.functional import scaled_dot_product_attention
from attnbook.functional import softmax as right_softmax
from attnbook.masks import causal_mask

_MAXIMUM_ALLOWED = (
    "These scores are around -40000. Fill masked ones with -np.inf, and subtract from each row the "
    "largest score that is not masked."
)


def _other_batch(x: Array) -> Array:
    return np.roll(x, 1, axis=0)


# softmax


def _softmax_cases(rng: np.random.Generator) -> Cases:
    # Three axes: an answer written for one row or one matrix only must not pass.
    yield {"x": rng.standard_normal((2, 3, 5))}, "Compare exp(x[i]) / sum(exp(x)) row by row."
    hint = "These are integers, in other sizes: is the result an integer array, or a size fixed?"
    yield {"x": rng.integers(-3, 4, (3, 2, 7))}, hint
    # One row far below the others: the maximum of the whole array, or of 0 and the row, empties it.
    large = 1000.0 * rng.integers(-20, 21, (2, 3, 5))
    large[0, 1] -= 100_000
    yield {"x": large}, MAXIMUM


SOFTMAX = Exercise(
    call="my_softmax(x)",
    reference=right_softmax,
    cases=_softmax_cases,
    mistakes={
        "the softmax runs over axis 0; each row is the last axis: axis=-1.": lambda x: (
            right_softmax(x, axis=0)
        ),
        "the softmax runs over the second-to-last axis; each row is the last one: axis=-1.": lambda x: (
            right_softmax(x, axis=-2)
        ),
        "the sum runs over the whole array: it needs axis=-1 and keepdims=True.": lambda x: (
            np.exp(x) / np.exp(x).sum()
        ),
        "these are scores divided by their sum: softmax needs the exponential.": lambda x: (
            x / x.sum(axis=-1, keepdims=True)
        ),
        "the exponentials are not divided by their sum.": lambda x: np.exp(
            x - x.max(axis=-1, keepdims=True)
        ),
        "these are bare exponentials: divide them by their sum.": np.exp,
        "this is a hard argmax: it puts all weight on one key; softmax spreads it.": one_hot_argmax,
        "this is log-softmax: take its exponential.": lambda x: np.log(right_softmax(x)),
        "this is a sigmoid of each score: softmax compares the scores of a row.": lambda x: (
            1 / (1 + np.exp(-x))
        ),
        "this is softmax of -x: the largest score must get the largest weight.": lambda x: (
            right_softmax(-x)
        ),
        "the base is 2, not e: use np.exp.": lambda x: right_softmax(x * np.log(2)),
        "this is x itself, unchanged.": lambda x: x,
        "all weights of a row are equal: the scores make no difference.": lambda x: right_softmax(
            np.zeros(x.shape)
        ),
        "the scores are divided by a square root first: softmax takes them as they are.": lambda x: (
            right_softmax(x / np.sqrt(x.shape[-1]))
        ),
        "the softmax is taken twice: softmax(softmax(x)).": lambda x: right_softmax(
            right_softmax(x)
        ),
        "the sum leaves out the score itself: it runs over all scores of the row.": lambda x: (
            np.exp(x) / (np.exp(x).sum(axis=-1, keepdims=True) - np.exp(x))
        ),
        "the result is cut to integers: it needs an array of floats.": lambda x: np.trunc(
            right_softmax(x)
        ),
        "the result is cut to integers, as x is here: np.zeros_like(x) takes over the type of x.": lambda x: (
            right_softmax(x).astype(x.dtype)
        ),
        "exp overflows or underflows: subtract from each row its own largest score first.": (
            naive_softmax
        ),
        "the maximum is that of the whole array: a row far below it comes out as 0 / 0.": lambda x: (
            naive_softmax(x - x.max())
        ),
    },
    rows_sum_to_one=True,
)


# scores


def _scores_cases(rng: np.random.Generator) -> Cases:
    yield (
        {"query": rng.standard_normal((2, 3, 7)), "key": rng.standard_normal((2, 5, 7))},
        "Entry (i, j) is the dot product of query i and key j, divided by sqrt(d_k).",
    )
    yield {"query": rng.standard_normal((3, 7, 13)), "key": rng.standard_normal((3, 2, 13))}, SIZES
    yield (
        {"query": rng.integers(-4, 5, (2, 3, 7)), "key": rng.integers(-4, 5, (2, 5, 7))},
        "These inputs are integers: is the result stored as integers, too?",
    )


SCORES = Exercise(
    call="batch_scores(query, key)",
    reference=scaled,
    cases=_scores_cases,
    mistakes={
        "the scores are not scaled: divide by the square root of d_k.": dot,
        "the scores are divided by d_k: it should be its square root.": lambda q, k: (
            dot(q, k) / q.shape[-1]
        ),
        "the scores are multiplied by sqrt(d_k): divide instead.": lambda q, k: (
            dot(q, k) * np.sqrt(q.shape[-1])
        ),
        "the scores are divided by sqrt(len_k): the scale is the key size, d_k = key.shape[-1].": lambda q, k: (
            dot(q, k) / np.sqrt(k.shape[-2])
        ),
        "the scores are divided by sqrt(len_q): the scale is the key size, d_k = key.shape[-1].": lambda q, k: (
            dot(q, k) / np.sqrt(q.shape[-2])
        ),
        "this is a cosine similarity: a dot product keeps the lengths of the vectors.": cosine,
        "rows should be queries and columns keys: this is the transpose, key @ query.T.": lambda q, k: (
            scaled(k, q)
        ),
        "these are weights already: the softmax comes after the scores.": lambda q, k: (
            right_softmax(scaled(q, k))
        ),
        "these are distances: a score is a dot product.": lambda q, k: np.linalg.norm(
            q[..., :, None, :] - k[..., None, :, :], axis=-1
        ),
        "the batch index has been summed over, too: each sequence has scores of its own.": lambda q, k: (
            np.einsum("bid,bjd->ij", q, k) / np.sqrt(q.shape[-1])
        ),
        "the scores are divided by d_k / 2: d_k ** 1 / 2 is that; write sqrt(d_k) or d_k ** 0.5.": lambda q, k: (
            dot(q, k) / (q.shape[-1] / 2)
        ),
        "the scores are divided by 2 d_k: / d_k ** 1 / 2 does that; write sqrt(d_k) or d_k ** 0.5.": lambda q, k: (
            dot(q, k) / q.shape[-1] / 2
        ),
        "the scores are divided by sqrt(2), here that of the batch size: use d_k = key.shape[-1].": lambda q, k: (
            dot(q, k) / np.sqrt(q.shape[0])
        ),
        "the scores are divided by 8, the square root of 64: here d_k = key.shape[-1].": lambda q, k: (
            dot(q, k) / 8
        ),
        "the sign is turned: a key like its query gets a high score.": lambda q, k: -scaled(q, k),
        "the largest score of each row is subtracted: that belongs to the softmax.": lambda q, k: (
            scaled(q, k) - scaled(q, k).max(axis=-1, keepdims=True)
        ),
        "reshape is no transpose, it tears the keys apart: key.swapaxes(-1, -2).": lambda q, k: (
            scaled(q, torn(k))
        ),
        "each sequence is paired with every other, as np.dot does: use @.": lambda q, k: (
            np.dot(q, k.swapaxes(-1, -2)) / np.sqrt(q.shape[-1])
        ),
        "these queries meet the keys of another sequence of the batch.": lambda q, k: scaled(
            q, _other_batch(k)
        ),
        "these queries meet the keys of all sequences of the batch, added up.": lambda q, k: scaled(
            q, np.broadcast_to(k.sum(axis=0), k.shape)
        ),
        "the result is cut to integers: it needs an array of floats.": lambda q, k: np.trunc(
            scaled(q, k)
        ),
        "the result is cut to integers, as the inputs are here: is its array made with their type?": lambda q, k: (
            scaled(q, k).astype(q.dtype)
        ),
        "the result is rounded to integers.": lambda q, k: np.round(scaled(q, k)),
    },
)


# attention


def _attention_inputs(
    rng: np.random.Generator, batch: int, len_q: int, len_k: int, d_k: int, d_v: int
) -> Inputs:
    return {
        "query": rng.standard_normal((batch, len_q, d_k)),
        "key": rng.standard_normal((batch, len_k, d_k)),
        "value": rng.standard_normal((batch, len_k, d_v)),
    }


def _attention_cases(rng: np.random.Generator) -> Cases:
    hint = "Print scores, weights, output: which one is the first to differ from the formula?"
    yield _attention_inputs(rng, 2, 3, 5, 7, 11), hint
    yield _attention_inputs(rng, 3, 7, 2, 13, 5), SIZES
    large = _attention_inputs(rng, 2, 3, 5, 7, 11)
    large["query"] *= 10_000
    yield large, MAXIMUM


ATTENTION = Exercise(
    call="attention(query, key, value)",
    returns=("output", "weights"),
    reference=scaled_dot_product_attention,
    cases=_attention_cases,
    mistakes={
        **ATTENTION_MISTAKES,
        "the softmax runs over the batch (axis 0): each query shares out one unit, axis=-1.": mixed(
            lambda q, k: right_softmax(scaled(q, k), axis=0)
        ),
        "the scores are divided by sqrt(len_q): the scale is the key size, d_k = key.shape[-1].": mixed(
            lambda q, k: right_softmax(dot(q, k) / np.sqrt(q.shape[-2]))
        ),
        "these queries meet the keys of another sequence of the batch.": mixed(
            lambda q, k: right_softmax(scaled(q, _other_batch(k)))
        ),
        "the weights mix the values of another sequence of the batch.": lambda q, k, v: (
            scaled_dot_product_attention(q, k, _other_batch(v)).output,
            right_softmax(scaled(q, k)),
        ),
    },
    rows_sum_to_one=True,
)


# causal


def _causal_cases(rng: np.random.Generator) -> Cases:
    hint = "Query i of len_q sits at position len_k - len_q + i, and sees that position and before."
    few_queries = rng.standard_normal((2, 3, 5))
    few_queries[0, 0, 1] = 0.0  # a score of 0 is a score, not the sign of a masked one
    yield {"scores": few_queries}, hint
    yield {"scores": rng.standard_normal((3, 7, 7))}, hint
    yield {"scores": _far_below(rng, (2, 5, 11))}, _MAXIMUM_ALLOWED


def _far_below(rng: np.random.Generator, shape: Any) -> Any:
    """Return scores which attract masked keys filled with too small a number, as -10000."""
    return 5000.0 * rng.integers(-5, 6, shape) - 40_000


def _late(scores: Array, extra: int = 0) -> Array:
    len_q, len_k = scores.shape[-2:]
    return np.tri(len_q, len_k, len_k - len_q + extra, dtype=bool)


_MASK_SHAPE = (
    "The mask needs shape (len_q, len_k): the last len_q rows of the one of shape (len_k, len_k)."
)


CAUSAL = Exercise(
    call="causal_weights(scores)",
    reference=lambda scores: masked(
        scores, causal_mask(scores.shape[-1])[scores.shape[-1] - scores.shape[-2] :]
    ),
    cases=_causal_cases,
    mistakes={
        "nothing is masked.": right_softmax,
        "the mask is inverted: these queries see the future and not the past.": lambda s: masked(
            s, ~_late(s)
        ),
        "the mask is upper triangular: these queries see themselves and the future.": lambda s: (
            masked(s, ~_late(s, -1))
        ),
        "the diagonal is off by one: a query may also attend to its own position.": lambda s: (
            masked(s, _late(s, -1))
        ),
        "the diagonal is off by one: each query sees one position of the future.": lambda s: masked(
            s, _late(s, 1)
        ),
        "the queries are aligned with the first keys: they are the last len_q positions.": lambda s: (
            masked(s, np.tri(*s.shape[-2:], dtype=bool))
        ),
        "the mask is applied after the softmax: these rows no longer sum to 1.": lambda s: (
            right_softmax(s) * _late(s)
        ),
        "masked scores are 0 (set, or multiplied by the mask), and exp(0) is 1: use -inf.": lambda s: (
            right_softmax(s * _late(s))
        ),
        "masked scores are set to 1, and exp(1) is not 0: use -inf.": lambda s: right_softmax(
            np.where(_late(s), s, 1)
        ),
        "the mask is added as ones and zeros: masked scores need -inf.": lambda s: right_softmax(
            s + _late(s)
        ),
        "a score that is exactly 0 counts as masked: ask the mask, not the score.": lambda s: (
            masked(s, _late(s) & (s != 0))
        ),
        "the exponentials are not divided by their sum.": lambda s: (
            _late(s) * np.exp(s - masked_maximum(s, _late(s)))
        ),
        "these are bare exponentials: divide them by their sum.": lambda s: _late(s) * np.exp(s),
        "these are masked scores: the softmax is missing.": lambda s: np.where(
            _late(s), s, -np.inf
        ),
        "each query sees only its own position, and not what comes before.": lambda s: masked(
            s, _late(s) & ~_late(s, -1)
        ),
        "the mask is inverted, and the last query, without a future, gets NaN.": lambda s: (
            naive_softmax(np.where(_late(s), -np.inf, s))
        ),
        "the offset has the wrong sign: it is len_k - len_q.": lambda s: naive_softmax(
            np.where(_late(s, 2 * (s.shape[-2] - s.shape[-1])), s, -np.inf)
        ),
        "exp overflows or underflows: subtract from each row its largest allowed score first.": lambda s: (
            naive_softmax(np.where(_late(s), s, -np.inf))
        ),
        "the largest score is that of a masked key: mask before you take the maximum.": lambda s: (
            exp_before_mask(s, _late(s))
        ),
        "this is a running mean: the scores make no difference.": lambda s: (
            _late(s) / _late(s).sum(axis=-1, keepdims=True) + 0 * s
        ),
        "each query takes only its best key: use softmax instead of argmax.": lambda s: (
            one_hot_argmax(np.where(_late(s), s, -np.inf))
        ),
        "the softmax runs over the queries (axis -2): it should be the last axis.": lambda s: (
            right_softmax(np.where(_late(s), s, -np.inf), axis=-2)
        ),
    },
    rows_sum_to_one=True,
    clues={
        # Two equal lengths in the error: a square mask. "axis 1" is the axis of the queries.
        r"broadcast together.*\b(\d+),\1\)": _MASK_SHAPE,
        r"boolean index.*axis 1": _MASK_SHAPE,
    },
)


# masked-softmax


def _masked_softmax_cases(rng: np.random.Generator) -> Cases:
    scores = rng.standard_normal((2, 3, 5))
    scores[0, 0, 1] = 0.0  # a score of 0 is a score, not the sign of a masked one
    # One mask for each sequence: what a query may see differs between the sequences.
    mask = np.array([[[1, 1, 0, 0, 0]], [[0, 1, 1, 0, 1]]], dtype=bool)
    hint = "True means: may attend. The mask of shape (2, 1, 5) broadcasts over the queries."
    yield {"scores": scores, "mask": mask}, hint
    mask = rng.random((2, 3, 5)) < 0.6
    mask[0, 2] = False
    mask[1, 0] = True
    hint = "Row (0, 2) may attend to nothing: its weights should be zeros."
    yield {"scores": rng.standard_normal((2, 3, 5)), "mask": mask}, hint
    mask = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 0]], dtype=bool)
    yield {"scores": _far_below(rng, (3, 2, 7)), "mask": mask}, _MAXIMUM_ALLOWED


MASKED_SOFTMAX = Exercise(
    call="masked_softmax(scores, mask)",
    reference=masked,
    cases=_masked_softmax_cases,
    mistakes={
        **MASKING_MISTAKES,
        "a score that is exactly 0 counts as masked: ask the mask, not the score.": lambda s, m: (
            masked(s, m & (s != 0))
        ),
        "every query gets the mask of the first: the mask broadcasts, use all its rows.": lambda s, m: (
            masked(s, m[:, :1])
        ),
    },
    rows_sum_to_one=True,
)


# attention-share


def _share_cases(_: np.random.Generator) -> Cases:
    hint = (
        "Per token: 4 d_model^2 for projections, 2 length d_model for scores and mixing, "
        "2 d_model d_ff for the feed-forward part."
    )
    yield {"length": 900, "d_model": 768, "d_ff": 2000}, hint
    yield {"length": 131, "d_model": 257, "d_ff": 1019}, SIZES
    yield {"length": 4099, "d_model": 521, "d_ff": 4 * 521}, SIZES


def _share(projections: float = 4.0, products: float = 2.0, feed_forward: float = 2.0) -> Function:
    def share(n: int, d: int, f: int) -> float:
        attention = projections * d * d + products * n * d
        return attention / (attention + feed_forward * d * f)

    return share


_right_share = _share()


ATTENTION_SHARE = Exercise(
    call="attention_share(length, d_model, d_ff)",
    reference=_right_share,
    cases=_share_cases,
    mistakes={
        "this is a percentage: return a fraction between 0 and 1.": lambda n, d, f: (
            100 * _right_share(n, d, f)
        ),
        "the projections of attention are left out, above and below: 4 d_model^2 a token.": (
            _share(projections=0)
        ),
        "the output projection is missing: there are four projections, not three.": _share(
            projections=3
        ),
        "only one of the two products over the length is counted: scores, and mixing values.": _share(
            products=1
        ),
        "the products over the length are missing.": _share(products=0),
        "d_ff is ignored: the feed-forward part is not always 4 d_model wide inside.": lambda n, d, f: (
            _right_share(n, d, 4 * d)
        ),
        "d_ff is ignored: the feed-forward matrices are not d_model x d_model.": lambda n, d, f: (
            _right_share(n, d, d)
        ),
        "d_ff is the whole inner width already: do not multiply it by 4.": _share(feed_forward=8),
        "only one feed-forward matrix is counted: there are two.": _share(feed_forward=1),
        "three feed-forward matrices are counted: a gated layer has three, this one two.": _share(
            feed_forward=3
        ),
        "the feed-forward matrices are counted as d_ff x d_ff: one side is d_model.": lambda n, d, f: (
            (4 * d * d + 2 * n * d) / (4 * d * d + 2 * n * d + 2 * f * f)
        ),
        "the feed-forward part is counted as d_ff^2: it is two matrices of d_model x d_ff.": lambda n, d, f: (
            (4 * d * d + 2 * n * d) / (4 * d * d + 2 * n * d + f * f)
        ),
        "the feed-forward part lacks a factor d_model: its matrices are d_model x d_ff.": lambda n, d, f: (
            (4 * d * d + 2 * n * d) / (4 * d * d + 2 * n * d + 2 * f)
        ),
        "this is the share of the feed-forward part: subtract it from 1.": lambda n, d, f: (
            1 - _right_share(n, d, f)
        ),
        "this is attention over feed-forward: divide by their sum.": lambda n, d, f: (
            (2 * d + n) / f
        ),
        "length and d_model are swapped.": lambda n, d, f: _right_share(d, n, f),
        "d_model and d_ff are swapped.": lambda n, d, f: _right_share(n, f, d),
        "length and d_ff are swapped.": lambda n, d, f: _right_share(f, d, n),
        "the arguments come in another order: length, d_model, d_ff.": lambda n, d, f: _right_share(
            f, n, d
        ),
        "this is 0: is it integer division? Use /, not //.": lambda n, d, f: 0,
        "the whole, below, lacks the products over the length.": lambda n, d, f: (
            (2 * d + n) / (2 * d + f)
        ),
        "you multiplied by the length twice: count for one token.": lambda n, d, f: _share(
            products=2 * n
        )(n, d, f),
        (
            "projections and feed-forward part are multiplied by the length, scores and mixing "
            "are not: count all for one token."
        ): lambda n, d, f: _share(products=2 / n)(n, d, f),
        (
            "attention is counted for all tokens, the feed-forward part for one: count both for "
            "one token."
        ): lambda n, d, f: n * (2 * d + n) / (n * (2 * d + n) + f),
        "this is a number of multiplications: divide by those of the whole layer.": lambda n, d, f: (
            4 * d * d + 2 * n * d
        ),
        "the feed-forward part is missing: the whole is attention and feed-forward.": lambda n, d, f: (
            1
        ),
        "this is what scores and mixing cost: the four projections belong to attention, too.": lambda n, d, f: (
            n / (2 * d + n + f)
        ),
        "this is what the projections cost: scores and mixing belong to attention, too.": lambda n, d, f: (
            2 * d / (2 * d + n + f)
        ),
    },
)


EXERCISES = {
    "softmax": SOFTMAX,
    "scores": SCORES,
    "attention": ATTENTION,
    "causal": CAUSAL,
    "masked-softmax": MASKED_SOFTMAX,
    "attention-share": ATTENTION_SHARE,
}
