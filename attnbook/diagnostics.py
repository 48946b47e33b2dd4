"""Numbers that tell whether attention is healthy: the spread of scores, the focus of weights."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_same_d_k, check_sequences, promote


class Spread(NamedTuple):
    """Smallest, largest, mean and standard deviation of a set of numbers."""

    minimum: float
    maximum: float
    mean: float
    std: float


class ScoreStatistics(NamedTuple):
    """The spread of the raw dot products, and of the scores after scaling."""

    before: Spread
    after: Spread


def score_statistics(
    query: ArrayLike, key: ArrayLike, *, scale: float | None = None
) -> ScoreStatistics:
    """Summarise the dot products of all queries with all keys, before and after scaling.

    Parameters
    ----------
    query, key : (..., len_q, d_k), (..., len_k, d_k)
    scale : float, optional
        ``1/sqrt(d_k)`` by default.

    Returns
    -------
    ScoreStatistics
        ``before`` and ``after``, each with minimum, maximum, mean and std

    Raises
    ------
    ValueError
        If the last axes differ or there is no score to summarise.

    Examples
    --------
    >>> score_statistics([[2, 0, 0, 0]], [[1, 0, 0, 0], [3, 0, 0, 0]]).after
    Spread(minimum=1.0, maximum=3.0, mean=2.0, std=1.0)
    """
    (query, key), _ = promote(query=query, key=key)
    check_sequences(query=query, key=key)
    check_same_d_k(query, key)
    scores = query @ key.swapaxes(-1, -2)  # (..., len_q, len_k)
    if scores.size == 0:
        raise ValueError(f"there must be at least one score, got shape {scores.shape}")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    return ScoreStatistics(_spread(scores), _spread(scores * scale))


def entropy(weights: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Measure how spread out each row of weights is, in nats.

    ``-sum(w * log(w))`` with ``0 log 0 = 0``: 0 for a single key, ``log(n)`` for n equal ones
    :cite:p:`shannon1948`.

    Parameters
    ----------
    weights : any shape
        Non-negative; each row along ``axis`` sums to one, or is all zeros.
    axis : int

    Returns
    -------
    The shape of ``weights`` without ``axis``

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """
    (weights,), dtype = promote(weights=weights)
    return _entropy(weights, axis).astype(dtype)


def effective_keys(weights: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Count the keys a row attends to: the number of equal weights with the same entropy.

    ``exp(entropy)``; 0 for a row that attends to nothing.

    Parameters
    ----------
    weights : any shape
        Non-negative; each row along ``axis`` sums to one, or is all zeros.
    axis : int

    Returns
    -------
    The shape of ``weights`` without ``axis``

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> effective_keys([[0.5, 0.5], [1, 0], [0, 0]])
    array([2., 1., 0.])
    """
    (weights,), dtype = promote(weights=weights)
    spread = np.exp(_entropy(weights, axis))
    return np.where((weights != 0).any(axis=axis), spread, 0)[()].astype(dtype)


def _entropy(weights, axis):
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, got {weights.min()}")
    terms = weights * np.log(np.where(weights > 0, weights, 1))
    return 0 - terms.sum(axis=axis)  # 0 - x: no negative zero


def _spread(x):
    return Spread(float(x.min()), float(x.max()), float(x.mean()), float(x.std()))
