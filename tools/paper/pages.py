"""The built pages as parts of a book: what moves or opens on the site is put in another form.

What a page means is read from its classes and ids, never from its words.
"""

from __future__ import annotations

import copy
import re
import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from lxml import html
from lxml.html import HtmlElement, builder

from course import quiz
from course.chapters import ROOT, Chapter, chapters, look_ups
from course.words import say

SITE = ROOT / "_build/html"
FOLDER = ROOT / "_build/paper"
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
ADDRESS = SETTINGS["html"]["baseurl"]
REFERENCES, PACKAGE, GLOSSARY = "references", "api", "glossary"
# Long tables to search in, and what an instructor does at a computer, stay on the site. The
# sources stand at the end of each part that cites them.
ONLINE = {"index", PACKAGE, REFERENCES, "every-because", "exercises", "kill-table"}
ONLINE |= {"instructors", "instructors-grading", "instructors-hub"}
GONE = ".headerlink, .on-dark, .live-try, .live-said, .live-controls, .live-caption, .filter"
GONE += ", .cited-in, .label, script, button"
INK = re.compile(r"(\d+)([a-z]+)(\d+)")
LINES = 3  # to write an answer on
LONGEST = 150  # characters of the line that a fold leaves
HEADINGS = ("h1", "h2", "h3")


@dataclass
class Part:
    """A chapter, or an appendix: a page of the site with its number."""

    name: str
    number: str
    article: HtmlElement
    chapter: Chapter | None = None
    # The numbers of its sections by all ids in them, and its sections: id, number, title.
    places: dict[str, str] = field(default_factory=dict)
    sections: list[tuple[str, str, HtmlElement]] = field(default_factory=list)
    titles: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """Its title, without the number."""
        heading = copy.deepcopy(self.article.find(".//h1"))
        for number in heading.find_class("section-number"):
            number.drop_tree()
        return heading.text_content().strip()

    @property
    def address(self) -> str:
        """Where it is on the site."""
        return f"{ADDRESS}book/{self.name}.html"

    @property
    def called(self) -> str:
        """What a text calls it: chapter 3, appendix B."""
        return say("paper_chapter" if self.chapter else "paper_appendix", number=self.number)


class Book:
    """All parts, with links between them, as `anchor` names their places."""

    def __init__(self) -> None:
        self.parts = [
            Part(each.name, str(each.number), article(each.name), each) for each in chapters()
        ]
        for page in beside():
            self.parts.append(
                Part(page, chr(ord("A") + len(self.parts) - len(chapters())), article(page))
            )
        self.by_name = {part.name: part for part in self.parts}
        self.sources = {
            entry.get("id"): entry for entry in article(REFERENCES).find_class("citation")
        }
        for part in self.parts:
            number_sections(part)
        for part in self.parts:
            close_folds(part)
            lay_out_tabs(part)
            lay_out_quiz(part)
            move_solutions(part)
            tell_of_live_figures(part)
            plain_code(part)
            self.lead(part)
            self.list_sources(part)
            part.article.set("id", anchor(part.name))

    @property
    def lead_in(self) -> str:
        """What the site's first page begins with."""
        return article("index").find_class("hero")[0].find("p").text_content()

    @property
    def cover(self) -> HtmlElement:
        """The picture of the site's first page."""
        return article("index").get_element_by_id("fig-cover").find(".//img")

    @cached_property
    def version(self) -> str:
        """What the foot of each page says."""
        page = html.parse(SITE / "book/index.html", html.HTMLParser(encoding="utf-8"))
        return page.getroot().find_class("version")[0].text_content()

    def lead(self, part: Part) -> None:
        """Point links to where they lead in the book, and say where that is; else to the site."""
        for element in part.article.iter():
            if element.get("id"):
                element.set("id", anchor(part.name, element.get("id")))
        for link in list(part.article.iter("a")):
            target = urlsplit(link.get("href", ""))
            if target.scheme:
                continue
            name = Path(target.path).stem or part.name
            place = unquote(target.fragment)
            if name == REFERENCES and place in self.sources:
                link.set("href", f"#{anchor(part.name, 'source-' + place)}")
                link.attrib.pop("title", None)
                continue
            other = self.by_name.get(name)
            if other is None or (place and place not in other.places):
                link.set(
                    "href",
                    f"{ADDRESS}book/{target.path or part.name + '.html'}#{place}".rstrip("#"),
                )
                continue
            link.set("href", f"#{anchor(name, place)}")
            if link.text_content() in other.titles:  # as on the site a link tells it from the text
                link.set("class", f"{link.get('class', '')} by-title".strip())
            if self.needs_number(link, other, place):
                told = other.called if not place or other.places[place] == other.number else ""
                told = told or say("paper_section", number=other.places[place])
                mark = builder.SPAN(f" ({told})", {"class": "where"})
                mark.tail, link.tail = link.tail, None
                link.addnext(mark)

    def needs_number(self, link: HtmlElement, other: Part, place: str) -> bool:
        """Tell whether a link leads to a heading, or a page, that its text has no number of."""
        if any(letter.isdigit() for letter in link.text_content()) or place.startswith("term-"):
            return False
        around = link.getparent()
        return around.tag not in HEADINGS and around.get("class") != "to-solution"

    def list_sources(self, part: Part) -> None:
        """Add the sources that a part cites."""
        prefix = f"#{anchor(part.name, 'source-')}"
        cited = {link.get("href") for link in part.article.iter("a")}
        entries = [key for key in self.sources if f"{prefix}{key}" in cited]
        if not entries:
            return
        section = add_section(part, "sources", say("paper_sources"))
        section.set("id", anchor(part.name, section.get("id")))
        for key in entries:
            entry = copy.deepcopy(self.sources[key])
            entry.set("id", f"{prefix[1:]}{key}")
            section.append(entry)


def anchor(name: str, place: str = "") -> str:
    """Return the one id that a place of a page has in the book; XML allows no slash in it."""
    return f"p-{name}--{place.replace('/', '-')}" if place else f"p-{name}"


def article(name: str) -> HtmlElement:
    """Return what a built page says, without what only the site can use."""
    path = SITE / f"book/{name}.html"
    page = html.parse(path, html.HTMLParser(encoding="utf-8")).getroot()
    (text,) = page.find_class("bd-article")
    for gone in text.cssselect(GONE):
        gone.drop_tree()
    for picture in text.iter("img"):
        picture.set("src", str((path.parent / picture.get("src")).resolve()))
        for attribute in ("loading", "decoding", "class"):
            picture.attrib.pop(attribute, None)
    return text


def beside() -> list[str]:
    """Return the pages beside the chapters that are printed, in the order of `_toc.yml`."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    unnumbered = [part for part in toc["parts"] if not part.get("numbered")]
    names = [each["file"].removeprefix("book/") for part in unnumbered for each in part["chapters"]]
    assert {page.name for page in look_ups()} & ONLINE
    return [name for name in names if name not in ONLINE]


def number_sections(part: Part) -> None:
    """Number an appendix's headings, as Sphinx does a chapter's; note where each id stands."""
    for label in part.article.cssselect("section > span[id]:empty"):
        heading = next(label.itersiblings(*HEADINGS), None)
        if heading is not None:  # or a page could end between the two
            label.drop_tree()
            label.tail, heading.text = heading.text, None
            heading.insert(0, label)
    count = 0
    for heading in part.article.iter(*HEADINGS):
        numbers = heading.find_class("section-number")
        if heading.tag == "h2":
            count += 1
        if not numbers and heading.tag != "h3":
            number = part.number if heading.tag == "h1" else f"{part.number}.{count}"
            span = builder.SPAN(f"{number}. ", {"class": "section-number"})
            span.tail, heading.text = heading.text, None
            heading.insert(0, span)
            numbers = [span]
        if numbers:
            heading.set("data-number", numbers[0].text_content().strip().rstrip("."))
    for element in part.article.iter():
        if isinstance(element.tag, str) and element.get("id"):
            part.places[element.get("id")] = number_of(element) or part.number
    for heading in part.article.iter(*HEADINGS):
        part.titles.add(heading.text_content().partition(". ")[2].strip())
    for heading in part.article.iter("h2"):
        if name := heading.getparent().get("id"):
            part.sections.append((name, heading.get("data-number"), heading))


def number_of(element: HtmlElement) -> str:
    """Return the number of the innermost section that an element stands in."""
    for section in (element, *element.iterancestors("section")):
        for heading in section.iterchildren(*HEADINGS):
            if heading.get("data-number"):
                return heading.get("data-number")
    return ""


def close_folds(part: Part) -> None:
    """Leave of each fold of code its line, which says where on the site it opens."""
    for fold in part.article.cssselect("details.code-fold"):
        shown, *counted = (span.text_content() for span in fold.cssselect("summary > span"))
        text = " ".join([shortened(shown), *counted])
        inside = [each.get("id") for each in fold.iterdescendants("div") if each.get("id")]
        outside = [each.get("id") for each in fold.iterancestors("section") if each.get("id")]
        place = [*inside, *outside][0]
        told = say(
            "paper_fold", section=say("paper_section", number=number_of(fold) or part.number)
        )
        link = builder.A(told, href=f"{part.address}#{place}")
        line = builder.P(f"{text} · ", link, {"class": "fold"})
        line.tail = fold.tail
        fold.getparent().replace(fold, line)


def shortened(text: str) -> str:
    """Return as many of a text's clauses as a line has room for; of one that is too long, words."""
    clauses = text.split("; ")
    while len(clauses) > 1 and len("; ".join(clauses)) > LONGEST:
        clauses.pop()
    return textwrap.shorten("; ".join(clauses), LONGEST, placeholder=" …")


def lay_out_tabs(part: Part) -> None:
    """Show all tabs, one after another, each below its title: on paper nothing is chosen."""
    for tabs in part.article.cssselect("fieldset.tabs"):
        tabs.tag = "div"
        tabs.attrib.pop("aria-label")
        for button in tabs.cssselect("input"):
            button.drop_tree()
        for title in tabs.cssselect("label"):
            title.tag = "p"
            title.attrib.pop("for")
            title.set("class", "rubric")


def lay_out_quiz(part: Part) -> None:
    """Print the choices below each question, and what is said of each at the chapter's end."""
    for listed in part.article.cssselect("ol.quiz"):
        right = [
            [choice.right for choice in question.choices].index(True)
            for question in quiz.read(part.chapter).questions.values()
        ]
        how = listed.getprevious()
        how.clear(keep_tail=True)
        how.text = say("paper_quiz")
        section = add_section(part, "answers", say("paper_answers"))
        answers = builder.OL({"class": "answers"})
        section.append(answers)
        for item, best in zip(listed.iterchildren("li"), right, strict=True):
            choices, said = builder.OL({"class": "choices"}), builder.LI()
            for index, fold in enumerate(item.findall("details")):
                letter = chr(ord("A") + index)
                choice = fold.find("summary")
                choice.tag = "li"
                fold.remove(choice)
                choice.tail = None
                choices.append(choice)
                for paragraph in fold:
                    mark = builder.B(f"{letter} ", {"class": "letter"})
                    mark.tail, paragraph.text = paragraph.text, None
                    paragraph.insert(0, mark)
                    paragraph.set("class", "right" if index == best else "wrong")
                    paragraph.tail = None
                    said.append(paragraph)
                item.remove(fold)
            item.append(choices)
            answers.append(said)


def move_solutions(part: Part) -> None:
    """Give each exercise room to write, and move the solutions to the end."""
    solutions = part.article.cssselect("details.solution")
    if not solutions:
        return
    section = add_section(part, "solutions", say("paper_solutions"), first=True)
    for exercise, fold in zip(part.article.find_class("exercise"), solutions, strict=True):
        title = fold.find("summary")
        title.tag = "h3"
        title.attrib.clear()
        fold.tag = "div"
        fold.set("class", "solution")
        tail, fold.tail = fold.tail, None
        previous = fold.getprevious()
        fold.getparent().remove(fold)
        if previous is not None:
            previous.tail = (previous.tail or "") + (tail or "")
        section.append(fold)
        to_it = builder.A(say("paper_solution"), href=f"#{fold.get('id')}")
        to_it.set("data-page", say("paper_page"))  # which it is, only a printed book knows
        part.places[fold.get("id")] = say("paper_solutions")
        lines = [builder.DIV({"class": "line"}) for _ in range(LINES)]
        room = builder.DIV(builder.P(to_it, {"class": "to-solution"}), *lines, {"class": "room"})
        exercise.addnext(room)
        room.tail, exercise.tail = exercise.tail, None


def tell_of_live_figures(part: Part) -> None:
    """Say below the still picture of a live figure where it can be touched."""
    for figure in part.article.cssselect("[data-live] figure"):
        place = f"{part.address}#{figure.get('id')}"
        link = builder.A(place.partition("//")[2], href=place)
        (caption,) = figure.iterchildren("figcaption")
        caption.append(builder.P(f"{say('paper_live')} ", link, {"class": "live-link"}))


def paint(code: HtmlElement) -> None:
    """Give code that was folded its colours, which `book/_ext/ink.py` has noted."""
    text, end, last = code.text, 0, None
    for gap, kind, length in INK.findall(code.attrib.pop("data-ink")):
        start = end + int(gap)
        between, end = text[end:start], start + int(length)
        if last is None:
            code.text = between
        else:
            last.tail = between
        last = builder.SPAN(text[start:end], {"class": kind})
        code.append(last)
    last.tail = text[end:]


def plain_code(part: Part) -> None:
    """Lay out code as it looks when it is open; leave out a cell without any."""
    for code in part.article.cssselect("pre[data-ink]"):
        paint(code)
    for cell in part.article.cssselect("div.cell"):  # where a reader's answer would stand
        lines = [pre.text_content().splitlines() for pre in cell.cssselect(".cell_input pre")]
        if lines and len(cell) == 1 and all(line.startswith("#") for line in lines[0]):
            cell.drop_tree()


def add_section(part: Part, name: str, title: str, first: bool = False) -> HtmlElement:
    """Return a new section at the end of a part; or before the others that were added."""
    section = html.Element("section", {"id": f"end-{name}", "class": f"at-end {name}"})
    heading = html.Element("h2")
    heading.text = title
    section.append(heading)
    whole = part.article.find("section")
    added = whole.find_class("at-end")
    added[0].addprevious(section) if first and added else whole.append(section)
    part.places[f"end-{name}"] = title
    place = len(part.sections) - (len(added) if first else 0)
    part.sections.insert(place, (f"end-{name}", "", heading))
    return section
