"""Play a course with the real nbgrader: release, made submissions, autograding, feedback, scores.

    .venv-course/bin/python -m tools grade_demo FOLDER [all]

Ten made students hand in every assignment, and a few odd ones hand in one; with `all` so do those
who hand in, between them, every wrong answer of the banks. The teacher grades the written answers
of one student. Prints the table of scores, and writes it to FOLDER/scores.json.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from course.chapters import ROOT
from tools import students
from tools.assignments import nbgrader, release

PHRASE = "a phrase that students do not know"


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
    text = changed.get("*notebook*", lambda notebook: None)(notebook) or json.dumps(notebook)
    (folder / f"{assignment}.ipynb").write_text(text)


def enrol(root: Path, made: dict) -> None:
    """Enter all students: of two graders that both meet a new one, one would fail."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        for student in made:
            gradebook.add_student(student)


def grade_texts(root: Path, student: str, points: float) -> None:
    """Do the teacher's part: give points to a student's written answers."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        for assignment in students.ASSIGNMENTS:
            for grade in gradebook.find_submission(assignment, student).notebooks[0].grades:
                if grade.auto_score is None:
                    grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()


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


LEGEND = """\
1 and 2: the functions of tasks 1 and 2 (4 points each); +l: task 1 without a loop in Python (2);
m: the numbers measured in task 3 (3); r: what is read off them (2); w: the text of task 4 (5).
A ? waits for the teacher, who has graded the texts of perfect. No number: nothing handed in.
"""


def table(found: dict) -> str:
    """Return the scores as a table with a legend, and what each made student does."""
    shown, folded = fold(found)
    width, many = max(map(len, shown)), len(students.ASSIGNMENTS)
    head = "".join(f" {number:^17}" for number in range(1, many + 1))
    lines = [f"{'':{width}}{head} sum", f"{'':{width}}" + "  1 +l  2  m  r  w" * many]
    for student in shown:
        line, total = f"{student:{width}}", 0
        for assignment in students.ASSIGNMENTS:
            points = found[student].get(assignment, {}).values()
            line += "".join("  ?" if p is None else f"{p:3.0f}" for p in points) or " " * 18
            total += sum(p or 0 for p in points)
        lines.append(f"{line} {total:3.0f}")
    made = students.STUDENTS | students.ODD_STUDENTS | students.WRONG_STUDENTS
    does = [f"{name:{width}}  {made[name][0].__doc__.splitlines()[0]}" for name in shown]
    return "\n".join([*lines, *folded, "", LEGEND, *does])


def fold(found: dict) -> tuple[list[str], list[str]]:
    """Return whose scores a table shows, and a line for those with wrong answers if all get 0."""
    wrong = [student for student in found if student in students.WRONG_STUDENTS]
    points = [p for student in wrong for got in found[student].values() for p in got.values()]
    if not wrong or any(p != 0 for p in points):
        return list(found), []
    answers = sum(map(len, students.WRONG.values()))
    line = f"{len(wrong)} students who hand in the banks' wrong answers, all {answers} of them: "
    return [student for student in found if student not in wrong], [f"{line}0 points each"]


def grade(root: Path, *command: str) -> None:
    """Grade submissions; raise RuntimeError if that fails for others than it must fail for."""
    try:
        nbgrader(root, *command, phrase=PHRASE)
    except RuntimeError as error:
        failed = set(re.findall(r"error processing assignment .* for student '(.*)'", str(error)))
        if failed != {"unreadable", "the-chapter"}:
            raise


def play(root: Path, made: dict) -> dict:
    """Play a course in an empty folder with made students; return their scores."""
    start = time.monotonic()
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    shutil.copy(ROOT / "course/nbgrader_config.py", root)
    release(root, root / "zips", PHRASE)
    for student, (make, _) in made.items():
        for assignment in students.ASSIGNMENTS:
            if student not in students.ODD_STUDENTS or assignment == students.ODD_ASSIGNMENT:
                hand_in(root, student, assignment, make)
    enrol(root, made)
    limits = ("timeout=6", "call_timeout=4", "most_restarts=3")
    limits = [f"--JudgedExecute.{limit}" for limit in limits]
    many = len(students.ASSIGNMENTS)
    groups = {"wrong-*" if student.startswith("wrong-") else "[!w]*" for student in made}
    seconds = {}

    def autograde(group, assignment):
        grade(root, "autograde", assignment, "--force", *limits, f"--student={group}")

    for group in sorted(groups):  # one after the other, so that each has its own time
        with ThreadPoolExecutor(2) as pool:  # each waits for a process of its own
            list(pool.map(autograde, [group] * many, students.ASSIGNMENTS))
        seconds[group] = time.monotonic() - start - sum(seconds.values())
    grade_texts(root, "perfect", 5)
    nbgrader(root, "generate_feedback", "*", "--student=loops", "--force", phrase=PHRASE)
    nbgrader(root, "export", f"--to={root}/scores.csv", phrase=PHRASE)
    found = scores(root)
    order = list(made)
    found = {student: found[student] for student in sorted(found, key=order.index)}
    (root / "scores.json").write_text(json.dumps(found, indent=1))
    (root / "seconds.json").write_text(json.dumps(seconds))
    return found


def main(folder: str, *which: str) -> None:
    """Play a course, and print who gets what."""
    start = time.monotonic()
    everybody = students.STUDENTS | students.ODD_STUDENTS
    everybody |= students.WRONG_STUDENTS if "all" in which else {}
    done = play(Path(folder).resolve(), everybody)
    print(table(done))
    print(f"{len(done)} students, {len(students.ASSIGNMENTS)} assignments: ", end="")
    print(f"{time.monotonic() - start:.0f} s")
