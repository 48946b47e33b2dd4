"""Attention as a function of its inputs: no state, no learned weights of its own."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    Array,
    Mask,
    check_attention,
    check_mask,
    check_mask_and_bias,
    check_same,
    check_sequences,
    promote,
    real_array,
)

__all__ = ["AttentionOutput", "additive_attention", "attend", "scaled_dot_product_attention"]
__all__ += ["softmax"]

# A NaN that comes of infinity minus infinity is its own warning, and where it is masked it concerns
# nobody.
_quiet = np.errstate(invalid="ignore")


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


@_quiet
def attend(
    scores: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    bias: ArrayLike | None = None,
) -> AttentionOutput:
    """Average the values with weights made of any scores: the last step of every attention.

    ``softmax(scores + bias) @ value``; a query that sees nothing gets zeros.

    Parameters
    ----------
    scores, value : (..., len_q, len_k), (..., len_k, d_v); heads (axis -3) may share values
    mask, bias : (..., len_q, len_k), optional: bool, True where a query may attend; numbers
        In bias or scores, -inf masks as False does in the mask.

    Returns
    -------
    AttentionOutput, of shapes (..., len_q, d_v) and (..., len_q, len_k)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean, or the bias is.

    Examples
    --------
    >>> scores = np.log([[3.0, 1.0]])  # of one query and two keys
    >>> for more in {}, {"mask": [[False, True]]}, {"bias": -scores}:
    ...     print(*attend(scores, [[4], [8]], **more), end=", ")
    [[5.]] [[0.75 0.25]], [[8.]] [[0. 1.]], [[6.]] [[0.5 0.5]],
    """
    (scores, value), dtype = promote(scores=scores, value=value)
    leading = check_sequences(shared=True, scores=scores, value=value)
    check_same("scores and value", "length len_k", scores.shape[-1], value.shape[-2])
    _, mask, bias = check_mask_and_bias(mask, bias, (*leading, *scores.shape[-2:]))
    return _rounded(_attend(scores.copy(), value, _seen(mask, scores), bias), dtype)


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    bias: ArrayLike | None = None,
    scale: float | None = None,
) -> AttentionOutput:
    """Average the values, each weighted by how well its key matches the query.

    ``softmax(query @ key.T * scale + bias) @ value`` :cite:p:`vaswani2017`; of more heads (axis -3)
    than key and value have, head h uses their ``h // (heads // kv_heads)``.

    Parameters
    ----------
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v); give the dtype
    mask, bias : (..., len_q, len_k), optional: bool, True may attend (if none: zeros); numbers
    scale : float, optional, ``1/sqrt(d_k)`` by default

    Returns
    -------
    AttentionOutput, of shapes (..., len_q, d_v) and (..., len_q, len_k)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean, or the bias is.

    Examples
    --------
    >>> for more in {}, {"mask": [[True, False]]}, {"bias": [[np.log(3), 0]]}:
    ...     print(scaled_dot_product_attention([[1]], [[0], [0]], [[4], [8]], **more)[0], end=" ")
    [[6.]] [[4.]] [[5.]]
    """
    (query, key, value), dtype = promote(query=query, key=key, value=value)
    _, mask, bias = check_attention(query, key, value, mask, bias)
    return _rounded(_dot_product_attention(query, key, value, mask, bias, scale), dtype)


@_quiet
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
    (query, key, value), dtype = promote(query=query, key=key, value=value)
    w_score = real_array("w_score", w_score)
    leading = check_sequences(query=query, key=key, value=value)
    check_same("key and value", "length len_k", key.shape[-2], value.shape[-2])
    if w_score.ndim != 1:
        raise ValueError(f"w_score must have shape (hidden,), got {w_score.shape}")
    w_query = real_array("w_query", w_query, (query.shape[-1], w_score.size))
    w_key = real_array("w_key", w_key, (key.shape[-1], w_score.size))
    mask = None if mask is None else check_mask(mask, (*leading, query.shape[-2], key.shape[-2]))
    hidden_query = (query @ w_query)[..., :, None, :]  # (..., len_q, 1, hidden)
    hidden_key = (key @ w_key)[..., None, :, :]  # (..., 1, len_k, hidden)
    scores = np.tanh(hidden_query + hidden_key) @ w_score  # (..., len_q, len_k)
    return _rounded(_attend(scores, value, mask), dtype)


# What follows trusts its arguments.


@_quiet
def _dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Mask | None = None,
    bias: NDArray[Any] | None = None,
    scale: float | None = None,
) -> AttentionOutput:
    scores = _product(query * _scale(scale, query), key.mT)  # (..., len_q, len_k)
    return _attend(scores, value, mask, bias)


def _scale(scale: float | None, query: Array) -> float:
    return 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)


def _attend(
    scores: Array, value: Array, mask: Mask | None, bias: NDArray[Any] | None = None
) -> AttentionOutput:
    """Bias and mask the scores, normalise each row, mix the values; `scores` is overwritten."""
    if bias is not None:
        scores = scores + bias
        mask = _seen(mask, bias)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = _softmax_in_place(scores)
    return AttentionOutput(_mix(weights, value, mask), weights)


def _product(left: Array, right: Array) -> Array:
    """Compute left @ right, where heads of left (axis -3) may share one of right's.

    Head h meets ``h // (heads // kv_heads)``: those that share it get an axis of their own or, with
    one query each, are the rows of one matrix.
    """
    product: Array
    if left.ndim < 3 or right.ndim < 3 or left.shape[-3] <= right.shape[-3]:
        product = left @ right
        return product
    *leading, heads, rows, inner = left.shape
    kv_heads = right.shape[-3]
    if rows == 1:
        product = left.reshape(*leading, kv_heads, heads // kv_heads, inner) @ right
        return product.reshape(*product.shape[:-3], heads, 1, right.shape[-1])
    grouped = left.reshape(*leading, kv_heads, heads // kv_heads, rows, inner)
    product = grouped @ right[..., None, :, :]  # (..., kv_heads, heads of each, rows, columns)
    return product.reshape(*product.shape[:-4], heads, *product.shape[-2:])


def _seen(mask: Mask | None, bias: NDArray[Any]) -> Mask | None:
    """Mask what a bias of -inf hides: added to a NaN, or to infinity, it would hide nothing."""
    hidden: Mask = bias == -np.inf
    if not hidden.any():
        return mask
    return ~hidden if mask is None else mask & ~hidden


def _softmax_in_place(scores: Array) -> Array:
    """Turn each row, the last axis, into weights; return the same array."""
    # In a row of -inf, the lowest number there is stands in for the largest score: -inf minus -inf
    # would be NaN.
    lowest = np.finfo(scores.dtype).min
    scores -= scores.max(axis=-1, keepdims=True, initial=lowest)
    np.exp(scores, out=scores)
    # A product with ones: BLAS sums rows several times as fast as np.sum.
    total = scores @ np.ones((scores.shape[-1], 1), scores.dtype)
    # The largest exponential is exp(0) = 1, so a sum below 1 is the 0 of a row of -inf.
    scores *= 1 / np.maximum(total, 1)
    return scores


def _mix(weights: Array, value: Array, mask: Mask | None) -> Array:
    """Compute weights @ value; what is masked adds nothing, be it NaN."""
    if mask is None or np.isfinite(value).all():
        return _product(weights, value)  # (..., len_q, d_v)
    return _mix_what_is_seen(weights, value, mask)


def _mix_what_is_seen(weights: Array, value: Array, mask: Mask) -> Array:
    """Compute weights @ value where some values are not finite, and 0 * NaN would be NaN."""
    if min(value.ndim, weights.ndim) > 2 and 1 < value.shape[-3] < weights.shape[-3]:
        # Heads that share values each get their own: what they see may differ.
        value = np.repeat(value, weights.shape[-3] // value.shape[-3], axis=-3)
    finite = np.isfinite(value).all(axis=-1, keepdims=True)  # (..., len_k, 1)
    output = weights @ np.where(finite, value, 0)  # (..., len_q, d_v)
    others = np.where(finite, 0, value)
    mask = np.broadcast_to(mask, weights.shape)
    for j in np.unique(np.nonzero(~finite)[-2]):
        share = weights[..., j, None] * others[..., None, j, :]  # (..., len_q, d_v)
        output = output + np.where(mask[..., j, None], share, 0)
    return output


def _rounded(result: AttentionOutput, dtype: np.dtype[Any]) -> AttentionOutput:
    """Give the result the dtype that its inputs decide."""
    output, weights = result
    if output.dtype == weights.dtype == dtype:
        return result
    return AttentionOutput(output.astype(dtype, copy=False), weights.astype(dtype, copy=False))
