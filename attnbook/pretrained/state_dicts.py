"""The weights of a layer of another library, as its ``state_dict`` has them.

A key that is missing, and an array of another shape, are named: loading goes wrong by the name.
*The same in PyTorch and JAX* reads a layer of PyTorch, of a Llama and of GPT-2 with it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def take(
    state: Mapping[str, Any], key: str, shape: Sequence[int | None]
) -> NDArray[np.floating[Any]]:
    """Return one entry of a ``state_dict`` as an array, if it has the shape that is expected.

    Parameters
    ----------
    state : dict of arrays or of PyTorch's tensors on the CPU, by their names
    key : str
    shape : the expected sizes; None where any is right

    Returns
    -------
    An array of this shape, a copy; dtype kept

    Raises
    ------
    KeyError, ValueError, TypeError
        Naming the key: if it is missing, has another shape, or a dtype that NumPy lacks (bfloat16).

    Examples
    --------
    >>> state = {"out.weight": [[1.0, 2.0]]}
    >>> take(state, "out.weight", (1, None)).T.tolist()  # transposed, for x @ w
    [[1.0], [2.0]]
    >>> take(state, "out.weights", (1, 2))
    Traceback (most recent call last):
    KeyError: "the state_dict lacks 'out.weights'; it has 'out.weight'"
    """
    if key not in state:
        near = difflib.get_close_matches(key, state, 3, 0)  # the three nearest, however far
        has = ", ".join(map(repr, near)) or "no keys"
        raise KeyError(f"the state_dict lacks {key!r}; it has {has}")
    try:
        array = np.asarray(state[key]).copy()
    except (TypeError, RuntimeError) as error:
        raise TypeError(f"state_dict[{key!r}] must be made an array first: {error}") from error
    if array.dtype.kind not in "fiu":
        raise TypeError(f"state_dict[{key!r}] must be of real numbers, got dtype {array.dtype}")
    fits = [size in (None, found) for size, found in zip(shape, array.shape, strict=False)]
    if len(shape) != array.ndim or not all(fits):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"state_dict[{key!r}] must have shape ({wanted}), got {array.shape}")
    return array
