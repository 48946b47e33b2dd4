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


# Loads nbgrader once, which takes seconds; then a copy of the process runs each command, or code.
SERVES = """
import json, os, sys
from nbgrader.apps.nbgraderapp import main
import course.grading.door, course.grading.settings, nbgrader.api
for line in sys.stdin:
    arguments, root, settings = json.loads(line)
    if not (copy := os.fork()):
        os.chdir(root)
        os.environ.clear()
        os.environ.update(settings)
        for number, name in enumerate((os.devnull, "said.out", "said.err")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.argv = ["nbgrader", *arguments]
        if arguments[0] != "-c":
            sys.exit(main())
        sys.argv = arguments
        exec(arguments[1], {"__name__": "__main__"})
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


@functools.cache
def server():
    """Return the process that has loaded nbgrader; it ends with this one, which feeds it."""
    # The environment has one checkout on its path, which may be another: this one comes before.
    settings = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([BIN / "python", "-c", SERVES], env=settings, **pipes)


def run(root, *arguments, **settings):
    """Run a command of nbgrader, or code behind `-c`; return its status and what it said."""
    settings = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)} | settings
    print(json.dumps([list(map(str, arguments)), str(root), settings]), file=server().stdin)
    server().stdin.flush()
    status = int(server().stdout.readline())
    return status, (root / "said.out").read_text(), (root / "said.err").read_text()


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
    settings = {"PATH": path, "HOME": str(root), "ATTNBOOK_CLASS": phrase}
    settings["TMPDIR"] = str(root / "tmp")  # if it is there
    status, out, err = run(root, *arguments, **settings)
    assert (status != 0) == fails, out + err
    return out + err


def python(root, code, *arguments):
    """Run code that uses nbgrader; return what it printed."""
    status, out, err = run(root, "-c", code, *arguments)
    assert status == 0, err
    return out


def begin_course(root, assignment):
    """Copy what a course is made of into a folder, and release one assignment there."""
    shutil.copy(ROOT / "course/nbgrader_config.py", root)
    stage(root)
    nbgrader(root, "generate_assignment", assignment)


COLLECT = """
import sys
from pathlib import Path
from course.grading.door import Door
from tools.collect import table
for folder in sys.argv[3:] or ["handed-in"]:
    print(table(Door(Path.cwd(), sys.argv[2]).collect(Path.cwd() / folder)))
"""


def collect(root, assignment, *places):
    """Collect what was handed in, or lies in other places; return the table."""
    return python(root, COLLECT, assignment, *places)


SCORES = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///scores.db") as book:
    print(json.dumps({
        each.student.id: [grade.score if grade.auto_score is not None else None
                          for grade in each.notebooks[0].grades]
        for each in book.assignment_submissions(sys.argv[2])
    }))
"""


def scores(root, assignment):
    """Return each student's points, cell by cell, as the gradebook has them."""
    found = json.loads(python(root, SCORES, assignment))
    return {student: tuple(points) for student, points in found.items()}


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
