"""The exercises of the chapter Split one attention into many heads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.mistakes import (
    ATTEND,
    Attention,
    but,
    each,
    masked,
    projection,
    put_wrong,
    returning,
    taking,
)
from attnbook.functional import AttentionOutput, softmax
from attnbook.layers import MultiHeadAttention, merge_heads, split_heads
from attnbook.masks import causal_mask

# split-heads


def _split_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 7, 5, 3), (11, 2, 3, 5), (5, 3, 1, 7), (3, 5, 7, 1)
    hints = "place", "sizes", "one_head", "narrow"
    for (batch, length, num_heads, head_dim), hint in zip(shapes, hints, strict=True):
        x = rng.standard_normal((batch, length, num_heads * head_dim))
        yield {"x": x, "num_heads": num_heads}, hint


def _cut(axes: str) -> Function:
    """Make a split that reshapes to the axes before the arrow, and puts them in the order after it.

    The letters are b(atch), l(ength), h(eads) and d, the head_dim.
    """
    blocks, order = axes.split("->")

    def split(x: Array, n: int) -> Array:
        sizes = {"b": len(x), "l": x.shape[1], "h": n, "d": x.shape[2] // n}
        return np.einsum(axes, x.reshape([sizes[letter] for letter in blocks]))

    return split


_SPLIT_HEADS = Exercise(
    call="split(x, num_heads)",
    reference=split_heads,
    cases=_split_cases,
    mistakes=dict(
        **each(
            _cut,
            straight="bhld->bhld",
            heads_after_length="blhd->blhd",
            every_few="bldh->bhld",
            sizes_swapped="bldh->bdlh",
            sizes_swapped_every_few="blhd->bdlh",
            heads_first="blhd->hbld",
            heads_last="blhd->bldh",
            heads_and_batch="blhd->hlbd",
            batch_second="blhd->lhbd",
            length_last="blhd->bhdl",
            reversed_axes="blhd->dhlb",
        ),
        features_first=lambda x, n: x.swapaxes(1, 2).reshape(split_heads(x, n).shape),
        **returning(
            split_heads,
            batch_merged=lambda heads: heads.reshape(-1, *heads.shape[2:]),
            batch_merged_last=lambda heads: heads.swapaxes(0, 1).reshape(-1, *heads.shape[2:]),
            length_merged=lambda heads: heads.reshape(len(heads), -1, heads.shape[3]),
            one_head_alone=lambda heads: heads[:, 0],
            last_head_alone=lambda heads: heads[:, -1],
            first_features=lambda heads: np.repeat(heads[:, :1], heads.shape[1], axis=1),
            first_sequence=lambda heads: heads[0],
            squeezed=np.squeeze,
        ),
        batch_merged_torn=lambda x, n: x.reshape(-1, x.shape[1], x.shape[2] // n),
        copies=lambda x, n: np.repeat(x[:, None], n, axis=1),
    ),
    clues={
        "equal division": "other_axis",
        "cannot reshape": "sizes_multiply",
        "not enough values|too many values": "three_axes",
        "cannot be interpreted as an integer": "whole_number",
    },
)


# merge-heads


def _merge_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 5, 7, 3), (11, 3, 2, 5), (3, 1, 5, 7), (5, 7, 3, 1)
    for shape, hint in zip(shapes, ("place", "sizes", "one_head", "narrow"), strict=True):
        yield {"heads": rng.standard_normal(shape)}, hint


def _joined(order: str) -> Function:
    """Make a merge that puts the axes in some order, then reshapes to (batch, len, d_model)."""
    return lambda heads: np.einsum(f"bhld->{order}", heads).reshape(*heads.shape[:3:2], -1)


_MERGE_HEADS = Exercise(
    call="merge(heads)",
    reference=merge_heads,
    cases=_merge_cases,
    mistakes=dict(
        **each(
            _joined,
            unmoved="bhld",
            in_turn="bldh",
            length_last="bhdl",
            heads_and_batch="hbld",
            reversed_axes="dlhb",
            length_first="lbhd",
        ),
        **returning(
            merge_heads,
            batch_second=lambda merged: merged.swapaxes(0, 1),
            rows_and_columns=lambda merged: merged.swapaxes(1, 2),
            first_sequence=lambda merged: merged[0],
            batch_and_length=lambda merged: merged.reshape(-1, merged.shape[2]),
        ),
        **taking(
            merge_heads,
            in_reverse=lambda heads: [heads[:, ::-1]],
            all_columns=lambda heads: [np.repeat(heads[:, -1:], heads.shape[1], axis=1)],
            first_columns=lambda h: [np.concatenate([h[:, -1:], 0 * h[:, 1:]], axis=1)],
        ),
        along_length=lambda heads: heads.reshape(len(heads), -1, heads.shape[3]),
        two_axes=lambda heads: heads.swapaxes(1, 2),
        sequences=lambda heads: np.concatenate(list(heads), axis=-1),
        batch_and_heads=lambda heads: heads.reshape(-1, *heads.shape[2:]),
        hstack=lambda heads: np.concatenate(list(heads), axis=1),
        added=lambda heads: heads.sum(axis=1),
        averaged=lambda heads: heads.mean(axis=1),
        largest=lambda heads: heads.max(axis=1),
        first_alone=lambda heads: heads[:, 0],
        last_alone=lambda heads: heads[:, -1],
        one_row=lambda heads: heads.reshape(len(heads), -1),
        unchanged=lambda heads: heads,
    ),
    clues={
        "cannot reshape": "both_sizes",
        "not enough values|too many values": "four_axes",
        "axis 3 is out of bounds": "heads_second",
    },
)


# multi-head


def _multi_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 7, 5, 3), (11, 2, 3, 5), (5, 3, 1, 7), (2, 7, 5, 3)
    hints = "step_by_step", "sizes", "one_head", "maximum"
    for (batch, length, num_heads, head_dim), hint in zip(shapes, hints, strict=True):
        d_model = num_heads * head_dim
        weights = {f"w_{letter}": projection(rng, d_model, d_model) for letter in "qkvo"}
        x = rng.standard_normal((batch, length, d_model)) * (1000 if hint == "maximum" else 1)
        yield {"x": x, **weights, "num_heads": num_heads}, hint


def _right_multi(x: Array, q: Array, k: Array, v: Array, o: Array, n: int) -> AttentionOutput:
    return MultiHeadAttention(w_q=q, w_k=k, w_v=v, w_o=o, num_heads=n)(x)


def _multi(
    split: Function = split_heads, merge: Function = merge_heads, attend: Attention = ATTEND
) -> Function:
    """Make a multi-head attention of its parts, right or wrong."""

    def multi_head(x: Array, q: Array, k: Array, v: Array, o: Array, n: int) -> Any:
        mixed = replace(attend, give=lambda heads, *more: attend.give(merge(heads) @ o, *more))
        return mixed(*(split(x @ w, n) for w in (q, k, v)))

    return multi_head


_MULTI_HEAD = Exercise(
    call="multi_head(x, w_q, w_k, w_v, w_o, num_heads)",
    returns=("output", "weights"),
    reference=_right_multi,
    cases=_multi_cases,
    rows_sum_to_one=True,
    mistakes=dict(
        **each(
            lambda attend: _multi(attend=attend),
            by_d_model=Attention(scale=lambda s, q, k, v: s / (q.shape[1] * q.shape[3]) ** 0.5),
            by_num_heads=Attention(scale=lambda s, q, k, v: s / np.sqrt(q.shape[1])),
            weights_merged=Attention(give=lambda o, w, s: (o, w.reshape(-1, *w.shape[2:]))),
            weights_heads_first=Attention(give=lambda o, w, s: (o, w.swapaxes(0, 1))),
            weights_averaged=Attention(give=lambda o, w, s: (o, w.mean(axis=1))),
            weights_of_last=Attention(give=lambda o, w, s: (o, w[:, -1])),
            mixed_by_mean=Attention(
                weigh=lambda s, m: 0 * s + softmax(s).mean(axis=1, keepdims=True)
            ),
            over_heads=Attention(weigh=lambda s, m: softmax(s, axis=1)),
            causal=Attention(weigh=lambda s, m: masked(s, causal_mask(s.shape[-1]))),
            **but(put_wrong("score", "scale", "weigh", "mix", "give"), "by_len_q", "by_d_v"),
        ),
        split_by_reshape=_multi(_cut("bhld->bhld")),
        all_by_reshape=_multi(_cut("bhld->bhld"), _joined("bhld")),
        merged_by_reshape=_multi(merge=_joined("bhld")),
        heads_after_length=_multi(_cut("blhd->blhd"), lambda h: h.reshape(*h.shape[:2], -1)),
        split_every_few=_multi(_cut("bldh->bhld")),
        every_few=_multi(_cut("bldh->bhld"), _joined("bldh")),
        merged_in_turn=_multi(merge=_joined("bldh")),
        in_reverse=_multi(merge=lambda heads: merge_heads(heads[:, ::-1])),
        batch_and_heads=_multi(
            lambda x, n: split_heads(x, n).reshape(n, *x.shape[:2], -1).swapaxes(0, 1)
        ),
        first_columns=_multi(lambda x, n: np.repeat(split_heads(x, n)[:, :1], n, axis=1)),
        attends_once=_multi(lambda x, n: x, lambda x: x),
        **each(
            lambda change: lambda x, q, k, v, o, n: _right_multi(x, q, k, v, change(o, n), n),
            no_w_o=lambda o, n: np.eye(len(o)),
            w_o_transposed=lambda o, n: o.T,
            own_blocks=lambda o, n: o * np.kron(np.eye(n), np.ones([len(o) // n] * 2)),
            first_rows=lambda o, n: np.tile(o[: len(o) // n], (n, 1)),
            mean_with_first_rows=lambda o, n: np.tile(o[: len(o) // n], (n, 1)) / n,
            divided=lambda o, n: o / n,
        ),
        **taking(
            _right_multi,
            sizes_swapped=lambda x, q, k, v, o, n: (x, q, k, v, o, len(o) // n),
            all_transposed=lambda x, q, k, v, o, n: (x, q.T, k.T, v.T, o.T, n),
            not_projected=lambda x, q, k, v, o, n: (x, *[np.eye(len(o))] * 3, o, n),
            q_and_k_swapped=lambda x, q, k, v, o, n: (x, k, q, v, o, n),
        ),
        residual=lambda x, *more: (x + _right_multi(x, *more)[0], _right_multi(x, *more)[1]),
    ),
    clues={
        r"matmul.*core dimension": "what_meets",
        "cannot reshape": "sizes_multiply",
        "not enough values|too many values": "three_axes",
        "equal division": "other_axis",
    },
)


# packed-weights


def _packed_cases(rng: np.random.Generator) -> Cases:
    for d_model, hint in (5, "query"), (2, "sizes"), (7, "sizes"):
        packed, out = projection(rng, 3 * d_model, d_model), projection(rng, d_model, d_model)
        yield {"in_proj_weight": packed, "out_proj_weight": out}, hint


def _unpacked(letters: str, pack: Function = lambda packed: packed) -> Function:
    """Make an unpack: q is w_q, Q the same not transposed; ``pack`` is done first."""

    def unpack(packed: Array, out: Array) -> list[Any]:
        rows = dict(zip("QKVO", [*np.split(pack(packed), 3), out], strict=True))
        return [rows[i] if i in rows else rows[i.upper()].T for i in letters]

    return unpack


def _every_third(packed: Array) -> Any:
    return np.concatenate([packed[i::3] for i in range(3)])


_UNPACK = Exercise(
    call="unpack(in_proj_weight, out_proj_weight)",
    returns=("w_q", "w_k", "w_v", "w_o"),
    reference=_unpacked("qkvo"),
    cases=_packed_cases,
    mistakes=dict(
        **each(
            _unpacked,
            nothing_transposed="QKVO",
            in_not_transposed="QKVo",
            out_not_transposed="qkvO",
            w_k_not_transposed="qKvo",
            rows_k_q_v="KQVO",
            first_block="qqqo",
            w_v_from_out="qkoo",
            no_w_o="qkv",
        ),
        **{f"order_{i}": _unpacked(i) for i in ("qvko", "kqvo", "vkqo", "oqkv")},
        **each(
            lambda letters: _unpacked(letters, _every_third),
            every_third="qkvo",
            every_third_reshaped="QKVo",
            every_third_not_transposed="QKVO",
        ),
        **each(
            lambda letters: _unpacked(letters, lambda packed: packed.T.reshape(packed.shape)),
            reshaped_after="QKVo",
            transposed_twice="qkvo",
        ),
        **each(
            lambda turn: lambda *packed: [turn(w) for w in _unpacked("QKVO")(*packed)],
            inverted=np.linalg.inv,
            turned=np.rot90,
            flipped=np.fliplr,
        ),
        one_piece=lambda packed, out: (packed.T, out.T),
    ),
    clues={
        "equal division": "stacked_rows",
        "too many values|not enough values": "three_blocks",
        "cannot reshape|out of bounds": "d_model",
    },
)


# head-contributions


def _contribution_cases(rng: np.random.Generator) -> Cases:
    # A square w_o first: there its columns in place of its rows show as wrong numbers.
    sizes = (5, 7, 3, 15), (3, 11, 5, 2), (1, 3, 7, 5)
    for (n, length, d, d_model), hint in zip(sizes, ("alone", "oblong", "one_head"), strict=True):
        heads = rng.standard_normal((n, length, d))
        yield {"heads": heads, "w_o": projection(rng, n * d, d_model)}, hint


def _by_rows(rows: Function) -> Function:
    """Make contributions from the rows of w_o that each head gets: (num_heads, head_dim, d)."""
    return lambda heads, w_o: heads @ rows(w_o, *heads.shape[::2])


_right_contributions = _by_rows(lambda o, n, d: o.reshape(n, d, -1))


_CONTRIBUTIONS = Exercise(
    call="contributions(heads, w_o)",
    reference=_right_contributions,
    cases=_contribution_cases,
    leading="head",
    mistakes=dict(
        **returning(
            _right_contributions,
            added=lambda parts: parts.sum(axis=0),
            averaged=lambda parts: parts.mean(axis=0),
            same_share=lambda parts: 0 * parts + parts.mean(axis=0),
            whole_output=lambda parts: 0 * parts + parts.sum(axis=0),
            divided=lambda parts: parts / len(parts),
            pieces=lambda parts: split_heads(parts.sum(axis=0), len(parts)),
            own_columns=lambda parts: (
                parts.sum(axis=0) * np.kron(np.eye(len(parts)), np.ones(3))[:, None]
            ),
            square_blocks=lambda parts: np.einsum("hhld->hld", split_heads(parts, len(parts))),
            others=lambda parts: parts.sum(axis=0) - parts,
            sign_turned=np.negative,
            up_to=lambda parts: np.cumsum(parts, axis=0),
            length_first=lambda parts: parts.swapaxes(0, 1),
            rows_and_columns=lambda parts: parts.swapaxes(1, 2),
            side_by_side=merge_heads,
            lengths=lambda parts: np.linalg.norm(parts, axis=2),
            no_signs=np.abs,
            last_alone=lambda parts: parts[-1],
        ),
        **each(
            _by_rows,
            every_few=lambda o, n, d: o.reshape(d, n, -1).swapaxes(0, 1),
            first_rows=lambda o, n, d: o[:d],
            last_rows=lambda o, n, d: o[-d:],
            in_reverse=lambda o, n, d: o.reshape(n, d, -1)[::-1],
            one_row_on=lambda o, n, d: np.array([o[h : h + d] for h in range(n)]),
            columns=lambda o, n, d: o.T.reshape(n, d, -1),
            not_mixed=lambda o, n, d: np.eye(n * d).reshape(n, d, -1),
        ),
        merged_by_reshape=lambda heads, o: (
            (heads * np.eye(len(heads))[:, :, None, None]).reshape(*heads.shape[:2], -1) @ o
        ),
    ),
    clues={
        r"matmul.*core dimension|not aligned": "rows_of_head",
        "broadcast": "all_columns",
        "cannot reshape": "sizes_of_w_o",
    },
)


EXERCISES = with_hints(
    __file__,
    {
        "split-heads": _SPLIT_HEADS,
        "merge-heads": _MERGE_HEADS,
        "multi-head": _MULTI_HEAD,
        "packed-weights": _UNPACK,
        "head-contributions": _CONTRIBUTIONS,
    },
)
