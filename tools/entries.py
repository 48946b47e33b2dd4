"""The exercises and the graded tasks of each chapter: title, judge, and bank of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from attnbook.exercises import check
from course.bank import Wrong
from course.chapters import Chapter
from course.grading.asking import ask
from course.grading.judging import all_tasks
from course.pages import public_address


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
    wrong: list[Wrong]
    right: list[Callable]

    @property
    def named(self) -> int:
        """The number of wrong answers whose message names the mistake."""
        return sum(wrong.names_mistake for wrong in self.wrong)


def exercises(chapter: Chapter) -> Iterator[Entry]:
    """Yield the exercises of a chapter."""
    bank = chapter.part("exercise_answers").BANK
    for name, title in chapter.exercises.items():
        yield Entry(name, title, f"ex-{name}", check, False, bank.wrong[name], bank.right[name])


def tasks(chapter: Chapter) -> Iterator[Entry]:
    """Yield the tasks whose solution is judged: the headings above them name them."""
    bank, heading = chapter.part("task_answers").BANK, ""
    notebook = json.loads(chapter.master.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if found := re.match(r"## (\d+)\. (.+)", "".join(cell["source"])):
            heading = f"Assignment {chapter.number}, task {found[1]}: {found[2]}"
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if task := all_tasks().get(name):
            loops_cost = getattr(task, "sized", None) is not None
            found = bank.wrong[name], bank.right[name]
            yield Entry(name, heading, public_address(chapter.master), ask, loops_cost, *found)
