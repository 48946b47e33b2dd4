"""The page that lists what the checks say to each wrong answer of each bank, in Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unittest import mock

import numpy as np

from attnbook.exercises import WrongAnswer, _all_exercises
from attnbook.exercises.examining import examine
from course.bank import Wrong
from course.chapters import Chapter, chapters, drafts
from course.grading import seeds
from course.grading.judging import all_tasks, ask
from course.words import say

PHRASE = "demo"  # of the class whose numbers stand in the messages


class Entry(NamedTuple):
    """An exercise or a task with its bank; ``judge(name, answer)`` raises WrongAnswer."""

    name: str
    title: str
    judge: Callable[[str, Callable], None]
    wrong: list[Wrong]
    right: list[Callable]

    @property
    def named(self) -> int:
        """The number of wrong answers whose message names the mistake."""
        return sum(wrong.names_mistake for wrong in self.wrong)


def entries(chapter: Chapter) -> Iterator[Entry]:
    """Yield a chapter's exercises, then its tasks that are judged."""
    bank = chapter.part("exercise_answers").BANK
    for name, title in chapter.exercises.items():
        yield Entry(name, f"[{title}](ex-{name})", _check, bank.wrong[name], bank.right[name])
    bank = chapter.part("task_answers").BANK
    for number, (name, title) in enumerate(chapter.tasks.items(), 1):
        if name in all_tasks():
            about = say("kill_task", chapter=chapter.number, number=number, title=title)
            yield Entry(name, about, ask, bank.wrong[name], bank.right[name])


def _check(name: str, answer: Callable) -> None:
    examine(name, _all_exercises()[name], answer, np.random.default_rng(0))


def problem(judge: Callable, name: str, answer: Callable) -> WrongAnswer | None:
    """Return what is wrong with an answer, or None if it is called correct."""
    try:
        judge(name, answer)
    except WrongAnswer as found:
        return found
    return None


def rows(entry: Entry) -> Iterator[str]:
    """Yield each wrong answer with its message, and see that the right ones pass."""
    for wrong in entry.wrong:
        found = problem(entry.judge, entry.name, wrong.answer)
        if found is None:
            raise ValueError(f"{wrong.answer.__name__} is called correct")
        mark = "" if wrong.names_mistake else say("kill_general") + " "
        told = marked(str(found).removeprefix(f"{entry.name}: "))
        yield f"| `{wrong.answer.__name__}` | {mark}{told} |"
    for answer in entry.right:
        if found := problem(entry.judge, entry.name, answer):
            raise ValueError(f"{answer.__name__} is called wrong: {found}")


def marked(text: str) -> str:
    """Escape what Markdown would take for markup, outside of `code`; a bar would end the cell."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([\\*_{}\[\]<>#|$~^&])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [part.replace("|", r"\|") for part in parts[1::2]]
    return "`".join(parts)


def section(entry: Entry) -> str:
    """Return an entry's part of the page: a heading, and a table to unfold."""
    wrong, named = len(entry.wrong), entry.named
    summary = say("kill_summary", wrong=wrong, named=named, rest=wrong - named)
    head = f"({'task' if entry.judge is ask else 'kill'}-{entry.name})=\n### {entry.title}\n"
    fold = f":::{{admonition}} {summary}\n:class: dropdown\n\n{say('kill_head')}"
    return "\n".join([head, fold, *rows(entry), ":::\n"])


def kill_table() -> Iterator[str]:
    """Yield the totals, then the entries of each chapter."""
    book = {chapter: list(entries(chapter)) for chapter in chapters()}
    found = [entry for listed in book.values() for entry in listed]
    drafted = {name for chapter in drafts() for name in chapter.checkers}
    listed, known = {entry.name for entry in found}, {*_all_exercises(), *all_tasks()} - drafted
    if idle := sorted(known - listed):
        raise ValueError(
            f"{idle} have a checker, in attnbook/exercises or in a room's tasks.py, but are no "
            "exercise of a notebook and no task of an assignment: write them, or drop the checkers"
        )
    if unchecked := sorted(listed - known):
        raise ValueError(
            f"{unchecked} are exercises of a notebook without a checker: write them into the "
            "chapter's module in attnbook/exercises, or take the exercises out"
        )
    if empty := [entry.name for entry in found if not entry.wrong]:
        raise ValueError(f"{empty} have no wrong answers: write some into the bank in their room")
    for kind, judge in (("kill_exercises", _check), ("kill_tasks", ask)):
        listed = [entry for entry in found if entry.judge is judge]
        counts = {"wrong": sum(len(entry.wrong) for entry in listed), "count": len(listed)}
        right = sum(len(entry.right) for entry in listed)
        yield say(kind, **counts, right=right, named=sum(entry.named for entry in listed))
    least = min(100 * entry.named // len(entry.wrong) for entry in found)
    yield "\n" + say("kill_least", least=least, phrase=PHRASE)
    with mock.patch.dict(os.environ, {seeds.VARIABLE: PHRASE}):
        for chapter, listed in book.items():
            yield f"\n## [{chapter.about['title']}]({chapter.label})\n"
            yield from map(section, listed)
