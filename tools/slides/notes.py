"""What the speaker says: the text of a chapter, without what is about cells that are not shown."""

import copy
import itertools
import re

from bs4 import BeautifulSoup, Tag

from tools.slides.cells import Cell
from tools.slides.text import clean, paragraph, sentences, sentences_without_asides

TEXT = "p, ul, ol, dl, blockquote, .math"
QUIZ = "Open a choice to see whether it is right, and if not, why."
FIGURE = r"Fig\. [\d.]+\d"
ABOUT_CELLS = re.compile(
    r"^(The cells|The code|Where a cell)\b|\btable below\b|\bprinted\b|\bearlier section\b"
)
# A last sentence that ends in a colon and asks for what the next cell does, or announces it.
ANNOUNCES = re.compile(
    r"^(Here|These two|There are|This is|Python|Write|Check|Try|Measure|Test|Fit|Count|Compare|Feed"
    r"|Replace|Take|Exchange)\b|\bcompare this\b"
)


def notes_around(cell: Cell, to_code: bool) -> tuple[list[str], list[str]]:
    """Return the text of a cell as notes: what stands before its first heading, and the rest.

    ``to_code`` says whether a slide of code follows, which may be what the last sentence leads to.
    """
    before, after = [], []
    notes = before if any(map(_is_heading, cell.blocks)) else after
    for block, following in itertools.pairwise([*cell.blocks, None]):
        if _is_heading(block):
            notes = after
        if block.find_parent(class_="solution") or block.css.match(".quiz"):
            continue  # of an exercise
        if block.css.match(TEXT) and block.get_text() != QUIZ:
            leads_on = to_code if following is None else _may_be_led_to(following)
            notes.append(_say(block, leads_on))
        elif block.css.match(".proof:not(.theorem, .definition)"):
            notes += map(_say, block.find_all(["p", "div"], recursive=False))
        elif block.css.match(".tip"):  # the chapter's aims and what it needs, not its time
            notes += map(_say, block.find_all("p")[1:3])
    return [note for note in before if note], [note for note in after if note]


def _is_heading(block: Tag) -> bool:
    """Say whether a block is the title of the chapter or of a section."""
    return block.name in ("h1", "h2", "h3")


def _may_be_led_to(block: Tag) -> bool:
    """Say whether a block is what a sentence that ends in a colon may lead to, among the notes."""
    return block.name != "p" and block.css.match(TEXT)


def _say(block: Tag, leads_on: bool = True) -> str:
    """Return a block as a note, with its formulas as MathML, which needs no style."""
    block = clean(block)
    for formula in block.select(".katex"):
        formula.replace_with(copy.copy(formula.math))
    if block.name != "p":
        return str(block)
    kept = [each for each in sentences_without_asides(block) if not ABOUT_CELLS.search(each)]
    if kept and not leads_on and kept[-1].endswith(":"):
        last = kept.pop()
        if not ANNOUNCES.search(last):
            kept.append(last[:-1] + ".")
    return paragraph(kept)


def figures_named(html: str) -> set[str]:
    """Return the figures that are named, as in Fig. 1.2."""
    return set(re.findall(FIGURE, html))


def without_absent(note: str, shown: set[str]) -> str:
    """Leave out of a note what is said of figures that are on no slide."""
    aside = rf"\s*\(<span[^>]*>({FIGURE})</span>\)"
    note = re.sub(aside, lambda found: found[0] if found[1] in shown else "", note)
    if figures_named(note) <= shown:
        return note
    block = BeautifulSoup(note, "html.parser").p
    return paragraph([each for each in sentences(block) if figures_named(each) <= shown])
