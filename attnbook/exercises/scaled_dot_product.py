"""The exercises of chapter 2, Compute scaled dot-product attention."""

from __future__ import annotations

import numpy as np

from attnbook.exercises import Exercise
from attnbook.functional import scaled_dot_product_attention
from attnbook.functional import softmax as right_softmax
from attnbook.masks import causal_mask

_NO_MAXIMUM = (
    "Does exp overflow? Subtract the largest score of each row first: it changes no weight."
)


def _dot(query, key):
    return query @ key.swapaxes(-1, -2)


def _scaled(query, key):
    return _dot(query, key) / np.sqrt(query.shape[-1])


def _cosine(query, key):
    return _dot(
        query / np.linalg.norm(query, axis=-1, keepdims=True),
        key / np.linalg.norm(key, axis=-1, keepdims=True),
    )


def _naive_softmax(x, axis=-1):
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def _one_hot_argmax(x):
    return (x == x.max(axis=-1, keepdims=True)).astype(float)


# softmax


def _softmax_cases(rng):
    # Three axes: an answer written for one row or one matrix only must not pass.
    yield {"x": rng.standard_normal((2, 3, 5))}, "Compare exp(x[i]) / sum(exp(x)) row by row."
    yield {"x": 1000 * rng.standard_normal((2, 3, 5))}, _NO_MAXIMUM
    # One row far below the others: subtracting the maximum of the whole array empties it.
    far = rng.standard_normal((2, 3, 5))
    far[0, 1] -= 2000
    yield {"x": far}, "Subtract the maximum of each row, not one maximum for the whole array."


SOFTMAX = Exercise(
    call="softmax(x)",
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
        "this is a hard argmax: it puts all weight on one key; softmax spreads it.": _one_hot_argmax,
        "this is log-softmax: take its exponential.": lambda x: np.log(right_softmax(x)),
        "this is a sigmoid of each score: softmax compares the scores of a row.": lambda x: (
            1 / (1 + np.exp(-x))
        ),
        "this is softmax of -x: the largest score must get the largest weight.": lambda x: (
            right_softmax(-x)
        ),
        "the base is 2, not e: use np.exp.": lambda x: right_softmax(x * np.log(2)),
    },
    rows_sum_to_one=True,
)


# scores


def _scores_cases(rng):
    yield (
        {"query": rng.standard_normal((2, 3, 7)), "key": rng.standard_normal((2, 5, 7))},
        "Entry (i, j) is the dot product of query i and key j, divided by sqrt(d_k).",
    )
    yield (
        {"query": rng.integers(-4, 5, (2, 3, 7)), "key": rng.integers(-4, 5, (2, 5, 7))},
        "These inputs are integers: is the result stored as integers, too?",
    )


SCORES = Exercise(
    call="scores(query, key)",
    reference=_scaled,
    cases=_scores_cases,
    mistakes={
        "the scores are not scaled: divide by the square root of d_k.": _dot,
        "the scores are divided by d_k: it should be its square root.": lambda q, k: (
            _dot(q, k) / q.shape[-1]
        ),
        "the scores are multiplied by sqrt(d_k): divide instead.": lambda q, k: (
            _dot(q, k) * np.sqrt(q.shape[-1])
        ),
        "the scores are divided by sqrt(len_k): the scale is the key size, d_k = key.shape[-1].": lambda q, k: (
            _dot(q, k) / np.sqrt(k.shape[-2])
        ),
        "the scores are divided by sqrt(len_q): the scale is the key size, d_k = key.shape[-1].": lambda q, k: (
            _dot(q, k) / np.sqrt(q.shape[-2])
        ),
        "this is a cosine similarity: a dot product keeps the lengths of the vectors.": _cosine,
        "rows should be queries and columns keys: this is the transpose, key @ query.T.": lambda q, k: (
            _scaled(k, q)
        ),
        "these are weights already: the softmax comes after the scores.": lambda q, k: (
            right_softmax(_scaled(q, k))
        ),
        "these are distances: a score is a dot product.": lambda q, k: np.linalg.norm(
            q[..., :, None, :] - k[..., None, :, :], axis=-1
        ),
        "the batch index has been summed over, too: each sequence has scores of its own.": lambda q, k: (
            np.einsum("bid,cjd->ij", q, k) / np.sqrt(q.shape[-1])
        ),
        "the result is rounded: is it stored in an integer array?": lambda q, k: np.trunc(
            _scaled(q, k)
        ),
    },
)


# attention


def _attention_inputs(rng, size=1.0):
    return {
        "query": size * rng.standard_normal((2, 3, 7)),
        "key": rng.standard_normal((2, 5, 7)),
        "value": rng.standard_normal((2, 5, 11)),
    }


def _attention_cases(rng):
    yield _attention_inputs(rng), "Print the weights: which step first differs from the formula?"
    yield _attention_inputs(rng, size=2000.0), _NO_MAXIMUM


def _mixed(weigh):
    """Make a mistake in the weights into a whole, otherwise right, attention."""

    def attention(query, key, value):
        weights = weigh(query, key)
        return weights @ value, weights

    return attention


def _softmax_then_scale(query, key):
    return right_softmax(_dot(query, key)) / np.sqrt(query.shape[-1])


ATTENTION = Exercise(
    call="attention(query, key, value)",
    reference=scaled_dot_product_attention,
    cases=_attention_cases,
    mistakes={
        "the scores are not scaled: divide by sqrt(d_k) before the softmax.": _mixed(
            lambda q, k: right_softmax(_dot(q, k))
        ),
        "the scores are divided by d_k: it should be its square root.": _mixed(
            lambda q, k: right_softmax(_dot(q, k) / q.shape[-1])
        ),
        "the scores are multiplied by sqrt(d_k): divide instead.": _mixed(
            lambda q, k: right_softmax(_dot(q, k) * np.sqrt(q.shape[-1]))
        ),
        "the scale comes after the softmax: scale the scores, then rows still sum to 1.": _mixed(
            _softmax_then_scale
        ),
        "the softmax runs over the queries (axis -2): each query shares out one unit, axis=-1.": _mixed(
            lambda q, k: right_softmax(_scaled(q, k), axis=-2)
        ),
        "the softmax runs over the batch (axis 0): each query shares out one unit, axis=-1.": _mixed(
            lambda q, k: right_softmax(_scaled(q, k), axis=0)
        ),
        "there is no softmax: the scores mix the values directly.": _mixed(_scaled),
        "scores divided by their sum are not a softmax: the exponential is missing.": _mixed(
            lambda q, k: _scaled(q, k) / _scaled(q, k).sum(axis=-1, keepdims=True)
        ),
        "each query takes only its best key: attention is soft, use softmax instead of argmax.": _mixed(
            lambda q, k: _one_hot_argmax(_dot(q, k))
        ),
        "all keys get the same weight: the output is the plain mean of the values.": _mixed(
            lambda q, k: np.full((*q.shape[:-1], k.shape[-2]), 1 / k.shape[-2])
        ),
        "the scores are cosine similarities: a dot product keeps the lengths of the vectors.": _mixed(
            lambda q, k: right_softmax(_cosine(q, k))
        ),
        "the output is the value itself, unmixed: multiply the weights with it.": lambda q, k, v: (
            v,
            right_softmax(_scaled(q, k)),
        ),
        "the weights mix the keys: they should mix the values.": lambda q, k, v: (
            right_softmax(_scaled(q, k)) @ k,
            right_softmax(_scaled(q, k)),
        ),
        "the weights returned are the scores before the softmax.": lambda q, k, v: (
            right_softmax(_scaled(q, k)) @ v,
            _scaled(q, k),
        ),
        "weights and output are swapped: return output first.": lambda q, k, v: (
            scaled_dot_product_attention(q, k, v)[::-1]
        ),
        "return both, the output and the weights.": lambda q, k, v: (
            scaled_dot_product_attention(q, k, v).output
        ),
    },
    rows_sum_to_one=True,
)


# causal


def _causal_cases(rng):
    hint = "Query i of len_q sits at position len_k - len_q + i, and sees that position and before."
    yield {"scores": rng.standard_normal((2, 3, 5))}, hint
    yield {"scores": rng.standard_normal((2, 7, 7))}, hint


def _masked(scores, mask):
    return right_softmax(np.where(mask, scores, -np.inf))


def _late(scores, extra=0):
    len_q, len_k = scores.shape[-2:]
    return np.tri(len_q, len_k, len_k - len_q + extra, dtype=bool)


CAUSAL = Exercise(
    call="causal_weights(scores)",
    reference=lambda scores: _masked(
        scores, causal_mask(scores.shape[-1])[scores.shape[-1] - scores.shape[-2] :]
    ),
    cases=_causal_cases,
    mistakes={
        "nothing is masked.": right_softmax,
        "the mask is inverted: these queries see the future and not the past.": lambda s: _masked(
            s, ~_late(s)
        ),
        "the mask is upper triangular: these queries see themselves and the future.": lambda s: (
            _masked(s, ~_late(s, -1))
        ),
        "the diagonal is off by one: a query may also attend to its own position.": lambda s: (
            _masked(s, _late(s, -1))
        ),
        "the diagonal is off by one: each query sees one position of the future.": lambda s: (
            _masked(s, _late(s, 1))
        ),
        "the queries are aligned with the first keys: they are the last len_q positions.": lambda s: (
            _masked(s, np.tri(*s.shape[-2:], dtype=bool))
        ),
        "the mask is applied after the softmax: these rows no longer sum to 1.": lambda s: (
            right_softmax(s) * _late(s)
        ),
        "masked scores are set to 0, and exp(0) is 1: use -inf.": lambda s: right_softmax(
            np.where(_late(s), s, 0)
        ),
        "the mask is added as ones and zeros: masked scores need -inf.": lambda s: right_softmax(
            s + _late(s)
        ),
        "this is a running mean: the scores make no difference.": lambda s: (
            _late(s) / _late(s).sum(axis=-1, keepdims=True) + 0 * s
        ),
        "each query takes only its best key: use softmax instead of argmax.": lambda s: (
            _one_hot_argmax(np.where(_late(s), s, -np.inf))
        ),
        "the softmax runs over the queries (axis -2): it should be the last axis.": lambda s: (
            right_softmax(np.where(_late(s), s, -np.inf), axis=-2)
        ),
    },
    rows_sum_to_one=True,
)


# masked-softmax


def _masked_softmax_cases(rng):
    scores = rng.standard_normal((2, 3, 5))
    # One mask for each sequence: what a query may see differs between the sequences.
    mask = np.arange(5) < np.array([2, 4])[:, None, None]
    yield {"scores": scores, "mask": mask}, "True means: may attend."
    empty = np.broadcast_to(mask, scores.shape).copy()
    empty[1, 2] = False
    hint = "Row (1, 2) may attend to nothing: its weights should be zeros."
    yield {"scores": scores, "mask": empty}, hint
    yield {"scores": 1000 * scores, "mask": empty}, _NO_MAXIMUM


def _masked_with(fill):
    return lambda s, m: right_softmax(np.where(m, s, fill))


MASKED_SOFTMAX = Exercise(
    call="masked_softmax(scores, mask)",
    reference=_masked,
    cases=_masked_softmax_cases,
    mistakes={
        "nothing is masked.": lambda s, m: right_softmax(s),
        "the mask is inverted: True means that the query may attend.": lambda s, m: _masked(s, ~m),
        "the mask is applied after the softmax: these rows no longer sum to 1.": lambda s, m: (
            right_softmax(s) * m
        ),
        "masked scores are set to 0, and exp(0) is 1: use -inf.": _masked_with(0.0),
        "the scores are multiplied by the mask: a score of 0 still gets weight, use -inf.": lambda s, m: (
            right_softmax(s * m)
        ),
        (
            "a row that may attend to nothing became uniform: a large negative fill does that. "
            "Its weights should be zeros."
        ): _masked_with(-1e9),
        (
            "a row that may attend to nothing got its unmasked softmax back: that is what adding "
            "a large negative number does. Its weights should be zeros."
        ): lambda s, m: right_softmax(s + np.where(m, 0, -1e9)),
        (
            "a row that may attend to nothing became NaN: 0 divided by 0. Its weights should be "
            "zeros."
        ): lambda s, m: _naive_softmax(np.where(m, s, -np.inf)),
        "the softmax runs over the queries (axis -2): it should be the last axis.": lambda s, m: (
            right_softmax(np.where(m, s, -np.inf), axis=-2)
        ),
        "each query takes only its best key: use softmax instead of argmax.": lambda s, m: (
            _one_hot_argmax(np.where(m, s, -np.inf)) * m
        ),
        "all allowed keys get the same weight: the scores make no difference.": lambda s, m: (
            right_softmax(np.where(m, 0 * s, -np.inf))
        ),
    },
    rows_sum_to_one=True,
)


# attention-share


def _share_cases(_):
    hint = "Per token: 4 d^2 for projections, 2 n d for scores and mixing, 8 d^2 feed-forward."
    for length, d_model in ((512, 768), (131, 257), (4099, 521)):
        yield {"length": length, "d_model": d_model}, hint


def _share(projections=4.0, square=2.0, feed_forward=8.0):
    def share(n, d):
        attention = projections * d * d + square * n * d
        return attention / (attention + feed_forward * d * d)

    return share


ATTENTION_SHARE = Exercise(
    call="attention_share(length, d_model)",
    reference=_share(),
    cases=_share_cases,
    mistakes={
        "this is a percentage: return a fraction between 0 and 1.": lambda n, d: (
            100 * _share()(n, d)
        ),
        "the projections are missing: queries, keys, values and output cost 4 d^2 a token.": lambda n, d: (
            2 * n * d / (12 * d * d + 2 * n * d)
        ),
        "the attention part lacks its projections, 4 d^2 a token.": _share(projections=0),
        "the output projection is missing: there are four projections, not three.": _share(
            projections=3
        ),
        "only one of the two products over the length is counted: scores, and mixing values.": _share(
            square=1
        ),
        "the products over the length are missing.": _share(square=0),
        "the feed-forward part has two matrices of 4 d^2: only one is counted.": _share(
            feed_forward=4
        ),
        "the feed-forward part is four times as wide inside: 2 matrices of 4 d^2 each.": _share(
            feed_forward=2
        ),
        "this is the share of the feed-forward part: subtract it from 1.": lambda n, d: (
            1 - _share()(n, d)
        ),
        "this is attention over feed-forward: divide by their sum.": lambda n, d: (
            (4 * d + 2 * n) / (8 * d)
        ),
        "length and d_model are swapped.": lambda n, d: _share()(d, n),
        "integer division made it 0: use /, not //.": lambda n, d: 0,
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
