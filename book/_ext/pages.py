"""What pages need and the theme lacks: sized pictures, plain folds, few files."""

import re
import shutil
from html import escape
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from quiz import quiz_choice
from sphinx import addnodes
from sphinx.util.images import get_image_size
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node

# The theme brings 0.4 MB of styles and 2 MB of scripts; our templates use these.
STYLES = [
    "_static/pygments.css",
    "_static/katex/katex.min.css",
    "_static/attnbook.css",
]
SCRIPTS = [
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "attnbook.js",
]
UNUSED = [
    "vendor",
    "styles",
    "locales",
    "scripts",
    "*.html",
    "mystnb.*.css",
    "*thebe*",
    "*design*",
]
POINT = 96 / 72  # CSS pixels: Matplotlib's pictures are measured in points
# The column of text: its width and a row's height in pixels, characters to a row,
# and the height of a row of code in rows of text.
WIDTH, ROW, CHARACTERS, CODE = 736, 29, 68, 0.7


def size_in_pixels(path):
    """Return width and height of a picture, or None."""
    if path.suffix != ".svg":
        return get_image_size(path)
    head = path.read_text(encoding="utf-8")[:2000]
    size = re.search(r'<svg[^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"', head, re.S)
    return size and tuple(round(float(side) * POINT) for side in size.groups())


def is_fold(node):
    """Tell whether a node can be folded. A box can if its class is *dropdown*."""
    return isinstance(node, solution_node | HideCodeCellNode | quiz_choice) or (
        isinstance(node, nodes.admonition) and "dropdown" in node["classes"]
    )


def is_open(node):
    """Tell whether a fold is open at first: its class is *toggle-shown*, too."""
    return "toggle-shown" in node.get("classes", [])


def rows(section, srcdir):
    """Guess how many rows of text a section is high; the stylesheet sizes a row.

    Rather a few too many: what is higher than its place lies over the next section
    for whoever looks at what is not shown yet, as Lighthouse does.
    """
    total = 0
    for node in section.findall(lambda node: not isinstance(node, nodes.Text)):
        fold = node
        while fold and not (is_fold(fold) and not is_open(fold)):
            fold = fold.parent
        if fold:
            total += (fold is node) * (
                1.5 if isinstance(fold, quiz_choice) else 2.5
            )
        elif isinstance(
            node, nodes.paragraph | nodes.caption | nodes.title | nodes.term
        ):
            total += len(node.astext()) // CHARACTERS + 1.8
        elif isinstance(node, nodes.literal_block):
            total += CODE * len(node.astext().splitlines()) + 1.7
        elif isinstance(node, nodes.math_block | addnodes.desc_signature):
            total += 5
        elif isinstance(node, nodes.image):
            width, height = size_in_pixels(Path(srcdir, node["uri"])) or (
                WIDTH,
                WIDTH,
            )
            total += height * min(1, WIDTH / width) / ROW + 1.5
    return round(total)


class Translator(HTML5Translator):
    """Sphinx's own, with parts of a page that keep their place while they load."""

    def visit_image(self, node):
        size = size_in_pixels(Path(self.builder.srcdir, node["uri"]))
        self.picture = {"decoding": "async"}
        if size:
            self.picture |= {"width": size[0], "height": size[1]}
        if node.get("loading") != "link":  # said of a picture that is seen at once
            self.picture["loading"] = "lazy"
        super().visit_image(node)

    def starttag(self, node, tagname, suffix="\n", **attributes):
        if tagname == "img":
            attributes |= self.picture
        elif tagname == "section" and isinstance(
            node.parent.parent, nodes.document
        ):
            attributes["style"] = f"--rows: {rows(node, self.builder.srcdir)}"
        return super().starttag(node, tagname, suffix, **attributes)

    def visit_admonition(self, node, name=""):
        if not is_fold(node):
            return super().visit_admonition(node, name)
        open_box(self, node)

    def depart_admonition(self, node=None):
        if not (node and is_fold(node)):
            return super().depart_admonition(node)
        close_fold(self, node)

    def visit_title(self, node):
        if not is_fold(node.parent):
            return super().visit_title(node)
        # No link in what opens a fold: one place to press, one thing to do.
        self.body.append(
            self.starttag(node, "summary", "", CLASS="admonition-title")
        )
        self.body.append(f"{escape(node.astext())}</summary>\n")
        raise nodes.SkipNode

    def visit_raw(self, node):
        # Jupyter Book adds settings for Thebe, which this book does not use.
        if "x-thebe-config" in node.astext() or "kernelName =" in node.astext():
            raise nodes.SkipNode
        super().visit_raw(node)

    def visit_citation(self, node):
        # Docutils gives a role that ARIA has withdrawn.
        self.body.append(self.starttag(node, "div", CLASS="citation"))

    def depart_citation(self, node):
        self.body.append("</div>\n")


def open_box(translator, node):
    shown = {"open": "open"} if is_open(node) else {}
    translator.body.append(
        translator.starttag(node, "details", CLASS="admonition", **shown)
    )


def open_code(translator, node):
    """Name the fold by what it holds; MyST-NB says *Toggle hidden content*."""
    translator.body.append(
        f'<details class="hide {" ".join(node["classes"])}">\n'
        "<summary>The code of this cell</summary>\n"
    )


def close_fold(translator, node):
    translator.body.append("</details>\n")


def add_to_page(app, pagename, templatename, context, doctree):
    """Give the templates what they ask for."""
    context["styles_used"] = STYLES
    context["scripts_used"] = SCRIPTS
    context["html_baseurl"] = app.config.html_baseurl


def finish(app, exception):
    """Drop what the theme copied and no page uses; list the pages for crawlers."""
    if exception:
        return
    for name in UNUSED:
        for path in Path(app.outdir, "_static").glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    base = app.config.html_baseurl
    pages = "".join(
        f"  <url><loc>{base}{app.builder.get_target_uri(page)}</loc></url>\n"
        for page in sorted(app.env.found_docs)
    )
    Path(app.outdir, "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{pages}</urlset>\n',
        encoding="utf-8",
    )
    Path(app.outdir, "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n", encoding="utf-8"
    )


def setup(app):
    app.set_translator("html", Translator)
    app.setup_extension("sphinx_exercise")
    app.add_node(solution_node, override=True, html=(open_box, close_fold))
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(open_code, close_fold))
    app.connect("html-page-context", add_to_page, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
