"""The script that trained the translator: the first steps of three runs, and its variants."""

import json

import numpy as np
import pytest

from course.chapters import ROOT
from tools.train_translator import VARIANTS, begin, steps

STORED = json.loads((ROOT / "attnbook/data/translator.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["whole", "no_causal_mask", "memory_by_values_only"])
def test_the_first_steps_of_a_run_are_those_recorded(name):
    run = begin(name, 0)
    for step in steps(run):
        if step == len(STORED["first"][name]) == 20:
            break
    np.testing.assert_allclose(run.losses, STORED["first"][name], rtol=1e-9)
    assert run.steps == 1200


def test_every_variant_is_recorded_and_begins_as_it_did():
    assert set(STORED["runs"]) == set(VARIANTS)
    seen = {}
    for name in VARIANTS:
        run = begin(name, 0)
        for step in steps(run):
            if step == 3:
                break
        np.testing.assert_allclose(run.losses, STORED["first"][name][:3], rtol=1e-9)
        told = (*run.losses, run.steps)  # a longer run begins as the shorter one did
        assert told not in seen.values(), name
        seen[name] = told
