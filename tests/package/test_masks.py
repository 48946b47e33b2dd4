"""Boolean masks: True means that the query may attend to the key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import causal_mask, padding_mask


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 13])
def test_causal_mask_allows_the_past_and_the_present(length):
    mask = causal_mask(length)
    assert mask.dtype == bool
    assert mask.shape == (length, length)
    expected = [[key <= query for key in range(length)] for query in range(length)]
    assert mask.tolist() == expected


@pytest.mark.parametrize(("len_q", "len_k"), [(2, 5), (1, 7), (3, 3), (5, 2), (3, 0), (0, 3)])
def test_the_last_query_stands_at_the_last_key(len_q, len_k):
    mask = causal_mask(len_q, len_k)
    assert (mask.dtype, mask.shape) == (bool, (len_q, len_k))
    for query, key in np.ndindex(len_q, len_k):
        assert mask[query, key] == (len_k - key >= len_q - query)  # as far from the end, or more


def test_causal_mask_takes_numpy_integers_and_gives_a_new_array():
    first, second = causal_mask(np.int64(3)), causal_mask(3)
    first[0, 2] = True  # the caller may change it
    assert second.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_a_negative_length_is_named():
    with pytest.raises(ValueError, match=r"^len_q must not be negative, got -1"):
        causal_mask(-1)
    with pytest.raises(ValueError, match=r"^len_k must not be negative, got -2"):
        causal_mask(3, -2)


@pytest.mark.parametrize("length", [2.0, "2", None])
def test_a_length_is_an_integer(length):
    with pytest.raises(TypeError, match="integer"):
        causal_mask(length)
    if length is not None:
        with pytest.raises(TypeError, match="integer"):
            causal_mask(3, length)


@given(st.lists(st.integers(0, 7), max_size=5), st.integers(0, 4))
def test_padding_mask_allows_the_real_tokens(lengths, extra):
    max_length = max(lengths, default=0) + extra
    mask = padding_mask(lengths, max_length)
    assert mask.dtype == bool
    assert mask.shape == (len(lengths), 1, max_length)
    assert mask[:, 0].tolist() == [[key < n for key in range(max_length)] for n in lengths]


def test_padding_mask_is_as_long_as_the_longest_sequence_by_default():
    assert padding_mask([2, 5, 3]).tolist() == [
        [[True, True, False, False, False]],
        [[True, True, True, True, True]],
        [[True, True, True, False, False]],
    ]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_padding_mask_takes_any_integers(dtype):
    lengths = np.array([0, 3, 2], dtype)
    assert padding_mask(lengths, 5).sum(axis=-1).tolist() == [[0], [3], [2]]
    assert lengths.tolist() == [0, 3, 2]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_padding_mask_of_empty_sequences(lengths):
    assert padding_mask(lengths).shape == (len(lengths), 1, 0)
    assert not padding_mask(lengths, 3).any()


def test_a_length_may_be_the_whole_of_max_length():
    assert padding_mask([3, 2], 3)[:, 0].tolist() == [[True, True, True], [True, True, False]]


def test_masks_combine_with_and():
    both = padding_mask([2, 3, 5]) & causal_mask(5)
    assert both.shape == (3, 5, 5)
    for sequence, length in enumerate([2, 3, 5]):
        for query, key in np.ndindex(5, 5):
            assert both[sequence, query, key] == (key <= query and key < length)


@pytest.mark.parametrize(
    ("lengths", "max_length", "message"),
    [
        ([2, -1], None, "lengths must not be negative, got -1"),
        ([2, -1], 3, "lengths must not be negative, got -1"),
        ([2, 7], 5, r"lengths must not exceed max_length \(5\), got 7"),
        ([2, 3], -1, "max_length must not be negative, got -1"),
        ([[2, 3]], None, r"lengths must have shape \(batch,\), got \(1, 2\)"),
        (3, None, r"lengths must have shape \(batch,\), got \(\)"),
    ],
)
def test_bad_lengths_are_named(lengths, max_length, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        padding_mask(lengths, max_length)


@pytest.mark.parametrize("lengths", [[2.0, 3.0], [True, False], ["2"]])
def test_lengths_are_integers(lengths):
    with pytest.raises(
        TypeError, match=f"^lengths must be integers, got .*{np.array(lengths).dtype}"
    ):
        padding_mask(lengths)


def test_max_length_is_an_integer():
    with pytest.raises(TypeError, match="integer"):
        padding_mask([2, 3], 5.0)
