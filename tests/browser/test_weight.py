"""What a page costs before a reader does anything: counts, which are the same on any machine.

Times are measured by `make lighthouse`. And what is saved at first comes when it is wanted. Read
to its end, no page violates its policy.
"""

import gzip
import json
import keyword
import re
from urllib.parse import quote, urlsplit

import pytest

from course.promises import keep
from tests.browser.conftest import SITE
from tests.browser.test_pages import CHAPTERS, PAGES
from tests.browser.test_policy import NOTE, keeps_its_policy
from tests.browser.waiting import SETTLED, wait_for

PACKED = (".woff2", ".png", ".zip")  # what a server does not pack again
# Work that a script had the browser do at once, by asking for a place or a size after a change.
FORCED = ("Layout", "UpdateLayoutTree")
# By how much of itself what is seen has moved, as Lighthouse counts it.
SHIFTED = """() => {
  const watching = new PerformanceObserver(() => {});
  watching.observe({type: "layout-shift", buffered: true});
  const moved = watching.takeRecords().filter((each) => !each.hadRecentInput);
  return moved.reduce((sum, each) => sum + each.value, 0);
}"""
# How many formulas are seen in tables.
TABULATED = """() => [...document.querySelectorAll("article table .katex")]
  .filter((each) => each.checkVisibility())
  .filter((each) => each.getBoundingClientRect().top < innerHeight).length"""
# Is no font on its way but those of formulas?
LETTERED = """() => [...document.fonts]
  .every((font) => font.status !== "loading" || font.family.includes("KaTeX"))"""
DRAWN = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline.stack"]


PHONE = {"viewport": {"width": 412, "height": 823}, "color_scheme": "light"}


def weigh(chromium, url, read=lambda page: None):
    """Open a page in a new window, of the size of a phone; return what it costs; and read it."""
    context = chromium.new_context(**PHONE)
    page = context.new_page()
    page.add_init_script(NOTE)
    got = []
    page.on("requestfinished", lambda request: got.append(request))
    chromium.start_tracing(page=page, categories=TRACED)
    page.goto(url, wait_until="load")
    page.evaluate(SETTLED)
    page.wait_for_load_state("networkidle")
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    elements = page.evaluate("document.querySelectorAll('*').length")
    shift = page.evaluate(SHIFTED)
    weights = {request.url: packed(request) for request in got}
    read(page)
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
        "shift": shift,
    }, forced


def packed(request):
    """Return how many bytes a server that packs with gzip sends of a file."""
    body = request.response().body()
    name = urlsplit(request.url).path
    return len(body if name.endswith(PACKED) else gzip.compress(body, 6))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_and_keeps_its_policy(chromium, address, name):
    counts, forced = weigh(chromium, f"{address}/{name}", read=keeps_its_policy)
    counts["shift"] = counts["shift"] and moved_without_fonts(chromium, f"{address}/{name}")
    for what, count in counts.items():
        keep(f"{name} {forced[:2] or ''}".strip(), "a page", what, count)


def moved_without_fonts(chromium, url):
    """Return by how much a page moves without its fonts, which a busy machine has late."""
    context = chromium.new_context(**PHONE)
    page = context.new_page()
    page.route("**/fonts/**", lambda route: route.abort())
    page.goto(url, wait_until="load")
    page.evaluate(SETTLED)
    page.wait_for_load_state("networkidle")
    shift = page.evaluate(SHIFTED)
    context.close()
    return shift


@pytest.fixture
def page(chromium):
    """Return a page in a window of its own."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    yield context.new_page()
    context.close()


@pytest.fixture
def phone(page):
    page.set_viewport_size({"width": 412, "height": 823})
    return page


def test_what_was_counted_as_a_shift_is_one(chromium, serve, tmp_path):
    (tmp_path / "page.html").write_text(
        "<!doctype html><p>first<script>setTimeout(() => document.body.prepend("
        "Object.assign(document.createElement('p'), {textContent: 'late'})), 200)</script>"
        "<div style='height: 300px; background: tan'>box</div>"
    )
    with serve(tmp_path) as where:
        counts, _ = weigh(chromium, f"{where}/page.html")
        moved = moved_without_fonts(chromium, f"{where}/page.html")
    assert min(counts["shift"], moved) > 0.01


LOOKED_UP = [name for name in PAGES if name.startswith("book/") and name[:-5] not in CHAPTERS]


@pytest.mark.parametrize("name", LOOKED_UP)
def test_nothing_moves_when_fonts_of_formulas_and_scripts_come_late(phone, address, name):
    """Where a table of formulas comes first, their fonts do: its columns are as wide as letters."""
    held, asked = [], []
    phone.route("**/_static/*.js*", lambda route: held.append(route))
    if first := 'data-formulas="first"' in (SITE / name).read_text(encoding="utf-8"):
        phone.on("request", lambda request: asked.append(urlsplit(request.url).path))
        phone.route("**/_static/fonts/**", lambda route: route.abort())  # those of letters
    else:
        phone.route("**/katex/fonts/**", lambda route: held.append(route))
    phone.goto(f"{address}/{name}", wait_until="commit")
    wait_for(phone, "() => document.querySelector('.licence')", "its last line is read")
    phone.evaluate(DRAWN)  # a font is asked for when what needs it is laid out
    wait_for(phone, LETTERED, "its letters are there")
    phone.evaluate(DRAWN)
    # What moved while it came in pieces, on a slow machine, is no formula's doing, if those wait.
    before = 0 if first else phone.evaluate(SHIFTED)
    assert first or not phone.evaluate(TABULATED)
    assert first == any("/katex/fonts/" in path for path in asked)
    for route in held:
        route.continue_()
    phone.unroute_all()
    phone.wait_for_load_state("networkidle")
    phone.evaluate(SETTLED)
    assert phone.evaluate(SHIFTED) - before < 0.005  # half of what is promised of a whole page


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_asks_first_for_what_its_first_screen_shows(phone, address, name):
    """Before its scripts run it has asked for no font of a formula, but for its first picture."""
    asked = []
    phone.on("request", lambda request: asked.append(urlsplit(request.url).path))
    phone.route("**/_static/*.js*", lambda route: None)
    phone.goto(f"{address}/{name}.html", wait_until="commit")
    wait_for(phone, "() => document.querySelector('.licence')", "its last line is read")
    phone.evaluate(DRAWN)
    first = phone.locator("article img").first
    if first.evaluate("e => Boolean(e.closest('.live-stage'))"):
        assert first.get_attribute("loading") == "lazy"  # a script draws in its place
        return
    assert first.get_attribute("loading") is None  # a lazy one is asked for when it is laid out
    assert first.get_attribute("src").rpartition("/")[2] in {
        path.rpartition("/")[2] for path in asked
    }
    assert not [path for path in asked if "/katex/fonts/" in path]
    assert sum("/fonts/" in path for path in asked) == 3
    styles = [path for path in asked if path.endswith(".css")]
    keep(name, "a page", "styles", len(styles))


CHAPTER = CHAPTERS[1]
SEVERAL = {"not in", "is not", "ValueError", "AssertionError", "TypeError"}
# Whether a word of code has a colour, by its place in the text.
PAINTED = """() => ["c", "k", "m", "s", "f"].map((kind) => [kind,
  [...CSS.highlights.get(`ink-${kind}`) ?? []].map((range) =>
    range.startContainer.data.slice(range.startOffset, range.endOffset))])"""


def test_a_layout_that_a_script_forces_is_counted(chromium, serve, tmp_path):
    (tmp_path / "force.js").write_text("document.body.append('x'); document.body.offsetTop;")
    (tmp_path / "page.html").write_text("<!doctype html><p>a<script src='force.js'></script>")
    with serve(tmp_path) as where:
        counts, forced = weigh(chromium, f"{where}/page.html")
    assert counts["forced_layouts"] == len(forced) >= 1
    assert counts["elements"] == 5
    assert counts["requests"] == 2


def test_folded_code_is_text_that_the_browsers_search_opens(page, address):
    page.goto(f"{address}/{CHAPTER}.html")
    folds = page.locator("article details.code-fold:has(pre)")
    assert folds.locator("pre span").count() == 0
    lines = folds.nth(5).locator("pre").first.text_content().splitlines()
    line = next(line for line in lines if line.isascii() and len(line) > 30).strip()
    page.goto("about:blank")
    page.goto(f"{address}/{CHAPTER}.html#:~:text={quote(line, safe='')}")
    wait_for(page, "() => document.querySelector('details.code-fold[open]')", "a fold opens")
    opened = page.locator("details.code-fold[open]")
    assert any(line in text for text in opened.locator("pre").all_text_contents())


def test_folded_code_gets_its_colours_when_it_opens(page, address):
    page.goto(f"{address}/{CHAPTER}.html")
    assert not any(words for _, words in page.evaluate(PAINTED))
    fold = page.locator("article details.code-fold").first
    before = fold.locator("pre").all_text_contents()
    fold.locator("summary").click()
    wait_for(page, f"({PAINTED})().some(([, words]) => words.length)", "it has colours")
    painted = dict(page.evaluate(PAINTED))
    assert set(painted["k"]) <= {*keyword.kwlist, *SEVERAL} - {"print"}
    assert all(words.startswith("#") for words in painted["c"])
    assert fold.locator("pre").all_text_contents() == before


def test_paper_has_what_is_folded(page, address):
    page.goto(f"{address}/book/kill-table.html")
    table = page.locator("article table").nth(2)
    lines = table.locator("pre.rows").text_content().splitlines()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    rows = table.locator("tbody tr").all()
    assert len(rows) == len(lines) > 9
    for row, line in zip(rows, lines, strict=True):
        assert row.is_visible()
        cells = [re.sub(r"^\*(.+?)\*", r"\1", cell).replace("`", "") for cell in line.split("\t")]
        assert row.locator("td").all_text_contents() == cells
    page.goto(f"{address}/{CHAPTER}.html")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(code.is_visible() for code in page.locator(".code-fold pre").all())


def test_a_table_that_is_opened_has_rows(page, address):
    page.goto(f"{address}/book/kill-table.html")
    fold = page.locator("article details").first
    assert fold.locator("tbody tr").count() == 1
    fold.locator("summary").press("Enter")
    assert fold.locator("tbody tr").count() > 9
    assert fold.locator("td:first-child > p > code").first.is_visible()


def test_buttons_that_copy_come_with_the_first_sign_of_a_hand(page, address):
    page.goto(f"{address}/{CHAPTER}.html")
    page.evaluate(SETTLED)
    assert page.locator(".copybtn").count() == 0
    page.keyboard.press("Shift")
    page.locator(".cell_input:not(details *) .copybtn").first.wait_for(state="attached")


def test_a_live_figure_begins_when_it_comes_near(page, address):
    page.goto(f"{address}/{CHAPTER}.html")
    page.evaluate(SETTLED)
    figure = page.locator("[data-live=masks]")
    assert figure.bounding_box()["y"] > 2000
    assert not figure.evaluate("e => e.matches('.ready')")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("[data-live=masks].ready")


def test_a_formula_and_a_fold_are_heard_as_what_they_are(page, address):
    page.goto(f"{address}/{CHAPTER}.html")
    formula = page.locator("article .math:has([data-tex='d_k'])").first
    assert formula.aria_snapshot() == '- math "d sub k"'
    fold = page.locator("article details.code-fold").first
    name = fold.locator("summary span").first.text_content()
    assert fold.aria_snapshot().startswith("- group")
    assert name[:40] in fold.aria_snapshot()
