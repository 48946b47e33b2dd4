"""A headless Chromium and the built site on a server of its own, for the tests in this folder."""

import contextlib
import functools
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tools import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
NAMES = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = [
    f"--{flag}"
    for flag in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
    )
]


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
def chromium():
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, NAMES)))
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE * 1000))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def one_page(chromium):
    """Return a page that tests hand on: a new context and process cost more than most tests."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()
