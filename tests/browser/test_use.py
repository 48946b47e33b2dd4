"""A reader at work: searching, folding, copying, by keyboard, without JavaScript, from disk."""

import contextlib
import re
import zipfile
from urllib.parse import urlsplit

import pytest

from course.chapters import ROOT, chapters
from tests.browser.waiting import SETTLED, at_rest, wait_for

SITE = ROOT / "_build" / "html"
CHAPTERS = [f"book/{chapter.name}" for chapter in chapters()]
CHAPTER = f"{CHAPTERS[1]}.html"
WORDS = {f"book/{chapter.name}": chapter.about["search"] for chapter in chapters()}
THEME = "document.documentElement.dataset.theme"


@pytest.fixture
def context(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    yield context
    context.close()


@contextlib.contextmanager
def heard(page):
    """Fail if anything goes wrong on a page."""
    troubles = []
    listeners = {
        "console": lambda it: it.type in ("error", "warning") and troubles.append(it.text),
        "pageerror": lambda error: troubles.append(str(error)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield page
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert troubles == []


@pytest.fixture
def page(context):
    """Return a wide page; what goes wrong on it fails the test."""
    with heard(context.new_page()) as page:
        yield page


@pytest.fixture
def searching(one_page):
    """Return a wide page that other tests have used: a search leaves nothing behind."""
    one_page.set_viewport_size({"width": 1280, "height": 800})
    one_page.emulate_media(media="screen")
    with heard(one_page) as page:
        yield page


def found(page):
    """Return the pages that a search found, best first, as a list that is read downwards."""
    page.get_by_text("Search finished").wait_for()  # results are shown one after another
    results = page.locator("#search-results li")
    places = [result.bounding_box() for result in results.all()]
    assert len({place["x"] for place in places}) == 1
    assert [place["y"] for place in places] == sorted(place["y"] for place in places)
    return [
        urlsplit(link.get_attribute("href")).path.removesuffix(".html")
        for link in page.locator("#search-results li > a").all()
    ]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_search_finds_a_word_of_each_chapter(searching, address, chapter):
    page = searching
    page.goto(f"{address}/book/index.html")
    page.keyboard.press("/")
    page.keyboard.type(WORDS[chapter])
    page.keyboard.press("Enter")
    assert chapter in found(page)
    page.locator(f"#search-results a[href*='{chapter}']").first.click()
    page.locator("article mark, article .highlighted").first.wait_for()
    assert chapter in page.url


LOOKED_UP = """RoPE, GQA, MQA, KV cache, causal mask, padding mask, teacher forcing, embedding,
residual, layer norm, BERT, GPT, bfloat16, FlashAttention, cross-attention, -inf, NaN, reshape,
transpose, online softmax, logsumexp, prefill, sliding window, linear attention, backpropagation,
gradient check, cross-entropy, Adam, warm-up, beam search"""
LOOKED_UP = LOOKED_UP.replace("\n", " ").split(", ")


# From the disk, where a search does not read each page that it found for a few of its words.
@pytest.mark.parametrize("word", LOOKED_UP)
def test_search_finds_the_glossary_by_each_term(searching, word):
    searching.goto(f"{(SITE / 'search.html').as_uri()}?q={word}")
    assert "book/glossary" in found(searching)


def test_the_theme_is_switched_and_remembered(page, address):
    page.emulate_media(color_scheme="light")
    page.goto(f"{address}/{CHAPTER}")
    button = page.get_by_role("button", name="Dark theme")
    assert page.evaluate(THEME) == "light"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button.click()
    assert page.evaluate(THEME) == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert button.get_attribute("aria-pressed") == "true"
    page.goto(f"{address}/book/notation.html")
    assert page.evaluate(THEME) == "dark"
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(THEME) == "light"
    page.evaluate("localStorage.clear()")
    page.emulate_media(color_scheme="dark")
    wait_for(page, f"{THEME} === 'dark'", "the page is dark")
    page.emulate_media(color_scheme="light")
    wait_for(page, f"{THEME} === 'light'", "the page is light")


# What the tests below need of a chapter, whatever its words are.
SECTIONS = "() => [...document.querySelectorAll('article h2 a.headerlink')].map((a) => a.hash)"
AS_TEX = """(paragraph) => {
  const copy = paragraph.cloneNode(true);
  for (const formula of copy.querySelectorAll(".katex")) {
    formula.replaceWith(`$${formula.dataset.tex}$`);
  }
  return copy.textContent;
}"""


def test_paper_is_light_and_shows_what_is_folded(page, address):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{address}/{CHAPTER}")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("article h1").is_visible()
    assert page.locator("details.solution pre").first.is_visible()
    assert not page.locator("header.top").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(THEME) == "dark"


def test_a_formula_is_copied_once_as_tex(page, context, address):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/{CHAPTER}")
    paragraph = page.locator("article p:has(.katex)").first
    expected = paragraph.evaluate(AS_TEX)
    assert "$" in expected
    paragraph.evaluate("e => getSelection().selectAllChildren(e)")
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == expected


@pytest.mark.parametrize(
    ("button", "panel", "link"),
    [
        ("Chapters", "#side-chapters", chapters()[2].name),
        ("On this page", "#side-contents", "#summary"),
    ],
)
def test_side_panels_open_and_close_on_a_phone(page, address, button, panel, link):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/{CHAPTER}")
    panel, opener = page.locator(panel), page.get_by_role("button", name=button)
    assert not panel.is_visible()
    opener.press("Enter")
    assert panel.is_visible()
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    opener.click()
    panel.get_by_role("button", name="Close").click()
    assert not panel.is_visible()
    opener.click()
    panel.locator("a").last.focus()
    page.keyboard.press("Tab")
    assert not panel.is_visible(), "the keyboard is behind the panel"
    opener.click()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.locator("article").bounding_box()["width"] > 600
    page.set_viewport_size({"width": 390, "height": 800})
    opener.click()
    panel.locator(f"a[href*='{link}']").first.click()
    page.wait_for_url(re.compile(re.escape(link)))
    assert not panel.is_visible()


def test_side_panels_stand_beside_a_wide_page(page, address):
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator("#side-chapters a[href='#']").is_visible()
    sections = page.evaluate(SECTIONS)
    assert page.locator("#side-contents a").count() >= len(sections) > 8
    anchor = sections[5]
    page.locator(f"#side-contents a[href='{anchor}']").click()
    page.locator(f"#side-contents a[aria-current][href='{anchor}']").wait_for()
    top = page.locator("header.top").bounding_box()["height"]
    assert top <= page.locator(anchor).bounding_box()["y"] < top + 50


TOP = """() => {
  const seen = (e) => e.checkVisibility({contentVisibilityAuto: true});
  const blocks = [...document.querySelectorAll("article section > :not(section)")].filter(seen);
  const block = blocks.find((e) => e.getBoundingClientRect().top > 0) ?? blocks.at(-1);
  return block
    && [block.textContent.slice(0, 80), Math.round(block.getBoundingClientRect().top / 8)];
}"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_reload_and_the_way_back_find_the_place(page, address, part, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{CHAPTER}")
    page.evaluate(SETTLED)
    page.evaluate(f"scrollTo(0, {part} * document.documentElement.scrollHeight)")
    place = at_rest(page, TOP)  # what came near is laid out
    for step in (page.reload, lambda: (page.goto(f"{address}/book/notation.html"), page.go_back())):
        step()
        page.evaluate(SETTLED)
        assert at_rest(page, TOP) == place


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("nth", [0, -3, -2])
def test_a_link_opens_a_chapter_at_its_section(page, address, nth, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{CHAPTER}")
    anchor = page.evaluate(SECTIONS)[nth]
    page.goto("about:blank")  # else the page is there already
    page.goto(f"{address}/{CHAPTER}{anchor}")
    page.evaluate(SETTLED)
    bar = page.locator("header.top").bounding_box()["height"]
    assert bar <= page.locator(anchor).bounding_box()["y"] < bar + 50


def test_folds_open_by_mouse_and_by_keyboard(page, address):
    page.goto(f"{address}/{CHAPTER}")
    solutions = page.locator("details.solution")
    assert solutions.count() == 6
    for fold in (solutions.first, page.locator(".code-fold").first):
        code = fold.locator("pre").first
        assert not code.is_visible()
        fold.locator("summary").click()
        assert code.is_visible()
        fold.locator("summary").press("Enter")
        assert not code.is_visible()


def test_code_is_copied_without_what_it_prints(page, context, address):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/{CHAPTER}")
    assert page.locator(".cell_output .copybtn").count() == 0
    cell = page.locator(".cell_input .highlight:visible").first
    cell.hover()
    cell.get_by_role("button", name="Copy").click()
    cell.locator(".copybtn.success").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "import" in copied
    assert copied.strip() == cell.locator("pre").inner_text().strip()


STOPS = """() => [...document.querySelectorAll(
  "a[href], button, input, select, summary, [tabindex='0']")].filter((e) => e.checkVisibility(
  {visibilityProperty: true}) && !e.disabled).length"""
# Whenever a key has been pressed, it is noted in the page where the keyboard is.
NOTE_STOPS = """() => {
  window.places = [];
  addEventListener("keyup", () => places.push((HERE)()));
}"""
HERE = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  e.dataset.stop ??= String(places.length);
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const paper = getComputedStyle(document.body).backgroundColor;
  return {stop: e.dataset.stop, opacity: style.opacity, outline: style.outlineStyle !== "none"
          && parseFloat(style.outlineWidth) >= 2 && style.outlineColor !== paper
          && !/, 0\\)/.test(style.outlineColor),
          inside: box.bottom > 0 && box.top < innerHeight, html: e.outerHTML.slice(0, 120)};
}"""


PLACES = [
    *(
        (name, width)
        for name in ("book/index.html", CHAPTER, "search.html")
        for width in (1280, 390)
    ),
    ("book/api.html", 1280),  # a thousand stops, the same at both widths
]


@pytest.mark.parametrize(("name", "width"), PLACES)
def test_the_keyboard_reaches_everything_and_shows_where_it_is(page, address, name, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}/{name}")
    # All sections laid out, so that what fits is no stop; no field that takes the focus itself.
    page.add_style_tag(content="section { content-visibility: visible !important }")
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(9, 9)  # so that the buttons come that copy code
    if page.locator("article .cell_input").count():
        page.locator(".copybtn").first.wait_for(state="attached")
    for figure in page.locator("[data-live]").all():  # which brings its own stops
        figure.scroll_into_view_if_needed()
        wait_for(page, "e => e.matches('.ready')", "it has begun", arg=figure.element_handle())
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(SETTLED)
    stops, reached = page.evaluate(STOPS), set()
    page.evaluate(NOTE_STOPS.replace("HERE", HERE))
    for _ in range(stops + 5):
        page.keyboard.press("Tab")
    for here in page.evaluate("places"):
        if here is None:
            continue  # past the end, and on from the top
        assert here["outline"], here["html"]
        assert float(here["opacity"]) > 0.5, here["html"]
        assert here["inside"], here["html"]
        reached.add(here["stop"])
    assert len(reached) == stops


def test_a_figure_keeps_its_place_while_it_loads(page, address):
    page.route("**/_images/*", lambda route: None)  # asked for, and never answered
    page.goto(f"{address}/{CHAPTER}", wait_until="domcontentloaded")
    places = page.evaluate(
        """() => [...document.querySelectorAll(
        "article figure img:not(.on-dark, .live-stage *)")].map((e) => {
        const {width, height} = e.getBoundingClientRect();
        return [e.loading, e.naturalWidth, e.getAttribute("width") / e.getAttribute("height"),
                width / height]})"""
    )
    assert len(places) >= 8
    assert [loading for loading, *_ in places] == ["auto"] + ["lazy"] * (len(places) - 1)
    for _, loaded, ratio, kept in places:
        assert loaded == 0
        assert 0.3 < ratio < 8
        assert kept == pytest.approx(ratio, rel=0.02)


@pytest.fixture
def plain(chromium):
    """Return a page of a browser that runs no scripts."""
    context = chromium.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_a_page_reads_without_javascript(plain, address):
    plain.goto(f"{address}/{CHAPTER}")
    assert plain.get_by_role("heading", level=1).is_visible()
    assert plain.locator(".katex-html").first.is_visible()
    assert plain.locator(".cell_input:not(details *) pre").first.is_visible()
    measured = plain.locator("details.code-fold").first
    assert not measured.locator("pre").first.is_visible()
    measured.locator("summary").first.click()
    assert measured.locator("pre").first.is_visible()
    figure = plain.locator("article figure img").first
    figure.scroll_into_view_if_needed()
    assert figure.is_visible()
    fold = plain.locator("details.solution").first
    fold.locator("summary").click()
    assert fold.locator("pre").first.is_visible()
    assert not plain.locator(".theme-switch-button").is_visible()
    plain.set_viewport_size({"width": 390, "height": 800})
    plain.get_by_role("button", name="Chapters").click()
    assert plain.locator("#side-chapters").is_visible()
    plain.goto(f"{address}/search.html")
    assert "needs JavaScript" in plain.locator("main").inner_text()


def test_the_zip_opens_from_disk(page, address, tmp_path):
    page.goto(f"{address}/book/index.html")
    with page.expect_download() as download:
        page.get_by_role("link", name="Read it offline").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path)
    home = tmp_path / "the-attention-book/index.html"
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(home.as_uri())
    page.wait_for_url("**/book/index.html")
    assert not page.get_by_role("link", name="Read it offline").is_visible()
    page.get_by_role("link", name="Start reading").click()
    page.get_by_role("heading", level=1, name="Why attention?").wait_for()
    page.wait_for_selector("[data-live].ready")
    figure = page.locator("article figure img:not(.live-stage *)").first
    figure.scroll_into_view_if_needed()
    wait_for(
        page,
        "e => e.complete && e.naturalWidth > 50",
        "the picture is there",
        arg=figure.element_handle(),
    )
    wait_for(page, "document.fonts.check('1em \\'Book Serif\\'')", "the typeface is there")
    page.goto(home.with_name("search.html").as_uri() + "?q=pronoun")
    assert any(chapters()[2].name in name for name in found(page))
    assert all(url.startswith(("file:", "data:")) for url in asked)
