"""Play a course with the real nbgrader: release, made submissions, autograding, feedback, scores.

    .venv-course/bin/python -m tools grade_demo FOLDER [short]

Made students hand in every assignment, among them, between them, every wrong answer of the banks; a
few odd ones hand in one. In a short round, which the tests play, fewer do. The teacher grades the
written answers of one student. Prints the table of scores, and writes it to FOLDER/scores.json.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from course.chapters import ROOT
from course.grading.door import Door, Row
from course.grading.sandbox import why_not
from tools import PATIENCE, students
from tools.assignments import release
from tools.collect import table as table_of

PHRASE = "a phrase that students do not know"
# What is right may take as long as it takes; a call that never ends is waited for so long, which
# leaves much room for what its student has right besides.
PATIENT = dict.fromkeys(("timeout", "call_timeout", "most_seconds", "startup_timeout"), PATIENCE)
HASTY = PATIENT | {"call_timeout": 15}
MOST_RESTARTS = 2
TOLD = "wrong-00"  # whose feedback is made


def hand_in(root: Path, student: str, assignment: str, make) -> Path:
    """Write a student's submission, made from the release, where files are put by hand."""
    file = f"{assignment}/{assignment}.ipynb"
    notebook = json.loads((root / "release" / file).read_text())
    changed = make(students.ASSIGNMENTS[assignment])
    for cell in notebook["cells"]:
        cell["source"] = changed.get(students.role(cell).get("grade_id"), cell["source"])
    changed.get("*cells*", len)(notebook["cells"])
    target = root / "handed-in" / student / file
    target.parent.mkdir(parents=True)
    target.write_text(changed.get("*file*") or json.dumps(notebook))
    return target


def collect(root: Path, assignment: str) -> list[Row]:
    """Collect by the door what was handed in."""
    return Door(root, assignment).collect(root / "handed-in")


def gradebook(root: Path):
    """Open a course's gradebook; nbgrader is in one environment only."""
    from nbgrader.api import Gradebook

    return Gradebook(f"sqlite:///{root}/scores.db")


def grade_texts(root: Path, student: str, points: float) -> None:
    """Do the teacher's part: give points to a student's written answers."""
    with gradebook(root) as book:
        for submission in book.student_submissions(student):
            for grade in submission.notebooks[0].grades:
                if grade.auto_score is None:
                    grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def scores(root: Path) -> dict:
    """Return the points of each student in each assignment, by cell, from the gradebook."""
    by_student = {}
    with gradebook(root) as book:
        for assignment in book.assignments:
            for submission in book.assignment_submissions(assignment.name):
                by_student.setdefault(submission.student.id, {})[assignment.name] = {
                    grade.cell.name: None
                    if grade.needs_manual_grade and grade.auto_score is None
                    else grade.score
                    for grade in submission.notebooks[0].grades
                }
    return {student: by_student[student] for student in students.EVERYBODY if student in by_student}


LEGEND = """\
1 and 2: the functions of tasks 1 and 2 (5 points each); m: the numbers measured in task 3 (3);
r: what is read off them (2); w: the text of task 4 (5).
A ? waits for the teacher, who has graded the texts of perfect. No number: nothing handed in.
"""


def table(by_student: dict) -> str:
    """Return the scores as a table with a legend, and what each made student does."""
    shown, folded = fold(by_student)
    width, many = max(map(len, shown)), len(students.ASSIGNMENTS)
    head = "".join(f" {number:^14}" for number in range(1, many + 1))
    lines = [f"{'':{width}}{head} sum", f"{'':{width}}" + "  1  2  m  r  w" * many]
    for student in shown:
        line, total = f"{student:{width}}", 0
        for assignment in students.ASSIGNMENTS:
            points = by_student[student].get(assignment, {}).values()
            line += "".join("  ?" if p is None else f"{p:3.0f}" for p in points) or " " * 15
            total += sum(p or 0 for p in points)
        lines.append(f"{line} {total:3.0f}")
    does = [f"{n:{width}}  {students.EVERYBODY[n][0].__doc__.splitlines()[0]}" for n in shown]
    return "\n".join([*lines, *folded, "", LEGEND, *does])


def fold(by_student: dict) -> tuple[list[str], list[str]]:
    """Return whose scores a table shows, and a line for those with wrong answers if all get 0."""
    wrong = [student for student in by_student if student in students.WRONG_STUDENTS]
    points = [p for student in wrong for got in by_student[student].values() for p in got.values()]
    if len(wrong) < len(students.WRONG_STUDENTS) or any(p != 0 for p in points):
        return list(by_student), []
    answers = sum(map(len, students.WRONG.values()))
    line = f"{len(wrong)} students who hand in the banks' wrong answers, all {answers} of them: "
    return [student for student in by_student if student not in wrong], [f"{line}0 points each"]


def side_by_side(root: Path, commands: list[list[str]]) -> None:
    """Run commands of nbgrader, two at once; raise RuntimeError if one fails.

    Each runs in a copy of this process, which loads nbgrader and tries the sandbox once: that takes
    as long as to grade a submission.
    """
    from nbgrader.apps import nbgraderapp

    import course.grading.settings  # noqa: F401 - loaded before it is copied

    why_not()
    waiting, running, failed = list(commands), {}, []
    while waiting or running:
        while waiting and len(running) < 2:
            command = waiting.pop(0)
            if not (copy := os.fork()):
                with open(root / f"{os.getpid()}.log", "w") as log:
                    for number in (1, 2):
                        os.dup2(log.fileno(), number)
                    os.chdir(root)
                    os.environ["ATTNBOOK_CLASS"] = PHRASE
                    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
                    sys.argv = ["nbgrader", *command]
                    try:
                        nbgraderapp.main()
                    except SystemExit as ended:
                        os._exit(int(bool(ended.code)))
                    except BaseException:
                        traceback.print_exc()
                        os._exit(1)
                    os._exit(0)
            running[copy] = command
        copy, status = os.wait()
        if status:
            failed.append(
                f"{' '.join(running[copy])} failed:\n{(root / f'{copy}.log').read_text()}"
            )
        del running[copy]
    if failed:
        raise RuntimeError("\n".join(failed))


def play(root: Path, submissions: list[tuple[str, str]]) -> dict:
    """Play a course in an empty folder, where students hand in assignments; return the scores."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    shutil.copy(ROOT / "course/nbgrader_config.py", root)
    release(root, root / "zips", PHRASE)
    for student, assignment in submissions:
        hand_in(root, student, assignment, students.EVERYBODY[student][0])
    rows = [row for a in dict.fromkeys(a for _, a in submissions) for row in collect(root, a)]
    (root / "collected.txt").write_text(table_of(rows))
    taken = {row.student for row in rows if row.what == "collected"}
    with gradebook(root) as book:  # of two graders that both meet a new student, one would fail
        for student in taken:
            book.update_or_create_student(student)

    def autograde(assignment, who, limits):
        limits = limits | {"most_restarts": MOST_RESTARTS}
        options = [f"--JudgedExecute.{name}={limit}" for name, limit in limits.items()]
        return ["autograde", assignment, *options, f"--CourseDirectory.student_id{who}"]

    endless = [(a, f"={s}", HASTY) for s, a in submissions if s in students.NEVER_END]
    most_first = Counter(assignment for _, assignment in submissions).most_common()
    others = [(a, f"_exclude={','.join(students.NEVER_END)}", PATIENT) for a, _ in most_first]
    side_by_side(root, [autograde(*what) for what in others + endless])
    grade_texts(root, "perfect", 5)
    if TOLD in taken:
        side_by_side(root, [["generate_feedback", "*", f"--student={TOLD}", "--force"]])
    side_by_side(root, [["export", f"--to={root}/scores.csv"]])
    by_student = scores(root)
    (root / "scores.json").write_text(json.dumps(by_student, indent=1))
    return by_student


def main(folder: str, how: str = "") -> None:
    """Play a course, and print who gets what."""
    start = time.monotonic()
    done = play(Path(folder).resolve(), students.submissions(short=how == "short"))
    print((Path(folder) / "collected.txt").read_text(), table(done), sep="\n\n")
    print(f"{len(done)} students, {len(students.ASSIGNMENTS)} assignments: ", end="")
    print(f"{time.monotonic() - start:.0f} s")
