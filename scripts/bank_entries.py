"""The exercises and the graded tasks of each chapter: title, judge, and bank of answers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("tests", "tests/course", "course", "book/_ext")]
import answers  # noqa: E402 - found there only
import banks  # noqa: E402
import objectives_source  # noqa: E402
from asking import ask  # noqa: E402
from attncourse.tasks import all_tasks  # noqa: E402

from attnbook.exercises import check  # noqa: E402


class Entry(NamedTuple):
    """An exercise or a task with its bank.

    ``link`` leads to it: the label of an exercise, the address of a task's master.
    ``judge(name, answer)`` raises WrongAnswer, ``loops_cost`` says whether a loop loses points.
    """

    name: str
    title: str
    link: str
    judge: Callable[[str, Callable], None]
    loops_cost: bool
    wrong: list[answers.Wrong]
    right: list[Callable]

    @property
    def named(self) -> int:
        """The number of wrong answers whose message names the mistake."""
        return sum(wrong.names_mistake for wrong in self.wrong)


class Chapter(NamedTuple):
    """A chapter's title and label, its exercises, and the tasks of its assignment."""

    title: str
    label: str
    exercises: list[Entry]
    tasks: list[Entry]


def chapters() -> Iterator[Chapter]:
    """Yield the chapters in their order."""
    for name in objectives_source.read():
        module = name.partition("-")[2].replace("-", "_")
        chapter, bank = objectives_source.read_chapter(name), answers.all_banks()[module]
        exercises = [
            Entry(each, title, f"ex-{each}", check, False, bank.wrong[each], bank.right[each])
            for each, title in chapter.exercises.items()
        ]
        tasks = list(_tasks(objectives_source.files(name)[1], banks.all_banks()[module]))
        yield Chapter(chapter.title, chapter.label, exercises, tasks)


def public_address(path: Path) -> str:
    """Return where a file of the repository is shown to all."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return f"{settings['repository']['url']}/blob/main/{path.relative_to(ROOT).as_posix()}"


def _cells(path: Path) -> list[tuple[str, dict]]:
    """Return the text and the metadata of each cell of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(cell["source"]), cell["metadata"]) for cell in cells]


def _tasks(assignment: Path, bank: answers.Bank) -> Iterator[Entry]:
    """Yield the tasks whose solution is judged: the headings above them name them."""
    (first, _), *others = _cells(assignment)
    which, heading = first.removeprefix("# ").partition(":")[0], ""
    for text, about in others:
        if found := re.match(r"## (\d+)\. (.+)", text):
            heading = f"{which}, task {found[1]}: {found[2]}"
        name = about.get("nbgrader", {}).get("grade_id")
        if task := all_tasks().get(name):
            loops_cost = getattr(task, "sized", None) is not None
            found = bank.wrong[name], bank.right[name]
            yield Entry(name, heading, public_address(assignment), ask, loops_cost, *found)
