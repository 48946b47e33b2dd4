"""The exercises and the graded tasks of each chapter: title, judge, and bank of answers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("tests", "tests/course", "course")]
import answers  # noqa: E402 - found there only
import banks  # noqa: E402
from asking import ask  # noqa: E402
from attncourse.tasks import all_tasks  # noqa: E402

from attnbook.exercises import check  # noqa: E402


class Entry(NamedTuple):
    """An exercise or a task with its bank.

    ``judge(name, answer)`` raises WrongAnswer, ``loops_cost`` says whether a loop loses points.
    """

    name: str
    title: str
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
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        module = path.stem.partition("-")[2].replace("-", "_")
        text = "\n".join(text for text, _ in _cells(path))
        label, title = re.search(r"^\((ch-[\w-]+)\)=\n# (.+)$", text, re.M).groups()
        assignment = ROOT / f"course/source/{path.stem}/{path.name}"
        exercises = list(_exercises(text, answers.all_banks()[module]))
        tasks = list(_tasks(assignment, banks.all_banks()[module]))
        yield Chapter(title, label, exercises, tasks)


def _cells(path: Path) -> list[tuple[str, dict]]:
    """Return the text and the metadata of each cell of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [("".join(cell["source"]), cell["metadata"]) for cell in cells]


def _exercises(text: str, bank: answers.Bank) -> Iterator[Entry]:
    for title, name in re.findall(r":::\{exercise\} (.+)\n:label: ex-([\w-]+)", text):
        yield Entry(name, title, check, False, bank.wrong[name], bank.right[name])


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
            yield Entry(name, heading, ask, loops_cost, bank.wrong[name], bank.right[name])
