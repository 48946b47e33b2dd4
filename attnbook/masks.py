"""Boolean masks. True means: this query may attend to this key."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_count, check_lengths

__all__ = ["causal_mask", "padding_mask"]


def causal_mask(len_q: int, len_k: int | None = None) -> NDArray[np.bool_]:
    """Let each position attend to those up to and including its own; the last query ends the keys.

    Parameters
    ----------
    len_q, len_k : int, the second optional: as many keys as queries by default

    Returns
    -------
    (len_q, len_k), bool, True where ``j <= i + len_k - len_q``

    Raises
    ------
    ValueError
        If a length is negative.

    Examples
    --------
    >>> causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    >>> causal_mask(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    return _causal(*check_lengths(len_q, len_k))


def _causal(len_q: int, len_k: int) -> NDArray[np.bool_]:
    return np.tri(len_q, len_k, len_k - len_q, dtype=bool)


def padding_mask(lengths: ArrayLike, max_length: int | None = None) -> NDArray[np.bool_]:
    """Let every query of a padded batch attend to the real tokens of its sequence only.

    Parameters
    ----------
    lengths : (batch,), int
        The number of real tokens of each sequence; they come first, padding last.
    max_length : int, optional
        The padded length; by default the largest of the lengths.

    Returns
    -------
    (batch, 1, max_length), bool, broadcasts over queries and combines with ``&``

    Raises
    ------
    ValueError, TypeError
        If a length is negative or above the maximum; if not integers.

    Examples
    --------
    >>> padding_mask([1, 3]).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    lengths = np.asarray(lengths)
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have shape (batch,), got {lengths.shape}")
    if lengths.size and lengths.dtype.kind not in "iu":
        raise TypeError(f"lengths must be integers, got dtype {lengths.dtype}")
    longest = int(lengths.max(initial=0))
    max_length = longest if max_length is None else check_count("max_length", max_length, 0)
    if lengths.min(initial=0) < 0:
        raise ValueError(f"lengths must not be negative, got {lengths.min()}")
    if longest > max_length:
        raise ValueError(f"lengths must not exceed max_length ({max_length}), got {longest}")
    return (np.arange(max_length) < lengths[:, None])[:, None, :]  # (batch, 1, max_length)
