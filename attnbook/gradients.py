"""Backward passes worked out by hand, and the check that finds a wrong one."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    check_bias,
    check_mask,
    check_same_d_k,
    check_same_length,
    check_sequences,
    promote,
    real_array,
)
from attnbook.functional import _dot_product_attention, _mix, _quiet, _seen
from attnbook.long import _by_kv_head, _shared_heads

_Array: TypeAlias = NDArray[np.floating]
_EPS = float(np.finfo(np.float64).eps)


def attention_backward(
    d_output: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    bias: ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[_Array, _Array, _Array]:
    """Take a gradient back through ``scaled_dot_product_attention``.

    Parameters
    ----------
    d_output : (..., len_q, d_v), the loss's gradient with respect to the output
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v)
    mask, bias, scale : as they were forward

    Returns
    -------
    d_query, d_key, d_value
        Each of its input's shape: summed over axes that were broadcast

    Raises
    ------
    ValueError, TypeError
        As forward; and if d_output does not have the output's shape.

    Examples
    --------
    >>> d_query, d_key, d_value = attention_backward([[1]], [[2]], [[3], [3]], [[4], [8]])
    >>> d_query.tolist(), d_key.tolist(), d_value.tolist()
    ([[0.0]], [[-2.0], [2.0]], [[0.5], [0.5]])
    """
    inputs, dtype = promote(d_output=d_output, query=query, key=key, value=value)
    d_output, query, key, value = inputs
    mask, bias, shape = _checked(query, key, value, mask, bias)
    _check_shapes(shape, d_output=d_output)
    gradients = _attention_backward(
        d_output, query, key, value, mask, bias, _or_usual(scale, query)
    )
    return _as_inputs(gradients, inputs[1:], dtype)


def blockwise_attention_backward(
    d_output: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    output: ArrayLike,
    logsumexp: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_size: int = 256,
) -> tuple[_Array, _Array, _Array]:
    """Take a gradient back through ``blockwise_attention``, which kept no weights.

    ``exp(scores - logsumexp)`` computes them again, a block at a time :cite:p:`dao2022`.

    Parameters
    ----------
    d_output, query, key, value : as in ``attention_backward``; heads may be grouped
    output, logsumexp : (..., len_q, d_v), (..., len_q), what came of it forward
    mask, causal, scale : as they were forward
    block_size : int, the number of queries and of keys in a block

    Returns
    -------
    d_query, d_key, d_value : as from ``attention_backward``

    Raises
    ------
    ValueError, TypeError
        As forward; and if d_output, output and logsumexp are not of the output's shape.

    Examples
    --------
    >>> one = [[1]], [[2]], [[3], [3]], [[4], [8]]
    >>> blockwise_attention_backward(*one, [[6]], [6 + np.log(2)])[1].round(12).tolist()
    [[-2.0], [2.0]]
    """
    block_size = operator.index(block_size)
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, got {block_size}")
    inputs, dtype = promote(d_output=d_output, query=query, key=key, value=value)
    d_output, query, key, value = inputs
    output, logsumexp = real_array("output", output), real_array("logsumexp", logsumexp)
    kv_heads = _shared_heads(query, key, value)
    if kv_heads:
        query, key, value = (_by_kv_head(array, kv_heads) for array in (query, key, value))
    mask, _, shape = _checked(query, key, value, mask, kv_heads=kv_heads)
    _check_shapes(shape, d_output=d_output, output=output)
    _check_shapes(shape[:-1], logsumexp=logsumexp)
    total = logsumexp[..., None]  # (..., len_q, 1)
    if kv_heads:
        d_output, output, total = (_by_kv_head(x, kv_heads) for x in (d_output, output, total))
        mask = None if mask is None else _by_kv_head(mask, kv_heads)
    gradients = _blockwise_attention_backward(
        *(d_output, query, key, value, output, total),
        *(mask, causal, _or_usual(scale, query), block_size),
    )
    return _as_inputs(gradients, inputs[1:], dtype)


def check_gradient(
    f: Callable[..., ArrayLike],
    backward: Callable[..., ArrayLike | Sequence[ArrayLike]],
    *arrays: ArrayLike,
) -> float:
    """Compare a backward pass with what small changes of each entry do to the output.

    The loss is ``sum(d_output * f(*arrays))`` with one random d_output, the same in every call. All
    is float64. An entry x moves by ``h = 6e-6 max(1, |x|)`` up and down; 1e-6 of an array's largest
    gradient is forgiven, and rounding.

    Parameters
    ----------
    f : function of the arrays, smooth near them; of a named tuple its ``output`` is meant
    backward : function of d_output and the arrays, which returns the gradient of each
    arrays : finite; small, since f is called twice for every entry

    Returns
    -------
    float, the largest error, relative to the largest gradient of the same array

    Raises
    ------
    AssertionError, ValueError, TypeError
        If gradients are missing, of another shape or wrong; if arrays or output cannot be checked.

    Examples
    --------
    >>> check_gradient(np.sin, lambda d_output, x: d_output * np.cos(x), [0.0, 1.0]) < 1e-8
    True
    """
    inputs = [_finite(f"argument {n}", array) for n, array in enumerate(arrays)]
    output = _finite("the output of f", _output(f, inputs))
    d_output = np.random.default_rng(0).standard_normal(output.shape)
    # Copies: one that writes into its arguments would move what it is compared with.
    returned = backward(*(array.copy() for array in (d_output, *inputs)))
    worst = 0.0
    gradients = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(gradients) != len(inputs):
        raise AssertionError(
            f"backward must return {len(inputs)} gradients, one for each array, "
            f"got {len(gradients)}"
        )
    for n, gradient in enumerate(map(np.asarray, gradients)):
        if gradient.shape != inputs[n].shape:
            raise AssertionError(
                f"gradient of argument {n} must have its shape {inputs[n].shape}, "
                f"got {gradient.shape}"
            )
        expected, rounding = _differences(f, inputs, n, d_output)
        error = np.abs(gradient - expected)
        wrong = ~(error <= rounding + 1e-6 * np.abs(expected).max(initial=0))  # NaN is wrong, too
        if wrong.any():
            at = np.unravel_index(np.where(wrong, error, -1).argmax(), error.shape)
            raise AssertionError(
                f"gradient of argument {n}: {wrong.sum()} of {wrong.size} entries are wrong, most "
                f"of all {tuple(map(int, at))}: backward gives {gradient[at]:.9g}, "
                f"differences give {expected[at]:.9g}"
            )
        largest = np.abs(expected).max(initial=0)
        worst = max(worst, float(error.max(initial=0) / (largest if largest > 0 else 1)))
    return worst


def _output(f: Callable[..., Any], inputs: Sequence[NDArray[Any]]) -> Any:
    """Call f; of what an attention returns, take what it is called for."""
    returned = f(*inputs)
    output = getattr(returned, "output", returned)
    if isinstance(output, tuple):
        raise TypeError(f"f must return one array, got {type(output).__name__}")
    return output


def _finite(name: str, given: ArrayLike) -> NDArray[np.float64]:
    array = real_array(name, given).astype(np.float64)  # a copy
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array}")
    return array


def _differences(
    f: Callable[..., ArrayLike],
    inputs: Sequence[NDArray[np.float64]],
    n: int,
    d_output: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what central differences give for each entry of an input, and how far to trust it."""
    moved = inputs[n]
    gradient, rounding = np.empty_like(moved), np.empty_like(moved)
    for at in np.ndindex(moved.shape):
        x = moved[at]
        # The formula's error grows as step**2, that of rounding as 1 / step.
        step = _EPS ** (1 / 3) * max(1.0, abs(float(x)))
        moved[at] = x - step
        below = np.array(_output(f, inputs), np.float64)  # a copy: f may return its argument
        moved[at] = x + step
        above = np.array(_output(f, inputs), np.float64)
        moved[at] = x
        gradient[at] = (d_output * (above - below)).sum() / (2 * step)
        rounding[at] = _EPS * np.abs(d_output * above).sum() / step
    return gradient, rounding


def _checked(
    query: _Array,
    key: _Array,
    value: _Array,
    mask: ArrayLike | None,
    bias: ArrayLike | None = None,
    *,
    kv_heads: int = 0,
) -> tuple[NDArray[np.bool_] | None, NDArray[Any] | None, tuple[int, ...]]:
    """Check as forward; return mask and bias as arrays, and the shape that the output has."""
    leading = check_sequences(query=query, key=key, value=value)
    check_same_length(key, value)
    check_same_d_k(query, key)
    if kv_heads:
        leading = (*leading[:-2], leading[-2] * leading[-1])
    scores_shape = (*leading, query.shape[-2], key.shape[-2])
    mask = None if mask is None else np.atleast_2d(check_mask(mask, scores_shape))
    bias = None if bias is None else np.atleast_2d(check_bias(bias, scores_shape, mask))
    others = [array.shape[:-2] for array in (mask, bias) if array is not None]
    return mask, bias, (*np.broadcast_shapes(leading, *others), query.shape[-2], value.shape[-1])


def _check_shapes(shape: tuple[int, ...], **arrays: NDArray[Any]) -> None:
    for name, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {array.shape}")


def _or_usual(scale: float | None, query: _Array) -> float:
    return 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)


def _as_inputs(
    gradients: Iterable[_Array], inputs: Iterable[_Array], dtype: np.dtype[Any]
) -> tuple[_Array, _Array, _Array]:
    d_query, d_key, d_value = (
        gradient.reshape(like.shape).astype(dtype, copy=False)
        for gradient, like in zip(gradients, inputs, strict=True)
    )
    return d_query, d_key, d_value


# What follows trusts its arguments.


def _through_attention(
    d_output: _Array,
    query: _Array,
    key: _Array,
    value: _Array,
    weights: _Array,
    mean: _Array,
    mask: NDArray[np.bool_] | None,
    scale: float,
) -> tuple[_Array, _Array, _Array]:
    """Return the gradients of all queries, keys and values, or what one block adds to them.

    ``mean`` (..., len_q, 1) is each query's average of d_weights over *all* its keys, weighted by
    the weights, which softmax's Jacobian takes off. A block need not have seen the other keys:
    ``sum_j weights_j d_weights_j = sum_j weights_j value_j . d_output = output . d_output``.
    """
    mask_t = None if mask is None else mask.mT
    d_value = _mix(weights.mT, d_output, mask_t)  # (..., len_k, d_v)
    d_weights = d_output @ value.mT  # (..., len_q, len_k)
    d_scores = weights * (d_weights - mean)
    if mask is not None:  # 0 * NaN would be NaN
        d_scores = np.where(mask, d_scores, 0)
    d_query = _mix(d_scores, key, mask) * scale  # (..., len_q, d_k)
    d_key = _mix(d_scores.mT, query, mask_t) * scale  # (..., len_k, d_k)
    return d_query, d_key, d_value


@_quiet
def _attention_backward(
    d_output: _Array,
    query: _Array,
    key: _Array,
    value: _Array,
    mask: NDArray[np.bool_] | None,
    bias: NDArray[Any] | None,
    scale: float,
) -> tuple[_Array, _Array, _Array]:
    output, weights = _dot_product_attention(query, key, value, mask, bias, scale)
    mean = (d_output * output).sum(axis=-1, keepdims=True)
    mask = mask if bias is None else _seen(mask, bias)
    if mask is not None:
        weights = np.where(mask, weights, 0)  # of a query with a NaN, all weights are NaN
    gradients = _through_attention(d_output, query, key, value, weights, mean, mask, scale)
    d_query, d_key, d_value = map(_summed, gradients, (query.shape, key.shape, value.shape))
    return d_query, d_key, d_value


@_quiet
def _blockwise_attention_backward(
    d_output: _Array,
    query: _Array,
    key: _Array,
    value: _Array,
    output: _Array,
    total: _Array,
    mask: NDArray[np.bool_] | None,
    causal: bool,
    scale: float,
    block_size: int,
) -> tuple[_Array, _Array, _Array]:
    d_query, d_key, d_value = map(np.zeros_like, (query, key, value))
    mean = (d_output * output).sum(axis=-1, keepdims=True)  # (..., len_q, 1)
    # An empty row has -inf: exp(-inf - inf) is the 0 it needs, exp(-inf - -inf) would be NaN.
    total = np.where(total == -np.inf, np.inf, total)
    for rows, columns, seen in _blocks(query.shape[-2], key.shape[-2], mask, causal, block_size):
        d_out, q = d_output[..., rows, :], query[..., rows, :]
        k, v = key[..., columns, :], value[..., columns, :]
        weights = (q * scale) @ k.mT - total[..., rows, :]
        if seen is not None:
            weights = np.where(seen, weights, -np.inf)
        np.exp(weights, out=weights)  # (..., rows, columns)
        parts = _through_attention(d_out, q, k, v, weights, mean[..., rows, :], seen, scale)
        for whole, part in zip(
            (d_query[..., rows, :], d_key[..., columns, :], d_value[..., columns, :]),
            parts,
            strict=True,
        ):
            whole += _summed(part, whole.shape)
    return d_query, d_key, d_value


def _blocks(
    len_q: int, len_k: int, mask: NDArray[np.bool_] | None, causal: bool, block_size: int
) -> Iterator[tuple[slice, slice, NDArray[np.bool_] | None]]:
    """Give the queries and keys of each block, and what is seen of it: None is all."""
    if mask is not None:  # a view: takes no bytes
        mask = np.broadcast_to(mask, (*mask.shape[:-2], len_q, len_k))
    last = np.arange(len_q) + len_k - len_q  # the last key that a causal query sees
    for i in range(0, len_q, block_size):
        for j in range(0, len_k, block_size):
            rows, columns = slice(i, i + block_size), slice(j, j + block_size)
            if causal and j > last[rows][-1]:
                break  # this and the later keys are hidden from all of these queries
            seen = None if mask is None else mask[..., rows, columns]
            positions = np.arange(len_k)[columns]
            if causal and positions[-1] > last[i]:
                triangle = positions <= last[rows, None]
                seen = triangle if seen is None else seen & triangle
            yield rows, columns, seen


def _summed(gradient: _Array, shape: tuple[int, ...]) -> _Array:
    """Sum over the axes along which an input of this shape was broadcast."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    summed: _Array = gradient.sum(axis=axes, keepdims=True)
    return summed
