"""Long sequences: a softmax in pieces, attention in blocks, and what generation keeps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import Array, Mask, check_attention, check_count, promote, real_array
from attnbook.functional import _mix_what_is_seen, _scale

__all__ = ["BlockwiseOutput", "KVCache", "blockwise_attention", "online_softmax"]

# Minus infinity minus itself, where no key is seen yet, and log(0), where none ever is, are meant.
_quiet = np.errstate(divide="ignore", invalid="ignore")


# Queries taken at a time. A block of their scores, 192 x 1024 numbers in float32, stays in cache.
ROWS = 192


class BlockwiseOutput(NamedTuple):
    """What blockwise attention returns: the mixed values, and the log of what divided each row."""

    output: NDArray[np.floating]
    logsumexp: NDArray[np.floating]


@_quiet
def online_softmax(blocks: Iterable[ArrayLike]) -> NDArray[np.floating]:
    """Turn scores into weights that sum to one, with rows that come in pieces.

    It is ``softmax(np.concatenate(blocks, axis=-1))``. Where a block raises the maximum, the total
    so far is multiplied by ``exp(old maximum - new maximum)`` :cite:p:`milakov2018`.

    Parameters
    ----------
    blocks : one array (..., n_i) or more
        Scores. A score of ``-inf`` gets weight zero.

    Returns
    -------
    (..., sum of all n_i); all zeros, not NaN, where every score is ``-inf``

    Raises
    ------
    ValueError, TypeError
        If there is no block, or shapes differ before the last axis; if not real numbers.

    Examples
    --------
    >>> online_softmax([[0.0, np.log(3.0)], [np.log(4.0)]])
    array([0.125, 0.375, 0.5  ])
    """
    named = {f"blocks[{i}]": block for i, block in enumerate(blocks)}
    if not named:
        raise ValueError("blocks must hold at least one array")
    parts, dtype = promote(**named)
    shapes = [part.shape for part in parts]
    if () in shapes or len({shape[:-1] for shape in shapes}) > 1:
        raise ValueError(
            f"blocks must have shapes (..., n_i), equal but for the last axis, got {shapes}"
        )
    maximum = np.full((*shapes[0][:-1], 1), -np.inf, parts[0].dtype)
    total = np.zeros_like(maximum)
    for scores in parts:
        larger = _larger(maximum, scores, -1)  # (..., 1)
        total = total * np.exp(maximum - larger)
        total += np.exp(scores - larger).sum(axis=-1, keepdims=True)
        maximum = larger
    # As in softmax, a total below 1 is the 0 of a row of -inf.
    weights = [np.exp(scores - maximum) / np.maximum(total, 1) for scores in parts]
    return np.concatenate(weights, axis=-1).astype(dtype, copy=False)


def _larger(maximum: Array, scores: Array, axis: int) -> Array:
    """Return the new maximum along an axis; the lowest number there is where all are -inf."""
    lowest = np.finfo(scores.dtype).min
    of_scores = scores.max(axis=axis, keepdims=maximum.ndim == scores.ndim, initial=lowest)
    larger: Array = np.maximum(maximum, of_scores)
    return larger


def blockwise_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_size: int = 1024,
) -> BlockwiseOutput:
    """Average the values as scaled dot-product attention does, a block of scores at a time.

    Memory grows with the length, not with its square :cite:p:`rabe2021,dao2022`; heads may share.

    Parameters
    ----------
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v); give the dtype
    mask : (..., len_q, len_k), bool, optional, True where a query may attend (if none: zeros)
    causal : bool, hides later keys; the last query stands at the last key
    scale, block_size : float, ``1/sqrt(d_k)`` by default; int, the keys taken at a time

    Returns
    -------
    BlockwiseOutput, output (..., len_q, d_v) and logsumexp (..., len_q), float32 for float16

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean.

    Examples
    --------
    >>> for more in {}, {"causal": True}, {"mask": [[False, True]]}:
    ...     print(blockwise_attention([[1]] * 2, [[0]] * 2, [[4], [8]], **more).output.T, end=" ")
    [[6. 6.]] [[4. 6.]] [[8. 8.]]
    """
    (query, key, value), dtype = promote(query=query, key=key, value=value)
    leading, mask, _ = check_attention(query, key, value, mask)
    if mask is not None:
        mask = np.broadcast_to(mask, (*mask.shape[:-2], query.shape[-2], key.shape[-2]))
    scale = _scale(scale, query)
    block_size = check_count("block_size", block_size)
    len_q, len_k = query.shape[-2], key.shape[-2]
    output = np.empty((*leading, len_q, value.shape[-1]), query.dtype)
    logsumexp = np.empty((*leading, len_q), query.dtype)
    room = np.empty(min(ROWS, len_q) * min(block_size, len_k), query.dtype)  # for all scores
    for head in np.ndindex(leading):
        q, k, v = (_of_head(array, head, leading) for array in (query, key, value))
        seen = None if mask is None else _of_head(mask, head, leading)
        _one_head(q, k, v, seen, causal, scale, block_size, room, output[head], logsumexp[head])
    return BlockwiseOutput(output.astype(dtype, copy=False), logsumexp)


# What follows trusts its arguments.


def _of_head(array: NDArray[Any], head: tuple[int, ...], leading: tuple[int, ...]) -> NDArray[Any]:
    """Return the matrix that a head of the queries uses: its own, or one that several share."""
    if array.ndim < 3:
        return array
    *outer, number = head
    array = np.broadcast_to(array, (*leading[:-1], *array.shape[-3:]))
    matrix: NDArray[Any] = array[(*outer, number * array.shape[-3] // leading[-1])]
    return matrix


@_quiet
def _one_head(
    query: Array,
    key: Array,
    value: Array,
    mask: Mask | None,
    causal: bool,
    scale: float,
    block_size: int,
    room: Array,
    output: Array,
    logsumexp: Array,
) -> None:
    """Attend to one head's keys, block by block; fill in output and logsumexp."""
    len_q, len_k, dtype = len(query), len(key), query.dtype
    largest = max(value.max(initial=0), -value.min(initial=0))
    # Where no score can be large, exp(score) needs no maximum, and two passes are saved.
    calm = largest < 1e12 and abs(scale) * _longest(query) * _longest(key) < 40
    ones = np.ones(min(block_size, len_k), dtype)
    later = np.tri(min(ROWS, len_q), k=-1, dtype=bool)  # keys after the diagonal, queries
    for i in range(0, len_q, ROWS):
        rows = query[i : i + ROWS] * scale
        maximum = np.full(len(rows), 0 if calm else -np.inf, dtype)
        total = np.zeros(len(rows), dtype)
        mixed = np.zeros((value.shape[1], len(rows)), dtype)
        # All these queries see the keys before the diagonal; from there on, each one key more.
        diagonal = i + len_k - len_q if causal else len_k
        end = max(min(diagonal + len(rows), len_k), 0)
        for start in range(0, end, block_size):
            stop = min(start + block_size, end)
            shape = stop - start, len(rows)
            # A row for each key, not query: BLAS makes tall and narrow blocks faster.
            scores = np.matmul(key[start:stop], rows.T, out=room[: math.prod(shape)].reshape(shape))
            if mask is not None:
                scores[~mask[i : i + ROWS, start:stop].T] = -np.inf
            if stop > diagonal:
                first = max(start, diagonal)
                hidden = later[first - diagonal : stop - diagonal, : len(rows)]
                scores[first - start :][hidden] = -np.inf
            if not calm:
                larger = _larger(maximum, scores, 0)
                scores -= larger
                shrunk = np.exp(maximum - larger)
                total *= shrunk
                mixed *= shrunk
                maximum = larger
            np.exp(scores, out=scores)
            total += ones[: stop - start] @ scores
            if largest < np.inf:
                mixed += value[start:stop].T @ scores  # (d_v, rows)
            else:
                seen = np.tri(*shape[::-1], diagonal - start, dtype=bool)
                if mask is not None:
                    seen &= mask[i : i + ROWS, start:stop]
                mixed += _mix_what_is_seen(scores.T, value[start:stop], seen).T
        output[i : i + ROWS] = (mixed / np.where(total == 0, 1, total)).T
        logsumexp[i : i + ROWS] = maximum + np.log(total)


def _longest(vectors: Array) -> float:
    """Return the largest norm: a score is at most the product of two (Cauchy and Schwarz)."""
    with np.errstate(over="ignore"):
        return math.sqrt(np.vecdot(vectors, vectors).max(initial=0))


class KVCache:
    """Keep the keys and values of the tokens so far, so that none is computed twice.

    Arrays are allocated with room to spare and doubled when it is used up, since copying all that
    is there for each new token would cost as much as it saves. Shapes and dtypes are those of the
    first call of ``append``.

    Parameters
    ----------
    window : int, optional
        Keep only the last tokens, so many. Of more that come at once, the first are never seen.

    Raises
    ------
    ValueError
        If the window is below 1.

    Examples
    --------
    >>> cache = KVCache(window=2)
    >>> key, value = cache.append([[1, 0], [0, 1]], [[5], [6]])
    >>> key, value = cache.append([[1, 1]], [[7]])
    >>> key.tolist(), value.tolist(), len(cache)
    ([[0, 1], [1, 1]], [[6], [7]], 2)
    """

    def __init__(self, window: int | None = None) -> None:
        self.window = None if window is None else check_count("window", window)
        self._first = self._end = 0  # what is kept, of the stores' lengths
        self._stores: tuple[NDArray[Any], NDArray[Any]] | None = None  # keys, values; room at end

    def append(self, key: ArrayLike, value: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Add the keys and values of new tokens; return those of all tokens so far.

        With a window, return those of its tokens: the last, in order, also where more come at once.

        Parameters
        ----------
        key, value : (..., kv_heads, len_new, head_dim), (..., kv_heads, len_new, value_dim)

        Returns
        -------
        (..., kv_heads, len, head_dim), (..., kv_heads, len, value_dim), views: do not write

        Raises
        ------
        ValueError, TypeError
            If key and value differ in more than their last axis, or either from what is kept in
            more than its length; if not real numbers. The cache is then as it was.
        """
        key, value = real_array("key", key), real_array("value", value)
        if key.ndim < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ValueError(
                "key and value must have shapes (..., len_new, head_dim) and (..., len_new, "
                f"value_dim), equal but for the last axis, got {key.shape} and {value.shape}"
            )
        if self._stores is not None:
            _check_alike("key", key, self._stores[0])
            _check_alike("value", value, self._stores[1])
        return self._append(key, value)

    def _append(self, key: NDArray[Any], value: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Add what was checked."""
        if self._stores is None:
            self._stores = key[..., :0, :].copy(), value[..., :0, :].copy()
        keys, values = self._stores
        first = self._first
        if self.window is not None:
            key, value = key[..., -self.window :, :], value[..., -self.window :, :]
            first = max(first, self._end + key.shape[-2] - self.window)
        end = self._end + key.shape[-2]
        if end > keys.shape[-2]:
            room = max(end - first, 2 * keys.shape[-2])
            if self.window is not None:  # moved once in a window's length, a token is copied twice
                room = min(room, 2 * self.window)
            kept = slice(first, self._end)
            self._stores = keys, values = _moved(keys, kept, room), _moved(values, kept, room)
            first, end = 0, end - first
        keys[..., end - key.shape[-2] : end, :] = key
        values[..., end - key.shape[-2] : end, :] = value
        self._first, self._end = first, end
        return keys[..., first:end, :], values[..., first:end, :]

    def __len__(self) -> int:
        """Count the tokens that are kept."""
        return self._end - self._first

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values that are kept, without the room to spare."""
        if self._stores is None:
            return 0
        return sum(store[..., self._first : self._end, :].nbytes for store in self._stores)


def _check_alike(name: str, new: NDArray[Any], kept: NDArray[Any]) -> None:
    if new.shape[:-2] != kept.shape[:-2] or new.shape[-1] != kept.shape[-1]:
        raise ValueError(
            f"{name} must differ from what the cache keeps in its length only, got shape "
            f"{new.shape} for {kept.shape}"
        )
    if new.dtype != kept.dtype:
        raise TypeError(f"{name} must have the cache's dtype {kept.dtype}, got {new.dtype}")


def _moved(store: NDArray[Any], kept: slice, room: int) -> NDArray[Any]:
    """Copy what is kept to the front of a new store; views of the old one stay as they are."""
    *leading, _, dim = store.shape
    new = np.empty((*leading, room, dim), store.dtype)
    new[..., : kept.stop - kept.start, :] = store[..., kept, :]
    return new
