"""What pages need and Sphinx lacks: sized pictures, folds, tables, a sitemap."""

import re
from html import escape
from pathlib import Path

import imagesize
from docutils import nodes
from evidence import fold
from ink import as_text
from quiz import quiz_choice, writing
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node
from tabs import tab

# Whose HTML and nodes this writes in another form; a test compares with constraints.txt.
WRITTEN_FOR = {"sphinx": "7.4.7", "sphinx-exercise": "1.2.1"}

ROLES = {
    "xref",
    "std",
    "std-ref",
    "std-numref",
    "std-doc",
    "doc",
    "std-term",
    "default_value",
    "viewcode-link",
}


def is_fold(node):
    """Tell whether a node can be folded. A box can if its class is *dropdown*."""
    return isinstance(node, solution_node | quiz_choice) or (
        isinstance(node, nodes.admonition) and "dropdown" in node["classes"]
    )


def is_hidden(node):
    """Tell whether a node is not in sight at first: in a fold, or behind another tab."""
    while node := node.parent:
        if isinstance(node, fold) or is_fold(node):
            return True
        if isinstance(node, tab) and node.parent.index(node):
            return True
    return False


MARKS = {nodes.literal: "`", nodes.emphasis: "*", nodes.paragraph: ""}


def as_line(row):
    """Return a row of a table as a line: cells between tabs, `code`, and *stress* at first."""
    return "\t".join("".join(map(as_words, entry.findall(nodes.Text))) for entry in row)


def as_words(text):
    """Return some words of a row between the marks of how they are written."""
    mark, words = MARKS[type(text.parent)], " ".join(text.splitlines())
    starred = text.parent.parent.index(text.parent) if mark == "*" else words.startswith("*")
    if starred or "`" in words:
        raise ValueError(f"in a table of the class `late` nothing can be written as {words!r} is")
    return f"{mark}{words}{mark}"


class Translator(HTML5Translator):
    """Sphinx's own, with parts of a page that keep their place while they load.

    It writes fewer elements: what nothing is seen of, as around each word of code, is left out.
    """

    def visit_Text(self, node):
        if not self.protect_literal_text:
            return super().visit_Text(node)
        text = self.encode(node.astext())
        self.body.append(re.sub(" (?= )", "&#160;", text))  # the last of several can wrap

    def visit_desc_sig_element(self, node):
        """Write a part of a signature without a mark around it."""

    depart_desc_sig_element = visit_desc_sig_element

    def visit_desc_parameterlist(self, node):
        for parameter in node:  # one mark around all of them
            parameter["noemph"] = True
        super().visit_desc_parameterlist(node)
        self.body[-1] = '(<em class="sig-params">' if len(node) else "("

    def depart_desc_parameterlist(self, node):
        super().depart_desc_parameterlist(node)
        self.body[-1] = "</em>)" if len(node) else ")"

    def visit_inline(self, node):
        if not is_bare(node):
            super().visit_inline(node)

    def depart_inline(self, node):
        if not is_bare(node):
            super().depart_inline(node)

    def depart_field_name(self, node):
        self.body.append("</dt>\n")

    def visit_paragraph(self, node):
        if not is_alone(node):
            super().visit_paragraph(node)

    def depart_paragraph(self, node):
        if not is_alone(node):
            super().depart_paragraph(node)

    def visit_literal_block(self, node):
        try:
            super().visit_literal_block(node)
        except nodes.SkipNode:
            if is_hidden(node):
                self.body[-1] = as_text(self.body[-1])
            raise

    def visit_image(self, node):
        size = imagesize.get(Path(self.builder.srcdir, node["uri"]))
        self.picture = dict(zip(("width", "height"), map(round, size), strict=True))
        self.picture["decoding"] = "async"
        if not is_seen_at_once(node):
            self.picture["loading"] = "lazy"
        if not node["uri"].endswith(".svg"):
            return super().visit_image(node)
        self.picture["class"] = "on-light"
        super().visit_image(node)
        self.picture |= {"class": "on-dark", "loading": "lazy"}  # and loaded only where it is shown
        super().visit_image(node)

    def starttag(self, node, tagname, suffix="\n", **attributes):
        if tagname == "img":
            attributes |= self.picture
            if attributes.get("class") == "on-dark":
                attributes["src"] = attributes["src"].replace(".svg", ".dark.svg")
        if attributes.get("ROLE") == "heading":  # Sphinx does not say of what level
            attributes["ARIA-LEVEL"] = "2"
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
        self.body.append(self.starttag(node, "summary", "", CLASS="admonition-title"))
        self.body.append(f"{escape(node.astext())}</summary>\n")
        raise nodes.SkipNode

    def visit_table(self, node):
        self.body.append('<div class="table-box">\n')
        super().visit_table(node)

    def visit_tbody(self, node):
        folded = node.parent.parent.parent
        if "late" not in folded.get("classes", ()):
            return super().visit_tbody(node)
        # A long table in a fold is text until it is opened.
        lines = escape("\n".join(map(as_line, node)), quote=False)
        span = len(node.children[0])
        self.body.append(
            f'<tbody><tr><td colspan="{span}"><pre class="rows">{lines}</pre></td></tr></tbody>\n'
        )
        raise nodes.SkipNode

    def depart_table(self, node):
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_citation(self, node):
        # Docutils gives a role that ARIA has withdrawn.
        self.body.append(self.starttag(node, "div", CLASS="citation"))

    def depart_citation(self, node):
        self.body.append("</div>\n")


def is_alone(node):
    """Tell whether a paragraph is all that a list of parameters says of one."""
    item = node.parent
    listed = isinstance(item, nodes.list_item) and isinstance(item.parent.parent, nodes.field_body)
    return listed and len(item) == 1 and not node["ids"]


def is_seen_at_once(node):
    """Tell whether a picture is on the first screen: it says so, or opens a chapter.

    It is asked for while the page is read, and not only when that has been laid out. Where a
    script draws, the picture is not seen at all.
    """
    if node.get("loading") == "link":
        return True
    if node.parent.tagname == "live_stage":
        return False
    boxes = node.document.findall(nodes.admonition)
    in_chapter = any("objectives" in box["classes"] for box in boxes)
    return in_chapter and node is next(iter(node.document.findall(nodes.image)))


def is_bare(node):
    """Tell whether a mark in a line says only by which role it was written."""
    return not node["ids"] and {*node["classes"]} <= ROLES


def open_box(translator, node):
    translator.body.append(translator.starttag(node, "details", CLASS="admonition"))


close_fold = writing("</details>\n")


def list_pages(app, exception):
    """List the pages for crawlers, but for drafts."""
    if exception or app.builder.name != "html":
        return
    base, drafts = app.config.html_baseurl, app.config.html_context.get("drafts", {})
    pages = "".join(
        f"  <url><loc>{base}{app.builder.get_target_uri(page)}</loc></url>\n"
        for page in sorted(app.env.found_docs - drafts.keys())
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
    app.connect("build-finished", list_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
