"""What Sphinx must learn to write decks: a builder that cuts each chapter's doctree into slides."""

import itertools
import json
import re
from html import escape
from pathlib import Path
from types import SimpleNamespace

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.errors import SphinxError
from sphinx.util.images import get_image_size
from sphinx_proof.nodes import _ as proof_word
from sphinxcontrib.katex import render_latex

from course.chapters import chapters, without_comments
from course.quiz import read
from course.words import say
from tools.slides.template import CONTENTS, DECK, ENTRY, HEAD, SLIDE

# Whose nodes and builder this takes apart; a test compares with constraints.txt.
WRITTEN_FOR = {"sphinx": "7.4.7", "myst-nb": "1.4.0", "sphinx-proof": "0.4.0"}
BESIDE = 1.62  # a picture less wide than this, for its height, has its text beside it
LISTS = ("bullet_list", "enumerated_list", "definition_list")
SAID = ("paragraph", "math_block", "block_quote", *LISTS)
NAMED = ("figure", "displaymath")  # by number: of those that no slide shows, nothing is said


def read_cells(path, doctree):
    """Yield a notebook's cells with their blocks in the doctree, where each has 10,000 lines."""
    found = list(find_blocks(doctree))
    for i, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        name = f"{path.name}, cell {i} ({''.join(cell['source'][:1]).strip()})"
        about, is_code = cell["metadata"].get("slideshow", {}), cell["cell_type"] == "code"
        kind = about.get("slide_type")
        blocks = [block for block in found if block.line // 10_000 - 1 == i]
        if kind not in ("slide", "notes", "skip"):
            raise SphinxError(f"{name}: give it a slide type: slide, notes or skip")
        if blocks or kind == "slide":
            yield SimpleNamespace(name=name, about=about, kind=kind, is_code=is_code, blocks=blocks)


def find_blocks(element):
    """Yield blocks in their order. A solution is no cell's and has no line."""
    for child in element.children:
        if child.tagname == "section" and not of("quiz", child.children):
            yield from find_blocks(child)
        elif child.line and child.tagname != "target":
            yield child


def find_said(blocks):
    """Yield what the speaker says: text, proofs, what the chapter needs."""
    for block in blocks:
        if block.tagname in SAID:
            yield block
        elif block.tagname in ("proof_node", "admonition") and "warning" not in block["classes"]:
            yield from find_said(block.children)


def of(kind, blocks):
    return [each for each in blocks if kind in (each.tagname, *each.get("classes", ()))]


def lettered(texts, right=""):
    """Return choices as the quiz has them, under a), b), …; the right one may be marked."""
    lines = (f"<li{' class=right' * (text == right)}>{text}</li>" for text in texts)
    return f'<ol type="a">{"".join(lines)}</ol>'


def within(blocks, *kinds):
    return [node for block in blocks for node in block.findall() if isinstance(node, kinds)]


class Decks(StandaloneHTMLBuilder):
    """Writes the slides of each chapter, and the page that lists them."""

    name = "slides"
    search = add_permalinks = False

    def write(self, *_):
        self.prepare_writing(set())
        self.imgpath = self.imagedir
        self.write_page("index", CONTENTS, entries="".join(map(self.write_deck, chapters())))

    def finish(self):
        self.copy_static_files()  # fonts
        self.copy_image_files()

    def write_page(self, name, body, **parts):
        fixed = {"book": self.config.html_title, "language": self.config.language}
        page = (HEAD + body).format(**fixed, **parts)
        Path(self.outdir, f"{name}.html").write_text(page, encoding="utf-8")

    def write_deck(self, chapter):
        """Write the slides of a chapter, and return its line in the list."""
        self.current_docname = f"book/{chapter.name}"
        self.fignumbers = self.env.toc_fignumbers[self.current_docname]
        self.doctree = self.env.get_and_resolve_doctree(self.current_docname, self)
        self.doctree.settings = self.docsettings
        pitfalls = of("warning", self.doctree.findall(nodes.admonition))
        italics = [{each.astext() for each in within([box], nodes.emphasis)} for box in pitfalls]
        for each in within(pitfalls, nodes.emphasis):
            if all(each.astext() in texts for texts in italics):  # a label, which begins a line
                each["classes"].append("label")
        slides = self.make_slides(chapter)
        numbers = self.env.toc_fignumbers.values()
        absent = {name for each in numbers for kind in NAMED for name in each.get(kind, ())}
        for node in within(itertools.chain(*(slide.shown for slide in slides)), nodes.Element):
            absent.difference_update(node["ids"])
        for link in self.doctree.findall(nodes.reference):
            if link.get("refid", link.get("refuri", "").split("#")[-1]) in absent:
                link["classes"].append("absent")
        html, notes = "", []
        for slide in slides:
            said = [each for each in slide.said if each not in of("bullet_list", slide.shown)]
            kept = [each for each in said if not of("absent", each.findall(nodes.reference))]
            said = [self.html([each], is_note=True) for each in kept]
            said += [f"<p>{escape(image['alt'])}</p>" for image in within(slide.shown, nodes.image)]
            notes = said or notes[-1:]  # without any, what led to the slide was said last
            spoken = "\n".join([slide.told, *said] if slide.kind else notes)
            html += SLIDE.format(level=1 + bool(html), notes=spoken, **vars(slide))
        of_quiz = [slide for slide in slides if slide.kind]
        count = say("deck", slides=len(slides) - len(of_quiz), questions=len(of_quiz) // 2)
        self.write_page(chapter.name, DECK, title=slides[0].headline, slides=html)
        return ENTRY.format(name=chapter.name, title=slides[0].headline, count=count)

    def make_slides(self, chapter):
        """Make the slides, and give each what is said of it."""
        path = Path(self.srcdir, self.env.doc2path(self.current_docname, base=False))
        slides, section, waiting = [], "", []
        questions, ended = self.ask(chapter), self.doctree
        for cell, following in itertools.pairwise([*read_cells(path, self.doctree), None]):
            heads = [self.html(title.children) for title in of("title", cell.blocks)] or [section]
            blocks = cell.blocks if cell.kind != "skip" else []
            split = next((i for i, block in enumerate(blocks) if block.tagname == "title"), 0)
            before, after = list(find_said(blocks[:split])), list(find_said(blocks[split:]))
            if before:
                slides[-1].said += before
            for title in of("title", cell.blocks):
                labelled = any(label in chapter.sections for label in title.parent["ids"])
                if labelled or title.parent.parent is not ended:  # no mere part of it
                    slides += [s for label in ended["ids"] for s in questions.pop(label, ())]
                    ended = title.parent
            if cell.kind == "slide":
                slide = self.show(cell, heads[0]) if slides else self.show_goals(chapter, heads[0])
                headline = without_comments(cell.about.get("headline", ""))
                slide.headline = escape(headline) or slide.headline
                slide.place *= slide.place != slide.headline
                slide.said, waiting = (waiting, []) if cell.is_code else (after, waiting)
                slides.append(slide)
            else:
                is_led_to = following and following.is_code and following.kind == "slide"
                (waiting if is_led_to else slides[-1].said).extend(after)
            section = heads[-1]
        return slides + [slide for rest in questions.values() for slide in rest]

    def ask(self, chapter):
        """Make two slides of each question, as the chapter's end has it: asked, and answered.

        They are under the label of the section that they follow: the last of those to read again.
        """
        slides, order = {}, ["", *chapter.sections]
        (listed,) = of("quiz", self.doctree.findall(nodes.enumerated_list))
        questions = read(chapter).questions.values()
        for number, (item, question) in enumerate(zip(listed, questions, strict=True), start=1):
            folds = of("quiz_choice", item.children)
            picks = [self.html(pick.children) for pick, *_ in folds]
            feedback_html = lettered(self.html(feedback, is_note=True) for _, *feedback in folds)
            (right,) = (i for i, choice in enumerate(question.choices) if choice.right)
            body = self.html([node for node in item if node not in folds])
            answer = lettered(picks, picks[right]) + self.html(folds[right].children[1:])
            for kind, choices in (("question", lettered(picks)), ("answer", answer)):
                slide = SimpleNamespace(kind=kind, told=feedback_html, shown=[], said=[])
                slide.place = say(f"{kind}_slide", number=number)
                slide.headline = escape(question.heading)
                slide.body = f'<div class="asked">{body}{choices}</div>'
                label = max((choice.section for choice in question.choices), key=order.index)
                slides.setdefault(label, []).append(slide)
        return slides

    def show_goals(self, chapter, title):
        goals = "".join(f"<li>{escape(each['can'])}</li>" for each in chapter.about["objectives"])
        body = f'<p class="said">{escape(chapter.about["summary"])}</p>\n<ul>{goals}</ul>'
        place = self.config.html_title
        return SimpleNamespace(body=body, place=place, headline=title, shown=[], kind="")

    def show(self, cell, section):
        """Return a figure, a box, a table, code, formulas or a list: the first that a cell has."""
        figures, tables = within(cell.blocks, nodes.figure), within(cell.blocks, nodes.table)
        boxes = of("proof", cell.blocks) + of("warning", cell.blocks)
        formulas, lists = of("math_block", cell.blocks), of("bullet_list", cell.blocks)
        code, (image, *_) = of("cell", cell.blocks), [*within(figures, nodes.image), {}]
        shown = figures[:1] or boxes[:1] or tables[:1] or code or formulas or lists[:1]
        if not shown or (figures and not image.get("alt")):
            kinds = "a figure with an alt text, a box, a table, code, a formula or a list"
            raise SphinxError(f"{cell.name}: a slide needs {kinds}; or give it the type notes")
        slide = SimpleNamespace(shown=shown, place=section, headline=section, kind="")
        numbers = self.fignumbers.get(shown[0].get("countertype", shown[0].tagname), {})
        number = ".".join(map(str, numbers.get((*shown[0]["ids"], "")[0], ())))
        content, style = shown, "plain"
        if figures:
            width, height = get_image_size(Path(self.srcdir, image["uri"]))
            layout = cell.about.get("layout", "beside" if width / height < BESIDE else "")
            self.post_process_images(shown[0])
            caption = f'<p class="said">{self.html(within(shown, nodes.caption)[0].children)}</p>'
            slide.body = f'<div class="drawn {layout}">{self.html([image])}\n{caption}</div>'
            slide.place += f" · {self.config.numfig_format['figure'] % number}"
            return slide
        if boxes:
            title, *content = shown[0].children
            slide.headline, style = self.html(title.children), "pitfall"
            if "realtype" in shown[0]:  # a theorem or a definition, its title in parentheses
                kind, style = proof_word(shown[0]["realtype"].title()), "statement"
                slide.headline = f"{kind} {number}. {slide.headline[1:-1]}"
        elif shown == formulas:
            lead = cell.blocks[: cell.blocks.index(shown[0])][-1:]
            content = of("paragraph", lead) + shown
            for formula in shown:  # no mark at its end: on a slide no sentence goes on behind it
                latex = re.sub(r"(?<!\\)[.,;:]?\s*(\\end{\w+})?\s*$", r"\1", formula.astext())
                formula.children = [nodes.Text(latex)]
        slide.body = f'<div class="middle"><div class="{style}">{self.html(content)}</div></div>'
        return slide

    def html(self, parts, is_note=False):
        """Return HTML without links, which lead nowhere, and sections, which would be slides."""
        whole = nodes.container("", *(part.deepcopy() for part in parts))
        for node in within([whole], nodes.reference, nodes.section):
            node.replace_self(node.children)
        for node in within([whole], nodes.math, nodes.math_block) if is_note else ():
            options = {"output": "mathml", "displayMode": node.tagname == "math_block"}
            drawn = re.search("<math.*</math>", render_latex(node.astext(), options), re.S)[0]
            node.replace_self(nodes.raw("", drawn, format="html"))  # it needs no style
        translator = self.create_translator(self.doctree, self)
        for part in whole.children:
            part.walkabout(translator)
        return "".join(translator.body).strip()


def setup(app):
    app.add_builder(Decks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
