"""Backward passes worked out by hand, and the check that finds a wrong one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVarTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    Array,
    Mask,
    check_attention,
    check_axes,
    check_count,
    check_projection,
    check_shape,
    check_tokens,
    promote,
    real_array,
)
from attnbook.decoder import _feed_forward_parameters, _swiglu_parameters, _vectors
from attnbook.functional import _dot_product_attention, _mix, _product, _quiet, _scale, _seen
from attnbook.layers import MultiHeadAttention, _merge, _split
from attnbook.positional import Pairing, _rotated, _turn_for

__all__ = ["attention_backward", "blockwise_attention_backward", "check_gradient", "cross_entropy"]
__all__ += ["embedding_backward", "feed_forward_backward", "layer_norm_backward", "linear_backward"]
__all__ += ["multi_head_backward", "relu_backward", "rms_norm_backward", "rotary_backward"]
__all__ += ["softmax_backward", "swiglu_backward"]

_Gradients = TypeVarTuple("_Gradients")
_EPS = float(np.finfo(np.float64).eps)


@_quiet
def attention_backward(
    d_output: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    bias: ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[Array, Array, Array]:
    """Take a gradient back through ``scaled_dot_product_attention``.

    Parameters
    ----------
    d_output : (..., len_q, d_v), the loss's gradient with respect to the output
    query, key, value : (..., len_q, d_k), (..., len_k, d_k), (..., len_k, d_v)
    mask, bias, scale : as they were forward

    Returns
    -------
    d_query, d_key, d_value
        Each of its input's shape: summed over axes that were broadcast, and heads that share

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
    leading, mask, bias = check_attention(query, key, value, mask, bias)
    check_shape("d_output", d_output, (*leading, query.shape[-2], value.shape[-1]))
    scale = _scale(scale, query)
    output, weights = _dot_product_attention(query, key, value, mask, bias, scale)
    mask = mask if bias is None else _seen(mask, bias)
    if mask is not None:
        weights = np.where(mask, weights, 0)  # of a query with a NaN, all weights are NaN
    return _in(dtype, *_heads_backward(d_output, (query, key, value), mask, output, weights, scale))


@_quiet
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
) -> tuple[Array, Array, Array]:
    """Take a gradient back through ``blockwise_attention``, which kept no weights.

    ``exp(scores - logsumexp)`` computes them again, a block at a time :cite:p:`dao2022`.

    Parameters
    ----------
    d_output, query, key, value : as in ``attention_backward``
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
    block_size = check_count("block_size", block_size)
    inputs, dtype = promote(d_output=d_output, query=query, key=key, value=value)
    d_output, query, key, value = inputs
    leading, mask, _ = check_attention(query, key, value, mask)
    shape = *leading, query.shape[-2], value.shape[-1]
    check_shape("d_output", d_output, shape)
    output = real_array("output", output, shape)
    logsumexp = real_array("logsumexp", logsumexp, shape[:-1])
    scale = _scale(scale, query)
    gradients = d_query, d_key, d_value = [np.zeros_like(array) for array in (query, key, value)]
    mean = (d_output * output).sum(axis=-1, keepdims=True)  # (..., len_q, 1)
    # An empty row has -inf: exp(-inf - inf) is the 0 it needs, exp(-inf - -inf) would be NaN.
    total = np.where(logsumexp == -np.inf, np.inf, logsumexp)[..., None]  # (..., len_q, 1)
    for rows, columns, seen in _blocks(query.shape[-2], key.shape[-2], mask, causal, block_size):
        d_out, q = d_output[..., rows, :], query[..., rows, :]
        k, v = key[..., columns, :], value[..., columns, :]
        weights = _product(q * scale, k.mT) - total[..., rows, :]
        if seen is not None:
            weights = np.where(seen, weights, -np.inf)
        np.exp(weights, out=weights)  # (..., rows, columns)
        parts = _through_attention(d_out, q, k, v, weights, mean[..., rows, :], seen, scale)
        for whole, part, which in zip(gradients, parts, (rows, columns, columns), strict=True):
            whole[..., which, :] += _summed(part, whole[..., which, :].shape)
    return _in(dtype, d_query, d_key, d_value)


def multi_head_backward(
    d_output: ArrayLike,
    layer: MultiHeadAttention,
    query: ArrayLike,
    key: ArrayLike | None = None,
    value: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    weights: ArrayLike,
) -> tuple[Array, Array, Array, MultiHeadAttention]:
    """Take a gradient back through ``layer(query, key, value, mask)``.

    Parameters
    ----------
    d_output : (..., len_q, d_out)
    layer, query, key, value, mask : as they were forward
    weights : (..., num_heads, len_q, len_k), from the layer; a bias is in them

    Returns
    -------
    d_query, d_key, d_value : to be added up, where all three were one
    d_layer : MultiHeadAttention, of the parameters' gradients

    Raises
    ------
    ValueError, TypeError
        As forward; and if d_output or weights do not have the shapes of what came of it.

    Examples
    --------
    >>> one = [[1]]
    >>> layer = MultiHeadAttention(w_q=one, w_k=one, w_v=one, w_o=[[3]], num_heads=1)
    >>> _, _, d_value, d_layer = multi_head_backward(one, layer, one, [[4]], weights=[one])
    >>> d_value, d_layer.w_v, d_layer.w_o  # the output is 4 w_v w_o
    (array([[3.]]), array([[12.]]), array([[4.]]))
    """
    key = query if key is None else key
    value = key if value is None else value
    inputs, dtype = promote(d_output=d_output, query=query, key=key, value=value)
    d_output, query, key, value = inputs
    leading, mask = layer._fit(query, key, value, mask)
    of_mask = () if mask is None else mask.shape[:-3]
    of_weights = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], of_mask)
    len_q, len_k = query.shape[-2], key.shape[-2]
    weights = real_array("weights", weights, (*of_weights, layer.num_heads, len_q, len_k))
    whole = np.broadcast_shapes(leading, of_mask)
    check_shape("d_output", d_output, (*whole, len_q, layer.w_o.shape[1]))
    *d_inputs, d_layer = _multi_head_backward(d_output, layer, query, key, value, mask, weights)
    d_query, d_key, d_value = _in(dtype, *d_inputs)
    arrays = {name: x for name, x in vars(d_layer).items() if not name.startswith("num")}
    rounded: dict[str, Any] = dict(zip(arrays, _in(dtype, *arrays.values()), strict=True))
    return d_query, d_key, d_value, dataclasses.replace(layer, **rounded)


def linear_backward(
    d_output: ArrayLike, x: ArrayLike, w: ArrayLike, b: ArrayLike | None = None
) -> tuple[Array, ...]:
    """Take a gradient back through ``x @ w + b``.

    Every token adds to the gradients of w and b, since they were used for each.

    Parameters
    ----------
    d_output, x : (..., d_out), (..., d_in); they give the dtype
    w, b : (d_in, d_out), (d_out,), the second optional

    Returns
    -------
    d_x, d_w, d_b; without b, the first two

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> d_x, d_w, d_b = linear_backward([[1], [10]], [[2, 3], [4, 5]], [[6], [7]], [8])
    >>> d_x.tolist(), d_w.tolist(), d_b.tolist()
    ([[6.0, 7.0], [60.0, 70.0]], [[42.0], [53.0]], [11.0])
    """
    (x, d_output), dtype = _vectors(x, d_output=d_output)
    w = real_array("w", w)
    check_projection("w", w, "x", x)
    check_shape("d_output", d_output, (*x.shape[:-1], w.shape[1]))
    gradients = _linear_backward(d_output, x, w)
    if b is None:
        return _in(dtype, *gradients[:2])
    real_array("b", b, w.shape[1:])
    return _in(dtype, *gradients)


def embedding_backward(d_output: ArrayLike, tokens: ArrayLike, vocab_size: int) -> Array:
    """Take a gradient back through ``table[tokens]``, the lookup of each token's vector.

    Parameters
    ----------
    d_output : (..., d_model)
    tokens : (...), int
    vocab_size : int, the rows of the table

    Returns
    -------
    (vocab_size, d_model): a token's row is the sum over all places where it stands

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, or a token is not in the table; if not numbers as above.

    Examples
    --------
    >>> embedding_backward([[1], [10], [100]], [2, 0, 2], 3).tolist()
    [[10.0], [0.0], [101.0]]
    """
    (d_output,), dtype = promote(d_output=d_output)
    vocab_size = check_count("vocab_size", vocab_size)
    tokens = check_tokens("tokens", tokens, vocab_size)
    check_axes("d_output", d_output, 1, "(..., d_model)")
    check_shape("d_output", d_output, (*tokens.shape, d_output.shape[-1]))
    return _embedding_backward(d_output, tokens, vocab_size).astype(dtype, copy=False)


def rms_norm_backward(
    d_output: ArrayLike, x: ArrayLike, gain: ArrayLike, eps: float = 1e-5
) -> tuple[Array, Array]:
    """Take a gradient back through ``rms_norm``.

    A longer x is divided by more, so what points along x has no effect: it is taken off.

    Parameters
    ----------
    d_output, x, gain : (..., d_model), (..., d_model), (d_model,)
    eps : float, as forward

    Returns
    -------
    d_x, d_gain

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> d_x, d_gain = rms_norm_backward([5, 0], [1, 7], [5, 10], eps=0)  # x is divided by 5
    >>> d_x.round(2).tolist(), d_gain.tolist()  # 5 * ([1, 0] - 1/50 * [1, 7])
    ([4.9, -0.7], [1.0, 0.0])
    """
    (x, d_output), dtype = _vectors(x, d_output=d_output)
    gain = real_array("gain", gain, x.shape[-1:])
    check_shape("d_output", d_output, x.shape)
    return _in(dtype, *_rms_norm_backward(d_output, x, gain, eps))


def layer_norm_backward(
    d_output: ArrayLike, x: ArrayLike, gain: ArrayLike, bias: ArrayLike, eps: float = 1e-5
) -> tuple[Array, Array, Array]:
    """Take a gradient back through ``layer_norm``, an RMSNorm of what differs from the mean.

    Parameters
    ----------
    d_output, x, gain, bias : (..., d_model), (..., d_model), (d_model,), (d_model,)
    eps : float, as forward

    Returns
    -------
    d_x, d_gain, d_bias

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> d_x, d_gain, d_bias = layer_norm_backward([6, 0], [1, 7], [1, 10], [0, 5], eps=27)
    >>> d_x.tolist(), d_gain.tolist(), d_bias.tolist()  # deviations -3 and 3, divided by 6
    ([0.375, -0.375], [-3.0, 0.0], [6.0, 0.0])
    """
    (x, d_output), dtype = _vectors(x, d_output=d_output)
    gain = real_array("gain", gain, x.shape[-1:])
    real_array("bias", bias, x.shape[-1:])
    check_shape("d_output", d_output, x.shape)
    deviation = x - x.mean(axis=-1, keepdims=True)
    d_deviation, d_gain = _rms_norm_backward(d_output, deviation, gain, eps)
    # The same number added to each entry of x changes no deviation.
    d_x = d_deviation - d_deviation.mean(axis=-1, keepdims=True)
    d_bias = d_output.reshape(-1, x.shape[-1]).sum(axis=0)
    return _in(dtype, d_x, d_gain, d_bias)


def relu_backward(d_output: ArrayLike, x: ArrayLike) -> Array:
    """Take a gradient back through ``np.maximum(x, 0)``: where x is above 0, it passes.

    Parameters
    ----------
    d_output, x : the same shape

    Returns
    -------
    d_x, of this shape

    Raises
    ------
    ValueError, TypeError
        If shapes differ; if not real numbers.

    Examples
    --------
    >>> relu_backward([5, 6, 7], [-1, 0, 1]).tolist()
    [0.0, 0.0, 7.0]
    """
    (d_output, x), dtype = promote(d_output=d_output, x=x)
    check_shape("d_output", d_output, x.shape)
    return (d_output * (x > 0)).astype(dtype, copy=False)


def feed_forward_backward(
    d_output: ArrayLike,
    x: ArrayLike,
    w_in: ArrayLike,
    b_in: ArrayLike,
    w_out: ArrayLike,
    b_out: ArrayLike,
) -> tuple[Array, Array, Array, Array, Array]:
    """Take a gradient back through ``feed_forward`` with ReLU.

    Parameters
    ----------
    d_output, x : (..., d_out), (..., d_model)
    w_in, b_in, w_out, b_out : (d_model, hidden), (hidden,), (hidden, d_out), (d_out,)

    Returns
    -------
    d_x, d_w_in, d_b_in, d_w_out, d_b_out

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> gradients = feed_forward_backward([[1], [1]], [[1], [-1]], [[2]], [1], [[10]], [0])
    >>> [gradient.tolist() for gradient in gradients]  # of the second token, ReLU leaves nothing
    [[[20.0], [0.0]], [[10.0]], [10.0], [[3.0]], [2.0]]
    """
    (x, d_output), dtype = _vectors(x, d_output=d_output)
    w_in, b_in, w_out, b_out = _feed_forward_parameters(x.shape[-1], w_in, b_in, w_out, b_out)
    check_shape("d_output", d_output, (*x.shape[:-1], b_out.size))
    hidden = np.maximum(x @ w_in + b_in, 0)  # (..., hidden)
    return _in(dtype, *_feed_forward_backward(d_output, x, w_in, hidden, w_out))


def swiglu_backward(
    d_output: ArrayLike, x: ArrayLike, w_gate: ArrayLike, w_up: ArrayLike, w_down: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """Take a gradient back through ``swiglu``.

    With s for the sigmoid, the derivative of ``silu(z) = z s(z)`` is ``s(z) (1 + z (1 - s(z)))``.

    Parameters
    ----------
    d_output, x : (..., d_out), (..., d_model)
    w_gate, w_up, w_down : (d_model, hidden), (d_model, hidden), (hidden, d_out)

    Returns
    -------
    d_x, d_w_gate, d_w_up, d_w_down

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> gradients = swiglu_backward([1], [0], [[1]], [[1]], [[4]])  # a gate of 0
    >>> [gradient.tolist() for gradient in gradients]
    [[0.0], [[0.0]], [[0.0]], [[0.0]]]
    """
    (x, d_output), dtype = _vectors(x, d_output=d_output)
    w_gate, w_up, w_down = _swiglu_parameters(x.shape[-1], w_gate, w_up, w_down)
    check_shape("d_output", d_output, (*x.shape[:-1], w_down.shape[1]))
    return _in(dtype, *_swiglu_backward(d_output, x, w_gate, w_up, w_down))


def rotary_backward(
    d_output: ArrayLike,
    positions: ArrayLike | None = None,
    *,
    base: float = 10000.0,
    pairing: Pairing = "interleaved",
) -> Array:
    """Take a gradient back through ``apply_rotary``: it is turned back, by the same angles.

    Parameters
    ----------
    d_output : (..., len, head_dim)
    positions, base, pairing : as forward

    Returns
    -------
    d_x, of this shape

    Raises
    ------
    ValueError, TypeError
        As forward.

    Examples
    --------
    >>> rotary_backward([[1, 0], [1, 0]], [0, np.pi / 2]).round(2).tolist()
    [[1.0, 0.0], [0.0, -1.0]]
    """
    (d_output,), dtype = promote(d_output=d_output)
    turn = _turn_for("d_output", d_output, positions, base, pairing)
    return _rotated(d_output, turn.conj(), pairing).astype(dtype, copy=False)


@_quiet
def softmax_backward(d_weights: ArrayLike, weights: ArrayLike) -> Array:
    """Take a gradient back through ``softmax`` along the last axis.

    ``weights * (d_weights - sum(weights * d_weights))``: a score gains where its weight's
    gradient is above the average, since weights that sum to one cannot all grow.

    Parameters
    ----------
    d_weights, weights : (..., n), (..., n); where a weight is 0, so is the gradient

    Returns
    -------
    d_scores (..., n)

    Raises
    ------
    ValueError, TypeError
        If shapes differ; if not real numbers.

    Examples
    --------
    >>> softmax_backward([8, 16], [0.25, 0.75]).tolist()  # the average is 14
    [-1.5, 1.5]
    """
    (d_weights, weights), dtype = promote(d_weights=d_weights, weights=weights)
    check_shape("d_weights", d_weights, weights.shape)
    check_axes("weights", weights, 1, "(..., n)")
    if not np.isfinite(d_weights).all():  # a masked NaN is hidden: 0 * NaN would be NaN
        d_weights = np.where(weights == 0, 0, d_weights)
    mean = np.vecdot(weights, d_weights)[..., None]  # (..., 1)
    d_scores: Array = weights * (d_weights - mean)
    return d_scores.astype(dtype, copy=False)


def cross_entropy(
    logits: ArrayLike, targets: ArrayLike, mask: ArrayLike | None = None
) -> tuple[float, Array]:
    """Compute the loss of predicting tokens, and its gradient.

    The loss is the mean of ``log(sum(exp(logits))) - logits[target]``, so the gradient is
    ``(softmax(logits) - one_hot(target)) / count``.

    Parameters
    ----------
    logits, targets : (..., vocab), (...), int
    mask : (...), bool, optional, True where a target counts; padding does not

    Returns
    -------
    loss, d_logits (..., vocab)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, a target is not in the vocabulary or none counts; if the mask is
        not boolean.

    Examples
    --------
    >>> loss, d_logits = cross_entropy([[0, 0], [0, np.log(3)]], [1, 1])
    >>> float(np.exp(2 * loss).round(2)), d_logits.tolist()  # 1 / (1/2 * 3/4)
    (2.67, [[0.25, -0.25], [0.125, -0.125]])
    """
    (logits,), dtype = promote(logits=logits)
    if not logits.ndim or not logits.shape[-1]:
        raise ValueError(f"logits must have shape (..., vocab), vocab > 0, got {logits.shape}")
    targets = real_array("targets", targets, logits.shape[:-1])
    counts = np.ones(targets.shape, bool) if mask is None else np.asarray(mask)
    if counts.dtype != bool:
        raise TypeError(
            f"mask must be boolean, True where a target counts, got dtype {counts.dtype}"
        )
    check_shape("mask", counts, targets.shape)
    check_tokens("targets", targets[counts], logits.shape[-1])
    if not counts.any():
        raise ValueError(f"at least 1 target must count, got 0 of {counts.size}")
    loss, d_logits = _cross_entropy(logits, targets, counts)
    return loss, d_logits.astype(dtype, copy=False)


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


def _in(dtype: np.dtype[Any], *gradients: *_Gradients) -> tuple[*_Gradients]:
    """Round gradients to a dtype; they are as many as they were."""
    rounded: Any = tuple(np.asarray(gradient, dtype) for gradient in gradients)
    return rounded  # type: ignore[no-any-return]


# What follows trusts its arguments.


def _linear_backward(d_output: Array, x: Array, w: NDArray[Any]) -> tuple[Array, Array, Array]:
    tokens, d_tokens = x.reshape(-1, x.shape[-1]), d_output.reshape(-1, w.shape[1])
    d_x = (d_tokens @ w.T).reshape(x.shape)  # one product for all is faster than one a sequence
    return d_x, tokens.T @ d_tokens, d_tokens.sum(axis=0)


def _feed_forward_backward(
    d_output: Array, x: Array, w_in: NDArray[Any], hidden: Array, w_out: NDArray[Any]
) -> tuple[Array, Array, Array, Array, Array]:
    d_hidden, d_w_out, d_b_out = _linear_backward(d_output, hidden, w_out)
    d_hidden *= hidden > 0  # ReLU
    return *_linear_backward(d_hidden, x, w_in), d_w_out, d_b_out


@np.errstate(over="ignore")  # as forward: exp(-z) may be infinite
def _swiglu_backward(
    d_output: Array, x: Array, w_gate: NDArray[Any], w_up: NDArray[Any], w_down: NDArray[Any]
) -> tuple[Array, Array, Array, Array]:
    gate, up = x @ w_gate, x @ w_up  # (..., hidden)
    sigmoid = 1 / (1 + np.exp(-gate))
    silu = gate * sigmoid
    d_hidden, d_w_down, _ = _linear_backward(d_output, silu * up, w_down)
    d_gate = d_hidden * up * sigmoid * (1 + gate * (1 - sigmoid))
    d_x_gate, d_w_gate, _ = _linear_backward(d_gate, x, w_gate)
    d_x_up, d_w_up, _ = _linear_backward(d_hidden * silu, x, w_up)
    return d_x_gate + d_x_up, d_w_gate, d_w_up, d_w_down


def _rms_norm_backward(
    d_output: Array, x: Array, gain: NDArray[Any], eps: float = 1e-5
) -> tuple[Array, Array]:
    size = x.shape[-1]
    root = np.sqrt(np.vecdot(x, x)[..., None] / size + eps)  # (..., 1)
    normed = x / root
    d_gain = (d_output * normed).reshape(-1, size).sum(axis=0)
    d_normed = d_output * gain
    along = np.vecdot(d_normed, normed)[..., None] / size  # (..., 1)
    return (d_normed - normed * along) / root, d_gain


def _embedding_backward(d_output: Array, tokens: NDArray[np.intp], vocab_size: int) -> Array:
    # One sum for each number of the table, and four times as fast as np.add.at.
    d_model = d_output.shape[-1]
    places = tokens[..., None] * d_model + np.arange(d_model)  # (..., d_model)
    table = np.bincount(places.ravel(), d_output.ravel(), vocab_size * d_model)
    return table.reshape(vocab_size, d_model).astype(d_output.dtype, copy=False)


@_quiet
def _cross_entropy(
    logits: Array, targets: NDArray[Any], counts: Mask | None = None
) -> tuple[float, Array]:
    """Return the loss, and the gradient of the logits, 0 where a target does not count."""
    counts = np.ones(targets.shape, bool) if counts is None else counts
    scores, targets = logits[counts], targets[counts]  # (count, vocab), a copy; (count,)
    scores -= scores.max(axis=-1, keepdims=True, initial=np.finfo(scores.dtype).min)
    at_targets = np.arange(len(targets)), targets
    likely = scores[at_targets]  # (count,)
    np.exp(scores, out=scores)
    total = np.maximum(scores.sum(axis=-1), 1)  # 0 only in a row of -inf
    loss = (np.log(total) - likely).mean()
    scores /= total[:, None] * len(targets)
    scores[at_targets] -= 1 / len(targets)
    d_logits = np.zeros_like(logits)
    d_logits[counts] = scores
    return float(loss), d_logits


@_quiet
def _multi_head_backward(
    d_output: Array,
    layer: MultiHeadAttention,
    query: Array,
    key: Array,
    value: Array,
    mask: Mask | None,
    weights: NDArray[Any],
) -> tuple[Array, Array, Array, MultiHeadAttention]:
    queries, keys, values = layer._queries(query), layer._keys(key), layer._values(value)
    if all(np.isfinite(array).all() for array in (d_output, weights, queries, keys, values)):
        mask = None  # the weights have it: what it hides is multiplied by 0
    if mask is not None:
        mask = np.broadcast_to(mask, (*d_output.shape[:-2], 1, *weights.shape[-2:]))
        weights = np.where(mask, weights, 0)  # of a query with a NaN, all weights are NaN
        query = _without_unseen(query, mask[..., 0, :, :])
        key, value = (_without_unseen(x, mask[..., 0, :, :].mT) for x in (key, value))
    heads = _mix(weights, values, mask)  # (..., num_heads, len_q, value_dim)
    d_heads, of_output = _combine_backward(d_output, layer, heads)
    of_heads = _heads_backward(d_heads, (queries, keys, values), mask, heads, weights)
    return _project_backward(of_heads, layer, (query, key, value), of_output)


def _combine_backward(
    d_output: Array, layer: MultiHeadAttention, heads: Array
) -> tuple[Array, dict[str, Array]]:
    """Return the gradients of the heads (..., num_heads, len_q, value_dim), and of w_o and b_o."""
    d_merged, d_w_o, d_b_o = _linear_backward(d_output, _merge(heads), layer.w_o)
    return _split(d_merged, layer.num_heads), {"w_o": d_w_o, "b_o": d_b_o}


def _project_backward(
    of_heads: Sequence[Array],
    layer: MultiHeadAttention,
    inputs: Sequence[Array],
    of_output: dict[str, Array],
) -> tuple[Array, Array, Array, MultiHeadAttention]:
    """Take the gradients of queries, keys and values back through the projections."""
    d_inputs, d_layer = [], dict[str, Any](of_output)
    for letter, d_heads, x in zip("qkv", of_heads, inputs, strict=True):
        d_x, d_w, d_b = _linear_backward(_merge(d_heads), x, getattr(layer, f"w_{letter}"))
        d_inputs.append(d_x)
        d_layer |= {f"w_{letter}": d_w, f"b_{letter}": d_b}
    d_query, d_key, d_value = d_inputs
    return d_query, d_key, d_value, dataclasses.replace(layer, **d_layer)


def _without_unseen(x: Array, mask: Mask) -> Array:
    """Put 0 for tokens, the rows of the mask, that meet no other: 0 * NaN would be NaN."""
    if np.isfinite(x).all():
        return x
    seen = _summed(mask, (*x.shape[:-1], 1)) > 0  # (..., len, 1)
    return np.where(seen, x, 0)


@_quiet
def _heads_backward(
    d_heads: Array,
    inputs: tuple[Array, Array, Array],
    mask: Mask | None,
    heads: Array,
    weights: NDArray[Any],
    scale: float | None = None,
) -> tuple[Array, Array, Array]:
    """Take a gradient back through attention in each head, between projections and combining.

    The inputs are queries, keys and values. All are (..., heads, len, dim); keys and values may
    have fewer heads. The mask is for what is not finite: the weights have it.
    """
    mean = np.vecdot(d_heads, heads)[..., None]  # (..., num_heads, len_q, 1)
    scale = 1 / math.sqrt(inputs[0].shape[-1]) if scale is None else scale
    gradients = _through_attention(d_heads, *inputs, weights, mean, mask, scale)
    d_queries, d_keys, d_values = map(_summed, gradients, (each.shape for each in inputs))
    return d_queries, d_keys, d_values


def _through_attention(
    d_output: Array,
    query: Array,
    key: Array,
    value: Array,
    weights: Array,
    mean: Array,
    mask: Mask | None,
    scale: float,
) -> tuple[Array, Array, Array]:
    """Return the gradients of all queries, keys and values, or what one block adds to them.

    ``mean`` (..., len_q, 1) is each query's average of d_weights over *all* its keys, weighted by
    the weights, which softmax's Jacobian takes off. A block need not have seen the other keys:
    ``sum_j weights_j d_weights_j = sum_j weights_j value_j . d_output = output . d_output``.
    """
    mask_t = None if mask is None else mask.mT
    d_value = _mix(weights.mT, d_output, mask_t)  # (..., len_k, d_v)
    # What is d_weights first becomes d_scores in place, since new large arrays take time.
    d_scores = _product(d_output, value.mT)  # (..., len_q, len_k)
    d_scores -= mean
    d_scores *= weights
    if mask is not None:  # 0 * NaN would be NaN
        np.copyto(d_scores, 0, where=~mask)
    d_query = _mix(d_scores, key, mask)  # (..., len_q, d_k)
    d_key = _mix(d_scores.mT, query, mask_t)  # (..., len_k, d_k)
    d_query *= scale
    d_key *= scale
    return d_query, d_key, d_value


def _blocks(
    len_q: int, len_k: int, mask: Mask | None, causal: bool, block_size: int
) -> Iterator[tuple[slice, slice, Mask | None]]:
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


def _summed(gradient: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Sum over the axes along which an input of this shape was broadcast, and shared heads."""
    if gradient.shape == shape:  # as a rule
        return gradient
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    if len(shape) > 2 and 1 < shape[-3] < gradient.shape[-3]:
        *leading, heads, rows, columns = gradient.shape
        of_each = heads // shape[-3]
        gradient = gradient.reshape(*leading, shape[-3], of_each, rows, columns).sum(axis=-3)
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
    summed: NDArray[Any] = gradient.sum(axis=axes, keepdims=True)
    return summed
