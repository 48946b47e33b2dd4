"""The slides that `make slides` makes, read from their files."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from course.chapters import ROOT, chapters

CHAPTERS = [chapter.name for chapter in chapters()]

SLIDES = ROOT / "_build/slides"
KINDS = {"slide", "notes", "skip"}


def cells(name):
    text = (ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8")
    return json.loads(text)["cells"]


def kind(cell):
    return cell["metadata"]["slideshow"]["slide_type"]


@pytest.fixture(params=CHAPTERS)
def name(request):
    return request.param


@pytest.fixture
def deck(name):
    return BeautifulSoup((SLIDES / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


@pytest.fixture
def slides(deck):
    return deck.select(".slides > section")


def test_there_are_slides_of_each_chapter_and_a_page_that_lists_them():
    assert sorted(path.stem for path in SLIDES.glob("[0-9]*.html")) == CHAPTERS
    index = BeautifulSoup((SLIDES / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert [link["href"] for link in index.select("li a")] == [f"{name}.html" for name in CHAPTERS]


def test_every_cell_says_whether_it_is_a_slide_and_each_such_cell_is_one(name, slides):
    assert {kind(cell) for cell in cells(name)} == KINDS
    for cell in cells(name):
        more = {"headline"} if kind(cell) == "slide" else set()
        assert set(cell["metadata"]["slideshow"]) - more == {"slide_type"}
    assert len(slides) == sum(kind(cell) == "slide" for cell in cells(name))
    assert 12 <= len(slides) <= 25


def test_key_figures_are_shown_in_their_order_with_their_alt_text(name, deck, slides):
    about = [
        cell["metadata"]["mystnb"]
        for cell in cells(name)
        if kind(cell) == "slide" and "mystnb" in cell["metadata"]
    ]
    figures = [each for each in about if "figure" in each]
    assert len(figures) >= 8
    shown = [image.get("alt") for image in deck.select(".slides img")]
    assert shown == [" ".join(each["image"]["alt"].split()) for each in figures]
    for slide in slides:
        assert len(slide.select("img")) <= 1  # one idea


def test_each_slide_has_a_headline_something_to_show_and_notes(slides):
    for i, slide in enumerate(slides):
        headline = slide.find(["h1", "h2"]).get_text(" ", strip=True)
        assert 3 <= len(headline) <= 95, headline
        (notes,) = slide.select(":scope > aside.notes")
        assert len(notes.get_text().split()) >= 15, headline
        assert not notes.select(".katex"), "needs a style that the speaker's window has not"
        if i:
            shown = "img, .statement, .pitfall, table, div.math, pre, ul"
            assert slide.select_one(f".slide > .middle > :is({shown}), .slide > .drawn > img"), (
                headline
            )


def test_a_slide_is_one_section(deck):
    """A section within it is a slide of its own to reveal.js: no headline there, and no notes."""
    assert not deck.select("section section")


def test_each_headline_says_something_of_its_own(name, slides):
    headlines = [slide.find(["h1", "h2"]).get_text(" ", strip=True) for slide in slides]
    assert len(set(headlines)) == len(headlines)
    assert headlines[-1] == "Summary"
    assert slides[-1].select_one(".middle > ul")  # not a formula of what follows in its cell
    questions = [headline for headline in headlines[1:] if headline.endswith("?")]
    assert not questions, "a title of a section; give the cell a headline"
    for cell in cells(name):
        given = cell["metadata"]["slideshow"].get("headline")
        if given is not None:
            assert given in headlines
            assert "$" not in given
            assert "`" not in given


def test_what_is_said_is_on_a_slide(deck, slides):
    """Figures and formulas that are named by number, in text or notes, are shown in the deck."""
    for formula in deck.find_all(["annotation", "pre"]):
        formula.decompose()
    figures = re.findall(r"Fig\. [\d.]+\d", " ".join(map(place_of, slides[1:])))
    assert len(figures) == len(set(figures)) == len(deck.select(".slides img"))
    formulas = {number.get_text() for number in deck.select(".eqno")}
    for slide in slides:
        text = slide.get_text()
        assert set(re.findall(r"Fig\. [\d.]+\d", text)) <= set(figures)
        assert set(re.findall(r"\(\d\.\d+\)", text)) <= formulas


def place_of(slide):
    return place.get_text() if (place := slide.select_one(".where")) else ""


def test_notes_are_for_the_speaker_and_not_about_the_notebook(deck, slides):
    about_cells = (
        r"\b(?:next|last) cell\b|\bcells? (?:just )?above\b|[Tt]able below|Where a cell"
        r"|\bprinted\b|\bthis page\b|\bnotebook\b|Not quite|Open a choice|Your answer"
    )
    for slide in slides:
        assert not re.findall(about_cells, slide.get_text()), slide.h2
        for note in slide.select("aside > p"):
            assert note.get_text().strip()
    assert not deck.select("aside.notes .quiz")
    assert "A column of ones gives the read-out its intercept" not in deck.get_text()


def test_the_proof_of_a_theorem_is_among_its_notes(slides):
    for slide in slides:
        if slide.h2 and slide.h2.get_text().startswith("Theorem"):
            assert "Proof. " in slide.aside.get_text()


def test_a_pitfall_is_three_lines_and_a_formula_has_few_words_before_it(slides):
    for slide in slides:
        for pitfall in slide.select(".pitfall"):
            begins = [line.em.get_text() for line in pitfall.select("p")]
            assert begins == ["As written:", "Symptom:", "The property that catches it:"]
        if slide.select_one(".middle > div.math") and (lead := slide.select_one(".middle > p")):
            for formula in lead.select(".math"):
                formula.replace_with("x")
            assert len(lead.get_text().split()) <= 50


def test_a_formula_that_stands_alone_ends_in_no_mark_of_a_sentence():
    texts = [(SLIDES / f"{name}.html").read_text(encoding="utf-8") for name in CHAPTERS]
    alone = BeautifulSoup("".join(texts), "html.parser").select(".middle > .math")
    ends = [drawn.get_text().strip("\u200b \n")[-1] for drawn in alone]
    assert len(ends) > 10
    assert not set(ends) & set(".,:;")


def test_formulas_are_rendered_and_no_markup_is_raw(deck):
    assert not deck.select(".katex-error, .problematic")
    for formula in deck.select(".slides .math"):
        if not formula.find_parent("aside"):
            assert formula.select_one(".katex-html")
    for code in deck.find_all(["pre", "code", "annotation"]):
        code.decompose()
    raw = r"\$[^$\n]+\$|\{(?:ref|numref|eq|cite|prf)[\w:]*\}|:::|\\\("
    assert not re.findall(raw, deck.select_one(".slides").get_text())
    assert not deck.select(".slides a")  # it would lead to a page that is not there


def test_nothing_is_asked_of_another_host_and_all_that_is_asked_is_there(name):
    page = (SLIDES / f"{name}.html").read_text(encoding="utf-8")
    asked = re.findall(r'<(?:link|script|img|iframe|source)\b[^>]*?(?:href|src)="([^"]+)"', page)
    assert {"reveal.js", "reveal.css", "notes.js", "slides.css"} <= set(asked)
    assert all((SLIDES / path).is_file() for path in asked), asked
    for style in SLIDES.rglob("*.css"):
        for path in re.findall(r"url\(['\"]?([^'\")]+)", style.read_text(encoding="utf-8")):
            assert path.startswith("data:") or (style.parent / path).is_file(), (style, path)
