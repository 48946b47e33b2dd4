"""The translator of dates as this project trained it, and what was recorded of that and of others.

The others are translators with a part taken out, or with a mistake in their gradients:
``tools/train_translator.py`` has the lines in which each differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnbook.layers import MultiHeadAttention
from attnbook.pretrained._data import arrays, facts, tree
from attnbook.toys.translator import EncoderLayer, Translator, TranslatorLayer


class Run(NamedTuple):
    """One run of training: the seed, and what came of it on the 500 unseen dates.

    ``loss``, nats a character, NaN where it overflowed; ``exact``, share of dates all right;
    ``characters``, of characters right; ``by_form`` (12,), exact in each of the forms; ``curve``,
    the loss in training, 48 means of as many steps, 25 in a run of the usual length.
    """

    seed: int
    loss: float
    exact: float
    characters: float
    by_form: NDArray[np.float64]
    curve: NDArray[np.float64]


class Record(NamedTuple):
    """What a run was like every 25 steps, from before the first, on the 500 unseen dates.

    ``steps`` (n,); ``losses`` (n, 10), nats at each position of the output; ``shares``
    (n, num_heads, 3, 4), how much cross-attention the digits of year, month and day give, in each
    head, to the characters of year, month, day and to all else; ``weights``, the cross-attention
    (num_heads, 10, 21) of ``text`` after some of the steps, which are its keys.
    """

    steps: NDArray[np.intp]
    losses: NDArray[np.float64]
    shares: NDArray[np.float64]
    text: str
    weights: dict[int, NDArray[np.float64]]


def load() -> Translator:
    """Return the translator of dates, trained with seed 0.

    Returns
    -------
    Translator, its parameters rounded to float16 and computed with in float64

    Examples
    --------
    >>> load().translate("friday, march 13 1998", "13.3.98")
    ['1998-03-13', '1998-03-13']
    """
    own = tree({name: array.astype(np.float64) for name, array in arrays("translator").items()})
    for layer in own["encoder"], own["decoder"]:
        for name in {"attention", "cross_attention"} & {*layer}:
            layer[name] = MultiHeadAttention(num_heads=4, **layer[name])
    own["encoder"] = EncoderLayer(**own["encoder"])
    own["decoder"] = TranslatorLayer(**own["decoder"])
    return Translator(**own)


def record() -> Record:
    """Return what was recorded while the translator was trained.

    Returns
    -------
    Record

    Examples
    --------
    >>> recorded = record()
    >>> recorded.steps[:3], recorded.losses.shape[1]
    (array([ 0, 25, 50]), 10)
    """
    recorded = facts("translator")["record"]
    losses, shares = (np.array(recorded[name]) for name in ("losses", "shares"))
    weights = {int(step): np.array(each) for step, each in recorded["weights"].items()}
    return Record(25 * np.arange(len(losses)), losses, shares, recorded["text"], weights)


def runs() -> dict[str, list[Run]]:
    """Return all runs by name: the translator's own, ``whole``, and those of its variants.

    Returns
    -------
    dict of str to list of Run

    Examples
    --------
    >>> [run.seed for run in runs()["whole"]]
    [0, 1, 2, 3, 4]
    """
    stored = facts("translator")["runs"]
    return {name: [_run(**run) for run in runs] for name, runs in stored.items()}


def _run(*, loss: float | None, by_form: list[float], curve: list[float], **others: Any) -> Run:
    loss = np.nan if loss is None else loss
    return Run(loss=loss, by_form=np.array(by_form), curve=np.array(curve, float), **others)
