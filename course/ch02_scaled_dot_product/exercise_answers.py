"""Answers to the exercises of the chapter Compute scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()
MASK_SHAPE = r"The mask needs shape \(len_q, len_k\): the last len_q rows"


# softmax: right


@BANK.right_for("softmax")
def softmax_vectorised(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@BANK.right_for("softmax")
def softmax_in_loops(x):
    if np.ndim(x) > 1:
        return [softmax_in_loops(part) for part in x]
    largest = max(x)
    exponentials = [math.exp(score - largest) for score in x]
    total = sum(exponentials)
    return [e / total for e in exponentials]


@BANK.right_for("softmax")
def softmax_by_log_sum_exp(x):
    largest = np.max(x, axis=-1)
    log_total = largest + np.log(np.sum(np.exp(x - largest[..., np.newaxis]), axis=-1))
    return np.exp(x - np.expand_dims(log_total, -1))


@BANK.right_for("softmax")
def softmax_along_axis(x):
    def one_row(row):
        e = np.exp(row - np.max(row))
        return e / np.sum(e)

    return np.apply_along_axis(one_row, -1, x)


@BANK.right_for("softmax")
def softmax_of_float32(x):
    x = x.astype(np.float32)
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@BANK.right_for("softmax")
def softmax_with_tiny_epsilon(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / (e.sum(-1, keepdims=True) + 1e-12)


@BANK.right_for("softmax")
def softmax_of_the_package(x):
    return attnbook.softmax(x)


# softmax: wrong


@BANK.wrong_for("softmax", names="far_scores")
def softmax_without_maximum(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="maximum_of_all")
def softmax_with_one_maximum(x):
    e = np.exp(x - np.max(x))
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="raised broadcast_together")
def softmax_without_keepdims(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


@BANK.wrong_for("softmax", names="over_first")
def softmax_over_axis_0(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


@BANK.wrong_for("softmax", names="over_queries")
def softmax_over_axis_1(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@BANK.wrong_for("softmax", names="sum_of_all")
def softmax_over_everything(x):
    e = np.exp(x - x.max())
    return e / e.sum()


@BANK.wrong_for("softmax", names="no_exponential")
def softmax_without_exp(x):
    return x / x.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="no_sum")
def softmax_without_sum(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


@BANK.wrong_for("softmax", names="bare")
def softmax_only_exp(x):
    return np.exp(x)


@BANK.wrong_for("softmax", names="hard")
def softmax_as_argmax(x):
    return np.eye(x.shape[-1])[x.argmax(axis=-1)]


@BANK.wrong_for("softmax", names="logarithm")
def softmax_as_log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@BANK.wrong_for("softmax", names="sigmoid")
def softmax_as_sigmoid(x):
    return 1 / (1 + np.exp(-x))


@BANK.wrong_for("softmax", names="turned")
def softmax_sign_turned(x):
    e = np.exp(x.min(axis=-1, keepdims=True) - x)
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="base_two")
def softmax_base_two(x):
    e = 2.0 ** (x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="twice")
def softmax_twice(x):
    return softmax_vectorised(softmax_vectorised(x))


@BANK.wrong_for("softmax", names="rooted")
def softmax_scales_as_well(x):
    return softmax_vectorised(x / np.sqrt(x.shape[-1]))


@BANK.wrong_for("softmax", names="in_place")
def softmax_in_place(x):
    x -= x.max(axis=-1, keepdims=True)
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="integers_like_input", of="integers")
def softmax_into_zeros_like(x):
    result = np.zeros_like(x)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            e = np.exp(x[b, i] - x[b, i].max())
            result[b, i] = e / e.sum()
    return result


@BANK.wrong_for("softmax", names="rounded")
def softmax_rounded(x):
    return softmax_vectorised(x).round(3)


@BANK.wrong_for("softmax", names="nearly")
def softmax_with_visible_epsilon(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / (e.sum(axis=-1, keepdims=True) + 1e-3)


@BANK.wrong_for("softmax", names="first_only row_by_row")
def softmax_first_sequence_for_all(x):
    return np.broadcast_to(softmax_vectorised(x[0]), x.shape)


@BANK.wrong_for("softmax", names="none")
def softmax_without_return(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", names="uniform")
def softmax_uniform(x):
    return np.ones(x.shape) / x.shape[-1]


@BANK.wrong_for("softmax", names="no_softmax")
def softmax_not_yet_written(x):
    return x


@BANK.wrong_for("softmax", names="not_finite maximum")
def softmax_maximum_starts_at_zero(x):
    result = np.empty(x.shape)
    for index in np.ndindex(x.shape[:-1]):
        largest = 0
        for score in x[index]:
            if score > largest:
                largest = score
        e = np.exp(x[index] - largest)
        result[index] = e / e.sum()
    return result


@BANK.wrong_for("softmax", names="leak maximum")
def softmax_clipped(x):
    e = np.exp(np.clip(x, -700, 700))
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("softmax", symptom="row_sum row_by_row")
def softmax_by_euclidean_norm(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / np.linalg.norm(e, axis=-1, keepdims=True)


@BANK.wrong_for("softmax", symptom="shape")
def softmax_of_one_sequence(x):
    return softmax_vectorised(x[0])


@BANK.wrong_for("softmax", symptom="shape")
def softmax_of_the_flat_array(x):
    return softmax_vectorised(x.ravel())


@BANK.wrong_for("softmax", names="shape stray_comma")
def softmax_with_a_stray_comma(x):
    return (softmax_vectorised(x),)


# scores: right


@BANK.right_for("scores")
def scores_with_matmul(query, key):
    return query @ key.swapaxes(-1, -2) / np.sqrt(key.shape[-1])


@BANK.right_for("scores")
def scores_in_loops(query, key):
    batch, len_q, d_k = query.shape
    result = np.zeros((batch, len_q, key.shape[1]))
    for b in range(batch):
        for i in range(len_q):
            for j in range(key.shape[1]):
                total = 0.0
                for d in range(d_k):
                    total += query[b, i, d] * key[b, j, d]
                result[b, i, j] = total / math.sqrt(d_k)
    return result


@BANK.right_for("scores")
def scores_with_einsum(query, key):
    return np.einsum("bqd,bkd->bqk", query, key) * query.shape[-1] ** -0.5


@BANK.right_for("scores")
def scores_as_lists(query, key):
    root = math.sqrt(len(query[0][0]))
    return [
        [[sum(a * b for a, b in zip(q, k, strict=True)) / root for k in keys] for q in queries]
        for queries, keys in zip(query.tolist(), key.tolist(), strict=True)
    ]


@BANK.right_for("scores")
def scores_by_broadcasting_in_float32(query, key):
    query, key = query.astype(np.float32), key.astype(np.float32)
    products = query[:, :, None, :] * key[:, None, :, :]
    return products.sum(axis=-1) / np.float32(np.sqrt(query.shape[-1]))


@BANK.right_for("scores")
def scores_scaled_before_the_product(query, key):
    return (query / np.sqrt(query.shape[-1])) @ key.swapaxes(-1, -2)


@BANK.right_for("scores")
def scores_with_half_the_scale_on_each_side(query, key):
    root = query.shape[-1] ** 0.25
    return (query / root) @ (key / root).swapaxes(-1, -2)


# scores: wrong


@BANK.wrong_for("scores", names="unscaled")
def scores_without_scale(query, key):
    return query @ key.transpose(0, 2, 1)


@BANK.wrong_for("scores", names="by_d_k")
def scores_divided_by_d_k(query, key):
    return query @ key.transpose(0, 2, 1) / query.shape[-1]


@BANK.wrong_for("scores", names="times_root")
def scores_times_root(query, key):
    return query @ key.transpose(0, 2, 1) * np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="by_len_k")
def scores_by_key_length(query, key):
    return query @ key.transpose(0, 2, 1) / np.sqrt(key.shape[1])


@BANK.wrong_for("scores", names="by_len_q")
def scores_by_query_length(query, key):
    return query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[1])


@BANK.wrong_for("scores", names="by_root_of_batch")
def scores_by_batch_size(query, key):
    return query @ key.transpose(0, 2, 1) / math.sqrt(len(query))


@BANK.wrong_for("scores", names="by_half")
def scores_precedence_in_parentheses(query, key):
    return query @ key.transpose(0, 2, 1) / (query.shape[-1] ** 1 / 2)


@BANK.wrong_for("scores", names="by_double")
def scores_precedence(query, key):
    d_k = query.shape[-1]
    return query @ key.transpose(0, 2, 1) / d_k**1 / 2


@BANK.wrong_for("scores", names="cosine")
def scores_as_cosine(query, key):
    q = query / np.sqrt((query**2).sum(-1, keepdims=True))
    k = key / np.sqrt((key**2).sum(-1, keepdims=True))
    return q @ k.swapaxes(1, 2)


@BANK.wrong_for("scores", names="transposed")
def scores_keys_as_rows(query, key):
    return key @ query.transpose(0, 2, 1) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="weights_already")
def scores_after_softmax(query, key):
    s = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
    return np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)


@BANK.wrong_for("scores", names="raised axes_of_matmul")
def scores_without_transpose(query, key):
    return query @ key / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="raised axes_of_matmul")
def scores_batch_dot_t(query, key):
    return query @ key.T / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="torn")
def scores_by_reshape(query, key):
    batch, len_k, d_k = key.shape
    return query @ key.reshape(batch, d_k, len_k) / np.sqrt(d_k)


@BANK.wrong_for("scores", names="every_pair")
def scores_with_np_dot(query, key):
    return np.dot(query, key.transpose(0, 2, 1)) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="summed_batch")
def scores_sum_over_batch(query, key):
    return np.einsum("bqd,bkd->qk", query, key) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="all_batches")
def scores_batch_mixed_in_einsum(query, key):
    return np.einsum("bqd,ckd->bqk", query, key) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="other_batch")
def scores_batch_reversed(query, key):
    return query @ key[::-1].transpose(0, 2, 1) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="first_only entry")
def scores_with_keys_of_the_first(query, key):
    return query @ key[0].T / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="distances")
def scores_as_distances(query, key):
    return np.sqrt(((query[:, :, None] - key[:, None]) ** 2).sum(axis=-1))


@BANK.wrong_for("scores", names="raised broadcast_together")
def scores_elementwise(query, key):
    return (query * key).sum(axis=-1) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="integers_like_input", of="integers")
def scores_into_integer_array(query, key):
    result = np.zeros((len(query), query.shape[1], key.shape[1]), dtype=query.dtype)
    for b in range(len(query)):
        result[b] = query[b] @ key[b].T / np.sqrt(query.shape[-1])
    return result


@BANK.wrong_for("scores", names="cut_to_integers", of="integers")
def scores_as_int(query, key):
    return (query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])).astype(int)


@BANK.wrong_for("scores", names="by_eight")
def scores_for_64_features(query, key):
    return query @ key.transpose(0, 2, 1) / 8


@BANK.wrong_for("scores", names="in_place")
def scores_scales_the_query_in_place(query, key):
    query *= query.shape[-1] ** -0.5
    return query @ key.transpose(0, 2, 1)


@BANK.wrong_for("scores", names="none")
def scores_without_return(query, key):
    np.einsum("bqd,bkd->bqk", query, key) / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", names="rounded")
def scores_rounded(query, key):
    return np.round(query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1]), 3)


@BANK.wrong_for("scores", names="differs sizes")
def scores_scale_from_the_printed_shapes(query, key):
    return query @ key.transpose(0, 2, 1) / np.sqrt(7)


@BANK.wrong_for("scores", symptom="differs entry")
def scores_hard_coded_root_of_eight(query, key):
    return query @ key.transpose(0, 2, 1) / np.sqrt(8)


@BANK.wrong_for("scores", symptom="shape")
def scores_forgets_the_sum(query, key):
    return query[:, :, None] * key[:, None] / np.sqrt(query.shape[-1])


@BANK.wrong_for("scores", symptom="differs entry")
def scores_zeros_of_the_right_shape(query, key):
    return np.zeros((query.shape[0], query.shape[1], key.shape[1]))


@BANK.wrong_for("scores", symptom="raised entry")
def scores_misspelt(query, key):
    return query @ key.swapaxis(-1, -2) / np.sqrt(query.shape[-1])


# attention: right


@BANK.right_for("attention")
def attention_vectorised(query, key, value):
    weights = softmax_vectorised(scores_with_matmul(query, key))
    return weights @ value, weights


@BANK.right_for("attention")
def attention_in_loops(query, key, value):
    all_outputs, all_weights = [], []
    for queries, keys, values in zip(query, key, value, strict=True):
        outputs, weights = [], []
        for q in queries:
            scores = [sum(a * b for a, b in zip(q, k, strict=True)) for k in keys]
            scores = [s / math.sqrt(len(q)) for s in scores]
            e = [math.exp(s - max(scores)) for s in scores]
            row = [x / sum(e) for x in e]
            weights.append(row)
            columns = zip(*values, strict=True)
            outputs.append([sum(w * v for w, v in zip(row, c, strict=True)) for c in columns])
        all_outputs.append(outputs)
        all_weights.append(weights)
    return np.array(all_outputs), np.array(all_weights)


@BANK.right_for("attention")
def attention_with_einsum(query, key, value):
    scores = np.einsum("bqd,bkd->bqk", query, key) / key.shape[-1] ** 0.5
    weights = np.exp(scores - np.max(scores, axis=2, keepdims=True))
    weights = weights / np.einsum("bqk->bq", weights)[:, :, None]
    return [np.einsum("bqk,bkv->bqv", weights, value), weights]


@BANK.right_for("attention")
def attention_in_float32(query, key, value):
    query, key, value = (a.astype(np.float32) for a in (query, key, value))
    scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(key.shape[-1]))
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ value, weights


@BANK.right_for("attention")
def attention_divides_at_the_end(query, key, value):
    scores = (query / np.sqrt(query.shape[-1])) @ key.swapaxes(1, 2)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = e.sum(axis=-1, keepdims=True)
    return attnbook.AttentionOutput(output=(e @ value) / total, weights=e / total)


@BANK.right_for("attention")
def attention_of_the_package(query, key, value):
    return attnbook.scaled_dot_product_attention(query, key, value)


# attention: wrong


def mix(weights, value):
    return weights @ value, weights


@BANK.wrong_for("attention", names="unscaled")
def attention_without_scale(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2)), value)


@BANK.wrong_for("attention", names="by_d_k")
def attention_divided_by_d_k(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) / key.shape[-1]), value)


@BANK.wrong_for("attention", names="times_root")
def attention_times_root(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) * key.shape[-1] ** 0.5), value)


@BANK.wrong_for("attention", names="by_d_v")
def attention_scaled_by_value_size(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) / np.sqrt(value.shape[-1])), value)


@BANK.wrong_for("attention", names="by_len_k")
def attention_scaled_by_length(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) / np.sqrt(key.shape[1])), value)


@BANK.wrong_for("attention", names="by_double")
def attention_precedence(query, key, value):
    scores = query @ key.swapaxes(1, 2) / key.shape[-1] ** 1 / 2
    return mix(softmax_vectorised(scores), value)


@BANK.wrong_for("attention", names="scaled_late")
def attention_scales_after_softmax(query, key, value):
    weights = softmax_vectorised(query @ key.swapaxes(1, 2)) / np.sqrt(key.shape[-1])
    return mix(weights, value)


@BANK.wrong_for("attention", names="over_queries")
def attention_softmax_over_queries(query, key, value):
    scores = scores_with_matmul(query, key)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return mix(e / e.sum(axis=1, keepdims=True), value)


@BANK.wrong_for("attention", names="over_batch")
def attention_softmax_over_batch(query, key, value):
    e = np.exp(scores_with_matmul(query, key))
    return mix(e / e.sum(axis=0), value)


@BANK.wrong_for("attention", names="sum_of_all")
def attention_softmax_over_everything(query, key, value):
    e = np.exp(scores_with_matmul(query, key))
    return mix(e / e.sum(), value)


@BANK.wrong_for("attention", names="no_softmax")
def attention_without_softmax(query, key, value):
    return mix(scores_with_matmul(query, key), value)


@BANK.wrong_for("attention", names="overflow")
def attention_without_maximum(query, key, value):
    e = np.exp(scores_with_matmul(query, key))
    return mix(e / e.sum(-1, keepdims=True), value)


@BANK.wrong_for("attention", names="hard")
def attention_hard(query, key, value):
    best = scores_with_matmul(query, key).argmax(axis=-1)
    return mix(np.eye(key.shape[1])[best], value)


@BANK.wrong_for("attention", names="uniform")
def attention_mean(query, key, value):
    weights = np.ones((len(query), query.shape[1], key.shape[1])) / key.shape[1]
    return mix(weights, value)


@BANK.wrong_for("attention", names="cosine")
def attention_by_cosine(query, key, value):
    return mix(softmax_vectorised(scores_as_cosine(query, key)), value)


@BANK.wrong_for("attention", names="unmixed")
def attention_returns_value(query, key, value):
    return value, softmax_vectorised(scores_with_matmul(query, key))


@BANK.wrong_for("attention", names="mixed_keys")
def attention_mixes_keys(query, key, value):
    return mix(softmax_vectorised(scores_with_matmul(query, key)), key)


@BANK.wrong_for("attention", names="swapped")
def attention_weights_first(query, key, value):
    output, weights = attention_vectorised(query, key, value)
    return weights, output


@BANK.wrong_for("attention", names="output_alone")
def attention_output_only(query, key, value):
    return softmax_vectorised(scores_with_matmul(query, key)) @ value


@BANK.wrong_for("attention", names="weights_alone")
def attention_weights_only(query, key, value):
    return softmax_vectorised(scores_with_matmul(query, key))


@BANK.wrong_for("attention", names="scores_given")
def attention_returns_scores(query, key, value):
    scores = scores_with_matmul(query, key)
    return softmax_vectorised(scores) @ value, scores


@BANK.wrong_for("attention", names="raised axes_of_matmul")
def attention_batch_dot_t(query, key, value):
    return mix(softmax_vectorised(query @ key.T / np.sqrt(key.shape[-1])), value)


@BANK.wrong_for("attention", names="torn")
def attention_by_reshape(query, key, value):
    return mix(softmax_vectorised(scores_by_reshape(query, key)), value)


@BANK.wrong_for("attention", names="in_place")
def attention_scales_the_query_in_place(query, key, value):
    query /= np.sqrt(query.shape[-1])
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2)), value)


@BANK.wrong_for("attention", names="raised broadcast_together")
def attention_without_keepdims(query, key, value):
    scores = scores_with_matmul(query, key)
    e = np.exp(scores - scores.max(axis=-1))
    return mix(e / e.sum(axis=-1), value)


@BANK.wrong_for("attention", names="first_only step_by_step")
def attention_of_the_first_sequence(query, key, value):
    output, weights = attention_vectorised(query[:1], key[:1], value[:1])
    return np.repeat(output, len(query), axis=0), np.repeat(weights, len(query), axis=0)


@BANK.wrong_for("attention", names="others_right differs step_by_step")
def attention_scales_the_output_too(query, key, value):
    weights = softmax_vectorised(scores_with_matmul(query, key))
    return weights @ value / np.sqrt(key.shape[-1]), weights


@BANK.wrong_for("attention", names="differs sizes")
def attention_scale_from_the_printed_shapes(query, key, value):
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) / np.sqrt(7)), value)


@BANK.wrong_for("attention", names="other_batch_mixed")
def attention_with_values_of_another(query, key, value):
    weights = softmax_vectorised(scores_with_matmul(query, key))
    return weights @ np.roll(value, 1, axis=0), weights


@BANK.wrong_for("attention", names="rounded")
def attention_rounded(query, key, value):
    output, weights = attention_vectorised(query, key, value)
    return output.round(3), weights.round(3)


@BANK.wrong_for("attention", names="none")
def attention_without_return(query, key, value):
    attention_vectorised(query, key, value)


@BANK.wrong_for("attention", symptom="differs step_by_step")
def attention_at_temperature_two(query, key, value):
    return mix(softmax_vectorised(scores_with_matmul(query, key) / 2), value)


@BANK.wrong_for("attention", symptom="count")
def attention_list_in_a_list(query, key, value):
    return [[*attention_vectorised(query, key, value)]]


@BANK.wrong_for("attention", symptom="shape swapped_axes")
def attention_output_transposed(query, key, value):
    weights = softmax_vectorised(scores_with_matmul(query, key))
    return np.einsum("bqk,bkv->bvq", weights, value), weights


@BANK.wrong_for("attention", symptom="kind")
def attention_without_weights(query, key, value):
    return attention_vectorised(query, key, value)[0], None


def attention_weighed(weigh, query, key, value):
    """Return the attention whose weights are made somehow of right scores."""
    return mix(weigh(scores_with_matmul(query, key)), value)


def attention_scaled(scale, query, key, value):
    """Return the attention whose scores are divided by some number."""
    return mix(softmax_vectorised(query @ key.swapaxes(1, 2) / scale(query, key)), value)


def attention_mixed(combine, query, key, value):
    """Return the right weights, with an output that is made somehow of scores and values."""
    scores = scores_with_matmul(query, key)
    return combine(scores, value), softmax_vectorised(scores)


BANK.vary(
    "attention",
    attention_scaled,
    by_whole_root=lambda query, key: int(np.sqrt(key.shape[-1])),
    by_half=lambda query, key: key.shape[-1] / 2,
    by_eight=lambda query, key: 8,
    by_len_q=lambda query, key: np.sqrt(query.shape[1]),
)
BANK.vary(
    "attention",
    attention_weighed,
    no_exponential=lambda s: s / s.sum(axis=-1, keepdims=True),
    no_sum=lambda s: np.exp(s - s.max(axis=-1, keepdims=True)),
    bare=np.exp,
    turned=lambda s: softmax_vectorised(-s),
)
BANK.vary(
    "attention",
    attention_mixed,
    mixed_by_scores=lambda s, value: s @ value,
    mixed_by_best=lambda s, value: np.eye(s.shape[-1])[s.argmax(axis=-1)] @ value,
    mean_of_mixed=lambda s, value: softmax_vectorised(s) @ value / value.shape[1],
)


@BANK.wrong_for("attention", names="mixed_by_unscaled")
def attention_mixed_before_the_scale(query, key, value):
    scores = query @ key.swapaxes(1, 2)
    return softmax_vectorised(scores) @ value, softmax_vectorised(scores / np.sqrt(key.shape[-1]))


# causal: right


@BANK.right_for("causal")
def causal_weights_with_tril(scores):
    len_q, len_k = scores.shape[-2:]
    allowed = np.tril(np.ones((len_q, len_k), dtype=bool), k=len_k - len_q)
    return softmax_vectorised(np.where(allowed, scores, -np.inf))


@BANK.right_for("causal")
def causal_weights_in_loops(scores):
    batch, len_q, len_k = scores.shape
    weights = np.zeros(scores.shape)
    for b in range(batch):
        for i in range(len_q):
            seen = len_k - len_q + i + 1
            largest = max(scores[b, i, :seen])
            e = [math.exp(s - largest) for s in scores[b, i, :seen]]
            weights[b, i, :seen] = [x / sum(e) for x in e]
    return weights


@BANK.right_for("causal")
def causal_weights_by_positions(scores):
    key_position = np.arange(scores.shape[2])
    query_position = key_position[-scores.shape[1] :]
    future = key_position[None, :] > query_position[:, None]
    filled = scores.astype(float)
    filled[:, future] = -np.inf
    return softmax_vectorised(filled)


@BANK.right_for("causal")
def causal_weights_adds_minus_a_billion(scores):
    _, len_q, len_k = scores.shape
    bias = np.triu(np.full((len_q, len_k), -1e9), k=1 + len_k - len_q)
    return softmax_vectorised(scores + bias)


@BANK.right_for("causal")
def causal_weights_in_float32(scores):
    _, len_q, len_k = scores.shape
    future = np.triu(np.ones((len_k, len_k)), k=1)[-len_q:] == 1
    return softmax_vectorised(np.where(future, np.float32(-np.inf), scores.astype(np.float32)))


@BANK.right_for("causal")
def causal_weights_with_the_package(scores):
    len_q, len_k = scores.shape[-2:]
    mask = attnbook.causal_mask(len_k)[len_k - len_q :]
    return attnbook.softmax(np.where(mask, scores, -np.inf))


# causal: wrong


def causal_allowed(scores, k=0):
    len_q, len_k = scores.shape[-2:]
    return np.tril(np.ones((len_q, len_k)), k=len_k - len_q + k) == 1


@BANK.wrong_for("causal", names="no_mask")
def causal_weights_without_mask(scores):
    return softmax_vectorised(scores)


@BANK.wrong_for("causal", names="upper")
def causal_weights_upper_triangle(scores):
    len_q, len_k = scores.shape[-2:]
    allowed = np.triu(np.ones((len_q, len_k)), k=len_k - len_q)
    return softmax_vectorised(np.where(allowed == 1, scores, -np.inf))


@BANK.wrong_for("causal", names="inverted_nan")
def causal_weights_inverted(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), -np.inf, scores))


@BANK.wrong_for("causal", names="inverted")
def causal_weights_inverted_with_a_large_number(scores):
    return np.nan_to_num(causal_weights_inverted(scores))


@BANK.wrong_for("causal", names="without_itself")
def causal_weights_not_itself(scores):
    return softmax_vectorised(np.where(causal_allowed(scores, -1), scores, -np.inf))


@BANK.wrong_for("causal", names="one_ahead")
def causal_weights_sees_the_next(scores):
    return softmax_vectorised(np.where(causal_allowed(scores, 1), scores, -np.inf))


@BANK.wrong_for("causal", names="aligned_first")
def causal_weights_aligned_with_the_first_keys(scores):
    masked = np.where(np.tril(np.ones(scores.shape[-2:])) == 1, scores, -np.inf)
    return softmax_vectorised(masked)


@BANK.wrong_for("causal", names="aligned_first")
def causal_weights_triu_of_ones_without_offset(scores):
    future = np.triu(np.ones_like(scores), k=1).astype(bool)
    return softmax_vectorised(np.where(future, -1e9, scores))


@BANK.wrong_for("causal", names="mask_after")
def causal_weights_mask_after_softmax(scores):
    return softmax_vectorised(scores) * causal_allowed(scores)


@BANK.wrong_for("causal", names="masked_maximum")
def causal_weights_renormalised_after_softmax(scores):
    weights = softmax_vectorised(scores) * causal_allowed(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


@BANK.wrong_for("causal", names="zero_fill")
def causal_weights_zeros_for_masked(scores):
    return softmax_vectorised(np.tril(scores, k=scores.shape[2] - scores.shape[1]))


@BANK.wrong_for("causal", names="added_mask")
def causal_weights_adds_the_mask(scores):
    return softmax_vectorised(scores + causal_allowed(scores))


@BANK.wrong_for("causal", names="running_mean")
def causal_weights_running_mean(scores):
    allowed = causal_allowed(scores)
    weights = allowed / allowed.sum(axis=-1, keepdims=True)
    return np.broadcast_to(weights, scores.shape)


@BANK.wrong_for("causal", names="hard")
def causal_weights_hard(scores):
    best = np.where(causal_allowed(scores), scores, -np.inf).argmax(axis=-1)
    return np.eye(scores.shape[-1])[best]


@BANK.wrong_for("causal", names="over_queries")
def causal_weights_softmax_over_queries(scores):
    e = np.exp(np.where(causal_allowed(scores), scores, -np.inf))
    return e / e.sum(axis=-2, keepdims=True)


@BANK.wrong_for("causal", names="zero_is_masked")
def causal_weights_takes_zero_for_masked(scores):
    lower = np.tril(scores, k=scores.shape[2] - scores.shape[1])
    lower[lower == 0] = -np.inf
    return softmax_vectorised(lower)


@BANK.wrong_for("causal", names="in_place")
def causal_weights_in_place(scores):
    scores[:, ~causal_allowed(scores)] = -np.inf
    return softmax_vectorised(scores)


@BANK.wrong_for("causal", names="leak number_for_inf")
def causal_weights_fill_of_minus_hundred(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), scores, -100))


@BANK.wrong_for("causal", names="leak maximum_allowed")
def causal_weights_fill_of_minus_ten_thousand(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), scores, -1e4))


@BANK.wrong_for("causal", names="leak maximum_allowed")
def causal_weights_adding_minus_ten_thousand(scores):
    return softmax_vectorised(scores + np.where(causal_allowed(scores), 0, -1e4))


@BANK.wrong_for("causal", names="leak number_for_inf")
def causal_weights_fill_below_the_minimum(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), scores, scores.min() - 30))


@BANK.wrong_for("causal", names="far_scores")
def causal_weights_without_maximum(scores):
    e = np.exp(scores) * causal_allowed(scores)
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("causal", names="masked_maximum")
def causal_weights_maximum_of_masked_keys(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * causal_allowed(scores)
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("causal", names="offset_turned")
def causal_weights_offset_sign(scores):
    _, len_q, len_k = scores.shape
    allowed = np.tril(np.ones((len_q, len_k), dtype=bool), k=len_q - len_k)
    return softmax_vectorised(np.where(allowed, scores, -np.inf))


@BANK.wrong_for("causal", names="no_softmax")
def causal_weights_only_masks(scores):
    return np.where(causal_allowed(scores), scores, -np.inf)


@BANK.wrong_for("causal", names="none")
def causal_weights_without_return(scores):
    softmax_vectorised(np.where(causal_allowed(scores), scores, -np.inf))


@BANK.wrong_for("causal", names="raised mask_shape")
def causal_weights_square_mask_only(scores):
    mask = np.tril(np.ones((scores.shape[-1], scores.shape[-1]), dtype=bool))
    return softmax_vectorised(np.where(mask, scores, -np.inf))


@BANK.wrong_for("causal", names="raised mask_shape")
def causal_weights_mask_of_the_package(scores):
    mask = np.broadcast_to(attnbook.causal_mask(scores.shape[-1]), scores.shape)
    return softmax_vectorised(np.where(mask, scores, -np.inf))


@BANK.wrong_for("causal", names="raised mask_shape")
def causal_weights_adds_a_square_of_minus_infinity(scores):
    len_k = scores.shape[-1]
    return softmax_vectorised(scores + np.triu(np.full((len_k, len_k), -np.inf), k=1))


@BANK.wrong_for("causal", names="raised mask_shape")
def causal_weights_square_of_the_queries(scores):
    future = np.triu(np.ones((scores.shape[1], scores.shape[1]), dtype=bool), k=1)
    return softmax_vectorised(np.where(future, -np.inf, scores))


@BANK.wrong_for("causal", names="raised mask_shape")
def causal_weights_square_mask_as_an_index(scores):
    scores = scores.copy()
    scores[:, ~np.tri(scores.shape[2], dtype=bool)] = -np.inf
    return softmax_vectorised(scores)


@BANK.wrong_for("causal", names="raised boolean_index")
def causal_weights_mask_as_an_index_of_the_batch(scores):
    scores = scores.copy()
    scores[~causal_allowed(scores)] = -np.inf
    return softmax_vectorised(scores)


@BANK.wrong_for("causal", names="raised broadcast_together")
def causal_weights_without_keepdims(scores):
    e = np.exp(np.where(causal_allowed(scores), scores, -np.inf))
    return e / e.sum(axis=-1)


@BANK.wrong_for("causal", symptom="leak aligned_last")
def causal_weights_offset_copied_from_an_example(scores):
    mask = np.tril(np.ones(scores.shape[-2:], dtype=bool), k=2)
    return softmax_vectorised(np.where(mask, scores, -np.inf))


@BANK.wrong_for("causal", symptom="leak aligned_last")
def causal_weights_flipped(scores):
    return softmax_vectorised(np.where(causal_allowed(scores)[:, ::-1], scores, -np.inf))


@BANK.wrong_for("causal", symptom="shape")
def causal_weights_returns_the_mask(scores):
    return causal_allowed(scores)


@BANK.wrong_for("causal", symptom="shape")
def causal_weights_only_square_part(scores):
    part = scores[:, :, -scores.shape[1] :]
    return softmax_vectorised(np.where(np.tri(scores.shape[1], dtype=bool), part, -np.inf))


@BANK.wrong_for("causal", names="one_fill")
def causal_weights_filled_with_ones(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), scores, 1))


@BANK.wrong_for("causal", names="no_sum")
def causal_weights_not_divided(scores):
    masked = np.where(causal_allowed(scores), scores, -np.inf)
    return np.exp(masked - masked.max(axis=-1, keepdims=True))


@BANK.wrong_for("causal", names="bare")
def causal_weights_of_bare_exponentials(scores):
    return np.exp(np.where(causal_allowed(scores), scores, -np.inf))


# masked-softmax: right


@BANK.right_for("masked-softmax")
def masked_softmax_with_minus_infinity(scores, mask):
    filled = np.where(mask, scores, -np.inf)
    largest = filled.max(axis=-1, keepdims=True)
    e = np.exp(filled - np.where(np.isinf(largest), 0, largest))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


@BANK.right_for("masked-softmax")
def masked_softmax_in_loops(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros(scores.shape)
    for b in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            allowed = [j for j in range(scores.shape[2]) if mask[b, i, j]]
            if not allowed:
                continue
            largest = max(scores[b, i, j] for j in allowed)
            total = sum(math.exp(scores[b, i, j] - largest) for j in allowed)
            for j in allowed:
                weights[b, i, j] = math.exp(scores[b, i, j] - largest) / total
    return weights


@BANK.right_for("masked-softmax")
def masked_softmax_with_nan_to_num(scores, mask):
    return np.nan_to_num(softmax_vectorised(np.where(mask, scores, -np.inf)))


@BANK.right_for("masked-softmax")
def masked_softmax_with_a_large_fill_then_zeros(scores, mask):
    return softmax_vectorised(np.where(mask, scores, -1e9)) * mask


@BANK.right_for("masked-softmax")
def masked_softmax_in_float32_with_epsilon(scores, mask):
    scores = scores.astype(np.float32)
    largest = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-1e30)
    e = np.exp(np.where(mask, scores - largest, -np.inf))
    return e / (e.sum(axis=-1, keepdims=True) + 1e-9)


@BANK.right_for("masked-softmax")
def masked_softmax_with_the_package(scores, mask):
    return attnbook.softmax(np.where(mask, scores, -np.inf))


# masked-softmax: wrong


@BANK.wrong_for("masked-softmax", names="no_mask")
def masked_softmax_without_mask(scores, mask):
    return softmax_vectorised(scores)


@BANK.wrong_for("masked-softmax", names="inverted")
def masked_softmax_inverted(scores, mask):
    return softmax_vectorised(np.where(mask, -np.inf, scores))


@BANK.wrong_for("masked-softmax", names="mask_after")
def masked_softmax_after_softmax(scores, mask):
    return softmax_vectorised(scores) * mask


@BANK.wrong_for("masked-softmax", names="empty_nan")
def masked_softmax_renormalised_after_softmax(scores, mask):
    weights = softmax_vectorised(scores) * mask
    return weights / weights.sum(axis=-1, keepdims=True)


@BANK.wrong_for("masked-softmax", names="masked_maximum")
def masked_softmax_maximum_of_masked_keys(scores, mask):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@BANK.wrong_for("masked-softmax", names="far_scores")
def masked_softmax_without_maximum(scores, mask):
    e = np.where(mask, np.exp(scores), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@BANK.wrong_for("masked-softmax", names="zero_fill")
def masked_softmax_multiplies(scores, mask):
    return softmax_vectorised(scores * mask)


@BANK.wrong_for("masked-softmax", names="zero_fill")
def masked_softmax_filled_with_zero(scores, mask):
    return softmax_vectorised(np.where(mask, scores, 0))


@BANK.wrong_for("masked-softmax", names="added_mask")
def masked_softmax_adds_the_mask(scores, mask):
    return softmax_vectorised(scores + mask)


@BANK.wrong_for("masked-softmax", names="empty_uniform")
def masked_softmax_filled_with_a_large_number(scores, mask):
    return softmax_vectorised(np.where(mask, scores, -1e9))


@BANK.wrong_for("masked-softmax", names="empty_unmasked")
def masked_softmax_adds_a_large_number(scores, mask):
    return softmax_vectorised(scores + (1 - mask) * -1e9)


@BANK.wrong_for("masked-softmax", names="empty_nan")
def masked_softmax_empty_rows_are_nan(scores, mask):
    return softmax_vectorised(np.where(mask, scores, -np.inf))


@BANK.wrong_for("masked-softmax", names="over_queries")
def masked_softmax_softmax_over_queries(scores, mask):
    e = np.exp(np.where(mask, scores, -np.inf))
    return np.nan_to_num(e / e.sum(axis=-2, keepdims=True))


@BANK.wrong_for("masked-softmax", names="hard")
def masked_softmax_hard(scores, mask):
    best = np.where(mask, scores, -np.inf).argmax(axis=-1)
    return np.eye(scores.shape[-1])[best] * mask


@BANK.wrong_for("masked-softmax", names="uniform")
def masked_softmax_mean(scores, mask):
    weights = np.ones(scores.shape) * mask
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1)


@BANK.wrong_for("masked-softmax", names="zero_is_masked")
def masked_softmax_takes_zero_for_masked(scores, mask):
    kept = scores * mask
    return np.nan_to_num(softmax_vectorised(np.where(kept == 0, -np.inf, kept)))


@BANK.wrong_for("masked-softmax", names="in_place")
def masked_softmax_in_place(scores, mask):
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return np.nan_to_num(softmax_vectorised(scores))


@BANK.wrong_for("masked-softmax", names="raised boolean_index")
def masked_softmax_by_boolean_index(scores, mask):
    filled = scores.copy()
    filled[~mask] = -np.inf
    return np.nan_to_num(softmax_vectorised(filled))


@BANK.wrong_for("masked-softmax", names="mask_of_first_query")
def masked_softmax_with_the_mask_of_the_first_query(scores, mask):
    return np.nan_to_num(softmax_vectorised(np.where(mask[:, :1, :], scores, -np.inf)))


@BANK.wrong_for("masked-softmax", names="mask_of_first")
def masked_softmax_with_the_mask_of_the_first_sequence(scores, mask):
    return np.nan_to_num(softmax_vectorised(np.where(mask[0], scores, -np.inf)))


@BANK.wrong_for("masked-softmax", names="row_sum maximum_allowed")
def masked_softmax_fill_of_minus_ten_thousand_then_zeros(scores, mask):
    return softmax_vectorised(np.where(mask, scores, -1e4)) * mask


@BANK.wrong_for("masked-softmax", names="leak maximum_allowed")
def masked_softmax_adding_minus_ten_thousand_then_zeros(scores, mask):
    return softmax_vectorised(scores + np.where(mask, 0, -1e4)) * mask.any(axis=-1, keepdims=True)


@BANK.wrong_for("masked-softmax", names="no_sum")
def masked_softmax_without_sum(scores, mask):
    filled = np.where(mask, scores, -np.inf)
    return np.nan_to_num(np.exp(filled - filled.max(axis=-1, keepdims=True)))


@BANK.wrong_for("masked-softmax", names="no_softmax")
def masked_softmax_only_masks(scores, mask):
    return np.where(mask, scores, -np.inf)


@BANK.wrong_for("masked-softmax", names="none")
def masked_softmax_without_return(scores, mask):
    masked_softmax_with_nan_to_num(scores, mask)


@BANK.wrong_for("masked-softmax", names="nearly")
def masked_softmax_with_visible_epsilon(scores, mask):
    filled = np.where(mask, scores, -1e30)
    e = np.exp(filled - filled.max(axis=-1, keepdims=True)) * mask
    return e / (e.sum(axis=-1, keepdims=True) + 1e-3)


@BANK.wrong_for("masked-softmax", symptom="raised empty_row")
def masked_softmax_empty_rows_are_not_expected(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros(scores.shape)
    for index in np.ndindex(scores.shape[:2]):
        allowed = scores[index][mask[index]]
        e = np.exp(allowed - allowed.max())
        weights[index][mask[index]] = e / e.sum()
    return weights


@BANK.wrong_for("masked-softmax", symptom="masked_elements")
def masked_softmax_with_masked_arrays(scores, mask):
    kept = np.ma.masked_array(scores, mask=~np.broadcast_to(mask, scores.shape))
    e = np.exp(kept - kept.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@BANK.wrong_for("masked-softmax", symptom="differs true_may_attend")
def masked_softmax_with_the_mask_of_all_sequences(scores, mask):
    return np.nan_to_num(softmax_vectorised(np.where(mask.all(axis=0), scores, -np.inf)))


@BANK.wrong_for("masked-softmax", symptom="leak true_may_attend")
def masked_softmax_causal_instead(scores, mask):
    return causal_weights_with_tril(scores)


@BANK.wrong_for("masked-softmax", symptom="raised true_may_attend")
def masked_softmax_inverted_with_a_minus(scores, mask):
    return softmax_vectorised(np.where(-mask, -np.inf, scores))


@BANK.wrong_for("masked-softmax", symptom="row_sum empty_row")
def masked_softmax_drops_sequences_with_an_empty_row(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.nan_to_num(softmax_vectorised(np.where(mask, scores, -np.inf)))
    weights[~mask.any(axis=-1).all(axis=-1)] = 0
    return weights


@BANK.wrong_for("masked-softmax", names="one_fill")
def masked_softmax_filled_with_ones(scores, mask):
    return softmax_vectorised(np.where(mask, scores, 1))


@BANK.wrong_for("masked-softmax", names="bare")
def masked_softmax_of_bare_exponentials(scores, mask):
    return np.where(mask, np.exp(scores), 0)


# attention-share: right


@BANK.right_for("attention-share")
def share_from_parts(length, d_model, d_ff):
    projections = 4 * d_model**2
    products = 2 * length * d_model
    feed_forward = 2 * d_model * d_ff
    return (projections + products) / (projections + products + feed_forward)


@BANK.right_for("attention-share")
def share_cancelled(length, d_model, d_ff):
    return (2 * d_model + length) / (2 * d_model + length + d_ff)


@BANK.right_for("attention-share")
def share_of_the_whole_sequence(length, d_model, d_ff):
    attention = rest = 0
    for _ in range(4):
        attention += length * d_model * d_model
    attention += 2 * length * length * d_model
    for rows, columns in ((d_model, d_ff), (d_ff, d_model)):
        rest += length * rows * columns
    return np.float32(attention / (attention + rest))


@BANK.right_for("attention-share")
def share_from_the_rest(length, d_model, d_ff):
    return 1 - d_ff / (2 * d_model + length + d_ff)


# attention-share: wrong


@BANK.wrong_for("attention-share", names="percentage")
def share_in_percent(length, d_model, d_ff):
    return 100 * share_cancelled(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="no_projections")
def share_without_projections(length, d_model, d_ff):
    products = 2 * length * d_model
    return products / (products + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="products_alone")
def share_projections_on_the_other_side(length, d_model, d_ff):
    products = 2 * length * d_model
    return products / (products + 4 * d_model**2 + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="projections_alone")
def share_products_on_the_other_side(length, d_model, d_ff):
    projections = 4 * d_model**2
    return projections / (projections + 2 * length * d_model + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="three_projections")
def share_with_three_projections(length, d_model, d_ff):
    attention = 3 * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="one_product")
def share_with_scores_only(length, d_model, d_ff):
    attention = 4 * d_model**2 + length * d_model
    return attention / (attention + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="no_products")
def share_of_projections(length, d_model, d_ff):
    return 4 * d_model**2 / (4 * d_model**2 + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="always_four")
def share_copied_from_the_chapter(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 8 * d_model**2)


@BANK.wrong_for("attention-share", names="square")
def share_with_square_feed_forward(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * d_model**2)


@BANK.wrong_for("attention-share", names="four_times")
def share_four_times_too_wide(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * d_model * 4 * d_ff)


@BANK.wrong_for("attention-share", names="one_matrix")
def share_with_half_a_feed_forward(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + d_model * d_ff)


@BANK.wrong_for("attention-share", names="three_matrices")
def share_with_a_gated_feed_forward(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 3 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="both_inner")
def share_with_d_ff_squared_twice(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * d_ff**2)


@BANK.wrong_for("attention-share", names="inner_squared")
def share_with_d_ff_squared(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + d_ff**2)


@BANK.wrong_for("attention-share", names="lacks_d_model")
def share_with_d_ff_alone(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * d_ff)


@BANK.wrong_for("attention-share", names="rest")
def share_of_feed_forward(length, d_model, d_ff):
    feed_forward = 2 * d_model * d_ff
    return feed_forward / (4 * d_model**2 + 2 * length * d_model + feed_forward)


@BANK.wrong_for("attention-share", names="ratio")
def share_as_ratio(length, d_model, d_ff):
    return (4 * d_model**2 + 2 * length * d_model) / (2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="length_for_d_model")
def share_with_d_model_first(d_model, length, d_ff):
    return share_from_parts(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="d_model_for_d_ff")
def share_with_d_ff_second(length, d_ff, d_model):
    return share_from_parts(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="length_for_d_ff")
def share_backwards(d_ff, d_model, length):
    return share_from_parts(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="other_order")
def share_with_the_length_last(d_model, d_ff, length):
    return share_from_parts(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="integer_division")
def share_by_integer_division(length, d_model, d_ff):
    return (2 * d_model + length) // (2 * d_model + length + d_ff)


@BANK.wrong_for("attention-share", names="whole_lacks_products")
def share_of_a_whole_without_products(length, d_model, d_ff):
    return (4 * d_model**2 + 2 * length * d_model) / (4 * d_model**2 + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="length_twice")
def share_mixes_token_and_sequence(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length**2 * d_model
    return attention / (attention + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="products_not_times_length")
def share_mixes_sequence_and_token(length, d_model, d_ff):
    attention = 4 * length * d_model**2 + 2 * length * d_model
    return attention / (attention + 2 * length * d_model * d_ff)


@BANK.wrong_for("attention-share", names="one_token_to_all")
def share_of_attention_of_all_tokens(length, d_model, d_ff):
    attention = 4 * length * d_model**2 + 2 * length**2 * d_model
    return attention / (attention + 2 * d_model * d_ff)


@BANK.wrong_for("attention-share", names="count")
def share_as_a_count(length, d_model, d_ff):
    return 4 * d_model**2 + 2 * length * d_model


@BANK.wrong_for("attention-share", names="whole_lacks_the_rest")
def share_of_attention_in_attention(length, d_model, d_ff):
    attention = 4 * d_model**2 + 2 * length * d_model
    return attention / (4 * d_model**2 + 2 * length * d_model)


@BANK.wrong_for("attention-share", names="other_arguments")
def share_of_two_arguments(length, d_model):
    return (2 * d_model + length) / (6 * d_model + length)


@BANK.wrong_for("attention-share", names="none")
def share_without_return(length, d_model, d_ff):
    share_cancelled(length, d_model, d_ff)


@BANK.wrong_for("attention-share", names="rounded")
def share_rounded(length, d_model, d_ff):
    return round(share_cancelled(length, d_model, d_ff), 2)


@BANK.wrong_for("attention-share", names="differs sizes")
def share_for_one_width(length, d_model, d_ff):
    return (2 * 768 + length) / (2 * 768 + length + d_ff)


@BANK.wrong_for("attention-share", names="differs sizes")
def share_of_the_example(length, d_model, d_ff):
    return 2436 / 4436


@BANK.wrong_for("attention-share", symptom="kind")
def share_as_text(length, d_model, d_ff):
    return f"{share_cancelled(length, d_model, d_ff):.1%}"


@BANK.wrong_for("attention-share", symptom="differs per_token")
def share_missing_parentheses(length, d_model, d_ff):
    return 4 * d_model**2 + 2 * length * d_model / 4 * d_model**2 + 2 * d_model * d_ff


@BANK.wrong_for("attention-share", symptom="shape one_number")
def share_in_a_list(length, d_model, d_ff):
    return [share_cancelled(length, d_model, d_ff)]


# wrong in a way that course/bank.py lists


@BANK.wrong_for("softmax", names="hard_far", of="one_hot")
def softmax_one_hot_where_large(x):
    return one_hot_where_large(x)


@BANK.wrong_for("softmax", names="hard_far", of="one_hot")
def softmax_one_hot_above_a_hundred(x):
    soft = softmax_vectorised(x)
    large = np.abs(x).max(axis=-1, keepdims=True) > 100
    return np.where(large, soft == soft.max(axis=-1, keepdims=True), soft)


@BANK.wrong_for("softmax", names="underflow", of="one_sign")
def softmax_guarded_above(x):
    return guarded_above(x)


@BANK.wrong_for("softmax", names="raised any_axes", of="axes")
def softmax_in_two_loops(x):
    result = np.zeros(x.shape)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            e = np.exp(x[b, i] - max(x[b, i]))
            result[b, i] = e / sum(e)
    return result


@BANK.wrong_for("softmax", names="raised any_axes", of="axes")
def softmax_over_axis_two(x):
    e = np.exp(x - x.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)


@BANK.wrong_for("softmax", names="raised any_axes", of="axes")
def softmax_maximum_with_an_axis_put_back(x):
    e = np.exp(x - x.max(axis=-1)[:, :, None])
    return e / e.sum(axis=-1)[:, :, None]


@BANK.wrong_for("softmax", names="leak small_added", of="tolerance")
def softmax_plus_a_billionth(x):
    return softmax_vectorised(x) + 1e-9


@BANK.wrong_for("scores", names="by_whole_root")
def scores_by_the_whole_part_of_the_root(query, key):
    return query @ key.swapaxes(-1, -2) / int(np.sqrt(query.shape[-1]))


@BANK.wrong_for("attention", names="hard_far", of="one_hot")
def attention_one_hot_where_large(query, key, value):
    weights = one_hot_where_large(query @ key.swapaxes(1, 2) / np.sqrt(key.shape[-1]))
    return weights @ value, weights


@BANK.wrong_for("attention", names="underflow", of="one_sign")
def attention_guarded_above(query, key, value):
    weights = guarded_above(query @ key.swapaxes(1, 2) / np.sqrt(key.shape[-1]))
    return weights @ value, weights


@BANK.wrong_for("causal", names="hard_far", of="one_hot")
def causal_weights_one_hot_where_large(scores):
    return one_hot_where_large(np.where(causal_allowed(scores), scores, -np.inf))


@BANK.wrong_for("causal", names="underflow", of="one_sign")
def causal_weights_guarded_above(scores):
    return guarded_above(np.where(causal_allowed(scores), scores, -np.inf))


@BANK.wrong_for("causal", names="raised stored_as_integers", of="integers")
def causal_weights_fill_a_copy(scores):
    filled = scores.copy()
    filled[:, ~causal_allowed(scores)] = -np.inf
    return softmax_vectorised(filled)


def causal_mask_of_a_thousand(scores):
    len_q, len_k = scores.shape[-2:]
    return np.tril(np.ones((1000, 1000), dtype=bool))[len_k - len_q : len_k, :len_k]


@BANK.wrong_for("causal", names="raised long", of="table")
def causal_weights_from_a_fixed_mask(scores):
    return softmax_vectorised(np.where(causal_mask_of_a_thousand(scores), scores, -np.inf))


@BANK.wrong_for("causal", names="differs long", of="table")
def causal_weights_masked_up_to_a_thousand(scores):
    filled = np.array(scores, dtype=float)
    len_q, len_k = scores.shape[-2:]
    for i in range(len_q):
        filled[:, i, len_k - len_q + i + 1 : 1000] = -np.inf
        filled[:, i, 1000:] = -np.inf
    return softmax_vectorised(filled)


@BANK.wrong_for("masked-softmax", names="hard_far", of="one_hot")
def masked_softmax_one_hot_where_large(scores, mask):
    filled = np.where(mask, scores, -np.inf)
    if np.abs(scores).max() > 700:
        return np.eye(scores.shape[-1])[filled.argmax(axis=-1)] * mask
    return masked_softmax_with_minus_infinity(scores, mask)


@BANK.wrong_for("masked-softmax", names="underflow", of="one_sign")
def masked_softmax_guarded_above(scores, mask):
    return np.nan_to_num(guarded_above(np.where(mask, scores, -np.inf)))


@BANK.wrong_for("masked-softmax", names="raised few_axes", of="axes")
def masked_softmax_of_a_mask_with_two_axes(scores, mask):
    weights = np.zeros(scores.shape)
    for b, i in np.ndindex(*scores.shape[:2]):
        own = mask[b, i if mask.shape[1] > 1 else 0] if mask.ndim == 3 else mask[i, :]
        if own.any():
            e = np.exp(scores[b, i] - scores[b, i][own].max()) * own
            weights[b, i] = np.where(own, e, 0) / e[own].sum()
    return weights


@BANK.wrong_for("masked-softmax", names="raised boolean_index", of="mask")
def masked_softmax_finds_empty_rows_in_the_mask(scores, mask):
    weights = softmax_vectorised(np.where(mask, scores, -np.inf))
    weights[~mask.any(axis=-1)] = 0
    return weights


@BANK.wrong_for("masked-softmax", names="row_sum empty_sequence", of="mask")
def masked_softmax_loops_over_rows_of_the_mask(scores, mask):
    weights = softmax_vectorised(np.where(mask, scores, -1e9))
    for row in np.argwhere(~mask.any(axis=-1)):
        weights[tuple(row)] = 0
    return weights * mask if mask.shape == scores.shape else weights


@BANK.wrong_for("masked-softmax", names="leak number_for_inf", of="tolerance")
def masked_softmax_plus_a_billionth(scores, mask):
    return (masked_softmax_with_minus_infinity(scores, mask) + 1e-9) / (1 + 1e-9)


@BANK.wrong_for("causal", names="differs single")
def causal_weights_one_query_is_the_first(scores):
    _, len_q, len_k = scores.shape
    offset = len_k - len_q if len_q > 1 else 0
    return softmax_vectorised(np.where(np.tri(len_q, len_k, offset) > 0, scores, -np.inf))


@BANK.wrong_for("causal", names="leak maximum_allowed")
def causal_weights_filled_with_the_least_float16(scores):
    return softmax_vectorised(np.where(causal_allowed(scores), scores, -65504))


@BANK.wrong_for("softmax", names="leak small_added", of="tolerance")
def softmax_cuts_exponents_at_50(x):
    e = np.exp(np.clip(x - x.max(axis=-1, keepdims=True), -50, None))
    return e / e.sum(axis=-1, keepdims=True)


BANK.spoil(
    "squeeze", "shape lost_axis", "softmax", "scores", "attention", "causal", "masked-softmax"
)
BANK.spoil("tolerance", "rounded", "scores", "attention", "causal", "attention-share")
BANK.spoil("integers", "row_sum stored_as_integers", "attention", "causal", "masked-softmax")

BANK.never("one_hot one_sign", "it takes no softmax", "scores", "attention-share")
BANK.never("axes", "the statement says how many axes there are", "scores", "attention", "causal")
BANK.never("axes", "it gets numbers, not arrays", "attention-share")
BANK.never("integers", "it makes no array", "attention-share")
BANK.never("squeeze", "the result is one number", "attention-share")
BANK.never("table", "positions play no part", "softmax", "scores", "attention", "attention-share")
BANK.never("table", "the mask is given", "masked-softmax")
BANK.never("mask", "there is no mask", "softmax", "scores", "attention", "attention-share")
BANK.never("mask", "one mask serves all sequences", "causal")
