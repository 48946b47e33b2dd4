"""What a page costs before a reader does anything: counts, which are the same on any machine.

Times are measured by `make lighthouse`. `python -m tests.browser.test_weight` prints the counts.
"""

import gzip
import json
from urllib.parse import urlsplit

import pytest

from course.promises import keep
from tests.browser.test_pages import PAGES
from tests.browser.waiting import SETTLED, wait_for

PACKED = (".woff2", ".png", ".zip")  # what a server does not pack again
# Work that a script had the browser do at once, by asking for a place or a size after a change.
FORCED = ("Layout", "UpdateLayoutTree")
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline.stack"]


def weigh(chromium, url):
    """Open a page in a new window, of the size of a phone, and return what it costs."""
    context = chromium.new_context(viewport={"width": 412, "height": 823}, color_scheme="light")
    page = context.new_page()
    got = []
    page.on("requestfinished", lambda request: got.append(request))
    chromium.start_tracing(page=page, categories=TRACED)
    page.goto(url, wait_until="load")
    wait_for(page, "!document.documentElement.matches('.in-parts')", "all of it is laid out")
    page.evaluate(SETTLED)
    page.wait_for_load_state("networkidle")
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    elements = page.evaluate("document.querySelectorAll('*').length")
    weights = {request.url: packed(request) for request in got}
    context.close()
    forced = [
        event["args"]["beginData"]["stackTrace"][0]
        for event in events
        if event["name"] in FORCED and event["args"].get("beginData", {}).get("stackTrace")
    ]
    # What this test itself asks for has no address.
    forced = [place for place in forced if urlsplit(place["url"]).path.endswith((".js", ".html"))]
    return {
        "elements": elements,
        "kibibytes": sum(weights.values()) / 1024,
        "requests": len(weights),
        "forced_layouts": len(forced),
    }, forced


def packed(request):
    """Return how many bytes a server that packs with gzip sends of a file."""
    body = request.response().body()
    name = urlsplit(request.url).path
    return len(body if name.endswith(PACKED) else gzip.compress(body, 6))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light(chromium, address, name):
    counts, forced = weigh(chromium, f"{address}/{name}")
    for what, count in counts.items():
        keep(f"{name} {forced[:2] or ''}".strip(), "a page", what, count)
