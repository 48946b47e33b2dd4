"""What instructors rely on: objectives that are tested, sessions that fit, times that hold."""

import re

import pytest

from course import pages, quiz
from course.chapters import ROOT, chapters
from course.sessions import snippets

CHAPTERS = chapters()
PAGE = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
KINDS = ("exercises", "tasks", "questions")

every_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


def headings(chapter):
    return [question.heading for question in quiz.read(chapter).questions]


@pytest.mark.parametrize("part", pages.PARTS)
def test_each_part_made_of_the_rooms_stands_on_one_page(part):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    assert sum(text.count(f"```{{rooms}} {part}\n```") for text in texts) == 1


# Objectives


@every_chapter
def test_the_objectives_are_those_of_the_chapter_s_box_in_its_order(chapter):
    (box,) = re.findall(r"^\*\*Afterwards you can\*\* (.+)\.$", chapter.prose, re.M)
    assert [each["can"] for each in chapter.about["objectives"]] == box.split("; ")


@every_chapter
def test_title_and_label_are_those_of_the_chapter(chapter):
    label, title = re.search(r"^\((ch-[\w-]+)\)=\n# (.+)$", chapter.prose, re.M).groups()
    assert (chapter.about["title"], chapter.label) == (title, label)


@every_chapter
def test_no_objective_is_left_untested(chapter):
    for objective in chapter.about["objectives"]:
        assert tuple(objective) == ("can", *KINDS)
        assert any(objective[kind] for kind in KINDS), objective["can"]


@every_chapter
@pytest.mark.parametrize("kind", KINDS)
def test_each_exercise_task_and_question_serves_an_objective_and_exists(chapter, kind):
    listed = {each for objective in chapter.about["objectives"] for each in objective[kind]}
    there = headings(chapter) if kind == "questions" else getattr(chapter, kind)
    assert there
    assert listed == set(there)


def test_the_table_has_a_row_for_each_objective_and_numbers_what_tests_it():
    table = "\n".join(pages.objectives())
    for chapter in CHAPTERS:
        for objective in chapter.about["objectives"]:
            assert table.count(f"| {objective['can']} |") == 1
    assert (
        "| show when attention is kernel regression | [Kernel regression](ex-kernel-regression) "
        "| 1, 2 | 4 |" in table
    )


def test_the_tasks_are_listed_with_links_to_the_masters():
    table = "\n".join(pages.tasks())
    for chapter in CHAPTERS:
        master = chapter.master.relative_to(ROOT)
        link = f"[{chapter.number}](https://github.com/attnbook/attnbook/blob/main/{master})"
        assert f"| {link} | {' | '.join(chapter.tasks)} |" in table
        assert chapter.master.is_file()


def test_students_on_a_hub_get_the_nbgrader_that_grades():
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (version,) = re.findall(r"pip install nbgrader==(\S+)$", PAGE, re.M)
    assert f"\nnbgrader=={version}\n" in pinned


# Sessions


@every_chapter
def test_the_minutes_of_a_session_are_75(chapter):
    minutes = [int(number) for number in re.findall(r"^\| (\d+) \|", chapter.session, re.M)]
    assert sum(minutes) == 75


@every_chapter
def test_a_session_names_questions_of_its_chapter_by_their_numbers(chapter):
    asked = re.findall(r"(\d) \(\*(.+?)\*\)", chapter.session)
    assert len(asked) >= 3
    for number, title in asked:
        assert headings(chapter)[int(number) - 1] == title


@every_chapter
def test_what_a_student_can_prove_is_proved_on_the_board(chapter):
    if any("prove" in objective["can"] for objective in chapter.about["objectives"]):
        lines = [line for line in chapter.session.split("\n") if "n the board" in line]
        assert any("{prf:ref}`thm-" in line and "proof" in line for line in lines)


@every_chapter
def test_each_cell_to_paste_is_short_and_named_in_the_table(chapter):
    table, found = chapter.session.split("\n\n```")[0], snippets(chapter)
    assert len(re.findall(r"with the (?:first |second )?cell below", table)) == len(found)
    assert chapter.session.count("```python") == len(found)
    for each in found:
        assert len(each.code.split("\n")) <= 9
        assert max(map(len, each.code.split("\n"))) <= 84  # as wide as the column of text


def test_some_sessions_have_cells_to_paste():
    assert sum(bool(snippets(chapter)) for chapter in CHAPTERS) >= 3


# Times


@every_chapter
def test_the_minutes_to_read_are_the_chapter_s(chapter):
    stated = int(re.search(r"about (\d+) minutes to read", chapter.prose)[1])
    assert stated == chapter.about["minutes"]
    exercises = chapter.prose.count(":::{exercise} ")
    row = rf"^\| \[\]\({chapter.label}\) \| {stated} min \| {exercises} of 10 min \|"
    assert re.search(row, "\n".join(pages.running()), re.M)
