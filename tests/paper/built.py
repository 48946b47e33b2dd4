"""What the built pages have, which the book on paper must not lose."""

import functools

from lxml import html

from course.chapters import chapters
from tools.offers import BOOK
from tools.paper.pages import SITE, beside

NAMES = [*(chapter.name for chapter in chapters()), *beside()]
ALONE = chapters()[0]  # the chapter that is also made by itself when this is tested
PDFS = [f"{BOOK}.pdf", f"{ALONE.name}.pdf"]


@functools.cache
def article(name):
    """Return the text of a page of the site."""
    page = html.parse(SITE / f"book/{name}.html", html.HTMLParser(encoding="utf-8")).getroot()
    (text,) = page.find_class("bd-article")
    return text


def pictures(name):
    """Return the alt texts of a page's pictures that are in sight when it is printed."""
    return [
        each.get("alt") for each in article(name).cssselect("img.on-light, figure img[src$=png]")
    ]


def formulas(name):
    """Return the TeX of a page's formulas, but for those in folded code."""
    return [each.get("data-tex") for each in article(name).find_class("katex")]
