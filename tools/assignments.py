"""Release the assignments with nbgrader: the students' notebooks, and a zip for each.

    PHRASE="known to you alone" .venv-course/bin/python -m tools assignments ZIPS

The phrase decides the data of the hidden tests and, through a seed that the release prints, the
data to measure on. It is kept in course/class-phrase.txt; without PHRASE that one is used, and if
there is none, a random one. Where students have handed in, another phrase than theirs is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from course.chapters import ROOT, chapters
from course.grading import seeds

COURSE = ROOT / "course"
SHORT = 16  # characters


def nbgrader(root: Path, *arguments: str, phrase: str = "") -> None:
    """Run one command of nbgrader in a course's folder; raise RuntimeError if it fails."""
    here = Path(sys.executable).parent
    command = [str(here / "nbgrader"), *arguments]
    path = f"{here}{os.pathsep}{os.environ.get('PATH', '')}"  # nbgrader looks for alembic there
    environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    if phrase:
        environment["ATTNBOOK_CLASS"] = phrase
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stdout}{done.stderr}")


def stage(root: Path) -> list[str]:
    """Lay the masters where nbgrader looks for them; return the names of the assignments."""
    shutil.rmtree(root / "source", ignore_errors=True)
    for chapter in chapters():
        folder = root / "source" / chapter.assignment
        folder.mkdir(parents=True)
        shutil.copy(chapter.master, folder / f"{chapter.assignment}.ipynb")
    return [chapter.assignment for chapter in chapters()]


def release(root: Path, zips: Path, phrase: str = "") -> list[str]:
    """Make the students' notebooks in root/release, and a zip of each in another folder."""
    names = stage(root)
    nbgrader(root, "generate_assignment", "*", "--force", phrase=phrase)
    return [shutil.make_archive(str(zips / name), "zip", root / "release", name) for name in names]


def main(zips: str) -> None:
    """Release the assignments of this folder's course."""
    phrase, before = os.environ.get("PHRASE", "").strip(), seeds.released()
    try:
        seeds.keep_phrase(phrase or None)
    except ValueError as problem:
        sys.exit(str(problem))
    released = release(COURSE, Path(zips))
    seed = seeds.class_seed(seeds.class_phrase())
    summary = f"{len(released)} assignments in {zips}, their class seed is {seed}"
    if before - seeds.released():
        summary += ". It was another before: hand out these, not the former ones"
    if phrase and len(phrase) < SHORT:
        summary += ". The phrase is short: who tries many finds the one that makes this seed"
    print(summary)
