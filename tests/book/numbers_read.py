"""Every number in the text of a notebook, and what the code of its section says of it."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser

from course.chapters import ROOT
from course.checks import called, is_check, tree
from course.words import WORDS

REASONS = ("citation", "definition", "instruction")
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["parse"]
MYST = MdParserConfig(enable_extensions=set(SETTINGS["myst_enable_extensions"]))
PARSER = create_md_parser(MYST, DocutilsRenderer)
NO_TEXT = {"code-block", "code-cell", "literalinclude", "bibliography", "rooms", "raw"}
NO_TITLE = {"container", "solution-start", "solution-end", "figure", "image"}

# In a text that is searched, one character stands for each comment, formula or other insertion.
COMMENT, FORMULA, OTHER = 0xE000, 0xF000, 0xF400
TIES = f"(?P<ties>[{chr(COMMENT)}-{chr(FORMULA - 1)}]*)"

UNITS, TEENS, TENS = (WORDS[key].split() for key in ("units", "teens", "tens"))
VALUES = {word: value for value, word in enumerate(UNITS + TEENS, 1)}
VALUES |= {word: 10 * value for value, word in enumerate(TENS, 2)}
SCALES = dict(zip(WORDS["scales"].split(), (100, 10**3, 10**6, 10**9), strict=True))
PARTS = {word: value for value, word in enumerate(WORDS["parts"].split(), 3)}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def either(words: Any) -> str:
    return "|".join(map(re.escape, words))


DIGITS = r"(?:\d{1,3}(?:[, \u00a0\u2009\u202f]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)(?:e[+-]?\d+)?"
NUMBER = re.compile(
    rf"""(?: (?P<sign>[−-])? (?<!\d)(?P<digits>{DIGITS}) (?P<power>[⁰¹²³⁴-⁹⁻]+)?
             (?P<ordinal>(?:{either(WORDS["ordinals"].split())})\b)?
           | (?<![^\W_])(?P<words>(?:{either(TENS)})-(?:{either(UNITS)})
             | {either([*UNITS[1:], *TEENS, *TENS, *SCALES])})(?![^\W_]) )
        (?:[ -](?P<scale>{either(SCALES)})\b)? (?:[ -](?P<parts>{either(PARTS)})\b)?
        (?P<percent>[ \u00a0\u202f]?(?:{either(WORDS["percent"].split())}))?
        {TIES}""",
    re.X | re.I,
)
TO_PERCENT = re.compile(rf"[–-]{DIGITS}[ \u00a0\u202f]?%")
IN_FORMULA = re.compile(
    r"(?<![\w.\\])(?P<digits>\d+(?:\{,\}\d{3})*(?:\.\d+)?)(?:\^(?:(?P<one>\d)|\{(?P<power>-?\d+)\}))?"
    r"(?!\s*(?:pt|em|ex|mu)\b)"
)
TIED_FORMULA = re.compile(f"(?P<formula>[{chr(FORMULA)}-{chr(OTHER - 1)}]){TIES}")


@dataclass
class Number:
    """A number as it is written, its value (None: it is no number, such as 0.27.7) and its ties."""

    written: str
    value: float | None
    unit: float  # of its last place
    around: str
    ties: list[str]
    percent: bool = False
    unsigned: bool = False
    small: bool = False  # a digit or a word, of which many stand in any code

    def equals(self, found: float, exactly: bool = False) -> bool:
        """Tell whether this is what was found, rounded as it is written."""
        if self.value is None:
            return False
        found, step = abs(found) if self.unsigned else found, 0 if exactly else 0.5 * self.unit
        return abs(found - self.value) <= step * (1 + 1e-9) + 1e-9 * abs(self.value)


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

    def numbers(self) -> Iterator[Number]:
        """Yield each number in words, digits and formulas with the comments behind it."""
        found = [*NUMBER.finditer(self.text)]
        for i, match in enumerate(found):
            if (number := self.read(match)) is None:
                continue
            number.ties = [self.inserted[mark] for mark in match["ties"]]
            if not number.ties and i + 1 < len(found):  # a reason covers both ends of a range
                between = self.text[match.end() : found[i + 1].start("digits")]
                if between in ("–", "-"):
                    behind = [self.inserted[mark] for mark in found[i + 1]["ties"]]
                    number.ties = [each for each in behind if each in REASONS]
            yield number
        for match in TIED_FORMULA.finditer(self.text):
            yield from self.read_formula(match)

    def read(self, match: re.Match[str]) -> Number | None:
        """Return a number of the text, or None if it is a part of a name, or an ordinal."""
        before = re.search(r"[\w-]*$", self.text[: match.start()])[0]
        value: float | None
        if match["digits"]:
            if match["ordinal"] or (re.search(r"[^\W\d]", before) and match["sign"] != "−"):
                return None
            digits = re.sub(r"[^\d.e+-]", "", match["digits"])
            mantissa, _, exponent = digits.partition("e")
            value = float(digits) if digits.count(".") < 2 else None
            unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
            if match["power"]:
                value = float(digits) ** int(match["power"].translate(SUPERSCRIPTS))
                unit = value
            if match["sign"] and value is not None and not before:
                value = -value
            small = len(digits) == 1
        else:
            words = match["words"].lower()
            value, unit, small = float(SCALES.get(words, 0)), 1.0, True
            value = value or float(sum(VALUES[each] for each in words.split("-")))
        if match["scale"] and value is not None:
            scale = SCALES[match["scale"].lower()]
            value, unit = value * scale, unit * (scale if scale > 100 else 1)
        if match["parts"] and value is not None:
            value, unit = value / PARTS[match["parts"].lower()], 0.1
        around = self.shown(match.start(), match.end())
        percent = bool(match["percent"] or TO_PERCENT.match(self.text, match.end()))
        start = match.start("digits") if before else match.start()  # after it a hyphen is no sign
        written = self.text[start : match.start("ties")]
        return Number(written, value, unit, around, [], percent=percent, small=small)

    def read_formula(self, match: re.Match[str]) -> Iterator[Number]:
        """Yield the numbers of a formula; the comments behind it tie the last ones."""
        formula, around = self.inserted[match["formula"]], self.shown(*match.span())
        ties, found = [self.inserted[mark] for mark in match["ties"]], []
        for each in IN_FORMULA.finditer(formula):
            digits, power = each["digits"].replace("{,}", ""), each["one"] or each["power"]
            if float(digits) < 10 and "." not in digits and (not power or abs(int(power)) < 10):
                continue
            value, unit = float(digits), 10.0 ** -len(digits.partition(".")[2])
            if power:
                value, unit = value ** int(power), min(1.0, value ** int(power))
            found.append(Number(each[0], value, unit, around, [], unsigned=True))
        tied = [tie for tie in ties if tie not in REASONS]
        for i, number in enumerate(reversed(found), 1):
            number.ties = [tied[-i]] if i <= len(tied) else ties
        yield from found

    def loose(self) -> list[str]:
        """Return the comments that would tie a number, and stand behind none."""
        places = [*NUMBER.finditer(self.text), *TIED_FORMULA.finditer(self.text)]
        used = "".join(match["ties"] for match in places)
        comments = {mark: each for mark, each in self.inserted.items() if mark < chr(FORMULA)}
        ties = {mark: each for mark, each in comments.items() if each in REASONS or each[:1] == "="}
        return [each for mark, each in ties.items() if mark not in used]


@dataclass
class Section:
    """What stands from one heading to the next."""

    title: str = ""
    passages: list[Passage] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ties(self) -> list[str]:
        """Return the expressions that its numbers are tied to."""
        ties = [tie for each in self.passages for n in each.numbers() for tie in n.ties]
        return list(dict.fromkeys(tie[1:].strip() for tie in ties if tie.startswith("=")))

    @cached_property
    def printed(self) -> set[float]:
        """Return the numbers that its cells print."""
        text = "\n".join("".join(each) for cell in self.cells for each in outputs(cell))
        digits = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", text)
        return {float(each.replace(",", "")) for each in digits}

    @cached_property
    def written(self) -> set[float]:
        """Return the numbers that stand in its code."""
        return {each for cell in self.cells for each in constants(tree(cell["source"]))}

    @cached_property
    def asserted(self) -> set[float]:
        """Return the numbers that stand as literals in its assertions."""
        code = [node for cell in self.cells for node in ast.walk(tree(cell["source"]))]
        found = [node for node in code if is_check(node) or called(node) in CLOSE]
        return {each for check in found for each in constants(Literals().visit(check))}


CLOSE = ("isclose", "allclose")
HOLD = (*CLOSE, "array_equal", "array", "set", "approx")


class Literals(ast.NodeTransformer):
    """Leaves out numbers that say where or how to look: indices, axes, digits, tolerances."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        holds = is_check(node) or called(node) in HOLD
        node.keywords = []
        node.args = [each for each in node.args if holds or not constants(each, inner=False)]
        return self.generic_visit(node)


def constants(found: ast.AST, inner: bool = True) -> set[float]:
    """Return the numbers in code; those that are made of others, such as 2**16, too."""
    values = set()
    for node in ast.walk(found) if inner else [found]:
        kinds = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
        if isinstance(node, kinds[:3]) and all(isinstance(n, kinds) for n in ast.walk(node)):
            with contextlib.suppress(Exception):
                value = eval(compile(ast.Expression(node), "", "eval"), {})
                if isinstance(value, int | float) and not isinstance(value, bool):
                    values.add(float(value))
    return values


def outputs(cell: dict[str, Any]) -> Iterator[list[str] | str]:
    for out in cell["outputs"]:
        data = out.get("data", {})
        yield from (out.get("text", ""), out.get("evalue", ""))
        if not any(kind.startswith("image/") for kind in data):
            yield from (data.get("text/plain", ""), data.get("text/markdown", ""))


def read(path: Path) -> list[Section]:
    """Return the sections of a notebook."""
    found = [Section("(before the first heading)")]
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
                (inline,) = PARSER.parseInline(text)
                found[-1].passages.append(passage(inline.children or [], place))
    return found


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
            content = re.sub(r"\A(?::[\w-]+:.*\n?)+", "", token.content)
            read_blocks(title + content, place, found)


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
        elif token.type in ("code_inline", "myst_role", "image"):
            made.insert(OTHER, token.content)
    return made


def inside(comment: str) -> str:
    return " ".join(comment.strip().removeprefix("<!--").removesuffix("-->").split())
