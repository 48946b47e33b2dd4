"""Assignment 4, Split one attention into many heads."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.mistakes import projection
from attnbook.functional import scaled_dot_product_attention
from attnbook.layers import MultiHeadAttention, merge_heads, split_heads
from course.grading.task import Measurement, Task, sizes

# grouped-attention


def _repeat(heads, times):
    return np.repeat(heads, times, axis=-3)


def _tile(heads, times):
    return np.concatenate([heads] * times, axis=-3)


def _grouped(share=_repeat, scale=None, merge=merge_heads, split=split_heads):
    def attend(x, w_q, w_k, w_v, num_heads, num_groups):
        times = num_heads // num_groups
        query = split(x @ w_q, num_heads)
        key, value = (share(split(x @ w, num_groups), times) for w in (w_k, w_v))
        output, weights = scaled_dot_product_attention(
            query,
            key,
            value,
            scale=None if scale is None else scale(w_q, w_k, num_heads, num_groups),
        )
        return merge(output), weights

    return attend


def _unequal(rng, groups, heads_of_each, head_dims):
    """Draw a layer of which no size is another's, or what another mistakes it for."""
    num_groups, times, head_dim, length, d_in = sizes(
        rng, groups, heads_of_each, head_dims, (3, 5, 7), (5, 7, 11)
    )
    return _layer(rng, length, num_groups * times, num_groups, head_dim, d_in)


def _layer(rng, length, num_heads, num_groups, head_dim, d_in=5):
    return {
        "x": rng.standard_normal((length, d_in)),
        "w_q": 2 * projection(rng, d_in, num_heads * head_dim),
        "w_k": projection(rng, d_in, num_groups * head_dim),
        "w_v": projection(rng, d_in, num_groups * head_dim),
        "num_heads": num_heads,
        "num_groups": num_groups,
    }


def _grouped_cases(rng):
    hint = "Heads 0, 1, ... of the queries share the keys and values of group 0, and so on."
    yield _unequal(rng, (2,), (3, 5), (3, 5)), hint
    hint = "Right before, wrong for other numbers of heads and groups."
    yield _unequal(rng, (3, 5), (2, 3), (7, 11, 13)), hint
    hint = "One group: all heads share the same keys and values."
    yield _unequal(rng, (1,), (4, 6), (3, 5)), hint
    hint = "As many groups as heads: this is plain multi-head attention."
    yield _unequal(rng, (4, 6), (1,), (2, 3)), hint


def _torn_split(x, num_heads):
    return x.reshape(num_heads, x.shape[-2], -1)


def _torn_merge(x):
    return x.reshape(x.shape[-2], -1)


def _values_tiled(x, w_q, w_k, w_v, num_heads, num_groups):
    times = num_heads // num_groups
    key = _repeat(split_heads(x @ w_k, num_groups), times)
    value = _tile(split_heads(x @ w_v, num_groups), times)
    output, weights = scaled_dot_product_attention(split_heads(x @ w_q, num_heads), key, value)
    return merge_heads(output), weights


def _first_group(heads, times):
    return np.repeat(heads[:1], len(heads) * times, axis=0)


def _mean_group(heads, times):
    return np.repeat(heads.mean(axis=0, keepdims=True), len(heads) * times, axis=0)


GROUPED_ATTENTION = Task(
    call="grouped_attention(x, w_q, w_k, w_v, num_heads, num_groups)",
    reference=_grouped(),
    cases=_grouped_cases,
    sized=lambda rng, n: _layer(rng, 3, n, 4, 2),
    returns=("output", "weights"),
    rows_sum_to_one=True,
    leading="head",
    mistakes={
        "the groups take turns (0, 1, 0, 1, ...): neighbours share, np.repeat, not np.tile.": (
            _grouped(_tile)
        ),
        "all heads use the first group: each group serves its own heads.": _grouped(_first_group),
        "all heads use the mean of the groups.": _grouped(_mean_group),
        "the keys are shared as they should, the values in turns: np.repeat for both.": (
            _values_tiled
        ),
        "the scores are not scaled: divide by sqrt(head_dim).": _grouped(
            scale=lambda w_q, w_k, heads, groups: 1.0
        ),
        "the scale is the width of all heads: each head has head_dim numbers.": _grouped(
            scale=lambda w_q, w_k, heads, groups: w_q.shape[1] ** -0.5
        ),
        "the scale is the width of all keys: each head has head_dim numbers.": _grouped(
            scale=lambda w_q, w_k, heads, groups: w_k.shape[1] ** -0.5
        ),
        "the scale is the number of heads: take head_dim, the numbers of one head.": _grouped(
            scale=lambda w_q, w_k, heads, groups: heads**-0.5
        ),
        "the scale is the width of all heads of a group: each head has head_dim numbers.": _grouped(
            scale=lambda w_q, w_k, heads, groups: (w_q.shape[1] / groups) ** -0.5
        ),
        "the scale is head_dim: it should be its square root.": _grouped(
            scale=lambda w_q, w_k, heads, groups: heads / w_q.shape[1]
        ),
        "the split tears tokens apart: reshape to (len, num_heads, head_dim), then swap.": (
            _grouped(split=_torn_split)
        ),
        "the merge tears heads apart: swap heads and length before the reshape.": (
            _grouped(merge=_torn_merge)
        ),
        "the output still has its heads apart: merge them.": _grouped(merge=lambda x: x),
        "the output is the mean over the heads: set them side by side.": _grouped(
            merge=lambda x: x.mean(axis=0)
        ),
        "weights and output are swapped: return output first.": (
            lambda *arguments: _grouped()(*arguments)[::-1]
        ),
        "the weights are averaged over the heads: keep those of every head.": (
            lambda *arguments: (
                _grouped()(*arguments)[0],
                _grouped()(*arguments)[1].mean(axis=0),
            )
        ),
        "this is the output only: return both, output and weights.": (
            lambda *arguments: _grouped()(*arguments)[0]
        ),
    },
)


# smaller-layer


def _kept_columns(width, num_heads, removed):
    head = np.arange(width) // (width // num_heads)
    return ~np.isin(head, removed)


def _smaller(kept=_kept_columns, rows=None):
    def shrink(w_q, w_k, w_v, w_o, num_heads, removed):
        keep = kept(w_q.shape[1], num_heads, removed)
        inner = keep if rows is None else rows(w_q.shape[1], num_heads, removed)
        return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o[inner]

    return shrink


def _large(rng, all_heads, remove):
    """Draw a layer of which no size is another's, and the heads to remove from it."""
    num_heads, head_dim, d_in, d_out = sizes(rng, all_heads, *3 * [(2, 3, 5, 7, 11, 13)])
    width = num_heads * head_dim
    return {
        **{name: rng.standard_normal((d_in, width)) for name in ("w_q", "w_k", "w_v")},
        "w_o": rng.standard_normal((width, d_out)),
        "num_heads": num_heads,
        "removed": remove(num_heads),
    }


def _smaller_cases(rng):
    hint = "A head owns head_dim columns of w_q, w_k and w_v, and the same rows of w_o."

    def inner(num_heads):
        return sorted(sizes(rng, *2 * [range(1, num_heads - 1)]))

    yield _large(rng, (5, 7), inner), hint
    yield _large(rng, (3, 5, 7), lambda num_heads: [0]), hint
    yield _large(rng, (5, 7), lambda num_heads: [num_heads - 1, *inner(num_heads)[::-1]]), hint
    yield _large(rng, (2, 3, 5), lambda num_heads: []), "With no head removed all stays as it is."


def _zeroed(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = _kept_columns(w_q.shape[1], num_heads, removed)
    return w_q * keep, w_k * keep, w_v * keep, w_o * keep[:, None]


def _whole_output(w_q, w_k, w_v, w_o, num_heads, removed):
    keep = _kept_columns(w_q.shape[1], num_heads, removed)
    return w_q[:, keep], w_k[:, keep], w_v[:, keep], w_o


def _rescaled(w_q, w_k, w_v, w_o, num_heads, removed):
    parts = _smaller()(w_q, w_k, w_v, w_o, num_heads, removed)
    return *parts[:3], parts[3] * num_heads / (num_heads - len(removed))


def _one_after_another(w_q, w_k, w_v, w_o, num_heads, removed):
    left = np.arange(w_q.shape[1])
    size = len(left) // num_heads
    for head in removed:
        left = np.delete(left, np.s_[head * size : (head + 1) * size])
    return w_q[:, left], w_k[:, left], w_v[:, left], w_o[left]


SMALLER_LAYER = Task(
    call="smaller_layer(w_q, w_k, w_v, w_o, num_heads, removed)",
    reference=_smaller(),
    cases=_smaller_cases,
    returns=("w_q", "w_k", "w_v", "w_o"),
    clues={"cannot reshape array": "Is w_o taken to be (d_model, d_in)? d_out need not be d_in."},
    mistakes={
        "the removed heads are zeroed: take their columns and rows away.": _zeroed,
        "these are the removed heads: keep the others.": _smaller(
            lambda *arguments: ~_kept_columns(*arguments)
        ),
        "w_o is whole: the rows of a removed head go, too.": _whole_output,
        "single columns are removed: a head has head_dim columns side by side.": _smaller(
            lambda width, heads, removed: ~np.isin(np.arange(width), removed)
        ),
        "every num_heads-th column is removed: the columns of a head lie side by side.": _smaller(
            lambda width, heads, removed: ~np.isin(np.arange(width) % heads, removed)
        ),
        "heads are removed one after another: once one is gone, those behind it have moved.": (
            _one_after_another
        ),
        "the matrices come in another order: return w_q, w_k, w_v, w_o.": (
            lambda *arguments: [_smaller()(*arguments)[i] for i in (1, 0, 2, 3)]
        ),
        "only the first head of the list is removed.": _smaller(
            lambda width, heads, removed: _kept_columns(width, heads, removed[:1])
        ),
        "the heads are counted from 1: the first is head 0.": _smaller(
            lambda width, heads, removed: _kept_columns(width, heads, np.array(removed) - 1)
        ),
        "w_o is made larger to make up for the removed heads: leave it as it is.": _rescaled,
        "the first heads stay, as many as there should: those not in removed stay.": _smaller(
            lambda width, heads, removed: (
                np.arange(width) < (heads - len(removed)) * (width // heads)
            )
        ),
        "the rows of w_o belong to other heads than the columns.": _smaller(
            rows=lambda width, heads, removed: (
                np.arange(width) < (heads - len(removed)) * (width // heads)
            )
        ),
    },
)


# fewer-groups

GROUPS = np.array([1, 2, 4, 8])


def _fewer_cases(rng):
    x, w_q = rng.standard_normal((24, 16)), 0.5 * rng.standard_normal((16, 32))
    shared = 0.5 * rng.standard_normal((2, 16, 4, 1, 4))
    own = 0.1 * rng.standard_normal((2, 16, 4, 2, 4))
    w_k, w_v = (shared + own).reshape(2, 16, 32)
    hint = "Average w_k and w_v over the heads of each group, repeat, run the layer, compare."
    yield {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "groups": GROUPS.copy()}, hint


def _pooled(w, groups, mean=np.mean):
    heads = w.reshape(len(w), groups, 8 // groups, 4)
    return np.broadcast_to(mean(heads, axis=2, keepdims=True), heads.shape).reshape(w.shape)


def _in_turns(w, groups):
    heads = w.reshape(len(w), 8 // groups, groups, 4)
    return np.broadcast_to(heads.mean(axis=1, keepdims=True), heads.shape).reshape(w.shape)


def _flattened(w, groups):
    columns = w.reshape(len(w), groups, -1)
    return np.broadcast_to(columns.mean(axis=2, keepdims=True), columns.shape).reshape(w.shape)


def _take_first(heads, axis, keepdims):
    return heads[:, :, :1]


def _run(x, w_q, w_k, w_v, num_heads=8):
    layer = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=np.eye(32), num_heads=num_heads)
    return layer(x).output


def _loss(pool_k=_pooled, pool_v=_pooled, measure=None, num_heads=8):
    def errors(x, w_q, w_k, w_v, groups):
        full = _run(x, w_q, w_k, w_v, num_heads)
        found = []
        for g in groups:
            off = _run(x, w_q, pool_k(w_k, g), pool_v(w_v, g), num_heads) - full
            ratio = np.linalg.norm(off) / np.linalg.norm(full)
            found.append(ratio if measure is None else measure(off, full))
        return np.array(found)

    return errors


def _same(w, groups):
    return w


def _ratio(_, *arguments):
    errors = _loss()(*arguments)
    return errors[1] / errors[2]


FEWER_GROUPS = Measurement(
    call="errors",
    reference=_loss(),
    cases=_fewer_cases,
    returns=("errors",),
    read=_ratio,
    how="ratio is the error with two groups divided by the error with four",
    mistakes={
        "only the keys are averaged: average the values, too.": _loss(pool_v=_same),
        "only the values are averaged: average the keys, too.": _loss(pool_k=_same),
        "the groups take heads in turns: heads of a group lie side by side.": _loss(
            _in_turns, _in_turns
        ),
        "each group takes its first head: take the mean of its heads.": _loss(
            lambda w, g: _pooled(w, g, _take_first), lambda w, g: _pooled(w, g, _take_first)
        ),
        "a group has one mean for all its columns: average each column over the heads.": _loss(
            _flattened, _flattened
        ),
        "each group takes the sum of its heads: take the mean.": _loss(
            lambda w, g: _pooled(w, g, np.sum), lambda w, g: _pooled(w, g, np.sum)
        ),
        "the errors are in the opposite order: the list begins with one group.": (
            lambda *arguments: _loss()(*arguments)[::-1]
        ),
        "the error is not relative: divide by the norm of the full output.": _loss(
            measure=lambda off, full: np.linalg.norm(off)
        ),
        "these are squares of the relative error: take the root.": _loss(
            measure=lambda off, full: (np.linalg.norm(off) / np.linalg.norm(full)) ** 2
        ),
        "these are mean absolute differences: compare norms.": _loss(
            measure=lambda off, full: np.abs(off).mean()
        ),
        "these are means of one ratio per token: take the norm of the whole arrays.": _loss(
            measure=lambda off, full: np.mean(
                np.linalg.norm(off, axis=-1) / np.linalg.norm(full, axis=-1)
            )
        ),
        "the queries are averaged, too: only keys and values are shared.": (
            lambda x, w_q, w_k, w_v, groups: np.array(
                [
                    np.linalg.norm(_run(x, *(_pooled(w, g) for w in (w_q, w_k, w_v))) - full)
                    / np.linalg.norm(full)
                    for full in [_run(x, w_q, w_k, w_v)]
                    for g in groups
                ]
            )
        ),
        "the layer has one head: it has 8.": _loss(num_heads=1),
    },
)

TASKS = {
    "grouped-attention": GROUPED_ATTENTION,
    "smaller-layer": SMALLER_LAYER,
    "fewer-groups": FEWER_GROUPS,
}
