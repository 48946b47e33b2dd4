"""What a student's code can do to the machine where the grader is root."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from course.grading import confining
from tests.course.nbgrading import BIN, ROOT, begin_course, nbgrader
from tools import grade_demo, students

ASSIGNMENT = students.ODD_ASSIGNMENT
DEEDS = {
    "interrupt": "import os, signal; os.kill(os.getppid(), signal.SIGINT)",
    "stop": "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)",
    "kill": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "write": "open({gradebook!r}, 'r+b').write(b'20 points')",
    "read": "import os; os.listdir({root!r})",
    "borrow": "import course.grading.judging",
    "fork": "import os, time\nfor _ in range(500):\n    if not os.fork():\n        time.sleep(600)",
}

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="the grader is not root")


@pytest.fixture
def stranger(monkeypatch, tmp_path):
    monkeypatch.setattr(confining, "MASTERS", tmp_path)
    (tmp_path / "gradebook.db").write_text("scores")
    (tmp_path / "gradebook.db").chmod(0o666)  # the folder alone protects it
    found = confining.Stranger(tmp_path)
    yield found
    found.leave()


def run(stranger, command, **more):
    """Run a command of the shell as a student's kernel is run."""
    options = stranger.options(manager := SimpleNamespace(), {"PATH": "/usr/bin:/bin"})
    with open(manager.connection_file, "w") as file:
        file.write("{}")
    os.chmod(manager.connection_file, 0o600)
    return subprocess.Popen(
        ["/bin/sh", "-c", command], text=True, stdout=-1, stderr=-2, **options, **more
    )


@as_root
def test_a_kernel_reads_its_own_files_only(stranger, tmp_path):
    said = run(stranger, f"id -u; cat kernel-*; echo 1 > {tmp_path}/gradebook.db; ls {tmp_path}")
    lines = said.communicate()[0].splitlines()
    assert lines[:1] == [str(stranger.uid)]
    assert "{}" in lines[1]
    assert sum("denied" in line for line in lines) == 2
    assert (tmp_path / "gradebook.db").read_text() == "scores"


@as_root
def test_a_kernel_cannot_signal_the_grader(stranger):
    said = run(stranger, "kill -2 $PPID; kill -19 $PPID; kill -9 $PPID").communicate()[0]
    assert said.count("not permitted") == 3


def alive(uid):
    """Return the processes of a user that are not dead, waiting for their parent."""
    found = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = path.read_text()
            found += [path] if f"Uid:\t{uid}\t" in text and "State:\tZ" not in text else []
    return found


@as_root
def test_what_a_kernel_leaves_behind_is_ended(stranger):
    with run(stranger, "sleep 60 & echo begun; wait", start_new_session=True) as process:
        assert process.stdout.readline() == "begun\n"
        assert len(alive(stranger.uid)) == 2
        stranger.leave()
        assert process.wait(10) == -9
    deadline = time.monotonic() + 10  # a signal is sent at once, and taken when its turn comes
    while alive(stranger.uid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(stranger.uid)
    assert not stranger.home.exists()


def why_not():
    """Say why the course's environment cannot confine kernels on this machine."""
    asks = "from course.grading.confining import why_not; print(why_not() or '')"
    done = subprocess.run(
        [BIN / "python", "-c", asks], cwd=ROOT / "course", capture_output=True, text=True
    )
    return done.stdout.strip() or done.stderr


def test_no_student_s_code_stops_or_changes_the_grading(tmp_path):
    if why_not():
        pytest.skip(why_not())
    begin_course(tmp_path, ASSIGNMENT)
    places = {"root": str(tmp_path), "gradebook": str(tmp_path / "gradebook.db")}

    def doing(deed):
        def make(given):
            first = given.solutions[given.first]
            return {**given.solutions, given.first: f"{first}\n{deed.format(**places)}"}

        return make

    for name, deed in DEEDS.items():
        grade_demo.hand_in(tmp_path, name, ASSIGNMENT, doing(deed))
    tmp_path.chmod(0o755)
    nbgrader(tmp_path, "autograde", ASSIGNMENT)
    for name in DEEDS:
        graded = tmp_path / "autograded" / name / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        found = [
            output["ename"]
            for cell in json.loads(graded.read_text())["cells"]
            for output in cell.get("outputs", [])
            if output["output_type"] == "error"
        ]
        (error,) = found  # of the deed; all tests pass
        assert error in ("PermissionError", "ModuleNotFoundError", "BlockingIOError"), name
