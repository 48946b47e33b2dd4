"""The slides of a chapter in their order, each with what the speaker says while it is shown."""

import itertools
from html import escape
from typing import NamedTuple

from bs4 import Tag

from tools.slides.bodies import SUMMARY, show
from tools.slides.cells import Cell, read_cells
from tools.slides.notes import figures_named, notes_around, without_absent
from tools.slides.text import inner_html


class Slide(NamedTuple):
    """A slide, in HTML: its headline, its place in the chapter, what it shows, and its notes."""

    headline: str
    place: str
    body: str
    notes: list[str]


def make_deck(notebook: dict, section: Tag) -> list[Slide]:
    """Make the slides of a chapter from its notebook and its section on the built page."""
    slides, place, waiting = [], "", []
    for cell, following in itertools.pairwise([*read_cells(notebook, section), None]):
        to_code = following is not None and following.is_code_slide
        before, after = notes_around(cell, to_code) if cell.kind != "skip" else ([], [])
        if not slides:
            slides.append(Slide(inner_html(section.h1), "The Attention Book", "", after))
        elif cell.is_code_slide:
            slides.append(_make_slide(cell, place, [*waiting, *_alt_texts(cell)]))
            waiting = []
        elif cell.is_slide:
            slides[-1].notes.extend(before)
            slides.append(_make_slide(cell, place, after))
        elif to_code:  # it is about that
            waiting = [*before, *after]
        else:
            slides[-1].notes.extend([*before, *after])
        if cell.headings:
            place = inner_html(cell.headings[-1])
    for earlier, slide in itertools.pairwise(slides):
        if not slide.notes:  # what led to it was said last
            slide.notes.extend(earlier.notes[-1:])
    figures = figures_named(" ".join(slide.place for slide in slides))
    return [slide._replace(notes=_about(figures, slide.notes)) for slide in slides]


def _make_slide(cell: Cell, place: str, notes: list[str]) -> Slide:
    """Make the slide of a cell; without a headline of its own it has the section's title."""
    shown = show(cell)
    section = inner_html(cell.headings[0]) if cell.headings else place
    where = f"{section} · {shown.figure}" if shown.figure else section
    if shown.headline == SUMMARY:
        notes = notes[1:]  # the first is the list that is shown
    return Slide(shown.headline or section, where, shown.body, notes)


def _alt_texts(cell: Cell) -> list[str]:
    """Return what a figure's alternative text says, which is what there is to say of it."""
    images = [image for block in cell.blocks for image in block.select("img")]
    return [f"<p>{escape(image['alt'])}</p>" for image in images]


def _about(figures: set[str], notes: list[str]) -> list[str]:
    """Return what is left of notes without what is said of other figures than these."""
    return [left for note in notes if (left := without_absent(note, figures))]
