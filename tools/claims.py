"""Find the sentences of a page that give a reason or a rule, and are tied to nothing.

It goes through chapters and the pages to look things up in. Unlike all else here it reads English:
`claim_words` in course/words.toml are what it looks for, and a language without them has no such
check. It finds what was forgotten, not what is wrong.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from course.chapters import Chapter, LookUp, chapters, chapters_and_drafts, look_ups
from course.claims import comments, faults, live, parse, questions, sections
from course.passages import COMMENT, FORMULA, Passage, inline
from course.words import WORDS

MARKS = f"[{chr(COMMENT)}-{chr(FORMULA - 1)}]*"
END = re.compile(rf"(?<!\be\.g\.)(?<!\bi\.e\.)(?<=[.!?])[)\"”’]*{MARKS}(?=\s+[^a-z\s]|\s*$)")
PHRASES = [each.strip() for each in WORDS.get("claim_words", "").split("|") if each.strip()]
FOUND = [
    re.compile(
        r"\b" * each[0].isalpha() + re.escape(each) + r"\b", 0 if each[0].isupper() else re.I
    )
    for each in PHRASES
]


def main(*names: str) -> None:
    """Print what is untied or wrong on some pages, or on all; fail if anything is."""
    known = {page.name: page for page in (*chapters_and_drafts(), *look_ups())}
    every = [known[name] for name in names] or [*chapters(), *look_ups()]
    lines = [line for chapter in every for line in (*faults(chapter), *untied(chapter))]
    print("\n".join(lines))
    sys.exit(f"{len(lines)} to tie, to mend or to cut" if lines else 0)


def untied(chapter: Chapter | LookUp) -> Iterator[str]:
    """Yield page, section and text of each sentence that makes a claim and has no tie over it."""
    for path in chapter.pages:
        for section in sections(path):
            for each in joined(section.passages):
                if each.place != "objectives" and each.shown() != section.title:
                    for told in loose(each):
                        yield f"{path.stem}, section {section.title!r}, {each.place}: {told}"
        for figure in live(path):
            for name, text in figure["sentences"].items():
                if name not in figure.get("why", {}):
                    for told in loose(inline(text, name)):
                        yield f"{path.stem}, live figure {figure['name']}, {name}: {told}"
    for name, question in questions(chapter).items():
        said = [(choice.feedback, choice.why) for choice in question.choices]
        for text, why in [(question.text, question.why), *said]:
            if not (why or question.why):
                for told in loose(inline(text, name)):
                    yield f"{chapter.name}, quiz, {name}: {told}"


def joined(passages: list[Passage]) -> list[Passage]:
    """Return passages of words, each with the ties behind the formulas that belong to it."""
    found: list[Passage] = []
    for each in passages:
        if re.search(r"\w", each.text) or not found:
            found.append(Passage(each.place, each.text, {**each.inserted}))
        elif each.place == found[-1].place:
            for comment in comments(each):
                found[-1].insert(COMMENT, comment)
    return found


def loose(passage: Passage) -> Iterator[str]:
    """Yield the sentences of a passage that make a claim and that no tie covers."""
    text = passage.text
    ends = [*(match.end() for match in END.finditer(text)), len(text)]
    last = re.search(rf"{MARKS}\s*$", text)
    if last and tie_in(passage, last[0]):
        return
    start = 0
    for end in ends:
        sentence, start, at = text[start:end], end, start
        if tie_in(passage, sentence) or "?" in sentence[-3:]:
            continue
        cited = any("cite:" in passage.inserted.get(mark, "") for mark in sentence)
        if cited or any(each.search(sentence) for each in FOUND):
            yield f'"{part(passage, at, end)}"'


def tie_in(passage: Passage, text: str) -> bool:
    return any(parse(passage.inserted.get(mark, "")) for mark in text)


def part(passage: Passage, start: int, end: int) -> str:
    return Passage(passage.place, passage.text[start:end], passage.inserted).shown()
