"""Attention with learned projections: one head, then many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from attnbook._checks import (
    Array,
    Mask,
    check_axes,
    check_bias,
    check_heads,
    check_mask,
    check_projection,
    check_same,
    check_sequences,
    check_shape,
    promote,
    real_array,
)
from attnbook.functional import AttentionOutput, _dot_product_attention, _quiet, _rounded

__all__ = ["MultiHeadAttention", "cross_attention", "merge_heads", "self_attention", "split_heads"]


def self_attention(
    x: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    mask: ArrayLike | None = None,
) -> AttentionOutput:
    """Let every token of a sequence attend to the tokens of the same sequence.

    ``scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask)`` :cite:p:`vaswani2017`

    Parameters
    ----------
    x : (..., len, d_in)
    w_q, w_k, w_v : (d_in, d_k), (d_in, d_k), (d_in, d_v)
    mask : (..., len, len), bool, optional, True where a token may attend

    Returns
    -------
    AttentionOutput
        Output (..., len, d_v) and weights (..., len, len)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if the mask is not boolean.

    Examples
    --------
    >>> x, keep = [[1, 2, 3], [4, 5, 6]], np.eye(3)[:, :2]
    >>> self_attention(x, keep, keep, keep).output.round(2).tolist()
    [[3.99, 4.99], [4.0, 5.0]]
    """
    (x,), dtype = promote(x=x)
    return _rounded(_one_head(x, x, w_q, w_k, w_v, mask, memory_name="x"), dtype)


def cross_attention(
    x: ArrayLike,
    memory: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    mask: ArrayLike | None = None,
) -> AttentionOutput:
    """Let every token of one sequence attend to those of another :cite:p:`vaswani2017`.

    ``scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, mask)``

    Parameters
    ----------
    x, memory : (..., len_q, d_x), (..., len_k, d_memory)
    w_q, w_k, w_v : (d_x, d_k), (d_memory, d_k), (d_memory, d_v)
    mask : (..., len_q, len_k), bool, optional, True where x may attend to memory

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
    >>> one = [[1.0]]
    >>> cross_attention([[0.0]], [[2.0], [4.0]], one, one, one).output
    array([[3.]])
    """
    (x, memory), dtype = promote(x=x, memory=memory)
    return _rounded(_one_head(x, memory, w_q, w_k, w_v, mask, memory_name="memory"), dtype)


@_quiet
def _one_head(
    x: Array,
    memory: Array,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    mask: ArrayLike | None,
    memory_name: str,
) -> AttentionOutput:
    """Check all that promote did not, then attend from x to memory, which may be x."""
    leading = check_sequences(shared=True, **{"x": x, memory_name: memory})
    w_q, w_k, w_v = real_array("w_q", w_q), real_array("w_k", w_k), real_array("w_v", w_v)
    check_projection("w_q", w_q, "x", x)
    check_projection("w_k", w_k, memory_name, memory)
    check_projection("w_v", w_v, memory_name, memory)
    check_same("w_q and w_k", "number of columns d_k", w_q.shape[1], w_k.shape[1])
    if w_q.shape[1] < 1:
        raise ValueError(f"d_k must be at least 1, got w_q of shape {w_q.shape}")
    mask = None if mask is None else check_mask(mask, (*leading, x.shape[-2], memory.shape[-2]))
    # (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v)
    return _dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, mask)


def split_heads(x: ArrayLike, num_heads: int) -> NDArray[Any]:
    """Cut the last axis into heads and move the heads before the length.

    Parameters
    ----------
    x : (..., len, d_model)
    num_heads : int
        Must divide d_model; head_dim = d_model / num_heads.

    Returns
    -------
    (..., num_heads, len, head_dim), a view where NumPy can make one

    Raises
    ------
    ValueError
        If num_heads is not positive or does not divide d_model.

    Examples
    --------
    >>> split_heads([[0, 1, 2, 3], [4, 5, 6, 7]], 2)
    array([[[0, 1],
            [4, 5]],
    <BLANKLINE>
           [[2, 3],
            [6, 7]]])
    """
    x = np.asarray(x)
    check_axes("x", x, 2, "(..., len, d_model)")
    check_heads(x.shape[-1], num_heads)
    return _split(x, num_heads)


def _split(x: NDArray[Any], num_heads: int) -> NDArray[Any]:
    head_dim = x.shape[-1] // num_heads
    heads = x.reshape(*x.shape[:-1], num_heads, head_dim)  # (..., len, num_heads, head_dim)
    return heads.swapaxes(-2, -3)  # (..., num_heads, len, head_dim)


def merge_heads(x: ArrayLike) -> NDArray[Any]:
    """Undo split_heads: put the heads of each token side by side again.

    Parameters
    ----------
    x : (..., num_heads, len, head_dim)

    Returns
    -------
    (..., len, num_heads * head_dim)

    Raises
    ------
    ValueError
        If x has fewer than 3 axes.

    Examples
    --------
    >>> merge_heads([[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
    array([[0, 1, 2, 3],
           [4, 5, 6, 7]])
    """
    x = np.asarray(x)
    check_axes("x", x, 3, "(..., num_heads, len, head_dim)")
    return _merge(x)


def _merge(heads: NDArray[Any]) -> NDArray[Any]:
    tokens = heads.swapaxes(-2, -3)  # (..., len, num_heads, head_dim)
    d_model = heads.shape[-3] * heads.shape[-1]
    return tokens.reshape(*tokens.shape[:-2], d_model)  # (..., len, d_model)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _Parameters:
    """What a layer holds once it is checked."""

    w_q: NDArray[np.floating]
    w_k: NDArray[np.floating]
    w_v: NDArray[np.floating]
    w_o: NDArray[np.floating]
    num_heads: int
    num_kv_heads: int
    b_q: NDArray[np.floating]
    b_k: NDArray[np.floating]
    b_v: NDArray[np.floating]
    b_o: NDArray[np.floating]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultiHeadAttention(_Parameters):
    """Run several small attentions side by side and mix their outputs with one matrix.

    ``merge_heads(attention(split(q @ w_q + b_q), split(k @ w_k + b_k), split(v @ w_v + b_v)))
    @ w_o + b_o`` :cite:p:`vaswani2017`; biases default to zero. Grouped queries: query head h
    uses key and value head ``h // (num_heads // num_kv_heads)`` :cite:p:`ainslie2023`.

    Parameters
    ----------
    w_q, w_k : (d_query, num_heads * head_dim), (d_key, num_kv_heads * head_dim)
    w_v, w_o : (d_value, num_kv_heads * value_dim), (num_heads * value_dim, d_out)
    num_heads, num_kv_heads : int, the second as many as the first by default
    b_q, b_k, b_v, b_o : one number for each column of the matrix of the same letter

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit or heads do not divide them; if a parameter is not of real numbers.

    Examples
    --------
    >>> one = np.eye(2)
    >>> mean = MultiHeadAttention(w_q=0 * one, w_k=one, w_v=one, w_o=one, num_heads=2)
    >>> mean([[0, 2], [2, 4]]).output.tolist()
    [[1.0, 3.0], [1.0, 3.0]]
    """

    # Written out, since it takes more than the fields hold: lists, and None for a default.
    def __init__(
        self,
        *,
        w_q: ArrayLike,
        w_k: ArrayLike,
        w_v: ArrayLike,
        w_o: ArrayLike,
        num_heads: int,
        num_kv_heads: int | None = None,
        b_q: ArrayLike | None = None,
        b_k: ArrayLike | None = None,
        b_v: ArrayLike | None = None,
        b_o: ArrayLike | None = None,
    ) -> None:
        pairs = {"q": (w_q, b_q), "k": (w_k, b_k), "v": (w_v, b_v), "o": (w_o, b_o)}
        held = {}
        for letter, (weight, bias) in pairs.items():
            weight = held[f"w_{letter}"] = real_array(f"w_{letter}", weight)
            if weight.ndim != 2:
                raise ValueError(f"w_{letter} must have 2 axes, got shape {weight.shape}")
            bias = np.zeros(weight.shape[1], weight.dtype) if bias is None else bias
            held[f"b_{letter}"] = real_array(f"b_{letter}", bias, weight.shape[1:])
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        which = "num_heads" if num_kv_heads is None else "num_kv_heads"
        check_heads(num_heads, kv_heads, "num_heads", which)
        head_dim = check_heads(held["w_q"].shape[1], num_heads)
        check_shape("w_k", held["w_k"], (held["w_k"].shape[0], kv_heads * head_dim))
        value_dim = check_heads(held["w_v"].shape[1], kv_heads, "the columns of w_v", which)
        check_shape("w_o", held["w_o"], (num_heads * value_dim, held["w_o"].shape[1]))
        super().__init__(num_heads=num_heads, num_kv_heads=kv_heads, **held)

    @classmethod
    def init(
        cls,
        rng: np.random.Generator,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        dtype: DTypeLike = np.float64,
    ) -> MultiHeadAttention:
        """Draw weights uniformly within ``sqrt(3 / d_model)``; biases are zero.

        The bound keeps the variance of a projected vector at that of its input
        :cite:p:`glorot2010`. In another dtype they are the same numbers, rounded.

        Raises
        ------
        ValueError, TypeError
            If heads do not divide; if rng is no Generator, or dtype not one of floats.
        """
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
        if np.dtype(dtype).kind != "f":
            raise TypeError(f"dtype must be one of floats, got {np.dtype(dtype)}")
        head_dim = check_heads(d_model, num_heads)
        kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_heads(num_heads, kv_heads, "num_heads", "num_kv_heads")
        kv_columns = kv_heads * head_dim
        bound = (3 / d_model) ** 0.5
        columns = {"w_q": d_model, "w_k": kv_columns, "w_v": kv_columns, "w_o": d_model}
        weights = {
            name: rng.uniform(-bound, bound, size=(d_model, size)).astype(dtype, copy=False)
            for name, size in columns.items()
        }
        return cls(num_heads=num_heads, num_kv_heads=num_kv_heads, **weights)

    def __call__(
        self,
        query: ArrayLike,
        key: ArrayLike | None = None,
        value: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        bias: ArrayLike | None = None,
    ) -> AttentionOutput:
        """Attend from query to key and value; key defaults to query, value to key.

        Parameters
        ----------
        query : (..., len_q, d_query)
        key, value : (..., len_k, d_key), (..., len_k, d_value)
        mask : (..., len_q, len_k), bool, optional, without an axis of heads
            True where a query may attend; one that may attend to nothing gets ``b_o``.
        bias : (..., num_heads, len_q, len_k) or (len_q, len_k), optional
            Added to the scaled scores; -inf masks, and can do so for each head.

        Returns
        -------
        AttentionOutput, of shapes (..., len_q, d_out) and (..., num_heads, len_q, len_k)

        Raises
        ------
        ValueError, TypeError
            If shapes do not fit; if the mask is not boolean, or the bias is.

        Examples
        --------
        >>> layer = MultiHeadAttention.init(np.random.default_rng(0), 2, 2)
        >>> layer(np.eye(2), mask=[[True, False], [True, True]]).weights[:, 0].tolist()
        [[1.0, 0.0], [1.0, 0.0]]
        """
        key = query if key is None else key
        value = key if value is None else value
        (query, key, value), dtype = promote(query=query, key=key, value=value)
        leading, mask = self._fit(query, key, value, mask)
        len_q, len_k = query.shape[-2], key.shape[-2]
        if bias is not None:
            bias = check_bias(bias, (*leading, self.num_heads, len_q, len_k), mask, heads=True)
        return _rounded(self._attend(query, key, value, mask, bias), dtype)

    def queries(self, x: ArrayLike) -> NDArray[np.floating]:
        """Project tokens to the queries of each head.

        Parameters
        ----------
        x : (..., len, d_query)

        Returns
        -------
        (..., num_heads, len, head_dim)

        Raises
        ------
        ValueError, TypeError
            If w_q does not fit x; if x does not hold real numbers.
        """
        return self._projected("w_q", x, self._queries)

    def keys(self, x: ArrayLike) -> NDArray[np.floating]:
        """Project tokens to the keys of each head that has some of its own.

        Parameters
        ----------
        x : (..., len, d_key)

        Returns
        -------
        (..., num_kv_heads, len, head_dim)

        Raises
        ------
        ValueError, TypeError
            If w_k does not fit x; if x does not hold real numbers.
        """
        return self._projected("w_k", x, self._keys)

    def values(self, x: ArrayLike) -> NDArray[np.floating]:
        """Project tokens to the values of each head that has some of its own.

        Parameters
        ----------
        x : (..., len, d_value)

        Returns
        -------
        (..., num_kv_heads, len, value_dim)

        Raises
        ------
        ValueError, TypeError
            If w_v does not fit x; if x does not hold real numbers.
        """
        return self._projected("w_v", x, self._values)

    def combine(self, heads: ArrayLike) -> NDArray[np.floating]:
        """Put the outputs of the heads side by side and mix them: the layer's last step.

        Parameters
        ----------
        heads : (..., num_heads, len, value_dim)

        Returns
        -------
        (..., len, d_out)

        Raises
        ------
        ValueError, TypeError
            If heads are not as many or as wide as w_o wants; if not real numbers.
        """
        (heads,), dtype = promote(heads=heads)
        value_dim = self.w_o.shape[0] // self.num_heads
        if heads.ndim < 3 or heads.shape[-3::2] != (self.num_heads, value_dim):
            raise ValueError(
                f"heads must have shape (..., {self.num_heads}, len, {value_dim}), "
                f"got {heads.shape}"
            )
        return self._combined(heads).astype(dtype, copy=False)

    @property
    def head_dim(self) -> int:
        """The size of each head's queries and keys."""
        return int(self.w_q.shape[1] // self.num_heads)

    def __repr__(self) -> str:
        """Tell the sizes: the arrays would fill pages."""
        return (
            f"MultiHeadAttention(d_model {self.w_q.shape[0]}, {self.num_heads} heads of "
            f"{self.head_dim} on {self.num_kv_heads}, {self.w_q.dtype})"
        )

    def _projected(self, weight: str, x: ArrayLike, project: Callable[[Array], Array]) -> Array:
        (x,), dtype = promote(x=x)
        check_sequences(x=x)
        check_projection(weight, getattr(self, weight), "x", x)
        return project(x).astype(dtype, copy=False)

    def _fit(
        self, query: Array, key: Array, value: Array, mask: ArrayLike | None
    ) -> tuple[tuple[int, ...], Mask | None]:
        """Check a call; return the inputs' leading axes, and the mask (..., 1, len_q, len_k)."""
        leading = check_sequences(query=query, key=key, value=value)
        check_same("key and value", "length len_k", key.shape[-2], value.shape[-2])
        check_projection("w_q", self.w_q, "query", query)
        check_projection("w_k", self.w_k, "key", key)
        check_projection("w_v", self.w_v, "value", value)
        if mask is None:
            return leading, None
        if np.ndim(mask) > len(leading) + 2:
            raise ValueError(
                "mask must not have more axes than query and key (it is the same for every "
                f"head), got shapes {np.shape(mask)}, {query.shape} and {key.shape}"
            )
        mask = check_mask(mask, (*leading, query.shape[-2], key.shape[-2]))
        return leading, np.expand_dims(np.atleast_2d(mask), -3)

    def _queries(self, x: Array) -> Array:
        return _split(x @ self.w_q + self.b_q, self.num_heads)

    def _keys(self, x: Array) -> Array:
        return _split(x @ self.w_k + self.b_k, self.num_kv_heads)

    def _values(self, x: Array) -> Array:
        return _split(x @ self.w_v + self.b_v, self.num_kv_heads)

    @_quiet
    def _attend(
        self, query: Array, key: Array, value: Array, mask: Mask | None, bias: NDArray[Any] | None
    ) -> AttentionOutput:
        queries, keys, values = self._queries(query), self._keys(key), self._values(value)
        heads, weights = _dot_product_attention(queries, keys, values, mask, bias)
        return AttentionOutput(self._combined(heads), weights)

    def _combined(self, heads: Array) -> Array:
        output: Array = _merge(heads) @ self.w_o + self.b_o
        return output
