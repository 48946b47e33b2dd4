"""The sessions of the page for instructors: their text, and the cells to paste into a chapter."""

import re
from typing import NamedTuple

from quiz_text import CHAPTERS, ROOT

PAGE = (ROOT / "book/instructors.md").read_text(encoding="utf-8")


class Snippet(NamedTuple):
    """A cell to paste, the sentence before it, and the section at whose end it goes."""

    sentence: str
    section: str
    code: str


def sessions():
    """Return the text of each session by its title."""
    found = re.split(r"^### Session \d: (.+)$", PAGE, flags=re.M)[1:]
    return {
        title: text.split("\n## ")[0] for title, text in zip(found[::2], found[1::2], strict=True)
    }


def snippets(text):
    """Return the cells that stand below a session's table."""
    found = re.findall(r"^([^\n]+)\n\n```python\n(.+?)\n```$", text, re.M | re.S)
    return [Snippet(line, re.search(r"\]\((sec-[\w-]+)\)", line)[1], code) for line, code in found]


SESSIONS = dict(zip(CHAPTERS, sessions().values(), strict=True))
SNIPPETS = {name: snippets(text) for name, text in SESSIONS.items() if "```python" in text}
