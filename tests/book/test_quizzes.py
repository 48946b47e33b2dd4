"""The quizzes: their form, and the truth of every answer, worked out in the chapters' rooms."""

import re

import pytest

from course import quiz
from course.chapters import cells, chapters
from course.promises import keep
from course.truths import Truths
from course.words import counted
from tests.drafts import every

CHAPTERS = chapters()
QUIZZES = {chapter: quiz.read(chapter) for chapter in CHAPTERS}

every_quiz = pytest.mark.parametrize("chapter", every(), ids=lambda chapter: chapter.name)


def file(chapter):
    return f"course/{chapter.module}/quiz.txt"


# Form


@every_quiz
def test_a_quiz_has_the_chapters_title_and_five_to_eight_questions(chapter):
    title = chapter.about["title"]
    assert QUIZZES[chapter].title == title, f"{file(chapter)}: begin with Quiz title: {title}"
    keep(file(chapter), "a quiz", "questions", len(QUIZZES[chapter].questions))


@every_quiz
def test_one_choice_is_right_and_each_wrong_one_names_a_section_of_the_chapter(chapter):
    for name, question in QUIZZES[chapter].questions.items():
        where = f"{file(chapter)}, {name!r},"
        keep(where, "a question", "choices", len(question.choices))
        keep(where, "a question", "right_choices", sum(each.right for each in question.choices))
        assert len({choice.text for choice in question.choices}) == len(question.choices), where
        for choice in question.choices:
            told = f"{where} {choice.text!r}"
            keep(told, "a question", "feedback", len(choice.feedback.split()))
            # Of a fold that a formula alone opens, a screen reader would not know the name.
            assert re.sub(r"\$[^$]+\$", "", choice.text).strip(), choice
            assert choice.right == (not choice.section), choice


@every_quiz
def test_no_place_is_the_right_one_too_often(chapter):
    places = [[c.right for c in q.choices].index(True) for q in QUIZZES[chapter].questions.values()]
    keep(file(chapter), "a quiz", "right_places", len(set(places)))
    share = 100 * max(map(places.count, places)) / len(places)
    keep(file(chapter), "a quiz", "percent_in_one_place", share)


@pytest.mark.english
@every_quiz
def test_no_reason_marks_the_wrong_choices(chapter):
    questions = QUIZZES[chapter].questions.values()
    reasons = [choice.right for q in questions for choice in q.choices if ", since " in choice.text]
    assert not reasons or any(reasons)


@every_quiz
def test_no_length_marks_the_right_choices(chapter):
    questions = QUIZZES[chapter].questions.values()
    for extreme in (max, min):
        stand_out = 0
        for question in questions:
            lengths = [len(choice.text) for choice in question.choices]
            chosen = question.choices[lengths.index(extreme(lengths))]
            stand_out += chosen.right and lengths.count(extreme(lengths)) == 1
        share = 100 * stand_out / len(questions)
        keep(file(chapter), "a quiz", "percent_standing_out", share)


@every_quiz
def test_the_chapter_ends_with_its_quiz_and_a_link_to_it(chapter):
    last, label = cells(chapter.notebook, "markdown")[-1]["source"], f"quiz-{chapter.label[3:]}"
    box = rf"^\({label}\)=\n## .+\n\n:::\{{admonition\}} .+\n:class: quiz$"
    assert re.search(box, last, re.M), (
        f"{chapter.notebook}: end it with a heading labelled {label} and a box of the class `quiz`"
    )
    assert f"/attnbook/book/{chapter.name}.html#{label})" in last


@pytest.mark.english
@every_quiz
def test_the_chapter_and_the_quiz_say_how_many_questions_there_are(chapter):
    last = cells(chapter.notebook, "markdown")[-1]["source"]
    number = len(QUIZZES[chapter].questions)
    title = f"{counted(number).capitalize()} question{'s' if number > 1 else ''}"
    box = f"## Check yourself\n\n:::{{admonition}} {title}\n:class: quiz\n"
    told = f"{chapter.notebook.name}: write into its last cell\n{box}"
    assert box in last, told
    stated = (chapter.room / "quiz.txt").read_text(encoding="utf-8").splitlines()[1]
    about = f"{title} on chapter {chapter.number} of The Attention Book."
    assert stated == f"Quiz description: {about}", file(chapter)


@pytest.mark.english
def test_has_no_filler():
    words = "simply|obviously|clearly|powerful|delve|crucial|straightforward|of course"
    for chapter in CHAPTERS:
        text = (chapter.room / "quiz.txt").read_text(encoding="utf-8")
        assert not re.findall(rf"\b({words})\b", text, re.I)


SOUND = "Quiz title: T\n\n% h\nTitle: H\n1.  Q?\na)  no\n... why [](sec-what)\n*b) yes\n... so"


@pytest.mark.parametrize(
    "line", ["just words", "e)  a fifth choice", "=   42", "a) one blank", "...", "  1.  indented"]
)
def test_what_is_not_of_the_form_is_an_error_and_not_left_out(line):
    assert len(quiz.parse(SOUND).questions["h"].choices) == 2
    with pytest.raises(ValueError, match=r"^quiz.txt: not of a quiz's form, mend it: "):
        quiz.parse(f"{SOUND}\n{line}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("% h\n", ""), "give an id to .*'H'"),
        (("... so", "... so\n\n% h\nTitle: I\n2.  R?"), "the id 'h' is used twice"),
        (("sec-what", "sec-whut"), "'h' sends to 'sec-whut', name one of"),
    ],
)
def test_ids_and_labels_that_lead_nowhere_are_errors(change, said, monkeypatch):
    (chapter,) = [each for each in CHAPTERS if "sec-what" in each.sections]
    monkeypatch.setattr("pathlib.Path.read_text", lambda *_, **__: SOUND)
    assert quiz.read(chapter).questions["h"].choices[0].section == "sec-what"
    monkeypatch.setattr("pathlib.Path.read_text", lambda *_, **__: SOUND.replace(*change))
    with pytest.raises(ValueError, match=rf"^{chapter.room}/quiz.txt: {said}"):
        quiz.read(chapter)


# Truth


@every_quiz
def test_every_question_is_worked_out(chapter):
    other = set(QUIZZES[chapter].questions) ^ set(chapter.part("truths").TRUTHS.questions)
    assert not other, f"{chapter.room}: quiz.txt or truths.py has not, write it: {sorted(other)}"


@pytest.mark.parametrize(
    ("chapter", "name"),
    [
        pytest.param(chapter, name, id=f"{chapter.number} {name}")
        for chapter in CHAPTERS
        for name in QUIZZES[chapter].questions
    ],
)
def test_the_right_choice_is_what_comes_out_and_no_wrong_one_is(chapter, name):
    question = QUIZZES[chapter].questions[name]
    answer = chapter.part("truths").TRUTHS.questions[name](question)
    answers = (answer,) if isinstance(answer, str) else answer
    ids = {choice.id for choice in question.choices} - {""}
    assert ids or not any(re.fullmatch(r"[a-z-]+", each) for each in answers), (
        f"{chapter.room}/quiz.txt: write % {answers[-1]} above a choice of {name!r}"
    )

    def has(choice, each):
        if each in ids:
            return choice.id == each
        return re.search(rf"(?<![\w.]){re.escape(each)}(?!\w|[.,]\w)", choice.text)

    for choice in question.choices:
        assert all(has(choice, each) for each in answers) == choice.right, (answers, choice.text)


def test_a_question_has_one_truth_only():
    truths = Truths()

    def once(question):
        return "1"

    truths.question(once)
    with pytest.raises(ValueError, match="the id 'once' is used twice"):
        truths.question(once)
