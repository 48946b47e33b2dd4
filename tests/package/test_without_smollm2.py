"""Cells that need SmolLM2, where it is not installed: they say so, and all others run."""

import ast
import importlib.util
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from attnbook import _without_smollm2 as without_smollm2
from attnbook._without_smollm2 import NeedsSmolLM2
from attnbook.pretrained.smollm2 import MISSING


def skipped(*cells):
    """Return which of some cells, one after another, need the model."""
    looks = NeedsSmolLM2()
    return [ast.unparse(looks.visit(ast.parse(cell))) == f"print({MISSING!r})" for cell in cells]


@pytest.mark.parametrize(
    "cell",
    ["smollm2.load()", "model = pretrained.smollm2.load()", "print(smollm2.load().layers[0])"],
)
def test_a_cell_that_loads_the_model_needs_it(cell):
    assert skipped(cell) == [True]


@pytest.mark.parametrize(
    "cell",
    [
        "from attnbook.pretrained import smollm2",
        "model = smollm2.load('a file of my own')",
        "model = smollm2.load(path=mine)",
        "smollm2.tokens('a'), smollm2.norm(18), storyteller.load(), load()",
    ],
)
def test_a_cell_that_does_not_load_it_does_not(cell):
    assert skipped(cell) == [False]


@pytest.mark.parametrize(
    "gives",
    [
        "it = model.final_norm",
        "a, (b, it) = 1, model",
        "def it(): return model",
        "class it: own = model",
        "import numpy as it; model",
        "for it in model: pass",
        "with model as it: pass",
    ],
)
def test_what_such_a_cell_names_is_missing_later(gives):
    cells = ["model = smollm2.load()", "x = 1", gives, "print(it)", "print(x)"]
    assert skipped(*cells) == [True, False, True, True, False]


def test_a_name_that_another_cell_gives_a_value_is_no_longer_missing():
    assert skipped("a = smollm2.load()", "print(a)", "a = 5\nprint(a)", "print(a)") == [
        True,
        True,
        False,
        False,
    ]


def test_names_that_a_cell_has_to_itself_are_not_those_of_others():
    cells = "[w for w in smollm2.load()]", "print([w for w in 'abc'])", "f = lambda w: w + 1"
    assert skipped(*cells) == [True, False, False]


@pytest.mark.parametrize("spec", [None, "there"])
def test_the_extension_looks_only_where_the_model_is_missing(spec, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    shell = SimpleNamespace(ast_transformers=[other := object()])
    for _ in range(2):
        without_smollm2.load_ipython_extension(shell)
    assert len(shell.ast_transformers) == (2 if spec is None else 1)
    without_smollm2.unload_ipython_extension(shell)
    assert shell.ast_transformers == [other]


def test_ipython_prints_the_line_in_place_of_the_cell(monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if "llm" in name else find(name, *a)
    )
    shell = InteractiveShell()
    shell.run_cell("%load_ext attnbook._without_smollm2")
    capsys.readouterr()
    for cell in ("from attnbook.pretrained import smollm2", "model = smollm2.load()", "1 / model"):
        assert shell.run_cell(cell).success
    assert capsys.readouterr().out.splitlines() == [MISSING, MISSING]
