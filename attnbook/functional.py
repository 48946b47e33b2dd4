"""Attention as a function of its inputs: no state, no learned weights of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    check_mask,
    check_same_d_k,
    check_same_length,
    check_sequences,
    check_weight,
    promote,
)


class AttentionOutput(NamedTuple):
    """What every attention returns: the mixed values, and the weights that mixed them."""

    output: NDArray[np.floating]
    weights: NDArray[np.floating]


def softmax(x: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Turn scores into weights that sum to one along an axis.

    ``softmax(x)[i] = exp(x[i]) / sum(exp(x))``, computed after subtracting the largest
    score, which changes nothing but keeps every exponential at or below one.

    Parameters
    ----------
    x : any shape
        Scores. A score of ``-inf`` gets weight zero.
    axis : int
        The axis that sums to one.

    Returns
    -------
    Same shape as ``x``; all zeros, not NaN, where every score is ``-inf``.

    Examples
    --------
    >>> softmax([0.0, np.log(3.0)])
    array([0.25, 0.75])
    """
    (x,), dtype = promote(x=x)
    scores = np.moveaxis(np.atleast_1d(x), axis, -1).copy()
    weights = np.moveaxis(_softmax_in_place(scores), -1, axis)
    return weights.reshape(x.shape).astype(dtype, copy=False)


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
) -> AttentionOutput:
    """Average the values, each weighted by how well its key matches the query.

    ``softmax(query @ key.T * scale) @ value`` :cite:p:`vaswani2017`

    Parameters
    ----------
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v)
    mask : (..., len_q, len_k), bool, optional
        True where a query may attend; one that may attend to nothing gets zeros.
    scale : float, optional, ``1/sqrt(d_k)`` by default

    Returns
    -------
    AttentionOutput
        Output (..., len_q, d_v) and weights (..., len_q, len_k)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean.

    Examples
    --------
    >>> scaled_dot_product_attention([[1]], [[0], [np.log(3)]], [[4], [8]]).output
    array([[7.]])
    """
    (query, key, value), dtype = promote(query=query, key=key, value=value)
    check_sequences(query=query, key=key, value=value)
    check_same_length(key, value)
    check_same_d_k(query, key)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    scores = (query * scale) @ key.swapaxes(-1, -2)  # (..., len_q, len_k)
    return _attend(scores, value, mask, dtype)


def additive_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_score: ArrayLike,
    mask: ArrayLike | None = None,
) -> AttentionOutput:
    """Average the values, with scores from a one-layer network instead of a dot product.

    A score is ``w_score . tanh(query @ w_query + key @ w_key)`` :cite:p:`bahdanau2015`.

    Parameters
    ----------
    query, key, value : (..., len_q, d_q), (..., len_k, d_k), (..., len_k, d_v)
    w_query, w_key, w_score : (d_q, hidden), (d_k, hidden), (hidden,)
    mask : (..., len_q, len_k), bool, optional, True where a query may attend

    Returns
    -------
    AttentionOutput
        Output (..., len_q, d_v) and weights (..., len_q, len_k)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean.

    Examples
    --------
    >>> x, w = [[0.0], [1.0]], [[1.0]]
    >>> additive_attention([[0.0]], x, x, w, w, [0.0]).output
    array([[0.5]])
    """
    (query, key, value, w_query, w_key, w_score), dtype = promote(
        {"w_query": w_query, "w_key": w_key, "w_score": w_score},
        query=query,
        key=key,
        value=value,
    )
    check_sequences(query=query, key=key, value=value)
    check_same_length(key, value)
    if w_score.ndim != 1:
        raise ValueError(f"w_score must have shape (hidden,), got {w_score.shape}")
    check_weight("w_query", w_query, (query.shape[-1], w_score.size))
    check_weight("w_key", w_key, (key.shape[-1], w_score.size))
    hidden_query = (query @ w_query)[..., :, None, :]  # (..., len_q, 1, hidden)
    hidden_key = (key @ w_key)[..., None, :, :]  # (..., 1, len_k, hidden)
    scores = np.tanh(hidden_query + hidden_key) @ w_score  # (..., len_q, len_k)
    return _attend(scores, value, mask, dtype)


def _attend(scores, value, mask, dtype):
    """Mask the scores, normalise each row, mix the values; `scores` is overwritten."""
    if mask is not None:
        shape = np.broadcast_shapes(scores.shape, (*value.shape[:-2], 1, 1))
        scores = np.where(check_mask(mask, shape), scores, -np.inf)
    weights = _softmax_in_place(scores)
    output = weights @ value  # (..., len_q, d_v)
    return AttentionOutput(output.astype(dtype, copy=False), weights.astype(dtype, copy=False))


def _softmax_in_place(scores):
    """Turn each row, the last axis, into weights; return the same array."""
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # In an empty row -inf minus -inf would be NaN, and so would 0 divided by 0.
    scores -= np.where(largest == -np.inf, 0, largest)
    np.exp(scores, out=scores)
    # A product with ones: BLAS sums rows several times as fast as np.sum.
    total = scores @ np.ones((scores.shape[-1], 1), scores.dtype)
    scores *= 1 / np.where(total == 0, 1, total)
    return scores
