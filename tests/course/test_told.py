"""What nbgrader tells while it grades, and what students read in the feedback."""

from __future__ import annotations

import re

import grade_demo
import pytest
import students
from nbgrading import begin_course, nbgrader

ASSIGNMENT = "02-scaled-dot-product"
HONEST = ("perfect", "empty")
TESTS = ("window-mask-right", "window-mask-loops", "entropy-weights-right")
TESTS += ("keep-few-numbers", "keep-few-reading")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    begin_course(root, ASSIGNMENT)
    for name in (*HONEST, "edits_tests", "copies_tests"):
        grade_demo.hand_in(root, name, ASSIGNMENT, getattr(students, name))
    return root


@pytest.fixture(scope="module")
def told(course):
    """Return what is said about each student, by the student's name."""
    text = nbgrader(course, "autograde", ASSIGNMENT)
    return dict(re.findall(r"(?s)with ID '(\w+)'(.*?)(?=Creating/updating|\Z)", text))


@pytest.mark.parametrize("student", HONEST)
def test_nothing_is_warned_of_an_honest_student(student, told):
    assert not re.findall(r".*(?:WARNING|ERROR|Warning:).*", told[student])


def test_tests_that_a_student_changed_are_named_with_the_points_claimed(told):
    found = re.findall(r"WARNING\] (.*)", told["edits_tests"])
    assert found == [
        f"edits_tests: cell {name} {change}; the released one counts"
        for name in TESTS
        for change in ("was changed", "has 100 points")
    ]


def test_tests_that_a_student_replaced_are_named(told):
    found = re.findall(r"cell ([\w-]+) was changed", told["copies_tests"])
    assert set(found) == set(TESTS) - {"keep-few-reading"}  # a copy of this one is gone again


def test_nothing_else_is_warned_of_students_who_tamper(told):
    for student in ("edits_tests", "copies_tests"):
        assert "checksum" not in told[student]
        assert "Warning" not in told[student]
