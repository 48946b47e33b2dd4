"""Figures that are touched, used: by keyboard, by a link, dragged; and small."""

import gzip
import json
import tomllib
from urllib.parse import urlsplit

import pytest

from course.promises import keep
from tests.browser.live.figures import (
    LIVE,
    NAMES,
    SITE,
    controls,
    counting,
    every_figure,
    go_to,
    said,
    use,
)
from tests.browser.waiting import SETTLED

KIB = 1024
VALUES = (
    "e => [...e.querySelectorAll('[name]')].map((i) => i.type === 'checkbox' ? i.checked : i.value)"
)


@every_figure
def test_it_is_used_by_keyboard_reset_and_linked_to(open_figure, name):
    page, figure = open_figure(name)
    words, first = said(figure), figure.evaluate(VALUES)
    assert figure.locator(".live-try").inner_text()
    assert words
    assert "{" not in words
    assert "undefined" not in words
    for control in controls(figure):
        before = figure.evaluate(VALUES)
        use(control)
        assert figure.evaluate(VALUES) != before
        assert "{" not in said(figure)
    changed, told, address = figure.evaluate(VALUES), said(figure), page.url
    assert told != words
    assert f"{name}." in address
    figure.locator(".live-reset").press("Enter")
    assert said(figure) == words
    assert figure.evaluate(VALUES) == first
    assert f"{name}." not in page.url
    again = go_to(page, name, "?" + urlsplit(address).query)
    assert said(again) == told
    assert again.evaluate(VALUES) == changed
    assert page.troubles == []


@every_figure
def test_an_address_that_makes_no_sense_does_no_harm(open_figure, name):
    about = tomllib.loads((LIVE / name / "figure.toml").read_text(encoding="utf-8"))
    asked = "&".join(f"{name}.{control['key']}=nonsense" for control in about["controls"])
    page, figure = open_figure(name, f"?{asked}")
    assert "NaN" not in said(figure)
    assert page.troubles == []


# Put into the page's address before its scripts read it: no server takes so long a one.
AT = "if (!location.search) history.replaceState(null, '', ASKED + location.hash);"
LONG = {"digits": "1" * 100_000, "letters": "a" * 100_000, "words": "Tom%20is%20" * 10_000}


@every_figure
def test_an_address_that_is_long_is_no_work(open_figure, name):
    """Counted, so that no busy machine fails it."""
    about = tomllib.loads((LIVE / name / "figure.toml").read_text(encoding="utf-8"))
    keys = [f"{name}.{control['key']}" for control in about["controls"]]

    def opened(address):
        counts = []

        def prepare(page):
            counts.append(counting(page))
            page.add_init_script(AT.replace("ASKED", json.dumps(address)))

        page, figure = open_figure(name, own={}, prepare=prepare, reduced_motion="reduce")
        told = said(figure)
        assert figure.evaluate("() => location.search.length") < 200  # what was ignored is gone
        assert page.troubles == []
        return counts[0]()["blocks"], told

    usual, words = opened("?")
    for kind, long in LONG.items():
        work, told = opened("?" + "&".join(f"{key}={long}" for key in keys))
        assert told == words, kind
        assert usual / 2 < work < 1.5 * usual, kind


@pytest.mark.parametrize(
    ("name", "key", "value"), [("dates", "text", "1"), ("story", "prompt", "x+")]
)
def test_the_longest_text_of_an_address_is_read_and_is_a_moment_s_work(
    open_figure, name, key, value
):
    about = tomllib.loads((LIVE / name / "figure.toml").read_text(encoding="utf-8"))
    (longest,) = (each["longest"] for each in about["controls"] if each["key"] == key)
    work = {}
    for length in (longest, longest + 1):
        counts = []
        asked = f"?{name}.{key}={(value * longest)[:length]}"
        _, figure = open_figure(
            name,
            asked,
            own={},
            prepare=lambda page: counts.append(counting(page)),  # noqa: B023
        )
        said(figure)
        shown = figure.locator(f"[name={key}]").input_value()
        assert (len(shown) == length) == (length == longest)
        work[length] = counts[0]()["blocks"]
    assert work[longest] < 20 * work[longest + 1]


DRAG = """async (e) => {
  const input = e.querySelector("input[type=range]") ?? e.querySelector("[name]");
  let i = 0;
  for (; i < 40; i++) {
    input.value = input.type === "range"
      ? +input.min + (i % 20) / 20 * (input.max - input.min)
      : input.options[i % input.options.length].value;
    input.dispatchEvent(new Event("input", {bubbles: true}));
    await new Promise((done) => requestAnimationFrame(() => {
      e.getBoundingClientRect();  // what was drawn is laid out
      done();
    }));
  }
  return i;
}"""


ISOLATION = """() => [...document.querySelectorAll("article section")]
  .map((each) => getComputedStyle(each).isolation)"""


# At most, a step: what figures take that need less than 4 ms of a thread here, and some room.
MOST = {"blocks of script": 6_000, "elements styled": 70, "layouts": 2.5, "boxes laid out": 80}


@every_figure
def test_a_step_of_a_drag_is_little_work(open_figure, chromium, name):
    """Little enough for a frame of a slow machine; counted, so that no busy one fails it."""
    counts = []
    page, figure = open_figure(name, own={}, prepare=lambda page: counts.append(counting(page)))
    said(figure)
    page.evaluate(SETTLED)  # else what is counted has the rest of the page
    counts[0]()
    chromium.start_tracing(page=page, categories=["devtools.timeline"])
    steps = figure.evaluate(DRAG)
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    styled = [each["elementCount"] for each in told(events, "UpdateLayoutTree")]
    laid = [each["beginData"]["dirtyObjects"] for each in told(events, "Layout")]
    work = {
        "blocks of script": counts[0]()["blocks"],
        "elements styled": sum(styled),
        "layouts": len(laid),
        "boxes laid out": sum(laid),
    }
    a_step = {what: count / steps for what, count in work.items()}
    assert all(a_step.values()), "something is not counted"
    assert not {what: count for what, count in a_step.items() if count > MOST[what]}


@every_figure
def test_a_step_of_a_drag_paints_its_section_alone(open_figure, name):
    """What a browser drew of a stacking context that has not changed it keeps; else it asks all."""
    page, _ = open_figure(name)
    kept = page.evaluate(ISOLATION)
    assert kept
    assert set(kept) == {"isolate"}


def told(events, name):
    """Return what events of a trace say of themselves, of those that are whole."""
    return [each["args"] for each in events if each["name"] == name and len(each["args"]) > 1]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small(name):
    shared = [LIVE / part for part in ("core.js", "frame.js", "frame.css")]
    own = [LIVE / name / f"figure.{kind}" for kind in ("js", "css", "toml")]
    packed = sum(len(gzip.compress(path.read_bytes())) for path in shared + own)
    keep(f"book/live/{name}", "a live figure", "packed", packed / KIB)


@pytest.mark.parametrize(
    ("name", "most"), [("dates", 60_000), ("heads", 20_000), ("story", 280_000)]
)
def test_what_it_loads_is_small(name, most):
    assert len(gzip.compress((SITE / f"_static/live-{name}-data.js").read_bytes())) <= most
