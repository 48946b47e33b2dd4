"""The chapters as parameters of tests; a draft is skipped where it need not hold, and says why."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from course.chapters import Chapter, chapters_and_drafts


def every(of: Callable[[Chapter], Iterable[Any]] = lambda chapter: [chapter]) -> list[Any]:
    """Return what a test takes of each chapter, a draft's marked as skipped."""
    return [
        pytest.param(thing, marks=skipped(chapter))
        for chapter in chapters_and_drafts()
        for thing in of(chapter)
    ]


def skipped(chapter: Chapter) -> list[pytest.MarkDecorator]:
    """Return what skips a test of a draft."""
    told = f"course/{chapter.module}/chapter.toml"
    why = (
        f"{chapter.name} is a draft: delete draft = true from {told} to test it as a chapter, "
        "which needs every part that course/promises.toml counts, no TODO, a tie for each claim"
    )
    return [pytest.mark.skip(reason=why)] if chapter.draft else []
