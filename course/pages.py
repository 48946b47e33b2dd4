"""What pages of the site say of all chapters, put together from their rooms, in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from course import quiz
from course.chapters import ROOT, Chapter, chapters

MEASURED = ROOT / "course/measured.json"  # written by `make measure`


def public_address(path: Path) -> str:
    """Return where a file of the repository is shown to all."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    place = path.relative_to(ROOT).as_posix()
    return f"{settings['url']}/blob/{settings['branch']}/{place}"


def contents() -> Iterator[str]:
    """List the chapters, with what each is for, its exercises and the minutes to read it."""
    yield "| chapter | you will be able to | exercises | minutes to read |"
    yield "|---|---|---|---|"
    for chapter in chapters():
        about, exercises = chapter.about, len(chapter.exercises)
        link = f"[]({chapter.notebook.name})"
        yield f"| {link} | {about['summary']} | {exercises} | {about['minutes']} |"


def objectives() -> Iterator[str]:
    """List what a reader can do after each chapter, and what tests it."""
    yield "| afterwards a student can | exercises | tasks | questions |"
    yield "|---|---|---|---|"
    for chapter in chapters():
        yield f"| **{chapter.number}. [{chapter.about['title']}]({chapter.label})** | | | |"
        questions = [each.heading for each in quiz.read(chapter).questions]
        for objective in chapter.about["objectives"]:
            exercises = [f"[{chapter.exercises[e]}](ex-{e})" for e in objective["exercises"]]
            columns = [
                ", ".join(exercises),
                _numbers(objective["tasks"], chapter.tasks),
                _numbers(objective["questions"], questions),
            ]
            yield f"| {objective['can']} | {' | '.join(columns)} |"


def _numbers(titles: list[str], among: list[str]) -> str:
    return ", ".join(str(number) for number in sorted(among.index(each) + 1 for each in titles))


def tasks() -> Iterator[str]:
    """List the tasks of each assignment, with a link to its master."""
    what = ("a function", "a function", "measure", "write")
    heads = [f"task {number}: {each}" for number, each in enumerate(what, 1)]
    yield f"| assignment | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    for chapter in chapters():
        link = f"[{chapter.number}]({public_address(chapter.master)})"
        yield f"| {link} | {' | '.join(chapter.tasks)} |"


def sessions() -> Iterator[str]:
    """Yield the plans of the sessions."""
    for chapter in chapters():
        yield f"### Session {chapter.number}: {chapter.about['title']}\n\n{chapter.session}"


def running() -> Iterator[str]:
    """Say what the chapters take in time and memory, as it was measured."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    titled = {chapter.name: chapter for chapter in chapters()}
    yield "| chapter | to read | exercises | runs for | at most | keeps |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, (seconds, most, kept) in measured["chapters"].items():
        chapter = titled[name]
        yield (
            f"| []({chapter.label}) | {chapter.about['minutes']} min "
            f"| {len(chapter.exercises)} of 10 min | {seconds} s | {most} MB | {kept} MB |"
        )
    yield "\n" + _in_class(measured, titled)


def _in_class(measured: dict[str, Any], titled: dict[str, Chapter]) -> str:
    name, students, cores, seconds, most = measured["class"]
    of_all = measured["chapters"]
    kept = measured["server"] + sum(kept for _, _, kept in of_all.values())
    worst = kept - of_all[name][2] + of_all[name][1]
    return f"""\
JupyterLab's server takes {measured["server"]} MB besides. A student who leaves all \
{len(of_all)} chapters open holds {kept / 1000:.1f} GB, and for a moment {worst / 1000:.1f} GB \
while []({titled[name].label}) runs again. When {students} students ran that chapter at the same \
moment on {cores} cores, all had finished after {seconds} s, and their kernels together took at \
most {most / 1000:.1f} GB.
"""


PARTS = {part.__name__: part for part in (contents, objectives, tasks, sessions, running)}
