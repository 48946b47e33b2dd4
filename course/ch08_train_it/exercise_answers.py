"""Answers to the exercises of the chapter Train it."""

from __future__ import annotations

import itertools
import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()


# softmax-backward: right


@BANK.right_for("softmax-backward")
def softmax_by_the_formula(d_weights, weights):
    average = (weights * d_weights).sum(axis=-1, keepdims=True)
    return weights * (d_weights - average)


@BANK.right_for("softmax-backward")
def softmax_in_loops(d_weights, weights):
    d_scores = np.zeros(weights.shape)
    for place in np.ndindex(weights.shape[:-1]):
        d, w = d_weights[place].tolist(), weights[place].tolist()
        average = math.fsum(a * b for a, b in zip(d, w, strict=True))
        d_scores[place] = [b * (a - average) for a, b in zip(d, w, strict=True)]
    return d_scores


@BANK.right_for("softmax-backward")
def softmax_by_the_jacobian(d_weights, weights):
    n = weights.shape[-1]
    jacobian = weights[..., :, None] * (np.eye(n) - weights[..., None, :])
    return np.einsum("...i,...ij->...j", d_weights, jacobian)


@BANK.right_for("softmax-backward")
def softmax_by_pairs(d_weights, weights):
    gain = d_weights[..., :, None] - d_weights[..., None, :]  # of one key over another
    return weights * (gain @ weights[..., None])[..., 0]


@BANK.right_for("softmax-backward")
def softmax_by_differences(d_weights, weights):
    scores = np.log(np.where(weights > 0, weights, 1e-300))
    d_scores = np.zeros(weights.shape)
    for j in range(weights.shape[-1]):
        move = np.zeros(weights.shape[-1])
        move[j] = 1e-4
        up, down = attnbook.softmax(scores + move), attnbook.softmax(scores - move)
        d_scores[..., j] = (d_weights * (up - down)).sum(axis=-1) / 2e-4
    return np.where(weights.any(axis=-1, keepdims=True), d_scores, 0)


# softmax-backward: wrong


def averaged(d_weights, weights):
    return (weights * d_weights).sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax-backward", names="no_average")
def softmax_without_the_average(d_weights, weights):
    return weights * d_weights


@BANK.wrong_for("softmax-backward", names="plain_mean")
def softmax_with_a_plain_mean(d_weights, weights):
    return weights * (d_weights - d_weights.mean(axis=-1, keepdims=True))


@BANK.wrong_for("softmax-backward", names="plain_sum")
def softmax_with_a_plain_sum(d_weights, weights):
    return weights * (d_weights - d_weights.sum(axis=-1, keepdims=True))


@BANK.wrong_for("softmax-backward", names="added")
def softmax_with_the_average_added(d_weights, weights):
    return weights * (d_weights + averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", names="unweighted")
def softmax_without_the_factor(d_weights, weights):
    return d_weights - averaged(d_weights, weights)


@BANK.wrong_for("softmax-backward", names="diagonal")
def softmax_as_a_sigmoid(d_weights, weights):
    return d_weights * weights * (1 - weights)


@BANK.wrong_for("softmax-backward", names="off_diagonal")
def softmax_without_the_diagonal(d_weights, weights):
    n = weights.shape[-1]
    jacobian = -weights[..., :, None] * weights[..., None, :] * (1 - np.eye(n))
    return (d_weights[..., None, :] @ jacobian)[..., 0, :]


@BANK.wrong_for("softmax-backward", names="average_alone")
def softmax_with_the_average_alone(d_weights, weights):
    jacobian = weights[..., :, None] * -weights[..., None, :]
    return (d_weights[..., None, :] @ jacobian)[..., 0, :]


@BANK.wrong_for("softmax-backward", names="over_queries")
def softmax_over_the_queries(d_weights, weights):
    average = (weights * d_weights).sum(axis=-2, keepdims=True)
    return weights * (d_weights - average)


@BANK.wrong_for("softmax-backward", names="average_of_all")
def softmax_with_one_average(d_weights, weights):
    return weights * (d_weights - np.vdot(weights, d_weights))


@BANK.wrong_for("softmax-backward", names="turned")
def softmax_with_the_sign_turned(d_weights, weights):
    return weights * (averaged(d_weights, weights) - d_weights)


@BANK.wrong_for("softmax-backward", names="squared")
def softmax_weighted_twice(d_weights, weights):
    d_weights = weights * (d_weights - averaged(d_weights, weights))
    return weights * d_weights


@BANK.wrong_for("softmax-backward", names="unchanged")
def softmax_left_out(d_weights, weights):
    return d_weights.copy()


@BANK.wrong_for("softmax-backward", names="mean_of_products")
def softmax_with_a_mean_of_products(d_weights, weights):
    return weights * (d_weights - (weights * d_weights).mean(axis=-1, keepdims=True))


@BANK.wrong_for("softmax-backward", names="swapped_arguments")
def softmax_with_arguments_swapped(weights, d_weights):
    return weights * (d_weights - averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", names="softmax_again")
def softmax_of_weights(d_weights, weights):
    weights = attnbook.softmax(weights)
    return weights * (d_weights - averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", names="forward")
def softmax_forward(d_weights, weights):
    return attnbook.softmax(d_weights)


@BANK.wrong_for("softmax-backward", names="difference")
def softmax_as_in_cross_entropy(d_weights, weights):
    return weights - d_weights


@BANK.wrong_for("softmax-backward", names="averages_alone")
def softmax_returning_averages(d_weights, weights):
    return (weights * d_weights).sum(axis=-1)


@BANK.wrong_for("softmax-backward", names="scaled")
def softmax_scaled(d_weights, weights):
    d_scores = weights * (d_weights - averaged(d_weights, weights))
    return d_scores / np.sqrt(weights.shape[-1])


@BANK.wrong_for("softmax-backward", names="mean_of_rows")
def softmax_divided_by_the_keys(d_weights, weights):
    return weights * (d_weights - averaged(d_weights, weights)) / weights.shape[-1]


@BANK.wrong_for("softmax-backward", names="empty_nan")
def softmax_normalised_first(d_weights, weights):
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights * (d_weights - averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", names="empty_uniform")
def softmax_with_an_empty_row_uniform(d_weights, weights):
    empty = ~weights.any(axis=-1, keepdims=True)
    weights = np.where(empty, 1 / weights.shape[-1], weights)
    return weights * (d_weights - averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", names="raised keepdims")
def softmax_without_keepdims(d_weights, weights):
    return weights * (d_weights - (weights * d_weights).sum(axis=-1))


@BANK.wrong_for("softmax-backward", names="raised leading_axes")
def softmax_by_a_matrix_product(d_weights, weights):
    return weights * (d_weights - weights @ d_weights)


@BANK.wrong_for("softmax-backward", names="in_place")
def softmax_in_place(d_weights, weights):
    d_weights -= averaged(d_weights, weights)
    return weights * d_weights


@BANK.wrong_for("softmax-backward", names="in_place")
def softmax_into_the_weights(d_weights, weights):
    difference = d_weights - averaged(d_weights, weights)
    weights *= difference
    return weights


@BANK.wrong_for("softmax-backward", symptom="none")
def softmax_without_return(d_weights, weights):
    weights * (d_weights - averaged(d_weights, weights))


@BANK.wrong_for("softmax-backward", symptom="differs less_the_average")
def softmax_with_the_largest_taken_off(d_weights, weights):
    return weights * (d_weights - d_weights.max(axis=-1, keepdims=True))


@BANK.wrong_for("softmax-backward", symptom="differs sharp")
def softmax_where_weights_are_large(d_weights, weights):
    d_scores = weights * (d_weights - averaged(d_weights, weights))
    return np.where(weights > 0.999, d_weights, d_scores)


@BANK.wrong_for("softmax-backward", names="raised leading_axes", of="axes")
def softmax_of_three_axes(d_weights, weights):
    batch, rows, _ = weights.shape
    d_scores = np.zeros(weights.shape)
    for b, i in itertools.product(range(batch), range(rows)):
        w = weights[b, i]
        d_scores[b, i] = d_weights[b, i] @ (np.diag(w) - np.outer(w, w))
    return d_scores


@BANK.wrong_for("softmax-backward", names="raised leading_axes", of="axes")
def softmax_along_axis_2(d_weights, weights):
    average = (weights * d_weights).sum(axis=2, keepdims=True)
    return weights * (d_weights - average)


@BANK.wrong_for("softmax-backward", names="cut_to_integers", of="integers")
def softmax_into_an_array_like_the_gradient(d_weights, weights):
    d_scores = np.zeros_like(d_weights)
    d_scores[...] = weights * (d_weights - averaged(d_weights, weights))
    return d_scores


@BANK.wrong_for("softmax-backward", names="nearly", of="tolerance")
def softmax_without_small_weights(d_weights, weights):
    kept = np.where(weights > 1e-3, weights, 0)
    return kept * (d_weights - averaged(d_weights, kept))


BANK.spoil("squeeze", "shape lost_axis", "softmax-backward")
BANK.spoil("tolerance", "rounded", "softmax-backward")


# d-query: right


@BANK.right_for("d-query")
def query_by_the_formula(d_output, query, key, value):
    scale = 1 / np.sqrt(query.shape[-1])
    weights = attnbook.softmax(query @ key.swapaxes(-1, -2) * scale)
    d_weights = d_output @ value.swapaxes(-1, -2)
    average = (weights * d_weights).sum(axis=-1, keepdims=True)
    return weights * (d_weights - average) @ key * scale


@BANK.right_for("d-query")
def query_in_loops(d_output, query, key, value):
    d_query = np.zeros(query.shape)
    root = math.sqrt(query.shape[-1])
    for place in np.ndindex(query.shape[:-1]):
        keys, values = key[place[:-1]], value[place[:-1]]
        scores = [float(query[place] @ k) / root for k in keys]
        top = max(scores)
        total = math.fsum(math.exp(s - top) for s in scores)
        weights = [math.exp(s - top) / total for s in scores]
        worth = [float(d_output[place] @ v) for v in values]
        average = math.fsum(w * g for w, g in zip(weights, worth, strict=True))
        for w, g, k in zip(weights, worth, keys, strict=True):
            d_query[place] += w * (g - average) * k / root
    return d_query


@BANK.right_for("d-query")
def query_by_the_output(d_output, query, key, value):
    output, weights = attnbook.scaled_dot_product_attention(query, key, value)
    average = (d_output * output).sum(axis=-1, keepdims=True)
    d_scores = weights * (np.einsum("...iv,...jv->...ij", d_output, value) - average)
    return np.einsum("...ij,...jd->...id", d_scores, key) / np.sqrt(query.shape[-1])


@BANK.right_for("d-query")
def query_by_keys_less_their_average(d_output, query, key, value):
    mixed, weights = attnbook.scaled_dot_product_attention(query, key, key)
    stands_out = key[..., None, :, :] - mixed[..., :, None, :]  # (..., len_q, len_k, d_k)
    worth = weights * (d_output @ value.mT)
    return (worth[..., None, :] @ stands_out)[..., 0, :] * query.shape[-1] ** -0.5


@BANK.right_for("d-query")
def query_with_the_package(d_output, query, key, value):
    return attnbook.attention_backward(d_output, query, key, value)[0]


# d-query: wrong


def weights_of(query, key):
    """Return the weights of scaled scores."""
    return attnbook.softmax(query @ key.mT / np.sqrt(query.shape[-1]))


def back_through_softmax(d_weights, weights):
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


def scores_of(d_output, query, key, value):
    """Return the gradient of the scores."""
    return back_through_softmax(d_output @ value.mT, weights_of(query, key))


@BANK.wrong_for("d-query", names="no_average")
def query_without_the_average(d_output, query, key, value):
    d_scores = weights_of(query, key) * (d_output @ value.mT)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="plain_mean")
def query_with_a_plain_mean(d_output, query, key, value):
    d_weights = d_output @ value.mT
    d_scores = weights_of(query, key) * (d_weights - d_weights.mean(axis=-1, keepdims=True))
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="unweighted")
def query_without_the_factor(d_output, query, key, value):
    weights, d_weights = weights_of(query, key), d_output @ value.mT
    d_scores = d_weights - (weights * d_weights).sum(axis=-1, keepdims=True)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="diagonal")
def query_by_a_sigmoid(d_output, query, key, value):
    weights = weights_of(query, key)
    d_scores = weights * (1 - weights) * (d_output @ value.mT)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="unchanged")
def query_past_the_softmax(d_output, query, key, value):
    return d_output @ value.mT @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="turned")
def query_with_the_sign_turned(d_output, query, key, value):
    return -scores_of(d_output, query, key, value) @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="average_over_queries")
def query_with_averages_over_queries(d_output, query, key, value):
    weights, d_weights = weights_of(query, key), d_output @ value.mT
    d_scores = weights * (d_weights - (weights * d_weights).sum(axis=-2, keepdims=True))
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="average_of_all")
def query_with_one_average(d_output, query, key, value):
    weights, d_weights = weights_of(query, key), d_output @ value.mT
    d_scores = weights * (d_weights - (weights * d_weights).sum())
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="unscaled")
def query_without_a_scale(d_output, query, key, value):
    weights = attnbook.softmax(query @ key.mT)
    return back_through_softmax(d_output @ value.mT, weights) @ key


@BANK.wrong_for("d-query", names="by_d_k")
def query_divided_by_d_k(d_output, query, key, value):
    weights = attnbook.softmax(query @ key.mT / query.shape[-1])
    return back_through_softmax(d_output @ value.mT, weights) @ key / query.shape[-1]


@BANK.wrong_for("d-query", names="by_d_v")
def query_divided_by_the_root_of_d_v(d_output, query, key, value):
    root = np.sqrt(value.shape[-1])
    weights = attnbook.softmax(query @ key.mT / root)
    return back_through_softmax(d_output @ value.mT, weights) @ key / root


@BANK.wrong_for("d-query", names="by_len_k")
def query_divided_by_the_root_of_len_k(d_output, query, key, value):
    root = np.sqrt(key.shape[-2])
    weights = attnbook.softmax(query @ key.mT / root)
    return back_through_softmax(d_output @ value.mT, weights) @ key / root


@BANK.wrong_for("d-query", names="no_scale_at_the_end")
def query_with_the_scale_forgotten(d_output, query, key, value):
    return scores_of(d_output, query, key, value) @ key


@BANK.wrong_for("d-query", names="scaled_twice")
def query_scaled_twice(d_output, query, key, value):
    d_scores = scores_of(d_output, query, key, value) / np.sqrt(query.shape[-1])
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="times_root_at_the_end")
def query_times_the_root(d_output, query, key, value):
    return scores_of(d_output, query, key, value) @ key * np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="scale_at_the_end_alone")
def query_with_unscaled_weights(d_output, query, key, value):
    weights = attnbook.softmax(query @ key.mT)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="over_queries")
def query_with_a_softmax_over_queries(d_output, query, key, value):
    weights = attnbook.softmax(query @ key.mT / np.sqrt(query.shape[-1]), axis=-2)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="overflow")
def query_with_an_overflow(d_output, query, key, value):
    e = np.exp(query @ key.mT / np.sqrt(query.shape[-1]))
    weights = e / e.sum(axis=-1, keepdims=True)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="uniform")
def query_with_equal_weights(d_output, query, key, value):
    weights = np.full((*query.shape[:-1], key.shape[-2]), 1 / key.shape[-2])
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="hard")
def query_of_the_best_key(d_output, query, key, value):
    scores = query @ key.mT
    weights = 1.0 * (scores == scores.max(axis=-1, keepdims=True))
    return back_through_softmax(d_output @ value.mT, weights) @ key


@BANK.wrong_for("d-query", names="no_loss")
def query_of_a_sum_of_outputs(d_output, query, key, value):
    d_weights = np.ones(d_output.shape) @ value.mT
    d_scores = back_through_softmax(d_weights, weights_of(query, key))
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="worth_of_keys")
def query_with_keys_for_values(d_output, query, key, value):
    return scores_of(d_output, query, key, key) @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="values_not_transposed")
def query_with_values_not_transposed(d_output, query, key, value):
    d_scores = back_through_softmax(d_output @ value, weights_of(query, key))
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="by_queries")
def query_of_queries(d_output, query, key, value):
    return scores_of(d_output, query, key, value) @ query / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="transposed")
def query_of_transposed_scores(d_output, query, key, value):
    return scores_of(d_output, query, key, value).mT @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="keys_transposed")
def query_of_transposed_keys(d_output, query, key, value):
    return scores_of(d_output, query, key, value) @ key.mT / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="d_key")
def query_that_is_of_the_keys(d_output, query, key, value):
    return attnbook.attention_backward(d_output, query, key, value)[1]


@BANK.wrong_for("d-query", names="d_value")
def query_that_is_of_the_values(d_output, query, key, value):
    return attnbook.attention_backward(d_output, query, key, value)[2]


@BANK.wrong_for("d-query", names="by_weights")
def query_of_mixed_keys(d_output, query, key, value):
    return weights_of(query, key) @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="scores_given")
def query_stopping_at_the_scores(d_output, query, key, value):
    return scores_of(d_output, query, key, value) / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="summed")
def query_summed(d_output, query, key, value):
    d_scores = scores_of(d_output, query, key, value).sum(axis=-2, keepdims=True)
    return (d_scores @ key / np.sqrt(query.shape[-1]))[..., 0, :]


@BANK.wrong_for("d-query", symptom="shape")
def query_with_all_three(d_output, query, key, value):
    return attnbook.attention_backward(d_output, query, key, value)


@BANK.wrong_for("d-query", names="axes_reversed")
def query_by_a_product_without_transposing(d_output, query, key, value):
    weights = attnbook.softmax(query @ key.T / np.sqrt(query.shape[-1]))
    return back_through_softmax(d_output @ value.T, weights) @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", symptom="differs three_steps")
def query_of_an_output_that_is_multiplied(d_output, query, key, value):
    output = attnbook.scaled_dot_product_attention(query, key, value).output
    d_scores = weights_of(query, key) * ((d_output * output) @ value.mT)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="in_place")
def query_in_place(d_output, query, key, value):
    query /= np.sqrt(query.shape[-1])
    weights = attnbook.softmax(query @ key.mT)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", symptom="none")
def query_without_return(d_output, query, key, value):
    scores_of(d_output, query, key, value) @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="hard_far", of="one_hot")
def query_one_hot_where_large(d_output, query, key, value):
    weights = one_hot_where_large(query @ key.mT / np.sqrt(query.shape[-1]))
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="underflow", of="one_sign")
def query_guarded_above(d_output, query, key, value):
    weights = guarded_above(query @ key.mT / np.sqrt(query.shape[-1]))
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("d-query", names="raised leading_axes", of="axes")
def query_of_three_axes(d_output, query, key, value):
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[2])
    d_weights = d_output @ value.transpose(0, 2, 1)
    d_scores = back_through_softmax(d_weights, attnbook.softmax(scores))
    return d_scores @ key / np.sqrt(query.shape[2])


@BANK.wrong_for("d-query", names="raised leading_axes", of="axes")
def query_one_sequence_at_a_time(d_output, query, key, value):
    batch, _, d_k = query.shape
    d_query = np.zeros(query.shape)
    for b in range(batch):
        weights = attnbook.softmax(query[b] @ key[b].T / np.sqrt(d_k))
        d_query[b] = back_through_softmax(d_output[b] @ value[b].T, weights) @ key[b]
    return d_query / np.sqrt(d_k)


@BANK.wrong_for("d-query", names="cut_to_integers", of="integers")
def query_into_an_array_like_the_queries(d_output, query, key, value):
    d_query = np.empty_like(query)
    d_query[...] = scores_of(d_output, query, key, value) @ key / np.sqrt(query.shape[-1])
    return d_query


@BANK.wrong_for("d-query", names="nearly", of="tolerance")
def query_by_a_one_sided_difference(d_output, query, key, value):
    def loss(query):
        output = attnbook.scaled_dot_product_attention(query, key, value).output
        return (d_output * output).sum(axis=-1)

    d_query = np.zeros(query.shape)
    for j, move in enumerate(1e-3 * np.eye(query.shape[-1])):
        d_query[..., j] = (loss(query + move) - loss(query)) / 1e-3
    return d_query


BANK.spoil("squeeze", "shape lost_axis", "d-query")
BANK.spoil("tolerance", "rounded", "d-query")


def query_back_by(back, d_output, query, key, value):
    """Return the gradient of queries, gone back through the softmax somehow."""
    d_scores = back(d_output @ value.mT, weights_of(query, key))
    return d_scores @ key / np.sqrt(query.shape[-1])


def query_scaled(scale, d_output, query, key, value):
    """Return the gradient of queries whose scores are divided by some number."""
    by = scale(query, key)
    weights = attnbook.softmax(query @ key.mT / by)
    return back_through_softmax(d_output @ value.mT, weights) @ key / by


def query_weighed(weigh, d_output, query, key, value):
    """Return the gradient of queries whose weights are made somehow of right scores."""
    weights = weigh(query @ key.mT / np.sqrt(query.shape[-1]))
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return d_scores @ key / np.sqrt(query.shape[-1])


def exponentials(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


BANK.vary(
    "d-query",
    query_back_by,
    plain_sum=lambda d, w: w * (d - d.sum(axis=-1, keepdims=True)),
    added=lambda d, w: w * (d + averaged(d, w)),
    off_diagonal=lambda d, w: w * (w * d - averaged(d, w)),
    squared=lambda d, w: w * w * (d - averaged(d, w)),
    average_alone=lambda d, w: -w * averaged(d, w),
    of_the_weights=lambda d, w: d * (w - averaged(d, w)),
)
BANK.vary(
    "d-query",
    query_scaled,
    times_root=lambda query, key: query.shape[-1] ** -0.5,
    by_len_q=lambda query, key: np.sqrt(query.shape[-2]),
    by_half=lambda query, key: query.shape[-1] / 2,
)
BANK.vary(
    "d-query",
    query_weighed,
    no_exponential=lambda s: s / s.sum(axis=-1, keepdims=True),
    no_sum=exponentials,
    bare=np.exp,
    sum_of_all=lambda s: exponentials(s.ravel()).reshape(s.shape) / exponentials(s.ravel()).sum(),
    scores_turned=lambda s: attnbook.softmax(-s),
)


# masked-backward: right


@BANK.right_for("masked-backward")
def causal_token_by_token(d_output, query, key, value):
    d_query, d_key, d_value = (np.zeros(x.shape) for x in (query, key, value))
    root = np.sqrt(query.shape[-1])
    for i in range(query.shape[-2]):
        q, d_out = query[..., [i], :], d_output[..., [i], :]
        k, v = key[..., : i + 1, :], value[..., : i + 1, :]
        weights = attnbook.softmax(q @ k.mT / root)
        d_weights = d_out @ v.mT
        average = (weights * d_weights).sum(axis=-1, keepdims=True)
        d_scores = weights * (d_weights - average)
        d_query[..., [i], :] = d_scores @ k / root
        d_key[..., : i + 1, :] += d_scores.mT @ q / root
        d_value[..., : i + 1, :] += weights.mT @ d_out
    return d_query, d_key, d_value


@BANK.right_for("masked-backward")
def causal_by_matrices(d_output, query, key, value):
    """Put zeros where a key or a value is no number: of those that see one, all is NaN anyway."""
    scale = query.shape[-1] ** -0.5
    hidden = np.triu(np.ones((query.shape[-2],) * 2, bool), k=1)
    scores = np.where(hidden, -np.inf, query @ key.mT * scale)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    key, value = np.nan_to_num(key), np.nan_to_num(value)
    d_weights = d_output @ value.mT
    average = np.einsum("...ij,...ij->...i", weights, d_weights)
    d_scores = weights * (d_weights - average[..., None])
    return d_scores @ key * scale, d_scores.mT @ query * scale, weights.mT @ d_output


@BANK.right_for("masked-backward")
def causal_with_the_package(d_output, query, key, value):
    mask = attnbook.causal_mask(query.shape[-2])
    return attnbook.attention_backward(d_output, query, key, value, mask)


@BANK.right_for("masked-backward")
def causal_in_two_halves(d_output, query, key, value):
    """Take earlier queries with earlier keys, then later queries with all keys; each in halves."""
    n = query.shape[-2]
    if n == 1:
        d_value = np.array(d_output, dtype=float)
        return np.zeros(query.shape), np.zeros(key.shape), d_value
    m = n // 2
    first = causal_in_two_halves(*(x[..., :m, :] for x in (d_output, query, key, value)))
    seen = np.tri(n, dtype=bool)[m:]
    rest = attnbook.attention_backward(d_output[..., m:, :], query[..., m:, :], key, value, seen)
    d_query = np.concatenate([first[0], rest[0]], axis=-2)
    d_key, d_value = rest[1].copy(), rest[2].copy()
    d_key[..., :m, :] += first[1]
    d_value[..., :m, :] += first[2]
    return [d_query, d_key, d_value]


@BANK.right_for("masked-backward")
def causal_blockwise(d_output, query, key, value):
    forward = attnbook.blockwise_attention(query, key, value, causal=True, block_size=4)
    return attnbook.blockwise_attention_backward(
        d_output, query, key, value, *forward, causal=True, block_size=3
    )


# masked-backward: wrong


def causal_weights(query, key, mask=None):
    """Return the weights under a causal mask."""
    mask = np.tri(query.shape[-2], dtype=bool) if mask is None else mask
    return attnbook.softmax(np.where(mask, query @ key.mT / np.sqrt(query.shape[-1]), -np.inf))


def all_three(d_scores, weights, d_output, query, key):
    """Return the gradients that follow from that of the scores."""
    root = np.sqrt(query.shape[-1])
    return d_scores @ key / root, d_scores.mT @ query / root, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="no_mask")
def causal_without_a_mask(d_output, query, key, value):
    return attnbook.attention_backward(d_output, query, key, value)


@BANK.wrong_for("masked-backward", names="inverted")
def causal_inverted(d_output, query, key, value):
    mask = ~attnbook.causal_mask(query.shape[-2])
    return attnbook.attention_backward(d_output, query, key, value, mask)


@BANK.wrong_for("masked-backward", names="not_itself")
def causal_without_itself(d_output, query, key, value):
    mask = np.tri(query.shape[-2], k=-1, dtype=bool)
    return attnbook.attention_backward(d_output, query, key, value, mask)


@BANK.wrong_for("masked-backward", names="one_ahead")
def causal_one_ahead(d_output, query, key, value):
    mask = np.tri(query.shape[-2], k=1, dtype=bool)
    return attnbook.attention_backward(d_output, query, key, value, mask)


@BANK.wrong_for("masked-backward", names="mask_after")
def causal_with_a_mask_after_softmax(d_output, query, key, value):
    weights = weights_of(query, key) * np.tri(query.shape[-2])
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="masked_gradient")
def causal_on_the_way_back_alone(d_output, query, key, value):
    weights = weights_of(query, key)
    d_scores = np.tril(back_through_softmax(d_output @ value.mT, weights))
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="mask_turned_backwards")
def causal_with_the_mask_transposed_backwards(d_output, query, key, value):
    weights = causal_weights(query, key)
    d_scores = np.triu(back_through_softmax(d_output @ value.mT, weights))
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="zero_fill")
def causal_with_zeros_for_the_future(d_output, query, key, value):
    weights = attnbook.softmax(np.tril(query @ key.mT / np.sqrt(query.shape[-1])))
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="uniform")
def causal_with_equal_weights(d_output, query, key, value):
    weights = causal_weights(0 * query, key)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="far_scores")
def causal_with_an_overflow(d_output, query, key, value):
    e = np.tril(np.exp(query @ key.mT / np.sqrt(query.shape[-1])))
    weights = e / e.sum(axis=-1, keepdims=True)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="masked_maximum")
def causal_with_the_maximum_of_the_future(d_output, query, key, value):
    scores = query @ key.mT / np.sqrt(query.shape[-1])
    e = np.tril(np.exp(scores - scores.max(axis=-1, keepdims=True)))
    weights = e / e.sum(axis=-1, keepdims=True)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="no_average")
def causal_without_the_average(d_output, query, key, value):
    weights = causal_weights(query, key)
    return all_three(weights * (d_output @ value.mT), weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="plain_mean")
def causal_with_a_plain_mean(d_output, query, key, value):
    weights, d_weights = causal_weights(query, key), d_output @ value.mT
    d_scores = weights * (d_weights - d_weights.mean(axis=-1, keepdims=True))
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="unweighted")
def causal_without_the_factor(d_output, query, key, value):
    weights, d_weights = causal_weights(query, key), d_output @ value.mT
    d_scores = d_weights - (weights * d_weights).sum(axis=-1, keepdims=True)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="unchanged")
def causal_past_the_softmax(d_output, query, key, value):
    return all_three(d_output @ value.mT, causal_weights(query, key), d_output, query, key)


@BANK.wrong_for("masked-backward", names="diagonal")
def causal_by_a_sigmoid(d_output, query, key, value):
    weights = causal_weights(query, key)
    d_scores = (d_output @ value.mT) * weights * (1 - weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="turned")
def causal_with_the_sign_turned(d_output, query, key, value):
    weights = causal_weights(query, key)
    d_scores = -back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="unscaled")
def causal_without_a_scale(d_output, query, key, value):
    mask = attnbook.causal_mask(query.shape[-2])
    return attnbook.attention_backward(d_output, query, key, value, mask, scale=1)


@BANK.wrong_for("masked-backward", names="by_d_v")
def causal_scaled_by_d_v(d_output, query, key, value):
    mask, scale = attnbook.causal_mask(query.shape[-2]), value.shape[-1] ** -0.5
    return attnbook.attention_backward(d_output, query, key, value, mask, scale=scale)


def causal_gradient(d_output, query, key, value):
    """Return the gradient of the scores, and the weights."""
    weights = causal_weights(query, key)
    return back_through_softmax(d_output @ value.mT, weights), weights


@BANK.wrong_for("masked-backward", names="no_scale_at_the_end")
def causal_with_the_scale_forgotten(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    return d_scores @ key, d_scores.mT @ query, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="keys_not_scaled")
def causal_with_keys_not_scaled(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    d_query = d_scores @ key / np.sqrt(query.shape[-1])
    return d_query, d_scores.mT @ query, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="keys_not_transposed")
def causal_with_keys_not_transposed(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    d_scores = d_scores / np.sqrt(query.shape[-1])
    return d_scores @ key, d_scores @ query, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="values_not_transposed")
def causal_with_weights_not_transposed(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    d_scores = d_scores / np.sqrt(query.shape[-1])
    return d_scores @ key, d_scores.mT @ query, weights @ d_output


@BANK.wrong_for("masked-backward", names="values_by_scores")
def causal_with_values_of_scores(d_output, query, key, value):
    d_scores, _ = causal_gradient(d_output, query, key, value)
    root = np.sqrt(query.shape[-1])
    return d_scores @ key / root, d_scores.mT @ query / root, d_scores.mT @ d_output


@BANK.wrong_for("masked-backward", names="by_its_own")
def causal_with_queries_and_keys_mixed_up(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    d_scores = d_scores / np.sqrt(query.shape[-1])
    return d_scores @ query, d_scores.mT @ key, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="value_of_itself")
def causal_with_values_of_themselves(d_output, query, key, value):
    d_scores, _ = causal_gradient(d_output, query, key, value)
    root = np.sqrt(query.shape[-1])
    return d_scores @ key / root, d_scores.mT @ query / root, d_output.copy()


@BANK.wrong_for("masked-backward", names="last_query")
def causal_overwriting_keys_and_values(d_output, query, key, value):
    d_query, d_key, d_value = (np.zeros(x.shape) for x in (query, key, value))
    for i in range(query.shape[-2]):
        now, past = np.s_[..., [i], :], np.s_[..., : i + 1, :]
        found = attnbook.attention_backward(d_output[now], query[now], key[past], value[past])
        d_query[now], d_key[past], d_value[past] = found
    return d_query, d_key, d_value


@BANK.wrong_for("masked-backward", names="keys_and_values_swapped")
def causal_with_keys_and_values_swapped(d_output, query, key, value):
    d_query, d_key, d_value = causal_token_by_token(d_output, query, key, value)
    return d_query, d_value, d_key


@BANK.wrong_for("masked-backward", names="values_first")
def causal_in_the_opposite_order(d_output, query, key, value):
    return causal_token_by_token(d_output, query, key, value)[::-1]


@BANK.wrong_for("masked-backward", names="query_alone")
def causal_of_queries(d_output, query, key, value):
    return causal_token_by_token(d_output, query, key, value)[0]


@BANK.wrong_for("masked-backward", names="nan_in_a_key")
def causal_with_zero_weights_for_the_future(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="nan_in_a_key")
def causal_with_an_added_mask(d_output, query, key, value):
    future = np.triu(np.full((query.shape[-2],) * 2, -np.inf), k=1)
    weights = attnbook.softmax(query @ key.mT / np.sqrt(query.shape[-1]) + future)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="nan_in_a_value")
def causal_with_clean_keys_alone(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    return all_three(d_scores, weights, d_output, query, np.nan_to_num(key))


@BANK.wrong_for("masked-backward", names="in_place")
def causal_in_place(d_output, query, key, value):
    query /= np.sqrt(query.shape[-1])
    mask = attnbook.causal_mask(query.shape[-2])
    return attnbook.attention_backward(d_output, query, key, value, mask, scale=1)


@BANK.wrong_for("masked-backward", symptom="shape first_token")
def causal_up_to_the_token_before(d_output, query, key, value):
    d_query, d_key, d_value = causal_token_by_token(d_output, query, key, value)
    return (
        (d_query, d_key, d_value) if query.shape[-2] > 1 else (d_query[..., :0, :], d_key, d_value)
    )


@BANK.wrong_for("masked-backward", symptom="none")
def causal_without_return(d_output, query, key, value):
    causal_token_by_token(d_output, query, key, value)


@BANK.wrong_for("masked-backward", names="hard_far", of="one_hot")
def causal_one_hot_where_large(d_output, query, key, value):
    scores = np.where(
        np.tri(query.shape[-2], dtype=bool), query @ key.mT / np.sqrt(query.shape[-1]), -np.inf
    )
    weights = one_hot_where_large(scores)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="underflow", of="one_sign")
def causal_guarded_above(d_output, query, key, value):
    scores = np.where(
        np.tri(query.shape[-2], dtype=bool), query @ key.mT / np.sqrt(query.shape[-1]), -np.inf
    )
    weights = guarded_above(scores)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="raised leading_axes", of="axes")
def causal_of_three_axes(d_output, query, key, value):
    _, n, d_k = query.shape
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(d_k)
    weights = attnbook.softmax(np.where(np.tri(n, dtype=bool), scores, -np.inf))
    d_scores = back_through_softmax(d_output @ value.transpose(0, 2, 1), weights)
    return all_three(d_scores, weights, d_output, query, key)


@BANK.wrong_for("masked-backward", names="raised leading_axes", of="axes")
def causal_one_sequence_at_a_time(d_output, query, key, value):
    batch, _, _ = query.shape
    parts = [causal_token_by_token(d_output[b], query[b], key[b], value[b]) for b in range(batch)]
    return tuple(np.stack(found) for found in zip(*parts, strict=True))


@BANK.wrong_for("masked-backward", names="raised broadcast_together", of="table")
def causal_with_a_mask_of_fixed_length(d_output, query, key, value):
    n = query.shape[-2]
    mask = np.tri(512, dtype=bool)[:n, :n]
    return attnbook.attention_backward(d_output, query, key, value, mask | np.eye(n, dtype=bool))


@BANK.wrong_for("masked-backward", names="cut_to_integers", of="integers")
def causal_into_arrays_like_the_inputs(d_output, query, key, value):
    results = np.empty_like(query), np.empty_like(key), np.empty_like(value)
    found = causal_token_by_token(d_output, query, key, value)
    for result, gradient in zip(results, found, strict=True):
        result[...] = gradient
    return results


BANK.spoil("squeeze", "shape lost_axis", "masked-backward")


@BANK.wrong_for("masked-backward", names="nearly", of="tolerance")
def causal_without_small_weights(d_output, query, key, value):
    weights = causal_weights(query, key)
    weights = np.where(weights > 1e-3, weights, 0)
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


def causal_back_by(back, d_output, query, key, value):
    """Return the gradients, gone back through the softmax somehow."""
    weights = causal_weights(query, key)
    return all_three(back(d_output @ value.mT, weights), weights, d_output, query, key)


def causal_weighed(weigh, d_output, query, key, value):
    """Return the gradients of weights that are made somehow of masked scores."""
    scores = query @ key.mT / np.sqrt(query.shape[-1])
    weights = weigh(np.where(np.tri(query.shape[-2], dtype=bool), scores, -np.inf))
    d_scores = back_through_softmax(d_output @ value.mT, weights)
    return all_three(d_scores, weights, d_output, query, key)


def causal_scaled(scale, d_output, query, key, value):
    mask = attnbook.causal_mask(query.shape[-2])
    return attnbook.attention_backward(d_output, query, key, value, mask, scale=scale(query.shape))


BANK.vary(
    "masked-backward",
    causal_weighed,
    no_sum=exponentials,
    bare=np.exp,
    hard=lambda s: np.eye(s.shape[-1])[s.argmax(axis=-1)],
    over_queries=lambda s: attnbook.softmax(s, axis=-2),
)
BANK.vary(
    "masked-backward",
    causal_back_by,
    plain_sum=lambda d, w: w * (d - d.sum(axis=-1, keepdims=True)),
    added=lambda d, w: w * (d + averaged(d, w)),
    average_of_all=lambda d, w: w * (d - (w * d).sum()),
    squared=lambda d, w: w * w * (d - averaged(d, w)),
)
BANK.vary(
    "masked-backward",
    causal_scaled,
    by_d_k=lambda shape: 1 / shape[-1],
    by_len_k=lambda shape: 1 / np.sqrt(shape[-2]),
)


@BANK.wrong_for("masked-backward", names="queries_not_scaled")
def causal_with_queries_not_scaled(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    d_key = d_scores.mT @ query / np.sqrt(query.shape[-1])
    return d_scores @ key, d_key, weights.mT @ d_output


@BANK.wrong_for("masked-backward", names="values_scaled")
def causal_with_values_scaled(d_output, query, key, value):
    d_scores, weights = causal_gradient(d_output, query, key, value)
    parts = d_scores @ key, d_scores.mT @ query, weights.mT @ d_output
    return tuple(part / np.sqrt(query.shape[-1]) for part in parts)


@BANK.wrong_for("masked-backward", names="values_as_if_seen_by_all")
def causal_with_a_mean_for_values(d_output, query, key, value):
    d_query, d_key, d_value = causal_token_by_token(d_output, query, key, value)
    return d_query, d_key, np.zeros(d_value.shape) + d_output.mean(axis=-2, keepdims=True)


# cross-entropy: right


@BANK.right_for("cross-entropy")
def entropy_by_logsumexp(logits, targets):
    logsumexp = np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    log_probabilities = logits - logsumexp
    chosen = np.take_along_axis(log_probabilities, targets[..., None], axis=-1)
    d_logits = np.exp(log_probabilities)
    np.put_along_axis(d_logits, targets[..., None], np.exp(chosen) - 1, axis=-1)
    return -chosen.mean(), d_logits / targets.size


@BANK.right_for("cross-entropy")
def entropy_in_loops(logits, targets):
    d_logits, losses = np.zeros(logits.shape), []
    for place in np.ndindex(targets.shape):
        row, target = logits[place].tolist(), int(targets[place])
        top = max(row)
        total = math.fsum(math.exp(x - top) for x in row)
        losses.append(top + math.log(total) - row[target])
        d_logits[place] = [math.exp(x - top) / total for x in row]
        d_logits[place][target] -= 1
    return math.fsum(losses) / len(losses), d_logits / len(losses)


@BANK.right_for("cross-entropy")
def entropy_by_one_hot(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total = np.exp(shifted).sum(axis=-1, keepdims=True)
    loss = -(one_hot * (shifted - np.log(total))).sum(axis=-1).mean()
    return loss, (np.exp(shifted) / total - one_hot) / targets.size


@BANK.right_for("cross-entropy")
def entropy_of_flat_rows(logits, targets):
    rows, flat = logits.reshape(-1, logits.shape[-1]), targets.ravel()
    probabilities, each = attnbook.softmax(rows), np.arange(len(rows))
    margins = rows - rows[each, flat][:, None]  # how far above the target each one is
    probabilities[each, flat] -= 1
    loss = np.logaddexp.reduce(margins, axis=1).mean()
    return [loss, probabilities.reshape(logits.shape) / len(rows)]


# cross-entropy: wrong


def logs_of(logits):
    """Return the logarithms of all probabilities."""
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def losses_of(logits, targets):
    """Return the loss of each target."""
    return -np.take_along_axis(logs_of(logits), targets[..., None], axis=-1)[..., 0]


def errors_of(logits, targets):
    """Return probabilities less one-hot."""
    return attnbook.softmax(logits) - np.eye(logits.shape[-1])[targets]


@BANK.wrong_for("cross-entropy", names="loss_summed")
def entropy_with_a_sum(logits, targets):
    return losses_of(logits, targets).sum(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="loss_per_target")
def entropy_of_each_target(logits, targets):
    return losses_of(logits, targets), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="loss_by_all")
def entropy_as_a_mean_of_an_array(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    return -(one_hot * logs_of(logits)).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="loss_turned")
def entropy_with_the_sign_of_the_loss_turned(logits, targets):
    return -losses_of(logits, targets).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="loss_in_bits")
def entropy_in_bits(logits, targets):
    bits = losses_of(logits, targets).mean() / np.log(2)
    return bits, errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="no_logarithm")
def entropy_without_a_logarithm(logits, targets):
    chosen = np.exp(-losses_of(logits, targets))
    return (1 - chosen).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="squares")
def entropy_as_a_squared_error(logits, targets):
    errors = errors_of(logits, targets)
    return (errors**2).sum(axis=-1).mean(), errors / targets.size


@BANK.wrong_for("cross-entropy", names="perplexity")
def entropy_as_a_perplexity(logits, targets):
    perplexity = np.exp(losses_of(logits, targets).mean())
    return perplexity, errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="all_classes")
def entropy_of_all_classes(logits, targets):
    loss = -logs_of(logits).sum(axis=-1).mean()
    return loss, errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="entropy")
def entropy_of_the_model_itself(logits, targets):
    loss = -(attnbook.softmax(logits) * logs_of(logits)).sum(axis=-1).mean()
    return loss, errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="logit_alone")
def entropy_of_the_logit(logits, targets):
    chosen = np.take_along_axis(logits, targets[..., None], axis=-1)
    return -chosen.mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="share_of_errors")
def entropy_as_a_share_of_errors(logits, targets):
    wrong = logits.argmax(axis=-1) != targets
    return wrong.mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="mean_probability")
def entropy_of_the_mean_probability(logits, targets):
    loss = -np.log(np.exp(-losses_of(logits, targets)).mean())
    return loss, errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="log_of_zero")
def entropy_of_a_probability_that_is_zero(logits, targets):
    probabilities = attnbook.softmax(logits)
    chosen = np.take_along_axis(probabilities, targets[..., None], axis=-1)
    return -np.log(chosen).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="gradient_of_the_sum")
def entropy_with_the_gradient_of_the_sum(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets)


@BANK.wrong_for("cross-entropy", names="gradient_by_vocab")
def entropy_divided_by_the_classes(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / logits.shape[-1]


@BANK.wrong_for("cross-entropy", names="gradient_by_all")
def entropy_divided_by_all_logits(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / logits.size


@BANK.wrong_for("cross-entropy", names="gradient_by_batch")
def entropy_divided_by_the_batch(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / len(logits)


@BANK.wrong_for("cross-entropy", names="gradient_by_length")
def entropy_divided_by_the_length(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / logits.shape[-2]


@BANK.wrong_for("cross-entropy", names="both_summed")
def entropy_summed(logits, targets):
    return losses_of(logits, targets).sum(), errors_of(logits, targets)


@BANK.wrong_for("cross-entropy", names="both_by_batch")
def entropy_of_a_sequence(logits, targets):
    return losses_of(logits, targets).sum() / len(logits), errors_of(logits, targets) / len(logits)


@BANK.wrong_for("cross-entropy", names="no_one_hot")
def entropy_without_one_hot(logits, targets):
    return losses_of(logits, targets).mean(), attnbook.softmax(logits) / targets.size


@BANK.wrong_for("cross-entropy", names="gradient_turned")
def entropy_with_the_gradient_turned(logits, targets):
    return losses_of(logits, targets).mean(), -errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="targets_alone")
def entropy_of_the_targets_logits(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    d_logits = one_hot * errors_of(logits, targets) / targets.size
    return losses_of(logits, targets).mean(), d_logits


@BANK.wrong_for("cross-entropy", names="of_probabilities")
def entropy_with_respect_to_probabilities(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    d_probabilities = -one_hot / attnbook.softmax(logits) / targets.size
    return losses_of(logits, targets).mean(), d_probabilities


@BANK.wrong_for("cross-entropy", names="softmax_twice")
def entropy_through_softmax_twice(logits, targets):
    d_logits = back_through_softmax(errors_of(logits, targets), attnbook.softmax(logits))
    return losses_of(logits, targets).mean(), d_logits / targets.size


@BANK.wrong_for("cross-entropy", names="one_from_every_row")
def entropy_with_one_off_everywhere(logits, targets):
    d_logits = attnbook.softmax(logits)
    d_logits[..., targets] -= 1
    return losses_of(logits, targets).mean(), d_logits / targets.size


@BANK.wrong_for("cross-entropy", names="one_early")
def entropy_counting_from_one(logits, targets):
    return entropy_by_one_hot(logits, targets - 1)


@BANK.wrong_for("cross-entropy", names="likeliest")
def entropy_of_the_likeliest(logits, targets):
    return entropy_by_one_hot(logits, logits.argmax(axis=-1))


@BANK.wrong_for("cross-entropy", names="over_queries")
def entropy_over_the_tokens(logits, targets):
    probabilities, one_hot = attnbook.softmax(logits, axis=-2), np.eye(logits.shape[-1])[targets]
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="overflow")
def entropy_by_the_formula(logits, targets):
    e, one_hot = np.exp(logits), np.eye(logits.shape[-1])[targets]
    probabilities = e / e.sum(axis=-1, keepdims=True)
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="gradient_overflow")
def entropy_with_a_naive_gradient(logits, targets):
    e = np.exp(logits)
    d_logits = e / e.sum(axis=-1, keepdims=True) - np.eye(logits.shape[-1])[targets]
    return losses_of(logits, targets).mean(), d_logits / targets.size


@BANK.wrong_for("cross-entropy", names="one_maximum")
def entropy_with_one_maximum(logits, targets):
    e, one_hot = np.exp(logits - logits.max()), np.eye(logits.shape[-1])[targets]
    probabilities = e / e.sum(axis=-1, keepdims=True)
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="swapped")
def entropy_swapped(logits, targets):
    return entropy_by_one_hot(logits, targets)[::-1]


@BANK.wrong_for("cross-entropy", names="loss_alone")
def entropy_as_a_loss(logits, targets):
    return losses_of(logits, targets).mean()


@BANK.wrong_for("cross-entropy", names="gradient_alone")
def entropy_as_a_gradient(logits, targets):
    return errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="in_place")
def entropy_in_place(logits, targets):
    logits -= logits.max(axis=-1, keepdims=True)
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="raised one_per_row")
def entropy_by_columns(logits, targets):
    d_logits = attnbook.softmax(logits)
    d_logits[:, targets] -= np.ones(len(logits) + 1)[:, None]
    return losses_of(logits, targets).mean(), d_logits / targets.size


@BANK.wrong_for("cross-entropy", symptom="none")
def entropy_without_return(logits, targets):
    losses_of(logits, targets).mean()


@BANK.wrong_for("cross-entropy", symptom="differs mean_of_all")
def entropy_with_half_a_gradient(logits, targets):
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / targets.size / 2


@BANK.wrong_for("cross-entropy", names="hard_far", of="one_hot")
def entropy_one_hot_where_large(logits, targets):
    probabilities, one_hot = one_hot_where_large(logits), np.eye(logits.shape[-1])[targets]
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="underflow", of="one_sign")
def entropy_guarded_above(logits, targets):
    probabilities, one_hot = guarded_above(logits), np.eye(logits.shape[-1])[targets]
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="raised leading_axes", of="axes")
def entropy_of_three_axes(logits, targets):
    batch, length, _ = logits.shape
    d_logits, loss = np.zeros(logits.shape), 0
    for b, i in itertools.product(range(batch), range(length)):
        loss += losses_of(logits[b, i], targets[b, i]) / batch / length
        d_logits[b, i] = errors_of(logits[b, i], targets[b, i]) / batch / length
    return loss, d_logits


@BANK.wrong_for("cross-entropy", names="raised leading_axes", of="axes")
def entropy_along_axis_2(logits, targets):
    shifted = logits - logits.max(axis=2, keepdims=True)
    probabilities = np.exp(shifted) / np.exp(shifted).sum(axis=2, keepdims=True)
    one_hot = np.eye(logits.shape[2])[targets]
    loss = -np.log((probabilities * one_hot).sum(axis=2)).mean()
    return loss, (probabilities - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="cut_to_integers", of="integers")
def entropy_into_an_array_like_the_logits(logits, targets):
    d_logits = np.zeros_like(logits)
    d_logits[...] = errors_of(logits, targets) / targets.size
    return losses_of(logits, targets).mean(), d_logits


@BANK.wrong_for("cross-entropy", names="raised one_per_row", of="table")
def entropy_with_a_table_of_classes(logits, targets):
    one_hot = np.eye(512)[:, : logits.shape[-1]][targets]
    errors = attnbook.softmax(logits) - one_hot
    return losses_of(logits, targets).mean(), errors / targets.size


@BANK.wrong_for("cross-entropy", names="small_added", of="tolerance")
def entropy_with_a_small_number_added(logits, targets):
    probabilities = attnbook.softmax(logits)
    chosen = np.take_along_axis(probabilities, targets[..., None], axis=-1)
    return -np.log(chosen + 1e-9).mean(), errors_of(logits, targets) / targets.size


BANK.spoil("squeeze", "shape lost_axis", "cross-entropy")


@BANK.wrong_for("cross-entropy", names="minus_probability")
def entropy_as_minus_the_probability(logits, targets):
    chosen = np.exp(-losses_of(logits, targets))
    return -chosen.mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="minus_one_hot")
def entropy_with_one_hot_alone(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    return losses_of(logits, targets).mean(), -one_hot / targets.size


@BANK.wrong_for("cross-entropy", names="logits_less_one_hot")
def entropy_with_logits_less_one_hot(logits, targets):
    one_hot = np.eye(logits.shape[-1])[targets]
    return losses_of(logits, targets).mean(), (logits - one_hot) / targets.size


@BANK.wrong_for("cross-entropy", names="errors_alone")
def entropy_with_errors_of_the_guess(logits, targets):
    rows = np.eye(logits.shape[-1])
    errors = rows[logits.argmax(axis=-1)] - rows[targets]
    return losses_of(logits, targets).mean(), errors / targets.size


@BANK.wrong_for("cross-entropy", names="one_late")
def entropy_of_the_class_after(logits, targets):
    targets = (targets + 1) % logits.shape[-1]
    return losses_of(logits, targets).mean(), errors_of(logits, targets) / targets.size


@BANK.wrong_for("cross-entropy", names="both_turned")
def entropy_as_a_likelihood(logits, targets):
    return -losses_of(logits, targets).mean(), -errors_of(logits, targets) / targets.size


def entropy_by(of, logits, targets):
    """Return loss and gradient of probabilities that are made somehow of logits."""
    probabilities, one_hot = of(logits), np.eye(logits.shape[-1])[targets]
    loss = -np.log((probabilities * one_hot).sum(axis=-1)).mean()
    return loss, (probabilities - one_hot) / targets.size


BANK.vary(
    "cross-entropy",
    entropy_by,
    no_sum=exponentials,
    sum_of_all=lambda logits: np.exp(logits) / np.exp(logits).sum(),
)


# adam-step: right


@BANK.right_for("adam-step")
def adam_by_the_formula(parameter, gradient, m, v, step, rate):
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.999**step)
    return parameter - rate * m_hat / (np.sqrt(v_hat) + 1e-8), m, v


@BANK.right_for("adam-step")
def adam_number_by_number(parameter, gradient, m, v, step, rate):
    results = [np.zeros(gradient.shape) for _ in range(3)]
    for place in np.ndindex(gradient.shape):
        g = float(gradient[place])
        one = 0.9 * float(m[place]) + (1 - 0.9) * g
        two = 0.999 * float(v[place]) + (1 - 0.999) * g * g
        move = one / (1 - 0.9**step) / (math.sqrt(two / (1 - 0.999**step)) + 1e-8)
        results[0][place] = float(parameter[place]) - rate * move
        results[1][place], results[2][place] = one, two
    return results


@BANK.right_for("adam-step")
def adam_by_steps_towards(parameter, gradient, m, v, step, rate):
    m = m + (gradient - m) / 10
    v = v + (np.square(gradient) - v) / 1000
    root = np.sqrt(1 - 0.999**step)
    return parameter - rate * root / (1 - 0.9**step) * m / (np.sqrt(v) + 1e-8 * root), m, v


@BANK.right_for("adam-step")
def adam_on_copies(parameter, gradient, m, v, step, rate):
    parameter, m, v = (x.astype(float) for x in (parameter, m, v))  # copies
    m *= 0.9
    m += 0.1 * gradient
    v *= 0.999
    v += 0.001 * gradient * gradient
    parameter -= rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)) ** 0.5 + 1e-8)
    return parameter, m, v


# adam-step: wrong


def moments(gradient, m, v):
    return 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2


def moved(m, v, step):
    """Return how far a parameter moves for each unit of the rate."""
    return m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


@BANK.wrong_for("adam-step", names="no_correction")
def adam_without_correction(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * m / (np.sqrt(v) + 1e-8), m, v


@BANK.wrong_for("adam-step", names="m_not_corrected")
def adam_with_m_as_it_is(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * m / (np.sqrt(v / (1 - 0.999**step)) + 1e-8), m, v


@BANK.wrong_for("adam-step", names="v_not_corrected")
def adam_with_v_as_it_is(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * m / (1 - 0.9**step) / (np.sqrt(v) + 1e-8), m, v


@BANK.wrong_for("adam-step", names="correction_swapped")
def adam_with_corrections_swapped(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.999**step) / (np.sqrt(v / (1 - 0.9**step)) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="correction_multiplied")
def adam_with_corrections_multiplied(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m * (1 - 0.9**step) / (np.sqrt(v * (1 - 0.999**step)) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="correction_of_one_step")
def adam_with_the_corrections_of_step_1(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * (m / (1 - 0.9)) / (np.sqrt(v / (1 - 0.999)) + 1e-8), m, v


@BANK.wrong_for("adam-step", names="step_from_0")
def adam_counting_from_0(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * moved(m, v, step - 1), m, v


@BANK.wrong_for("adam-step", names="step_ahead")
def adam_one_step_ahead(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * moved(m, v, step + 1), m, v


@BANK.wrong_for("adam-step", names="beta_times_step")
def adam_with_beta_times_step(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9 * step) / (np.sqrt(v / (1 - 0.999 * step)) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="m_betas_swapped")
def adam_with_m_the_other_way_round(parameter, gradient, m, v, step, rate):
    m, v = (1 - 0.9) * m + 0.9 * gradient, 0.999 * v + 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_betas_swapped")
def adam_with_v_the_other_way_round(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, (1 - 0.999) * v + 0.999 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="betas_exchanged")
def adam_with_betas_exchanged(parameter, gradient, m, v, step, rate):
    m, v = 0.999 * m + 0.001 * gradient, 0.9 * v + 0.1 * gradient**2
    move = m / (1 - 0.999**step) / (np.sqrt(v / (1 - 0.9**step)) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="v_by_beta_1")
def adam_with_one_beta(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.9 * v + 0.1 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_by_99")
def adam_with_a_beta_of_99_hundredths(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.99 * v + 0.01 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="m_added")
def adam_with_gradients_added_up(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + gradient, 0.999 * v + 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_added")
def adam_with_squares_added_up(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_not_squared")
def adam_without_a_square(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_absolute")
def adam_of_absolute_values(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * abs(gradient)
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_of_all")
def adam_with_one_v_for_all(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * np.mean(gradient**2)
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="m_of_the_gradient")
def adam_without_m(parameter, gradient, m, v, step, rate):
    m, v = gradient.copy(), moments(gradient, m, v)[1]
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="of_the_gradient")
def adam_of_the_gradient(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = gradient / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="old_averages")
def adam_with_old_averages(parameter, gradient, m, v, step, rate):
    return parameter - rate * moved(m, v, step), *moments(gradient, m, v)


@BANK.wrong_for("adam-step", names="no_root")
def adam_without_a_root(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) / (v / (1 - 0.999**step) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="root_of_both")
def adam_with_eps_under_the_root(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) / np.sqrt(v / (1 - 0.999**step) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="no_eps")
def adam_without_eps(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) / np.sqrt(v / (1 - 0.999**step))
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="momentum_alone")
def adam_without_v(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * m / (1 - 0.9**step), m, v


@BANK.wrong_for("adam-step", names="signs")
def adam_of_signs(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * np.sign(m), m, v


@BANK.wrong_for("adam-step", names="plain_descent")
def adam_as_plain_descent(parameter, gradient, m, v, step, rate):
    return parameter - rate * gradient, *moments(gradient, m, v)


@BANK.wrong_for("adam-step", names="upwards")
def adam_upwards(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter + rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="no_rate")
def adam_without_a_rate(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="decayed")
def adam_with_weight_decay(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    parameter = parameter * (1 - 0.01 * rate)
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="move_alone")
def adam_returning_the_move(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="rate_falls")
def adam_with_a_falling_rate(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate / step**0.5 * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="corrected_returned")
def adam_keeping_the_corrected(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
    return parameter - rate * m / (np.sqrt(v) + 1e-8), m, v


@BANK.wrong_for("adam-step", names="averages_swapped")
def adam_with_averages_swapped(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * moved(m, v, step), v, m


@BANK.wrong_for("adam-step", names="parameter_last")
def adam_with_the_parameter_last(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return m, v, parameter - rate * moved(m, v, step)


@BANK.wrong_for("adam-step", names="parameter_alone")
def adam_of_the_parameter(parameter, gradient, m, v, step, rate):
    return parameter - rate * moved(*moments(gradient, m, v), step)


@BANK.wrong_for("adam-step", names="in_place")
def adam_in_place(parameter, gradient, m, v, step, rate):
    m *= 0.9
    m += 0.1 * gradient
    v *= 0.999
    v += 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", symptom="none")
def adam_without_return(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    parameter = parameter - rate * moved(m, v, step)


@BANK.wrong_for("adam-step", symptom="others_right differs late_step")
def adam_with_at_most_a_thousand_steps(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return parameter - rate * moved(m, v, min(step, 1000)), m, v


@BANK.wrong_for("adam-step", names="raised any_axes", of="axes")
def adam_in_two_loops(parameter, gradient, m, v, step, rate):
    rows, columns = parameter.shape
    m, v = moments(gradient, m, v)
    after = np.zeros((rows, columns))
    for i, j in itertools.product(range(rows), range(columns)):
        after[i, j] = parameter[i, j] - rate * moved(m[i, j], v[i, j], step)
    return after, m, v


@BANK.wrong_for("adam-step", names="cut_to_integers", of="integers")
def adam_into_an_array_like_the_parameter(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    after = np.zeros_like(parameter)
    after[...] = parameter - rate * moved(m, v, step)
    return after, m, v


@BANK.wrong_for("adam-step", names="large_eps", of="tolerance")
def adam_with_a_large_eps(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-6)
    return parameter - rate * move, m, v


BANK.spoil("squeeze", "shape lost_axis", "adam-step")


@BANK.wrong_for("adam-step", names="m_by_beta_2")
def adam_with_the_other_beta_for_m(parameter, gradient, m, v, step, rate):
    m, v = 0.999 * m + 0.001 * gradient, 0.999 * v + 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="m_of_squares")
def adam_with_m_of_squares(parameter, gradient, m, v, step, rate):
    m, v = 0.9 * m + 0.1 * gradient**2, 0.999 * v + 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="m_kept")
def adam_with_m_as_it_was(parameter, gradient, m, v, step, rate):
    v = 0.999 * v + 0.001 * gradient**2
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="v_kept")
def adam_with_v_as_it_was(parameter, gradient, m, v, step, rate):
    m = 0.9 * m + 0.1 * gradient
    return parameter - rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="power_alone")
def adam_without_the_1_in_corrections(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / 0.9**step / (np.sqrt(v / 0.999**step) + 1e-8)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="tiny_eps", of="tolerance")
def adam_with_a_tiny_eps(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-12)
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="multiplied")
def adam_multiplied(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    move = m / (1 - 0.9**step) * np.sqrt(v / (1 - 0.999**step))
    return parameter - rate * move, m, v


@BANK.wrong_for("adam-step", names="minus_move_alone")
def adam_returning_what_is_added(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, m, v)
    return -rate * moved(m, v, step), m, v


@BANK.wrong_for("adam-step", names="parameter_kept")
def adam_that_moves_nothing(parameter, gradient, m, v, step, rate):
    return parameter.copy(), *moments(gradient, m, v)


@BANK.wrong_for("adam-step", names="first_step_always")
def adam_that_remembers_nothing(parameter, gradient, m, v, step, rate):
    m, v = moments(gradient, np.zeros_like(m), np.zeros_like(v))
    return parameter - rate * moved(m, v, 1), m, v


# Classes of mistakes that cannot be made

BANK.never("one_hot one_sign", "it takes no softmax", "softmax-backward", "adam-step")
BANK.never("table", "positions play no part", "softmax-backward", "d-query", "adam-step")
BANK.never("mask", "there is no mask", "softmax-backward", "d-query", "cross-entropy", "adam-step")
BANK.never("mask", "one mask serves all sequences", "masked-backward")
