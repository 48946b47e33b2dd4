"""Answers to assignment 2."""

import functools

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# window-mask


@BANK.right_for("window-mask")
def window_in_loops(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        for j in range(max(0, i - window + 1), i + 1):
            mask[i, j] = True
    return mask


@BANK.right_for("window-mask")
def window_by_triangles(length, window):
    ones = np.ones((length, length), dtype=bool)
    return np.tril(ones) & ~np.tril(ones, -window)


@BANK.wrong_for("window-mask", names="no_window")
def window_causal(length, window):
    return attnbook.causal_mask(length)


@BANK.wrong_for("window-mask", names="too_wide")
def window_too_wide(length, window):
    ones = np.ones((length, length), dtype=bool)
    return np.tril(ones) & np.triu(ones, -window)


@BANK.wrong_for("window-mask", names="too_narrow")
def window_too_narrow(length, window):
    ones = np.ones((length, length), dtype=bool)
    return np.tril(ones) & np.triu(ones, -window + 2)


@BANK.wrong_for("window-mask", names="without_itself")
def window_without_itself(length, window):
    ones = np.ones((length, length), dtype=bool)
    return np.tril(ones, -1) & np.triu(ones, -window + 1)


@BANK.wrong_for("window-mask", names="both_sides")
def window_both_sides(length, window):
    p = np.arange(length)
    return abs(p[:, None] - p) < window


@BANK.wrong_for("window-mask", names="ahead")
def window_transposed(length, window):
    p = np.arange(length)
    back = p - p[:, None]
    return (back >= 0) & (back < window)


@BANK.wrong_for("window-mask", names="inverted")
def window_inverted(length, window):
    ones = np.ones((length, length), dtype=bool)
    return ~(np.tril(ones) & ~np.tril(ones, -window))


@BANK.wrong_for("window-mask", names="blocks")
def window_blocks(length, window):
    p = np.arange(length)
    return np.tril(p[:, None] // window == p // window)


@BANK.wrong_for("window-mask", names="last_alone")
def window_last_only(length, window):
    return np.eye(length, k=-(window - 1), dtype=bool)


@BANK.wrong_for("window-mask", names="not_boolean")
def window_of_numbers(length, window):
    ones = np.ones((length, length))
    return np.tril(ones) - np.tril(ones, -window)


@BANK.wrong_for("window-mask", symptom="not_true_or_false itself_and_before")
def window_additive(length, window):
    p = np.arange(length)
    back = p[:, None] - p
    return np.where((back >= 0) & (back < window), 0.0, -np.inf)


@BANK.right_for("window-mask")
@functools.lru_cache
def window_kept_in_a_cache(length, window):
    i, j = np.indices((length, length))
    return ((i - j >= 0) & (i - j < window)).tolist()


@BANK.right_for("window-mask")
def window_by_doubling(length, window):
    mask = np.ones((1, 1), dtype=bool)
    while len(mask) < length:
        zeros = np.zeros_like(mask)
        mask = np.block([[mask, zeros], [~zeros, mask]])
    return mask[:length, :length] & ~np.tri(length, k=-window, dtype=bool)


@BANK.wrong_for("window-mask", names="sliced")
def window_by_slices(length, window):
    mask = np.zeros((length, length), dtype=bool)
    for i in range(length):
        mask[i, i - window + 1 : i + 1] = True
    return mask


@BANK.wrong_for("window-mask", symptom="differs itself_and_before")
def window_of_five_at_most(length, window):
    back = np.arange(length)[:, None] - np.arange(length)
    return (back >= 0) & (back < min(window, 5))


# entropy-weights


@BANK.right_for("entropy-weights")
def entropy_row_by_row(scores, wanted):
    rows = []
    for row in scores:
        row = row - row.max()
        low, high = -30.0, 30.0
        for _ in range(100):
            t = np.exp((low + high) / 2)
            w = np.exp(row / t)
            w = w / w.sum()
            h = -sum(p * np.log(p) for p in w if p > 0)
            low, high = ((low + high) / 2, high) if h < wanted else (low, (low + high) / 2)
        rows.append(w)
    return rows


@BANK.right_for("entropy-weights")
def entropy_by_standardised_scores(scores, wanted):
    s = (scores - scores.max(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    low, high = np.zeros((len(s), 1)), np.full((len(s), 1), 1e3)
    for _ in range(70):
        b = (low + high) / 2
        w = attnbook.softmax(b * s)
        more = attnbook.entropy(w)[:, None] > wanted
        low, high = np.where(more, b, low), np.where(more, high, b)
    return w


@BANK.wrong_for("entropy-weights", names="plain")
def entropy_plain(scores, wanted):
    return attnbook.softmax(scores)


@BANK.wrong_for("entropy-weights", names="wanted_as_temperature")
def entropy_as_temperature(scores, wanted):
    return attnbook.softmax(scores / wanted)


@BANK.wrong_for("entropy-weights", names="one_temperature")
def entropy_one_temperature(scores, wanted):
    low, high = -20.0, 20.0
    for _ in range(80):
        t = np.exp((low + high) / 2)
        if attnbook.entropy(attnbook.softmax(scores / t)).mean() > wanted:
            high = (low + high) / 2
        else:
            low = (low + high) / 2
    return attnbook.softmax(scores / t)


@BANK.wrong_for("entropy-weights", names="bits")
def entropy_in_bits(scores, wanted):
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        w = attnbook.softmax(scores / np.exp(mid))
        flat = attnbook.entropy(w)[:, None] / np.log(2) > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


@BANK.wrong_for("entropy-weights", names="share_of_log")
def entropy_as_share(scores, wanted):
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        w = attnbook.softmax(scores / np.exp(mid))
        flat = attnbook.entropy(w)[:, None] / np.log(scores.shape[1]) > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


@BANK.wrong_for("entropy-weights", names="mixed_with_equal")
def entropy_mixed(scores, wanted):
    w = attnbook.softmax(scores)
    low, high = np.zeros((len(w), 1)), np.ones((len(w), 1))
    for _ in range(60):
        a = (low + high) / 2
        mix = (1 - a) * w + a / w.shape[1]
        sharp = attnbook.entropy(mix)[:, None] < wanted
        low, high = np.where(sharp, a, low), np.where(sharp, high, a)
    return mix


@BANK.wrong_for("entropy-weights", names="best_equal")
def entropy_top_k(scores, wanted):
    k = round(np.exp(wanted))
    w = np.zeros(scores.shape)
    np.put_along_axis(w, np.argsort(-scores, axis=1)[:, :k], 1 / k, axis=1)
    return w


@BANK.wrong_for("entropy-weights", names="turned")
def entropy_negative(scores, wanted):
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        w = attnbook.softmax(-scores / np.exp(mid))
        flat = attnbook.entropy(w)[:, None] > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


@BANK.wrong_for("entropy-weights", symptom="differs large")
def entropy_overflow(scores, wanted):
    rows = []
    for row in scores:
        low, high = 0.1, 50.0
        for _ in range(80):
            t = (low + high) / 2
            w = np.exp(row / t) / np.exp(row / t).sum()
            h = attnbook.entropy(np.nan_to_num(w))
            low, high = (t, high) if h < wanted else (low, t)
        rows.append(w)
    return np.array(rows)


@BANK.wrong_for("entropy-weights", symptom="shape")
def entropy_returns_temperatures(scores, wanted):
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        flat = attnbook.entropy(attnbook.softmax(scores / np.exp(mid)))[:, None] > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return np.exp(mid)


@BANK.right_for("entropy-weights")
def entropy_to_a_millionth(scores, wanted):
    rows = []
    for row in scores:
        low, high, h = 1e-6, 1e6, np.inf
        while abs(h - wanted) > 1e-6:
            t = np.sqrt(low * high)
            w = attnbook.softmax(row / t)
            h = attnbook.entropy(w)
            low, high = (t, high) if h < wanted else (low, t)
        rows.append(w.tolist())
    return rows


@BANK.wrong_for("entropy-weights", names="share_of_log|differs temperature")
def entropy_in_digits(scores, wanted):
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        w = attnbook.softmax(scores / np.exp(mid))
        flat = attnbook.entropy(w)[:, None] / np.log(10) > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


@BANK.wrong_for("entropy-weights", names="in_place")
def entropy_in_place(scores, wanted):
    scores -= scores.max(axis=1, keepdims=True)
    low, high = np.full((len(scores), 1), -20.0), np.full((len(scores), 1), 20.0)
    for _ in range(80):
        mid = (low + high) / 2
        w = attnbook.softmax(scores / np.exp(mid))
        flat = attnbook.entropy(w)[:, None] > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


@BANK.wrong_for("entropy-weights", symptom="differs close|differs temperature")
def entropy_never_sharper(scores, wanted):
    low, high = np.full((len(scores), 1), 1.0), np.full((len(scores), 1), 1e9)
    for _ in range(80):
        mid = np.sqrt(low * high)
        w = attnbook.softmax(scores / mid)
        flat = attnbook.entropy(w)[:, None] > wanted
        low, high = np.where(flat, low, mid), np.where(flat, mid, high)
    return w


# keep-few


@BANK.right_for("keep-few")
def keep_in_loops(query, key, value, kept):
    e = np.exp(query @ key.T / 4)
    weights = e / e.sum(axis=1, keepdims=True)
    errors = []
    for k in kept:
        off = 0.0
        for row in weights:
            best = np.argsort(row)[::-1][:k]
            off += np.sum((row[best] @ value[best] / row[best].sum() - row @ value) ** 2)
        errors.append(np.sqrt(off / np.sum((weights @ value) ** 2)))
    return errors


@BANK.right_for("keep-few")
def keep_by_mask(query, key, value, kept):
    scores = query @ key.T
    ordered = np.sort(scores, axis=1)[:, ::-1]
    full = attnbook.scaled_dot_product_attention(query, key, value).output
    errors = []
    for k in kept:
        mask = scores >= ordered[:, k - 1 : k]
        few = attnbook.scaled_dot_product_attention(query, key, value, mask).output
        errors.append(np.linalg.norm(few - full) / np.linalg.norm(full))
    return np.array(errors)


@BANK.wrong_for("keep-few", names="not_divided")
def keep_without_sum(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    off = [np.linalg.norm((w * (rank < k)) @ value - full) for k in kept]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="first_kept")
def keep_first(query, key, value, kept):
    full = attnbook.scaled_dot_product_attention(query, key, value)[0]
    few = [attnbook.scaled_dot_product_attention(query, key[:k], value[:k])[0] for k in kept]
    return np.array([np.linalg.norm(f - full) for f in few]) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="smallest_kept")
def keep_smallest(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = w.argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    off = [np.linalg.norm(f / f.sum(axis=1, keepdims=True) @ value - full) for f in few]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="shared_equally")
def keep_equal(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    off = [np.linalg.norm((rank < k) @ value / k - full) for k in kept]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="not_relative")
def keep_not_relative(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    return np.array([np.linalg.norm(f / f.sum(axis=1, keepdims=True) @ value - full) for f in few])


@BANK.wrong_for("keep-few", names="squares")
def keep_squared(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    off = [np.sum((f / f.sum(axis=1, keepdims=True) @ value - full) ** 2) for f in few]
    return np.array(off) / np.sum(full**2)


@BANK.wrong_for("keep-few", names="largest_differences")
def keep_largest_difference(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    return np.array([abs(f / f.sum(axis=1, keepdims=True) @ value - full).max() for f in few])


@BANK.wrong_for("keep-few", names="unscaled")
def keep_unscaled(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value, scale=1)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    off = [np.linalg.norm(f / f.sum(axis=1, keepdims=True) @ value - full) for f in few]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="mean_of_ratios")
def keep_mean_of_ratios(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank < k, w, 0) for k in kept]
    off = [np.linalg.norm(f / f.sum(1, keepdims=True) @ value - full, axis=1) for f in few]
    return np.mean(np.array(off) / np.linalg.norm(full, axis=1), axis=1)


@BANK.wrong_for("keep-few", symptom="differs largest_of_each_row")
def keep_one_more(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [np.where(rank <= k, w, 0) for k in kept]
    off = [np.linalg.norm(f / f.sum(axis=1, keepdims=True) @ value - full) for f in few]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="one_argsort")
def keep_by_one_argsort(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    few = [np.where((-w).argsort(axis=1) < k, w, 0) for k in kept]
    off = [np.linalg.norm(f / f.sum(axis=1, keepdims=True) @ value - full) for f in few]
    return np.array(off) / np.linalg.norm(full)


@BANK.wrong_for("keep-few", names="softmax_again")
def keep_softmax_again(query, key, value, kept):
    full, w = attnbook.scaled_dot_product_attention(query, key, value)
    rank = (-w).argsort(axis=1).argsort(axis=1)
    few = [attnbook.softmax(np.where(rank < k, w, -np.inf)) for k in kept]
    return np.array([np.linalg.norm(f @ value - full) for f in few]) / np.linalg.norm(full)


# wrong in a way that course/bank.py lists


@BANK.wrong_for("window-mask", names="shape lost_axis", of="squeeze")
def window_squeezed(length, window):
    back = np.arange(length)[:, None] - np.arange(length)
    return np.squeeze((back >= 0) & (back < window))


@BANK.wrong_for("window-mask", names="shape long", of="table")
def window_from_a_table_of_512(length, window):
    back = np.arange(512)[:, None] - np.arange(512)
    return ((back >= 0) & (back < window))[:length, :length]


@BANK.wrong_for("entropy-weights", names="shape lost_axis", of="squeeze")
def entropy_weights_squeezed(scores, wanted):
    low, high = np.full((len(scores), 1), 1e-6), np.full((len(scores), 1), 1e6)
    for _ in range(100):
        t = np.sqrt(low * high)
        w = attnbook.softmax(scores / t)
        more = attnbook.entropy(w)[:, None] < wanted
        low, high = np.where(more, t, low), np.where(more, high, t)
    return np.squeeze(w)
