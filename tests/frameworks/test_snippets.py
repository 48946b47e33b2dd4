"""The snippets of *The same in PyTorch and JAX*: each runs, and gives what attnbook gives."""

import json
import re
from importlib.metadata import version

import numpy as np
import pytest

from course.frameworks import FOLDER, PAGE, SEEN, libraries, snippet, things
from tools import frameworks
from tools.frameworks import WrongSnippet, differences

STORED = json.loads(SEEN.read_text(encoding="utf-8"))
EVERY = [(thing, library) for thing in things() for library in libraries(thing)]


@pytest.mark.parametrize(("thing", "library"), EVERY)
def test_a_snippet_gives_what_the_book_gives(thing, library):
    seen = differences(thing, library)
    for dtype, most in STORED["seen"][thing][library].items():
        # Another processor adds in another order: the last digits differ, not the size.
        told = f"the page says at most {most}, write today's: python -m tools frameworks --write"
        rounding = 10 * np.finfo(dtype).eps
        assert seen[dtype] <= max(10 * most, rounding), told


def test_the_page_names_the_versions_that_ran():
    for name, shown in STORED["made_with"].items():
        assert version(name).partition("+")[0] == shown


def test_the_page_says_how_the_numbers_become_tensors():
    text = PAGE.read_text(encoding="utf-8")
    (conversion,) = re.findall(r"```python\n(import torch\n.+?)```", text, re.S)
    names = {}
    for code in ((FOLDER / "given.py").read_text("utf-8"), conversion, snippet("masked", "torch")):
        exec(code, names)
    assert names["output"].shape == names["query"].shape
    assert names["query"].is_floating_point()


def test_another_result_is_red_and_names_the_line(monkeypatch):
    """The numbers of one run do not fit those of another, whatever is compared."""
    monkeypatch.setattr(frameworks, "converted", changed(frameworks.converted))
    for thing, library in [each for each in EVERY if each[0] in ("softmax", "masked", "rotary")]:
        with pytest.raises(
            WrongSnippet, match=rf"book/frameworks.md:\d+ shows .*{thing}/{library}"
        ):
            differences(thing, library)


def changed(convert):
    def other(start, library):
        return convert({n: held**2 if floats(held) else held for n, held in start.items()}, library)

    return other


def floats(held):
    return isinstance(held, np.ndarray) and held.dtype.kind == "f"
