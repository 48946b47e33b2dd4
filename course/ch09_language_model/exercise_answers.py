"""Answers to the exercises of the chapter Build a language model, whole."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# rms-norm: right


@BANK.right_for("rms-norm")
def rms_by_the_formula(x, gain, eps):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain


@BANK.right_for("rms-norm")
def rms_in_loops(x, gain, eps):
    normed = np.zeros(x.shape)
    for place in np.ndindex(x.shape[:-1]):
        token = x[place].tolist()
        root = math.sqrt(math.fsum(n * n for n in token) / len(token) + eps)
        normed[place] = [n / root * g for n, g in zip(token, gain.tolist(), strict=True)]
    return normed


@BANK.right_for("rms-norm")
def rms_by_the_length(x, gain, eps):
    d_model = x.shape[-1]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.sqrt(d_model) * x * gain / np.sqrt(length**2 + d_model * eps)


@BANK.right_for("rms-norm")
def rms_by_einsum(x, gain, eps):
    mean_square = np.einsum("...d,...d->...", x, x) / x.shape[-1]
    return np.einsum("...d,d,...->...d", x, gain, (mean_square + eps) ** -0.5)


@BANK.right_for("rms-norm")
def rms_with_the_package(x, gain, eps):
    return attnbook.rms_norm(x, gain, eps)


# rms-norm: wrong


def mean_square(x):
    return (x**2).mean(axis=-1, keepdims=True)


@BANK.wrong_for("rms-norm", names="no_root")
def rms_without_the_root(x, gain, eps):
    return x / (mean_square(x) + eps) * gain


@BANK.wrong_for("rms-norm", names="sum_of_squares")
def rms_of_a_sum(x, gain, eps):
    return x / np.sqrt((x**2).sum(axis=-1, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="eps_outside")
def rms_with_eps_outside(x, gain, eps):
    return x / (np.sqrt(mean_square(x)) + eps) * gain


@BANK.wrong_for("rms-norm", names="no_eps")
def rms_without_eps(x, gain, eps):
    return x / np.sqrt(mean_square(x)) * gain


@BANK.wrong_for("rms-norm", names="fixed_eps")
def rms_with_its_own_eps(x, gain, eps=1e-5):
    return x / np.sqrt(mean_square(x) + 1e-5) * gain


@BANK.wrong_for("rms-norm", names="by_deviation")
def rms_by_the_deviation(x, gain, eps):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="layer_norm")
def rms_as_layer_norm(x, gain, eps):
    return attnbook.layer_norm(x, gain, np.zeros(gain.shape), eps)


@BANK.wrong_for("rms-norm", names="centred")
def rms_of_centred_tokens(x, gain, eps):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(mean_square(x) + eps) * gain


@BANK.wrong_for("rms-norm", names="by_absolute")
def rms_by_absolute_values(x, gain, eps):
    return x / (np.abs(x).mean(axis=-1, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="over_tokens")
def rms_over_the_tokens(x, gain, eps):
    return x / np.sqrt((x**2).mean(axis=-2, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="over_all")
def rms_of_everything(x, gain, eps):
    return x / np.sqrt(np.mean(x**2) + eps) * gain


@BANK.wrong_for("rms-norm", names="gain_without_sign")
def rms_with_gains_of_no_sign(x, gain, eps):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * abs(gain)


@BANK.wrong_for("rms-norm", names="one_less")
def rms_with_one_less(x, gain, eps):
    squares = (x**2).sum(axis=-1, keepdims=True)
    return x / np.sqrt(squares / (x.shape[-1] - 1) + eps) * gain


@BANK.wrong_for("rms-norm", names="no_gain")
def rms_without_a_gain(x, gain, eps):
    return x / np.sqrt(mean_square(x) + eps)


@BANK.wrong_for("rms-norm", names="gain_plus_one")
def rms_with_one_plus_the_gain(x, gain, eps):
    return x / np.sqrt(mean_square(x) + eps) * (1 + gain)


@BANK.wrong_for("rms-norm", names="gain_added")
def rms_with_the_gain_added(x, gain, eps):
    return x / np.sqrt(mean_square(x) + eps) + gain


@BANK.wrong_for("rms-norm", names="gain_first")
def rms_with_the_gain_first(x, gain, eps):
    x = x * gain
    return x / np.sqrt(mean_square(x) + eps)


@BANK.wrong_for("rms-norm", names="multiplied")
def rms_multiplied(x, gain, eps):
    return x * np.sqrt(mean_square(x) + eps) * gain


@BANK.wrong_for("rms-norm", names="root_alone")
def rms_alone(x, gain, eps):
    return np.sqrt(mean_square(x) + eps)


@BANK.wrong_for("rms-norm", names="raised keepdims")
def rms_without_keepdims(x, gain, eps):
    return x / np.sqrt((x**2).mean(axis=-1) + eps) * gain


@BANK.wrong_for("rms-norm", names="in_place")
def rms_in_place(x, gain, eps):
    x /= np.sqrt(mean_square(x) + eps)
    return x * gain


@BANK.wrong_for("rms-norm", symptom="none")
def rms_without_return(x, gain, eps):
    x / np.sqrt(mean_square(x) + eps) * gain


@BANK.wrong_for("rms-norm", symptom="first_only mean_of_squares")
def rms_by_the_first_sequence(x, gain, eps):
    return x / np.sqrt(mean_square(x[:1]) + eps) * gain


@BANK.wrong_for("rms-norm", names="raised leading_axes", of="axes")
def rms_of_three_axes(x, gain, eps):
    batch, length, _ = x.shape
    normed = np.zeros(x.shape)
    for b, i in itertools.product(range(batch), range(length)):
        normed[b, i] = x[b, i] / np.sqrt((x[b, i] ** 2).mean() + eps) * gain
    return normed


@BANK.wrong_for("rms-norm", names="raised leading_axes", of="axes")
def rms_along_axis_2(x, gain, eps):
    return x / np.sqrt((x**2).mean(axis=2, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="cut_to_integers", of="integers")
def rms_into_an_array_like_x(x, gain, eps):
    normed = np.zeros_like(x)
    normed[...] = x / np.sqrt(mean_square(x) + eps) * gain
    return normed


@BANK.wrong_for("rms-norm", names="low_precision")
def rms_in_half_precision(x, gain, eps):
    return (x / np.sqrt(mean_square(x) + eps) * gain).astype(np.float16)


BANK.spoil("squeeze", "shape lost_axis", "rms-norm")
BANK.spoil("tolerance", "rounded", "rms-norm")


@BANK.wrong_for("rms-norm", names="eps_squared")
def rms_with_eps_squared(x, gain, eps):
    return x / np.sqrt(mean_square(x) + eps**2) * gain


@BANK.wrong_for("rms-norm", names="by_largest")
def rms_by_the_largest(x, gain, eps):
    return x / (np.abs(x).max(axis=-1, keepdims=True) + eps) * gain


@BANK.wrong_for("rms-norm", names="gain_divides")
def rms_divided_by_the_gain(x, gain, eps):
    return x / (np.sqrt(mean_square(x) + eps) * gain)


@BANK.wrong_for("rms-norm", names="gain_of_tokens")
def rms_with_a_gain_for_each_token(x, gain, eps):
    return x / np.sqrt(mean_square(x) + eps) * gain[:, None]


@BANK.wrong_for("rms-norm", names="twice")
def rms_normed_twice(x, gain, eps):
    x = x / np.sqrt(mean_square(x) + eps)
    return x / np.sqrt(mean_square(x) + eps) * gain


# swiglu: right


@BANK.right_for("swiglu")
def swiglu_by_the_formula(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    with np.errstate(over="ignore"):  # gate / infinity is the 0 it should be
        gate = gate / (1 + np.exp(-gate))
    return (gate * (x @ w_up)) @ w_down


@BANK.right_for("swiglu")
def swiglu_in_loops(x, w_gate, w_up, w_down):
    output = np.zeros((*x.shape[:-1], w_down.shape[1]))
    for place in np.ndindex(x.shape[:-1]):
        for h in range(w_gate.shape[1]):
            gate, up = float(x[place] @ w_gate[:, h]), float(x[place] @ w_up[:, h])
            open_ = 1 / (1 + math.exp(-gate)) if gate > -700 else 0.0
            output[place] += gate * open_ * up * w_down[h]
    return output


@BANK.right_for("swiglu")
def swiglu_by_tanh(x, w_gate, w_up, w_down):
    half = np.einsum("...d,dh->...h", x, w_gate) / 2
    hidden = half * (1 + np.tanh(half)) * np.einsum("...d,dh->...h", x, w_up)
    return np.einsum("...h,hd->...d", hidden, w_down)


@BANK.right_for("swiglu")
def swiglu_by_one_product(x, w_gate, w_up, w_down):
    both = x @ np.concatenate([w_gate, w_up], axis=1)
    gate, up = np.split(both, 2, axis=-1)
    sigmoid = np.exp(-np.logaddexp(0, -gate))
    return (gate * sigmoid * up) @ w_down


@BANK.right_for("swiglu")
def swiglu_with_the_package(x, w_gate, w_up, w_down):
    return attnbook.swiglu(x, w_gate, w_up, w_down)


# swiglu: wrong


def silu(z):
    return z / (1 + np.exp(-z))


@BANK.wrong_for("swiglu", names="relu")
def swiglu_with_relu(x, w_gate, w_up, w_down):
    return (np.maximum(x @ w_gate, 0) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="gelu")
def swiglu_with_gelu(x, w_gate, w_up, w_down):
    z = x @ w_gate
    z = z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    return (z * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="sigmoid")
def swiglu_with_a_sigmoid(x, w_gate, w_up, w_down):
    return (1 / (1 + np.exp(-(x @ w_gate))) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="no_bend")
def swiglu_without_a_bend(x, w_gate, w_up, w_down):
    return ((x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="tanh")
def swiglu_with_tanh(x, w_gate, w_up, w_down):
    return (np.tanh(x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="turned")
def swiglu_with_the_sign_turned(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate / (1 + np.exp(gate)) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="minus")
def swiglu_with_a_minus(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate / (1 - np.exp(-gate)) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="softmax")
def swiglu_with_softmax(x, w_gate, w_up, w_down):
    return (attnbook.softmax(x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="bend_on_up")
def swiglu_with_halves_swapped(x, w_up, w_gate, w_down):
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="bend_on_both")
def swiglu_with_both_bent(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * silu(x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="bend_on_product")
def swiglu_with_the_product_bent(x, w_gate, w_up, w_down):
    return silu((x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="bend_at_the_end")
def swiglu_bent_at_the_end(x, w_gate, w_up, w_down):
    return silu(((x @ w_gate) * (x @ w_up)) @ w_down)


@BANK.wrong_for("swiglu", names="added")
def swiglu_added(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) + x @ w_up) @ w_down


@BANK.wrong_for("swiglu", names="no_up")
def swiglu_without_up(x, w_gate, w_up, w_down):
    return silu(x @ w_gate) @ w_down


@BANK.wrong_for("swiglu", names="gate_twice")
def swiglu_with_the_gate_twice(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * (x @ w_gate)) @ w_down


@BANK.wrong_for("swiglu", names="not_down")
def swiglu_without_down(x, w_gate, w_up, w_down):
    return silu(x @ w_gate) * (x @ w_up)


@BANK.wrong_for("swiglu", names="residual")
def swiglu_with_a_residual(x, w_gate, w_up, w_down):
    return x + (silu(x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="all_transposed")
def swiglu_with_matrices_transposed(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


@BANK.wrong_for("swiglu", names="down_transposed")
def swiglu_with_down_transposed(x, w_gate, w_up, w_down):
    return np.einsum("...h,dh->...d", silu(x @ w_gate) * (x @ w_up), w_down)


@BANK.wrong_for("swiglu", names="overflow", of="one_sign")
def swiglu_with_exp_of_the_gate(x, w_gate, w_up, w_down):
    e = np.exp(x @ w_gate)
    return ((x @ w_gate) * e / (1 + e) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", symptom="differs large")
def swiglu_with_the_gate_cut_off(x, w_gate, w_up, w_down):
    return (silu(np.clip(x @ w_gate, -50, 50)) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", symptom="none")
def swiglu_without_return(x, w_gate, w_up, w_down):
    (silu(x @ w_gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="raised leading_axes", of="axes")
def swiglu_of_three_axes(x, w_gate, w_up, w_down):
    batch, length, d_model = x.shape
    tokens = x.reshape(batch * length, d_model)
    hidden = silu(tokens @ w_gate) * (tokens @ w_up)
    return (hidden @ w_down).reshape(batch, length, -1)


@BANK.wrong_for("swiglu", names="raised leading_axes", of="axes")
def swiglu_token_by_token(x, w_gate, w_up, w_down):
    output = np.zeros((x.shape[0], x.shape[1], w_down.shape[1]))
    for b, i in itertools.product(range(x.shape[0]), range(x.shape[1])):
        output[b, i] = (silu(x[b, i] @ w_gate) * (x[b, i] @ w_up)) @ w_down
    return output


@BANK.wrong_for("swiglu", names="cut_to_integers", of="integers")
def swiglu_into_an_array_like_x(x, w_gate, w_up, w_down):
    output = np.zeros((*x.shape[:-1], w_down.shape[1]), dtype=x.dtype)
    output[...] = (silu(x @ w_gate) * (x @ w_up)) @ w_down
    return output


BANK.spoil("squeeze", "shape lost_axis", "swiglu")
BANK.spoil("tolerance", "rounded", "swiglu")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@BANK.wrong_for("swiglu", names="quick_gelu")
def swiglu_with_a_quick_gelu(x, w_gate, w_up, w_down):
    gate = x @ w_gate
    return (gate * sigmoid(1.702 * gate) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="softplus")
def swiglu_with_softplus(x, w_gate, w_up, w_down):
    return (np.log1p(np.exp(x @ w_gate)) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="no_gate")
def swiglu_without_a_gate(x, w_gate, w_up, w_down):
    return x @ w_up @ w_down


@BANK.wrong_for("swiglu", names="up_bent")
def swiglu_with_up_alone_and_bent(x, w_gate, w_up, w_down):
    return silu(x @ w_up) @ w_down


@BANK.wrong_for("swiglu", names="divided")
def swiglu_divided_by_the_width(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down / w_gate.shape[1]


@BANK.wrong_for("swiglu", names="gate_transposed")
def swiglu_with_the_gate_transposed(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate.T) * (x @ w_up)) @ w_down


@BANK.wrong_for("swiglu", names="up_transposed")
def swiglu_with_up_transposed(x, w_gate, w_up, w_down):
    return (silu(x @ w_gate) * (x @ w_up.T)) @ w_down


# byte-pair-merge: right


@BANK.right_for("byte-pair-merge")
def merge_the_lowest(parts, ranks):
    parts = list(parts)
    while len(parts) > 1:
        pairs = list(itertools.pairwise(parts))
        best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
        if best not in ranks:
            break
        at = pairs.index(best)
        parts[at : at + 2] = ["".join(best)]
    return parts


@BANK.right_for("byte-pair-merge")
def merge_all_of_a_pair(parts, ranks):
    while True:
        known = [pair for pair in itertools.pairwise(parts) if pair in ranks]
        if not known:
            return list(parts)
        left, right = min(known, key=ranks.__getitem__)
        merged, rest = [], list(parts)
        while rest:
            part = rest.pop(0)
            if part == left and rest and rest[0] == right:
                part += rest.pop(0)
            merged.append(part)
        parts = merged


@BANK.right_for("byte-pair-merge")
def merge_by_recursion(parts, ranks):
    """Join what `min` finds first, and begin again with one part less."""
    pairs = list(itertools.pairwise(parts))
    at = min(range(len(pairs)), key=lambda at: ranks.get(pairs[at], np.inf), default=None)
    if at is None or pairs[at] not in ranks:
        return tuple(parts)
    return merge_by_recursion([*parts[:at], "".join(pairs[at]), *parts[at + 2 :]], ranks)


@BANK.right_for("byte-pair-merge")
def merge_with_a_heap(parts, ranks):
    """Keep the pairs in a heap, and the parts in a chain: as fast libraries do."""
    parts, after = list(parts), [*range(1, len(parts)), None]
    before = [None, *range(len(parts) - 1)]
    heap = []

    def see(at):
        if at is not None and after[at] is not None and (parts[at], parts[after[at]]) in ranks:
            pair = parts[at], parts[after[at]]
            heapq.heappush(heap, (ranks[pair], at, pair))

    for at in range(len(parts)):
        see(at)
    while heap:
        _, at, pair = heapq.heappop(heap)
        other = after[at]
        if other is None or (parts[at], parts[other]) != pair:
            continue
        parts[at], parts[other] = "".join(pair), None
        after[at] = after[other]
        if after[at] is not None:
            before[after[at]] = at
        see(before[at])
        see(at)
    return [part for part in parts if part is not None]


# byte-pair-merge: wrong


def merge_by(choose, parts, ranks):
    """Join the pair that is chosen of those that are known, until there is none."""
    parts = list(parts)
    while True:
        pairs = list(itertools.pairwise(parts))
        known = [at for at in range(len(pairs)) if pairs[at] in ranks]
        if not known:
            return parts
        at = choose(known, pairs)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@BANK.wrong_for("byte-pair-merge", names="first_known")
def merge_the_first(parts, ranks):
    return merge_by(lambda known, pairs: known[0], parts, ranks)


@BANK.wrong_for("byte-pair-merge", names="longest_made")
def merge_what_makes_the_longest(parts, ranks):
    return merge_by(
        lambda known, pairs: max(known, key=lambda at: len("".join(pairs[at]))), parts, ranks
    )


@BANK.wrong_for("byte-pair-merge", names="highest_rank")
def merge_the_highest(parts, ranks):
    return merge_by(lambda known, pairs: max(known, key=lambda a: ranks[pairs[a]]), parts, ranks)


@BANK.wrong_for("byte-pair-merge", names="order_of_the_dict")
def merge_in_the_dict_s_order(parts, ranks):
    order = list(ranks)
    return merge_by(
        lambda known, pairs: min(known, key=lambda at: order.index(pairs[at])), parts, ranks
    )


@BANK.wrong_for("byte-pair-merge", names="from_the_right")
def merge_from_the_right(parts, ranks):
    return merge_by(
        lambda known, pairs: min(known[::-1], key=lambda at: ranks[pairs[at]]), parts, ranks
    )


@BANK.wrong_for("byte-pair-merge", names="most_frequent")
def merge_as_in_training(parts, ranks):
    def choose(known, pairs):
        count = Counter(pairs[at] for at in known)
        return min(known, key=lambda at: (-count[pairs[at]], ranks[pairs[at]]))

    return merge_by(choose, parts, ranks)


@BANK.wrong_for("byte-pair-merge", names="rank_zero")
def merge_with_rank_zero_forgotten(parts, ranks):
    parts = list(parts)
    while len(parts) > 1:
        found = [ranks.get(pair) or math.inf for pair in itertools.pairwise(parts)]
        at = found.index(min(found))
        if found[at] == math.inf:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


@BANK.wrong_for("byte-pair-merge", names="last_pair")
def merge_without_the_last_pair(parts, ranks):
    parts = list(parts)
    while len(parts) > 2:
        pairs = [(parts[at], parts[at + 1]) for at in range(len(parts) - 2)]
        best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
        if best not in ranks:
            break
        at = pairs.index(best)
        parts[at : at + 2] = ["".join(best)]
    return parts


@BANK.wrong_for("byte-pair-merge", names="one_round")
def merge_once(parts, ranks):
    pairs = list(itertools.pairwise(parts))
    best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
    at = pairs.index(best)
    return [*parts[:at], "".join(best), *parts[at + 2 :]]


@BANK.wrong_for("byte-pair-merge", symptom="shape")
def merge_each_rank_once(parts, ranks):
    parts = list(parts)
    for pair in sorted(ranks, key=ranks.get):
        for at in range(len(parts) - 1):
            if (parts[at], parts[at + 1]) == pair:
                parts[at : at + 2] = ["".join(pair)]
                break
    return parts


@BANK.wrong_for("byte-pair-merge", names="first_known")
def merge_in_one_pass(parts, ranks):
    merged = []
    for part in parts:
        merged.append(part)
        while len(merged) > 1 and tuple(merged[-2:]) in ranks:
            merged[-2:] = ["".join(merged[-2:])]
    return merged


@BANK.wrong_for("byte-pair-merge", names="longest")
def merge_to_the_longest(parts, ranks):
    known, merged, rest = {"".join(pair) for pair in ranks}, [], list(parts)
    while rest:
        end = len(rest)
        while end > 1 and "".join(rest[:end]) not in known:
            end -= 1
        merged.append("".join(rest[:end]))
        del rest[:end]
    return merged


@BANK.wrong_for("byte-pair-merge", names="swapped_halves")
def merge_with_halves_swapped(parts, ranks):
    parts = list(parts)
    while known := [pair for pair in itertools.pairwise(parts) if pair in ranks]:
        best = min(known, key=ranks.get)
        at = list(itertools.pairwise(parts)).index(best)
        parts[at : at + 2] = [best[1] + best[0]]
    return parts


@BANK.wrong_for("byte-pair-merge", names="overlapping")
def merge_parts_twice(parts, ranks):
    parts = list(parts)
    while known := [pair for pair in itertools.pairwise(parts) if pair in ranks]:
        best = min(known, key=ranks.get)
        hits = [pair == best for pair in itertools.pairwise(parts)]
        merged = []
        for at, part in enumerate(parts):
            if at < len(hits) and hits[at]:
                merged.append("".join(best))
            elif at == 0 or not hits[at - 1]:
                merged.append(part)
        parts = merged
    return parts


@BANK.wrong_for("byte-pair-merge", names="unmerged")
def merge_with_words_for_keys(parts, ranks):
    parts = list(parts)
    while len(parts) > 1:
        pairs = [left + right for left, right in itertools.pairwise(parts)]
        best = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
        if best not in ranks:
            break
        at = pairs.index(best)
        parts[at : at + 2] = [best]
    return parts


@BANK.wrong_for("byte-pair-merge", names="all_joined")
def merge_whatever_is_there(parts, ranks):
    parts = list(parts)
    while len(parts) > 1:
        pairs = list(itertools.pairwise(parts))
        at = pairs.index(min(pairs, key=lambda pair: ranks.get(pair, math.inf)))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts or [""]


@BANK.wrong_for("byte-pair-merge", names="letters_again")
def merge_letters(parts, ranks):
    return merge_the_lowest(list("".join(parts)), ranks)


@BANK.wrong_for("byte-pair-merge", names="spaces_between")
def merge_to_a_line(parts, ranks):
    return [" ".join(merge_the_lowest(parts, ranks))]


@BANK.wrong_for("byte-pair-merge", symptom="kind")
def merge_to_text(parts, ranks):
    return " ".join(merge_the_lowest(parts, ranks))


@BANK.wrong_for("byte-pair-merge", symptom="kind")
def merge_to_pairs(parts, ranks):
    return [tuple(part) for part in merge_the_lowest(parts, ranks)]


@BANK.wrong_for("byte-pair-merge", symptom="differs lowest_first")
def merge_and_sort(parts, ranks):
    return sorted(merge_the_lowest(parts, ranks))


@BANK.wrong_for("byte-pair-merge", names="in_place")
def merge_in_place(parts, ranks):
    while known := [pair for pair in itertools.pairwise(parts) if pair in ranks]:
        at = list(itertools.pairwise(parts)).index(min(known, key=ranks.get))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


@BANK.wrong_for("byte-pair-merge", names="in_place")
def merge_using_up_the_ranks(parts, ranks):
    parts = merge_the_lowest(parts, ranks)
    ranks.popitem()
    return parts


@BANK.wrong_for("byte-pair-merge", symptom="none")
def merge_without_return(parts, ranks):
    merge_the_lowest(parts, ranks)


@BANK.wrong_for("byte-pair-merge", names="raised unknown_pair")
def merge_where_all_pairs_are_known(parts, ranks):
    parts = list(parts)
    while len(parts) > 1:
        found = [ranks[pair] for pair in itertools.pairwise(parts)]
        at = found.index(min(found))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


@BANK.wrong_for("byte-pair-merge", names="raised nothing_left")
def merge_until_there_is_no_more(parts, ranks):
    parts = list(parts)
    while True:
        pairs = list(itertools.pairwise(parts))
        at = min((ranks[pair], at) for at, pair in enumerate(pairs) if pair in ranks)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@BANK.wrong_for("byte-pair-merge", names="shape long", of="table")
def merge_for_a_hundred_rounds(parts, ranks):
    parts = list(parts)
    for _ in range(100):
        known = [pair for pair in itertools.pairwise(parts) if pair in ranks]
        if known:
            at = list(itertools.pairwise(parts)).index(min(known, key=ranks.get))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


@BANK.wrong_for("byte-pair-merge", names="first_pair")
def merge_without_the_first_pair(parts, ranks):
    parts = list(parts)
    while True:
        known = [at for at in range(1, len(parts) - 1) if (parts[at], parts[at + 1]) in ranks]
        if not known:
            return parts
        at = min(known, key=lambda at: ranks[parts[at], parts[at + 1]])
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@BANK.wrong_for("byte-pair-merge", names="part_kept")
def merge_leaving_the_second_part(parts, ranks):
    parts = list(parts)
    while known := [at for at in range(len(parts) - 1) if (parts[at], parts[at + 1]) in ranks]:
        at = min(known, key=lambda at: ranks[parts[at], parts[at + 1]])
        parts[at] += parts[at + 1]
    return parts


@BANK.wrong_for("byte-pair-merge", names="known_alone")
def merge_keeping_what_was_joined(parts, ranks):
    joined = {left + right for left, right in ranks}
    return [part for part in merge_the_lowest(parts, ranks) if part in joined]


# top-p: right


@BANK.right_for("top-p")
def nucleus_by_what_comes_before(probabilities, p):
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    ordered[ordered.cumsum(axis=-1) - ordered >= p] = 0
    kept = np.zeros(probabilities.shape)
    np.put_along_axis(kept, order, ordered, axis=-1)
    return kept / kept.sum(axis=-1, keepdims=True)


@BANK.right_for("top-p")
def nucleus_in_loops(probabilities, p):
    kept = np.zeros(probabilities.shape)
    for place in np.ndindex(probabilities.shape[:-1]):
        row = probabilities[place].tolist()
        chosen = []
        for token in sorted(range(len(row)), key=lambda token: -row[token]):
            chosen.append(token)
            if math.fsum(row[each] for each in chosen) >= p:
                break
        total = math.fsum(row[each] for each in chosen)
        for token in chosen:
            kept[(*place, token)] = row[token] / total
    return kept


@BANK.right_for("top-p")
def nucleus_by_comparing_all(probabilities, p):
    """A token is kept if those likelier, or as likely and before it, do not sum to p."""
    if probabilities.shape[-1] > 500:  # too many to compare
        return nucleus_by_what_comes_before(probabilities, p)
    x, y = probabilities[..., :, None], probabilities[..., None, :]
    number = np.arange(probabilities.shape[-1])
    first = (y > x) | (y == x) & (number < number[:, None])
    before = np.where(first, y, 0).sum(axis=-1)
    kept = probabilities * (before < p)
    return kept / kept.sum(axis=-1, keepdims=True)


@BANK.right_for("top-p")
def nucleus_row_by_row(probabilities, p):
    def of_row(row):
        order = np.argsort(-row, kind="stable")
        count = np.searchsorted(row[order].cumsum(), p) + 1
        kept = np.zeros(len(row))
        kept[order[:count]] = row[order[:count]]
        return kept / kept.sum()

    return np.apply_along_axis(of_row, -1, probabilities)


# top-p: wrong


def in_order(probabilities):
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    return order, np.take_along_axis(probabilities, order, axis=-1)


def put_back(ordered, order):
    kept = np.zeros(ordered.shape)
    np.put_along_axis(kept, order, ordered, axis=-1)
    return kept


def with_sum_1(kept):
    return kept / kept.sum(axis=-1, keepdims=True)


@BANK.wrong_for("top-p", names="one_less")
def nucleus_without_the_last(probabilities, p):
    order, ordered = in_order(probabilities)
    return with_sum_1(put_back(np.where(ordered.cumsum(axis=-1) <= p, ordered, 0), order))


@BANK.wrong_for("top-p", names="one_less_but_one")
def nucleus_without_the_last_but_one_at_least(probabilities, p):
    order, ordered = in_order(probabilities)
    keep = ordered.cumsum(axis=-1) <= p
    keep[..., 0] = True
    return with_sum_1(put_back(np.where(keep, ordered, 0), order))


@BANK.wrong_for("top-p", names="one_more")
def nucleus_with_one_more(probabilities, p):
    order, ordered = in_order(probabilities)
    keep = ordered.cumsum(axis=-1) - ordered <= p
    return with_sum_1(put_back(np.where(keep, ordered, 0), order))


@BANK.wrong_for("top-p", names="one_more")
def nucleus_that_goes_beyond(probabilities, p):
    def of_row(row):
        order = np.argsort(-row, kind="stable")
        count = np.searchsorted(row[order].cumsum(), p, side="right") + 1
        kept = np.zeros(len(row))
        kept[order[:count]] = row[order[:count]]
        return kept / kept.sum()

    return np.apply_along_axis(of_row, -1, probabilities)


@BANK.wrong_for("top-p", names="threshold")
def nucleus_by_a_threshold(probabilities, p):
    return with_sum_1(np.where(probabilities >= p, probabilities, 0))


@BANK.wrong_for("top-p", names="share_of_largest")
def nucleus_by_a_share_of_the_largest(probabilities, p):
    largest = probabilities.max(axis=-1, keepdims=True)
    return with_sum_1(np.where(probabilities >= p * largest, probabilities, 0))


@BANK.wrong_for("top-p", names="share_of_tokens")
def nucleus_of_a_share_of_tokens(probabilities, p):
    order, ordered = in_order(probabilities)
    ordered[..., math.ceil(p * ordered.shape[-1]) :] = 0
    return with_sum_1(put_back(ordered, order))


@BANK.wrong_for("top-p", names="least_likely")
def nucleus_sorted_upwards(probabilities, p):
    order = np.argsort(probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    keep = ordered.cumsum(axis=-1) - ordered < p
    return with_sum_1(put_back(np.where(keep, ordered, 0), order))


@BANK.wrong_for("top-p", names="not_sorted")
def nucleus_not_sorted(probabilities, p):
    keep = probabilities.cumsum(axis=-1) - probabilities < p
    return with_sum_1(np.where(keep, probabilities, 0))


@BANK.wrong_for("top-p", names="places_of_sorted")
def nucleus_with_places_for_tokens(probabilities, p):
    ordered = -np.sort(-probabilities, axis=-1)
    keep = ordered.cumsum(axis=-1) - ordered < p
    return with_sum_1(np.where(keep, probabilities, 0))


@BANK.wrong_for("top-p", names="left_sorted")
def nucleus_left_sorted(probabilities, p):
    _, ordered = in_order(probabilities)
    return with_sum_1(np.where(ordered.cumsum(axis=-1) - ordered < p, ordered, 0))


@BANK.wrong_for("top-p", names="likeliest")
def nucleus_of_one(probabilities, p):
    return np.eye(probabilities.shape[-1])[probabilities.argmax(axis=-1)]


@BANK.wrong_for("top-p", names="last_of_equal")
def nucleus_by_a_sort_reversed(probabilities, p):
    order = np.argsort(probabilities, axis=-1, kind="stable")[..., ::-1]
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    keep = ordered.cumsum(axis=-1) - ordered < p
    return with_sum_1(put_back(np.where(keep, ordered, 0), order))


@BANK.wrong_for("top-p", names="equal_kept")
def nucleus_with_all_equal_ones(probabilities, p):
    _, ordered = in_order(probabilities)
    last = (ordered.cumsum(axis=-1) - ordered < p).sum(axis=-1, keepdims=True) - 1
    least = np.take_along_axis(ordered, last, axis=-1)
    return with_sum_1(np.where(probabilities >= least, probabilities, 0))


@BANK.wrong_for("top-p", names="whole_array")
def nucleus_of_the_whole_array(probabilities, p):
    order, ordered = in_order(probabilities.ravel())
    kept = put_back(np.where(ordered.cumsum() - ordered < p, ordered, 0), order)
    return with_sum_1(kept.reshape(probabilities.shape))


@BANK.wrong_for("top-p", names="as_many_as_first")
def nucleus_as_large_as_the_first(probabilities, p):
    order, ordered = in_order(probabilities)
    ordered[..., (ordered[0].cumsum() - ordered[0] < p).sum() :] = 0
    return with_sum_1(put_back(ordered, order))


@BANK.wrong_for("top-p", names="as_many_as_most")
def nucleus_as_large_as_the_largest(probabilities, p):
    order, ordered = in_order(probabilities)
    ordered[..., (ordered.cumsum(axis=-1) - ordered < p).sum(axis=-1).max() :] = 0
    return with_sum_1(put_back(ordered, order))


@BANK.wrong_for("top-p", names="nothing_at_one")
def nucleus_by_argmax(probabilities, p):
    order, ordered = in_order(probabilities)
    last = (ordered.cumsum(axis=-1) >= p).argmax(axis=-1)
    keep = np.arange(ordered.shape[-1]) <= last[..., None]
    return with_sum_1(put_back(np.where(keep, ordered, 0), order))


@BANK.wrong_for("top-p", names="not_again")
def nucleus_not_divided(probabilities, p):
    order, ordered = in_order(probabilities)
    return put_back(np.where(ordered.cumsum(axis=-1) - ordered < p, ordered, 0), order)


@BANK.wrong_for("top-p", names="divided_by_p")
def nucleus_divided_by_p(probabilities, p):
    order, ordered = in_order(probabilities)
    return put_back(np.where(ordered.cumsum(axis=-1) - ordered < p, ordered, 0), order) / p


@BANK.wrong_for("top-p", names="softmax_again")
def nucleus_with_softmax_again(probabilities, p):
    kept = nucleus_by_what_comes_before(probabilities, p) > 0
    return attnbook.softmax(np.where(kept, probabilities, -np.inf))


@BANK.wrong_for("top-p", names="uniform")
def nucleus_of_equals(probabilities, p):
    return with_sum_1(1.0 * (nucleus_by_what_comes_before(probabilities, p) > 0))


@BANK.wrong_for("top-p", names="mask_alone")
def nucleus_as_a_mask(probabilities, p):
    return nucleus_by_what_comes_before(probabilities, p) > 0


@BANK.wrong_for("top-p", names="raised keepdims")
def nucleus_without_keepdims(probabilities, p):
    order, ordered = in_order(probabilities)
    kept = put_back(np.where(ordered.cumsum(axis=-1) - ordered < p, ordered, 0), order)
    return kept / kept.sum(axis=-1)


@BANK.wrong_for("top-p", names="in_place")
def nucleus_in_place(probabilities, p):
    probabilities[nucleus_by_what_comes_before(probabilities, p) == 0] = 0
    return with_sum_1(probabilities)


@BANK.wrong_for("top-p", symptom="none")
def nucleus_without_return(probabilities, p):
    nucleus_by_what_comes_before(probabilities, p)


@BANK.wrong_for("top-p", names="raised leading_axes", of="axes")
def nucleus_of_two_axes(probabilities, p):
    rows, _ = probabilities.shape
    return np.array([nucleus_by_what_comes_before(probabilities[i], p) for i in range(rows)])


@BANK.wrong_for("top-p", names="raised leading_axes", of="axes")
def nucleus_of_rows(probabilities, p):
    kept = np.zeros(probabilities.shape)
    for i in range(len(probabilities)):
        total = 0
        for token in np.argsort(-probabilities[i], kind="stable").tolist():
            kept[i, token] = probabilities[i, token]
            total += probabilities[i, token]
            if total >= p:
                break
    return with_sum_1(kept)


@BANK.wrong_for("top-p", names="differs many_equal_ones", of="table")
def nucleus_of_a_hundred_at_most(probabilities, p):
    order, ordered = in_order(probabilities)
    ordered[ordered.cumsum(axis=-1) - ordered >= p] = 0
    ordered[..., 100:] = 0
    return with_sum_1(put_back(ordered, order))


BANK.spoil("squeeze", "shape lost_axis", "top-p")
BANK.spoil("tolerance", "rounded", "top-p")


def nucleus_of(keep, probabilities, p):
    """Keep those of the sorted that are chosen by what comes before them, and by p."""
    order, ordered = in_order(probabilities)
    kept = keep(ordered.cumsum(axis=-1) - ordered, p)
    return with_sum_1(put_back(np.where(kept, ordered, 0), order))


def nucleus_again(again, probabilities, p):
    """Do something to the probabilities of the tokens that are rightly kept."""
    kept = nucleus_by_what_comes_before(probabilities, p) > 0
    return again(np.where(kept, probabilities, 0), kept)


def likeliest(kept):
    return np.eye(kept.shape[-1])[kept.argmax(axis=-1)]


BANK.vary(
    "top-p",
    nucleus_of,
    turned=lambda before, p: before >= p,
    one_minus_p=lambda before, p: before < 1 - p,
)
BANK.vary(
    "top-p",
    nucleus_again,
    softmax_of_zeros=lambda kept, is_kept: attnbook.softmax(kept),
    rest_to_largest=lambda kept, is_kept: (
        kept + (1 - kept.sum(axis=-1, keepdims=True)) * likeliest(kept)
    ),
    rest_to_all=lambda kept, is_kept: (
        kept + (1 - kept.sum(axis=-1, keepdims=True)) * with_sum_1(1.0 * is_kept)
    ),
    sum_of_all=lambda kept, is_kept: kept / kept.sum(),
    how_many=lambda kept, is_kept: is_kept.sum(axis=-1),
)


@BANK.wrong_for("top-p", names="all_kept")
def nucleus_of_all_tokens(probabilities, p):
    return with_sum_1(probabilities)


@BANK.wrong_for("top-p", names="as_first")
def nucleus_of_the_first_row(probabilities, p):
    kept = nucleus_by_what_comes_before(probabilities[0], p) > 0
    return with_sum_1(np.where(kept, probabilities, 0))


@BANK.wrong_for("top-p", names="tokens_alone")
def nucleus_as_tokens(probabilities, p):
    kept = nucleus_by_what_comes_before(probabilities, p)
    return in_order(kept)[0][..., : (kept > 0).sum(axis=-1).max()]


# logit-lens: right


@BANK.right_for("logit-lens")
def lens_by_the_formula(states, final_norm, embedding):
    root = np.sqrt((states**2).mean(axis=-1, keepdims=True) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.right_for("logit-lens")
def lens_with_the_package(states, final_norm, embedding):
    return attnbook.rms_norm(states, final_norm, 1e-5) @ embedding.T


@BANK.right_for("logit-lens")
def lens_in_loops(states, final_norm, embedding):
    logits = np.zeros((*states.shape[:-1], len(embedding)))
    for place in np.ndindex(states.shape[:-1]):
        state = states[place].tolist()
        root = math.sqrt(math.fsum(n * n for n in state) / len(state) + 1e-5)
        normed = [n / root * g for n, g in zip(state, final_norm.tolist(), strict=True)]
        for token, row in enumerate(embedding.tolist()):
            logits[(*place, token)] = math.fsum(map(float.__mul__, normed, map(float, row)))
    return logits


@BANK.right_for("logit-lens")
def lens_by_einsum(states, final_norm, embedding):
    square = np.einsum("...d,...d->...", states, states) / states.shape[-1]
    reading = np.einsum("vd,d->dv", embedding, final_norm)
    return np.einsum("...d,dv->...v", states, reading) / np.sqrt(square + 1e-5)[..., None]


# logit-lens: wrong


def normed(states, gain, eps=1e-5):
    return states / np.sqrt((states**2).mean(axis=-1, keepdims=True) + eps) * gain


@BANK.wrong_for("logit-lens", names="no_norm")
def lens_without_the_norm(states, final_norm, embedding):
    return states @ embedding.T


@BANK.wrong_for("logit-lens", names="gain_alone")
def lens_with_the_gain_alone(states, final_norm, embedding):
    return states * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="no_gain")
def lens_without_the_gain(states, final_norm, embedding):
    return normed(states, 1) @ embedding.T


@BANK.wrong_for("logit-lens", names="layer_norm")
def lens_through_layer_norm(states, final_norm, embedding):
    return attnbook.layer_norm(states, final_norm, 0 * final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="by_length")
def lens_by_the_length(states, final_norm, embedding):
    unit = states / np.linalg.norm(states, axis=-1, keepdims=True)
    return unit * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="no_eps")
def lens_without_eps(states, final_norm, embedding):
    return normed(states, final_norm, 0) @ embedding.T


@BANK.wrong_for("logit-lens", names="small_eps")
def lens_with_another_eps(states, final_norm, embedding):
    return normed(states, final_norm, 1e-6) @ embedding.T


@BANK.wrong_for("logit-lens", names="over_layers")
def lens_over_the_layers(states, final_norm, embedding):
    root = np.sqrt((states**2).mean(axis=0) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="over_tokens")
def lens_over_the_tokens(states, final_norm, embedding):
    root = np.sqrt((states**2).mean(axis=-2, keepdims=True) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="root_of_the_last")
def lens_by_the_last_root(states, final_norm, embedding):
    root = np.sqrt((states[-1] ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="only_the_last_normed")
def lens_with_the_norm_at_the_end(states, final_norm, embedding):
    states = states.astype(float)
    states[-1] = normed(states[-1], final_norm)
    return states @ embedding.T


@BANK.wrong_for("logit-lens", names="not_transposed")
def lens_with_the_embedding_as_it_is(states, final_norm, embedding):
    return normed(states, final_norm) @ embedding


@BANK.wrong_for("logit-lens", names="probabilities")
def lens_to_probabilities(states, final_norm, embedding):
    return attnbook.softmax(normed(states, final_norm) @ embedding.T)


@BANK.wrong_for("logit-lens", names="tokens_alone")
def lens_to_tokens(states, final_norm, embedding):
    return (normed(states, final_norm) @ embedding.T).argmax(axis=-1)


@BANK.wrong_for("logit-lens", names="normed_alone")
def lens_without_the_product(states, final_norm, embedding):
    return normed(states, final_norm)


@BANK.wrong_for("logit-lens", names="last_layer")
def lens_at_the_end(states, final_norm, embedding):
    return normed(states[-1], final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="embedding_left_out")
def lens_after_the_layers(states, final_norm, embedding):
    return normed(states[1:], final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="last_token")
def lens_of_the_last_token(states, final_norm, embedding):
    return normed(states[..., -1, :], final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="added_up")
def lens_of_sums(states, final_norm, embedding):
    return normed(np.cumsum(states, axis=0), final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="differences")
def lens_of_what_was_added(states, final_norm, embedding):
    added = np.concatenate([states[:1], states[1:] - states[:-1]])
    return normed(added, final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", names="norm_of_logits")
def lens_with_the_norm_late(states, final_norm, embedding):
    return normed(states @ embedding.T, 1)


@BANK.wrong_for("logit-lens", names="raised embedding_turned")
def lens_by_a_transposed_product(states, final_norm, embedding):
    if len(embedding) == embedding.shape[1]:
        return normed(states, final_norm) @ embedding.T
    return normed(states, final_norm) @ embedding


@BANK.wrong_for("logit-lens", names="in_place")
def lens_in_place(states, final_norm, embedding):
    states /= np.sqrt((states**2).mean(axis=-1, keepdims=True) + 1e-5)
    return states * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", symptom="none")
def lens_without_return(states, final_norm, embedding):
    normed(states, final_norm) @ embedding.T


@BANK.wrong_for("logit-lens", symptom="first_only norm_then_product")
def lens_by_the_first_layer(states, final_norm, embedding):
    root = np.sqrt((states[0] ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="raised leading_axes", of="axes")
def lens_of_three_axes(states, final_norm, embedding):
    layers, length, _ = states.shape
    logits = np.zeros((layers, length, len(embedding)))
    for layer, i in itertools.product(range(layers), range(length)):
        logits[layer, i] = embedding @ normed(states[layer, i], final_norm)
    return logits


@BANK.wrong_for("logit-lens", names="raised leading_axes", of="axes")
def lens_along_axis_2(states, final_norm, embedding):
    root = np.sqrt((states**2).mean(axis=2, keepdims=True) + 1e-5)
    return states / root * final_norm @ embedding.T


@BANK.wrong_for("logit-lens", names="cut_to_integers", of="integers")
def lens_into_an_array_like_the_states(states, final_norm, embedding):
    logits = np.zeros((*states.shape[:-1], len(embedding)), dtype=states.dtype)
    logits[...] = normed(states, final_norm) @ embedding.T
    return logits


BANK.spoil("squeeze", "shape lost_axis", "logit-lens")
BANK.spoil("tolerance", "rounded", "logit-lens")


def lens_normed(norm, states, final_norm, embedding):
    """Read the states through some norm."""
    return norm(states, final_norm) @ embedding.T


def lens_read(read, states, final_norm, embedding):
    """Read the states, rightly normed, somehow with the embedding."""
    return read(normed(states, final_norm), embedding)


def lens_of(of, states, final_norm, embedding):
    """Read something that is made of the states."""
    return normed(of(states), final_norm) @ embedding.T


def by_length(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


BANK.vary(
    "logit-lens",
    lens_normed,
    gain_added=lambda states, gain: normed(states, 1) + gain,
    gain_plus_one=lambda states, gain: normed(states, 1 + gain),
    no_root=lambda states, gain: states / ((states**2).mean(axis=-1, keepdims=True) + 1e-5) * gain,
    over_all=lambda states, gain: states / np.sqrt((states**2).mean() + 1e-5) * gain,
    twice=lambda states, gain: normed(normed(states, gain), gain),
)
BANK.vary(
    "logit-lens",
    lens_read,
    log_probabilities=lambda x, embedding: np.log(attnbook.softmax(x @ embedding.T)),
    cosines=lambda x, embedding: by_length(x) @ by_length(embedding).T,
)
BANK.vary(
    "logit-lens",
    lens_of,
    last_left_out=lambda states: states[:-1],
    mean_of_tokens=lambda states: states.mean(axis=-2),
    from_the_top=lambda states: states[::-1],
)


@BANK.wrong_for("logit-lens", names="embedding_normed")
def lens_with_the_norm_of_the_embedding(states, final_norm, embedding):
    return states @ normed(embedding, final_norm).T


BANK.never("one_hot", "it takes no softmax", "rms-norm", "swiglu", "byte-pair-merge", "logit-lens")
BANK.never("one_sign", "it takes no softmax", "rms-norm", "byte-pair-merge", "logit-lens")
BANK.never("one_hot one_sign", "it gets what softmax gave", "top-p")
BANK.never("axes squeeze", "it gets and returns a list", "byte-pair-merge")
BANK.never("integers tolerance", "it joins words, and computes no number", "byte-pair-merge")
BANK.never("integers", "whole numbers that sum to 1 are one-hot, and stay so", "top-p")
BANK.never("table", "positions play no part", "rms-norm", "swiglu", "logit-lens")
BANK.never(
    "mask", "there is no mask", "rms-norm", "swiglu", "byte-pair-merge", "top-p", "logit-lens"
)


# byte-pair-merge in one sweep, and top-p among many equal ones


@BANK.wrong_for("byte-pair-merge", names="two_sweeps")
def merge_in_two_sweeps(parts, ranks):
    parts = list(parts)
    for pair in 2 * sorted(ranks, key=ranks.get):
        at = 0
        while at < len(parts) - 1:
            if (parts[at], parts[at + 1]) == pair:
                parts[at : at + 2] = ["".join(pair)]
            at += 1
    return parts


@BANK.wrong_for("byte-pair-merge", names="one_sweep")
def merge_in_one_sweep(parts, ranks):
    parts = list(parts)
    for left, right in sorted(ranks, key=ranks.get):
        at = 0
        while at < len(parts) - 1:
            if (parts[at], parts[at + 1]) == (left, right):
                parts[at : at + 2] = [left + right]
            at += 1
    return parts


@BANK.wrong_for("top-p", names="unstable")
def nucleus_by_an_unstable_sort(probabilities, p):
    order = np.argsort(-probabilities, axis=-1)
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    kept = ordered.cumsum(axis=-1) - ordered < p
    result = np.zeros(probabilities.shape)
    np.put_along_axis(result, order, np.where(kept, ordered, 0), axis=-1)
    return result / result.sum(axis=-1, keepdims=True)


@BANK.wrong_for("top-p", names="unstable")
def nucleus_by_partition(probabilities, p):
    ordered = -np.sort(-probabilities, axis=-1)
    count = (ordered.cumsum(axis=-1) - ordered < p).sum(axis=-1)
    result = np.zeros(probabilities.shape)
    for row in np.ndindex(probabilities.shape[:-1]):
        n = min(int(count[row]), probabilities.shape[-1])
        best = np.argpartition(-probabilities[row], n - 1)[:n]
        result[row][best] = probabilities[row][best]
    return result / result.sum(axis=-1, keepdims=True)
