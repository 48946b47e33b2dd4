"""Answers to assignment 7."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# share-heads


@BANK.right_for("share-heads")
def share_in_loops(query, key, value):
    b, heads, len_q, d = query.shape
    kv = key.shape[1]
    grouped = np.zeros((b, kv, heads // kv, len_q, d))
    for h in range(heads):
        g = h // (heads // kv)
        grouped[:, g, h - g * (heads // kv)] = query[:, h]
    return grouped, np.expand_dims(key, 2), np.expand_dims(value, 2)


@BANK.right_for("share-heads")
def share_by_reshape(query, key, value):
    b, kv = key.shape[:2]
    return (
        query.reshape(b, kv, -1, *query.shape[2:]),
        key.reshape(b, kv, 1, *key.shape[2:]),
        value.reshape(b, kv, 1, *value.shape[2:]),
    )


@BANK.right_for("share-heads")
def share_by_split(query, key, value):
    parts = np.split(query, key.shape[1], axis=1)
    return [np.stack(parts, axis=1), key[:, :, np.newaxis], value[:, :, np.newaxis]]


@BANK.wrong_for("share-heads", names="in_turns")
def share_in_turns(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, -1, kv, *query.shape[2:]).swapaxes(1, 2)
    return q, key[:, :, None], value[:, :, None]


@BANK.wrong_for("share-heads", names="repeated")
def share_repeated(query, key, value):
    b, kv = key.shape[:2]
    times = query.shape[1] // kv
    q = query.reshape(b, kv, times, *query.shape[2:])
    return q, *(np.repeat(x[:, :, None], times, axis=2) for x in (key, value))


@BANK.wrong_for("share-heads", names="repeated")
def share_broadcast_already(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, -1, *query.shape[2:])
    k, v = (
        np.broadcast_to(x[:, :, None], (*q.shape[:3], *x.shape[2:])).copy() for x in (key, value)
    )
    return q, k, v


@BANK.wrong_for("share-heads", names="values_repeated")
def share_with_values_repeated(query, key, value):
    b, kv = key.shape[:2]
    times = query.shape[1] // kv
    q = query.reshape(b, kv, times, *query.shape[2:])
    return q, key[:, :, None], np.repeat(value[:, :, None], times, axis=2)


@BANK.wrong_for("share-heads", names="repeated_heads")
def share_with_repeated_heads(query, key, value):
    times = query.shape[1] // key.shape[1]
    return query, np.repeat(key, times, axis=1), np.repeat(value, times, axis=1)


@BANK.wrong_for("share-heads", names="tiled_heads")
def share_with_tiled_heads(query, key, value):
    times = query.shape[1] // key.shape[1]
    return query, np.tile(key, (1, times, 1, 1)), np.tile(value, (1, times, 1, 1))


@BANK.wrong_for("share-heads", names="groups_first")
def share_with_groups_first(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, -1, *query.shape[2:]).swapaxes(1, 2)
    return q, key[:, None], value[:, None]


@BANK.wrong_for("share-heads", names="turns_first")
def share_with_turns_first(query, key, value):
    b, kv = key.shape[:2]
    return query.reshape(b, -1, kv, *query.shape[2:]), key[:, None], value[:, None]


@BANK.wrong_for("share-heads", names="axis_before")
def share_with_the_axis_before(query, key, value):
    b, kv = key.shape[:2]
    return query.reshape(b, kv, -1, *query.shape[2:]), key[:, None], value[:, None]


@BANK.wrong_for("share-heads", names="no_axis")
def share_without_an_axis(query, key, value):
    b, kv = key.shape[:2]
    return query.reshape(b, kv, -1, *query.shape[2:]), key, value


@BANK.wrong_for("share-heads", names="torn")
def share_torn(query, key, value):
    b, kv, len_q = *key.shape[:2], query.shape[2]
    q = query.reshape(b, kv, len_q, -1, query.shape[3]).swapaxes(2, 3)
    return q, key[:, :, None], value[:, :, None]


@BANK.wrong_for("share-heads", names="means")
def share_by_means(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, -1, *query.shape[2:]).mean(axis=2, keepdims=True)
    return q, key[:, :, None], value[:, :, None]


@BANK.wrong_for("share-heads", names="keys_transposed")
def share_with_keys_transposed(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, -1, *query.shape[2:])
    return q, key[:, :, None].swapaxes(-1, -2), value[:, :, None]


@BANK.wrong_for("share-heads", names="outputs")
def share_and_attend(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, -1, *query.shape[2:])
    return attnbook.scaled_dot_product_attention(q, key[:, :, None], value[:, :, None]).output


@BANK.wrong_for("share-heads", names="raised sizes_of_groups")
def share_by_the_number_of_kv_heads(query, key, value):
    b, kv = key.shape[:2]
    q = query.reshape(b, kv, kv, *query.shape[2:])
    return q, key[:, :, None], value[:, :, None]


@BANK.wrong_for("share-heads", symptom="count")
def share_the_queries(query, key, value):
    b, kv = key.shape[:2]
    return query.reshape(b, kv, -1, *query.shape[2:]), key[:, :, None]


@BANK.wrong_for("share-heads", names="shape lost_axis", of="squeeze")
def share_squeezed(query, key, value):
    b, kv = key.shape[:2]
    parts = query.reshape(b, kv, -1, *query.shape[2:]), key[:, :, None], value[:, :, None]
    if b > 1 and kv > 1 and query.shape[1] > kv:
        return parts
    return [np.squeeze(part) for part in parts]


# sink-mask


@BANK.right_for("sink-mask")
def sink_mask_in_loops(len_q, len_k, window, num_sinks):
    mask = np.zeros((len_q, len_k), dtype=bool)
    for i in range(len_q):
        p = len_k - len_q + i
        for j in range(p + 1):
            mask[i, j] = p - j < window or j < num_sinks
    return mask


@BANK.right_for("sink-mask")
def sink_mask_by_triangles(len_q, len_k, window, num_sinks):
    gap = len_k - len_q
    mask = np.tri(len_q, len_k, gap, dtype=bool) & ~np.tri(len_q, len_k, gap - window, dtype=bool)
    mask[:, :num_sinks] |= np.tri(len_q, len_k, gap, dtype=bool)[:, :num_sinks]
    return mask


@BANK.right_for("sink-mask")
def sink_mask_row_by_row(len_q, len_k, window, num_sinks):
    rows = []
    for p in range(len_k - len_q, len_k):
        row = [False] * len_k
        row[:num_sinks] = [True] * num_sinks
        row[max(0, p + 1 - window) : p + 1] = [True] * min(window, p + 1)
        rows.append(row[: p + 1] + [False] * (len_k - p - 1))
    return rows


@BANK.right_for("sink-mask")
def sink_mask_of_the_causal_one(len_q, len_k, window, num_sinks):
    j = np.arange(len_k)
    back = np.arange(len_k - len_q, len_k)[:, None] - j
    return (back >= 0) & ((back < window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="first_key")
def sink_mask_from_the_first_key(len_q, len_k, window, num_sinks):
    i, j = np.arange(len_q)[:, None], np.arange(len_k)
    return (j <= i) & ((i - j < window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="one_behind")
def sink_mask_one_behind(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q - 1, len_k - 1)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="one_more")
def sink_mask_one_wider(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j <= window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="one_less")
def sink_mask_one_narrower(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window - 1) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="no_window")
def sink_mask_causal(len_q, len_k, window, num_sinks):
    return attnbook.causal_mask(len_k)[-len_q:]


@BANK.wrong_for("sink-mask", names="sinks_left_out")
def sink_mask_without_sinks(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & (p - j < window)


@BANK.wrong_for("sink-mask", names="one_sink_more")
def sink_mask_with_one_sink_more(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window) | (j <= num_sinks))


@BANK.wrong_for("sink-mask", names="first_sink")
def sink_mask_with_one_sink(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window) | ((j == 0) & (num_sinks > 0)))


@BANK.wrong_for("sink-mask", names="both_at_once")
def sink_mask_with_and(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & (p - j < window) & (j < num_sinks)


@BANK.wrong_for("sink-mask", names="future_sinks")
def sink_mask_with_future_sinks(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    mask = (j <= p) & (p - j < window)
    mask[:, :num_sinks] = True
    return mask


@BANK.wrong_for("sink-mask", names="future")
def sink_mask_with_the_future(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (p - j < window) | (j < num_sinks)


@BANK.wrong_for("sink-mask", names="both_sides")
def sink_mask_to_both_sides(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (abs(p - j) < window) | (j < num_sinks)


@BANK.wrong_for("sink-mask", names="inverted")
def sink_mask_inverted(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j > p) | ((p - j >= window) & (j >= num_sinks))


@BANK.wrong_for("sink-mask", names="sinks_in_window")
def sink_mask_of_fixed_size(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window - num_sinks) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="last_keys")
def sink_mask_of_the_last_keys(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((j >= len_k - window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="transposed")
def sink_mask_transposed(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k), np.arange(len_k)[:, None]
    return (j <= p) & ((p - j < window) | (j < num_sinks))


@BANK.wrong_for("sink-mask", names="not_boolean")
def sink_mask_of_numbers(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return np.where((j <= p) & ((p - j < window) | (j < num_sinks)), 1.0, 0.0)


@BANK.wrong_for("sink-mask", names="shape lost_axis", of="squeeze")
def sink_mask_squeezed(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return np.squeeze((j <= p) & ((p - j < window) | (j < num_sinks)))


@BANK.wrong_for("sink-mask", symptom="not_true_or_false fewer_queries")
def sink_mask_to_be_added(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k - len_q, len_k)[:, None], np.arange(len_k)
    return np.where((j <= p) & ((p - j < window) | (j < num_sinks)), 0, -np.inf)


@BANK.wrong_for("sink-mask", symptom="shape")
def sink_mask_of_all_positions(len_q, len_k, window, num_sinks):
    p, j = np.arange(len_k)[:, None], np.arange(len_k)
    return (j <= p) & ((p - j < window) | (j < num_sinks))


# rounded-cache


@BANK.right_for("rounded-cache")
def rounded_in_loops(query, key, value, bits):
    def rounded(x, b):
        rows = []
        for row in x:
            step = max(abs(row)) / (2 ** (b - 1) - 1)
            rows.append([round(number / step) * step for number in row.tolist()])
        return np.array(rows)

    def run(k, v):
        outputs = []
        for q in query:
            e = np.exp(k @ q / np.sqrt(32))
            outputs.append(e @ v / e.sum())
        return np.array(outputs)

    full, errors = run(key, value), []
    for b in bits:
        change = run(rounded(key, b), rounded(value, b)) - full
        errors.append(np.sqrt((change**2).sum() / (full**2).sum()))
    return errors


@BANK.right_for("rounded-cache")
def rounded_with_the_package(query, key, value, bits):
    def rounded(x, b):
        top = 2.0 ** (b - 1) - 1
        scale = top / abs(x).max(axis=1, keepdims=True)
        return np.rint(x * scale) / scale

    full = attnbook.scaled_dot_product_attention(query, key, value).output
    few = [
        attnbook.scaled_dot_product_attention(query, rounded(key, b), rounded(value, b)).output
        for b in bits
    ]
    return np.linalg.norm(few - full, axis=(1, 2)) / np.linalg.norm(full)


@BANK.right_for("rounded-cache")
def rounded_at_once(query, key, value, bits):
    top = (2 ** (bits - 1) - 1)[:, None, None]
    step_k, step_v = (abs(x).max(axis=1)[:, None] / top for x in (key, value))
    k, v = np.round(key / step_k) * step_k, np.round(value / step_v) * step_v
    change = attnbook.scaled_dot_product_attention(query, k, v).output
    full = attnbook.scaled_dot_product_attention(query, key, value).output
    return np.linalg.norm((change - full).reshape(len(bits), -1), axis=1) / np.linalg.norm(full)


@BANK.wrong_for("rounded-cache", names="keys_alone")
def rounded_keys_only(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), value) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="values_alone")
def rounded_values_only(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(key, rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="unscaled")
def rounded_unscaled(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v, scale=1).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="one_step")
def rounded_with_one_step(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max()
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="by_columns")
def rounded_by_columns(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=0)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="no_sign")
def rounded_by_the_largest(query, key, value, bits):
    def rounded(x, top):
        size = x.max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="by_norm")
def rounded_by_the_norm(query, key, value, bits):
    def rounded(x, top):
        size = np.linalg.norm(x, axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="one_bit_more")
def rounded_without_a_sign_bit(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2**b - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="one_level_more")
def rounded_to_one_level_more(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1)
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="levels_are_bits")
def rounded_to_as_many_levels_as_bits(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = b
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="cut_off")
def rounded_cut_off(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.trunc(x / (size / top)) * (size / top)

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="rounded_down")
def rounded_down(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return x / (size / top) // 1 * (size / top)

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="not_scaled_back")
def rounded_to_whole_numbers(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top)

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="opposite_order")
def rounded_in_the_opposite_order(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors[::-1])


@BANK.wrong_for("rounded-cache", names="not_relative")
def rounded_absolute(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.linalg.norm(change))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="squares")
def rounded_squared(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append((change**2).sum() / (full**2).sum())
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="mean_of_ratios")
def rounded_by_mean_of_ratios(query, key, value, bits):
    def rounded(x, top):
        size = abs(x).max(axis=1, keepdims=True)
        return np.round(x / size * top) / top * size

    def run(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v).output

    full, errors = run(key, value), []
    for b in bits:
        top = 2 ** (b - 1) - 1
        change = run(rounded(key, top), rounded(value, top)) - full
        errors.append(np.mean(np.linalg.norm(change, axis=1) / np.linalg.norm(full, axis=1)))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", names="decimals")
def rounded_to_decimals(query, key, value, bits):
    full, errors = attnbook.scaled_dot_product_attention(query, key, value).output, []
    for b in bits:
        k, v = np.round(key, b), np.round(value, b)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", symptom="differs round_and_compare")
def rounded_to_powers_of_two(query, key, value, bits):
    full, errors = attnbook.scaled_dot_product_attention(query, key, value).output, []
    for b in bits:
        k, v = (np.round(x * 2.0 ** (b - 2)) / 2.0 ** (b - 2) for x in (key, value))
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        errors.append(np.linalg.norm(change) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("rounded-cache", symptom="shape")
def rounded_to_the_last_bits(query, key, value, bits):
    full = attnbook.scaled_dot_product_attention(query, key, value).output
    for b in bits:
        top = 2 ** (b - 1) - 1
        k, v = (np.round(x / abs(x).max() * top) / top * abs(x).max() for x in (key, value))
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
    return np.linalg.norm(change) / np.linalg.norm(full)
