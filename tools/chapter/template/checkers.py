"""The exercises of the chapter @TITLE@."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Cases, Exercise, with_hints


def _average_cases(rng: np.random.Generator) -> Cases:
    # TODO: inputs of several sizes, each with the id of what to think of if an answer fails there.
    for rows, columns in ((5, 3), (2, 7)):
        yield {"x": rng.standard_normal((rows, columns))}, "sizes"


_AVERAGE = Exercise(
    call="average_rows(x)",
    reference=lambda x: x.mean(axis=0),
    cases=_average_cases,
    mistakes=dict(  # TODO: every mistake that a reader may make, by an id, and what it computes
        columns=lambda x: x.mean(axis=1),
        sums=lambda x: x.sum(axis=0),
    ),
)

EXERCISES = with_hints(__file__, {"@SLUG@-average": _AVERAGE})
