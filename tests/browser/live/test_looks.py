"""Figures that are touched, looked at: nothing moves, is cut or small, and axe finds nothing."""

import re

import pytest

from course.promises import keep
from tests.browser.live.figures import (
    AXE,
    LIVE,
    NAMES,
    PAGES,
    SHOWN,
    SIZES,
    controls,
    every_figure,
    opening,
    said,
    use,
)
from tests.browser.waiting import SETTLED, wait_for

SCRIPT = re.compile(r"/live-(?!\w+-data)[\w-]+\.js")
PLACES = [(*place, *size) for place in SHOWN for size in SIZES]


def test_every_figure_is_shown():
    assert {name for name, _ in SHOWN} == set(NAMES) != set()


@pytest.fixture(scope="module")
def shown(request, chromium, address, one_page):
    """Open a figure whose script comes late; return it, and its height before and after."""
    name, page_of, width, theme = request.param
    held, heights = [], []

    def hold(page):
        page.route(SCRIPT, lambda route: held.append(route))

    with opening(chromium, address, one_page) as open_figure:
        about = {"page_of": page_of, "width": width, "color_scheme": theme}
        page, figure = open_figure(name, prepare=hold, scripts=False, **about)
        wait_for(page, "document.readyState !== 'loading'", "the page is read")
        page.evaluate(SETTLED)
        figure.scroll_into_view_if_needed()
        heights.append(figure.bounding_box()["height"])
        assert not figure.evaluate("e => e.matches('.ready')")
        for route in held:
            route.continue_()
        page.unroute(SCRIPT)
        said(figure)
        heights.append(figure.bounding_box()["height"])
        yield page, figure, heights


@pytest.mark.parametrize("shown", PLACES, indirect=True, ids=str)
def test_its_place_is_kept_until_its_script_starts(shown):
    _, _, (before, after) = shown
    assert before == pytest.approx(after, abs=1)


@pytest.mark.parametrize(
    "shown", [place for place in PLACES if PAGES[place[0]] == place[1]], indirect=True, ids=str
)
def test_nothing_is_cut_or_small_and_axe_finds_nothing(shown):
    page, figure, _ = shown
    for control in controls(figure):
        use(control)
    said(figure)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    smallest = figure.evaluate(
        """e => Math.min(...[...e.querySelectorAll("button, input:not([type=hidden]), select")]
        .map((i) => i.getBoundingClientRect()).flatMap((box) => [box.height, box.width]))"""
    )
    keep(figure.get_attribute("data-live"), "a live figure", "target", smallest)
    page.evaluate(AXE)
    found = page.evaluate(
        "async (where) => (await axe.run(where, {resultTypes: ['violations']})).violations",
        f"[data-live={figure.get_attribute('data-live')}]",
    )
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []


@every_figure
def test_without_scripts_and_on_paper_the_picture_is_there(open_figure, name):
    _, figure = open_figure(name, own={"java_script_enabled": False}, scripts=False)
    picture, panel = figure.locator("img.on-light"), figure.locator(".live-controls")
    assert picture.is_visible()
    assert picture.bounding_box()["width"] > 300
    assert not panel.is_visible()
    page, figure = open_figure(name)
    assert panel.count() == 1
    assert figure.locator("img.on-light").is_visible() == figure.locator(".still").count()
    page.emulate_media(media="print")
    assert figure.locator("img.on-light").is_visible()
    assert not figure.locator(".live-controls").is_visible()
    assert not figure.locator("svg, .live-stage > div").first.is_visible()


def test_nothing_moves_by_itself():
    for path in LIVE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "animation" not in text
        assert "transition" not in text
