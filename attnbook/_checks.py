"""What the public functions check of their inputs, and the dtype they compute in."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.floating]
Mask: TypeAlias = NDArray[np.bool_]

_SINGLE = np.dtype(np.float32)
_FAST = _SINGLE, np.dtype(np.float64)  # which are computed in as they are


def real_array(name: str, given: ArrayLike, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Return the array, if it holds real numbers and has the shape that may be asked for."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if shape is not None:
        check_shape(name, array, shape)
    return array


def promote(**inputs: ArrayLike) -> tuple[list[Array], np.dtype[Any]]:
    """Return the inputs in the dtype to compute in, and the dtype the result shall have.

    Learned weights have no part in this: wider ones raise the computation's dtype by NumPy's
    own rules, and the result is rounded to the dtype that the inputs decide.
    """
    arrays = [real_array(name, given) for name, given in inputs.items()]
    first = arrays[0].dtype
    if first in _FAST and all(array.dtype == first for array in arrays):  # as a rule
        return arrays, first
    dtype = np.result_type(*arrays)
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    # In float16 scores overflow at 65504 and NumPy has no fast matrix product.
    compute = np.result_type(dtype, _SINGLE)
    return [array.astype(compute, copy=False) for array in arrays], dtype


def check_axes(name: str, array: NDArray[Any], least: int, axes: str) -> None:
    if array.ndim < least:
        plural = "axis" if least == 1 else "axes"
        raise ValueError(
            f"{name} must have at least {least} {plural} {axes}, got shape {array.shape}"
        )


def check_sequences(shared: bool = False, **sequences: NDArray[Any]) -> tuple[int, ...]:
    """Require two axes or more of each named array, and leading axes that broadcast.

    Where heads may be shared, the first array may have more of them (axis -3), a multiple. Return
    the shape that the leading axes broadcast to.
    """
    for name, array in sequences.items():
        check_axes(name, array, 2, "(..., length, features)")
    leading = [array.shape[:-2] for array in sequences.values()]
    if leading.count(leading[0]) == len(leading):  # as a rule, and broadcast_shapes is slow
        return leading[0]
    try:
        return np.broadcast_shapes(*(_shared_as_one(*leading) if shared else leading))
    except ValueError:
        first, *others = sequences
        hint = f"; heads of {first} (axis -3) may be a multiple of those of {_listed(others)}"
        raise ValueError(
            f"leading axes of {_listed(sequences)} must broadcast, got {_listed(leading)}"
            f"{hint if shared else ''}"
        ) from None


def _shared_as_one(first: tuple[int, ...], *others: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Count heads as one where those of the first share them; else return shapes as they are."""
    heads = first[-1] if first else 1
    of_others = {shape[-1] for shape in others if shape} - {1}
    if len(of_others) == 1 and all(0 < each < heads and heads % each == 0 for each in of_others):
        return [first, *((*shape[:-1], 1) if shape else shape for shape in others)]
    return [first, *others]


def _listed(things: Iterable[object]) -> str:
    *first, last = map(str, things)
    return f"{', '.join(first)} and {last}" if first else last


def check_same(names: str, what: str, first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"{names} must have the same {what}, got {first} and {second}")


def check_count(name: str, given: Any, least: int = 1) -> int:
    """Return a whole number, if it is not too small."""
    count = operator.index(given)
    if count < least:
        rule = f"be at least {least}" if least else "not be negative"
        raise ValueError(f"{name} must {rule}, got {given}")
    return count


def check_same_d_k(query: NDArray[Any], key: NDArray[Any]) -> None:
    check_same("query and key", "last axis d_k", query.shape[-1], key.shape[-1])
    if query.shape[-1] == 0:
        raise ValueError(f"d_k must be at least 1, got query of shape {query.shape}")


def check_attention(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    mask: ArrayLike | None,
    bias: ArrayLike | None = None,
) -> tuple[tuple[int, ...], Mask | None, NDArray[Any] | None]:
    """Require that queries can attend to keys; return the output's leading axes, mask and bias."""
    leading = check_sequences(shared=True, query=query, key=key, value=value)
    check_same("key and value", "length len_k", key.shape[-2], value.shape[-2])
    check_same_d_k(query, key)
    return check_mask_and_bias(mask, bias, (*leading, query.shape[-2], key.shape[-2]))


def check_mask_and_bias(
    mask: ArrayLike | None, bias: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], Mask | None, NDArray[Any] | None]:
    """Return both as arrays of two axes or more, if they fit scores of this shape, and before them
    the leading axes that the scores then have.
    """
    leading = shape[:-2]
    if mask is not None:
        mask = np.atleast_2d(check_mask(mask, shape))
        leading = np.broadcast_shapes(leading, mask.shape[:-2])
    if bias is not None:
        bias = np.atleast_2d(check_bias(bias, shape, mask))
        leading = np.broadcast_shapes(leading, bias.shape[:-2])
    return leading, mask, bias


def check_shape(name: str, array: NDArray[Any], expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ValueError(f"{name} must have shape {expected}, got {array.shape}")


def check_projection(name: str, weight: NDArray[Any], x_name: str, x: NDArray[Any]) -> None:
    """Require that x @ weight is the projection of each token."""
    if weight.ndim != 2 or weight.shape[0] != x.shape[-1]:
        raise ValueError(
            f"{name} must have 2 axes and one row for each of the {x.shape[-1]} features "
            f"of {x_name}, got shape {weight.shape}"
        )


def check_mask(mask: ArrayLike, shape: tuple[int, ...]) -> Mask:
    """Return the mask as an array, if it is boolean and broadcasts to (..., len_q, len_k)."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            "mask must be boolean, True where a query may attend, "
            f"got dtype {mask.dtype}: convert a mask of ones and zeros with mask.astype(bool), "
            "an additive one with mask == 0"
        )
    _check_broadcasts("mask", mask, "(..., len_q, len_k)", shape, fixed=2)
    return mask


def check_bias(
    bias: ArrayLike, shape: tuple[int, ...], mask: Mask | None, *, heads: bool = False
) -> NDArray[Any]:
    """Return the bias as an array, if it holds numbers and broadcasts to the masked scores."""
    bias = real_array("bias", bias)
    if bias.dtype == bool:
        raise TypeError(
            "bias must hold numbers, which are added to the scores, got dtype bool: "
            "pass a boolean array as mask"
        )
    if mask is not None:
        shape = np.broadcast_shapes(shape, mask.shape)
    axes = "(..., num_heads, len_q, len_k)" if heads else "(..., len_q, len_k)"
    _check_broadcasts("bias", bias, axes, shape, fixed=3 if heads else 2)
    return bias


def check_positions(name: str, positions: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the positions as an array, if they are finite and broadcast to (..., len)."""
    positions = real_array(name, positions)
    if positions.dtype == bool:
        raise TypeError(f"{name} must hold numbers, got dtype bool")
    if not np.isfinite(positions).all():
        raise ValueError(f"{name} must be finite, got {positions}")
    _check_broadcasts(name, positions, "(..., len)", shape, fixed=0)
    return positions


def _check_broadcasts(
    name: str, array: NDArray[Any], axes: str, shape: tuple[int, ...], fixed: int
) -> None:
    """Require that the array broadcasts to a shape without changing its last, fixed axes.

    With 0 for these, none may change: the slice [-0:] is the whole shape.
    """
    try:
        fits = np.broadcast_shapes(array.shape, shape)[-fixed:] == shape[-fixed:]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {array.shape} must broadcast to {axes} = {shape}")


def check_lengths(len_q: int, len_k: int | None) -> tuple[int, int]:
    """Return both lengths, if neither is negative; the second is the first by default."""
    len_q = check_count("len_q", len_q, 0)
    return len_q, len_q if len_k is None else check_count("len_k", len_k, 0)


def check_heads(
    d_model: int, num_heads: int, name: str = "d_model", heads_name: str = "num_heads"
) -> int:
    """Return the size of one head."""
    if operator.index(num_heads) < 1:
        raise ValueError(f"{heads_name} ({num_heads}) must be at least 1")
    if d_model % num_heads:
        raise ValueError(f"{name} ({d_model}) must be divisible by {heads_name} ({num_heads})")
    if d_model < 1:
        raise ValueError(f"{name} ({d_model}) must be at least 1")
    return d_model // num_heads


def check_tokens(name: str, given: ArrayLike, vocab: int) -> NDArray[np.intp]:
    """Return tokens as an array to index with, if they are whole numbers below vocab."""
    tokens = np.asarray(given)
    if tokens.size and tokens.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, got dtype {tokens.dtype}")
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < vocab):
        raise ValueError(
            f"{name} must be from 0 to {vocab - 1}, got {tokens.min()} to {tokens.max()}"
        )
    return tokens.astype(np.intp, copy=False)
