"""From a download of Canvas's to its gradebook, with the real nbgrader: who gets what."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import students

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

import canvas_grades  # noqa: E402
import grade_demo  # noqa: E402

BIN = ROOT / ".venv-course" / "bin"
PHRASE = "a phrase for this test"
FIRST, SECOND = "01-why-attention", "02-scaled-dot-product"

# What Canvas calls an upload, and which notebook is in it. The newest has the largest number.
UPLOADS = {
    f"doejane_12345_678910_{FIRST}.ipynb": "empty",
    f"doejane_LATE_12345_1000000_{FIRST}-1.ipynb": "perfect",
    "doejane_12345_1000001_homework.ipynb": "endless",
    f"doejane_12346_678912_{FIRST} (1).ipynb": "perfect",
    f"müllerzoë_222_678913_{FIRST}.ipynb": "empty",
    "leeann_333_678914_homework.ipynb": "perfect",
    f"x_222_9999999_555_678916_{FIRST}.ipynb": "perfect",  # a student who named himself x_222-_9...
}
INSIDE = {  # in a zip that a student uploaded
    f"evil_222_9999999_{FIRST}.ipynb": "perfect",
    f"{FIRST}/{FIRST}.ipynb": "loops",
    f"{FIRST}/.ipynb_checkpoints/{FIRST}-checkpoint.ipynb": "empty",
    f"__MACOSX/{FIRST}/._{FIRST}.ipynb": "empty",
}
COLLECTED = {"12345": "perfect", "12346": "perfect", "222": "empty", "444": "loops"}


def nbgrader(root, *arguments):
    """Run one command of nbgrader in a course's folder; return what it said."""
    path = {"PATH": f"{BIN}:/usr/bin:/bin", "ATTNBOOK_CLASS": PHRASE, "HOME": str(root)}
    command = [BIN / "nbgrader", *arguments]
    done = subprocess.run(command, cwd=root, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """Return a course with a release, and a function that says what a made student hands in."""
    root = tmp_path_factory.mktemp("course")
    for name in grade_demo.KEPT:
        found = ROOT / "course" / name
        (shutil.copytree if found.is_dir() else shutil.copy)(found, root / name)
    nbgrader(root, "generate_assignment", FIRST)
    for name in {*UPLOADS.values(), *INSIDE.values()}:
        grade_demo.hand_in(root, name, FIRST, getattr(students, name))
    (root / "submitted").rename(root / "made")
    return root


def made(course, name):
    return (course / "made" / name / FIRST / f"{FIRST}.ipynb").read_bytes()


@pytest.fixture(scope="session")
def collected(course):
    archive = course / "downloaded" / FIRST / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "attention-01_submissions.zip", "w") as file:
        with zipfile.ZipFile(course / "work.zip", "w") as inner:
            for name, what in INSIDE.items():
                inner.writestr(name, made(course, what))
        file.write(course / "work.zip", "roemax_444_678915_work.zip")
        file.writestr("doejane_12345_1000002_figure.png", b"no notebook")
        names = list(UPLOADS)
        for name in names[1:]:
            file.writestr(name, made(course, UPLOADS[name]))
    (archive / names[0]).write_bytes(made(course, UPLOADS[names[0]]))  # one without the zip
    return nbgrader(course, "zip_collect", FIRST)


def test_a_download_of_canvas_is_collected(course, collected):
    found = {path.relative_to(course / "submitted") for path in (course / "submitted").rglob("*.*")}
    assert found == {Path(student, FIRST, f"{FIRST}.ipynb") for student in COLLECTED}
    for student, name in COLLECTED.items():
        handed_in = course / "submitted" / student / FIRST / f"{FIRST}.ipynb"
        assert handed_in.read_bytes() == made(course, name), student


def test_what_is_not_collected_is_named(collected):
    for name in ("leeann_333_678914_homework.ipynb", "x_222_9999999_555", "12345_678910"):
        assert any("Skipped" in line and name in line for line in collected.splitlines()), name


def test_a_download_of_moodle_is_collected(course):
    archive = course / "downloaded" / SECOND / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "Attention-Assignment 2-4711.zip", "w") as file:
        file.writestr(f"Jane Doe_123456_assignsubmission_file_/{SECOND}.ipynb", "one")
        file.writestr(f"Max Roe_123457_assignsubmission_file_{SECOND}(1).ipynb", "two")
    nbgrader(course, "zip_collect", SECOND)
    for student, text in (("123456", "one"), ("123457", "two")):
        path = course / "submitted" / student / SECOND / f"{SECOND}.ipynb"
        assert path.read_text() == text
        shutil.rmtree(path.parents[1])
