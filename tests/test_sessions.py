"""The cells that an instructor pastes into a chapter and runs in front of the class."""

import dis
import re

import nbformat
import pytest
from nbclient import NotebookClient
from quiz_text import ROOT
from sessions_text import SNIPPETS

# What a class may say in place of what the page has; the first of a cell is the page's own.
SAID = {
    "our_radius": ["1.1", "0.1", "0.9", "1.5"],
    "may_see": ["None", "causal_mask(12)", "~causal_mask(12)"],
    "our_caption": [
        '"fire on the grass"',
        '"The red boat on the grass shines on the sun the house fire"',
        '"boat"',
    ],
    "our_sentence": ['"a head that counts back"', '"Oh!"', '"Zwölf Boxkämpfer: quer über " * 9'],
}
every_session = pytest.mark.parametrize("name", SNIPPETS)

PASSING = {"fig", "axes", "ax", "_"}  # what every cell that uses them sets anew


def assigned(code):
    """Return the names that a cell gives a value, its functions and imports among them."""
    steps = dis.get_instructions(compile(code, "cell", "exec"))
    return {step.argval for step in steps if step.opname == "STORE_NAME"}


def variants(code):
    """Return the cell with each of the values that a class may say."""
    variable = code.split(" = ")[0]
    first = re.compile(rf"^{variable} = .+?(?=  # )")
    codes = [first.sub(f"{variable} = {value}", code) for value in SAID.get(variable, [])] or [code]
    assert codes[0] == code
    if "our_turn = -1" in code:  # the table's line says: then two back
        codes += [each.replace("our_turn = -1", "our_turn = -2") for each in codes]
    return codes


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

    def run(name):
        if name not in done:
            path = ROOT / f"book/{name}.ipynb"
            notebook = nbformat.read(path, as_version=4)
            cells = notebook.cells
            for each in SNIPPETS[name]:
                cells.insert(end_of(each.section, cells), nbformat.v4.new_code_cell(each.code))
            chapter = len(cells)
            codes = [code for each in SNIPPETS[name] for code in variants(each.code)]
            cells += [nbformat.v4.new_code_cell(code) for code in codes]
            pasted = {each.code for each in SNIPPETS[name]}
            NotebookClient(
                notebook, timeout=120, resources={"metadata": {"path": path.parent}}
            ).execute()
            within = [cell for cell in cells[:chapter] if cell.source in pasted]
            assert len(within) == len(pasted)
            done[name] = [(cell.source, cell.outputs) for cell in [*within, *cells[chapter:]]]
        return done[name]

    return run


def printed(outputs):
    return "".join(out.text for out in outputs if out.get("name") == "stdout")


def drawn(outputs):
    return sum("image/svg+xml" in out.get("data", {}) for out in outputs)


@every_session
def test_each_cell_runs_and_shows_something_whatever_the_class_says(name, shown):
    assert len(shown(name)) > len(SNIPPETS[name])
    for code, outputs in shown(name):
        assert printed(outputs) or drawn(outputs), code
        assert not [out for out in outputs if out.get("name") == "stderr"], code
        assert drawn(outputs) == ("plt." in code), code


@every_session
def test_no_cell_overwrites_what_the_chapter_made(name):
    cells = nbformat.read(ROOT / f"book/{name}.ipynb", as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    made = set().union(*(assigned(source) for source in sources if "%xmode" not in source))
    for each in SNIPPETS[name]:
        assert assigned(each.code)
        assert assigned(each.code) & made <= PASSING


def test_the_derivative_fades_or_grows_as_the_radius_that_is_said(shown):
    norms = {}
    for _, outputs in shown("01-why-attention"):
        radius, norm = re.fullmatch(r"radius (\S+): .+ is (\S+)\n", printed(outputs)).groups()
        norms[float(radius)] = float(norm)
    assert sorted(norms) == [0.1, 0.9, 1.1, 1.5]
    assert norms[0.1] < 1e-50 < norms[0.9] < 1e-2 < 0.1 < norms[1.1] < 50 < norms[1.5]


def test_all_pairs_leak_but_with_the_causal_mask(shown):
    leaks = {}
    for code, outputs in shown("03-self-and-cross"):
        if "may_see" in code:
            mask = re.match(r"may_see = (.+?)  #", code)[1]
            leaks[mask] = printed(outputs)
    assert leaks == {
        "None": "66 of 66 pairs leak\n",
        "causal_mask(12)": "0 of 66 pairs leak\n",
        "~causal_mask(12)": "66 of 66 pairs leak\n",
    }


def test_each_word_of_a_caption_gets_a_picture_once(shown):
    pictures = {}
    for code, outputs in shown("03-self-and-cross"):
        for svg in [out.data["image/svg+xml"] for out in outputs if out.get("data")]:
            pictures[code.split('"')[1]] = re.findall(r"<!-- (\w+): largest weight", svg)
    assert [len(words) for words in pictures.values()] == [4, 9, 1]
    assert set(pictures["fire on the grass"]) == {"fire", "on", "the", "grass"}


def test_the_page_lists_the_words_of_which_a_caption_can_be_made():
    (line,) = [each.sentence for each in SNIPPETS["03-self-and-cross"] if "caption" in each.code]
    chapter = (ROOT / "book/03-self-and-cross.ipynb").read_text(encoding="utf-8")
    words = re.search(r"vocabulary = \[(.+?)\]", chapter)[1].replace("\\", "").replace('"', "")
    assert f"*{words}*" in line


def test_the_built_head_reads_the_letter_that_is_asked_for(shown):
    turns = []
    for code, outputs in shown("05-sinusoidal-encoding"):
        if "our_turn" in code:
            back = int(re.search(r"our_turn = -(\d)", code)[1])
            sentence, read = printed(outputs).removesuffix("\n").split("\n")
            assert read == sentence[0] * back + sentence[:-back]
            turns.append(back)
    assert turns == [1, 1, 1, 1, 2, 2, 2]
