"""What the page *The same in PyTorch and JAX* is made of: the snippets in book/frameworks/.

A thing has a folder: the book's lines in ``book.py``, the same in ``torch.py`` and ``jax.py``, and
in ``then.py`` how to run what the book's lines have read. What they are given is in ``given.py``,
the largest differences that were seen in ``seen.json``. A snippet may call a function that another
one of its library defines. ``tools/frameworks.py`` runs them, the page shows them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from course.chapters import ROOT
from course.words import say

FOLDER = ROOT / "book/frameworks"
PAGE = ROOT / "book/frameworks.md"
SEEN = FOLDER / "seen.json"
BENCH = ROOT / "attnbook/data/bench.json"
BESIDE = "side by side:"  # how rows of the bench begin that compare with both
LIBRARIES = {"torch": "PyTorch", "jax": "JAX"}
PLACE = re.compile(r"^```\{rooms\} frameworks (\w+)$", re.M)


def things() -> list[str]:
    """List the things, in the order of the page."""
    return PLACE.findall(PAGE.read_text(encoding="utf-8"))


def libraries(thing: str) -> list[str]:
    """List the libraries that have a snippet of a thing."""
    return [library for library in LIBRARIES if (FOLDER / thing / f"{library}.py").is_file()]


def snippet(thing: str, part: str) -> str:
    """Return the code of a library, or of the book, for a thing."""
    return (FOLDER / thing / f"{part}.py").read_text(encoding="utf-8")


def line(thing: str) -> str:
    """Return where the page shows a thing."""
    text = PAGE.read_text(encoding="utf-8")
    (start,) = [place.start() for place in PLACE.finditer(text) if place[1] == thing]
    return f"{PAGE.relative_to(ROOT)}:{text.count(chr(10), 0, start) + 1}"


def assigned(code: str) -> list[str]:
    """List the names that code gives a value, but within functions and comprehensions."""
    found = []
    for node in ast.parse(code).body:
        if not isinstance(node, ast.FunctionDef):
            within = [each for each in ast.walk(node) if isinstance(each, ast.comprehension)]
            passing = {each for inner in within for each in ast.walk(inner.target)}
            found += [each for each in ast.walk(node) if each not in passing]
    return [each.id for each in found if isinstance(each, ast.Name) and stored(each)]


def stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def functions(code: str) -> list[str]:
    """List the functions that code defines."""
    return [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]


def needed(thing: str, library: str) -> dict[str, str]:
    """Return the functions that a snippet takes from others, and where each is defined."""
    code = snippet(thing, library)
    names = {each.id for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Name)}
    defined: dict[str, str] = {}
    for other in things():
        if library in libraries(other) and other != thing:
            for name in functions(snippet(other, library)):
                defined.setdefault(name, other)
    own = {*functions(code), *assigned(code)}
    return {name: defined[name] for name in sorted(names - own) if name in defined}


def frameworks(thing: str) -> Iterator[str]:
    """Show the book's lines and, in tabs, the same in each library."""
    stored = json.loads(SEEN.read_text(encoding="utf-8"))
    yield f"```python\n{snippet(thing, 'book')}```\n"
    if (FOLDER / thing / "then.py").is_file():
        yield say("framework_then")
        yield f"```python\n{snippet(thing, 'then')}```\n"
    yield f"::::::{{tabs}} {say('framework_tabs')}"
    for library in libraries(thing):
        yield f":::::{{tab}} {LIBRARIES[library]} {stored['made_with'][library]}"
        yield f"```python\n{snippet(thing, library)}```\n"
        yield differs(stored["seen"].get(thing, {}).get(library, {}))
        if taken := needed(thing, library):
            links = [f"[`{name}`]({label(other)})" for name, other in taken.items()]
            yield say("framework_needs", functions=", ".join(links))
        yield ":::::\n"
    yield "::::::\n"


def frameworks_given() -> Iterator[str]:
    """Show what all snippets are given."""
    yield f"```python\n{(FOLDER / 'given.py').read_text(encoding='utf-8')}```"


def label(thing: str) -> str:
    """Return the label of the section of a thing."""
    return f"same-{thing.replace('_', '-')}"


def differs(seen: dict[str, float]) -> str:
    """Say how far a library's result was from the book's, at most."""
    if not any(seen.values()):
        return say("framework_equal")
    numbers = [
        say("framework_dtype", dtype=dtype, most=f"{most:.0e}") for dtype, most in seen.items()
    ]
    return say("framework_differs", numbers=", ".join(numbers))


def frameworks_speed() -> Iterator[str]:
    """List how long the libraries take, beside the book."""
    rows = json.loads(BENCH.read_text(encoding="utf-8"))["rows"]
    beside = [row for row in rows if row["what"].startswith(BESIDE)]
    others = list(dict.fromkeys(row["other"] for row in beside))
    yield say("framework_speed", **dict(zip(LIBRARIES, others, strict=True)))
    for what in dict.fromkeys(row["what"] for row in beside):
        found = {row["other"]: row for row in beside if row["what"] == what}
        row = found[others[0]]
        name = what.removeprefix(BESIDE).strip()
        times = " | ".join(f"{found[other]['ratio']:.2g}" for other in others)
        size = say(re.sub(r"\W+", "_", f"framework_{name}"))
        yield f"| {size} | {row['amount']:.2g} ms | {times} |"
