"""What rides on nbval's run is seen to fail: a number that is tied, and nbval's own outputs."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.chapters import ROOT
from tests.notebooks.riding import SVG, as_stored, section_after
from tools.notebooks import METADATA

TEXT = "# Heads\n\nThere are 3<!-- = len(heads) -->, or {} %<!-- = share -->.\n"
LATER = "## Later\n\nNow there are {}<!-- = len(heads) -->, of {}<!-- = gone -->."
FAULTS = {
    "right": (),
    "another_number": ("68", "86"),
    "a_number_of_the_next_section": ("are 3<", "are 4<"),
    "no_such_name": ("gone -->", "missing -->"),
    "another_output": ("[1, 2, 3]", "[1, 2, 4]"),
    "an_error": ("0.68\\n", "0.68 / 0\\n"),
}


def notebook(path, old="", new=""):
    """Write a notebook of two sections, in which one text stands for another."""
    shown = new_output("stream", name="stdout", text="[1, 2, 3]\n")
    cells = [
        new_markdown_cell(TEXT.format("68"), id="a"),
        new_code_cell(
            "heads, share = [1, 2, 3], 0.68\nprint(heads)",
            id="b",
            outputs=[shown],
            execution_count=1,
        ),
        new_markdown_cell(LATER.format("four", "5"), id="c"),
        new_code_cell("heads.append(4)\ngone = 5", id="d", execution_count=2),
    ]
    text = nbformat.writes(new_notebook(cells=cells, metadata=METADATA))
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Return what failed, of each notebook, in one run of pytest."""
    folder = tmp_path_factory.mktemp("made")
    for name, change in FAULTS.items():
        notebook(folder / f"{name}.ipynb", *change)
    options = [
        "-p",
        "tests.notebooks.riding",
        "--nbval",
        "-q",
        "-p",
        "no:cacheprovider",
        "-rf",
        f"--rootdir={folder}",
    ]
    settings = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, folder],
        env=settings, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    failed = re.findall(r"^FAILED (\w+)\.ipynb::(.+?)(?: - .*)?$", done.stdout, re.M)
    assert re.search(r"\d+ passed", done.stdout), done.stdout
    return {name: [item for of, item in failed if of == name] for name in FAULTS}, done.stdout


def test_a_notebook_whose_numbers_are_computed_passes(outcomes):
    assert outcomes[0]["right"] == []


@pytest.mark.parametrize(
    ("name", "item", "told"),
    [
        ("another_number", "Numbers: Heads", "86 % is tied to share, which gives 68 %"),
        (
            "a_number_of_the_next_section",
            "Numbers: Heads",
            "4 is tied to len(heads), which gives 3",
        ),
        ("no_such_name", "Numbers: Later", "5 is tied to missing, which fails: NameError"),
        ("another_output", "Cell 0", "Cell outputs differ"),
        ("an_error", "Cell 0", "ZeroDivisionError"),
    ],
)
def test_a_fault_is_found_where_it_stands(outcomes, name, item, told):
    failed, printed = outcomes
    assert failed[name][0] == item
    assert told in printed


def test_the_end_of_a_section_is_where_the_next_of_its_level_begins():
    texts = ["(sec-a)=\n## A", "### B", "(sec-c)=\n## C"]
    cells = [new_markdown_cell(text) for text in texts]
    assert section_after("sec-a", cells) == 2
    with pytest.raises(AssertionError, match="sec-b"):
        section_after("sec-b", cells)


@pytest.mark.parametrize(
    ("today", "alike"),
    [
        ("M 12.51 7", True),  # what a float32 differs by
        ("M 12.6 7", False),
        ("M 12.5 7 L 12.5 7", False),
        ("M 12.5 7 m1b2", False),
        ("M 12.5 8", False),
    ],
)
def test_a_drawing_is_another_one_when_that_can_be_seen(today, alike):
    def of(path):
        return {"data": {SVG: f'<path style="fill: #1f77b4" d="{path}"/>'}}

    shown = as_stored([of(today)], [of("M 12.5 7")])
    assert (shown == [of("M 12.5 7")]) == alike
