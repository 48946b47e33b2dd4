"""The evidence of the notebooks: checks that can fail, and stand behind the figure they prove."""

import ast
import itertools
import json

import pytest

from course.chapters import chapters, without_comments
from course.checks import checks, is_vacuous, names, tree
from tests.drafts import every

NOTEBOOKS = [path for chapter in chapters() for path in chapter.notebooks]
FRAME = {"fig", "ax", "axes"}  # names that any figure has


def read(path):
    """Return the cells of a notebook, each with its source in one piece and its place."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for i, cell in enumerate(cells):
        cell["source"] = "".join(cell["source"])
        first = cell["source"].partition("\n")[0]
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", first)
        cell["where"] = f"{path.stem}, cell {i} ({name})"
    return cells


def is_code(cell):
    return cell["cell_type"] == "code"


def is_figure(cell):
    kinds = [kind for out in cell.get("outputs", ()) for kind in out.get("data", ())]
    return any(kind.startswith("image/") for kind in kinds)


def is_evidence(cell):
    return "evidence" in cell["metadata"].get("tags", ())


def folds(cell):
    return is_code(cell) and {"evidence", "hide-input"} & {*cell["metadata"].get("tags", ())}


def sound(cell):
    return [check for check in checks(cell["source"]) if not is_vacuous(check)]


def vacuous_checks(cells):
    for cell in filter(is_code, cells):
        for check in filter(is_vacuous, checks(cell["source"])):
            told = (
                "can never fail: compare something that the notebook computes with what it is to be"
            )
            yield f"{cell['where']}: {ast.unparse(check)!r} {told}"


def unproved_figures(cells):
    """Yield each figure that no check of the evidence right behind it is about."""
    nodes = [n for cell in filter(is_code, cells) for n in ast.walk(tree(cell["source"]))]
    imports = [node.names for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    imported = {alias.asname or alias.name for aliases in imports for alias in aliases}
    inside = {node.name: names(node) for node in nodes if isinstance(node, ast.FunctionDef)}
    for i, cell in enumerate(cells):
        if not is_figure(cell):
            continue
        behind = itertools.takewhile(lambda each: folds(each) or is_figure(each), cells[i + 1 :])
        evidence = list(filter(is_evidence, behind))
        drawn = names(tree(cell["source"]))
        drawn = drawn.union(*(inside.get(name, ()) for name in drawn)) - imported - FRAME
        if not evidence:
            yield f"{cell['where']}: put a cell tagged `evidence` right behind it, with its checks"
        elif not any(drawn & names(check) for each in evidence for check in sound(each)):
            told = f"check there what it draws, one of {', '.join(sorted(drawn))}"
            yield f"{cell['where']}: no check in {evidence[0]['where']} is about it; {told}"


def unproved_folds(cells):
    """Yield each cell of evidence that does not say what it shows, and each fold without checks."""
    for folded, run in itertools.groupby(cells, lambda cell: bool(folds(cell))):
        evidence = [cell for cell in run if folded and is_evidence(cell)]
        for cell in evidence:
            if not cell["source"].startswith("# "):
                yield f"{cell['where']}: begin it with a comment that says what it shows"
        if evidence and not any(map(sound, evidence)):
            yield f"{evidence[0]['where']}: nothing is checked in this fold; add an assertion"


def repeated_texts(cells):
    """Yield each alt text and caption that is another figure's."""
    for part, key in (("image", "alt"), ("figure", "caption")):
        places = {}
        for cell in cells:
            text = cell["metadata"].get("mystnb", {}).get(part, {}).get(key)
            if text:
                places.setdefault(without_comments(text), []).append(cell["where"])
        for text, found in places.items():
            if len(found) > 1:
                told = f"the same {key}, {text[:60]!r}: write each its own"
                yield f"{' and '.join(found)} have {told}"


FAULTS = [vacuous_checks, unproved_figures, unproved_folds]


@pytest.mark.parametrize("faults", FAULTS, ids=lambda faults: faults.__name__)
@pytest.mark.parametrize("notebook", every(lambda each: each.notebooks), ids=lambda path: path.stem)
def test_what_is_shown_is_proved(notebook, faults):
    if found := list(faults(read(notebook))):
        pytest.fail("\n".join(found), pytrace=False)


def test_no_two_figures_say_the_same():
    assert list(repeated_texts(itertools.chain(*map(read, NOTEBOOKS)))) == []


@pytest.mark.parametrize(
    ("check", "vacuous"),
    [
        ("assert True", True), ("assert 1", True), ("assert 2 == 2", True), ("assert not 0", True),
        ("assert w == w", True), ("assert (w == w).all()", True), ("assert w > 1 or True", True),
        ("assert len([1]) == 1", True), ("assert (w > 1, 'a text')", True),
        ("assert np.allclose(w, w)", True), ("assert np.allclose(1, 1.0)", True),
        ("np.testing.assert_allclose(1.0, 1)", True), ("np.testing.assert_equal(w, w)", True),
        ("assert w == 2", False), ("assert (w > 0.9).all()", False), ("assert kept", False),
        ("assert np.allclose(w.sum(axis=-1), 1)", False), ("assert 0 < w < 1", False),
        ("np.testing.assert_allclose(w, 1)", False), ("assert all(a < b for a in w)", False),
        ("because(w, 2, 3, line=2)", False), ("because(w, v, w, line=2)", True),
        ("because(1, 2, 3, line=2)", True), ("because(w, v, u, line=2)", False),
        ("assert np.exp([5, 10]).round().tolist() == [148, 22026]", False),
    ],
)  # fmt: skip
def test_a_check_that_cannot_fail_is_told_from_one_that_can(check, vacuous):
    cells = [{"cell_type": "code", "source": f"w = 1\n{check}", "where": "here", "metadata": {}}]
    assert bool(list(vacuous_checks(cells))) == vacuous


def made_up(*kinds):
    """Return cells: a letter is the kind of each, and the rest its source."""
    svg = [{"data": {"image/svg+xml": "<svg>"}}]
    cells = [{"cell_type": "code", "source": "import numpy as np", "metadata": {}, "where": "top"}]
    for kind in kinds:
        tags = {"E": ["evidence"], "F": ["hide-input"]}.get(kind[0], [])
        cell = {"cell_type": "markdown" if kind[0] == "M" else "code", "source": kind[2:]}
        cells.append(cell | {"metadata": {"tags": tags}, "outputs": svg if kind[0] == "F" else []})
        cells[-1]["where"] = f"cell {len(cells) - 1}"
    return cells


DRAWN = "F ax.plot(w)"
PROOF = "E # it grows\nassert w > 1"


@pytest.mark.parametrize(
    ("faults", "cells", "told"),
    [
        (unproved_figures, [DRAWN, PROOF], ""),
        (unproved_figures, [DRAWN, "F ax.plot(v)", "E # it grows\nassert w > v"], ""),
        (unproved_figures, [DRAWN, "E # it grows\nv = w", PROOF], ""),
        (unproved_figures, [DRAWN], "cell 1: put a cell tagged `evidence` right behind it"),
        (unproved_figures, [DRAWN, "M text", PROOF], "cell 1: put a cell tagged `evidence`"),
        (unproved_figures, [DRAWN, "C assert w > 1", PROOF], "cell 1: put a cell tagged"),
        (unproved_figures, [PROOF, DRAWN], "cell 2: put a cell tagged"),
        (
            unproved_figures,
            [DRAWN, "F ax.plot(v)", PROOF],
            "cell 2: no check in cell 3 is about it",
        ),
        (unproved_figures, [DRAWN, "E # it grows\nassert w == w"], "cell 1: no check in cell 2"),
        (
            unproved_figures,
            ["F ax.plot(np.ones(3))", "E # a\nassert np.ones(3) is ax"],
            "cell 1: no check",
        ),
        (unproved_figures, [DRAWN, "E # v\nv = 2 * w", "F ax.plot(v)", PROOF + " > v"], ""),
        (unproved_figures, ["C def draw():\n    ax.plot(w)", "F draw()", PROOF], ""),
        (unproved_folds, [DRAWN, PROOF, "M text", DRAWN], ""),
        (unproved_folds, ["E # a table\nprint(w)", DRAWN, PROOF], ""),
        (unproved_folds, ["E assert w > 1"], "cell 1: begin it with a comment"),
        (unproved_folds, ["E # it grows\nprint(w)", "M text", PROOF], "cell 1: nothing is checked"),
        (unproved_folds, ["E # it grows\nassert True"], "cell 1: nothing is checked in this fold"),
    ],
)
def test_what_is_not_proved_is_named(faults, cells, told):
    found = "\n".join(faults(made_up(*cells)))
    assert found.startswith(told) if told else not found


def test_two_figures_of_one_alt_text_are_named():
    about = {"mystnb": {"image": {"alt": "A line."}}}
    cells = [{"metadata": about, "where": "one"}, {"metadata": about, "where": "two"}]
    (told,) = repeated_texts(cells)
    assert told == "one and two have the same alt, 'A line.': write each its own"
