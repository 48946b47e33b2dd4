"""Long sequences: what generation keeps of the tokens it has read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import real_array


class KVCache:
    """Keep the keys and values of all tokens so far, so that none is computed twice.

    Arrays are allocated with room to spare and doubled when it is used up, since copying all that
    is there for each new token would cost as much as it saves. Shapes and dtypes are those of the
    first call of ``append``.

    Examples
    --------
    >>> cache = KVCache()
    >>> key, value = cache.append([[1, 0], [0, 1]], [[5], [6]])
    >>> key, value = cache.append([[1, 1]], [[7]])
    >>> key.tolist(), value.tolist(), len(cache)
    ([[1, 0], [0, 1], [1, 1]], [[5], [6], [7]], 3)
    """

    def __init__(self) -> None:
        self._length = 0
        self._stores: tuple[NDArray[Any], NDArray[Any]] | None = None  # keys, values; room at end

    def append(self, key: ArrayLike, value: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Add the keys and values of new tokens; return those of all tokens so far.

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
        if self._stores is None:
            self._stores = key[..., :0, :].copy(), value[..., :0, :].copy()
        keys, values = self._stores
        _check_alike("key", key, keys)
        _check_alike("value", value, values)
        start, end = self._length, self._length + key.shape[-2]
        if end > keys.shape[-2]:
            room = max(end, 2 * keys.shape[-2])
            self._stores = keys, values = _enlarged(keys, room), _enlarged(values, room)
        keys[..., start:end, :] = key
        values[..., start:end, :] = value
        self._length = end
        return keys[..., :end, :], values[..., :end, :]

    def __len__(self) -> int:
        """Count the tokens so far."""
        return self._length

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values so far, without the room to spare."""
        if self._stores is None:
            return 0
        return sum(store[..., : self._length, :].nbytes for store in self._stores)


def _check_alike(name: str, new: NDArray[Any], kept: NDArray[Any]) -> None:
    if new.shape[:-2] != kept.shape[:-2] or new.shape[-1] != kept.shape[-1]:
        raise ValueError(
            f"{name} must differ from what the cache keeps in its length only, got shape "
            f"{new.shape} for {kept.shape}"
        )
    if new.dtype != kept.dtype:
        raise TypeError(f"{name} must have the cache's dtype {kept.dtype}, got {new.dtype}")


def _enlarged(store: NDArray[Any], room: int) -> NDArray[Any]:
    *leading, length, dim = store.shape
    larger = np.empty((*leading, room, dim), store.dtype)
    larger[..., :length, :] = store
    return larger
