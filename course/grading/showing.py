"""The last step of grading: make a notebook that shows what a student wrote, and runs none of it.

Formgrader and feedback put a notebook's text and outputs into their pages as they are. So each cell
is made anew, of text, of HTML that is made here of Markdown, and of pictures.
"""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader.preprocessors import NbGraderPreprocessor

TAGS = """
a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr li ol p pre span strong table tbody td
th thead tr ul
math mfrac mi mn mo mover mpadded mphantom mroot mrow mspace msqrt mstyle msub msubsup msup mtable
mtd mtext mtr munder munderover
""".split()  # noqa: SIM905
SHAPE = ["accent", "columnalign", "displaystyle", "fence", "form", "linethickness", "mathvariant"]
SHAPE += ["maxsize", "minsize", "movablelimits", "rowspacing", "separator", "stretchy"]


def _space(tag: str, name: str, value: str) -> bool:
    return name == "width" and re.fullmatch(r"[0-2]?\.\d+em|[0-2]em", value) is not None


ATTRIBUTES = {tag: SHAPE for tag in TAGS if tag.startswith("m")}
ATTRIBUTES |= {"a": ["href"], "math": ["display"], "mspace": _space, "span": ["class"]}
LONGEST = 20_000  # characters of a cell that are shown: longer ones take time to draw
PICTURES = ("image/png", "image/jpeg")
INERT = str.maketrans({"\n": "&#10;", "$": "&#36;", "\\": "&#92;"})
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


class Renderer(IPythonRenderer):
    """Make HTML of Markdown: tags in it are text, formulas are MathML, pictures are named."""

    def __init__(self):
        super().__init__(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)

    def image(self, text, url, title=None):
        """Name a picture, which may lie anywhere."""
        return f"[{text or 'image'}]"

    def block_mermaidjs(self, code):
        """Show a diagram's text: it would need a script."""
        return self.block_code(code)

    def inline_math(self, body):
        """Draw a formula in a line."""
        return formula(body, "inline")

    def block_math(self, body):
        """Draw a formula on a line of its own."""
        return formula(body, "block")

    def latex_environment(self, name, body):
        """Draw a formula of several lines."""
        return formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")


def formula(latex: str, display: str) -> str:
    """Return a formula as MathML, which browsers draw by themselves; or as it was written."""
    try:
        drawn = convert_to_element(latex, display=display)
        for part in drawn.iter():
            part.text = html.unescape(part.text or "")
        return ElementTree.tostring(drawn, encoding="unicode")
    except Exception:  # whatever a student wrote
        return f"<code>{html.escape(latex)}</code>"


def _text(value) -> str:
    """Return text that a file can hold, of what the kernel sent as text or lines."""
    joined = "".join(map(str, value)) if isinstance(value, list) else str(value)
    return joined.encode("utf-8", "replace").decode()


def plain_outputs(outputs: list) -> list:
    """Make outputs anew, of text and pictures; leave out what is neither."""
    outputs_shown = []
    for output in outputs:
        kind = output.get("output_type")
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            outputs_shown.append(new_output(kind, name=name, text=_text(output.get("text", ""))))
        elif kind == "error":
            lines = output.get("traceback") or []
            lines = [_text(line) for line in (lines if isinstance(lines, list) else [lines])]
            about = {name: _text(output.get(name, "")) for name in ("ename", "evalue")}
            outputs_shown.append(new_output(kind, traceback=lines, **about))
        elif isinstance(output.get("data"), dict) and (data := _plain_data(output["data"])):
            outputs_shown.append(new_output("display_data", data=data))
    return outputs_shown


def _plain_data(data):
    shown = {kind: _text(data[kind]) for kind in ("text/plain", "image/svg+xml") if kind in data}
    for kind in PICTURES:
        text = re.sub(r"\s", "", _text(data.get(kind, "")))
        if re.fullmatch(r"[A-Za-z0-9+/]+=*", text):
            shown[kind] = text
    return shown


class ShowOnly(NbGraderPreprocessor, SanitizeHTML):
    """Make each cell of a graded notebook anew."""

    def preprocess(self, nb, resources):
        """Make a notebook that has nothing but what is shown."""
        self.tags, self.attributes = TAGS, ATTRIBUTES
        nb.metadata = METADATA
        nb.nbformat, nb.nbformat_minor = 4, 5
        nb.cells = [self._made_anew(cell, f"cell-{i}") for i, cell in enumerate(nb.cells)]
        return nb, resources

    def _made_anew(self, cell, name):
        about = {key: cell.metadata[key] for key in ("nbgrader",) if key in cell.metadata}
        source = _text(cell.source)
        if len(source) > LONGEST:
            source = f"{source[:LONGEST]}\n\n[The rest of {len(source)} characters is left out.]"
        if cell.cell_type == "code":
            outputs = plain_outputs(cell.outputs)
            return new_code_cell(source, id=name, metadata=about, outputs=outputs)
        if cell.cell_type != "markdown":
            source = f"<pre>{html.escape(source)}</pre>"
        else:
            source = MarkdownWithMath(Renderer()).render(source)
        # In one line, in which neither Markdown, as which it is read again, nor MathJax finds any.
        made = self.sanitize_html_tags(source)
        inert = f'<div class="tex2jax_ignore">{made}</div>'.translate(INERT)
        return new_markdown_cell(inert, id=name, metadata=about)
