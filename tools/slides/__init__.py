"""Make slides of the chapters: the cells of type *slide*, as the built site shows them.

Run by `make slides`. What a cell looks like, with its formulas and references, is taken from
the chapter's page; which cells are slides, and which text is for the speaker, stands in the
notebook, as `slideshow` metadata: slide, notes or skip, and a slide's headline where neither the
first sentence of a figure's caption nor the title of the section says what it shows.
"""

import json
import re
import shutil
from pathlib import Path

from bs4 import BeautifulSoup

from course.chapters import ROOT
from course.chapters import chapters as all_chapters
from tools.slides.deck import Slide, make_deck

HERE = Path(__file__).parent
SITE = ROOT / "_build/html"
ASSETS = {  # of reveal.js, as installed
    "reveal.css": "dist/reveal.css",
    "reveal.js": "dist/reveal.js",
    "notes.js": "plugin/notes/notes.js",
    "reveal.LICENSE": "LICENSE",
}
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{title} – slides of The Attention Book</title>
<link rel="stylesheet" href="reveal.css"/>
<link rel="stylesheet" href="katex/katex.min.css"/>
<link rel="stylesheet" href="slides.css"/>
<link rel="icon" href="logo.svg"/>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal.js"></script>
<script src="notes.js"></script>
<script>
Reveal.initialize({{width: 1280, height: 720, margin: 0, hash: true, center: false,
  slideNumber: "c/t", transition: "none", plugins: [RevealNotes]}});
</script>
</body>
</html>
"""
CONTENTS = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>\
<meta name="viewport" content="width=device-width, initial-scale=1"/>\
<title>Slides of The Attention Book</title>\
<link rel="icon" href="logo.svg"/>\
<link rel="stylesheet" href="slides.css"/></head>
<body class="contents"><h1>Slides of The Attention Book</h1>
<ol>{chapters}</ol>
<p>In a chapter's slides: <kbd>S</kbd> opens the speaker's notes, <kbd>F</kbd> fills \
the screen, <kbd>Esc</kbd> shows all slides.</p></body></html>
"""


def main(folder: str, reveal: str) -> None:
    """Write the decks, the page that lists them, and all that they ask for, into a new folder."""
    target = Path(folder)
    shutil.rmtree(target, ignore_errors=True)
    (target / "images").mkdir(parents=True)
    copy_assets(target, Path(reveal))
    chapters = "".join(write_deck(chapter.notebook, target) for chapter in all_chapters())
    contents = target / "index.html"
    contents.write_text(CONTENTS.format(chapters=chapters), encoding="utf-8")
    print(contents)


def copy_assets(target: Path, reveal: Path) -> None:
    """Copy styles, scripts and fonts: those of reveal.js, of the slides, and of the site."""
    for name, source in ASSETS.items():
        shutil.copy(reveal / source, target / name)
    shutil.copy(HERE / "slides.css", target)
    shutil.copy(SITE / "_static/logo.svg", target)
    for folder in ("katex", "fonts"):
        shutil.copytree(SITE / "_static" / folder, target / folder)


def write_deck(path: Path, target: Path) -> str:
    """Write the slides of a notebook with their pictures, and return their line in the list."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    page = (SITE / f"book/{path.stem}.html").read_text(encoding="utf-8")
    slides = make_deck(notebook, BeautifulSoup(page, "html.parser").article.section)
    title = slides[0].headline
    shown = "\n".join(slide_html(slide, is_title=slide is slides[0]) for slide in slides)
    for image in re.findall(r'src="images/([^"]+)"', shown):
        shutil.copy(SITE / "_images" / image, target / "images")
    deck = target / f"{path.stem}.html"
    deck.write_text(PAGE.format(title=title, slides=shown), encoding="utf-8")
    return f'<li><a href="{deck.name}">{title}</a>, {len(slides)} slides</li>'


def slide_html(slide: Slide, is_title: bool) -> str:
    """Return a slide as the section that reveal.js asks for, with the notes in it."""
    heading, style = ("h1", "slide title") if is_title else ("h2", "slide")
    place = f'<p class="where">{slide.place}</p>\n' if slide.place != slide.headline else ""
    notes = "\n".join(slide.notes)
    # For print and for phones reveal.js lays out the section in its own way, not what is in it.
    return (
        f'<section>\n<div class="{style}">\n{place}<{heading}>{slide.headline}</{heading}>\n'
        f'{slide.body}\n</div>\n<aside class="notes">{notes}</aside>\n</section>'
    )
