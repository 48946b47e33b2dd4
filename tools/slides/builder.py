"""What Sphinx must learn to write decks: a builder that cuts each chapter's doctree into slides."""

import itertools
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.nodes import Element
from pages import size_in_pixels
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator
from sphinx_proof.nodes import _ as proof_word
from sphinx_proof.nodes import proof_node
from sphinxcontrib.katex import render_latex

from course.chapters import Chapter, chapters
from tools.slides.template import CONTENTS, ENTRY, PAGE, SECTION

KINDS = {"slide", "notes", "skip"}
BESIDE = 1.62  # a picture less wide than this, for its height, has its text beside it
SAID = (
    nodes.paragraph,
    nodes.math_block,
    nodes.block_quote,
    nodes.bullet_list,
    nodes.enumerated_list,
    nodes.definition_list,
)


class Cell(NamedTuple):
    """A cell: its name in messages, its `slideshow` metadata, and what it is in the doctree."""

    name: str
    about: dict[str, str]
    is_code: bool
    blocks: list[Element]

    @property
    def is_slide(self) -> bool:
        """Say whether the cell is shown."""
        return self.about["slide_type"] == "slide"

    @property
    def headings(self) -> list[Element]:
        """Return the titles of sections that begin in the cell."""
        return [block for block in self.blocks if isinstance(block, nodes.title)]


class Shown(NamedTuple):
    """What a slide shows: HTML, what that was made of, and a headline and number if it has them."""

    body: str
    made_of: list[Element]
    headline: str = ""
    number: str = ""


class Slide(NamedTuple):
    """A slide: its headline and its place in the chapter, what it shows, and what is said."""

    headline: str
    place: str
    shown: Shown
    said: list[Element]


def read_cells(path: Path, doctree: nodes.document) -> Iterator[Cell]:
    """Yield the cells of a notebook; MyST-NB counts 10,000 lines for each."""
    blocks = defaultdict(list)
    for block in _blocks(doctree):
        blocks[block.line // 10_000 - 1].append(block)
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        name = f"{path.name}, cell {i} (it begins {cell['source'][:1]})"
        about = cell["metadata"].get("slideshow", {})
        if about.get("slide_type") not in KINDS:
            raise SphinxError(f"{name}: give it a slide type, one of {sorted(KINDS)}")
        if blocks[i] or about["slide_type"] == "slide":
            yield Cell(name, about, cell["cell_type"] == "code", blocks[i])


def _blocks(element: Element) -> Iterator[Element]:
    """Yield the blocks of a chapter in their order; those of no cell, as solutions, have no line."""
    for child in element.children:
        if isinstance(child, nodes.section):
            yield from _blocks(child)
        elif child.line and not isinstance(child, nodes.target):
            yield child


def _said(block: Element) -> Iterator[Element]:
    """Yield what the speaker says of a block: its text, a proof, what a chapter needs; no quiz."""
    classes = set(block.get("classes", []))
    if any("quiz" in each.get("classes", []) for each in block.parent.children):
        return
    if isinstance(block, SAID):
        yield block
    elif isinstance(block, proof_node) or classes & {"proof", "tip"}:
        for child in block.children:
            yield from _said(child)


def _spoken(cell: Cell) -> tuple[list[Element], list[Element]]:
    """Return what is said before the cell's first heading, and the rest."""
    split = cell.blocks.index(cell.headings[0]) if cell.headings else 0
    said = cell.blocks if cell.about["slide_type"] != "skip" else []
    before, after = (itertools.chain(*map(_said, part)) for part in (said[:split], said[split:]))
    return list(before), list(after)


def _of_class(name: str, blocks: Iterable[Element]) -> list[Element]:
    return [block for block in blocks if name in block.get("classes", [])]


def _of_type(kind: type[Element], blocks: Iterable[Element]) -> list[Element]:
    return [found for block in blocks for found in block.findall(kind)]


class Translator(HTML5Translator):
    """Sphinx's own, without links, which lead nowhere on a slide, and without names."""

    is_note = False

    def visit_reference(self, node: Element) -> None:
        """Leave the text alone."""

    depart_reference = visit_reference

    def visit_math(self, node: Element, math_env: str = "") -> None:
        """Give the speaker's window MathML, which needs no style."""
        if not self.is_note:
            super().visit_math(node, math_env)
        self._add_mathml(node, displayMode=False)

    def visit_math_block(self, node: Element, math_env: str = "") -> None:
        """Do the same with a formula that stands alone."""
        if not self.is_note:
            super().visit_math_block(node, math_env)
        self._add_mathml(node, displayMode=True)

    def _add_mathml(self, node: Element, **options: bool) -> None:
        drawn = render_latex(node.astext(), {"output": "mathml", **options})
        self.body.append(re.sub(r"</?span.*?>", "", drawn))
        raise nodes.SkipNode


class Decks(StandaloneHTMLBuilder):
    """Writes the slides of each chapter, and the page that lists them."""

    name = "slides"
    search = False
    add_permalinks = False
    default_translator_class = Translator

    def get_outdated_docs(self) -> str:
        """Make all, always."""
        return "all chapters"

    def write(self, *_: object) -> None:
        """Write all decks and their list."""
        self.prepare_writing(set())
        entries = "".join(map(self.write_deck, chapters()))
        self._write_page("index", CONTENTS, entries=entries)

    def finish(self) -> None:
        """Add the fonts, and no page that only a site has."""
        self.copy_static_files()

    def _write_page(self, name: str, page: str, **parts: str) -> None:
        fixed = {"book": self.config.html_title, "language": self.config.language}
        text = page.format(**fixed, **parts)
        Path(self.outdir, f"{name}.html").write_text(text, encoding="utf-8")

    def write_deck(self, chapter: Chapter) -> str:
        """Write the slides of a chapter, and return its line in the list."""
        self.current_docname = f"book/{chapter.name}"
        self.fignumbers = self.env.toc_fignumbers[self.current_docname]
        self.doctree = self.env.get_and_resolve_doctree(self.current_docname, self)
        self.doctree.settings = self.docsettings
        pitfalls = _of_class("warning", self.doctree.findall(nodes.admonition))
        italic = [_of_type(nodes.emphasis, [pitfall]) for pitfall in pitfalls]
        labels = set.intersection(*({each.astext() for each in found} for found in italic))
        for each in itertools.chain(*italic):  # what is in italics in every pitfall begins a line
            each["classes"] += ["label"] if each.astext() in labels else []
        slides = self.make_slides(chapter)
        shown = {name for slide in slides for part in slide.shown.made_of
                 for each in part.findall(Element) for name in each["ids"]}  # fmt: skip
        numbers = self.env.toc_fignumbers.values()
        absent = {name for kinds in numbers for kind in ("figure", "displaymath")
                  for name in kinds.get(kind, {})} - shown  # fmt: skip
        html, last = "", ""
        for slide in slides:
            said = [self.html([each], is_note=True) for each in slide.said if not absent & _named(each)]
            images = _of_type(nodes.image, slide.shown.made_of)
            said += [f"<p>{escape(image['alt'])}</p>" for image in images]
            notes = "\n".join(said) or last  # what led to it was said last
            last = said[-1] if said else last
            place = f'<p class="where">{slide.place}</p>\n' if slide.place != slide.headline else ""
            html += SECTION.format(
                style="" if html else "title",
                level="h2" if html else "h1",
                place=place,
                headline=slide.headline,
                body=slide.shown.body,
                notes=notes,
            )
        title = slides[0].headline
        self._write_page(chapter.name, PAGE, title=title, slides=html)
        return ENTRY.format(name=chapter.name, title=title, count=len(slides))

    def html(self, parts: Iterable[nodes.Node], is_note: bool = False) -> str:
        """Return parts of the chapter as HTML."""
        translator = self.create_translator(self.doctree, self)
        translator.is_note = is_note
        for part in parts:
            part.walkabout(translator)
        return "".join(translator.body).strip()

    def make_slides(self, chapter: Chapter) -> list[Slide]:
        """Make the slides, and give each what is said of it."""
        path = Path(self.srcdir, self.env.doc2path(self.current_docname, base=False))
        slides, place, waiting = [], "", []
        for cell, following in itertools.pairwise([*read_cells(path, self.doctree), None]):
            before, after = _spoken(cell)
            if not slides:
                title = self.html(cell.headings[0].children)
                slides.append(Slide(title, self.config.html_title, _goals(chapter), after))
            elif cell.is_slide:
                shown = self.show(cell)
                if cell.is_code:
                    after, waiting = waiting, []
                slides[-1].said.extend(before)
                section = self.html(cell.headings[0].children) if cell.headings else place
                headline = escape(cell.about.get("headline", ""), quote=False)
                where = f"{section} · {shown.number}" if shown.number else section
                said = [each for each in after if each not in shown.made_of or isinstance(each, nodes.math_block)]
                slides.append(Slide(headline or shown.headline or section, where, shown, said))
            elif following and following.is_slide and following.is_code:  # it is about that
                waiting = [*before, *after]
            else:
                slides[-1].said.extend([*before, *after])
            if cell.headings:
                place = self.html(cell.headings[-1].children)
        return slides

    def show(self, cell: Cell) -> Shown:
        """Choose what a slide shows of its cell."""
        blocks = cell.blocks
        if figures := _of_type(nodes.figure, blocks):
            return self.show_figure(figures[0], cell)
        if code := cell.is_code and _of_type(nodes.literal_block, blocks):
            lines = [f"<pre>{escape(each.astext().rstrip())}</pre>" for each in code]
            return Shown(_middle("\n".join(lines)), code)
        if statements := [block for block in _of_class("proof", blocks) if "realtype" in block]:
            return self.show_statement(statements[0])
        if boxes := _of_class("warning", blocks):
            title, *text = boxes[0].children
            body = f'<div class="pitfall">{self.html(text)}</div>'
            return Shown(_middle(body), boxes[:1], self.html(title.children))
        for kind in (nodes.table, nodes.math_block, nodes.bullet_list):
            if found := [block for block in blocks if isinstance(block, kind)]:
                if kind is nodes.math_block:
                    lead = blocks[blocks.index(found[0]) - 1]
                    found = [lead] * isinstance(lead, nodes.paragraph) + found
                else:
                    del found[1:]
                return Shown(_middle(self.html(map(_alone, found))), found)
        raise SphinxError(f"{cell.name}: nothing to show on a slide; give it the slide type notes, "
                          "or a figure, code, a box, a table, a formula or a list")  # fmt: skip

    def show_figure(self, figure: Element, cell: Cell) -> Shown:
        """Show a figure with its caption."""
        (image,) = figure.findall(nodes.image)
        (caption,) = figure.findall(nodes.caption)
        if not image.get("alt"):
            raise SphinxError(f"{cell.name}: its figure has no alt text; give it one in the cell's metadata, mystnb.image.alt")
        path = Path(self.srcdir, image["uri"])
        shutil.copy(path, Path(self.outdir, "images"))
        width, height = size_in_pixels(path)
        picture = f'<img src="images/{path.name}" alt="{escape(image["alt"])}"/>'
        layout = cell.about.get("layout", "beside" if width / height < BESIDE else "")
        said = f'<p class="said">{self.html(caption.children)}</p>'
        number = self.config.numfig_format["figure"] % self.number(figure, "figure")
        return Shown(f'<div class="drawn {layout}">{picture}\n{said}</div>', [figure], number=number)

    def show_statement(self, box: Element) -> Shown:
        """Show a theorem or a definition; its title stands in parentheses."""
        title, content = box.children
        kind = proof_word(box["realtype"].title())
        headline = f"{kind} {self.number(box, box['countertype'])}. {self.html(title.children)[1:-1]}"
        body = f'<div class="statement">{self.html(content.children)}</div>'
        return Shown(_middle(body), [box], headline)

    def number(self, node: Element, kind: str) -> str:
        """Return the number of a figure or a theorem, with that of its chapter."""
        return ".".join(map(str, self.fignumbers[kind][node["ids"][0]]))


def _named(node: Element) -> set[str]:
    """Return what a text refers to."""
    links = node.findall(nodes.reference)
    return {link.get("refid") or link.get("refuri", "").partition("#")[2] for link in links}


def _alone(block: Element) -> Element:
    """Return a formula without the mark at its end: on a slide no sentence goes on behind it."""
    if isinstance(block, nodes.math_block):
        block = block.deepcopy()
        latex = re.sub(r"\s*(?<!\\)[.,;:]?\s*(\\end\{\w+\})?\s*$", r" \1", block.astext())
        block.children = [nodes.Text(latex)]
    return block


def _middle(body: str) -> str:
    return f'<div class="middle">{body}</div>'


def _goals(chapter: Chapter) -> Shown:
    """Show what students can do afterwards."""
    can = "".join(f"<li>{escape(goal['can'])}</li>" for goal in chapter.about["objectives"])
    return Shown(f'<p class="said">{escape(chapter.about["summary"])}</p>\n<ul>{can}</ul>', [])


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the builder known."""
    app.add_builder(Decks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
