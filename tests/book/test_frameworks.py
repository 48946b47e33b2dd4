"""*The same in PyTorch and JAX* as files; `make test-frameworks` runs what it shows."""

import ast
import builtins
import importlib
import json
import re
from pathlib import Path

import pytest

from course import frameworks
from course.chapters import ROOT
from course.frameworks import BESIDE, FOLDER, LIBRARIES, PAGE, SEEN, libraries, snippet, things
from tools.pins import PIN

rooms = importlib.import_module("book._ext.rooms")
TEXT = PAGE.read_text(encoding="utf-8")
STORED = json.loads(SEEN.read_text(encoding="utf-8"))
EVERY = [(thing, library) for thing in things() for library in libraries(thing)]


def test_each_folder_is_shown_once_and_has_the_books_lines():
    folders = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
    assert sorted(things()) == [name for name in folders if name != "__pycache__"]
    assert all((FOLDER / thing / "book.py").is_file() for thing in things())


def test_there_are_enough_in_each_library():
    for library in LIBRARIES:
        assert [each for _, each in EVERY].count(library) >= 30
    one = [thing for thing in things() if libraries(thing) == ["torch"]]
    other = [thing for thing in things() if libraries(thing) == ["jax"]]
    assert {*one} == {"rotary_hugging_face", "read_torch", "read_llama", "read_gpt2"}
    assert not other


@pytest.mark.parametrize("thing", things())
def test_a_snippet_has_at_most_twelve_lines(thing):
    for path in (FOLDER / thing).glob("*.py"):
        assert path.read_text(encoding="utf-8").count("\n") <= 12, path.name


@pytest.mark.parametrize("thing", things())
def test_a_thing_has_a_section_with_its_label_and_a_word_on_its_trap(thing):
    label = frameworks.label(thing)
    section = re.search(
        rf"^\({label}\)=\n### .+\n\n(.+)\n\n```\{{rooms\}} frameworks {thing}$", TEXT, re.M
    )
    assert section, f"{PAGE.name} has no section ({label})= that shows {thing}"
    assert "*Trap:*" in section[1]
    assert "→ [](sec-" in section[1]


@pytest.mark.parametrize(("thing", "library"), EVERY)
def test_each_name_that_a_snippet_uses_is_given_or_defined(thing, library):
    tree = ast.parse(snippet(thing, library))
    given = {*frameworks.assigned((FOLDER / "given.py").read_text(encoding="utf-8"))}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and frameworks.stored(node)
    }
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            own |= {(each.asname or each.name).partition(".")[0] for each in node.names}
    known = own | given | {*dir(builtins)} | {*frameworks.needed(thing, library)}
    assert names <= known


def test_the_differences_are_those_of_what_is_shown_in_the_pinned_versions():
    assert {(t, lib) for t, seen in STORED["seen"].items() for lib in seen} == {*EVERY}
    assert all(seen for each in STORED["seen"].values() for seen in each.values())
    pinned = dict(PIN.findall((ROOT / "constraints.txt").read_text(encoding="utf-8")))
    told = "run python -m tools frameworks --write in .venv-frameworks"
    for name, version in STORED["made_with"].items():
        assert version == pinned[name], told


def test_the_line_that_an_error_names_is_the_pages():
    place = frameworks.line("decode")
    name, _, number = place.partition(":")
    assert TEXT.splitlines()[int(number) - 1] == "```{rooms} frameworks decode"
    assert ROOT / name == PAGE


def test_the_page_shows_code_versions_and_differences():
    page = rooms.filled(TEXT)
    for thing, library in EVERY:
        assert snippet(thing, library) in page
        assert snippet(thing, "book") in page
        if (FOLDER / thing / "then.py").is_file():
            assert snippet(thing, "then") in page
    for library, name in LIBRARIES.items():
        tab = f"{{tab}} {name} {STORED['made_with'][library]}"
        assert page.count(tab) == [each for _, each in EVERY].count(library)
    most = STORED["seen"]["attention"]["torch"]
    assert f"at most {most['float64']:.0e} in float64, {most['float32']:.0e} in float32" in page
    assert (FOLDER / "given.py").read_text(encoding="utf-8") in page


def test_a_function_from_elsewhere_is_linked():
    assert frameworks.needed("decoder_layer", "torch") == {
        "rotary_attention": "rotary_attention", "swiglu": "swiglu", "tensors": "parameters",
    }  # fmt: skip
    assert "It calls [`rotary`](same-rotary)." in "\n".join(frameworks.frameworks("rotary_weights"))


def test_speed_is_shown_of_each_size():
    bench = json.loads(frameworks.BENCH.read_text(encoding="utf-8"))
    sizes = {row["what"] for row in bench["rows"] if row["what"].startswith(BESIDE)}
    table = "\n".join(frameworks.frameworks_speed())
    assert table.count("\n| ") == len(sizes) >= 4


def test_other_pages_link_sections_that_are_there():
    labels = {frameworks.label(thing) for thing in things()}
    for path in (ROOT / "book").glob("*.*"):
        if path.suffix in (".md", ".ipynb"):
            asked = re.findall(r"\]\((same-[\w-]+)\)", path.read_text("utf-8"))
            assert {*asked} <= labels | {"same-given"}, Path(path).name
