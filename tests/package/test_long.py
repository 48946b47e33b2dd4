"""The cache of keys and values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import KVCache

BATCH, KV_HEADS, HEAD_DIM, VALUE_DIM = 2, 3, 5, 7


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def pair(length, seed=0, dtype=np.float64):
    key = normal(BATCH, KV_HEADS, length, HEAD_DIM, seed=seed, dtype=dtype)
    return key, normal(BATCH, KV_HEADS, length, VALUE_DIM, seed=seed, dtype=dtype)


@given(st.lists(st.integers(0, 11), min_size=1, max_size=13))
def test_append_returns_all_so_far(lengths):
    cache, keys, values = KVCache(), [], []
    for seed, length in enumerate(lengths):
        key, value = pair(length, seed)
        keys.append(key)
        values.append(value)
        all_keys, all_values = cache.append(key, value)
        np.testing.assert_array_equal(all_keys, np.concatenate(keys, axis=-2))
        np.testing.assert_array_equal(all_values, np.concatenate(values, axis=-2))
        assert len(cache) == sum(lengths[: seed + 1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_bytes_are_those_of_what_is_kept(dtype):
    cache = KVCache()
    assert (len(cache), cache.nbytes) == (0, 0)
    for length in (11, 1, 1):
        kept = cache.append(*pair(length, dtype=dtype))
    assert [array.dtype for array in kept] == [dtype, dtype]
    numbers = 13 * BATCH * KV_HEADS * (HEAD_DIM + VALUE_DIM)
    assert cache.nbytes == numbers * np.dtype(dtype).itemsize


def test_ten_thousand_tokens_cost_less_than_three_copies():
    cache, one = KVCache(), (normal(1, 1, HEAD_DIM), normal(1, 1, VALUE_DIM))
    copied = moved = 0
    store = None
    for _ in range(10_000):
        before = cache.nbytes
        keys, _ = cache.append(*one)
        copied += sum(array.nbytes for array in one)
        assert keys.base.shape[-2] <= 2 * len(cache)
        if keys.base is not store:  # a new store, into which the old one was copied
            store, moved = keys.base, moved + 1
            copied += before
    assert copied < 3 * cache.nbytes
    assert moved < 20


def test_what_was_returned_stays_as_it_was():
    cache = KVCache()
    returned = []
    for length in range(1, 18):
        keys, values = cache.append(*pair(length, length))
        returned.append((keys, keys.copy(), values, values.copy()))
    for keys, keys_then, values, values_then in returned:
        np.testing.assert_array_equal(keys, keys_then)
        np.testing.assert_array_equal(values, values_then)


def test_a_view_is_returned_and_the_given_arrays_are_not_kept():
    cache = KVCache()
    key, value = pair(3)
    first, _ = cache.append(key, value)
    again, _ = cache.append(*pair(1))  # now there is room for twice the first 3
    later, _ = cache.append(*pair(2))
    assert np.shares_memory(again, later)
    key[:] = value[:] = 0
    np.testing.assert_array_equal(first, pair(3)[0])


def test_lists_are_taken_too():
    keys, values = KVCache().append([[1, 0]], [[5]])
    assert (keys.tolist(), values.tolist()) == ([[1, 0]], [[5]])


WRONG = {
    "one axis": (normal(5), normal(5), ValueError, r"key and value must .* \(5,\) and \(5,\)"),
    "other lengths": (pair(3)[0], pair(2)[1], ValueError, "key and value must have shapes"),
    "more axes": (normal(1, *pair(1)[0].shape), pair(1)[1], ValueError, "key and value must"),
    "not numbers": (pair(1)[0] * 1j, pair(1)[1], TypeError, "key must hold real numbers"),
    "no value": (pair(1)[0], [["a"]], TypeError, "value must hold real numbers"),
}
WRONG_LATER = WRONG | {
    "other heads": (
        *(normal(BATCH, 1, 1, dim) for dim in (HEAD_DIM, VALUE_DIM)),
        *(ValueError, r"key must differ .* \(2, 1, 1, 5\) for \(2, 3, \d+, 5\)"),
    ),
    "other head_dim": (normal(*pair(1)[0].shape[:-1], 11), pair(1)[1], ValueError, "key must dif"),
    "other value_dim": (pair(1)[0], pair(1)[0], ValueError, "value must differ"),
    "other dtype": (*pair(1, dtype=np.float32), TypeError, "key .* dtype float64, got float32"),
    "other dtype of values": (
        *(pair(1)[0], pair(1, dtype=np.float32)[1]),
        *(TypeError, "value must have the cache's dtype float64, got float32"),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_cache_can_begin_with_is_named(case):
    *given, error, message = WRONG[case]
    cache = KVCache()
    with pytest.raises(error, match=f"^{message}"):
        cache.append(*given)
    assert (len(cache), cache.nbytes) == (0, 0)
    cache.append(*pair(2, dtype=np.float32))  # any shape and dtype is still welcome


@pytest.mark.parametrize("case", WRONG_LATER)
def test_what_does_not_fit_is_named_and_changes_nothing(case):
    *given, error, message = WRONG_LATER[case]
    cache = KVCache()
    cache.append(*pair(4))
    cache.append(*pair(1, 1))
    with pytest.raises(error, match=f"^{message}"):
        cache.append(*given)
    assert len(cache) == 5
    keys, values = cache.append(*pair(1, 2))
    for now, part in ((keys, 0), (values, 1)):
        expected = np.concatenate([pair(4)[part], pair(1, 1)[part], pair(1, 2)[part]], axis=-2)
        np.testing.assert_array_equal(now, expected)
