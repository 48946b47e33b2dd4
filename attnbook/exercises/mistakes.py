"""Mistakes that the exercises of several chapters know, and the parts they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Function
from attnbook.functional import scaled_dot_product_attention
from attnbook.functional import softmax as right_softmax

MAXIMUM = (
    "These scores are far from 0, beyond the reach of exp: subtract from each row its own largest "
    "score first. It changes no weight."
)
SIZES = (
    "Right before, wrong for other sizes: is a size, or a number made from one, fixed in the code?"
)


def projection(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Return a matrix that keeps the size of what it projects."""
    return rng.standard_normal((rows, columns)) / np.sqrt(rows)


def dot(query: Array, key: Array) -> Array:
    return query @ key.swapaxes(-1, -2)


def scaled(query: Array, key: Array) -> Any:
    return dot(query, key) / np.sqrt(query.shape[-1])


def cosine(query: Array, key: Array) -> Array:
    return dot(
        query / np.linalg.norm(query, axis=-1, keepdims=True),
        key / np.linalg.norm(key, axis=-1, keepdims=True),
    )


def naive_softmax(x: Array, axis: int = -1) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def torn(key: Array) -> Array:
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2]).swapaxes(-1, -2)


def one_hot_argmax(x: Array) -> Any:
    return (x == x.max(axis=-1, keepdims=True)).astype(float)


def masked(scores: Array, mask: Array) -> Array:
    return right_softmax(np.where(mask, scores, -np.inf))


def exp_before_mask(scores: Array, mask: Array) -> Any:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def masked_maximum(scores: Array, mask: Array) -> Any:
    return np.where(mask, scores, -np.inf).max(axis=-1, keepdims=True)


def mixed(weigh: Function) -> Function:
    """Make a mistake in the weights into a whole, otherwise right, attention."""

    def attention(query: Array, key: Array, value: Array) -> tuple[Array, Array]:
        weights = weigh(query, key)
        return weights @ value, weights

    return attention


def _softmax_then_scale(query: Array, key: Array) -> Any:
    return right_softmax(dot(query, key)) / np.sqrt(query.shape[-1])


_RETURNED = {
    "weights and output are swapped: return output first.": lambda output, weights: (
        weights,
        output,
    ),
    "these are weights only: return both, output and weights.": lambda output, weights: weights,
    "this is the output only: return both, output and weights.": lambda output, weights: output,
}


def returned_wrongly(attention: Function) -> dict[str, Function]:
    """Return the mistakes in what a right attention, whatever it takes, returns."""
    return {
        hint: lambda *arguments, pick=pick: pick(*attention(*arguments))
        for hint, pick in _RETURNED.items()
    }


# Of attention(query, key, value) that returns both, wherever the three come from.
MIXING_MISTAKES = {
    "the scores are not scaled: divide by sqrt(d_k) before the softmax.": mixed(
        lambda q, k: right_softmax(dot(q, k))
    ),
    "the scores are divided by d_k: it should be its square root.": mixed(
        lambda q, k: right_softmax(dot(q, k) / q.shape[-1])
    ),
    "the scores are multiplied by sqrt(d_k): divide instead.": mixed(
        lambda q, k: right_softmax(dot(q, k) * np.sqrt(q.shape[-1]))
    ),
    "the scale comes after the softmax: scale the scores, then rows still sum to 1.": mixed(
        _softmax_then_scale
    ),
    "the softmax runs over the queries (axis -2): each query shares out one unit, axis=-1.": mixed(
        lambda q, k: right_softmax(scaled(q, k), axis=-2)
    ),
    "there is no softmax: the scores mix the values directly.": mixed(scaled),
    "scores divided by their sum are not a softmax: the exponential is missing.": mixed(
        lambda q, k: scaled(q, k) / scaled(q, k).sum(axis=-1, keepdims=True)
    ),
    "each query takes only its best key: attention is soft, use softmax instead of argmax.": mixed(
        lambda q, k: one_hot_argmax(dot(q, k))
    ),
    "all keys get the same weight: the output is the plain mean of the values.": mixed(
        lambda q, k: np.full((*q.shape[:-1], k.shape[-2]), 1 / k.shape[-2])
    ),
    "the scores are cosine similarities: a dot product keeps the lengths of the vectors.": mixed(
        lambda q, k: right_softmax(cosine(q, k))
    ),
    "exp overflows: subtract from each row its own largest score first.": mixed(
        lambda q, k: naive_softmax(scaled(q, k))
    ),
    "the exponentials are not divided by their sum.": mixed(
        lambda q, k: np.exp(scaled(q, k) - scaled(q, k).max(axis=-1, keepdims=True))
    ),
    "these are bare exponentials: divide them by their sum.": mixed(
        lambda q, k: np.exp(scaled(q, k))
    ),
    "the exponentials are divided by the sum over the whole array, not over each row.": mixed(
        lambda q, k: np.exp(scaled(q, k)) / np.exp(scaled(q, k)).sum()
    ),
    "the scores are divided by d_k / 2: d_k ** 1 / 2 is that; write sqrt(d_k) or d_k ** 0.5.": mixed(
        lambda q, k: right_softmax(dot(q, k) / (q.shape[-1] / 2))
    ),
    "the scores are divided by 2 d_k: / d_k ** 1 / 2 does that; write sqrt(d_k) or d_k ** 0.5.": mixed(
        lambda q, k: right_softmax(dot(q, k) / q.shape[-1] / 2)
    ),
    "the scores are divided by 8, the square root of 64: here d_k = key.shape[-1].": mixed(
        lambda q, k: right_softmax(dot(q, k) / 8)
    ),
    "the scores are divided by sqrt(len_k): the scale is the key size, d_k = key.shape[-1].": mixed(
        lambda q, k: right_softmax(dot(q, k) / np.sqrt(k.shape[-2]))
    ),
    "the sign of the scores is turned: a key like its query gets a high score.": mixed(
        lambda q, k: right_softmax(-scaled(q, k))
    ),
    "reshape is no transpose, it tears the keys apart: key.swapaxes(-1, -2).": mixed(
        lambda q, k: right_softmax(scaled(q, torn(k)))
    ),
    "the output mixes with the scores: take the softmax first.": lambda q, k, v: (
        scaled(q, k) @ v,
        right_softmax(scaled(q, k)),
    ),
    "the output mixes with weights of unscaled scores: divide by sqrt(d_k) first.": lambda q, k, v: (
        right_softmax(dot(q, k)) @ v,
        right_softmax(scaled(q, k)),
    ),
    "the output is the value of the best key: mix all values by their weights.": lambda q, k, v: (
        one_hot_argmax(scaled(q, k)) @ v,
        right_softmax(scaled(q, k)),
    ),
    "the output is divided by len_k: the weights sum to 1 already.": lambda q, k, v: (
        right_softmax(scaled(q, k)) @ v / k.shape[-2],
        right_softmax(scaled(q, k)),
    ),
    "the output is the value itself, unmixed: multiply the weights with it.": lambda q, k, v: (
        v,
        right_softmax(scaled(q, k)),
    ),
    "the weights mix the keys: they should mix the values.": lambda q, k, v: (
        right_softmax(scaled(q, k)) @ k,
        right_softmax(scaled(q, k)),
    ),
    "the weights returned are the scores before the softmax.": lambda q, k, v: (
        right_softmax(scaled(q, k)) @ v,
        scaled(q, k),
    ),
}

# The same, where d_v need not be d_k.
ATTENTION_MISTAKES = {
    **MIXING_MISTAKES,
    "the scores are divided by sqrt(d_v): the scale is the key size, d_k = key.shape[-1].": lambda q, k, v: (
        mixed(lambda q, k: right_softmax(dot(q, k) / np.sqrt(v.shape[-1])))(q, k, v)
    ),
    **returned_wrongly(scaled_dot_product_attention),
}


def _masked_with(fill: float) -> Function:
    return lambda s, m: right_softmax(np.where(m, s, fill))


# Of masked_softmax(scores, mask).
MASKING_MISTAKES = {
    "nothing is masked.": lambda s, m: right_softmax(s),
    "the mask is inverted: True means that the query may attend.": lambda s, m: masked(s, ~m),
    "the mask is applied after the softmax: these rows no longer sum to 1.": lambda s, m: (
        right_softmax(s) * m
    ),
    "masked scores are 0 (set, or multiplied by the mask), and exp(0) is 1: use -inf.": (
        _masked_with(0.0)
    ),
    "masked scores are set to 1, and exp(1) is not 0: use -inf.": _masked_with(1.0),
    "the mask is added as ones and zeros: masked scores need -inf.": lambda s, m: right_softmax(
        s + m
    ),
    "the exponentials are not divided by their sum.": lambda s, m: (
        m * np.exp(s - masked_maximum(s, m))
    ),
    "these are bare exponentials: divide them by their sum.": lambda s, m: m * np.exp(s),
    "these are masked scores: the softmax is missing.": lambda s, m: np.where(m, s, -np.inf),
    "every sequence gets the mask of the first: the mask broadcasts, use all of it.": lambda s, m: (
        masked(s, m[:1])
    ),
    "exp overflows or underflows: subtract from each row its largest allowed score first.": lambda s, m: (
        np.nan_to_num(naive_softmax(np.where(m, s, -np.inf)))
    ),
    "the largest score is that of a masked key: mask before you take the maximum.": lambda s, m: (
        np.nan_to_num(exp_before_mask(s, m))
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
        "a row that may attend to nothing became NaN: 0 divided by 0. Its weights should be zeros."
    ): lambda s, m: naive_softmax(np.where(m, s, -np.inf)),
    "the softmax runs over the queries (axis -2): it should be the last axis.": lambda s, m: (
        right_softmax(np.where(m, s, -np.inf), axis=-2)
    ),
    "each query takes only its best key: use softmax instead of argmax.": lambda s, m: (
        one_hot_argmax(np.where(m, s, -np.inf)) * m
    ),
    "all allowed keys get the same weight: the scores make no difference.": lambda s, m: (
        right_softmax(np.where(m, 0 * s, -np.inf))
    ),
}
