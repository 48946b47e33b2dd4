"""The bridge to a student's kernel, with a kernel that is played here: no nbgrader is needed."""

from __future__ import annotations

import base64
import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import attnbook
from attnbook.exercises import WrongAnswer
from course.grading import judging
from course.grading.judging import all_tasks
from course.grading.remote import NoAnswer, Remote
from course.grading.task import Measurement
from course.verdicts import cases_of
from tools import students

PHRASE = "demo"
judge = functools.partial(judging.judge, phrase=PHRASE)


def from_kernel(value):
    """Return a value of a student's notebook as the judge gets it."""
    names = {"value": value}
    return Remote("value", lambda expression: repr(eval(expression, names))).resolve()


def right_window(length, window):
    back = np.arange(length)[:, None] - np.arange(length)
    return (back >= 0) & (back < window)


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        np.float32(2.5),
        [1, 2.5],
        ([1.0, 2.0], [3, 4]),
        np.array([1.5, True, 2], dtype=object),
        [np.array(1.0), np.array(2.0)],
        np.broadcast_to(3.0, (2, 2)),
    ],
    ids=str,
)
def test_numbers_come_back_as_they_were(value):
    got = from_kernel(value)
    assert isinstance(got, tuple) == isinstance(value, tuple)
    assert np.shape(value) or not isinstance(got, np.ndarray)
    for one, other in zip(got, value, strict=True) if np.shape(value) else [(got, value)]:
        np.testing.assert_array_equal(one, np.asarray(other, float))


@pytest.mark.parametrize(
    "value",
    [
        "text",
        {"a": 1},
        np.array([object()], dtype=object),
        np.ma.masked_array([1.0], [True]),
        np.broadcast_to(np.True_, (10**6, 10**6)),  # would fill the disk
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_made_of_numbers_does_not(value):
    got = from_kernel(value)
    assert not isinstance(got, (np.ndarray, list, tuple, float, str))
    assert type(got).__name__ == type(value).__name__  # of which the student is told


def test_a_function_is_judged_through_the_bridge():
    judge("window-mask", from_kernel(right_window))
    judge("window-mask", from_kernel(lambda length, window: right_window(length, window).tolist()))
    with pytest.raises(WrongAnswer) as caught:
        judge("window-mask", from_kernel(lambda n, window: right_window(n, window + 1)))
    assert caught.value.ids == ("too_wide",)
    with pytest.raises(WrongAnswer) as caught:
        judge("window-mask", from_kernel(lambda length: None))
    assert caught.value.ids == ("other_arguments",)


@pytest.mark.parametrize(
    ("task", "number"),
    [(task, i) for task, found in students.WRONG.items() for i in range(len(found))],
)
def test_a_wrong_answer_that_is_handed_in_is_rejected_through_the_bridge(task, number):
    wrong, names = students.WRONG[task][number], {"np": np, "attnbook": attnbook}
    exec(students.handed_in(wrong.answer, "answer"), names)  # it stands alone
    with np.errstate(all="ignore"):
        if isinstance(all_tasks()[task], Measurement):
            numbers = from_kernel(names["answer"](*cases_of(task, PHRASE)[0].values()))
            asked = functools.partial(judging.judge_value, task, numbers, phrase=PHRASE)
        else:
            asked = functools.partial(judge, task, from_kernel(names["answer"]))
        with pytest.raises(WrongAnswer) as caught:
            asked()
    assert " ".join(caught.value.ids) in wrong.ids


@pytest.mark.parametrize("name", all_tasks())
def test_a_right_answer_is_judged_in_few_calls_to_the_kernel(name):
    task, calls = all_tasks()[name], []
    names = {"value": task.reference}
    if isinstance(task, Measurement):
        names["value"] = task.reference(*cases_of(name, PHRASE)[0].values())
    value = Remote("value", lambda code: calls.append(code) or repr(eval(code, names))).resolve()
    if not isinstance(task, Measurement):
        judge(name, value)
    assert 1 <= len(calls) <= 10


def raising(error):
    def window_mask(length, window):
        raise error

    return from_kernel(window_mask)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotImplementedError(), "value is not written yet: it raised NotImplementedError"),
        (ValueError("no: good"), "your function value raised ValueError: no: good"),
        (KeyError(), "your function value raised KeyError"),
        (SystemExit(3), "your function value raised SystemExit: 3"),
    ],
    ids=repr,
)
def test_what_a_function_raised_is_told_as_the_student_s(error, told):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of several kinds
        raising(error)(4, 2)
    assert caught.value.told == told


def test_a_judge_says_that_a_function_is_not_written_yet():
    with pytest.raises(WrongAnswer) as caught:
        judge("window-mask", raising(NotImplementedError()))
    assert caught.value.ids == ("not_written",)
    assert "NotImplementedError." in str(caught.value)
    with pytest.raises(WrongAnswer, match=r"ZeroDivisionError\. ") as caught:
        judge("window-mask", raising(ZeroDivisionError()))
    assert caught.value.ids == ("raised", "itself_and_before")
    with pytest.raises(WrongAnswer) as caught:  # the arguments are not the reason
        judge("window-mask", raising(TypeError("unhashable")))
    assert caught.value.ids == ("raised", "itself_and_before")


def test_a_list_that_a_function_changed_is_told():
    def smaller_layer(w_q, w_k, w_v, w_o, num_heads, removed):
        removed.sort()
        keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
        return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep]

    with pytest.raises(WrongAnswer, match="`removed`") as caught:
        judge("smaller-layer", from_kernel(smaller_layer))
    assert caught.value.ids == ("in_place",)


# Whatever a student's code sends in place of an answer, the judge goes on.


def sent(reply, *arrays, sizes=None):
    """Return what a kernel sends as the answer to a call."""
    named = [[f"part{i}", array.dtype.str, array.shape] for i, array in enumerate(arrays)]
    if not isinstance(reply, bytes):
        reply = json.dumps({**reply, "arrays": sizes or named} if reply else reply).encode()
    parts = [b"%08d" % len(reply), reply, *(array.tobytes() for array in arrays)]
    return repr(base64.b64encode(b"".join(parts)).decode())


ONE = {"kind": "one", "count": 1, "changed": []}


def ask(text):
    """Ask a kernel whose answer is given; return the result, or the error."""
    try:
        return Remote("window_mask", lambda expression: text)(3, 2)
    except NoAnswer as error:
        return error


def test_a_kernel_that_is_played_answers():
    assert ask(sent(ONE, np.array(1.0))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "'A'",
        "'junk!'",
        "None",
        sent(b"[" * 100_000),
        sent(b"[" * 199_000),
        sent(b"[" + b"[]," * 60_000 + b"[]]"),
        sent(b"[" + b"[]," * 1_000_000 + b"[]]"),
        sent([]),
        sent(b"\xff"),
        sent(ONE),
        sent(ONE, np.array(["text"])),
        sent(ONE, np.empty(3, "S0")),
        sent(ONE, np.array([1, 2], "M8[s]")),
        *(
            sent(ONE, np.zeros(3), sizes=[["part0", kind, shape]])
            for kind, shape in (
                ("<f8", [4]),
                ("<f8", [10**12]),
                ("<f8", [-1]),
                ("<f8", [10**9, 10**9, 10**9]),
                ("<f8", "x"),
                ("<f8", [1.5]),
                ("<f8", [1] * 65),
                ("O", [1]),
                ("|V9", [1]),
                ("(9,)f8", [1]),
                (["a", "b"], [1]),
            )
        ),
        sent(ONE, sizes=5),
        sent(ONE, sizes=[["part0"]]),
    ],
    ids=lambda text: text[:9],
)
def test_what_cannot_be_read_is_no_answer(text):
    assert "the kernel gave no answer to read" in str(ask(text))


def test_what_a_kernel_says_is_short_and_of_letters():
    """Whatever an error is called, and says, and whatever a result's class is called."""
    forged = {"error": ["x" * 10**4 + "<b>", "y" * 10**5, True]}
    with pytest.raises(Exception, match=r"y{500}$") as caught:
        Remote("window_mask", lambda expression: sent(forged))(3, 2)
    assert re.fullmatch("x{60}", type(caught.value).__name__)
    assert len(caught.value.told) < 700
    other = ask(sent({"kind": "other <script>" + "z" * 10**5, "changed": []}))
    assert re.fullmatch(r"scriptz{40,60}", type(other).__name__)


def test_a_request_tells_a_kernel_no_path_of_ours():
    asked = []
    with pytest.raises(NoAnswer):
        Remote("window_mask", lambda expression: asked.append(expression) or "")(3, 2)
    assert str(Path(__file__).parents[2]) not in asked[0]
