"""The last step of grading: make a notebook that shows what a student wrote, and runs none of it.

Formgrader and feedback put a notebook's text and outputs into their pages as they are. So each cell
is made anew, of text, of HTML that is made here of Markdown, and of pictures.
"""

from __future__ import annotations

import base64
import functools
import html
import re
import struct
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


def _allowed(tag: str, name: str, value: str) -> bool:
    if (tag, name) == ("mspace", "width"):
        return re.fullmatch(r"[0-2]?\.\d+em|[0-2]em", value) is not None
    if (tag, name) == ("a", "href"):  # the schemes that bleach allows, and no address of ours
        return LINK.match(value) is not None
    return (tag, name) == ("math", "display") or (tag.startswith("m") and name in SHAPE)


# What is shown of a cell, and of all that it printed: more takes time to draw, for some texts much.
LONGEST = 10_000  # characters
LINES = 500
MOST = 50  # outputs
PICTURES = 8
PICTURE = 700_000  # characters of base64
PIXELS = 4_000_000
LEFT_OUT = "... more output is left out\n"
# What a terminal obeys: colours, links, titles; then all that is no text.
CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LINK = re.compile(r"https://[\w.-]|mailto:|#", re.I)
INERT = str.maketrans({"\n": "&#10;", "$": "&#36;", "\\": "&#92;"})
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


class Renderer(IPythonRenderer):
    """Make HTML of Markdown: tags in it are text, formulas are MathML, pictures are named."""

    def __init__(self):
        super().__init__(escape=True, exclude_anchor_links=True)

    def image(self, text, url, title=None):
        """Name a picture, which may lie anywhere."""
        return f"[{text or 'image'}]"

    def block_code(self, code, info=None):
        """Show code without colours, for which the student would choose a program of ours."""
        return f"<pre>{self.escape_html(code)}</pre>\n"

    def block_math(self, body, display="block"):
        """Draw a formula as MathML, which browsers draw by themselves; or as it was written."""
        try:
            drawn = convert_to_element(body, display=display)
            for part in drawn.iter():
                part.text = html.unescape(part.text or "")
            return ElementTree.tostring(drawn, encoding="unicode")
        except Exception:  # whatever a student wrote
            return f"<code>{html.escape(body)}</code>"

    inline_math = functools.partialmethod(block_math, display="inline")

    def latex_environment(self, name, body):
        """Draw a formula of several lines."""
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")


def _text(value) -> str:
    """Return text of letters, of what the kernel sent as text or lines; no more than is shown."""
    lines = value[:LINES] if isinstance(value, list) else [value]
    joined = "".join(str(line)[: 4 * LONGEST] for line in lines)[: 4 * LONGEST]
    plain = CONTROLS.sub("", CODES.sub("", joined.replace("\r\n", "\n")))
    return plain.encode("utf-8", "replace").decode()


class Room:
    """What is left to show below one cell."""

    def __init__(self):
        self.characters, self.lines, self.pictures = LONGEST, LINES, PICTURES

    def text(self, value) -> str:
        """Return as much of a text as there is room for."""
        whole = _text(value)
        kept = "".join(whole.splitlines(keepends=True)[: self.lines])[: self.characters]
        self.characters -= len(kept)
        self.lines -= kept.count("\n") + 1
        return kept if kept == whole else f"{kept}\n{LEFT_OUT}"

    def picture(self, value) -> str:
        """Return a picture if there is room for it: PNG, of a size that does not fill a memory."""
        text = re.sub(r"\s", "", str(value)[: PICTURE + 1]) if self.pictures else ""
        if len(text) > PICTURE or not re.fullmatch(r"iVBORw0KGgo[A-Za-z0-9+/]{33,}=*", text):
            return ""
        width, height = struct.unpack(">II", base64.b64decode(text[:32])[16:24])
        self.pictures -= 1
        return text if width * height <= PIXELS else ""


def plain_outputs(outputs: list) -> list:
    """Make outputs anew, of text and pictures, not too many; leave out what is neither."""
    shown, room = [], Room()
    for output in outputs[:MOST]:
        if room.characters <= 0 or room.lines <= 0:
            break
        match output:
            case {"output_type": "stream" as kind}:
                name = "stderr" if output.get("name") == "stderr" else "stdout"
                shown.append(new_output(kind, name=name, text=room.text(output.get("text", ""))))
            case {"output_type": "error" as kind}:
                about = {name: _text(output.get(name, ""))[:200] for name in ("ename", "evalue")}
                lines = output.get("traceback") or []
                lines = lines[:MOST] if isinstance(lines, list) else [lines]
                traceback = [room.text(line) for line in lines if room.lines > 0]
                shown.append(new_output(kind, traceback=traceback, **about))
            case {"data": {"image/png": data}} if picture := room.picture(data):
                shown.append(new_output("display_data", data={"image/png": picture}))
            case {"data": {"text/plain": data}}:
                shown.append(new_output("display_data", data={"text/plain": room.text(data)}))
    return shown


class ShowOnly(NbGraderPreprocessor, SanitizeHTML):
    """Make each cell of a graded notebook anew."""

    def preprocess(self, nb, resources):
        """Make a notebook that has nothing but what is shown."""
        self.tags, self.attributes = TAGS, _allowed
        nb.metadata = METADATA
        nb.nbformat, nb.nbformat_minor = 4, 5
        nb.cells = [self._made_anew(cell, f"cell-{i}") for i, cell in enumerate(nb.cells)]
        return nb, resources

    def _made_anew(self, cell, name):
        about = {key: cell.metadata[key] for key in ("nbgrader",) if key in cell.metadata}
        source = Room().text(cell.source)
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
