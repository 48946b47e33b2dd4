"""What a chapter and its parts promise, and tests hold them to: the numbers of `promises.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".toml")
PROMISES: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))


def broken(where: object, whose: str, what: str, count: float) -> str:
    """Return nothing if a promise is kept, else what is promised, where, and what to do."""
    promise = PROMISES[whose][what]
    least, most = promise.get("least", count), promise.get("most", count)
    if least <= count <= most:
        return ""
    one, _, several = promise["is"].partition("|")
    counted = f"{count:,.4g} {several if several and count != 1 else one}"
    bounds = {"least": "at least {least:,}", "most": "at most {most:,}"}
    bound = "{least:,} to {most:,}" if bounds.keys() <= promise.keys() else ""
    bound = bound or "".join(bound_text for key, bound_text in bounds.items() if key in promise)
    bound = f"{least:,}" if promise.get("least") == promise.get("most") else bound.format(**promise)
    lack = f"{round(max(least - count, count - most)):,}"
    write = "write" if count < least else "drop"
    draft = "" if "keeps" in PROMISES[whose] else ", or set draft = true in its chapter.toml"
    return (
        f"{where} has {counted}; {whose} promises {bound}"
        f" (course/{FILE.name}): {promise['do'].format(lack=lack, write=write)}{draft}"
    )


def keep(where: object, whose: str, what: str, count: float) -> None:
    """Raise AssertionError, with what to do, unless a promise is kept."""
    __tracebackhide__ = True
    if problem := broken(where, whose, what, count):
        raise AssertionError(problem)
