"""Write the page that lists what the checks catch: each wrong answer of each bank.

Run by `make kill-table`, which writes book/kill-table.md; a test compares it with what this makes.
"""

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("scripts", "course")]
from attncourse import judge_loops, seeds  # noqa: E402 - found there only
from attncourse.tasks import all_tasks  # noqa: E402
from bank_entries import chapters  # noqa: E402

from attnbook.exercises import WrongAnswer, _all_exercises  # noqa: E402

PAGE = ROOT / "book/kill-table.md"
PHRASE = "demo"
INTRODUCTION = """\
# What the checks catch

<!-- Made by `make kill-table`: change tests/answers and tests/course/banks, not this page. -->

Each exercise of a chapter and each task of an assignment has a bank of wrong answers, written as \
readers and students write them. On this page stands what they are told: by `check`, or by the \
hidden test that grades the task. A test runs them all at every change of the book and compares; \
so an answer listed here is never called correct.

- {exercises}
- {tasks}

In each bank the message names the mistake for at least {least} % of the wrong answers. Such a \
message is in plain type. *In italics* are those that can only say what is wrong with the result, \
since several mistakes look like that.

A check tries an answer on a few inputs, always the same ones. A task is graded on data that are \
drawn for each class: the numbers in its messages are those of a class whose phrase is *{phrase}*, \
and other classes get others. A wrong answer that is not in the bank may pass.

Some tasks give points for doing without loops in Python. Right answers that loop stand last in \
their tables, with what is said about the loop; how many steps they took is left out.
"""


def message(judge, name, answer):
    """Return what is said about an answer, or None if it is called correct."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            judge(name, answer)
    except WrongAnswer as problem:
        return str(problem).removeprefix(f"{name}: ")
    return None


def plain(text):
    """Escape what Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^&])", r"\\\1", " ".join(text.split()))


def words(answer, prefix):
    """Say in words which answer it is: its name, without that of the exercise."""
    name = answer.__name__.removeprefix(prefix).strip("_").replace("_", " ")
    return plain(name[:1].upper() + name[1:])


def common_prefix(names):
    """Return the first words that all names share."""
    split = [name.split("_") for name in names]
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "_".join(shared) + "_" if shared else ""


def rows(entry):
    """Yield each wrong answer with its message, then right ones that lose points by a loop."""
    everyone = [wrong.answer for wrong in entry.wrong] + entry.right
    prefix = common_prefix([answer.__name__ for answer in everyone])
    for wrong in entry.wrong:
        told = message(entry.judge, entry.name, wrong.answer)
        if told is None:
            raise ValueError(f"{wrong.answer.__name__} is called correct")
        yield (
            words(wrong.answer, prefix),
            plain(told) if wrong.names_mistake else f"*{plain(told)}*",
        )
    for answer in entry.right:
        if told := message(entry.judge, entry.name, answer):
            raise ValueError(f"{answer.__name__} is called wrong: {told}")
        if entry.loops_cost and (told := message(judge_loops, entry.name, answer)):
            told = re.sub(r"\d+(?= steps for)|(?<=, )\d+(?= for)", "…", told)
            yield f"{words(answer, prefix)} (right, with a loop)", plain(told)


def section(entry, heading):
    """Return an entry's part of the page: a heading, and a table to unfold."""
    table = "\n".join(f"| {answer} | {told} |" for answer, told in rows(entry))
    return f"""\
{heading}

:::{{admonition}} {len(entry.wrong)} wrong answers, {entry.named} mistakes named
:class: dropdown

| answer | what is said about it |
|---|---|
{table}
:::
"""


def total(kind, entries):
    """Say how many exercises or tasks there are, and what their banks hold."""
    wrong, right = (sum(len(getattr(e, bank)) for e in entries) for bank in ("wrong", "right"))
    return (
        f"{len(entries)} {kind} with {wrong} wrong answers: the message names the mistake for "
        f"{sum(entry.named for entry in entries)}. All {right} right answers are accepted."
    )


def page():
    """Return the whole page."""
    book = list(chapters())
    exercises = [entry for chapter in book for entry in chapter.exercises]
    tasks = [entry for chapter in book for entry in chapter.tasks]
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
        for chapter in book:
            parts.append(f"## [{chapter.title}]({chapter.label})\n")
            for each in chapter.exercises:
                parts.append(section(each, f"### [{each.title}](ex-{each.name})"))
            for each in chapter.tasks:
                parts.append(section(each, f"(task-{each.name})=\n### {each.title}"))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
