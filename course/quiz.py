"""Read the part of text2qti's plain-text format that the quizzes use."""

import re
from typing import NamedTuple

from course.chapters import Chapter

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


def parse(text: str) -> Quiz:
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


def read(chapter: Chapter) -> Quiz:
    """Return the quiz of a chapter."""
    return parse((chapter.room / "quiz.txt").read_text(encoding="utf-8"))


def numbers(question: Question) -> list[int]:
    """Return all whole numbers in a question, in their order: its sizes are read, not copied."""
    return [int(number) for number in re.findall(r"\d+", question.text)]


def code(shape: tuple[int, ...]) -> str:
    """Write a shape as the choices do."""
    return f"`{tuple(shape)}`"
