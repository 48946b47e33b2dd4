"""What instructors rely on: objectives that are tested, sessions that fit, times that hold."""

import re

import objectives_source
import pytest
from quiz_text import CHAPTERS, QUIZZES, ROOT
from sessions_text import PAGE, SESSIONS, SNIPPETS, sessions

OBJECTIVES = objectives_source.read()
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


def test_the_tasks_are_listed_with_links_to_the_masters():
    for number, name in enumerate(CHAPTERS, 1):
        tasks = objectives_source.read_chapter(name).tasks
        master = objectives_source.files(name)[1].relative_to(ROOT)
        link = f"[{number}](https://github.com/attnbook/attnbook/blob/main/{master})"
        assert f"| {link} | {' | '.join(tasks)} |\n" in PAGE


def test_students_on_a_hub_get_the_nbgrader_that_grades():
    pinned = (ROOT / "course/constraints.txt").read_text(encoding="utf-8")
    (version,) = re.findall(r"pip install nbgrader==(\S+)$", PAGE, re.M)
    assert f"\nnbgrader=={version}\n" in pinned


# Sessions


def test_there_is_a_session_for_each_chapter_and_its_minutes_are_75():
    titles = [objectives_source.read_chapter(name).title for name in CHAPTERS]
    assert list(sessions()) == titles
    for text in sessions().values():
        minutes = [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)]
        assert sum(minutes) == 75


@every_chapter
def test_a_session_names_questions_of_its_chapter_by_their_numbers(name):
    text = SESSIONS[name]
    asked = re.findall(r"(\d) \(\*(.+?)\*\)", text)
    assert len(asked) >= 3
    for number, title in asked:
        assert QUIZZES[name].questions[int(number) - 1].heading == title


@every_chapter
def test_what_a_student_can_prove_is_proved_on_the_board(name):
    if any("prove" in objective for objective in OBJECTIVES[name]):
        lines = [line for line in SESSIONS[name].split("\n") if "n the board" in line]
        assert any("{prf:ref}`thm-" in line and "proof" in line for line in lines)


@pytest.mark.parametrize("name", SNIPPETS)
def test_each_cell_to_paste_is_short_and_named_in_the_table(name):
    table = SESSIONS[name].split("\n\n```")[0]
    assert len(re.findall(r"with the (?:first |second )?cell below", table)) == len(SNIPPETS[name])
    assert SESSIONS[name].count("```python") == len(SNIPPETS[name])
    for each in SNIPPETS[name]:
        assert len(each.code.split("\n")) <= 9
        assert max(map(len, each.code.split("\n"))) <= 84  # as wide as the column of text


# Times


@every_chapter
def test_the_minutes_to_read_are_the_chapter_s(name):
    text = (ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8")
    minutes = re.search(r"about (\d+) minutes to read", text)[1]
    exercises = text.count(":::{exercise} ")
    row = rf"^\| \[\]\(ch-{name[3:]}\) \| {minutes} min \| {exercises} of 10 min \|"
    assert re.search(row, PAGE, re.M)
