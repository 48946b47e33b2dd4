"""Layers of other libraries, read into ours: what is missing or has another shape is named."""

import re

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


@pytest.mark.parametrize("thing", READ)
def test_the_page_runs_in_the_order_that_it_names(thing):
    """A reader has one namespace, in which the numbers have become tensors."""
    names = converted(given(np.dtype("float64")), "torch")
    exec(snippet(thing, "torch"), names)
    theirs = names["output"].detach().numpy()
    exec(snippet(thing, "book"), names)
    exec(snippet(thing, "then"), names)
    assert abs(names["output"] - theirs).max() <= 1e-5 * max(1, abs(theirs).max())


def test_without_biases():
    names = prepared("read_torch")
    layer = torch.nn.MultiheadAttention(names["d_model"], names["num_heads"], bias=False)
    assert {*names["state"]} - {*layer.state_dict()} == {"in_proj_bias", "out_proj.bias"}
    names["state"] = layer.state_dict()
    code = re.sub(r"^b_.*\n|(b_\w)=\1,?", "", snippet("read_torch", "book"), flags=re.M)
    exec(code + snippet("read_torch", "then"), names)
    x = torch.from_numpy(names["x"]).float().swapaxes(0, 1)
    theirs = layer(x, x, x)[0].swapaxes(0, 1).detach().numpy()
    np.testing.assert_allclose(names["output"], theirs, atol=1e-5)


def test_bfloat16_is_refused_by_name():
    names = prepared("read_gpt2")
    names["state"] = {key: held.bfloat16() for key, held in names["state"].items()}
    with pytest.raises(TypeError, match=r"'c_attn.weight'\] must be made an array first"):
        exec(snippet("read_gpt2", "book"), names)
