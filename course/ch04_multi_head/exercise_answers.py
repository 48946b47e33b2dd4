"""Answers to the exercises of the chapter Split one attention into many heads."""

from __future__ import annotations

import math

import numpy as np

import attnbook
from course.bank import Bank, guarded_above, one_hot_where_large

BANK = Bank()


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# split-heads: right


@BANK.right_for("split-heads")
def split_and_transpose(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(0, 2, 1, 3)


@BANK.right_for("split-heads")
def split_in_loops(x, num_heads):
    batch, length, d_model = x.shape
    head_dim = d_model // num_heads
    result = np.zeros((batch, num_heads, length, head_dim))
    for b in range(batch):
        for h in range(num_heads):
            for t in range(length):
                for d in range(head_dim):
                    result[b, h, t, d] = x[b, t, h * head_dim + d]
    return result


@BANK.right_for("split-heads")
def split_and_stack(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


@BANK.right_for("split-heads")
def split_of_slices(x, num_heads):
    size = x.shape[2] // num_heads
    return [[tokens[:, h * size : (h + 1) * size] for h in range(num_heads)] for tokens in x]


@BANK.right_for("split-heads")
def split_with_einsum(x, num_heads):
    return np.einsum("blhd->bhld", x.reshape(x.shape[:2] + (num_heads, -1)))


@BANK.right_for("split-heads")
def split_features_first(x, num_heads):
    batch, length, d_model = x.shape
    features = x.transpose(0, 2, 1)
    return features.reshape(batch, num_heads, d_model // num_heads, length).swapaxes(2, 3)


@BANK.right_for("split-heads")
def split_with_the_package(x, num_heads):
    return attnbook.split_heads(x, num_heads)


# split-heads: wrong


@BANK.wrong_for("split-heads", names="straight")
def split_without_transpose(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


@BANK.wrong_for("split-heads", names="heads_after_length")
def split_without_moving_heads(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1)


@BANK.wrong_for("split-heads", names="every_few")
def split_interleaved(x, num_heads):
    return np.stack([x[:, :, h::num_heads] for h in range(num_heads)], axis=1)


@BANK.wrong_for("split-heads", names="every_few")
def split_heads_last_in_the_reshape(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // num_heads, num_heads).transpose(0, 3, 1, 2)


@BANK.wrong_for("split-heads", names="sizes_swapped")
def split_into_head_dim_heads(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // num_heads, num_heads).transpose(0, 2, 1, 3)


@BANK.wrong_for("split-heads", names="sizes_swapped_every_few")
def split_moving_the_last_axis(x, num_heads):
    batch, length, _ = x.shape
    return np.moveaxis(x.reshape(batch, length, num_heads, -1), -1, 1)


@BANK.wrong_for("split-heads", names="heads_first")
def split_into_a_list(x, num_heads):
    return np.split(x, num_heads, axis=-1)


@BANK.wrong_for("split-heads", names="heads_last")
def split_stacked_last(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=2), axis=-1)


@BANK.wrong_for("split-heads", names="heads_and_batch")
def split_swapping_the_batch(x, num_heads):
    batch, length, _ = x.shape
    return x.reshape(batch, length, num_heads, -1).swapaxes(0, 2)


@BANK.wrong_for("split-heads", names="batch_second")
def split_length_first(x, num_heads):
    length, batch, _ = x.shape
    return x.reshape(length, batch, num_heads, -1).transpose(1, 2, 0, 3)


@BANK.wrong_for("split-heads", names="length_last")
def split_like_keys(x, num_heads):
    batch, length, _ = x.shape
    return x.reshape(batch, length, num_heads, -1).transpose(0, 2, 3, 1)


@BANK.wrong_for("split-heads", names="reversed_axes")
def split_all_reversed(x, num_heads):
    return x.reshape(*x.shape[:2], num_heads, -1).T


@BANK.wrong_for("split-heads", names="features_first")
def split_after_transpose(x, num_heads):
    batch, length, d_model = x.shape
    return x.transpose(0, 2, 1).reshape(batch, num_heads, length, d_model // num_heads)


@BANK.wrong_for("split-heads", names="batch_merged")
def split_into_the_batch(x, num_heads):
    batch, length, d_model = x.shape
    heads = x.reshape(batch, length, num_heads, -1).swapaxes(1, 2)
    return heads.reshape(batch * num_heads, length, d_model // num_heads)


@BANK.wrong_for("split-heads", names="batch_merged_torn")
def split_into_the_batch_by_reshape(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch * num_heads, length, d_model // num_heads)


@BANK.wrong_for("split-heads", names="batch_merged_last")
def split_concatenated(x, num_heads):
    return np.concatenate(np.split(x, num_heads, axis=2), axis=0)


@BANK.wrong_for("split-heads", names="length_merged")
def split_into_the_length(x, num_heads):
    return np.concatenate(np.split(x, num_heads, axis=2), axis=1)


@BANK.wrong_for("split-heads", names="copies")
def split_by_copies(x, num_heads):
    return np.stack([x] * num_heads, axis=1)


@BANK.wrong_for("split-heads", names="last_alone")
def split_overwritten(x, num_heads):
    for head in np.split(x, num_heads, axis=2):  # noqa: B007 - that is the mistake
        pass
    return head


@BANK.wrong_for("split-heads", names="one_alone")
def split_returning_from_the_loop(x, num_heads):
    size = x.shape[2] // num_heads
    for h in range(num_heads):
        return x[:, :, h * size : (h + 1) * size]


@BANK.wrong_for("split-heads", names="first_features")
def split_without_an_offset(x, num_heads):
    size = x.shape[-1] // num_heads
    return np.stack([x[..., :size] for _ in range(num_heads)], axis=1)


@BANK.wrong_for("split-heads", names="first_sequence")
def split_the_first(x, num_heads):
    return np.stack(np.split(x[0], num_heads, axis=-1))


@BANK.wrong_for("split-heads", names="raised axis")
def split_the_tokens(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=1), axis=1)


@BANK.wrong_for("split-heads", names="raised whole")
def split_with_a_float(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model / num_heads).swapaxes(1, 2)


@BANK.wrong_for("split-heads", names="raised size")
def split_without_dividing(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model).swapaxes(1, 2)


@BANK.wrong_for("split-heads", symptom="shape sizes")
def split_into_five(x, num_heads):
    batch, length, _ = x.shape
    return x.reshape(batch, length, 5, -1).swapaxes(1, 2)


@BANK.wrong_for("split-heads", names="shape lost_axis", of="squeeze")
def split_squeezed(x, num_heads):
    return np.stack(np.split(x, num_heads, axis=2), axis=1).squeeze()


@BANK.wrong_for("split-heads", names="in_place")
def split_in_place(x, num_heads):
    heads = x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
    heads *= heads.shape[-1] ** -0.5
    return heads


@BANK.wrong_for("split-heads", symptom="differs place")
def split_scaled(x, num_heads):
    return split_and_transpose(x, num_heads) * (x.shape[2] // num_heads) ** -0.5


@BANK.wrong_for("split-heads", symptom="none")
def split_without_return(x, num_heads):
    split_and_transpose(x, num_heads)


@BANK.wrong_for("split-heads", symptom="shape stray_comma")
def split_with_a_stray_comma(x, num_heads):
    return (split_and_transpose(x, num_heads),)


# merge-heads: right


@BANK.right_for("merge-heads")
def merge_by_transpose(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(batch, length, num_heads * head_dim)


@BANK.right_for("merge-heads")
def merge_in_loops(heads):
    batch, num_heads, length, head_dim = heads.shape
    result = np.empty((batch, length, num_heads * head_dim))
    for b in range(batch):
        for t in range(length):
            for h in range(num_heads):
                for d in range(head_dim):
                    result[b, t, h * head_dim + d] = heads[b, h, t, d]
    return result


@BANK.right_for("merge-heads")
def merge_by_concatenation(heads):
    return np.concatenate([heads[:, h] for h in range(heads.shape[1])], axis=-1)


@BANK.right_for("merge-heads")
def merge_sequence_by_sequence(heads):
    return np.stack([np.hstack(list(sequence)) for sequence in heads])


@BANK.right_for("merge-heads")
def merge_with_einsum(heads):
    moved = np.einsum("bhld->blhd", heads)
    return moved.reshape(*moved.shape[:2], -1)


@BANK.right_for("merge-heads")
def merge_token_by_token(heads):
    length = heads.shape[2]
    return [[sequence[:, t].ravel() for t in range(length)] for sequence in heads]


@BANK.right_for("merge-heads")
def merge_with_the_package(heads):
    return attnbook.merge_heads(heads)


# merge-heads: wrong


@BANK.wrong_for("merge-heads", names="unmoved")
def merge_by_reshape(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="in_turn")
def merge_interleaved(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="in_turn")
def merge_stacked_last(heads):
    stacked = np.stack([heads[:, h] for h in range(heads.shape[1])], axis=-1)
    return stacked.reshape(*stacked.shape[:2], -1)


@BANK.wrong_for("merge-heads", names="length_last")
def merge_after_swapping_the_last_axes(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.swapaxes(-1, -2).reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="heads_and_batch")
def merge_after_swapping_the_first_axes(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.swapaxes(0, 1).reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="reversed_axes")
def merge_after_T(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.T.reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="length_first")
def merge_length_first(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.transpose(2, 0, 1, 3).reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="in_reverse")
def merge_reversed(heads):
    return np.concatenate([heads[:, h] for h in reversed(range(heads.shape[1]))], axis=2)


@BANK.wrong_for("merge-heads", names="in_reverse")
def merge_prepending(heads):
    result = heads[:, 0]
    for h in range(1, heads.shape[1]):
        result = np.concatenate([heads[:, h], result], axis=2)
    return result


@BANK.wrong_for("merge-heads", names="along_length")
def merge_along_the_length(heads):
    return np.concatenate([heads[:, h] for h in range(heads.shape[1])], axis=1)


@BANK.wrong_for("merge-heads", names="two_axes")
def merge_without_reshape(heads):
    return heads.swapaxes(1, 2)


@BANK.wrong_for("merge-heads", names="sequences")
def merge_the_batch(heads):
    return np.concatenate(heads, axis=-1)


@BANK.wrong_for("merge-heads", names="batch")
def merge_without_an_axis(heads):
    return np.concatenate(heads)


@BANK.wrong_for("merge-heads", names="hstack")
def merge_with_hstack(heads):
    return np.hstack(heads)


@BANK.wrong_for("merge-heads", names="batch_second")
def merge_with_the_batch_second(heads):
    return [[sequence[:, t].ravel() for sequence in heads] for t in range(heads.shape[2])]


@BANK.wrong_for("merge-heads", names="rows_and_columns")
def merge_features_as_rows(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.transpose(0, 1, 3, 2).reshape(batch, num_heads * head_dim, length)


@BANK.wrong_for("merge-heads", names="added")
def merge_by_sum(heads):
    return heads.sum(axis=1)


@BANK.wrong_for("merge-heads", names="averaged")
def merge_by_mean(heads):
    return np.mean(heads, axis=1)


@BANK.wrong_for("merge-heads", names="largest")
def merge_by_maximum(heads):
    return heads.max(axis=1)


@BANK.wrong_for("merge-heads", names="first_alone")
def merge_the_first(heads):
    return heads[:, 0]


@BANK.wrong_for("merge-heads", names="last_alone")
def merge_overwritten(heads):
    for h in range(heads.shape[1]):
        result = heads[:, h]
    return result


@BANK.wrong_for("merge-heads", names="first_columns")
def merge_without_an_offset(heads):
    batch, num_heads, length, head_dim = heads.shape
    result = np.zeros((batch, length, num_heads * head_dim))
    for h in range(num_heads):
        result[:, :, :head_dim] = heads[:, h]
    return result


@BANK.wrong_for("merge-heads", names="all_columns")
def merge_filling_all(heads):
    batch, num_heads, length, head_dim = heads.shape
    result = np.zeros((batch, length, num_heads, head_dim))
    for h in range(num_heads):
        result[:] = heads[:, h][:, :, None]
    return result.reshape(batch, length, -1)


@BANK.wrong_for("merge-heads", names="first_sequence")
def merge_the_first_sequence(heads):
    return np.concatenate(heads[0], axis=-1)


@BANK.wrong_for("merge-heads", names="batch_and_length")
def merge_into_rows(heads):
    _, num_heads, _, head_dim = heads.shape
    return heads.swapaxes(1, 2).reshape(-1, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="one_row")
def merge_flattened(heads):
    return heads.reshape(heads.shape[0], -1)


@BANK.wrong_for("merge-heads", names="unchanged")
def merge_unchanged(heads):
    return heads


@BANK.wrong_for("merge-heads", names="raised both_sizes")
def merge_to_head_dim(heads):
    batch, _, length, head_dim = heads.shape
    return heads.swapaxes(1, 2).reshape(batch, length, head_dim)


@BANK.wrong_for("merge-heads", names="raised four_axes")
def merge_of_three_axes(heads):
    num_heads, length, head_dim = heads.shape
    return heads.swapaxes(0, 1).reshape(length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", names="raised heads_second")
def merge_the_batch_along_axis_3(heads):
    return np.concatenate(heads, axis=3)


@BANK.wrong_for("merge-heads", symptom="differs place")
def merge_with_sorted_axes(heads):
    batch, num_heads, length, head_dim = heads.shape
    return heads.transpose(3, 1, 0, 2).reshape(batch, length, num_heads * head_dim)


@BANK.wrong_for("merge-heads", symptom="none")
def merge_without_return(heads):
    merge_by_transpose(heads)


# multi-head: right


@BANK.right_for("multi-head")
def multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, d_model = x.shape
    head_dim = d_model // num_heads

    def split(y):
        return y.reshape(batch, length, num_heads, head_dim).transpose(0, 2, 1, 3)

    query, key, value = split(x @ w_q), split(x @ w_k), split(x @ w_v)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(head_dim))
    merged = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, d_model)
    return merged @ w_o, weights


@BANK.right_for("multi-head")
def multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads):
    size = x.shape[-1] // num_heads
    outputs, all_weights = [], []
    for h in range(num_heads):
        columns = slice(h * size, (h + 1) * size)
        query, key, value = x @ w_q[:, columns], x @ w_k[:, columns], x @ w_v[:, columns]
        weights = softmax(query @ key.transpose(0, 2, 1) / size**0.5)
        outputs.append(weights @ value)
        all_weights.append(weights)
    return np.concatenate(outputs, axis=-1) @ w_o, np.stack(all_weights, axis=1)


@BANK.right_for("multi-head")
def multi_head_with_einsum(x, w_q, w_k, w_v, w_o, num_heads):
    d_model = x.shape[2]
    w_q, w_k, w_v = (w.reshape(d_model, num_heads, -1) for w in (w_q, w_k, w_v))
    query, key, value = (np.einsum("blm,mhd->bhld", x, w) for w in (w_q, w_k, w_v))
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) / np.sqrt(query.shape[-1])
    weights = softmax(scores)
    w_o = w_o.reshape(num_heads, -1, d_model)
    return np.einsum("bhqk,bhkd,hdm->bqm", weights, value, w_o), weights


@BANK.right_for("multi-head")
def multi_head_as_a_sum_over_heads(x, w_q, w_k, w_v, w_o, num_heads):
    head_dim = x.shape[-1] // num_heads
    output, weights = np.zeros(x.shape), []
    for first in range(0, x.shape[-1], head_dim):
        part = np.s_[first : first + head_dim]
        scores = x @ (w_q[:, part] @ w_k[:, part].T) @ x.swapaxes(1, 2) / math.sqrt(head_dim)
        weights.append(softmax(scores))
        output += weights[-1] @ x @ (w_v[:, part] @ w_o[part])
    return output, np.stack(weights, 1)


@BANK.right_for("multi-head")
def multi_head_in_plain_loops(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, d_model = x.shape
    head_dim = d_model // num_heads
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    weights = np.zeros((batch, num_heads, length, length))
    merged = np.zeros(x.shape)
    for b in range(batch):
        for h in range(num_heads):
            own = range(h * head_dim, (h + 1) * head_dim)
            for i in range(length):
                scores = [sum(query[b, i, d] * key[b, j, d] for d in own) for j in range(length)]
                scores = [score / math.sqrt(head_dim) for score in scores]
                e = [math.exp(score - max(scores)) for score in scores]
                for j in range(length):
                    weights[b, h, i, j] = e[j] / sum(e)
                    merged[b, i, own] += weights[b, h, i, j] * value[b, j, own]
    return merged @ w_o, weights


@BANK.right_for("multi-head")
def multi_head_with_heads_in_the_batch(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, d_model = x.shape

    def split(y):
        y = y.reshape(batch, length, num_heads, -1).swapaxes(1, 2)
        return y.reshape(batch * num_heads, length, -1)

    output, weights = attnbook.scaled_dot_product_attention(
        *(split(x @ w) for w in (w_q, w_k, w_v))
    )
    output = output.reshape(batch, num_heads, length, -1).swapaxes(1, 2)
    return output.reshape(batch, length, d_model) @ w_o, weights.reshape(
        batch, num_heads, length, -1
    )


@BANK.right_for("multi-head")
def multi_head_with_the_package(x, w_q, w_k, w_v, w_o, num_heads):
    return attnbook.MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)(x)


# multi-head: wrong


def to_heads(y, num_heads):
    return np.stack(np.split(y, num_heads, axis=-1), axis=1)


def from_heads(heads):
    return np.concatenate(list(heads.swapaxes(0, 1)), axis=-1)


def heads_of(x, w_q, w_k, w_v, num_heads, split=to_heads):
    """Return query, key and value in heads, and the size of a head."""
    query, key, value = (split(x @ w, num_heads) for w in (w_q, w_k, w_v))
    return query, key, value, x.shape[-1] // num_heads


@BANK.wrong_for("multi-head", names="by_d_model")
def multi_head_scaled_by_d_model(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(x.shape[-1]))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="by_num_heads")
def multi_head_scaled_by_heads(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(num_heads))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="unscaled")
def multi_head_unscaled(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="split_by_reshape")
def multi_head_split_by_reshape(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, _ = x.shape
    query, key, value, size = heads_of(
        x, w_q, w_k, w_v, num_heads, lambda y, n: y.reshape(batch, n, length, -1)
    )
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="all_by_reshape")
def multi_head_without_any_transpose(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, d_model = x.shape
    shape = (batch, num_heads, length, d_model // num_heads)
    query, key, value = (x @ w_q).reshape(shape), (x @ w_k).reshape(shape), (x @ w_v).reshape(shape)
    weights = softmax(query @ key.transpose(0, 1, 3, 2) / np.sqrt(shape[-1]))
    return (weights @ value).reshape(x.shape) @ w_o, weights


@BANK.wrong_for("multi-head", names="merged_by_reshape")
def multi_head_merged_by_reshape(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return (weights @ value).reshape(x.shape) @ w_o, weights


@BANK.wrong_for("multi-head", names="heads_after_length")
def multi_head_attending_to_heads(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(
        x, w_q, w_k, w_v, num_heads, lambda y, n: y.reshape(*y.shape[:2], n, -1)
    )
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return (weights @ value).reshape(x.shape) @ w_o, weights


@BANK.wrong_for("multi-head", names="split_every_few")
def multi_head_interleaved_split(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(
        x, w_q, w_k, w_v, num_heads, lambda y, n: np.stack([y[..., h::n] for h in range(n)], 1)
    )
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="every_few")
def multi_head_interleaved(x, w_q, w_k, w_v, w_o, num_heads):
    merged, all_weights = np.zeros_like(x), []
    for h in range(num_heads):
        query, key, value = (x @ w[:, h::num_heads] for w in (w_q, w_k, w_v))
        weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
        merged[..., h::num_heads] = weights @ value
        all_weights.append(weights)
    return merged @ w_o, np.stack(all_weights, axis=1)


@BANK.wrong_for("multi-head", names="merged_in_turn")
def multi_head_stacked_last(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return np.einsum("bhld->bldh", weights @ value).reshape(x.shape) @ w_o, weights


@BANK.wrong_for("multi-head", names="in_reverse")
def multi_head_concatenated_in_reverse(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads((weights @ value)[:, ::-1]) @ w_o, weights


@BANK.wrong_for("multi-head", names="sizes_swapped")
def multi_head_with_swapped_sizes(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_reshape(x, w_q, w_k, w_v, w_o, x.shape[-1] // num_heads)


@BANK.wrong_for("multi-head", names="unmerged")
def multi_head_with_batch_and_heads_mixed(x, w_q, w_k, w_v, w_o, num_heads):
    batch, length, _ = x.shape
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    query, key, value = (y.reshape(-1, length, size) for y in (query, key, value))
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    output = (weights @ value).reshape(num_heads, batch, length, size)
    weights = weights.reshape(num_heads, batch, length, length)
    return np.concatenate(list(output), axis=-1) @ w_o, weights.swapaxes(0, 1)


@BANK.wrong_for("multi-head", names="weights_merged")
def multi_head_weights_still_in_the_batch(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)
    return output, weights.reshape(-1, *weights.shape[2:])


@BANK.wrong_for("multi-head", names="weights_heads_first")
def multi_head_weights_as_a_list(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads)
    return output, list(weights.swapaxes(0, 1))


@BANK.wrong_for("multi-head", names="weights_averaged")
def multi_head_averaged_weights(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_by_loop(x, w_q, w_k, w_v, w_o, num_heads)
    return output, weights.mean(axis=1)


@BANK.wrong_for("multi-head", names="weights_of_last")
def multi_head_last_weights(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    outputs = []
    for h in range(num_heads):
        weights = softmax(query[:, h] @ key[:, h].swapaxes(1, 2) / np.sqrt(size))
        outputs.append(weights @ value[:, h])
    return np.concatenate(outputs, axis=-1) @ w_o, weights


@BANK.wrong_for("multi-head", names="mixed_by_mean")
def multi_head_mixing_with_averaged_weights(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size)).mean(axis=1, keepdims=True)
    weights = np.broadcast_to(weights, (*query.shape[:3], query.shape[2]))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="over_heads")
def multi_head_softmax_over_heads(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size), axis=1)
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="over_queries")
def multi_head_softmax_over_queries(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size), axis=2)
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="no_w_o")
def multi_head_without_w_o(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads(weights @ value), weights


@BANK.wrong_for("multi-head", names="w_o_transposed")
def multi_head_with_w_o_transposed(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_reshape(x, w_q, w_k, w_v, w_o.T, num_heads)


@BANK.wrong_for("multi-head", names="all_transposed")
def multi_head_with_matrices_transposed(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_loop(x, w_q.T, w_k.T, w_v.T, w_o.T, num_heads)


@BANK.wrong_for("multi-head", names="own_blocks")
def multi_head_mixing_before_the_concatenation(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    outputs = []
    for h in range(num_heads):
        own = slice(h * size, (h + 1) * size)
        outputs.append(weights[:, h] @ value[:, h] @ w_o[own, own])
    return np.concatenate(outputs, axis=-1), weights


@BANK.wrong_for("multi-head", names="mean_with_first_rows")
def multi_head_mean_of_heads_mixed(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return (weights @ value).mean(axis=1) @ w_o[:size], weights


@BANK.wrong_for("multi-head", names="first_rows")
def multi_head_same_rows_for_all(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return sum(weights[:, h] @ value[:, h] @ w_o[:size] for h in range(num_heads)), weights


@BANK.wrong_for("multi-head", names="raised meet")
def multi_head_mean_of_heads(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return (weights @ value).mean(axis=1) @ w_o, weights


@BANK.wrong_for("multi-head", names="divided")
def multi_head_output_averaged(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_as_a_sum_over_heads(x, w_q, w_k, w_v, w_o, num_heads)
    return output / num_heads, weights


@BANK.wrong_for("multi-head", names="attends_once")
def multi_head_with_one_head(x, w_q, w_k, w_v, w_o, num_heads):
    weights = softmax((x @ w_q) @ (x @ w_k).swapaxes(1, 2) / np.sqrt(x.shape[-1]))
    return weights @ x @ w_v @ w_o, weights


@BANK.wrong_for("multi-head", names="first_columns")
def multi_head_with_the_same_head(x, w_q, w_k, w_v, w_o, num_heads):
    size = x.shape[-1] // num_heads
    outputs, all_weights = [], []
    for _ in range(num_heads):
        query, key, value = x @ w_q[:, :size], x @ w_k[:, :size], x @ w_v[:, :size]
        weights = softmax(query @ key.swapaxes(1, 2) / np.sqrt(size))
        outputs.append(weights @ value)
        all_weights.append(weights)
    return np.concatenate(outputs, axis=2) @ w_o, np.stack(all_weights, axis=1)


@BANK.wrong_for("multi-head", names="not_projected")
def multi_head_without_projections(x, w_q, w_k, w_v, w_o, num_heads):
    heads = to_heads(x, num_heads)
    weights = softmax(heads @ heads.swapaxes(-1, -2) / np.sqrt(heads.shape[-1]))
    return from_heads(weights @ heads) @ w_o, weights


@BANK.wrong_for("multi-head", names="q_and_k_swapped")
def multi_head_keys_times_queries(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(key @ query.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="residual")
def multi_head_with_a_residual(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)
    return x + output, weights


@BANK.wrong_for("multi-head", names="causal")
def multi_head_causal(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(size)
    scores[..., np.triu_indices(x.shape[1], 1)[0], np.triu_indices(x.shape[1], 1)[1]] = -np.inf
    return from_heads(softmax(scores) @ value) @ w_o, softmax(scores)


@BANK.wrong_for("multi-head", names="swapped")
def multi_head_weights_first(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)[::-1]


@BANK.wrong_for("multi-head", names="output_alone")
def multi_head_output_only(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)[0]


@BANK.wrong_for("multi-head", names="overflow")
def multi_head_without_maximum(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    e = np.exp(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    weights = e / e.sum(axis=-1, keepdims=True)
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="differs sizes")
def multi_head_with_heads_of_seven(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(7))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="raised axis")
def multi_head_with_heads_cut_from_tokens(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value = (np.split(x @ w, num_heads, axis=1) for w in (w_q, w_k, w_v))
    weights = softmax(np.array(query) @ np.array(key).swapaxes(-1, -2))
    return np.concatenate(weights @ np.array(value), axis=1) @ w_o, weights


@BANK.wrong_for("multi-head", symptom="others_right differs step_by_step")
def multi_head_with_a_relu(x, w_q, w_k, w_v, w_o, num_heads):
    output, weights = multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)
    return np.maximum(output, 0), weights


@BANK.wrong_for("multi-head", symptom="differs step_by_step")
def multi_head_with_a_wrong_slice(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, np.roll(w_k, 1, axis=1), w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(size))
    return from_heads(weights @ value) @ w_o, weights


def multi_head_weighed(weigh, x, w_q, w_k, w_v, w_o, num_heads):
    """Return the attention whose weights are made somehow of queries and keys in heads."""
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = weigh(query, key)
    return from_heads(weights @ value) @ w_o, weights


def multi_head_mixed(combine, x, w_q, w_k, w_v, w_o, num_heads):
    """Return the right weights, with heads that are made somehow of scores, keys and values."""
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    scores = query @ key.swapaxes(-1, -2)
    heads = combine(scores, size, key, value)
    return from_heads(heads) @ w_o, softmax(scores / np.sqrt(size))


def products(query, key):
    return query @ key.swapaxes(-1, -2)


def right_scores(query, key):
    return products(query, key) / np.sqrt(query.shape[-1])


def exponentials(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def best_of(scores):
    return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def summed_to_one(numbers):
    return numbers / numbers.sum(axis=-1, keepdims=True)


BANK.vary(
    "multi-head",
    multi_head_weighed,
    torn=lambda q, k: softmax(
        q @ k.reshape(*k.shape[:2], k.shape[3], k.shape[2]) / np.sqrt(q.shape[3])
    ),
    cosine=lambda q, k: softmax(products(unit(q), unit(k))),
    by_d_k=lambda q, k: softmax(products(q, k) / q.shape[3]),
    times_root=lambda q, k: softmax(products(q, k) * np.sqrt(q.shape[3])),
    by_half=lambda q, k: softmax(products(q, k) / (q.shape[3] / 2)),
    by_double=lambda q, k: softmax(products(q, k) / q.shape[3] ** 1 / 2),
    by_eight=lambda q, k: softmax(products(q, k) / 8),
    by_len_k=lambda q, k: softmax(products(q, k) / np.sqrt(k.shape[2])),
    no_softmax=right_scores,
    no_exponential=lambda q, k: summed_to_one(right_scores(q, k)),
    hard=lambda q, k: best_of(products(q, k)),
    uniform=lambda q, k: np.full_like(products(q, k), 1 / k.shape[2], dtype=float),
    no_sum=lambda q, k: exponentials(right_scores(q, k)),
    bare=lambda q, k: np.exp(right_scores(q, k)),
    sum_of_all=lambda q, k: np.exp(right_scores(q, k)) / np.exp(right_scores(q, k)).sum(),
    turned=lambda q, k: softmax(-right_scores(q, k)),
)
BANK.vary(
    "multi-head",
    multi_head_mixed,
    mixed_by_scores=lambda s, size, key, value: s / np.sqrt(size) @ value,
    mixed_by_unscaled=lambda s, size, key, value: softmax(s) @ value,
    mixed_by_best=lambda s, size, key, value: best_of(s) @ value,
    mean_of_mixed=lambda s, size, key, value: softmax(s / np.sqrt(size)) @ value / s.shape[-1],
    unmixed=lambda s, size, key, value: value,
    mixed_keys=lambda s, size, key, value: softmax(s / np.sqrt(size)) @ key,
)


@BANK.wrong_for("multi-head", names="scores_given")
def multi_head_returns_scores(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, size = heads_of(x, w_q, w_k, w_v, num_heads)
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(size)
    return from_heads(softmax(scores) @ value) @ w_o, scores


@BANK.wrong_for("multi-head", names="weights_alone")
def multi_head_weights_only(x, w_q, w_k, w_v, w_o, num_heads):
    return multi_head_by_reshape(x, w_q, w_k, w_v, w_o, num_heads)[1]


# packed-weights: right


@BANK.right_for("packed-weights")
def unpacked_by_rows(in_proj_weight, out_proj_weight):
    d = out_proj_weight.shape[0]
    w_q, w_k, w_v = in_proj_weight[:d], in_proj_weight[d : 2 * d], in_proj_weight[2 * d :]
    return w_q.T, w_k.T, w_v.T, out_proj_weight.T


@BANK.right_for("packed-weights")
def unpacked_with_split(in_proj_weight, out_proj_weight):
    return [w.T for w in [*np.split(in_proj_weight, 3), out_proj_weight]]


@BANK.right_for("packed-weights")
def unpacked_by_columns(in_proj_weight, out_proj_weight):
    return (*np.split(in_proj_weight.T, 3, axis=1), out_proj_weight.T)


@BANK.right_for("packed-weights")
def unpacked_by_reshape(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    w_q, w_k, w_v = in_proj_weight.reshape(3, d, d).transpose(0, 2, 1)
    return w_q, w_k, w_v, np.transpose(out_proj_weight)


@BANK.right_for("packed-weights")
def unpacked_in_loops(in_proj_weight, out_proj_weight):
    d = len(out_proj_weight)
    result = [[[0.0] * d for _ in range(d)] for _ in range(4)]
    for m in range(4):
        for i in range(d):
            for j in range(d):
                row = out_proj_weight[j] if m == 3 else in_proj_weight[m * d + j]
                result[m][i][j] = float(row[i])
    return result


@BANK.right_for("packed-weights")
def unpacked_by_what_the_matrices_do(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    projected = np.eye(d) @ in_proj_weight.T
    return *(projected[:, i * d : (i + 1) * d] for i in range(3)), np.eye(d) @ out_proj_weight.T


# packed-weights: wrong


@BANK.wrong_for("packed-weights", names="nothing_transposed")
def unpacked_without_transposes(in_proj_weight, out_proj_weight):
    return *np.split(in_proj_weight, 3), out_proj_weight


@BANK.wrong_for("packed-weights", names="in_not_transposed")
def unpacked_only_out_transposed(in_proj_weight, out_proj_weight):
    return *np.split(in_proj_weight, 3), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="out_not_transposed")
def unpacked_out_untransposed(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v = np.split(in_proj_weight.T, 3, axis=1)
    return w_q, w_k, w_v, out_proj_weight


@BANK.wrong_for("packed-weights", names="raised stacked")
def unpacked_split_along_columns(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v = np.split(in_proj_weight, 3, axis=1)
    return w_q, w_k, w_v, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="order_qvko")
def unpacked_value_before_key(in_proj_weight, out_proj_weight):
    w_q, w_v, w_k = (w.T for w in np.split(in_proj_weight, 3))
    return w_q, w_k, w_v, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="order_kqvo")
def unpacked_key_first(in_proj_weight, out_proj_weight):
    w_k, w_q, w_v = (w.T for w in np.split(in_proj_weight, 3))
    return w_q, w_k, w_v, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="order_vkqo")
def unpacked_reversed(in_proj_weight, out_proj_weight):
    w_v, w_k, w_q = (w.T for w in np.split(in_proj_weight, 3))
    return w_q, w_k, w_v, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="order_oqkv")
def unpacked_out_first(in_proj_weight, out_proj_weight):
    return out_proj_weight.T, *(w.T for w in np.split(in_proj_weight, 3))


@BANK.wrong_for("packed-weights", names="rows_k_q_v")
def unpacked_key_first_untransposed(in_proj_weight, out_proj_weight):
    w_k, w_q, w_v = np.split(in_proj_weight, 3)
    return w_q, w_k, w_v, out_proj_weight


@BANK.wrong_for("packed-weights", names="every_third")
def unpacked_interleaved(in_proj_weight, out_proj_weight):
    return *(in_proj_weight[i::3].T for i in range(3)), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="every_third")
def unpacked_three_in_the_middle(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    blocks = in_proj_weight.reshape(d, 3, d)
    return *(blocks[:, i].T for i in range(3)), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="every_third_reshaped")
def unpacked_reshaped_for_a_transpose(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    return *np.split(in_proj_weight.reshape(d, 3 * d), 3, axis=1), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="every_third_not_transposed")
def unpacked_three_in_the_middle_untransposed(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    blocks = in_proj_weight.reshape(d, 3, d)
    return blocks[:, 0], blocks[:, 1], blocks[:, 2], out_proj_weight


@BANK.wrong_for("packed-weights", names="late")
def unpacked_reshape_after_the_transpose(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    return *in_proj_weight.T.reshape(3, d, d), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="twice")
def unpacked_transposed_twice(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    blocks = in_proj_weight.T.reshape(3, d, d)
    return blocks[0].T, blocks[1].T, blocks[2].T, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="first_block")
def unpacked_the_same_slice(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    return in_proj_weight[:d].T, in_proj_weight[:d].T, in_proj_weight[:d].T, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="inverted")
def unpacked_inverted(in_proj_weight, out_proj_weight):
    return [np.linalg.inv(w) for w in [*np.split(in_proj_weight, 3), out_proj_weight]]


@BANK.wrong_for("packed-weights", names="turned")
def unpacked_turned(in_proj_weight, out_proj_weight):
    return [np.rot90(w) for w in [*np.split(in_proj_weight, 3), out_proj_weight]]


@BANK.wrong_for("packed-weights", names="flipped")
def unpacked_flipped(in_proj_weight, out_proj_weight):
    return [w[:, ::-1] for w in [*np.split(in_proj_weight, 3), out_proj_weight]]


@BANK.wrong_for("packed-weights", names="w_v_from_out")
def unpacked_value_from_out(in_proj_weight, out_proj_weight):
    w_q, w_k, _ = np.split(in_proj_weight, 3)
    return w_q.T, w_k.T, out_proj_weight.T, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="no_w_o")
def unpacked_three(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v = np.split(in_proj_weight, 3)
    return w_q.T, w_k.T, w_v.T


@BANK.wrong_for("packed-weights", names="one_piece")
def unpacked_two(in_proj_weight, out_proj_weight):
    return in_proj_weight.T, out_proj_weight.T


@BANK.wrong_for("packed-weights", names="raised d_model")
def unpacked_with_the_rows_as_d_model(in_proj_weight, out_proj_weight):
    d = len(in_proj_weight)
    return *in_proj_weight.reshape(3, d, d).swapaxes(1, 2), out_proj_weight.T


@BANK.wrong_for("packed-weights", names="raised blocks")
def unpacked_the_rows(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v = in_proj_weight
    return w_q.T, w_k.T, w_v.T, out_proj_weight.T


@BANK.right_for("packed-weights")
def unpacked_stacked(in_proj_weight, out_proj_weight):
    return np.stack([*np.split(in_proj_weight.T, 3, axis=1), out_proj_weight.T])


@BANK.wrong_for("packed-weights", symptom="others_right differs query")
def unpacked_with_a_scaled_query(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v, w_o = unpacked_by_rows(in_proj_weight, out_proj_weight)
    return w_q / np.sqrt(len(w_q)), w_k, w_v, w_o


@BANK.wrong_for("packed-weights", names="w_k_not_transposed")
def unpacked_with_the_key_forgotten(in_proj_weight, out_proj_weight):
    w_q, w_k, w_v, w_o = unpacked_by_rows(in_proj_weight, out_proj_weight)
    return w_q, w_k.T, w_v, w_o


@BANK.wrong_for("packed-weights", symptom="shape")
def unpacked_off_by_one(in_proj_weight, out_proj_weight):
    d = in_proj_weight.shape[1]
    w_q, w_k, w_v = in_proj_weight[:d], in_proj_weight[d + 1 : 2 * d], in_proj_weight[2 * d :]
    return w_q.T, w_k.T, w_v.T, out_proj_weight.T


# head-contributions: right


@BANK.right_for("head-contributions")
def contributions_by_reshape(heads, w_o):
    num_heads, _, head_dim = heads.shape
    return heads @ w_o.reshape(num_heads, head_dim, -1)


@BANK.right_for("head-contributions")
def contributions_in_a_loop(heads, w_o):
    num_heads, length, head_dim = heads.shape
    result = np.zeros((num_heads, length, w_o.shape[1]))
    for h in range(num_heads):
        result[h] = heads[h] @ w_o[h * head_dim : (h + 1) * head_dim]
    return result


@BANK.right_for("head-contributions")
def contributions_with_einsum(heads, w_o):
    return np.einsum("hld,hdm->hlm", heads, np.array(np.split(w_o, len(heads))))


@BANK.right_for("head-contributions")
def contributions_of_zeroed_heads(heads, w_o):
    result = []
    for h in range(len(heads)):
        alone = np.zeros_like(heads)
        alone[h] = heads[h]
        result.append(np.concatenate(list(alone), axis=-1) @ w_o)
    return result


@BANK.right_for("head-contributions")
def contributions_by_difference(heads, w_o):
    def output(heads):
        return attnbook.merge_heads(heads) @ w_o

    others = [
        np.where(np.arange(len(heads))[:, None, None] == h, 0, heads) for h in range(len(heads))
    ]
    return np.stack([output(heads) - output(without) for without in others])


@BANK.right_for("head-contributions")
def contributions_in_plain_loops(heads, w_o):
    num_heads, length, head_dim = heads.shape
    result = np.zeros((num_heads, length, w_o.shape[1]))
    for h in range(num_heads):
        for t in range(length):
            for d in range(head_dim):
                result[h, t] += heads[h, t, d] * w_o[h * head_dim + d]
    return result


# head-contributions: wrong


@BANK.wrong_for("head-contributions", names="added")
def contributions_summed(heads, w_o):
    return np.concatenate(list(heads), axis=-1) @ w_o


@BANK.wrong_for("head-contributions", names="averaged")
def contributions_averaged(heads, w_o):
    return contributions_by_reshape(heads, w_o).mean(axis=0)


@BANK.wrong_for("head-contributions", names="shared")
def contributions_shared_out(heads, w_o):
    output = np.concatenate(list(heads), axis=-1) @ w_o
    return np.array([output / len(heads)] * len(heads))


@BANK.wrong_for("head-contributions", names="whole")
def contributions_all_whole(heads, w_o):
    return np.array([np.concatenate(list(heads), axis=-1) @ w_o for _ in heads])


@BANK.wrong_for("head-contributions", names="divided")
def contributions_divided(heads, w_o):
    return contributions_in_a_loop(heads, w_o) / len(heads)


@BANK.wrong_for("head-contributions", names="every_few")
def contributions_of_interleaved_rows(heads, w_o):
    return np.stack([heads[h] @ w_o[h :: len(heads)] for h in range(len(heads))])


@BANK.wrong_for("head-contributions", names="every_few")
def contributions_with_heads_second_in_the_reshape(heads, w_o):
    num_heads, _, head_dim = heads.shape
    w_o = w_o.reshape(head_dim, num_heads, -1)
    return np.einsum("hld,dhm->hlm", heads, w_o)


@BANK.wrong_for("head-contributions", names="first_rows")
def contributions_padded_at_the_end(heads, w_o):
    missing = len(w_o) - heads.shape[2]
    return np.pad(heads, [(0, 0), (0, 0), (0, missing)]) @ w_o


@BANK.wrong_for("head-contributions", names="first_rows")
def contributions_of_the_same_rows(heads, w_o):
    return np.array([head @ w_o[: head.shape[1]] for head in heads])


@BANK.wrong_for("head-contributions", names="last_rows")
def contributions_padded_at_the_start(heads, w_o):
    missing = len(w_o) - heads.shape[2]
    return np.pad(heads, [(0, 0), (0, 0), (missing, 0)]) @ w_o


@BANK.wrong_for("head-contributions", names="in_reverse")
def contributions_of_reversed_rows(heads, w_o):
    return np.array([h @ w for h, w in zip(heads, np.split(w_o, len(heads))[::-1], strict=True)])


@BANK.wrong_for("head-contributions", names="one_row_on")
def contributions_with_a_step_of_one(heads, w_o):
    head_dim = heads.shape[2]
    return np.array([head @ w_o[h : h + head_dim] for h, head in enumerate(heads)])


@BANK.wrong_for("head-contributions", names="columns")
def contributions_of_the_transpose(heads, w_o):
    num_heads, _, head_dim = heads.shape
    return heads @ w_o.T.reshape(num_heads, head_dim, -1)


@BANK.wrong_for("head-contributions", names="columns")
def contributions_of_columns(heads, w_o):
    return np.array(
        [h @ w.T for h, w in zip(heads, np.split(w_o, len(heads), axis=1), strict=True)]
    )


@BANK.wrong_for("head-contributions", names="raised own_rows")
def contributions_of_column_slices(heads, w_o):
    head_dim = heads.shape[2]
    return np.array(
        [head @ w_o[:, h * head_dim : (h + 1) * head_dim] for h, head in enumerate(heads)]
    )


@BANK.wrong_for("head-contributions", names="raised own_rows")
def contributions_of_all_of_w_o(heads, w_o):
    return np.array([head @ w_o for head in heads])


@BANK.wrong_for("head-contributions", names="pieces")
def contributions_split_from_the_output(heads, w_o):
    output = np.concatenate(list(heads), axis=-1) @ w_o
    return np.stack(np.split(output, len(heads), axis=-1))


@BANK.wrong_for("head-contributions", names="own_columns")
def contributions_in_their_columns(heads, w_o):
    output = np.concatenate(list(heads), axis=-1) @ w_o
    head_dim = heads.shape[2]
    result = np.zeros((len(heads), *output.shape))
    for h in range(len(heads)):
        result[h, :, h * head_dim : (h + 1) * head_dim] = output[
            :, h * head_dim : (h + 1) * head_dim
        ]
    return result


@BANK.wrong_for("head-contributions", names="square_blocks")
def contributions_of_square_blocks(heads, w_o):
    d = heads.shape[2]
    own = [slice(h * d, (h + 1) * d) for h in range(len(heads))]
    return np.array([head @ w_o[s, s] for head, s in zip(heads, own, strict=True)])


@BANK.wrong_for("head-contributions", names="others")
def contributions_of_the_others(heads, w_o):
    result = []
    for h in range(len(heads)):
        others = heads.copy()
        others[h] = 0
        result.append(np.concatenate(list(others), axis=-1) @ w_o)
    return np.array(result)


@BANK.wrong_for("head-contributions", names="sign_turned")
def contributions_as_what_is_lost(heads, w_o):
    whole = np.concatenate(list(heads), axis=-1) @ w_o
    return contributions_of_the_others(heads, w_o) - whole


@BANK.wrong_for("head-contributions", names="up_to")
def contributions_cumulated(heads, w_o):
    total = np.zeros((heads.shape[1], w_o.shape[1]))
    result = []
    for h, w in enumerate(np.split(w_o, len(heads))):
        total = total + heads[h] @ w
        result.append(total)
    return np.array(result)


@BANK.wrong_for("head-contributions", names="torn")
def contributions_merged_by_reshape(heads, w_o):
    result = []
    for h in range(len(heads)):
        alone = np.zeros_like(heads)
        alone[h] = heads[h]
        result.append(alone.reshape(heads.shape[1], -1) @ w_o)
    return np.array(result)


@BANK.wrong_for("head-contributions", names="not_mixed")
def contributions_unmixed(heads, w_o):
    num_heads, length, head_dim = heads.shape
    result = np.zeros((num_heads, length, num_heads * head_dim))
    for h in range(num_heads):
        result[h, :, h * head_dim : (h + 1) * head_dim] = heads[h]
    return result


@BANK.wrong_for("head-contributions", names="length_first")
def contributions_by_token(heads, w_o):
    w_o = w_o.reshape(len(heads), heads.shape[2], -1)
    return np.einsum("hld,hdm->lhm", heads, w_o)


@BANK.wrong_for("head-contributions", names="rows_and_columns")
def contributions_transposed(heads, w_o):
    w_o = w_o.reshape(len(heads), heads.shape[2], -1)
    return np.einsum("hld,hdm->hml", heads, w_o)


@BANK.wrong_for("head-contributions", names="lengths")
def contributions_as_norms(heads, w_o):
    return np.linalg.norm(contributions_by_reshape(heads, w_o), axis=-1)


@BANK.wrong_for("head-contributions", names="side_by_side")
def contributions_concatenated(heads, w_o):
    return np.concatenate(list(contributions_by_reshape(heads, w_o)), axis=-1)


@BANK.wrong_for("head-contributions", names="last_alone")
def contributions_overwritten(heads, w_o):
    for h, w in enumerate(np.split(w_o, len(heads))):
        result = heads[h] @ w
    return result


@BANK.wrong_for("head-contributions", names="no_signs")
def contributions_as_sizes(heads, w_o):
    return np.abs(contributions_by_reshape(heads, w_o))


@BANK.wrong_for("head-contributions", symptom="first_only alone")
def contributions_mixed_with_rows_one_too_far(heads, w_o):
    num_heads, _, head_dim = heads.shape
    rows = [w_o[: 2 * head_dim][h * head_dim // num_heads :][:head_dim] for h in range(num_heads)]
    return np.array([head @ w for head, w in zip(heads, rows, strict=True)])


@BANK.wrong_for("head-contributions", symptom="differs alone")
def contributions_scaled(heads, w_o):
    return contributions_by_reshape(heads, w_o) * np.sqrt(len(heads))


@BANK.wrong_for("head-contributions", names="raised all_columns")
def contributions_with_square_w_o(heads, w_o):
    num_heads, length, head_dim = heads.shape
    result = np.zeros((num_heads, length, num_heads * head_dim))
    for h in range(num_heads):
        result[h] = heads[h] @ w_o[h * head_dim : (h + 1) * head_dim]
    return result


@BANK.wrong_for("head-contributions", symptom="none")
def contributions_without_return(heads, w_o):
    contributions_by_reshape(heads, w_o)


# wrong in a way that course/bank.py lists


def multi_head_by(weigh, x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = weigh(query @ key.swapaxes(-1, -2) / np.sqrt(key.shape[-1]))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="hard_far", of="one_hot")
def multi_head_one_hot_where_large(*arguments):
    return multi_head_by(one_hot_where_large, *arguments)


@BANK.wrong_for("multi-head", names="underflow", of="one_sign")
def multi_head_guarded_above(*arguments):
    return multi_head_by(guarded_above, *arguments)


@BANK.wrong_for("multi-head", names="by_whole_root")
def multi_head_scaled_by_the_whole_root(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / math.isqrt(key.shape[-1]))
    return from_heads(weights @ value) @ w_o, weights


@BANK.wrong_for("multi-head", names="others_right differs stored_as_integers", of="integers")
def multi_head_added_up_like_x(x, w_q, w_k, w_v, w_o, num_heads):
    query, key, value, _ = heads_of(x, w_q, w_k, w_v, num_heads)
    weights = softmax(query @ key.swapaxes(-1, -2) / np.sqrt(key.shape[-1]))
    merged = np.zeros_like(x)
    for g in range(num_heads):
        own = slice(g * key.shape[-1], (g + 1) * key.shape[-1])
        merged[..., own] = (weights @ value)[:, g]
    return merged @ w_o, weights


@BANK.wrong_for("packed-weights", names="order_oqkv")
def unpacked_stacked_with_the_output_first(in_proj_weight, out_proj_weight):
    return np.stack([out_proj_weight.T, *np.split(in_proj_weight.T, 3, axis=1)])


@BANK.wrong_for("merge-heads", names="differs single")
def merge_a_batch_of_one_on_its_own(heads):
    if len(heads) == 1:
        return heads[0].reshape(1, heads.shape[2], -1)
    return np.concatenate([*heads.swapaxes(0, 1)], axis=-1)


BANK.spoil(
    "squeeze",
    "shape lost_axis",
    "merge-heads",
    "multi-head",
    "packed-weights",
    "head-contributions",
)
BANK.spoil("tolerance", "rounded", "multi-head", "head-contributions")
BANK.spoil("integers", "differs stored_as_integers", "head-contributions")

BANK.never(
    "one_hot one_sign",
    "it takes no softmax",
    "split-heads",
    "merge-heads",
    "packed-weights",
    "head-contributions",
)
BANK.never(
    "axes",
    "the statement says how many axes there are",
    "split-heads",
    "merge-heads",
    "multi-head",
    "packed-weights",
    "head-contributions",
)
BANK.never(
    "integers",
    "numbers are only moved, so an array like the input holds them",
    "split-heads",
    "merge-heads",
    "packed-weights",
)
BANK.never(
    "table",
    "positions play no part",
    "split-heads",
    "merge-heads",
    "multi-head",
    "packed-weights",
    "head-contributions",
)
BANK.never(
    "mask",
    "there is no mask",
    "split-heads",
    "merge-heads",
    "multi-head",
    "packed-weights",
    "head-contributions",
)
BANK.never("tolerance", "numbers are only moved", "split-heads", "merge-heads", "packed-weights")
