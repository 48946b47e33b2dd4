"""The exercises of the chapter Split one attention into many heads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import (
    ATTEND,
    Attention,
    apart,
    but,
    coarse,
    each,
    masked,
    projection,
    put_wrong,
    returning,
    taking,
)
from attnbook.functional import softmax
from attnbook.layers import MultiHeadAttention, merge_heads, split_heads
from attnbook.masks import causal_mask


# split-heads
def _split_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 7, 5, 3), (11, 2, 3, 5), (5, 3, 1, 7), (3, 5, 7, 1), (1, 2, 3, 5)
    hints = "place", "sizes", "one_head", "narrow", "single"
    for (batch, length, num_heads, head_dim), hint in zip(shapes, hints, strict=True):
        x = rng.standard_normal((batch, length, num_heads * head_dim))
        yield {"x": x, "num_heads": num_heads}, hint


def _cut(axes: str) -> Function:
    """Make a split: reshape to some axes, of b(atch), l(en), h(eads) and d, head_dim; move them."""

    def split(x: Array, n: int) -> Any:
        sizes = {"b": len(x), "l": x.shape[1], "h": n, "d": x.shape[2] // n}
        return np.einsum(axes, x.reshape([sizes[letter] for letter in axes[:4]]))

    return split


_SPLIT_HEADS = Exercise(
    call="split(x, num_heads)",
    reference=split_heads,
    cases=_split_cases,
    mistakes=dict(
        **each(_cut, straight="bhld->bhld", every_few="bldh->bhld", sizes_swapped="bldh->bdlh"),
        **each(_cut, sizes_swapped_every_few="blhd->bdlh", heads_and_batch="blhd->hlbd"),
        **each(_cut, heads_after_length="blhd->blhd", heads_first="blhd->hbld"),
        **each(_cut, heads_last="blhd->bldh", length_last="blhd->bhdl"),
        **each(_cut, batch_second="blhd->lhbd", reversed_axes="blhd->dhlb"),
        **returning(split_heads, one_alone=lambda h: h[:, 0], last_alone=lambda h: h[:, -1]),
        **returning(split_heads, first_sequence=lambda h: h[0]),
        **returning(
            split_heads,
            batch_merged=lambda h: h.reshape(-1, *h.shape[2:]),
            batch_merged_last=lambda h: h.swapaxes(0, 1).reshape(-1, *h.shape[2:]),
            length_merged=lambda h: h.reshape(len(h), -1, h.shape[3]),
            first_features=lambda h: np.repeat(h[:, :1], h.shape[1], axis=1),
        ),
        batch_merged_torn=lambda x, n: x.reshape(-1, x.shape[1], x.shape[2] // n),
        features_first=lambda x, n: x.swapaxes(1, 2).reshape(split_heads(x, n).shape),
        copies=lambda x, n: np.repeat(x[:, None], n, axis=1),
    ),
    clues={"equal division": "axis", "reshape": "size", "integer": "whole", "to unpack": "axes"},
)


# merge-heads
def _merge_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 5, 7, 3), (11, 3, 2, 5), (3, 1, 5, 7), (5, 7, 3, 1), (1, 3, 2, 5)
    hints = "place", "sizes", "one_head", "narrow", "single"
    for shape, hint in zip(shapes, hints, strict=True):
        yield {"heads": rng.standard_normal(shape)}, hint


def _joined(order: str) -> Function:
    """Make a merge that puts the axes in some order, then reshapes to (batch, len, d_model)."""
    return lambda heads: np.einsum(f"bhld->{order}", heads).reshape(*heads.shape[:3:2], -1)


_MERGE_HEADS = Exercise(
    call="merge(heads)",
    reference=merge_heads,
    cases=_merge_cases,
    mistakes=dict(
        **each(_joined, unmoved="bhld", in_turn="bldh", length_last="bhdl"),
        **each(_joined, heads_and_batch="hbld", reversed_axes="dlhb", length_first="lbhd"),
        **returning(merge_heads, first_sequence=lambda y: y[0]),
        **returning(merge_heads, batch_second=lambda y: y.swapaxes(0, 1)),
        **returning(merge_heads, rows_and_columns=lambda y: y.swapaxes(1, 2)),
        **returning(merge_heads, batch_and_length=lambda y: y.reshape(-1, y.shape[2])),
        **taking(
            merge_heads,
            in_reverse=lambda h: [h[:, ::-1]],
            all_columns=lambda h: [np.repeat(h[:, -1:], h.shape[1], axis=1)],
            first_columns=lambda h: [np.concatenate([h[:, -1:], 0 * h[:, 1:]], axis=1)],
        ),
        **each(lambda i: lambda h: np.concatenate([*h], i), sequences=-1, hstack=1, batch=0),
        **each(lambda f: lambda h: f(h, axis=1), added=np.sum, averaged=np.mean, largest=np.max),
        **each(lambda i: lambda h: h[:, i], first_alone=0, last_alone=-1),
        along_length=lambda h: h.reshape(len(h), -1, h.shape[3]),
        two_axes=lambda h: h.swapaxes(1, 2),
        one_row=lambda h: h.reshape(len(h), -1),
        unchanged=lambda h: h,
    ),
    clues={"reshape": "both_sizes", "to unpack": "four_axes", "axis 3 is out": "heads_second"},
)


# multi-head
def _multi_cases(rng: np.random.Generator) -> Cases:
    shapes = (2, 5, 3, 7), (11, 2, 5, 3), (5, 3, 1, 7), (2, 7, 5, 3), (1, 2, 5, 3)
    hints = "step_by_step", "sizes", "one_head", "maximum", "single"
    for (batch, length, num_heads, head_dim), hint in zip(shapes, hints, strict=True):
        d_model = num_heads * head_dim
        weights = {f"w_{letter}": projection(rng, d_model, d_model) for letter in "qkvo"}
        x = rng.standard_normal((batch, length, d_model)) * (1000 if hint == "maximum" else 1)
        yield {"x": x, **weights, "num_heads": num_heads}, hint
    integers = rng.integers(-2, 3, x.shape)
    yield {"x": integers, **weights, "num_heads": num_heads}, "stored_as_integers"
    for sign in (1, -1):  # large scores, close to one another
        close = {f"w_{letter}": coarse(rng, 12, 12) for letter in "qkvo"}
        close = {"x": coarse(rng, 2, 5, 12), **close, "num_heads": 3}
        apart(close, "x", "x", sign)
        yield close, "maximum"


def _multi(split: Any = split_heads, merge: Any = merge_heads, attend: Any = ATTEND) -> Function:
    """Make a multi-head attention of its parts, right or wrong."""

    def multi_head(x: Array, q: Array, k: Array, v: Array, o: Array, n: int) -> Any:
        mixed = replace(attend, give=lambda heads, *more: attend.give(merge(heads) @ o, *more))
        return mixed(*(split(x @ w, n) for w in (q, k, v)))

    return multi_head


_right = _multi()
_MULTI_HEAD = Exercise(
    call="multi_head(x, w_q, w_k, w_v, w_o, num_heads)",
    returns=("output", "weights"),
    reference=lambda x, q, k, v, o, n: MultiHeadAttention(w_q=q, w_k=k, w_v=v, w_o=o, num_heads=n)(
        x
    ),
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
            mixed_by_mean=Attention(weigh=lambda s, m: 0 * s + softmax(s).mean(1, keepdims=True)),
            over_heads=Attention(weigh=lambda s, m: softmax(s, axis=1)),
            causal=Attention(weigh=lambda s, m: masked(s, causal_mask(s.shape[-1]))),
            **but(put_wrong("score", "scale", "weigh", "mix", "give"), "by_len_q", "by_d_v"),
        ),
        **each(_multi, split_by_reshape=_cut("bhld->bhld"), split_every_few=_cut("bldh->bhld")),
        all_by_reshape=_multi(_cut("bhld->bhld"), _joined("bhld")),
        merged_by_reshape=_multi(merge=_joined("bhld")),
        heads_after_length=_multi(_cut("blhd->blhd"), lambda h: h.reshape(*h.shape[:2], -1)),
        every_few=_multi(_cut("bldh->bhld"), _joined("bldh")),
        merged_in_turn=_multi(merge=_joined("bldh")),
        in_reverse=_multi(merge=lambda heads: merge_heads(heads[:, ::-1])),
        unmerged=_multi(lambda x, n: split_heads(x, n).reshape(n, *x.shape[:2], -1).swapaxes(0, 1)),
        first_columns=_multi(lambda x, n: np.repeat(split_heads(x, n)[:, :1], n, axis=1)),
        attends_once=_multi(lambda x, n: x, lambda x: x),
        **each(
            lambda change: lambda x, q, k, v, o, n: _right(x, q, k, v, change(o, n), n),
            no_w_o=lambda o, n: np.eye(len(o)),
            w_o_transposed=lambda o, n: o.T,
            own_blocks=lambda o, n: o * np.kron(np.eye(n), np.ones([len(o) // n] * 2)),
            first_rows=lambda o, n: np.tile(o[: len(o) // n], (n, 1)),
            mean_with_first_rows=lambda o, n: np.tile(o[: len(o) // n], (n, 1)) / n,
            divided=lambda o, n: o / n,
        ),
        **taking(
            _right,
            sizes_swapped=lambda x, q, k, v, o, n: (x, q, k, v, o, len(o) // n),
            all_transposed=lambda x, q, k, v, o, n: (x, q.T, k.T, v.T, o.T, n),
            not_projected=lambda x, q, k, v, o, n: (x, *[np.eye(len(o))] * 3, o, n),
            q_and_k_swapped=lambda x, q, k, v, o, n: (x, k, q, v, o, n),
        ),
        residual=lambda x, *more: (x + _right(x, *more)[0], _right(x, *more)[1]),
    ),
    clues={"core dim": "meet", "equal division": "axis", "reshape": "size", "to unpack": "axes"},
)


# packed-weights
def _packed_cases(rng: np.random.Generator) -> Cases:
    for d_model, hint in (5, "query"), (2, "sizes"), (7, "sizes"), (1, "single"):
        packed, out = projection(rng, 3 * d_model, d_model), projection(rng, d_model, d_model)
        yield {"in_proj_weight": packed, "out_proj_weight": out}, hint


def _unpacked(letters: str, pack: Function = lambda packed: packed) -> Function:
    """Make an unpack: q is w_q, Q the same not transposed; ``pack`` is done first."""

    def unpack(packed: Array, out: Array) -> list[Any]:
        rows = dict(zip("QKVO", [*np.split(pack(packed), 3), out], strict=True))
        return [rows[i] if i in rows else rows[i.upper()].T for i in letters]

    return unpack


_UNPACK = Exercise(
    call="unpack(in_proj_weight, out_proj_weight)",
    returns=("w_q", "w_k", "w_v", "w_o"),
    reference=_unpacked("qkvo"),
    cases=_packed_cases,
    mistakes=dict(
        **each(_unpacked, nothing_transposed="QKVO", in_not_transposed="QKVo"),
        **each(_unpacked, out_not_transposed="qkvO", w_k_not_transposed="qKvo", rows_k_q_v="KQVO"),
        **each(_unpacked, first_block="qqqo", w_v_from_out="qkoo", no_w_o="qkv"),
        **{f"order_{i}": _unpacked(i) for i in ("qvko", "kqvo", "vkqo", "oqkv")},
        **each(
            lambda i: _unpacked(i, lambda packed: np.concatenate([packed[i::3] for i in range(3)])),
            every_third="qkvo",
            every_third_reshaped="QKVo",
            every_third_not_transposed="QKVO",
        ),
        **each(lambda i: _unpacked(i, lambda p: p.T.reshape(p.shape)), late="QKVo", twice="qkvo"),
        **returning(_unpacked("QKVO"), inverted=lambda w: [*np.linalg.inv(w)]),
        **returning(_unpacked("QKVO"), turned=lambda w: [*np.rot90(w, axes=(1, 2))]),
        **returning(_unpacked("QKVO"), flipped=lambda w: [*np.flip(w, axis=2)]),
        one_piece=lambda packed, out: (packed.T, out.T),
    ),
    clues={"equal division": "stacked", "to unpack": "blocks", "reshape|bounds": "d_model"},
)


# head-contributions
def _contribution_cases(rng: np.random.Generator) -> Cases:
    # A square w_o first: there its columns in place of its rows show as wrong numbers.
    sizes = (5, 7, 3, 15), (3, 11, 5, 2), (1, 3, 7, 5)
    for (n, length, d, d_model), hint in zip(sizes, ("alone", "oblong", "one_head"), strict=True):
        heads = rng.standard_normal((n, length, d))
        yield {"heads": heads, "w_o": projection(rng, n * d, d_model)}, hint
    integers = {"heads": rng.integers(-9, 10, (3, 1, 5)), "w_o": projection(rng, 15, 7)}
    yield integers, "stored_as_integers"


def _by_rows(rows: Function) -> Function:
    """Make contributions from the rows of w_o that each head gets: (num_heads, head_dim, d)."""
    return lambda heads, w_o: heads @ rows(w_o, *heads.shape[::2])


_parts = _by_rows(lambda o, n, d: o.reshape(n, d, -1))
_CONTRIBUTIONS = Exercise(
    call="contributions(heads, w_o)",
    reference=_parts,
    cases=_contribution_cases,
    leading="head",
    mistakes=dict(
        **returning(_parts, added=lambda p: p.sum(axis=0), averaged=lambda p: p.mean(axis=0)),
        **returning(_parts, divided=lambda p: p / len(p), shared=lambda p: 0 * p + p.mean(axis=0)),
        **returning(_parts, whole=lambda p: 0 * p + p.sum(0), others=lambda p: p.sum(0) - p),
        **returning(_parts, up_to=lambda p: p.cumsum(axis=0), last_alone=lambda p: p[-1]),
        **returning(_parts, sign_turned=np.negative, no_signs=np.abs, side_by_side=merge_heads),
        **returning(
            _parts,
            pieces=lambda p: split_heads(p.sum(axis=0), len(p)),
            own_columns=lambda p: p.sum(0) * np.eye(len(p)).repeat(len(p.T) // len(p), 1)[:, None],
            square_blocks=lambda p: np.einsum("hhld->hld", split_heads(p, len(p))),
            length_first=lambda p: p.swapaxes(0, 1),
            rows_and_columns=lambda p: p.swapaxes(1, 2),
            lengths=lambda p: np.linalg.norm(p, axis=2),
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
        torn=lambda h, o: (h * np.eye(len(h))[..., None, None]).reshape(*h.shape[:2], -1) @ o,
    ),
    clues={"core dim|aligned": "own_rows", "broadcast": "all_columns", "reshape": "w_o_shape"},
)


EXERCISES = with_hints(
    __file__,
    {"split-heads": _SPLIT_HEADS, "merge-heads": _MERGE_HEADS, "multi-head": _MULTI_HEAD}
    | {"packed-weights": _UNPACK, "head-contributions": _CONTRIBUTIONS},
)
