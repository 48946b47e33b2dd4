"""Answers to the exercises of the chapter Rotate queries and keys: modern positions."""

from __future__ import annotations

import cmath
import math

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# rotary: right


@BANK.right_for("rotary")
def rotary_with_slices(x, positions, base):
    head_dim = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, head_dim, 2) / head_dim)
    first, second = x[..., 0::2], x[..., 1::2]
    result = np.empty(x.shape)
    result[..., 0::2] = first * np.cos(angles) - second * np.sin(angles)
    result[..., 1::2] = first * np.sin(angles) + second * np.cos(angles)
    return result


@BANK.right_for("rotary")
def rotary_in_loops(x, positions, base):
    flat, head_dim = x.reshape(-1, x.shape[-1]).tolist(), x.shape[-1]
    for row, entries in enumerate(flat):
        p = positions[row % len(positions)]
        for j in range(head_dim // 2):
            angle = p / base ** (2 * j / head_dim)
            x0, x1 = entries[2 * j : 2 * j + 2]
            entries[2 * j] = x0 * math.cos(angle) - x1 * math.sin(angle)
            entries[2 * j + 1] = x0 * math.sin(angle) + x1 * math.cos(angle)
    return np.reshape(flat, x.shape)


@BANK.right_for("rotary")
def rotary_with_complex_numbers(x, positions, base):
    frequencies = np.exp(-np.arange(0, x.shape[-1], 2) / x.shape[-1] * np.log(base))
    pairs = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * np.outer(positions, frequencies))
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


@BANK.right_for("rotary")
def rotary_with_neighbours(x, positions, base):
    head_dim = x.shape[-1]
    frequencies = np.repeat(base ** (-np.arange(0, head_dim, 2) / head_dim), 2)
    angles = np.asarray(positions)[:, None] * frequencies
    turned = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + turned * np.sin(angles)


@BANK.right_for("rotary")
def rotary_with_matrices(x, positions, base):
    head_dim = x.shape[-1]
    matrices = []
    for p in positions:
        matrix = np.zeros((head_dim, head_dim))
        for j in range(0, head_dim, 2):
            z = cmath.exp(1j * p * base ** (-j / head_dim))
            matrix[j : j + 2, j : j + 2] = [[z.real, -z.imag], [z.imag, z.real]]
        matrices.append(matrix)
    return np.einsum("pij,...pj->...pi", np.array(matrices), x)


@BANK.right_for("rotary")
def rotary_with_the_other_rotation(x, positions, base):
    rows = [
        x[..., row, :] @ attnbook.relative_rotation(p, x.shape[-1], base=base)
        for row, p in enumerate(positions)
    ]
    return np.stack(rows, axis=-2)


@BANK.right_for("rotary")
def rotary_with_the_package(x, positions, base):
    return attnbook.apply_rotary(x, positions, base=base)


# rotary: wrong


def angles_of(x, positions, base):
    """Return the angles of the pairs of x, (len, head_dim / 2)."""
    return np.outer(positions, float(base) ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))


def turned_by(x, angles):
    """Turn neighbours by their angles."""
    first, second = x[..., 0::2], x[..., 1::2]
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([first * c - second * s, first * s + second * c], axis=-1).reshape(x.shape)


def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def rotate_every_two(x):
    return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)


@BANK.wrong_for("rotary", names="halves")
def rotary_as_in_gpt_neox(x, positions, base):
    angles = np.tile(angles_of(x, positions, base), 2)
    return x * np.cos(angles) + rotate_half(x) * np.sin(angles)


@BANK.wrong_for("rotary", names="halves_back")
def rotary_in_halves_and_back(x, positions, base):
    angles = np.tile(angles_of(x, positions, base), 2)
    return x * np.cos(angles) - rotate_half(x) * np.sin(angles)


@BANK.wrong_for("rotary", names="tables_in_halves")
def rotary_of_neighbours_with_angles_in_halves(x, positions, base):
    angles = np.concatenate([angles_of(x, positions, base)] * 2, axis=-1)
    return x * np.cos(angles) + rotate_every_two(x) * np.sin(angles)


@BANK.wrong_for("rotary", names="partner_in_halves")
def rotary_of_halves_with_angles_of_neighbours(x, positions, base):
    angles = np.repeat(angles_of(x, positions, base), 2, axis=-1)
    return x * np.cos(angles) + rotate_half(x) * np.sin(angles)


@BANK.wrong_for("rotary", names="halves_out")
def rotary_concatenated(x, positions, base):
    turned = turned_by(x, angles_of(x, positions, base))
    return np.concatenate([turned[..., 0::2], turned[..., 1::2]], axis=-1)


@BANK.wrong_for("rotary", names="halves_in")
def rotary_of_halves_interleaved(x, positions, base):
    first, second = np.split(x, 2, axis=-1)
    mixed = np.stack([first, second], axis=-1).reshape(x.shape)
    return turned_by(mixed, angles_of(x, positions, base))


@BANK.wrong_for("rotary", names="pairs_apart")
def rotary_not_merged(x, positions, base):
    turned = turned_by(x, angles_of(x, positions, base))
    return turned.reshape(*x.shape[:-1], -1, 2)


@BANK.wrong_for("rotary", names="backwards")
def rotary_backwards(x, positions, base):
    return turned_by(x, -angles_of(x, positions, base))


@BANK.wrong_for("rotary", names="backwards")
def rotary_by_chapter_five(x, positions, base):
    rows = [
        attnbook.relative_rotation(p, x.shape[-1], base=base) @ x[..., row, :, None]
        for row, p in enumerate(positions)
    ]
    return np.stack(rows, axis=-3)[..., 0]


@BANK.wrong_for("rotary", names="two_pluses")
def rotary_without_minus(x, positions, base):
    angles = np.repeat(angles_of(x, positions, base), 2, axis=-1)
    swapped = np.stack([x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + swapped * np.sin(angles)


@BANK.wrong_for("rotary", names="two_minuses")
def rotary_with_two_minuses(x, positions, base):
    angles = np.repeat(angles_of(x, positions, base), 2, axis=-1)
    swapped = np.stack([x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) - swapped * np.sin(angles)


@BANK.wrong_for("rotary", names="sine_first")
def rotary_with_sine_and_cosine_swapped(x, positions, base):
    angles = np.repeat(angles_of(x, positions, base), 2, axis=-1)
    return x * np.sin(angles) + rotate_every_two(x) * np.cos(angles)


@BANK.wrong_for("rotary", names="swapped_pair")
def rotary_with_pairs_swapped(x, positions, base):
    result, turned = np.empty(x.shape), turned_by(x, angles_of(x, positions, base))
    result[..., 1::2], result[..., 0::2] = turned[..., 0::2], turned[..., 1::2]
    return result


@BANK.wrong_for("rotary", names="overwritten")
def rotary_overwritten(x, positions, base):
    result, angles = np.array(x, dtype=float), angles_of(x, positions, base)
    first, second = result[..., 0::2], result[..., 1::2]  # views
    first[:] = first * np.cos(angles) - second * np.sin(angles)
    second[:] = first * np.sin(angles) + second * np.cos(angles)
    return result


@BANK.wrong_for("rotary", names="in_place")
def rotary_in_place(x, positions, base):
    x[...] = turned_by(x, angles_of(x, positions, base))
    return x


@BANK.wrong_for("rotary", names="no_sines")
def rotary_by_cosines(x, positions, base):
    return x * np.cos(np.repeat(angles_of(x, positions, base), 2, axis=-1))


@BANK.wrong_for("rotary", names="first_of_pair")
def rotary_of_even_columns(x, positions, base):
    result, turned = np.array(x, dtype=float), turned_by(x, angles_of(x, positions, base))
    result[..., ::2] = turned[..., ::2]
    return result


@BANK.wrong_for("rotary", names="product")
def rotary_as_a_product(x, positions, base):
    angles = angles_of(x, positions, base)
    return x * np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, x.shape[-1])


@BANK.wrong_for("rotary", names="added")
def rotary_as_a_sum(x, positions, base):
    angles = angles_of(x, positions, base)
    return x + np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, x.shape[-1])


@BANK.wrong_for("rotary", names="single")
def rotary_with_j_for_2j(x, positions, base):
    frequencies = float(base) ** (-np.arange(x.shape[-1] // 2) / x.shape[-1])
    return turned_by(x, np.outer(positions, frequencies))


@BANK.wrong_for("rotary", names="doubled")
def rotary_divided_by_the_pairs(x, positions, base):
    half = x.shape[-1] // 2
    return turned_by(x, np.outer(positions, float(base) ** (-2 * np.arange(half) / half)))


@BANK.wrong_for("rotary", names="own_exponents")
def rotary_with_an_angle_for_each_column(x, positions, base):
    angles = np.outer(positions, float(base) ** (-np.arange(x.shape[-1]) / x.shape[-1]))
    return x * np.cos(angles) + rotate_every_two(x) * np.sin(angles)


@BANK.wrong_for("rotary", names="over_d_model")
def rotary_with_frequencies_over_d_model(x, positions, base):
    j = np.arange(x.shape[-1] // 2)
    d_model = x.shape[-1] if x.ndim < 3 else x.shape[-3] * x.shape[-1]
    return turned_by(x, np.outer(positions, float(base) ** (-2 * j / d_model)))


@BANK.wrong_for("rotary", names="of_64")
def rotary_of_heads_of_64(x, positions, base):
    frequencies = float(base) ** (-np.arange(0, 64, 2) / 64)
    return turned_by(x, np.outer(positions, frequencies[: x.shape[-1] // 2]))


@BANK.wrong_for("rotary", names="no_minus")
def rotary_with_growing_frequencies(x, positions, base):
    frequencies = float(base) ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return turned_by(x, np.outer(positions, frequencies))


@BANK.wrong_for("rotary", names="all_ones")
def rotary_with_one_frequency(x, positions, base):
    return turned_by(x, np.repeat(positions[:, None], x.shape[-1] // 2, axis=1))


@BANK.wrong_for("rotary", names="last_frequency")
def rotary_with_the_last_frequency(x, positions, base):
    for j in range(x.shape[-1] // 2):
        angle = positions[:, None] * base ** (-2 * j / x.shape[-1])
    return turned_by(x, angle)


@BANK.wrong_for("rotary", names="cut_frequencies")
def rotary_of_the_first_pair(x, positions, base):
    result = np.array(x, dtype=float)
    result[..., :2] = turned_by(result[..., :2], positions[:, None])
    return result


@BANK.wrong_for("rotary", names="fixed_base")
def rotary_with_a_fixed_base(x, positions, base):
    return attnbook.apply_rotary(x, positions)


@BANK.wrong_for("rotary", names="degrees")
def rotary_in_degrees(x, positions, base):
    return turned_by(x, np.radians(angles_of(x, positions, base)))


@BANK.wrong_for("rotary", names="half_angle")
def rotary_by_half_the_angle(x, positions, base):
    return turned_by(x, angles_of(x, positions, base) / 2)


@BANK.wrong_for("rotary", names="twice")
def rotary_twice(x, positions, base):
    angles = angles_of(x, positions, base)
    return turned_by(turned_by(x, angles), angles)


@BANK.wrong_for("rotary", names="counted")
def rotary_counting_rows(x, positions, base):
    return attnbook.apply_rotary(x, base=base)


@BANK.wrong_for("rotary", names="from_one")
def rotary_from_one(x, positions, base):
    return turned_by(x, angles_of(x, positions + 1, base))


@BANK.wrong_for("rotary", names="by_length")
def rotary_by_share_of_the_length(x, positions, base):
    return turned_by(x, angles_of(x, positions / len(positions), base))


@BANK.wrong_for("rotary", names="by_batch")
def rotary_along_the_batch(x, positions, base):
    return turned_by(x, angles_of(x, positions, base)[:, None])


@BANK.wrong_for("rotary", names="no_sign")
def rotary_of_absolute_positions(x, positions, base):
    return turned_by(x, angles_of(x, abs(positions), base))


@BANK.wrong_for("rotary", names="whole_positions")
def rotary_of_whole_positions(x, positions, base):
    return turned_by(x, angles_of(x, positions.astype(int), base))


@BANK.wrong_for("rotary", names="float32_angles")
def rotary_with_angles_in_float32(x, positions, base):
    return turned_by(x, angles_of(x, positions, base).astype(np.float32))


@BANK.wrong_for("rotary", names="unchanged")
def rotary_of_nothing(x, positions, base):
    return x.copy()


@BANK.wrong_for("rotary", names="raised column_of_positions")
def rotary_without_an_axis(x, positions, base):
    angles = positions * float(base) ** (-np.arange(0, x.shape[-1] + 2, 2) / x.shape[-1])
    return turned_by(x, angles)


@BANK.wrong_for("rotary", names="raised float_base")
def rotary_with_integer_powers(x, positions, base):
    base = np.array(int(base))
    return turned_by(x, np.outer(positions, (base ** -np.arange(0, x.shape[-1], 2)) ** 0.1))


@BANK.wrong_for("rotary", symptom="differs by_pair")
def rotary_of_the_wrong_columns(x, positions, base):
    result = np.array(x, dtype=float)
    result[..., 1:-1] = turned_by(result[..., 1:-1], angles_of(x[..., 1:-1], positions, base))
    return result


@BANK.wrong_for("rotary", symptom="none")
def rotary_without_return(x, positions, base):
    turned_by(x, angles_of(x, positions, base))


@BANK.wrong_for("rotary", names="raised leading_axes", of="axes")
def rotary_of_three_axes(x, positions, base):
    batch, length, head_dim = x.shape
    result = np.empty((batch, length, head_dim))
    for b in range(batch):
        result[b] = turned_by(x[b], angles_of(x, positions, base))
    return result


@BANK.wrong_for("rotary", names="shape leading_axes", of="axes")
def rotary_flattened_to_three_axes(x, positions, base):
    turned = turned_by(x, angles_of(x, positions, base))
    return turned.reshape(-1, *x.shape[-2:])


@BANK.wrong_for("rotary", names="cut_to_integers", of="integers")
def rotary_into_the_type_of_x(x, positions, base):
    result = np.zeros_like(x)
    result[...] = turned_by(x, angles_of(x, positions, base))
    return result


@BANK.wrong_for("rotary", names="cut_frequencies", of="integers")
def rotary_with_integer_frequencies(x, positions, base):
    frequencies = np.arange(0, x.shape[-1], 2)
    frequencies[:] = float(base) ** (-frequencies / x.shape[-1])
    return turned_by(x, np.outer(positions, frequencies))


@BANK.wrong_for("rotary", names="raised any_numbers", of="table")
def rotary_from_a_table(x, positions, base):
    return turned_by(x, angles_of(x, np.arange(5000), base)[positions])


@BANK.wrong_for("rotary", names="raised far", of="table")
def rotary_from_a_table_where_it_can(x, positions, base):
    if positions.dtype.kind == "f":
        return turned_by(x, angles_of(x, positions, base))
    return turned_by(x, angles_of(x, np.arange(5000), base)[positions])


@BANK.wrong_for("rotary", names="differs far", of="table")
def rotary_of_5000_positions(x, positions, base):
    return turned_by(x, angles_of(x, np.minimum(positions, 4999), base))


BANK.spoil("tolerance", "rounded", "rotary")
BANK.spoil("squeeze", "shape lost_axis", "rotary")


def rotary_with(frequencies, x, positions, base):
    return turned_by(x, np.outer(positions, frequencies(x.shape[-1], float(base))))


BANK.vary(
    "rotary",
    rotary_with,
    one_less=lambda d, base: base ** (-np.arange(0, d, 2) / (d - 1)),
    two_less=lambda d, base: base ** (-np.arange(0, d, 2) / (d - 2)),
    times_base=lambda d, base: base * -np.arange(0, d, 2) / d,
    divided_late=lambda d, base: base ** -np.arange(0, d, 2) / d,
    no_base=lambda d, base: np.exp(-np.arange(0, d, 2) / d),
    log10=lambda d, base: np.exp(-np.arange(0, d, 2) / d * np.log10(base)),
    in_turns=lambda d, base: 2 * np.pi * base ** (-np.arange(0, d, 2) / d),
)


@BANK.wrong_for("rotary", names="second_of_pair")
def rotary_of_odd_columns(x, positions, base):
    result, turned = np.array(x, dtype=float), turned_by(x, angles_of(x, positions, base))
    result[..., 1::2] = turned[..., 1::2]
    return result


@BANK.wrong_for("rotary", names="first_position")
def rotary_by_the_first_position(x, positions, base):
    return turned_by(x, angles_of(x, positions[:1], base))


@BANK.wrong_for("rotary", names="reversed_positions")
def rotary_from_the_end(x, positions, base):
    return turned_by(x, angles_of(x, positions[::-1], base))


@BANK.wrong_for("rotary", names="clipped")
def rotary_from_zero_on(x, positions, base):
    return turned_by(x, angles_of(x, np.maximum(positions, 0), base))


# interleave: right


@BANK.right_for("interleave")
def interleave_by_reshaping(w, num_heads):
    halves = w.reshape(*w.shape[:-1], num_heads, 2, -1)
    return halves.swapaxes(-1, -2).reshape(w.shape)


@BANK.right_for("interleave")
def interleave_with_slices(w, num_heads):
    result, head_dim = np.empty(w.shape), w.shape[-1] // num_heads
    for start in range(0, w.shape[-1], head_dim):
        middle, end = start + head_dim // 2, start + head_dim
        result[..., start:end:2] = w[..., start:middle]
        result[..., start + 1 : end : 2] = w[..., middle:end]
    return result


@BANK.right_for("interleave")
def interleave_column_by_column(w, num_heads):
    columns, head_dim = [], w.shape[-1] // num_heads
    for h in range(num_heads):
        for j in range(head_dim // 2):
            columns += [w[..., h * head_dim + j], w[..., h * head_dim + head_dim // 2 + j]]
    return np.stack(columns, axis=-1)


@BANK.right_for("interleave")
def interleave_by_indices(w, num_heads):
    column = np.arange(w.shape[-1])
    head_dim = w.shape[-1] // num_heads
    start, within = column - column % head_dim, column % head_dim
    return w[..., start + within // 2 + within % 2 * (head_dim // 2)]


@BANK.right_for("interleave")
def interleave_with_a_matrix(w, num_heads):
    head_dim = w.shape[-1] // num_heads
    one = np.zeros((head_dim, head_dim))
    for column in range(head_dim):
        one[column // 2 + column % 2 * (head_dim // 2), column] = 1
    return w @ np.kron(np.eye(num_heads), one)


@BANK.right_for("interleave")
def interleave_with_einsum(w, num_heads):
    halves = w.reshape(-1, num_heads, 2, w.shape[-1] // num_heads // 2)
    return np.einsum("nhsj->nhjs", halves).reshape(w.shape).tolist()


# interleave: wrong


def interleaved_by(w, order):
    return w[..., np.ravel(order)]


def columns_of(w, num_heads):
    """Return the numbers of the columns: [head, half, pair]."""
    return np.arange(w.shape[-1]).reshape(num_heads, 2, -1)


@BANK.wrong_for("interleave", names="inverse")
def interleave_the_other_way(w, num_heads):
    pairs = w.reshape(*w.shape[:-1], num_heads, -1, 2)
    return pairs.swapaxes(-1, -2).reshape(w.shape)


@BANK.wrong_for("interleave", names="inverse")
def interleave_even_columns_first(w, num_heads):
    heads = w.reshape(*w.shape[:-1], num_heads, -1)
    return np.concatenate([heads[..., ::2], heads[..., 1::2]], axis=-1).reshape(w.shape)


@BANK.wrong_for("interleave", names="across_heads")
def interleave_the_whole_width(w, num_heads):
    return w.reshape(*w.shape[:-1], 2, -1).swapaxes(-1, -2).reshape(w.shape)


@BANK.wrong_for("interleave", names="across_heads")
def interleave_halves_before_heads(w, num_heads):
    parts = w.reshape(*w.shape[:-1], 2, num_heads, -1)
    return np.moveaxis(parts, -3, -1).reshape(w.shape)


@BANK.wrong_for("interleave", names="second_first")
def interleave_second_half_first(w, num_heads):
    return interleaved_by(w, columns_of(w, num_heads)[:, ::-1].swapaxes(1, 2))


@BANK.wrong_for("interleave", names="halves_swapped")
def interleave_by_swapping_halves(w, num_heads):
    return interleaved_by(w, columns_of(w, num_heads)[:, ::-1])


@BANK.wrong_for("interleave", names="pairs_reversed")
def interleave_pairs_reversed(w, num_heads):
    return interleaved_by(w, columns_of(w, num_heads).swapaxes(1, 2)[:, ::-1])


@BANK.wrong_for("interleave", names="heads_reversed")
def interleave_heads_reversed(w, num_heads):
    return interleaved_by(w, columns_of(w, num_heads).swapaxes(1, 2)[::-1])


@BANK.wrong_for("interleave", names="sizes_swapped")
def interleave_heads_for_their_size(w, num_heads):
    halves = w.reshape(*w.shape[:-1], -1, 2, num_heads // 2)
    return halves.swapaxes(-1, -2).reshape(w.shape)


@BANK.wrong_for("interleave", names="heads_inside")
def interleave_heads_inside(w, num_heads):
    halves = w.reshape(*w.shape[:-1], num_heads, 2, -1)
    return halves.swapaxes(-1, -3).reshape(w.shape)


@BANK.wrong_for("interleave", names="first_head")
def interleave_the_first_head(w, num_heads):
    result, half = w.copy(), w.shape[-1] // num_heads // 2
    result[..., : 2 * half : 2] = w[..., :half]
    result[..., 1 : 2 * half : 2] = w[..., half : 2 * half]
    return result


@BANK.wrong_for("interleave", names="no_start")
def interleave_without_the_start(w, num_heads):
    half, columns = w.shape[-1] // num_heads // 2, []
    for _ in range(num_heads):
        for j in range(half):
            columns += [j, half + j]
    return w[..., columns]


@BANK.wrong_for("interleave", names="first_halves")
def interleave_the_first_half_with_itself(w, num_heads):
    return interleaved_by(w, np.repeat(columns_of(w, num_heads)[:, :1], 2))


@BANK.wrong_for("interleave", names="unchanged")
def interleave_nothing(w, num_heads):
    return w.reshape(*w.shape[:-1], num_heads, -1, 2).reshape(w.shape)


@BANK.wrong_for("interleave", names="rows")
def interleave_rows(w, num_heads):
    order = columns_of(w.T, num_heads).swapaxes(1, 2).ravel()
    return w[order]


@BANK.wrong_for("interleave", names="transposed")
def interleave_a_torch_weight(w, num_heads):
    return interleave_by_reshaping(w, num_heads).T


@BANK.wrong_for("interleave", names="minus")
def interleave_with_signs(w, num_heads):
    return interleave_by_reshaping(w, num_heads) * np.where(np.arange(w.shape[-1]) % 2, -1, 1)


@BANK.wrong_for("interleave", names="indices")
def interleave_only_the_indices(w, num_heads):
    return columns_of(w, num_heads).swapaxes(1, 2).ravel()


@BANK.wrong_for("interleave", names="pairs_apart")
def interleave_not_merged(w, num_heads):
    return w.reshape(*w.shape[:-1], num_heads, 2, -1).swapaxes(-1, -2)


@BANK.wrong_for("interleave", names="heads_apart")
def interleave_heads_apart(w, num_heads):
    result = interleave_by_reshaping(w, num_heads)
    return result.reshape(*w.shape[:-1], num_heads, -1)


@BANK.wrong_for("interleave", names="in_place")
def interleave_in_place(w, num_heads):
    w[...] = interleave_by_reshaping(w, num_heads)
    return w


@BANK.wrong_for("interleave", symptom="differs second_column")
def interleave_scrambled(w, num_heads):
    halves = w.reshape(*w.shape[:-1], num_heads, 2, -1)
    return halves.T.reshape(w.shape)


@BANK.wrong_for("interleave", symptom="differs second_column")
def interleave_from_behind(w, num_heads):
    first, second = np.split(w.reshape(*w.shape[:-1], num_heads, -1), 2, axis=-1)
    return np.stack([first, second[..., ::-1]], axis=-1).reshape(w.shape)


@BANK.wrong_for("interleave", symptom="none")
def interleave_without_return(w, num_heads):
    interleave_by_reshaping(w, num_heads)


@BANK.wrong_for("interleave", names="raised bias", of="axes")
def interleave_two_axes(w, num_heads):
    d_model, width = w.shape
    return w.reshape(d_model, num_heads, 2, -1).swapaxes(2, 3).reshape(d_model, width)


@BANK.wrong_for("interleave", names="raised bias", of="axes")
def interleave_columns_of_a_matrix(w, num_heads):
    return w[:, columns_of(w, num_heads).swapaxes(1, 2).ravel()]


@BANK.wrong_for("interleave", names="cut_to_integers", of="integers")
def interleave_into_integers(w, num_heads):
    result = np.zeros(w.shape, dtype=int)
    result[...] = interleave_by_reshaping(w, num_heads)
    return result


@BANK.wrong_for("interleave", names="differs sizes", of="table")
def interleave_heads_of_ten(w, num_heads):
    order = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]  # of the first size that was tried
    result = w.copy()
    for start in range(0, w.shape[-1] - 9, 10):
        result[..., start : start + 10] = w[..., start + np.array(order)]
    return result


@BANK.wrong_for("interleave", names="raised last_axis", of="table")
def interleave_heads_of_sixty_four(w, num_heads):
    if w.shape[-1] // num_heads <= 64:
        return interleave_by_reshaping(w, num_heads)
    return w.reshape(*w.shape[:-1], num_heads, 64).swapaxes(-1, -2).reshape(w.shape)


BANK.spoil("tolerance", "rounded", "interleave")
BANK.spoil("squeeze", "shape lost_axis", "interleave")


# alibi: right


@BANK.right_for("alibi")
def alibi_by_broadcasting(num_heads, len_q, len_k):
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    query = np.arange(len_k - len_q, len_k)
    distance = np.abs(query[:, None] - np.arange(len_k))
    return -slopes[:, None, None] * distance


@BANK.right_for("alibi")
def alibi_in_loops(num_heads, len_q, len_k):
    bias = np.zeros((num_heads, len_q, len_k))
    for h in range(num_heads):
        for i in range(len_q):
            for j in range(len_k):
                bias[h, i, j] = -abs(i + len_k - len_q - j) / 2 ** (8 * (h + 1) / num_heads)
    return bias


@BANK.right_for("alibi")
def alibi_of_the_last_rows(num_heads, len_q, len_k):
    square = np.abs(np.subtract.outer(range(len_k), range(len_k)))
    ratio = 0.5 ** (8 / num_heads)
    return np.array([-(ratio**h) * square[len_k - len_q :] for h in range(1, num_heads + 1)])


@BANK.right_for("alibi")
def alibi_in_lists(num_heads, len_q, len_k):
    slope, bias = 1.0, []
    for _ in range(num_heads):
        slope *= 2 ** (-8 / num_heads)
        rows = range(len_k - len_q, len_k)
        bias.append([[-slope * max(p - j, j - p) for j in range(len_k)] for p in rows])
    return bias


@BANK.right_for("alibi")
def alibi_with_einsum(num_heads, len_q, len_k):
    slopes = np.logspace(-8 / num_heads, -8, num_heads, base=2)
    ahead = np.arange(len_k) - np.c_[len_k - len_q : len_k]
    return np.einsum("h,qk->hqk", slopes, np.minimum(ahead, -ahead))


@BANK.right_for("alibi")
def alibi_with_the_package(num_heads, len_q, len_k):
    return attnbook.alibi_bias(num_heads, len_q, len_k)


# alibi: wrong


def slopes_of(num_heads):
    return 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)


def distances(len_q, len_k):
    return np.abs(np.c_[len_k - len_q : len_k] - np.arange(len_k))


def sloped(slopes, distance):
    return -np.reshape(slopes, (-1, 1, 1)) * distance


@BANK.wrong_for("alibi", names="first_key")
def alibi_aligned_to_the_first_key(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), np.abs(np.c_[:len_q] - np.arange(len_k)))


@BANK.wrong_for("alibi", names="one_ahead")
def alibi_after_the_last_key(num_heads, len_q, len_k):
    query = np.c_[:len_q] + len_k - len_q + 1
    return sloped(slopes_of(num_heads), np.abs(query - np.arange(len_k)))


@BANK.wrong_for("alibi", names="one_behind")
def alibi_before_the_last_key(num_heads, len_q, len_k):
    query = np.c_[:len_q] + len_k - len_q - 1
    return sloped(slopes_of(num_heads), np.abs(query - np.arange(len_k)))


@BANK.wrong_for("alibi", names="positive")
def alibi_positive(num_heads, len_q, len_k):
    return slopes_of(num_heads)[:, None, None] * distances(len_q, len_k)


@BANK.wrong_for("alibi", names="signed")
def alibi_without_the_absolute_value(num_heads, len_q, len_k):
    query = np.c_[len_k - len_q : len_k]
    return sloped(slopes_of(num_heads), query - np.arange(len_k))


@BANK.wrong_for("alibi", names="signed_back")
def alibi_with_the_sign_turned(num_heads, len_q, len_k):
    query = np.c_[len_k - len_q : len_k]
    return sloped(slopes_of(num_heads), np.arange(len_k) - query)


@BANK.wrong_for("alibi", names="future_free")
def alibi_of_the_past_alone(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), np.tril(distances(len_q, len_k), len_k - len_q))


@BANK.wrong_for("alibi", names="future_hidden")
def alibi_with_the_mask(num_heads, len_q, len_k):
    seen = np.tri(len_q, len_k, len_k - len_q, dtype=bool)
    return np.where(seen, sloped(slopes_of(num_heads), distances(len_q, len_k)), -np.inf)


@BANK.wrong_for("alibi", names="key_alone")
def alibi_as_the_authors_add_it(num_heads, len_q, len_k):
    return slopes_of(num_heads)[:, None, None] * np.tile(np.arange(len_k), (1, len_q, 1))


@BANK.wrong_for("alibi", names="one_more")
def alibi_from_distance_one(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), distances(len_q, len_k) + 1)


@BANK.wrong_for("alibi", names="squared")
def alibi_squared(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), distances(len_q, len_k) ** 2)


@BANK.wrong_for("alibi", names="logarithm")
def alibi_of_logarithms(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), np.log(1 + distances(len_q, len_k)))


@BANK.wrong_for("alibi", names="by_length")
def alibi_by_share_of_the_length(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), distances(len_q, len_k) / len_k)


@BANK.wrong_for("alibi", names="queries_reversed")
def alibi_with_queries_reversed(num_heads, len_q, len_k):
    return sloped(
        slopes_of(num_heads), np.abs(np.c_[len_k - 1 : len_k - len_q - 1 : -1] - np.arange(len_k))
    )


@BANK.wrong_for("alibi", names="from_h")
def alibi_with_h_for_the_next(num_heads, len_q, len_k):
    slopes = [2 ** (-8 * h / num_heads) for h in range(num_heads)]
    return sloped(slopes, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="divided")
def alibi_with_eight_over_h(num_heads, len_q, len_k):
    slopes = [2 ** (-8 / (h + 1)) for h in range(num_heads)]
    return sloped(slopes, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="base_e")
def alibi_with_powers_of_e(num_heads, len_q, len_k):
    slopes = np.exp(-8 * np.arange(1, num_heads + 1) / num_heads)
    return sloped(slopes, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="of_eight")
def alibi_of_eight_heads(num_heads, len_q, len_k):
    return sloped([0.5 ** (h + 1) for h in range(num_heads)], distances(len_q, len_k))


@BANK.wrong_for("alibi", names="one_more_head")
def alibi_between_zero_and_eight(num_heads, len_q, len_k):
    slopes = 2 ** -np.linspace(0, 8, num_heads + 2)[1:-1]
    return sloped(slopes, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="no_minus")
def alibi_with_slopes_that_grow(num_heads, len_q, len_k):
    return sloped(1 / slopes_of(num_heads), distances(len_q, len_k))


@BANK.wrong_for("alibi", names="same_slope")
def alibi_with_one_slope(num_heads, len_q, len_k):
    return sloped([2 ** (-8 / num_heads)] * num_heads, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="last_slope")
def alibi_with_the_last_slope(num_heads, len_q, len_k):
    bias = np.empty((num_heads, len_q, len_k))
    for h in range(num_heads):
        bias[:] = -distances(len_q, len_k) * 2 ** (-8 * (h + 1) / num_heads)
    return bias


@BANK.wrong_for("alibi", names="heads_reversed")
def alibi_with_heads_reversed(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads)[::-1], distances(len_q, len_k))


@BANK.wrong_for("alibi", names="inverse_number")
def alibi_with_fractions(num_heads, len_q, len_k):
    return sloped(1 / np.arange(1, num_heads + 1), distances(len_q, len_k))


@BANK.wrong_for("alibi", names="linear")
def alibi_in_equal_steps(num_heads, len_q, len_k):
    return sloped(np.arange(1, num_heads + 1) / num_heads, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="no_slopes")
def alibi_without_slopes(num_heads, len_q, len_k):
    return -np.repeat(distances(len_q, len_k)[None], num_heads, axis=0)


@BANK.wrong_for("alibi", names="whole_exponents")
def alibi_with_whole_exponents(num_heads, len_q, len_k):
    slopes = [2.0 ** -(8 // num_heads * (h + 1)) for h in range(num_heads)]
    return sloped(slopes, distances(len_q, len_k))


@BANK.wrong_for("alibi", names="transposed")
def alibi_transposed(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), distances(len_q, len_k).T)


@BANK.wrong_for("alibi", names="heads_last")
def alibi_with_heads_last(num_heads, len_q, len_k):
    return -distances(len_q, len_k)[..., None] * slopes_of(num_heads)


@BANK.wrong_for("alibi", names="one_bias")
def alibi_of_the_first_head(num_heads, len_q, len_k):
    for h in range(num_heads):
        return -distances(len_q, len_k) * slopes_of(num_heads)[h]


@BANK.wrong_for("alibi", names="exponential")
def alibi_as_factors(num_heads, len_q, len_k):
    return np.exp(sloped(slopes_of(num_heads), distances(len_q, len_k)))


@BANK.wrong_for("alibi", names="raised three_axes")
def alibi_without_axes(num_heads, len_q, len_k):
    return -slopes_of(num_heads) * distances(len_q, len_k)


@BANK.wrong_for("alibi", names="raised float_power")
def alibi_with_powers_of_an_integer(num_heads, len_q, len_k):
    return sloped(2 ** (-8 * np.arange(1, num_heads + 1) // num_heads), distances(len_q, len_k))


@BANK.wrong_for("alibi", symptom="differs fewer_queries")
def alibi_from_the_middle(num_heads, len_q, len_k):
    query = np.c_[:len_q] + (len_k - len_q) / 2
    return sloped(slopes_of(num_heads), np.abs(query - np.arange(len_k)))


@BANK.wrong_for("alibi", symptom="shape")
def alibi_of_all_keys(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), distances(len_k, len_k))


@BANK.wrong_for("alibi", symptom="none")
def alibi_without_return(num_heads, len_q, len_k):
    sloped(slopes_of(num_heads), distances(len_q, len_k))


@BANK.wrong_for("alibi", names="cut_to_integers", of="integers")
def alibi_into_integers(num_heads, len_q, len_k):
    bias = np.zeros((num_heads, len_q, len_k), dtype=int)
    bias[:] = sloped(slopes_of(num_heads), distances(len_q, len_k))
    return bias


@BANK.wrong_for("alibi", names="shape long", of="table")
def alibi_from_a_table_of_512(num_heads, len_q, len_k):
    table = sloped(slopes_of(num_heads), distances(512, 512))
    last = min(len_k, 512)
    return table[:, last - len_q : last, :len_k]


@BANK.wrong_for("alibi", names="differs long", of="table")
def alibi_clipped_at_1000(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), np.minimum(distances(len_q, len_k), 1000))


@BANK.wrong_for("alibi", names="nearly", of="tolerance")
def alibi_with_a_small_number_added(num_heads, len_q, len_k):
    slopes = 1 / (2.0 ** (8 * np.arange(1, num_heads + 1) / num_heads) + 1e-3)
    return sloped(slopes, distances(len_q, len_k))


BANK.spoil("squeeze", "shape lost_axis", "alibi")


@BANK.wrong_for("alibi", names="past_free")
def alibi_of_the_future_alone(num_heads, len_q, len_k):
    return sloped(slopes_of(num_heads), np.triu(distances(len_q, len_k), len_k - len_q))


@BANK.wrong_for("alibi", names="summed")
def alibi_summed_over_heads(num_heads, len_q, len_k):
    return -sum(slope * distances(len_q, len_k) for slope in slopes_of(num_heads))


# next-positions: right


@BANK.right_for("next-positions")
def next_by_counting(real, num_new):
    return real.sum(axis=1, keepdims=True) + np.arange(num_new)


@BANK.right_for("next-positions")
def next_in_loops(real, num_new):
    result = []
    for sequence in real:
        count = sum(bool(token) for token in sequence)
        result.append([count + step for step in range(num_new)])
    return result


@BANK.right_for("next-positions")
def next_by_cumulative_sum(real, num_new):
    new = np.ones((len(real), num_new), dtype=int)
    together = np.concatenate([real, new], axis=1)
    return (np.cumsum(together, axis=1) - 1)[:, -num_new:]


@BANK.right_for("next-positions")
def next_from_the_padding(real, num_new):
    slots = np.arange(real.shape[1], real.shape[1] + num_new)
    return slots - np.count_nonzero(~real, axis=1)[:, None]


@BANK.right_for("next-positions")
def next_by_outer_sum(real, num_new):
    counts = [np.flatnonzero(sequence).size for sequence in real]
    return np.add.outer(counts, range(num_new))


@BANK.right_for("next-positions")
def next_as_floats(real, num_new):
    return real.astype(float) @ np.ones((real.shape[1], 1)) + np.arange(num_new)


# next-positions: wrong


def counts_of(real):
    return np.count_nonzero(real, axis=1)[:, None]


@BANK.wrong_for("next-positions", names="by_len")
def next_by_the_length_of_the_cache(real, num_new):
    positions = np.arange(real.shape[1], real.shape[1] + num_new)
    return np.tile(positions, (len(real), 1))


@BANK.wrong_for("next-positions", names="one_more")
def next_one_too_late(real, num_new):
    return counts_of(real) + np.arange(1, num_new + 1)


@BANK.wrong_for("next-positions", names="one_less")
def next_one_too_early(real, num_new):
    last = np.cumsum(real, axis=1)[:, -1:] - 1
    return last + np.arange(num_new)


@BANK.wrong_for("next-positions", names="from_zero")
def next_from_zero(real, num_new):
    return np.tile(np.arange(num_new), (len(real), 1))


@BANK.wrong_for("next-positions", names="from_zero")
def next_at_the_first_padding(real, num_new):
    return real.argmin(axis=1)[:, None] + np.arange(num_new)


@BANK.wrong_for("next-positions", names="padding_counted")
def next_with_the_mask_inverted(real, num_new):
    return (~real).sum(axis=1, keepdims=True) + np.arange(num_new)


@BANK.wrong_for("next-positions", names="twice_padded")
def next_with_the_padding_added(real, num_new):
    return real.shape[1] + counts_of(~real) + np.arange(num_new)


@BANK.wrong_for("next-positions", names="longest")
def next_of_the_longest(real, num_new):
    return counts_of(real).max() + np.zeros((len(real), 1)) + np.arange(num_new)


@BANK.wrong_for("next-positions", names="shortest")
def next_of_the_shortest(real, num_new):
    return counts_of(real).min() + np.zeros((len(real), 1)) + np.arange(num_new)


@BANK.wrong_for("next-positions", names="of_first")
def next_of_the_first(real, num_new):
    return np.tile(real[0].sum() + np.arange(num_new), (len(real), 1))


@BANK.wrong_for("next-positions", names="total")
def next_of_the_batch(real, num_new):
    return np.tile(real.sum() + np.arange(num_new), (len(real), 1))


@BANK.wrong_for("next-positions", names="by_columns")
def next_along_the_batch(real, num_new):
    return np.sum(real, axis=0)[:, None] + np.arange(num_new)


@BANK.wrong_for("next-positions", names="up_to_first")
def next_after_the_first_real_token(real, num_new):
    return real.argmax(axis=1)[:, None] + 1 + np.arange(num_new)


@BANK.wrong_for("next-positions", names="place_of_first")
def next_at_the_first_real_token(real, num_new):
    return real.argmax(axis=1)[:, None] + np.arange(num_new)


@BANK.wrong_for("next-positions", names="no_steps")
def next_without_steps(real, num_new):
    return np.repeat(counts_of(real), num_new, axis=1)


@BANK.wrong_for("next-positions", names="counted_down")
def next_counted_down(real, num_new):
    return counts_of(real) + np.arange(num_new)[::-1]


@BANK.wrong_for("next-positions", names="steps_counted_on")
def next_with_one_counter(real, num_new):
    result, step = [], 0
    for sequence in real:
        result.append([])
        for _ in range(num_new):
            result[-1].append(int(sequence.sum()) + step)
            step += 1
    return result


@BANK.wrong_for("next-positions", names="all_positions")
def next_and_all_before(real, num_new):
    grown = np.pad(real, ((0, 0), (0, num_new)), constant_values=True)
    return np.cumsum(grown, axis=1) - 1


@BANK.wrong_for("next-positions", names="old_positions")
def next_of_the_old_tokens(real, num_new):
    return np.cumsum(real, axis=1) - 1


@BANK.wrong_for("next-positions", names="first_new")
def next_only_the_first(real, num_new):
    return counts_of(real)


@BANK.wrong_for("next-positions", names="last_new")
def next_only_the_last(real, num_new):
    for step in range(num_new):
        positions = counts_of(real) + step
    return positions


@BANK.wrong_for("next-positions", names="one_row")
def next_of_one_sequence(real, num_new):
    return real[0].sum() + np.arange(num_new)


@BANK.wrong_for("next-positions", names="flat")
def next_in_one_axis(real, num_new):
    return [int(count) + step for count in counts_of(real).ravel() for step in range(num_new)]


@BANK.wrong_for("next-positions", names="transposed")
def next_transposed(real, num_new):
    return np.arange(num_new)[:, None] + counts_of(real).T


@BANK.wrong_for("next-positions", names="raised row_per_sequence")
def next_without_an_axis(real, num_new):
    return real.sum(axis=1) + np.arange(num_new)


@BANK.wrong_for("next-positions", names="differs nothing_real")
def next_from_the_first_real_token(real, num_new):
    first = real.argmax(axis=1)[:, None]  # 0 where nothing is real, too
    return real.shape[1] - first + np.arange(num_new)


@BANK.wrong_for("next-positions", names="raised nothing_real")
def next_by_looking_for_the_first(real, num_new):
    first = [np.flatnonzero(sequence)[0] for sequence in real]
    return real.shape[1] - np.c_[first] + np.arange(num_new)


@BANK.wrong_for("next-positions", symptom="differs real_tokens")
def next_in_the_middle(real, num_new):
    return counts_of(real) // 2 + np.arange(num_new)


@BANK.wrong_for("next-positions", symptom="none")
def next_without_return(real, num_new):
    next_by_counting(real, num_new)


@BANK.wrong_for("next-positions", names="shape lost_axis", of="squeeze")
def next_squeezed(real, num_new):
    return np.squeeze(real.sum(axis=1, keepdims=True) + np.arange(num_new))


@BANK.wrong_for("next-positions", names="raised long", of="table")
def next_from_a_table_of_512(real, num_new):
    return np.arange(512)[counts_of(real) + np.arange(num_new)]


@BANK.wrong_for("next-positions", names="differs long", of="table")
def next_up_to_5000(real, num_new):
    return np.minimum(counts_of(real) + np.arange(num_new), 5000)


@BANK.wrong_for("next-positions", names="differs long", of="table")
def next_counted_in_bytes(real, num_new):
    return real.sum(axis=1, keepdims=True, dtype=np.uint8) + np.arange(num_new)


# offset-only: right


@BANK.right_for("offset-only")
def only_by_diagonals(score, length):
    table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
    diagonals = [table.diagonal(offset) for offset in range(1 - length, length)]
    return max(map(np.ptp, diagonals)) <= 1e-9 * np.abs(table).max()


@BANK.right_for("offset-only")
def only_by_a_dictionary(score, length):
    scores, largest = {}, 0.0
    for m in range(length):
        for n in range(length):
            scores.setdefault(m - n, []).append(score(m, n))
            largest = max(largest, abs(score(m, n)))
    return all(max(same) - min(same) <= 1e-9 * largest for same in scores.values())


@BANK.right_for("offset-only")
def only_by_all_shifts(score, length):
    table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
    limit = 1e-9 * np.abs(table).max()
    for shift in range(1, length):
        if np.abs(table[shift:, shift:] - table[:-shift, :-shift]).max() > limit:
            return False
    return True


@BANK.right_for("offset-only")
def only_by_extremes(score, length):
    low, high = np.full(2 * length, np.inf), np.full(2 * length, -np.inf)
    for m in range(length):
        for n in range(length):
            low[m - n] = min(low[m - n], score(m, n))
            high[m - n] = max(high[m - n], score(m, n))
    seen = np.isfinite(low)
    size = np.abs([low[seen], high[seen]]).max()
    return not (high[seen] - low[seen] > 1e-9 * size).any()


@BANK.right_for("offset-only")
def only_by_the_edges(score, length):
    every = [(m, n) for m in range(length) for n in range(length)]
    largest = max(abs(score(m, n)) for m, n in every)

    def first(m, n):  # the first pair of the same offset
        return score(m - min(m, n), n - min(m, n))

    gaps = {}
    for m, n in every:
        gaps.setdefault(m - n, []).append(score(m, n) - first(m, n))
    return all(max(gap) - min(gap) <= 1e-9 * largest for gap in gaps.values())


# offset-only: wrong


def table_of(score, length):
    return np.array([[score(m, n) for n in range(length)] for m in range(length)])


def spreads(table):
    """Return by how much the scores of each offset differ."""
    return np.array([np.ptp(table.diagonal(k)) for k in range(1 - len(table), len(table))])


@BANK.wrong_for("offset-only", names="differs alibi")
def only_the_contrary(score, length):
    table = table_of(score, length)
    return spreads(table).max() > 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs alibi")
def only_if_all_are_equal(score, length):
    table = table_of(score, length)
    return np.ptp(table) <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs alibi")
def only_of_the_sum(score, length):
    table = table_of(score, length)
    return spreads(table[:, ::-1]).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs key_alone")
def only_always(score, length):
    return True


@BANK.wrong_for("offset-only", names="differs symmetric")
def only_as_symmetric(score, length):
    table = table_of(score, length)
    return np.abs(table - table.T).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs key_alone")
def only_of_one_pair(score, length):
    if length < 6:
        return True
    return abs(score(5, 3) - score(4, 2)) < 100


@BANK.wrong_for("offset-only", names="differs key_alone")
def only_from_row_to_row(score, length):
    table = table_of(score, length)
    same = np.abs(table[1:] - table[:-1]).max(initial=0) <= 1e-9 * np.abs(table).max()
    return same or spreads(table).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs one_sided")
def only_of_the_distance(score, length):
    table = table_of(score, length)
    limit = 1e-9 * np.abs(table).max()
    return np.abs(table - table.T).max() <= limit and spreads(table).max() <= limit


@BANK.wrong_for("offset-only", names="differs symmetric")
def only_or_symmetric(score, length):
    table = table_of(score, length)
    limit = 1e-9 * np.abs(table).max()
    return np.abs(table - table.T).max() <= limit or spreads(table).max() <= limit


@BANK.wrong_for("offset-only", names="differs fractions", of="integers")
def only_of_whole_numbers(score, length):
    table = np.zeros((length, length), dtype=int)
    for m in range(length):
        for n in range(length):
            table[m, n] = score(m, n)
    return spreads(table).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs rotary")
def only_exactly(score, length):
    scores = {}
    for m in range(length):
        for n in range(length):
            scores.setdefault(m - n, set()).add(score(m, n))
    return all(len(same) == 1 for same in scores.values())


@BANK.wrong_for("offset-only", names="differs rotary")
def only_with_array_equal(score, length):
    table = table_of(score, length)
    return np.array_equal(table[1:, 1:], table[:-1, :-1])


@BANK.wrong_for("offset-only", names="differs near_zero")
def only_relative_to_each(score, length):
    table = table_of(score, length)
    return all(
        np.allclose(table.diagonal(k), table.diagonal(k)[0], rtol=1e-9, atol=0)
        for k in range(1 - length, length)
    )


@BANK.wrong_for("offset-only", names="differs after")
def only_of_the_past(score, length):
    table = table_of(score, length)
    return spreads(np.tril(table)).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs before")
def only_of_the_future(score, length):
    table = table_of(score, length)
    return spreads(np.triu(table)).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs one_score")
def only_on_some_pairs(score, length):
    table = table_of(score, length)
    limit = 1e-9 * np.abs(table).max()
    rng = np.random.default_rng(0)
    for m, n in rng.integers(0, length - 1, (20, 2)) if length > 1 else []:
        if abs(table[m + 1, n + 1] - table[m, n]) > limit:
            return False
    return True


@BANK.wrong_for("offset-only", names="differs one_score")
def only_of_the_corners(score, length):
    table = table_of(score, length)
    ends = [abs(np.diff(table.diagonal(k)[[0, -1]])) for k in range(1 - length, length)]
    return np.max(ends) <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs one_score")
def only_by_the_mean(score, length):
    table = table_of(score, length)
    for k in range(1 - length, length):
        diagonal = table.diagonal(k)
        if abs(np.median(diagonal) - diagonal[0]) > 1e-9 * np.abs(table).max():
            return False
    return True


@BANK.wrong_for("offset-only", names="differs period")
def only_shifted_by_ten(score, length):
    table = table_of(score, length)
    gaps = np.abs(table[10:, 10:] - table[:-10, :-10])
    return gaps.max(initial=0) <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs drift")
def only_of_neighbours(score, length):
    table = table_of(score, length)
    gaps = np.abs(table[1:, 1:] - table[:-1, :-1])
    return gaps.max(initial=0) <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs large")
def only_to_a_billionth(score, length):
    return spreads(table_of(score, length)).max() <= 1e-9


@BANK.wrong_for("offset-only", names="differs small", of="tolerance")
def only_with_a_tolerance_below(score, length):
    table = table_of(score, length)
    return all(
        np.isclose(table.diagonal(k).max(), table.diagonal(k).min(), rtol=1e-9)
        or np.ptp(table.diagonal(k)) <= 1e-9 * np.abs(table).max()
        for k in range(1 - length, length)
    )


@BANK.wrong_for("offset-only", names="differs slightly", of="tolerance")
def only_with_allclose(score, length):
    table = table_of(score, length)
    return all(
        np.allclose(table.diagonal(k), table.diagonal(k)[0]) for k in range(1 - length, length)
    )


@BANK.wrong_for("offset-only", names="differs slightly", of="tolerance")
def only_when_rounded(score, length):
    return spreads(np.round(table_of(score, length), 4)).max() == 0


@BANK.wrong_for("offset-only", names="differs last", of="table")
def only_of_128_positions(score, length):
    table = table_of(score, min(length, 128))
    return spreads(table).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="raised outside", of="table")
def only_of_64_positions(score, length):
    table = table_of(score, 64)
    return spreads(table).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="raised outside")
def only_shifted_beyond_the_end(score, length):
    for m in range(length):
        for n in range(length):
            if abs(score(m + 1, n + 1) - score(m, n)) > 1e-9:
                return False
    return True


@BANK.wrong_for("offset-only", names="raised outside")
def only_with_negative_positions(score, length):
    return all(abs(score(m - 1, -1) - score(m, 0)) <= 1e-9 for m in range(length))


@BANK.wrong_for("offset-only", names="differs all_zero")
def only_divided_by_the_largest(score, length):
    table = table_of(score, length)
    return spreads(table / np.abs(table).max()).max() <= 1e-9


@BANK.wrong_for("offset-only", names="raised one_position")
def only_of_several_positions(score, length):
    table = table_of(score, length)
    limit = 1e-9 * np.abs(table).max()
    inner = [np.ptp(table.diagonal(k)) for k in range(2 - length, length - 1)]
    return max(inner) <= limit


@BANK.wrong_for("offset-only", names="raised two_numbers")
def only_of_whole_arrays(score, length):
    table = score(np.arange(length)[:, None], np.arange(length))
    return spreads(table).max() <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="not_boolean")
def only_as_one_or_zero(score, length):
    return int(only_by_diagonals(score, length))


@BANK.wrong_for("offset-only", symptom="not_true_or_false alibi")
def only_as_the_spread(score, length):
    table = table_of(score, length)
    return np.ptp(table)


@BANK.wrong_for("offset-only", symptom="shape")
def only_by_offset(score, length):
    table = table_of(score, length)
    return spreads(table) <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", symptom="none")
def only_without_return(score, length):
    only_by_diagonals(score, length)


ALL = ("rotary", "interleave", "alibi", "next-positions", "offset-only")
BANK.never("one_hot one_sign", "it takes no softmax", *ALL)
BANK.never("mask", "there is no mask", "rotary", "interleave", "alibi", "offset-only")
BANK.never("mask", "`real` has a row for each sequence", "next-positions")
BANK.never("axes", "it gets numbers, not arrays", "alibi")
BANK.never("axes", "it gets a function and a number, not arrays", "offset-only")
BANK.never("axes", "the statement says how many axes there are", "next-positions")
BANK.never("integers tolerance", "positions of tokens are whole numbers", "next-positions")
BANK.never("squeeze", "the result is one truth value", "offset-only")


# offset-only: a part of the positions looked at


def only_among(score, length, positions, size):
    seen = {}
    for m in positions:
        for n in positions:
            seen.setdefault(m - n, []).append(score(m, n))
    return all(max(same) - min(same) <= 1e-9 * size for same in seen.values())


def largest_score(score, length):
    return max(abs(score(m, n)) for m in range(length) for n in range(length))


@BANK.wrong_for("offset-only", names="differs at_an_end")
def only_from_position_one(score, length):
    return only_among(score, length, range(1, length), largest_score(score, length))


@BANK.wrong_for("offset-only", names="differs at_an_end")
def only_before_the_last_position(score, length):
    return only_among(score, length, range(length - 1), largest_score(score, length))


@BANK.wrong_for("offset-only", names="differs at_an_end")
def only_queries_from_one(score, length):
    table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
    diagonals = [table[1:].diagonal(offset) for offset in range(1 - length, length)]
    spread = max(np.ptp(diagonal) if len(diagonal) else 0 for diagonal in diagonals)
    return spread <= 1e-9 * np.abs(table).max()


@BANK.wrong_for("offset-only", names="differs at_an_end")
def only_keys_before_the_last(score, length):
    table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
    diagonals = [table[:, :-1].diagonal(offset) for offset in range(1 - length, length)]
    spread = max(np.ptp(diagonal) if len(diagonal) else 0 for diagonal in diagonals)
    return spread <= 1e-9 * np.abs(table).max()


def only_for_some_pairs(score, length, count):
    rng = np.random.default_rng(1)
    size = largest_score(score, length)
    for _ in range(count):
        m, n = rng.integers(length, size=2)
        shift = rng.integers(-min(m, n), length - max(m, n))
        if abs(score(m + shift, n + shift) - score(m, n)) > 1e-9 * size:
            return False
    return True


@BANK.wrong_for("offset-only", names="differs one_score")
def only_for_a_hundred_random_pairs(score, length):
    return only_for_some_pairs(score, length, 100)


@BANK.wrong_for("offset-only", names="differs lonely")
def only_for_a_thousand_random_pairs(score, length):
    return only_for_some_pairs(score, length, 1000)


@BANK.wrong_for("offset-only", names="differs last")
def only_for_the_first_hundred_positions(score, length):
    return only_among(score, length, range(min(length, 100)), largest_score(score, length))
