"""The modules as a picture of who imports whom: arrows point down, and none leads back."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter

import pytest

from course.chapters import ROOT

# From the ground up: a module may import from its own floor and from those below.
FLOORS = ["attnbook", "course", "tools", "book", "tests"]
PATHS = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for floor in FLOORS
    for path in sorted((ROOT / floor).rglob("*.py"))
}
MODULES = {name.removesuffix(".__init__"): path for name, path in PATHS.items()}


@cache
def tree(name):
    """Return the syntax of a module."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def imports(name):
    """Return the modules of ours that a module imports, at its top or within a function."""
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports from a place relative to its own"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {node.module}
    local = {f"book._ext.{each}" for each in found} & MODULES.keys()  # as Sphinx finds them
    return (found & MODULES.keys()) | local


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_from_its_floor_or_below(name):
    floor = FLOORS.index(name.partition(".")[0])
    above = [each for each in imports(name) if FLOORS.index(each.partition(".")[0]) > floor]
    assert above == []


def test_no_circle_is_left():
    graph = {name: imports(name) for name in MODULES}
    assert len(graph) > 80
    assert sum(map(len, graph.values())) > 150
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, with the circle
    assert order.index("attnbook.functional") < order.index("attnbook.layers")


def room_of(name):
    """Return the room of a chapter that a module lies in, or nothing."""
    return "".join(re.findall(r"^course\.ch\d\d_\w+", name))


@pytest.mark.parametrize("name", [name for name in MODULES if room_of(name)])
def test_a_room_knows_no_other_room(name):
    other = {room_of(each) for each in imports(name)} - {room_of(name), ""}
    assert not other, f"{name} imports from another chapter's room: move what both need to course/"


def test_a_room_is_known_whatever_its_number():
    assert room_of("course.ch09_a_b.tasks") == "course.ch09_a_b"
    assert room_of("course.ch10_c.truths") == "course.ch10_c"
    assert room_of("course.chapters") == room_of("tools.ch10_c.x") == ""


def test_what_ships_plays_nothing():
    """A mock replaces a part for a test; what ships is given its parts as arguments."""
    for name in (name for name in MODULES if not name.startswith("tests.")):
        nodes = ast.walk(tree(name))
        asked = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not any("mock" in ast.unparse(node) for node in asked)


def test_nobody_changes_where_python_looks_for_modules():
    word = "sys" + ".path"
    for path in [*MODULES.values(), ROOT / "pyproject.toml", ROOT / "Makefile"]:
        assert word not in path.read_text(encoding="utf-8"), path
    assert "pythonpath" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
