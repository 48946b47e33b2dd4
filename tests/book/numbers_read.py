"""Every number in the text of a notebook, and what the code of its section says of it."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from course.checks import called, is_check, tree
from course.passages import COMMENT, FORMULA, OTHER, Passage, Section
from course.words import WORDS

REASONS = ("citation", "definition", "instruction")
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

    def equals(self, measured: float, exactly: bool = False) -> bool:
        """Tell whether this is what was found, rounded as it is written."""
        if self.value is None:
            return False
        measured = abs(measured) if self.unsigned else measured
        step = 0 if exactly else 0.5 * self.unit
        return abs(measured - self.value) <= step * (1 + 1e-9) + 1e-9 * abs(self.value)


def numbers(passage: Passage) -> Iterator[Number]:
    """Yield each number in words, digits and formulas with the comments behind it."""
    matches = [*NUMBER.finditer(passage.text)]
    for i, match in enumerate(matches):
        if (number := read(passage, match)) is None:
            continue
        number.ties = [passage.inserted[mark] for mark in match["ties"]]
        if not number.ties and i + 1 < len(matches):  # a reason covers both ends of a range
            between = passage.text[match.end() : matches[i + 1].start("digits")]
            if between in ("–", "-"):
                behind = [passage.inserted[mark] for mark in matches[i + 1]["ties"]]
                number.ties = [comment for comment in behind if comment in REASONS]
        yield number
    for match in TIED_FORMULA.finditer(passage.text):
        yield from read_formula(passage, match)


def read(passage: Passage, match: re.Match[str]) -> Number | None:
    """Return a number of the text, or None if it is a part of a name, or an ordinal."""
    before = re.search(r"[\w-]*$", passage.text[: match.start()])[0]
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
        value = value or float(sum(VALUES[word] for word in words.split("-")))
    if match["scale"] and value is not None:
        scale = SCALES[match["scale"].lower()]
        value, unit = value * scale, unit * (scale if scale > 100 else 1)
    if match["parts"] and value is not None:
        value, unit = value / PARTS[match["parts"].lower()], 0.1
    around = passage.shown(match.start(), match.end())
    percent = bool(match["percent"] or TO_PERCENT.match(passage.text, match.end()))
    start = match.start("digits") if before else match.start()  # after it a hyphen is no sign
    written = passage.text[start : match.start("ties")]
    return Number(written, value, unit, around, [], percent=percent, small=small)


def read_formula(passage: Passage, match: re.Match[str]) -> Iterator[Number]:
    """Yield the numbers of a formula; the comments behind it tie the last ones."""
    formula, around = passage.inserted[match["formula"]], passage.shown(*match.span())
    ties, formula_numbers = [passage.inserted[mark] for mark in match["ties"]], []
    for digit_match in IN_FORMULA.finditer(formula):
        digits = digit_match["digits"].replace("{,}", "")
        power = digit_match["one"] or digit_match["power"]
        if float(digits) < 10 and "." not in digits and (not power or abs(int(power)) < 10):
            continue
        value, unit = float(digits), 10.0 ** -len(digits.partition(".")[2])
        if power:
            value, unit = value ** int(power), min(1.0, value ** int(power))
        formula_numbers.append(Number(digit_match[0], value, unit, around, [], unsigned=True))
    tied = [tie for tie in ties if tie.startswith("=")]
    for i, number in enumerate(reversed(formula_numbers), 1):
        number.ties = [tied[-i]] if i <= len(tied) else ties
    yield from formula_numbers


def loose(passage: Passage) -> list[str]:
    """Return the comments that would tie a number, and stand behind none."""
    places = [*NUMBER.finditer(passage.text), *TIED_FORMULA.finditer(passage.text)]
    used = "".join(match["ties"] for match in places)
    comments = {mark: comment for mark, comment in passage.inserted.items() if mark < chr(FORMULA)}
    ties = {
        mark: comment
        for mark, comment in comments.items()
        if comment in REASONS or comment[:1] == "="
    }
    return [comment for mark, comment in ties.items() if mark not in used]


def ties(section: Section) -> list[str]:
    """Return the expressions that its numbers are tied to."""
    every_tie = [tie for passage in section.passages for n in numbers(passage) for tie in n.ties]
    return list(dict.fromkeys(tie[1:].strip() for tie in every_tie if tie.startswith("=")))


@cache
def printed(section: Section) -> set[float]:
    """Return the numbers that its cells print."""
    text = "\n".join("".join(each) for cell in section.cells for each in outputs(cell))
    digits = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return {float(each.replace(",", "")) for each in digits}


@cache
def written(section: Section) -> set[float]:
    """Return the numbers that stand in its code."""
    return {each for cell in section.cells for each in constants(tree(cell["source"]))}


@cache
def asserted(section: Section) -> set[float]:
    """Return the numbers that stand as literals in its assertions."""
    code = [node for cell in section.cells for node in ast.walk(tree(cell["source"]))]
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
