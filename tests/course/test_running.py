"""What the page *Run a class* says of time and memory, and the tool that measures it.

What a chapter needs today is not measured here: the run of the notebooks holds its memory against
the table, and seconds are measured by `make measure` alone, which names its machine.
"""

import json
import re
import subprocess

import nbformat
import pytest

from course.chapters import MEASURED, ROOT, chapters
from course.pages import running

TOLD = json.loads(MEASURED.read_text(encoding="utf-8"))
CHAPTERS = [chapter.name for chapter in chapters()]
PYTHON = ROOT / ".venv-lab/bin/python"
MEASURES = """
import json, sys
from pathlib import Path
from tools import measure
chapters = [measure.run(Path(path)) for path in sys.argv[1:]]
print(json.dumps([*chapters, measure.server(), measure.machine()]))
"""
# Two seconds of work; 200 MB for a moment, 100 MB to the end.
WORKS = """
import time
while time.process_time() < 2:
    pass
"""
ALLOCATES = (
    """
import numpy as np
passing = np.ones(25_000_000)
del passing
""",
    "kept = np.ones(12_500_000)",
)


def told(name):
    """Return seconds, most memory and kept memory in MB, as the page says."""
    return TOLD["chapters"][name]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_fits_on_binder(name):
    seconds, most, kept = told(name)
    # The last chapter reads and runs a model of 135 million parameters.
    assert 0 < seconds <= (90 if name == CHAPTERS[-1] else 60)
    assert kept <= most <= 1024**3 / 1e6


def test_the_table_has_each_chapter_and_the_class_ran_the_one_that_takes_longest():
    assert list(TOLD["chapters"]) == CHAPTERS
    name, students, seconds, most = TOLD["class"]
    assert name == max(CHAPTERS, key=lambda name: told(name)[0])
    assert 0.7 < seconds * TOLD["machine"]["cores"] / (students * told(name)[0]) < 1.8
    assert most <= 1.02 * students * told(name)[1]


def test_a_class_comes_near_the_sum_of_its_peaks():
    name, students, _, together = TOLD["class"]
    assert together > 0.9 * students * told(name)[1]


def test_a_chapter_takes_far_longer_to_read_than_to_run():
    assert all(60 * chapter.about["minutes"] > 20 * told(chapter.name)[0] for chapter in chapters())


def test_the_sums_on_the_page_are_those_of_its_table():
    table, text, machine = "\n".join(running()).rsplit("\n\n", 2)
    rows = [[int(n) for n in re.findall(r"\d+", row)[-3:]] for row in table.splitlines()[2:]]
    assert rows == [told(name) for name in CHAPTERS]
    kept = TOLD["server"] + sum(row[2] for row in rows)
    longest = max(rows, key=lambda row: row[0])
    most = kept - longest[2] + longest[1]
    assert most < 3000, "the limit of 3 GB that the page advises for all chapters"
    _, students, seconds, together = TOLD["class"]
    sums = [kept / 1000, most / 1000, together / 1000]
    said = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
    numbers = [TOLD["server"], len(rows), students, TOLD["machine"]["cores"], seconds, *sums]
    assert sorted(said) == pytest.approx(sorted(numbers), abs=0.06)
    assert all(str(value) in machine for value in TOLD["machine"].values())


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a notebook of two cells and one that does nothing, a server, and the machine."""
    folder, paths = tmp_path_factory.mktemp("notebooks"), []
    for name, sources in (("works", (WORKS, *ALLOCATES)), ("idle", ("import numpy as np",))):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        paths.append(folder / f"{name}.ipynb")
        nbformat.write(nbformat.v4.new_notebook(cells=cells), paths[-1])
    command = [PYTHON, "-c", MEASURES, *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_memory_that_is_measured_is_what_a_notebook_allocates(measured):
    (_, most, kept), (_, idle, _), *_ = measured
    assert most - idle == pytest.approx(200, abs=20)
    assert most - kept == pytest.approx(100, abs=20)


def test_the_seconds_that_are_measured_are_those_of_a_processor(measured):
    assert measured[0][0] >= 2


def test_the_server_needs_about_the_memory_that_the_page_says(measured):
    assert TOLD["server"] / 2 < measured[2] < TOLD["server"] * 2


def test_the_machine_is_named_with_its_cores_and_memory(measured):
    assert measured[3].keys() == TOLD["machine"].keys()
    assert all(measured[3].values())
