"""What a slide shows of its cell: a figure, code, a statement, a table, formulas or a list."""

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from bs4 import Tag

from course.chapters import ROOT
from tools.slides.cells import Cell
from tools.slides.text import clean, count_words, inner_html, sentences, sentences_without_asides

IMAGES = ROOT / "_build/html/_images"
BESIDE = 1.62  # a picture less wide than this, for its height, has its text beside it
LEAD = 42  # words that may lead to a formula on a slide
BOXES = {".proof.theorem, .proof.definition": "statement", ".warning": "pitfall"}
SUMMARY = "Summary"


class Shown(NamedTuple):
    """What a slide shows: HTML, a headline where there is one, and the number of its figure."""

    body: str
    headline: str = ""
    figure: str = ""


def show(cell: Cell) -> Shown:
    """Choose what a slide shows of its cell; a headline that the cell gives comes first."""
    if not cell.is_code:
        shown = _show_text(cell.blocks)
    elif cell.blocks[0].figure:
        shown = _show_figure(cell)
    else:
        shown = _show_code(cell)
    return shown._replace(headline=cell.headline or shown.headline)


def _show_figure(cell: Cell) -> Shown:
    """Show a figure with its caption, whose first sentence is the headline if there is no other."""
    figure = cell.blocks[0].figure
    caption = figure.select_one(".caption-text")
    first, *rest = sentences(caption)
    said = inner_html(caption) if cell.headline else " ".join(rest)
    picture = clean(figure.img)
    name = Path(picture["src"]).name
    picture["src"] = "images/" + name
    del picture["loading"]
    beside = " beside" if _width_by_height(name) < BESIDE else ""
    said = f'\n<p class="said">{said}</p>' if said else ""
    body = f'<div class="drawn{beside}">{picture}{said}</div>'
    number = figure.select_one(".caption-number").get_text().strip()
    return Shown(body, first.rstrip("."), number)


def _width_by_height(name: str) -> float:
    """Divide a picture's width by its height."""
    svg = (IMAGES / name).read_text(encoding="utf-8")
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    return float(width) / float(height)


def _show_code(cell: Cell) -> Shown:
    """Show the lines of a cell whose code is the point, and what they print."""
    printed = "".join(
        f'<pre class="output">{escape(output.get_text().rstrip())}</pre>'
        for output in cell.blocks[0].select(".cell_output pre")
    )
    return Shown(f'<div class="middle"><pre>{escape(cell.source)}</pre>{printed}</div>')


def _show_text(blocks: list[Tag]) -> Shown:
    """Show of a cell of text its theorem, pitfall, table or formulas, or else its list."""
    headline = ""
    if box := next((block for block in blocks if _style(block)), None):
        headline, body = _show_box(box)
    elif table := next((block.table for block in blocks if block.table), None):
        body = str(clean(table))
    elif any(block.css.match(".math") for block in blocks):
        body = _show_formulas(blocks)
    else:
        (listed,) = (block for block in blocks if block.name == "ul")
        headline, body = SUMMARY, str(clean(listed))
    return Shown(f'<div class="middle">{body}</div>', headline)


def _style(block: Tag) -> str | None:
    """Return the class that a box has on a slide, None for any other block."""
    return next((style for kind, style in BOXES.items() if block.css.match(kind)), None)


def _show_box(box: Tag) -> tuple[str, str]:
    """Return a box's title, and its text with each italic label, as *Symptom:*, on a new line."""
    body = clean(box)
    title = body.select_one(".admonition-title").extract()
    for number in title.select(".caption-number"):
        number.replace_with(number.get_text().strip() + ". ")
    headline = re.sub(r"^(.+?\.) +\((.+)\)$", r"\1 \2", title.decode_contents().strip())
    text = re.sub(r"\s+(<em>[^<]+:)", r"</p>\n<p>\1", body.decode_contents().strip())
    return headline, f'<div class="{_style(box)}">{text}</div>'


def _show_formulas(blocks: list[Tag]) -> str:
    """Return a cell's formulas, and before them the end of the text that leads to the first."""
    formulas = [i for i, block in enumerate(blocks) if block.css.match(".math")]
    lead = blocks[formulas[0] - 1]
    shown = [f"<p>{_shorten(lead)}</p>"] if lead.name == "p" else []
    return "\n".join(shown + [str(_unpunctuated(clean(blocks[i]))) for i in formulas])


def _unpunctuated(formula: Tag) -> Tag:
    """Return a formula without the mark at its end: on a slide no sentence goes on behind it."""
    leaves = [each for each in formula.select(".katex-html span") if each.string]
    drawn = [each for each in leaves if each.string.strip("\u200b ")]
    drawn[-1].string = drawn[-1].string.rstrip(".,:;")
    return formula


def _shorten(lead: Tag) -> str:
    """Return the last sentences of a text that leads to a formula; all are among the notes."""
    kept = sentences_without_asides(lead)
    while len(kept) > 1 and sum(map(count_words, kept)) > LEAD:
        del kept[0]
    return " ".join(kept)
