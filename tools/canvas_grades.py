"""Fill nbgrader's scores into the gradebook that Canvas exports, for Canvas to import.

    .venv-course/bin/python -m tools canvas_grades EXPORTED.csv FILLED.csv [COURSE]

A column of Canvas's is filled if its title is an assignment's name or heading, a cell if its row's
ID is a student's name in nbgrader. All other cells stay as Canvas had them, since to Canvas an
emptied cell is a change: where nothing was handed in, where an answer waits for you, and where
Canvas says that a student is excused.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from course.chapters import ROOT, cells
from course.grading.door import plain

COURSE = ROOT / "course"
KEPT = ("EX", "N/A")  # excused, and not assigned to this student


class Scores(NamedTuple):
    """An assignment's titles, its points, and each student's score: None while it waits."""

    titles: tuple[str, ...]
    points: float
    students: dict[str, float | None]


def scores(course: Path) -> dict[str, Scores]:
    """Return each assignment's scores from a course's gradebook."""
    from nbgrader.api import Gradebook

    database = course / "scores.db"
    if not database.exists():
        raise SystemExit(f"there is no {database}: nothing was graded yet")
    by_assignment = {}
    with Gradebook(f"sqlite:///{database}?timeout=60") as gradebook:
        for assignment in gradebook.assignments:
            name = assignment.name
            first, *_ = cells(course / "source" / name / f"{name}.ipynb", "markdown")
            heading = first["source"].splitlines()[0].lstrip("# ")
            by_student = {}
            for done in gradebook.assignment_submissions(name):
                score = max(0.0, done.score - done.late_submission_penalty)
                by_student[done.student.id] = None if done.needs_manual_grade else score
            by_assignment[name] = Scores((name, heading), assignment.max_score, by_student)
    return by_assignment


def columns(header: list[str], possible: list[str], ours: dict[str, Scores]) -> dict[str, int]:
    """Return where Canvas has our assignments; raise ValueError if that is not certain."""
    titles = [re.sub(r" \(\d+\)$", "", title).strip().casefold() for title in header]
    by_name = {}
    for name, (wanted, points, _) in ours.items():
        at = [i for i, title in enumerate(titles) if title in [w.casefold() for w in wanted]]
        if len(at) > 1:
            raise ValueError(f"Canvas has {len(at)} columns named {' or '.join(wanted)}")
        if at and float(possible[at[0]].replace(",", ".") or "nan") != points:
            raise ValueError(
                f"{name} has {points:g} points here, in Canvas {possible[at[0]] or 'none'}: "
                "change them in Canvas, and export again"
            )
        if at:
            by_name[name] = at[0]
    if not by_name:
        raise ValueError(
            "no column of Canvas's is ours. Name the assignment in Canvas as here: "
            + "; or ".join(title for wanted, *_ in ours.values() for title in wanted)
        )
    return by_name


def fill(rows: list[list[str]], ours: dict[str, Scores]) -> tuple[list[list[str]], list[str]]:
    """Return the rows that Canvas is to import, and what to tell about them."""
    header = rows[0]
    if not {"ID", "Section"} <= set(header):
        raise ValueError("this is no gradebook of Canvas's: it has no column ID or Section")
    who, identity = header.index("ID"), header.index("Section") + 1
    possible = next((row for row in rows if "Points Possible" in row[0]), None)
    if possible is None:
        raise ValueError("this is no gradebook of Canvas's: it has no row Points Possible")
    filled = [list(row) for row in rows]
    report, where = [], columns(header, possible, ours)
    for name, at in where.items():
        by_student, waiting, missing, count = ours[name].students, [], [], 0
        for row in filled:
            named = f"{plain(row[0])} ({plain(row[who])})"  # students choose what they are called
            score = by_student.get(row[who])
            if score is not None and row[at].strip() not in KEPT:
                row[at], count = f"{round(score, 2):g}", count + 1
            elif row[who] in by_student and score is None:
                waiting.append(named)
            elif row[who].isdigit() and not row[at].strip():
                missing.append(named)
        report.append(f"{name}: {count} scores")
        if waiting:
            report.append(f"  not filled, since an answer waits for you: {'; '.join(waiting)}")
        if missing:
            report.append(f"  not filled, since nothing was collected: {'; '.join(missing)}")
        if absent := by_student.keys() - {row[who] for row in rows}:
            names = ", ".join(map(plain, sorted(absent)))
            report.append(f"  graded, but not in Canvas's file: {names}")
    return [row[:identity] + [row[at] for at in where.values()] for row in filled], report


def read(path: Path) -> list[list[str]]:
    """Return the rows of a file of Canvas's, which may have semicolons and a byte order mark."""
    text = path.read_text(encoding="utf-8-sig")
    first = text.partition("\n")[0]
    mark = ";" if first.count(";") > first.count(",") else ","
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(row)]


def main(exported: str, to: str, course: str = str(COURSE)) -> None:
    """Fill in the scores, and say what was done."""
    if not exported:
        raise SystemExit("which file did Canvas export? make canvas-grades GRADEBOOK=exported.csv")
    try:
        made, report = fill(read(Path(exported)), scores(Path(course)))
    except (OSError, ValueError) as error:
        raise SystemExit(f"nothing written: {error}") from error
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    with open(to, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(made)
    print(*report, f"written: {to}", sep="\n")
