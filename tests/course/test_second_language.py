"""The book in a made-up second language is built, tested, asked and shown as in the first.

No language changes what code computes: nothing is executed here, and of each bank a few answers are
judged. What reads text is tested: pages, quizzes, slides, hints, numbers.
"""

from __future__ import annotations

import configparser
import json
import re
import zipfile

import pytest

from course.chapters import ROOT, cells, chapters
from course.verdicts import BANKS
from course.words import say
from tests.course.made_up import copy_of_the_repository, run
from tests.course.second_language import translate, translated

MACHINERY = [
    *(
        f"tests/book/test_{name}.py"
        for name in ("book", "claims", "evidence", "instructors", "kill_table")
    ),
    "tests/book/test_quizzes.py",
    *(f"tests/course/test_{name}.py" for name in ("qti", "texts")),
]
PAGES = ["tests/site/test_site.py::TestPage", "tests/site/test_site.py::TestChapter"]
# The tests of hints, and of what is said with them; others are of arrays.
SAID = [
    f"tests/package/test_exercises.py::test_{name}"
    for name in (
        "a_wrong_answer_is_rejected_and_told_why",
        "a_right_answer_passes_and_prints_one_line",
        "an_answer_that_takes_other_arguments_is_told_which_it_gets",
        "an_answer_that_is_not_written_yet_gets_no_hint_at_a_mistake",
        "an_error_without_words_is_told_without_a_colon",
        "every_hint_has_a_use_and_every_use_a_hint",
        "every_common_hint_has_a_use",
        "catalogues_keep_to_the_width_of_the_code",
        "a_mistake_that_showed_earlier_is_not_blamed_later",
        "a_boolean_result_must_be_boolean",
        "an_infinity_that_is_right_is_not_what_is_told",
        "the_arrays_that_are_right_are_named_together",
        "an_answer_that_is_right_along_part_of_the_first_axis_is_told_so",
        "a_spoilt_result_is_described",
    )
]
# Put behind each bank: two mistakes that are named, one that is not, and a right answer.
FEW = """
for name, wrong in BANK.wrong.items():
    named = [each for each in wrong if each.names_mistake]
    others = [each for each in wrong if not each.names_mistake]
    BANK.wrong[name], BANK.right[name] = named[:2] + others[:1], BANK.right[name][:1]
"""
# Of each notebook, by sections: what its numbers are, and what ties them to code.
NUMBERS = """
import json
from course.chapters import ROOT
from course.passages import read
from tests.book import numbers_read

def numbers(section):
    found = [number for each in section.passages for number in numbers_read.numbers(each)]
    return [(n.value, n.unit, n.percent, n.unsigned, n.small, n.ties) for n in found]

paths = sorted((ROOT / "book").glob("*.ipynb"))
print(json.dumps({path.stem: [numbers(section) for section in read(path)] for path in paths}))
"""
# Of each chapter: its ties, and what its cells of evidence say they prove.
CLAIMS = """
import json
from course.chapters import chapters
from course.claims import KEYS, evidence, ties

def told(chapter):
    of_cells = [[(key, cell.about.get(key)) for key in KEYS] for cell in evidence(chapter)]
    return [(tie.kind, tie.where, tie.page) for tie in ties(chapter)], of_cells

print(json.dumps({chapter.name: told(chapter) for chapter in chapters()}))
"""
CHECK = """
import numpy as np
from attnbook.exercises import check
try:
    check("softmax", lambda x: np.exp(x) / np.exp(x).sum())
except Exception as wrong:
    print(wrong)
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """Return a copy of the repository in the second language, its site and its quizzes made."""
    root = copy_of_the_repository(tmp_path_factory.mktemp("scratch"))
    translate(root)
    for chapter in chapters(root):
        for bank in BANKS:
            with (chapter.room / f"{bank}.py").open("a", encoding="utf-8") as file:
                file.write(FEW)
    run(root, "tools", "book")
    run(root, "tools", "quizzes", "_build/quizzes", environment=".venv-quiz")
    return root


def test_a_word_is_reversed_and_what_is_no_word_stays():
    text = (
        "## A *scale*\n\n:::{note} Of $d_k$\n:class: tip\nsee {eq}`eq-a` [here](sec-a), `key.T`:\n"
    )
    text += "two<!-- = (a > b).sum() --> of 10²³"
    assert translated(text) == (
        "## A *elacs*\n\n:::{note} fO $d_k$\n:class: tip\nees {eq}`eq-a` [ereh](sec-a), `key.T`:\n"
        "owt<!-- = (a > b).sum() --> fo 10²³"
    )
    assert translated(translated(text)) == text


def test_pages_are_in_the_second_language(book):
    for chapter in chapters(book):
        original = chapters()[chapter.number - 1].about
        for key in ("title", "description", "summary"):
            assert chapter.about[key] == translated(original[key]) != original[key]
        page = (book / f"_build/html/book/{chapter.name}.html").read_text(encoding="utf-8")
        assert f"<title>{chapter.number}. {chapter.about['title']} – " in page
        assert original["title"] not in page
        assert translated(say("open_a_choice")) in page
    plans = (book / "_build/html/book/instructors.html").read_text(encoding="utf-8")
    assert all(head.strip() in plans for head in translated(say("plan")).split("|")[1:7])


def test_no_test_of_the_machinery_is_red(book):
    options = ["-q", "-p", "no:cacheprovider", "-m", "not english and not pinned"]
    counts = ["-k", "not of_a_bank_name_the_mistake"]  # a few are left
    told = run(book, "pytest", *options, *counts, *MACHINERY, *SAID, *PAGES)
    assert int(re.search(r"(\d+) passed", told)[1]) > 1400


def test_numbers_are_read_and_tied_as_in_the_first(book):
    here, there = (json.loads(run(root, "-c", NUMBERS)) for root in (ROOT, book))
    assert sum(len(section) for sections in here.values() for section in sections) > 1000
    assert there == here


def test_ties_and_what_evidence_says_of_itself_are_untouched(book):
    here, there = (json.loads(run(root, "-c", CLAIMS)) for root in (ROOT, book))
    assert all(any(of[part] for of in here.values()) for part in (0, 1))
    assert there == here


def test_quizzes_are_in_the_second_language(book):
    for chapter in chapters(book):
        with zipfile.ZipFile(book / f"_build/quizzes/{chapter.name}.zip") as package:
            assert any(
                chapter.about["title"].encode() in package.read(n) for n in package.namelist()
            )


def test_each_cell_that_is_a_slide_becomes_one(book):
    run(book, "tools", "slides", ROOT / "_build/reveal/node_modules/reveal.js")
    for chapter in chapters(book):
        deck = (book / f"_build/slides/{chapter.name}.html").read_text(encoding="utf-8")
        assert f"<h1>{chapter.about['title']}</h1>" in deck
        assert translated(say("answer_slide", number=1)) in deck
        kinds = [
            cell["metadata"]["slideshow"]["slide_type"]
            for cell in cells(chapter.notebook, "markdown", "code")
        ]
        assert deck.count("<section>") - deck.count('class="asked"') == kinds.count("slide")


def test_a_wrong_answer_is_told_so_in_the_second_language(book):
    told = plain(run(book, "-c", CHECK))
    hints = {}
    for root in (ROOT, book):
        found = configparser.ConfigParser(interpolation=None)
        found.read((root / "attnbook/exercises").glob("*.ini"), encoding="utf-8")
        hints[root] = [plain(hint) for hint in found["softmax"].values()]
    assert [hint for hint in hints[book] if hint in told]
    assert not [hint for hint in hints[ROOT] if hint in told]


def plain(text):
    """Return a text on one line, in small letters."""
    return " ".join(text.split()).casefold()
