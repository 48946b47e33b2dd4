"""What is stored of a model, ``data/NAME.npz`` and ``data/NAME.json``, each read once."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray


@functools.cache
def facts(name: str) -> dict[str, Any]:
    """Return what the JSON file of this name holds."""
    text = resources.files("attnbook").joinpath(f"data/{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@functools.cache
def arrays(name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of the file of this name, as stored: hand out copies only."""
    with resources.files("attnbook").joinpath(f"data/{name}.npz").open("rb") as file:
        return dict(np.load(file))


def is_one_of(number: int, *allowed: int) -> bool:
    """Tell whether an index is one that is shipped."""
    # True and 3.0 equal 1 and 3, but they would name no array.
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return whole and number in allowed
