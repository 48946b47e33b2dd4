"""Exercises that are answered on the page: what `book/write` needs to know of each, and its files.

Where scripts run, the cell below an exercise becomes a button. Elsewhere it stays a line.
"""

import hashlib
import json
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx_exercise.nodes import is_exercise_node, solution_node

from course.chapters import ROOT, chapters
from course.words import WORDS, say
from course.writing import begin

LOG = logging.getLogger(__name__)
WRITTEN_FOR = {"sphinx-exercise": "1.2.1"}  # whose nodes this reads; a test compares
HERE = ROOT / "book/write"
EDITOR = (
    ROOT / "_build/codemirror/editor.js"
)  # made by `make book`; without it a plain field serves
ACTS = "save", "load", "forget"
BUTTON = '<button type="button" class="button" name="{key}">{text}</button> '
KEPT = """<div class="kept"><p role="status">{nothing}</p>
<p>{buttons}</p><input type="file" accept=".json" hidden>
<script type="application/json">{about}</script></div>
"""
ABOUT = '<script type="application/json" data-exercise="{name}">{about}</script>\n'


class WriteHere(SphinxPostTransform):
    default_priority = 600  # before cells fold
    builders = ("html",)

    def run(self, **_):
        solutions = {node["target_label"]: node for node in self.document.findall(solution_node)}
        for exercise in list(self.document.findall(is_exercise_node)):
            label = exercise["label"]
            cell = exercise.next_node(siblings=True, descend=False)
            if label not in solutions or "cell" not in getattr(cell, "attributes", {}).get(
                "classes", ()
            ):
                LOG.warning(
                    "put a cell for the answer below %s, and a solution", label, location=exercise
                )
                continue
            cells = [
                node
                for node in solutions[label].findall(nodes.container)
                if "cell_input" in node["classes"]
            ]
            code = "\n".join(next(node.findall(nodes.literal_block)).astext() for node in cells)
            name = label.removeprefix("ex-")
            about = json.dumps(begin(name, code)._asdict()).replace("<", "\\u003c")
            cell += nodes.raw("", ABOUT.format(name=name, about=about), format="html")


class Exercises(Directive):
    """What can be done with what is kept: ```{exercises}```. A script sets it going."""

    def run(self):
        said = words("exercises_")
        about = json.dumps(said, ensure_ascii=False).replace("<", "\\u003c")
        count = sum(len(chapter.exercises) for chapter in chapters())
        nothing = say("exercises_kept", solved=0, all=count, begun=0)
        buttons = "".join(BUTTON.format(key=key, text=escape(said[key])) for key in ACTS)
        place = KEPT.format(nothing=escape(nothing), buttons=buttons, about=about)
        return [nodes.raw("", place, format="html")]


def count(app, pagename, templatename, context, doctree):
    """Tell the frame of a chapter how many exercises it has."""
    name = pagename.rpartition("/")[2]
    numbers = [len(chapter.exercises) for chapter in chapters() if chapter.name == name]
    context["exercises"] = (name, *numbers) if any(numbers) else None
    app.add_js_file("progress.js", priority=300, loading_method="defer")
    if doctree and any('class="kept"' in raw.astext() for raw in doctree.findall(nodes.raw)):
        app.add_js_file("exercises.js", loading_method="defer")


def words(kind):
    """Return the words that begin with a kind."""
    return {
        key.removeprefix(kind): text.strip() for key, text in WORDS.items() if key.startswith(kind)
    }


def script(name, **given):
    """Return a script's text behind what it is given."""
    lines = [
        f"const {key} = {json.dumps(value, ensure_ascii=False)};\n" for key, value in given.items()
    ]
    return "".join(lines) + (HERE / name).read_text(encoding="utf-8")


def write_files(app, builder):
    """Write the scripts before the pages, which name them with a digest of what they hold."""
    if builder.name != "html":
        return
    static = Path(app.outdir, "_static")
    static.mkdir(exist_ok=True)

    def put(name, text):
        (static / name).write_text(text, encoding="utf-8")
        return f"{name}?v={hashlib.sha256(text.encode()).hexdigest()[:8]}"

    worker = put(
        "write-worker.js", script("worker.js", ANSWER=(HERE / "answer.py").read_text("utf-8"))
    )
    site, said = app.config.html_baseurl, words("write_")
    later = {
        "write.js": script("write.js", WRITE_WORDS=said, SITE=site, WORKER=worker),
        "write.css": (HERE / "write.css").read_text("utf-8"),
    }
    if EDITOR.is_file():
        later["write-editor.js"] = EDITOR.read_text("utf-8")
    files = {name: put(name, text) for name, text in later.items()}
    listed = {chapter.name: list(chapter.exercises) for chapter in chapters()}
    put("exercises.js", (HERE / "exercises.js").read_text("utf-8"))
    put(
        "progress.js", script("progress.js", CHAPTERS=listed, WORDS=words("progress_"), FILES=files)
    )


def setup(app):
    app.add_directive("exercises", Exercises)
    app.add_post_transform(WriteHere)
    app.connect("html-page-context", count)
    app.connect("write-started", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
