"""Assignment 4, Split one attention into many heads."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import each, projection, returning
from attnbook.functional import scaled_dot_product_attention
from attnbook.layers import MultiHeadAttention
from course.grading.task import NOT_RELATIVE, Measurement, relative, sizes

# unequal-heads


def _columns(widths, _):
    """Return the columns of each head: they stand side by side, in their order."""
    ends = np.cumsum(widths)
    return [np.arange(end - width, end) for width, end in zip(widths, ends, strict=True)]


def _unequal(
    columns=_columns,
    scale=lambda width, widths, d_in: width,
    order=lambda parts: parts,
):
    def attend(x, w_q, w_k, w_v, widths):
        parts_attended = []
        for own in columns(widths, w_q.shape[1]):
            parts = (x @ w[:, own] for w in (w_q, w_k, w_v))
            by = 1 / np.sqrt(scale(len(own), widths, x.shape[1]))
            parts_attended.append(scaled_dot_product_attention(*order([*parts]), scale=by))
        outputs, weights = zip(*parts_attended, strict=True)
        return np.concatenate(outputs, axis=1), np.array(weights)

    return attend


def _equal(widths, d_model):
    return np.array_split(np.arange(d_model), len(widths))


def _in_turns(widths, d_model):
    """Deal the columns out to the heads until each has its number."""
    left = [list(range(width)) for width in widths]
    columns, column = [[] for _ in widths], 0
    while any(left):
        for own, rest in zip(columns, left, strict=True):
            if rest:
                rest.pop()
                own.append(column)
                column += 1
    return columns


def _unequal_cases(rng):
    def layer(length, d_in, widths):
        n = sum(widths)
        return {
            "x": rng.standard_normal((length, d_in)),
            "w_q": 2 * projection(rng, d_in, n),
            "w_k": projection(rng, d_in, n),
            "w_v": projection(rng, d_in, n),
            "widths": widths,
        }

    def drawn(num_heads, lengths, d_ins):
        """Draw sizes no two of which are equal, nor two numbers that a scale may be taken for."""
        length, d_in, *widths = sizes(rng, lengths, d_ins, *num_heads * [(2, 3, 4, 5, 6, 8)])
        taken = {widths[0], max(widths), num_heads, sum(widths) / num_heads, sum(widths), d_in}
        if num_heads > 1 and len(taken) < 6:
            return drawn(num_heads, lengths, d_ins)
        return layer(length, d_in, widths)

    yield drawn(3, (7, 11), (9, 13, 17)), "head_by_head"
    yield drawn(4, (7, 11, 13), (9, 17)), "head_by_head"
    yield drawn(1, (7, 9), (11, 13)), "one_head"
    yield layer(int(rng.choice((7, 9))), 11, [3, 3, 3, 3]), "equal_heads"
    yield drawn(2, (7, 9), (11, 13)), "other_numbers"
    yield layer(1, int(rng.choice((5, 7, 11))), [2, 1]), "single"


_UNEQUAL_HEADS = Exercise(
    call="unequal_heads(x, w_q, w_k, w_v, widths)",
    reference=_unequal(),
    cases=_unequal_cases,
    returns=("output", "weights"),
    rows_sum_to_one=True,
    leading="head",
    clues={"reshape|equal division": "no_reshape"},
    mistakes=dict(
        **each(
            lambda columns: _unequal(columns),
            equal=_equal,
            in_turns=_in_turns,
            reversed_heads=lambda widths, n: _columns(widths, n)[::-1],
            reversed_widths=lambda widths, n: _columns(widths[::-1], n),
            first_width=lambda widths, n: [
                np.arange(at, min(at + widths[0], n)) for at in range(0, n, widths[0])
            ],
            last_head_left_out=lambda widths, n: _columns(widths, n)[:-1],
            from_the_start=lambda widths, n: [np.arange(width) for width in widths],
        ),
        **each(
            lambda scale: _unequal(scale=scale),
            unscaled=lambda width, widths, d_in: 1,
            by_all_heads=lambda width, widths, d_in: sum(widths),
            by_mean_width=lambda width, widths, d_in: np.mean(widths),
            by_first_width=lambda width, widths, d_in: widths[0],
            by_widest=lambda width, widths, d_in: max(widths),
            by_num_heads=lambda width, widths, d_in: len(widths),
            by_d_in=lambda width, widths, d_in: d_in,
            by_d_k=lambda width, widths, d_in: width**2,
        ),
        keys_for_queries=_unequal(order=lambda parts: [parts[i] for i in (1, 0, 2)]),
        keys_for_values=_unequal(order=lambda parts: [parts[i] for i in (0, 1, 1)]),
        **returning(
            _unequal(),
            mean_weights=lambda both: (both[0], both[1].mean(axis=0)),
            weights_alone=lambda both: both[1],
            output_alone=lambda both: both[0],
            swapped=lambda both: both[::-1],
            weights_side_by_side=lambda both: (both[0], np.hstack(both[1])),
        ),
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
        "unequal-heads": _UNEQUAL_HEADS,
        "smaller-layer": _SMALLER_LAYER,
        "fewer-groups": _FEWER_GROUPS,
    },
)
