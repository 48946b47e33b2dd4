"""The cells that an instructor pastes into a chapter, as the plan of its session has them."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

from course.chapters import Chapter


class Snippet(NamedTuple):
    """A cell to paste, the sentence before it, and the section at whose end it goes."""

    sentence: str
    section: str
    code: str


def snippets(chapter: Chapter) -> list[Snippet]:
    """Return the cells that stand below the table of a session."""
    found = re.findall(r"^([^\n]+)\n\n```python\n(.+?)\n```$", chapter.session, re.M | re.S)
    return [Snippet(line, re.search(r"\]\((sec-[\w-]+)\)", line)[1], code) for line, code in found]


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


def printed(outputs: list[Any]) -> str:
    """Return what a cell has printed."""
    return "".join(out.text for out in outputs if out.get("name") == "stdout")


def pictures(outputs: list[Any]) -> list[str]:
    """Return the pictures that a cell has drawn."""
    return [out.data["image/svg+xml"] for out in outputs if "image/svg+xml" in out.get("data", {})]
