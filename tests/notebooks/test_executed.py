"""What says how old the stored outputs of a notebook are."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import notebooks
from tools.notebooks import code_of, made_of, old_outputs, record


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A package of one module, its pins, and one chapter."""
    module = '"""Doubles."""\n\n\ndef double(x):\n    """Return twice x."""\n    return 2 * x\n'
    files = {"attnbook/double.py": module, "constraints.txt": "numpy==2.0\npytest==9.0\n"}
    files["attnbook/exercises/ch02_other.py"] = "ONE = 1\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    cells = [new_markdown_cell("Twice.", id="a"), new_code_cell("double(2)", id="b")]
    (tmp_path / "book").mkdir()
    path = tmp_path / "book/01-double.ipynb"
    nbformat.write(new_notebook(cells=cells), path)

    class Chapter:
        notebooks = (path,)

    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "book/executed.json")
    monkeypatch.setattr(notebooks, "chapters", lambda: [Chapter])
    return tmp_path, path


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    code_of.cache_clear()


def test_a_notebook_that_was_never_executed_is_told(house):
    assert old_outputs() == {"01-double": "an unknown day"}


def test_what_was_executed_is_kept_once(house):
    record(house[1])
    kept = notebooks.EXECUTED.read_text(encoding="utf-8")
    assert old_outputs() == {}
    change(notebooks.EXECUTED, json.loads(kept)["01-double"]["on"], "2026-01-02")
    record(house[1])  # with the same: its day stays
    assert json.loads(notebooks.EXECUTED.read_text())["01-double"]["on"] == "2026-01-02"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attnbook/double.py", "2 * x", "x + x"),
        ("constraints.txt", "numpy==2.0", "numpy==2.1"),
        ("book/01-double.ipynb", "double(2)", "double(3)"),
    ],
)
def test_other_code_another_package_or_another_pin_make_outputs_old(house, name, old, new):
    record(house[1])
    day = json.loads(notebooks.EXECUTED.read_text(encoding="utf-8"))["01-double"]["on"]
    change(house[0] / name, old, new)
    assert old_outputs() == {"01-double": day}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attnbook/double.py", "Return twice x.", "Double it.\n\n    It is easy."),
        ("attnbook/double.py", "    return", "    # why\n\n    return"),
        ("attnbook/exercises/ch02_other.py", "1", "2"),
        ("constraints.txt", "pytest==9.0", "pytest==9.1"),
        ("book/01-double.ipynb", "Twice.", "Two times."),
    ],
)
def test_words_and_what_another_chapter_needs_do_not(house, name, old, new):
    before = made_of(house[1])
    change(house[0] / name, old, new)
    assert made_of(house[1]) == before
