"""Each scheme of positions against its formula, and what the formula promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import alibi_bias, apply_rotary, relative_rotation, sinusoidal_encoding
from tests.package import oracles

LENGTH, D_MODEL = 13, 14  # 14 = 2 * 7: no other axis has either size

sizes = st.sampled_from([2, 6, 10, 14, 22])
offsets = st.floats(-40, 40, allow_subnormal=False)
bases = st.floats(1.5, 1e5)


@pytest.mark.parametrize("position", [0, 1, 2, 7, 97])
@pytest.mark.parametrize("pair", [0, 1, 2, 6])
def test_encoding_equals_the_formula(position, pair):
    encoding = sinusoidal_encoding(101, D_MODEL)
    angle = position / 10000 ** (2 * pair / D_MODEL)
    assert encoding[position, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-12)
    assert encoding[position, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-12)


def test_encoding_equals_loops():
    expected = [oracles.encoding_at(position, D_MODEL) for position in range(LENGTH)]
    encoding = sinusoidal_encoding(LENGTH, D_MODEL)
    assert encoding.dtype == np.float64
    np.testing.assert_allclose(encoding, expected, atol=1e-13, rtol=0)


def test_the_first_position_is_zeros_and_ones():
    first = sinusoidal_encoding(1, D_MODEL)[0]
    np.testing.assert_array_equal(first[0::2], 0)  # even columns: sine
    np.testing.assert_array_equal(first[1::2], 1)  # odd columns: cosine


def test_a_base_may_be_below_one():
    # base 1/16, d_model 4: frequencies 1 and 4.
    expected = [math.sin(1), math.cos(1), math.sin(4), math.cos(4)]
    np.testing.assert_allclose(sinusoidal_encoding(2, 4, base=1 / 16)[1], expected, atol=1e-15)


def test_encoding_by_hand():
    # base 16, d_model 4: frequencies 1 and 16**(-1/2) = 1/4.
    rows = sinusoidal_encoding(3, 4, base=16)
    expected = [math.sin(2), math.cos(2), math.sin(0.5), math.cos(0.5)]
    np.testing.assert_allclose(rows[2], expected, atol=1e-15)


@given(d_model=sizes, base=bases)
def test_encoding_for_any_base(d_model, base):
    expected = [oracles.encoding_at(position, d_model, base) for position in range(5)]
    np.testing.assert_allclose(sinusoidal_encoding(5, d_model, base=base), expected, atol=1e-12)


def test_no_positions():
    assert sinusoidal_encoding(0, D_MODEL).shape == (0, D_MODEL)


@given(position=offsets, offset=offsets, d_model=sizes, base=bases)
def test_the_rotation_moves_every_position(position, offset, d_model, base):
    # Between tokens and before the first one, too: the formula takes any real position.
    moved = relative_rotation(offset, d_model, base=base) @ oracles.encoding_at(
        position, d_model, base
    )
    expected = oracles.encoding_at(position + offset, d_model, base)
    np.testing.assert_allclose(moved, expected, atol=1e-11)


@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 3, 7])
def test_the_rotation_moves_the_package_s_own_encoding(offset):
    encoding = sinusoidal_encoding(LENGTH, D_MODEL)
    rotation = relative_rotation(offset, D_MODEL)
    start, stop = max(0, -offset), LENGTH - max(0, offset)
    moved = encoding[start:stop] @ rotation.T
    np.testing.assert_allclose(moved, encoding[start + offset : stop + offset], atol=1e-13)


@given(offset=offsets, d_model=sizes, base=bases)
def test_a_rotation_is_orthogonal_with_determinant_one(offset, d_model, base):
    rotation = relative_rotation(offset, d_model, base=base)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(d_model), atol=1e-13)
    assert np.linalg.det(rotation) == pytest.approx(1)


@given(a=offsets, b=offsets, d_model=sizes)
def test_rotations_add_up(a, b, d_model):
    both = relative_rotation(a, d_model) @ relative_rotation(b, d_model)
    np.testing.assert_allclose(both, relative_rotation(a + b, d_model), atol=1e-12)


def test_a_rotation_by_hand():
    # A quarter turn in the plane of one sine and one cosine: sin(x + pi/2) = cos x.
    np.testing.assert_allclose(relative_rotation(math.pi / 2, 2), [[0, 1], [-1, 0]], atol=1e-15)
    np.testing.assert_array_equal(relative_rotation(0, D_MODEL), np.eye(D_MODEL))


def test_a_rotation_mixes_no_two_pairs():
    rotation = relative_rotation(1.7, D_MODEL)
    pair = np.arange(D_MODEL) // 2
    np.testing.assert_array_equal(rotation != 0, pair[:, None] == pair)


@pytest.mark.parametrize("d_model", [7, 1, 0, -2])
def test_an_odd_or_empty_d_model_is_named(d_model):
    message = f"d_model must be positive and even, got {d_model}"
    with pytest.raises(ValueError, match=f"^{message}"):
        sinusoidal_encoding(LENGTH, d_model)
    with pytest.raises(ValueError, match=f"^{message}"):
        relative_rotation(1, d_model)


@pytest.mark.parametrize("base", [0, -10000.0, math.nan])
def test_a_base_that_is_not_positive_is_named(base):
    with pytest.raises(ValueError, match=f"^base must be positive, got {base}"):
        sinusoidal_encoding(LENGTH, D_MODEL, base=base)
    with pytest.raises(ValueError, match=f"^base must be positive, got {base}"):
        relative_rotation(1, D_MODEL, base=base)


def test_a_negative_length_is_named():
    with pytest.raises(ValueError, match=r"^length_or_positions must not be negative, got -1"):
        sinusoidal_encoding(-1, D_MODEL)


@pytest.mark.parametrize("shape", [(5,), (1,), (0,), (2, 3)])
def test_positions_of_one_s_own(shape):
    positions = 40 * np.random.default_rng(0).standard_normal(shape)
    encoding = sinusoidal_encoding(positions.tolist() if shape[0] else positions, 6, base=50)
    assert encoding.shape == (*shape, 6)
    for at in np.ndindex(shape):
        expected = oracles.encoding_at(positions[at], 6, 50)
        np.testing.assert_allclose(encoding[at], expected, atol=1e-12)


def test_positions_counted_from_0_are_a_length():
    np.testing.assert_array_equal(
        sinusoidal_encoding(np.arange(LENGTH), D_MODEL), sinusoidal_encoding(LENGTH, D_MODEL)
    )


@pytest.mark.parametrize(
    ("positions", "error", "message"),
    [
        ([0, math.inf], ValueError, "must be finite"),
        ([True], TypeError, "must hold numbers, got dtype bool"),
        ([1j], TypeError, "must hold real numbers, got dtype complex128"),
    ],
)
def test_what_is_no_position_is_named(positions, error, message):
    with pytest.raises(error, match=f"^length_or_positions {message}"):
        sinusoidal_encoding(positions, D_MODEL)


@pytest.mark.parametrize(("length", "d_model"), [(2.0, 4), (2, 4.0), ("2", 4)])
def test_sizes_are_integers(length, d_model):
    with pytest.raises(TypeError, match="integer"):
        sinusoidal_encoding(length, d_model)


# --- Rotary ---------------------------------------------------------------------------

BATCH, NUM_HEADS, LEN, HEAD_DIM = 2, 3, 5, 14
PAIRINGS = ["interleaved", "halves"]
pairings = st.sampled_from(PAIRINGS)
places = st.floats(-2000, 2000, allow_subnormal=False)


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def rotated_by_loops(x, positions, **options):
    positions = np.broadcast_to(positions, x.shape[:-1])
    result = np.empty(x.shape)
    for at in np.ndindex(positions.shape):
        result[at] = oracles.rotated(x[at], float(positions[at]), **options)
    return result


@pytest.mark.parametrize("case", oracles.DECODER_GOLDEN["rotary"]["cases"], ids=lambda c: c["by"])
def test_rotary_equals_what_libraries_compute(case):
    x = np.array(oracles.DECODER_GOLDEN["rotary"]["x"])
    result = apply_rotary(x, case["positions"], base=case["base"], pairing=case["pairing"])
    np.testing.assert_allclose(result, case["output"], rtol=1e-9, atol=max(case["atol"], 1e-9))


def test_rotary_by_hand():
    # base 16, head_dim 4: frequencies 1 and 1/4. At position 2 pi the first pair is back where it
    # was, the second has made a quarter turn, from (3, 4) to (-4, 3).
    at = [2 * math.pi]
    turned = apply_rotary([[1.0, 2.0, 3.0, 4.0]], at, base=16)
    np.testing.assert_allclose(turned, [[1, 2, -4, 3]], atol=1e-14)
    turned = apply_rotary([[1.0, 3.0, 2.0, 4.0]], at, base=16, pairing="halves")
    np.testing.assert_allclose(turned, [[1, -4, 2, 3]], atol=1e-14)


@given(base=bases, pairing=pairings, start=places)
def test_rotary_equals_loops(base, pairing, start):
    x, positions = normal(BATCH, NUM_HEADS, LEN, HEAD_DIM), start + normal(LEN)
    expected = rotated_by_loops(x, positions, base=base, pairing=pairing)
    result = apply_rotary(x, positions, base=base, pairing=pairing)
    np.testing.assert_allclose(result, expected, atol=1e-10)


def test_positions_count_from_zero_by_default():
    x = normal(LEN, HEAD_DIM)
    np.testing.assert_array_equal(apply_rotary(x), apply_rotary(x, range(LEN)))
    np.testing.assert_array_equal(apply_rotary(x)[0], x[0])


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("shape", [(), (1,), (LEN,), (NUM_HEADS, 1), (BATCH, 1, LEN)])
def test_positions_of_any_shape_that_broadcasts(shape, pairing):
    x, positions = normal(BATCH, NUM_HEADS, LEN, HEAD_DIM), 50 * normal(*shape)
    expected = rotated_by_loops(x, positions, pairing=pairing)
    np.testing.assert_allclose(apply_rotary(x, positions, pairing=pairing), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(LEN + 1,), (LEN, 1), (BATCH, LEN), (BATCH, 1, 1, LEN), (0,)])
def test_positions_that_do_not_fit_are_named(shape):
    message = rf"positions of shape \({shape[0]},.* must broadcast to \(..., len\) = \(2, 3, 5\)"
    with pytest.raises(ValueError, match=f"^{message}$"):
        apply_rotary(normal(BATCH, NUM_HEADS, LEN, HEAD_DIM), np.zeros(shape))


@given(m=places, n=places, shift=places, pairing=pairings)
def test_a_score_depends_on_the_offset_only(m, n, shift, pairing):
    query, key = normal(1, HEAD_DIM), normal(1, HEAD_DIM, seed=1)

    def score(m, n):
        turned = (apply_rotary(x, p, pairing=pairing) for x, p in ((query, m), (key, n)))
        return float(np.vecdot(*turned)[0])

    assert score(m, n) == pytest.approx(score(m + shift, n + shift), abs=1e-10)


@given(position=places, pairing=pairings)
def test_a_rotation_keeps_the_length_of_each_pair_and_is_undone_backwards(position, pairing):
    x = normal(LEN, HEAD_DIM)
    turned = apply_rotary(x, position, pairing=pairing)
    axes = (LEN, 2, -1) if pairing == "halves" else (LEN, -1, 2)
    norms = [np.linalg.norm(y.reshape(axes), axis=axes.index(2)) for y in (x, turned)]
    np.testing.assert_allclose(*norms, rtol=1e-13)
    np.testing.assert_allclose(apply_rotary(turned, -position, pairing=pairing), x, atol=1e-13)


def test_the_two_pairings_are_one_permutation_apart():
    x = normal(LEN, HEAD_DIM)
    to_halves = np.r_[0:HEAD_DIM:2, 1:HEAD_DIM:2]  # pair j from (2j, 2j+1) to (j, j+7)
    halves = apply_rotary(x[:, to_halves], pairing="halves")
    np.testing.assert_array_equal(halves, apply_rotary(x)[:, to_halves])


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_the_layout_in_memory_does_not_matter(pairing):
    x = normal(BATCH, NUM_HEADS, LEN, HEAD_DIM)
    expected = apply_rotary(x, pairing=pairing)
    reverse = x[..., ::-1].copy()[..., ::-1]
    spread = np.repeat(x, 3, axis=-1)[..., ::3]
    swapped = [x.swapaxes(axis, 2).copy().swapaxes(axis, 2) for axis in (1, 3)]
    for same in (np.asfortranarray(x), *swapped, reverse, spread):
        before = same.copy()
        np.testing.assert_array_equal(apply_rotary(same, pairing=pairing), expected)
        np.testing.assert_array_equal(same, before)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize(
    ("dtype", "returned", "tolerance"),
    [
        (np.float64, np.float64, 1e-11),
        (np.float32, np.float32, 5e-7),
        (np.float16, np.float16, 2e-3),
        (np.int64, np.float64, 1e-11),
        (">f4", np.float32, 5e-7),
    ],
)
def test_a_rotation_keeps_the_dtype(dtype, returned, tolerance, pairing):
    # Far from the start, too: there an angle in single precision would be off by 0.004.
    x = np.clip((2 * normal(LEN, HEAD_DIM)).round(), -2, 2).astype(dtype)
    positions = 100_000 + np.arange(LEN)
    result = apply_rotary(x, positions, pairing=pairing)
    assert result.dtype == returned
    exact = rotated_by_loops(x, positions, pairing=pairing)
    np.testing.assert_allclose(result, exact, atol=2 * tolerance)


def test_nothing_is_rotated_to_nothing():
    assert apply_rotary(np.zeros((BATCH, 0, HEAD_DIM))).shape == (BATCH, 0, HEAD_DIM)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_infinity_stays_in_its_pair(pairing):
    x = normal(LEN, HEAD_DIM)
    x[3, 2] = np.inf
    result = apply_rotary(x, pairing=pairing)
    pair = [2, 3] if pairing == "interleaved" else [2, 9]
    others = np.ones((LEN, HEAD_DIM), bool)
    others[3, pair] = False
    assert not np.isfinite(result[3, pair]).any()
    assert np.isfinite(result[others]).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": normal(LEN, 7)}, ValueError, "head_dim must be positive and even, got 7"),
        ({"x": normal(LEN, 0)}, ValueError, "head_dim must be positive and even, got 0"),
        ({"x": normal(HEAD_DIM)}, ValueError, "x must have at least 2 axes"),
        ({"x": normal(LEN, HEAD_DIM) * 1j}, TypeError, "x must hold real numbers"),
        ({"pairing": "half"}, ValueError, "pairing must be 'interleaved' or 'halves', got 'half'"),
        ({"base": -2.0}, ValueError, "base must be positive, got -2.0"),
        ({"positions": [True] * LEN}, TypeError, "positions must hold numbers, got dtype bool"),
        ({"positions": [1j] * LEN}, TypeError, "positions must hold real numbers, got dtype comp"),
        ({"positions": [0, 1, 2, 3, np.inf]}, ValueError, "positions must be finite, got .*inf"),
        ({"positions": np.nan}, ValueError, "positions must be finite, got nan"),
    ],
)
def test_what_cannot_be_rotated_is_named(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        apply_rotary(**{"x": normal(LEN, HEAD_DIM)} | arguments)


# --- ALiBi ----------------------------------------------------------------------------

# Computed by the authors' `get_slopes` (github.com/ofirpress/attention_with_linear_biases,
# fairseq/models/transformer.py): for 12, those of 8, then every other one of 16.
ROOT_HALF = 0.7071067811865476
SLOPES = {
    1: [1 / 256],
    2: [1 / 16, 1 / 256],
    3: [1 / 16, 1 / 256, 1 / 4],
    6: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8],
    8: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256],
    12: [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    + [ROOT_HALF, ROOT_HALF / 2, ROOT_HALF / 4, ROOT_HALF / 8],
}


@pytest.mark.parametrize("num_heads", SLOPES)
def test_slopes_are_the_authors_own(num_heads):
    bias = alibi_bias(num_heads, 1, 2)  # the one query stands at the last of two keys
    assert bias.dtype == np.float64
    np.testing.assert_allclose(-bias[:, 0, 0], SLOPES[num_heads], rtol=1e-14)
    np.testing.assert_array_equal(bias[:, 0, 1], 0)


@pytest.mark.parametrize("num_heads", range(1, 41))
def test_slopes_for_any_number_of_heads(num_heads):
    expected = [oracles.slope(head, num_heads) for head in range(num_heads)]
    np.testing.assert_allclose(-alibi_bias(num_heads, 2)[:, 1, 0], expected, rtol=1e-13)


@pytest.mark.parametrize(("len_q", "len_k"), [(5, 7), (1, 7), (7, 7), (7, 5), (0, 5), (5, 0)])
def test_the_last_query_stands_at_the_last_key(len_q, len_k):
    bias = alibi_bias(3, len_q, len_k)
    assert bias.shape == (3, len_q, len_k)
    for head, i, j in np.ndindex(bias.shape):
        distance = abs((len_k - 1 - j) - (len_q - 1 - i))  # both counted from the end
        assert bias[head, i, j] == -SLOPES[3][head] * distance


def test_as_many_keys_as_queries_by_default():
    np.testing.assert_array_equal(alibi_bias(3, 5), alibi_bias(3, 5, 5))


def test_a_query_alone_has_the_last_row():
    np.testing.assert_array_equal(alibi_bias(6, 1, 7), alibi_bias(6, 7)[:, -1:])


def test_no_zero_of_the_bias_is_negative():
    assert not np.signbit(alibi_bias(2, 3)[:, range(3), range(3)]).any()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 5), ValueError, "num_heads must be at least 1, got 0"),
        ((2, -1), ValueError, "len_q must not be negative, got -1"),
        ((2, 5, -3), ValueError, "len_k must not be negative, got -3"),
        ((2.0, 5), TypeError, ".*integer"),
        ((2, 5.0), TypeError, ".*integer"),
        ((2, 5, "7"), TypeError, ".*integer"),
    ],
)
def test_sizes_that_make_no_bias_are_named(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        alibi_bias(*arguments)
