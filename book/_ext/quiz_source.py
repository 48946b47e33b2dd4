"""Read the part of text2qti's plain-text format that the quizzes in course/ use."""

import json
import re
from pathlib import Path
from typing import NamedTuple

QUIZZES = Path(__file__).resolve().parents[2] / "course/quizzes"
AGAIN = re.compile(r" Read again: \*(?P<section>.+)\*$")
PARTS = {
    "title": r"Quiz title: ",
    "setting": r"(?:Quiz description|Shuffle answers): ",
    "heading": r"Title: ",
    "question": r"\d+\.  ",
    "right": r"\*[a-d]\) ",
    "wrong": r"[a-d]\)  ",
    "feedback": r"\.\.\. ",
    "more": r"    ",  # of a question: a block of code
}
LINE = re.compile("|".join(f"(?P<{name}>{mark})" for name, mark in PARTS.items()))


class Choice(NamedTuple):
    """One answer, and what is said to whoever picks it."""

    text: str
    right: bool
    feedback: str

    @property
    def section(self):
        """The heading of the section to read again, or None."""
        found = AGAIN.search(self.feedback)
        return found and found["section"]

    @property
    def misconception(self):
        return AGAIN.sub("", self.feedback)


class Question(NamedTuple):
    heading: str
    text: str
    choices: tuple[Choice, ...]


class Quiz(NamedTuple):
    title: str
    questions: tuple[Question, ...]


def parse(text):
    """Read a quiz; what is not of the form above is an error, never left out."""
    title, questions, pending = None, [], []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.match(line)
        if not line:
            if pending and not questions[-1]["choices"]:
                questions[-1]["text"] += "\n"  # a gap within a question
            continue
        if not found or not line[found.end() :].strip():
            raise ValueError(f"line {number} is not part of a quiz: {line!r}")
        part, rest = found.lastgroup, line[found.end() :]
        pending = questions
        if part == "title":
            title = rest
        elif part == "heading":
            questions.append({"heading": rest, "text": "", "choices": []})
        elif part == "question":
            questions[-1]["text"] = rest
        elif part == "more":
            questions[-1]["text"] += "\n" + rest
        elif part in ("right", "wrong"):
            questions[-1]["choices"].append([rest, part == "right", ""])
        elif part == "feedback":
            questions[-1]["choices"][-1][2] = rest
    return Quiz(
        title,
        tuple(
            Question(
                q["heading"],
                q["text"].strip(),
                tuple(Choice(*c) for c in q["choices"]),
            )
            for q in questions
        ),
    )


def read(name):
    """Return the quiz of a chapter, named like its notebook."""
    return parse((QUIZZES / f"{name}.txt").read_text(encoding="utf-8"))


def sections(notebook):
    """Map the headings of a chapter that have a label to that label."""
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    prose = "\n".join(
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    )
    found = re.findall(r"^\((sec-[\w-]+)\)=\n##+ (.+)$", prose, re.M)
    return {heading: label for label, heading in found}
