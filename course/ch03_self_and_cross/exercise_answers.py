"""Answers to the exercises of the chapter Attend to yourself, attend to others."""

from __future__ import annotations

import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mix(weights, value):
    return weights @ value, weights


# self-attention: right


@BANK.right_for("self-attention")
def self_attention_vectorised(x, w_q, w_k, w_v):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    weights = softmax(query @ key.T / np.sqrt(key.shape[-1]))
    return weights @ value, weights


@BANK.right_for("self-attention")
def self_attention_in_loops(x, w_q, w_k, w_v):
    length, d_k = len(x), w_q.shape[1]
    output = np.zeros((length, w_v.shape[1]))
    weights = np.zeros((length, length))
    for i in range(length):
        scores = []
        for j in range(length):
            score = 0.0
            for c in range(d_k):
                score += np.sum(x[i] * w_q[:, c]) * np.sum(x[j] * w_k[:, c])
            scores.append(score / math.sqrt(d_k))
        e = [math.exp(score - max(scores)) for score in scores]
        for j in range(length):
            weights[i, j] = e[j] / sum(e)
            output[i] += weights[i, j] * (x[j] @ w_v)
    return output, weights


@BANK.right_for("self-attention")
def self_attention_with_one_product_matrix(x, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.T) @ x.T * w_q.shape[1] ** -0.5
    log_weights = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    weights = np.exp(log_weights)
    return [(weights @ x) @ w_v, weights]


@BANK.right_for("self-attention")
def self_attention_with_a_packed_projection(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    query, key, value = np.split(x @ np.hstack([w_q, w_k, w_v]), [d_k, 2 * d_k], axis=1)
    scores = np.einsum("qd,kd->qk", query, key) / np.sqrt(d_k)
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    weights = e / np.einsum("qk->q", e)[:, None]
    return np.einsum("qk,kv->qv", weights, value), weights


@BANK.right_for("self-attention")
def self_attention_in_a_batch_of_one(x, w_q, w_k, w_v):
    query, key, value = ((x[None] @ w)[0] for w in (w_q, w_k, w_v))
    return attnbook.scaled_dot_product_attention(query, key, value)


@BANK.right_for("self-attention")
def self_attention_with_the_package(x, w_q, w_k, w_v):
    return attnbook.self_attention(x, w_q, w_k, w_v)


# self-attention: wrong


@BANK.wrong_for("self-attention", names="by_d_model")
def self_attention_scaled_by_model_size(x, w_q, w_k, w_v):
    weights = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(x.shape[-1]))
    return mix(weights, x @ w_v)


@BANK.wrong_for("self-attention", names="swapped_projections")
def self_attention_swapped_projections(x, w_k, w_q, w_v):
    return self_attention_vectorised(x, w_q, w_k, w_v)


@BANK.wrong_for("self-attention", names="swapped_projections")
def self_attention_keys_times_queries(x, w_q, w_k, w_v):
    weights = softmax((x @ w_k) @ (x @ w_q).T / np.sqrt(w_q.shape[1]))
    return mix(weights, x @ w_v)


@BANK.wrong_for("self-attention", names="both_by_w_q")
def self_attention_key_projected_by_w_q(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q, w_q, w_v)


@BANK.wrong_for("self-attention", names="both_by_w_k")
def self_attention_query_projected_by_w_k(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_k, w_k, w_v)


@BANK.wrong_for("self-attention", names="value_raw")
def self_attention_value_unprojected(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(w_k.shape[1])), x)


@BANK.wrong_for("self-attention", names="value_by_w_q")
def self_attention_value_projected_by_w_q(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q, w_k, w_q)


@BANK.wrong_for("self-attention", names="mixed_keys")
def self_attention_value_projected_by_w_k(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q, w_k, w_k)


@BANK.wrong_for("self-attention", names="all_raw")
def self_attention_without_projections(x, w_q, w_k, w_v):
    return mix(softmax(x @ x.T / np.sqrt(x.shape[1])), x)


@BANK.wrong_for("self-attention", names="query_and_key_raw")
def self_attention_only_the_value_projected(x, w_q, w_k, w_v):
    return mix(softmax(x @ x.T / np.sqrt(x.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="raised projected")
def self_attention_key_unprojected(x, w_q, w_k, w_v):
    return mix(softmax(x @ w_q @ x.T / np.sqrt(w_q.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="raised projected")
def self_attention_matrices_transposed(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q.T, w_k.T, w_v.T)


@BANK.wrong_for("self-attention", names="returned_transposed")
def self_attention_returns_transposed_weights(x, w_q, w_k, w_v):
    output, weights = self_attention_vectorised(x, w_q, w_k, w_v)
    return output, weights.T


@BANK.wrong_for("self-attention", names="mixed_transposed")
def self_attention_mixes_with_transposed_weights(x, w_q, w_k, w_v):
    weights = softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]))
    return np.einsum("kq,kv->qv", weights, x @ w_v), weights


@BANK.wrong_for("self-attention", names="future_masked")
def self_attention_causal(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    future = np.triu(np.ones(scores.shape, dtype=bool), k=1)
    return mix(softmax(np.where(future, -np.inf, scores)), x @ w_v)


@BANK.wrong_for("self-attention", names="others_only")
def self_attention_not_itself(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    np.fill_diagonal(scores, -np.inf)
    return mix(softmax(scores), x @ w_v)


@BANK.wrong_for("self-attention", names="over_queries")
def self_attention_softmax_over_axis_0(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    return mix(softmax(scores.T).T, x @ w_v)


@BANK.wrong_for("self-attention", names="unscaled")
def self_attention_without_scale(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T), x @ w_v)


@BANK.wrong_for("self-attention", names="by_d_k")
def self_attention_divided_by_d_k(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / w_q.shape[1]), x @ w_v)


@BANK.wrong_for("self-attention", names="times_root")
def self_attention_times_root(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T * np.sqrt(w_q.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="by_len_k")
def self_attention_scaled_by_length(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(len(x))), x @ w_v)


@BANK.wrong_for("self-attention", names="by_d_v")
def self_attention_scaled_by_value_size(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(w_v.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="scaled_late")
def self_attention_scale_after_softmax(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T) / np.sqrt(w_k.shape[1]), x @ w_v)


@BANK.wrong_for("self-attention", names="no_softmax")
def self_attention_without_softmax(x, w_q, w_k, w_v):
    return mix((x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]), x @ w_v)


@BANK.wrong_for("self-attention", names="overflow")
def self_attention_without_maximum(x, w_q, w_k, w_v):
    e = np.exp((x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1]))
    return mix(e / e.sum(axis=1, keepdims=True), x @ w_v)


@BANK.wrong_for("self-attention", names="swapped")
def self_attention_weights_first(x, w_q, w_k, w_v):
    output, weights = self_attention_vectorised(x, w_q, w_k, w_v)
    return weights, output


@BANK.wrong_for("self-attention", names="output_alone")
def self_attention_output_only(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q, w_k, w_v)[0]


@BANK.wrong_for("self-attention", names="weights_alone")
def self_attention_weights_only(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q, w_k, w_v)[1]


@BANK.wrong_for("self-attention", names="scores_given")
def self_attention_returns_scores(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    return softmax(scores) @ x @ w_v, scores


@BANK.wrong_for("self-attention", names="torn")
def self_attention_by_reshape(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).reshape(w_k.shape[1], len(x))
    return mix(softmax(scores / np.sqrt(w_k.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="differs sizes")
def self_attention_scale_from_the_printed_shapes(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / np.sqrt(11)), x @ w_v)


@BANK.wrong_for("self-attention", names="none")
def self_attention_without_return(x, w_q, w_k, w_v):
    self_attention_vectorised(x, w_q, w_k, w_v)


@BANK.wrong_for("self-attention", symptom="raised broadcast_together")
def self_attention_with_a_residual(x, w_q, w_k, w_v):
    output, weights = self_attention_vectorised(x, w_q, w_k, w_v)
    return x + output, weights


@BANK.wrong_for("self-attention", symptom="shape swapped_axes")
def self_attention_output_transposed(x, w_q, w_k, w_v):
    output, weights = self_attention_vectorised(x, w_q, w_k, w_v)
    return output.T, weights


@BANK.wrong_for("self-attention", symptom="differs step_by_step")
def self_attention_at_temperature_two(x, w_q, w_k, w_v):
    return self_attention_vectorised(x, w_q / 2, w_k, w_v)


def self_attention_weighed(weigh, x, w_q, w_k, w_v):
    """Return the attention whose weights are made somehow of query and key."""
    return mix(weigh(x @ w_q, x @ w_k), x @ w_v)


def self_attention_mixed(combine, x, w_q, w_k, w_v):
    """Return the right weights, with an output that is made somehow of scores and values."""
    scores = (x @ w_q) @ (x @ w_k).T
    return combine(scores, w_q.shape[1], x @ w_v), softmax(scores / np.sqrt(w_q.shape[1]))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def right_scores(query, key):
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


def best_of(scores):
    return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]


# Of query and key: weights that are wrong in their scale, or in their softmax.
WEIGHED = {
    "cosine": lambda q, k: softmax(unit(q) @ unit(k).swapaxes(-1, -2)),
    "by_half": lambda q, k: softmax(q @ k.swapaxes(-1, -2) / (q.shape[-1] / 2)),
    "by_double": lambda q, k: softmax(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 1 / 2),
    "by_eight": lambda q, k: softmax(q @ k.swapaxes(-1, -2) / 8),
}

BANK.vary(
    "self-attention",
    self_attention_weighed,
    **WEIGHED,
    no_exponential=lambda q, k: right_scores(q, k) / right_scores(q, k).sum(axis=1, keepdims=True),
    hard=lambda q, k: best_of(right_scores(q, k)),
    uniform=lambda q, k: np.full((len(q), len(k)), 1 / len(k)),
    no_sum=lambda q, k: np.exp(right_scores(q, k) - right_scores(q, k).max(axis=1, keepdims=True)),
    bare=lambda q, k: np.exp(right_scores(q, k)),
    sum_of_all=lambda q, k: np.exp(right_scores(q, k)) / np.exp(right_scores(q, k)).sum(),
    turned=lambda q, k: softmax(-right_scores(q, k)),
)
BANK.vary(
    "self-attention",
    self_attention_mixed,
    mixed_by_scores=lambda s, d_k, value: s / np.sqrt(d_k) @ value,
    mixed_by_unscaled=lambda s, d_k, value: softmax(s) @ value,
    mixed_by_best=lambda s, d_k, value: best_of(s) @ value,
    mean_of_mixed=lambda s, d_k, value: softmax(s / np.sqrt(d_k)) @ value / len(value),
    unmixed=lambda s, d_k, value: value,
)


# influence: right


@BANK.right_for("influence")
def influence_of_random_numbers(attend, x):
    rng = np.random.default_rng(0)
    before = attend(x)
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.astype(float)
        changed[j] += rng.standard_normal(x.shape[1])
        result[:, j] = (np.abs(attend(changed) - before) > 1e-12).any(axis=1)
    return result


@BANK.right_for("influence")
def influence_in_plain_lists(attend, x):
    before = attend(x)
    result = [[False] * len(x) for _ in x]
    for j in range(len(x)):
        new = [number - 7.5 * (d + 1) for d, number in enumerate(x[j])]
        after = attend(np.array([new if t == j else token for t, token in enumerate(x)]))
        for i in range(len(x)):
            for a, b in zip(after[i], before[i], strict=True):
                if abs(a - b) > 1e-12:
                    result[i][j] = True
    return result


@BANK.right_for("influence")
def influence_of_a_new_token(attend, x):
    rng = np.random.default_rng(1)
    columns = []
    for j in range(len(x)):
        changed = x.astype(float)
        changed[j] = rng.standard_normal(x.shape[1])
        columns.append(np.abs(attend(changed) - attend(x)).max(axis=-1) > 1e-12)
    return np.stack(columns, axis=-1)


@BANK.right_for("influence")
def influence_by_derivatives(attend, x):
    length, width = x.shape
    slopes = np.zeros((length, length))
    for j in range(length):
        for d in range(width):
            small = np.zeros(x.shape)
            small[j, d] = 1e-3
            slopes[:, j] += np.abs(attend(x + small) - attend(x - small)).sum(axis=1)
    return slopes > 1e-12


@BANK.right_for("influence")
def influence_put_back(attend, x):
    x, result = np.array(x, dtype=float), []
    before = attend(x).copy()
    for j in range(len(x)):
        token = x[j].copy()
        x[j] = token + np.arange(1, x.shape[1] + 1)
        result.append(np.linalg.norm(attend(x) - before, axis=1) > 1e-12)
        x[j] = token
    return np.array(result).T


@BANK.right_for("influence")
def influence_one_at_a_time_on_top_of_another(attend, x):
    # The changes add up, but each output is compared with the one just before.
    current = x * 1.0
    result = np.empty((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        before = attend(current)
        current[j, 0] += 3
        current[j, 1:] -= 2
        after = attend(current)
        current[j] = x[j]
        result[:, j] = [
            not np.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(after, before, strict=True)
        ]
    return result


# influence: wrong


@BANK.wrong_for("influence", names="plus_one")
def influence_of_one_more(attend, x):
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = (np.abs(attend(changed) - attend(x)) > 1e-12).any(axis=1)
    return result


@BANK.wrong_for("influence", names="differs centred_keys", of="tolerance")
def influence_without_a_tolerance(attend, x):
    rng, columns = np.random.default_rng(3), []
    for j in range(len(x)):
        changed = x * 1.0
        changed[j] += rng.standard_normal(x.shape[1])
        columns.append((attend(changed) != attend(x)).any(axis=1))
    return np.array(columns).T


@BANK.wrong_for("influence", names="differs leaks_little", of="tolerance")
def influence_above_a_hundred_millionth(attend, x):
    return influence_of(
        attend, x, add_one, lambda after, before: np.abs(after - before).max(axis=1) > 1e-8
    )


@BANK.wrong_for("influence", names="differs whole_numbers", of="integers")
def influence_in_a_copy_of_integers(attend, x):
    def change(x, j):
        x[j] = x[j] + np.linspace(0.2, 0.9, x.shape[1])

    return influence_of(
        attend, x, change, lambda after, before: np.abs(after - before).max(axis=1) > 1e-12
    )


@BANK.wrong_for("influence", names="raised whole_numbers", of="integers")
def influence_added_to_a_copy_of_integers(attend, x):
    rng = np.random.default_rng(0)

    def change(x, j):
        x[j] += rng.standard_normal(x.shape[1])

    return influence_of(attend, x, change)


def influence_of(attend, x, change, differs=lambda after, before: (after != before).any(axis=1)):
    columns = []
    for j in range(len(x)):
        changed = x.copy()
        change(changed, j)
        columns.append(differs(attend(changed), attend(x)))
    return np.array(columns).T


def add_one(x, j):
    x[j] += 1


@BANK.wrong_for("influence", names="transposed")
def influence_transposed(attend, x):
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[j] = (attend(changed) != attend(x)).any(axis=1)
    return result


@BANK.wrong_for("influence", names="inverted")
def influence_inverted(attend, x):
    return influence_of(attend, x, add_one, lambda after, before: (after == before).all(axis=1))


@BANK.wrong_for("influence", names="all_before")
def influence_without_fresh_copies(attend, x):
    before, changed = attend(x), x.copy()
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed[j] += 1
        result[:, j] = (attend(changed) != before).any(axis=1)
    return result


@BANK.wrong_for("influence", names="all_after")
def influence_of_the_rest(attend, x):
    def change(x, j):
        x[j:] += 1

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="all_others")
def influence_of_the_others(attend, x):
    def change(x, j):
        x[np.arange(len(x)) != j] += 1

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="all_at_once")
def influence_of_all(attend, x):
    def change(x, j):
        x += 1

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="next_token")
def influence_counting_from_one(attend, x):
    return influence_of(attend, x, lambda x, j: add_one(x, j - len(x) + 1))


@BANK.wrong_for("influence", names="up_to_i")
def influence_of_the_past(attend, x):
    return np.tril(influence_of_random_numbers(attend, x))


@BANK.wrong_for("influence", names="before_i")
def influence_of_earlier_tokens(attend, x):
    result = np.zeros((len(x), len(x)), dtype=bool)
    for i in range(len(x)):
        for j in range(i):
            changed = x.copy()
            changed[j] += 1
            result[i, j] = (attend(changed)[i] != attend(x)[i]).any()
    return result


@BANK.wrong_for("influence", names="after_i")
def influence_as_a_leak_test(attend, x):
    return np.triu(influence_of_random_numbers(attend, x), k=1)


@BANK.wrong_for("influence", names="not_itself")
def influence_on_others(attend, x):
    result = influence_of_random_numbers(attend, x)
    np.fill_diagonal(result, False)
    return result


@BANK.wrong_for("influence", names="diagonal")
def influence_on_itself_taken_for_granted(attend, x):
    result = influence_of_random_numbers(attend, x)
    np.fill_diagonal(result, True)
    return result


@BANK.wrong_for("influence", names="in_place")
def influence_without_a_copy(attend, x):
    before = attend(x)
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x
        changed[j] += 1
        result[:, j] = (attend(changed) != before).any(axis=1)
    return result


@BANK.wrong_for("influence", names="in_place")
def influence_subtracted_again(attend, x):
    before = attend(x)
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        x[j] += 1
        result[:, j] = (attend(x) != before).any(axis=1)
        x[j] -= 1
    return result


@BANK.wrong_for("influence", names="all_false")
def influence_of_the_wrong_array(attend, x):
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = (attend(x) != attend(x)).any(axis=1)
    return result


@BANK.wrong_for("influence", names="all_true")
def influence_by_nan(attend, x):
    def change(x, j):
        x[j] = np.nan

    return influence_of(attend, x, change, lambda after, _: np.isnan(after).any(axis=1))


@BANK.wrong_for("influence", names="first_copied")
def influence_of_the_first_token_again(attend, x):
    def change(x, j):
        x[j] = x[0]

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="multiplied")
def influence_by_doubling(attend, x):
    def change(x, j):
        x[j] *= 2

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="multiplied")
def influence_by_zeroing(attend, x):
    def change(x, j):
        x[j] = 0

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="multiplied")
def influence_by_turning_the_sign(attend, x):
    def change(x, j):
        x[j] = -x[j]

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", symptom="differs both_ways")
def influence_on_all_coordinates(attend, x):
    return influence_of(attend, x, add_one, lambda after, before: np.all(after != before, axis=-1))


@BANK.wrong_for("influence", symptom="differs both_ways")
def influence_on_the_first_coordinate(attend, x):
    return influence_of(attend, x, add_one, lambda after, before: after[:, 0] != before[:, 0])


@BANK.wrong_for("influence", symptom="differs both_ways")
def influence_on_the_last_coordinate(attend, x):
    return influence_of(attend, x, add_one, lambda after, before: after[:, -1] != before[:, -1])


@BANK.wrong_for("influence", names="first_of_token")
def influence_of_the_first_coordinate(attend, x):
    def change(x, j):
        x[j, 0] += 1

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", symptom="differs up_and_down")
def influence_on_the_sum_of_changes(attend, x):
    return influence_of(
        attend, x, add_one, lambda after, before: np.abs((after - before).sum(axis=1)) > 1e-12
    )


@BANK.wrong_for("influence", names="sums")
def influence_on_the_mean(attend, x):
    return influence_of(
        attend,
        x,
        add_one,
        lambda after, before: ~np.isclose(after.mean(axis=1), before.mean(axis=1)),
    )


@BANK.wrong_for("influence", names="tolerance", of="tolerance")
def influence_by_allclose(attend, x):
    return influence_of(
        attend,
        x,
        add_one,
        lambda after, before: [not np.allclose(a, b) for a, b in zip(after, before, strict=True)],
    )


@BANK.wrong_for("influence", names="tolerance", of="tolerance")
def influence_above_a_tolerance(attend, x):
    return influence_of(
        attend, x, add_one, lambda after, before: np.abs(after - before).max(axis=1) > 1e-5
    )


@BANK.wrong_for("influence", names="tolerance", of="tolerance")
def influence_rounded(attend, x):
    return influence_of(
        attend,
        x,
        add_one,
        lambda after, before: (after.round(4) != before.round(4)).any(axis=1),
    )


@BANK.wrong_for("influence", names="not_boolean")
def influence_as_ones_and_zeros(attend, x):
    result = np.zeros((len(x), len(x)))
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = (attend(changed) != attend(x)).any(axis=1)
    return result


@BANK.wrong_for("influence", names="not_true_or_false column")
def influence_as_sizes(attend, x):
    return influence_of(
        attend, x, add_one, lambda after, before: np.abs(after - before).sum(axis=1)
    )


@BANK.wrong_for("influence", names="none")
def influence_without_return(attend, x):
    influence_of_random_numbers(attend, x)


@BANK.wrong_for("influence", names="other_arguments")
def influence_of_one_pair(attend, x, i, j):
    changed = x.copy()
    changed[j] += 1
    return bool((attend(changed)[i] != attend(x)[i]).any())


@BANK.wrong_for("influence", symptom="shape")
def influence_on_each_coordinate(attend, x):
    result = np.zeros((*attend(x).shape[:1], *attend(x).shape), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = attend(changed) != attend(x)
    return result


@BANK.wrong_for("influence", names="raised other_widths")
def influence_compared_with_the_input(attend, x):
    return influence_of(attend, x, add_one, lambda after, _: (after != x).any(axis=1))


@BANK.wrong_for("influence", names="raised other_widths")
def influence_of_a_missing_token(attend, x):
    before = attend(x)
    result = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        result[:, j] = (attend(np.delete(x, j, axis=0)) != np.delete(before, j, axis=0)).any(axis=1)
    return result


@BANK.wrong_for("influence", symptom="shape")
def influence_of_all_but_the_last(attend, x):
    return influence_of_random_numbers(attend, x)[:, :-1]


def influence_compared(differs, attend, x):
    """Add noise to one token at a time, and compare the outputs somehow."""
    noise = np.random.default_rng(4).standard_normal(x.shape)
    return np.stack(
        [differs(attend(x + noise * row[:, None]), attend(x)) for row in np.eye(len(x))], axis=1
    )


BANK.vary(
    "influence",
    influence_compared,
    all_coordinates=lambda after, before: (np.abs(after - before) > 1e-12).all(axis=1),
    first_of_output=lambda after, before: np.abs(after[:, 0] - before[:, 0]) > 1e-12,
    last_of_output=lambda after, before: np.abs(after[:, -1] - before[:, -1]) > 1e-12,
)


@BANK.wrong_for("influence", names="copy_of_integers")
def influence_with_noise_in_a_copy_of_integers(attend, x):
    noise, columns = np.random.default_rng(1).standard_normal(x.shape), []
    for j in range(len(x)):
        changed = x.copy()
        changed[j] = x[j] + noise[j]
        columns.append((np.abs(attend(changed) - attend(x)) > 1e-12).any(axis=1))
    return np.stack(columns, axis=1)


# patches: right


@BANK.wrong_for("influence", names="all_true")
def influence_any_over_everything(attend, x):
    before, result = attend(x), np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = (attend(changed) != before).any()
    return result


@BANK.wrong_for("influence", names="last_of_token")
def influence_of_the_last_coordinate_of_a_token(attend, x):
    before, result = attend(x), np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j, -1] += 1
        result[:, j] = (attend(changed) != before).any(axis=1)
    return result


@BANK.wrong_for("influence", names="lengths")
def influence_on_the_length_of_an_output(attend, x):
    before, result = np.linalg.norm(attend(x), axis=1), np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1
        result[:, j] = np.abs(np.linalg.norm(attend(changed), axis=1) - before) > 1e-12
    return result


@BANK.right_for("patches")
def patches_by_transpose(image, size):
    height, width, channels = image.shape
    blocks = image.reshape(height // size, size, width // size, size, channels)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(-1, size * size * channels)


@BANK.right_for("patches")
def patches_by_slices(image, size):
    patches = []
    for top in range(0, image.shape[0], size):
        for left in range(0, image.shape[1], size):
            patches.append(image[top : top + size, left : left + size].ravel())
    return np.array(patches)


@BANK.right_for("patches")
def patches_pixel_by_pixel(image, size):
    height, width, channels = image.shape
    columns = width // size
    result = [[0.0] * (size * size * channels) for _ in range(height // size * columns)]
    for row in range(height):
        for column in range(width):
            for channel in range(channels):
                patch = row // size * columns + column // size
                place = (row % size * size + column % size) * channels + channel
                result[patch][place] = float(image[row, column, channel])
    return result


@BANK.right_for("patches")
def patches_by_split(image, size):
    rows = np.split(image, len(image) // size, axis=0)
    blocks = [block for row in rows for block in np.split(row, row.shape[1] // size, axis=1)]
    return np.stack([block.flatten() for block in blocks])


@BANK.right_for("patches")
def patches_with_einsum(image, size):
    height, width, channels = image.shape
    blocks = image.reshape(height // size, size, width // size, size, channels)
    return np.einsum("iajbc->ijabc", blocks).reshape(height * width // size**2, -1)


@BANK.right_for("patches")
def patches_by_windows(image, size):
    view = np.lib.stride_tricks.sliding_window_view(image, (size, size, image.shape[2]))
    return view[::size, ::size].reshape(-1, size * size * image.shape[2])


# patches: wrong


def blocks_of(image, size):
    height, width, channels = image.shape
    return image.reshape(height // size, size, width // size, size, channels)


@BANK.wrong_for("patches", names="torn")
def patches_by_reshape(image, size):
    return image.reshape(-1, size * size * image.shape[-1])


@BANK.wrong_for("patches", names="torn")
def patches_split_and_merged(image, size):
    return blocks_of(image, size).reshape(-1, size * size * image.shape[-1])


@BANK.wrong_for("patches", names="not_transposed")
def patches_without_transpose(image, size):
    return blocks_of(image, size).reshape(-1, size, size * image.shape[-1])


@BANK.wrong_for("patches", names="columns_first")
def patches_column_by_column(image, size):
    return [
        image[top : top + size, left : left + size].ravel()
        for left in range(0, image.shape[1], size)
        for top in range(0, image.shape[0], size)
    ]


@BANK.wrong_for("patches", names="pixel_columns_first")
def patches_of_columns(image, size):
    return [patch.swapaxes(0, 1).ravel() for patch in square_patches(image, size)]


def square_patches(image, size):
    return patches_by_slices(image, size).reshape(-1, size, size, image.shape[-1])


@BANK.wrong_for("patches", names="image_transposed")
def patches_of_the_transposed_image(image, size):
    return patches_by_slices(image.transpose(1, 0, 2), size)


@BANK.wrong_for("patches", names="channels_first")
def patches_channels_first(image, size):
    return [patch.transpose(2, 0, 1).ravel() for patch in square_patches(image, size)]


@BANK.wrong_for("patches", names="row_channels")
def patches_channels_before_columns(image, size):
    return [patch.swapaxes(1, 2).ravel() for patch in square_patches(image, size)]


@BANK.wrong_for("patches", names="scattered")
def patches_with_the_axes_of_the_patch_first(image, size):
    blocks = blocks_of(image, size).transpose(1, 3, 0, 2, 4)
    return blocks.reshape(size * size, -1)


@BANK.wrong_for("patches", names="overlapping")
def patches_at_every_pixel(image, size):
    height, width, _ = image.shape
    return [
        image[top : top + size, left : left + size].ravel()
        for top in range(height - size + 1)
        for left in range(width - size + 1)
    ]


@BANK.wrong_for("patches", names="means")
def patches_averaged(image, size):
    return blocks_of(image, size).mean(axis=(1, 3)).reshape(-1, image.shape[-1])


@BANK.wrong_for("patches", names="maxima")
def patches_max_pooled(image, size):
    return blocks_of(image, size).max(axis=(1, 3)).reshape(-1, image.shape[-1])


@BANK.wrong_for("patches", names="channel_means")
def patches_in_grey(image, size):
    return patches_by_slices(image.mean(axis=-1), size)


@BANK.wrong_for("patches", names="first_channel")
def patches_of_one_channel(image, size):
    return patches_by_slices(image[:, :, 0], size)


@BANK.wrong_for("patches", names="first_pixel")
def patches_of_every_nth_pixel(image, size):
    return image[::size, ::size].reshape(-1, image.shape[-1])


@BANK.wrong_for("patches", names="not_flat")
def patches_as_squares(image, size):
    return square_patches(image, size)


@BANK.wrong_for("patches", names="channels_not_flat")
def patches_keep_the_channels(image, size):
    return patches_by_slices(image, size).reshape(-1, size**2, image.shape[-1])


@BANK.wrong_for("patches", names="grid_and_patches")
def patches_only_transposed(image, size):
    return blocks_of(image, size).swapaxes(1, 2)


@BANK.wrong_for("patches", names="grid")
def patches_in_a_grid(image, size):
    height, width, _ = image.shape
    return patches_by_transpose(image, size).reshape(height // size, width // size, -1)


@BANK.wrong_for("patches", names="as_many")
def patches_as_many_as_size(image, size):
    rows = np.split(image, size)
    return [block.ravel() for row in rows for block in np.split(row, size, axis=1)]


@BANK.wrong_for("patches", names="whole_rows")
def patches_as_strips(image, size):
    return [image[top : top + size].ravel() for top in range(0, len(image), size)]


@BANK.wrong_for("patches", names="transposed")
def patches_as_columns(image, size):
    return patches_by_transpose(image, size).T


@BANK.wrong_for("patches", names="from_the_bottom")
def patches_from_the_bottom(image, size):
    height, width, _ = image.shape
    return [
        image[top : top + size, left : left + size].ravel()
        for top in range(height - size, -1, -size)
        for left in range(0, width, size)
    ]


@BANK.wrong_for("patches", names="upside_down")
def patches_of_the_flipped_image(image, size):
    return patches_by_slices(np.flipud(image), size)


@BANK.wrong_for("patches", names="mirrored")
def patches_of_the_mirrored_image(image, size):
    return patches_by_slices(np.fliplr(image), size)


@BANK.wrong_for("patches", names="divided")
def patches_normalised(image, size):
    return patches_by_transpose(image, size) / 255.0


@BANK.wrong_for("patches", names="first_alone")
def patches_returned_too_early(image, size):
    for top in range(0, image.shape[0], size):
        for left in range(0, image.shape[1], size):
            return image[top : top + size, left : left + size].ravel()


@BANK.wrong_for("patches", names="raised how_many")
def patches_of_the_printed_shape(image, size):
    return image.reshape(3, 2, 5, 2, 7).swapaxes(1, 2).reshape(15, 28)


@BANK.wrong_for("patches", names="none")
def patches_without_return(image, size):
    patches_by_transpose(image, size)


@BANK.wrong_for("patches", names="raised how_many")
def patches_reshaped_to_single_pixels(image, size):
    height, width, channels = image.shape
    return image.reshape(height // size * (width // size), size * channels)


@BANK.wrong_for("patches", names="height_for_width")
def patches_height_and_width_swapped(image, size):
    height, width, channels = image.shape
    blocks = image.reshape(width // size, size, height // size, size, channels)
    return blocks.swapaxes(1, 2).reshape(-1, size * size * channels)


@BANK.wrong_for("patches", symptom="differs first_patches")
def patches_in_fortran_order(image, size):
    return [patch.ravel(order="F") for patch in square_patches(image, size)]


@BANK.wrong_for("patches", symptom="shape")
def patches_of_everything(image, size):
    return patches_by_transpose(image, size).ravel()


# cross-attention: right


def real_keys(memory, lengths):
    return (np.arange(memory.shape[1]) < lengths[:, None])[:, None, :]


def cross_scores(x, memory, w_q, w_k):
    query, key = x @ w_q, memory @ w_k
    return query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])


@BANK.right_for("cross-attention")
def cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v):
    real = real_keys(memory, lengths)
    scores = np.where(real, cross_scores(x, memory, w_q, w_k), -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    total = e.sum(axis=-1, keepdims=True)
    weights = e / np.where(total == 0, 1, total)
    return weights @ (memory @ w_v), weights


@BANK.right_for("cross-attention")
def cross_attention_sequence_by_sequence(x, memory, lengths, w_q, w_k, w_v):
    output = np.zeros((*x.shape[:2], w_v.shape[1]))
    weights = np.zeros((*x.shape[:2], memory.shape[1]))
    for b, length in enumerate(lengths):
        if length:
            real = memory[b, :length]
            w = softmax((x[b] @ w_q) @ (real @ w_k).T / np.sqrt(w_q.shape[1]))
            weights[b, :, :length] = w
            output[b] = w @ (real @ w_v)
    return output, weights


@BANK.right_for("cross-attention")
def cross_attention_in_loops(x, memory, lengths, w_q, w_k, w_v):
    batch, len_q, _ = x.shape
    weights = [[[0.0] * memory.shape[1] for _ in range(len_q)] for _ in range(batch)]
    output = np.zeros((batch, len_q, w_v.shape[1]))
    for b in range(batch):
        for i in range(len_q):
            query = x[b, i] @ w_q
            scores = [
                sum(query * (memory[b, j] @ w_k)) / math.sqrt(len(query)) for j in range(lengths[b])
            ]
            e = [math.exp(score - max(scores)) for score in scores]
            for j in range(lengths[b]):
                weights[b][i][j] = e[j] / sum(e)
                output[b, i] += weights[b][i][j] * (memory[b, j] @ w_v)
    return output, np.array(weights)


@BANK.right_for("cross-attention")
def cross_attention_with_einsum_and_nan_to_num(x, memory, lengths, w_q, w_k, w_v):
    query = np.einsum("bqd,dk->bqk", x, w_q) * w_q.shape[1] ** -0.5
    key, value = np.einsum("bmd,dk->bmk", memory, w_k), np.einsum("bmd,dv->bmv", memory, w_v)
    scores = np.einsum("bqd,bkd->bqk", query, key)
    for b, length in enumerate(lengths):
        scores[b, :, length:] = -np.inf
    weights = np.nan_to_num(softmax(scores))
    return np.einsum("bqk,bkv->bqv", weights, value), weights


@BANK.right_for("cross-attention")
def cross_attention_with_a_large_fill_then_zeros(x, memory, lengths, w_q, w_k, w_v):
    real = real_keys(memory, lengths)
    weights = softmax(np.where(real, cross_scores(x, memory, w_q, w_k), -1e9)) * real
    return weights @ memory @ w_v, weights


@BANK.right_for("cross-attention")
def cross_attention_with_the_package(x, memory, lengths, w_q, w_k, w_v):
    mask = attnbook.padding_mask(lengths, memory.shape[1])
    return attnbook.cross_attention(x, memory, w_q, w_k, w_v, mask)


# cross-attention: wrong


def masked_cross(x, memory, mask, w_q, w_k, w_v, fill=-np.inf):
    """Attend under a mask; a row without keys becomes zeros."""
    weights = np.nan_to_num(softmax(np.where(mask, cross_scores(x, memory, w_q, w_k), fill)))
    return weights @ (memory @ w_v), weights


@BANK.wrong_for("cross-attention", names="no_mask")
def cross_attention_without_mask(x, memory, lengths, w_q, w_k, w_v):
    return mix(softmax(cross_scores(x, memory, w_q, w_k)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="inverted")
def cross_attention_inverted(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(x, memory, ~real_keys(memory, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="padding_zeroed")
def cross_attention_padding_zeroed(x, memory, lengths, w_q, w_k, w_v):
    memory = memory.copy()
    for b, length in enumerate(lengths):
        memory[b, length:] = 0
    return mix(softmax(cross_scores(x, memory, w_q, w_k)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="one_of_padding")
def cross_attention_one_too_many(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) <= lengths[:, None, None]
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="lacks_last")
def cross_attention_one_too_few(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) < lengths[:, None, None] - 1
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="longest")
def cross_attention_cut_at_the_longest(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) < lengths.max()
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="shortest")
def cross_attention_cut_at_the_shortest(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) < lengths.min()
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="mask_of_first")
def cross_attention_cut_at_the_length_of_the_first(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) < lengths[0]
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="padding_first")
def cross_attention_padded_on_the_left(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) >= memory.shape[1] - lengths[:, None, None]
    return masked_cross(x, memory, real, w_q, w_k, w_v)


def real_queries(x, lengths):
    return (np.arange(x.shape[1]) < lengths[:, None])[:, :, None]


@BANK.wrong_for("cross-attention", names="rows_masked")
def cross_attention_mask_on_queries(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(x, memory, real_queries(x, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="rows_nan")
def cross_attention_mask_on_queries_nan(x, memory, lengths, w_q, w_k, w_v):
    scores = cross_scores(x, memory, w_q, w_k)
    return mix(softmax(np.where(real_queries(x, lengths), scores, -np.inf)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="rows_uniform")
def cross_attention_mask_on_queries_uniform(x, memory, lengths, w_q, w_k, w_v):
    scores = cross_scores(x, memory, w_q, w_k)
    return mix(softmax(np.where(real_queries(x, lengths), scores, -1e9)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="causal_too")
def cross_attention_causal_too(x, memory, lengths, w_q, w_k, w_v):
    causal = np.tri(x.shape[1], memory.shape[1], dtype=bool)
    return masked_cross(x, memory, causal & real_keys(memory, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="causal_alone")
def cross_attention_causal_only(x, memory, lengths, w_q, w_k, w_v):
    causal = np.tri(x.shape[1], memory.shape[1], dtype=bool)
    return masked_cross(x, memory, causal, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="only_x")
def cross_attention_as_self_attention(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(x, x, real_keys(x, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="keys_of_x")
def cross_attention_keys_from_x(x, memory, lengths, w_q, w_k, w_v):
    scores = np.where(real_keys(memory, lengths), cross_scores(x, x, w_q, w_k), -np.inf)
    return mix(softmax(scores), memory @ w_v)


@BANK.wrong_for("cross-attention", names="values_of_x")
def cross_attention_values_from_x(x, memory, lengths, w_q, w_k, w_v):
    scores = np.where(real_keys(memory, lengths), cross_scores(x, memory, w_q, w_k), -np.inf)
    return mix(softmax(scores), x @ w_v)


@BANK.wrong_for("cross-attention", names="only_memory")
def cross_attention_queries_from_memory(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(memory, memory, real_keys(memory, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="roles_swapped")
def cross_attention_sequences_swapped(memory, x, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="swapped_projections")
def cross_attention_matrices_swapped(x, memory, lengths, w_k, w_q, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="values_raw")
def cross_attention_values_unprojected(x, memory, lengths, w_q, w_k, w_v):
    weights = cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)[1]
    return mix(weights, memory)


@BANK.wrong_for("cross-attention", names="values_by_w_k")
def cross_attention_mixes_keys(x, memory, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_k)


@BANK.wrong_for("cross-attention", names="unscaled")
def cross_attention_without_scale(x, memory, lengths, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).swapaxes(1, 2)
    return mix(softmax(np.where(real_keys(memory, lengths), scores, -np.inf)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="by_d_k")
def cross_attention_divided_by_d_k(x, memory, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k / np.sqrt(w_k.shape[1]), w_v)


@BANK.wrong_for("cross-attention", names="by_width")
def cross_attention_scaled_by_width(x, memory, lengths, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(memory.shape[-1])
    return mix(softmax(np.where(real_keys(memory, lengths), scores, -np.inf)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="by_len_k")
def cross_attention_scaled_by_length(x, memory, lengths, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(memory.shape[1])
    return mix(softmax(np.where(real_keys(memory, lengths), scores, -np.inf)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="mask_after")
def cross_attention_mask_after_softmax(x, memory, lengths, w_q, w_k, w_v):
    weights = softmax(cross_scores(x, memory, w_q, w_k)) * real_keys(memory, lengths)
    return mix(weights, memory @ w_v)


@BANK.wrong_for("cross-attention", names="zero_fill")
def cross_attention_scores_of_padding_zeroed(x, memory, lengths, w_q, w_k, w_v):
    return mix(
        softmax(cross_scores(x, memory, w_q, w_k) * real_keys(memory, lengths)), memory @ w_v
    )


@BANK.wrong_for("cross-attention", names="empty_uniform")
def cross_attention_filled_with_a_large_number(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(x, memory, real_keys(memory, lengths), w_q, w_k, w_v, fill=-1e9)


@BANK.wrong_for("cross-attention", names="empty_unmasked")
def cross_attention_adds_a_large_number(x, memory, lengths, w_q, w_k, w_v):
    scores = cross_scores(x, memory, w_q, w_k) + ~real_keys(memory, lengths) * -1e9
    return mix(softmax(scores), memory @ w_v)


@BANK.wrong_for("cross-attention", names="empty_nan")
def cross_attention_empty_rows_are_nan(x, memory, lengths, w_q, w_k, w_v):
    scores = np.where(real_keys(memory, lengths), cross_scores(x, memory, w_q, w_k), -np.inf)
    return mix(softmax(scores), memory @ w_v)


@BANK.wrong_for("cross-attention", names="leak large_padding")
def cross_attention_adds_a_large_number_then_zeros(x, memory, lengths, w_q, w_k, w_v):
    real = real_keys(memory, lengths)
    scores = cross_scores(x, memory, w_q, w_k) + np.where(real, 0, -1e9)
    return mix(softmax(scores) * (lengths > 0)[:, None, None], memory @ w_v)


@BANK.wrong_for("cross-attention", names="masked_maximum")
def cross_attention_renormalised_after_softmax(x, memory, lengths, w_q, w_k, w_v):
    weights = softmax(cross_scores(x, memory, w_q, w_k)) * real_keys(memory, lengths)
    total = weights.sum(axis=-1, keepdims=True)
    return mix(weights / np.where(total == 0, 1, total), memory @ w_v)


@BANK.wrong_for("cross-attention", names="far_scores")
def cross_attention_without_maximum(x, memory, lengths, w_q, w_k, w_v):
    real = real_keys(memory, lengths)
    e = np.exp(np.where(real, cross_scores(x, memory, w_q, w_k), -np.inf))
    total = e.sum(axis=-1, keepdims=True)
    return mix(np.nan_to_num(e / np.where(total == 0, 1, total)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="over_queries")
def cross_attention_softmax_over_queries(x, memory, lengths, w_q, w_k, w_v):
    scores = np.where(real_keys(memory, lengths), cross_scores(x, memory, w_q, w_k), -np.inf)
    weights = np.nan_to_num(softmax(scores.swapaxes(1, 2)).swapaxes(1, 2))
    return mix(weights, memory @ w_v)


@BANK.wrong_for("cross-attention", names="swapped")
def cross_attention_weights_first(x, memory, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)[::-1]


@BANK.wrong_for("cross-attention", names="output_alone")
def cross_attention_output_only(x, memory, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)[0]


@BANK.wrong_for("cross-attention", names="weights_alone")
def cross_attention_weights_only(x, memory, lengths, w_q, w_k, w_v):
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)[1]


@BANK.wrong_for("cross-attention", names="in_place")
def cross_attention_zeroes_the_padding_in_place(x, memory, lengths, w_q, w_k, w_v):
    memory[np.arange(memory.shape[1]) >= lengths[:, None]] = 0
    return cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="raised mask_of_keys")
def cross_attention_mask_as_long_as_x(x, memory, lengths, w_q, w_k, w_v):
    return masked_cross(x, memory, real_keys(x, lengths), w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="raised mask_of_keys")
def cross_attention_mask_without_the_query_axis(x, memory, lengths, w_q, w_k, w_v):
    real = np.arange(memory.shape[1]) < lengths[:, None]
    return masked_cross(x, memory, real, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", names="none")
def cross_attention_without_return(x, memory, lengths, w_q, w_k, w_v):
    cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)


@BANK.wrong_for("cross-attention", symptom="leak real_part")
def cross_attention_of_the_first_sequence(x, memory, lengths, w_q, w_k, w_v):
    output, weights = cross_attention_vectorised(x[:1], memory[:1], lengths[:1], w_q, w_k, w_v)
    return np.repeat(output, len(x), axis=0), np.repeat(weights, len(x), axis=0)


@BANK.wrong_for("cross-attention", symptom="others_right differs real_part")
def cross_attention_output_scaled(x, memory, lengths, w_q, w_k, w_v):
    output, weights = cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)
    return output / np.sqrt(w_q.shape[1]), weights


@BANK.wrong_for("cross-attention", symptom="shape")
def cross_attention_drops_the_padding(x, memory, lengths, w_q, w_k, w_v):
    longest = lengths.max()
    return cross_attention_vectorised(x, memory[:, :longest], lengths, w_q, w_k, w_v)


def cross_attention_weighed(weigh, x, memory, lengths, w_q, w_k, w_v):
    """Return the attention whose weights are made somehow of query, key and mask."""
    weights = weigh(x @ w_q, memory @ w_k, real_keys(memory, lengths))
    return mix(weights, memory @ w_v)


def masked_softmax(scores, mask):
    """Return the weights of real keys; a row without keys becomes zeros."""
    return np.nan_to_num(softmax(np.where(mask, scores, -np.inf)))


def masked_exponentials(scores, mask):
    return np.where(mask, np.exp(scores), 0)


BANK.vary(
    "cross-attention",
    cross_attention_weighed,
    cosine=lambda q, k, m: masked_softmax(unit(q) @ unit(k).swapaxes(1, 2), m),
    times_root=lambda q, k, m: masked_softmax(q @ k.swapaxes(1, 2) * np.sqrt(q.shape[2]), m),
    by_whole_root=lambda q, k, m: masked_softmax(q @ k.swapaxes(1, 2) / int(q.shape[2] ** 0.5), m),
    by_half=lambda q, k, m: masked_softmax(q @ k.swapaxes(1, 2) / (q.shape[2] / 2), m),
    by_double=lambda q, k, m: masked_softmax(q @ k.swapaxes(1, 2) / q.shape[2] ** 1 / 2, m),
    by_eight=lambda q, k, m: masked_softmax(q @ k.swapaxes(1, 2) / 8, m),
    one_fill=lambda q, k, m: softmax(np.where(m, right_scores(q, k), 1)),
    added_mask=lambda q, k, m: softmax(right_scores(q, k) + m),
    no_sum=lambda q, k, m: masked_exponentials(
        right_scores(q, k) - np.where(m, right_scores(q, k), -np.inf).max(axis=2, keepdims=True),
        m,
    ),
    bare=lambda q, k, m: masked_exponentials(right_scores(q, k), m),
    no_softmax=lambda q, k, m: np.where(m, right_scores(q, k), -np.inf),
    hard=lambda q, k, m: best_of(np.where(m, right_scores(q, k), -np.inf)) * m,
    uniform=lambda q, k, m: masked_softmax(0 * right_scores(q, k), m),
)


@BANK.wrong_for("cross-attention", names="by_d_v")
def cross_attention_scaled_by_value_size(x, memory, lengths, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(w_v.shape[1])
    return mix(masked_softmax(scores, real_keys(memory, lengths)), memory @ w_v)


@BANK.wrong_for("cross-attention", names="scores_given")
def cross_attention_returns_scores(x, memory, lengths, w_q, w_k, w_v):
    output, _ = cross_attention_vectorised(x, memory, lengths, w_q, w_k, w_v)
    return output, cross_scores(x, memory, w_q, w_k)


# without-one: right


@BANK.right_for("without-one")
def outputs_by_formula(weights, value):
    w = weights[:, None]
    return (weights @ value - w * value) / (1 - w)


@BANK.right_for("without-one")
def outputs_by_delete(weights, value):
    rows = []
    for j in range(len(weights)):
        left = np.delete(weights, j)
        rows.append(left / left.sum() @ np.delete(value, j, axis=0))
    return np.stack(rows)


@BANK.right_for("without-one")
def outputs_by_boolean_mask(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        kept = np.arange(len(weights)) != j
        result[j] = np.average(value[kept], axis=0, weights=weights[kept])
    return result


@BANK.right_for("without-one")
def outputs_by_masked_scores(weights, value):
    with np.errstate(divide="ignore"):  # a weight of 0 is a score of -inf
        scores = np.tile(np.log(weights), (len(weights), 1))
    np.fill_diagonal(scores, -np.inf)
    return softmax(scores) @ value


@BANK.right_for("without-one")
def outputs_by_einsum(weights, value):
    kept = 1 - np.eye(len(weights))
    total = np.einsum("ji,i->j", kept, weights)
    return np.einsum("ji,i,ic,j->jc", kept, weights, value, 1 / total)


@BANK.right_for("without-one")
def outputs_in_plain_lists(weights, value):
    n, d_v = value.shape
    result = []
    for j in range(n):
        total = sum(float(weights[i]) for i in range(n) if i != j)
        row = [0.0] * d_v
        for i in range(n):
            if i != j:
                for c in range(d_v):
                    row[c] += float(weights[i]) / total * float(value[i, c])
        result.append(row)
    return result


@BANK.right_for("without-one")
def outputs_by_attention_with_the_package(weights, value):
    with np.errstate(divide="ignore"):
        key = np.log(weights)[:, None]
    others = ~np.eye(len(weights), dtype=bool)
    return attnbook.scaled_dot_product_attention(np.ones_like(key), key, value, others).output


# without-one: wrong


@BANK.wrong_for("without-one", names="undivided")
def outputs_only_the_weight_zeroed(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        left = weights.copy()
        left[j] = 0
        result[j] = left @ value
    return result


@BANK.wrong_for("without-one", names="undivided")
def outputs_only_the_value_zeroed(weights, value):
    result = []
    for j in range(len(weights)):
        changed = value.copy()
        changed[j] = 0
        result.append(weights @ changed)
    return np.array(result)


@BANK.wrong_for("without-one", names="undivided")
def outputs_divided_by_the_sum_of_all(weights, value):
    return (weights @ value - weights[:, None] * value) / weights.sum()


@BANK.wrong_for("without-one", names="multiplied")
def outputs_multiplied(weights, value):
    return (weights @ value - weights[:, None] * value) * (1 - weights[:, None])


@BANK.wrong_for("without-one", names="divided_twice")
def outputs_divided_twice(weights, value):
    rows = []
    for j, w in enumerate(weights):
        left = np.delete(weights, j) / (1 - w)
        rows.append(left @ np.delete(value, j, axis=0) / (1 - w))
    return rows


@BANK.wrong_for("without-one", names="by_own_weight")
def outputs_divided_by_the_hidden_weight(weights, value):
    w = weights.reshape(-1, 1)
    return (weights @ value - w * value) / w


@BANK.wrong_for("without-one", names="by_one_plus")
def outputs_divided_by_one_plus_the_weight(weights, value):
    w = weights[:, np.newaxis]
    return (weights @ value - w * value) / (1 + w)


@BANK.wrong_for("without-one", names="sign_turned")
def outputs_with_the_sign_turned(weights, value):
    w = weights[:, None]
    return (w * value - weights @ value) / (1 - w)


@BANK.wrong_for("without-one", names="by_others")
def outputs_mean_of_products(weights, value):
    products = weights[:, None] * value
    return [np.delete(products, j, axis=0).mean(axis=0) for j in range(len(weights))]


@BANK.wrong_for("without-one", names="by_all")
def outputs_mean_over_all_keys(weights, value):
    others = 1 - np.eye(len(weights))
    return np.mean(others[:, :, None] * weights[:, None] * value, axis=1)


@BANK.wrong_for("without-one", names="whole_divided")
def outputs_weight_in_the_difference(weights, value):
    return (weights @ value - value) / (1 - weights)[:, None]


@BANK.wrong_for("without-one", names="whole")
def outputs_value_subtracted(weights, value):
    return weights @ value - value


@BANK.wrong_for("without-one", names="added")
def outputs_added(weights, value):
    w = weights[:, None]
    return (weights @ value + w * value) / (1 - w)


@BANK.wrong_for("without-one", names="added_in_both")
def outputs_added_in_both(weights, value):
    twice = np.eye(len(weights)) + 1
    left = twice * weights
    return left / left.sum(axis=1, keepdims=True) @ value


@BANK.wrong_for("without-one", names="kept")
def outputs_slices_that_keep_it(weights, value):
    rows = []
    for j in range(len(weights)):
        left = np.concatenate([weights[:j], weights[j:]])
        rows.append(left @ value / (1 - weights[j]))
    return rows


@BANK.wrong_for("without-one", names="last_term")
def outputs_parentheses_above(weights, value):
    w = weights[:, None]
    return weights @ value - w * value / (1 - w)


@BANK.wrong_for("without-one", names="by_one")
def outputs_parentheses_below(weights, value):
    w = weights[:, None]
    return (weights @ value - w * value) / 1 - w


@BANK.wrong_for("without-one", names="nothing_hidden")
def outputs_without_hiding(weights, value):
    return [weights / weights.sum() @ value for _ in weights]


@BANK.wrong_for("without-one", names="values")
def outputs_mask_inverted(weights, value):
    left = np.where(np.eye(len(weights), dtype=bool), weights, 0)
    return left / left.sum(axis=1, keepdims=True) @ value


@BANK.wrong_for("without-one", names="own_part")
def outputs_only_the_part_of_key_j(weights, value):
    return np.diag(weights) @ value


@BANK.wrong_for("without-one", names="change")
def outputs_as_a_difference(weights, value):
    return outputs_by_delete(weights, value) - weights @ value


@BANK.wrong_for("without-one", names="change_by_key")
def outputs_as_an_influence(weights, value):
    return weights @ value - outputs_by_formula(weights, value)


@BANK.wrong_for("without-one", names="alike")
def outputs_mean_of_the_others(weights, value):
    return [np.delete(value, j, axis=0).mean(axis=0) for j in range(len(weights))]


@BANK.wrong_for("without-one", names="alike")
def outputs_normalised_over_axis_0(weights, value):
    left = (1 - np.eye(len(weights))) * weights
    return left / left.sum(axis=0) @ value


@BANK.wrong_for("without-one", names="columns_divided")
def outputs_without_keepdims(weights, value):
    left = (1 - np.eye(len(weights))) * weights
    return left / left.sum(axis=1) @ value


@BANK.wrong_for("without-one", names="weights_transposed")
def outputs_transposed_weights(weights, value):
    n = len(weights)
    left = np.zeros((n, n))
    for j in range(n):
        left[:, j] = weights / (1 - weights[j])
        left[j, j] = 0
    return left @ value


@BANK.wrong_for("without-one", names="shared_equally")
def outputs_shared_equally(weights, value):
    n = len(weights)
    result = np.zeros(value.shape)
    for j in range(n):
        left = weights + weights[j] / (n - 1)
        left[j] = 0
        result[j] = left @ value
    return result


@BANK.wrong_for("without-one", names="softmax_again")
def outputs_softmax_of_the_rest(weights, value):
    return [
        softmax(np.delete(weights, j)) @ np.delete(value, j, axis=0) for j in range(len(weights))
    ]


@BANK.wrong_for("without-one", names="softmax_of_0")
def outputs_softmax_of_zeroed_weights(weights, value):
    left = np.tile(weights, (len(weights), 1))
    np.fill_diagonal(left, 0)
    return softmax(left) @ value


@BANK.wrong_for("without-one", names="score_of_0")
def outputs_scores_masked_by_zero(weights, value):
    scores = np.tile(np.log(weights), (len(weights), 1))
    np.fill_diagonal(scores, 0)
    return softmax(scores) @ value


@BANK.wrong_for("without-one", names="infinity")
def outputs_weights_of_minus_infinity(weights, value):
    left = np.tile(weights, (len(weights), 1))
    np.fill_diagonal(left, -np.inf)
    return left @ value


@BANK.wrong_for("without-one", names="infinity_divided")
def outputs_weights_of_minus_infinity_normalised(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        left = weights.copy()
        left[j] = -np.inf
        result[j] = left / left.sum() @ value
    return result


@BANK.wrong_for("without-one", names="in_place")
def outputs_without_a_copy(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        weights[j] = 0
        result[j] = weights @ value / weights.sum()
    return result


@BANK.wrong_for("without-one", names="in_place")
def outputs_without_a_copy_of_value(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        value[j] = 0
        result[j] = weights @ value / (1 - weights[j])
    return result


@BANK.wrong_for("without-one", names="stay_hidden")
def outputs_without_a_fresh_copy(weights, value):
    left, result = weights.copy(), np.zeros(value.shape)
    for j in range(len(weights)):
        left[j] = 0
        left /= left.sum()
        result[j] = left @ value
    return result


@BANK.wrong_for("without-one", names="stay_undivided")
def outputs_without_a_fresh_copy_or_a_sum(weights, value):
    left, result = weights.copy(), []
    for j in range(len(weights)):
        left[j] = 0
        result.append(left @ value)
    return np.array(result)


@BANK.wrong_for("without-one", names="stay_by_one")
def outputs_without_a_fresh_copy_of_value(weights, value):
    left, result = value.copy(), []
    for j in range(len(weights)):
        left[j] = 0
        result.append(weights @ left / (1 - weights[j]))
    return np.array(result)


@BANK.wrong_for("without-one", names="after_hidden")
def outputs_without_the_rest(weights, value):
    return [weights[:j] @ value[:j] / weights[:j].sum() for j in range(len(weights))]


@BANK.wrong_for("without-one", names="key_after")
def outputs_counting_from_one(weights, value):
    n = len(weights)
    result = np.zeros(value.shape)
    for j in range(n):
        kept = [i for i in range(n) if i != (j + 1) % n]
        result[j] = weights[kept] @ value[kept] / weights[kept].sum()
    return result


@BANK.wrong_for("without-one", names="weights_alone")
def outputs_without_mixing(weights, value):
    left = weights * ~np.eye(len(weights), dtype=bool)
    return left / left.sum(axis=1, keepdims=True)


@BANK.wrong_for("without-one", names="first_row")
def outputs_without_leaving_the_loop(weights, value):
    for j in range(len(weights)):
        left = np.delete(weights, j)
        return left @ np.delete(value, j, axis=0) / left.sum()


@BANK.wrong_for("without-one", names="last_row")
def outputs_without_collecting(weights, value):
    for j in range(len(weights)):
        left = np.delete(weights, j)
        row = left @ np.delete(value, j, axis=0) / left.sum()
    return row


@BANK.wrong_for("without-one", names="lacks_last")
def outputs_without_the_last_row(weights, value):
    rows = []
    for j in range(len(weights) - 1):
        left = np.delete(weights, j)
        rows.append(left @ np.delete(value, j, axis=0) / left.sum())
    return np.array(rows)


@BANK.wrong_for("without-one", names="lacks_first")
def outputs_without_the_first_row(weights, value):
    rows = []
    for j in range(1, len(weights)):
        left = np.delete(weights, j)
        rows.append(left @ np.delete(value, j, axis=0) / left.sum())
    return np.array(rows)


@BANK.wrong_for("without-one", names="nan_at_zero")
def outputs_by_odds(weights, value):
    w = weights[:, None]
    return (weights @ value / w - value) / (1 / w - 1)


@BANK.wrong_for("without-one", names="skipped")
def outputs_skipping(weights, value):
    result = np.zeros(value.shape)
    for j in range(len(weights)):
        if weights[j] == 0:
            continue
        kept = np.arange(len(weights)) != j
        result[j] = weights[kept] @ value[kept] / weights[kept].sum()
    return result


@BANK.wrong_for("without-one", names="equal_hidden")
def outputs_without_its_twin(weights, value):
    rows = []
    for w in weights:
        kept = weights != w
        rows.append(weights[kept] @ value[kept] / weights[kept].sum())
    return rows


@BANK.wrong_for("without-one", names="cut_to_integers", of="integers")
def outputs_without_floats(weights, value):
    result = np.zeros_like(value)
    for j in range(len(weights)):
        left = np.delete(weights, j)
        result[j] = left @ np.delete(value, j, axis=0) / left.sum()
    return result


@BANK.wrong_for("without-one", names="raised a_column")
def outputs_without_a_column(weights, value):
    return (weights @ value - weights * value) / (1 - weights)


@BANK.wrong_for("without-one", names="raised a_column")
def outputs_without_a_column_below(weights, value):
    return (weights @ value - weights[:, None] * value) / (1 - weights)


@BANK.wrong_for("without-one", names="raised out_of_both")
def outputs_without_the_weight_alone(weights, value):
    return [np.delete(weights, j) / (1 - weights[j]) @ value for j in range(len(weights))]


@BANK.wrong_for("without-one", names="raised out_of_both")
def outputs_without_axis(weights, value):
    rows = [
        np.dot(np.delete(weights, j), np.delete(value, j)) / (1 - weights[j])
        for j in range(len(weights))
    ]
    return np.array(rows)


@BANK.wrong_for("without-one", names="differs one_column")
def outputs_without_a_sixth_key(weights, value):
    result = np.zeros(value.shape)
    for j in range(5):
        left = np.delete(weights, j)
        result[j] = left @ np.delete(value, j, axis=0) / left.sum()
    return result


@BANK.wrong_for("without-one", names="none")
def outputs_without_return(weights, value):
    (weights @ value - weights[:, None] * value) / (1 - weights[:, None])


@BANK.wrong_for("without-one", symptom="shape")
def outputs_without_summing(weights, value):
    products = weights[:, None] * value
    return [np.delete(products, j, axis=0) / (1 - w) for j, w in enumerate(weights)]


@BANK.wrong_for("without-one", symptom="shape")
def outputs_dropped_rows(weights, value):
    worst = weights.argmax()
    left = np.delete(weights, worst)
    return left[:, None] / left.sum() * np.delete(value, worst, axis=0)


@BANK.wrong_for("without-one", symptom="shape swapped_axes")
def outputs_transposed_result(weights, value):
    return (weights @ value - weights[:, None] * value).T / (1 - weights)


@BANK.wrong_for("without-one", symptom="differs by_hand")
def outputs_squared_weights(weights, value):
    left = (1 - np.eye(len(weights))) * weights**2
    return left / left.sum(axis=1, keepdims=True) @ value


# wrong in a way that course/bank.py lists


@BANK.wrong_for("self-attention", names="hard_far", of="one_hot")
def self_attention_one_hot_where_large(x, w_q, w_k, w_v):
    return mix(one_hot_where_large((x @ w_q) @ (x @ w_k).T / np.sqrt(w_k.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="underflow", of="one_sign")
def self_attention_guarded_above(x, w_q, w_k, w_v):
    return mix(guarded_above((x @ w_q) @ (x @ w_k).T / np.sqrt(w_k.shape[1])), x @ w_v)


@BANK.wrong_for("self-attention", names="by_whole_root")
def self_attention_scaled_by_the_whole_root(x, w_q, w_k, w_v):
    return mix(softmax((x @ w_q) @ (x @ w_k).T / int(np.sqrt(w_k.shape[1]))), x @ w_v)


def cross_attention_by(weigh, x, memory, lengths, w_q, w_k, w_v):
    scores = x @ w_q @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(w_k.shape[1])
    mask = np.arange(memory.shape[1]) < lengths[:, None, None]
    weights = np.nan_to_num(weigh(np.where(mask, scores, -np.inf))) * mask
    return mix(weights, memory @ w_v)


@BANK.wrong_for("cross-attention", names="hard_far", of="one_hot")
def cross_attention_one_hot_where_large(*arguments):
    return cross_attention_by(one_hot_where_large, *arguments)


@BANK.wrong_for("cross-attention", names="underflow", of="one_sign")
def cross_attention_guarded_above(*arguments):
    return cross_attention_by(guarded_above, *arguments)


@BANK.wrong_for("cross-attention", names="raised long", of="table")
def cross_attention_with_a_thousand_positions(x, memory, lengths, w_q, w_k, w_v):
    positions = np.arange(1000)[: memory.shape[1]]
    scores = x @ w_q @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(w_k.shape[1])
    mask = positions < lengths[:, None, None]
    return mix(np.nan_to_num(softmax(np.where(mask, scores, -np.inf))), memory @ w_v)


@BANK.wrong_for("cross-attention", names="raised boolean_index", of="mask")
def cross_attention_empty_rows_of_the_mask(x, memory, lengths, w_q, w_k, w_v):
    scores = x @ w_q @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(w_k.shape[1])
    mask = np.arange(memory.shape[1]) < lengths[:, None, None]
    weights = softmax(np.where(mask, scores, -np.inf))
    weights[~mask.any(axis=-1), :1] = 0
    return mix(weights, memory @ w_v)


@BANK.wrong_for("patches", names="low_precision", of="tolerance")
def patches_in_half_precision(image, size):
    return patches_by_transpose(image, size).astype(np.float16)


@BANK.wrong_for("influence", names="differs single")
def influence_of_the_mean_token(attend, x):
    def change(x, j):
        x[j] = x.mean(axis=0)

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="differs single")
def influence_of_the_next_token_again(attend, x):
    def change(x, j):
        x[j] = x[(j + 1) % len(x)]

    return influence_of(attend, x, change)


@BANK.wrong_for("influence", names="plus_one")
def influence_of_one_random_number(attend, x):
    rng = np.random.default_rng(5)
    columns = []
    for j in range(len(x)):
        changed = x * 1.0
        changed[j] += rng.standard_normal()
        columns.append((np.abs(attend(changed) - attend(x)) > 1e-12).any(axis=1))
    return np.array(columns).T


@BANK.wrong_for("influence", names="differs leaks_little", of="tolerance")
def influence_relative_to_the_output(attend, x):
    rng = np.random.default_rng(5)
    columns = []
    for j in range(len(x)):
        changed = x * 1.0
        changed[j] += rng.standard_normal(x.shape[1])
        before = attend(x)
        columns.append((np.abs(attend(changed) - before) > 1e-9 * np.abs(before)).any(axis=1))
    return np.array(columns).T


@BANK.wrong_for("cross-attention", names="differs token_of_zeros")
def cross_attention_padding_known_by_its_zeros(x, memory, lengths, w_q, w_k, w_v):
    memory = memory * (np.arange(memory.shape[1])[:, None] < lengths[:, None, None])
    mask = (memory != 0).any(axis=-1)[:, None]
    scores = x @ w_q @ (memory @ w_k).swapaxes(1, 2) / np.sqrt(w_k.shape[1])
    return mix(np.nan_to_num(softmax(np.where(mask, scores, -np.inf))), memory @ w_v)


BANK.spoil(
    "squeeze",
    "shape lost_axis",
    "self-attention",
    "influence",
    "patches",
    "cross-attention",
    "without-one",
)
BANK.spoil("integers", "row_sum stored_as_integers", "self-attention", "cross-attention")
BANK.spoil("tolerance", "rounded", "self-attention", "cross-attention", "without-one")

BANK.never("one_hot one_sign", "it takes no softmax", "influence", "patches", "without-one")
BANK.never(
    "axes",
    "the statement says how many axes there are",
    "self-attention",
    "influence",
    "patches",
    "cross-attention",
    "without-one",
)
BANK.never("integers", "numbers are only moved, so an array like the input holds them", "patches")
BANK.never(
    "table", "positions play no part", "self-attention", "influence", "patches", "without-one"
)
BANK.never("mask", "there is no mask", "self-attention", "influence", "patches", "without-one")
