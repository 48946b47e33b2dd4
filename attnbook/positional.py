"""Sinusoidal positional encoding, and the rotation that moves it along a sequence."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray


def sinusoidal_encoding(length: int, d_model: int, *, base: float = 10000.0) -> NDArray[np.float64]:
    """Give each position a vector of sines and cosines of d_model/2 frequencies.

    ``encoding[p, 2j] = sin(p w_j)`` and ``encoding[p, 2j+1] = cos(p w_j)`` with the
    frequency ``w_j = base**(-2j/d_model)``, in radians per position :cite:p:`vaswani2017`.

    Parameters
    ----------
    length : int
    d_model : int, even
    base : float

    Returns
    -------
    (length, d_model)

    Raises
    ------
    ValueError
        If length is negative, d_model odd or not positive, base not positive.

    Examples
    --------
    >>> sinusoidal_encoding(2, 4).round(2)
    array([[0.  , 1.  , 0.  , 1.  ],
           [0.84, 0.54, 0.01, 1.  ]])
    """
    length = operator.index(length)
    if length < 0:
        raise ValueError(f"length must not be negative, got {length}")
    angles = np.arange(length)[:, None] * _frequencies(d_model, base)  # (length, d_model/2)
    encoding = np.empty((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


def relative_rotation(offset: float, d_model: int, *, base: float = 10000.0) -> NDArray[np.float64]:
    """Build the rotation that moves every sinusoidal encoding by the same offset.

    ``encoding[p + offset] = relative_rotation(offset, d_model) @ encoding[p]`` for every
    ``p``; block j turns the plane (sine, cosine) by ``offset * w_j`` :cite:p:`vaswani2017`.

    Parameters
    ----------
    offset : float, in positions; negative moves towards the start
    d_model : int, even
    base : float

    Returns
    -------
    (d_model, d_model), orthogonal, block diagonal with blocks of 2 by 2

    Raises
    ------
    ValueError
        If d_model is odd or not positive, or base not positive.

    Examples
    --------
    >>> relative_rotation(np.pi / 2, 2).round(2)
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    angles = offset * _frequencies(d_model, base)
    sine, cosine = np.arange(0, d_model, 2), np.arange(1, d_model, 2)
    rotation = np.zeros((d_model, d_model))
    rotation[sine, sine] = rotation[cosine, cosine] = np.cos(angles)
    rotation[sine, cosine] = np.sin(angles)
    rotation[cosine, sine] = -np.sin(angles)
    return rotation


def _frequencies(d_model: int, base: float) -> NDArray[np.float64]:
    d_model = operator.index(d_model)
    if d_model < 1 or d_model % 2:
        raise ValueError(f"d_model must be positive and even, got {d_model}")
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    return base ** (-np.arange(0, d_model, 2) / d_model)
