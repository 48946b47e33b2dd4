"""Figures that are touched: where scripts run, `book/live/NAME` takes a static figure's place.

A figure is marked by its class, or its cell by a tag: `live-NAME`. The page gets one script and
one style with what its figures need.
"""

import json
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from course.chapters import ROOT

LIVE = ROOT / "book/live"


class live_figure(nodes.General, nodes.Element):
    """A figure, and the `name` of the folder whose script takes its place."""


class MarkFigures(SphinxPostTransform):
    default_priority = 690  # before cells fold
    builders = ("html",)

    def run(self, **_):
        for figure in list(self.document.findall(nodes.figure)):
            marked = [figure, *figure.findall(nodes.image), figure.parent, figure.parent.parent]
            for name in names_of(marked):
                place = live_figure("", name=name)
                figure.parent.replace(figure, place)
                place += figure


def names_of(marked):
    """Return the folders that classes of some nodes, or tags of their cell, name."""
    classes = [each for node in marked for each in node.get("classes", ())]
    found = [each.removeprefix("tag_").removeprefix("live-") for each in classes if "live-" in each]
    return list(dict.fromkeys(found))


def open_figure(translator, node):
    name = node["name"]
    words = tomllib.loads((LIVE / name / "words.toml").read_text(encoding="utf-8"))
    inline = json.dumps({"words": words}, ensure_ascii=False).replace("<", "\\u003c")
    translator.body.append(
        f'<div data-live="{name}"><script type="application/json">{inline}</script>\n'
    )


def close_figure(translator, node):
    translator.body.append("</div>\n")


def link(app, page, template, context, doctree):
    """Write and link one script and one style for the figures of a page."""
    names = [node["name"] for node in doctree.findall(live_figure)] if doctree else []
    for kind, shared in {"js": ["core.js", "frame.js"], "css": ["frame.css"]}.items():
        if names:
            parts = [LIVE / each for each in shared] + [
                LIVE / each / f"figure.{kind}" for each in names
            ]
            target = Path(app.outdir, "_static", f"live-{page.rpartition('/')[2]}.{kind}")
            target.write_text("".join(each.read_text("utf-8") for each in parts), "utf-8")
            add = {"js": app.add_js_file, "css": app.add_css_file}[kind]
            add(target.name, **({"loading_method": "defer"} if kind == "js" else {}))


def setup(app):
    app.add_node(live_figure, html=(open_figure, close_figure))
    app.add_post_transform(MarkFigures)
    app.connect("html-page-context", link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
