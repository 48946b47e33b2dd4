"""A book that is made up of ours, made once: with one chapter more, in a second language.

First the chapter is added by the ten lines of CONTRIBUTING: it has all that others have. Then the
book, with it and a draft behind it, is translated, built, tested, asked and shown as in English.

No language changes what code computes: nothing is executed then, and of each bank a few answers
are judged. What reads text is tested: pages, quizzes, slides, hints, numbers.
"""

from __future__ import annotations

import configparser
import json
import re
import zipfile

import pytest

from course.chapters import ROOT, cells, chapters, drafts
from course.verdicts import BANKS
from course.words import say
from tests.course.made_up import TITLE, add_chapter, copy_of_the_repository, run
from tests.course.second_language import translate, translated

# What `make measure` does, for the new chapter alone.
MEASURE = """
import json
from course.chapters import chapters
from course.chapters import MEASURED
from tools import measure

told, new = json.loads(MEASURED.read_text()), chapters()[-1]
told["chapters"][new.name] = measure.run(new.notebook)
measure.write(told)
"""
GRADE = """
import json
from pathlib import Path
from tools import grade_demo, students

name = list(students.ASSIGNMENTS)[-1]
made = [(each, name) for each in ("perfect", "slips", "fakes")]
found = grade_demo.play(Path("_build/played").resolve(), made)
print(json.dumps({student: list(got[name].values()) for student, got in found.items()}))
"""


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
# Of the tests of chapters, those of the new one and of the draft, whose name is put in.
OWN = "made- or made_up or toc or {}"
OPTIONS = ["-v", "-rfs", "-p", "no:cacheprovider"]
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
def new(tmp_path_factory):
    """Return the new chapter, of a copy of the repository in which its page is executed."""
    chapter = add_chapter(copy_of_the_repository(tmp_path_factory.mktemp("scratch")))
    run(chapter.root, "tools", "notebooks", chapter.notebook)
    run(chapter.root, "tools", "chapter", f"{chapter.number + 1:02}-draft")  # begun, no more
    about = drafts(chapter.root)[0].room / "chapter.toml"  # not yet what its quiz asks
    about.write_text(about.read_text("utf-8").replace("questions = [", 'questions = ["none", '))
    run(chapter.root, "-c", MEASURE, environment=".venv-lab")
    return chapter


# In English


@pytest.fixture(scope="module")
def tested(new):
    """Return what pytest tells of the tests of the new chapter and of the draft, run at once."""
    (draft,) = drafts(new.root)
    files = ["tests/book", "tests/package/test_exercises.py"]
    return run(new.root, "pytest", *OPTIONS, "-k", OWN.format(draft.name), *files)


def test_a_new_chapter_is_tested_as_the_others_are(new, tested):
    assert len(re.findall(r"::.*made-.* PASSED", tested)) > 100
    options = ["--nbval", "-o", "addopts=", "-o", "filterwarnings="]
    assert "passed" in run(new.root, "pytest", "-q", "-p", "no:doctest", *options, new.notebook)


def test_what_holds_of_a_draft_is_tested_and_the_rest_is_skipped_with_the_reason(new, tested):
    (draft,) = drafts(new.root)
    assert len(re.findall(rf"::.*{draft.name}.* PASSED", tested)) > 5
    where = f"course/{draft.module}/chapter.toml"
    assert f"{draft.name} is a draft: delete draft = true from {where}" in tested


def test_its_assignment_is_released_and_graded(new):
    run(new.root, "tools", "assignments", "_build/assignments", environment=".venv-course")
    released = zipfile.ZipFile(new.root / f"_build/assignments/{new.assignment}.zip")
    folder = f"{new.assignment}/"
    assert released.namelist() == [folder, f"{folder}{new.assignment}.ipynb"]
    told = run(new.root, "-c", GRADE, environment=".venv-course")
    assert json.loads(told.splitlines()[-1]) == {
        "perfect": [5, 5, 3, 2, 5],
        "slips": [0, 5, 3, 2, None],
        "fakes": [0, 0, 0, 0, 0],
    }


# In the second language


@pytest.fixture(scope="module")
def english(new):
    """Return what is read of the book before it is translated."""
    asked = {"numbers": NUMBERS, "claims": CLAIMS}
    found = {name: json.loads(run(new.root, "-c", code)) for name, code in asked.items()}
    found |= {"abouts": [chapter.about for chapter in chapters(new.root)]}
    return found | {"hints": hints(new.root)}


@pytest.fixture(scope="module")
def book(new, english):
    """Return the copy in the second language, its site, its quizzes and its slides made."""
    root = new.root
    translate(root)
    for chapter in chapters(root):
        for bank in BANKS:
            with (chapter.room / f"{bank}.py").open("a", encoding="utf-8") as file:
                file.write(FEW)
    run(root, "tools", "book")
    run(root, "tools", "quizzes", "_build/quizzes", environment=".venv-quiz")
    run(root, "tools", "slides", ROOT / "_build/reveal/node_modules/reveal.js")
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


def test_the_page_of_a_new_chapter_is_built_and_listed_and_linked(new, book):
    site = book / "_build/html/book"
    page = (site / f"{new.name}.html").read_text(encoding="utf-8")
    assert translated(TITLE) in page
    assert 'id="run"' in page
    before = (site / f"{chapters()[-1].name}.html").read_text(encoding="utf-8")
    assert f'rel="next" href="{new.name}.html"' in before
    for name in ("index", "instructors", "kill-table"):
        assert f'href="{new.name}.html' in (site / f"{name}.html").read_text(encoding="utf-8")
    headed = translated(say("session", number=new.number, title=TITLE)).lstrip("# ")
    assert headed in (site / "instructors.html").read_text("utf-8")


def test_a_draft_behind_it_is_built_and_marked_and_no_part_of_the_course(book):
    (draft,) = drafts(book)
    site = book / "_build/html"
    page = (site / f"book/{draft.name}.html").read_text(encoding="utf-8")
    assert translated(say("draft_means")) in page
    assert '<meta name="robots" content="noindex"/>' in page
    for name in ("index", "instructors", "instructors-hub", "kill-table"):
        text = (site / f"book/{name}.html").read_text(encoding="utf-8")
        assert draft.name not in text.partition("<article")[2].partition("</article>")[0]
    assert draft.name not in (site / "sitemap.xml").read_text(encoding="utf-8")


def test_pages_are_in_the_second_language(book, english):
    for chapter, original in zip(chapters(book), english["abouts"], strict=True):
        for key in ("title", "description", "summary"):
            assert chapter.about[key] == translated(original[key]) != original[key]
        page = (book / f"_build/html/book/{chapter.name}.html").read_text(encoding="utf-8")
        assert f"<title>{chapter.number}. {chapter.about['title']} – " in page
        assert original["title"] not in page
        assert translated(say("open_a_choice")) in page
    plans = (book / "_build/html/book/instructors.html").read_text(encoding="utf-8")
    assert all(head.strip() in plans for head in translated(say("plan")).split("|")[1:7])


def test_no_test_of_the_machinery_is_red(book):
    options = [*OPTIONS, "-m", "not english and not pinned"]
    counts = ["-k", "not of_a_bank_name_the_mistake"]  # a few are left
    told = run(book, "pytest", *options, *counts, *MACHINERY, *SAID, *PAGES)
    assert int(re.search(r"(\d+) passed", told)[1]) > 1400
    (draft,) = drafts(book)
    assert len(re.findall(rf"::.*{draft.name}.* PASSED", told)) > 12


def test_the_site_of_a_new_chapter_and_of_a_draft_is_tested_as_the_others_are(new, book):
    (draft,) = drafts(book)
    done = [option for each in PAGES for option in ("--deselect", each)]
    told = run(book, "pytest", *OPTIONS, *done, "-k", OWN.format(draft.name), "tests/site")
    assert re.search(rf"::.*{new.name}.* PASSED", told)
    assert re.search(rf"::.*{draft.name}.* PASSED", told)


def test_numbers_are_read_and_tied_as_in_the_first(book, english):
    assert sum(len(section) for found in english["numbers"].values() for section in found) > 1000
    assert json.loads(run(book, "-c", NUMBERS)) == english["numbers"]


def test_ties_and_what_evidence_says_of_itself_are_untouched(book, english):
    assert all(any(of[part] for of in english["claims"].values()) for part in (0, 1))
    assert json.loads(run(book, "-c", CLAIMS)) == english["claims"]


def test_quizzes_are_in_the_second_language(book):
    for chapter in chapters(book):
        with zipfile.ZipFile(book / f"_build/quizzes/{chapter.name}.zip") as package:
            assert any(
                chapter.about["title"].encode() in package.read(n) for n in package.namelist()
            )


def test_each_cell_that_is_a_slide_becomes_one(book):
    made = {path.stem for path in (book / "_build/slides").glob("*.html")}
    assert made == {"index", *(chapter.name for chapter in chapters(book))}
    for chapter in chapters(book):
        deck = (book / f"_build/slides/{chapter.name}.html").read_text(encoding="utf-8")
        assert deck.count("<section>") >= 15
        assert f"<h1>{chapter.about['title']}</h1>" in deck
        assert translated(say("answer_slide", number=1)) in deck
        kinds = [
            cell["metadata"]["slideshow"]["slide_type"]
            for cell in cells(chapter.notebook, "markdown", "code")
        ]
        assert deck.count("<section>") - deck.count('class="asked"') == kinds.count("slide")


def test_a_wrong_answer_is_told_so_in_the_second_language(book, english):
    told = plain(run(book, "-c", CHECK))
    assert [hint for hint in hints(book) if hint in told]
    assert not [hint for hint in english["hints"] if hint in told]


def hints(root):
    """Return the hints of one exercise."""
    found = configparser.ConfigParser(interpolation=None)
    found.read((root / "attnbook/exercises").glob("*.ini"), encoding="utf-8")
    return [plain(hint) for hint in found["softmax"].values()]


def plain(text):
    """Return a text on one line, in small letters."""
    return " ".join(text.split()).casefold()
