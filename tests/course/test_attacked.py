"""One round of nbgrader with all who attack the door at once, beside three honest students."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
from pathlib import Path

import pytest

from tests.course import attacks
from tests.course.attacks import ASSIGNMENT, HONEST, NOTEBOOK
from tests.course.nbgrading import PHRASE, begin_course, collect, nbgrader, needs_sandbox, scores
from tools.students import FULL

ROW = re.compile(r"(?m)^(.*?)  +(REFUSED|collected|as before|kept|left out) +(.*)$")
LET_IN = [name for name, (_, why) in attacks.notebooks().items() if why is None]
UPLOADED = {100 + i: what for i, what in enumerate(attacks.uploads().values())}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Play the round; return its folder, the table, and the users of the shared folder."""
    needs_sandbox()
    root = tmp_path_factory.mktemp("course")
    for name in ("tmp", "inbound"):
        (root / name).mkdir()
    (root / "class-phrase.txt").write_text(PHRASE)
    (root / "class-phrase.txt").chmod(0o600)
    begin_course(root, ASSIGNMENT)
    attacks.lay_download(root / "submissions.zip")
    with contextlib.chdir(root):
        attacks.lay_by_hand(root / "by-hand")
    (root / "by-hand" / "two-names" / NOTEBOOK).unlink()  # the first honest one's, too
    release = json.loads((root / "release" / ASSIGNMENT / NOTEBOOK).read_text())
    for name in HONEST:
        attacks.put(root / "by-hand" / name / NOTEBOOK, attacks.handed_in(release))
    places, users = ["by-hand", "submissions.zip"], []
    if os.geteuid() == 0:  # who alone can be several users
        (root / "inbound").chmod(0o1733)
        users = attacks.lay_shared(root / "inbound", root / "class-phrase.txt")
        places.append("inbound")
    table = collect(root, ASSIGNMENT, *places)
    nbgrader(root, "autograde", ASSIGNMENT)
    nbgrader(root, "generate_feedback", ASSIGNMENT, "--student=beside")
    nbgrader(root, "export", "--to", str(root / "grades.csv"))
    return root, table, users


def rows(played):
    """Return the lines of the table, cut into their columns."""
    return [found.groups() for found in ROW.finditer(played[1])]


def graded(played):
    """Return whose work must be graded: the honest ones', and what is no more than its answers."""
    _, _, users = played
    uploaded = {str(number) for number, (*_, why) in UPLOADED.items() if why is None}
    return {*HONEST, *LET_IN, "beside", *"123", *uploaded, *users[1:2], *users[3:]}


def test_the_honest_have_their_points_and_so_has_who_lays_something_beside(played):
    found = {student: points[:4] for student, points in scores(played[0], ASSIGNMENT).items()}
    assert found == dict.fromkeys(graded(played), FULL)


def test_the_teacher_sees_a_line_for_each_with_the_reason_in_plain_letters(played):
    assert all(line.isprintable() for line in played[1].splitlines())
    found = rows(played)
    assert len(found) + 2 * (2 + bool(played[2])) == len(played[1].splitlines())
    told = {file.split("/")[0]: (what, file) for _, what, file in found}
    for name, (_, why) in attacks.notebooks().items():
        assert told[name][0] == ("REFUSED" if why else "collected")
        assert (why or "") in told[name][1]
    for name in HONEST:
        assert told[name][1].endswith(f"{name}/{NOTEBOOK}")  # and no more is said
    by_student = {student: (what, file) for student, what, file in found}
    for number, (*_, why) in UPLOADED.items():
        what, file = by_student[str(number)]
        assert (what, (why or "") in file) == ("REFUSED" if why else "collected", True)
    assert {s for s, what, _ in found if what == "collected"} == graded(played)


def test_what_was_laid_beside_is_nowhere_and_no_secret_was_read(played):
    root = played[0]
    for folder in ("submitted", "autograded", "feedback"):
        files = [path for path in (root / folder).rglob("*") if not path.is_dir()]
        assert files
        assert {path.name for path in files} <= {
            NOTEBOOK, f"{ASSIGNMENT}.html", "timestamp.txt", "submission_secret.txt"
        }  # fmt: skip
        assert not any(path.is_symlink() for path in files)
        assert not any(PHRASE in path.read_text() for path in files)


def test_the_scores_that_are_exported_are_of_names_and_no_formulas(played):
    with open(played[0] / "grades.csv", newline="") as file:
        exported = list(csv.DictReader(file))
    assert {row["student_id"] for row in exported} == graded(played)
    assert {float(row["score"]) for row in exported} == {sum(FULL)}
    assert all(re.fullmatch(r"[\w.-]*", row["student_id"], re.A) for row in exported)


def test_nothing_is_left_on_the_machine(played):
    root, _, _ = played
    assert list((root / "tmp").iterdir()) == []  # where the sockets' folders were
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert os.fsencode(root) not in path.read_bytes()
    assert not (root.parent / NOTEBOOK).exists()  # what climbs out of a zip
