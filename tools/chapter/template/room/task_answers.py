"""Answers to assignment @NUMBER@."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# TODO: answers as students write them; each stands alone, with np and attnbook and nothing else.


@BANK.right_for("@SLUG@-sums")
def sums_along_rows(x):
    return x.sum(axis=1)


@BANK.wrong_for("@SLUG@-sums", names="columns")
def sums_along_columns(x):
    return x.sum(axis=0)


@BANK.right_for("@SLUG@-largest")
def largest_along_rows(x):
    return x.max(axis=1)


@BANK.wrong_for("@SLUG@-largest", names="smallest")
def smallest_along_rows(x):
    return x.min(axis=1)


@BANK.right_for("@SLUG@-sharp")
def largest_weights(scores, sharpness):
    return attnbook.softmax(sharpness[:, None] * scores).max(axis=1)


@BANK.wrong_for("@SLUG@-sharp", names="divided")
def weights_of_divided(scores, sharpness):
    return attnbook.softmax(scores / np.maximum(sharpness[:, None], 1e-9)).max(axis=1)
