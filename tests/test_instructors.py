"""What instructors rely on: objectives that are tested, sessions that fit, times that hold."""

import re

import objectives_source
import pytest
from quiz_text import CHAPTERS, QUIZZES, ROOT

OBJECTIVES = objectives_source.read()
PAGE = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
KINDS = ("exercises", "tasks", "questions")

every_chapter = pytest.mark.parametrize("name", CHAPTERS)


# Objectives


@every_chapter
def test_the_objectives_are_those_of_the_chapter_s_box_in_its_order(name):
    assert list(OBJECTIVES) == CHAPTERS
    assert list(OBJECTIVES[name]) == objectives_source.read_chapter(name).objectives


@every_chapter
def test_no_objective_is_left_untested(name):
    for objective, tests in OBJECTIVES[name].items():
        assert tuple(tests) == KINDS
        assert any(tests.values()), objective


@every_chapter
@pytest.mark.parametrize("kind", KINDS)
def test_each_exercise_task_and_question_serves_an_objective_and_exists(name, kind):
    listed = {each for tests in OBJECTIVES[name].values() for each in tests[kind]}
    there = getattr(objectives_source.read_chapter(name), kind)
    assert there
    assert listed == set(there)


def test_the_table_has_a_row_for_each_objective_and_numbers_what_tests_it():
    table = objectives_source.table()
    for objective in (each for chapter in OBJECTIVES.values() for each in chapter):
        assert table.count(f"| {objective} |") == 1
    assert (
        "| show when attention is kernel regression | [Kernel regression](ex-kernel-regression) "
        "| 1, 2 | 4 |" in table
    )
    assert PAGE.count("```{objectives}") == 1


# Sessions


def sessions():
    found = re.split(r"^### Session \d: (.+)$", PAGE, flags=re.M)[1:]
    return {
        title: text.split("\n## ")[0] for title, text in zip(found[::2], found[1::2], strict=True)
    }


def test_there_is_a_session_for_each_chapter_and_its_minutes_are_75():
    titles = [objectives_source.read_chapter(name).title for name in CHAPTERS]
    assert list(sessions()) == titles
    for text in sessions().values():
        minutes = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)]
        assert sum(minutes) == 75


@every_chapter
def test_a_session_names_questions_of_its_chapter_by_their_numbers(name):
    text = list(sessions().values())[CHAPTERS.index(name)]
    asked = re.findall(r"(\d) \(\*(.+?)\*\)", text)
    assert len(asked) >= 3
    for number, title in asked:
        assert QUIZZES[name].questions[int(number) - 1].heading == title


@every_chapter
def test_what_a_student_can_prove_is_proved_on_the_board(name):
    if any("prove" in objective for objective in OBJECTIVES[name]):
        lines = [
            line
            for line in list(sessions().values())[CHAPTERS.index(name)].split("\n")
            if "n the board" in line
        ]
        assert any("{prf:ref}`thm-" in line and "proof" in line for line in lines)


# Times


@every_chapter
def test_the_minutes_to_read_are_the_chapter_s(name):
    text = (ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8")
    minutes = re.search(r"about (\d+) minutes to read", text)[1]
    exercises = text.count(":::{exercise} ")
    row = rf"^\| \[\]\(ch-{name[3:]}\) \| {minutes} min \| {exercises} of 10 min \|"
    assert re.search(row, PAGE, re.M)
