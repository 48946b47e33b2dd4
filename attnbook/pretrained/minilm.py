"""Slices of all-MiniLM-L6-v2: a layer, two more heads, and what it recorded on six sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnbook.layers import MultiHeadAttention
from attnbook.pretrained._data import floats, is_one_of, number_of, tokens_of


class HeadProjections(NamedTuple):
    """Projections of one head, ``x @ w_q + b_q``: (d_model, head_dim) and (head_dim,)."""

    w_q: NDArray[np.float64]
    b_q: NDArray[np.float64]
    w_k: NDArray[np.float64]
    b_k: NDArray[np.float64]
    w_v: NDArray[np.float64]
    b_v: NDArray[np.float64]


def sentences() -> tuple[str, ...]:
    """List the six sentences that the model was run on.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> sentences()[0]
    "The animal didn't cross the street because it was too tired."
    """
    return tuple(tokens_of("minilm"))


def tokens(sentence: str) -> tuple[str, ...]:
    """List the tokens of a sentence as the model reads them.

    Parameters
    ----------
    sentence : str, one of ``sentences()``

    Returns
    -------
    tuple of str, ``[CLS]`` first and ``[SEP]`` last

    Raises
    ------
    ValueError
        If the model was not run on this sentence.

    Examples
    --------
    >>> tokens(sentences()[4])[:5]
    ('[CLS]', 'words', 'gain', 'their', 'meaning')
    """
    return list(tokens_of("minilm").values())[number_of("minilm", sentence)]


def hidden_states(sentence: str, layer: int) -> NDArray[np.float64]:
    """Return the vectors of a sentence's tokens as they enter a layer.

    Parameters
    ----------
    sentence : str, one of ``sentences()``
    layer : int
        0, 1 or 3.

    Returns
    -------
    (len, 384)

    Raises
    ------
    ValueError
        If they are not recorded for this sentence or layer.

    Examples
    --------
    >>> hidden_states(sentences()[0], layer=3).shape
    (16, 384)
    """
    number = number_of("minilm", sentence)
    if not is_one_of(layer, 0, 1, 3):
        raise ValueError(f"layer ({layer}) must be 0, 1 or 3: the others are not shipped")
    return floats("minilm", f"sentence{number}.layer{layer}")


def recorded_weights(sentence: str) -> NDArray[np.float64]:
    """Return the attention weights of all 72 heads, as the whole model computed them.

    Parameters
    ----------
    sentence : str, one of ``sentences()``

    Returns
    -------
    (6, 12, len, len): layer, head, query, key

    Raises
    ------
    ValueError
        If the model was not run on this sentence.

    Examples
    --------
    >>> it, animal = (tokens(sentences()[0]).index(word) for word in ("it", "animal"))
    >>> recorded_weights(sentences()[0])[3, 1, it, animal].round(2)
    np.float64(0.68)
    """
    return floats("minilm", f"sentence{number_of('minilm', sentence)}.weights")


def head_projections(layer: int, head: int) -> HeadProjections:
    """Return the query, key and value projections of one head.

    Parameters
    ----------
    layer, head : int
        0 and 2, 1 and 8, or 3 and any head from 0 to 11.

    Returns
    -------
    HeadProjections

    Raises
    ------
    ValueError
        If this head is not shipped.

    Examples
    --------
    >>> head_projections(layer=3, head=1).w_q.shape
    (384, 32)
    """
    if (is_one_of(layer, 0) and is_one_of(head, 2)) or (is_one_of(layer, 1) and is_one_of(head, 8)):
        place, columns = f"layer{layer}.head{head}", slice(None)
    elif is_one_of(layer, 3) and is_one_of(head, *range(12)):
        place, columns = "layer3", slice(32 * head, 32 * (head + 1))
    else:
        raise ValueError(
            f"head ({head}) of layer ({layer}) is not shipped; there are head 2 of layer 0, "
            "head 8 of layer 1, and heads 0 to 11 of layer 3"
        )
    stored = (floats("minilm", f"{place}.{name}") for name in HeadProjections._fields)
    return HeadProjections(*(array[..., columns].copy() for array in stored))


def multi_head_attention(layer: int) -> MultiHeadAttention:
    """Return the attention of a whole layer: 12 heads and their output projection.

    Parameters
    ----------
    layer : int
        3, the one layer that is shipped whole.

    Returns
    -------
    MultiHeadAttention

    Raises
    ------
    ValueError
        If this layer is not shipped.

    Examples
    --------
    >>> layer, x = multi_head_attention(3), hidden_states(sentences()[0], layer=3)
    >>> layer(x).weights.shape
    (12, 16, 16)
    """
    if not is_one_of(layer, 3):
        raise ValueError(f"layer ({layer}) must be 3, the one that is shipped whole")
    names = [f"{kind}_{letter}" for kind in "wb" for letter in "qkvo"]
    parameters: dict[str, Any] = {name: floats("minilm", f"layer3.{name}") for name in names}
    return MultiHeadAttention(num_heads=12, **parameters)


def position_table() -> NDArray[np.float64]:
    """Return the learned vectors of the first 128 positions.

    Returns
    -------
    (128, 384)

    Examples
    --------
    >>> position_table().shape
    (128, 384)
    """
    return floats("minilm", "positions")
