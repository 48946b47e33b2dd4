"""Figures that are touched, as tests open and use them."""

import contextlib
import re
from importlib.resources import files
from urllib.parse import urlsplit

import pytest

from course.chapters import ROOT
from tests.browser.waiting import wait_for

SITE = ROOT / "_build" / "html"
LIVE = ROOT / "book/live"
NAMES = sorted(path.name for path in LIVE.iterdir() if path.is_dir())
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SHOWN = [
    (name, path.relative_to(SITE).as_posix())
    for path in sorted(SITE.glob("book/*.html"))
    for name in re.findall(r'<div data-live="([^"]+)">', path.read_text(encoding="utf-8"))
]
PAGES = dict(SHOWN)  # of each figure one
every_figure = pytest.mark.parametrize("name", PAGES)
SIZES = [(1280, "light"), (390, "dark")]


@contextlib.contextmanager
def opening(chromium, address, one_page):
    """Give a function that opens a figure's page and returns both, the figure in sight.

    One page is used again and again, unless `own` has options for another; `prepare` gets the page
    before it loads.
    """
    contexts = []

    def open_figure(
        name, asked="", *, page_of=None, width=1280, prepare=None, own=None, scripts=True, **media
    ):
        page = one_page
        if own is not None:
            contexts.append(chromium.new_context(**own))
            page = contexts[-1].new_page()
        page.set_viewport_size({"width": width, "height": 900})
        usual = {"color_scheme": "light", "reduced_motion": "no-preference", "media": "screen"}
        page.emulate_media(**usual | media)
        watch(page, urlsplit(address).netloc)
        page.where = f"{address}/{page_of or PAGES[name]}"
        if prepare:
            prepare(page)
        return page, go_to(page, name, asked, scripts=scripts)

    try:
        yield open_figure
    finally:
        for context in contexts:
            context.close()


def watch(page, host):
    """Have a page keep its errors and the other hosts that it asks, in `troubles`."""
    if not hasattr(page, "troubles"):
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on(
            "request",
            lambda request: (
                page.troubles.append(request.url)
                if urlsplit(request.url).netloc not in ("", host)
                else None
            ),
        )
    page.troubles = []


def go_to(page, name, asked="", *, scripts=True):
    """Load a figure's page, perhaps again with another address, and return the figure, in sight."""
    page.goto(page.where + asked, wait_until="commit")
    figure = page.locator(f"[data-live={name}]")
    figure.scroll_into_view_if_needed()
    if scripts:
        page.wait_for_selector(f"[data-live={name}].ready")
    return figure


def said(figure):
    """Return what a figure tells, once it rests."""
    wait_for(
        figure.page,
        "e => e.matches('.ready:not(.moving)') && e.querySelector('.live-said').textContent",
        f"{figure} tells what is seen",
        arg=figure.element_handle(),
    )
    return figure.locator(".live-said").inner_text()


def controls(figure):
    """Return what is seen of a figure's controls, but the reset."""
    return figure.locator(".live-controls label > *:not(span, output)").all()


def use(control):
    """Change a control by the keyboard alone."""
    control.focus()
    kind = control.evaluate("e => e.type")
    before = control.input_value()
    keys = {"checkbox": ["Space"], "range": ["ArrowRight", "ArrowLeft"], "text": ["1"]}
    for key in keys.get(kind, ["ArrowDown", "ArrowUp"]):
        if control.input_value() == before:  # the last of a list has none below it
            control.press(key)


# Set the inputs of a figure in one go, and read what is drawn.
TRY = """async ([name, settings]) => {
  const figure = document.querySelector(`[data-live="${name}"]`), found = [];
  const reader = (e) => (READ);
  for (const setting of settings) {
    for (const [key, value] of Object.entries(setting)) {
      const input = figure.querySelector(`[name="${key}"]`);
      if (input.type === "checkbox") input.checked = value; else input.value = value;
      input.dispatchEvent(new Event("input", {bubbles: true}));
    }
    await new Promise(requestAnimationFrame);
    found.push(reader(figure));
  }
  return found;
}"""


def tried(page, name, settings, read):
    return page.evaluate(TRY.replace("READ", read), [name, settings])


def counting(page):
    """Return a function that tells what scripts of figures did in a page since it was last asked.

    Counts of calls, and of blocks entered (of a loop, each time round): the same on any machine.
    """
    session = page.context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})

    def calls():
        scripts = session.send("Profiler.takePreciseCoverage")["result"]
        done = [
            (function["functionName"], sum(each["count"] for each in function["ranges"]))
            for script in scripts
            if "/live-" in script["url"]
            for function in script["functions"]
            if function["ranges"][0]["count"]
        ]
        return {"names": {name for name, _ in done}, "blocks": sum(count for _, count in done)}

    return calls
