"""The page that lists what the checks catch, and whether each bank keeps what it promises."""

from __future__ import annotations

import itertools
import re

import pytest

from course import kill_table as kill
from course import verdicts
from course.bank import Wrong
from course.chapters import chapters
from course.promises import keep
from course.verdicts import Judged

CHAPTERS = chapters()
ENTRIES = {entry.name: entry for chapter in CHAPTERS for entry in kill.entries(chapter)}
every_entry = pytest.mark.parametrize("name", ENTRIES)


@pytest.fixture(scope="session")
def judged():
    return verdicts.judged()


def test_each_exercise_and_each_task_is_on_the_page_under_its_title(monkeypatch):
    monkeypatch.setattr(kill, "rows", lambda entry, judged: ["| row |"])
    page = "\n".join(kill.kill_table())
    assert page.count("\n### ") == page.count("\n:::{") == page.count("| row |") == len(ENTRIES)
    for chapter in CHAPTERS:
        assert f"## [{chapter.about['title']}]({chapter.label})" in page
        for name, title in {**chapter.exercises, **chapter.tasks}.items():
            listed = re.search(rf"^### .*{re.escape(title)}", page, re.M)
            assert bool(listed) == (name in ENTRIES), title


@every_entry
def test_each_wrong_answer_of_a_bank_has_a_row_with_what_is_said(name, judged):
    entry, general = ENTRIES[name], kill.say("kill_general")
    rows = list(kill.rows(entry, judged[name]))
    for row, wrong in zip(rows, entry.wrong, strict=True):
        assert row.startswith(f"| `{wrong.answer.__name__}` | ")
        assert (general in row) == (not wrong.names_mistake)


@every_entry
def test_two_thirds_of_the_messages_of_a_bank_name_the_mistake(name, judged):
    entry = ENTRIES[name]
    whose = "a task" if entry.is_task else "an exercise"
    keep(name, whose, "wrong_answers", len(entry.wrong))
    keep(name, whose, "percent_named", 100 * entry.named / len(entry.wrong))
    counts = [len(entry.wrong), entry.named, len(entry.wrong) - entry.named]
    summary = kill.section(entry, judged[name]).split(":::")[1].splitlines()[0]
    assert re.findall(r"\d+", summary) == [str(count) for count in counts]


def test_markup_outside_of_code_is_escaped_and_a_bar_within_it():
    told = kill.marked("a_b `c_d | e` [0] \n  $x$ `f`")
    assert told == r"a\_b `c_d \| e` \[0\] \$x\$ `f`"


@pytest.mark.parametrize("name", ["softmax", "window-mask"])
def test_a_bank_that_is_not_judged_as_it_says_is_refused(name, judged):
    entry, passed, refused = ENTRIES[name], judged[name].right[0], judged[name].wrong[0]
    right, wrong = entry.right[0], entry.wrong[0].answer
    with pytest.raises(ValueError, match=f"{right.__name__} is called correct"):
        list(kill.rows(entry._replace(wrong=[Wrong(right, [], True)]), Judged([passed], [])))
    with pytest.raises(ValueError, match=f"{wrong.__name__} is called wrong: {name}"):
        list(kill.rows(entry._replace(wrong=[], right=[wrong]), Judged([], [refused])))


@pytest.mark.parametrize("name", ["all_tasks", "_all_exercises"])
def test_a_notebook_without_one_of_its_tasks_or_exercises_is_refused(monkeypatch, name):
    known = getattr(kill, name)()
    monkeypatch.setattr(kill, name, lambda: known | {"one-more": None})
    with pytest.raises(ValueError, match=r"\['one-more'\] have a checker"):
        list(itertools.islice(kill.kill_table(), 1))
