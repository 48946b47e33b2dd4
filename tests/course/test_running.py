"""The chapters in the environment of readers: they show what they show in the book, and need the
time and memory that the page *Run a class* says.
"""

import json
import re
import statistics
import subprocess

import pytest

from course.chapters import ROOT, chapters
from course.pages import MEASURED, running
from tests.outputs import cells, outputs

TOLD = json.loads(MEASURED.read_text(encoding="utf-8"))
PYTHON = ROOT / ".venv-lab/bin/python"
CHAPTERS = [chapter.name for chapter in chapters()]

every_chapter = pytest.mark.parametrize("name", CHAPTERS)


@pytest.fixture(scope="session")
def measured():
    command = [PYTHON, "-m", "tools", "measure"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(name):
    """Return seconds, most memory and kept memory in MB, as the page says."""
    return TOLD["chapters"][name]


@every_chapter
def test_every_cell_does_what_it_did_for_the_book(name, measured):
    paths = (ROOT / "_build/measured" / f"{name}.ipynb", ROOT / "book" / f"{name}.ipynb")
    now, stored = (cells(path, "code") for path in paths)
    assert [cell["source"] for cell in now] == [cell["source"] for cell in stored]
    for cell, before in zip(now, stored, strict=True):
        assert outputs(cell) == outputs(before)


@every_chapter
def test_a_chapter_needs_the_memory_that_the_page_says(name, measured):
    _, most, kept = measured["chapters"][name]
    assert most == pytest.approx(told(name)[1], rel=0.15)
    # What an allocator gives back differs from run to run: chapter 8 keeps 157 MB or 185.
    assert kept == pytest.approx(told(name)[2], rel=0.25)


@every_chapter
def test_a_chapter_runs_about_as_long_as_the_page_says(name, measured):
    # A slow or busy machine takes longer, but not many times as long.
    seconds = measured["chapters"][name][0]
    assert told(name)[0] / 3 - 1 < seconds < told(name)[0] * 3 + 1


@every_chapter
def test_a_chapter_fits_on_binder(name, measured):
    seconds, most, _ = measured["chapters"][name]
    # A machine that is slower in all chapters says nothing of this one.
    slower = statistics.median(measured["chapters"][each][0] / told(each)[0] for each in CHAPTERS)
    # The last chapter reads and runs a model of 135 million parameters.
    assert seconds <= (90 if name == CHAPTERS[-1] else 60) * max(1, slower)
    assert most <= 1024**3 / 1e6


def test_the_server_needs_the_memory_that_the_page_says(measured):
    assert measured["server"] == pytest.approx(TOLD["server"], rel=0.15)


def test_the_table_has_each_chapter_and_the_class_ran_the_one_that_takes_longest():
    assert list(TOLD["chapters"]) == CHAPTERS
    name, students, cores, seconds, most = TOLD["class"]
    assert name == max(CHAPTERS, key=lambda name: told(name)[0])
    assert 0.7 < seconds * cores / (students * told(name)[0]) < 1.8
    assert most <= 1.02 * students * told(name)[1]


def test_the_sums_on_the_page_are_those_of_its_table():
    table, text = "\n".join(running()).rsplit("\n\n", 1)
    rows = [[int(n) for n in re.findall(r"\d+", row)[-3:]] for row in table.splitlines()[2:]]
    assert rows == [told(name) for name in CHAPTERS]
    kept = TOLD["server"] + sum(row[2] for row in rows)
    longest = max(rows, key=lambda row: row[0])
    most = kept - longest[2] + longest[1]
    assert most < 3000, "the limit of 3 GB that the page advises for all chapters"
    _, students, cores, seconds, together = TOLD["class"]
    sums = [kept / 1000, most / 1000, together / 1000]
    said = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
    numbers = [TOLD["server"], len(rows), students, cores, seconds, *sums]
    assert sorted(said) == pytest.approx(sorted(numbers), abs=0.06)
