"""Tabs, of which one is shown at a time: radio buttons and a style, so that no script is needed.

::::::{tabs} library
:::::{tab} PyTorch
…
"""

from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class tabs(nodes.General, nodes.Element):
    """Some tabs, the first of them open."""


class tab(nodes.General, nodes.Element):
    """What is shown when its title is chosen."""


class Tabs(SphinxDirective):
    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        found = tabs(number=self.env.new_serialno("tabs"), title=self.arguments[0])
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


class Tab(SphinxDirective):
    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        found = tab(title=self.arguments[0])
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


def open_tab(translator, node):
    """Write the button, its title and the beginning of what it shows."""
    every = node.parent
    place = every.index(node)
    name = f"tabs-{every['number']}"
    checked = "" if place else " checked"
    title = escape(node["title"])
    # Before the hidden part, so that a style can show what stands behind the button that is on.
    button = f'<input type="radio" name="{name}" id="{name}-{place}"{checked}>'
    translator.body.append(f'{button}<label for="{name}-{place}">{title}</label>\n')
    translator.body.append('<div class="tab">\n')


def open_tabs(translator, node):
    """Write the beginning of the tabs, with what they are a choice of for those who do not see."""
    translator.body.append(f'<fieldset class="tabs" aria-label="{escape(node["title"])}">\n')


def writing(html):
    """Return what writes a tag."""
    return lambda translator, node: translator.body.append(html)


def link_script(app, pagename, templatename, context, doctree):
    """Let a choice hold for the whole page, where scripts run."""
    if doctree and next(doctree.findall(tabs), None):
        app.add_js_file("tabs.js", loading_method="defer")


def setup(app):
    app.add_directive("tabs", Tabs)
    app.add_directive("tab", Tab)
    app.add_node(tabs, html=(open_tabs, writing("</fieldset>\n")))
    app.add_node(tab, html=(open_tab, writing("</div>\n")))
    app.connect("html-page-context", link_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
