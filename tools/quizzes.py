"""Make a QTI package of each chapter's quiz, for Canvas and other learning systems.

Run by `make quizzes`, with text2qti. The sources are readable by text2qti as they are; on the way
the label of what to read again becomes a link to that section of the published book.
"""

import re
from pathlib import Path

import yaml
from text2qti.config import Config
from text2qti.qti import QTI
from text2qti.quiz import Quiz

from course.chapters import ROOT, chapters
from course.quiz import AGAIN, read
from course.words import say

# What text2qti writes into every manifest, and what holds here.
PRIVATE = "Private (Copyrighted) - http://en.wikipedia.org/wiki/Copyright"
LICENCE = "Creative Commons - Attribution - https://creativecommons.org/licenses/by/4.0/"

# text2qti knows graded quizzes with one attempt only; in Canvas, an assignment makes them so.
GRADED = re.compile(r"  <assignment .+</assignment_group_identifierref>\n", re.S)


def with_links(chapter, base):
    """Return the quiz of a chapter, checked, with a link where a section is to be read again."""
    read(chapter)  # its labels are known
    page = f"{base}book/{chapter.name}.html"

    def link(found):
        section = f"[{chapter.sections[found[1]]}]({page}#{found[1]})"
        return " " + say("read_again", section=section)

    return AGAIN.sub(link, (chapter.room / "quiz.txt").read_text("utf-8"))


def main(target: str) -> None:
    """Write the packages into a folder."""
    folder = Path(target)
    base = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["baseurl"]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.zip"):
        old.unlink()
    for chapter in chapters():
        text = with_links(chapter, base)
        # Config() reads no file of whoever runs this, so all get the same packages.
        package = QTI(Quiz(text, config=Config(), source_name=chapter.name))
        package.imsmanifest_xml = package.imsmanifest_xml.replace(PRIVATE, LICENCE)
        meta = GRADED.sub("", package.assessment_meta)
        meta = meta.replace("<quiz_type>assignment<", "<quiz_type>practice_quiz<")
        meta = meta.replace("<allowed_attempts>1<", "<allowed_attempts>-1<")  # as many as you like
        package.assessment_meta = meta
        unlimited = "<fieldentry>unlimited<"  # the same for other systems
        package.assessment = package.assessment.replace("<fieldentry>1<", unlimited, 1)
        package.save(folder / f"{chapter.name}.zip")
    print(f"{len(chapters())} packages in {folder}")
