"""What is wrong with the numbers in a notebook's text, and what to do about it.

A number that is tied to an expression is compared where the notebook runs, `tied`; any other with
what its section prints, writes in code or asserts, or it needs a reason, `untied`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from course.passages import Section, read
from tests.book import numbers_read
from tests.book.numbers_read import REASONS, Number, loose, numbers

TODO = "tie it with <!-- = expression --> or give a reason"


class Result(NamedTuple):
    """What an expression gives where a section ends, or why it gives nothing."""

    value: float | None
    has_name: bool = True  # of the notebook: an expression without one is the same in any
    problem: str = ""


def in_notebook(expression: str) -> str:
    """Return what, evaluated in a notebook, gives an expression's `Result`, as JSON."""
    nodes = ast.walk(ast.parse(expression, mode="eval"))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    value = f"float(__import__('numpy').asarray({expression}).item())"
    return f"__import__('json').dumps([{value}, not globals().keys().isdisjoint({names or ()})])"


def result(text: str) -> Result:
    """Return the result that `in_notebook` gave."""
    return Result(*json.loads(text))


def untied(path: Path) -> Iterator[str]:
    """Yield a line for each number of a notebook that has no tie, no reason and nothing shows."""
    for section in read(path):
        for passage in section.passages:
            where = f"{path.stem}, section {section.title!r}, {passage.place}"
            for each in loose(passage):
                yield f"{where}: <!-- {each} --> stands behind no number, put it there"
            for number in numbers(passage):
                if not tie_of(number) and (wrong := not_shown(number, section)):
                    yield f'{where}: "{number.around}": {number.written} {wrong}'


def tied(section: Section, results: dict[str, Result]) -> Iterator[str]:
    """Yield a line for each number of a section that is not what its expression gives."""
    for passage in section.passages:
        for number in numbers(passage):
            if (tie := tie_of(number)) and (wrong := differs(number, tie, results[tie])):
                where = f"section {section.title!r}, {passage.place}"
                yield f'{where}: "{number.around}": {number.written} {wrong}'


def tie_of(number: Number) -> str:
    """Return the expression that a number is tied to, if no reason stands before it."""
    first = next((t for t in number.ties if t in REASONS or t.startswith("=")), "")
    return first[1:].strip() if first.startswith("=") else ""


def not_shown(number: Number, section: Section) -> str:
    """Return what is wrong with a number without a tie, if anything is."""
    if any(tie in REASONS for tie in number.ties):
        return ""
    shown = set() if number.small else numbers_read.printed(section)
    stated = numbers_read.asserted(section) if number.small else numbers_read.written(section)
    if number.percent:
        shown, stated = ({*each, *(100 * one for one in each)} for each in (shown, stated))
    if any(map(number.equals, shown)) or any(number.equals(each, exactly=True) for each in stated):
        return ""
    known = shown | stated
    about = "asserted" if number.small else "printed, nor written in the code,"
    nearest = ""
    if known and number.value is not None:
        close = min(known, key=lambda each: abs(each - number.value))
        nearest = f" (nearest: {close:.6g})"
    return f"is not {about} in this section{nearest}; {TODO}"


def differs(number: Number, expression: str, given: Result) -> str:
    """Return what an expression gives that should give a number, if it does not."""
    if given.value is None:
        return f"is tied to {expression}, which fails: {given.problem}"
    if not given.has_name:
        return (
            f"is tied to {expression}, which has no name of the notebook: use one, or give a reason"
        )
    value = given.value * (100 if number.percent else 1)
    if number.equals(value):
        return ""
    return (
        f"is tied to {expression}, which gives {value:.6g}{' %' * number.percent}: mend one of them"
    )
