"""The cells that an instructor pastes into a chapter: what they leave as it was.

That they run and show what the plan promises is seen in nbval's run of the chapter: `riding`.
"""

import dis
import re

import nbformat
import pytest

from course.chapters import chapters
from course.truths import snippets
from tests.notebooks.riding import variants

CHAPTERS = [chapter for chapter in chapters() if snippets(chapter)]
PASSING = {"fig", "axes", "ax", "_"}  # what every cell that uses them sets anew


def assigned(code):
    """Return the names that a cell gives a value, its functions and imports among them."""
    steps = dis.get_instructions(compile(code, "cell", "exec"))
    return {step.argval for step in steps if step.opname == "STORE_NAME"}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_no_cell_overwrites_what_the_chapter_made(chapter):
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    python = [source for source in sources if not re.search(r"^ *%", source, re.M)]
    made = set().union(*map(assigned, python))
    for each in snippets(chapter):
        assert assigned(each.code)
        assert assigned(each.code) & made <= PASSING


def test_what_the_cells_show_is_checked():
    checks = [check for chapter in CHAPTERS for check in chapter.part("truths").TRUTHS.session]
    assert len(checks) >= 5


def test_a_value_that_is_not_the_cell_s_own_is_refused():
    assert variants("n = 1  # say one", {"n": ["1", "2"]}) == [
        "n = 1  # say one",
        "n = 2  # say one",
    ]
    with pytest.raises(ValueError, match="not those of the cell"):
        variants("n = 1  # say one", {"n": ["2"]})
