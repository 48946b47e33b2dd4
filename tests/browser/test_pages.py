"""Every page in Chromium, in both themes, wide and on a phone: sound, visible, accessible.

And a chapter is read in about half an hour.
"""

from importlib.resources import files
from urllib.parse import urlsplit

import pytest

from course.chapters import ROOT, chapters
from course.promises import keep
from tests.browser import reading
from tests.browser.waiting import SETTLED, wait_for

SITE = ROOT / "_build" / "html"
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
CHAPTERS = [f"book/{chapter.name}" for chapter in chapters()]
PAGES = sorted(
    name
    for path in SITE.rglob("*.html")
    if not (name := path.relative_to(SITE).as_posix()).startswith(("lite/", "_"))
    and name != "index.html"  # which only leads to the landing page
)


# What a reader would see of the page, asked for in one go. Boxes without size are not seen.
LOOK = """async () => {
  for (const picture of document.images) picture.loading = "eager";
  await Promise.all([...document.images].map((picture) => picture.decode()));
  await document.fonts.ready;
  const seen = (query) => [...document.querySelectorAll(query)]
    .map((e) => e.checkVisibility() && e.getBoundingClientRect())
    .filter((box) => box && box.width > 4 && box.height > 4).length;
  // A box may reach over the edge of the window only where the reader can scroll to its end.
  const scrolls = (e) => e && (/auto|scroll/.test(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
  const cut = [...document.querySelectorAll("article :is(p, pre, table, img, h1, h2, h3, code)")]
    .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
    .filter((e) => !scrolls(e.parentElement)).map((e) => e.outerHTML.slice(0, 99));
  const clipped = [...document.querySelectorAll("article *")]
    .filter((e) => getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth + 2)
    .filter((e) => !e.closest(".katex-html")).map((e) => e.outerHTML.slice(0, 99));
  const colour = (query) => getComputedStyle(document.querySelector(query) ?? document.body).color;
  return {
    sideways: document.documentElement.scrollWidth - innerWidth,
    cut: [...cut, ...clipped],
    ink: [colour("article p .katex-html"), colour("main")],
    theme: document.documentElement.dataset.theme,
    words: document.querySelector("main").textContent.split(/\\s+/).length,
    heading: seen("main h1"),
    formulas: seen("main .katex-html"),
    twice: seen("main math"),
    code: seen("main .cell_input pre"),
    // The picture in a live figure's place is as wide as the figure; it goes when that comes near.
    figures: seen("article figure img:not(.live-stage *)"),
    drawings: [...document.querySelectorAll("article img[src$='.svg']:not(.live-stage *)")]
      .filter((e) => e.checkVisibility())
      .map((e) => [
        e.matches("[src$='.dark.svg']"), getComputedStyle(e).backgroundColor,
        e.matches(".wide") || e.width >= Math.min(480, innerWidth - 32, e.naturalWidth)]),
  };
}"""


# Comparing the colours of a long text would be most of the work. Where two texts look the same, and
# so does what they stand on and in, their contrast is the same: two of a kind will do. They are
# marked in each theme; then all goes that is neither one, nor in or around one. Axe judges no text
# of one letter. A formula stays whole; where places are counted, as in tables, it is only hidden.
SAMPLE = """() => {
  const kinds = new Map(), paper = new Map([[null, ""]]);
  const behind = (e) => {
    if (!paper.has(e)) {
      const {backgroundColor, backgroundImage, opacity, filter, position} = getComputedStyle(e);
      const before = behind(e.parentElement);
      const own = `>${[backgroundColor, backgroundImage, opacity, filter, position]}`;
      paper.set(e, before.endsWith(own) ? before : before + own);
    }
    return paper.get(e);
  };
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].map((n) => n.nodeType === 3 ? n.data.trim() : "").join("");
    if (!(own || e.matches("input")) || !e.checkVisibility()) continue;
    const kind = [e, e.parentElement].map((one) => getComputedStyle(one)).flatMap((style) => [
      style.color, style.fontSize, style.fontWeight, style.fontStyle, style.textShadow,
      style.textDecorationLine, style.borderBottomWidth]).join() + behind(e) + e.matches("a *, a");
    const rank = (own.length < 2 ? 1e6 : 0) + e.getElementsByTagName("*").length;
    kinds.set(kind, [...(kinds.get(kind) ?? []), [rank, e]]);
  }
  for (const all of kinds.values())
    for (const [, e] of all.sort(([a], [b]) => a - b).slice(0, 2)) e.dataset.sample = "";
}"""
HIDE = """() => document.querySelectorAll("article :not(.katex *)").forEach((e) => {
  if (e.closest("[data-sample]") || e.querySelector("[data-sample]")) return;
  if (!e.closest("pre") && e.closest("table, ol, ul, dl"))
    e.style.setProperty("display", "none", "important");
  else e.remove();
})"""
OF_COLOURS = ["color-contrast", "link-in-text-block"]
# The text is the same at both widths: all of it is judged once in each theme. On the phone, where
# it is tighter, targets are measured, too; there a formula is a box of its size, and a line of code
# is without colours, so that the many small parts of both are not asked for their places.
AXE_COLOURS = f"""async (whole) => (await axe.run(whole ? document : {{exclude: [["article"]]}},
  {{resultTypes: ["violations"], runOnly: {OF_COLOURS}}})).violations"""
AXE_REST = f"""async (wide) => {{
  const rules = Object.fromEntries({OF_COLOURS}.map((name) => [name, {{enabled: false}}]));
  rules["target-size"] = {{enabled: !wide}};
  const parts = wide ? [] : [...document.querySelectorAll("article :is(.katex, pre)")]
    .map((e) => [e, [...e.childNodes], e.getAttribute("style"), e.getBoundingClientRect()]);
  for (const [e, , , {{width, height}}] of parts) {{
    if (e.matches(".katex")) {{
      e.textContent = "x";
      e.style.cssText += `;display: inline-block; overflow: hidden; width: ${{width}}px;`
        + `height: ${{height}}px; vertical-align: bottom`;
    }} else e.textContent = e.textContent;
  }}
  const {{violations}} = await axe.run(document, {{resultTypes: ["violations"], rules}});
  for (const [e, inside, style] of parts) {{
    e.replaceChildren(...inside);
    if (style === null) e.removeAttribute("style"); else e.setAttribute("style", style);
  }}
  return violations;
}}"""


@pytest.fixture
def heard(one_page):
    """Return a page, a list of what goes wrong on it, and a set of the hosts that it asks."""
    troubles, hosts = [], set()
    listeners = {
        "console": lambda it: it.type in ("error", "warning") and troubles.append(it.text),
        "pageerror": lambda error: troubles.append(str(error)),
        "response": lambda got: got.status < 400 or troubles.append(f"{got.status} {got.url}"),
        "request": lambda asked: hosts.add(urlsplit(asked.url).netloc),
    }
    for event, listener in listeners.items():
        one_page.on(event, listener)
    yield one_page, troubles, hosts
    for event, listener in listeners.items():
        one_page.remove_listener(event, listener)


# Each page is loaded in both themes and at both widths, and looked at in all four.
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_page_is_sound_visible_and_accessible(heard, address, name, theme, width):
    page, troubles, hosts = heard
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme, media="screen")
    page.goto(f"{address}/{name}", wait_until="load")
    page.evaluate(SETTLED)
    is_chapter = name.removesuffix(".html") in CHAPTERS
    read = reading.measured(page) if is_chapter else {}
    looks = [page.evaluate(LOOK)]
    page.evaluate(AXE)
    found = page.evaluate(AXE_REST, width == 1280)
    page.evaluate(SAMPLE)
    other = {"light": "dark", "dark": "light"}[theme]
    switch(page, other)
    looks.append(page.evaluate(LOOK))
    page.evaluate(SAMPLE)
    page.evaluate(HIDE)
    found += page.evaluate(AXE_COLOURS, not has_text(page))
    switch(page, theme)
    found += page.evaluate(AXE_COLOURS, True)

    assert troubles == []
    assert hosts <= {urlsplit(address).netloc, ""}, "asks another host"
    for seen, shown in zip(looks, (theme, other), strict=True):
        check(seen, name, shown)
    reading.check(name.removesuffix(".html"), read)
    barriers = [
        f"{rule['id']}: {node['target']} {node['html'][:120]}"
        for rule in found
        for node in rule["nodes"][:5]
    ]
    assert barriers == []


def has_text(page):
    """Tell whether a page has a text in a frame."""
    return page.locator("article").count() > 0


def switch(page, theme):
    """Have the page change to the other theme, as the system does at dusk."""
    page.emulate_media(color_scheme=theme)
    wait_for(
        page,
        f"(document.documentElement.dataset.theme ?? '{theme}') === '{theme}'",
        f"it is {theme}",
    )


def check(seen, name, theme):
    """Assert that what is seen of a page is what a reader needs."""
    assert seen["sideways"] <= 0, "the page scrolls sideways"
    assert seen["cut"] == []
    assert seen["heading"] == 1
    assert seen["words"] > 10
    if name != "404.html":  # which follows the system alone
        assert seen["theme"] == theme
    if name.removesuffix(".html") in CHAPTERS:
        keep(name, "a chapter", "formulas", seen["formulas"])
        assert len(set(seen["ink"])) == 1, "formulas are not as dark as the text"
        assert seen["twice"] == 0, "formulas appear twice"
        keep(name, "a chapter's page", "code_cells", seen["code"])
        keep(name, "a chapter", "figures", seen["figures"])
        assert len(seen["drawings"]) == seen["figures"]
    for is_dark, ground, fits in seen["drawings"]:
        assert is_dark == (theme == "dark"), "a drawing in the ink of the other theme"
        assert ground == "rgba(0, 0, 0, 0)"
        assert fits, "a drawing smaller than there is room for"
