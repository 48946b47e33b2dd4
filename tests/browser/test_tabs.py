"""Tabs: one is shown at a time, by mouse, by keyboard and without a script; on paper all are."""

from tests.browser.live.figures import SITE

ADDRESS = (SITE / "book/frameworks.html").as_uri()
SHOWN = """() => [...document.querySelectorAll(".tabs")].map((tabs) =>
  [...tabs.querySelectorAll(":scope > .tab")].map((tab) => tab.checkVisibility()))"""
LABELS = """() => [...document.querySelectorAll(".tabs > label")].map((label) => {
  const { width, height } = label.getBoundingClientRect();
  return Math.min(width, height); })"""


def test_a_library_is_chosen_for_the_whole_page_by_a_key(one_page):
    page = one_page
    page.goto(ADDRESS)
    shown = page.evaluate(SHOWN)
    assert len(shown) > 50
    assert all(tabs == [True] + [False] * (len(tabs) - 1) for tabs in shown)
    second = page.locator(".tabs").nth(1)
    second.scroll_into_view_if_needed()
    before = second.bounding_box()["y"]
    second.locator("input").first.focus()
    page.keyboard.press("ArrowRight")
    shown = page.evaluate(SHOWN)
    assert all(tabs == ([False, True] if len(tabs) == 2 else [True]) for tabs in shown)
    assert abs(second.bounding_box()["y"] - before) < 2
    page.emulate_media(media="print")
    assert all(all(tabs) for tabs in page.evaluate(SHOWN))
    page.emulate_media(media="screen")


def test_what_is_pressed_is_large_enough_on_a_phone(one_page):
    one_page.set_viewport_size({"width": 390, "height": 800})
    one_page.goto(ADDRESS)
    assert min(one_page.evaluate(LABELS)) >= 24


def test_without_scripts_each_opens_by_itself(chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    page.locator(".tabs label").nth(1).click()
    first, second = page.locator(".tabs").first, page.locator(".tabs").nth(1)
    assert not first.locator(".tab").first.is_visible()
    assert first.locator(".tab").nth(1).is_visible()
    assert second.locator(".tab").first.is_visible()
    context.close()
