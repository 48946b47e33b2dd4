"""Attention with learned projections: one head, then many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    check_heads,
    check_mask,
    check_same_length,
    check_sequences,
    check_weight,
    promote,
)
from attnbook.functional import AttentionOutput, scaled_dot_product_attention


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
    (x, w_q, w_k, w_v), dtype = promote({"w_q": w_q, "w_k": w_k, "w_v": w_v}, x=x)
    return _one_head(x, x, w_q, w_k, w_v, mask, dtype, memory_name="x")


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
    (x, memory, w_q, w_k, w_v), dtype = promote(
        {"w_q": w_q, "w_k": w_k, "w_v": w_v}, x=x, memory=memory
    )
    return _one_head(x, memory, w_q, w_k, w_v, mask, dtype, memory_name="memory")


def split_heads(x: ArrayLike, num_heads: int) -> NDArray:
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
    if x.ndim < 2:
        raise ValueError(f"x must have at least 2 axes (..., len, d_model), got shape {x.shape}")
    head_dim = check_heads(x.shape[-1], num_heads)
    heads = x.reshape(*x.shape[:-1], num_heads, head_dim)  # (..., len, num_heads, head_dim)
    return heads.swapaxes(-2, -3)  # (..., num_heads, len, head_dim)


def merge_heads(x: ArrayLike) -> NDArray:
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
    if x.ndim < 3:
        raise ValueError(
            f"x must have at least 3 axes (..., num_heads, len, head_dim), got shape {x.shape}"
        )
    tokens = x.swapaxes(-2, -3)  # (..., len, num_heads, head_dim)
    d_model = x.shape[-3] * x.shape[-1]
    return tokens.reshape(*tokens.shape[:-2], d_model)  # (..., len, d_model)


@dataclass(frozen=True, kw_only=True, eq=False)
class MultiHeadAttention:
    """Run several small attentions side by side and mix their outputs with one matrix.

    ``merge_heads(attention(split(q @ w_q + b_q), split(k @ w_k + b_k), split(v @ w_v + b_v)))
    @ w_o + b_o`` :cite:p:`vaswani2017`; biases default to zero.

    Parameters
    ----------
    w_q, w_k : (d_query, num_heads * head_dim), (d_key, num_heads * head_dim)
    w_v, w_o : (d_value, num_heads * value_dim), (num_heads * value_dim, d_out)
    num_heads : int
    b_q, b_k, b_v, b_o : one number for each column of the matrix of the same letter

    Raises
    ------
    ValueError
        If shapes do not fit or num_heads does not divide them.

    Examples
    --------
    >>> one = np.eye(2)
    >>> mean = MultiHeadAttention(w_q=0 * one, w_k=one, w_v=one, w_o=one, num_heads=2)
    >>> mean([[0, 2], [2, 4]]).output.tolist()
    [[1.0, 3.0], [1.0, 3.0]]
    """

    w_q: NDArray[np.floating]
    w_k: NDArray[np.floating]
    w_v: NDArray[np.floating]
    w_o: NDArray[np.floating]
    num_heads: int
    b_q: NDArray[np.floating] | None = None
    b_k: NDArray[np.floating] | None = None
    b_v: NDArray[np.floating] | None = None
    b_o: NDArray[np.floating] | None = None

    def __post_init__(self):
        for letter in "qkvo":
            weight = np.asarray(getattr(self, f"w_{letter}"))
            if weight.ndim != 2:
                raise ValueError(f"w_{letter} must have 2 axes, got shape {weight.shape}")
            bias = getattr(self, f"b_{letter}")
            bias = np.zeros(weight.shape[1], weight.dtype) if bias is None else np.asarray(bias)
            if bias.shape != weight.shape[1:]:
                raise ValueError(f"b_{letter} must have shape {weight.shape[1:]}, got {bias.shape}")
            object.__setattr__(self, f"w_{letter}", weight)
            object.__setattr__(self, f"b_{letter}", bias)
        check_weight("w_k", self.w_k, (self.w_k.shape[0], self.w_q.shape[1]))
        check_weight("w_o", self.w_o, (self.w_v.shape[1], self.w_o.shape[1]))
        check_heads(self.w_q.shape[1], self.num_heads)
        check_heads(self.w_v.shape[1], self.num_heads, "the columns of w_v")

    @classmethod
    def init(cls, rng: np.random.Generator, d_model: int, num_heads: int) -> MultiHeadAttention:
        """Draw square weights uniformly within ``sqrt(3 / d_model)``; biases are zero.

        The bound keeps the variance of a projected vector at that of its input
        :cite:p:`glorot2010`.

        Raises
        ------
        ValueError, TypeError
            If num_heads does not divide d_model; if rng is no Generator.
        """
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
        check_heads(d_model, num_heads)
        bound = (3 / d_model) ** 0.5
        w_q, w_k, w_v, w_o = rng.uniform(-bound, bound, size=(4, d_model, d_model))
        return cls(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)

    def __call__(
        self,
        query: ArrayLike,
        key: ArrayLike | None = None,
        value: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> AttentionOutput:
        """Attend from query to key and value; key defaults to query, value to key.

        Parameters
        ----------
        query : (..., len_q, d_query)
        key, value : (..., len_k, d_key), (..., len_k, d_value)
        mask : (..., len_q, len_k), bool, optional
            True where a query may attend, the same for every head. A query that may attend to
            nothing gets zero weights, and ``b_o`` as output.

        Returns
        -------
        AttentionOutput
            Output (..., len_q, d_out), weights (..., num_heads, len_q, len_k)

        Raises
        ------
        ValueError, TypeError
            If shapes do not fit; if the mask is not boolean.
        """
        key = query if key is None else key
        value = key if value is None else value
        names = [f"{kind}_{letter}" for letter in "qkvo" for kind in "wb"]
        parameters = {name: getattr(self, name) for name in names}
        (query, key, value, *parameters), dtype = promote(
            parameters, query=query, key=key, value=value
        )
        w_q, b_q, w_k, b_k, w_v, b_v, w_o, b_o = parameters
        leading = check_sequences(query=query, key=key, value=value)
        check_same_length(key, value)
        if mask is not None:
            if np.ndim(mask) > len(leading) + 2:
                raise ValueError(
                    "mask must not have more axes than query and key (it is the same for every "
                    f"head), got shapes {np.shape(mask)}, {query.shape} and {key.shape}"
                )
            mask = check_mask(mask, (*leading, query.shape[-2], key.shape[-2]))
            mask = np.expand_dims(np.atleast_2d(mask), -3)  # (..., 1, len_q, len_k)
        output, weights = scaled_dot_product_attention(
            split_heads(_project("query", query, "w_q", w_q) + b_q, self.num_heads),
            split_heads(_project("key", key, "w_k", w_k) + b_k, self.num_heads),
            split_heads(_project("value", value, "w_v", w_v) + b_v, self.num_heads),
            mask,
        )
        output = merge_heads(output) @ w_o + b_o
        return AttentionOutput(output.astype(dtype, copy=False), weights.astype(dtype, copy=False))


def _one_head(x, memory, w_q, w_k, w_v, mask, dtype, memory_name):
    check_sequences(**{"x": x, memory_name: memory})
    query = _project("x", x, "w_q", w_q)  # (..., len_q, d_k)
    key = _project(memory_name, memory, "w_k", w_k)  # (..., len_k, d_k)
    value = _project(memory_name, memory, "w_v", w_v)  # (..., len_k, d_v)
    if w_q.shape[1] != w_k.shape[1]:
        raise ValueError(
            "w_q and w_k must have the same number of columns d_k, "
            f"got {w_q.shape[1]} and {w_k.shape[1]}"
        )
    result = scaled_dot_product_attention(query, key, value, mask)
    return AttentionOutput(*(array.astype(dtype, copy=False) for array in result))


def _project(name, x, weight_name, weight):
    if weight.ndim != 2 or weight.shape[0] != x.shape[-1]:
        raise ValueError(
            f"{weight_name} must have 2 axes and one row for each of the {x.shape[-1]} features "
            f"of {name}, got shape {weight.shape}"
        )
    return x @ weight
