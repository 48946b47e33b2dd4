"""Seeds that an instructor sets once per class, by a phrase that students do not know."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

VARIABLE = "ATTNBOOK_CLASS"
FILE = Path(__file__).parents[1] / "class-phrase.txt"
OTHER_PHRASE = """\
In course/submitted lies what students handed in, and only the phrase in course/class-phrase.txt \
can grade that; you gave another one. To go on with this class, give no PHRASE. For the next class \
first delete course/class-phrase.txt, course/gradebook.db and the folders that nbgrader made in \
course: release, submitted, autograded, feedback, downloaded."""


def phrase() -> str:
    """Return the class's phrase: the environment's, or that of course/class-phrase.txt."""
    found = os.environ.get(VARIABLE) or (FILE.read_text() if FILE.exists() else "")
    if not found.strip():
        raise RuntimeError("no class phrase: run make assignments, which makes one and keeps it")
    return found.strip()


def keep_phrase(given: str | None) -> None:
    """Keep a phrase for this class: the given one, else the one kept, else a random one.

    Raises
    ------
    ValueError
        If there are submissions that another phrase has to grade.
    """
    kept = FILE.read_text().strip() if FILE.exists() else None
    if given and kept not in (None, given) and any(FILE.parent.glob("submitted/*/*/*")):
        raise ValueError(OTHER_PHRASE)
    if given or not FILE.exists():
        FILE.write_text(f"{given or secrets.token_hex(16)}\n")
        FILE.chmod(0o600)


def secret_seed(task: str) -> int:
    """Return the seed of a task's hidden data."""
    return _digest(f"hidden {task}")


def class_seed() -> int:
    """Return the seed that the release prints, from which data to measure on are drawn."""
    return _digest("public") % 1_000_000


def _digest(purpose):
    return int.from_bytes(hashlib.sha256(f"{purpose}: {phrase()}".encode()).digest()[:8], "big")
