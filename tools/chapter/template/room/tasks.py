"""Assignment @NUMBER@, @TITLE@."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.functional import softmax
from course.grading.task import Measurement, level, sizes

# TODO: three tasks that are graded: two functions, and one measurement with a number to read off.


def _rows(rng):
    yield {"x": rng.standard_normal(sizes(rng, (3, 5), (7, 11)))}, "each_row"
    yield {"x": rng.standard_normal(sizes(rng, (2, 7), (3, 5)))}, "sizes"


_SUMS = Exercise(
    call="row_sums(x)",
    reference=lambda x: x.sum(axis=1),
    cases=_rows,
    mistakes=dict(columns=lambda x: x.sum(axis=0), means=lambda x: x.mean(axis=1)),
)

_LARGEST = Exercise(
    call="largest_of_rows(x)",
    reference=lambda x: x.max(axis=1),
    cases=_rows,
    mistakes=dict(columns=lambda x: x.max(axis=0), smallest=lambda x: x.min(axis=1)),
)


def _scores(rng):
    yield {"scores": rng.permutation(20) / 4, "sharpness": np.linspace(0, 10, 101)}, "each_one"


def _largest_weights(scores, sharpness):
    return np.array([softmax(s * scores).max() for s in sharpness])


_SHARP = Measurement(
    call="largest_weight",
    reference=_largest_weights,
    cases=_scores,
    returns=("largest_weight",),
    read=lambda rng, scores, s: s[_largest_weights(scores, s) > level(rng)][0],
    how="smallest_above_level",
    mistakes=dict(divided=lambda scores, s: _largest_weights(scores, 1 / np.maximum(s, 1e-9))),
)

TASKS = with_hints(
    __file__,
    {
        "@SLUG@-sums": _SUMS,
        "@SLUG@-largest": _LARGEST,
        "@SLUG@-sharp": _SHARP,
    },
)
