"""The sinusoidal encoding against its formula, and the rotation against the encoding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import relative_rotation, sinusoidal_encoding
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
    with pytest.raises(ValueError, match=r"^length must not be negative, got -1"):
        sinusoidal_encoding(-1, D_MODEL)


@pytest.mark.parametrize(("length", "d_model"), [(2.0, 4), (2, 4.0), ("2", 4)])
def test_sizes_are_integers(length, d_model):
    with pytest.raises(TypeError, match="integer"):
        sinusoidal_encoding(length, d_model)
