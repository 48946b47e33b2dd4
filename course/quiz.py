"""Read the part of text2qti's plain-text format that the quizzes use.

A comment, ``% shapes``, gives an id to the question or to the choice below it. Feedback that ends
in a link without words, ``[](sec-scale)``, names the section to read again.
"""

import re
from dataclasses import dataclass, field

from course.chapters import Chapter, by_id

AGAIN = re.compile(r" \[\]\((sec-[\w-]+)\)$", re.M)
PARTS = {
    "id": r"% ",
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


@dataclass
class Choice:
    """One answer, what is said to whoever picks it, and the label of what to read again."""

    id: str
    text: str
    right: bool
    feedback: str = ""
    section: str | None = None


@dataclass
class Question:
    """A question; its place in the quiz is its number."""

    id: str
    heading: str
    text: str = ""
    choices: list[Choice] = field(default_factory=list)


@dataclass
class Quiz:
    """The questions on a chapter."""

    title: str
    questions: list[Question]


def parse(text: str, where: str = "quiz.txt") -> Quiz:
    """Read a quiz; what is not of the form above is an error, never left out."""
    quiz, name = Quiz("", []), ""
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.match(line)
        part, rest = (found.lastgroup, line[found.end() :]) if found else ("", "")
        last = quiz.questions[-1] if quiz.questions else None
        if not line:
            if last and not last.choices:
                last.text += "\n"  # a gap within a question
        elif not rest.strip():
            raise ValueError(f"{where}, line {number}, is not part of a quiz, mend it: {line!r}")
        elif part == "id":
            name = rest
        elif part == "title":
            quiz.title = rest
        elif part == "heading":
            quiz.questions.append(Question(name, rest))
            name = ""
        elif part == "question":
            last.text = rest
        elif part == "more":
            last.text += "\n" + rest
        elif part in ("right", "wrong"):
            last.choices.append(Choice(name, rest, part == "right"))
            name = ""
        elif part == "feedback":
            again = AGAIN.search(rest)
            last.choices[-1].feedback = AGAIN.sub("", rest)
            last.choices[-1].section = again and again[1]
    return quiz


def read(chapter: Chapter) -> Quiz:
    """Return the quiz of a chapter, its ids and the labels in it checked."""
    where = chapter.where("quiz.txt")
    quiz = parse((chapter.room / "quiz.txt").read_text(encoding="utf-8"), where)
    for name, question in by_id(((q.id, q) for q in quiz.questions), where).items():
        for choice in question.choices:
            if choice.section and choice.section not in chapter.sections:
                raise ValueError(
                    f"{where}: question {name!r} sends to {choice.section!r}: "
                    f"name a section of the chapter, {', '.join(chapter.sections)}"
                )
    return quiz


def numbers(question: Question) -> list[int]:
    """Return all whole numbers in a question, in their order: its sizes are read, not copied."""
    return [int(number) for number in re.findall(r"\d+", question.text)]


def code(shape: tuple[int, ...]) -> str:
    """Write a shape as the choices do."""
    return f"`{tuple(shape)}`"
