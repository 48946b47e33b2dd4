"""Make slides of the chapters: the cells of type *slide*, as the built site shows them.

Run by `make slides`. What a cell looks like, with its formulas and references, is taken from
the chapter's page; which cells are slides, and which text is for the speaker, stands in the
notebook, as `slideshow` metadata: slide, notes or skip, and a slide's headline where neither the
first sentence of a figure's caption nor the title of the section says what it shows.
"""

import copy
import itertools
import json
import re
import shutil
import sys
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from slide_text import (
    clean,
    count_words,
    inner_html,
    paragraph,
    sentences,
    sentences_without_asides,
)

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"
ASSETS = {  # where each comes from: reveal.js as installed, and what the site has already
    "reveal.css": "dist/reveal.css",
    "reveal.js": "dist/reveal.js",
    "notes.js": "plugin/notes/notes.js",
    "reveal.LICENSE": "LICENSE",
}
SAID = ("p", "ul", "ol", "dl", "blockquote")
QUIZ = "Open a choice to see whether it is right, and if not, why."
BESIDE = 1.62  # a picture less wide than this, for its height, has its text beside it
LEAD = 42  # words that may lead to a formula on a slide
# What is said of the notebook's cells and its output has no meaning on a slide.
CELLS = re.compile(
    r"^(The cells|The code|Where a cell)\b|\btable below\b|\bprinted\b|\bearlier section\b"
)
ANNOUNCED = re.compile(
    r"^(Here|These two|There are|This is|Python|Write|Check|Try|Measure|Test|Fit|Count|Compare|Feed"
    r"|Replace|Take|Exchange)\b|\bcompare this\b"
)
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


def blocks(element):
    """The blocks of a page in their order: paragraphs, formulas, boxes, cells."""
    for child in element.find_all(True, recursive=False):
        if child.name == "section" or "solution" in child.get("class", []):
            yield from blocks(child)
        else:
            yield child


def is_cell(block):
    return "cell" in block.get("class", [])


def by_cell(notebook, article):
    """Yield each cell of the notebook with its blocks on the page."""
    found = list(blocks(article))
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            start = found[: next_cell(found)]
            del found[: len(start)]
            yield cell, start
        elif "remove-cell" not in tags:
            if not is_cell(found[0]):
                raise ValueError(f"expected a cell of code on the page, not {found[0]}")
            yield cell, [found.pop(0)]
    if found:
        raise ValueError(f"not of any cell: {found[0]}")


def next_cell(found):
    return next((i for i, block in enumerate(found) if is_cell(block)), len(found))


def headline_of(cell):
    return escape(cell["metadata"]["slideshow"].get("headline", ""), quote=False) or None


def figure(cell, blocks):
    """The caption is headline and text below; all of it is text where the cell has a headline."""
    (block,) = blocks
    drawn = block.select_one("figure")
    caption = drawn.select_one("figcaption .caption-text")
    first, *rest = sentences(caption)
    headline, rest = headline_of(cell), " ".join(rest)
    if headline:
        rest = clean(caption).decode_contents().strip()
    picture = clean(drawn.img)
    name = Path(picture["src"]).name
    picture["src"] = "images/" + name
    del picture["loading"]
    said = f'\n<p class="said">{rest}</p>' if rest else ""
    beside = " beside" if shape(name) < BESIDE else ""
    body = f'<div class="drawn{beside}">{picture}{said}</div>'
    return headline or first.rstrip("."), body, number(drawn)


def shape(name):
    """Width of a picture, divided by its height."""
    box = re.search(
        r'viewBox="0 0 ([\d.]+) ([\d.]+)"', (SITE / "_images" / name).read_text("utf-8")
    )
    return float(box[1]) / float(box[2])


def number(drawn):
    return drawn.select_one(".caption-number").get_text().strip()


def run(cell, blocks):
    """A cell whose code is the point."""
    (block,) = blocks
    code = escape("".join(cell["source"]))
    printed = "".join(
        f'<pre class="output">{escape(out.get_text().rstrip())}</pre>'
        for out in block.select(".cell_output pre")
    )
    return headline_of(cell), f'<div class="middle"><pre>{code}</pre>{printed}</div>'


def text(cell, blocks):
    """Of a cell of text: its theorem, pitfall, table or formulas, or else its list."""
    headline, body = shown(cell, blocks)
    return headline_of(cell) or headline, f'<div class="middle">{body}</div>'


def shown(cell, blocks):
    for kind, title in (
        (".proof.theorem, .proof.definition", "statement"),
        (".warning", "pitfall"),
    ):
        for block in blocks:
            if block.css.match(kind):
                name = clean(block.select_one(".admonition-title"))
                for count in name.select(".caption-number"):
                    count.replace_with(count.get_text().strip() + ". ")
                headline = re.sub(r"^(.+?\.) +\((.+)\)$", r"\1 \2", name.decode_contents().strip())
                body = clean(block)
                body.select_one(".admonition-title").decompose()
                html = body.decode_contents().strip()
                html = re.sub(r"\s+(<em>[^<]+:)", r"</p>\n<p>\1", html)
                return headline, f'<div class="{title}">{html}</div>'
    for block in blocks:
        if block.table:
            return None, str(clean(block.table))
    formulas = [i for i, block in enumerate(blocks) if "math" in block.get("class", [])]
    if formulas:
        lead = blocks[formulas[0] - 1]
        body = [f"<p>{shorten(lead)}</p>"] if lead.name == "p" else []
        body += [str(clean(blocks[i])) for i in formulas]
        return None, "\n".join(body)
    (listed,) = (block for block in blocks if block.name == "ul")
    return "Summary", str(clean(listed))


def shorten(lead):
    """Of the text that leads to a formula, the end; all of it is among the notes."""
    kept = sentences_without_asides(lead)
    while len(kept) > 1 and sum(map(count_words, kept)) > LEAD:
        del kept[0]
    return " ".join(kept)


def spoken(block, leads_on=True):
    """A block as a note: its text, with formulas as MathML, which needs no style.

    Left out is what is about cells that are not on a slide.
    """
    block = clean(block)
    for formula in block.select(".katex"):
        formula.replace_with(copy.copy(formula.math))
    if block.name != "p":
        return str(block)
    kept = sentences_without_asides(block)
    kept = [sentence for sentence in kept if not CELLS.search(sentence)]
    if kept and not leads_on and kept[-1].endswith(":"):
        kept[-1] = kept[-1][:-1] + "."
        if ANNOUNCED.search(kept[-1]):
            del kept[-1]
    return paragraph(kept)


def slides(notebook, article):
    """Yield headline, place in the chapter, body and notes of each slide."""
    place, made, waiting = None, [], []
    title = inner_html(article.h1)
    cells = list(by_cell(notebook, article))
    for (cell, found), (following, _) in itertools.pairwise([*cells, ({}, [])]):
        kind = kind_of(cell)
        headings = [block for block in found if block.name in ("h1", "h2", "h3")]
        to_code = kind_of(following) == "slide" and following["cell_type"] == "code"
        before, after = spoken_around(found, to_code) if kind != "skip" else ([], [])
        if kind == "slide" and cell["cell_type"] == "markdown" and made:
            made[-1][3] += [*waiting, *before]
            waiting, before = [], []
        elif kind != "slide" and waiting:
            made[-1][3] += waiting
            waiting = []
        if kind == "slide":
            here = next((inner_html(h) for h in headings if h.name != "h1"), place)
            where = here
            if cell["cell_type"] == "markdown":
                headline, body = (title, "") if not made else text(cell, found)
            elif found[0].select("figure"):
                headline, body, count = figure(cell, found)
                where = f"{here} · {count}"
            else:
                headline, body = run(cell, found)
            if headline == "Summary":
                after = after[1:]  # the list that is shown
            made.append([headline or here, where if headline else None, body, []])
            made[0][1] = "The Attention Book"
            made[-1][3] += [*waiting, *seen(found), *before, *after]
            waiting = []
        else:  # right before a slide of code this is about it, else about the slide before
            waiting = [*before, *after]
        place = inner_html(headings[-1]) if headings and headings[-1].name != "h1" else place
    made[-1][3] += waiting
    for earlier, slide in itertools.pairwise(made):
        if not slide[3]:  # what led to it was said last
            slide[3] += earlier[3][-1:]
    drawn = set(re.findall(r"Fig\. [\d.]+\d", " ".join(str(slide[1]) for slide in made)))
    for slide in made:
        slide[3] = [note for each in slide[3] if (note := without_absent(each, drawn))]
    return title, made


def kind_of(cell):
    return cell["metadata"]["slideshow"]["slide_type"] if cell else None


def without_absent(note, drawn):
    """Leave out of a note what is said of figures that are on no slide."""

    def absent(html):
        return set(re.findall(r"Fig\. [\d.]+\d", html)) - drawn

    aside = r"\s*\(<span[^>]*>(Fig\. [\d.]+\d)</span>\)"
    note = re.sub(aside, lambda found: "" if absent(found[1]) else found[0], note)
    if absent(note):
        block = BeautifulSoup(note, "html.parser").p
        kept = [sentence for sentence in sentences(block) if not absent(sentence)]
        note = paragraph(kept)
    return note


def spoken_around(found, to_code):
    """The text of a cell, as notes: what stands before its first heading, and the rest."""
    parts, headed = ([], []), not any(block.name in ("h1", "h2", "h3") for block in found)
    for block, following in itertools.pairwise([*found, None]):
        headed |= block.name in ("h1", "h2", "h3")
        told = block.name in SAID or "math" in block.get("class", [])
        if block.find_parent(class_="solution") or "quiz" in block.get("class", []):
            continue  # of an exercise
        if told and block.get_text() != QUIZ:
            leads_on = to_code if following is None else is_said(following)
            parts[headed].append(spoken(block, leads_on))
        elif block.css.match(".proof:not(.theorem, .definition)"):
            parts[headed].extend(
                spoken(part) for part in block.find_all(["p", "div"], recursive=False)
            )
        elif "tip" in block.get("class", []):
            parts[headed].extend(map(spoken, block.find_all("p")[1:3]))
    return tuple([note for note in part if note] for part in parts)


def is_said(block):
    return block.name in SAID[1:] or "math" in block.get("class", [])


def seen(found):
    """What a figure's alternative text says is what there is to say while it is shown."""
    return [f"<p>{escape(image['alt'])}</p>" for block in found for image in block.select("img")]


def html(headline, place, body, notes, first):
    head = f"<h1>{headline}</h1>" if first else f"<h2>{headline}</h2>"
    where = f'<p class="where">{place}</p>\n' if place and place != headline else ""
    aside = "\n".join(notes)
    kind = "slide title" if first else "slide"
    # For print and for phones reveal.js lays out the section in its own way, not what is in it.
    return (
        f'<section>\n<div class="{kind}">\n{where}{head}\n{body}\n</div>\n'
        f'<aside class="notes">{aside}</aside>\n</section>'
    )


def main(target, reveal):
    shutil.rmtree(target, ignore_errors=True)
    (target / "images").mkdir(parents=True)
    for name, source in ASSETS.items():
        shutil.copy(reveal / source, target / name)
    shutil.copy(ROOT / "course/slides/slides.css", target)
    shutil.copy(SITE / "_static/logo.svg", target)
    for folder in ("katex", "fonts"):
        shutil.copytree(SITE / "_static" / folder, target / folder)
    listed = []
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        page = (SITE / f"book/{path.stem}.html").read_text(encoding="utf-8")
        article = BeautifulSoup(page, "html.parser").article
        title, made = slides(json.loads(path.read_text(encoding="utf-8")), article.section)
        shown = "\n".join(html(*slide, first=i == 0) for i, slide in enumerate(made))
        for image in re.findall(r'src="images/([^"]+)"', shown):
            shutil.copy(SITE / "_images" / image, target / "images")
        (target / f"{path.stem}.html").write_text(
            PAGE.format(title=title, slides=shown), encoding="utf-8"
        )
        listed.append(f'<li><a href="{path.stem}.html">{title}</a>, {len(made)} slides</li>')
    (target / "index.html").write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        "<title>Slides of The Attention Book</title>"
        '<link rel="icon" href="logo.svg"/>'
        '<link rel="stylesheet" href="slides.css"/></head>\n<body class="contents">'
        f"<h1>Slides of The Attention Book</h1>\n<ol>{''.join(listed)}</ol>\n"
        "<p>In a chapter's slides: <kbd>S</kbd> opens the speaker's notes, <kbd>F</kbd> fills "
        "the screen, <kbd>Esc</kbd> shows all slides.</p></body></html>\n",
        encoding="utf-8",
    )
    print(f"{target}/index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
