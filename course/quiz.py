"""Read the part of text2qti's plain-text format that the quizzes use.

A comment, ``% shapes``, gives an id to the question or to the choice below it. Feedback that ends
in a link without words, ``[](sec-scale)``, names the section to read again. A comment
``% why: theorem, here`` ties the feedback above it, or the text of a question and all that follows.
"""

import re
from typing import NamedTuple

from course.chapters import Chapter, by_id

AGAIN = re.compile(r" \[\]\((sec-[\w-]+)\)$", re.M)
NAMED = r"^(?:% (?!why: )(.+)\n)?"
WHY = r"(?:\n% why: (.+))?$"
HEAD = re.compile(r"^Quiz title: (.+)\n(?:Quiz description: .+\n)?(?:Shuffle answers: .+\n)?")
QUESTION = re.compile(NAMED + r"Title: (.+)\n\d+\.  (.+(?:\n+    .*)*)" + WHY, re.M)
CHOICE = re.compile(NAMED + r"(?:(\*)[a-d]\) |[a-d]\)  )(\S.*)\n\.\.\. (.+)" + WHY, re.M)


class Choice(NamedTuple):
    """One answer, what is said to whoever picks it, and the label of what to read again."""

    id: str
    text: str
    right: bool
    feedback: str
    section: str = ""
    why: str = ""


class Question(NamedTuple):
    """A question, under its heading."""

    heading: str
    text: str
    choices: list[Choice]
    why: str = ""


class Quiz(NamedTuple):
    """The questions on a chapter, by their ids; the first is question 1."""

    title: str
    questions: dict[str, Question]


def parse(text: str, where: object = "quiz.txt") -> Quiz:
    """Read a quiz; what is not of the form above is an error, never left out."""
    left = CHOICE.sub("", QUESTION.sub("", HEAD.sub("", text))).split("\n")
    if any(left):
        raise ValueError(f"{where}: not of a quiz's form, mend it: {next(filter(None, left))!r}")
    (title,), questions = HEAD.match(text).groups(), []
    blocks = QUESTION.split(text)[1:]
    for name, heading, asked, why, block in zip(*[iter(blocks)] * 5, strict=True):
        choices = [
            Choice(name, choice, bool(star), AGAIN.sub("", said), "".join(AGAIN.findall(said)), why)
            for name, star, choice, said, why in CHOICE.findall(block)
        ]
        asked = re.sub("^    ", "", asked, flags=re.M)
        questions.append((name, Question(heading, asked, choices, why or "")))
    return Quiz(title, by_id(questions, where))


def read(chapter: Chapter) -> Quiz:
    """Return the quiz of a chapter, and check that the sections that it names are there."""
    where = chapter.room / "quiz.txt"
    quiz = parse(where.read_text(encoding="utf-8"), where)
    for name, question in quiz.questions.items():
        for unknown in {choice.section for choice in question.choices} - {"", *chapter.sections}:
            known = ", ".join(chapter.sections)
            raise ValueError(f"{where}: {name!r} sends to {unknown!r}, name one of {known}")
    return quiz


def numbers(question: Question) -> list[int]:
    """Return all whole numbers in a question, in their order: its sizes are read, not copied."""
    return [int(number) for number in re.findall(r"\d+", question.text)]


def code(shape: tuple[int, ...]) -> str:
    """Write a shape as the choices do."""
    return f"`{tuple(shape)}`"
