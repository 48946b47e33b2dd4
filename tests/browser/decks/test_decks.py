"""Every slide as the last row sees it: read with `make test-decks`, after `make slides`."""

import re

import pytest

from course.chapters import ROOT, chapters
from course.promises import keep

SLIDES = ROOT / "_build/slides"
LOOK = """() => {
  const slide = Reveal.getCurrentSlide(), box = slide.getBoundingClientRect();
  const drawn = [...slide.querySelectorAll(".slide *")].filter((e) => !e.closest(".katex-mathml"));
  const name = (e) => e.outerHTML.slice(0, 80);
  const texts = drawn.filter((e) => !e.closest(".katex") && e.tagName !== "IMG"
    && [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  const number = document.querySelector(".slide-number").getBoundingClientRect();
  const arrows = document.querySelector(".controls").getBoundingClientRect();
  const rect = (e) => e.getBoundingClientRect();
  // What KaTeX draws reaches further than it can be seen: take the box around a formula.
  const outer = drawn.filter((e) => !e.closest(".katex") || e.matches(".katex"));
  const image = slide.querySelector("img");
  const whole = slide.querySelector(".whole img");  // as high as the slide, but for its margins
  return {
    headline: slide.querySelector("h1, h2")?.innerText,
    notes: slide.querySelectorAll(":scope > aside.notes").length,
    width: box.width, height: box.height,
    outside: outer.filter((e) => !whole || !e.matches(".whole, img")).filter((e) =>
      rect(e).right > 1280 - 24 || rect(e).left < 24 || rect(e).top < 8
      || rect(e).bottom > number.top + 2 || rect(e).bottom > arrows.top + 2).map(name),
    cut: outer.filter((e) => (e.matches("pre") && e.scrollWidth > e.clientWidth + 1)
      || (e.matches(".middle, .drawn") && e.scrollHeight > e.clientHeight + 4)).map(name),
    broken: drawn.filter((e) => e.matches("p .katex-html") && e.getClientRects().length > 1)
      .map(name),
    covered: whole ? texts.filter((e) => rect(e).right > rect(whole).left).map(name) : [],
    beyond: whole && (rect(whole).height > 724 || rect(whole).right > 1280) ? [name(whole)] : [],
    small: texts.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 20).map(name),
    lines: whole ? 1 : Math.round(rect(slide.querySelector("h1, h2")).height
      / parseFloat(getComputedStyle(slide.querySelector("h1, h2")).lineHeight)),
    image: image && { file: image.src.split("/").pop(), width: rect(image).width,
      height: rect(image).height },
  };
}"""


def smallest_label(name, width, height):
    """Size in pixels of the smallest text of a picture that is drawn into a box."""
    svg = (SLIDES / "_images" / name).read_text(encoding="utf-8")
    across, down = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    sizes = [100 * float(size) for size in re.findall(r"scale\(([\d.]+) -[\d.]+\)", svg)]
    return min(sizes, default=99) * min(width / across, height / down)


PHONE = """() => [...document.querySelectorAll(".slides .slide")].flatMap((slide) => {
  const box = slide.getBoundingClientRect(), in_it = [...slide.querySelectorAll(".asked *")];
  const reaches = (r) => r.left < box.left || r.right > box.right || r.bottom > box.bottom;
  const out = in_it.filter((e) => !e.closest(".katex") && reaches(e.getBoundingClientRect()));
  return box.left < 0 || box.right > innerWidth ? [slide.innerText] : out.map((e) => e.outerHTML);
})"""


@pytest.fixture(params=[chapter.name for chapter in chapters()])
def deck(request, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("requestfailed", lambda asked: page.wrong.append(asked.url))
    page.address = (SLIDES / f"{request.param}.html").as_uri()
    page.goto(page.address)
    yield page
    page.close()


def test_the_last_row_can_read_every_slide_and_nothing_is_cut(deck):
    count = deck.evaluate("document.querySelectorAll('.slides > section').length")
    assert deck.evaluate("Reveal.getTotalSlides()") == count
    for i in range(count):
        deck.evaluate(f"Reveal.slide({i})")
        deck.evaluate("document.fonts.ready")
        deck.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
        seen = deck.evaluate(LOOK)
        assert seen["headline"], i
        keep(seen["headline"], "a slide", "headline_lines", seen["lines"])
        assert seen["notes"] == 1, seen["headline"]  # the speaker's window asks the current slide
        assert (seen["width"], seen["height"]) == (1280, 720), seen["headline"]
        for fault in ("outside", "cut", "broken", "covered", "beyond", "small"):
            assert not seen[fault], (seen["headline"], fault, seen[fault])
        if seen["image"]:
            keep(seen["headline"], "a slide", "picture_height", seen["image"]["height"])
            label = smallest_label(*seen["image"].values())
            keep(seen["headline"], "a slide", "picture_type", label)
    assert not deck.wrong


def test_an_answer_leaves_its_question_in_place(deck):
    tops = """(i) => {
      Reveal.slide(i);
      const found = Reveal.getCurrentSlide().querySelectorAll(".question li, .answer li");
      return [...found].map((e) => e.getBoundingClientRect().top);
    }"""
    total = deck.evaluate("Reveal.getTotalSlides()")
    found = [seen for seen in (deck.evaluate(tops, i) for i in range(total)) if seen]
    assert len(found) >= 10
    assert found[::2] == found[1::2]


def test_on_a_phone_no_slide_is_wider_and_no_question_reaches_out_of_its_slide(deck):
    deck.set_viewport_size({"width": 390, "height": 844})
    deck.reload()
    deck.wait_for_selector(".reveal-scroll")
    assert deck.evaluate(PHONE) == []


def test_keys_go_on_and_back_and_show_all_and_open_the_notes(deck):
    place = "Reveal.getIndices().h"
    deck.keyboard.press("ArrowRight")
    deck.keyboard.press("Space")
    assert deck.evaluate(place) == 2
    deck.keyboard.press("ArrowLeft")
    assert deck.evaluate(place) == 1
    deck.keyboard.press("Escape")
    assert deck.evaluate("Reveal.isOverview()")
    deck.keyboard.press("Escape")
    with deck.expect_popup() as opened:
        deck.keyboard.press("s")
    shown = opened.value.locator(".speaker-controls-notes .value")
    shown.get_by_text(re.compile(r"\w+ \w+ \w+")).first.wait_for()
    opened.value.close()


def test_printed_each_slide_is_a_page_and_has_its_picture(deck):
    deck.goto(deck.address + "?print-pdf")
    deck.wait_for_selector(".pdf-page")
    pages = deck.locator(".pdf-page")
    pages.last.wait_for()
    assert pages.count() == deck.locator(".slides section").count()
    for height in deck.evaluate("[...document.images].map((image) => image.clientHeight)"):
        keep(deck.address, "a slide", "picture_height", height)
    heights = deck.evaluate(
        "[...document.querySelectorAll('.pdf-page')].map((page) => page.clientHeight)"
    )
    assert all(700 < height <= 721 for height in heights)
