"""What each reason in a chapter rests on: the ties behind its sentences, and cells of evidence.

A tie, ``<!-- why: intervention, old-inputs-fade -->``, says of what kind a claim is and where its
support stands; `REQUIRED` is what its kind asks of the cell that it names. In a quiz the tie is a
comment of its own below what it is about, in a live figure's file it is a key of ``[why]``. A page
to look things up in has no cells: there a tie may name a test, ``test_masks::test_of_a_mask``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from course import quiz
from course.chapters import ROOT, Chapter, LookUp, cells, chapters_and_drafts, look_ups
from course.checks import called, checks
from course.passages import COMMENT, FORMULA, Passage, read

KEYS = ("label", "claim", "with", "without", "control", "range")
REQUIRED = {  # of a cell's metadata, by the kind of claim that names it
    "theorem": ("claim", "range"),
    "definition": (),
    "intervention": ("claim", "with", "without", "control", "range"),
    "observation": ("claim", "with", "control", "range"),
    "citation": (),
    "advice": (),
}
MEASURED = ("intervention", "observation")
LABELS = re.compile(r"^\(([\w-]+)\)=$|\$\$ \(([\w-]+)\)|^:(?:label|name): ([\w-]+)$", re.M)


class Tie(NamedTuple):
    """One claim: its kind, where its support stands, and where it is made."""

    kind: str
    where: str
    page: str
    place: str


def anchor(page: str, label: str) -> str:
    """Return what a link calls a labelled cell by."""
    return f"because-{page}-{label}"


class Evidence(NamedTuple):
    """A labelled cell."""

    page: str
    about: dict[str, Any]
    source: str

    @property
    def name(self) -> str:
        """What the whole book calls it."""
        return f"{self.page}#{self.about.get('label')}"


def parse(comment: str) -> list[tuple[str, str]]:
    """Return kind and place of each claim in a tie; of another comment, nothing."""
    if not comment.startswith("why:"):
        return []
    parts = (each.partition(",") for each in comment.removeprefix("why:").split(";"))
    return [(kind.strip(), where.strip()) for kind, _, where in parts]


def comments(passage: Passage) -> list[str]:
    """Return the comments of a passage in their order."""
    marks = [each for each in passage.text if COMMENT <= ord(each) < FORMULA]
    return [passage.inserted[mark] for mark in marks]


def ties(chapter: Chapter | LookUp) -> list[Tie]:
    """Return the ties of a chapter's pages, its quiz and the live figures on them."""
    return [
        Tie(kind, where, page, place)
        for page, place, comment in tied(chapter)
        for kind, where in parse(comment)
    ]


def tied(chapter: Chapter | LookUp) -> Iterator[tuple[str, str, str]]:
    """Yield page, place and text of all that is, or looks like, a tie."""
    for path in chapter.pages:
        for section in sections(path):
            for passage in section.passages:
                for comment in comments(passage):
                    if re.match(r"why\b", comment, re.I):
                        yield path.stem, f"section {section.title!r}, {passage.place}", comment
        for figure in live(path):
            for name, tie in figure.get("why", {}).items():
                yield path.stem, f"live figure {figure['name']}, {name}", f"why: {tie}"
    for name, question in questions(chapter).items():
        for tie in filter(None, [question.why, *(choice.why for choice in question.choices)]):
            yield chapter.name, f"quiz, {name}", f"why: {tie}"


sections = cache(read)


def questions(chapter: Chapter | LookUp) -> dict[str, quiz.Question]:
    """Return the questions of a chapter; a page to look things up in has none."""
    return quiz.read(chapter).questions if isinstance(chapter, Chapter) else {}


def live(path: Path) -> list[dict[str, Any]]:
    """Return what the files of the live figures in a notebook say."""
    if path.suffix == ".md":
        return []
    tags = [tag for cell in cells(path, "code") for tag in cell["metadata"].get("tags", [])]
    names = dict.fromkeys(tag[5:] for tag in tags if tag.startswith("live-"))
    texts = {name: (ROOT / f"book/live/{name}/figure.toml").read_text("utf-8") for name in names}
    return [{**tomllib.loads(text), "name": name} for name, text in texts.items()]


def evidence(chapter: Chapter | LookUp) -> list[Evidence]:
    """Return the cells of a chapter's notebooks that say for what claim they are."""
    return [
        Evidence(path.stem, cell["metadata"], cell["source"])
        for path in chapter.pages
        if path.suffix == ".ipynb"
        for cell in cells(path, "code")
        if not {*KEYS}.isdisjoint(cell["metadata"])
    ]


@cache
def labels() -> frozenset[str]:
    """Return the labels of sections, equations, theorems and figures of the book."""
    found = set()
    for path in (ROOT / "book").glob("*.*"):
        if path.suffix == ".md":
            found |= {*LABELS.findall(path.read_text(encoding="utf-8"))}
        elif path.suffix == ".ipynb":
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                found |= {*LABELS.findall("".join(cell["source"]))}
                about = cell["metadata"].get("mystnb", {}).get("figure", {})
                found.add((about.get("name", ""),))
    return frozenset(label for groups in found for label in groups if label)


@cache
def sources() -> frozenset[str]:
    """Return the keys of the bibliography."""
    bibliography = (ROOT / "book/references.bib").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^@\w+\{([^,]+),", bibliography, re.M))


@cache
def tests() -> frozenset[str]:
    """Return the tests of the book and its rooms, as ``file::test``."""
    return frozenset(
        f"{path.stem}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M)
    )


def faults(chapter: Chapter | LookUp) -> Iterator[str]:
    """Yield what is wrong with the ties and the labelled cells of a chapter, and what to do."""
    every = [*chapters_and_drafts(chapter.root), *look_ups(chapter.root)]
    names = {each.name for other in every for each in evidence(other)}
    if isinstance(chapter, LookUp):
        names |= {f"{chapter.name}#{test}" for test in tests()}
    for page, place, comment in tied(chapter):
        claims = parse(comment)
        if not claims:
            yield f"{page}, {place}: <!-- {comment} --> is no tie, write <!-- why: kind, where -->"
        for kind, where in claims:
            if told := wrong(kind, where, page, names):
                yield f"{page}, {place}: <!-- {comment} -->: {told}"
    kinds: dict[str, set[str]] = {}
    for tie in (tie for other in every for tie in ties(other)):
        kinds.setdefault(full(tie.where, tie.page), set()).add(tie.kind)
    own, here = evidence(chapter), {full(tie.where, tie.page) for tie in ties(chapter)}
    for cell in own:
        where = f"{cell.page}, cell {cell.about.get('label')!r}"
        if [each.name for each in own].count(cell.name) > 1:
            yield f"{where}: another cell has this label, rename one"
        if cell.name in kinds and cell.name not in here:
            yield f"{where}: only another page is tied to it, tie a sentence here"
        for told in wrong_cell(cell, kinds.get(cell.name, set())):
            yield f"{where}: {told}"


def full(where: str, page: str) -> str:
    return where if "#" in where else f"{page}#{where}"


def wrong(kind: str, where: str, page: str, names: set[str]) -> str:
    """Return what is wrong with a claim's kind or place, if anything is."""
    if kind not in REQUIRED:
        return f"{kind!r} is no kind, take one of {', '.join(REQUIRED)}"
    if kind == "citation":
        key, _, place = where.partition(" ")
        if key not in sources():
            return f"references.bib has no {key!r}"
        return "" if place else f"say where in {key}: its section, table or figure"
    free = not where if kind in ("definition", "advice") else (kind, where) == ("theorem", "here")
    if free:
        return ""
    if full(where, page) in names or (kind not in MEASURED and where in labels()):
        return ""
    of_cell = "the label of a cell of evidence" if kind in MEASURED else "a label"
    return f"{where!r} is not {of_cell}"


def wrong_cell(cell: Evidence, kinds: set[str]) -> Iterator[str]:
    """Yield what is wrong with a labelled cell that claims of some kinds name."""
    about = cell.about
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", about.get("label", "")):
        yield "give it a label of lower-case words with hyphens"
    if not kinds:
        yield "no sentence is tied to it: tie one, or take its label away"
    needed = dict.fromkeys(key for kind in sorted(kinds) for key in REQUIRED.get(kind, ()))
    if lacking := [key for key in needed if not str(about.get(key, "")).strip()]:
        yield f"say in its metadata, each in one line: {', '.join(lacking)}"
    if any("\n" in str(about.get(key, "")) for key in KEYS):
        yield "each of its metadata is one line"
    if kinds & {*MEASURED} and not cell.source.startswith("# "):
        yield "begin it with a comment that says what it shows"
    calls = any(called(each) == "because" for each in checks(cell.source))
    if "intervention" in kinds and not calls:
        yield "an intervention calls `because(with_cause, without, control, line=…)`"
