"""What instructors rely on: objectives that are tested, sessions that fit, times that hold."""

import re

import pytest

from course import claims, pages, quiz
from course.chapters import ROOT, by_id, chapters, without_comments
from course.promises import PROMISES, keep
from course.truths import snippets
from tests.drafts import every

CHAPTERS = chapters()
GRADING = (ROOT / "book/instructors-grading.md").read_text(encoding="utf-8")

every_chapter = pytest.mark.parametrize("chapter", every(), ids=lambda chapter: chapter.name)


def box(chapter):
    """Return the text of the box that says what a chapter is for, and how long it takes."""
    found = re.findall(
        r"^:::\{admonition\}[^\n]+\n:class:[^\n]*\bobjectives\b[^\n]*\n(.+?)^:::$",
        without_comments(chapter.prose),
        re.M | re.S,
    )
    assert len(found) == 1, f"book/{chapter.name}.ipynb: give one box the class `objectives`"
    return found[0]


@pytest.mark.parametrize("part", pages.PARTS)
def test_each_part_made_of_the_rooms_stands_on_one_page(part):
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    place = re.compile(rf"^```\{{rooms\}} {part}( \w+)?\n```$", re.M)
    assert len([text for text in texts if place.search(text)]) == 1


def test_an_old_link_to_a_section_that_has_moved_leads_to_a_link_to_its_page():
    page = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    for label in ("assignments", "collect", "run-a-class-on-a-hub"):
        (name,) = re.findall(rf'<span id="{label}"></span>.*?\]\(([\w-]+\.md)\)', page)
        assert f"({label})=\n" in (ROOT / "book" / name).read_text(encoding="utf-8")


# Objectives


@every_chapter
def test_the_objectives_are_those_of_the_chapter_s_box_in_its_order(chapter):
    place = 0
    for each in chapter.about["objectives"]:
        place = box(chapter).find(each["can"], place)
        assert place > 0, f"{chapter.room}/chapter.toml: not said, or not here: {each['can']!r}"


@every_chapter
def test_the_box_stands_right_under_the_title_and_is_short(chapter):
    above, _, _ = chapter.prose.partition(box(chapter))
    under = rf"\({chapter.label}\)=\n# .+\n\n:::\{{admonition\}} .+\n:class: .+\n"
    assert re.fullmatch(under, above), f"book/{chapter.name}.ipynb: move the box under the title"
    text = re.sub(r"\]\([^)]*\)", "]", box(chapter))
    keep(chapter.name, "a chapter", "words_in_its_box", len(re.findall(r"\S*\w\S*", text)))


@every_chapter
def test_title_and_label_are_those_of_the_chapter(chapter):
    label, title = re.search(r"^\((ch-[\w-]+)\)=\n# (.+)$", chapter.prose, re.M).groups()
    assert (chapter.about["title"], chapter.label) == (title, label)


@every_chapter
def test_something_tests_each_objective_and_what_tests_exists_and_serves_one(chapter):
    assert all(pages.tested(chapter).values())


BROKEN = {
    "nothing tests": {"exercises": [], "tasks": [], "questions": []},
    r"no questions are called \['no-such-question'\]": {"questions": ["no-such-question"]},
    r"no objective lists the exercises \['attention', 'scores'\]": {"exercises": []},
}


@pytest.mark.parametrize("said", BROKEN)
def test_objectives_and_tests_that_do_not_agree_are_named(said, monkeypatch):
    (chapter,) = [each for each in chapters() if each.number == 2]
    first = chapter.about["objectives"][0]
    monkeypatch.setattr(pages, "chapters", lambda: [chapter])
    first |= BROKEN[said]
    with pytest.raises(ValueError, match=rf"^{chapter.room}/chapter.toml: .*{said}"):
        "".join(pages.objectives())


def test_an_id_that_is_used_twice_or_missing_is_an_error():
    assert by_id([("a", 1), ("b", 2)], "here") == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match=r"^here: the id 'a' is used twice"):
        by_id([("a", 1), ("b", 2), ("a", 3)], "here")
    with pytest.raises(ValueError, match=r"^here: give an id to 'Title'"):
        by_id([("", "Title")], "here")


def test_the_table_has_a_row_for_each_objective_and_numbers_what_tests_it():
    table = "\n".join(pages.objectives())
    for chapter in CHAPTERS:
        for objective in chapter.about["objectives"]:
            assert table.count(f"| {objective['can']} |") == 1
    assert "(ex-kernel-regression) | 1, 2 | 6 |" in table


def test_the_tasks_are_listed_with_links_to_the_masters():
    table = "\n".join(pages.tasks())
    for chapter in CHAPTERS:
        master = chapter.master.relative_to(ROOT)
        link = f"[{chapter.number}](https://github.com/attnbook/attnbook/blob/main/{master})"
        assert f"| {link} | {' | '.join(chapter.tasks.values())} |" in table
        assert chapter.master.is_file()


def test_students_on_a_hub_get_the_nbgrader_that_grades():
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (version,) = re.findall(r"pip install nbgrader==(\S+)$", GRADING, re.M)
    assert f"\nnbgrader=={version}\n" in pinned


@pytest.mark.english
def test_a_call_is_stopped_after_as_many_seconds_as_the_page_says():
    settings = (ROOT / "course/grading/settings.py").read_text(encoding="utf-8")
    assert "\n    c.JudgedExecute.call_timeout = 10 " in settings
    assert "A call that takes more than ten seconds" in GRADING


# Sessions


@every_chapter
def test_the_minutes_of_a_session_are_75(chapter):
    minutes = [int(number) for number in re.findall(r"^\| (\d+) \|", chapter.session, re.M)]
    keep(f"course/{chapter.module}/session.md", "a session", "minutes", sum(minutes))


@every_chapter
def test_a_session_asks_questions_of_its_quiz_by_their_ids(chapter):
    asked = pages.ASKED.findall(chapter.session)
    keep(f"course/{chapter.module}/session.md", "a session", "questions", len(asked))
    shown = pages.session(chapter)
    for number, (name, question) in enumerate(quiz.read(chapter).questions.items(), 1):
        times = chapter.session.count(f"{{question}}`{name}`")
        assert shown.count(f"{number} (*{question.heading}*)") == times


@every_chapter
def test_a_session_asks_in_the_order_of_the_quiz_which_is_that_of_the_sections(chapter):
    """And so in the order of the slides, on which a question follows its section."""
    questions, order = quiz.read(chapter).questions, list(chapter.sections)
    asked = [list(questions).index(name) for name in pages.ASKED.findall(chapter.session)]
    assert asked == sorted(asked)
    names = [{choice.section for choice in q.choices} - {""} for q in questions.values()]
    places = [max(map(order.index, each)) for each in names]
    assert places == sorted(places)


def test_a_session_that_asks_an_unknown_question_is_an_error(monkeypatch):
    text = "| 5 | {question}`no-such-question` |"
    monkeypatch.setattr(type(CHAPTERS[0]), "session", text)
    with pytest.raises(ValueError, match=r"ch01\w+/session.md: .*no-such-question"):
        pages.session(CHAPTERS[0])


@pytest.mark.english
@every_chapter
def test_what_a_student_can_prove_is_proved_on_the_board(chapter):
    if any("prove" in objective["can"] for objective in chapter.about["objectives"]):
        lines = [line for line in chapter.session.split("\n") if "n the board" in line]
        assert any("{prf:ref}`thm-" in line and "proof" in line for line in lines)


@every_chapter
def test_each_cell_to_paste_is_short_and_its_section_named_in_the_table(chapter):
    table, found = chapter.session.split("\n\n")[0], snippets(chapter)
    assert chapter.session.count("```python") == len(found)
    for each in found:
        assert f"]({each.section})" in table
        where, lines = (
            f"course/{chapter.module}/session.md, {each.sentence!r},",
            each.code.split("\n"),
        )
        keep(where, "a session", "lines", len(lines))
        keep(where, "a session", "columns", max(map(len, lines)))


@pytest.mark.english
@every_chapter
def test_each_cell_to_paste_is_named_in_the_table(chapter):
    table = chapter.session.split("\n\n")[0]
    named = re.findall(r"with the (?:first |second )?cell below", table)
    assert len(named) == len(snippets(chapter))


def test_some_sessions_have_cells_to_paste():
    assert sum(bool(snippets(chapter)) for chapter in CHAPTERS) >= 3


# The plan of a course, and times


def test_the_plan_collects_each_assignment_a_week_after_it_was_handed_out():
    rows = [row.split("|") for row in pages.plan()][1:]
    out, back = ({row[at].strip(): int(row[1]) for row in rows} for at in (5, 6))
    assert out.keys() == back.keys() == {"", *(str(chapter.number) for chapter in CHAPTERS)}
    assert all(back[each] == week + 1 for each, week in out.items() if each)


@pytest.mark.english
def test_the_page_says_how_fast_a_chapter_is_read():
    rates = PROMISES["a chapter"]
    told = "at {words_a_minute} words or {lines_a_minute} lines of code a minute".format(**rates)
    assert told in (ROOT / "book/instructors.md").read_text(encoding="utf-8")


@every_chapter
def test_the_minutes_to_read_are_the_chapter_s(chapter):
    minutes, exercises = chapter.about["minutes"], len(chapter.exercises)
    assert re.search(rf"\b{minutes}\b", box(chapter)), "say in the chapter's box how long it takes"
    row = list(pages.plan())[chapter.number]
    week, _, *numbers = [re.findall(r"\d+", cell) for cell in row.split("|")[1:-1]]
    assert [week, numbers[0]] == [[str(chapter.number)], [str(minutes)]]
    assert sum(map(int, numbers[1])) == exercises  # its own, and its appendices'


@pytest.mark.english  # it finds a section by its heading
def test_what_the_page_promises_of_safety_names_its_tests():
    """That they exist, `course.claims` looks after."""
    withstands = GRADING.partition("### What the grading withstands\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"definition, test_\w+::test_\w+", withstands)) >= 12


@pytest.mark.english
def test_what_is_promised_of_safety_to_who_works_on_it_names_tests_that_exist():
    readme = (ROOT / "course/README.md").read_text(encoding="utf-8")
    promised = readme.partition("## What the grading does about tricks\n")[2]
    named = re.findall(r"\btest_\w+::test_\w+", promised)
    assert len(set(named)) >= 25
    assert set(named) <= claims.tests()
