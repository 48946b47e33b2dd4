"""The chapters of the book, in the order of `_toc.yml`, and where the files of each lie."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "course/measured.json"  # what chapters take; written by `make measure`


@dataclass(frozen=True)
class Chapter:
    """One chapter; the name of its page, such as ``02-scaled-dot-product``, gives all others."""

    number: int
    name: str
    root: Path

    @property
    def module(self) -> str:
        """The name of its room here, and of its checkers in `attnbook.exercises`."""
        return f"ch{self.name.replace('-', '_')}"

    @property
    def label(self) -> str:
        """What a page links to it by."""
        return f"ch-{self.name.partition('-')[2]}"

    @property
    def assignment(self) -> str:
        """What students, and nbgrader, call its assignment."""
        return f"assignment-{self.name}"

    @property
    def notebook(self) -> Path:
        """Its text."""
        return self.root / f"book/{self.name}.ipynb"

    @property
    def notebooks(self) -> list[Path]:
        """Its text, and the pages beside the chapters that take it further, if it has any."""
        appendices = self.about.get("appendices", [])
        return [self.notebook, *(self.root / f"book/{name}.ipynb" for name in appendices)]

    @property
    def pages(self) -> list[Path]:
        """The same, as a page to look things up in has them."""
        return self.notebooks

    @property
    def room(self) -> Path:
        """The folder of all that is not its text."""
        return self.root / f"course/{self.module}"

    @property
    def master(self) -> Path:
        """Its assignment, with solutions and hidden tests."""
        return self.room / "assignment.ipynb"

    @cached_property
    def about(self) -> dict[str, Any]:
        """What its `chapter.toml` says."""
        path = self.room / "chapter.toml"
        if not path.is_file():
            raise FileNotFoundError(
                f"_toc.yml lists book/{self.name}, but there is no {path.relative_to(self.root)}: "
                f"take the line out of _toc.yml, then run make chapter NAME={self.name}"
            )
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path}: not TOML, mend it: {error}") from None

    @property
    def draft(self) -> bool:
        """Whether it is only begun: it is built, but left out of the course and of promises."""
        return bool(self.about.get("draft"))

    @cached_property
    def prose(self) -> str:
        """Its text without the code, and without comments."""
        texts = [cell["source"] for cell in cells(self.notebook, "markdown")]
        return without_comments("\n\n".join(texts))

    @cached_property
    def exercises(self) -> dict[str, str]:
        """The titles of its exercises and its appendices', by the names that `check` takes."""
        texts = [cell["source"] for book in self.notebooks for cell in cells(book, "markdown")]
        exercise = r"^:::\{exercise\} (.+)\n:label: ex-([\w-]+)"
        matches = re.findall(exercise, "\n\n".join(texts), re.M)
        return by_id([(name, title) for title, name in matches], self.notebook)

    @cached_property
    def sections(self) -> dict[str, str]:
        """The headings of its sections, by their labels."""
        matches = re.findall(r"^\((sec-[\w-]+)\)=\n##+ (.+)$", self.prose, re.M)
        return by_id(matches, self.notebook)

    @property
    def teaches(self) -> dict[str, str]:
        """The section that teaches each name of the package, by the name's path in `attnbook`."""
        sections = self.about.get("teaches", {}).items()
        taught = [(name, section) for section, names in sections for name in names]
        return by_id(taught, self.room / "chapter.toml")

    @cached_property
    def tasks(self) -> dict[str, str]:
        """The titles of its assignment's tasks, by what nbgrader calls the cell of the answer."""
        answers, title = [], ""
        for cell in cells(self.master, "markdown", "code"):
            title = "".join(re.findall(r"^## \d\. (.+)$", cell["source"], re.M)) or title
            if cell["metadata"].get("nbgrader", {}).get("solution"):
                answers.append((cell["metadata"]["nbgrader"]["grade_id"], title))
        return by_id(answers, self.master)

    @property
    def session(self) -> str:
        """The plan of its session with a class."""
        return (self.room / "session.md").read_text(encoding="utf-8")

    def part(self, name: str) -> ModuleType:
        """Return a module of its room."""
        return importlib.import_module(f"{__package__}.{self.module}.{name}")

    @property
    def checkers(self) -> dict[str, Any]:
        """The checkers of its exercises, by name."""
        checkers = importlib.import_module(f"attnbook.exercises.{self.module}").EXERCISES
        return dict(checkers)


def chapters(root: Path = ROOT) -> list[Chapter]:
    """Return the chapters of the course, which drafts are not."""
    return [chapter for chapter in chapters_and_drafts(root) if not chapter.draft]


def drafts(root: Path = ROOT) -> list[Chapter]:
    """Return the chapters that are only begun."""
    return [chapter for chapter in chapters_and_drafts(root) if chapter.draft]


def chapters_and_drafts(root: Path = ROOT) -> list[Chapter]:
    """Return what `_toc.yml` lists in its numbered part."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    (files,) = [part["chapters"] for part in toc["parts"] if part.get("numbered")]
    names = [entry["file"].removeprefix("book/") for entry in files]
    return [Chapter(number, name, root) for number, name in enumerate(names, 1)]


class LookUp(NamedTuple):
    """A page beside the chapters that is text and no notebook, such as the glossary."""

    name: str
    root: Path

    @property
    def pages(self) -> list[Path]:
        """Its text."""
        return [self.root / f"book/{self.name}.md"]


def look_ups(root: Path = ROOT) -> list[LookUp]:
    """Return the pages that `_toc.yml` lists and that are text: the first page, and unnumbered."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = [part for part in toc["parts"] if not part.get("numbered")]
    files = [toc["root"]] if "root" in toc else []
    while listed:
        entry = listed.pop(0)
        files += [entry["file"]] if "file" in entry else []
        listed = [*entry.get("chapters", []), *entry.get("sections", []), *listed]
    made = [LookUp(file.removeprefix("book/"), root) for file in files]
    return [page for page in made if page.pages[0].is_file()]


def by_name(name: str) -> Chapter:
    """Return the chapter, or draft, whose page has a name; raise KeyError if there is none."""
    return {chapter.name: chapter for chapter in chapters_and_drafts()}[name]


def by_id(pairs: list[tuple[str, Any]], where: object) -> dict[str, Any]:
    """Return things by their ids, each of which may be used once."""
    things: dict[str, Any] = {}
    for name, thing in pairs:
        if not name:
            raise ValueError(f"{where}: give an id to {thing!r}")
        if name in things:
            raise ValueError(f"{where}: the id {name!r} is used twice, rename one of the two")
        things[name] = thing
    return things


def without_comments(text: str) -> str:
    """Return a text without the comments that tie its numbers to code; only a test reads them."""
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def cells(notebook: Path, *kinds: str) -> list[dict[str, Any]]:
    """Return the cells of some kinds of a notebook, the source of each in one piece."""
    stored = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [
        {**cell, "source": "".join(cell["source"])} for cell in stored if cell["cell_type"] in kinds
    ]
