"""A headless Chromium and the built site on a server of its own, for the tests in this folder."""

import contextlib
import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(folder):
    handler = functools.partial(Handler, directory=folder)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture(scope="session")
def address():
    """Return where the built site is served."""
    with serving(SITE) as where:
        yield where


@pytest.fixture(scope="session")
def serve():
    """Return a context manager that serves another folder in the same way."""
    return serving


@pytest.fixture(scope="session")
def one_page(chromium):
    """Return a page that tests hand on: a new context and process cost more than most tests."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()
