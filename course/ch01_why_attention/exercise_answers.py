"""Answers to the exercises of the chapter Why attention?."""

from __future__ import annotations

import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# soft-lookup: right


@BANK.right_for("soft-lookup")
def lookup_vectorised(query, key, value, sharpness):
    scores = sharpness * (key @ query)
    e = np.exp(scores - scores.max())
    return e / e.sum() @ value


@BANK.right_for("soft-lookup")
def lookup_in_loops(query, key, value, sharpness):
    scores = [sharpness * sum(a * b for a, b in zip(k, query, strict=True)) for k in key]
    largest = max(scores)
    weights = [math.exp(score - largest) for score in scores]
    total = sum(weights)
    result = [0.0] * value.shape[1]
    for weight, item in zip(weights, value, strict=True):
        for d, number in enumerate(item):
            result[d] += weight / total * number
    return result


@BANK.right_for("soft-lookup")
def lookup_with_einsum(query, key, value, sharpness):
    scores = np.einsum("nd,d->n", key, query * sharpness)
    log_weights = scores - np.logaddexp.reduce(scores)
    return np.einsum("n,nv->v", np.exp(log_weights), value)


@BANK.right_for("soft-lookup")
def lookup_as_a_ratio(query, key, value, sharpness):
    scores = key.dot(query) * sharpness
    kernels = np.exp(scores - np.max(scores))[:, None]
    return (kernels * value).sum(axis=0) / kernels.sum()


@BANK.right_for("soft-lookup")
def lookup_with_the_package(query, key, value, sharpness):
    attend = attnbook.scaled_dot_product_attention
    return attend(query[None], key, value, scale=sharpness).output[0]


# soft-lookup: wrong


@BANK.wrong_for("soft-lookup", names="no_sharpness")
def lookup_without_sharpness(query, key, value, sharpness):
    return softmax(key @ query) @ value


@BANK.wrong_for("soft-lookup", names="by_sharpness")
def lookup_with_a_temperature(query, key, value, sharpness):
    return softmax(key @ query / sharpness) @ value


@BANK.wrong_for("soft-lookup", names="by_root")
def lookup_scaled_as_well(query, key, value, sharpness):
    return softmax(sharpness * (key @ query) / np.sqrt(len(query))) @ value


@BANK.wrong_for("soft-lookup", names="weights_multiplied")
def lookup_sharpness_after_softmax(query, key, value, sharpness):
    return sharpness * softmax(key @ query) @ value


@BANK.wrong_for("soft-lookup", names="weights_to_a_power")
def lookup_weights_to_a_power(query, key, value, sharpness):
    return softmax(key @ query) ** sharpness @ value


@BANK.wrong_for("soft-lookup", names="twice")
def lookup_sharpened_after_softmax(query, key, value, sharpness):
    weights = softmax(key @ query)
    return softmax(sharpness * weights) @ value


@BANK.wrong_for("soft-lookup", names="no_sharpness")
def lookup_sharpness_added(query, key, value, sharpness):
    return softmax(key @ query + sharpness) @ value


@BANK.wrong_for("soft-lookup", names="hard")
def lookup_hard(query, key, value, sharpness):
    return value[np.argmax(key @ query)]


@BANK.wrong_for("soft-lookup", names="uniform")
def lookup_mean(query, key, value, sharpness):
    return np.mean(value, axis=0)


@BANK.wrong_for("soft-lookup", names="all_ones")
def lookup_softmax_over_the_only_query(query, key, value, sharpness):
    scores = sharpness * key @ query[:, None]  # one column
    return (softmax(scores) * value).sum(axis=0)


@BANK.wrong_for("soft-lookup", names="no_softmax")
def lookup_without_softmax(query, key, value, sharpness):
    return sharpness * (key @ query) @ value


@BANK.wrong_for("soft-lookup", names="no_exponential")
def lookup_without_exp(query, key, value, sharpness):
    scores = sharpness * (key @ query)
    return scores / scores.sum() @ value


@BANK.wrong_for("soft-lookup", names="sigmoid")
def lookup_with_sigmoids(query, key, value, sharpness):
    gates = 1 / (1 + np.exp(-sharpness * (key @ query)))
    return gates @ value


@BANK.wrong_for("soft-lookup", names="bare")
def lookup_without_sum(query, key, value, sharpness):
    return np.exp(sharpness * (key @ query)) @ value


@BANK.wrong_for("soft-lookup", names="no_sum")
def lookup_maximum_without_sum(query, key, value, sharpness):
    scores = sharpness * (key @ query)
    return np.exp(scores - scores.max()) @ value


@BANK.wrong_for("soft-lookup", names="by_items")
def lookup_averages_twice(query, key, value, sharpness):
    weights = softmax(sharpness * (key @ query))
    return (weights[:, None] * value).mean(axis=0)


@BANK.wrong_for("soft-lookup", names="cosine")
def lookup_by_cosine(query, key, value, sharpness):
    unit_key = key / np.linalg.norm(key, axis=1, keepdims=True)
    return softmax(sharpness * unit_key @ (query / np.linalg.norm(query))) @ value


@BANK.wrong_for("soft-lookup", names="squared_distances")
def lookup_by_squared_distance(query, key, value, sharpness):
    distances = ((key - query) ** 2).sum(axis=1)
    return softmax(-sharpness * distances) @ value


@BANK.wrong_for("soft-lookup", names="distances")
def lookup_by_distance(query, key, value, sharpness):
    return softmax(-sharpness * np.sqrt(((key - query) ** 2).sum(axis=1))) @ value


@BANK.wrong_for("soft-lookup", names="turned")
def lookup_sign_turned(query, key, value, sharpness):
    return softmax(-sharpness * (key @ query)) @ value


@BANK.wrong_for("soft-lookup", names="mixed_keys")
def lookup_mixes_keys(query, key, value, sharpness):
    return softmax(sharpness * (key @ query)) @ key


@BANK.wrong_for("soft-lookup", names="weights_alone")
def lookup_returns_weights(query, key, value, sharpness):
    return softmax(sharpness * (key @ query))


@BANK.wrong_for("soft-lookup", names="overflow")
def lookup_without_maximum(query, key, value, sharpness):
    e = np.exp(sharpness * (key @ query))
    return e @ value / e.sum()


@BANK.wrong_for("soft-lookup", names="overflow_hidden")
def lookup_without_maximum_nan_to_num(query, key, value, sharpness):
    e = np.exp(sharpness * (key @ query))
    return np.nan_to_num(e / e.sum()) @ value


@BANK.wrong_for("soft-lookup", names="differs maximum")
def lookup_clipped(query, key, value, sharpness):
    e = np.exp(np.clip(sharpness * (key @ query), -700, 700))
    return e @ value / e.sum()


@BANK.wrong_for("soft-lookup", names="integers_like_input", of="integers")
def lookup_into_zeros_like(query, key, value, sharpness):
    result = np.zeros_like(value[0])
    weights = softmax(sharpness * (key @ query))
    for d in range(value.shape[1]):
        result[d] = weights @ value[:, d]
    return result


@BANK.wrong_for("soft-lookup", names="in_place")
def lookup_sharpens_the_query_in_place(query, key, value, sharpness):
    query[:] = query * sharpness
    return softmax(key @ query) @ value


@BANK.wrong_for("soft-lookup", names="none")
def lookup_without_return(query, key, value, sharpness):
    softmax(sharpness * (key @ query)) @ value


@BANK.wrong_for("soft-lookup", names="raised row_for_each_item")
def lookup_with_a_transposed_key(query, key, value, sharpness):
    return softmax(sharpness * (key.T @ query)) @ value


@BANK.wrong_for("soft-lookup", symptom="shape")
def lookup_keeps_the_query_axis(query, key, value, sharpness):
    return softmax(sharpness * (query[None] @ key.T)) @ value


@BANK.wrong_for("soft-lookup", symptom="shape stray_comma")
def lookup_with_a_stray_comma(query, key, value, sharpness):
    return (softmax(sharpness * (key @ query)) @ value,)


@BANK.wrong_for("soft-lookup", symptom="differs step_by_step")
def lookup_base_two(query, key, value, sharpness):
    e = 2 ** (sharpness * (key @ query))
    return e / e.sum() @ value


# recall: right


@BANK.right_for("recall")
def recall_with_lstsq(states, wanted):
    half = len(states) // 2
    inputs = np.hstack([states, np.ones((len(states), 1))])
    weights, *_ = np.linalg.lstsq(inputs[:half], wanted[:half], rcond=None)
    return np.corrcoef(inputs[half:] @ weights, wanted[half:])[0, 1] ** 2


@BANK.right_for("recall")
def recall_by_normal_equations(states, wanted):
    half = len(states) // 2
    known = np.column_stack([np.ones(half), states[:half]])
    intercept, *weights = np.linalg.solve(known.T @ known, known.T @ wanted[:half])
    predicted = intercept + states[half:] @ np.array(weights)
    p, w = predicted - predicted.mean(), wanted[half:] - wanted[half:].mean()
    return (p @ w) ** 2 / ((p @ p) * (w @ w))


@BANK.right_for("recall")
def recall_centred(states, wanted):
    half = len(states) // 2
    mean = states[:half].mean(axis=0)
    weights = np.linalg.pinv(states[:half] - mean) @ (wanted[:half] - wanted[:half].mean())
    predicted = (states[half:] - mean) @ weights  # a shift leaves a correlation as it is
    return float(np.corrcoef(predicted, wanted[half:])[1, 0] ** 2)


@BANK.right_for("recall")
def recall_by_qr(states, wanted):
    half = len(states) // 2
    inputs = np.insert(states, 0, 1, axis=1)
    q, r = np.linalg.qr(inputs[:half])
    predicted = inputs[half:] @ np.linalg.solve(r, q.T @ wanted[:half])
    return np.cov(predicted, wanted[half:])[0, 1] ** 2 / (
        predicted.var(ddof=1) * wanted[half:].var(ddof=1)
    )


@BANK.right_for("recall")
def recall_in_a_class(states, wanted):
    class Linear:
        def fit(self, x, y):
            x = np.c_[np.ones(len(x)), x]
            self.coefficients = np.linalg.lstsq(x, y)[0]
            return self

        def predict(self, x):
            return self.coefficients[0] + x @ self.coefficients[1:]

    half = len(wanted) // 2
    predicted = Linear().fit(states[:half], wanted[:half]).predict(states[half:])
    # The R^2 of the best line through the points (predicted, wanted).
    slope, intercept = np.polyfit(predicted, wanted[half:], 1)
    left = wanted[half:] - (slope * predicted + intercept)
    return 1 - (left**2).sum() / ((wanted[half:] - wanted[half:].mean()) ** 2).sum()


# recall: wrong


def with_ones(states):
    return np.column_stack([states, np.ones(len(states))])


def read_out(states, wanted):
    return np.linalg.lstsq(states, wanted, rcond=None)[0]


def squared_correlation(a, b):
    return np.corrcoef(a, b)[0, 1] ** 2


def second_half(states, wanted):
    """Return the right prediction of the second half, and what was wanted."""
    half = len(states) // 2
    inputs = with_ones(states)
    return inputs[half:] @ read_out(inputs[:half], wanted[:half]), wanted[half:]


@BANK.wrong_for("recall", names="all_steps")
def recall_on_the_steps_of_the_fit(states, wanted):
    inputs = with_ones(states)
    return squared_correlation(inputs @ read_out(inputs, wanted), wanted)


@BANK.wrong_for("recall", names="scored_on_first")
def recall_scored_on_the_first_half(states, wanted):
    half = len(states) // 2
    inputs = with_ones(states)[:half]
    return squared_correlation(inputs @ read_out(inputs, wanted[:half]), wanted[:half])


@BANK.wrong_for("recall", names="scored_on_first")
def recall_from_the_residuals_of_the_fit(states, wanted):
    half = len(states) // 2
    _, left, *_ = np.linalg.lstsq(with_ones(states)[:half], wanted[:half], rcond=None)
    return 1 - left[0] / (half * wanted[:half].var())


@BANK.wrong_for("recall", names="fitted_on_all")
def recall_fitted_on_all(states, wanted):
    half = len(states) // 2
    inputs = with_ones(states)
    predicted = inputs @ read_out(inputs, wanted)
    return squared_correlation(predicted[half:], wanted[half:])


@BANK.wrong_for("recall", names="fitted_on_second")
def recall_fitted_on_the_second_half(states, wanted):
    half = len(states) // 2
    inputs = with_ones(states)[half:]
    return squared_correlation(inputs @ read_out(inputs, wanted[half:]), wanted[half:])


@BANK.wrong_for("recall", names="halves_swapped")
def recall_halves_swapped(states, wanted):
    half = len(states) // 2
    inputs = with_ones(states)
    predicted = inputs[:half] @ read_out(inputs[half:], wanted[half:])
    return squared_correlation(predicted, wanted[:half])


@BANK.wrong_for("recall", names="scored_on_all")
def recall_scored_on_all(states, wanted):
    half = len(states) // 2
    inputs = with_ones(states)
    return squared_correlation(inputs @ read_out(inputs[:half], wanted[:half]), wanted)


@BANK.wrong_for("recall", names="even_and_odd")
def recall_every_other_step(states, wanted):
    weights = read_out(with_ones(states)[::2], wanted[::2])
    return squared_correlation(with_ones(states)[1::2] @ weights, wanted[1::2])


@BANK.wrong_for("recall", names="half_rounded_up")
def recall_half_rounded_up(states, wanted):
    half = math.ceil(len(states) / 2)
    weights = read_out(with_ones(states)[:half], wanted[:half])
    return squared_correlation(with_ones(states)[half:] @ weights, wanted[half:])


@BANK.wrong_for("recall", names="not_squared")
def recall_not_squared(states, wanted):
    return np.corrcoef(*second_half(states, wanted))[0, 1]


@BANK.wrong_for("recall", names="squared_twice")
def recall_squared_twice(states, wanted):
    return squared_correlation(*second_half(states, wanted)) ** 2


@BANK.wrong_for("recall", names="explained")
def recall_as_explained_variance(states, wanted):
    p, w = second_half(states, wanted)
    return 1 - ((p - w) ** 2).mean() / w.var()


@BANK.wrong_for("recall", names="squared_error")
def recall_as_error(states, wanted):
    p, w = second_half(states, wanted)
    return np.mean((p - w) ** 2)


@BANK.wrong_for("recall", names="root_of_error")
def recall_as_root_of_the_error(states, wanted):
    p, w = second_half(states, wanted)
    return np.sqrt(np.mean((p - w) ** 2))


@BANK.wrong_for("recall", names="covariance")
def recall_as_covariance(states, wanted):
    return np.cov(*second_half(states, wanted))[0, 1]


@BANK.wrong_for("recall", names="squared_covariance")
def recall_as_squared_covariance(states, wanted):
    return np.cov(*second_half(states, wanted))[0, 1] ** 2


@BANK.wrong_for("recall", names="squared_cosine")
def recall_as_squared_cosine(states, wanted):
    p, w = second_half(states, wanted)
    return (p @ w / np.linalg.norm(p) / np.linalg.norm(w)) ** 2


@BANK.wrong_for("recall", names="share")
def recall_as_share_of_variance(states, wanted):
    p, w = second_half(states, wanted)
    return p.var() / w.var()


@BANK.wrong_for("recall", names="squared_matrix")
def recall_as_matrix(states, wanted):
    return np.corrcoef(*second_half(states, wanted)) ** 2


@BANK.wrong_for("recall", names="matrix")
def recall_as_matrix_not_squared(states, wanted):
    return np.corrcoef(*second_half(states, wanted))


@BANK.wrong_for("recall", names="prediction")
def recall_returns_the_prediction(states, wanted):
    return second_half(states, wanted)[0]


@BANK.wrong_for("recall", names="no_intercept")
def recall_without_intercept(states, wanted):
    half = len(states) // 2
    predicted = states[half:] @ read_out(states[:half], wanted[:half])
    return squared_correlation(predicted, wanted[half:])


@BANK.wrong_for("recall", names="centred")
def recall_centres_the_states_only(states, wanted):
    half = len(states) // 2
    centred = states - states.mean(axis=0)
    predicted = centred[half:] @ read_out(centred[:half], wanted[:half])
    return squared_correlation(predicted, wanted[half:])


@BANK.wrong_for("recall", names="best_unit")
def recall_of_the_best_unit(states, wanted):
    half = len(states) // 2
    return max(squared_correlation(s, wanted[half:]) for s in states[half:].T)


@BANK.wrong_for("recall", names="mean_unit")
def recall_of_the_mean_unit(states, wanted):
    half = len(states) // 2
    return squared_correlation(states[half:].mean(axis=1), wanted[half:])


@BANK.wrong_for("recall", names="ridge")
def recall_by_ridge_regression(states, wanted):
    half = len(states) // 2
    x, y = states[:half], wanted[:half]
    centred = x - x.mean(axis=0)
    penalised = centred.T @ centred + np.eye(states.shape[1])
    weights = np.linalg.solve(penalised, centred.T @ (y - y.mean()))
    return squared_correlation(states[half:] @ weights, wanted[half:])


@BANK.wrong_for("recall", names="in_place")
def recall_centres_in_place(states, wanted):
    half = len(states) // 2
    states -= states[:half].mean(axis=0)
    weights = read_out(states[:half], wanted[:half] - wanted[:half].mean())
    return squared_correlation(states[half:] @ weights, wanted[half:])


@BANK.wrong_for("recall", names="none")
def recall_without_return(states, wanted):
    recall_with_lstsq(states, wanted)


@BANK.wrong_for("recall", names="rounded")
def recall_rounded(states, wanted):
    return round(recall_with_lstsq(states, wanted), 3)


@BANK.wrong_for("recall", symptom="raised halves")
def recall_keeps_all_of_lstsq(states, wanted):
    half = len(states) // 2
    weights = np.linalg.lstsq(with_ones(states)[:half], wanted[:half], rcond=None)
    return squared_correlation(with_ones(states)[half:] @ weights, wanted[half:])


@BANK.wrong_for("recall", names="raised both_have_ones")
def recall_forgets_the_ones_of_the_second_half(states, wanted):
    half = len(states) // 2
    weights = read_out(with_ones(states)[:half], wanted[:half])
    return squared_correlation(states[half:] @ weights, wanted[half:])


@BANK.wrong_for("recall", symptom="differs halves")
def recall_shuffled(states, wanted):
    order = np.random.default_rng(0).permutation(len(states))
    return recall_with_lstsq(states[order], wanted[order])


@BANK.wrong_for("recall", symptom="shape one_number")
def recall_in_a_list(states, wanted):
    return [recall_with_lstsq(states, wanted)]


# state-jacobian: right


@BANK.right_for("state-jacobian")
def jacobian_with_diag(w, states):
    jacobian = np.eye(len(w))
    for h in states:
        jacobian = np.diag(1 - h**2) @ w.T @ jacobian
    return jacobian


@BANK.right_for("state-jacobian")
def jacobian_from_the_last_step(w, states):
    jacobian = np.eye(len(w))
    for h in states[::-1]:
        jacobian = jacobian @ ((1 - h**2)[:, None] * w.T)
    return jacobian


@BANK.right_for("state-jacobian")
def jacobian_in_loops(w, states):
    units = len(w)
    change = [[float(i == j) for j in range(units)] for i in range(units)]
    for h in states:
        change = [
            [
                (1 - h[i] ** 2) * sum(w[m, i] * change[m][j] for m in range(units))
                for j in range(units)
            ]
            for i in range(units)
        ]
    return change


@BANK.right_for("state-jacobian")
def jacobian_with_row_vectors(w, states):
    # Row j is the change of all of h_t when h_0[j] changes: it moves as a state does, times w.
    rows = np.eye(w.shape[0])
    for h in states:
        rows = rows @ w * (1 - h * h)
    return rows.T


@BANK.right_for("state-jacobian")
def jacobian_with_einsum(w, states):
    steps = np.einsum("ti,ji->tij", 1 / np.cosh(np.arctanh(states)) ** 2, w)
    result = steps[0]
    for step in steps[1:]:
        result = np.einsum("ij,jk->ik", step, result)
    return result


@BANK.right_for("state-jacobian")
def jacobian_by_small_changes(w, states):
    sums = np.arctanh(states)
    columns = []
    for j in range(len(w)):
        ends = []
        for small in (1e-5, -1e-5):
            change = small * np.eye(len(w))[j]
            for total, h in zip(sums, states, strict=True):
                change = np.tanh(total + change @ w) - h
            ends.append(change)
        columns.append((ends[0] - ends[1]) / 2e-5)
    return np.transpose(columns)


# state-jacobian: wrong


def chain(steps):
    """Multiply matrices, the last leftmost."""
    result = np.eye(len(steps[0]))
    for step in steps:
        result = step @ result
    return result


@BANK.wrong_for("state-jacobian", names="reversed")
def jacobian_earliest_leftmost(w, states):
    jacobian = np.eye(len(w))
    for h in states:
        jacobian = jacobian @ np.diag(1 - h**2) @ w.T
    return jacobian


@BANK.wrong_for("state-jacobian", names="not_transposed")
def jacobian_without_transpose(w, states):
    return chain([np.diag(1 - h**2) @ w for h in states])


@BANK.wrong_for("state-jacobian", names="reversed_not_transposed")
def jacobian_reversed_without_transpose(w, states):
    return chain([np.diag(1 - h**2) @ w for h in states[::-1]])


@BANK.wrong_for("state-jacobian", names="transposed")
def jacobian_transposed(w, states):
    jacobian = np.eye(len(w))
    for h in states:
        jacobian = jacobian @ w @ np.diag(1 - h**2)
    return jacobian


@BANK.wrong_for("state-jacobian", names="no_derivative")
def jacobian_of_a_linear_network(w, states):
    return np.linalg.matrix_power(w.T, len(states))


@BANK.wrong_for("state-jacobian", names="power")
def jacobian_as_a_power(w, states):
    return np.linalg.matrix_power(w, len(states))


@BANK.wrong_for("state-jacobian", names="one_minus_h")
def jacobian_with_one_minus_h(w, states):
    return chain([np.diag(1 - h) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="h_squared")
def jacobian_with_h_squared(w, states):
    return chain([np.diag(h**2) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="sign_turned")
def jacobian_with_the_sign_turned(w, states):
    return chain([np.diag(h**2 - 1) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="tanh_again")
def jacobian_tanh_of_the_states(w, states):
    return chain([np.diag(1 - np.tanh(h) ** 2) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="sigmoid")
def jacobian_of_sigmoids(w, states):
    return chain([np.diag(h * (1 - h)) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="tanh_itself")
def jacobian_times_the_state(w, states):
    return chain([np.diag(h) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="columns")
def jacobian_broadcast_over_columns(w, states):
    jacobian = np.eye(len(w))
    for h in states:
        jacobian = ((1 - h**2) * w.T) @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", names="columns_reversed")
def jacobian_broadcast_over_columns_reversed(w, states):
    return chain([w.T @ np.diag(1 - h**2) for h in states[::-1]])


@BANK.wrong_for("state-jacobian", names="entry_by_entry")
def jacobian_elementwise(w, states):
    jacobian = np.ones_like(w)
    for h in states:
        jacobian = jacobian * ((1 - h**2)[:, None] * w.T)
    return jacobian


@BANK.wrong_for("state-jacobian", names="entry_by_entry_from_identity")
def jacobian_elementwise_from_the_identity(w, states):
    jacobian = np.eye(len(w))
    for h in states:
        jacobian *= (1 - h**2)[:, None] * w.T
    return jacobian


@BANK.wrong_for("state-jacobian", names="summed")
def jacobian_summed(w, states):
    return sum(np.diag(1 - h**2) @ w.T for h in states)


@BANK.wrong_for("state-jacobian", names="from_ones")
def jacobian_from_ones(w, states):
    jacobian = np.ones(w.shape)
    for h in states:
        jacobian = np.diag(1 - h**2) @ w.T @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", names="zeros")
def jacobian_from_zeros(w, states):
    jacobian = np.zeros(w.shape)
    for h in states:
        jacobian = np.diag(1 - h**2) @ w.T @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", names="w_once_more")
def jacobian_of_the_inputs_of_the_next_step(w, states):
    return w.T @ jacobian_with_diag(w, states)


@BANK.wrong_for("state-jacobian", names="first_twice")
def jacobian_with_the_first_step_twice(w, states):
    jacobian = np.diag(1 - states[0] ** 2) @ w.T
    for h in states:
        jacobian = np.diag(1 - h**2) @ w.T @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", names="first_left_out")
def jacobian_from_the_second_state(w, states):
    return jacobian_with_diag(w, states[1:])


@BANK.wrong_for("state-jacobian", names="last_left_out")
def jacobian_without_the_last_state(w, states):
    jacobian = np.eye(len(w))
    for t in range(len(states) - 1):
        jacobian = np.diag(1 - states[t] ** 2) @ w.T @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", names="last_alone")
def jacobian_overwritten(w, states):
    for h in states:
        jacobian = np.diag(1 - h**2) @ w.T
    return jacobian


@BANK.wrong_for("state-jacobian", names="first_alone")
def jacobian_returned_too_early(w, states):
    for h in states:
        return np.diag(1 - h**2) @ w.T


@BANK.wrong_for("state-jacobian", names="one_by_one")
def jacobian_of_each_step(w, states):
    return (1 - states[:, :, None] ** 2) * w.T


@BANK.wrong_for("state-jacobian", names="none")
def jacobian_without_return(w, states):
    jacobian_with_diag(w, states)


@BANK.wrong_for("state-jacobian", names="in_place")
def jacobian_derivatives_in_place(w, states):
    states **= 2
    return chain([np.diag(1 - h) @ w.T for h in states])


@BANK.wrong_for("state-jacobian", names="raised row_for_each_step")
def jacobian_of_columns(w, states):
    jacobian = np.eye(len(w))
    for h in states.T:
        jacobian = np.diag(1 - h**2) @ w.T @ jacobian
    return jacobian


@BANK.wrong_for("state-jacobian", symptom="shape")
def jacobian_norm(w, states):
    return np.linalg.norm(jacobian_with_diag(w, states))


@BANK.wrong_for("state-jacobian", symptom="shape")
def jacobian_diagonal(w, states):
    return np.diag(jacobian_with_diag(w, states))


# kernel-regression: right


def exponents(x_query, x, bandwidth):
    return -((x_query[:, None] - x[None, :]) ** 2) / (2 * bandwidth**2)


@BANK.right_for("kernel-regression")
def regression_by_softmax(x_query, x, y, bandwidth):
    return softmax(exponents(x_query, x, bandwidth)) @ y


@BANK.right_for("kernel-regression")
def regression_in_loops(x_query, x, y, bandwidth):
    result = []
    for q in x_query:
        powers = [-(((q - point) / bandwidth) ** 2) / 2 for point in x]
        kernels = [math.exp(power - max(powers)) for power in powers]
        result.append(sum(k * value for k, value in zip(kernels, y, strict=True)) / sum(kernels))
    return result


@BANK.right_for("kernel-regression")
def regression_with_logarithms(x_query, x, y, bandwidth):
    powers = -0.5 * (np.subtract.outer(x_query, x) / bandwidth) ** 2
    log_weights = powers - np.logaddexp.reduce(powers, axis=1, keepdims=True)
    return np.einsum("mn,n->m", np.exp(log_weights), y)


@BANK.right_for("kernel-regression")
def regression_with_points_as_rows(x_query, x, y, bandwidth):
    squares = (x[:, None] - x_query) ** 2
    kernels = np.exp((squares.min(axis=0) - squares) / (2 * bandwidth**2))
    return (kernels * y[:, None]).sum(axis=0) / kernels.sum(axis=0)


@BANK.right_for("kernel-regression")
def regression_as_attention_of_the_package(x_query, x, y, bandwidth):
    # x_query**2 is the same for all keys and drops out of the softmax.
    query = np.stack([x_query, np.ones(len(x_query))], axis=1)
    key = np.stack([x, -(x**2) / 2], axis=1)
    attend = attnbook.scaled_dot_product_attention
    return attend(query, key, y[:, None], scale=bandwidth**-2.0).output[:, 0]


# kernel-regression: wrong


def regress(kernels, y):
    return kernels @ y / kernels.sum(axis=1)


@BANK.wrong_for("kernel-regression", names="size_of_distance")
def regression_absolute_distance(x_query, x, y, bandwidth):
    distances = np.abs(x_query[:, None] - x)
    return regress(np.exp(-distances / (2 * bandwidth**2)), y)


@BANK.wrong_for("kernel-regression", names="signed_distance")
def regression_signed_distance(x_query, x, y, bandwidth):
    return regress(np.exp(-(x_query[:, None] - x) / (2 * bandwidth**2)), y)


@BANK.wrong_for("kernel-regression", names="laplace")
def regression_laplace(x_query, x, y, bandwidth):
    return regress(np.exp(-np.abs(x_query[:, None] - x) / bandwidth), y)


@BANK.wrong_for("kernel-regression", names="no_two")
def regression_without_two(x_query, x, y, bandwidth):
    return regress(np.exp(-(((x_query[:, None] - x) / bandwidth) ** 2)), y)


@BANK.wrong_for("kernel-regression", names="not_squared")
def regression_bandwidth_not_squared(x_query, x, y, bandwidth):
    return regress(np.exp(-((x_query[:, None] - x) ** 2) / (2 * bandwidth)), y)


@BANK.wrong_for("kernel-regression", names="two_squared")
def regression_two_squared(x_query, x, y, bandwidth):
    return regress(np.exp(-(((x_query[:, None] - x) / (2 * bandwidth)) ** 2)), y)


@BANK.wrong_for("kernel-regression", names="no_parentheses")
def regression_precedence(x_query, x, y, bandwidth):
    return regress(np.exp(-((x_query[:, None] - x) ** 2) / 2 * bandwidth**2), y)


@BANK.wrong_for("kernel-regression", names="no_bandwidth")
def regression_without_bandwidth(x_query, x, y, bandwidth):
    return regress(np.exp(-0.5 * (x_query[:, None] - x) ** 2), y)


@BANK.wrong_for("kernel-regression", names="no_exponential")
def regression_without_exp(x_query, x, y, bandwidth):
    scores = exponents(x_query, x, bandwidth)
    return scores @ y / scores.sum(axis=1)


@BANK.wrong_for("kernel-regression", names="no_minus")
def regression_without_minus(x_query, x, y, bandwidth):
    return softmax(-exponents(x_query, x, bandwidth)) @ y


@BANK.wrong_for("kernel-regression", names="box")
def regression_box(x_query, x, y, bandwidth):
    near = np.abs(x_query[:, None] - x) < bandwidth
    return near @ y / near.sum(axis=1)


@BANK.wrong_for("kernel-regression", names="inverse_squares")
def regression_inverse_squares(x_query, x, y, bandwidth):
    return regress((x_query[:, None] - x) ** -2.0, y)


@BANK.wrong_for("kernel-regression", names="inverse_distances")
def regression_inverse_distances(x_query, x, y, bandwidth):
    return regress(1 / abs(x_query[:, None] - x), y)


@BANK.wrong_for("kernel-regression", names="over_queries")
def regression_normalised_over_queries(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth))
    return kernels / kernels.sum(axis=0) @ y


@BANK.wrong_for("kernel-regression", names="sum_of_all")
def regression_normalised_over_everything(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth))
    return kernels / kernels.sum() @ y


@BANK.wrong_for("kernel-regression", names="no_sum")
def regression_not_normalised(x_query, x, y, bandwidth):
    return np.exp(exponents(x_query, x, bandwidth)) @ y


@BANK.wrong_for("kernel-regression", names="by_points")
def regression_mean_of_products(x_query, x, y, bandwidth):
    return (np.exp(exponents(x_query, x, bandwidth)) * y).mean(axis=1)


@BANK.wrong_for("kernel-regression", names="densities")
def regression_with_densities(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth)) / (bandwidth * np.sqrt(2 * np.pi))
    return kernels @ y


@BANK.wrong_for("kernel-regression", names="density_of_points")
def regression_density(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth)).sum(axis=1)
    return kernels / (len(x) * bandwidth * math.sqrt(2 * math.pi))


@BANK.wrong_for("kernel-regression", names="nearest")
def regression_nearest(x_query, x, y, bandwidth):
    return np.array([y[np.argmin(np.abs(x - q))] for q in x_query])


@BANK.wrong_for("kernel-regression", names="uniform")
def regression_mean(x_query, x, y, bandwidth):
    return [y.mean()] * len(x_query)


@BANK.wrong_for("kernel-regression", names="line")
def regression_interpolated(x_query, x, y, bandwidth):
    order = x.argsort()
    return np.interp(x_query, x[order], y[order])


@BANK.wrong_for("kernel-regression", names="mixed_x")
def regression_of_x(x_query, x, y, bandwidth):
    return softmax(exponents(x_query, x, bandwidth)) @ x


@BANK.wrong_for("kernel-regression", names="at_x")
def regression_at_the_data(x_query, x, y, bandwidth):
    return softmax(exponents(x, x, bandwidth)) @ y


@BANK.wrong_for("kernel-regression", names="weights_alone")
def regression_weights(x_query, x, y, bandwidth):
    return softmax(exponents(x_query, x, bandwidth))


@BANK.wrong_for("kernel-regression", names="far_nan")
def regression_naive(x_query, x, y, bandwidth):
    return regress(np.exp(exponents(x_query, x, bandwidth)), y)


@BANK.wrong_for("kernel-regression", symptom="not_finite far")
def regression_with_one_maximum(x_query, x, y, bandwidth):
    powers = exponents(x_query, x, bandwidth)
    return regress(np.exp(powers - powers.max()), y)


@BANK.wrong_for("kernel-regression", names="far_zero")
def regression_with_epsilon(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth))
    return kernels @ y / (kernels.sum(axis=1) + 1e-8)


@BANK.wrong_for("kernel-regression", names="far_zero")
def regression_with_nan_to_num(x_query, x, y, bandwidth):
    return np.nan_to_num(regress(np.exp(exponents(x_query, x, bandwidth)), y))


@BANK.wrong_for("kernel-regression", names="far_mean")
def regression_falls_back_to_the_mean(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth))
    total = kernels.sum(axis=1)
    safe = np.where(total == 0, 1, total)
    return np.where(total == 0, y.mean(), kernels @ y / safe)


@BANK.wrong_for("kernel-regression", names="far_mean")
def regression_clipped(x_query, x, y, bandwidth):
    # The clipped exponents of a far query are all the same.
    return regress(np.exp(np.clip(exponents(x_query, x, bandwidth), -700, 0)), y)


@BANK.wrong_for("kernel-regression", names="integers_like_input", of="integers")
def regression_into_integers(x_query, x, y, bandwidth):
    result = np.zeros_like(x_query)
    for i, weights in enumerate(softmax(exponents(x_query, x, bandwidth))):
        result[i] = weights @ y
    return result


@BANK.wrong_for("kernel-regression", names="nearly")
def regression_with_visible_epsilon(x_query, x, y, bandwidth):
    kernels = np.exp(exponents(x_query, x, bandwidth))
    return kernels @ y / (kernels.sum(axis=1) + 1e-3)


@BANK.wrong_for("kernel-regression", names="none")
def regression_without_return(x_query, x, y, bandwidth):
    regression_by_softmax(x_query, x, y, bandwidth)


@BANK.wrong_for("kernel-regression", names="raised every_point")
def regression_without_a_new_axis(x_query, x, y, bandwidth):
    kernels = np.exp(-((x_query - x) ** 2) / (2 * bandwidth**2))
    return kernels @ y / kernels.sum()


@BANK.wrong_for("kernel-regression", symptom="shape")
def regression_as_a_column(x_query, x, y, bandwidth):
    return softmax(exponents(x_query, x, bandwidth)) @ y[:, None]


@BANK.wrong_for("kernel-regression", symptom="differs row")
def regression_epanechnikov(x_query, x, y, bandwidth):
    kernels = np.maximum(1 + 2 * exponents(x_query, x, 3 * bandwidth), 0)
    return regress(kernels, y)


# additive-scores: right


@BANK.right_for("additive-scores")
def additive_scores_by_broadcasting(query, key, w_query, w_key, w_score):
    hidden = (query @ w_query)[:, None, :] + (key @ w_key)[None, :, :]
    return np.tanh(hidden) @ w_score


@BANK.right_for("additive-scores")
def additive_scores_in_loops(query, key, w_query, w_key, w_score):
    scores = np.zeros((len(query), len(key)))
    for i, q in enumerate(query):
        for j, k in enumerate(key):
            for h, weight in enumerate(w_score):
                total = sum(a * b for a, b in zip(q, w_query[:, h], strict=True))
                total += sum(a * b for a, b in zip(k, w_key[:, h], strict=True))
                scores[i, j] += weight * math.tanh(total)
    return scores


@BANK.right_for("additive-scores")
def additive_scores_by_concatenation(query, key, w_query, w_key, w_score):
    w = np.concatenate([w_query, w_key])
    return [[w_score @ np.tanh(np.concatenate([q, k]) @ w) for k in key] for q in query]


@BANK.right_for("additive-scores")
def additive_scores_with_einsum(query, key, w_query, w_key, w_score):
    q = np.einsum("qd,dh->qh", query, w_query)
    k = np.einsum("kd,dh->kh", key, w_key)
    return np.einsum("qkh,h->qk", np.tanh(np.expand_dims(q, 1) + k), w_score)


@BANK.right_for("additive-scores")
def additive_scores_unit_by_unit(query, key, w_query, w_key, w_score):
    return sum(
        weight * np.tanh(np.add.outer(query @ wq, key @ wk))
        for weight, wq, wk in zip(w_score, w_query.T, w_key.T, strict=True)
    )


@BANK.right_for("additive-scores")
def additive_scores_in_float32(query, key, w_query, w_key, w_score):
    query, key, w_query, w_key, w_score = (
        a.astype(np.float32) for a in (query, key, w_query, w_key, w_score)
    )
    return (np.tanh((query @ w_query)[:, None] + key @ w_key) * w_score).sum(axis=-1)


# additive-scores: wrong


def pairs(query, key, w_query, w_key):
    return (query @ w_query)[:, None] + key @ w_key


@BANK.wrong_for("additive-scores", names="no_tanh")
def additive_scores_without_tanh(query, key, w_query, w_key, w_score):
    return pairs(query, key, w_query, w_key) @ w_score


@BANK.wrong_for("additive-scores", names="tanh_late")
def additive_scores_tanh_last(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key) @ w_score)


@BANK.wrong_for("additive-scores", names="tanh_twice")
def additive_scores_tanh_twice(query, key, w_query, w_key, w_score):
    return np.tanh(np.tanh(pairs(query, key, w_query, w_key)) @ w_score)


@BANK.wrong_for("additive-scores", names="multiplied")
def additive_scores_multiplies(query, key, w_query, w_key, w_score):
    return np.tanh((query @ w_query)[:, None] * (key @ w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="subtracted")
def additive_scores_subtracts(query, key, w_query, w_key, w_score):
    return np.tanh((query @ w_query)[:, None] - key @ w_key) @ w_score


@BANK.wrong_for("additive-scores", names="one_by_one")
def additive_scores_two_tanhs(query, key, w_query, w_key, w_score):
    return (np.tanh(query @ w_query)[:, None] + np.tanh(key @ w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="tanh_of_key")
def additive_scores_tanh_of_the_key(query, key, w_query, w_key, w_score):
    return ((query @ w_query)[:, None] + np.tanh(key @ w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="tanh_of_query")
def additive_scores_tanh_of_the_query(query, key, w_query, w_key, w_score):
    return (np.tanh(query @ w_query)[:, None] + key @ w_key) @ w_score


@BANK.wrong_for("additive-scores", names="transposed")
def additive_scores_keys_as_rows(query, key, w_query, w_key, w_score):
    return np.tanh(query @ w_query + (key @ w_key)[:, None]) @ w_score


@BANK.wrong_for("additive-scores", names="weights_already")
def additive_scores_after_softmax(query, key, w_query, w_key, w_score):
    return softmax(additive_scores_by_broadcasting(query, key, w_query, w_key, w_score))


@BANK.wrong_for("additive-scores", names="weights_already")
def additive_scores_weights_of_the_package(query, key, w_query, w_key, w_score):
    return attnbook.additive_attention(query, key, key, w_query, w_key, w_score).weights


@BANK.wrong_for("additive-scores", names="by_root_of_hidden")
def additive_scores_scaled_by_hidden(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)) @ w_score / np.sqrt(len(w_score))


@BANK.wrong_for("additive-scores", names="by_root_of_d_k")
def additive_scores_scaled_by_key_size(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)) @ w_score / np.sqrt(key.shape[-1])


@BANK.wrong_for("additive-scores", names="by_hidden")
def additive_scores_mean(query, key, w_query, w_key, w_score):
    return (np.tanh(pairs(query, key, w_query, w_key)) * w_score).mean(axis=-1)


@BANK.wrong_for("additive-scores", names="relu")
def additive_scores_relu(query, key, w_query, w_key, w_score):
    return np.maximum(pairs(query, key, w_query, w_key), 0) @ w_score


@BANK.wrong_for("additive-scores", names="sigmoid")
def additive_scores_sigmoid(query, key, w_query, w_key, w_score):
    return 1 / (1 + np.exp(-pairs(query, key, w_query, w_key))) @ w_score


@BANK.wrong_for("additive-scores", names="sum_of_hidden")
def additive_scores_sum_of_units(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)).sum(axis=-1)


@BANK.wrong_for("additive-scores", names="mean_of_hidden")
def additive_scores_mean_of_units(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)).mean(axis=-1)


@BANK.wrong_for("additive-scores", names="inside")
def additive_scores_score_inside(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key) * w_score).sum(axis=-1)


@BANK.wrong_for("additive-scores", names="hidden_units")
def additive_scores_hidden_units(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key))


@BANK.wrong_for("additive-scores", names="dot_product")
def additive_scores_dot_product(query, key, w_query, w_key, w_score):
    return (query @ w_query) @ (key @ w_key).T


@BANK.wrong_for("additive-scores", names="dot_of_tanhs")
def additive_scores_dot_product_of_tanhs(query, key, w_query, w_key, w_score):
    return np.tanh(query @ w_query) @ np.tanh(key @ w_key).T


@BANK.wrong_for("additive-scores", names="swapped")
def additive_scores_swapped_matrices(query, key, w_key, w_query, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="swapped")
def additive_scores_concatenated_key_first(query, key, w_query, w_key, w_score):
    w = np.vstack([w_query, w_key])
    return [[np.tanh(np.hstack([k, q]) @ w) @ w_score for k in key] for q in query]


@BANK.wrong_for("additive-scores", names="w_query_twice")
def additive_scores_with_one_matrix(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_query)) @ w_score


@BANK.wrong_for("additive-scores", names="w_key_twice")
def additive_scores_with_the_other_matrix(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_key, w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="query_twice")
def additive_scores_of_queries(query, key, w_query, w_key, w_score):
    return np.tanh((query @ w_query)[:, None] + query @ w_key) @ w_score


@BANK.wrong_for("additive-scores", names="no_key")
def additive_scores_without_key(query, key, w_query, w_key, w_score):
    return np.tile((np.tanh(query @ w_query) @ w_score)[:, None], len(key))


@BANK.wrong_for("additive-scores", names="no_query")
def additive_scores_without_query(query, key, w_query, w_key, w_score):
    return np.tile(np.tanh(key @ w_key) @ w_score, (len(query), 1))


@BANK.wrong_for("additive-scores", names="turned")
def additive_scores_as_a_loss(query, key, w_query, w_key, w_score):
    return -np.tanh(pairs(query, key, w_query, w_key)) @ w_score


@BANK.wrong_for("additive-scores", names="minus_largest")
def additive_scores_minus_the_largest(query, key, w_query, w_key, w_score):
    scores = additive_scores_by_broadcasting(query, key, w_query, w_key, w_score)
    return scores - scores.max(axis=-1, keepdims=True)


@BANK.wrong_for("additive-scores", names="raised every_key")
def additive_scores_without_a_new_axis(query, key, w_query, w_key, w_score):
    return np.tanh(query @ w_query + key @ w_key) @ w_score


@BANK.wrong_for("additive-scores", names="none")
def additive_scores_without_return(query, key, w_query, w_key, w_score):
    additive_scores_by_broadcasting(query, key, w_query, w_key, w_score)


@BANK.wrong_for("additive-scores", symptom="raised every_key")
def additive_scores_added_before_the_projection(query, key, w_query, w_key, w_score):
    return np.tanh((query + key) @ w_query) @ w_score


@BANK.wrong_for("additive-scores", names="raised which_matrix")
def additive_scores_matrices_of_another_library(query, key, w_query, w_key, w_score):
    return np.tanh((query @ w_query.T)[:, None] + key @ w_key.T) @ w_score


@BANK.wrong_for("additive-scores", symptom="shape")
def additive_scores_keeps_the_last_axis(query, key, w_query, w_key, w_score):
    return np.tanh(pairs(query, key, w_query, w_key)) @ w_score[:, None]


@BANK.wrong_for("additive-scores", symptom="differs entry")
def additive_scores_with_arctan(query, key, w_query, w_key, w_score):
    return np.arctan(pairs(query, key, w_query, w_key)) @ w_score


# wrong in a way that course/bank.py lists


@BANK.wrong_for("soft-lookup", names="hard_far", of="one_hot")
def lookup_one_hot_where_large(query, key, value, sharpness):
    return one_hot_where_large(sharpness * key @ query) @ value


@BANK.wrong_for("soft-lookup", names="underflow", of="one_sign")
def lookup_guarded_above(query, key, value, sharpness):
    return guarded_above(sharpness * key @ query) @ value


@BANK.wrong_for("kernel-regression", names="far_nearest", of="one_hot")
def regression_nearest_where_all_underflow(x_query, x, y, bandwidth):
    distance = x_query[:, None] - x
    kernel = np.exp(-(distance**2) / (2 * bandwidth**2))
    total = kernel.sum(axis=1)
    nearest = y[np.abs(distance).argmin(axis=1)]
    return np.where(total == 0, nearest, kernel @ y / np.where(total == 0, 1, total))


@BANK.wrong_for("kernel-regression", names="far_nan", of="one_sign")
def regression_guarded_above(x_query, x, y, bandwidth):
    scores = -((x_query[:, None] - x) ** 2) / (2 * bandwidth**2)
    return guarded_above(scores) @ y


@BANK.wrong_for("kernel-regression", names="not_finite far", of="one_sign")
def regression_guarded_on_the_right(x_query, x, y, bandwidth):
    scores = -((x_query[:, None] - x) ** 2) / (2 * bandwidth**2)
    right = x_query > x.max()
    scores[right] -= scores[right].max(axis=1, keepdims=True)
    e = np.exp(scores)
    return e @ y / e.sum(axis=1)


@BANK.wrong_for("kernel-regression", names="far_zero", of="tolerance")
def regression_with_a_small_number_below(x_query, x, y, bandwidth):
    kernel = np.exp(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    return kernel @ y / (kernel.sum(axis=1) + 1e-300)


@BANK.wrong_for("recall", names="integers_like_input", of="integers")
def recall_predicts_integers(states, wanted):
    half = len(states) // 2
    known = np.column_stack([states, np.ones(len(states))])
    weights = np.linalg.lstsq(known[:half], wanted[:half])[0]
    predicted = np.zeros_like(wanted[half:])
    for t in range(len(predicted)):
        predicted[t] = known[half + t] @ weights
    return np.corrcoef(predicted, wanted[half:])[0, 1] ** 2


def recall_between(states, wanted, end, start):
    known = np.column_stack([states, np.ones(len(states))])
    weights = np.linalg.lstsq(known[:end], wanted[:end])[0]
    return np.corrcoef(known[start:] @ weights, wanted[start:])[0, 1] ** 2


@BANK.wrong_for("recall", names="fit_one_short")
def recall_fitted_on_one_less(states, wanted):
    half = len(states) // 2
    return recall_between(states, wanted, half - 1, half)


@BANK.wrong_for("recall", names="fit_one_too_long")
def recall_fitted_on_one_more(states, wanted):
    half = len(states) // 2
    return recall_between(states, wanted, half + 1, half)


@BANK.wrong_for("recall", names="scored_one_late")
def recall_scored_on_one_less(states, wanted):
    half = len(states) // 2
    return recall_between(states, wanted, half, half + 1)


@BANK.wrong_for("recall", names="last_left_out")
def recall_scored_without_the_last(states, wanted):
    half = len(states) // 2
    known = np.column_stack([states, np.ones(len(states))])
    weights = np.linalg.lstsq(known[:half], wanted[:half])[0]
    return np.corrcoef(known[half:-1] @ weights, wanted[half:-1])[0, 1] ** 2


# three-settings: right


def at_zero(x, *units):
    changed = x.copy()
    changed[list(units)] = 0
    return changed


@BANK.right_for("three-settings")
def settings_from_copies(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return measure(x), measure(at_zero(x, cause)), np.array(control)


@BANK.right_for("three-settings")
def settings_of_all_units_and_one_taken_out(measure, x, cause):
    each = np.array([measure(at_zero(x, i)) for i in range(len(x))])
    return measure(x), each[cause], np.delete(each, cause)


@BANK.right_for("three-settings")
def settings_by_masks(measure, x, cause):
    measured = [measure(x * keep) for keep in 1 - np.eye(len(x), dtype=int)]
    without = measured.pop(cause)
    return measure(x), without, measured


@BANK.right_for("three-settings")
def settings_put_back(measure, x, cause):
    x, control = np.array(x, dtype=float), []
    whole = measure(x)
    for unit in range(len(x)):
        kept, x[unit] = x[unit], 0.0
        control.append(measure(x))
        x[unit] = kept
    return whole, control[cause], control[:cause] + control[cause + 1 :]


# three-settings: wrong


def settings(measure, x, cause, control):
    return measure(x), measure(at_zero(x, cause)), np.array(control)


@BANK.wrong_for("three-settings", names="cause_too")
def settings_of_every_unit(measure, x, cause):
    return settings(measure, x, cause, [measure(at_zero(x, i)) for i in range(len(x))])


@BANK.wrong_for("three-settings", names="both")
def settings_without_the_cause_in_the_control(measure, x, cause):
    x_without = at_zero(x, cause)
    control = [measure(at_zero(x_without, i)) for i in range(len(x)) if i != cause]
    return measure(x), measure(x_without), np.array(control)


@BANK.wrong_for("three-settings", names="not_restored")
def settings_in_one_copy(measure, x, cause):
    changed, each = x.copy(), []
    for i in range(len(x)):
        changed[i] = 0
        each.append(measure(changed))
    return settings(measure, x, cause, np.delete(each, cause))


@BANK.wrong_for("three-settings", names="others_not_restored")
def settings_of_the_others_in_one_copy(measure, x, cause):
    changed, control = x.copy(), []
    for i in range(len(x)):
        if i != cause:
            changed[i] = 0
            control.append(measure(changed))
    return settings(measure, x, cause, control)


@BANK.wrong_for("three-settings", names="kept_alone")
def settings_with_one_kept(measure, x, cause):
    control = [measure(x * keep) for keep in np.eye(len(x))]
    return settings(measure, x, cause, np.delete(control, cause))


@BANK.wrong_for("three-settings", names="all_at_once")
def settings_with_one_large_control(measure, x, cause):
    alone = np.zeros_like(x)
    alone[cause] = x[cause]
    return settings(measure, x, cause, measure(alone))


@BANK.wrong_for("three-settings", names="averaged")
def settings_with_a_mean_control(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return settings(measure, x, cause, sum(control) / len(control))


@BANK.wrong_for("three-settings", names="unchanged")
def settings_that_measure_the_wrong_array(measure, x, cause):
    control = []
    for i in range(len(x)):
        if i != cause:
            changed = x.copy()
            changed[i] = 0
            control.append(measure(x))
    return settings(measure, x, cause, control)


@BANK.wrong_for("three-settings", names="same_again")
def settings_that_set_the_cause(measure, x, cause):
    control = [measure(at_zero(x, cause)) for i in range(len(x)) if i != cause]
    return settings(measure, x, cause, control)


@BANK.wrong_for("three-settings", names="backwards")
def settings_from_the_last_unit(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x) - 1, -1, -1) if i != cause]
    return settings(measure, x, cause, control)


@BANK.wrong_for("three-settings", names="first_left_out")
def settings_from_unit_one(measure, x, cause):
    return settings(measure, x, cause, [measure(at_zero(x, i)) for i in range(1, len(x))])


@BANK.wrong_for("three-settings", names="last_left_out")
def settings_up_to_the_last(measure, x, cause):
    return settings(measure, x, cause, [measure(at_zero(x, i)) for i in range(len(x) - 1)])


@BANK.wrong_for("three-settings", names="differences")
def settings_as_changes(measure, x, cause):
    control = [measure(at_zero(x, i)) - measure(x) for i in range(len(x)) if i != cause]
    return settings(measure, x, cause, control)


@BANK.wrong_for("three-settings", names="to_one")
def settings_with_ones(measure, x, cause):
    each = [measure(np.where(np.eye(len(x))[i], 1, x)) for i in range(len(x))]
    return measure(x), each[cause], np.delete(each, cause)


@BANK.wrong_for("three-settings", names="to_mean")
def settings_with_the_mean(measure, x, cause):
    each = [measure(np.where(np.arange(len(x)) == i, x.mean(), x)) for i in range(len(x))]
    return measure(x), each[cause], np.delete(each, cause)


@BANK.wrong_for("three-settings", names="sign_turned")
def settings_with_the_sign_turned(measure, x, cause):
    each = [measure(x * sign) for sign in 1 - 2 * np.eye(len(x))]
    return measure(x), each[cause], np.delete(each, cause)


@BANK.wrong_for("three-settings", names="changed_before")
def settings_measured_too_late(measure, x, cause):
    changed = at_zero(x, cause)
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return measure(changed), measure(changed), np.array(control)


@BANK.wrong_for("three-settings", names="without_others")
def settings_that_keep_the_cause_alone(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return measure(x), measure(x * (np.arange(len(x)) == cause)), np.array(control)


@BANK.wrong_for("three-settings", names="without_unchanged")
def settings_without_nothing(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return measure(x), measure(x), np.array(control)


@BANK.wrong_for("three-settings", names="exchanged")
def settings_exchanged(measure, x, cause):
    control = [measure(at_zero(x, i)) for i in range(len(x)) if i != cause]
    return measure(at_zero(x, cause)), measure(x), np.array(control)


@BANK.wrong_for("three-settings", symptom="raised deleted")
def settings_with_units_deleted(measure, x, cause):
    each = [measure(np.delete(x, i)) for i in range(len(x))]
    return measure(x), each[cause], np.delete(each, cause)


@BANK.wrong_for("three-settings", symptom="in_place")
def settings_in_place(measure, x, cause):
    before, control = measure(x), []
    for i in range(len(x)):
        kept, x[i] = x[i], 0
        control.append(measure(x))
        x[i] = kept
    x[cause] = 0
    return before, measure(x), np.delete(control, cause)


BANK.spoil("squeeze", "shape lost_axis", "three-settings")
BANK.spoil("tolerance", "rounded", "three-settings")
BANK.never("one_hot one_sign", "it takes no softmax", "three-settings")
BANK.never("axes", "the statement says how many axes there are", "three-settings")
BANK.never("table", "positions play no part", "three-settings")
BANK.never("mask", "there is no mask", "three-settings")
BANK.never(
    "integers", "what `measure` says is a number, and is returned as it is", "three-settings"
)
BANK.spoil(
    "squeeze",
    "shape lost_axis",
    "soft-lookup",
    "state-jacobian",
    "kernel-regression",
    "additive-scores",
)
BANK.spoil("tolerance", "rounded", "soft-lookup", "recall", "state-jacobian", "additive-scores")
BANK.spoil("integers", "differs stored_as_integers", "state-jacobian", "additive-scores")

BANK.never("one_hot one_sign", "it takes no softmax", "recall", "state-jacobian", "additive-scores")
BANK.never(
    "axes",
    "the statement says how many axes there are",
    "soft-lookup",
    "recall",
    "state-jacobian",
    "kernel-regression",
    "additive-scores",
)
BANK.never("squeeze", "the result is one number", "recall")
BANK.never(
    "table",
    "positions play no part",
    "soft-lookup",
    "recall",
    "state-jacobian",
    "kernel-regression",
    "additive-scores",
)
BANK.never(
    "mask",
    "there is no mask",
    "soft-lookup",
    "recall",
    "state-jacobian",
    "kernel-regression",
    "additive-scores",
)
