"""One chapter more, made up and added by the ten lines of CONTRIBUTING, has all others have."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile

import pytest

from course.chapters import ROOT, chapters
from tests.course.made_up import TITLE, add_chapter, copy_of_the_repository

# What `make measure` does, for the new chapter alone.
MEASURE = """
import json
from course.chapters import chapters
from course.pages import MEASURED
from tools import measure

told, new = json.loads(MEASURED.read_text()), chapters()[-1]
told["chapters"][new.name] = measure.run(new.notebook)
measure.write(told)
"""
GRADE = """
import json
from pathlib import Path
from tools import grade_demo, students

name, asked = list(students.ASSIGNMENTS.items())[-1]
students.ASSIGNMENTS = {name: asked}
made = {each: students.STUDENTS[each] for each in ("perfect", "loops", "fakes")}
found = grade_demo.play(Path("_build/played").resolve(), made)
print(json.dumps({student: list(got[name].values()) for student, got in found.items()}))
"""


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """Return the new chapter, of a copy of the repository in which its page is executed."""
    chapter = add_chapter(copy_of_the_repository(tmp_path_factory.mktemp("scratch")))
    run(chapter, "tools", "notebooks", chapter.notebook)
    # The other chapters are executed elsewhere; here all show what is stored.
    settings = chapter.root / "_config.yml"
    text = settings.read_text(encoding="utf-8")
    assert "execute_notebooks: cache" in text
    settings.write_text(text.replace("execute_notebooks: cache", 'execute_notebooks: "off"'))
    run(chapter, "-c", MEASURE)
    run(chapter, "tools", "kill_table")
    run(chapter, "tools", "book")
    return chapter


def run(chapter, *module, environment=".venv"):
    """Run a module of Python's in the copy, with an environment of this checkout."""
    # The environments have this checkout on their path: what stands here comes before.
    settings = os.environ | {"PYTHONPATH": str(chapter.root), "PHRASE": "made up"}
    settings.pop("ATTNBOOK_CLASS", None)
    command = [ROOT / environment / "bin/python", "-m", *module]
    if module[0] == "-c":
        command.remove("-m")
    done = subprocess.run(command, cwd=chapter.root, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_its_page_is_built_and_listed_and_linked(new):
    site = new.root / "_build/html/book"
    page = (site / f"{new.name}.html").read_text(encoding="utf-8")
    assert TITLE in page
    assert "Run this chapter" in page
    before = (site / f"{chapters()[-1].name}.html").read_text(encoding="utf-8")
    assert f'rel="next" href="{new.name}.html"' in before
    for name in ("index", "instructors", "kill-table"):
        assert f'href="{new.name}.html' in (site / f"{name}.html").read_text(encoding="utf-8")
    assert f"Session {new.number}: {TITLE}" in (site / "instructors.html").read_text("utf-8")


def test_it_is_tested_as_the_others_are(new):
    files = ["tests/book", "tests/package/test_exercises.py", "tests/site"]
    told = run(
        new, "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-k", "made or toc", *files
    )
    assert int(re.search(r"(\d+) passed", told)[1]) > 100
    options = ["--nbval", "-o", "addopts=", "-o", "filterwarnings="]
    assert "passed" in run(new, "pytest", "-q", "-p", "no:doctest", *options, new.notebook)


def test_it_is_sliced_into_slides(new):
    run(new, "tools", "slides", ROOT / "_build/reveal/node_modules/reveal.js")
    deck = (new.root / f"_build/slides/{new.name}.html").read_text(encoding="utf-8")
    assert deck.count("<section>") >= 15
    assert f"<h1>{TITLE}</h1>" in deck


def test_its_quiz_becomes_a_package(new):
    run(new, "tools", "quizzes", "_build/quizzes", environment=".venv-quiz")
    package = zipfile.ZipFile(new.root / f"_build/quizzes/{new.name}.zip")
    assert any(TITLE.encode() in package.read(name) for name in package.namelist())


def test_its_assignment_is_released_and_graded(new):
    run(new, "tools", "assignments", "_build/assignments", environment=".venv-course")
    released = zipfile.ZipFile(new.root / f"_build/assignments/{new.assignment}.zip")
    assert released.namelist() == [f"{new.assignment}/{new.assignment}.ipynb"]
    told = run(new, "-c", GRADE, environment=".venv-course")
    assert json.loads(told.splitlines()[-1]) == {
        "perfect": [4, 2, 4, 3, 2, 5],
        "loops": [4, 0, 4, 3, 2, None],
        "fakes": [0, 0, 0, 0, 0, 0],
    }
