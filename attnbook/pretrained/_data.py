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


def floats(model: str, name: str) -> NDArray[np.float64]:
    """Return one of a model's arrays: a copy, so that nobody can change what is stored."""
    return arrays(model)[name].astype(np.float64)


def tree(named: dict[str, Any]) -> dict[str, Any]:
    """Return what has names like encoder.attention.w_q in dictionaries, one in another."""
    root: dict[str, Any] = {}
    for name, thing in named.items():
        *path, last = name.split(".")
        inner = root
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = thing
    return root


def tokens_of(name: str) -> dict[str, tuple[str, ...]]:
    """Return the sentences that a model was run on, in order, and the tokens of each."""
    return {sentence["text"]: tuple(sentence["tokens"]) for sentence in facts(name)["sentences"]}


def number_of(name: str, sentence: str) -> int:
    """Return which of the sentences that a model was run on it is."""
    sentences = [*tokens_of(name)]
    if sentence not in sentences:
        raise ValueError(f"sentence must be one of sentences(), got {sentence!r}")
    return sentences.index(sentence)


def is_one_of(number: int, *allowed: int) -> bool:
    """Tell whether an index is one that is shipped."""
    # True and 3.0 equal 1 and 3, but they would name no array.
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return whole and number in allowed
