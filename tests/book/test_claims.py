"""Every because under test: each reason is tied to what supports it, and the support is there."""

import json
import subprocess
import sys

import pytest

from course.chapters import Chapter, chapters_and_drafts, look_ups
from course.claims import comments, faults, parse
from course.passages import read
from tests.drafts import skipped
from tools.claims import END, untied

NUMBERS_IN_A_SENTENCE, NUMBERS_IN_A_PARAGRAPH = 2, 6
FOLDED = {"evidence", "hide-input", "remove-cell"}
PAGES = [
    pytest.param(chapter, marks=skipped(chapter), id=chapter.name)
    for chapter in chapters_and_drafts()
]


def crowds(chapter):
    """Yield each sentence, and paragraph, of the column with too many measured numbers."""
    for path in chapter.notebooks:
        for section in read(path):
            for each in (passage for passage in section.passages if passage.place == "text"):
                where = f"{path.stem}, section {section.title!r}"
                marks = [mark for mark in each.text if each.inserted.get(mark, "").startswith("=")]
                if len(marks) > NUMBERS_IN_A_PARAGRAPH:
                    problem = f"{len(marks)} measured numbers, at most {NUMBERS_IN_A_PARAGRAPH}"
                    yield f"{where}: {problem}: {each.shown()!r}"
                start = 0
                for end in [*(match.end() for match in END.finditer(each.text)), len(each.text)]:
                    sentence, start = each.text[start:end], end
                    if (count := len({*sentence} & {*marks})) > NUMBERS_IN_A_SENTENCE:
                        problem = f"{count} measured numbers, at most {NUMBERS_IN_A_SENTENCE}"
                        yield f"{where}: {problem}: {each.shown()!r}"


def is_open(cell):
    about = cell["metadata"]
    hidden = about.get("jupyter", {}).get("source_hidden") or FOLDED & {*about.get("tags", ())}
    return cell["cell_type"] == "code" and not hidden


def closed_names(chapter):
    """Yield each name that an open cell uses and no open cell before it defines."""
    for path in chapter.notebooks:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = list(filter(is_open, notebook["cells"]))
        ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821"]
        ruff += ["--output-format", "json", "--stdin-filename", "page.ipynb", "-"]
        done = subprocess.run(ruff, input=json.dumps(notebook), capture_output=True, text=True)
        for violation in json.loads(done.stdout):
            cell = "".join(notebook["cells"][violation["cell"] - 1]["source"])
            line = cell.splitlines()[violation["location"]["row"] - 1].strip()
            yield f"{path.stem}: {violation['message']}, in sight only in a fold: {line}"


# Where a sentence ends is told by a capital after it, and what claims by English words.
FAULTS = [faults, closed_names]
FAULTS += [pytest.param(find, marks=pytest.mark.english) for find in (crowds, untied)]


@pytest.mark.parametrize("find", FAULTS, ids=lambda find: find.__name__)
@pytest.mark.parametrize("chapter", PAGES)
def test_every_because_has_its_support(chapter, find):
    if found := list(find(chapter)):
        pytest.fail("\n".join([f"{len(found)}:", *found]), pytrace=False)


@pytest.mark.parametrize(
    "find",
    [faults, pytest.param(untied, marks=pytest.mark.english)],
    ids=lambda find: find.__name__,
)
@pytest.mark.parametrize("page", look_ups(), ids=lambda page: page.name)
def test_every_because_of_a_page_to_look_things_up_in_has_its_support(page, find):
    if found := list(find(page)):
        pytest.fail("\n".join([f"{len(found)}:", *found]), pytrace=False)


def test_the_pages_to_look_things_up_in_are_those_of_the_table_of_contents():
    names = [page.name for page in look_ups()]
    assert names[0] == "index"
    assert {"why-wrong", "glossary", "masks", "instructors", "instructors-hub"} <= {*names}
    assert not {"state", "02-scaled-dot-product"} & {*names}


# A small chapter, sound, and what is told of it when one text stands in for another

NOTEBOOK = [
    """# A name

Old inputs fade because the tanh bends<!-- why: intervention, old-inputs-fade -->. It keeps
two<!-- = kept --> of nine<!-- = all_there -->.

{cite:t}`a1964` saw it first, and every row sums to one, since

$$ x = 1 $$ (eq-sum)

<!-- why: citation, a1964 table 1; theorem, eq-sum -->

It is so in ten of twelve heads. So try others.
<!-- why: observation, in-ten-heads; advice -->""",
    {"source": "import numpy as np\nkept = np.arange(3)", "metadata": {}},
    {
        "source": "# old inputs fade\nfolded = 1\nbecause(kept, 0 * kept, kept + 1, line=0.5)",
        "metadata": {
            "tags": ["evidence"], "label": "old-inputs-fade", "claim": "The tanh fades.",
            "with": "tanh", "without": "no tanh", "control": "other matrix", "range": "5 seeds",
        },
    },
    {
        "source": "# ten of twelve\nassert kept[0] == 0",
        "metadata": {
            "tags": ["evidence"], "label": "in-ten-heads", "claim": "Ten heads do.",
            "with": "heads", "control": "random heads", "range": "12 heads",
        },
    },
    {"source": "np.sum([kept * part for part in kept])", "metadata": {}},
]  # fmt: skip
QUIZ = """\
Quiz title: A name

% what
Title: What fades?
1.  What fades, and always?
% why: observation, in-ten-heads
*a) Old inputs
... Because of the tanh.
b)  New ones
... They cannot.
"""
TOML = 'title = "A name"\n'
WORDS = """\
# Words

```{glossary}
row
  It sums to one, because each is divided by it.<!-- why: theorem, test_name::test_a_sum -->
```

Old inputs never stay.<!-- why: intervention, 01-name#old-inputs-fade -->
"""
TOC = (
    "parts: [{numbered: true, chapters: [{file: book/01-name}]},"
    " {chapters: [{file: book/words, sections: [{file: book/none}]}]}]"
)


def made_up(root, old="", new=""):
    """Return a chapter of a book of one chapter, in which one text stands in for another."""
    code = {"cell_type": "code", "outputs": [], "execution_count": None}
    markdown = {"cell_type": "markdown", "metadata": {}}
    made = [
        markdown | {"source": cell} if isinstance(cell, str) else code | cell for cell in NOTEBOOK
    ]
    notebook = {"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    files = {
        "_toc.yml": TOC,
        "book/01-name.ipynb": json.dumps(notebook, ensure_ascii=False),
        "course/ch01_name/chapter.toml": TOML,
        "course/ch01_name/quiz.txt": QUIZ,
        "book/words.md": WORDS,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    assert any(old in text for text in files.values())
    return Chapter(1, "01-name", root)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Return what makes the chapter, in a book that has its source and its equation."""
    monkeypatch.setattr("course.claims.sources", lambda: {"a1964"})
    monkeypatch.setattr("course.claims.labels", lambda: {"eq-sum"})
    monkeypatch.setattr("course.claims.tests", lambda: {"test_name::test_a_sum"})
    return lambda old="", new="": made_up(tmp_path, old, new)


@pytest.mark.english
def test_a_sound_chapter_has_no_fault(book):
    chapter = book()
    assert [told for find in (faults, crowds, closed_names, untied) for told in find(chapter)] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("why: intervention, old", "why: reason, old", "'reason' is no kind, take one of theorem"),
        ("why: intervention, old", "why intervention, old", "is no tie, write <!-- why: kind"),
        ("intervention, old-inputs-fade -->", "intervention -->", "'' is not the label of a cell"),
        ("intervention, old-", "intervention, new-", "'new-inputs-fade' is not the label of a"),
        ("intervention, old-", "intervention, 02-b#old-", "'02-b#old-inputs-fade' is not the"),
        ("intervention, old-inputs-fade", "observation, eq-sum", "'eq-sum' is not the label of a"),
        ("citation, a1964 table 1", "citation, b1964 table 1", "references.bib has no 'b1964'"),
        ("citation, a1964 table 1", "citation, a1964", "say where in a1964: its section, table"),
        ("theorem, eq-sum", "theorem", "'' is not a label"),
        ("theorem, eq-sum", "theorem, eq-product", "'eq-product' is not a label"),
        ("; advice", "; advice, sec-gone", "'sec-gone' is not a label"),
        ("observation, in-ten-heads", "definition", "'in-ten-heads': no sentence is tied to it"),
        ("intervention, old-inputs-fade -->. It", "definition -->. It", "only another page is"),
        ('"label": "in-ten-heads", ', "", "cell None: give it a label of lower-case words"),
        ('"label": "in-ten-heads"', '"label": "In ten"', "give it a label of lower-case words"),
        ('"label": "in-ten-heads"', '"label": "old-inputs-fade"', "another cell has this label"),
        ('"without": "no tanh", ', "", "in its metadata, each in one line: without"),
        ('"range": "5 seeds"', '"range": " "', "say in its metadata, each in one line: range"),
        ('"control": "random heads", ', "", "in its metadata, each in one line: control"),
        ("The tanh fades.", "The tanh\\nfades.", "'old-inputs-fade': each of its metadata is one"),
        ("because(kept", "begin(kept", "an intervention calls `because("),
        ("# old inputs", "old = 1  #", "begin it with a comment that says"),
        ("% why: observation, in-ten", "% why: observation, in-two", "quiz, what: <!-- why: obs"),
    ],
)  # fmt: skip
def test_a_tie_that_holds_nothing_is_named(book, old, new, expected):
    problems = list(faults(book(old, new)))
    assert any(expected in problem for problem in problems), problems


@pytest.mark.english
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<!-- why: intervention, old-inputs-fade -->.", ".", 'text: "Old inputs fade because'),
        (
            "\\n\\n<!-- why: citation, a1964 table 1; theorem, eq-sum -->",
            "",
            'text: "{cite:t}`a1964` saw it first, and every row',
        ),
        ("\\n<!-- why: observation, in-ten-heads; advice -->", "", 'text: "So try others."'),
        ("% why: observation, in-ten-heads\n", "", 'quiz, what: "Because of the tanh."'),
        (
            "% why: observation, in-ten-heads\n*a) Old inputs\n... Because of the tanh.",
            "*a) Old inputs\n... Because of the tanh.\n% why: theorem, here",
            'quiz, what: "They cannot."',
        ),
        ("advice -->", "advice -->\\n\\nSo why always?", ""),
        ('"outputs": []', '"outputs": [], "a": "because"', ""),
    ],
)
def test_a_sentence_that_gives_a_reason_and_has_no_tie_is_named(book, old, new, expected):
    problems = list(untied(book(old, new)))
    assert [expected in problem for problem in problems][:1] == [True] * bool(expected), problems


@pytest.mark.english
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("<!-- why: theorem, test_name::test_a_sum -->", "", 'text: "row It sums'),
        (" stay.<!-- why: intervention, 01-name#old-inputs-fade -->", " stay.", "Old inputs never"),
        ("never stay.<!-- why: intervention, 01-name#old-inputs-fade -->", "fade.", ""),
        ("why: theorem, test_name", "why: rule, test_name", "'rule' is no kind"),
        ("test_name::test_a_sum", "test_name::test_gone", "'test_name::test_gone' is not a label"),
        ("intervention, 01-name#old", "intervention, old", "'old-inputs-fade' is not the label of"),
    ],
)
def test_a_page_to_look_things_up_in_is_held_to_the_same(book, old, new, expected):
    (page,) = look_ups(book(old, new).root)
    problems = [told for find in (faults, untied) for told in find(page)]
    assert [expected in problem for problem in problems] == [True] * bool(expected), problems


def test_a_chapter_may_not_name_a_test_where_it_has_cells(book):
    problems = list(faults(book("theorem, eq-sum", "theorem, test_name::test_a_sum")))
    assert ["'test_name::test_a_sum' is not a label" in each for each in problems] == [True]


def test_a_page_to_look_things_up_in_makes_of_a_cell_no_more_than_it_is(book):
    old, new = "01-name#old-inputs-fade", "01-name#in-ten-heads"
    problems = list(faults(book(old, new)))
    assert any("in its metadata, each in one line: without" in each for each in problems), problems


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("nine<!-- = all_there -->", "nine<!-- = a -->, 8<!-- = b -->", "3 measured numbers, at"),
        ("two<!-- = kept -->", "2<!-- = a -->. It had 3<!-- = b -->", ""),
        ("It is", "It<!-- = a -->. It<!-- = b -->. " * 3 + "It<!-- = c -->", "7 measured numbers"),
        ("It is", "It<!-- = a -->. It<!-- = b -->. " * 3 + "It is", ""),
    ],
)
def test_too_many_numbers_in_a_sentence_or_paragraph_are_named(book, old, new, expected):
    problems = list(crowds(book(old, new)))
    assert [expected in problem for problem in problems] == [True] * bool(expected), problems


HIDDEN = '"metadata": {"tags": ["evidence"]}'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("for part in kept])", "for part in folded])", ["`folded`"]),
        ("[kept * part for", "[folded * part for", ["`folded`"]),
        ("import numpy as np\\n", "", ["`np`", "`np`"]),
        ("kept = np.arange(3)", "kept += np.arange(3)", ["`kept`"]),
        ("kept = np.arange(3)", "kept = sum(len(i) for i in [[1]])\\n%timeit 1", []),
        ("kept = np", "def f(x, *, y=2):\\n    return x, y, z\\n\\n\\nkept = np", ["`z`"]),
        ('for part in kept])", "metadata": {}', f'for part in gone])", {HIDDEN}', []),
    ],
)
def test_an_open_cell_that_uses_what_only_a_fold_defines_is_named(book, old, new, expected):
    problems = list(closed_names(book(old, new)))
    assert len(problems) == len(expected), problems
    assert all(name in problem for name, problem in zip(expected, problems, strict=True)), problems


def test_ties_are_read_in_their_order():
    assert parse("why: theorem, here; citation, a1964 table 1") == [
        ("theorem", "here"), ("citation", "a1964 table 1"),
    ]  # fmt: skip
    assert parse("why: definition") == [("definition", "")]
    assert parse("= kept") == parse("citation") == []


def test_the_comments_of_a_passage_are_read_in_their_order(book):
    (section,) = read(book().notebook)[1:]
    first = next(each for each in section.passages if each.text.startswith("Old"))
    assert comments(first) == ["why: intervention, old-inputs-fade", "= kept", "= all_there"]
