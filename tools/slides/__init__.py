"""Make slides of the chapters: the cells of type *slide*, as Sphinx reads them.

Run by `make slides`. Which cells are slides, and which text is for the speaker, stands in the
notebook, as `slideshow` metadata: slide, notes or skip, and a slide's headline where neither a
box nor the section has the right one. No text is looked at, so it may be in any language.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from course.chapters import ROOT

SLIDES = ROOT / "_build/slides"
ASSETS = {  # of reveal.js, as installed
    "reveal.css": "dist/reveal.css",
    "reveal.js": "dist/reveal.js",
    "notes.js": "plugin/notes/notes.js",
    "reveal.LICENSE": "LICENSE",
}


def main(reveal: str) -> None:
    """Write the decks, the page that lists them, and all that they ask for, into a new folder."""
    shutil.rmtree(SLIDES, ignore_errors=True)
    (SLIDES / "images").mkdir(parents=True)
    for name, source in ASSETS.items():
        shutil.copy(Path(reveal, source), SLIDES / name)
    shutil.copy(Path(__file__).with_name("slides.css"), SLIDES)
    program = Path(sys.executable).with_name("jupyter-book")
    options = ["--builder", "custom", "--custom-builder", "slides", "-W", "-n", "-q"]
    built = subprocess.run([program, "build", ".", *options], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr.partition("\n")[2])  # the first line says only that something is wrong
    print(SLIDES.relative_to(ROOT) / "index.html")
