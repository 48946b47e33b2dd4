"""The script that trained the translator: the first steps of three runs, and its variants."""

import json

import numpy as np
import pytest

from course.chapters import ROOT
from tools import train_translator
from tools.train_translator import VARIANTS, begin, steps

STORED = json.loads((ROOT / "attnbook/data/translator.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["whole", "no_causal_mask", "memory_by_values_only"])
def test_the_first_steps_of_a_run_are_those_recorded(name):
    module, run = begin(name, 0)
    for step in steps(name, module, run):
        if step == len(STORED["first"][name]) == 20:
            break
    np.testing.assert_allclose(run.losses, STORED["first"][name], rtol=1e-9)
    assert run.steps == 1200


def test_every_variant_is_recorded_and_differs_in_its_first_steps():
    assert set(STORED["runs"]) == set(VARIANTS)
    seen = {}
    for name in VARIANTS:
        module, run = begin(name, 0)
        for step in steps(name, module, run):
            if step == 3:
                break
        losses = tuple(run.losses)
        assert losses not in seen.values(), name
        seen[name] = losses


def test_a_line_that_is_gone_is_named(monkeypatch):
    monkeypatch.setitem(VARIANTS, "whole", ([("no such line", "")], {}, {}))
    with pytest.raises(SystemExit, match="whole: 'no such line' must stand once"):
        train_translator.variant("whole")
