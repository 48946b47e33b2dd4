"""What is told about chapter @NUMBER@ in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import numpy as np

from attnbook import softmax
from course.quiz import numbers
from course.truths import Truths

TRUTHS = Truths()


@TRUTHS.question
def largest(question):  # TODO: a function for each question, called as its id
    weights = softmax(np.array(numbers(question), dtype=float))
    assert weights.argmax() == 0
    return "the-first"
