"""Collect what students handed in, and print what became of each file.

    .venv-course/bin/python -m tools collect NAME FROM [COURSE]

NAME is an assignment's. FROM is the zip that Canvas or Moodle lets you download, or a folder: what
was unpacked of it, the `inbound` of nbgrader's exchange, or files put by hand, named STUDENT.ipynb,
STUDENT/NAME.ipynb or STUDENT/NAME/NAME.ipynb.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from course.chapters import ROOT
from course.grading.door import Door, Row

SHOWN = 500  # rows


def table(rows: list[Row]) -> str:
    """Return rows as a table, what was refused last, and how many there are of each kind."""
    ordered = sorted(rows, key=lambda row: (row.what == "REFUSED", row))
    shown = [Row("student", "", "", "file"), *ordered[:SHOWN]]
    width = [max(len(row[i]) for row in shown) for i in (0, 1)]
    lines = [f"{r.student:{width[0]}}  {r.what:{width[1]}}  {r.file}" for r in shown]
    lines = [
        f"{line}: {row.why}" if row.why else line for line, row in zip(lines, shown, strict=True)
    ]
    lines += [f"and {len(rows) - SHOWN} more"] * (len(rows) > SHOWN)
    counts = Counter(row.what for row in rows)
    return "\n".join([*lines, ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))])


def main(name: str, source: str, course: str = str(ROOT / "course")) -> None:
    """Collect one assignment, and say what was done."""
    if not name or not source:
        sys.exit(
            "which assignment, and from where? make collect NAME=assignment-… FROM=download.zip"
        )
    try:
        print(table(Door(Path(course), name).collect(Path(source).expanduser())))
    except (OSError, ValueError) as problem:
        sys.exit(f"nothing is collected: {problem}")
