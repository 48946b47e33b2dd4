"""Answers to assignment 4."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# unequal-heads


@BANK.right_for("unequal-heads")
def unequal_heads_in_loops(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        e = np.exp(q @ k.T / np.sqrt(d))
        weights.append(e / e.sum(axis=1, keepdims=True))
        outputs.append(weights[-1] @ v)
        start += d
    return np.concatenate(outputs, axis=1), np.array(weights)


@BANK.right_for("unequal-heads")
def unequal_heads_by_split(x, w_q, w_k, w_v, widths):
    cuts = np.cumsum(widths)[:-1]
    parts = (np.split(x @ w, cuts, axis=1) for w in (w_q, w_k, w_v))
    heads = [attnbook.scaled_dot_product_attention(*head) for head in zip(*parts, strict=True)]
    return np.hstack([head.output for head in heads]), [head.weights for head in heads]


@BANK.right_for("unequal-heads")
def unequal_heads_padded_with_zeros(x, w_q, w_k, w_v, widths):
    head = np.repeat(np.arange(len(widths)), widths)
    mine = head == np.arange(len(widths))[:, None]  # (heads, columns)
    q, k, v = (x @ w for w in (w_q, w_k, w_v))
    scores = (q * mine[:, None]) @ k.T / np.sqrt(widths)[:, None, None]
    weights = attnbook.softmax(scores)
    return np.einsum("hij,jc,hc->ic", weights, v, mine), weights


@BANK.wrong_for("unequal-heads", names="reversed_widths")
def unequal_heads_with_widths_reversed(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths[::-1]:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="reversed_heads")
def unequal_heads_from_the_last(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs[::-1]), np.array(weights[::-1])


@BANK.wrong_for("unequal-heads", names="from_the_start")
def unequal_heads_from_the_start(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, :d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="last_head_left_out")
def unequal_heads_without_the_last(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths[:-1]:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="unscaled")
def unequal_heads_unscaled(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_all_heads")
def unequal_heads_by_all_widths(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(w_q.shape[1])))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_mean_width")
def unequal_heads_by_the_mean_width(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(w_q.shape[1] / len(widths))))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_first_width")
def unequal_heads_by_the_first_width(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(widths[0])))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_widest")
def unequal_heads_by_the_widest(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(max(widths))))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_num_heads")
def unequal_heads_by_the_number_of_heads(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(len(widths))))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_d_in")
def unequal_heads_by_the_width_of_tokens(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(x.shape[1])))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="by_d_k")
def unequal_heads_without_a_root(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / d))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="keys_for_queries")
def unequal_heads_swapped(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(k @ q.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="keys_for_values")
def unequal_heads_mixing_keys(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k = (x @ w[:, start : start + d] for w in (w_q, w_k))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ k)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="mean_weights")
def unequal_heads_with_mean_weights(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.mean(weights, axis=0)


@BANK.wrong_for("unequal-heads", names="weights_side_by_side")
def unequal_heads_with_weights_side_by_side(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.hstack(weights)


@BANK.wrong_for("unequal-heads", names="output_alone")
def unequal_heads_without_weights(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs)


@BANK.wrong_for("unequal-heads", names="equal")
def unequal_heads_cut_evenly(x, w_q, w_k, w_v, widths):
    parts = (np.array_split(x @ w, len(widths), axis=1) for w in (w_q, w_k, w_v))
    heads = [attnbook.scaled_dot_product_attention(*head) for head in zip(*parts, strict=True)]
    return np.hstack([head.output for head in heads]), [head.weights for head in heads]


@BANK.wrong_for("unequal-heads", names="in_turns")
def unequal_heads_in_turns(x, w_q, w_k, w_v, widths):
    turn = sorted((i, h) for h, d in enumerate(widths) for i in range(d))
    outputs, weights = [], []
    for h in range(len(widths)):
        own = [column for column, (_, head) in enumerate(turn) if head == h]
        q, k, v = (x @ w[:, own] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(len(own))))
        outputs.append(weights[-1] @ v)
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="raised no_reshape")
def unequal_heads_of_the_first_width(x, w_q, w_k, w_v, widths):
    n = widths[0] if len(set(widths)) > 1 and w_q.shape[1] % widths[0] else w_q.shape[1] + 1
    q, k, v = ((x @ w).reshape(len(x), -1, n).swapaxes(0, 1) for w in (w_q, w_k, w_v))
    output, weights = attnbook.scaled_dot_product_attention(q, k, v)
    return attnbook.merge_heads(output), weights


@BANK.wrong_for("unequal-heads", symptom="others_right differs head_by_head")
def unequal_heads_sorted(x, w_q, w_k, w_v, widths):
    cuts = np.cumsum(widths)[:-1]
    parts = (np.split(x @ w, cuts, axis=1) for w in (w_q, w_k, w_v))
    heads = [attnbook.scaled_dot_product_attention(*head) for head in zip(*parts, strict=True)]
    output = np.hstack([head.output for head in heads])
    return np.sort(output, axis=1), [head.weights for head in heads]


@BANK.wrong_for("unequal-heads", names="in_place")
def unequal_heads_emptying_the_list(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    while widths:
        d = widths.pop(0)
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.hstack(outputs), np.array(weights)


@BANK.wrong_for("unequal-heads", names="shape lost_axis", of="squeeze")
def unequal_heads_squeezed(x, w_q, w_k, w_v, widths):
    outputs, weights, start = [], [], 0
    for d in widths:
        q, k, v = (x @ w[:, start : start + d] for w in (w_q, w_k, w_v))
        weights.append(attnbook.softmax(q @ k.T / np.sqrt(d)))
        outputs.append(weights[-1] @ v)
        start += d
    return np.squeeze(np.hstack(outputs)), np.squeeze(weights)


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


@BANK.wrong_for("smaller-layer", names="shape lost_axis", of="squeeze")
def smaller_layer_squeezed(w_q, w_k, w_v, w_o, num_heads, removed):
    d = w_q.shape[1] // num_heads
    gone = [h * d + i for h in removed for i in range(d)]
    cut = [np.delete(w, gone, axis=1) for w in (w_q, w_k, w_v)] + [np.delete(w_o, gone, axis=0)]
    return [np.squeeze(w) for w in cut]
