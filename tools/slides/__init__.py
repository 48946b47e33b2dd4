"""Make slides of the chapters, after `make book`: cells of type *slide*, as Sphinx reads them.

The questions of a chapter's quiz stand between them, each behind its section, then its answer.
Which cells are slides, and which text is for the speaker, stands in the notebooks, as `slideshow`
metadata. No text is looked at: it may be in any language.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from course.chapters import ROOT

SLIDES = ROOT / "_build/slides"


def main(reveal: str) -> None:
    """Write the decks, the page that lists them, and all that they ask for, into a new folder."""
    shutil.rmtree(SLIDES, ignore_errors=True)
    (SLIDES / "reveal").mkdir(parents=True)
    for part in ("dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js", "LICENSE"):
        shutil.copy(Path(reveal, part), SLIDES / "reveal")
    shutil.copy(Path(__file__).with_name("slides.css"), SLIDES)
    program = Path(sys.executable).with_name("jupyter-book")
    options = ["--builder", "custom", "--custom-builder", "slides", "-W", "-n", "-q"]
    done = subprocess.run([program, "build", ROOT, *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip().partition("\n")[2])  # the first line is but a heading
    print(SLIDES.relative_to(ROOT) / "index.html")
