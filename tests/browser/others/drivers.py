"""Firefox over WebDriver BiDi and WebKit over WebDriver: open a page, and ask it for what it sees.

Both take a function in JavaScript and what it is given, and return what it, or its promise, gives.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from tornado.websocket import websocket_connect

from tools import PATIENCE

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
WEBKIT = shutil.which("WebKitWebDriver")
BROWSER = next(Path("/usr/lib").glob("*/webkit2gtk-4.1/MiniBrowser"), None)


class Firefox:
    """One tab of a Firefox."""

    def __init__(self, loop, connection):
        self.loop, self.connection, self.count = loop, connection, 0
        self.ask("session.new", capabilities={})
        (tree,) = self.ask("browsingContext.getTree")["contexts"]
        self.tab = tree["context"]

    def ask(self, method, **parameters):
        self.count += 1
        sent = json.dumps({"id": self.count, "method": method, "params": parameters})

        async def answered():
            await self.connection.write_message(sent)
            while (got := json.loads(await self.connection.read_message())).get("id") != self.count:
                pass
            return got

        got = asyncio.run_coroutine_threadsafe(answered(), self.loop).result()
        assert got["type"] == "success", got
        return got["result"]

    def goto(self, address):
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")
        there = f"() => location.href === {json.dumps(address)} && document.readyState"
        while self.evaluate(there) != "complete":  # the page that it opens at first came later
            time.sleep(0.1)

    def resize(self, width):
        size = {"width": width, "height": 800}
        self.ask("browsingContext.setViewport", context=self.tab, viewport=size)

    def evaluate(self, function, given=None):
        said = self.ask(
            "script.callFunction",
            functionDeclaration=f"async () => JSON.stringify(await ({function})"
            f"({json.dumps(given)}) ?? null)",
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert said["type"] == "success", said["exceptionDetails"]["text"]
        return json.loads(said["result"]["value"])


@contextlib.contextmanager
def firefox():
    """Start a Firefox without windows, with a profile of its own."""
    with tempfile.TemporaryDirectory() as profile:
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile]
        command += ["--remote-debugging-port", "0", "about:blank"]  # its own page comes late
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        loop, connection = asyncio.new_event_loop(), None  # in a thread: Playwright has one here
        threading.Thread(target=loop.run_forever, daemon=True).start()
        try:
            told = (re.search(r"WebDriver BiDi listening on (ws://\S+)", t) for t in process.stderr)
            address = next(filter(None, told))[1]

            async def connect():
                return await websocket_connect(f"{address}/session", max_message_size=2**26)

            connection = asyncio.run_coroutine_threadsafe(connect(), loop).result()
            yield Firefox(loop, connection)
        finally:
            if connection:
                loop.call_soon_threadsafe(connection.close)
            process.terminate()
            process.wait()
            process.stderr.close()
            loop.call_soon_threadsafe(loop.stop)


class WebKit:
    """One tab of a WebKit."""

    def __init__(self, address):
        self.address = address
        options = {"binary": str(BROWSER), "args": ["--automation"]}
        wanted = {"webkitgtk:browserOptions": options}
        said = self.ask("", capabilities={"alwaysMatch": wanted})
        self.address += f"/{said['sessionId']}"
        self.ask("/timeouts", script=1000 * PATIENCE, pageLoad=1000 * PATIENCE)

    def ask(self, path, method="POST", **parameters):
        data = json.dumps(parameters).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]

    def goto(self, address):
        self.ask("/url", url=address)

    def resize(self, width):
        self.ask("/window/rect", width=width, height=800)

    def evaluate(self, function, given=None):
        script = f"""const done = arguments[1];
          Promise.resolve(arguments[0]).then({function})
            .then((got) => done({{got: got ?? null}}))
            .catch((error) => done({{error: String(error)}}));"""
        said = self.ask("/execute/async", script=script, args=[given])
        assert "got" in said, said["error"]
        return said["got"]


@contextlib.contextmanager
def webkit():
    """Start a WebKit on a screen that nobody sees."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["xvfb-run", "-a", WEBKIT, "--host=127.0.0.1", f"--port={port}"]
    # Its own sandbox needs user namespaces, which containers refuse; it opens our pages alone.
    settings = os.environ | {"WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
    process = subprocess.Popen(command, env=settings, start_new_session=True)
    try:
        for _ in range(10 * PATIENCE):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.1)
        browser = WebKit(f"http://127.0.0.1:{port}/session")
        yield browser
        browser.ask("", "DELETE")
    finally:
        os.killpg(process.pid, 15)
        process.wait()
