"""What the site's first page offers to download beside the zip: there only while it is current."""

import re
import shutil
from collections.abc import Iterator
from html import escape

from course.chapters import ROOT, chapters
from course.words import say

MADE = ROOT / "_build/paper"
SITE = ROOT / "_build/html"
PLACE = re.compile(r'(<span class="offers [^"]*" data-offers="(\w+)">).*?(</span>)', re.S)
BOOK = "the-attention-book"
PAPERS = {"A4": "", "Letter": "-letter"}


def book() -> Iterator[str]:
    """Yield a button for each form of the whole book."""
    for paper, suffix in PAPERS.items():
        yield link(f"{BOOK}{suffix}.pdf", "offer_pdf", "button", paper=paper)
    yield link(f"{BOOK}.epub", "offer_epub", "button")


def single() -> Iterator[str]:
    """Yield a link to each chapter by itself."""
    names = [(chapter.number, f"{chapter.name}.pdf") for chapter in chapters()]
    if all((MADE / name).is_file() for _, name in names):
        yield say("offer_chapters")
        for number, name in names:
            yield link(name, "offer_chapter", number=number)


def link(name: str, words: str, looks: str = "", **fields: object) -> str:
    """Return a link to a file with its size, if it has been made."""
    path = MADE / name
    if not path.is_file():
        return ""
    size = f"{path.stat().st_size / 1e6:.1f}"
    text = escape(say(words, size=size, **fields))
    return f'<a class="{looks}" href="../paper/{name}" download>{text}</a>'.replace(' class=""', "")


OFFERS = {"book": book, "chapters": single}


def fill(parts: dict[str, str]) -> None:
    """Write what is offered into its places on the first page."""
    path = SITE / "book/index.html"
    text = path.read_text(encoding="utf-8")
    filled = PLACE.sub(lambda place: f"{place[1]}{parts.get(place[2], '')}{place[3]}", text)
    if filled != text:
        path.write_text(filled, encoding="utf-8")


def withdraw() -> None:
    """Take back what is offered: what is in the zip offers nothing."""
    shutil.rmtree(SITE / "paper", ignore_errors=True)
    fill({})


def forget() -> None:
    """Delete what was made of pages that have changed."""
    for path in MADE.glob("*.*"):
        path.unlink()
    withdraw()


def offer() -> None:
    """Put what was made into the site, and links to it on the first page."""
    withdraw()
    (SITE / "paper").mkdir()
    for path in sorted(MADE.glob("*.*")):
        shutil.copy(path, SITE / "paper")
    fill({name: " ".join(filter(None, part())) for name, part in OFFERS.items()})
