"""The book as EPUB 3: the same parts, formulas as MathML, drawings for a light and a dark page."""

from __future__ import annotations

import functools
import json
import re
import uuid
import zipfile
from html import escape
from pathlib import Path

import yaml
from lxml import etree, html
from lxml.html import builder

from course.chapters import ROOT
from course.words import say
from tools.offers import BOOK
from tools.paper.pages import ADDRESS, FOLDER, SETTINGS, SITE, Book, Part, anchor

LANGUAGE = SETTINGS["sphinx"]["config"]["language"]
DARK = "img { background: none; }\n"
PATHLESS = re.compile(r"<path((?:\s(?!d=)[\w:-]+=\"[^\"]*\")*\s*/?>)")
ANY = re.compile(r"^(\S+) :is\((.+?)\)", re.M)  # which epubcheck does not know
LONG = 60  # letters of TeX: such a formula in a sentence has a line of its own
DOUBLE_STRUCK = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "E": "𝔼"}
FONTS = ("serif", "serif-italic", "sans")
KINDS = {".xhtml": "application/xhtml+xml", ".svg": "image/svg+xml", ".css": "text/css"}
KINDS |= {".woff2": "font/woff2", ".png": "image/png"}
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
lang="{language}" xml:lang="{language}">
<head><title>{title}</title><link rel="stylesheet" href="reader.css"/></head>
<body>{body}</body></html>
"""
ACCESSIBLE = {
    "accessMode": ["textual", "visual"],
    "accessModeSufficient": ["textual", "textual,visual"],
    "accessibilityFeature": [
        *("alternativeText", "MathML", "structuralNavigation", "tableOfContents", "readingOrder"),
        *("displayTransformability", "longDescription"),
    ],
    "accessibilityHazard": ["none"],
}


class Pack:
    """The files of the book, by their names in its folder."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.with_mathml: set[str] = set()
        self.cover = ""

    def picture(self, path: Path) -> str:
        """Take a picture in; return its name there."""
        name = f"i-{path.name}"
        data = path.read_bytes()
        self.files[name] = strict(data.decode()).encode() if path.suffix == ".svg" else data
        return name

    def page(self, name: str, title: str, body: str) -> None:
        """Take a page in."""
        text = PAGE.format(language=LANGUAGE, title=escape(title), body=body)
        self.files[f"{name}.xhtml"] = text.encode()
        if "<math" in body:
            self.with_mathml.add(f"{name}.xhtml")


def write(book: Book) -> str:
    """Write the book; return what was written."""
    pack = Pack()
    for name in FONTS:
        pack.files[f"{name}.woff2"] = (SITE / f"_static/fonts/{name}.woff2").read_bytes()
    pack.files["reader.css"] = style().encode()
    pack.page("title", SETTINGS["title"], title_page(book, pack))
    pack.page("nav", say("paper_contents"), contents(book))
    for part in book.parts:
        pack.page(part.name, f"{part.number}. {part.title}", as_xhtml(part, pack))
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{BOOK}.epub"
    with zipfile.ZipFile(path, "w") as archive:
        add(archive, "mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        add(archive, "META-INF/container.xml", CONTAINER.encode())
        add(archive, "EPUB/package.opf", package(book, pack).encode())
        for name, data in sorted(pack.files.items()):
            add(archive, f"EPUB/{name}", data)
    return f"{path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB"


def add(archive: zipfile.ZipFile, name: str, data: bytes, how: int = zipfile.ZIP_DEFLATED) -> None:
    """Put a file in: the same bytes for the same book."""
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data, how, 9)


def strict(svg: str) -> str:
    """Return a drawing that older rules allow: each id once, each path with its course."""
    seen = set()

    def once(match: re.Match[str]) -> str:
        first = match[1] not in seen
        seen.add(match[1])
        return match[0] if first else ""

    return PATHLESS.sub(r'<path d="M 0 0"\1', re.sub(r' id="([^"]+)"', once, svg))


def style() -> str:
    """Return the style; of each pair of colours, the second is for a dark page."""
    text = Path(__file__).with_name("reader.css").read_text(encoding="utf-8")
    code = (SITE / "_static/code.css").read_text(encoding="utf-8").replace(".bd-article ", "")
    code = ANY.sub(lambda each: ", ".join(f"{each[1]} {one}" for one in each[2].split(", ")), code)
    both = f"{text}\n{code}"
    pair = re.compile(r"light-dark\(([^,]+), ([^)]+)\)")
    dark = "\n".join(pair.sub(r"\2", line) for line in both.splitlines() if pair.search(line))
    light = pair.sub(r"\1", both)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n{DARK}}}\n"


def as_xhtml(part: Part, pack: Pack) -> str:
    """Return a part as a page of the book."""
    text = part.article
    for formula in text.find_class("katex"):
        math = html.fromstring(formulas()[formula.get("data-tex")])
        math.set("alttext", formula.get("data-tex"))
        if "katex-display" in (formula.getparent().get("class") or ""):
            math.set("display", "block")
        elif len(math.get("alttext")) > LONG:
            formula.getparent().set("class", "math long")
        for letter in math.cssselect("[mathvariant=double-struck]"):  # browsers know it no more
            letter.text = DOUBLE_STRUCK.get(letter.text, letter.text)
        math.tail = formula.tail
        formula.getparent().replace(formula, math)
    for mark in text.cssselect(".where, .room .line"):
        mark.drop_tree()
    for picture in list(text.iter("img")):
        show(picture, pack)
    for link in text.iter("a"):
        if link.get("href", "").startswith("#p-"):
            name = link.get("href").removeprefix("#p-").partition("--")[0]
            if name != part.name:
                link.set("href", f"{name}.xhtml{link.get('href')}")
    return xml(text)


@functools.cache
def formulas() -> dict[str, str]:
    """Return the MathML of the site's formulas, by their TeX, which its build has kept."""
    return json.loads(SITE.with_name("formulas.json").read_text(encoding="utf-8"))


def show(picture: html.HtmlElement, pack: Pack) -> None:
    """Give a drawing its twin in ink for a dark page."""
    path = Path(picture.get("src"))
    picture.set("src", pack.picture(path))
    dark = path.with_suffix(".dark.svg")
    if dark.is_file():
        both = html.Element("picture")
        picture.addprevious(both)
        both.tail, picture.tail = picture.tail, None
        wanted = {"media": "(prefers-color-scheme: dark)", "srcset": pack.picture(dark)}
        both.append(html.Element("source", wanted))
        both.append(picture)


def xml(element: html.HtmlElement) -> str:
    """Return an element as XHTML has it."""
    return etree.tostring(element, encoding="unicode", method="xml", with_tail=False)


def title_page(book: Book, pack: Pack) -> str:
    """Return the first page."""
    cover = book.cover
    cover.getparent().remove(cover)
    figure = builder.FIGURE(cover)
    show(cover, pack)
    pack.cover = cover.get("src")
    footer = html.fragment_fromstring(
        SETTINGS["sphinx"]["config"]["html_theme_options"]["footer"], create_parent="p"
    )
    about = say("paper_about_reader", address=ADDRESS, version=book.version).split("\n\n")
    return "\n".join(
        [
            f'<section epub:type="titlepage"><h1>{escape(SETTINGS["title"])}</h1>',
            f"<p>{escape(book.lead_in)}</p>{xml(figure)}",
            *(f"<p>{escape(line)}</p>" for line in about),
            f"{xml(footer)}</section>",
        ]
    )


def contents(book: Book) -> str:
    """Return the contents, which readers show as their own, too."""
    items = []
    for part in book.parts:
        sections = "".join(
            f'<li><a href="{part.name}.xhtml#{anchor(part.name, name)}">'
            f"{escape(heading.text_content().strip())}</a></li>"
            for name, _, heading in part.sections
        )
        title = f"{part.number}. {escape(part.title)}"
        items.append(f'<li><a href="{part.name}.xhtml">{title}</a><ol>{sections}</ol></li>')
    first = book.parts[0].name
    return f"""<nav epub:type="toc" id="toc"><h1>{say("paper_contents")}</h1>
<ol>{"".join(items)}</ol></nav>
<nav epub:type="landmarks" hidden="hidden"><ol>
<li><a epub:type="titlepage" href="title.xhtml">{escape(SETTINGS["title"])}</a></li>
<li><a epub:type="bodymatter" href="{first}.xhtml">{escape(book.parts[0].title)}</a></li>
<li><a epub:type="glossary" href="glossary.xhtml">{escape(book.by_name["glossary"].title)}</a></li>
</ol></nav>"""


def package(book: Book, pack: Pack) -> str:
    """Return the list of all files, in their order of reading, and what is known of the book."""
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    number = uuid.uuid5(uuid.NAMESPACE_URL, ADDRESS)
    known = [
        f'<dc:identifier id="id">urn:uuid:{number}</dc:identifier>',
        f"<dc:title>{escape(SETTINGS['title'])}</dc:title>",
        f"<dc:creator>{escape(SETTINGS['author'])}</dc:creator>",
        f"<dc:language>{LANGUAGE}</dc:language>",
        f"<dc:description>{escape(book.lead_in)}</dc:description>",
        f"<dc:source>{ADDRESS}</dc:source>",
        "<dc:rights>https://creativecommons.org/licenses/by/4.0/</dc:rights>",
        f'<meta property="dcterms:modified">{about["date-released"]}T00:00:00Z</meta>',
        f'<meta property="schema:accessibilitySummary">{escape(say("paper_accessible"))}</meta>',
    ]
    for name, values in ACCESSIBLE.items():
        known += [f'<meta property="schema:{name}">{value}</meta>' for value in values]
    items = []
    for name in sorted(pack.files):
        told = ["mathml"] if name in pack.with_mathml else []
        told += ["nav"] if name == "nav.xhtml" else []
        told += ["cover-image"] if name == pack.cover else []
        properties = f' properties="{" ".join(told)}"' if told else ""
        kind = KINDS[Path(name).suffix]
        items.append(f'<item id="f-{name}" href="{name}" media-type="{kind}"{properties}/>')
    order = ["title", "nav", *(part.name for part in book.parts)]
    spine = "".join(f'<itemref idref="f-{name}.xhtml"/>' for name in order)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"
xml:lang="{LANGUAGE}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{"".join(known)}</metadata>
<manifest>{"".join(items)}</manifest><spine>{spine}</spine></package>
"""
