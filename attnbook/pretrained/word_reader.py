"""A reader of English words without attention: the letters go into one state, sounds come out.

It is the model of the package g2p-en, a recurrent encoder and decoder (GRU :cite:p:`cho2014`)
with a state of 256 numbers between them, in 8 bits and float16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnbook.pretrained._data import arrays, facts

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MAX_PHONEMES = 20  # as in g2p-en


@dataclass(frozen=True, eq=False)
class GRU:
    """A gated recurrent layer: ``inputs`` has what each symbol adds to reset, update, candidate.

    ``inputs`` is (symbols, 3 * size), ``w_h`` (size, 3 * size), ``b_h`` (3 * size,).
    """

    inputs: NDArray[np.float64]
    w_h: NDArray[np.float64]
    b_h: NDArray[np.float64]

    def step(self, symbols: NDArray[np.intp], h: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the states (..., size) after one more symbol each, (...)."""
        size = h.shape[-1]
        new, old = self.inputs[symbols], h @ self.w_h + self.b_h  # (..., 3 * size)
        gates = 0.5 + 0.5 * np.tanh((new + old)[..., : 2 * size] / 2)  # the logistic function
        reset, update = gates[..., :size], gates[..., size:]
        candidate = np.tanh(new[..., 2 * size :] + reset * old[..., 2 * size :])
        return (1 - update) * candidate + update * h


@dataclass(frozen=True, eq=False)
class WordReader:
    """An encoder that reads letters, a decoder that says phonemes, one state between them."""

    phonemes: tuple[str, ...]
    encoder: GRU
    decoder: GRU
    w_out: NDArray[np.float64]
    b_out: NDArray[np.float64]

    def encode(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the state after the last letter of each word, (len(words), 256)."""
        for word in words:
            if not (isinstance(word, str) and word and set(word) <= set(_LETTERS)):
                raise ValueError(f"words must be made of letters from a to z, got {word!r}")
        end = len(_LETTERS)  # the symbol after the last letter
        spelt = [[*map(_LETTERS.index, word), end] for word in words]
        h = np.zeros((len(words), len(self.encoder.w_h)))
        for t in range(max(map(len, spelt), default=0)):
            now = [i for i, symbols in enumerate(spelt) if t < len(symbols)]
            h[now] = self.encoder.step(np.array([spelt[i][t] for i in now]), h[now])
        return h

    def decode(self, states: NDArray[np.float64]) -> tuple[tuple[str, ...], ...]:
        """Return what the decoder says from each state, (n, 256): its best phoneme at each step."""
        start, end = len(self.phonemes), len(self.phonemes) + 1
        spoken = np.full((len(states), 1), start)
        h = states
        for _ in range(_MAX_PHONEMES):
            h = self.decoder.step(spoken[:, -1], h)
            best = (h @ self.w_out + self.b_out).argmax(axis=-1)
            best[spoken[:, -1] == end] = end  # who has ended says nothing more
            spoken = np.column_stack([spoken, best])
        return tuple(
            tuple(self.phonemes[i] for i in row if i != end) for row in spoken[:, 1:].tolist()
        )

    def __call__(self, word: str) -> tuple[str, ...]:
        """Return the phonemes of a word."""
        return self.decode(self.encode([word]))[0]


class ByLength(NamedTuple):
    """Counts over the whole CMU dictionary, one entry for each number of letters in ``length``.

    ``words`` there are, ``as_published`` of them are read exactly right by the model before it was
    put into 8 bits, ``right`` by this one. ``pairs`` are words that are spelt and sound like two
    others in a row, stress aside, as in ``joined``: of ``both_right`` the two are read
    rightly, one by one, of ``joined_right`` the whole word is.
    """

    length: NDArray[np.int64]
    words: NDArray[np.int64]
    as_published: NDArray[np.int64]
    right: NDArray[np.int64]
    pairs: NDArray[np.int64]
    both_right: NDArray[np.int64]
    joined_right: NDArray[np.int64]


def load() -> WordReader:
    """Return the trained reader, from letters to the phonemes of the CMU dictionary.

    Returns
    -------
    WordReader

    Examples
    --------
    >>> load()("basketball")
    ('B', 'AE1', 'S', 'K', 'AH0', 'T', 'B', 'AO2', 'L')
    """
    stored = {name: array.astype(np.float64) for name, array in arrays("g2p").items()}
    encoder, decoder = (
        GRU(
            stored[f"{name}.inputs"],
            stored[f"{name}.w_h"] * stored[f"{name}.w_h.scale"],
            stored[f"{name}.b_h"],
        )
        for name in ("encoder", "decoder")
    )
    phonemes = tuple(facts("g2p")["phonemes"])
    return WordReader(phonemes, encoder, decoder, stored["w_out"], stored["b_out"])


def joined() -> tuple[tuple[str, str], ...]:
    """List pairs of words which, written together, are a word that sounds like the two.

    Returns
    -------
    tuple of (str, str)

    Examples
    --------
    >>> ("basket", "ball") in joined()
    True
    """
    return tuple((first, second) for first, second in facts("g2p")["joined"])


def by_length() -> ByLength:
    """Return what was counted once, over 117,000 words of 3 to 17 letters.

    Returns
    -------
    ByLength

    Examples
    --------
    >>> counts = by_length()
    >>> counts.length[0], counts.words[0], counts.right[0]
    (np.int64(3), np.int64(1578), np.int64(1242))
    """
    counts = facts("g2p")["by_length"]
    return ByLength(*(np.array(counts[name], dtype=np.int64) for name in ByLength._fields))


def pronunciations(word: str) -> tuple[tuple[str, ...], ...]:
    """Return how a word of ``sample`` or ``joined`` sounds, by the CMU dictionary.

    Parameters
    ----------
    word : str

    Returns
    -------
    tuple of tuples of str, one for each pronunciation

    Raises
    ------
    ValueError
        If the word is not shipped.

    Examples
    --------
    >>> pronunciations("ball")
    (('B', 'AO1', 'L'),)
    """
    known = facts("g2p")["pronunciations"]
    if word not in known:
        raise ValueError(f"word must be one of those shipped, got {word!r}")
    return tuple(tuple(sounds.split()) for sounds in known[word])
