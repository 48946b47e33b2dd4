"""One chapter more, made up and added by the ten lines of CONTRIBUTING, has all others have."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

from course.chapters import ROOT, chapters, drafts
from course.words import say
from tests.course.made_up import TITLE, add_chapter, copy_of_the_repository, run

# What `make measure` does, for the new chapter alone.
MEASURE = """
import json
from course.chapters import chapters
from course.chapters import MEASURED
from tools import measure

told, new = json.loads(MEASURED.read_text()), chapters()[-1]
told["chapters"][new.name] = measure.run(new.notebook)
measure.write(told)
"""
GRADE = """
import json
from pathlib import Path
from tools import grade_demo, students

name = list(students.ASSIGNMENTS)[-1]
made = [(each, name) for each in ("perfect", "slips", "fakes")]
found = grade_demo.play(Path("_build/played").resolve(), made)
print(json.dumps({student: list(got[name].values()) for student, got in found.items()}))
"""


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """Return the new chapter, of a copy of the repository in which its page is executed."""
    chapter = add_chapter(copy_of_the_repository(tmp_path_factory.mktemp("scratch")))
    run(chapter.root, "tools", "notebooks", chapter.notebook)
    run(chapter.root, "tools", "chapter", f"{chapter.number + 1:02}-draft")  # begun, no more
    about = drafts(chapter.root)[0].room / "chapter.toml"  # not yet what its quiz asks
    about.write_text(about.read_text("utf-8").replace("questions = [", 'questions = ["none", '))
    run(chapter.root, "-c", MEASURE, environment=".venv-lab")
    run(chapter.root, "tools", "book")
    return chapter


def test_its_page_is_built_and_listed_and_linked(new):
    site = new.root / "_build/html/book"
    page = (site / f"{new.name}.html").read_text(encoding="utf-8")
    assert TITLE in page
    assert 'id="run"' in page
    before = (site / f"{chapters()[-1].name}.html").read_text(encoding="utf-8")
    assert f'rel="next" href="{new.name}.html"' in before
    for name in ("index", "instructors", "kill-table"):
        assert f'href="{new.name}.html' in (site / f"{name}.html").read_text(encoding="utf-8")
    headed = say("session", number=new.number, title=TITLE).lstrip("# ")
    assert headed in (site / "instructors.html").read_text("utf-8")


@pytest.fixture(scope="module")
def tested(new):
    """Return what pytest tells of the tests of the new chapter and of the draft, run at once."""
    (draft,) = drafts(new.root)
    files = ["tests/book", "tests/package/test_exercises.py", "tests/site"]
    options = [
        "-v",
        "-rfs",
        "-p",
        "no:cacheprovider",
        "-k",
        f"made- or made_up or toc or {draft.name}",
    ]
    return run(new.root, "pytest", *options, *files)


def test_it_is_tested_as_the_others_are(new, tested):
    assert len(re.findall(r"::.*made-.* PASSED", tested)) > 100
    options = ["--nbval", "-o", "addopts=", "-o", "filterwarnings="]
    assert "passed" in run(new.root, "pytest", "-q", "-p", "no:doctest", *options, new.notebook)


def test_a_draft_behind_it_is_built_and_marked_and_no_part_of_the_course(new):
    (draft,) = drafts(new.root)
    site = new.root / "_build/html"
    page = (site / f"book/{draft.name}.html").read_text(encoding="utf-8")
    assert say("draft_means") in page
    assert '<meta name="robots" content="noindex"/>' in page
    for name in ("index", "instructors", "instructors-hub", "kill-table"):
        text = (site / f"book/{name}.html").read_text(encoding="utf-8")
        assert draft.name not in text.partition("<article")[2].partition("</article>")[0]
    assert draft.name not in (site / "sitemap.xml").read_text(encoding="utf-8")


def test_what_holds_of_a_draft_is_tested_and_the_rest_is_skipped_with_the_reason(new, tested):
    (draft,) = drafts(new.root)
    assert len(re.findall(rf"::.*{draft.name}.* PASSED", tested)) > 15
    assert f"{draft.name} is a draft: set draft = false in course/{draft.module}" in tested


def test_it_is_sliced_into_slides(new):
    run(new.root, "tools", "slides", ROOT / "_build/reveal/node_modules/reveal.js")
    decks = {path.stem for path in (new.root / "_build/slides").glob("*.html")}
    assert decks == {"index", *(chapter.name for chapter in chapters(new.root))}
    deck = (new.root / f"_build/slides/{new.name}.html").read_text(encoding="utf-8")
    assert deck.count("<section>") >= 15
    assert f"<h1>{TITLE}</h1>" in deck


def test_its_quiz_becomes_a_package(new):
    run(new.root, "tools", "quizzes", "_build/quizzes", environment=".venv-quiz")
    package = zipfile.ZipFile(new.root / f"_build/quizzes/{new.name}.zip")
    assert any(TITLE.encode() in package.read(name) for name in package.namelist())


def test_its_assignment_is_released_and_graded(new):
    run(new.root, "tools", "assignments", "_build/assignments", environment=".venv-course")
    released = zipfile.ZipFile(new.root / f"_build/assignments/{new.assignment}.zip")
    folder = f"{new.assignment}/"
    assert released.namelist() == [folder, f"{folder}{new.assignment}.ipynb"]
    told = run(new.root, "-c", GRADE, environment=".venv-course")
    assert json.loads(told.splitlines()[-1]) == {
        "perfect": [5, 5, 3, 2, 5],
        "slips": [0, 5, 3, 2, None],
        "fakes": [0, 0, 0, 0, 0],
    }
