"""Cross-attention of a trained romanizer of Arabic names: where each letter it writes looks.

It is the model of the package arabic-name-romanizer: a recurrent encoder reads the letters, a
recurrent decoder writes others, and each of its states asks the encoder's by Luong's *general*
score :cite:p:`luong2015`. Recorded for ten names, in float16.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnbook.pretrained._data import facts, floats


class Alignment(NamedTuple):
    """What the romanizer computed on a name: weights are softmax(queries w_score statesᵀ).

    ``letters`` (len_k) are read, from ``country`` and ``role``, unknown here, to ``end``;
    ``output`` (len_q) is written. ``states`` is (len_k, 256), ``queries`` (len_q, 256), ``w_score``
    (256, 256), ``weights`` (len_q, len_k). ``inverted`` is what it answers if its mask is
    inverted wherever it is used, ``inverted_attention`` if only in the attention.
    """

    letters: tuple[str, ...]
    output: tuple[str, ...]
    states: NDArray[np.float64]
    queries: NDArray[np.float64]
    w_score: NDArray[np.float64]
    weights: NDArray[np.float64]
    inverted: str
    inverted_attention: str


def names() -> tuple[str, ...]:
    """List the ten names that the romanizer was run on.

    Returns
    -------
    tuple of str, in Arabic

    Examples
    --------
    >>> names()[0]
    'محمد'
    """
    return tuple(facts("romanizer")["names"])


def alignment(name: str) -> Alignment:
    """Return letters in and out of a name, and the attention between them.

    Parameters
    ----------
    name : str, one of ``names()``

    Returns
    -------
    Alignment

    Raises
    ------
    ValueError
        If the romanizer was not run on this name.

    Examples
    --------
    >>> alignment("محمد").output
    ('M', 'o', 'h', 'a', 'm', 'e', 'd', 'end')
    """
    if name not in names():
        raise ValueError(f"name must be one of names(), got {name!r}")
    entry, number = facts("romanizer")["names"][name], names().index(name)
    return Alignment(
        tuple(entry["symbols"]),
        (*entry["answer"], "end"),
        floats("romanizer", f"name{number}.states"),
        floats("romanizer", f"name{number}.queries"),
        floats("romanizer", "w_score"),
        floats("romanizer", f"name{number}.weights"),
        entry["inverted"],
        entry["inverted_attention"],
    )
