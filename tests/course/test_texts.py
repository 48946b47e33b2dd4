"""The written tasks: what students are told, the model answers, and what these say."""

import re

import numpy as np
import pytest

from course.chapters import cells, chapters
from course.grading.judging import all_tasks
from course.grading.seeds import class_seed
from course.promises import keep

CHAPTERS = chapters()
SAID = [
    (chapter, check) for chapter in CHAPTERS for check in chapter.part("truths").TRUTHS.assignment
]


def written_task(chapter):
    """Return the text of the written task, and the cell with its model answer and rubric."""
    *_, task, answer = cells(chapter.master, "markdown")
    return task["source"].split("\n\n"), answer


def model_answer(chapter):
    """Return the paragraphs between the two that name answer and rubric."""
    return " ".join(written_task(chapter)[1]["source"].split("\n\n")[1:-2])


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_model_answer_keeps_to_the_length_and_the_rubric_to_the_five_points_that_are_told(
    chapter,
):
    (_, task, criteria), answer = written_task(chapter)
    low, high = map(int, re.findall(r"\d+", task)[:2])
    length, where = len(model_answer(chapter).split()), f"course/{chapter.module}/assignment.ipynb"
    assert low <= length <= high, f"{where}: the model answer has {length} words, not {low}–{high}"
    rubric = answer["source"].split("\n\n")[-1].splitlines()
    points = [int(re.match(r"- \D*(\d+)", line)[1]) for line in rubric]
    keep(where, "an assignment", "rubric", len(points))
    assert set(points) == {1}
    assert sum(points) == answer["metadata"]["nbgrader"]["points"]
    assert len(criteria.split("; ")) == len(points)


def test_some_model_answers_are_checked():
    assert len(SAID) >= 4


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize(
    ("chapter", "check"), [pytest.param(*said, id=said[1].__name__) for said in SAID]
)
def test_what_a_model_answer_says_holds_in_every_class(chapter, check, number):
    def measured(name, read_off=False):
        task, rng = all_tasks()[name], np.random.default_rng(class_seed(f"class {number}"))
        arguments, _ = next(iter(task.cases(rng)))
        if read_off:
            return task.read(rng, *arguments.values())
        return task.reference(*arguments.values())

    for count in check(measured):
        said = f"{count:,}".replace(",", " ")
        assert re.search(rf"(?<![\w.]){said}(?!\w|\.\d)", model_answer(chapter)), said
