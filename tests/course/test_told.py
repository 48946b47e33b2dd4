"""What nbgrader tells while it grades, and what students read in the feedback."""

from __future__ import annotations

import os
import pwd
import re

import pytest
from bs4 import BeautifulSoup

from tests.course.nbgrading import begin_course, collect, errors_below, nbgrader, scores
from tools import grade_demo, students

ASSIGNMENT = students.ODD_ASSIGNMENT
HONEST = ("perfect", "empty")
TESTS = ("window-mask-right", "entropy-weights-right", "keep-few-numbers", "keep-few-reading")


def raises(assignment):
    """Raise an error in the first task, and return too little in the second."""
    return {
        "window-mask": "def window_mask(length, window):\n    return [][length]\n",
        "entropy-weights": "def entropy_weights(scores, wanted):\n    return scores[0]\n",
    }


def plain_softmax(assignment):
    """Fail a visible check with a mistake that has a name; end the kernel; ask for much memory."""
    return {
        "window-mask": "import os\n\ndef window_mask(length, window):\n    os._exit(3)\n",
        "entropy-weights": "def entropy_weights(scores, wanted):\n"
        "    return attnbook.softmax(scores)\n",
        "keep-few": "errors = np.ones(10**12)\n",
    }


def waits(assignment):
    """Wait in the first task for what never comes."""
    wait = "import signal\n\ndef window_mask(length, window):\n"
    return {"window-mask": f"{wait}    while True:\n        signal.pause()\n"}


def ends(assignment):
    """Ask the kernel to end in the second task, and end it in the third."""
    return {
        "entropy-weights": "def entropy_weights(scores, wanted):\n    exit()\n",
        "keep-few": "import os\n\nclass Errors:\n    def __array__(self, *_, **__):\n"
        "        os._exit(4)\n\nerrors, enough = Errors(), 1\n",
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    begin_course(root, ASSIGNMENT)
    for name in (*HONEST, "edits_tests", "copies_tests", "loses_cells"):
        grade_demo.hand_in(root, name, ASSIGNMENT, getattr(students, name))
    for name, make in (("raises", raises), ("named", plain_softmax), ("ends", ends)):
        grade_demo.hand_in(root, name, ASSIGNMENT, make)
    grade_demo.hand_in(root, "waits", ASSIGNMENT, waits)
    me = pwd.getpwuid(os.geteuid()).pw_name  # one hands in through the exchange
    shared = root / "inbound" / f"{me}+{ASSIGNMENT}+2026-01-31 12:00:00.5 UTC+abc"
    shared.mkdir(parents=True)
    made = (root / "handed-in" / "perfect" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_bytes()
    (shared / f"{ASSIGNMENT}.ipynb").write_bytes(made)
    (shared / "submission_secret.txt").write_text("5ec2e7" * 21 + "00")
    return root


@pytest.fixture(scope="module")
def told(course):
    """Return what is said about each student, by the student's name."""
    table = collect(course, ASSIGNMENT, "handed-in", "inbound")
    text = nbgrader(course, "autograde", ASSIGNMENT, "--student=[!w]*")
    text += nbgrader(course, "autograde", ASSIGNMENT, "--student=waits", call_timeout=1)
    said = dict(re.findall(r"(?s)with ID '(\w+)'(.*?)(?=Creating/updating|\Z)", text))
    rows = re.findall(r"(?m)^(\w+) +collected +\S+?(?:: (.*))?$", table)
    return {student: (said[student], row) for student, row in rows}


@pytest.mark.parametrize("student", HONEST)
def test_nothing_is_warned_of_an_honest_student(student, told):
    assert not re.findall(r".*(?:WARNING|ERROR|Warning:).*", told[student][0])
    assert told[student][1] == ""


@pytest.mark.parametrize(
    ("student", "row"),
    [
        ("edits_tests", f"{', '.join(TESTS)} changed or missing: as released"),
        (
            "copies_tests",
            f"{', '.join(TESTS[:3])} changed or missing: as released; "
            "1 cells of the student's own left out",
        ),
        (
            "loses_cells",
            "colab, setup, window-mask-right, entropy-weights-right, keep-data, "
            "keep-few-numbers, keep-few-reading changed or missing: as released",
        ),
    ],
)
def test_what_a_student_changed_but_answers_is_named_and_nothing_else_is_warned_of(
    student, row, told
):
    assert told[student][1] == row
    assert not re.findall(r".*(?:WARNING|ERROR|Warning:|checksum).*", told[student][0])


def test_each_has_the_points_of_what_is_right(course, told):
    found = {student: points[:4] for student, points in scores(course, ASSIGNMENT).items()}
    assert found == {
        **dict.fromkeys(("perfect", "copies_tests", "loses_cells"), students.FULL),
        pwd.getpwuid(os.geteuid()).pw_name: students.FULL,
        "edits_tests": students.NONE._replace(first=5),
        **dict.fromkeys(("empty", "raises", "named", "ends", "waits"), students.NONE),
    }


# What students read


def said_below(course, student):
    """Return the error below each test of a student's graded notebook, by the test's name."""
    return errors_below(course, student, ASSIGNMENT, TESTS)


def test_an_answer_left_empty_is_called_not_written_yet(course, told):
    found = said_below(course, "empty")
    assert list(found) == list(TESTS)
    for test, name in (("window-mask-right", "window_mask"), (TESTS[1], "entropy_weights")):
        assert found[test] == [f"{name} is not written yet: it raised NotImplementedError"]
    for test in TESTS[2:]:
        assert "is not defined: is its cell left empty, or did it fail?" in found[test][0]


def test_what_a_student_s_function_raises_is_told_as_its_own(course, told):
    found = said_below(course, "raises")
    (first,) = found["window-mask-right"]
    assert first == "your function window_mask raised IndexError: list index out of range"


def test_where_a_visible_check_fails_the_mistake_is_named_all_the_same(course, told):
    visible, named = said_below(course, "named")["entropy-weights-right"]
    assert visible == "AssertionError: 0.9 for the larger score"
    assert "this is the plain softmax" in named


def test_why_a_kernel_ended_is_told(course, told):
    first, *_ = said_below(course, "named").values()
    assert first == ["window_mask: the kernel was ended from within (exit 3)."]
    _, asked, numbers, reading = said_below(course, "ends").values()
    why = "the kernel was ended from within (exit 4)"
    assert numbers == [f"errors: {why}."]
    assert reading == [f"errors: not run, since in a test before {why}."]
    assert asked == ["entropy_weights: the kernel was asked to end, as by exit()."]
    late, *_ = said_below(course, "waits").values()
    assert late == ["window_mask: it gave no result in 1 s (does a loop never end?)."]


def test_too_much_memory_is_told_and_ends_no_kernel(course, told):
    (found,) = errors_below(course, "named", ASSIGNMENT, ["keep-few"]).values()
    assert "Unable to allocate 7.28 TiB" in found[-1]


def test_a_notebook_that_takes_too_long_in_all_is_given_up(course, told):
    grade_demo.hand_in(course, "slow", ASSIGNMENT, students.perfect)
    collect(course, ASSIGNMENT)
    nbgrader(course, "autograde", ASSIGNMENT, "--student=slow", most_seconds=0)
    found = said_below(course, "slow")
    assert list(found) == list(TESTS)
    assert all("the notebook took too long" in each[0] for each in found.values())


def test_feedback_is_released_to_those_who_handed_in_through_the_exchange(course, told):
    exchange = course / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    shared = pwd.getpwuid(os.geteuid()).pw_name
    for student in (shared, "empty"):
        nbgrader(course, "generate_feedback", ASSIGNMENT, f"--student={student}")
    text = nbgrader(course, "release_feedback", ASSIGNMENT, f"--Exchange.root={exchange}")
    (page,) = (exchange / "attention" / "feedback").glob("*.html")
    pages = {
        name: course / "feedback" / name / ASSIGNMENT / f"{ASSIGNMENT}.html"
        for name in (shared, "empty")
    }
    assert page.read_bytes() == pages[shared].read_bytes()
    named = re.findall("give the student (.*)", text)
    assert named == [str(pages["empty"])]


def test_a_long_message_wraps_in_feedback(course, told):
    said = nbgrader(course, "generate_feedback", ASSIGNMENT, "--student=raises")
    assert "WARNING" not in said
    text = (course / "feedback" / "raises" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    page = BeautifulSoup(text, "html.parser")
    rules = "".join(style.text for style in page.find_all("style"))
    wrapping = re.findall(r"([^{}]+)\{[^}]*white-space: pre-wrap", rules)
    wrapped = [tag for rule in wrapping for tag in page.select(rule.strip())]
    messages = page.select(".output_error pre")
    assert len(messages) >= len(TESTS)
    assert all(message in wrapped for message in messages)
