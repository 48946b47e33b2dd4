"""Seeds that an instructor sets once per class, by a phrase that students do not know.

`class_phrase` alone looks the phrase up; whoever grades asks it once, and hands the phrase on.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

from course.words import say

VARIABLE = "ATTNBOOK_CLASS"
COURSE = Path(__file__).parents[1]
SEED = "CLASS_SEED = {}"  # a line of each master, with a 0, and of each release


def class_phrase() -> str:
    """Return the class's phrase: the environment's, or that of course/class-phrase.txt."""
    phrase = (os.environ.get(VARIABLE) or _kept() or "").strip()
    if not phrase:
        raise RuntimeError("there is no course/class-phrase.txt")
    return phrase


def keep_phrase(given: str | None) -> None:
    """Keep a phrase for this class: the given one, else the one kept, else a random one.

    Raises
    ------
    ValueError
        If there are submissions that another phrase has to grade.
    """
    kept = _kept()
    if any(COURSE.glob("submitted/*/*/*")):
        if not (given or kept):
            raise ValueError(say("no_phrase", next=say("next_class")))
        other = given and kept and given != kept
        if other or (released() and class_seed(given or kept) not in released()):
            raise ValueError(say("other_phrase", next=say("next_class")))
    if given or not kept:
        file = COURSE / "class-phrase.txt"
        file.write_text(f"{given or secrets.token_hex(16)}\n")
        file.chmod(0o600)


def secret_seed(task: str, phrase: str) -> int:
    """Return the seed of a task's hidden data."""
    return _digest(f"hidden {task}", phrase)


def class_seed(phrase: str) -> int:
    """Return the seed that the release prints, from which data to measure on are drawn."""
    return _digest("public", phrase) % 1_000_000


def released() -> set[int]:
    """Return the seeds that the released notebooks print."""
    texts = (path.read_text() for path in COURSE.glob("release/*/*.ipynb"))
    return {int(seed) for text in texts for seed in re.findall(SEED.format(r"(\d+)"), text)}


def _kept():
    file = COURSE / "class-phrase.txt"
    return file.read_text().strip() if file.exists() else None


def _digest(purpose, phrase):
    return int.from_bytes(hashlib.sha256(f"{purpose}: {phrase}".encode()).digest()[:8], "big")
