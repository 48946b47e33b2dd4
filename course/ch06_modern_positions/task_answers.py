"""Answers to assignment 6."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# partial-rotary


@BANK.right_for("partial-rotary")
def partial_in_loops(x, positions, rotated):
    result = np.array(x, dtype=float)
    for h in range(x.shape[0]):
        for row in range(x.shape[1]):
            for j in range(rotated // 2):
                a = positions[row] * 10000.0 ** (-2 * j / rotated)
                one, other = x[h, row, j], x[h, row, j + rotated // 2]
                result[h, row, j] = one * np.cos(a) - other * np.sin(a)
                result[h, row, j + rotated // 2] = one * np.sin(a) + other * np.cos(a)
    return result


@BANK.right_for("partial-rotary")
def partial_with_the_package(x, positions, rotated):
    result = x.copy()
    result[..., :rotated] = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return result


@BANK.right_for("partial-rotary")
def partial_with_complex_numbers(x, positions, rotated):
    half = rotated // 2
    w = 10000.0 ** (-np.arange(half) / half)
    pairs = (x[..., :half] + 1j * x[..., half:rotated]) * np.exp(1j * np.outer(positions, w))
    return np.concatenate([pairs.real, pairs.imag, x[..., rotated:]], axis=-1).tolist()


@BANK.wrong_for("partial-rotary", names="neighbours")
def partial_interleaved(x, positions, rotated):
    turned = attnbook.apply_rotary(x[..., :rotated], positions)
    return np.concatenate([turned, x[..., rotated:]], axis=-1)


@BANK.wrong_for("partial-rotary", names="backwards")
def partial_backwards(x, positions, rotated):
    turned = attnbook.apply_rotary(x[..., :rotated], -positions, pairing="halves")
    return np.concatenate([turned, x[..., rotated:]], axis=-1)


@BANK.wrong_for("partial-rotary", names="over_head_dim")
def partial_over_head_dim(x, positions, rotated):
    half = rotated // 2
    a = np.outer(positions, 10000.0 ** (-2 * np.arange(half) / x.shape[-1]))
    one, other = x[..., :half], x[..., half:rotated]
    turned = [one * np.cos(a) - other * np.sin(a), one * np.sin(a) + other * np.cos(a)]
    return np.concatenate([*turned, x[..., rotated:]], axis=-1)


@BANK.wrong_for("partial-rotary", names="partners_of_head")
def partial_across_the_head(x, positions, rotated):
    result, half, far = x.copy(), rotated // 2, x.shape[-1] // 2
    a = np.outer(positions, 10000.0 ** (-2 * np.arange(half) / rotated))
    one, other = x[..., :half], x[..., far : far + half]
    result[..., :half] = one * np.cos(a) - other * np.sin(a)
    result[..., far : far + half] = one * np.sin(a) + other * np.cos(a)
    return result


@BANK.wrong_for("partial-rotary", names="last_columns")
def partial_of_the_last_columns(x, positions, rotated):
    result = x.copy()
    result[..., -rotated:] = attnbook.apply_rotary(x[..., -rotated:], positions, pairing="halves")
    return result


@BANK.wrong_for("partial-rotary", names="all_columns_turned")
def partial_of_all_columns(x, positions, rotated):
    return attnbook.apply_rotary(x, positions, pairing="halves")


@BANK.wrong_for("partial-rotary", names="so_many_pairs")
def partial_of_so_many_pairs(x, positions, rotated):
    r = min(2 * rotated, x.shape[-1])
    turned = attnbook.apply_rotary(x[..., :r], positions, pairing="halves")
    return np.concatenate([turned, x[..., r:]], axis=-1)


@BANK.wrong_for("partial-rotary", names="counted")
def partial_counting_rows(x, positions, rotated):
    turned = attnbook.apply_rotary(x[..., :rotated], pairing="halves")
    return np.concatenate([turned, x[..., rotated:]], axis=-1)


@BANK.wrong_for("partial-rotary", names="rotated_alone")
def partial_without_the_rest(x, positions, rotated):
    return attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")


@BANK.wrong_for("partial-rotary", names="rest_first")
def partial_behind_the_rest(x, positions, rotated):
    turned = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return np.concatenate([x[..., rotated:], turned], axis=-1)


@BANK.wrong_for("partial-rotary", names="rest_zero")
def partial_into_zeros(x, positions, rotated):
    result = np.zeros(x.shape)
    result[..., :rotated] = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return result


@BANK.wrong_for("partial-rotary", names="in_place")
def partial_in_place(x, positions, rotated):
    x[..., :rotated] = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return x


@BANK.wrong_for("partial-rotary", names="shape lost_axis")
def partial_squeezed(x, positions, rotated):
    turned = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return np.squeeze(np.concatenate([turned, x[..., rotated:]], axis=-1))


@BANK.wrong_for("partial-rotary", symptom="first_only first_columns")
def partial_of_the_first_head(x, positions, rotated):
    result = x.copy()
    result[0, :, :rotated] = attnbook.apply_rotary(x[0, :, :rotated], positions, pairing="halves")
    return result


@BANK.wrong_for("partial-rotary", symptom="differs first_columns")
def partial_of_one_half(x, positions, rotated):
    half = rotated // 2
    turned = attnbook.apply_rotary(x[..., :rotated], positions, pairing="halves")
    return np.concatenate([turned[..., :half], x[..., half:]], axis=-1)


# turns


@BANK.right_for("turns")
def turns_in_a_loop(head_dim, base, length):
    return [
        int((length - 1) * base ** (-2 * j / head_dim) / (2 * np.pi)) for j in range(head_dim // 2)
    ]


@BANK.right_for("turns")
def turns_by_whole_division(head_dim, base, length):
    w = np.exp(-np.arange(0, head_dim, 2) / head_dim * np.log(base))
    return (length - 1) * w // (2 * np.pi)


@BANK.right_for("turns")
def turns_counted(head_dim, base, length):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, head_dim, 2) / head_dim))
    return (np.diff(angles // (2 * np.pi), axis=0) > 0).sum(axis=0)


@BANK.wrong_for("turns", names="from_length")
def turns_from_length(head_dim, base, length):
    return length * base ** (-np.arange(0, head_dim, 2) / head_dim) // (2 * np.pi)


@BANK.wrong_for("turns", names="not_cut")
def turns_and_parts(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim) / (2 * np.pi)


@BANK.wrong_for("turns", names="rounded")
def turns_rounded(head_dim, base, length):
    w = base ** (-np.arange(0, head_dim, 2) / head_dim)
    return np.rint((length - 1) * w / (2 * np.pi)).astype(int)


@BANK.wrong_for("turns", names="rounded_up")
def turns_begun(head_dim, base, length):
    return np.ceil((length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim) / (2 * np.pi))


@BANK.wrong_for("turns", names="half_turns")
def turns_by_pi(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim) // np.pi


@BANK.wrong_for("turns", names="half_turns")
def turns_by_sign_changes(head_dim, base, length):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, head_dim, 2) / head_dim))
    return (np.diff(np.floor(angles / np.pi), axis=0) != 0).sum(axis=0)


@BANK.wrong_for("turns", names="radians")
def turns_in_radians(head_dim, base, length):
    return np.floor((length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim))


@BANK.wrong_for("turns", names="by_360")
def turns_in_degrees(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim) // 360


@BANK.wrong_for("turns", names="to_positions")
def turns_as_positions(head_dim, base, length):
    return 2 * np.pi // base ** (-np.arange(0, head_dim, 2) / head_dim)


@BANK.wrong_for("turns", names="single")
def turns_with_j_for_2j(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(head_dim // 2) / head_dim) // (2 * np.pi)


@BANK.wrong_for("turns", names="doubled")
def turns_divided_by_the_pairs(head_dim, base, length):
    half = head_dim // 2
    return (length - 1) * base ** (-2 * np.arange(half) / half) // (2 * np.pi)


@BANK.wrong_for("turns", names="fixed_base")
def turns_with_base_10000(head_dim, base, length):
    return (length - 1) * 10000.0 ** (-np.arange(0, head_dim, 2) / head_dim) // (2 * np.pi)


@BANK.wrong_for("turns", names="columns")
def turns_of_columns(head_dim, base, length):
    w = base ** (-(np.arange(head_dim) // 2 * 2) / head_dim)
    return (length - 1) * w // (2 * np.pi)


@BANK.wrong_for("turns", names="at_least_one")
def turns_how_many_pairs(head_dim, base, length):
    angle = (length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim)
    return int(np.count_nonzero(angle >= 2 * np.pi))


@BANK.wrong_for("turns", names="yes_or_no")
def turns_whether(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(0, head_dim, 2) / head_dim) >= 2 * np.pi


@BANK.wrong_for("turns", names="raised float_base")
def turns_with_integer_powers(head_dim, base, length):
    w = np.array(int(base)) ** -np.arange(0, head_dim, 2)
    return (length - 1) * w ** (1 / head_dim) // (2 * np.pi)


@BANK.wrong_for("turns", symptom="shape")
def turns_of_the_first_pairs(head_dim, base, length):
    return (length - 1) * base ** (-np.arange(0, head_dim, 4) / head_dim) // (2 * np.pi)


# alibi-reach


@BANK.right_for("alibi-reach")
def reach_in_loops(query, key, slopes):
    near = []
    for slope in slopes:
        total = 0.0
        for i in range(32, 64):
            e = [np.exp(query[i] @ key[j] / 4 - slope * (i - j)) for j in range(i + 1)]
            total += sum(e[-8:]) / sum(e)
        near.append(total / 32)
    return near


@BANK.right_for("alibi-reach")
def reach_at_once(query, key, slopes):
    place = np.arange(64)
    bias = -slopes[:, None, None] * abs(place[:, None] - place)
    w = attnbook.scaled_dot_product_attention(
        query, key, key, attnbook.causal_mask(64), bias=bias
    ).weights
    band = np.tri(64, 64) - np.tri(64, 64, -8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.right_for("alibi-reach")
def reach_by_the_key_alone(query, key, slopes):
    mask, near = attnbook.causal_mask(64), []
    for slope in slopes:  # what is the same for all keys of a query, softmax takes off
        scores = np.where(mask, query @ key.T / 4 + slope * np.arange(64), -np.inf)
        w = attnbook.softmax(scores)
        near.append(np.mean([w[i, i - 7 : i + 1].sum() for i in range(32, 64)]))
    return np.array(near)


@BANK.wrong_for("alibi-reach", names="unscaled")
def reach_unscaled(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="bias_scaled")
def reach_with_the_bias_scaled(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = (query @ key.T - slopes[:, None, None] * abs(back)) / 4
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="rewarded")
def reach_with_the_sign_turned(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 + slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="no_scores")
def reach_of_the_bias_alone(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = -slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="up_to_8")
def reach_of_nine_tokens(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back <= 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="seven")
def reach_of_seven_tokens(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 7)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="without_itself")
def reach_without_itself(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back > 0) & (back <= 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="far")
def reach_of_the_far_tokens(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = back >= 8
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="over_all")
def reach_over_all_queries(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2).mean(axis=1)


@BANK.wrong_for("alibi-reach", names="last_query")
def reach_of_the_last_query(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, -1]


@BANK.wrong_for("alibi-reach", names="summed")
def reach_summed_over_queries(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].sum(axis=1)


@BANK.wrong_for("alibi-reach", names="mean_weight")
def reach_as_a_mean_weight(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1) / 8


@BANK.wrong_for("alibi-reach", names="median")
def reach_as_a_median(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    band = (back >= 0) & (back < 8)
    return np.median((w * band).sum(axis=2)[:, 32:], axis=1)


@BANK.wrong_for("alibi-reach", names="no_mask")
def reach_without_a_mask(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(scores)
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="both_sides")
def reach_on_both_sides(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(scores)
    band = abs(back) < 8
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", names="over_queries")
def reach_over_the_queries(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf), axis=1)
    band = (back >= 0) & (back < 8)
    return (w * band).sum(axis=2)[:, 32:].mean(axis=1)


@BANK.wrong_for("alibi-reach", symptom="shape")
def reach_of_the_last_slope(query, key, slopes):
    for slope in slopes:
        back = np.arange(64)[:, None] - np.arange(64)
        scores = query @ key.T / 4 - slope * abs(back)
        w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
        near = (w * ((back >= 0) & (back < 8))).sum(axis=1)[32:].mean()
    return near


@BANK.wrong_for("alibi-reach", symptom="shape")
def reach_of_each_query(query, key, slopes):
    back = np.arange(64)[:, None] - np.arange(64)
    scores = query @ key.T / 4 - slopes[:, None, None] * abs(back)
    w = attnbook.softmax(np.where(back >= 0, scores, -np.inf))
    return (w * ((back >= 0) & (back < 8))).sum(axis=2)[:, 32:]
