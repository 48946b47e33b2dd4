"""Serve a built site on this machine as a web host would: compressed, with its own 404 page.

By hand: `make serve`. The tests in the browser and `make lighthouse` use it, too.
"""

import contextlib
import functools
import gzip
import io
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TEXT = {".html", ".css", ".js", ".mjs", ".svg", ".json", ".ipynb", ".txt", ".xml", ".inv", ".wasm"}


@functools.lru_cache(maxsize=256)
def compressed(path, modified):
    return gzip.compress(Path(path).read_bytes(), mtime=0)


class Handler(SimpleHTTPRequestHandler):
    """Files of one folder, text compressed with gzip; a missing page is answered with 404.html."""

    protocol_version = "HTTP/1.1"

    def send_head(self):
        """Answer a GET or a HEAD; return the body that a GET then sends."""
        path, status = Path(self.translate_path(self.path)), 200
        if path.is_dir() and self.path.split("?")[0].endswith("/"):
            path = path / "index.html"
        if not path.exists():
            path, status = Path(self.directory, "404.html"), 404
        if not path.is_file():
            return super().send_head()
        packed = "gzip" in self.headers.get("Accept-Encoding", "") and path.suffix in TEXT
        body = compressed(str(path), path.stat().st_mtime_ns) if packed else path.read_bytes()
        self.send_response(status)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *_):
        pass


def server(folder, port=0):
    """Return a server of `folder` on this machine only; port 0 takes a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))


def main(folder: str, port: str) -> None:
    """Serve until a key ends it."""
    try:
        httpd = server(folder, int(port))
    except OSError:
        sys.exit(f"Port {port} is taken? Try: make serve PORT={int(port) + 1}")
    print(f"http://localhost:{port}  (Ctrl+C stops it)")
    with contextlib.suppress(KeyboardInterrupt):
        httpd.serve_forever()
