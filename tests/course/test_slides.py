"""The slides that `make slides` makes, read from their files, in whatever language they are."""

import json
import re
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from course import quiz
from course.chapters import ROOT, by_name, chapters, without_comments
from course.promises import keep
from course.words import say
from tests.quiz_words import words, words_of_source
from tools.slides import builder

CHAPTERS = [chapter.name for chapter in chapters()]
SLIDES = ROOT / "_build/slides"


def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def plain(element):
    """Text without formulas, which look different in notes."""
    element = BeautifulSoup(str(element), "html.parser")
    for formula in element.select(".math, math"):
        formula.decompose()
    return " ".join(element.get_text().split())


@pytest.fixture(params=CHAPTERS)
def name(request):
    return request.param


@pytest.fixture
def cells(name):
    """Return the chapter's cells, each with what a failure calls it."""
    found = json.loads((ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    for i, cell in enumerate(found):
        cell["name"] = f"{name}.ipynb, cell {i} ({''.join(cell['source'][:1]).strip()})"
    return found


@pytest.fixture
def shown(cells):
    return [cell for cell in cells if kind(cell) == "slide"]


@pytest.fixture
def deck(name):
    return soup(SLIDES / f"{name}.html")


@pytest.fixture
def slides(deck):
    """Return the chapter's own slides."""
    return [slide for slide in deck.select(".slides > section") if not slide.select(".asked")]


@pytest.fixture
def asked(deck, name):
    """Return the questions of the quiz, each with its slide and that of its answer."""
    found = [slide for slide in deck.select(".slides > section") if slide.select(".asked")]
    questions = quiz.read(by_name(name)).questions.values()
    return list(zip(questions, found[::2], found[1::2], strict=True))


@pytest.fixture
def page(name):
    return soup(ROOT / f"_build/html/book/{name}.html")


def kind(cell):
    return cell["metadata"].get("slideshow", {}).get("slide_type")


def headline_of(slide):
    return slide.find(["h1", "h2"]).get_text()


def test_there_are_slides_of_each_chapter_and_a_page_that_lists_them():
    assert sorted(path.stem for path in SLIDES.glob("[0-9]*.html")) == CHAPTERS
    index = soup(SLIDES / "index.html")
    assert [link["href"] for link in index.select("li a")] == [f"{name}.html" for name in CHAPTERS]


def test_the_page_says_how_many_slides_are_the_chapter_s_own(name, slides, asked):
    (entry,) = soup(SLIDES / "index.html").select(f'li:has(a[href^="{name}"])')
    assert entry.get_text().endswith(say("deck", slides=len(slides), questions=len(asked)))


def test_every_cell_says_whether_it_is_a_slide(cells):
    for cell in cells:
        about = {"slide_type": None, **cell["metadata"].get("slideshow", {})}
        assert about["slide_type"] in ("slide", "notes", "skip"), (
            f"{cell['name']}: give it a slide type: slide, notes or skip"
        )
        more = {"headline", "layout"} if kind(cell) == "slide" else set()
        assert set(about) <= {"slide_type"} | more, f"{cell['name']}: only a slide has more"


def test_each_such_cell_is_a_slide(name, shown, slides):
    assert len(slides) == len(shown)
    keep(name, "a deck", "slides", len(slides))


def test_a_slide_of_a_figure_shows_it_and_its_alt_text_is_said(name, shown, slides):
    figures = 0
    for cell, slide in zip(shown, slides, strict=True):
        about = cell["metadata"].get("mystnb", {})
        images = [image["alt"] for image in slide.select("img")]
        texts = [without_comments(about["image"]["alt"])] if "figure" in about else []
        alt = [" ".join(text.split()) for text in texts]
        assert images == alt, f"{cell['name']}: mend the alt text in its metadata, mystnb.image.alt"
        notes = [note.get_text() for note in slide.select("aside > p")]
        assert not alt or notes[-1] == alt[0], f"{cell['name']}: its alt text is not in the notes"
        figures += len(alt)
    keep(name, "a deck", "figures", figures)


def test_each_slide_has_a_headline_something_to_show_and_notes(shown, slides):
    for cell, slide in zip(shown, slides, strict=True):
        keep(cell["name"], "a slide", "headline", len(headline_of(slide)))
        (notes,) = slide.select(":scope > aside.notes")
        keep(cell["name"], "a slide", "notes", len(notes.get_text().split()))
        assert not notes.select(".katex"), "needs a style that the speaker's window has not"
        something = ".drawn > img, .statement, .pitfall, .plain :is(table, .math, pre, ul), .said"
        assert slide.select_one(f".slide :is({something})"), f"{cell['name']}: shows nothing"


def test_a_slide_is_one_section(deck):
    """A section within it is a slide of its own to reveal.js: no headline there, and no notes."""
    assert not deck.select("section section")


def test_a_slide_shows_no_object_s_name_and_nothing_to_unfold(deck):
    assert " object>" not in deck.select_one(".slides").get_text()
    assert not deck.select(".slide details")


def test_each_headline_says_something_of_its_own(shown, slides):
    headlines = [headline_of(slide) for slide in slides]
    assert len(set(headlines)) == len(headlines)
    for cell, slide in zip(shown, slides, strict=True):
        given = without_comments(cell["metadata"]["slideshow"].get("headline") or "") or None
        assert given in (None, headline_of(slide)), cell["name"]
        assert not set(given or "") & set("$`"), f"{cell['name']}: no markup in a headline"
        section = slide.select_one(".where").get_text().split(" · ")[0]
        assert section != headline_of(slide), (
            f"{cell['name']}: has its section's title; say what is seen in slideshow.headline"
        )
    assert slides[-1].select_one(".plain > ul")  # the summary, under its own title
    assert not slides[-1].select_one(".where").get_text()


def test_the_title_says_what_one_can_do_afterwards(name, slides):
    about = by_name(name).about
    goals = [goal.get_text() for goal in slides[0].select(".slide > ul > li")]
    assert goals == [goal["can"] for goal in about["objectives"]]
    assert slides[0].select_one(".slide > .said").get_text() == about["summary"]


def test_what_is_named_by_number_is_on_a_slide(deck, slides):
    places = [slide.select_one(".where").get_text().split(" · ") for slide in slides]
    figures = [place[1] for place in places if len(place) == 2]
    assert len(figures) == len(set(figures)) == len(deck.select(".slides img"))
    named = {name.get_text() for name in deck.select(".std-numref")}
    assert named
    assert named <= set(figures)
    formulas = {number.get_text() for number in deck.select(".eqno")}
    for formula in deck.find_all(["annotation", "pre", "math"]):
        formula.decompose()
    assert set(re.findall(r"\([1-9]\.\d+\)", deck.get_text())) <= formulas


def test_nothing_is_said_of_exercises_and_of_the_quiz_with_its_questions_only(page, slides, deck):
    assert not deck.select("aside :is(.quiz, details)")
    for each, apart in ((deck.select("section"), ".exercise p, .solution p"), (slides, ".quiz p")):
        said = {plain(note) for slide in each for note in slide.select("aside :is(p, li, dd)")}
        assert len(page.select(apart)) >= 10
        assert said.isdisjoint(map(plain, page.select(apart)))


def test_each_question_is_asked_on_a_slide_and_answered_on_the_next(asked):
    for number, (question, *pair) in enumerate(asked, start=1):
        assert [headline_of(slide) for slide in pair] == [question.heading] * 2
        assert pair[0].find_next_sibling("section") is pair[1]
        for kind, slide in zip(("question", "answer"), pair, strict=True):
            assert slide.select_one(".where").get_text() == say(f"{kind}_slide", number=number)
            text, choices = slide.select_one(".asked > p"), slide.select(".asked > ol > li")
            assert words(str(text)) == words_of_source(question.text)
            texts = [words_of_source(choice.text) for choice in question.choices]
            assert [words(str(choice)) for choice in choices] == texts
            marked = [choice.get("class") == ["right"] for choice in choices]
            assert marked == [kind == "answer" and choice.right for choice in question.choices]
        (right,) = (choice for choice in question.choices if choice.right)
        assert not pair[0].select("ol ~ p")
        told = words_of_source(say("right", feedback=right.feedback))
        assert words(str(pair[1].select_one("ol ~ p"))) == told


def test_what_is_wrong_with_each_choice_is_said_beside_its_question(page, asked):
    listed = page.select("ol.quiz > li")
    for item, (_, *pair) in zip(listed, asked, strict=True):
        told = [plain(fold).removeprefix(plain(fold.summary)) for fold in item("details")]
        for slide in pair:
            notes = slide.select_one('aside > ol[type="a"]')
            assert [plain(note) for note in notes("li")] == [text.strip() for text in told]


def test_a_question_follows_the_last_section_that_it_sends_to(name, cells, asked):
    """How many of the chapter's own slides come before it, by the headings of the notebook."""
    left, shown, (label, level) = {}, 0, ("", 0)
    for cell in cells:
        heads = re.findall(r"(?:^\((sec-[\w-]+)\)=\n)?^(##+) ", "".join(cell["source"]), re.M)
        for found, marks in heads if cell["cell_type"] == "markdown" else ():
            if found or len(marks) <= level:  # else a part of the section
                left[label], label, level = shown, found, len(marks)
        shown += kind(cell) == "slide"
    order = list(by_name(name).sections)
    for question, slide, _ in asked:
        last = max({choice.section for choice in question.choices} - {""}, key=order.index)
        before = slide.find_previous_siblings("section")
        assert len([each for each in before if not each.select(".asked")]) == left[last]


def test_the_proof_of_a_theorem_is_among_its_notes(page, slides):
    proofs = [plain(proof) for proof in page.select(".proof:not(.theorem, .definition) > p")]
    stated = [slide for slide in slides if slide.select(".statement")]
    assert proofs
    assert set(proofs) <= {plain(note) for slide in stated for note in slide.aside("p")}


def test_each_part_of_a_pitfall_begins_a_line(slides):
    labels = [
        [label.get_text() for label in pitfall.select("em.label")]
        for slide in slides
        for pitfall in slide.select(".pitfall")
    ]
    for found in filter(None, labels):  # others are told without labels, or left to the page
        assert len(found) == 3
        assert found == next(filter(None, labels))


def test_a_formula_that_stands_alone_ends_in_no_mark_of_a_sentence():
    texts = [(SLIDES / f"{name}.html").read_text(encoding="utf-8") for name in CHAPTERS]
    alone = BeautifulSoup("".join(texts), "html.parser").select(".plain > .math")
    ends = [drawn.get_text().strip("\u200b \n")[-1] for drawn in alone]
    assert len(ends) > 10
    assert not set(ends) & set(".,:;")


def test_formulas_are_rendered_and_no_markup_is_raw(deck):
    assert not deck.select(".katex-error, .problematic")
    for formula in deck.select(".slides .math"):
        assert formula.select_one(".katex-html")
    for code in deck.find_all(["pre", "code", "annotation"]):
        code.decompose()
    raw = r"\$[^$\n]+\$|\{(?:ref|numref|eq|cite|prf)[\w:]*\}|:::|\\\("
    assert not re.findall(raw, deck.select_one(".slides").get_text())
    assert not deck.select(".slides a")  # it would lead to a page that is not there


def test_nothing_is_asked_of_another_host_and_all_that_is_asked_is_there(name):
    page = (SLIDES / f"{name}.html").read_text(encoding="utf-8")
    asked = re.findall(r'<(?:link|script|img|iframe|source)\b[^>]*?(?:href|src)="([^"]+)"', page)
    assert {"reveal/reveal.js", "reveal/reveal.css", "reveal/notes.js", "slides.css"} <= set(asked)
    assert all((SLIDES / path).is_file() for path in asked), asked
    styles = [SLIDES / "slides.css", *SLIDES.rglob("reveal.css"), *SLIDES.rglob("katex.min.css")]
    assert len(styles) == 3
    for style in styles:
        for path in re.findall(r"url\(['\"]?([^'\")]+)", style.read_text(encoding="utf-8")):
            assert path.startswith("data:") or (style.parent / path).is_file(), (style, path)


def test_a_cell_without_a_slide_type_is_refused_by_name(tmp_path):
    cell = {"cell_type": "markdown", "metadata": {"slideshow": {}}, "source": ["# One\n", "two"]}
    path = tmp_path / "09-new.ipynb"
    path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    told = r"^09-new\.ipynb, cell 0 \(# One\): .*slide type"
    with pytest.raises(builder.SphinxError, match=told):
        list(builder.read_cells(path, builder.nodes.section()))


@pytest.mark.parametrize("alt", [None, ""])
def test_a_slide_without_content_or_alt_text_is_refused_by_name(alt):
    figure = builder.nodes.figure("", builder.nodes.image(uri="a.svg", alt=alt))
    blocks = [] if alt is None else [figure]
    cell = SimpleNamespace(name="09-new.ipynb, cell 3", blocks=blocks, is_code=True, about={})
    with pytest.raises(builder.SphinxError, match=r"^09-new\.ipynb, cell 3: .*alt text.*notes$"):
        builder.Decks.show(None, cell, "")
