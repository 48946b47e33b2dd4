"""Make a QTI package of each chapter's quiz, for Canvas and other learning systems.

Run by `make quizzes`, with text2qti. The sources are readable by text2qti as they are; on the way
each "Read again" becomes a link to that section of the published book.
"""

import re
from pathlib import Path

import yaml
from text2qti.config import Config
from text2qti.qti import QTI
from text2qti.quiz import Quiz

from course.chapters import ROOT, chapters
from course.quiz import AGAIN

# What text2qti writes into every manifest, and what holds here.
PRIVATE = "Private (Copyrighted) - http://en.wikipedia.org/wiki/Copyright"
LICENCE = "Creative Commons - Attribution - https://creativecommons.org/licenses/by/4.0/"


def with_links(text, page, labels):
    """Turn the section that is named after "Read again" into a link."""

    def link(found):
        heading = found["section"]
        return f" Read again: [{heading}]({page}#{labels[heading]})"

    return re.sub(AGAIN.pattern, link, text, flags=re.M)


def main(target: str) -> None:
    """Write the packages into a folder."""
    folder = Path(target)
    base = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["html"]["baseurl"]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.zip"):
        old.unlink()
    for chapter in chapters():
        source = (chapter.room / "quiz.txt").read_text("utf-8")
        text = with_links(source, f"{base}book/{chapter.name}.html", chapter.sections)
        # Config() reads no file of whoever runs this, so all get the same packages.
        package = QTI(Quiz(text, config=Config(), source_name=chapter.name))
        package.imsmanifest_xml = package.imsmanifest_xml.replace(PRIVATE, LICENCE)
        package.save(folder / f"{chapter.name}.zip")
    print(f"{len(chapters())} packages in {folder}")
