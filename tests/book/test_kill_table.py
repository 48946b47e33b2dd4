"""The page that lists what the checks catch, and whether each bank keeps what it promises."""

from __future__ import annotations

import json
import os
import re

import pytest

from course.bank import Wrong
from course.chapters import ROOT, chapters
from course.grading import seeds
from course.grading.judging import all_tasks
from tools import kill_table as kill
from tools.code_in_text import with_code

PAGE = (ROOT / "book/kill-table.md").read_text(encoding="utf-8")
ASSIGNMENTS = [chapter.master for chapter in chapters()]
WRONG = {
    f"{kind}-{name}": found
    for kind, part in (("ex", "exercise_answers"), ("task", "task_answers"))
    for chapter in chapters()
    for name, found in chapter.part(part).BANK.wrong.items()
}
SECTION = r"""(?:\(task-([\w-]+)\)=\n)?### (.+)

:::\{admonition\} (.+)
:class: dropdown(?: toggle-shown)?

\| wrong answer \| what the student reads \|
\|---\|---\|
((?:\| .+ \| .+ \|\n)+)
?(?:Each … stands for a number of steps.
)?:::
"""
LOOP = " (right, with a loop)"


def sections():
    """Return each section's title, wrong answers and loops by its label."""
    found = []
    for task, heading, title, table in re.findall(SECTION, PAGE):
        label = f"task-{task}" if task else re.search(r"\((ex-[\w-]+)\)$", heading)[1]
        rows = [tuple(row[2:-2].split(" | ")) for row in table.splitlines()]
        wrong = [row for row in rows if not row[0].endswith(LOOP)]
        found.append((label, (title, wrong, rows[len(wrong) :])))
    return found


def as_told(marked):
    """Return a message without the page's marks."""
    return re.sub(r"`|\\(.)", r"\1", marked)


SECTIONS = dict(sections())
every_bank = pytest.mark.parametrize("label", WRONG)


@pytest.fixture(params=["softmax", "window-mask"])
def entry(request, monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, "demo")
    (found,) = (
        each
        for chapter in chapters()
        for each in (*kill.exercises_of(chapter), *kill.tasks_of(chapter))
        if each.name == request.param
    )
    return found


@pytest.mark.pinned
def test_the_page_is_what_its_script_makes_whatever_the_class(monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, "another class")
    assert kill.page() == PAGE
    assert os.environ[seeds.VARIABLE] == "another class"


def test_each_exercise_and_each_task_has_one_section():
    assert sorted(label for label, _ in sections()) == sorted(WRONG)
    assert PAGE.count("\n### ") == PAGE.count("\n:::{") == len(WRONG)


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.parent.name)
def test_tasks_are_called_as_in_their_assignment(path):
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    assignment = re.match(r"# (Assignment \d+): ", first)[1]
    tasks = re.findall(r"^\| (\d+)\. (.+?) \| (.+) \|$", first, re.M)
    assert tasks
    for number, title, points in tasks:
        listed = f"\n### [{assignment}, task {number}: {title}](" in PAGE
        assert listed == ("graded by your teacher" not in points)


@every_bank
def test_each_wrong_answer_of_a_bank_stands_there_with_its_message(label):
    _, listed, _ = SECTIONS[label]
    for (_, told), wrong in zip(listed, WRONG[label], strict=True):
        assert re.search(wrong.message, as_told(told))
        assert told.startswith(kill.GENERAL) == (not wrong.names_mistake)


@every_bank
def test_two_thirds_of_the_messages_of_a_bank_name_the_mistake(label):
    title, listed, _ = SECTIONS[label]
    general = sum(told.startswith("*(general)*") for _, told in listed)
    named = len(listed) - general
    assert 3 * named >= 2 * len(listed)
    said = f"{named} and is general for {general}" if general else "all"
    assert title == f"{len(listed)} wrong answers: the message names the mistake for {said}"


def test_the_introduction_has_the_totals():
    for kind, what in (("ex", "exercises"), ("task", "tasks")):
        banks = [found for label, found in WRONG.items() if label.startswith(f"{kind}-")]
        wrongs = [wrong for found in banks for wrong in found]
        named = sum(wrong.names_mistake for wrong in wrongs)
        total = f"- {len(banks)} {what} with {len(wrongs)} wrong answers: the message names"
        assert f"{total} the mistake for {named}. " in PAGE


@pytest.mark.parametrize("name", all_tasks())
def test_a_loop_is_spoken_of_where_it_costs_points(name):
    *_, loops = SECTIONS[f"task-{name}"]
    assert bool(loops) == bool(getattr(all_tasks()[name], "sized", None))
    for _, told in loops:
        assert re.match(r"there is a loop in Python: … steps for \d+ items, … for \d+\. ", told)


MARKED = [
    ("fit on the first ", "steps // 2", " steps alone."),
    ("", "one_recall(states, wanted)", " raised an error"),
    ("the shape of result is ", "(5, 4)", ", expected something else"),
    ("", "tanh(query[i] @ w_query + key[j] @ w_key)", ": the tanh is over the sum."),
    ("a shape of ", "(4,)", " + inhomogeneous part"),
    ("this is ", "exp(-|distance| / bandwidth)", ": square both"),
    ("each step has the factor ", "1 - h_t**2", "."),
    ("masked scores are 0 (set, or multiplied by the mask), and ", "exp(0) = 1", "."),
    ("Divide with // to get a whole number, by ", ".astype(int)", ""),
    ("sum with ", "keepdims=True", ", not without."),
    ("take entry ", "[0, 1]", ", then square."),
    ("the first state is left out: its step leads from ", "h_0", " on."),
    ("the read-out is turned by ", "-back", "."),
    ("use the ", "~", " operator"),
    ("gufunc signature ", "(n?,k),(k,m?)->(n?,m?)", " (size 4 is different from 3)."),
]


@pytest.mark.parametrize(("before", "code", "after"), MARKED, ids=[code for _, code, _ in MARKED])
def test_code_in_a_message_is_marked_and_nothing_else(before, code, after):
    said = f"`{code}`" if code == "~" else code  # NumPy puts this one between backticks
    told = with_code(before + said + after)
    assert re.findall(r"`([^`]+)`", told) == [code.replace("|", r"\|")]
    assert as_told(told) == before + code + after


def test_an_answer_is_called_as_its_function_with_names_in_code_kept():
    def scores_divided_by_d_k_and_len_q(len_q):
        pass

    assert kill.words(scores_divided_by_d_k_and_len_q) == "Scores divided by `d_k` and `len_q`"


def test_links_into_the_repository_lead_to_files():
    links = set(re.findall(r"https://github.com/attnbook/attnbook/blob/main/([^)]+)", PAGE))
    assert len(links) == 3 * len(ASSIGNMENTS)  # two banks and an assignment of each chapter
    assert all((ROOT / link).is_file() for link in links)


def test_a_wrong_answer_that_is_called_correct_is_refused(entry):
    spoilt = entry._replace(wrong=[Wrong(entry.right[0], "", True)])
    with pytest.raises(ValueError, match=f"{entry.right[0].__name__} is called correct"):
        list(kill.rows(spoilt))


def test_a_right_answer_that_is_called_wrong_is_refused(entry):
    answer = entry.wrong[0].answer
    with pytest.raises(ValueError, match=f"{answer.__name__} is called wrong: "):
        list(kill.rows(entry._replace(right=[answer])))


@pytest.mark.parametrize("name", ["all_tasks", "_all_exercises"])
def test_a_notebook_without_one_of_its_tasks_or_exercises_is_refused(monkeypatch, name):
    known = getattr(kill, name)()
    monkeypatch.setattr(kill, name, lambda: known | {"one-more": None})
    with pytest.raises(ValueError, match="a notebook lacks an exercise or a task"):
        kill.page()
