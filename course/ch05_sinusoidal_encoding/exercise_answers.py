"""Answers to the exercises of the chapter Tell positions apart with sine and cosine."""

from __future__ import annotations

import cmath
import math

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


def encode_of(positions, d_model, base):
    """Return the encodings of any positions, as an array of (positions, d_model)."""
    angles = np.outer(positions, base ** (-np.arange(0, d_model, 2) / d_model))
    result = np.zeros((len(angles), d_model))
    result[:, 0::2], result[:, 1::2] = np.sin(angles), np.cos(angles)
    return result


# sinusoidal: right


@BANK.right_for("sinusoidal")
def encoding_with_slices(length, d_model, base):
    position = np.arange(length)[:, None]
    angles = position / base ** (np.arange(0, d_model, 2) / d_model)
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


@BANK.right_for("sinusoidal")
def encoding_in_loops(length, d_model, base):
    rows = []
    for p in range(length):
        row = []
        for j in range(d_model // 2):
            angle = p * base ** (-2 * j / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows


@BANK.right_for("sinusoidal")
def encoding_column_by_column(length, d_model, base):
    encoding = np.empty((length, d_model))
    for column in range(d_model):
        function = np.cos if column % 2 else np.sin
        encoding[:, column] = function(np.arange(length) * base ** (-(column // 2 * 2) / d_model))
    return encoding


@BANK.right_for("sinusoidal")
def encoding_with_complex_numbers(length, d_model, base):
    frequencies = np.exp(-np.arange(0, d_model, 2) / d_model * np.log(base))
    hands = np.exp(1j * np.outer(np.arange(length), frequencies))
    return np.stack([hands.imag, hands.real], axis=-1).reshape(length, d_model)


@BANK.right_for("sinusoidal")
def encoding_with_a_phase(length, d_model, base):
    column = np.arange(d_model)
    angles = np.einsum("p,c->pc", np.arange(length), base ** (-(column - column % 2) / d_model))
    return np.sin(angles + column % 2 * np.pi / 2)


@BANK.right_for("sinusoidal")
def encoding_with_a_running_rotation(length, d_model, base):
    steps = [cmath.exp(1j * base ** (-2 * j / d_model)) for j in range(d_model // 2)]
    hands = [1 + 0j] * len(steps)
    encoding = []
    for _ in range(length):
        encoding.append([part for hand in hands for part in (hand.imag, hand.real)])
        hands = [hand * step for hand, step in zip(hands, steps, strict=True)]
    return encoding


@BANK.right_for("sinusoidal")
def encoding_with_the_package(length, d_model, base):
    return attnbook.sinusoidal_encoding(length, d_model, base=base)


# sinusoidal: wrong


def encoding_from(angles):
    """Return sines in even and cosines in odd columns of angles that have one for each pair."""
    encoding = np.zeros((len(angles), 2 * angles.shape[1]))
    encoding[:, ::2], encoding[:, 1::2] = np.sin(angles), np.cos(angles)
    return encoding


@BANK.wrong_for("sinusoidal", names="single")
def encoding_with_i_for_2i(length, d_model, base):
    frequencies = base ** (-np.arange(d_model // 2) / d_model)
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="doubled")
def encoding_with_even_columns_doubled(length, d_model, base):
    encoding = np.zeros((length, d_model))
    for p in range(length):
        for i in range(0, d_model, 2):
            encoding[p, i] = math.sin(p / base ** (2 * i / d_model))
            encoding[p, i + 1] = math.cos(p / base ** (2 * i / d_model))
    return encoding


@BANK.wrong_for("sinusoidal", names="doubled")
def encoding_divided_by_the_pairs(length, d_model, base):
    frequencies = base ** (-2 * np.arange(d_model // 2) / (d_model // 2))
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="own_exponents")
def encoding_with_the_column_as_exponent(length, d_model, base):
    encoding = np.zeros((length, d_model))
    for i in range(d_model):
        angles = np.arange(length) / base ** (i / d_model)
        encoding[:, i] = np.sin(angles) if i % 2 == 0 else np.cos(angles)
    return encoding


@BANK.wrong_for("sinusoidal", names="own_exponents")
def encoding_with_odd_exponents(length, d_model, base):
    j = np.arange(d_model // 2)
    sines = np.sin(np.outer(np.arange(length), base ** (-2 * j / d_model)))
    cosines = np.cos(np.outer(np.arange(length), base ** (-(2 * j + 1) / d_model)))
    return np.stack([sines, cosines], axis=-1).reshape(length, d_model)


@BANK.wrong_for("sinusoidal", names="by_column")
def encoding_with_all_columns_doubled(length, d_model, base):
    encoding = np.zeros((length, d_model))
    for i in range(d_model):
        angles = np.arange(length) / base ** (2 * i / d_model)
        encoding[:, i] = np.sin(angles) if i % 2 == 0 else np.cos(angles)
    return encoding


@BANK.wrong_for("sinusoidal", names="one_less")
def encoding_divided_by_one_less(length, d_model, base):
    frequencies = base ** (-np.arange(0, d_model, 2) / (d_model - 1))
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="two_less")
def encoding_as_in_tensor2tensor(length, d_model, base):
    pairs = d_model // 2
    step = math.log(base) / (pairs - 1) if pairs > 1 else 0
    return encoding_from(np.outer(np.arange(length), np.exp(-step * np.arange(pairs))))


@BANK.wrong_for("sinusoidal", names="halves")
def encoding_concatenated(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


@BANK.wrong_for("sinusoidal", names="cosine_halves")
def encoding_as_in_diffusion_models(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


@BANK.wrong_for("sinusoidal", names="cosine_first")
def encoding_cosine_first(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.cos(angles)
    encoding[:, 1::2] = np.sin(angles)
    return encoding


@BANK.wrong_for("sinusoidal", names="sines_alone")
def encoding_with_sines_only(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return np.sin(np.repeat(angles, 2, axis=1))


@BANK.wrong_for("sinusoidal", names="no_minus")
def encoding_without_minus(length, d_model, base):
    return encoding_from(np.outer(np.arange(length), base ** (np.arange(0, d_model, 2) / d_model)))


@BANK.wrong_for("sinusoidal", names="times_base")
def encoding_base_times_exponent(length, d_model, base):
    frequencies = -base * np.arange(0, d_model, 2) / d_model
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="divided_late")
def encoding_divided_after_the_power(length, d_model, base):
    frequencies = [float(base) ** (-2 * j) / d_model for j in range(d_model // 2)]
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="power_alone")
def encoding_power_first(length, d_model, base):
    frequencies = [float(base) ** -2 * j / d_model for j in range(d_model // 2)]
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="no_base")
def encoding_without_the_logarithm(length, d_model, base):
    frequencies = np.exp(-np.arange(0, d_model, 2) / d_model)
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="log10")
def encoding_with_log10(length, d_model, base):
    frequencies = np.exp(np.arange(0, d_model, 2) * -np.log10(base) / d_model)
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="fixed_base")
def encoding_with_a_fixed_base(length, d_model, base):
    frequencies = 10000 ** (-np.arange(0, d_model, 2) / d_model)
    return encoding_from(np.outer(np.arange(length), frequencies))


@BANK.wrong_for("sinusoidal", names="all_ones")
def encoding_with_one_frequency(length, d_model, base):
    return encoding_from(np.repeat(np.arange(length)[:, None], d_model // 2, axis=1))


@BANK.wrong_for("sinusoidal", names="degrees")
def encoding_in_degrees(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return encoding_from(np.radians(angles))


@BANK.wrong_for("sinusoidal", names="in_turns")
def encoding_in_turns(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return encoding_from(2 * np.pi * angles)


@BANK.wrong_for("sinusoidal", names="from_one")
def encoding_from_one(length, d_model, base):
    return encode_of(np.arange(1, length + 1), d_model, base)


@BANK.wrong_for("sinusoidal", names="by_length")
def encoding_share_of_the_length(length, d_model, base):
    return encode_of(np.arange(length) / length, d_model, base)


@BANK.wrong_for("sinusoidal", names="by_rows")
def encoding_alternating_in_rows(length, d_model, base):
    column = np.arange(d_model)
    angles = np.outer(np.arange(length), base ** (-2 * (column // 2) / d_model))
    angles[0::2] = np.sin(angles[0::2])
    angles[1::2] = np.cos(angles[1::2])
    return angles


@BANK.wrong_for("sinusoidal", names="power_of_both")
def encoding_power_of_the_quotient(length, d_model, base):
    angles = (np.arange(length)[:, None] / base) ** (np.arange(0, d_model, 2) / d_model)
    return encoding_from(angles)


@BANK.wrong_for("sinusoidal", names="padded")
def encoding_with_padding_at_0(length, d_model, base):
    encoding = encode_of(np.arange(length), d_model, base)
    encoding[0] = 0
    return encoding


@BANK.wrong_for("sinusoidal", names="cut_to_integers", of="integers")
def encoding_into_integers(length, d_model, base):
    encoding = np.zeros((length, d_model), dtype=int)
    encoding[:] = encode_of(np.arange(length), d_model, base)
    return encoding


@BANK.wrong_for("sinusoidal", names="transposed")
def encoding_transposed(length, d_model, base):
    return encode_of(np.arange(length), d_model, base).T


@BANK.wrong_for("sinusoidal", names="angles")
def encoding_angles(length, d_model, base):
    column = np.arange(d_model)
    return np.outer(np.arange(length), base ** (-2 * (column // 2) / d_model))


@BANK.wrong_for("sinusoidal", names="stacked")
def encoding_stacked(length, d_model, base):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, d_model, 2) / d_model))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)


@BANK.wrong_for("sinusoidal", names="raised fraction_first")
def encoding_with_integer_powers(length, d_model, base):
    frequencies = np.array(int(base)) ** -np.arange(0, d_model, 2)
    return encoding_from(np.outer(np.arange(length), frequencies ** (1 / d_model)))


@BANK.wrong_for("sinusoidal", names="raised rows_and_columns")
def encoding_without_an_axis(length, d_model, base):
    return encoding_from(np.arange(length) * base ** (-np.arange(0, d_model, 2) / d_model))


@BANK.wrong_for("sinusoidal", names="raised columns_of_pair")
def encoding_beyond_the_last_column(length, d_model, base):
    encoding = np.zeros((length, d_model))
    for j in range(d_model):
        angles = np.arange(length) * base ** (-2 * j / d_model)
        encoding[:, 2 * j], encoding[:, 2 * j + 1] = np.sin(angles), np.cos(angles)
    return encoding


@BANK.wrong_for("sinusoidal", symptom="differs first_rows")
def encoding_with_a_phase_of_its_own(length, d_model, base):
    return encode_of(np.arange(length) + 0.5, d_model, base)


@BANK.wrong_for("sinusoidal", symptom="none")
def encoding_without_return(length, d_model, base):
    encode_of(np.arange(length), d_model, base)


@BANK.wrong_for("sinusoidal", names="shape lost_axis", of="squeeze")
def encoding_squeezed(length, d_model, base):
    return encode_of(np.arange(length), d_model, base).squeeze()


# rotation: right


@BANK.right_for("rotation")
def rotation_in_a_loop(offset, d_model, base):
    result = np.zeros((d_model, d_model))
    for j in range(d_model // 2):
        angle = offset * base ** (-2 * j / d_model)
        c, s = np.cos(angle), np.sin(angle)
        result[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, s], [-s, c]]
    return result


@BANK.right_for("rotation")
def rotation_with_kron(offset, d_model, base):
    result = 0
    for j, unit in enumerate(np.eye(d_model // 2)):
        angle = offset / base ** (2 * j / d_model)
        block = np.cos(angle) * np.eye(2) + np.sin(angle) * np.array([[0, 1], [-1, 0]])
        result = result + np.kron(np.diag(unit), block)
    return result


@BANK.right_for("rotation")
def rotation_in_lists(offset, d_model, base):
    def entry(row, column):
        angle = offset * base ** (-(row // 2 * 2) / d_model)
        if row == column:
            return math.cos(angle)
        if row // 2 == column // 2:
            return math.sin(angle) if column > row else -math.sin(angle)
        return 0.0

    return [[entry(row, column) for column in range(d_model)] for row in range(d_model)]


@BANK.right_for("rotation")
def rotation_with_complex_numbers(offset, d_model, base):
    hands = np.exp(1j * offset * base ** (-np.arange(0, d_model, 2) / d_model))
    # Turn each unit vector: as a complex number a pair is cosine + i * sine.
    units = np.eye(d_model).reshape(d_model, -1, 2)
    turned = (units[..., 1] + 1j * units[..., 0]) * hands
    return np.stack([turned.imag, turned.real], axis=-1).reshape(d_model, d_model).T


@BANK.right_for("rotation")
def rotation_on_diagonals(offset, d_model, base):
    angles = offset * base ** (-np.arange(0, d_model, 2) / d_model)
    beside = np.zeros(d_model)
    beside[::2] = np.sin(angles)
    beside = beside[:-1]
    return np.diag(np.repeat(np.cos(angles), 2)) + np.diag(beside, 1) - np.diag(beside, -1)


@BANK.right_for("rotation")
def rotation_fitted(offset, d_model, base):
    p = np.linspace(0, 4 * base, 4 * d_model)
    before, after = encode_of(p, d_model, base), encode_of(p + offset, d_model, base)
    return np.linalg.lstsq(before, after)[0].T


@BANK.right_for("rotation")
def rotation_with_the_package(offset, d_model, base):
    return attnbook.relative_rotation(offset, d_model, base=base)


# rotation: wrong


def frequencies_of(d_model, base):
    return base ** (-np.arange(0, d_model, 2) / d_model)


def on_the_diagonal(blocks):
    result = np.zeros((2 * len(blocks), 2 * len(blocks)))
    for j, block in enumerate(blocks):
        result[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = block
    return result


def rotations(angles):
    return [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]


@BANK.wrong_for("rotation", names="transposed")
def rotation_as_in_textbooks(offset, d_model, base):
    result = np.zeros((d_model, d_model))
    for j, angle in enumerate(offset * frequencies_of(d_model, base)):
        c, s = np.cos(angle), np.sin(angle)
        result[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, -s], [s, c]]
    return result


@BANK.wrong_for("rotation", names="transposed")
def rotation_of_rows(offset, d_model, base):
    p = np.linspace(0, 4 * base, 4 * d_model)
    before, after = encode_of(p, d_model, base), encode_of(p + offset, d_model, base)
    return np.linalg.lstsq(before, after)[0]


@BANK.wrong_for("rotation", names="identity")
def rotation_by_nothing(offset, d_model, base):
    return np.eye(d_model)


@BANK.wrong_for("rotation", names="halves")
def rotation_in_halves(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    c, s = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[c, s], [-s, c]])


@BANK.wrong_for("rotation", names="halves_back")
def rotation_in_halves_back(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    c, s = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[c, -s], [s, c]])


@BANK.wrong_for("rotation", names="all_ones")
def rotation_with_one_frequency(offset, d_model, base):
    return on_the_diagonal(rotations([offset] * (d_model // 2)))


@BANK.wrong_for("rotation", names="last_frequency")
def rotation_with_the_last_frequency(offset, d_model, base):
    for j in range(d_model // 2):
        angle = offset * base ** (-2 * j / d_model)
    return on_the_diagonal(rotations([angle] * (d_model // 2)))


@BANK.wrong_for("rotation", names="two_pluses")
def rotation_without_minus(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.cos(a), np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])


@BANK.wrong_for("rotation", names="two_minuses")
def rotation_with_two_minuses(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.cos(a), -np.sin(a)], [-np.sin(a), np.cos(a)]] for a in angles])


@BANK.wrong_for("rotation", names="sine_first")
def rotation_with_sines_on_the_diagonal(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.sin(a), np.cos(a)], [-np.cos(a), np.sin(a)]] for a in angles])


@BANK.wrong_for("rotation", names="minus_at_cosine")
def rotation_as_a_reflection(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.cos(a), np.sin(a)], [np.sin(a), -np.cos(a)]] for a in angles])


@BANK.wrong_for("rotation", names="reflection")
def rotation_as_a_reversal(offset, d_model, base):
    angles = offset * frequencies_of(d_model, base)
    return on_the_diagonal([[[-np.cos(a), np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])


@BANK.wrong_for("rotation", names="no_sines")
def rotation_by_cosines(offset, d_model, base):
    return np.diag(np.repeat(np.cos(offset * frequencies_of(d_model, base)), 2))


@BANK.wrong_for("rotation", names="no_sine_below")
def rotation_upper(offset, d_model, base):
    return np.triu(rotation_in_a_loop(offset, d_model, base))


@BANK.wrong_for("rotation", names="single")
def rotation_with_i_for_2i(offset, d_model, base):
    return on_the_diagonal(
        rotations([offset * base ** (-j / d_model) for j in range(d_model // 2)])
    )


@BANK.wrong_for("rotation", names="doubled")
def rotation_with_columns_doubled(offset, d_model, base):
    angles = [offset * base ** (-2 * i / d_model) for i in range(0, d_model, 2)]
    return on_the_diagonal(rotations(angles))


@BANK.wrong_for("rotation", names="no_minus")
def rotation_with_growing_frequencies(offset, d_model, base):
    angles = [offset * base ** (2 * j / d_model) for j in range(d_model // 2)]
    return on_the_diagonal(rotations(angles))


@BANK.wrong_for("rotation", names="degrees")
def rotation_with_degrees(offset, d_model, base):
    return on_the_diagonal(rotations(np.deg2rad(offset * frequencies_of(d_model, base))))


@BANK.wrong_for("rotation", names="offset_in_degrees")
def rotation_by_offset_degrees(offset, d_model, base):
    return on_the_diagonal(rotations([math.radians(offset)] * (d_model // 2)))


@BANK.wrong_for("rotation", names="no_offset")
def rotation_by_one(offset, d_model, base):
    return on_the_diagonal(rotations(frequencies_of(d_model, base)))


@BANK.wrong_for("rotation", names="added")
def rotation_by_a_sum(offset, d_model, base):
    return on_the_diagonal(rotations(offset + frequencies_of(d_model, base)))


@BANK.wrong_for("rotation", names="one_too_far")
def rotation_one_too_far(offset, d_model, base):
    return on_the_diagonal(rotations((offset + 1) * frequencies_of(d_model, base)))


@BANK.wrong_for("rotation", names="no_sign")
def rotation_forwards_only(offset, d_model, base):
    return on_the_diagonal(rotations(abs(offset) * frequencies_of(d_model, base)))


@BANK.wrong_for("rotation", names="cut_frequencies")
def rotation_of_the_first_pair(offset, d_model, base):
    result = np.eye(d_model)
    result[:2, :2] = rotations([offset])[0]
    return result


@BANK.wrong_for("rotation", names="last_block")
def rotation_overwritten(offset, d_model, base):
    for j in range(d_model // 2):
        result = np.array(rotations([offset * base ** (-2 * j / d_model)])[0])
    return result


@BANK.wrong_for("rotation", names="one_by_one")
def rotation_in_blocks(offset, d_model, base):
    return rotations(offset * frequencies_of(d_model, base))


@BANK.wrong_for("rotation", names="around_ones")
def rotation_in_an_array_of_ones(offset, d_model, base):
    result = np.ones((d_model, d_model))
    for j, block in enumerate(rotations(offset * frequencies_of(d_model, base))):
        result[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = block
    return result


@BANK.wrong_for("rotation", names="shifted_columns")
def rotation_of_columns(offset, d_model, base):
    return np.roll(np.eye(d_model), offset, axis=0)


@BANK.wrong_for("rotation", names="on_diagonal")
def rotation_as_a_diagonal(offset, d_model, base):
    return np.diag(encode_of([offset], d_model, base)[0])


@BANK.wrong_for("rotation", names="encoding")
def rotation_as_an_encoding(offset, d_model, base):
    return encode_of([offset], d_model, base)[0]


@BANK.wrong_for("rotation", names="raised block_of_pair")
def rotation_with_too_many_blocks(offset, d_model, base):
    result = np.zeros((d_model, d_model))
    for j in range(d_model):
        angle = offset * base ** (-2 * j / d_model)
        result[2 * j, 2 * j] = result[2 * j + 1, 2 * j + 1] = np.cos(angle)
        result[2 * j, 2 * j + 1], result[2 * j + 1, 2 * j] = np.sin(angle), -np.sin(angle)
    return result


@BANK.wrong_for("rotation", symptom="differs of_p")
def rotation_fitted_to_few_positions(offset, d_model, base):
    p = np.arange(d_model // 2)
    before, after = encode_of(p, d_model, base), encode_of(p + offset, d_model, base)
    return (np.linalg.pinv(before) @ after).T


@BANK.wrong_for("rotation", symptom="differs of_p")
def rotation_fitted_to_sines(offset, d_model, base):
    p = np.linspace(0, 4 * base, 4 * d_model)
    before = encode_of(p, d_model, base)
    before[:, 1::2] = 0
    return np.linalg.lstsq(before, encode_of(p + offset, d_model, base))[0].T


@BANK.wrong_for("rotation", symptom="none")
def rotation_without_return(offset, d_model, base):
    rotation_in_a_loop(offset, d_model, base)


# Of d_model and base: what becomes of the frequencies of the pairs.
WRONG = {
    "single": lambda d, base: base ** (-np.arange(d // 2) / d),
    "doubled": lambda d, base: base ** (-2 * np.arange(0, d, 2) / d),
    "no_minus": lambda d, base: base ** (np.arange(0, d, 2) / d),
    "one_less": lambda d, base: base ** (-np.arange(0, d, 2) / (d - 1)),
    "two_less": lambda d, base: base ** (-np.arange(0, d, 2) / (d - 2)),
    "cut_frequencies": lambda d, base: (base ** (-np.arange(0, d, 2) / d)).astype(int),
    "times_base": lambda d, base: base * -np.arange(0, d, 2) / d,
    "divided_late": lambda d, base: float(base) ** -np.arange(0, d, 2) / d,
    "no_base": lambda d, base: np.exp(-np.arange(0, d, 2) / d),
    "fixed_base": lambda d, base: 10000.0 ** (-np.arange(0, d, 2) / d),
    "log10": lambda d, base: np.exp(-np.arange(0, d, 2) / d * math.log10(base)),
    "all_ones": lambda d, base: np.ones(d // 2),
    "degrees": lambda d, base: np.radians(base ** (-np.arange(0, d, 2) / d)),
    "in_turns": lambda d, base: 2 * np.pi * base ** (-np.arange(0, d, 2) / d),
}
OF_ALL = "one_less", "two_less", "times_base", "divided_late", "no_base", "log10", "in_turns"


def wrong(*names):
    return {name: WRONG[name] for name in names}


def rotation_with(frequencies, offset, d_model, base):
    return on_the_diagonal(rotations(offset * frequencies(d_model, base)))


BANK.vary("rotation", rotation_with, **wrong(*OF_ALL, "fixed_base"))


# add-positions: right


@BANK.right_for("add-positions")
def add_by_broadcasting(x):
    _, length, d_model = x.shape
    return x + encode_of(np.arange(length), d_model, 10000.0)


@BANK.right_for("add-positions")
def add_token_by_token(x):
    result = x.astype(float)
    for sequence in result:
        for p, token in enumerate(sequence):
            for j in range(len(token) // 2):
                angle = p / 10000 ** (2 * j / len(token))
                token[2 * j] += math.sin(angle)
                token[2 * j + 1] += math.cos(angle)
    return result


@BANK.right_for("add-positions")
def add_from_a_long_table(x):
    table = attnbook.sinusoidal_encoding(2 * x.shape[1], x.shape[-1])
    return x + table[None, : x.shape[1]]


@BANK.right_for("add-positions")
def add_in_a_list(x):
    encoding = np.array(encoding_with_complex_numbers(x.shape[1], x.shape[2], 10000))
    return [(sequence + encoding).tolist() for sequence in x]


@BANK.right_for("add-positions")
def add_tiled(x):
    encoding = np.array(encoding_in_loops(x.shape[1], x.shape[2], 10000))
    return np.sum([x, np.tile(encoding, (len(x), 1, 1))], axis=0)


@BANK.right_for("add-positions")
def add_with_einsum(x):
    encoding = encoding_with_a_phase(x.shape[1], x.shape[2], 10000.0)
    return x + np.einsum("b,ld->bld", np.ones(len(x)), encoding)


# add-positions: wrong


@BANK.wrong_for("add-positions", names="by_batch")
def add_by_batch(x):
    table = encode_of(np.arange(100), x.shape[2], 10000.0)[:, None]  # (100, 1, d_model)
    return x + table[: x.shape[0]]


@BANK.wrong_for("add-positions", names="by_batch")
def add_with_an_axis_in_the_wrong_place(x):
    return x + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)[:, None]


@BANK.wrong_for("add-positions", names="raised row_per_token")
def add_as_many_as_the_batch(x):
    return x + encode_of(np.arange(len(x)), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="of_first")
def add_the_first(x):
    return x + encode_of([0], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="of_last")
def add_the_last(x):
    return x + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)[-1]


@BANK.wrong_for("add-positions", names="of_len")
def add_the_length(x):
    return x + encode_of([x.shape[1]], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="mean")
def add_the_mean(x):
    return x + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0).mean(axis=0)


@BANK.wrong_for("add-positions", names="counted_on")
def add_counting_through_the_batch(x):
    encoding = encode_of(np.arange(len(x) * x.shape[1]), x.shape[2], 10000.0)
    return x + encoding.reshape(x.shape)


@BANK.wrong_for("add-positions", names="from_one")
def add_from_one(x):
    return x + encode_of(np.arange(1, x.shape[1] + 1), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="backwards")
def add_backwards(x):
    return x + encode_of(np.arange(x.shape[1])[::-1], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="first_sequence")
def add_to_the_first_sequence(x):
    result = x.astype(float)
    result[0] += encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return result


@BANK.wrong_for("add-positions", names="in_place")
def add_in_place(x):
    x += encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return x


@BANK.wrong_for("add-positions", names="encoding_alone")
def add_to_nothing(x):
    return encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="concatenated")
def add_by_concatenation(x):
    encoding = encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return np.concatenate([x, np.broadcast_to(encoding, x.shape)], axis=-1)


@BANK.wrong_for("add-positions", names="as_tokens")
def add_as_tokens(x):
    encoding = encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return np.concatenate([np.broadcast_to(encoding, x.shape), x], axis=1)


@BANK.wrong_for("add-positions", names="product")
def add_as_a_product(x):
    return x * encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="subtracted")
def add_negatively(x):
    return x - encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="scaled_x")
def add_to_scaled_embeddings(x):
    return x * np.sqrt(x.shape[-1]) + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="by_root")
def add_a_scaled_encoding(x):
    d_model = x.shape[2]
    return x + encode_of(np.arange(x.shape[1]), d_model, 10000.0) / np.sqrt(d_model)


@BANK.wrong_for("add-positions", names="by_norm")
def add_unit_vectors(x):
    encoding = encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return x + encoding / np.linalg.norm(encoding, axis=-1, keepdims=True)


@BANK.wrong_for("add-positions", names="numbers")
def add_numbers(x):
    return x + np.arange(x.shape[1])[:, None]


@BANK.wrong_for("add-positions", names="of_features")
def add_along_the_features(x):
    return x + encode_of(np.arange(x.shape[2]), 2 * x.shape[1], 10000.0)[:, ::2].T


@BANK.wrong_for("add-positions", names="halves")
def add_in_halves(x):
    return x + encoding_concatenated(x.shape[1], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="cosine_first")
def add_cosine_first(x):
    return x + encoding_cosine_first(x.shape[1], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="own_exponents")
def add_with_odd_exponents(x):
    return x + encoding_with_odd_exponents(x.shape[1], x.shape[2], 10000.0)


@BANK.wrong_for("add-positions", names="fixed_base")
def add_with_another_base(x):
    return x + encode_of(np.arange(x.shape[1]), x.shape[2], 1000.0)


@BANK.wrong_for("add-positions", names="cut_to_integers", of="integers")
def add_into_the_type_of_x(x):
    result = np.zeros_like(x)
    result[:] = x + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return result


@BANK.wrong_for("add-positions", names="raised in_place_sum")
def add_to_a_copy_in_place(x):
    result = x.copy()
    result += encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return result


@BANK.wrong_for("add-positions", names="raised three_axes")
def add_to_one_sequence(x):
    length, d_model = x.shape
    return x + encode_of(np.arange(length), d_model, 10000.0)


@BANK.wrong_for("add-positions", symptom="shape")
def add_with_the_batch_as_an_axis(x):
    encoding = encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return x[:, None] + encoding


@BANK.wrong_for("add-positions", symptom="differs second_axis")
def add_normalised(x):
    result = x + encode_of(np.arange(x.shape[1]), x.shape[2], 10000.0)
    return (result - result.mean(axis=-1, keepdims=True)) / result.std(axis=-1, keepdims=True)


@BANK.wrong_for("add-positions", symptom="none")
def add_without_return(x):
    add_by_broadcasting(x)


def add_with(frequencies, x):
    angles = np.outer(np.arange(x.shape[1]), frequencies(x.shape[2], 10000.0))
    return x + encoding_from(angles)


BANK.vary(
    "add-positions",
    add_with,
    **wrong("single", "doubled", "no_minus", *OF_ALL, "cut_frequencies", "all_ones", "degrees"),
)


# offset-score: right


@BANK.right_for("offset-score")
def score_by_cosines(offset, d_model, base):
    return np.cos(offset * base ** (-np.arange(0, d_model, 2) / d_model)).sum()


@BANK.right_for("offset-score")
def score_in_a_loop(offset, d_model, base):
    total = 0.0
    for j in range(d_model // 2):
        total += math.cos(offset * base ** (-2 * j / d_model))
    return total


@BANK.right_for("offset-score")
def score_by_a_dot_product(offset, d_model, base):
    one, other = encode_of([11, 11 + offset], d_model, base)
    return one @ other


@BANK.right_for("offset-score")
def score_from_a_table(offset, d_model, base):
    table = np.array(encoding_in_loops(abs(offset) + 1, d_model, base))
    return float(table[0] @ table[-1])


@BANK.right_for("offset-score")
def score_with_complex_numbers(offset, d_model, base):
    frequencies = [base ** (-2 * j / d_model) for j in range(d_model // 2)]
    return sum(cmath.exp(1j * offset * frequency) for frequency in frequencies).real


@BANK.right_for("offset-score")
def score_as_half_a_trace(offset, d_model, base):
    return np.trace(attnbook.relative_rotation(offset, d_model, base=base)) / 2


# offset-score: wrong


@BANK.wrong_for("offset-score", names="sines")
def score_by_sines(offset, d_model, base):
    return np.sin(offset * frequencies_of(d_model, base)).sum()


@BANK.wrong_for("offset-score", names="sines_and_cosines")
def score_by_all_entries(offset, d_model, base):
    return encode_of([offset], d_model, base).sum()


@BANK.wrong_for("offset-score", names="twice")
def score_over_columns(offset, d_model, base):
    return sum(math.cos(offset * base ** (-(i // 2 * 2) / d_model)) for i in range(d_model))


@BANK.wrong_for("offset-score", names="mean")
def score_as_a_mean(offset, d_model, base):
    return np.cos(offset * frequencies_of(d_model, base)).mean()


@BANK.wrong_for("offset-score", names="mean")
def score_as_a_cosine(offset, d_model, base):
    one, other = encode_of([5, 5 + offset], d_model, base)
    return one @ other / (np.linalg.norm(one) * np.linalg.norm(other))


@BANK.wrong_for("offset-score", names="by_d_model")
def score_divided_by_d_model(offset, d_model, base):
    one, other = encode_of([5, 5 + offset], d_model, base)
    return np.mean(one * other)


@BANK.wrong_for("offset-score", names="by_root")
def score_scaled(offset, d_model, base):
    one, other = encode_of([0, offset], d_model, base)
    return one @ other / math.sqrt(d_model)


@BANK.wrong_for("offset-score", names="absolute")
def score_absolute(offset, d_model, base):
    return abs(np.cos(offset * frequencies_of(d_model, base)).sum())


@BANK.wrong_for("offset-score", names="absolute_cosines")
def score_of_absolute_cosines(offset, d_model, base):
    return np.abs(np.cos(offset * frequencies_of(d_model, base))).sum()


@BANK.wrong_for("offset-score", names="squares")
def score_of_squares(offset, d_model, base):
    return (np.cos(offset * frequencies_of(d_model, base)) ** 2).sum()


@BANK.wrong_for("offset-score", names="distance")
def score_as_a_distance(offset, d_model, base):
    one, other = encode_of([0, offset], d_model, base)
    return np.linalg.norm(one - other)


@BANK.wrong_for("offset-score", names="product")
def score_as_a_product(offset, d_model, base):
    return np.prod(np.cos(offset * frequencies_of(d_model, base)))


@BANK.wrong_for("offset-score", names="cosine_of_sum")
def score_of_the_sum(offset, d_model, base):
    return np.cos((offset * frequencies_of(d_model, base)).sum())


@BANK.wrong_for("offset-score", names="no_offset")
def score_without_the_offset(offset, d_model, base):
    return np.cos(frequencies_of(d_model, base)).sum()


@BANK.wrong_for("offset-score", names="offset_outside")
def score_offset_outside(offset, d_model, base):
    return sum(offset * math.cos(base ** (-2 * j / d_model)) for j in range(d_model // 2))


@BANK.wrong_for("offset-score", names="no_minus")
def score_divided_by_frequencies(offset, d_model, base):
    return np.cos(offset / frequencies_of(d_model, base)).sum()


@BANK.wrong_for("offset-score", names="one_too_far")
def score_one_too_far(offset, d_model, base):
    table = encode_of(np.arange(100), d_model, base)
    return table[50] @ table[50 + offset + 1]


@BANK.wrong_for("offset-score", names="one_by_one")
def score_not_summed(offset, d_model, base):
    return np.cos(offset * frequencies_of(d_model, base))


@BANK.wrong_for("offset-score", names="first_pair")
def score_returning_in_the_loop(offset, d_model, base):
    total = 0
    for j in range(d_model // 2):
        total += math.cos(offset * base ** (-2 * j / d_model))
        return total


@BANK.wrong_for("offset-score", names="last_pair")
def score_overwritten(offset, d_model, base):
    for j in range(d_model // 2):
        total = math.cos(offset * base ** (-2 * j / d_model))
    return total


@BANK.wrong_for("offset-score", names="with_itself")
def score_with_itself(offset, d_model, base):
    one = encode_of([offset], d_model, base)[0]
    return one @ one


@BANK.wrong_for("offset-score", names="sines_of_0")
def score_of_the_sine_only_encoding(offset, d_model, base):
    sines = encode_of([0, offset], d_model, base)[:, ::2]
    return sines[0] @ sines[1]


@BANK.wrong_for("offset-score", names="single")
def score_with_i_for_2i(offset, d_model, base):
    return sum(math.cos(offset * base ** (-j / d_model)) for j in range(d_model // 2))


@BANK.wrong_for("offset-score", names="doubled")
def score_with_columns_doubled(offset, d_model, base):
    return sum(math.cos(offset * base ** (-2 * i / d_model)) for i in range(0, d_model, 2))


@BANK.wrong_for("offset-score", names="degrees")
def score_in_degrees(offset, d_model, base):
    return np.cos(np.deg2rad(offset * frequencies_of(d_model, base))).sum()


@BANK.wrong_for("offset-score", names="fixed_base")
def score_with_a_fixed_base(offset, d_model, base):
    encoding = encode_of([0, offset], d_model, 10000.0)
    return encoding[0] @ encoding[1]


@BANK.wrong_for("offset-score", names="differs far_apart")
def score_from_a_table_of_twenty(offset, d_model, base):
    table = encode_of(np.arange(20), d_model, base)
    return table[0] @ table[abs(offset) % 20]


@BANK.wrong_for("offset-score", names="raised long_table")
def score_from_a_short_table(offset, d_model, base):
    table = encode_of(np.arange(20), d_model, base)
    return table[0] @ table[abs(offset)]


@BANK.wrong_for("offset-score", names="differs negative")
def score_wrapped(offset, d_model, base):
    table = encode_of(np.arange(100), d_model, base)
    return table[0] @ table[offset]


@BANK.wrong_for("offset-score", symptom="differs three_apart")
def score_of_fixed_positions(offset, d_model, base):
    one, other = encode_of([3, 11], d_model, base)
    return one @ other


@BANK.wrong_for("offset-score", symptom="shape one_number")
def score_as_a_matrix(offset, d_model, base):
    return encode_of([0], d_model, base) @ encode_of([offset], d_model, base).T


@BANK.wrong_for("offset-score", symptom="none")
def score_without_return(offset, d_model, base):
    score_by_cosines(offset, d_model, base)


def score_with(frequencies, offset, d_model, base):
    return np.cos(offset * frequencies(d_model, base)).sum()


BANK.vary("offset-score", score_with, **wrong(*OF_ALL, "all_ones"))


# reversal: right


@BANK.right_for("reversal")
def reversal_in_a_loop(length, d_model, base):
    result = np.zeros((d_model, d_model))
    for j in range(d_model // 2):
        angle = (length - 1) * base ** (-2 * j / d_model)
        c, s = math.cos(angle), math.sin(angle)
        result[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[-c, s], [s, c]]
    return result


@BANK.right_for("reversal")
def reversal_turned_then_moved(length, d_model, base):
    turned = np.diag([(-1.0) ** (column + 1) for column in range(d_model)])
    return attnbook.relative_rotation(length - 1, d_model, base=base) @ turned


@BANK.right_for("reversal")
def reversal_moved_back_then_turned(length, d_model, base):
    turned = np.diag([-1, 1] * (d_model // 2))
    return turned @ attnbook.relative_rotation(1 - length, d_model, base=base)


@BANK.right_for("reversal")
def reversal_fitted(length, d_model, base):
    encoding = encode_of(np.arange(length), d_model, base)
    return np.linalg.lstsq(encoding, encoding[::-1])[0].T


@BANK.right_for("reversal")
def reversal_with_the_inverse(length, d_model, base):
    p = np.linspace(-3 * base, 3 * base, 5 * d_model)
    return encode_of(length - 1 - p, d_model, base).T @ np.linalg.pinv(
        encode_of(p, d_model, base).T
    )


@BANK.right_for("reversal")
def reversal_on_diagonals(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    diagonal = np.stack([-np.cos(angles), np.cos(angles)], axis=1).ravel()
    beside = np.stack([np.sin(angles), np.zeros_like(angles)], axis=1).ravel()[:-1]
    return np.diag(diagonal) + np.diag(beside, k=1) + np.diag(beside, k=-1)


@BANK.right_for("reversal")
def reversal_with_complex_numbers(length, d_model, base):
    hands = np.exp(1j * (length - 1) * frequencies_of(d_model, base))
    units = np.eye(d_model).reshape(d_model, -1, 2)
    turned = np.conj(units[..., 1] + 1j * units[..., 0]) * hands
    return np.stack([turned.imag, turned.real], axis=-1).reshape(d_model, d_model).T


# reversal: wrong


def reflections(angles):
    return [[[-math.cos(a), math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]


@BANK.wrong_for("reversal", names="rotation")
def reversal_by_a_rotation(length, d_model, base):
    return rotation_in_a_loop(length - 1, d_model, base)


@BANK.wrong_for("reversal", names="rotation_back")
def reversal_by_a_rotation_back(length, d_model, base):
    return rotation_in_a_loop(1 - length, d_model, base)


@BANK.wrong_for("reversal", names="from_length")
def reversal_one_too_far(length, d_model, base):
    return on_the_diagonal(reflections(length * frequencies_of(d_model, base)))


@BANK.wrong_for("reversal", names="too_short")
def reversal_one_short(length, d_model, base):
    return on_the_diagonal(reflections((length - 2) * frequencies_of(d_model, base)))


@BANK.wrong_for("reversal", names="middle")
def reversal_about_the_middle(length, d_model, base):
    return on_the_diagonal(reflections((length - 1) / 2 * frequencies_of(d_model, base)))


@BANK.wrong_for("reversal", names="half_of_length")
def reversal_about_half_the_length(length, d_model, base):
    return on_the_diagonal(reflections(length / 2 * frequencies_of(d_model, base)))


@BANK.wrong_for("reversal", names="about_0")
def reversal_about_0(length, d_model, base):
    return np.diag(np.tile([-1.0, 1.0], d_model // 2))


@BANK.wrong_for("reversal", names="cosines_turned")
def reversal_of_cosines(length, d_model, base):
    return np.diag(np.tile([1.0, -1.0], d_model // 2))


@BANK.wrong_for("reversal", names="moved_first")
def reversal_in_the_other_order(length, d_model, base):
    turned = np.diag(np.tile([-1.0, 1.0], d_model // 2))
    return turned @ attnbook.relative_rotation(length - 1, d_model, base=base)


@BANK.wrong_for("reversal", names="wrong_cosine")
def reversal_with_the_minus_below(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.cos(a), np.sin(a)], [np.sin(a), -np.cos(a)]] for a in angles])


@BANK.wrong_for("reversal", names="pluses")
def reversal_without_minus(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return on_the_diagonal([[[np.cos(a), np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])


@BANK.wrong_for("reversal", names="two_minuses")
def reversal_with_two_minuses(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return on_the_diagonal([[[-np.cos(a), np.sin(a)], [np.sin(a), -np.cos(a)]] for a in angles])


@BANK.wrong_for("reversal", names="minus_below")
def reversal_with_a_minus_below(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return on_the_diagonal([[[-np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]] for a in angles])


@BANK.wrong_for("reversal", names="negative")
def reversal_negative(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return -on_the_diagonal(reflections(angles))


@BANK.wrong_for("reversal", names="sine_first")
def reversal_with_sines_on_the_diagonal(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    return on_the_diagonal([[[-np.sin(a), np.cos(a)], [np.cos(a), np.sin(a)]] for a in angles])


@BANK.wrong_for("reversal", names="identity")
def reversal_by_nothing(length, d_model, base):
    return np.eye(d_model)


@BANK.wrong_for("reversal", names="columns_reversed")
def reversal_of_columns(length, d_model, base):
    return np.flipud(np.eye(d_model))


@BANK.wrong_for("reversal", names="rows_reversed")
def reversal_of_rows(length, d_model, base):
    return np.flipud(np.eye(length))


@BANK.wrong_for("reversal", names="encodings")
def reversal_of_the_encoding(length, d_model, base):
    return encode_of(np.arange(length), d_model, base)[::-1]


@BANK.wrong_for("reversal", names="swapped_pairs")
def reversal_by_swaps(length, d_model, base):
    return np.kron(np.eye(d_model // 2), [[0, 1], [1, 0]])


@BANK.wrong_for("reversal", names="halves")
def reversal_in_halves(length, d_model, base):
    angles = (length - 1) * frequencies_of(d_model, base)
    c, s = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[-c, s], [s, c]])


@BANK.wrong_for("reversal", names="all_ones")
def reversal_with_one_frequency(length, d_model, base):
    return on_the_diagonal(reflections([length - 1] * (d_model // 2)))


@BANK.wrong_for("reversal", names="single")
def reversal_with_i_for_2i(length, d_model, base):
    angles = [(length - 1) * base ** (-j / d_model) for j in range(d_model // 2)]
    return on_the_diagonal(reflections(angles))


@BANK.wrong_for("reversal", names="fixed_base")
def reversal_with_a_fixed_base(length, d_model, base):
    return on_the_diagonal(reflections((length - 1) * frequencies_of(d_model, 10000.0)))


@BANK.wrong_for("reversal", names="degrees")
def reversal_in_degrees(length, d_model, base):
    return on_the_diagonal(reflections(np.radians((length - 1) * frequencies_of(d_model, base))))


@BANK.wrong_for("reversal", names="last_block")
def reversal_overwritten(length, d_model, base):
    for angle in (length - 1) * frequencies_of(d_model, base):
        block = reflections([angle])[0]
    return block


@BANK.wrong_for("reversal", names="one_by_one")
def reversal_in_blocks(length, d_model, base):
    return reflections((length - 1) * frequencies_of(d_model, base))


@BANK.wrong_for("reversal", symptom="differs of_p")
def reversal_fitted_to_few_positions(length, d_model, base):
    encoding = encode_of(np.arange(length), d_model, base)
    few = d_model // 2  # one position for each pair, where each column needs one
    return (np.linalg.pinv(encoding[:few]) @ encoding[::-1][:few]).T


@BANK.wrong_for("reversal", symptom="differs of_p")
def reversal_of_the_wrong_product(length, d_model, base):
    encoding = encode_of(np.arange(length), d_model, base)
    return encoding[::-1].T @ encoding / length


@BANK.wrong_for("reversal", symptom="none")
def reversal_without_return(length, d_model, base):
    reversal_in_a_loop(length, d_model, base)


# wrong in a way that course/bank.py lists


def integer_frequencies(d_model, base):
    frequencies = np.arange(0, d_model, 2)
    frequencies[:] = float(base) ** (-frequencies / d_model)
    return frequencies


def waves(positions, frequencies):
    angles = np.multiply.outer(positions, frequencies)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(*np.shape(positions), -1)


def table_of(rows, d_model, base):
    return waves(np.arange(rows), float(base) ** (-np.arange(0, d_model, 2) / d_model))


def rotation_by(cosines, sines):
    matrix = np.diag(np.repeat(cosines, 2))
    for pair, sine in enumerate(sines):
        matrix[2 * pair, 2 * pair + 1], matrix[2 * pair + 1, 2 * pair] = sine, -sine
    return matrix


@BANK.wrong_for("sinusoidal", names="cut_frequencies", of="integers")
def encoding_with_integer_frequencies(length, d_model, base):
    return waves(np.arange(length), integer_frequencies(d_model, base))


@BANK.wrong_for("rotation", names="cut_frequencies", of="integers")
def rotation_with_integer_frequencies(offset, d_model, base):
    angles = offset * integer_frequencies(d_model, base)
    return rotation_by(np.cos(angles), np.sin(angles))


@BANK.wrong_for("rotation", names="cut_to_integers", of="integers")
def rotation_in_an_array_of_integers(offset, d_model, base):
    matrix = np.eye(d_model, dtype=int)
    matrix[:] = rotation_in_a_loop(offset, d_model, base)
    return matrix


@BANK.wrong_for("offset-score", names="cut_frequencies", of="integers")
def score_with_integer_frequencies(offset, d_model, base):
    return np.cos(offset * integer_frequencies(d_model, base)).sum()


@BANK.wrong_for("reversal", names="cut_frequencies", of="integers")
def reversal_with_integer_frequencies(length, d_model, base):
    angles = (length - 1) * integer_frequencies(d_model, base)
    return rotation_by(np.cos(angles), np.sin(angles)) * ([-1, 1] * (d_model // 2))


@BANK.wrong_for("reversal", names="cut_to_integers", of="integers")
def reversal_in_an_array_of_integers(length, d_model, base):
    matrix = np.diag([-1, 1] * (d_model // 2))
    matrix[:] = reversal_in_a_loop(length, d_model, base)
    return matrix


@BANK.wrong_for("sinusoidal", names="shape long", of="table")
def encoding_from_a_table_of_512(length, d_model, base):
    return table_of(512, d_model, base)[:length]


@BANK.wrong_for("sinusoidal", names="differs long", of="table")
def encoding_repeats_after_5000(length, d_model, base):
    return waves(np.arange(length) % 5000, float(base) ** (-np.arange(0, d_model, 2) / d_model))


@BANK.wrong_for("rotation", names="differs long", of="table")
def rotation_from_a_table_of_512(offset, d_model, base):
    row = table_of(512, d_model, base)[min(abs(offset), 511)]
    return rotation_by(row[1::2], np.sign(offset) * row[0::2])


@BANK.wrong_for("add-positions", names="raised long", of="table")
def add_from_a_table_of_512(x):
    return x + table_of(512, x.shape[2], 10000)[: x.shape[1]]


@BANK.wrong_for("add-positions", names="differs long", of="table")
def add_to_the_first_5000(x):
    result = np.array(x, dtype=float)
    result[:, :5000] += table_of(5000, x.shape[2], 10000)[: x.shape[1]]
    return result


@BANK.wrong_for("offset-score", names="raised long_table", of="table")
def score_from_a_table_of_5000(offset, d_model, base):
    table = table_of(5000, d_model, base)
    return table[abs(offset)] @ table[0]


@BANK.wrong_for("reversal", names="differs long", of="table")
def reversal_fitted_to_a_table_of_512(length, d_model, base):
    table = table_of(512, d_model, base)[:length]
    return np.linalg.lstsq(table, table[::-1])[0].T


@BANK.wrong_for("sinusoidal", names="differs long")
def encoding_of_float16_positions(length, d_model, base):
    positions = np.arange(length, dtype=np.float16)
    return waves(positions, float(base) ** (-np.arange(0, d_model, 2) / d_model))


@BANK.wrong_for("rotation", names="differs long", of="table")
def rotation_clipped_at_a_thousand(offset, d_model, base):
    return rotation_in_a_loop(max(-1000, min(1000, offset)), d_model, base)


@BANK.wrong_for("add-positions", names="differs long", of="table")
def add_nothing_beyond_512(x):
    return x + table_of(x.shape[1], x.shape[2], 10000) if x.shape[1] <= 512 else x


@BANK.wrong_for("reversal", names="differs long", of="table")
def reversal_of_512_at_most(length, d_model, base):
    return reversal_in_a_loop(min(length, 512), d_model, base)


BANK.spoil(
    "tolerance", "rounded", "sinusoidal", "rotation", "add-positions", "offset-score", "reversal"
)
BANK.spoil("squeeze", "shape lost_axis", "add-positions")


def reversal_with(frequencies, length, d_model, base):
    return on_the_diagonal(reflections((length - 1) * frequencies(d_model, base)))


BANK.vary("reversal", reversal_with, **wrong("doubled", "no_minus", *OF_ALL))


BANK.never(
    "one_hot one_sign",
    "it takes no softmax",
    "sinusoidal",
    "rotation",
    "add-positions",
    "offset-score",
    "reversal",
)
BANK.never("axes", "the statement says how many axes there are", "add-positions")
BANK.never(
    "axes", "it gets numbers, not arrays", "sinusoidal", "rotation", "offset-score", "reversal"
)
BANK.never("squeeze", "the result is one number", "offset-score")
BANK.never("squeeze", "`d_model` is at least 2", "rotation", "reversal")
BANK.never(
    "mask",
    "there is no mask",
    "sinusoidal",
    "rotation",
    "add-positions",
    "offset-score",
    "reversal",
)
