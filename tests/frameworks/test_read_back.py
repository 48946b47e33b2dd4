"""Layers of other libraries, read into ours: what is missing or has another shape is named."""

import numpy as np
import pytest
import torch

from course.frameworks import snippet
from tools.frameworks import converted, given, run

READ = ("read_torch", "read_llama", "read_gpt2")


def prepared(thing):
    """Return what the cell that reads is given: the numbers, and the state of a small model."""
    start = given(np.dtype("float64"))
    torch.manual_seed(0)
    theirs = run(thing, "torch", converted(start, "torch"))
    return start | {"state": dict(theirs["state"])}


def keys(thing):
    return [pytest.param(thing, key, id=f"{thing} {key}") for key in prepared(thing)["state"]]


@pytest.mark.parametrize(("thing", "key"), [each for thing in READ for each in keys(thing)])
def test_a_missing_key_is_named(thing, key):
    names = prepared(thing)
    del names["state"][key]
    with pytest.raises(KeyError, match=rf"lacks '{key}'; it has '"):
        exec(snippet(thing, "book"), names)


@pytest.mark.parametrize(("thing", "key"), [each for thing in READ for each in keys(thing)])
def test_another_shape_is_refused(thing, key):
    names = prepared(thing)
    names["state"][key] = names["state"][key][:-1]
    with pytest.raises(ValueError, match=rf"state_dict\['{key}'\] must have shape"):
        exec(snippet(thing, "book"), names)
    names["state"][key] = names["state"][key][None]
    with pytest.raises(ValueError, match=rf"state_dict\['{key}'\] must have shape"):
        exec(snippet(thing, "book"), names)


def test_bfloat16_is_refused_by_name():
    names = prepared("read_gpt2")
    names["state"] = {key: held.bfloat16() for key, held in names["state"].items()}
    with pytest.raises(TypeError, match=r"'c_attn.weight'\] must be made an array first"):
        exec(snippet("read_gpt2", "book"), names)
