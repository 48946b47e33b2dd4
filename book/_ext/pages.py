"""What pages need and Sphinx lacks: sized pictures, folds, tables, a sitemap."""

from html import escape
from pathlib import Path

import imagesize
from docutils import nodes
from quiz import quiz_choice, writing
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node

# Whose HTML and nodes this writes in another form; a test compares with constraints.txt.
WRITTEN_FOR = {"sphinx": "7.4.7", "sphinx-exercise": "1.2.1"}


def is_fold(node):
    """Tell whether a node can be folded. A box can if its class is *dropdown*."""
    return isinstance(node, solution_node | quiz_choice) or (
        isinstance(node, nodes.admonition) and "dropdown" in node["classes"]
    )


class Translator(HTML5Translator):
    """Sphinx's own, with parts of a page that keep their place while they load."""

    def visit_image(self, node):
        size = imagesize.get(Path(self.builder.srcdir, node["uri"]))
        self.picture = dict(zip(("width", "height"), map(round, size), strict=True))
        self.picture["decoding"] = "async"
        if node.get("loading") != "link":  # said of a picture that is seen at once
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

    def depart_table(self, node):
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_citation(self, node):
        # Docutils gives a role that ARIA has withdrawn.
        self.body.append(self.starttag(node, "div", CLASS="citation"))

    def depart_citation(self, node):
        self.body.append("</div>\n")


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
