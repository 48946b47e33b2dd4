"""The page that lists what the checks say to each wrong answer of each bank, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from attnbook.exercises import _all_exercises
from course import verdicts
from course.bank import Bank, Wrong
from course.chapters import Chapter, chapters, drafts
from course.grading.judging import all_tasks
from course.verdicts import PHRASE, Judged
from course.words import say


class Entry(NamedTuple):
    """An exercise or a task with its bank."""

    name: str
    title: str
    is_task: bool
    wrong: list[Wrong]
    right: list[Callable]

    @property
    def named(self) -> int:
        """The number of wrong answers whose message names the mistake."""
        return sum(wrong.names_mistake for wrong in self.wrong)


def entries(chapter: Chapter) -> Iterator[Entry]:
    """Yield a chapter's exercises, then its tasks that are judged."""
    bank: Bank = chapter.part("exercise_answers").BANK
    for name, title in chapter.exercises.items():
        yield Entry(name, f"[{title}](ex-{name})", False, bank.wrong[name], bank.right[name])
    bank = chapter.part("task_answers").BANK
    for number, (name, title) in enumerate(chapter.tasks.items(), 1):
        if name in all_tasks():
            about = say("kill_task", chapter=chapter.number, number=number, title=title)
            yield Entry(name, about, True, bank.wrong[name], bank.right[name])


def rows(entry: Entry, judged: Judged) -> Iterator[str]:
    """Yield each wrong answer with its message, and see that the right ones pass."""
    for wrong, verdict in zip(entry.wrong, judged.wrong, strict=True):
        if not verdict.ids:
            raise ValueError(f"{wrong.answer.__name__} is called correct")
        mark = "" if wrong.names_mistake else say("kill_general") + " "
        message = marked(verdict.message.removeprefix(f"{entry.name}: "))
        yield f"| `{wrong.answer.__name__}` | {mark}{message} |"
    for answer, verdict in zip(entry.right, judged.right, strict=True):
        if verdict.ids:
            raise ValueError(f"{answer.__name__} is called wrong: {verdict.message}")


def marked(text: str) -> str:
    """Escape what Markdown would take for markup, outside of `code`; a bar would end the cell."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [re.sub(r"([\\*_{}\[\]<>#|$~^&])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [part.replace("|", r"\|") for part in parts[1::2]]
    return "`".join(parts)


def section(entry: Entry, judged: Judged) -> str:
    """Return an entry's part of the page: a heading, and a table to unfold."""
    wrong, named = len(entry.wrong), entry.named
    summary = say("kill_summary", wrong=wrong, named=named, rest=wrong - named)
    head = f"({'task' if entry.is_task else 'kill'}-{entry.name})=\n### {entry.title}\n"
    fold = f":::{{admonition}} {summary}\n:class: dropdown late\n\n{say('kill_head')}"
    return "\n".join([head, fold, *rows(entry, judged), ":::\n"])


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
    for kind, is_task in (("kill_exercises", False), ("kill_tasks", True)):
        listed = [entry for entry in found if entry.is_task == is_task]
        counts = {"wrong": sum(len(entry.wrong) for entry in listed), "count": len(listed)}
        right = sum(len(entry.right) for entry in listed)
        yield say(kind, **counts, right=right, named=sum(entry.named for entry in listed))
    least = min(100 * entry.named // len(entry.wrong) for entry in found)
    yield "\n" + say("kill_least", least=least, phrase=PHRASE)
    judged = verdicts.judged()
    for chapter, listed in book.items():
        yield f"\n## [{chapter.about['title']}]({chapter.label})\n"
        yield from (section(entry, judged[entry.name]) for entry in listed)
