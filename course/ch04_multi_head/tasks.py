"""Assignment 4, Split one attention into many heads."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.mistakes import each, projection, returning
from attnbook.functional import scaled_dot_product_attention
from attnbook.layers import MultiHeadAttention, merge_heads, split_heads
from course.grading.task import NOT_RELATIVE, Measurement, relative, sizes

# grouped-attention


def _repeat(heads, times):
    return np.repeat(heads, times, axis=0)


def _tile(heads, times):
    return np.concatenate([heads] * times)


def _grouped(keys=_repeat, values=_repeat, merge=merge_heads, split=split_heads):
    def attend(x, w_q, w_k, w_v, heads, groups):
        key, value = (split(x @ w, groups) for w in (w_k, w_v))
        key, value = keys(key, heads // groups), values(value, heads // groups)
        output, weights = scaled_dot_product_attention(split(x @ w_q, heads), key, value)
        return merge(output), weights

    return attend


def _unequal(rng, groups, heads_of_each, head_dims):
    """Draw a layer of which no size is another's, or what another mistakes it for."""
    num_groups, times, head_dim, length, d_in = sizes(
        rng, groups, heads_of_each, head_dims, (3, 5, 7), (5, 7, 11)
    )
    return _layer(rng, length, num_groups * times, num_groups, head_dim, d_in)


def _layer(rng, length, num_heads, num_groups, head_dim, d_in):
    return {
        "x": rng.standard_normal((length, d_in)),
        "w_q": 2 * projection(rng, d_in, num_heads * head_dim),
        "w_k": projection(rng, d_in, num_groups * head_dim),
        "w_v": projection(rng, d_in, num_groups * head_dim),
        "num_heads": num_heads,
        "num_groups": num_groups,
    }


def _grouped_cases(rng):
    yield _unequal(rng, (2,), (3, 5), (3, 5)), "heads_of_a_group"
    yield _unequal(rng, (3, 5), (2, 3), (7, 11, 13)), "other_numbers"
    yield _unequal(rng, (1,), (4, 6), (3, 5)), "one_group"
    yield _unequal(rng, (4, 6), (1,), (2, 3)), "group_for_each"
    yield _layer(rng, 1, 6, 2, int(rng.choice((3, 5, 7))), 5), "single"


_GROUPED_ATTENTION = Exercise(
    call="grouped_attention(x, w_q, w_k, w_v, num_heads, num_groups)",
    reference=_grouped(),
    cases=_grouped_cases,
    returns=("output", "weights"),
    rows_sum_to_one=True,
    leading="head",
    mistakes=dict(
        in_turns=_grouped(_tile, _tile),
        values_in_turns=_grouped(values=_tile),
        first_group=_grouped(*2 * [lambda heads, times: _repeat(heads[:1], len(heads) * times)]),
        **each(
            lambda square: (
                lambda x, q, *others: _grouped()(
                    x, q * np.sqrt(square(q.shape[1], *others[2:])), *others
                )
            ),
            unscaled=lambda width, heads, groups: width / heads,
            by_all_heads=lambda width, heads, groups: 1 / heads,
            by_num_heads=lambda width, heads, groups: width / heads**2,
            by_group=lambda width, heads, groups: groups / heads,
        ),
        split_torn=_grouped(split=lambda x, heads: x.reshape(heads, len(x), -1)),
        **each(
            lambda merge: _grouped(merge=merge),
            merge_torn=lambda x: x.reshape(x.shape[1], -1),
            not_merged=lambda x: x,
        ),
        **returning(_grouped(), mean_weights=lambda both: (both[0], both[1].mean(axis=0))),
    ),
)


# smaller-layer


def _kept_columns(width, num_heads, removed):
    return ~np.isin(np.arange(width) // (width // num_heads), removed)


def _smaller(kept=_kept_columns, cut=lambda w, keep: w[:, keep]):
    def shrink(w_q, w_k, w_v, w_o, num_heads, removed):
        keep = kept(w_q.shape[1], num_heads, removed)
        return *(cut(w, keep) for w in (w_q, w_k, w_v)), cut(w_o.T, keep).T

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
    def inner(num_heads):
        return sorted(sizes(rng, *2 * [range(1, num_heads - 1)]))

    yield _large(rng, (5, 7), inner), "columns_and_rows"
    yield _large(rng, (3, 5, 7), lambda num_heads: [0]), "columns_and_rows"
    last_first = _large(rng, (5, 7), lambda num_heads: [num_heads - 1, *inner(num_heads)[::-1]])
    yield last_first, "columns_and_rows"
    yield _large(rng, (2, 3, 5), lambda num_heads: []), "none_removed"
    narrow = _large(rng, (3, 5), lambda num_heads: [1])
    yield {**narrow, "w_o": narrow["w_o"][:, :1]}, "single"


def _one_after_another(width, heads, removed):
    left, size = np.arange(width), width // heads
    for head in removed:
        left = np.delete(left, np.s_[head * size : (head + 1) * size])
    return left


_SMALLER_LAYER = Exercise(
    call="smaller_layer(w_q, w_k, w_v, w_o, num_heads, removed)",
    reference=_smaller(),
    cases=_smaller_cases,
    returns=("w_q", "w_k", "w_v", "w_o"),
    clues={"cannot reshape array": "other_d_out"},
    mistakes=dict(
        zeroed=_smaller(cut=lambda w, keep: w * keep),
        **each(
            _smaller,
            removed_kept=lambda *sizes: ~_kept_columns(*sizes),
            single_columns=lambda width, heads, removed: ~np.isin(np.arange(width), removed),
            every_few=lambda width, heads, gone: ~np.isin(np.arange(width) % heads, gone),
            one_after_another=_one_after_another,
            first_of_list=lambda width, heads, removed: _kept_columns(width, heads, removed[:1]),
            from_one=lambda width, heads, gone: _kept_columns(width, heads, np.array(gone) - 1),
        ),
        w_o_whole=lambda *given: (*_smaller()(*given)[:3], given[3]),
        w_o_larger=lambda q, k, v, o, n, cut: _smaller()(q, k, v, o * n / (n - len(cut)), n, cut),
        **returning(_smaller(), other_order=lambda parts: [parts[i] for i in (1, 0, 2, 3)]),
    ),
)


# fewer-groups

GROUPS = np.array([1, 2, 4, 8])


def _fewer_cases(rng):
    x, w_q = rng.standard_normal((24, 16)), 0.5 * rng.standard_normal((16, 32))
    shared = 0.5 * rng.standard_normal((2, 16, 4, 1, 4))
    own = 0.1 * rng.standard_normal((2, 16, 4, 2, 4))
    w_k, w_v = (shared + own).reshape(2, 16, 32)
    yield {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "groups": GROUPS.copy()}, "run_and_compare"


def _pooled(w, groups, pool=lambda heads: heads.mean(axis=2, keepdims=True)):
    heads = w.reshape(len(w), groups, 8 // groups, 4)
    return np.broadcast_to(pool(heads), heads.shape).reshape(w.shape)


def _in_turns(w, groups):
    heads = w.reshape(len(w), 8 // groups, groups, 4)
    return np.broadcast_to(heads.mean(axis=1, keepdims=True), heads.shape).reshape(w.shape)


def _same(w, groups):
    return w


def _run(x, w_q, w_k, w_v):
    layer = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=np.eye(32), num_heads=8)
    return layer(x).output


def _loss(pool_q=_same, pool_k=_pooled, pool_v=_pooled, measure=relative):
    def errors(x, w_q, w_k, w_v, groups):
        full = _run(x, w_q, w_k, w_v)
        few = (_run(x, pool_q(w_q, g), pool_k(w_k, g), pool_v(w_v, g)) for g in groups)
        return np.array([measure(output - full, full) for output in few])

    return errors


def _ratio(_, *arguments):
    errors = _loss()(*arguments)
    return errors[1] / errors[2]


_FEWER_GROUPS = Measurement(
    call="errors",
    reference=_loss(),
    cases=_fewer_cases,
    returns=("errors",),
    read=_ratio,
    how="two_by_four",
    mistakes=dict(
        keys_alone=_loss(pool_v=_same),
        values_alone=_loss(pool_k=_same),
        queries_too=_loss(pool_q=_pooled),
        in_turns=_loss(pool_k=_in_turns, pool_v=_in_turns),
        **each(
            lambda pool: _loss(_same, *2 * [lambda w, g: _pooled(w, g, pool)]),
            first_head=lambda heads: heads[:, :, :1],
            one_mean=lambda heads: heads.mean(axis=(2, 3), keepdims=True),
            summed=lambda heads: heads.sum(axis=2, keepdims=True),
        ),
        **returning(_loss(), opposite_order=lambda errors: errors[::-1]),
        **each(lambda measure: _loss(measure=measure), **NOT_RELATIVE),
    ),
)

TASKS = with_hints(
    __file__,
    {
        "grouped-attention": _GROUPED_ATTENTION,
        "smaller-layer": _SMALLER_LAYER,
        "fewer-groups": _FEWER_GROUPS,
    },
)
