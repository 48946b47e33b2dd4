"""A made-up second language: every word that a translator would translate, reversed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

# What a translator leaves alone: code, formulas, the syntax of MyST, text2qti, TOML and INI files.
KEPT = re.compile(
    r"""
      <!--(?s:.*?)-->                           # what ties a number to code
    | ^[ ]*(?P<fence>`{3,})(?s:.*?)^[ ]*(?P=fence)$ # a block of code, a directive with options
    | ^:::\{(?:container|[\w-]+-(?:start|end))\}.*$ # with a class, or with a label
    | ^:[\w-]+:.*$ | ^\([\w-]+\)=$              # an option, a label
    | (?P<code>`+)[^`].*?(?P=code)              # code, what a role has
    | \$\$[^$]+\$\$(?:[ ]\([\w-]+\))? | \$[^$]+\$ # formulas
    | \{[^{}\n]*\}                              # a role, a directive, attributes, a field
    | \]\([^)]*\) | https?://\S+ | <[^<>]+>     # where a link leads, a tag
    | ^(?:Quiz[ ]\w+|Title|Shuffle[ ]answers):(?:[ ]true$)? | ^%.*$ | ^\*?[a-d]\)
    | ^\[+[\w-]+\]+$ | ^claims[ ]=[ ].*$       # a section, a mark
    | ^[\w-]+[ ]=[ ](?:\[[^\]]*\]|true\b)?      # a key, a list of ids, whether it is a draft
    | \\. | &\w+;
    """,
    re.M | re.X,
)
WORD = re.compile(rf"(?P<kept>{KEPT.pattern})|[^\W\d_⁰¹²³⁴-⁹]+", KEPT.flags)
FILES = ["course/words.toml", "course/ch*/chapter.toml", "course/ch*/quiz.txt"]
FILES += ["course/ch*/session.md", "book/in*.md", "book/notation.md", "attnbook/exercises/*.ini"]
FILES += ["course/*/*.ini"]
NOTEBOOKS = ["book/*.ipynb", "course/ch*/assignment.ipynb"]


def translated(text: str) -> str:
    """Reverse the letters of every word in its place."""
    return WORD.sub(lambda found: found[0] if found["kept"] else found[0][::-1], text)


def translate(root: Path) -> None:
    """Translate the book in a copy of the repository; code and outputs stay."""
    for path in (path for pattern in FILES for path in root.glob(pattern)):
        path.write_text(translated(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (path for pattern in NOTEBOOKS for path in root.glob(pattern)):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = translated("".join(cell["source"])).splitlines(keepends=True)
            about = cell["metadata"]
            reverse(about.get("slideshow", {}), "headline")
            reverse(about.get("mystnb", {}).get("figure", {}), "caption")
            reverse(about.get("live", {}), "caption")
            reverse(about.get("mystnb", {}).get("image", {}), "alt")
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")


def reverse(about: dict[str, Any], key: str) -> None:
    """Translate what a cell's metadata says under a key, if it does."""
    if key in about:
        about[key] = translated(about[key])
