"""The cells that an instructor pastes into a chapter and runs in front of the class."""

import dis
import itertools
import re

import nbformat
import pytest

from course.chapters import chapters
from course.truths import pictures, printed, snippets
from tools.notebooks import client_of

CHAPTERS = [chapter for chapter in chapters() if snippets(chapter)]
CHECKS = [
    (chapter, check) for chapter in CHAPTERS for check in chapter.part("truths").TRUTHS.session
]

every_session = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)

PASSING = {"fig", "axes", "ax", "_"}  # what every cell that uses them sets anew


def variants(code: str, said: dict[str, list[str]]) -> list[str]:
    """Return a cell with each value that a class may say; the first is the one it has."""
    codes = [code]
    for variable, values in said.items():
        line = re.compile(rf"^{variable} = .+?(?=  # )", re.M)
        if line.search(code):
            every = itertools.product(codes, values)
            codes = [line.sub(f"{variable} = {value}", each) for each, value in every]
    if codes[0] != code:
        raise ValueError(f"the first values that are said are not those of the cell:\n{code}")
    return codes


def assigned(code):
    """Return the names that a cell gives a value, its functions and imports among them."""
    steps = dis.get_instructions(compile(code, "cell", "exec"))
    return {step.argval for step in steps if step.opname == "STORE_NAME"}


def end_of(section, cells):
    """Return the number of the cell with which the next section begins."""
    begins = [i for i, cell in enumerate(cells) if f"({section})=\n## " in cell.source]
    assert len(begins) == 1
    return next(i for i in range(begins[0] + 1, len(cells)) if "\n## " in "\n" + cells[i].source)


@pytest.fixture(scope="module")
def shown():
    """Run a chapter with the cells in it; return what each variant of each cell has shown.

    Each stands at the end of its section, as in a run from top to bottom, where no later cell may
    stumble over it; with every value it stands at the end, as after *Run All Cells*.
    """
    done = {}

    def run(chapter):
        if chapter not in done:
            client = client_of(chapter.notebook, timeout=120)
            cells, said = client.nb.cells, chapter.part("truths").TRUTHS.said
            for each in snippets(chapter):
                cells.insert(end_of(each.section, cells), nbformat.v4.new_code_cell(each.code))
            length = len(cells)
            codes = [code for each in snippets(chapter) for code in variants(each.code, said)]
            cells += [nbformat.v4.new_code_cell(code) for code in codes]
            pasted = {each.code for each in snippets(chapter)}
            client.execute()
            within = [cell for cell in cells[:length] if cell.source in pasted]
            assert len(within) == len(pasted)
            done[chapter] = [(cell.source, cell.outputs) for cell in [*within, *cells[length:]]]
        return done[chapter]

    return run


@every_session
def test_each_cell_runs_and_shows_something_whatever_the_class_says(chapter, shown):
    assert len(shown(chapter)) > len(snippets(chapter))
    for code, outputs in shown(chapter):
        assert printed(outputs) or pictures(outputs), code
        assert not [out for out in outputs if out.get("name") == "stderr"], code
        assert len(pictures(outputs)) == ("plt." in code), code


@every_session
def test_no_cell_overwrites_what_the_chapter_made(chapter):
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    python = [source for source in sources if not re.search(r"^ *%", source, re.M)]
    made = set().union(*map(assigned, python))
    for each in snippets(chapter):
        assert assigned(each.code)
        assert assigned(each.code) & made <= PASSING


def test_what_the_cells_show_is_checked():
    assert len(CHECKS) >= 5


@pytest.mark.parametrize(
    ("chapter", "check"), [pytest.param(*found, id=found[1].__name__) for found in CHECKS]
)
def test_the_cells_show_what_the_plan_promises(chapter, check, shown):
    check(shown(chapter))


def test_a_value_that_is_not_the_cell_s_own_is_refused():
    assert variants("n = 1  # say one", {"n": ["1", "2"]}) == [
        "n = 1  # say one",
        "n = 2  # say one",
    ]
    with pytest.raises(ValueError, match="not those of the cell"):
        variants("n = 1  # say one", {"n": ["2"]})
