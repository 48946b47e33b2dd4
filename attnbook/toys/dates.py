"""Dates as people write them, and the one form in which computers do: *1998-03-13*.

A day from 1950 to 2049 is written in one of twelve forms, all lower case, so its answer is known.
No letter says which number is the month in *3/13/98* and in *13.3.98*: the separator does.
A weekday, where there is one, is right and tells nothing new. Characters are the tokens.
500 of the days are kept for tests: no example for training has them, in any form.
"""

from __future__ import annotations

from datetime import date, timedelta
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
FORMS = (
    "{weekday}, {month} {day} {year}",
    "{month} {day}, {year}",
    "{month} {nth}, {year}",
    "{day} {month} {year}",
    "the {nth} of {month} {year}",
    "{mon} {day} {year}",
    "{day} {mon} {yy}",
    "{wday} {day} {mon} {yy}",
    "{number}/{day}/{year}",
    "{number}/{day}/{yy}",
    "{day}.{number}.{year}",
    "{day}.{number}.{yy}",
)
ALPHABET = " ,-./0123456789abcdefghijlmnoprstuvwy"  # a character's token is its index
START, PAD = len(ALPHABET), len(ALPHABET) + 1  # before an answer; after a text, to the longest
VOCAB_SIZE = len(ALPHABET) + 2

_FIRST, _COUNT = date(1950, 1, 1), 36525
# Data, not a seed: NumPy may draw other numbers one day, and the shipped translator has not seen
# these days.
_LISTED = resources.files("attnbook").joinpath("data/unseen_dates.txt").read_text(encoding="utf-8")
UNSEEN = frozenset(map(date.fromisoformat, _LISTED.split()))


class Example(NamedTuple):
    """A day as written, as it should be translated, and which of the forms it is written in."""

    written: str
    iso: str
    form: str


def write(day: date, form: str) -> Example:
    """Write a day in a form, which says by names in braces what stands where.

    Parameters
    ----------
    day : datetime.date
    form : str, of FORMS or another

    Returns
    -------
    Example

    Raises
    ------
    ValueError
        If the form has another name in it.

    Examples
    --------
    >>> write(date(1998, 3, 13), "{wday} {day} {mon} {yy}")
    Example(written='fri 13 mar 98', iso='1998-03-13', form='{wday} {day} {mon} {yy}')
    """
    return Example(_filled(form, _words(day)), day.isoformat(), form)


def fields(example: Example) -> str:
    """Say of each character what it is of: w(eekday), m(onth), d(ay), y(ear), or none of them.

    Parameters
    ----------
    example : Example

    Returns
    -------
    str, as long as what is written

    Examples
    --------
    >>> fields(write(date(1998, 3, 13), "the {nth} of {month} {year}"))
    'the dddd of mmmmm yyyy'
    """
    letters = {name: name[0] for name in ("weekday", "wday", "month", "mon", "day", "year", "yy")}
    letters |= {"nth": "d", "number": "m"}
    words = _words(date.fromisoformat(example.iso))
    return _filled(example.form, {name: letters[name] * len(word) for name, word in words.items()})


def _words(day: date) -> dict[str, str]:
    weekday, month = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    ending = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}.get(day.day, "th")
    return {
        **{"weekday": weekday, "wday": weekday[:3], "month": month, "mon": month[:3]},
        **{"day": str(day.day), "nth": f"{day.day}{ending}", "number": str(day.month)},
        **{"year": str(day.year), "yy": f"{day.year % 100:02d}"},
    }


def _filled(form: str, words: dict[str, str]) -> str:
    try:
        return form.format(**words)
    except KeyError as error:
        raise ValueError(f"form must have names of {', '.join(words)}, got {error}") from None


def examples(rng: np.random.Generator, count: int) -> list[Example]:
    """Draw examples for training: any day but those kept for tests, in any of the forms.

    Parameters
    ----------
    rng : numpy.random.Generator
    count : int

    Returns
    -------
    list of Example

    Examples
    --------
    >>> for example in examples(np.random.default_rng(3), 3):
    ...     print(example.written, "->", example.iso)
    february 25th, 2031 -> 2031-02-25
    july 26th, 1958 -> 1958-07-26
    12/12/67 -> 1967-12-12
    """
    days = rng.integers(_COUNT, size=count)
    forms = rng.integers(len(FORMS), size=count)
    drawn = []
    for number, form in zip(days, forms, strict=True):
        day = _FIRST + timedelta(int(number))
        while day in UNSEEN:
            day = _FIRST + timedelta(int(rng.integers(_COUNT)))
        drawn.append(write(day, FORMS[form]))
    return drawn


def unseen_examples(form: str | None = None) -> list[Example]:
    """Write the 500 days kept for tests, in order: in all forms by turns, or in one.

    Parameters
    ----------
    form : str, optional

    Returns
    -------
    list of 500 Examples

    Examples
    --------
    >>> [example.written for example in unseen_examples()[:3]]
    ['thursday, june 22 1950', 'july 22, 1950', 'march 21st, 1951']
    """
    days = sorted(UNSEEN)
    return [write(day, form or FORMS[i % len(FORMS)]) for i, day in enumerate(days)]


def encode(*texts: str) -> NDArray[np.intp]:
    """Turn texts into tokens, one a character; the shorter ones are padded.

    Parameters
    ----------
    texts : str, of the characters of ALPHABET

    Returns
    -------
    (number of texts, length of the longest), int

    Raises
    ------
    ValueError
        If a text has a character that no date has, an upper-case one, for instance.

    Examples
    --------
    >>> encode("3.1.98", "2") == PAD
    array([[False, False, False, False, False, False],
           [False,  True,  True,  True,  True,  True]])
    """
    for text in texts:
        strange = [character for character in text if character not in ALPHABET]
        if strange:
            raise ValueError(
                f"texts must be of the characters {ALPHABET!r}, got {strange[0]!r} in {text!r}"
            )
    longest = max(map(len, texts), default=0)
    rows = [[*map(ALPHABET.index, text), *[PAD] * (longest - len(text))] for text in texts]
    return np.array(rows, dtype=np.intp).reshape(len(texts), longest)


def decode(tokens: ArrayLike) -> list[str]:
    """Turn rows of tokens into texts, without what stands only for a start or for padding.

    Parameters
    ----------
    tokens : (number of texts, len), int

    Returns
    -------
    list of str

    Examples
    --------
    >>> decode(encode("3.1.98", "2"))
    ['3.1.98', '2']
    """
    characters = [*ALPHABET, "", ""]
    return ["".join(characters[token] for token in row) for row in np.asarray(tokens)]
