"""Folds: what proves a figure or a paragraph, and what drew it, in one line below.

A labelled cell has an address, at which its fold opens.

Neighbouring cells with the tag `evidence` or `hide-input` fold together. The line says what they
show, which is the comment that each cell of evidence begins with, and how many lines and checks
they have. What a cell with the tag `hide-input` draws or prints stays in sight, above.
"""

from html import escape
from itertools import groupby
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from course.checks import checks
from course.claims import anchor
from course.words import say

LOG = logging.getLogger(__name__)
WRITTEN_FOR = {"myst-nb": "1.4.0"}  # whose nodes of cells this takes apart; a test compares


class fold(nodes.General, nodes.Element):
    """Cells, or the code of cells, with the line that opens them as its `summary`."""


class AddressEvidence(SphinxTransform):
    default_priority = 400

    def apply(self, **_):
        for cell in self.document.findall(nodes.container):
            if label := cell.get("cell_metadata", {}).get("label"):
                name = anchor(Path(self.env.docname).name, label)
                cell["ids"], cell["names"] = [name], [name]
                self.document.note_explicit_target(cell)


class FoldEvidence(SphinxPostTransform):
    default_priority = 700  # when MyST-NB has made the outputs
    builders = ("html",)

    def run(self, **_):
        code_cells = list(self.document.findall(folds))
        for parent in {id(cell.parent): cell.parent for cell in code_cells}.values():
            parent.children = [
                child
                for folded, run in groupby(parent.children, folds)
                for child in (fold_run(list(run)) if folded else run)
            ]


def fold_run(cells):
    """Return what stays in sight of some neighbouring cells, and the fold with the rest."""
    shown, drawn, lines, proved = [], [], 0, 0
    for cell in cells:
        source = next(cell.findall(nodes.literal_block)).astext()
        comment, *code = source.splitlines()
        if has_tag(cell, "evidence"):
            if not comment.startswith("# ") or not code:
                advice = "begin a cell of evidence with a comment that says what it shows"
                LOG.warning("%s: %s", comment, advice, location=cell)
            shown.append(comment.removeprefix("# "))
        lines += sum(
            map(bool, map(str.strip, code if has_tag(cell, "evidence") else [comment, *code]))
        )
        proved += len(checks(source))
        drawn += take_output(cell)
    about = {"shown": "; ".join(shown), "lines": lines, "checks": proved}
    name = "evidence_1" if proved == 1 else "evidence"
    summary = say(name, **about) if shown else say("code_of_cell")
    return [*drawn, fold("", *cells, summary=summary, classes=["evidence"] if shown else [])]


def take_output(cell):
    """Take out of a cell, and return, what stays in sight; leave its code, unfolded."""
    if has_tag(cell, "evidence"):
        return []
    for hidden in list(cell.findall(HideCodeCellNode)):
        hidden.replace_self(hidden.children)
    outputs = [child for child in cell.children if "cell_output" in child["classes"]]
    for output in outputs:
        cell.remove(output)
    return [nodes.container("", *outputs, classes=["cell"])] if outputs else []


def has_tag(node, name):
    return isinstance(node, nodes.Element) and f"tag_{name}" in node.get("classes", ())


def folds(node):
    return has_tag(node, "evidence") or has_tag(node, "hide-input")


def open_fold(translator, node):
    translator.body.append(translator.starttag(node, "details", CLASS="code-fold"))
    shown, dash, counted = node["summary"].partition(" — ")
    counted = f" <span>{dash.strip()} {escape(counted)}</span>" if counted else ""
    translator.body.append(f"<summary><span>{escape(shown)}</span>{counted}</summary>\n")


def close_fold(translator, node):
    translator.body.append("</details>\n")


def setup(app):
    app.add_node(fold, html=(open_fold, close_fold))
    app.add_transform(AddressEvidence)
    app.add_post_transform(FoldEvidence)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
