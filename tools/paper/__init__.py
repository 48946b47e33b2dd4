"""Make the book for paper (`pdf A4`, `pdf Letter`) and for readers (`epub`), after `make book`."""

import sys

from tools.offers import PAPERS
from tools.paper import epub, pdf
from tools.paper.pages import Book


def main(kind: str = "", paper: str = "A4", alone: str = "99") -> None:
    """Make one of them, in `_build/paper`; and so many chapters by themselves."""
    if kind == "pdf" and paper in PAPERS:
        print(pdf.write(Book(), paper, int(alone)))
    elif kind == "epub":
        print(epub.write(Book()))
    else:
        sys.exit(f"python -m tools paper epub, or pdf {' or pdf '.join(PAPERS)}")
