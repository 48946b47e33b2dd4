"""What `make chapter` writes and which names it refuses; a course's test_made_up.py builds it."""

import runpy
import shutil
import subprocess
import sys

import nbformat
import numpy as np
import pytest

from course import pages, quiz
from course.chapters import ROOT, Chapter, chapters, chapters_and_drafts
from course.promises import PROMISES, broken, keep
from tests.book.test_claims import closed_names, crowds
from tools import chapter as new
from tools.claims import untied

NEXT = len(chapters_and_drafts()) + 1
NAME = f"{NEXT:02}-begun-by-a-test"  # words that no reader's chapter has


@pytest.fixture
def root(tmp_path):
    """Return a folder with what the tool reads and where it writes: the list, rooms, no pages."""
    for place in ("book", "attnbook/exercises"):
        (tmp_path / place).mkdir(parents=True)
    for place in ["_toc.yml", *(f"course/{c.module}/chapter.toml" for c in chapters_and_drafts())]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, tmp_path / place)
    return tmp_path


@pytest.fixture
def begun(root):
    return new.begin(NAME, root)


def test_a_chapter_that_is_begun_is_a_draft_and_no_chapter(begun, root):
    assert [each.name for each in chapters_and_drafts(root)][-1] == begun.name == NAME
    assert begun.name not in [each.name for each in chapters(root)]
    listed = (root / "_toc.yml").read_text(encoding="utf-8")
    assert listed.replace(f"      - file: book/{NAME}\n", "") == (ROOT / "_toc.yml").read_text()


def test_it_has_every_file_that_a_chapter_has_and_the_table_of_the_course_names_each(begun, root):
    (like, *_) = chapters()
    own = {path.name for path in like.room.glob("*.*")}
    assert {path.name for path in begun.room.iterdir()} == own
    readme = (ROOT / "course/README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in own)
    checkers = sorted(path.name for path in (root / "attnbook/exercises").iterdir())
    assert checkers == [f"{begun.module}.ini", f"{begun.module}.py"]


def test_what_is_written_is_valid_and_agrees(begun):
    for path in (begun.notebook, begun.master):
        nbformat.validate(nbformat.read(path, as_version=4))
    assert [cell.id for cell in nbformat.read(begun.notebook, 4).cells][:2] == ["cell-0", "cell-1"]
    tests = pages.tested(begun)
    assert list(map(len, tests.values())) == [1, 4, 1]
    assert set(pages.ASKED.findall(begun.session)) == set(quiz.read(begun).questions)


@pytest.mark.parametrize("words", ["a", "begun-by-a-test", "a-name-as-long-as-ever-one-was-given"])
def test_its_code_is_in_the_style_of_the_house(root, words):
    new.begin(f"{NEXT:02}-{words}", root)
    ruff = [sys.executable, "-m", "ruff"]
    settings = ["--config", ROOT / "pyproject.toml", "--no-cache", root]
    for command in (["check"], ["format", "--check"]):
        told = subprocess.run([*ruff, *command, *settings], capture_output=True, text=True)
        assert told.returncode == 0, told.stdout


@pytest.mark.english
def test_its_claims_are_tied_and_its_open_cells_stand_by_themselves(begun):
    told = [fault for find in (crowds, untied, closed_names) for fault in find(begun)]
    assert [fault for fault in told if "TODO" not in fault] == []


def test_its_measurement_has_a_number_to_read_off_for_every_class(begun):
    *_, measured = runpy.run_path(str(begun.room / "tasks.py"))["TASKS"].values()
    for number in range(200):
        rng = np.random.default_rng(number)
        arguments, _ = next(iter(measured.cases(rng)))
        assert measured.read(rng, *arguments.values()) > 0


def test_each_gap_is_marked_and_no_name_of_the_template_is_left(begun):
    for path in new.files(begun).values():
        text = path.read_text(encoding="utf-8")
        assert "@" not in text.replace("@BANK", "").replace("@TRUTHS", "").replace(" @ ", "")
        assert "TODO" in text or path.suffix == ".ini", path


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", "no name for a chapter"),
        ("one-number", "no name for a chapter"),
        (f"{NEXT:02}-One", "no name for a chapter"),
        (f"{NEXT:02}-one_number", "no name for a chapter"),
        (
            f"{NEXT + 1:02}-begun-by-a-test",
            f"the next chapter is number {NEXT:02}, not {NEXT + 1:02}",
        ),
        (chapters()[0].name, "is there already"),
        (f"{NEXT:02}-{chapters()[0].name[3:]}", f"{chapters()[0].name} has these words"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_one_that_can(root, name, told):
    before = sorted(root.rglob("*"))
    with pytest.raises(ValueError, match=told) as refused:
        new.begin(name, root)
    assert "make " in str(refused.value)
    assert sorted(root.rglob("*")) == before


def test_files_that_are_there_are_not_overwritten(root):
    path = root / f"book/{NAME}.ipynb"
    path.write_text("mine")
    with pytest.raises(ValueError, match=f"book/{NAME}.ipynb is there, but not in _toc.yml"):
        new.begin(NAME, root)
    assert path.read_text() == "mine"


def test_a_page_without_a_room_is_an_error_that_says_what_to_do(root):
    new.list_in_toc(Chapter(NEXT, NAME, root))
    with pytest.raises(FileNotFoundError, match=f"lists book/{NAME}, .* make chapter NAME={NAME}"):
        chapters(root)


def test_a_room_that_is_no_toml_is_named(begun, root):
    (begun.room / "chapter.toml").write_text("draft = yes")
    with pytest.raises(ValueError, match=f"{begun.module}/chapter.toml: not TOML, mend it"):
        chapters(root)


# Promises


def test_a_promise_that_is_not_kept_is_told_with_where_what_and_what_to_do():
    least = PROMISES["a chapter"]["figures"]["least"]
    keep("10-one-number", "a chapter", "figures", least)
    with pytest.raises(AssertionError) as told:
        keep("10-one-number", "a chapter", "figures", 1)
    assert str(told.value) == (
        f"10-one-number has 1 figure; a chapter promises at least {least} (course/promises.toml): "
        f"draw {least - 1}, or set draft = true in its chapter.toml"
    )


@pytest.mark.parametrize(
    ("whose", "what"),
    [(w, p) for w, found in PROMISES.items() for p, it in found.items() if isinstance(it, dict)],
)
def test_each_promise_can_be_broken_and_says_so(whose, what):
    bounds = PROMISES[whose][what]
    assert bounds.keys() >= {"is", "do"}
    for bound, beyond in (("least", -0.1), ("most", 0.1)):
        if bound in bounds:
            assert broken("here", whose, what, bounds[bound]) == ""
            assert broken("here", whose, what, bounds[bound] + beyond).startswith("here has ")
    assert {"least", "most"} & bounds.keys()
