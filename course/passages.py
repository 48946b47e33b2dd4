"""The text of a notebook as a reader sees it, in sections and passages, with its comments.

A passage is a paragraph, a heading, a cell of a table, a caption. In its text one character stands
for each comment, formula or other insertion, so that what ties a word to its support is behind it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser

from course.chapters import ROOT

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["parse"]
MYST = MdParserConfig(enable_extensions=set(SETTINGS["myst_enable_extensions"]))
PARSER = create_md_parser(MYST, DocutilsRenderer)
NO_TEXT = {"code-block", "code-cell", "literalinclude", "bibliography", "rooms", "raw"}
NO_TITLE = {"container", "solution-start", "solution-end", "figure", "image"}
OBJECTIVES = r"^:class: .*\bobjectives\b"

# In a text one character stands for each comment, formula or other insertion.
COMMENT, FORMULA, OTHER = 0xE000, 0xF000, 0xF400


@dataclass
class Passage:
    """A text without markup, and what its insertions are."""

    place: str
    text: str = ""
    inserted: dict[str, str] = field(default_factory=dict)

    def insert(self, kind: int, content: str) -> None:
        mark = chr(kind + len(self.inserted))
        self.inserted[mark] = content
        self.text += mark

    def shown(self, start: int = 0, end: int | None = None) -> str:
        """Return the text, or the words around a part of it, as a reader sees them."""
        first, last = 0, len(self.text)
        if end is not None:
            first = self.text.rfind(" ", 0, max(start - 40, 0)) + 1
            last = self.text.find(" ", end + 30)
            last = last if last > 0 else len(self.text)
        text = "".join(
            "" if COMMENT <= ord(each) < FORMULA
            else f"${self.inserted[each]}$" if FORMULA <= ord(each) < OTHER
            else self.inserted.get(each, each)
            for each in self.text[first:last]
        )  # fmt: skip
        return "…" * (first > 0) + text.strip() + "…" * (last < len(self.text))


@dataclass(eq=False)
class Section:
    """What stands from one heading to the next."""

    title: str = ""
    passages: list[Passage] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)


def read(path: Path) -> list[Section]:
    """Return the sections of a notebook, or of a page that is text alone."""
    found = [Section("(before the first heading)")]
    if path.suffix == ".md":
        read_blocks(path.read_text(encoding="utf-8"), "text", found)
        return found
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source, about = "".join(cell["source"]), cell["metadata"]
        if cell["cell_type"] == "code":
            found[-1].cells.append({**cell, "source": source})
        else:
            read_blocks(source, "text", found)
        told = about.get("mystnb", {})
        for place, text in (
            ("caption", told.get("figure", {}).get("caption")),
            ("live caption", about.get("live", {}).get("caption")),
            ("alt text", told.get("image", {}).get("alt")),
            ("headline", about.get("slideshow", {}).get("headline")),
        ):
            if text:
                found[-1].passages.append(inline(text, place))
    return found


def inline(text: str, place: str) -> Passage:
    """Return what a reader sees of a text that is one paragraph."""
    (token,) = PARSER.parseInline(text)
    return passage(token.children or [], place)


def read_blocks(source: str, place: str, found: list[Section]) -> None:
    """Add the blocks of a text to the last section, and a section for each heading."""
    for token in PARSER.parse(source):
        passages = found[-1].passages
        directive = re.match(r"\{([\w:-]+)\}\s*(.*)", token.info) if "fence" in token.type else None
        if token.type == "heading_open":
            found.append(Section())
        elif token.type == "inline":
            passages.append(passage(token.children or [], place))
            found[-1].title = found[-1].title or passages[-1].shown() or "?"
        elif token.type.startswith(("math_block", "amsmath")) or (
            directive and directive[1] == "math"
        ):
            passages.append(Passage(place))
            passages[-1].insert(FORMULA, token.content)
        elif token.type == "html_block" and token.content.startswith("<!--") and passages:
            passages[-1].insert(COMMENT, inside(token.content))
        elif directive and directive[1] not in NO_TEXT and ":class: quiz" not in token.content:
            title = "" if directive[1] in NO_TITLE else f"{directive[2]}\n\n"
            here = "objectives" if re.search(OBJECTIVES, token.content, re.M) else place
            content = re.sub(r"\A(?::[\w-]+:.*\n?)+", "", token.content)
            read_blocks(title + content, here, found)


def passage(tokens: list[Token], place: str) -> Passage:
    """Return what a reader sees of a text, its markup left out."""
    made = Passage(place)
    for token in tokens:
        if token.type == "text":
            made.text += token.content
        elif token.type.endswith("break"):
            made.text += " "
        elif token.type == "html_inline" and token.content.startswith("<!--"):
            made.insert(COMMENT, inside(token.content))
        elif token.type.startswith("math_inline"):
            made.insert(FORMULA, token.content)
        elif token.type == "myst_role":
            made.insert(OTHER, f"{{{token.meta['name']}}}`{token.content}`")
        elif token.type in ("code_inline", "image"):
            made.insert(OTHER, token.content)
    return made


def inside(comment: str) -> str:
    return " ".join(comment.strip().removeprefix("<!--").removesuffix("-->").split())
