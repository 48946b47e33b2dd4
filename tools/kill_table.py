"""Write the page that lists what the checks catch: each wrong answer of each bank.

Run by `make kill-table`, which writes book/kill-table.md; a test compares it with what this makes.
"""

import contextlib
import inspect
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unittest import mock

from attnbook.exercises import WrongAnswer, _all_exercises, check
from course.bank import Wrong
from course.chapters import ROOT, Chapter, chapters
from course.grading import judge_loops, seeds
from course.grading.asking import ask
from course.grading.judging import all_tasks
from course.pages import public_address
from tools.code_in_text import with_code

PAGE = ROOT / "book/kill-table.md"
PHRASE = "demo"
GENERAL = "*(general)* "
IN_CODE = ("d_k", "d_ff", "d_model", "w_q", "w_k", "w_o", "nan_to_num", "zeros_like", "head_dim")
INTRODUCTION = """\
# What the checks catch

<!-- Made by `make kill-table`: change the answers in course, not this page. -->

Each exercise of a chapter and each task of an assignment has a bank of wrong answers, written as \
readers and students write them. On this page stands what they are told: by `check`, or by the \
hidden test that grades the task. A test runs them all at every change of the book and compares; \
so an answer listed here is never called correct.

- {exercises}
- {tasks}

In each bank the message names the mistake for at least {least} % of the wrong answers. The others \
are marked *(general)*: they can only say what is wrong with the result, since several mistakes \
look like that.

A check tries an answer on a few inputs, always the same ones. A task is graded on data that are \
drawn for each class: the numbers in its messages are those of a class whose phrase is *{phrase}*, \
and other classes get others. A wrong answer that is not in the bank may pass.

Some tasks give points for doing without loops in Python. Right answers that loop stand last in \
their tables, with what is said about the loop.
"""


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


def exercises_of(chapter: Chapter) -> Iterator[Entry]:
    """Yield the exercises of a chapter."""
    bank = chapter.part("exercise_answers").BANK
    for name, title in chapter.exercises.items():
        yield Entry(name, title, f"ex-{name}", check, False, bank.wrong[name], bank.right[name])


def tasks_of(chapter: Chapter) -> Iterator[Entry]:
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


def message(judge, name, answer):
    """Return what is said about an answer, or None if it is called correct."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            judge(name, answer)
    except WrongAnswer as problem:
        return str(problem).removeprefix(f"{name}: ")
    return None


def words(answer):
    """Say in words which answer it is: its function's name, with what is a name in code kept."""
    named = sorted([*inspect.signature(answer).parameters, *IN_CODE], key=len, reverse=True)
    kept = "|".join(re.escape(name) for name in named if "_" in name)
    parts = re.split(rf"(?<![a-z])({kept})(?![a-z])", answer.__name__)
    text = "".join(f"`{part}`" if i % 2 else part.replace("_", " ") for i, part in enumerate(parts))
    return text[:1].upper() + text[1:]


def rows(entry):
    """Yield each wrong answer with its message, then right ones that lose points by a loop."""
    for wrong in entry.wrong:
        told = message(entry.judge, entry.name, wrong.answer)
        if told is None:
            raise ValueError(f"{wrong.answer.__name__} is called correct")
        yield words(wrong.answer), "" if wrong.names_mistake else GENERAL, with_code(told)
    for answer in entry.right:
        if told := message(entry.judge, entry.name, answer):
            raise ValueError(f"{answer.__name__} is called wrong: {told}")
        if entry.loops_cost and (told := message(judge_loops, entry.name, answer)):
            told = re.sub(r"\d+(?= steps for)|(?<=, )\d+(?= for)", "…", told)
            yield f"{words(answer)} (right, with a loop)", "", with_code(told)


def summary(entry):
    """Say how many wrong answers an entry has, and what the marks in its table mean."""
    general = len(entry.wrong) - entry.named
    said = f"{len(entry.wrong)} wrong answers: the message names the mistake for "
    return said + (f"{entry.named} and is general for {general}" if general else "all")


def section(entry, opened=False):
    """Return an entry's part of the page: a heading, and a table to unfold."""
    table = "\n".join(f"| {answer} | {mark}{told} |" for answer, mark, told in rows(entry))
    steps = "\nEach … stands for a number of steps.\n" if "…" in table else ""
    return f"""\
### [{entry.title}]({entry.link})

:::{{admonition}} {summary(entry)}
:class: dropdown{" toggle-shown" * opened}

| wrong answer | what the student reads |
|---|---|
{table}
{steps}:::
"""


def code(chapter):
    """Return links to the code of a chapter's wrong answers, in the repository."""
    banks = {"exercises": "exercise_answers.py", "tasks": "task_answers.py"}
    links = [f"[{kind}]({public_address(chapter.room / name)})" for kind, name in banks.items()]
    return f"Code of the answers: {', '.join(links)}.\n"


def total(kind, found):
    """Say how many exercises or tasks there are, and what their banks hold."""
    wrong, right = (sum(len(getattr(e, bank)) for e in found) for bank in ("wrong", "right"))
    return (
        f"{len(found)} {kind} with {wrong} wrong answers: the message names the mistake for "
        f"{sum(entry.named for entry in found)}. All {right} right answers are accepted."
    )


def page():
    """Return the whole page."""
    book = {each: (list(exercises_of(each)), list(tasks_of(each))) for each in chapters()}
    exercises = [entry for found, _ in book.values() for entry in found]
    tasks = [entry for _, found in book.values() for entry in found]
    for found, wanted in ((exercises, _all_exercises()), (tasks, all_tasks())):
        if sorted(entry.name for entry in found) != sorted(wanted):
            raise ValueError("a notebook lacks an exercise or a task, or has one more")
    parts = [
        INTRODUCTION.format(
            exercises=total("exercises", exercises),
            tasks=total("tasks", tasks),
            least=min(100 * entry.named // len(entry.wrong) for entry in exercises + tasks),
            phrase=PHRASE,
        )
    ]
    with mock.patch.dict(os.environ, {seeds.VARIABLE: PHRASE}):
        for chapter, (practised, graded) in book.items():
            parts.append(f"## [{chapter.about['title']}]({chapter.label})\n")
            parts.append(code(chapter))
            for each in practised:
                parts.append(section(each, opened=each is exercises[0]))
            for each in graded:
                parts.append(f"(task-{each.name})=\n{section(each)}")
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
