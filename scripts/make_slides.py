"""Make slides of the chapters: the cells of type *slide*, as the built site shows them.

Run by `make slides`. What a cell looks like, with its formulas and references, is taken from
the chapter's page; which cells are slides, and which text is for the speaker, stands in the
notebook, as `slideshow` metadata: slide, notes or skip.
"""

import copy
import itertools
import json
import re
import shutil
import sys
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build/html"
ASSETS = {  # where each comes from: reveal.js as installed, and what the site has already
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


def clean(block):
    """A copy without links and names, which lead nowhere on a slide."""
    block = copy.copy(block)
    for extra in block.select(".headerlink, .section-number, .copybtn"):
        extra.decompose()
    for link in block.find_all("a"):
        link.unwrap()
    for named in [block, *block.find_all(id=True)]:
        named.attrs.pop("id", None)
    return block


def inner(block):
    return clean(block).decode_contents().strip()


def sentences(paragraph):
    """Split a paragraph's HTML into its first sentence and the rest."""
    parts, first = list(clean(paragraph).contents), ""
    for i, part in enumerate(parts):
        if isinstance(part, NavigableString):
            end = re.search(r"[.?!:](?=\s+\S)", part)
            if end:
                head, tail = str(part)[: end.end()], str(part)[end.end() :]
                rest = escape(tail, quote=False) + "".join(map(str, parts[i + 1 :]))
                return (first + escape(head, quote=False)).strip(), rest.strip()
        first += str(part) if not isinstance(part, NavigableString) else escape(part, quote=False)
    return first.strip(), ""


def figure(cell, blocks):
    """The caption's first sentence is the headline; the rest stands below the picture."""
    (block,) = blocks
    drawn = block.select_one("figure")
    headline, rest = sentences(drawn.select_one("figcaption .caption-text"))
    picture = clean(drawn.img)
    picture["src"] = "images/" + Path(picture["src"]).name
    del picture["loading"]
    rest = rest[:1].upper() + rest[1:]  # it may have come after a colon
    said = f'\n<p class="said">{rest}</p>' if rest else ""
    return headline.rstrip(".:"), f"{picture}{said}"


def run(cell, blocks):
    """A cell whose code is the point."""
    (block,) = blocks
    code = escape("".join(cell["source"]))
    printed = "".join(
        f'<pre class="output">{escape(out.get_text().rstrip())}</pre>'
        for out in block.select(".cell_output pre")
    )
    return None, f"<pre>{code}</pre>{printed}"


def text(cell, blocks):
    """Of a cell of text: its theorem, pitfall, table or formulas, or else its list."""
    for kind, title in (
        (".proof.theorem, .proof.definition", "statement"),
        (".warning", "pitfall"),
    ):
        for block in blocks:
            if block.name == "div" and block.css.match(kind):
                name = clean(block.select_one(".admonition-title"))
                for number in name.select(".caption-number"):
                    number.replace_with(number.get_text().strip() + ". ")
                headline = re.sub(r"^(.+?\.) +\((.+)\)$", r"\1 \2", name.decode_contents().strip())
                body = clean(block)
                body.select_one(".admonition-title").decompose()
                return headline, f'<div class="{title}">{body.decode_contents().strip()}</div>'
    for block in blocks:
        if block.select("table"):
            return None, str(clean(block.table if block.table else block))
    formulas = [i for i, block in enumerate(blocks) if "math" in block.get("class", [])]
    if formulas:
        lead = blocks[formulas[0] - 1]
        shown = [lead] if lead.name == "p" else []
        shown += [blocks[i] for i in formulas]
        return None, "\n".join(str(clean(block)) for block in shown)
    (listed,) = (block for block in blocks if block.name == "ul")
    return "Summary", str(clean(listed))


def spoken(block):
    """A block as a note: its text, with formulas as MathML, which needs no style."""
    block = clean(block)
    for formula in block.select(".katex"):
        formula.replace_with(copy.copy(formula.math))
    return str(block)


def slides(notebook, article):
    """Yield headline, place in the chapter, body and notes of each slide."""
    place, made, waiting = None, [], []
    title = inner(article.h1)
    for cell, found in by_cell(notebook, article):
        kind = cell["metadata"]["slideshow"]["slide_type"]
        headings = [block for block in found if block.name in ("h1", "h2", "h3")]
        before, after = spoken_around(found) if kind != "skip" else ([], [])
        if kind == "slide" and cell["cell_type"] == "markdown" and made:
            made[-1][3] += [*waiting, *before]
            waiting, before = [], []
        elif kind != "slide" and waiting:
            made[-1][3] += waiting
            waiting = []
        if kind == "slide":
            here = next((inner(h) for h in headings if h.name != "h1"), place)
            if cell["cell_type"] == "markdown":
                headline, body = (title, "") if not made else text(cell, of_first(found))
            elif found[0].select("figure"):
                headline, body = figure(cell, found)
            else:
                headline, body = run(cell, found)
            made.append([headline or here, here if headline else None, body, []])
            made[0][1] = "The Attention Book"
            made[-1][3] += [*waiting, *seen(found), *before, *after]
            waiting = []
        else:  # right before a slide of code this is about it, else about the slide before
            waiting = [*before, *after]
        place = inner(headings[-1]) if headings and headings[-1].name != "h1" else place
    made[-1][3] += waiting
    for earlier, slide in itertools.pairwise(made):
        if not slide[3]:  # what led to it was said last
            slide[3] += earlier[3][-1:]
    return title, made


def spoken_around(found):
    """The text of a cell, as notes: what stands before its first heading, and the rest."""
    parts, headed = ([], []), not any(block.name in ("h1", "h2", "h3") for block in found)
    for block in found:
        headed |= block.name in ("h1", "h2", "h3")
        if block.name in ("p", "ul", "ol", "dl", "blockquote"):
            parts[headed].append(spoken(block))
        elif "tip" in block.get("class", []):
            parts[headed].extend(map(spoken, block.find_all("p")[1:]))
    return parts


def seen(found):
    """What a figure's alternative text says is what there is to say while it is shown."""
    return [f"<p>{escape(image['alt'])}</p>" for block in found for image in block.select("img")]


def of_first(found):
    """The blocks up to the second heading: the summary's, say, without what follows it."""
    heads = [i for i, block in enumerate(found) if block.name in ("h2", "h3")]
    return found[: heads[1]] if len(heads) > 1 else found


def html(headline, place, body, notes, first):
    head = f"<h1>{headline}</h1>" if first else f"<h2>{headline}</h2>"
    where = f'<p class="where">{place}</p>\n' if place and place != headline else ""
    aside = "\n".join(notes)
    return f'<section>\n{where}{head}\n{body}\n<aside class="notes">{aside}</aside>\n</section>'


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
