"""What the public functions check of their inputs, and the dtype they compute in."""

from __future__ import annotations

import operator

import numpy as np


def promote(learned=None, **inputs):
    """Return all arrays in the dtype to compute in, and the dtype the result shall have.

    The inputs decide the dtype of the result; learned weights only that of the computation.
    """
    arrays = []
    for name, given in (inputs | (learned or {})).items():
        arrays.append(np.asarray(given))
        if arrays[-1].dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, got dtype {arrays[-1].dtype}")
    dtype = np.result_type(*arrays[: len(inputs)])
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    # In float16 scores overflow at 65504 and NumPy has no fast matrix product.
    compute = np.result_type(dtype, np.float32, *(a for a in arrays if a.dtype.kind == "f"))
    return [a.astype(compute, copy=False) for a in arrays], dtype


def check_sequences(**sequences):
    """Require two axes or more of each named array, and leading axes that broadcast.

    Return the shape that the leading axes broadcast to.
    """
    for name, array in sequences.items():
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 axes (..., length, features), got shape {array.shape}"
            )
    leading = [array.shape[:-2] for array in sequences.values()]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        raise ValueError(
            f"leading axes of {_listed(sequences)} must broadcast, got {_listed(leading)}"
        ) from None


def _listed(things):
    *first, last = map(str, things)
    return f"{', '.join(first)} and {last}"


def check_same_length(key, value):
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            "key and value must have the same length len_k, "
            f"got {key.shape[-2]} and {value.shape[-2]}"
        )


def check_same_d_k(query, key):
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key must have the same last axis d_k, "
            f"got {query.shape[-1]} and {key.shape[-1]}"
        )
    if query.shape[-1] == 0:
        raise ValueError(f"d_k must be at least 1, got query of shape {query.shape}")


def check_weight(name, weight, expected):
    if weight.shape != expected:
        raise ValueError(f"{name} must have shape {expected}, got {weight.shape}")


def check_mask(mask, shape):
    """Return the mask as an array, if it is boolean and broadcasts to (..., len_q, len_k)."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            "mask must be boolean, True where a query may attend, "
            f"got dtype {mask.dtype}: convert a mask of ones and zeros with mask.astype(bool), "
            "an additive one with mask == 0"
        )
    try:
        fits = np.broadcast_shapes(mask.shape, shape)[-2:] == shape[-2:]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask of shape {mask.shape} must broadcast to (..., len_q, len_k) = {shape}"
        )
    return mask


def check_heads(d_model, num_heads, name="d_model"):
    """Return the size of one head."""
    if operator.index(num_heads) < 1:
        raise ValueError(f"num_heads ({num_heads}) must be at least 1")
    if d_model % num_heads:
        raise ValueError(f"{name} ({d_model}) must be divisible by num_heads ({num_heads})")
    if d_model < 1:
        raise ValueError(f"{name} ({d_model}) must be at least 1")
    return d_model // num_heads
