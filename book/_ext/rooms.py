"""What pages take from the chapters' rooms: descriptions, tables, session plans."""

import json
import re
from pathlib import Path

from course import why_wrong
from course.chapters import ROOT, chapters_and_drafts, without_comments
from course.frameworks import BENCH, FOLDER
from course.pages import MASKS, MEASURED, PARTS
from course.words import say

PLACE = re.compile(r"^```\{rooms\} (\w+)(?: (\w+))?\n```$", re.M)  # a part, and which of it


def describe(app, config):
    """Give search engines the description of each chapter; mark the drafts."""
    every = {f"book/{chapter.name}": chapter for chapter in chapters_and_drafts()}
    described = config.html_context.setdefault("descriptions", {})
    described |= {page: chapter.about["description"] for page, chapter in every.items()}
    if drafts := [page for page, chapter in every.items() if chapter.draft]:
        about = {"title": say("draft"), "means": say("draft_means")}
        config.html_context["drafts"] = dict.fromkeys(drafts, about)


def drop_comments(app, docname, source):
    """Leave out the comments of the text, captions, alt texts and headlines."""
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        source[0] = without_comments(source[0])
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        cell["metadata"] = json.loads(without_comments(json.dumps(cell["metadata"])))
        if cell["cell_type"] == "markdown":
            cell["source"] = without_comments("".join(cell["source"]))
    source[0] = json.dumps(notebook)


def filled(text):
    """Return a page's text with the parts that it asks for."""
    return PLACE.sub(lambda place: "\n".join(PARTS[place[1]](*filter(None, [place[2]]))), text)


def fill(app, docname, source):
    """Put parts where a page asks for them; read it again when a room changes."""
    if not PLACE.search(source[0]):
        return
    source[0] = filled(source[0])
    every = chapters_and_drafts()  # a draft may have become a chapter
    rooms = [path for chapter in every for path in (chapter.notebook, *chapter.room.glob("*.*"))]
    checkers = (ROOT / "attnbook/exercises").glob("*.*")
    snippets = [BENCH, *FOLDER.rglob("*.*")]
    for path in [ROOT / "_toc.yml", MASKS, MEASURED, *rooms, *checkers, *snippets]:
        app.env.note_dependency(str(path))


def say_costs(app, docname, source):
    """Say what mistakes cost, on the page that asks for it."""
    if Path(app.env.doc2path(docname)).name == why_wrong.PATH.name:
        source[0] = why_wrong.with_costs(source[0])
        app.env.note_dependency(str(why_wrong.MEASURED))


def setup(app):
    app.connect("config-inited", describe)
    app.connect("source-read", drop_comments)
    app.connect("source-read", fill)
    app.connect("source-read", say_costs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
