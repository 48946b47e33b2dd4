"""What pages of the site say of all chapters, put together from their rooms, in Markdown."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from course import quiz
from course.chapters import MEASURED, ROOT, Chapter, by_name, cells, chapters, look_ups
from course.claims import REQUIRED, anchor, evidence, full, ties
from course.frameworks import frameworks, frameworks_given, frameworks_speed
from course.kill_table import kill_table
from course.words import counted, say

MASKS = ROOT / "attnbook/data/mask_conventions.json"  # by tests/package/golden/make_golden.py
ASKED = re.compile(r"\{question\}`([\w-]+)`")  # in the plan of a session


@cache
def repository() -> dict[str, str]:
    """Return the address and the branch of the repository."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return settings["repository"]


def public_address(path: Path) -> str:
    """Return where a file of the repository is shown to all."""
    place = path.relative_to(ROOT).as_posix()
    return f"{repository()['url']}/blob/{repository()['branch']}/{place}"


def lead() -> Iterator[str]:
    """Say what the book is, and how many chapters it has."""
    yield say("lead", count=counted(len(chapters())).capitalize())


def contents() -> Iterator[str]:
    """List the chapters, with what each is for, its exercises and the minutes to read it."""
    yield say("contents")
    for chapter in chapters():
        about, link = chapter.about, f"[]({chapter.notebook.name})"
        yield f"| {link} | {about['summary']} | {_exercises(chapter)} | {about['minutes']} |"


def _exercises(chapter: Chapter) -> str:
    """Return how many exercises a chapter has, and how many more its appendices."""
    own = sum(f":label: ex-{name}\n" in chapter.prose for name in chapter.exercises)
    more = len(chapter.exercises) - own
    return f"{own} + {more}" if more else f"{own}"


def exercises() -> Iterator[str]:
    """List all exercises, chapter by chapter; a script adds which are solved."""
    for chapter in chapters():
        yield f"## {chapter.number}. [{chapter.about['title']}]({chapter.label})\n"
        yield from (f"- [{title}](ex-{name})" for name, title in chapter.exercises.items())
        yield ""


def plan() -> Iterator[str]:
    """Plan a course, a chapter a week; an assignment is due in the week after its chapter's."""
    yield say("plan")
    for chapter in chapters():
        week, title = chapter.number, chapter.about["title"]
        row = {"minutes": chapter.about["minutes"], "exercises": _exercises(chapter)}
        due = week - 1 or ""
        yield f"| {week} | [{title}](session-{week}) | {say('plan_row', **row)} | {week} | {due} |"
    yield f"| {week + 1} | | | | | {week} |"


def objectives() -> Iterator[str]:
    """List what a reader can do after each chapter, and what tests it."""
    yield say("objectives")
    for chapter in chapters():
        yield f"| **{chapter.number}. [{chapter.about['title']}]({chapter.label})** | | | |"
        tests = tested(chapter)
        for objective in chapter.about["objectives"]:
            titles = [f"[{chapter.exercises[e]}](ex-{e})" for e in objective["exercises"]]
            columns = [objective["can"], ", ".join(titles)]
            for kind in ("tasks", "questions"):
                numbers = sorted(list(tests[kind]).index(each) + 1 for each in objective[kind])
                columns.append(", ".join(map(str, numbers)))
            yield f"| {' | '.join(columns)} |"


def tested(chapter: Chapter) -> dict[str, dict[str, Any]]:
    """Return what tests a reader, by kind and id; raise unless it and the objectives agree."""
    where, promised = chapter.room / "chapter.toml", chapter.about["objectives"]
    there = {"exercises": chapter.exercises, "tasks": chapter.tasks}
    there["questions"] = quiz.read(chapter).questions
    for objective in promised:
        if not any(objective[kind] for kind in there):
            raise ValueError(f"{where}: nothing tests {objective['can']!r}, name what does")
    for kind, ids in there.items():
        listed = {name for objective in promised for name in objective[kind]}
        if unknown := sorted(listed - set(ids)):
            known = f"name some of {', '.join(ids)}" if ids else "there are none: write them"
            raise ValueError(f"{where}: no {kind} are called {unknown}, {known}")
        if idle := sorted(set(ids) - listed):
            raise ValueError(f"{where}: no objective lists the {kind} {idle}, add them to one")
    return there


def tasks() -> Iterator[str]:
    """List the tasks of each assignment, with a link to its master."""
    yield say("tasks")
    for chapter in chapters():
        link = f"[{chapter.number}]({public_address(chapter.master)})"
        yield f"| {link} | {' | '.join(chapter.tasks.values())} |"


def sessions() -> Iterator[str]:
    """Yield the plans of the sessions."""
    for chapter in chapters():
        yield f"(session-{chapter.number})="
        yield say("session", number=chapter.number, title=chapter.about["title"]) + "\n"
        yield session(chapter)


def session(chapter: Chapter) -> str:
    """Return the plan of a session, in which a question has its number and its title."""
    questions = enumerate(quiz.read(chapter).questions.items(), 1)
    titles = {name: f"{number} (*{question.heading}*)" for number, (name, question) in questions}
    if unknown := set(ASKED.findall(chapter.session)) - set(titles):
        where, known = chapter.room / "session.md", ", ".join(titles)
        raise ValueError(f"{where}: {sorted(unknown)} are no questions, name some of {known}")
    return ASKED.sub(lambda match: titles[match[1]], chapter.session)


def running() -> Iterator[str]:
    """Say what the chapters take in time and memory, as it was measured."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    of_all = measured["chapters"]
    yield say("running")
    for name, (seconds, most, kept) in of_all.items():
        row = say("running_row", seconds=seconds, most=most, kept=kept)
        yield f"| []({by_name(name).label}) | {row} |"
    name, students, seconds, most = measured["class"]
    kept = measured["server"] + sum(kept for _, _, kept in of_all.values())
    worst = kept - of_all[name][2] + of_all[name][1]
    yield "\n" + say(
        "in_class", server=measured["server"], chapters=len(of_all), kept=kept / 1000,
        worst=worst / 1000, link=f"[]({by_name(name).label})", students=students,
        cores=measured["machine"]["cores"], seconds=seconds, most=most / 1000,
    )  # fmt: skip
    yield "\n" + say("measured_on", **measured["machine"])


def mask_conventions() -> Iterator[str]:
    """List what each library was given for one mask, and what a query without keys got."""
    data = json.loads(MASKS.read_text(encoding="utf-8"))
    yield say("masks")
    for row in data["rows"]:
        argument, dtype = row["argument"].split(", ")
        call = f"`{row['function']}`<br>`{argument}`, {dtype}"
        cells = [f"{row['library']} {row['version']}", call, masks_say("entry", row["recipe"])]
        cells += [row["axes"], without_keys(row, data["empty_rows"])]
        yield f"| {' | '.join(cells)} |"


def masks_say(column: str, recorded: str) -> str:
    return say(re.sub(r"\W", "_", f"{column}_{recorded}"))


def without_keys(row: dict[str, Any], recorded: list[dict[str, Any]]) -> str:
    """Say what a query that may attend to nothing got from a call, and from it with a flag."""
    (text,) = [
        masks_say("empty", each["gives"]) for each in recorded if each["call"] == row["call"]
    ]
    before = ""
    for each in recorded:
        _, _, flags = each["call"].partition(f"{row['call']}, ")
        flag, _, fused = flags.partition(", ")
        flagged = masks_say("empty", each["gives"])
        if flag and not (fused and flagged == before):
            how = "empty_fused" if fused else "empty_also" if flagged == before else "empty_flagged"
            text = say(how, gives=text, flag=flag, flagged=flagged)
            before = flagged
    return text


def whiteboard(part: str) -> Iterator[str]:
    """Show the functions that the chapters' cells with the tag `screen-PART` define."""
    for chapter in chapters():
        section = ""
        for cell in cells(chapter.notebook, "markdown", "code"):
            if cell["cell_type"] == "markdown":
                section = [section, *re.findall(r"^\((sec-[\w-]+)\)=$", cell["source"], re.M)][-1]
            elif f"screen-{part}" in cell["metadata"].get("tags", []):
                yield say("whiteboard", section=f"[]({section})")
                yield f"\n```python\n{functions(cell['source'])}\n```\n"


def functions(code: str) -> str:
    """Return the functions that a cell defines, without what it does with them."""
    definitions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    return "\n\n\n".join(str(ast.get_source_segment(code, node)) for node in definitions)


def every_because() -> Iterator[str]:
    """List the claims that cells of evidence prove, by chapter, and count all claims by kind."""
    for chapter in chapters():
        yield f"\n## {chapter.number}. [{chapter.about['title']}]({chapter.label})\n"
        found = ties(chapter)
        count = {kind: [tie.kind for tie in found].count(kind) for kind in REQUIRED}
        yield say("claims_counted", **count)
        kinds = {full(tie.where, tie.page): say(f"claim_{tie.kind}") for tie in found}
        yield "\n" + say("claims")
        for cell in evidence(chapter):
            link = anchor(cell.page, cell.about["label"])
            told = [
                cell.about.get(key, "").replace("|", r"\|")
                for key in ("claim", "with", "without", "control", "range")
            ]
            claim, *settings = told
            yield f"| [{claim}]({link}) *{kinds[cell.name]}* | {' | '.join(settings)} |"
    yield "\n## " + say("claims_looked_up")
    for page in look_ups():
        if found := ties(page):
            count = [str([tie.kind for tie in found].count(kind)) for kind in REQUIRED]
            yield f"| [](/book/{page.name}.md) | {' | '.join(count)} |"


PARTS: dict[str, Callable[..., Iterator[str]]] = {
    part.__name__: part
    for part in (
        lead,
        contents,
        exercises,
        mask_conventions,
        plan,
        objectives,
        sessions,
        tasks,
        running,
        kill_table,
        whiteboard,
        every_because,
        frameworks,
        frameworks_given,
        frameworks_speed,
    )
}
