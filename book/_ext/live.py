"""Figures that are touched: where scripts run, `book/live/NAME` takes a static figure's place.

A figure is marked by its class, or its cell by a tag: `live-NAME`. Its controls and sentences, from
`figure.toml`, are written around the picture; the page gets one script, and in itself one style,
with what its figures need.
"""

import json
import re
import runpy
import tomllib
from html import escape
from pathlib import Path

from docutils import nodes
from quiz import writing
from sphinx.transforms.post_transforms import SphinxPostTransform

from course.chapters import ROOT
from course.words import say

LIVE = ROOT / "book/live"
EMPHASIS = re.compile(r"\*(.+?)\*")
SLIDER = '<input type="range" name="{key}" min="{min}" max="{max}" step="{step}" value="{value}">'
SHOWN = '<output data-shown="{shown}" data-digits="{digits}"></output>'
LINE = (
    '<input type="text" name="{key}" value="{value}" maxlength="{longest}" autocomplete="off"'
    ' autocapitalize="none" spellcheck="false">'
)


class live_figure(nodes.General, nodes.Element):
    """A figure, and the `name` of the folder whose script takes its place."""


class live_stage(nodes.General, nodes.Element):
    """The picture that a script replaces."""


class MarkFigures(SphinxPostTransform):
    default_priority = 690  # before cells fold
    builders = ("html",)

    def run(self, **_):
        for figure in list(self.document.findall(nodes.figure)):
            marked = [figure, *figure.findall(nodes.image), figure.parent, figure.parent.parent]
            about = next(filter(None, (each.get("cell_metadata") for each in marked)), {})
            for name in names_of(marked):
                wrap(figure, name, about.get("live", {}))


def depend(app, doctree):
    """Have a page made again when the controls or sentences of its figures change."""
    for name in names_of(doctree.findall(nodes.Element)):
        for part in (f"{name}/figure.toml", f"{name}/figure.css", "frame.css"):
            app.env.note_dependency(str(LIVE / part))


def names_of(marked):
    """Return the folders that classes of some nodes, or tags of their cell, name."""
    classes = [name for node in marked for name in node.get("classes", ())]
    tags = [name.removeprefix("tag_") for name in classes]
    return list(dict.fromkeys(name[5:] for name in tags if name.startswith("live-")))


def wrap(figure, name, overrides):
    """Put what a script needs around a picture; its cell may say where it starts, and a caption."""
    description = tomllib.loads((LIVE / name / "figure.toml").read_text(encoding="utf-8"))
    place, stage = live_figure("", name=name), live_stage("")
    figure.replace_self(place)
    image = figure.next_node(nodes.image)
    image.replace_self(stage)
    stage += image
    words = {"label": description["label"], **description.get("words", {})}
    texts = {"sentences": description["sentences"], "words": words}
    inlined = json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
    start = overrides.get("start", {})
    controls = "".join(
        control({**entry, "value": start.get(entry["key"], entry["value"])})
        for entry in description["controls"]
    )
    if "caption" in overrides:
        caption = figure.next_node(nodes.caption)
        caption.insert(0, raw('<span class="live-still">'))
        words_of_it = EMPHASIS.sub(r"<em>\1</em>", escape(overrides["caption"], quote=False))
        caption += raw(f'</span><span class="live-caption">{words_of_it}</span>')
    before = f'<p class="live-try">{escape(description["try"])}</p>\n'
    after = (
        '<p class="live-said" aria-live="polite"></p>\n'
        f'<div class="live-controls">{controls}'
        f'<button type="button" class="live-reset">{say("live_reset")}</button></div>\n'
        f'<script type="application/json">{inlined}</script>\n'
    )
    stage.replace_self([raw(before), stage, raw(after)])
    place += figure


def raw(html):
    return nodes.raw("", html, format="html")


def control(about):
    """Return a slider, a box, a list, a line to type in, or a state without a control."""
    about = {"shown": "{}", "digits": 0, **about}
    if "says" not in about:
        return f'<input type="hidden" name="{about["key"]}" value="{escape(about["value"])}">'
    if "choices" in about:
        options = "".join(
            f'<option value="{escape(value)}"{" selected" * (value == about["value"])}>'
            f"{escape(words)}</option>"
            for value, words in about["choices"].items()
        )
        field = f'<select name="{about["key"]}">{options}</select>'
    elif isinstance(about["value"], bool):
        field = f'<input type="checkbox" name="{about["key"]}"{" checked" * about["value"]}>'
    elif "longest" in about:
        field = LINE.format(**about | {"value": escape(about["value"])})
    else:
        field = SLIDER.format(**about) + SHOWN.format(**about)
    return f"<label><span>{escape(about['says'])}</span>{field}</label>"


def link(app, page, template, context, doctree):
    """Link one script for the figures of a page, and write their style into it."""
    names = [node["name"] for node in doctree.findall(live_figure)] if doctree else []
    if names:
        name = f"live-{'-'.join(sorted(names))}"
        write(app.outdir, name)
        app.add_js_file(f"{name}.js", loading_method="defer")
        context["styles"].append(joined(name, "css", "frame.css"))


def joined(name, kind, *shared):
    """Return all of a kind that the figures have, which a file is named after."""
    parts = [*shared, *(f"{each}/figure.{kind}" for each in name.split("-")[1:])]
    return "".join((LIVE / part).read_text(encoding="utf-8") for part in parts)


def write(outdir, name):
    text = joined(name, "js", "core.js", "frame.js")
    Path(outdir, "_static", f"{name}.js").write_text(text, encoding="utf-8")


def write_again(app, exception):
    """Write them for pages, too, that did not change."""
    if not exception and app.builder.name == "html":
        for script in Path(app.outdir, "_static").glob("live-*.js"):
            if not script.stem.endswith("-data"):
                write(app.outdir, script.stem)


def write_data(app, exception):
    """Write what figures show that is too large to stand in a page."""
    if exception or app.builder.name != "html":
        return
    for module in LIVE.glob("*/data.py"):
        name, made = module.parent.name, runpy.run_path(str(module))
        parts = made["parts"]().items() if "parts" in made else ()
        files = {name: made["data"](), **{f"{name}-{part}": data for part, data in parts}}
        for file, data in files.items():
            inlined = json.dumps(data, ensure_ascii=False)
            script = f"(window.liveData ??= {{}})[{file!r}] = {inlined};\n"
            Path(app.outdir, "_static", f"live-{file}-data.js").write_text(script, encoding="utf-8")


def setup(app):
    app.add_node(
        live_figure,
        html=(
            lambda self, node: self.body.append(f'<div data-live="{node["name"]}">\n'),
            writing("</div>\n"),
        ),
    )
    app.add_node(live_stage, html=(writing('<div class="live-stage">\n'), writing("</div>\n")))
    app.add_post_transform(MarkFigures)
    app.connect("doctree-read", depend)
    app.connect("html-page-context", link)
    app.connect("build-finished", write_again)
    app.connect("build-finished", write_data)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
