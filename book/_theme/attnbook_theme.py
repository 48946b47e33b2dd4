"""The frame of every page, a Sphinx theme: templates and files lie beside this one.

A page links only what it needs. An extension that brings something of its own to a
page, as a live figure does, adds it in a handler of *html-page-context*, with
`app.add_css_file("figure.css")` and `app.add_js_file("figure.js",
loading_method="defer")`; its files lie in a folder that is in `html_static_path`.
A short style is better written into the page, by
`context["styles"].append(text)`: the page waits for each file of style.
"""

import base64
import hashlib
from pathlib import Path

from docutils import nodes

FORMULAS = nodes.math, nodes.math_block
FIRST, EARLY = 1, 100  # our handlers, before those of others, which have 500
BASE, LOOK = 200, 400  # our files, before those of others, which have 500

# The one script in a page: the policy lets nothing else run but files of the site.
_EARLY = Path(__file__).with_name("early.js")
EARLIEST = _EARLY.read_text(encoding="utf-8").strip()
CODE = (
    Path(__file__)
    .with_name("static")
    .joinpath("code.css")
    .read_text(encoding="utf-8")
)
_DIGEST = base64.b64encode(hashlib.sha256(EARLIEST.encode()).digest()).decode()
POLICY = "; ".join(
    (
        "default-src 'self'",
        f"script-src 'self' 'sha256-{_DIGEST}'",
        "style-src 'self' 'unsafe-inline'",  # of formulas and figures
        "img-src 'self' data:",
        "worker-src 'self' blob:",  # of answers; the story's
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)


def start_page(app, pagename, templatename, context, doctree):
    """Begin with nothing: what extensions ask for, they ask for on every page."""
    context["css_files"].clear()
    context["script_files"].clear()
    context["html_baseurl"] = app.config.html_baseurl
    context |= {"early": EARLIEST, "policy": POLICY, "styles": []}


def link_what_it_needs(app, pagename, templatename, context, doctree):
    def scripts(*names):
        for name in names:
            app.add_js_file(name, priority=BASE, loading_method="defer")

    app.add_css_file("attnbook.css", priority=LOOK)
    if (
        pagename == "search"
    ):  # elsewhere attnbook.js asks for them when there are words to mark
        scripts("documentation_options.js", "doctools.js", "sphinx_highlight.js")
    if doctree and any(doctree.findall(nodes.literal_block)):
        context["styles"].append(CODE)
    formula = next(doctree.findall(is_formula), None) if doctree else None
    if formula:
        app.add_css_file(app.config.katex_css_path, priority=BASE)
    # Columns are as wide as letters: fonts of a table come with those of the text.
    context["formulas_first"] = is_in_table(formula)
    scripts("attnbook.js")


def is_formula(node):
    return isinstance(node, FORMULAS)


def is_in_table(node):
    while node and not isinstance(node, nodes.table):
        node = node.parent
    return bool(node)


def setup(app):
    app.add_html_theme("attnbook", str(Path(__file__).parent))
    app.connect("html-page-context", start_page, priority=FIRST)
    app.connect("html-page-context", link_what_it_needs, priority=EARLY)
    app.add_config_value(
        "written_into_pages", EARLIEST + CODE, "html"
    )  # all are made again
    # Jupyter Book sets it always, also where nothing is loaded that reads it.
    app.add_config_value("comments_config", {}, "")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
