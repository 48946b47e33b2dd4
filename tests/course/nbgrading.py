"""A course in an empty folder, and the real nbgrader's commands in it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess

import pytest

from course.chapters import ROOT
from tools.assignments import stage
from tools.grade_demo import PATIENT

BIN = ROOT / ".venv-course" / "bin"
PHRASE = "a phrase for this test"


@functools.cache
def why_no_sandbox():
    """Say why the course's environment cannot run students' code on this machine."""
    command = [BIN / "python", "-m", "course.grading.sandbox"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr.strip()


def needs_sandbox():
    """Skip a test that runs students' code where there is no sandbox; in CI there must be one."""
    if problem := why_no_sandbox():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(problem)


def nbgrader(root, *arguments, phrase=PHRASE, fails=False, path=f"{BIN}:/usr/bin:/bin", **limits):
    """Run one command of nbgrader in a course's folder; return what it said.

    An answer may take as long as it takes, but for what ``limits`` says.
    """
    if arguments[0] == "autograde":
        if not fails and "/usr/bin" in path:
            needs_sandbox()
        limits = PATIENT | limits
        arguments += tuple(f"--JudgedExecute.{name}={limit}" for name, limit in limits.items())
    # The environment has one checkout on its path, which may be another: this one comes before.
    settings = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(root), "ATTNBOOK_CLASS": phrase}
    command = [BIN / "nbgrader", *arguments]
    done = subprocess.run(command, cwd=root, env=settings, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def begin_course(root, assignment):
    """Copy what a course is made of into a folder, and release one assignment there."""
    shutil.copy(ROOT / "course/nbgrader_config.py", root)
    stage(root)
    nbgrader(root, "generate_assignment", assignment)


SCORES = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///" + sys.argv[1]) as book:
    print(json.dumps({
        each.student.id: [grade.score if grade.auto_score is not None else None
                          for grade in each.notebooks[0].grades]
        for each in book.assignment_submissions(sys.argv[2])
    }))
"""


def scores(root, assignment):
    """Return each student's points, cell by cell, as the gradebook has them."""
    command = [BIN / "python", "-c", SCORES, root / "scores.db", assignment]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {student: tuple(points) for student, points in json.loads(done.stdout).items()}


def errors_below(root, student, assignment, cells):
    """Return the errors below cells of a graded notebook, by the cells' names."""
    path = root / "autograded" / student / assignment / f"{assignment}.ipynb"
    found = {}
    for cell in json.loads(path.read_text())["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        for output in cell.get("outputs", []):
            if output["output_type"] == "error" and name in cells:
                found[name] = output["traceback"]
    return found
