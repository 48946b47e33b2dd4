"""A field that filters the tables below it: ```{filter}```. Without scripts there is none."""

from html import escape

from docutils import nodes
from docutils.parsers.rst import Directive

from course.words import say

FIELD = (
    '<p class="filter" hidden><label><span>{label}</span>'
    '<input type="text" autocomplete="off" autocapitalize="none" spellcheck="false"></label>'
    '<output aria-live="polite" data-shown="{shown}"></output></p>\n'
)


class Filter(Directive):
    def run(self):
        shown = say("filtered", left="{left}", all="{all}")
        field = FIELD.format(label=escape(say("filter")), shown=escape(shown))
        return [nodes.raw("", field, format="html")]


def link_script(app, pagename, templatename, context, doctree):
    fields = doctree.findall(nodes.raw) if doctree else ()
    if any(field.astext().startswith('<p class="filter"') for field in fields):
        app.add_js_file("filter.js", loading_method="defer")


def setup(app):
    app.add_directive("filter", Filter)
    app.connect("html-page-context", link_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
