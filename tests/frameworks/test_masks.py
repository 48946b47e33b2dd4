"""*Masks in every library*: what was recorded is what each library does today."""

import importlib.util
import json
import warnings

import numpy as np
import pytest

from course.chapters import ROOT

MASKS = ROOT / "attnbook/data/mask_conventions.json"
GOLDEN = ROOT / "tests/package/golden/make_golden.py"
STORED = json.loads(MASKS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return what the script records when it is run again."""
    spec = importlib.util.spec_from_file_location("make_golden", GOLDEN)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.CONVENTIONS = tmp_path_factory.mktemp("golden") / MASKS.name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how libraries make arrays of one another's
        script.torch_conventions()
        script.jax_conventions()
    return json.loads(script.CONVENTIONS.read_text(encoding="utf-8"))


def numbers(held):
    return np.array(held, dtype=float)


@pytest.mark.parametrize("kind", ["rows", "empty_rows"])
def test_each_call_gives_what_was_recorded(recorded, kind):
    calls = [row["call"] for row in STORED[kind]]
    assert [row["call"] for row in recorded[kind]] == calls
    for new, old in zip(recorded[kind], STORED[kind], strict=True):
        told = f"{old['call']}: book/masks.md tells of {old['version']}, which gave something else"
        assert new["version"].partition("+")[0] == old["version"].partition("+")[0], told
        if kind == "rows":
            assert new["given"] == old["given"]
            np.testing.assert_allclose(
                numbers(new["output"]), numbers(old["output"]), atol=1e-6, err_msg=told
            )
        else:
            assert new["gives"] == old["gives"], told


def test_where_the_causal_masks_begin(recorded):
    assert recorded["causal"] == STORED["causal"]
