"""Text for slides: the HTML of a page's blocks without links, cut into sentences."""

import copy
import re
from html import escape

from bs4 import BeautifulSoup, Tag

# What is said of the notebook's cells in parentheses has no meaning on a slide.
ASIDE = re.compile(r"\s*\([^()]*\bcell\b[^()]*\)")


def clean(block: Tag) -> Tag:
    """Return a copy without links and names, which lead nowhere on a slide."""
    block = copy.copy(block)
    for part in block.find_all("section"):
        part.name = "div"  # reveal.js takes a section within a slide for another slide
    for extra in block.select(".headerlink, .section-number"):
        extra.decompose()
    for link in block.find_all("a"):
        link.unwrap()
    for named in [block, *block.find_all(id=True)]:
        named.attrs.pop("id", None)
    return block


def inner_html(block: Tag) -> str:
    """Return the HTML within a block, without links and names."""
    return clean(block).decode_contents().strip()


def sentences(block: Tag) -> list[str]:
    """Split a paragraph's HTML into its sentences; what stands in parentheses stays in one."""
    parts = clean(block).contents
    elements = (str(part) for part in parts if isinstance(part, Tag))  # they end no sentence
    text = "".join("\0" if isinstance(part, Tag) else escape(part, quote=False) for part in parts)
    made = []
    for piece in re.split(r"(?<=[.?!])\s+|(?<=[.?!]\))\s+", text.strip()):
        if made and made[-1].count("(") > made[-1].count(")"):
            made[-1] += " " + piece
        else:
            made.append(piece)
    return [re.sub("\0", lambda _: next(elements), sentence) for sentence in made]


def sentences_without_asides(block: Tag) -> list[str]:
    """Split a paragraph's HTML into its sentences, without what is said of cells in parentheses."""
    return [ASIDE.sub("", sentence) for sentence in sentences(block)]


def paragraph(kept: list[str]) -> str:
    """Join sentences to a paragraph's HTML, which is empty without any."""
    return f"<p>{' '.join(kept)}</p>" if kept else ""


def count_words(html: str) -> int:
    """Count the words, a formula as one."""
    soup = BeautifulSoup(html, "html.parser")
    for formula in soup.select(".math"):
        formula.replace_with("x")
    return len(soup.get_text().split())
