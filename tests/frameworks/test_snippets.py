"""The snippets of *The same in PyTorch and JAX*: each runs, and gives what attnbook gives."""

import json
from importlib.metadata import version

import numpy as np
import pytest

from course.frameworks import SEEN, libraries, things
from tools.frameworks import differences

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
