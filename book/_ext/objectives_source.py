"""Put together what a chapter's reader can do afterwards and what tests it."""

import json
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import quiz_source

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "course/objectives.toml"


class Chapter(NamedTuple):
    """What the sources of a chapter hold, each list in their order."""

    title: str
    label: str
    objectives: list[str]  # the clauses of the box at the top
    exercises: dict[str, str]  # names of the checks, and titles
    tasks: list[str]  # titles; the first is task 1
    questions: list[str]  # titles; the first is question 1


def _prose(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )


def files(name):
    """Return the files from which a chapter's row is made."""
    assignment = f"assignment-{name}"
    return [
        ROOT / f"book/{name}.ipynb",
        ROOT / f"course/source/{assignment}/{assignment}.ipynb",
        ROOT / f"course/quizzes/{name}.txt",
    ]


def read_chapter(name):
    """Read the notebook of a chapter, the master of its assignment and its quiz."""
    notebook, master, _ = files(name)
    text = _prose(notebook)
    label, title = re.search(r"^\((ch-[\w-]+)\)=\n# (.+)$", text, re.M).groups()
    (box,) = re.findall(r"^\*\*Afterwards you can\*\* (.+)\.$", text, re.M)
    found = re.findall(r"^:::\{exercise\} (.+)\n:label: ex-([\w-]+)", text, re.M)
    return Chapter(
        title=title,
        label=label,
        objectives=box.split("; "),
        exercises={check: heading for heading, check in found},
        tasks=re.findall(r"^## \d\. (.+)$", _prose(master), re.M),
        questions=[each.heading for each in quiz_source.read(name).questions],
    )


def read():
    """Return the objectives of each chapter, and by name what tests them."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def table():
    """Return the table of all chapters in Markdown."""
    rows = ["| afterwards a student can | exercises | tasks | questions |"]
    rows.append("|---|---|---|---|")
    for number, (name, objectives) in enumerate(read().items(), 1):
        chapter = read_chapter(name)
        rows.append(f"| **{number}. [{chapter.title}]({chapter.label})** | | | |")
        for objective, tests in objectives.items():
            links = [
                f"[{chapter.exercises[e]}](ex-{e})" for e in tests["exercises"]
            ]
            cells = [", ".join(links)]
            for titles, kind in (
                (chapter.tasks, "tasks"),
                (chapter.questions, "questions"),
            ):
                numbers = sorted(titles.index(title) + 1 for title in tests[kind])
                cells.append(", ".join(map(str, numbers)))
            rows.append(f"| {objective} | {' | '.join(cells)} |")
    return "\n".join(rows)
