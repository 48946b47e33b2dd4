"""Answers to the exercises of the chapter Attend to long sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()


# two-halves: right


@BANK.right_for("two-halves")
def two_halves_with_a_correction(first, second):
    old = first.max(axis=-1, keepdims=True)
    old = np.where(old == -np.inf, 0, old)
    total = np.exp(first - old).sum(axis=-1, keepdims=True)
    new = np.maximum(first.max(axis=-1, keepdims=True), second.max(axis=-1, keepdims=True))
    new = np.where(new == -np.inf, 0, new)
    total = total * np.exp(old - new) + np.exp(second - new).sum(axis=-1, keepdims=True)
    total = np.where(total == 0, 1, total)
    return np.exp(first - new) / total, np.exp(second - new) / total


@BANK.right_for("two-halves")
def two_halves_in_loops(first, second):
    results = np.empty(first.shape), np.empty(second.shape)
    for place in np.ndindex(first.shape[:-1]):
        rows = first[place].tolist(), second[place].tolist()
        top = max(map(max, rows))
        total = sum(math.exp(s - top) for row in rows for s in row if s > -math.inf)
        for result, row in zip(results, rows, strict=True):
            result[place] = [math.exp(s - top) / total if s > -math.inf else 0 for s in row]
    return results


@BANK.right_for("two-halves")
def two_halves_by_logsumexp(first, second):
    one, other = (np.logaddexp.reduce(x, axis=-1, keepdims=True) for x in (first, second))
    both = np.logaddexp(one, other)
    both = np.where(np.isinf(both), 0.0, both)
    return [np.exp(first - both), np.exp(second - both)]


@BANK.right_for("two-halves")
def two_halves_by_shares(first, second):
    one, other = (np.logaddexp.reduce(x, axis=-1, keepdims=True) for x in (first, second))
    share = attnbook.softmax(np.stack([one, other]), axis=0)
    return attnbook.softmax(first) * share[0], attnbook.softmax(second) * share[1]


@BANK.right_for("two-halves")
def two_halves_score_by_score(first, second):
    top = np.full(first.shape[:-1], -np.inf)
    total = np.zeros(first.shape[:-1])
    for score in itertools.chain(np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)):
        new = np.maximum(top, score)
        safe = np.where(np.isfinite(new), new, 0)
        total = total * np.exp(top - safe) + np.exp(score - safe)
        top = new
    top, total = np.where(np.isfinite(top), top, 0)[..., None], total[..., None]
    with np.errstate(invalid="ignore"):
        weights = (np.exp(x - top) / total for x in (first, second))
        return tuple(np.nan_to_num(w) for w in weights)


@BANK.right_for("two-halves")
def two_halves_with_the_package(first, second):
    return np.split(attnbook.online_softmax([first, second]), [first.shape[-1]], axis=-1)


# two-halves: wrong


def largest(x):
    """Return the largest of each row, 0 for one of -inf alone."""
    top = x.max(axis=-1, keepdims=True)
    return np.where(np.isfinite(top), top, 0)


def summed(x):
    return x.sum(axis=-1, keepdims=True)


def put_together(first, second):
    return np.concatenate([np.array(first), np.array(second)], axis=-1)


def cut_apart(weights, first):
    return weights[..., : first.shape[-1]], weights[..., first.shape[-1] :]


@BANK.wrong_for("two-halves", names="raised put_together")
def two_halves_concatenated(first, second):
    scores = np.concatenate([first, second], axis=-1)
    return np.split(attnbook.softmax(scores), [first.shape[-1]], axis=-1)


@BANK.wrong_for("two-halves", names="raised leading_axes", of="axes")
def two_halves_side_by_side(first, second):
    weights = attnbook.softmax(np.c_[first, second])
    return weights[..., : first.shape[-1]], weights[..., first.shape[-1] :]


@BANK.wrong_for("two-halves", names="each_half")
def two_halves_each_for_itself(first, second):
    return attnbook.softmax(first), attnbook.softmax(second)


@BANK.wrong_for("two-halves", names="halved")
def two_halves_with_half_each(first, second):
    return attnbook.softmax(first) / 2, attnbook.softmax(second) / 2


@BANK.wrong_for("two-halves", names="by_length")
def two_halves_by_their_lengths(first, second):
    n, m = first.shape[-1], second.shape[-1]
    return attnbook.softmax(first) * n / (n + m), attnbook.softmax(second) * m / (n + m)


@BANK.wrong_for("two-halves", names="own_maxima")
def two_halves_with_own_maxima(first, second):
    e, f = np.exp(first - largest(first)), np.exp(second - largest(second))
    total = summed(e) + summed(f)
    return e / total, f / total


@BANK.wrong_for("two-halves", names="larger_half")
def two_halves_of_the_larger(first, second):
    larger = first.max(axis=-1, keepdims=True) >= second.max(axis=-1, keepdims=True)
    zeros = np.zeros(first.shape), np.zeros(second.shape)
    return (
        np.where(larger, attnbook.softmax(first), zeros[0]),
        np.where(larger, zeros[1], attnbook.softmax(second)),
    )


@BANK.wrong_for("two-halves", names="total_uncorrected")
def two_halves_without_a_factor(first, second):
    total = summed(np.exp(first - largest(first)))
    top = np.maximum(largest(first), largest(second))
    total = total + summed(np.exp(second - top))
    return np.exp(first - top) / total, np.exp(second - top) / total


@BANK.wrong_for("two-halves", names="inverse_factor")
def two_halves_with_the_factor_upside_down(first, second):
    old = largest(first)
    top = np.maximum(old, largest(second))
    total = summed(np.exp(first - old)) * np.exp(top - old) + summed(np.exp(second - top))
    return np.exp(first - top) / total, np.exp(second - top) / total


@BANK.wrong_for("two-halves", names="second_alone")
def two_halves_overwriting_the_total(first, second):
    top = np.maximum(largest(first), largest(second))
    for half in (first, second):
        total = summed(np.exp(half - top))
    return np.exp(first - top) / total, np.exp(second - top) / total


@BANK.wrong_for("two-halves", names="first_alone")
def two_halves_with_the_first_total(first, second):
    top = np.maximum(largest(first), largest(second))
    total = summed(np.exp(first - top))
    return np.exp(first - top) / total, np.exp(second - top) / total


@BANK.wrong_for("two-halves", names="weights_uncorrected")
def two_halves_with_old_exponentials(first, second):
    old = largest(first)
    e = np.exp(first - old)
    top = np.maximum(old, largest(second))
    f = np.exp(second - top)
    total = summed(e) * np.exp(old - top) + summed(f)
    return e / total, f / total


@BANK.wrong_for("two-halves", names="first_maximum")
def two_halves_with_the_first_maximum(first, second):
    top = first.max(axis=-1, keepdims=True)
    e, f = np.exp(first - top), np.exp(second - top)
    return e / (summed(e) + summed(f)), f / (summed(e) + summed(f))


@BANK.wrong_for("two-halves", names="overflow")
def two_halves_without_a_maximum(first, second):
    e, f = np.exp(first), np.exp(second)
    return e / (summed(e) + summed(f)), f / (summed(e) + summed(f))


@BANK.wrong_for("two-halves", names="one_maximum")
def two_halves_with_one_maximum(first, second):
    top = max(first.max(), second.max())
    e, f = np.exp(first - top), np.exp(second - top)
    return e / (summed(e) + summed(f)), f / (summed(e) + summed(f))


@BANK.wrong_for("two-halves", names="hard")
def two_halves_of_the_best_key(first, second):
    top = np.maximum(first.max(axis=-1, keepdims=True), second.max(axis=-1, keepdims=True))
    return (first == top) * 1.0, (second == top) * 1.0


@BANK.wrong_for("two-halves", names="no_sum")
def two_halves_not_divided(first, second):
    top = np.maximum(largest(first), largest(second))
    return np.exp(first - top), np.exp(second - top)


@BANK.wrong_for("two-halves", names="bare")
def two_halves_of_exponentials(first, second):
    return np.exp(first), np.exp(second)


@BANK.wrong_for("two-halves", names="no_exponential")
def two_halves_without_exponentials(first, second):
    total = summed(first) + summed(second)
    return first / total, second / total


@BANK.wrong_for("two-halves", names="uniform")
def two_halves_uniform(first, second):
    n = first.shape[-1] + second.shape[-1]
    return np.full(first.shape, 1 / n), np.full(second.shape, 1 / n)


@BANK.wrong_for("two-halves", names="over_rows")
def two_halves_over_the_rows(first, second):
    return attnbook.softmax(first, axis=-2), attnbook.softmax(second, axis=-2)


@BANK.wrong_for("two-halves", names="sum_of_all")
def two_halves_over_everything(first, second):
    total = np.exp(first).sum() + np.exp(second).sum()
    return np.exp(first) / total, np.exp(second) / total


@BANK.wrong_for("two-halves", names="empty_uniform")
def two_halves_with_a_large_negative_number(first, second):
    weights = attnbook.softmax(np.maximum(put_together(first, second), -1e9))
    return cut_apart(weights, first)


@BANK.wrong_for("two-halves", names="empty_nan")
def two_halves_with_nan(first, second):
    top = np.maximum(first.max(axis=-1, keepdims=True), second.max(axis=-1, keepdims=True))
    e, f = np.exp(first - top), np.exp(second - top)
    return e / (summed(e) + summed(f)), f / (summed(e) + summed(f))


@BANK.wrong_for("two-halves", names="half_nan")
def two_halves_with_nan_in_a_half(first, second):
    old = first.max(axis=-1, keepdims=True)
    its = second.max(axis=-1, keepdims=True)
    e, f = np.exp(first - old), np.exp(second - its)
    top = np.maximum(old, its)
    e, f = e * np.exp(old - top), f * np.exp(its - top)
    return e / (summed(e) + summed(f)), f / (summed(e) + summed(f))


@BANK.wrong_for("two-halves", names="swapped")
def two_halves_swapped(first, second):
    return two_halves_by_logsumexp(second, first)


@BANK.wrong_for("two-halves", names="one_array")
def two_halves_as_one(first, second):
    return put_together(*two_halves_by_logsumexp(first, second))


@BANK.wrong_for("two-halves", names="first_returned")
def two_halves_of_the_first(first, second):
    return two_halves_by_logsumexp(first, second)[0]


@BANK.wrong_for("two-halves", names="in_place")
def two_halves_in_place(first, second):
    top = np.maximum(largest(first), largest(second))
    first -= top
    second -= top
    total = summed(np.exp(first)) + summed(np.exp(second))
    return np.exp(first) / total, np.exp(second) / total


@BANK.wrong_for("two-halves", names="raised keepdims")
def two_halves_without_keepdims(first, second):
    top = np.maximum(first.max(axis=-1), second.max(axis=-1))
    e, f = np.exp(first - top), np.exp(second - top)
    return e / (e.sum(axis=-1) + f.sum(axis=-1)), f / (e.sum(axis=-1) + f.sum(axis=-1))


@BANK.wrong_for("two-halves", symptom="others_right differs one_sum")
def two_halves_with_the_maximum_of_the_second(first, second):
    top = largest(second)
    e, f = np.exp(first - largest(first)), np.exp(second - top)
    total = summed(np.exp(first - top)) + summed(f)
    return e / total, f / total


@BANK.wrong_for("two-halves", symptom="none")
def two_halves_without_return(first, second):
    attnbook.softmax(first)


@BANK.wrong_for("two-halves", names="hard_far", of="one_hot")
def two_halves_one_hot_where_large(first, second):
    return cut_apart(one_hot_where_large(put_together(first, second)), first)


@BANK.wrong_for("two-halves", names="underflow", of="one_sign")
def two_halves_guarded_above(first, second):
    return cut_apart(guarded_above(put_together(first, second)), first)


@BANK.wrong_for("two-halves", names="raised leading_axes", of="axes")
def two_halves_of_three_axes(first, second):
    batch, rows, _ = first.shape
    results = np.zeros(first.shape), np.zeros(second.shape)
    for b in range(batch):
        for i in range(rows):
            one, other = two_halves_by_logsumexp(first[b, i], second[b, i])
            results[0][b, i], results[1][b, i] = one, other
    return results


@BANK.wrong_for("two-halves", names="raised leading_axes", of="axes")
def two_halves_along_axis_2(first, second):
    top = np.maximum(first.max(axis=2, keepdims=True), second.max(axis=2, keepdims=True))
    top = np.where(np.isfinite(top), top, 0)
    e, f = np.exp(first - top), np.exp(second - top)
    total = e.sum(axis=2, keepdims=True) + f.sum(axis=2, keepdims=True)
    total[total == 0] = 1
    return e / total, f / total


@BANK.wrong_for("two-halves", names="cut_to_integers", of="integers")
def two_halves_into_arrays_like_the_scores(first, second):
    results = np.zeros_like(first), np.zeros_like(second)
    for result, weights in zip(results, two_halves_by_logsumexp(first, second), strict=True):
        result[...] = weights
    return results


BANK.spoil("squeeze", "shape lost_axis", "two-halves")
BANK.spoil("tolerance", "rounded", "two-halves")


@BANK.wrong_for("two-halves", names="no_softmax")
def two_halves_as_they_are(first, second):
    return first.copy(), second.copy()


@BANK.wrong_for("two-halves", names="turned")
def two_halves_with_the_sign_turned(first, second):
    weights = attnbook.softmax(-put_together(first, second))
    return cut_apart(weights, first)


# merge: right


@BANK.right_for("merge")
def merge_with_logaddexp(output_1, logsumexp_1, output_2, logsumexp_2):
    logsumexp = np.logaddexp(logsumexp_1, logsumexp_2)
    whole = np.where(logsumexp == -np.inf, 0, logsumexp)
    one, other = np.exp(logsumexp_1 - whole), np.exp(logsumexp_2 - whole)
    return one[..., None] * output_1 + other[..., None] * output_2, logsumexp


@BANK.right_for("merge")
def merge_in_loops(output_1, logsumexp_1, output_2, logsumexp_2):
    output = np.zeros(output_1.shape)
    logsumexp = np.full(logsumexp_1.shape, -np.inf)
    for place in np.ndindex(logsumexp.shape):
        one, other = float(logsumexp_1[place]), float(logsumexp_2[place])
        if max(one, other) > -math.inf:
            top = max(one, other)
            e, f = math.exp(one - top), math.exp(other - top)
            output[place] = (e * output_1[place] + f * output_2[place]) / (e + f)
            logsumexp[place] = top + math.log(e + f)
    return output, logsumexp


@BANK.right_for("merge")
def merge_with_softmax(output_1, logsumexp_1, output_2, logsumexp_2):
    shares = attnbook.softmax(np.stack([logsumexp_1, logsumexp_2]), axis=0)[..., None]
    return shares[0] * output_1 + shares[1] * output_2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.right_for("merge")
def merge_with_a_sigmoid(output_1, logsumexp_1, output_2, logsumexp_2):
    some = np.maximum(logsumexp_1, logsumexp_2) > -np.inf
    gap = np.subtract(logsumexp_2, logsumexp_1, where=some, out=np.zeros(some.shape))
    share = 1 / (1 + np.exp(np.clip(gap, -700, 700)))[..., None]
    output = np.where(some[..., None], share * output_1 + (1 - share) * output_2, 0)
    total = np.maximum(logsumexp_1, logsumexp_2) + np.log1p(np.exp(-np.abs(gap)))
    return [output, np.where(some, total, -np.inf)]


@BANK.right_for("merge")
def merge_as_attention_to_two_keys(output_1, logsumexp_1, output_2, logsumexp_2):
    scores = np.stack([logsumexp_1, logsumexp_2], axis=-1)[..., None, :]
    values = np.stack([output_1, output_2], axis=-2)
    return (attnbook.softmax(scores) @ values)[..., 0, :], np.logaddexp.reduce(scores, -1)[..., 0]


# merge: wrong


def shares_of(one, other):
    """Return the shares of two halves, with an axis for the columns."""
    shares = attnbook.softmax(np.stack([one, other]), axis=0)
    return shares[..., None]


@BANK.wrong_for("merge", names="mean")
def merge_by_the_mean(output_1, logsumexp_1, output_2, logsumexp_2):
    return (output_1 + output_2) / 2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="added")
def merge_by_addition(output_1, logsumexp_1, output_2, logsumexp_2):
    return output_1 + output_2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="inverse")
def merge_with_shares_swapped(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return other * output_1 + one * output_2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="inverse")
def merge_with_the_sigmoid_turned(output_1, logsumexp_1, output_2, logsumexp_2):
    share = 1 / (1 + np.exp(logsumexp_1 - logsumexp_2))[..., None]
    return share * output_1 + (1 - share) * output_2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="inverse_factors")
def merge_with_factors_upside_down(output_1, logsumexp_1, output_2, logsumexp_2):
    logsumexp = np.logaddexp(logsumexp_1, logsumexp_2)
    one, other = np.exp(logsumexp - logsumexp_1), np.exp(logsumexp - logsumexp_2)
    return one[..., None] * output_1 + other[..., None] * output_2, logsumexp


@BANK.wrong_for("merge", names="linear")
def merge_by_shares_of_logarithms(output_1, logsumexp_1, output_2, logsumexp_2):
    share = (logsumexp_1 / (logsumexp_1 + logsumexp_2))[..., None]
    return share * output_1 + (1 - share) * output_2, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="hard")
def merge_of_the_larger(output_1, logsumexp_1, output_2, logsumexp_2):
    larger = (logsumexp_1 >= logsumexp_2)[..., None]
    return np.where(larger, output_1, output_2), np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="no_sum")
def merge_not_divided(output_1, logsumexp_1, output_2, logsumexp_2):
    top = np.maximum(logsumexp_1, logsumexp_2)
    e, f = np.exp(logsumexp_1 - top), np.exp(logsumexp_2 - top)
    return e[..., None] * output_1 + f[..., None] * output_2, top + np.log(e + f)


@BANK.wrong_for("merge", names="bare")
def merge_with_bare_exponentials(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1), np.exp(logsumexp_2)
    return e[..., None] * output_1 + f[..., None] * output_2, np.log(e + f)


@BANK.wrong_for("merge", names="base_2")
def merge_with_powers_of_two(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = 2.0**logsumexp_1, 2.0**logsumexp_2
    output = (e[..., None] * output_1 + f[..., None] * output_2) / (e + f)[..., None]
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="first_corrected")
def merge_correcting_the_first(output_1, logsumexp_1, output_2, logsumexp_2):
    logsumexp = np.logaddexp(logsumexp_1, logsumexp_2)
    return np.exp(logsumexp_1 - logsumexp)[..., None] * output_1 + output_2, logsumexp


@BANK.wrong_for("merge", names="of_all_rows")
def merge_by_shares_of_everything(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1), np.exp(logsumexp_2)
    total = e.sum() + f.sum()
    output = (e[..., None] * output_1 + f[..., None] * output_2) / total
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="over_queries")
def merge_over_the_queries(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = attnbook.softmax(logsumexp_1), attnbook.softmax(logsumexp_2)
    output = one[..., None] * output_1 + other[..., None] * output_2
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="totals_added")
def merge_adding_logarithms(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, logsumexp_1 + logsumexp_2


@BANK.wrong_for("merge", names="largest")
def merge_keeping_the_maximum(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, np.maximum(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="mean_of_totals")
def merge_averaging_logarithms(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, (logsumexp_1 + logsumexp_2) / 2


@BANK.wrong_for("merge", names="no_exponential")
def merge_with_the_logarithm_of_a_sum(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, np.log(logsumexp_1 + logsumexp_2)


@BANK.wrong_for("merge", names="no_logarithm")
def merge_without_the_logarithm(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1)[..., None], np.exp(logsumexp_2)[..., None]
    return (e * output_1 + f * output_2) / (e + f), (e + f)[..., 0]


@BANK.wrong_for("merge", names="no_maximum_added")
def merge_without_adding_the_maximum(output_1, logsumexp_1, output_2, logsumexp_2):
    top = np.maximum(logsumexp_1, logsumexp_2)
    e, f = np.exp(logsumexp_1 - top)[..., None], np.exp(logsumexp_2 - top)[..., None]
    return (e * output_1 + f * output_2) / (e + f), np.log(e + f)[..., 0]


@BANK.wrong_for("merge", names="log_2")
def merge_with_log2(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1)[..., None], np.exp(logsumexp_2)[..., None]
    return (e * output_1 + f * output_2) / (e + f), np.log2(e + f)[..., 0]


@BANK.wrong_for("merge", names="minus_log_2")
def merge_with_the_logarithm_of_a_mean(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1)[..., None], np.exp(logsumexp_2)[..., None]
    return (e * output_1 + f * output_2) / (e + f), np.log((e + f) / 2)[..., 0]


@BANK.wrong_for("merge", names="first_total")
def merge_keeping_the_first_logsumexp(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, logsumexp_1.copy()


@BANK.wrong_for("merge", names="overflow")
def merge_by_the_formula(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1), np.exp(logsumexp_2)
    output = (e[..., None] * output_1 + f[..., None] * output_2) / (e + f)[..., None]
    return output, np.log(e + f)


@BANK.wrong_for("merge", names="total_overflow")
def merge_with_a_naive_total(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    total = np.log(np.exp(logsumexp_1) + np.exp(logsumexp_2))
    return one * output_1 + other * output_2, total


@BANK.wrong_for("merge", names="shares_overflow")
def merge_with_naive_shares(output_1, logsumexp_1, output_2, logsumexp_2):
    e, f = np.exp(logsumexp_1)[..., None], np.exp(logsumexp_2)[..., None]
    output = e / (e + f) * output_1 + f / (e + f) * output_2
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="both_nan")
def merge_with_nan_for_empty_rows(output_1, logsumexp_1, output_2, logsumexp_2):
    logsumexp = np.logaddexp(logsumexp_1, logsumexp_2)
    one, other = np.exp(logsumexp_1 - logsumexp), np.exp(logsumexp_2 - logsumexp)
    return one[..., None] * output_1 + other[..., None] * output_2, logsumexp


@BANK.wrong_for("merge", names="all_nan")
def merge_with_nan_everywhere(output_1, logsumexp_1, output_2, logsumexp_2):
    top = np.maximum(logsumexp_1, logsumexp_2)
    e, f = np.exp(logsumexp_1 - top), np.exp(logsumexp_2 - top)
    output = (e[..., None] * output_1 + f[..., None] * output_2) / (e + f)[..., None]
    return output, top + np.log(e + f)


@BANK.wrong_for("merge", names="sum_nan")
def merge_relative_to_the_first(output_1, logsumexp_1, output_2, logsumexp_2):
    factor = np.exp(np.minimum(logsumexp_2 - logsumexp_1, 700))
    share = 1 / (1 + factor)[..., None]
    logsumexp = logsumexp_1 + np.log1p(np.exp(logsumexp_2 - logsumexp_1))
    return share * output_1 + (1 - share) * output_2, logsumexp


@BANK.wrong_for("merge", names="by_columns")
def merge_without_an_axis(output_1, logsumexp_1, output_2, logsumexp_2):
    logsumexp = np.logaddexp(logsumexp_1, logsumexp_2)
    one, other = np.exp(logsumexp_1 - logsumexp), np.exp(logsumexp_2 - logsumexp)
    return one * output_1 + other * output_2, logsumexp


@BANK.wrong_for("merge", names="swapped")
def merge_swapped(output_1, logsumexp_1, output_2, logsumexp_2):
    return merge_with_softmax(output_1, logsumexp_1, output_2, logsumexp_2)[::-1]


@BANK.wrong_for("merge", names="output_alone")
def merge_of_outputs(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2


@BANK.wrong_for("merge", names="column")
def merge_with_a_column(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    logsumexp = np.logaddexp(logsumexp_1[..., None], logsumexp_2[..., None])
    return one * output_1 + other * output_2, logsumexp


@BANK.wrong_for("merge", names="in_place")
def merge_in_place(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    output_1 *= one
    output_1 += other * output_2
    return output_1, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", symptom="not_finite one_empty")
def merge_with_nan_where_one_is_empty(output_1, logsumexp_1, output_2, logsumexp_2):
    output, logsumexp = merge_with_softmax(output_1, logsumexp_1, output_2, logsumexp_2)
    gap = logsumexp_1 - logsumexp_2
    return np.where(np.isinf(gap)[..., None], np.nan, output), logsumexp


@BANK.wrong_for("merge", symptom="others_right differs shares")
def merge_of_the_first_output(output_1, logsumexp_1, output_2, logsumexp_2):
    one, _ = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", symptom="differs both_empty")
def merge_with_zero_for_an_empty_row(output_1, logsumexp_1, output_2, logsumexp_2):
    output, logsumexp = merge_with_softmax(output_1, logsumexp_1, output_2, logsumexp_2)
    return output, np.where(np.isinf(logsumexp), 0, logsumexp)


@BANK.wrong_for("merge", symptom="none")
def merge_without_return(output_1, logsumexp_1, output_2, logsumexp_2):
    np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="hard_far", of="one_hot")
def merge_one_hot_where_large(output_1, logsumexp_1, output_2, logsumexp_2):
    shares = one_hot_where_large(np.stack([logsumexp_1, logsumexp_2], axis=-1))
    output = shares[..., :1] * output_1 + shares[..., 1:] * output_2
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="underflow", of="one_sign")
def merge_guarded_above(output_1, logsumexp_1, output_2, logsumexp_2):
    top = max(0, logsumexp_1.max(), logsumexp_2.max())
    e, f = np.exp(logsumexp_1 - top), np.exp(logsumexp_2 - top)
    output = (e[..., None] * output_1 + f[..., None] * output_2) / (e + f)[..., None]
    return output, top + np.log(e + f)


@BANK.wrong_for("merge", names="raised leading_axes", of="axes")
def merge_of_three_axes(output_1, logsumexp_1, output_2, logsumexp_2):
    batch, _, _ = output_1.shape
    found = [
        merge_with_softmax(output_1[b], logsumexp_1[b], output_2[b], logsumexp_2[b])
        for b in range(batch)
    ]
    return np.array([output for output, _ in found]), np.array([total for _, total in found])


@BANK.wrong_for("merge", names="raised row_of_numbers", of="axes")
def merge_with_an_axis_at_2(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = attnbook.softmax(np.stack([logsumexp_1, logsumexp_2]), axis=0)
    if one.ndim < 2:
        one, other = one[None], other[None]
    output = one[:, :, None] * output_1 + other[:, :, None] * output_2
    return output.reshape(output_1.shape), np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="cut_to_integers", of="integers")
def merge_into_an_array_like_the_output(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    output = np.zeros_like(output_1)
    output[...] = one * output_1 + other * output_2
    return output, np.logaddexp(logsumexp_1, logsumexp_2)


@BANK.wrong_for("merge", names="differs both_empty", of="tolerance")
def merge_with_a_small_number_added(output_1, logsumexp_1, output_2, logsumexp_2):
    top = np.maximum(np.maximum(logsumexp_1, logsumexp_2), -1e30)
    e, f = np.exp(logsumexp_1 - top), np.exp(logsumexp_2 - top)
    total = np.maximum(e + f, 1e-12)
    output = (e[..., None] * output_1 + f[..., None] * output_2) / total[..., None]
    return output, top + np.log(total)


BANK.spoil("squeeze", "shape lost_axis", "merge")
BANK.spoil("tolerance", "rounded", "merge")


@BANK.wrong_for("merge", names="second_total")
def merge_keeping_the_second_total(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    return one * output_1 + other * output_2, logsumexp_2.copy()


@BANK.wrong_for("merge", names="total_nan")
def merge_with_a_total_by_the_maximum(output_1, logsumexp_1, output_2, logsumexp_2):
    one, other = shares_of(logsumexp_1, logsumexp_2)
    top = np.maximum(logsumexp_1, logsumexp_2)
    total = top + np.log(np.exp(logsumexp_1 - top) + np.exp(logsumexp_2 - top))
    return one * output_1 + other * output_2, total


# blockwise-causal: right


@BANK.right_for("blockwise-causal")
def blockwise_with_three_things(query, key, value, block_size):
    length, d_k = query.shape
    output = np.zeros((length, value.shape[1]))
    for start in range(0, length, block_size):
        rows = np.arange(start, min(start + block_size, length))
        top, total, mixed = -np.inf, 0.0, 0.0
        for first in range(0, start + 1, block_size):
            columns = np.arange(first, min(first + block_size, length))
            scores = query[rows] @ key[columns].T / np.sqrt(d_k)
            scores = np.where(columns <= rows[:, None], scores, -np.inf)
            new = np.maximum(top, scores.max(axis=1, keepdims=True))
            e = np.exp(scores - new)
            factor = np.exp(top - new)
            total = total * factor + e.sum(axis=1, keepdims=True)
            mixed = mixed * factor + e @ value[columns]
            top = new
        output[rows] = mixed / total
    return output


@BANK.right_for("blockwise-causal")
def blockwise_by_merging(query, key, value, block_size):
    def piece(rows, columns):
        scores = query[rows] @ key[columns].T / np.sqrt(query.shape[1])
        if rows == columns:
            scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
        top = scores.max(axis=1, keepdims=True)
        e = np.exp(scores - top)
        total = e.sum(axis=1, keepdims=True)
        return e / total @ value[columns], top + np.log(total)

    blocks = [slice(i, i + block_size) for i in range(0, len(query), block_size)]
    outputs = []
    for number, rows in enumerate(blocks):
        output, logsumexp = piece(rows, rows)
        for columns in blocks[:number]:
            other, its = piece(rows, columns)
            both = np.logaddexp(logsumexp, its)
            output = np.exp(logsumexp - both) * output + np.exp(its - both) * other
            logsumexp = both
        outputs.append(output)
    return np.concatenate(outputs)


@BANK.right_for("blockwise-causal")
def blockwise_keys_outside(query, key, value, block_size):
    length = len(query)
    query = query / np.sqrt(query.shape[1])
    top, total = np.full((length, 1), -np.inf), np.zeros((length, 1))
    output = np.zeros((length, value.shape[1]))
    for first in range(0, length, block_size):
        keys = slice(first, first + block_size)
        for start in range(first, length, block_size):
            rows = slice(start, start + block_size)
            scores = np.einsum("id,jd->ij", query[rows], key[keys])
            if start == first:
                scores[np.triu_indices(len(scores), 1)] = -np.inf
            new = np.maximum(top[rows], scores.max(axis=1, keepdims=True))
            factor, e = np.exp(top[rows] - new), np.exp(scores - new)
            output[rows] = factor * output[rows] + e @ value[keys]
            total[rows] = factor * total[rows] + e.sum(axis=1, keepdims=True)
            top[rows] = new
    return output / total


@BANK.right_for("blockwise-causal")
def blockwise_row_by_row(query, key, value, block_size):
    scale = query.shape[1] ** -0.5
    output = []
    for i in range(len(query)):
        top, total, mixed = -math.inf, 0.0, np.zeros(value.shape[1])
        for first in range(0, i + 1, block_size):
            last = min(first + block_size, i + 1)
            scores = key[first:last] @ query[i] * scale
            new = max(top, float(scores.max()))
            e = np.exp(scores - new)
            factor = math.exp(top - new)
            total = total * factor + float(e.sum())
            mixed = mixed * factor + e @ value[first:last]
            top = new
        output.append(mixed / total)
    return output


@BANK.right_for("blockwise-causal")
def blockwise_in_two_passes(query, key, value, block_size):
    length = len(query)
    top, result = np.full((length, 1), -np.inf), np.zeros((length, value.shape[1] + 1))
    ones = np.column_stack([value, np.ones(length)])
    for last_pass in (False, True):
        for i in range(0, length, block_size):
            for j in range(0, i + block_size, block_size):
                rows, columns = np.s_[i : i + block_size], np.s_[j : j + block_size]
                scores = query[rows] @ key[columns].T / math.sqrt(query.shape[1])
                visible = np.tri(*scores.shape, i - j, dtype=bool)
                if not scores.size:
                    continue
                if last_pass:
                    e = np.where(visible, np.exp(np.minimum(scores - top[rows], 0)), 0)
                    result[rows] += e @ ones[columns]
                else:
                    scores = np.where(visible, scores, -np.inf)
                    top[rows] = np.maximum(top[rows], scores.max(axis=1, keepdims=True))
    return result[:, :-1] / result[:, -1:]


@BANK.right_for("blockwise-causal")
def blockwise_with_the_package(query, key, value, block_size):
    return attnbook.blockwise_attention(
        query, key, value, causal=True, block_size=block_size
    ).output


# blockwise-causal: wrong


def in_blocks(
    query,
    key,
    value,
    block_size,
    factors=lambda old, new: (np.exp(old - new), np.exp(old - new)),
    visible=lambda i, j, start, first: j <= i,
    scale=None,
    end=lambda start, length: start + 1,
    exponential=lambda scores, new: np.exp(scores - new),
):
    """Return output and total of blockwise attention, of which a part is wrong."""
    length, size = len(query), block_size
    scale = scale or query.shape[1] ** -0.5
    outputs, totals = np.zeros((length, value.shape[1])), np.zeros((length, 1))
    for start in range(0, length, size):
        i = np.arange(start, min(start + size, length))[:, None]
        top, total, output = -np.inf, 0, 0
        for first in range(0, end(start, length), size):
            j = np.arange(first, min(first + size, length))
            scores = query[start : start + size] @ key[first : first + size].T * scale
            scores = np.where(visible(i, j, start, first), scores, -np.inf)
            new = np.maximum(top, scores.max(axis=1, keepdims=True))
            e = exponential(scores, new)
            kept, counted = factors(top, new)
            output = output * kept + e @ value[first : first + size]
            total = total * counted + e.sum(axis=1, keepdims=True)
            top = new
        outputs[start : start + size], totals[start : start + size] = output, total
    return outputs, totals


@BANK.wrong_for("blockwise-causal", names="whole")
def blockwise_not_at_all(query, key, value, block_size):
    scores = query @ key.T / np.sqrt(query.shape[1])
    scores = np.where(np.tri(len(query), dtype=bool), scores, -np.inf)
    return attnbook.softmax(scores) @ value


@BANK.wrong_for("blockwise-causal", names="whole")
def blockwise_cut_out_of_the_whole(query, key, value, block_size):
    scores = np.dot(query, key.T) / np.sqrt(query.shape[1])
    output = np.zeros((len(query), value.shape[1]))
    for start in range(0, len(query), block_size):
        end = min(start + block_size, len(query))
        visible = np.arange(end) <= np.arange(start, end)[:, None]
        block = np.where(visible, scores[start:end, :end], -np.inf)
        output[start:end] = attnbook.softmax(block) @ value[:end]
    return output


@BANK.wrong_for("blockwise-causal", names="len_by_len")
def blockwise_by_the_whole_attention(query, key, value, block_size):
    mask = attnbook.causal_mask(len(query))
    return attnbook.scaled_dot_product_attention(query, key, value, mask).output


@BANK.wrong_for("blockwise-causal", names="len_by_len")
def blockwise_with_one_large_mask(query, key, value, block_size):
    mask = np.tri(len(query), dtype=bool)

    def visible(i, j, start, first):
        return mask[i, j]

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


@BANK.wrong_for("blockwise-causal", names="stripes")
def blockwise_by_rows_alone(query, key, value, block_size):
    output = []
    for start in range(0, len(query), block_size):
        scores = query[start : start + block_size] @ key.T / np.sqrt(query.shape[1])
        visible = np.arange(len(key)) <= np.arange(start, start + len(scores))[:, None]
        output.append(attnbook.softmax(np.where(visible, scores, -np.inf)) @ value)
    return np.concatenate(output)


@BANK.wrong_for("blockwise-causal", names="stripes")
def blockwise_by_columns_alone(query, key, value, block_size):
    top, total, output = -np.inf, 0, 0
    i = np.arange(len(query))[:, None]
    for first in range(0, len(query), block_size):
        j = np.arange(first, min(first + block_size, len(query)))
        scores = query @ key[j].T / np.sqrt(query.shape[1])
        scores = np.where(j <= i, scores, -np.inf)
        new = np.maximum(top, scores.max(axis=1, keepdims=True))
        e, factor = np.exp(scores - new), np.exp(top - new)
        output, total = output * factor + e @ value[j], total * factor + e.sum(1, keepdims=True)
        top = new
    return output / total


@BANK.wrong_for("blockwise-causal", names="stripes_cut")
def blockwise_by_rows_up_to_the_diagonal(query, key, value, block_size):
    output = []
    for start in range(0, len(query), block_size):
        end = min(start + block_size, len(query))
        scores = query[start:end] @ key[:end].T / np.sqrt(query.shape[1])
        visible = np.arange(end) <= np.arange(start, end)[:, None]
        output.append(attnbook.softmax(np.where(visible, scores, -np.inf)) @ value[:end])
    return np.concatenate(output)


@BANK.wrong_for("blockwise-causal", names="all_blocks")
def blockwise_with_hidden_blocks(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, end=lambda start, length: length)
    return output / total


@BANK.wrong_for("blockwise-causal", names="one_block_more")
def blockwise_with_one_block_more(query, key, value, block_size):
    def end(start, length):
        return min(start + block_size + 1, length)

    output, total = in_blocks(query, key, value, block_size, end=end)
    return output / total


@BANK.wrong_for("blockwise-causal", names="no_correction")
def blockwise_without_factors(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, factors=lambda old, new: (1, 1))
    return output / total


@BANK.wrong_for("blockwise-causal", names="output_uncorrected")
def blockwise_with_the_output_uncorrected(query, key, value, block_size):
    def factors(old, new):
        return 1, np.exp(old - new)

    output, total = in_blocks(query, key, value, block_size, factors=factors)
    return output / total


@BANK.wrong_for("blockwise-causal", names="total_uncorrected")
def blockwise_with_the_total_uncorrected(query, key, value, block_size):
    def factors(old, new):
        return np.exp(old - new), 1

    output, total = in_blocks(query, key, value, block_size, factors=factors)
    return output / total


@BANK.wrong_for("blockwise-causal", names="inverse_factor")
def blockwise_with_factors_upside_down(query, key, value, block_size):
    def factors(old, new):
        return 2 * [np.exp(new - old) if np.any(old > -np.inf) else 0]

    output, total = in_blocks(query, key, value, block_size, factors=factors)
    return output / total


@BANK.wrong_for("blockwise-causal", names="last_block")
def blockwise_of_the_last_block(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, factors=lambda old, new: (0, 0))
    return output / total


@BANK.wrong_for("blockwise-causal", names="last_block")
def blockwise_of_the_diagonal(query, key, value, block_size):
    output = []
    for start in range(0, len(query), block_size):
        block = slice(start, start + block_size)
        mask = attnbook.causal_mask(len(query[block]))
        q, k, v = query[block], key[block], value[block]
        output.append(attnbook.scaled_dot_product_attention(q, k, v, mask).output)
    return np.concatenate(output)


@BANK.wrong_for("blockwise-causal", names="last_output")
def blockwise_overwriting_the_output(query, key, value, block_size):
    def factors(old, new):
        return 0, np.exp(old - new)

    output, total = in_blocks(query, key, value, block_size, factors=factors)
    return output / total


@BANK.wrong_for("blockwise-causal", names="last_total")
def blockwise_overwriting_the_total(query, key, value, block_size):
    def factors(old, new):
        return np.exp(old - new), 0

    output, total = in_blocks(query, key, value, block_size, factors=factors)
    return output / total


@BANK.wrong_for("blockwise-causal", names="not_itself")
def blockwise_without_itself(query, key, value, block_size):
    def visible(i, j, start, first):
        return j < i

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


@BANK.wrong_for("blockwise-causal", names="one_ahead")
def blockwise_one_ahead(query, key, value, block_size):
    def visible(i, j, start, first):
        return j <= i + 1

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


@BANK.wrong_for("blockwise-causal", names="own_block_whole")
def blockwise_with_the_whole_diagonal(query, key, value, block_size):
    output = np.zeros((len(query), value.shape[1]))
    for start in range(0, len(query), block_size):
        end = min(start + block_size, len(query))
        q, k, v = query[start:end], key[:end], value[:end]
        output[start:end] = attnbook.scaled_dot_product_attention(q, k, v).output
    return output


@BANK.wrong_for("blockwise-causal", names="mask_of_each_block")
def blockwise_with_the_same_mask_everywhere(query, key, value, block_size):
    def visible(i, j, start, first):
        return np.tri(len(i), len(j), dtype=bool)

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


@BANK.wrong_for("blockwise-causal", names="inverted")
def blockwise_with_the_mask_inverted(query, key, value, block_size):
    def visible(i, j, start, first):
        return j > i

    def exponential(scores, new):
        return np.exp(scores - np.where(new == -np.inf, 0, new))

    def factors(old, new):
        return 2 * [np.exp(old - np.where(new == -np.inf, 0, new))]

    output, total = in_blocks(
        query, key, value, block_size, factors, visible, exponential=exponential
    )
    return output / total


@BANK.wrong_for("blockwise-causal", names="no_mask")
def blockwise_without_a_mask(query, key, value, block_size):
    def visible(i, j, start, first):
        return True

    output, total = in_blocks(
        query, key, value, block_size, visible=visible, end=lambda start, length: length
    )
    return output / total


@BANK.wrong_for("blockwise-causal", names="before_own_block")
def blockwise_without_the_diagonal(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, end=lambda start, length: start)
    return output / total


@BANK.wrong_for("blockwise-causal", names="unscaled")
def blockwise_unscaled(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=1)
    return output / total


@BANK.wrong_for("blockwise-causal", names="by_d_k")
def blockwise_by_d_k(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=1 / query.shape[1])
    return output / total


@BANK.wrong_for("blockwise-causal", names="by_d_v")
def blockwise_by_the_values_size(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=value.shape[1] ** -0.5)
    return output / total


@BANK.wrong_for("blockwise-causal", names="by_len_k")
def blockwise_by_the_length(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=len(key) ** -0.5)
    return output / total


@BANK.wrong_for("blockwise-causal", names="overflow")
def blockwise_without_a_maximum(query, key, value, block_size):
    output, total = in_blocks(
        query,
        key,
        value,
        block_size,
        factors=lambda old, new: (1, 1),
        exponential=lambda scores, new: np.exp(scores),
    )
    return output / total


@BANK.wrong_for("blockwise-causal", names="uniform")
def blockwise_uniform(query, key, value, block_size):
    return np.cumsum(value, axis=0) / np.arange(1, len(value) + 1)[:, None]


@BANK.wrong_for("blockwise-causal", names="rest_left_out")
def blockwise_of_whole_blocks(query, key, value, block_size):
    whole = len(query) // block_size * block_size
    output = np.zeros((len(query), value.shape[1]))
    found, total = in_blocks(query[:whole], key[:whole], value[:whole], block_size)
    output[:whole] = found / total
    return output


@BANK.wrong_for("blockwise-causal", names="no_sum")
def blockwise_not_divided(query, key, value, block_size):
    output, _ = in_blocks(query, key, value, block_size)
    return output


@BANK.wrong_for("blockwise-causal", names="divided_each_time")
def blockwise_divided_after_each_block(query, key, value, block_size):
    length, size = len(query), block_size
    result = np.zeros((length, value.shape[1]))
    for start in range(0, length, size):
        i = np.arange(start, min(start + size, length))[:, None]
        top, total, output = -np.inf, 0, 0
        for first in range(0, start + 1, size):
            j = np.arange(first, min(first + size, length))
            scores = query[start : start + size] @ key[j].T / np.sqrt(query.shape[1])
            scores = np.where(j <= i, scores, -np.inf)
            new = np.maximum(top, scores.max(axis=1, keepdims=True))
            e, factor = np.exp(scores - new), np.exp(top - new)
            total = total * factor + e.sum(axis=1, keepdims=True)
            output = (output * factor + e @ value[j]) / total
            top = new
        result[start : start + size] = output
    return result


@BANK.wrong_for("blockwise-causal", names="mean_of_blocks")
def blockwise_averaging_blocks(query, key, value, block_size):
    output = np.zeros((len(query), value.shape[1]))
    for start in range(0, len(query), block_size):
        rows = slice(start, start + block_size)
        parts = []
        for first in range(0, start + 1, block_size):
            j = slice(first, first + block_size)
            mask = np.tri(len(query[rows]), len(key[j]), start - first, dtype=bool)
            parts.append(
                attnbook.scaled_dot_product_attention(query[rows], key[j], value[j], mask).output
            )
        output[rows] = np.mean(parts, axis=0)
    return output


@BANK.wrong_for("blockwise-causal", names="sum_of_blocks")
def blockwise_adding_blocks(query, key, value, block_size):
    output = np.zeros((len(query), value.shape[1]))
    for start in range(0, len(query), block_size):
        rows = slice(start, start + block_size)
        for first in range(0, start + 1, block_size):
            j = slice(first, first + block_size)
            scores = query[rows] @ key[j].T / np.sqrt(query.shape[1])
            mask = np.tri(*scores.shape, start - first, dtype=bool)
            output[rows] += attnbook.softmax(np.where(mask, scores, -np.inf)) @ value[j]
    return output


@BANK.wrong_for("blockwise-causal", names="hard")
def blockwise_of_the_best_key(query, key, value, block_size):
    def factors(old, new):
        return 2 * [(old == new) * 1.0]

    output, _ = in_blocks(
        query, key, value, block_size, factors, exponential=lambda s, new: (s == new) * 1.0
    )
    return output


@BANK.wrong_for("blockwise-causal", names="in_place")
def blockwise_in_place(query, key, value, block_size):
    query /= np.sqrt(query.shape[1])
    output, total = in_blocks(query, key, value, block_size, scale=1)
    return output / total


@BANK.wrong_for("blockwise-causal", names="raised sizes_of_blocks")
def blockwise_as_wide_as_the_queries(query, key, value, block_size):
    output = np.zeros(query.shape)
    found, total = in_blocks(query, key, value, block_size)
    output[:block_size] = (found / total)[:block_size]
    return output


@BANK.wrong_for("blockwise-causal", symptom="not_finite far_apart")
def blockwise_with_the_first_maximum(query, key, value, block_size):
    def exponential(scores, new):
        return np.exp(scores - tops[-1])

    def factors(old, new):
        if np.all(old == -np.inf):
            tops.append(new)
        return 1, 1

    tops = []
    output, total = [], []
    for start in range(0, len(query), block_size):
        tops.clear()
        rows = np.arange(start, min(start + block_size, len(query)))
        first = query[rows] @ key[:block_size].T / np.sqrt(query.shape[1])
        visible = np.arange(first.shape[1]) <= rows[:, None]
        tops.append(np.where(visible, first, -np.inf).max(axis=1, keepdims=True))
        mixed, counted = 0, 0
        for at in range(0, start + 1, block_size):
            j = np.arange(at, min(at + block_size, len(query)))
            scores = query[rows] @ key[j].T / np.sqrt(query.shape[1])
            e = exponential(np.where(j <= rows[:, None], scores, -np.inf), None)
            mixed, counted = mixed + e @ value[j], counted + e.sum(axis=1, keepdims=True)
        output.append(mixed)
        total.append(counted)
    return np.concatenate(output) / np.concatenate(total)


@BANK.wrong_for("blockwise-causal", symptom="differs block_by_block")
def blockwise_with_reversed_keys(query, key, value, block_size):
    output, total = in_blocks(query, key[::-1], value[::-1], block_size)
    return output / total


@BANK.wrong_for("blockwise-causal", symptom="none")
def blockwise_without_return(query, key, value, block_size):
    in_blocks(query, key, value, block_size)


@BANK.wrong_for("blockwise-causal", names="hard_far", of="one_hot")
def blockwise_one_hot_where_large(query, key, value, block_size):
    def factors(old, new):
        if np.abs(new).max() > 700:
            return 2 * [(old == new) * 1.0]
        return 2 * [np.exp(old - new)]

    def exponential(scores, new):
        return (scores == new) * 1.0 if np.abs(new).max() > 700 else np.exp(scores - new)

    output, total = in_blocks(query, key, value, block_size, factors, exponential=exponential)
    return output / total


@BANK.wrong_for("blockwise-causal", names="underflow", of="one_sign")
def blockwise_guarded_above(query, key, value, block_size):
    def factors(old, new):
        return 2 * [np.exp(np.maximum(old, 0) - np.maximum(new, 0))]

    def exponential(scores, new):
        return np.exp(scores - np.maximum(new, 0))

    output, total = in_blocks(query, key, value, block_size, factors, exponential=exponential)
    return output / total


@BANK.wrong_for("blockwise-causal", names="cut_to_integers", of="integers")
def blockwise_into_an_array_like_the_values(query, key, value, block_size):
    result = np.zeros_like(value)
    output, total = in_blocks(query, key, value, block_size)
    result[...] = output / total
    return result


@BANK.wrong_for("blockwise-causal", names="differs long", of="table")
def blockwise_of_500_tokens(query, key, value, block_size):
    places = np.minimum(np.arange(len(query)), 499)

    def visible(i, j, start, first):
        return places[j] <= places[i]

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


@BANK.wrong_for("blockwise-causal", names="raised long", of="table")
def blockwise_with_a_mask_of_500(query, key, value, block_size):
    mask = np.tri(500, dtype=bool)

    def visible(i, j, start, first):
        return mask[i, j]

    output, total = in_blocks(query, key, value, block_size, visible=visible)
    return output / total


BANK.spoil("squeeze", "shape lost_axis", "blockwise-causal")
BANK.spoil("tolerance", "rounded", "blockwise-causal")


@BANK.wrong_for("blockwise-causal", names="times_root")
def blockwise_times_the_root(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=query.shape[1] ** 0.5)
    return output / total


@BANK.wrong_for("blockwise-causal", names="by_half")
def blockwise_divided_by_half_of_d_k(query, key, value, block_size):
    output, total = in_blocks(query, key, value, block_size, scale=1 / (query.shape[1] / 2))
    return output / total


@BANK.wrong_for("blockwise-causal", names="by_block")
def blockwise_divided_by_the_root_of_the_block(query, key, value, block_size):
    output = np.zeros((len(query), value.shape[1]))
    for start in range(0, len(query), block_size):
        i, top, total, mixed = np.arange(start, min(start + block_size, len(query))), -np.inf, 0, 0
        for first in range(0, start + 1, block_size):
            j = np.arange(first, min(first + block_size, len(query)))
            scores = query[i] @ key[j].T / np.sqrt(len(j))
            scores = np.where(j <= i[:, None], scores, -np.inf)
            new = np.maximum(top, scores.max(axis=1, keepdims=True))
            e, factor, top = np.exp(scores - new), np.exp(top - new), new
            mixed, total = mixed * factor + e @ value[j], total * factor + e.sum(1, keepdims=True)
        output[i] = mixed / total
    return output


# grow: right


@BANK.right_for("grow")
def grow_by_doubling(store, length, new):
    end = length + len(new)
    if end > len(store):
        larger = np.empty((max(end, 2 * len(store)), store.shape[1]), store.dtype)
        larger[:length] = store[:length]
        store = larger
    store[length:end] = new
    return store, end


@BANK.right_for("grow")
def grow_until_it_fits(store, length, new):
    room, end = max(len(store), 1), length + len(new)
    while room < end:
        room *= 2
    if room > len(store):
        store = np.pad(store, ((0, room - len(store)), (0, 0)))
    for row in new:
        store[length] = row
        length += 1
    return store, length


@BANK.right_for("grow")
def grow_by_concatenating_room(store, length, new):
    missing = length + len(new) - len(store)
    if missing > 0:
        room = np.zeros((max(missing, len(store)), store.shape[1]), dtype=store.dtype)
        store = np.concatenate([store, room])
    np.copyto(store[length : length + len(new)], new)
    return [store, np.int64(length + len(new))]


@BANK.right_for("grow")
def grow_to_twice_what_is_needed(store, length, new):
    end = length + new.shape[0]
    if store.shape[0] < end:
        store = np.resize(np.vstack([store[:length], new]), (2 * end, store.shape[1]))
    else:
        np.put_along_axis(store, np.arange(length, end)[:, None] + np.zeros_like(new, int), new, 0)
    return store, end


# grow: wrong


@BANK.wrong_for("grow", names="concatenated")
def grow_by_concatenation(store, length, new):
    return np.concatenate([store[:length], new]), length + len(new)


@BANK.wrong_for("grow", names="concatenated")
def grow_as_a_list(store, length, new):
    rows = [*store[:length], *new]
    return np.array(rows), len(rows)


@BANK.wrong_for("grow", names="behind_the_room")
def grow_behind_the_room(store, length, new):
    return np.vstack([store, new]), length + len(new)


@BANK.wrong_for("grow", names="copied")
def grow_in_a_copy(store, length, new):
    return grow_by_doubling(store.copy(), length, new)


@BANK.wrong_for("grow", names="copied")
def grow_and_return_a_copy(store, length, new):
    store, length = grow_by_doubling(store, length, new)
    return np.array(store), length


@BANK.wrong_for("grow", names="copied")
def grow_a_new_store_each_time(store, length, new):
    end = length + len(new)
    room = len(store) if end <= len(store) else max(end, 2 * len(store))
    larger = np.zeros((room, store.shape[1]), store.dtype)
    larger[:length], larger[length:end] = store[:length], new
    return larger, end


@BANK.wrong_for("grow", names="early")
def grow_too_early(store, length, new):
    end = length + len(new)
    if end >= len(store):
        store = np.pad(store, ((0, max(end, len(store))), (0, 0)))
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="exact")
def grow_to_fit(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, end - len(store)), (0, 0)))
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="exact")
def grow_by_concatenation_when_full(store, length, new):
    if length + len(new) > len(store):
        return np.concatenate([store[:length], new]), length + len(new)
    store[length : length + len(new)] = new
    return store, length + len(new)


@BANK.wrong_for("grow", names="half_more")
def grow_by_half(store, length, new):
    end = length + len(new)
    if end > len(store):
        room = max(end, len(store) * 3 // 2)
        store = np.pad(store, ((0, room - len(store)), (0, 0)))
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="by_64")
def grow_by_sixty_four(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, end + 64 - len(store)), (0, 0)))
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="by_few")
def grow_by_one_to_spare(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, end + 1 - len(store)), (0, 0)))
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="at_start")
def grow_from_the_start(store, length, new):
    store, end = grow_by_doubling(store, length, new)
    old = new
    if end - length < len(store):
        store[: len(old)] = old
        store[length:end] = np.nan
    return store, end


@BANK.wrong_for("grow", names="at_end")
def grow_from_the_end(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, max(end, 2 * len(store)) - len(store)), (0, 0)))
    store[-len(new) :] = new
    return store, end


@BANK.wrong_for("grow", names="one_early")
def grow_over_the_last_row(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, max(end, 2 * len(store)) - len(store)), (0, 0)))
    store[length - 1 : end - 1] = new
    return store, end


@BANK.wrong_for("grow", names="first_row")
def grow_by_the_first_row(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, max(end, 2 * len(store)) - len(store)), (0, 0)))
    store[length] = new[0]
    return store, end


@BANK.wrong_for("grow", names="last_row")
def grow_by_the_last_row(store, length, new):
    store, end = grow_by_doubling(store, length, new)
    for row in new:
        store[length:end] = row
    return store, end


@BANK.wrong_for("grow", names="old_lost")
def grow_without_the_old_rows(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.zeros((max(end, 2 * len(store)), store.shape[1]), store.dtype)
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="wider")
def grow_into_float64(store, length, new):
    end = length + len(new)
    if end > len(store):
        larger = np.zeros((max(end, 2 * len(store)), store.shape[1]))
        larger[:length] = store[:length]
        store = larger
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="rows_returned")
def grow_returning_rows(store, length, new):
    store, length = grow_by_doubling(store, length, new)
    return store[:length], length


@BANK.wrong_for("grow", names="length_kept")
def grow_keeping_the_length(store, length, new):
    return grow_by_doubling(store, length, new)[0], length


@BANK.wrong_for("grow", names="length_by_one")
def grow_by_one(store, length, new):
    return grow_by_doubling(store, length, new)[0], length + 1


@BANK.wrong_for("grow", names="length_of_new")
def grow_counting_new_rows(store, length, new):
    return grow_by_doubling(store, length, new)[0], len(new)


@BANK.wrong_for("grow", names="length_of_room")
def grow_counting_room(store, length, new):
    store, _ = grow_by_doubling(store, length, new)
    return store, len(store)


@BANK.wrong_for("grow", names="new_alone")
def grow_of_new_rows(store, length, new):
    return new, len(new)


@BANK.wrong_for("grow", names="raised does_not_fit")
def grow_only_when_full(store, length, new):
    if length == len(store):
        store = np.pad(store, ((0, max(len(new), len(store))), (0, 0)))
    store[length : length + len(new)] = new
    return store, length + len(new)


@BANK.wrong_for("grow", names="raised many_new")
def grow_by_doubling_once(store, length, new):
    if length + len(new) > len(store):
        store = np.pad(store, ((0, len(store)), (0, 0)))
    store[length : length + len(new)] = new
    return store, length + len(new)


@BANK.wrong_for("grow", names="shape full")
def grow_never(store, length, new):
    store[length : length + len(new)] = new
    return store, length + len(new)


@BANK.wrong_for("grow", names="raised pair")
def grow_returning_the_store(store, length, new):
    return grow_by_doubling(store, length, new)[0]


@BANK.wrong_for("grow", names="raised pair")
def grow_without_return(store, length, new):
    grow_by_doubling(store, length, new)


@BANK.wrong_for("grow", names="raised pair")
def grow_length_first(store, length, new):
    return grow_by_doubling(store, length, new)[::-1]


@BANK.wrong_for("grow", names="raised whole_number")
def grow_with_a_fraction(store, length, new):
    store, length = grow_by_doubling(store, length, new)
    return store, float(length)


@BANK.wrong_for("grow", symptom="differs room")
def grow_backwards(store, length, new):
    return grow_by_doubling(store, length, new[::-1])


@BANK.wrong_for("grow", names="cut_to_integers", of="integers")
def grow_into_integers(store, length, new):
    end = length + len(new)
    if end > len(store):
        larger = np.zeros((max(end, 2 * len(store)), store.shape[1]), dtype=int)
        larger[:length] = store[:length]
        store = larger
    store[length:end] = new
    return store, end


@BANK.wrong_for("grow", names="raised long", of="table")
def grow_to_4096_at_most(store, length, new):
    end = length + len(new)
    if end > len(store):
        larger = np.zeros((min(4096, max(end, 2 * len(store))), store.shape[1]), store.dtype)
        larger[:length] = store[:length]
        store = larger
    store[length:end] = new
    return store, end


BANK.spoil("squeeze", "shape lost_axis", "grow")


@BANK.wrong_for("grow", names="nowhere")
def grow_without_writing(store, length, new):
    end = length + len(new)
    if end > len(store):
        store = np.pad(store, ((0, max(end, 2 * len(store)) - len(store)), (0, 0)))
    return store, end


# receptive-field: right


@BANK.right_for("receptive-field")
def receptive_field_by_a_sum(windows, position):
    return max(0, position - sum(w - 1 for w in windows))


@BANK.right_for("receptive-field")
def receptive_field_layer_by_layer(windows, position):
    for window in reversed(windows):
        position = 0 if window > position else position - window + 1
    return position


@BANK.right_for("receptive-field")
def receptive_field_by_searching(windows, position):
    reached = {position}
    for window in windows[::-1]:
        lowest = min(reached)
        reached = set(range(max(0, lowest - int(min(window, lowest + 1)) + 1), position + 1))
    return min(reached)


@BANK.right_for("receptive-field")
def receptive_field_with_numpy(windows, position):
    steps = np.minimum(np.subtract(windows, 1), position)
    return np.maximum(position - np.sum(steps), 0)


@BANK.right_for("receptive-field")
def receptive_field_by_moving_a_row(windows, position):
    row = np.zeros(position + 1)
    row[position] = 1
    for window in windows:
        if window > position:
            return 0
        totals = np.cumsum(np.append(row, np.zeros(int(window))))
        row = totals[int(window) - 1 :][: position + 1]
        row = np.minimum(row - np.append(0, totals)[: position + 1], 1)
    return int(np.flatnonzero(row > 0)[0])


# receptive-field: wrong


@BANK.wrong_for("receptive-field", names="with_itself")
def receptive_field_of_whole_windows(windows, position):
    return max(0, position - sum(windows))


@BANK.wrong_for("receptive-field", names="itself_once")
def receptive_field_counting_itself_once(windows, position):
    return max(0, position - sum(windows) + 1)


@BANK.wrong_for("receptive-field", names="one_less")
def receptive_field_of_windows_less_two(windows, position):
    return max(0, position - sum(w - 2 for w in windows))


@BANK.wrong_for("receptive-field", names="one_more")
def receptive_field_one_too_early(windows, position):
    return max(0, position - sum(w - 1 for w in windows) - 1)


@BANK.wrong_for("receptive-field", names="last_layer")
def receptive_field_of_the_last_layer(windows, position):
    return max(0, position - windows[-1] + 1)


@BANK.wrong_for("receptive-field", names="last_layer")
def receptive_field_in_a_loop_that_forgets(windows, position):
    for window in windows:
        earliest = max(0, position - window + 1)
    return earliest


@BANK.wrong_for("receptive-field", names="first_layer")
def receptive_field_of_the_first_layer(windows, position):
    return max(0, position - windows[0] + 1)


@BANK.wrong_for("receptive-field", names="widest")
def receptive_field_of_the_widest(windows, position):
    return max(0, position - max(windows) + 1)


@BANK.wrong_for("receptive-field", names="widest")
def receptive_field_of_all_layers_apart(windows, position):
    return min(max(0, position - w + 1) for w in windows)


@BANK.wrong_for("receptive-field", names="narrowest")
def receptive_field_of_the_narrowest(windows, position):
    return max(0, position - min(windows) + 1)


@BANK.wrong_for("receptive-field", names="same_windows")
def receptive_field_of_like_layers(windows, position):
    return max(0, position - (windows[0] - 1) * len(windows))


@BANK.wrong_for("receptive-field", names="product")
def receptive_field_by_a_product(windows, position):
    return max(0, position - np.prod(windows))


@BANK.wrong_for("receptive-field", names="product_of_steps")
def receptive_field_by_a_product_of_steps(windows, position):
    back = 1
    for window in windows:
        back *= window - 1
    return max(0, position - back)


@BANK.wrong_for("receptive-field", names="layers")
def receptive_field_of_one_step_a_layer(windows, position):
    return max(0, position - len(windows))


@BANK.wrong_for("receptive-field", names="last_left_out")
def receptive_field_without_the_last_layer(windows, position):
    for i in range(len(windows) - 1):
        position = max(0, position - windows[i] + 1)
    return position


@BANK.wrong_for("receptive-field", names="mean")
def receptive_field_of_the_mean(windows, position):
    return max(0, position - np.mean(windows) + 1)


@BANK.wrong_for("receptive-field", names="both_sides")
def receptive_field_to_both_sides(windows, position):
    return max(0, position - sum(w // 2 for w in windows))


@BANK.wrong_for("receptive-field", names="no_window_skipped")
def receptive_field_of_layers_with_windows(windows, position):
    return max(0, position - sum(w - 1 for w in windows if w < np.inf))


@BANK.wrong_for("receptive-field", names="everything")
def receptive_field_of_causal_layers(windows, position):
    return 0


@BANK.wrong_for("receptive-field", names="not_clipped")
def receptive_field_before_the_beginning(windows, position):
    return position - sum(w - 1 for w in windows)


@BANK.wrong_for("receptive-field", names="clipped_at_1")
def receptive_field_counting_from_one(windows, position):
    return max(1, position - sum(w - 1 for w in windows))


@BANK.wrong_for("receptive-field", names="how_far")
def receptive_field_as_a_distance(windows, position):
    return sum(w - 1 for w in windows)


@BANK.wrong_for("receptive-field", names="how_far")
def receptive_field_as_a_distance_clipped(windows, position):
    return min(position, sum(w - 1 for w in windows))


@BANK.wrong_for("receptive-field", names="how_many")
def receptive_field_as_a_number_of_tokens(windows, position):
    return min(position + 1, sum(w - 1 for w in windows) + 1)


@BANK.wrong_for("receptive-field", names="forward")
def receptive_field_ahead(windows, position):
    return max(0, position + sum(w - 1 for w in windows))


@BANK.wrong_for("receptive-field", names="in_place")
def receptive_field_emptying_the_list(windows, position):
    while windows:
        position = max(0, position - windows.pop() + 1)
    return position


@BANK.wrong_for("receptive-field", names="raised no_window")
def receptive_field_in_a_range(windows, position):
    for window in windows:
        for _ in range(window - 1):
            position = max(0, position - 1)
    return position


@BANK.wrong_for("receptive-field", names="raised no_window")
def receptive_field_of_whole_numbers(windows, position):
    return max(0, position - sum(int(w) - 1 for w in windows))


@BANK.wrong_for("receptive-field", symptom="differs unlike_layers")
def receptive_field_by_halves(windows, position):
    return max(0, position - sum(w - 1 for w in windows) // 2)


@BANK.wrong_for("receptive-field", symptom="none")
def receptive_field_without_return(windows, position):
    max(0, position - sum(w - 1 for w in windows))


@BANK.wrong_for("receptive-field", names="raised long", of="table")
def receptive_field_in_a_table(windows, position):
    earliest = np.maximum(0, np.arange(8192) - sum(w - 1 for w in windows))
    return earliest[position]


@BANK.wrong_for("receptive-field", names="differs long", of="table")
def receptive_field_of_8192_tokens(windows, position):
    return max(0, min(position, 8191) - sum(w - 1 for w in windows))


# What cannot go wrong

BANK.never("one_hot one_sign", "it takes no softmax", "grow", "receptive-field")
BANK.never("mask", "there is no mask", "two-halves", "merge", "grow", "receptive-field")
BANK.never("mask", "the mask is that of one sequence", "blockwise-causal")
BANK.never("axes", "the statement says how many axes there are", "blockwise-causal", "grow")
BANK.never("axes", "it gets numbers, not arrays", "receptive-field")
BANK.never("table", "positions play no part", "two-halves", "merge")
BANK.never("integers tolerance", "positions of tokens are whole numbers", "receptive-field")
BANK.never("squeeze", "the result is one number", "receptive-field")
BANK.never("tolerance", "numbers are only moved", "grow")


# merge: one number subtracted from all rows


@BANK.wrong_for("merge", names="one_maximum")
def merge_with_one_maximum(output_1, logsumexp_1, output_2, logsumexp_2):
    top = max(logsumexp_1.max(), logsumexp_2.max())
    one, two = np.exp(logsumexp_1 - top), np.exp(logsumexp_2 - top)
    total = np.where(one + two == 0, 1, one + two)
    output = (one / total)[..., None] * output_1 + (two / total)[..., None] * output_2
    return output, top + np.log(one + two)


@BANK.wrong_for("merge", symptom="not_finite row_by_row")
def merge_with_the_mean_subtracted(output_1, logsumexp_1, output_2, logsumexp_2):
    middle = (np.mean(logsumexp_1) + np.mean(logsumexp_2)) / 2
    one, two = np.exp(logsumexp_1 - middle), np.exp(logsumexp_2 - middle)
    total = one + two
    output = (one / total)[..., None] * output_1 + (two / total)[..., None] * output_2
    return output, middle + np.log(total)
