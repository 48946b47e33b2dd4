"""Softmax in pieces, attention in blocks, and the cache of keys and values."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import (
    KVCache,
    blockwise_attention,
    causal_mask,
    long,
    online_softmax,
    scaled_dot_product_attention,
    softmax,
)
from tests.package import oracles
from tests.package.test_functional import D_K, D_V, LEADING, LEN_K, LEN_Q, OUTER, SHAPES

BATCH, KV_HEADS, HEAD_DIM, VALUE_DIM = 2, 3, 5, 7


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


# --- online_softmax -----------------------------------------------------------------


def test_a_softmax_in_pieces_by_hand():
    # The exponentials are 1, 2, 5 and 8; the maximum grows from block to block.
    blocks = [[0.0], [math.log(2), math.log(5)], [math.log(8)]]
    np.testing.assert_allclose(online_softmax(blocks), np.array([1, 2, 5, 8]) / 16, rtol=1e-14)


@st.composite
def rows_in_pieces(draw):
    length = draw(st.integers(0, 23))
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=7)))
    seed, size = draw(st.integers(0, 99)), draw(st.sampled_from([0.1, 1.0, 100.0, 1e4]))
    rng = np.random.default_rng(seed)
    scores = size * rng.standard_normal((3, 5, length))
    scores[rng.random(scores.shape) < draw(st.sampled_from([0, 0.5]))] = -np.inf
    scores[1, 2] = -np.inf
    return scores, np.split(scores, cuts, axis=-1)


@given(rows_in_pieces())
def test_any_split_gives_the_softmax_of_the_whole_row(case):
    scores, blocks = case
    weights = online_softmax(block for block in blocks)
    expected = np.array([oracles.softmax_row(row) for row in scores.reshape(15, -1)])
    np.testing.assert_allclose(weights, expected.reshape(scores.shape), rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(weights[1, 2], 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_pieces_keep_the_dtype_and_are_not_changed(dtype):
    blocks = [(3 * normal(2, n, seed=n)).astype(dtype) for n in (5, 1, 7)]
    before = [block.copy() for block in blocks]
    weights, whole = online_softmax(blocks), softmax(np.concatenate(blocks, axis=-1))
    assert weights.dtype == whole.dtype
    np.testing.assert_allclose(weights, whole, rtol=4 * np.finfo(whole.dtype).eps)
    np.testing.assert_array_equal(np.hstack(blocks), np.hstack(before))


def test_pieces_of_half_precision_are_computed_in_single():
    blocks = [np.array([65000], np.float16), np.array([-65000], np.float16)]
    np.testing.assert_array_equal(online_softmax(blocks), [1, 0])


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "blocks must hold at least one array"),
        ([[1.0], [[2.0]]], ValueError, r"blocks must have .* got \[\(1,\), \(1, 1\)\]"),
        ([np.ones((2, 3)), np.ones((3, 3))], ValueError, r"blocks .* got \[\(2, 3\), \(3, 3\)\]"),
        ([1.0, 2.0], ValueError, r"blocks must have shapes \(\.\.\., n_i\)"),
        ([[1.0], ["a"]], TypeError, r"blocks\[1\] must hold real numbers"),
    ],
)
def test_pieces_that_do_not_fit_are_named(blocks, error, message):
    with pytest.raises(error, match=f"^{message}"):
        online_softmax(blocks)


# --- blockwise_attention --------------------------------------------------------------


def later_hidden(len_q, len_k):
    """Hide later keys, the last query standing at the last key."""
    return np.array([[j - len_k <= i - len_q for j in range(len_k)] for i in range(len_q)], bool)


def both(mask, causal, len_q, len_k):
    """Return one mask that does what the two arguments do."""
    if not causal:
        return mask
    later = later_hidden(len_q, len_k).reshape(len_q, len_k)
    return later if mask is None else mask & later


def log_of_sums(query, key, mask, scale):
    """Compute logsumexp from the exponentials themselves: for small scores."""
    scores = scale * np.einsum("...id,...jd->...ij", query, key)
    exponentials = np.exp(scores) if mask is None else np.where(mask, np.exp(scores), 0)
    with np.errstate(divide="ignore"):
        return np.log(exponentials.sum(axis=-1))


def test_attention_in_blocks_by_hand():
    # Scores 0, ln 2 and ln 5: weights 1/8, 2/8 and 5/8, and their exponentials sum to 8.
    key = [[0.0], [math.log(2)], [math.log(5)]]
    result = blockwise_attention([[1.0]], key, [[8.0, 0], [16.0, 8], [24.0, 0]], block_size=2)
    np.testing.assert_allclose(result.output, [[20, 2]], rtol=1e-14)
    np.testing.assert_allclose(result.logsumexp, [math.log(8)], rtol=1e-14)


@pytest.mark.parametrize("case", oracles.GOLDEN["sdpa"], ids=lambda case: case["name"])
@pytest.mark.parametrize("block_size", [2, 1024])
def test_blocks_equal_pytorch(case, block_size):
    query, key, value = (oracles.as_floats(case[name]) for name in ("query", "key", "value"))
    settings = {"causal": case["is_causal"], "scale": case["scale"], "block_size": block_size}
    result = blockwise_attention(query, key, value, case["mask"], **settings)
    np.testing.assert_allclose(result.output, oracles.as_floats(case["output"]), rtol=1e-9)


@st.composite
def attentions(draw):
    """Draw inputs of grouped heads, some with large scores, some masked, and how to cut them."""
    length = st.integers(0, 17)
    len_q, len_k = draw(length), draw(length)
    kv_heads, each = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    d_k, d_v = draw(st.sampled_from([(1, 3), (7, 1), (5, 0)]))
    size = draw(st.sampled_from([1.0, 1e4]))  # calm, and not
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    query = size * rng.standard_normal((2, kv_heads * each, len_q, d_k))
    key = rng.standard_normal((2, kv_heads, len_k, d_k))
    value = rng.standard_normal((2, kv_heads, len_k, d_v))
    mask = None
    if draw(st.booleans()):
        heads = draw(st.sampled_from([(), (1,), (kv_heads * each,), (2, 1)]))
        mask = rng.random((*heads, len_q, len_k)) < draw(st.sampled_from([0.1, 0.7]))
    cuts = draw(st.integers(1, 19)), draw(st.integers(1, 19))
    return query, key, value, mask, draw(st.booleans()), *cuts


@pytest.mark.parametrize(("dtype", "bound"), [(np.float32, 1e-6), (np.float64, 1e-12)])
@given(case=attentions())
def test_blocks_equal_the_whole_matrix(dtype, bound, case):
    *arrays, mask, causal, rows, block_size = case
    query, key, value = (array.astype(dtype) for array in arrays)
    each = query.shape[-3] // key.shape[-3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long, "ROWS", rows)
        result = blockwise_attention(query, key, value, mask, causal=causal, block_size=block_size)
    assert result.output.dtype == result.logsumexp.dtype == dtype
    repeated = [np.repeat(array, each, axis=-3) for array in (key, value)]
    one_mask = both(mask, causal, query.shape[-2], key.shape[-2])
    whole = scaled_dot_product_attention(query, *repeated, one_mask)
    np.testing.assert_allclose(result.output, whole.output, rtol=bound, atol=bound)
    empty = whole.weights.sum(axis=-1) == 0
    np.testing.assert_array_equal(result.output[empty], 0)
    np.testing.assert_array_equal(result.logsumexp == -np.inf, empty)
    if np.abs(query).max(initial=0) < 10:
        expected = log_of_sums(query, repeated[0], one_mask, query.shape[-1] ** -0.5)
        np.testing.assert_allclose(result.logsumexp, expected, rtol=10 * bound, atol=10 * bound)


@given(st.integers(0, 99), st.booleans(), st.sampled_from([1.0, 50.0]))
def test_nothing_comes_through_a_mask(seed, causal, size):
    rng = np.random.default_rng(seed)
    query, key = size * normal(LEN_Q, D_K), normal(LEN_K, D_K)
    value, mask = normal(LEN_K, D_V), rng.random((LEN_Q, LEN_K)) < 0.6
    for array in (key, value):
        array[rng.random(array.shape) < 0.05] = rng.choice([np.nan, np.inf, -np.inf])
    seen = both(mask, causal, LEN_Q, LEN_K)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long, "ROWS", 2)
        result = blockwise_attention(query, key, value, mask, causal=causal, block_size=3).output
    expected = oracles.attention_as_ieee_has_it(query, key, value, seen)
    clean = np.isfinite(key).all(axis=-1) & np.isfinite(value).all(axis=-1)
    unspoilt = (seen <= clean).all(axis=-1)  # rows that see no number that is not finite
    np.testing.assert_allclose(result[unspoilt], expected[unspoilt], rtol=1e-9, atol=1e-12)
    assert np.isfinite(result[unspoilt]).all()
    spoilt = (seen & np.isnan(key).any(axis=-1)).any(axis=-1)
    assert np.isnan(result[spoilt]).all()


@pytest.mark.parametrize("mask", [None, np.ones((LEN_K, LEN_K), dtype=bool)], ids=["none", "all"])
@pytest.mark.parametrize("later", range(LEN_K))
def test_a_later_value_reaches_no_earlier_query(later, mask, monkeypatch):
    monkeypatch.setattr(long, "ROWS", 2)
    query, key, value = normal(LEN_K, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    before = blockwise_attention(query, key, value, mask, causal=True, block_size=3).output
    value[later] = np.inf
    result = blockwise_attention(query, key, value, mask, causal=True, block_size=3).output
    np.testing.assert_allclose(result[:later], before[:later], rtol=1e-12)
    assert (result[later:] == np.inf).all()


@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_leading_axes_broadcast(leading):
    q, k, v, m = leading
    inputs = normal(*q, LEN_Q, D_K), normal(*k, LEN_K, D_K), normal(*v, LEN_K, D_V)
    mask = None if m is None else np.random.default_rng(0).random((*m, LEN_Q, LEN_K)) < 0.5
    result = blockwise_attention(*inputs, mask, block_size=3)
    expected, _ = oracles.dot_product_attention(*inputs, mask)
    np.testing.assert_allclose(result.output, expected, rtol=1e-9, atol=1e-12)
    assert result.logsumexp.shape == result.output.shape[:-1]


def test_query_head_h_uses_kv_head_h_by_their_ratio():
    query, key = normal(6, LEN_Q, D_K), normal(2, LEN_K, D_K)
    value = normal(2, LEN_K, D_V)
    result = blockwise_attention(query, key, value)
    for head in range(6):
        alone = scaled_dot_product_attention(query[head], key[head // 3], value[head // 3])
        np.testing.assert_allclose(result.output[head], alone.output, rtol=1e-12)
    shared_keys = blockwise_attention(query, key[:1], value)
    repeated = blockwise_attention(query, key[[0, 0]], value)
    np.testing.assert_array_equal(shared_keys.output, repeated.output)


@pytest.mark.parametrize("scale", [300.0, -300.0])
def test_large_scores_of_either_sign(scale):
    query, key, value = normal(LEN_Q, D_K), normal(LEN_K, D_K), normal(LEN_K, D_V)
    result = blockwise_attention(query, key, value, scale=scale, block_size=3)
    for row, vector in enumerate(query):
        scores = [scale * oracles.dot(vector, other) for other in key]
        expected = oracles.matmul([oracles.softmax_row(scores)], value)[0]
        np.testing.assert_allclose(result.output[row], expected, rtol=1e-9, atol=1e-12)
        total = math.fsum(math.exp(score - max(scores)) for score in scores)
        assert result.logsumexp[row] == pytest.approx(max(scores) + math.log(total), rel=1e-12)


def test_a_maximum_is_sought_only_where_scores_may_be_large(monkeypatch):
    sought = []
    larger = long._larger
    monkeypatch.setattr(long, "_larger", lambda *args: sought.append(1) or larger(*args))
    arrays = normal(3, LEN_K, 64)
    blockwise_attention(*arrays)
    blockwise_attention(1e3 * arrays[0], 1e-3 * arrays[1], arrays[2])
    assert sought == []
    blockwise_attention(10 * arrays[0], *arrays[1:])
    assert sought == [1]


def test_half_precision_is_computed_in_single():
    inputs = [normal(3, 2, n, 5, dtype=np.float16) for n in (11, 7, 7)]
    result = blockwise_attention(*inputs, block_size=3)
    single = blockwise_attention(*(array.astype(np.float32) for array in inputs), block_size=3)
    assert (result.output.dtype, result.logsumexp.dtype) == (np.float16, np.float32)
    np.testing.assert_array_equal(result.output, single.output.astype(np.float16))
    np.testing.assert_array_equal(result.logsumexp, single.logsumexp)


def test_integers_and_lists_are_computed_in_double():
    result = blockwise_attention([[1, 0]], [[0, 1], [0, 5]], [[2], [4]])
    assert (result.output.dtype, result.output.tolist()) == (np.float64, [[3.0]])


def test_values_far_from_one_neither_overflow_nor_vanish():
    query, key = normal(LEN_Q, D_K, dtype=np.float32), normal(LEN_K, D_K, dtype=np.float32)
    for size in (1e-30, 1e30):
        value = size * np.abs(normal(LEN_K, D_V)).astype(np.float32)
        result = blockwise_attention(4 * query, key, value).output
        whole = scaled_dot_product_attention(4 * query, key, value).output
        np.testing.assert_allclose(result, whole, rtol=1e-5)


def test_norms_that_overflow_warn_of_nothing():
    query, key = normal(LEN_Q, D_K, dtype=np.float32), normal(LEN_K, D_K, dtype=np.float32)
    far = blockwise_attention(1e25 * query, 1e-25 * key, key).output
    np.testing.assert_allclose(far, blockwise_attention(query, key, key).output, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_inputs_are_not_changed(dtype):
    inputs = [(9 * normal(5, 3)).astype(dtype) for _ in range(3)]
    mask = causal_mask(5)
    before = [array.copy() for array in (*inputs, mask)]
    for array in (*inputs, mask):
        array.flags.writeable = False
    blockwise_attention(*inputs, mask, causal=True, block_size=2)
    for array, was in zip((*inputs, mask), before, strict=True):
        np.testing.assert_array_equal(array, was)


def test_blocks_that_a_causal_mask_hides_are_not_computed(monkeypatch):
    computed = []
    matmul = np.matmul

    def counted(*args, **kwargs):
        product = matmul(*args, **kwargs)
        computed.append(product.size)
        return product

    monkeypatch.setattr(np, "matmul", counted)
    monkeypatch.setattr(long, "ROWS", 16)
    length = 160
    blockwise_attention(*normal(3, length, 2), block_size=32)
    assert sum(computed) == length**2
    computed.clear()
    blockwise_attention(*normal(3, length, 2), causal=True, block_size=32)
    assert sum(computed) == 16**2 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10)
    computed.clear()
    blockwise_attention(normal(48, 2), *normal(2, 16, 2), causal=True)  # 32 queries before any key
    assert sum(computed) == 16**2


def peak_of(function):
    """Return the most bytes that a call holds beside what it was given and what it returns."""
    tracemalloc.start()
    try:
        result = function()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del result
    return peak - held


@pytest.mark.parametrize("settings", [{}, {"causal": True}])
def test_memory_is_a_hundredth_of_the_scores(settings):
    length, heads = 8192, 8
    inputs = [normal(1, length, 8, dtype=np.float32) for _ in range(3)]
    peak = peak_of(lambda: blockwise_attention(*inputs, **settings))
    assert peak < 4 * heads * length**2 / 100 / heads  # even of this one head's
    many = [np.broadcast_to(array[:, :1024], (heads, 1024, 8)) for array in inputs]
    one_head = peak_of(lambda: blockwise_attention(*(array[:1] for array in many), **settings))
    all_heads = peak_of(lambda: blockwise_attention(*many, **settings))
    assert all_heads < 1.1 * one_head


def test_shared_heads_are_not_repeated_in_memory():
    query = normal(32, 1, 64, dtype=np.float32)
    key, value = normal(2, 2, 4096, 64, dtype=np.float32)
    peak = peak_of(lambda: blockwise_attention(query, key, value))
    assert peak < key.nbytes  # repeated they would have 16 times as much, each


WRONG_BLOCKS = {
    "mask of numbers": ({"mask": np.ones((LEN_Q, LEN_K))}, TypeError, "mask must be boolean"),
    "mask of another shape": (
        *({"mask": np.ones((OUTER, LEN_K), bool)}, ValueError),
        r"mask of shape \(19, 7\) must broadcast to \(..., len_q, len_k\) = \(6, 5, 7\)",
    ),
    "no block": ({"block_size": 0}, ValueError, "block_size must be at least 1, got 0"),
    "half a block": ({"block_size": 0.5}, TypeError, "'float' object"),
    "other d_k": ({"key": normal(3, LEN_K, D_V)}, ValueError, "query and key must have the same"),
    "no d_k": ({"query": normal(6, 2, 0), "key": normal(3, 7, 0)}, ValueError, "d_k must be"),
    "other len_k": ({"value": normal(3, LEN_Q, D_V)}, ValueError, "key and value must have the"),
    "heads that do not share": (
        *({"query": normal(OUTER, LEN_Q, D_K)}, ValueError),
        r"leading axes of .* got \(19,\), \(3,\) and \(3,\)",
    ),
    "other batches": (
        *({"query": normal(2, 6, LEN_Q, D_K), "key": normal(5, 3, LEN_K, D_K)}, ValueError),
        r"leading axes of query, key and value must broadcast, got \(2, 6\), \(5, 3\) and \(3,\)",
    ),
    "other KV heads": (
        *({"value": normal(2, LEN_K, D_V)}, ValueError),
        r"leading axes of .* got \(6,\), \(3,\) and \(2,\)",
    ),
    "no query": ({"query": normal(6, LEN_Q, D_K) * 1j}, TypeError, "query must hold real numbers"),
    "no key": ({"key": normal(3, LEN_K, D_K) * 1j}, TypeError, "key must hold real numbers"),
    "not numbers": ({"value": [["a"]]}, TypeError, "value must hold real numbers"),
}


@pytest.mark.parametrize("case", WRONG_BLOCKS)
def test_blocks_that_do_not_fit_are_named(case):
    given_, error, message = WRONG_BLOCKS[case]
    fitting = {"query": normal(6, LEN_Q, D_K), "key": normal(3, LEN_K, D_K)}
    fitting["value"] = normal(3, LEN_K, D_V)
    blockwise_attention(**fitting)
    with pytest.raises(error, match=f"^{message}"):
        blockwise_attention(**fitting | given_)


@pytest.mark.parametrize(("query", "key", "value", "message"), SHAPES.values(), ids=SHAPES)
def test_shapes_that_do_not_fit_are_named(query, key, value, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        blockwise_attention(normal(*query), normal(*key), normal(*value))


# --- KVCache ----------------------------------------------------------------------------


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


@pytest.mark.parametrize("window", [None, 1, 3])
def test_what_was_returned_stays_as_it_was(window):
    cache = KVCache(window)
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


# Its window


@given(st.integers(1, 7), st.lists(st.integers(0, 11), min_size=1, max_size=17))
def test_a_window_keeps_the_last_tokens_in_order(window, lengths):
    cache, plain = KVCache(window=window), KVCache()
    for seed, length in enumerate(lengths):
        kept, everything = (each.append(*pair(length, seed)) for each in (cache, plain))
        for one, all_of_it in zip(kept, everything, strict=True):
            np.testing.assert_array_equal(one, all_of_it[..., -window:, :])
            assert one.base is not None  # a view
            assert one.base.shape[-2] <= 2 * window
        assert len(cache) == kept[0].shape[-2] == min(window, len(plain))
        assert cache.nbytes == sum(one.nbytes for one in kept)


@pytest.mark.parametrize("window", [1, 2, 97, 4999, 5000, 5001, 20_000])
def test_ten_thousand_tokens_through_a_window_cost_less_than_three_copies(window):
    cache, one = KVCache(window=window), (normal(1, 1, HEAD_DIM), normal(1, 1, VALUE_DIM))
    bytes_of_one = sum(array.nbytes for array in one)
    copied, store = 0, None
    for _ in range(10_000):
        before = cache.nbytes
        keys, _ = cache.append(*one)
        copied += bytes_of_one
        if keys.base is not store:
            store = keys.base
            copied += min(before, (window - 1) * bytes_of_one)
    assert copied < 3 * 10_000 * bytes_of_one
    assert cache.nbytes == min(window, 10_000) * bytes_of_one


def test_a_window_s_memory_does_not_grow():
    window, one = 64, (normal(8, 1, 64), normal(8, 1, 64))

    def fill(tokens):
        cache = KVCache(window=window)
        for _ in range(tokens):
            cache.append(*one)
        return cache

    assert peak_of(lambda: fill(20 * window) and None) <= 1.01 * peak_of(
        lambda: fill(5 * window) and None
    )


def test_what_does_not_fit_leaves_a_window_as_it_was():
    cache = KVCache(window=3)
    for seed in range(5):
        cache.append(*pair(1, seed))
    with pytest.raises(ValueError, match=r"^key must differ"):
        cache.append(normal(BATCH, KV_HEADS, 9, 11), pair(9)[1])
    assert len(cache) == 3
    keys, _ = cache.append(*pair(0))
    expected = np.concatenate([pair(1, seed)[0] for seed in (2, 3, 4)], axis=-2)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_holds_a_token_at_least(window):
    with pytest.raises(ValueError, match=f"^window must be at least 1, got {window}"):
        KVCache(window=window)


def test_a_window_is_a_whole_number():
    with pytest.raises(TypeError, match="'float' object"):
        KVCache(window=2.5)
