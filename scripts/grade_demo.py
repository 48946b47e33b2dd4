"""Play a course with the real nbgrader: release, made submissions, autograding, feedback, scores.

    .venv-course/bin/python scripts/grade_demo.py FOLDER [all]

Ten made students hand in five assignments; with `all` so do those who hand in, between them, every
wrong answer of the banks. Prints the table of scores, and writes it to FOLDER/scores.json.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("scripts", "tests", "tests/course")]

import students  # noqa: E402
from assignments import names, nbgrader, release  # noqa: E402

PHRASE = "a phrase that students do not know"
KEPT = ("source", "attncourse", "nbgrader_config.py")


def read(path: Path) -> dict:
    """Return a notebook."""
    return json.loads(path.read_text())


def name_of(cell: dict) -> str | None:
    """Return a cell's name for nbgrader, if it has one."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def solutions_of(master: dict) -> dict[str, str]:
    """Return the master's solution cells without the marks of their regions."""
    found = {}
    for cell in master["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            lines = [line for line in cell["source"] if "### " not in line]
            found[name_of(cell)] = "".join(lines)
    return found


def hand_in(root: Path, student: str, assignment: str, make) -> None:
    """Write a student's submission, made from the release."""
    notebook = read(root / "release" / assignment / f"{assignment}.ipynb")
    solutions = solutions_of(read(root / "source" / assignment / f"{assignment}.ipynb"))
    for cell in notebook["cells"]:
        if cell["source"] and "default_rng(CLASS_SEED)" in "".join(cell["source"]):
            students.DATA_CELLS[assignment] = "".join(cell["source"])
    changed = make(solutions, assignment)
    for cell in notebook["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if name_of(cell) in changed:
            cell["source"] = changed[name_of(cell)]
        elif "*tests*" in changed and about.get("grade") and not about.get("solution"):
            cell["source"], about["points"], about["locked"] = changed["*tests*"], 100, False
    folder = root / "submitted" / student / assignment
    folder.mkdir(parents=True)
    (folder / f"{assignment}.ipynb").write_text(json.dumps(notebook))


def scores(root: Path) -> dict:
    """Return the points of each student in each assignment, by cell, from the gradebook."""
    from nbgrader.api import Gradebook

    found = {}
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        for assignment in gradebook.assignments:
            for submission in gradebook.assignment_submissions(assignment.name):
                points = {}
                for grade in submission.notebooks[0].grades:
                    waits = grade.needs_manual_grade and grade.auto_score is None
                    points[grade.cell.name] = None if waits else grade.score
                found.setdefault(submission.student.id, {})[assignment.name] = points
    return found


def table(found: dict) -> str:
    """Return the scores as a table: task 1, its loops, task 2, measured, read off, written."""
    width = max(map(len, found))
    head = "".join(f" {assignment[:2]:^17}" for assignment in students.ASSIGNMENTS)
    lines = [f"{'':{width}}{head} sum", f"{'':{width}}" + "  1 +l  2  m  r  w" * 5]
    for student in found:
        line, total = f"{student:{width}}", 0
        for assignment in students.ASSIGNMENTS:
            points = found[student][assignment].values()
            line += "".join("  ?" if p is None else f"{p:3.0f}" for p in points)
            total += sum(p or 0 for p in points)
        lines.append(f"{line} {total:3.0f}")
    return "\n".join([*lines, "w: written, ? means that it waits for the teacher"])


def play(root: Path, made: dict) -> dict:
    """Play a course in an empty folder with made students; return their scores."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for name in KEPT:
        found = ROOT / "course" / name
        (shutil.copytree if found.is_dir() else shutil.copy)(found, root / name)
    release(root, root / "zips", PHRASE)
    for student, (make, _) in made.items():
        for assignment in names(root):
            hand_in(root, student, assignment, make)
    limits = ("--JudgedExecute.timeout=6", "--JudgedExecute.call_timeout=4")
    groups = {"wrong-*" if student.startswith("wrong-") else "[!w]*" for student in made}
    with ThreadPoolExecutor() as pool:  # each waits for a process of its own
        command = ("autograde", "*", "--force", *limits)
        grade = [
            pool.submit(nbgrader, root, *command, f"--student={g}", phrase=PHRASE) for g in groups
        ]
    for done in grade:
        done.result()
    nbgrader(root, "generate_feedback", "*", "--student=loops", "--force", phrase=PHRASE)
    nbgrader(root, "export", f"--to={root}/scores.csv", phrase=PHRASE)
    found = scores(root)
    order = list(made)
    found = {student: found[student] for student in sorted(found, key=order.index)}
    (root / "scores.json").write_text(json.dumps(found, indent=1))
    return found


if __name__ == "__main__":
    start = time.monotonic()
    everybody = students.STUDENTS | (students.WRONG_STUDENTS if "all" in sys.argv[2:] else {})
    done = play(Path(sys.argv[1]).resolve(), everybody)
    print(table(done))
    print(f"{len(done)} students, {len(students.ASSIGNMENTS)} assignments: ", end="")
    print(f"{time.monotonic() - start:.0f} s")
