"""Attention as a function of its inputs: no state, no learned weights of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class AttentionOutput(NamedTuple):
    """What every attention returns: the mixed values, and the weights that mixed them."""

    output: NDArray[np.floating]
    weights: NDArray[np.floating]


def softmax(x: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Turn scores into positive weights that sum to one along an axis.

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
    Same shape as ``x``; all zeros where every score is ``-inf``, never NaN.

    Examples
    --------
    >>> softmax([0.0, np.log(3.0)])
    array([0.25, 0.75])
    """
    (x,), dtype = _promote(x)
    return _softmax_in_place(x.copy(), axis).astype(dtype, copy=False)


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
) -> AttentionOutput:
    """Average the values, each weighted by how well its key matches the query.

    ``softmax(query @ key.T * scale) @ value``, with ``scale = 1/sqrt(d_k)`` by default
    :cite:p:`vaswani2017`.

    Parameters
    ----------
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v)
    mask : (..., len_q, len_k), bool, optional
        True where a query may attend; one that may attend to nothing gets zeros.
    scale : float, optional

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
    >>> scaled_dot_product_attention([[1.0]], [[0.0], [np.log(3.0)]], [[4.0], [8.0]]).output
    array([[7.]])
    """
    (query, key, value), dtype = _promote(query, key, value)
    _check_sequences(query, key, value)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key must have the same last axis d_k, "
            f"got {query.shape[-1]} and {key.shape[-1]}"
        )
    if query.shape[-1] == 0:
        raise ValueError(f"d_k must be at least 1, got query of shape {query.shape}")
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

    The score of a query and a key is ``w_score . tanh(query @ w_query + key @ w_key)``
    :cite:p:`bahdanau2015`.

    Parameters
    ----------
    query, key, value : (..., len_q, d_q), (..., len_k, d_k), (..., len_k, d_v)
    w_query, w_key, w_score : (d_q, hidden), (d_k, hidden), (hidden,)
    mask : (..., len_q, len_k), bool, optional
        True where a query may attend.

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
    (query, key, value, w_query, w_key, w_score), dtype = _promote(
        query, key, value, weights=(w_query, w_key, w_score)
    )
    _check_sequences(query, key, value)
    if w_score.ndim != 1:
        raise ValueError(f"w_score must have shape (hidden,), got {w_score.shape}")
    _check_weight("w_query", w_query, (query.shape[-1], w_score.size))
    _check_weight("w_key", w_key, (key.shape[-1], w_score.size))
    hidden_query = (query @ w_query)[..., :, None, :]  # (..., len_q, 1, hidden)
    hidden_key = (key @ w_key)[..., None, :, :]  # (..., 1, len_k, hidden)
    scores = np.tanh(hidden_query + hidden_key) @ w_score  # (..., len_q, len_k)
    return _attend(scores, value, mask, dtype)


def _attend(scores, value, mask, dtype):
    """Mask the scores, normalise each row, mix the values; `scores` is overwritten."""
    if mask is not None:
        scores = np.where(_check_mask(mask, scores.shape), scores, -np.inf)
    weights = _softmax_in_place(scores)
    output = weights @ value  # (..., len_q, d_v)
    return AttentionOutput(output.astype(dtype, copy=False), weights.astype(dtype, copy=False))


def _softmax_in_place(scores, axis=-1):
    largest = scores.max(axis=axis, keepdims=True, initial=-np.inf)
    largest[largest == -np.inf] = 0  # an empty row: -inf minus -inf would be NaN
    scores -= largest
    np.exp(scores, out=scores)
    total = scores.sum(axis=axis, keepdims=True)
    total[total == 0] = 1  # an empty row stays all zeros
    scores /= total
    return scores


def _promote(*inputs, weights: Sequence = ()):
    """Return all arrays in the dtype to compute in, and the dtype the result shall have.

    The inputs decide the dtype of the result; learned weights only that of the computation.
    """
    arrays = [np.asarray(a) for a in (*inputs, *weights)]
    for array in arrays:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"arrays must hold real numbers, got dtype {array.dtype}")
    dtype = np.result_type(*arrays[: len(inputs)])
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    # In float16 scores overflow at 65504 and NumPy has no fast matrix product.
    compute = np.result_type(dtype, np.float32, *(a for a in arrays if a.dtype.kind == "f"))
    return [a.astype(compute, copy=False) for a in arrays], dtype


def _check_sequences(query, key, value):
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 axes (..., length, features), got shape {array.shape}"
            )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            "key and value must have the same length len_k, "
            f"got {key.shape[-2]} and {value.shape[-2]}"
        )
    leading = [array.shape[:-2] for array in (query, key, value)]
    try:
        np.broadcast_shapes(*leading)
    except ValueError:
        raise ValueError(
            "leading axes of query, key and value must broadcast, got {}, {} and {}".format(
                *leading
            )
        ) from None


def _check_weight(name, weight, expected):
    if weight.shape != expected:
        raise ValueError(f"{name} must have shape {expected}, got {weight.shape}")


def _check_mask(mask, scores_shape):
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            "mask must be boolean, True where a query may attend, "
            f"got dtype {mask.dtype}: convert a mask of ones and zeros with mask.astype(bool), "
            "an additive one with mask == 0"
        )
    try:
        fits = np.broadcast_shapes(mask.shape, scores_shape)[-2:] == scores_shape[-2:]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask of shape {mask.shape} must broadcast to (..., len_q, len_k) = {scores_shape}"
        )
    return mask
