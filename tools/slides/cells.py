"""The cells of a chapter: what its notebook says of each, and its blocks on the built page."""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from bs4 import Tag


class Cell(NamedTuple):
    """A cell of a notebook, with what shows it on the page."""

    kind: str  # slide, notes or skip
    is_code: bool
    source: str
    headline: str  # HTML; empty where the cell gives none
    blocks: list[Tag]

    @property
    def is_slide(self) -> bool:
        """Say whether the cell is shown."""
        return self.kind == "slide"

    @property
    def is_code_slide(self) -> bool:
        """Say whether the cell is code whose figure, or whose lines, are shown."""
        return self.is_slide and self.is_code

    @property
    def headings(self) -> list[Tag]:
        """Return the titles of sections that begin in the cell."""
        return [block for block in self.blocks if block.name in ("h2", "h3")]


def read_cells(notebook: dict, section: Tag) -> Iterator[Cell]:
    """Yield each cell of the notebook that is on the page, with its blocks."""
    found = list(_blocks(section))
    for cell in notebook["cells"]:
        about, is_code = cell["metadata"], cell["cell_type"] == "code"
        if "remove-cell" in about.get("tags", []):
            continue
        if is_code and not _is_code(found[0]):
            raise ValueError(f"expected a cell of code on the page, not {found[0]}")
        count = 1 if is_code else _count_text(found)
        headline = escape(about["slideshow"].get("headline", ""), quote=False)
        kind, source = about["slideshow"]["slide_type"], "".join(cell["source"])
        yield Cell(kind, is_code, source, headline, found[:count])
        del found[:count]
    if found:
        raise ValueError(f"not of any cell: {found[0]}")


def _blocks(element: Tag) -> Iterator[Tag]:
    """Yield the blocks of a page in their order: paragraphs, formulas, boxes, cells of code."""
    for child in element.find_all(True, recursive=False):
        if child.name == "section" or child.css.match(".solution"):
            yield from _blocks(child)
        else:
            yield child


def _is_code(block: Tag) -> bool:
    """Say whether a block is a cell of code, with its output."""
    return block.css.match(".cell")


def _count_text(found: list[Tag]) -> int:
    """Count the blocks before the next cell of code."""
    return next((i for i, block in enumerate(found) if _is_code(block)), len(found))
