"""Make a QTI package of each chapter's quiz, for Canvas and other learning systems.

Run by `make quizzes`, with text2qti. The sources are readable by text2qti as they are; on the way
each "Read again" becomes a link to that section of the published book.
"""

import re
import sys
from pathlib import Path

from text2qti.config import Config
from text2qti.qti import QTI
from text2qti.quiz import Quiz

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book/_ext"))
import quiz_source  # noqa: E402 - found there only

# What text2qti writes into every manifest, and what holds here.
PRIVATE = "Private (Copyrighted) - http://en.wikipedia.org/wiki/Copyright"
LICENCE = "Creative Commons - Attribution - https://creativecommons.org/licenses/by/4.0/"


def with_links(text, page, labels):
    """Turn the section that is named after "Read again" into a link."""

    def link(found):
        heading = found["section"]
        return f" Read again: [{heading}]({page}#{labels[heading]})"

    return re.sub(quiz_source.AGAIN.pattern, link, text, flags=re.M)


def main(folder):
    base = re.search(r"^  baseurl: (\S+)$", (ROOT / "_config.yml").read_text("utf-8"), re.M)[1]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.zip"):
        old.unlink()
    sources = sorted(quiz_source.QUIZZES.glob("[0-9]*.txt"))
    for source in sources:
        labels = quiz_source.sections(ROOT / f"book/{source.stem}.ipynb")
        text = with_links(source.read_text("utf-8"), f"{base}book/{source.stem}.html", labels)
        # Config() reads no file of whoever runs this, so all get the same packages.
        package = QTI(Quiz(text, config=Config(), source_name=source.name))
        package.imsmanifest_xml = package.imsmanifest_xml.replace(PRIVATE, LICENCE)
        package.save(folder / f"{source.stem}.zip")
    print(f"{len(sources)} packages in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
