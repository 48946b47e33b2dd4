"""Long tables are filtered by a word: by keyboard, from the disk, and back again."""

import re

import pytest

from tests.browser.live.figures import SITE

FILTERED = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.glob("book/*.html")
    if 'class="filter"' in path.read_text(encoding="utf-8")
)
# What is left: rows, or links in rows that have several.
LEFT = """() => [...document.querySelectorAll("article .table-box tbody tr")].flatMap((row) => {
  if (row.closest("[hidden]")) return [];
  const links = [...row.cells[row.cells.length - 1].querySelectorAll("a[href^='#']")];
  return links.length > 1 || document.querySelector("#why-nan") ? links.map((a) => a.textContent)
    : [row.textContent.trim()];
})"""
EMPTY = """() => [...document.querySelectorAll("article section section")].filter((section) =>
  section.checkVisibility() && section.querySelector(".table-box")
  && ![...section.querySelectorAll("tbody tr")].some((row) => row.checkVisibility())).length"""

FOLDED = """() => [...document.querySelectorAll("article .table-box tbody tr")].filter((row) =>
  !row.closest("[hidden]") && !row.checkVisibility()).length"""


def test_long_tables_have_one():
    assert {"book/why-wrong.html", "book/every-because.html", "book/kill-table.html"} <= {*FILTERED}


@pytest.mark.parametrize("name", FILTERED)
def test_a_word_leaves_the_rows_that_have_it(one_page, name):
    page = one_page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((SITE / name).as_uri())  # as from the zip, on a disk
    field = page.locator(".filter input")
    field.focus()  # by now all of the tables is there
    everything = page.evaluate(LEFT)
    word = re.findall("[a-z]{6,}", " ".join(everything[len(everything) // 2 :]).lower())[0]
    page.keyboard.type(f" {word.upper()}")
    left = page.evaluate(LEFT)
    assert 0 < len(left) < len(everything)
    assert [text for text in everything if word in text.lower()] == [
        text for text in left if word in text.lower()
    ]
    if "why-wrong" not in name:  # there an entry is found by the words of its section, too
        assert all(word in text.lower() for text in left)
    assert page.evaluate(EMPTY) == 0
    assert page.evaluate(FOLDED) == 0
    told = page.locator(".filter output").inner_text()
    assert re.findall(r"\d+", told) == [str(len(left)), str(len(everything))]
    page.keyboard.press("Tab")  # goes on to what is left
    assert page.evaluate("() => document.activeElement.matches('article :is(a, .table-box)')")
    field.focus()
    page.keyboard.type(" xyzzy")
    assert page.evaluate(LEFT) == []
    page.keyboard.press("Escape")
    assert page.evaluate(LEFT) == everything
    assert page.locator(".filter output").inner_text() == ""


def test_a_symptom_is_found_by_words_of_its_explanation(one_page):
    page = one_page
    page.goto((SITE / "book/why-wrong.html").as_uri())
    page.locator(".filter input").fill("overflows exp")
    assert "why-overflow" in page.evaluate(
        "() => [...document.querySelectorAll('article table a')].map((a) => a.hash.slice(1))"
    )
    assert len(page.evaluate(LEFT)) < 10


def test_without_scripts_there_is_none(chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((SITE / FILTERED[0]).as_uri())
    assert not page.locator(".filter").is_visible()
    context.close()
