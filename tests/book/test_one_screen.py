"""The package in one screen: its code is the chapters', runs, and fails if a function is wrong."""

import ast
import importlib
import re

import pytest

from course.chapters import ROOT, cells, chapters
from course.pages import functions, whiteboard

rooms = importlib.import_module("book._ext.rooms")
PAGE = rooms.filled((ROOT / "book/one-screen.md").read_text(encoding="utf-8"))
BLOCKS = re.findall(r"^```python\n(.+?)^```$", PAGE, re.M | re.S)
DEFINED = {
    each.name for code in BLOCKS for each in ast.parse(code).body if hasattr(each, "decorator_list")
}


def run(wrong=None):
    """Run the page, with one function in place of which stands another."""
    names = {}
    for code in BLOCKS:
        exec(code, names)
        if wrong in names and f"def {wrong}(" in code:
            names[wrong] = louder(names[wrong])
    return names


def louder(function):
    def wrong(*arguments):
        result = function(*arguments)
        return (1.001 * result[0], *result[1:]) if isinstance(result, tuple) else 1.001 * result

    return wrong


def test_the_page_runs_and_what_it_asserts_holds():
    names = run()
    assert len(DEFINED) == 9
    tokens = names["model"].generate(names["tokens"], 1)[-1:]
    assert names["model"].tokenizer.decode(tokens) == "Ann"


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_each_function_is_compared_with_the_package(name):
    with pytest.raises(AssertionError):
        run(wrong=name)


def test_every_cell_with_the_tag_is_shown_and_leads_back_to_its_section():
    shown = [part for name in ("attention", "layer", "decoder") for part in whiteboard(name)]
    tagged = [
        functions(cell["source"])
        for chapter in chapters()
        for cell in cells(chapter.notebook, "code")
        if any(tag.startswith("screen-") for tag in cell["metadata"].get("tags", []))
    ]
    for code in tagged:
        assert any(code in part for part in shown)
        assert code in PAGE
    links = [re.search(r"\]\((sec-[\w-]+)\)", part) for part in shown[::2]]
    assert len(links) == len(tagged) == 9
    assert all(link[1] in {s for c in chapters() for s in c.sections} for link in links)


def test_it_is_short():
    assert sum(code.count("\n") for code in BLOCKS) <= 100
