"""Code in few elements: a span for what has a colour of its own, and for nothing else.

What is folded, or behind another tab, is text alone. Its colours stand in the attribute `data-ink`
as gaps, kinds and lengths, `6k3 1s4`; a script paints them when it comes in sight. So the text is
found by a browser's search, and has no part in laying out what is seen.
"""

import re
from html import escape, unescape

from pygments.formatters import HtmlFormatter
from pygments.token import STANDARD_TYPES
from sphinx.highlighting import PygmentsBridge

# Whose writing of code this takes the place of; a test compares with constraints.txt.
WRITTEN_FOR = {"pygments": "2.21.0", "sphinx": "7.4.7"}

# The kinds, as code.css colours them, and the short names that Pygments has for what is of each.
KINDS = {
    "c": "c c1 ch cm cp cpf cs",
    "k": "k kc kd kn kp kr ne ow",
    "m": "bp il kt l ld m mb mf mh mi mo nb nd nl vm",
    "s": "dl ni o s s1 s2 sa sb sc sd se sh si sx",
    "f": "fm gd gh gu nc nf no nt py ss",
    "e": "err nv sr vc vg vi",
    "a": "na",
    "gp": "gp",  # has no colour, but is not copied
}
KIND = {name: kind for kind, names in KINDS.items() for name in names.split()}
PRE = re.compile(r"<pre>(.*?)</pre>", re.S)
SPAN = re.compile(r'<span class="(\w+)">(.*?)</span>', re.S)


def kind_of(token):
    """Return the kind of a token, or nothing."""
    while token not in STANDARD_TYPES:
        token = token.parent
    return KIND.get(STANDARD_TYPES[token], "")


def runs(tokens):
    """Yield what stands together and looks the same, with its kind: a space looks like anything."""
    kind, text = "", ""
    for token, value in tokens:
        new = kind if value.isspace() and kind != "gp" else kind_of(token)
        if new != kind:
            yield kind, text
            kind, text = new, ""
        text += value
    yield kind, text


class Formatter(HtmlFormatter):
    """Writes runs of tokens; a space at the end of a run belongs to no kind."""

    def format_unencoded(self, tokens, outfile):
        """Write code."""
        parts = []
        for kind, text in runs(tokens):
            inked = text if kind == "gp" else text.rstrip()
            if kind and inked:
                parts.append(f'<span class="{kind}">{escape(inked, quote=False)}</span>')
                parts.append(text[len(inked) :])
            else:
                parts.append(escape(text, quote=False))
        written = "".join(parts)
        outfile.write(
            written if self.nowrap else f'<div class="highlight"><pre>{written}</pre></div>\n'
        )


def length(text):
    """Return how many units a script counts in a text."""
    return len(unescape(text).encode("utf-16-le")) // 2


def as_text(html):
    """Return highlighted code as text that knows its colours."""

    def plain(pre):
        ink, end = [], 0
        for span in SPAN.finditer(pre[1]):
            gap = length(pre[1][end : span.start()])
            ink.append(f"{gap}{span[1]}{length(span[2])}")
            end = span.end()
        told = f' data-ink="{" ".join(ink)}"' if ink else ""
        text = SPAN.sub(lambda span: span[2], pre[1])
        return f"<pre{told}>{text}</pre>"

    return PRE.sub(plain, html)


def setup(app):
    PygmentsBridge.html_formatter = Formatter
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
