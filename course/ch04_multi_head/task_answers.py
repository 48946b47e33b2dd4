"""Answers to assignment 4."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# grouped-attention


@BANK.right_for("grouped-attention")
def grouped_attention_in_loops(x, w_q, w_k, w_v, num_heads, num_groups):
    d = w_q.shape[1] // num_heads
    outputs, weights = [], []
    for h in range(num_heads):
        g = h // (num_heads // num_groups)
        q = x @ w_q[:, h * d : (h + 1) * d]
        k, v = x @ w_k[:, g * d : (g + 1) * d], x @ w_v[:, g * d : (g + 1) * d]
        e = np.exp(q @ k.T / np.sqrt(d))
        weights.append(e / e.sum(axis=1, keepdims=True))
        outputs.append(weights[-1] @ v)
    return np.concatenate(outputs, axis=1), np.array(weights)


@BANK.right_for("grouped-attention")
def grouped_attention_by_broadcasting(x, w_q, w_k, w_v, num_heads, num_groups):
    q = (x @ w_q).reshape(len(x), num_groups, num_heads // num_groups, -1)
    k, v = ((x @ w).reshape(len(x), num_groups, 1, -1) for w in (w_k, w_v))
    q, k, v = (a.transpose(1, 2, 0, 3) for a in (q, k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return out.transpose(2, 0, 1, 3).reshape(len(x), -1), weights.reshape(-1, len(x), len(x))


@BANK.wrong_for("grouped-attention", names="in_turns")
def grouped_attention_tile(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.tile(a, (num_heads // num_groups, 1, 1)) for a in (k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", names="values_in_turns")
def grouped_attention_tile_values(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k = np.repeat(k, num_heads // num_groups, axis=0)
    v = np.tile(v, (num_heads // num_groups, 1, 1))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", names="first_group")
def grouped_attention_first_group(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups)[:1] for w in (w_k, w_v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", names="unscaled")
def grouped_attention_unscaled(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v, scale=1)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", names="by_all_heads")
def grouped_attention_scale_of_all(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / np.sqrt(w_q.shape[1]))
    return attnbook.merge_heads(weights @ v), weights


@BANK.wrong_for("grouped-attention", names="not_merged")
def grouped_attention_not_merged(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    return attnbook.scaled_dot_product_attention(q, k, v)


@BANK.wrong_for("grouped-attention", names="merge_torn")
def grouped_attention_merge_without_transpose(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return out.reshape(len(x), -1), weights


@BANK.wrong_for("grouped-attention", names="split_torn")
def grouped_attention_split_without_transpose(x, w_q, w_k, w_v, num_heads, num_groups):
    q = (x @ w_q).reshape(num_heads, len(x), -1)
    k, v = ((x @ w).reshape(num_groups, len(x), -1) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", names="mean_weights")
def grouped_attention_mean_weights(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights.mean(axis=0)


@BANK.wrong_for("grouped-attention", symptom="raised heads_of_a_group")
def grouped_attention_not_repeated(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.wrong_for("grouped-attention", symptom="raised heads_of_a_group")
def grouped_attention_split_keys_by_heads(x, w_q, w_k, w_v, num_heads, num_groups):
    q, k, v = (attnbook.split_heads(x @ w, num_heads) for w in (w_q, w_k, w_v))
    out, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(out), weights


@BANK.right_for("grouped-attention")
def grouped_attention_by_split(x, w_q, w_k, w_v, num_heads, num_groups):
    q = np.stack(np.split(x @ w_q, num_heads, axis=1))  # NumPy's loop
    k, v = (np.stack(np.split(x @ w, num_groups, axis=1)) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]))
    return np.hstack(weights @ v), weights


@BANK.wrong_for("grouped-attention", names="by_num_heads")
def grouped_attention_scale_of_num_heads(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / np.sqrt(num_heads))
    return attnbook.merge_heads(weights @ v), weights


@BANK.wrong_for("grouped-attention", names="by_group")
def grouped_attention_scale_of_a_group(x, w_q, w_k, w_v, num_heads, num_groups):
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / np.sqrt(w_q.shape[1] / num_groups))
    return attnbook.merge_heads(weights @ v), weights


@BANK.wrong_for("grouped-attention", symptom="differs other_numbers")
def grouped_attention_few_known_scales(x, w_q, w_k, w_v, num_heads, num_groups):
    scale = {2: 1.41421356, 3: 1.73205081, 5: 2.23606798}.get(w_q.shape[1] // num_heads, 1)
    q = attnbook.split_heads(x @ w_q, num_heads)
    k, v = (attnbook.split_heads(x @ w, num_groups) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / scale)
    return attnbook.merge_heads(weights @ v), weights


# smaller-layer


@BANK.right_for("smaller-layer")
def smaller_layer_in_loops(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    columns = []
    for h in range(num_heads):
        if h not in removed:
            columns += range(h * d, (h + 1) * d)
    return w_q[:, columns], w_k[:, columns], w_v[:, columns], w_o[columns]


@BANK.right_for("smaller-layer")
def smaller_layer_by_delete(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    gone = [h * d + i for h in removed for i in range(d)]
    return [np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v)] + [np.delete(w_o, gone, axis=0)]


@BANK.wrong_for("smaller-layer", names="zeroed")
def smaller_layer_zeroed(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q * keep, w_k * keep, w_v * keep, w_o * keep[:, None]


@BANK.wrong_for("smaller-layer", names="removed_kept")
def smaller_layer_removed_only(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep]


@BANK.wrong_for("smaller-layer", names="w_o_whole")
def smaller_layer_whole_output(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o


@BANK.wrong_for("smaller-layer", names="single_columns")
def smaller_layer_columns(w_q, w_k, w_v, w_o, num_heads, removed):
    cut = [np.delete(w, removed, axis=1) for w in (w_q, w_k, w_v)]
    return *cut, np.delete(w_o, removed, axis=0)


@BANK.wrong_for("smaller-layer", names="every_few")
def smaller_layer_interleaved(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.tile(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep]


@BANK.wrong_for("smaller-layer", names="first_of_list")
def smaller_layer_one(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    gone = slice(removed[0] * d, removed[0] * d + d)
    return *(np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v)), np.delete(w_o, gone, axis=0)


@BANK.wrong_for("smaller-layer", names="from_one")
def smaller_layer_from_one(w_q, w_k, w_v, w_o, num_heads, removed):
    head = np.repeat(np.arange(1, num_heads + 1), w_q.shape[1] // num_heads)
    keep = ~np.isin(head, removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep]


@BANK.wrong_for("smaller-layer", names="w_o_larger")
def smaller_layer_rescaled(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep] / keep.mean()


@BANK.wrong_for("smaller-layer", symptom="shape swapped_axes")
def smaller_layer_columns_of_w_o(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o.T[:, keep]


@BANK.wrong_for("smaller-layer", symptom="count")
def smaller_layer_without_output(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep]


@BANK.wrong_for("smaller-layer", names="one_after_another")
def smaller_layer_one_by_one(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    for h in removed:
        gone = slice(h * d, h * d + d)
        w_q, w_k, w_v = (np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v))
        w_o = np.delete(w_o, gone, axis=0)
    return w_q, w_k, w_v, w_o


@BANK.wrong_for("smaller-layer", names="other_order")
def smaller_layer_keys_first(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_k[:, keep], w_q[:, keep], w_v[:, keep], w_o[keep]


@BANK.wrong_for("smaller-layer", names="in_place")
def smaller_layer_sorts_the_list(w_q, w_k, w_v, w_o, num_heads, removed):
    removed.sort()
    keep = ~np.isin(np.repeat(np.arange(num_heads), w_q.shape[1] // num_heads), removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[keep]


@BANK.wrong_for("smaller-layer", names="raised other_d_out")
def smaller_layer_back_to_d_in(w_q, w_k, w_v, w_o, num_heads, removed):
    left = [h for h in range(num_heads) if h not in removed]
    d_in, d = len(w_q), w_q.shape[1] // num_heads
    columns = [w.reshape(d_in, num_heads, d)[:, left].reshape(d_in, -1) for w in (w_q, w_k, w_v)]
    return *columns, w_o.reshape(num_heads, d, d_in)[left].reshape(-1, d_in)


@BANK.wrong_for("smaller-layer", names="raised none_removed")
def smaller_layer_something_must_go(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    gone = np.concatenate([np.arange(h * d, (h + 1) * d) for h in removed])
    return [np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v)] + [np.delete(w_o, gone, axis=0)]


# fewer-groups


@BANK.right_for("fewer-groups")
def fewer_groups_in_loops(x, w_q, w_k, w_v, groups):
    def output(w_k, w_v):
        parts = []
        for h in range(0, 32, 4):
            e = np.exp((x @ w_q[:, h : h + 4]) @ (x @ w_k[:, h : h + 4]).T / 2)
            parts.append(e / e.sum(axis=1, keepdims=True) @ (x @ w_v[:, h : h + 4]))
        return np.concatenate(parts, axis=1)

    errors = []
    for g in groups:
        k, v = w_k.copy(), w_v.copy()
        for w in (k, v):
            for start in range(0, 32, 32 // g):
                block = w[:, start : start + 32 // g]
                mean = sum(block[:, i : i + 4] for i in range(0, 32 // g, 4)) * g / 8
                for i in range(0, 32 // g, 4):
                    w[:, start + i : start + i + 4] = mean
        change = output(k, v) - output(w_k, w_v)
        errors.append(np.sqrt((change**2).sum() / (output(w_k, w_v) ** 2).sum()))
    return errors


@BANK.right_for("fewer-groups")
def fewer_groups_by_matrix(x, w_q, w_k, w_v, groups):
    q = attnbook.split_heads(x @ w_q, 8)
    full = attnbook.scaled_dot_product_attention(
        q, attnbook.split_heads(x @ w_k, 8), attnbook.split_heads(x @ w_v, 8)
    )[0]
    errors = []
    for g in groups:
        average = np.kron(np.kron(np.eye(g), np.full((8 // g, 8 // g), g / 8)), np.eye(4))
        k, v = (attnbook.split_heads(x @ w @ average, 8) for w in (w_k, w_v))
        few = attnbook.scaled_dot_product_attention(q, k, v)[0]
        errors.append(np.linalg.norm(few - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="keys_alone")
def fewer_groups_keys_only(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k = np.repeat(w_k.reshape(16, g, 8 // g, 4).mean(2, keepdims=True), 8 // g, axis=2)
        errors.append(np.linalg.norm(run(k.reshape(16, 32), w_v) - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="values_alone")
def fewer_groups_values_only(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        v = np.repeat(w_v.reshape(16, g, 8 // g, 4).mean(2, keepdims=True), 8 // g, axis=2)
        errors.append(np.linalg.norm(run(w_k, v.reshape(16, 32)) - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="in_turns")
def fewer_groups_in_turns(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.tile(w.reshape(16, 8 // g, g, 4).mean(1), (1, 8 // g, 1)).reshape(16, 32)
            for w in (w_k, w_v)
        )
        errors.append(np.linalg.norm(run(k, v) - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="first_head")
def fewer_groups_first_head(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.repeat(w.reshape(16, g, 8 // g, 4)[:, :, :1], 8 // g, axis=2).reshape(16, 32)
            for w in (w_k, w_v)
        )
        errors.append(np.linalg.norm(run(k, v) - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="summed")
def fewer_groups_sum(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.repeat(w.reshape(16, g, 8 // g, 4).sum(2, keepdims=True), 8 // g, axis=2)
            for w in (w_k, w_v)
        )
        change = run(k.reshape(16, 32), v.reshape(16, 32)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="opposite_order")
def fewer_groups_reversed(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for size in (1, 2, 4, 8):
        k, v = (
            np.repeat(w.reshape(16, 8 // size, size, 4).mean(2, keepdims=True), size, axis=2)
            for w in (w_k, w_v)
        )
        change = run(k.reshape(16, 32), v.reshape(16, 32)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="not_relative")
def fewer_groups_absolute(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.repeat(w.reshape(16, g, 8 // g, 4).mean(2, keepdims=True), 8 // g, axis=2)
            for w in (w_k, w_v)
        )
        errors.append(np.linalg.norm(run(k.reshape(16, 32), v.reshape(16, 32)) - full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="squares")
def fewer_groups_squared(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.repeat(w.reshape(16, g, 8 // g, 4).mean(2, keepdims=True), 8 // g, axis=2)
            for w in (w_k, w_v)
        )
        change = run(k.reshape(16, 32), v.reshape(16, 32)) - full
        errors.append((change**2).sum() / (full**2).sum())
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="one_mean")
def fewer_groups_all_columns(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (np.repeat(w.reshape(16, g, 32 // g).mean(2), 32 // g, axis=1) for w in (w_k, w_v))
        errors.append(np.linalg.norm(run(k, v) - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="mean_of_ratios")
def fewer_groups_mean_of_ratios(x, w_q, w_k, w_v, groups):
    def run(k, v):
        layer = attnbook.MultiHeadAttention(w_q=w_q, w_k=k, w_v=v, w_o=np.eye(32), num_heads=8)
        return layer(x).output

    full, errors = run(w_k, w_v), []
    for g in groups:
        k, v = (
            np.repeat(w.reshape(16, g, 8 // g, 4).mean(2, keepdims=True), 8 // g, axis=2)
            for w in (w_k, w_v)
        )
        change = run(k.reshape(16, 32), v.reshape(16, 32)) - full
        errors.append(np.mean(np.linalg.norm(change, axis=1) / np.linalg.norm(full, axis=1)))
    return np.array(errors)


@BANK.wrong_for("fewer-groups", names="queries_too")
def fewer_groups_queries_too(x, w_q, w_k, w_v, groups):
    def run(*matrices):
        layer = attnbook.MultiHeadAttention(
            **dict(zip(("w_q", "w_k", "w_v"), matrices, strict=True)), w_o=np.eye(32), num_heads=8
        )
        return layer(x).output

    full, errors = run(w_q, w_k, w_v), []
    for g in groups:
        means = (w.reshape(16, g, 8 // g, 4).mean(2, keepdims=True) for w in (w_q, w_k, w_v))
        change = run(*(np.repeat(m, 8 // g, axis=2).reshape(16, 32) for m in means)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


# wrong in a way that course/bank.py lists


@BANK.wrong_for("grouped-attention", names="shape lost_axis", of="squeeze")
def grouped_attention_squeezed(x, w_q, w_k, w_v, num_heads, num_groups):
    q = np.stack(np.split(x @ w_q, num_heads, axis=1))
    k, v = (np.stack(np.split(x @ w, num_groups, axis=1)) for w in (w_k, w_v))
    k, v = (np.repeat(a, num_heads // num_groups, axis=0) for a in (k, v))
    weights = attnbook.softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]))
    return np.squeeze(np.hstack(weights @ v)), np.squeeze(weights)


@BANK.wrong_for("smaller-layer", names="shape lost_axis", of="squeeze")
def smaller_layer_squeezed(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    gone = [h * d + i for h in removed for i in range(d)]
    cut = [np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v)] + [np.delete(w_o, gone, axis=0)]
    return [np.squeeze(w) for w in cut]
