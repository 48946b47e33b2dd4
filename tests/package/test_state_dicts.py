"""Entries of a state_dict: each comes in its shape, or an error names it."""

import numpy as np
import pytest

from attnbook.pretrained.state_dicts import take

STATE = {"attn.weight": np.ones((3, 5), np.float32), "attn.bias": [0, 1, 2]}


def test_an_entry_of_the_shape_is_returned_as_a_copy_in_its_dtype():
    array = take(STATE, "attn.weight", (3, None))
    assert array.dtype == np.float32
    array[:] = 7
    assert (STATE["attn.weight"] == 1).all()
    assert take(STATE, "attn.bias", (None,)).tolist() == [0, 1, 2]
    assert take({"x": np.array([7], np.uint8)}, "x", (1,)).dtype == np.uint8


def test_a_missing_key_is_named_with_those_that_look_like_it():
    state = {"mlp": np.ones(1), "norm": np.ones(1), "attn.out": np.ones(1)} | STATE
    with pytest.raises(KeyError) as error:
        take(state, "attn.weights", (3, 5))
    near = "'attn.weight', 'attn.bias', 'attn.out'"  # the nearest first, and no more than three
    assert error.value.args == (f"the state_dict lacks 'attn.weights'; it has {near}",)
    with pytest.raises(KeyError) as error:
        take({}, "attn.weight", (3, 5))
    assert error.value.args == ("the state_dict lacks 'attn.weight'; it has no keys",)


@pytest.mark.parametrize("shape", [(5, 3), (3,), (3, 5, 1), (None, 3), (), (None, None, None)])
def test_another_shape_is_named(shape):
    with pytest.raises(ValueError, match=r"^state_dict\['attn.weight'\] must .*, got \(3, 5\)$"):
        take(STATE, "attn.weight", shape)


def test_any_size_is_called_so():
    with pytest.raises(ValueError, match=r"must have shape \(any, 3\), got \(3, 5\)$"):
        take(STATE, "attn.weight", (None, 3))


@pytest.mark.parametrize(
    ("wrong", "dtype"),
    [(["a"], "dtype <U1"), ([1j], "dtype complex128"), ([True], "dtype bool")],
)
def test_what_is_no_number_is_named(wrong, dtype):
    with pytest.raises(
        TypeError, match=rf"^state_dict\['x'\] must be of real numbers, got {dtype}$"
    ):
        take({"x": wrong}, "x", (1,))


def test_what_cannot_be_an_array_is_named():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("Got unsupported ScalarType BFloat16")

    with pytest.raises(TypeError, match=r"^state_dict\['x'\] must be made an array first: Got"):
        take({"x": Tensor()}, "x", (1,))
