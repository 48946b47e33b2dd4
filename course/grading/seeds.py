"""Seeds that an instructor sets once per class, by a phrase that students do not know."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path

VARIABLE = "ATTNBOOK_CLASS"
COURSE = Path(__file__).parents[1]
SEED = "CLASS_SEED = {}"  # a line of each master, with a 0, and of each release
NEXT_CLASS = """\
For the next class first move course/class-phrase.txt, course/gradebook.db and the folders that \
nbgrader made in course (release, submitted, autograded, feedback, downloaded) somewhere else."""
OTHER_PHRASE = f"""\
In course/submitted lies what students handed in, and only the phrase that it was released with \
can grade that; this is another one. To go on with this class, give no PHRASE, or the one it began \
with. {NEXT_CLASS}"""
NO_PHRASE = f"""\
In course/submitted lies what students handed in, and the phrase that grades it is gone: there is \
no course/class-phrase.txt. Put it back, or give the phrase by PHRASE="...". {NEXT_CLASS}"""


def phrase() -> str:
    """Return the class's phrase: the environment's, or that of course/class-phrase.txt."""
    found = (os.environ.get(VARIABLE) or _kept() or "").strip()
    if not found:
        raise RuntimeError("there is no course/class-phrase.txt")
    return found


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
            raise ValueError(NO_PHRASE)
        other = given and kept and given != kept
        if other or (released() and class_seed(given or kept) not in released()):
            raise ValueError(OTHER_PHRASE)
    if given or not kept:
        file = COURSE / "class-phrase.txt"
        file.write_text(f"{given or secrets.token_hex(16)}\n")
        file.chmod(0o600)


def secret_seed(task: str) -> int:
    """Return the seed of a task's hidden data."""
    return _digest(f"hidden {task}", phrase())


def class_seed(of: str | None = None) -> int:
    """Return the seed that the release prints, from which data to measure on are drawn."""
    return _digest("public", of or phrase()) % 1_000_000


def released() -> set[int]:
    """Return the seeds that the released notebooks print."""
    texts = (path.read_text() for path in COURSE.glob("release/*/*.ipynb"))
    return {int(seed) for text in texts for seed in re.findall(SEED.format(r"(\d+)"), text)}


def _kept():
    file = COURSE / "class-phrase.txt"
    return file.read_text().strip() if file.exists() else None


def _digest(purpose, of):
    return int.from_bytes(hashlib.sha256(f"{purpose}: {of}".encode()).digest()[:8], "big")
