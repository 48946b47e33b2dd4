"""A course in an empty folder, and the real nbgrader's commands in it."""

from __future__ import annotations

import shutil
import subprocess

from course.chapters import ROOT
from tools.assignments import stage

BIN = ROOT / ".venv-course" / "bin"
PHRASE = "a phrase for this test"


def nbgrader(root, *arguments, phrase=PHRASE, fails=False):
    """Run one command of nbgrader in a course's folder; return what it said."""
    # The environment has one checkout on its path, which may be another: this one comes before.
    path = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(root)}
    path |= {"ATTNBOOK_CLASS": phrase}
    command = [BIN / "nbgrader", *arguments]
    done = subprocess.run(command, cwd=root, env=path, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def begin_course(root, assignment):
    """Copy what a course is made of into a folder, and release one assignment there."""
    shutil.copy(ROOT / "course/nbgrader_config.py", root)
    stage(root)
    nbgrader(root, "generate_assignment", assignment)
