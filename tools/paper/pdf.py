"""The book as PDF, by WeasyPrint: each part is laid out by itself, then all are bound.

So a chapter's pages are the same in its own file and in the book, with the same numbers, and no
page is laid out twice. Contents and index come last, when all pages are known.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import matplotlib
import pydyf
import weasyprint.pdf.tags as tagging
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from lxml import html
from weasyprint import CSS, HTML, Document
from weasyprint.text.fonts import FontConfiguration

from course.chapters import ROOT
from course.words import say
from tools.offers import BOOK, PAPERS
from tools.paper.indexing import entries, sorted_by
from tools.paper.pages import ADDRESS, FOLDER, PACKAGE, SETTINGS, SITE, Book, Part, anchor

# Whose way of tagging this extends: formulas get their TeX as text. A test compares.
WRITTEN_FOR = {"weasyprint": "70.0"}
OPTIONS = {"pdf_variant": "pdf/ua-1", "optimize_images": True}
LIGHT = re.compile(r"light-dark\(([^,]+), [^)]+\)")
PARTS_OF_FONTS = re.compile(r"@font-face\{[^}]*fonts/core/[^}]*\}|;unicode-range:[^}]*")
tag_box = tagging._build_box_tree


def tag_formulas(box, *arguments) -> Iterator[pydyf.Dictionary]:
    """Tag a box as WeasyPrint does; but a formula is one, which is read as its TeX."""
    tex = None if box.element is None else box.element.get("data-tex")
    for element in tag_box(box, *arguments):
        if tex and box.element_tag == "span":
            element |= {"S": "/Formula", "Alt": pydyf.String(tex)}
        elif element["S"] == "/Figure" and "Alt" not in element:
            element["S"] = "/Span"  # a line of a formula
        yield element


tagging._build_box_tree = tag_formulas


FONTS = (
    ("Book Serif", "serif", {400: "normal", 700: "bold"}),
    ("Book Serif", "serif-italic", {400: "italic", 700: "bold italic"}),
    ("Book Sans", "sans", {400: "normal", 600: "bold"}),
)
SMALLER = 0.88
HAVE_ADDRESS = "fold", "live-link", "citation", "to-solution"
HAS_CLASS = "contains(concat(' ', @class, ' '), ' {} ')".format
STYLES = {
    "normal": "",
    "bold": "font-weight: 700",
    "italic": "font-style: italic",
    "bold italic": "font-weight: 700; font-style: italic",
}


class Complaints(logging.Handler):
    """What WeasyPrint could not do: each is an error of ours."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


class Press:
    """Lays out texts on paper of one size."""

    def __init__(self, paper: str) -> None:
        self.fonts, self.images = FontConfiguration(), {}
        katex = SITE / "_static/katex/katex.min.css"
        logging.disable()  # what that says to browsers alone
        # Of each font the whole: what a browser asks for in parts, paper has at once.
        text = PARTS_OF_FONTS.sub("", katex.read_text(encoding="utf-8"))
        self.styles = [CSS(string=text, base_url=str(katex), font_config=self.fonts)]
        logging.disable(logging.NOTSET)
        code = LIGHT.sub(r"\1", (SITE / "_static/code.css").read_text(encoding="utf-8"))
        style = Path(__file__).with_name("paper.css").read_text(encoding="utf-8")
        for text in (faces(), code, style, f"@page {{ size: {paper} }}"):
            self.styles.append(CSS(string=text, font_config=self.fonts))

    def lay_out(self, title: str, body: str, first: int, kind: str) -> Document:
        """Return the pages of a text, numbered from the first."""
        page = f"""<!DOCTYPE html><html lang="{SETTINGS["sphinx"]["config"]["language"]}"><head>
            <title>{escape(title)}</title>
            <meta name="author" content="{escape(SETTINGS["author"])}"/>
            <meta name="description" content="{escape(described())}"/>
            <meta name="keywords" content="attention, transformers, NumPy"/>
            <style>@page :first {{ counter-reset: page {first} }}</style></head>
            <body class="{kind}">{body}</body></html>"""
        text = HTML(string=page, base_url=str(SITE))
        return text.render(
            stylesheets=self.styles, font_config=self.fonts, cache=self.images, **OPTIONS
        )


def faces() -> str:
    """Return the fonts: the site's, cut to the weights that are used, and one for code."""
    (FOLDER / "fonts").mkdir(parents=True, exist_ok=True)
    mono, found = Path(matplotlib.get_data_path(), "fonts/ttf"), []
    for name, style in (("", "normal"), ("-Bold", "bold"), ("-Oblique", "italic")):
        found.append(("Book Mono", mono / f"DejaVuSansMono{name}.ttf", style))
    # What the site's fonts lack, such as ✓, would else be of whatever the machine has.
    found.append(("Book Signs", mono / "DejaVuSans.ttf", "normal"))
    for name, file, styles in FONTS:
        for weight, style in styles.items():
            cut = FOLDER / f"fonts/{file}-{weight}.ttf"
            if not cut.is_file():
                font = TTFont(SITE / f"_static/fonts/{file}.woff2")
                font.flavor = None
                instantiateVariableFont(font, {"wght": weight}).save(cut)
            found.append((name, cut, style))
    face = '@font-face {{ font-family: "{}"; src: url("{}"); {} }}'
    return "\n".join(face.format(name, path.as_uri(), STYLES[style]) for name, path, style in found)


def described() -> str:
    """Return what search engines are told of the book."""
    return SETTINGS["sphinx"]["config"]["html_context"]["default_description"].strip()


def printable(part: Part) -> str:
    """Return the text of a part as WeasyPrint needs it."""
    draw_smaller(part)
    add_footnotes(part)
    part_with_spaces(part)
    return html.tostring(part.article, encoding="unicode")


def draw_smaller(part: Part) -> None:
    """Let the text in figures be as large as that around them, which is smaller than a screen's."""
    for picture in part.article.cssselect("figure img[width]"):
        picture.set("style", f"width: {SMALLER * int(picture.get('width')):.0f}px")


def add_footnotes(part: Part) -> None:
    """Write out the address of a link, at the foot of its page, where the text does not have it.

    The package's reference is asked for by the names in the text, which need no address.
    """
    for link in part.article.cssselect("a[href^=http]"):
        address = link.get("href").partition("//")[2]
        shown = address.rstrip("/") in link.text_content() or f"/{PACKAGE}.html" in address
        if shown or link.xpath(f"ancestor::*[{' or '.join(map(HAS_CLASS, HAVE_ADDRESS))}]"):
            continue
        note = html.Element("span", {"class": "footnote"})
        note.text = address
        note.tail, link.tail = link.tail, None
        link.addnext(note)


def part_with_spaces(part: Part) -> None:
    """Set the last space of a text apart: WeasyPrint ends a line early if only that is too much."""
    for element in list(part.article.iter("p", "li", "dd", "strong", "em", "a", "code", "span")):
        following = element.getnext()
        if following is not None and ends_in_space(element.tail):
            element.tail = element.tail[:-1]
            following.addprevious(space())
        if len(element) and ends_in_space(element.text):
            element.text = element.text[:-1]
            element.insert(0, space())


def ends_in_space(text: str | None) -> bool:
    """Tell whether a text ends in a space and may fill a line."""
    return bool(text) and len(text) > 25 and text[-1] in " \n"


def space() -> html.HtmlElement:
    """Return a space of its own."""
    element = html.Element("span")
    element.text = " "
    return element


def write(book: Book, paper: str, alone: int) -> str:
    """Write the book, and so many of its chapters by themselves; return what was written."""
    complaints = Complaints()
    logging.getLogger("weasyprint").handlers = [complaints]
    press, laid_out, numbers, first = Press(paper), [], {}, 1
    terms = list(entries(book))
    for part in book.parts:
        first += 1 - first % 2  # on a right-hand page
        told = f"{SETTINGS['title']}, {book.version} · {part.address.partition('//')[2]}"
        origin = f'<p class="origin">{escape(told)}</p>'
        title = f"{part.title} – {SETTINGS['title']}"
        pages = press.lay_out(title, origin + printable(part), first, "part")
        for number, page in enumerate(pages.pages, first):
            for name in page.anchors:
                numbers.setdefault(name, number)
        laid_out.append((part, pages, first))
        first += len(pages.pages)
        print(f"{part.name}: {len(pages.pages)} pages", flush=True)
    first += 1 - first % 2
    index = press.lay_out(say("paper_index"), indexed(terms, numbers), first, "part index")
    opening = press.lay_out(SETTINGS["title"], front(book, numbers, first), 1, "front")
    blank = press.lay_out("", "<p></p>", 1, "blank").pages[0]

    FOLDER.mkdir(parents=True, exist_ok=True)
    bound = bind([opening, *(pages for _, pages, _ in laid_out), index], blank)
    whole = FOLDER / f"{BOOK}{PAPERS[paper]}.pdf"
    labels = len(opening.pages) + len(opening.pages) % 2
    opening.copy(bound).write_pdf(whole, finisher=numbered(labels, 1), **OPTIONS)
    for part, pages, number in [each for each in laid_out if each[0].chapter][:alone]:
        outside(pages, book, part)
        path = FOLDER / f"{part.name}{PAPERS[paper]}.pdf"
        pages.write_pdf(path, finisher=numbered(0, number), **OPTIONS)
    if complaints.told:
        sys.exit("\n".join(sorted(set(complaints.told))))
    size = whole.stat().st_size / 1e6
    return f"{whole.relative_to(ROOT)}, {len(bound)} pages, {size:.1f} MB"


def bind(documents: list[Document], blank) -> list:
    """Return all pages, each document's first on a right-hand page."""
    pages = []
    for document in documents:
        pages += [blank] * (len(pages) % 2) + document.pages
    return pages


def outside(pages: Document, book: Book, part: Part) -> None:
    """Point links that leave a chapter to the site: its own file has no other pages."""
    inside = {name for page in pages.pages for name in page.anchors}
    for page in pages.pages:
        for index, (kind, target, *rest) in enumerate(page.links):
            if kind == "internal" and target not in inside:
                name, _, place = target.removeprefix("p-").partition("--")
                address = f"{book.by_name[name].address}#{place}".rstrip("#")
                page.links[index] = ("external", address, *rest)


def numbered(front: int, first: int):
    """Return what numbers a file's pages as they are printed: the front matter in Roman."""

    def finish(document, pdf) -> None:
        roman = [0, pydyf.Dictionary({"S": "/r"})] if front else []
        arabic = [front, pydyf.Dictionary({"S": "/D", "St": first})]
        pdf.catalog["PageLabels"] = pydyf.Dictionary({"Nums": pydyf.Array([*roman, *arabic])})

    return finish


def front(book: Book, numbers: dict[str, int], index: int) -> str:
    """Return the title page, what is said of this edition, and the contents."""
    about = say("paper_about", address=ADDRESS, version=book.version)
    lines = [
        f'<section class="title"><h1>{escape(SETTINGS["title"])}</h1>',
        f'<p class="lead">{escape(book.lead_in)}</p>',
        html.tostring(book.cover, encoding="unicode", with_tail=False),
        f'<p class="version">{escape(book.version)}</p></section>',
        '<section class="about">',
        *(f"<p>{line}</p>" for line in about.split("\n\n")),
        f"<p>{SETTINGS['sphinx']['config']['html_theme_options']['footer']}</p></section>",
        f'<section class="contents"><h1>{escape(say("paper_contents"))}</h1>',
    ]
    for part in book.parts:
        lines.append(line("part", anchor(part.name), part.number, escape(part.title), numbers))
        for name, number, heading in part.sections:
            if number:
                text = escape(heading.text_content().partition(". ")[2])
                lines.append(line("section", anchor(part.name, name), number, text, numbers))
    lines.append(line("part", "index", "", escape(say("paper_index")), {"index": index}))
    return "\n".join([*lines, "</section>"])


def line(kind: str, target: str, number: str, text: str, numbers: dict[str, int]) -> str:
    """Return a line of the contents."""
    return (
        f'<p class="{kind}"><a href="#{target}" data-page="{numbers[target]}">'
        f'<span class="number">{number}</span> {text}</a></p>'
    )


def indexed(terms: list[tuple[str, list[str]]], numbers: dict[str, int]) -> str:
    """Return the index: each term of the glossary, with the pages that explain it."""
    lines = [f'<article id="index"><h1>{escape(say("paper_index"))}</h1><div class="columns">']
    letter = ""
    for term, places in terms:
        if sorted_by(term)[0] != letter:
            letter = sorted_by(term)[0]
            lines.append(f'<h2 class="letter">{escape(letter.upper())}</h2>')
        pages = {}
        for place in places:
            pages.setdefault(numbers[place], place)
        links = ", ".join(
            f'<a href="#{place}">{number}</a>' for number, place in sorted(pages.items())
        )
        lines.append(f'<p class="entry">{escape(term)} {links}</p>')
    return "\n".join([*lines, "</div></article>"])
