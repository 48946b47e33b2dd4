"""Byte-pair encoding: tokens that were joined, pair by pair, out of bytes."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

# Unicode's white space: unlike Python's \s without the four separators \x1c to \x1f.
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# In text without digits, where [^\W_] is a letter. A space belongs to what stands behind it.
_PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)"
    r"| ?[^\W_]+"
    rf"| ?(?:[^\w{_SPACE}]|_)+"
    rf"|[{_SPACE}]+(?![^{_SPACE}])"
    rf"|[{_SPACE}]+"
)
_SEEN = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that are letters themselves
_UNSEEN = [byte for byte in range(256) if byte not in _SEEN]
# The letter that stands for each byte in a vocabulary, as GPT-2 has it: "Ġ" for a space.
LETTERS = {byte: chr(byte) for byte in _SEEN} | {b: chr(256 + n) for n, b in enumerate(_UNSEEN)}
_BYTES = {letter: byte for byte, letter in LETTERS.items()}


@dataclass(frozen=True, repr=False)
class BytePairTokenizer:
    """A vocabulary of pieces of words, and the pairs that were joined to make them.

    A text is cut into words, each digit by itself, and a word into bytes; then the pair that was
    learned first is joined, wherever it stands in the word, and so on :cite:p:`sennrich2016`.

    Parameters
    ----------
    tokens : tuple of str
        A token's number is its index. Bytes are written as letters, a space as "Ġ". What is
        neither a byte nor joined is a special token, which text may name: ``<|im_start|>``.
    merges : tuple of pairs of str, the first learned first

    Examples
    --------
    >>> tokenizer = BytePairTokenizer(("l", "o", "w", "lo", "low"), (("l", "o"), ("lo", "w")))
    >>> tokenizer.encode("lowlol")
    [4, 3, 0]
    >>> tokenizer.decode([4, 3, 0])
    'lowlol'
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"BytePairTokenizer({len(self.tokens)} tokens, {len(self.merges)} merges)"

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text.

        Raises
        ------
        ValueError
            If a byte of the text is not in the vocabulary.
        """
        ids: list[int] = []
        # The pattern is in parentheses, so that every second part is a special token.
        for number, part in enumerate(self._specials.split(text)):
            if number % 2:
                ids.append(self._numbers[part])
            else:
                for piece in _pieces(part):
                    ids += self._encoded(piece)
        return ids

    def decode(self, ids: Sequence[int] | NDArray[np.integer]) -> str:
        """Return the text of tokens; bytes that make no character become U+FFFD.

        Raises
        ------
        ValueError
            If a token is not in the vocabulary.
        """
        raw = bytearray()
        for number in ids:
            if not 0 <= number < len(self.tokens):
                raise ValueError(f"a token must be from 0 to {len(self.tokens) - 1}, got {number}")
            token = self.tokens[number]
            special = self._specials.fullmatch(token)
            raw += token.encode() if special else bytes(_BYTES[letter] for letter in token)
        return raw.decode(errors="replace")

    def steps(self, word: str) -> list[tuple[str, ...]]:
        """Return the parts of one word, from its bytes on, after each join.

        Examples
        --------
        >>> tokenizer = BytePairTokenizer(("l", "o", "w", "lo", "low"), (("l", "o"), ("lo", "w")))
        >>> for parts in tokenizer.steps("low"):
        ...     print(*parts)
        l o w
        lo w
        low
        """
        parts = tuple(LETTERS[byte] for byte in word.encode())
        steps = [parts]
        while known := [pair for pair in pairwise(parts) if pair in self._ranks]:
            parts = _join(parts, min(known, key=self._ranks.__getitem__))
            steps.append(parts)
        return steps

    def _encoded(self, piece: str) -> list[int]:
        parts = self.steps(piece)[-1]
        unknown = [part for part in parts if part not in self._numbers]
        if unknown:
            raise ValueError(f"the vocabulary has no token for {unknown[0]!r} in {piece!r}")
        return [self._numbers[part] for part in parts]

    @functools.cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {pair: rank for rank, pair in enumerate(self.merges)}

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @functools.cached_property
    def _specials(self) -> re.Pattern[str]:
        made = {*LETTERS.values(), *map("".join, self.merges)}
        special = [re.escape(token) for token in self.tokens if token not in made]
        return re.compile(f"({'|'.join(special) or '(?!)'})")


def _pieces(text: str) -> Iterator[str]:
    """Cut a text into words, inside of which alone pairs are joined."""
    for is_number, run in groupby(text, key=lambda letter: unicodedata.category(letter)[0] == "N"):
        if is_number:
            yield from run
        else:
            yield from _PIECES.findall("".join(run))


def _join(parts: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """Join a pair wherever it stands, from the left."""
    joined: list[str] = []
    at = 0
    while at < len(parts):
        width = 2 if parts[at : at + 2] == pair else 1
        joined.append("".join(parts[at : at + width]))
        at += width
    return tuple(joined)
