"""The storyteller: a decoder trained by this project on stories of a small world.

``attnbook.toys.small_world`` tells them. It has 4 layers, 4 query heads on 2 heads of keys and
values, d_model 64 and a vocabulary of 60 words; rotary positions. Its three twins have other
positions and the same numbers of everything else: parameters at the start, stories, steps; only
the embeddings of the sinusoidal one begin smaller, since it multiplies them. All were trained on
up to 128 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnbook.decoder import Decoder, DecoderLayer
from attnbook.layers import MultiHeadAttention
from attnbook.positional import Alibi, Rotary, Sinusoidal
from attnbook.pretrained._data import arrays, facts, tree
from attnbook.toys.small_world import WORDS

Scheme = Literal["rotary", "sinusoidal", "alibi", "none"]
SCHEMES: dict[str, Rotary | Sinusoidal | Alibi | None]
SCHEMES = {"rotary": Rotary(), "sinusoidal": Sinusoidal(), "alibi": Alibi(), "none": None}


@dataclass(frozen=True)
class WordTokenizer:
    """A vocabulary of whole words: a word's token is its index.

    Examples
    --------
    >>> tokenizer = WordTokenizer(("Tom", "runs", "."))
    >>> tokenizer.encode("Tom runs .")
    [0, 1, 2]
    >>> tokenizer.decode([0, 2])
    'Tom .'
    """

    words: tuple[str, ...]

    def encode(self, text: str) -> list[int]:
        """Return the token of each word; words and full stops stand apart, by spaces."""
        unknown = [word for word in text.split() if word not in self.words]
        if unknown:
            raise ValueError(f"text must be of the vocabulary's words, got {unknown[0]!r}")
        return [self.words.index(word) for word in text.split()]

    def decode(self, ids: Sequence[int] | NDArray[np.integer]) -> str:
        """Return the words of the tokens, with a space between them."""
        return " ".join(self.words[number] for number in ids)


class Record(NamedTuple):
    """How a storyteller was trained, and what it does with stories four times as long.

    ``steps`` (n,); ``loss``, ``right`` (n,): nats a word, and share of the answers right, on 100
    whole stories never trained on; ``pairs`` (n,): share right in bare lists (*kite Tom ball Ann
    kite Tom*). ``long_loss`` (16,), ``long_right`` (8,): the same by position, in steps of 32 and
    of 64 words, on 64 stories of up to 512.
    """

    steps: NDArray[np.intp]
    loss: NDArray[np.float64]
    right: NDArray[np.float64]
    pairs: NDArray[np.float64]
    long_loss: NDArray[np.float64]
    long_right: NDArray[np.float64]


def load(positions: Scheme = "rotary") -> Decoder:
    """Return the storyteller, or a twin with other positions; its vocabulary is ``tokenizer``.

    Parameters
    ----------
    positions : "rotary" (the storyteller itself), "sinusoidal", "alibi" or "none"

    Returns
    -------
    Decoder, in float32

    Raises
    ------
    ValueError
        If the positions are others.

    Examples
    --------
    >>> model = load()
    >>> story = model.tokenizer.encode("<start> the kite is with Ann . who has the kite ?")
    >>> model.tokenizer.decode(model.generate(story, 2)[-2:])
    'Ann .'
    """
    _check(positions)
    own = tree(_parameters("storyteller" if positions == "rotary" else f"storyteller_{positions}"))
    layers = []
    for layer in (own[f"layer{number}"] for number in range(4)):
        projections = {name: layer.pop(name) for name in ("w_q", "w_k", "w_v", "w_o")}
        attention = MultiHeadAttention(num_heads=4, num_kv_heads=2, **projections)
        layers.append(DecoderLayer(attention=attention, **layer))
    return Decoder(
        embedding=own["embedding"],
        layers=tuple(layers),
        final_norm=own["final_norm"],
        positions=SCHEMES[positions],
        tokenizer=WordTokenizer(WORDS),
    )


def record(positions: Scheme = "rotary") -> Record:
    """Return what was recorded while a storyteller was trained, and after.

    Parameters
    ----------
    positions : as for ``load``

    Returns
    -------
    Record

    Raises
    ------
    ValueError
        If the positions are others.

    Examples
    --------
    >>> record().steps[:3]
    array([ 50, 100, 150])
    """
    _check(positions)
    recorded = facts("storyteller")["records"][positions]
    return Record(*(np.array(recorded[name]) for name in Record._fields))


def _check(positions: str) -> None:
    if positions not in SCHEMES:
        raise ValueError(f"positions must be one of {tuple(SCHEMES)}, got {positions!r}")


def _parameters(name: str) -> dict[str, NDArray[np.float32]]:
    """Return a model's parameters, those of 8 bits times the scale of their row."""
    stored = {key: array.astype(np.float32) for key, array in arrays(name).items()}
    for key in [key for key in stored if key.endswith(".scale")]:
        stored[key.removesuffix(".scale")] *= stored.pop(key)[:, None]
    return stored
