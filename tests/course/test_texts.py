"""The written tasks: what students are told, the model answers, and what these say."""

import re

import numpy as np
import pytest

from course.chapters import chapters, prose
from course.grading import seeds
from course.grading.judging import all_tasks

CHAPTERS = chapters()
SAID = [
    (chapter, check) for chapter in CHAPTERS for check in chapter.part("truths").TRUTHS.assignment
]


def last_cells(chapter):
    """Return the text of the written task, and the model answer with its rubric."""
    text = prose(chapter.master)
    task, _, answer = text.rpartition("A model answer:\n")
    return task[task.rindex("\n## ") :], answer


def model_answer(chapter):
    return last_cells(chapter)[1].partition("\nRubric")[0]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_model_answer_keeps_to_the_length_and_the_rubric_to_the_five_points_that_are_told(
    chapter,
):
    task, answer = last_cells(chapter)
    low, high = map(int, re.search(r"In (\d+) to (\d+) words", task).groups())
    assert low <= len(model_answer(chapter).split()) <= high
    told = re.search(r"One point each: (.+)\.$", task, re.M)[1].split("; ")
    rubric = re.findall(r"^- 1 point: .+\.$", answer, re.M)
    assert len(told) == len(rubric) == 5


def test_some_model_answers_are_checked():
    assert len(SAID) >= 4


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize(
    ("chapter", "check"), [pytest.param(*said, id=said[1].__name__) for said in SAID]
)
def test_what_a_model_answer_says_holds_in_every_class(chapter, check, number, monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, f"class {number}")

    def measured(name):
        rng = np.random.default_rng(seeds.class_seed())
        arguments, _ = next(iter(all_tasks()[name].cases(rng)))
        return all_tasks()[name].reference(*arguments.values())

    check(model_answer(chapter), measured)
