"""The exercises of the chapter Attend to yourself, attend to others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs, with_hints
from attnbook.exercises.stages import (
    ATTEND,
    apart,
    but,
    coarse,
    each,
    projection,
    put_wrong,
    returning,
    taking,
)
from attnbook.functional import scaled_dot_product_attention, softmax
from attnbook.layers import self_attention
from attnbook.masks import causal_mask, padding_mask


def _projections(rng: np.random.Generator, d_x: int, d_memory: int, d_k: int, d_v: int) -> Inputs:
    sizes = {"w_q": (d_x, d_k), "w_k": (d_memory, d_k), "w_v": (d_memory, d_v)}
    return {name: projection(rng, *size) for name, size in sizes.items()}


def _chosen(by: str, x: Array, memory: Array, *projections: Array) -> list[Array]:
    """Return query, key and value, made of these: "xq mk mv" is the right choice."""
    made_of = dict(zip("xmqkv", (x, memory, *projections), strict=True))
    return [
        made_of[part[0]] @ made_of.get(part[1:], np.eye(memory.shape[-1])) for part in by.split()
    ]


def _self_cases(rng: np.random.Generator) -> Cases:
    def inputs(length: int, d_model: int, *sizes: int) -> Inputs:
        x = rng.standard_normal((length, d_model))
        return {"x": x, **_projections(rng, d_model, d_model, *sizes)}

    yield inputs(5, 7, 11, 2), "step_by_step"
    yield inputs(3, 5, 13, 11), "sizes"
    large = inputs(5, 7, 3, 2)
    large["x"] *= 1000
    yield large, "maximum"
    for sign in (1, -1):  # the same with scores close to one another
        shapes = {"x": (5, 7), "w_q": (7, 4), "w_k": (7, 4), "w_v": (7, 3)}
        close = {name: coarse(rng, *shape) for name, shape in shapes.items()}
        apart(close, "x", "x", sign)
        yield close, "maximum"
    integers = inputs(3, 7, 5, 1)
    yield {**integers, "x": rng.integers(-2, 3, (3, 7))}, "stored_as_integers"
    yield inputs(1, 3, 5, 7), "single"


def _self(by: str = "xq xk xv", attend: Function = ATTEND) -> Function:
    return lambda x, *projections: attend(*_chosen(by, x, x, *projections))


_SELF = Exercise(
    call="attend_to_self(x, w_q, w_k, w_v)",
    returns=("output", "weights"),
    reference=self_attention,
    cases=_self_cases,
    mistakes=dict(
        **each(_self, swapped_projections="xk xq xv", value_by_w_q="xq xk xq", value_raw="xq xk x"),
        **each(_self, both_by_w_q="xq xq xv", both_by_w_k="xk xk xv", all_raw="x x x"),
        **each(_self, query_and_key_raw="x x xv"),
        **taking(
            self_attention,
            by_d_model=lambda x, q, *w: (x, q * np.sqrt(q.shape[1] / len(q)), *w),
            future_masked=lambda x, *w: (x, *w, causal_mask(len(x))),
            others_only=lambda x, *w: (x, *w, ~np.eye(len(x), dtype=bool)),
        ),
        **each(
            lambda attend: _self(attend=attend),
            **but(put_wrong("score", "scale", "weigh", "mix", "give"), "by_len_q"),
            scaled_late=lambda q, k, v: [
                late / np.sqrt(k.shape[1]) for late in ATTEND(q * np.sqrt(k.shape[1]), k, v)
            ],
            returned_transposed=replace(ATTEND, give=lambda output, w, s: (output, w.T)),
            mixed_transposed=replace(ATTEND, mix=lambda w, s, k, v: w.T @ v),
        ),
    ),
    rows_sum_to_one=True,
    clues={r"matmul.*core dimension": "projected"},
)


def _masked(rng: np.random.Generator, width: int, d_out: int, mask: Array) -> Function:
    """Make attention of a sequence to itself, of (len, width) to (len, d_out), under a mask."""
    weights = [projection(rng, width, columns) for columns in (2, 2, d_out)]
    # Mixed by hand: 0 times NaN is NaN here, where attnbook leaves a masked value out.
    return lambda x: self_attention(*(x, *weights, mask)).weights @ (x @ weights[-1])


def _influence_cases(rng: np.random.Generator) -> Cases:
    def case(id_: str, attend: Function, *shape: int) -> tuple[Inputs, str]:
        return {"attend": attend, "x": rng.standard_normal(shape)}, id_

    # Token 0 sees one other token, so its query changes nothing; token 4 sees none.
    mask = np.zeros((5, 5), dtype=bool)
    mask[[0, 1, 1, 2, 2, 3, 3, 3], [3, 0, 1, 2, 4, 1, 3, 4]] = True
    yield case("column", _masked(rng, 3, 2, mask), 5, 3)
    five, seven = causal_mask(5), causal_mask(7)
    arguments, id_ = case("zeros", _masked(rng, 2, 3, seven), 7, 2)
    arguments["x"][[0, 4]] = 0
    yield arguments, id_
    yield case("inverted_mask", _masked(rng, 5, 3, ~seven), 7, 5)
    square = rng.standard_normal((3, 2))
    yield case("own_token", lambda x: np.tanh(x @ square), 5, 3)
    past, future = _masked(rng, 3, 1, five), _masked(rng, 3, 1, ~five)
    yield case("both_ways", lambda x: np.concatenate([past(x), future(x)], axis=1), 5, 3)
    narrow = _masked(rng, 2, 5, seven)
    yield case("never_read", lambda x: narrow(x[:, 1:]), 7, 3)
    yield case("up_and_down", lambda x: past(x) * [1, -1], 5, 3)
    q, k, v = (projection(rng, 3, 2) for _ in range(3))
    yield case("late_mask", lambda x: self_attention(x, q, k, v).weights * five @ x @ v, 5, 3)
    root = 8 * np.sqrt(2)
    far = np.where(seven, 0, -14)
    yield case("adds_14", lambda x: softmax(x @ q @ (x @ k).T / root + far) @ (x @ v + 3), 7, 3)
    single = rng.standard_normal((1, 3))
    yield case("one_read", lambda x: np.cumsum(x[:, :1] @ single, axis=0), 5, 2)

    def turning(x: Array) -> Array:
        angle = 10 * x[:, 1] + np.append(0, x[:-1, 1])
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    yield case("turning", turning, 5, 2)
    yield case("single", lambda x: np.tanh(x @ square), 1, 3)
    arguments, id_ = case("whole_numbers", past, 5, 3)
    yield {**arguments, "x": np.array([[0, 2, 1], [0, 0, 0], [1, 0, 3], [2, 2, 1], [0, 0, 0]])}, id_

    def centred(x: Array) -> Any:  # the later keys move all scores of a row by the same
        keys = x @ k
        return softmax(np.where(five, x @ q @ (keys - keys.mean(axis=0)).T, -np.inf)) @ x @ v

    yield case("centred_keys", centred, 5, 3)

    def leaking(x: Array) -> Any:
        return 100 + np.tril(np.ones((5, 5))) @ x + 4e-9 * x.sum(axis=0)

    yield case("leaks_little", leaking, 5, 3)

    def normalised(x: Array) -> Any:
        return past((x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-5))

    yield case("layer_norm", normalised, 5, 3)


def _moved(x: Array, e: Array) -> Any:
    return x + e * np.random.default_rng(1).standard_normal(x.shape)


def _influence(
    change: Function = _moved,
    differs: Function = lambda after, before: (abs(after - before) > 1e-12).any(axis=1),
) -> Function:
    """Make an influence that changes x, where e is 1 at token j, and compares outputs somehow."""
    return lambda attend, x: np.stack(
        [differs(attend(change(x, e)), attend(x)) for e in np.eye(len(x))[:, :, None]], axis=1
    )


_INFLUENCE = Exercise(
    call="influence_of(attend, x)",
    reference=_influence(),
    cases=_influence_cases,
    boolean=True,
    mistakes=dict(
        **returning(_influence(), transposed=np.transpose, inverted=np.logical_not),
        **returning(_influence(), up_to_i=np.tril, before_i=lambda r: np.tril(r, -1)),
        **returning(_influence(), all_false=np.zeros_like, after_i=lambda r: np.triu(r, 1)),
        **returning(_influence(), not_itself=lambda r: np.where(np.eye(len(r)), False, r)),
        **returning(_influence(), diagonal=lambda r: np.where(np.eye(len(r)), True, r)),
        **each(_influence, all_others=lambda x, e: x + (1 - e), all_at_once=lambda x, e: x + 1),
        **each(
            _influence,
            multiplied=lambda x, e: x + x * e,
            all_after=lambda x, e: x + np.cumsum(e, axis=0),
            all_before=lambda x, e: x + np.cumsum(e[::-1], axis=0)[::-1],
            next_token=lambda x, e: x + np.roll(e, 1, axis=0),
            first_copied=lambda x, e: np.where(e, x[0], x),
            last_of_token=lambda x, e: x + e * np.eye(x.shape[1])[-1],
            first_of_token=lambda x, e: x + e * np.eye(x.shape[1])[0],
            plus_one=lambda x, e: x + e,
            copy_of_integers=lambda x, e: _moved(x, e).astype(x.dtype),
        ),
        all_true=_influence(lambda x, e: np.where(e, np.nan, x), lambda a, b: np.isnan(a).any(1)),
        **each(
            lambda differs: _influence(differs=differs),
            all_coordinates=lambda a, b: (abs(a - b) > 1e-12).all(axis=1),
            first_of_output=lambda a, b: abs(a - b)[:, 0] > 1e-12,
            last_of_output=lambda a, b: abs(a - b)[:, -1] > 1e-12,
            lengths=lambda a, b: np.abs(np.hypot.reduce(a, 1) - np.hypot.reduce(b, 1)) > 1e-12,
            sums=lambda a, b: ~np.isclose(a.sum(axis=1), b.sum(axis=1)),
            tolerance=lambda a, b: ~np.all(np.isclose(a, b), axis=1),
        ),
    ),
    clues={"broadcast|same shape": "other_widths"},
)


def _patches_cases(rng: np.random.Generator) -> Cases:
    yield {"image": rng.random((6, 10, 7)), "size": 2}, "first_patches"
    yield {"image": rng.random((15, 6, 7)), "size": 3}, "sizes"
    yield {"image": rng.integers(0, 256, (10, 15, 1), dtype=np.uint8), "size": 5}, "sizes"
    yield {"image": rng.random((3, 3, 2)), "size": 3}, "one_patch"


def _blocks(image: Array, high: int, wide: int = 0) -> Array:
    """Cut an image into (grid rows, grid columns, high, wide, channels), squares by default."""
    rows, columns = image.shape[0] // high, image.shape[1] // (wide or high)
    return image.reshape(rows, high, columns, wide or high, -1).swapaxes(1, 2)


def _flat(blocks: Array) -> Array:
    return blocks.reshape(blocks.shape[0] * blocks.shape[1], -1)


def _cut(change: Function = lambda blocks: blocks) -> Function:
    return lambda image, size: _flat(change(_blocks(image, size)))


def _ordered(axes: str) -> Function:
    return _cut(lambda blocks: blocks.transpose([int(axis) for axis in axes]))


_PATCHES = Exercise(
    call="patches_of(image, size)",
    reference=_cut(),
    cases=_patches_cases,
    mistakes=dict(
        **each(_ordered, columns_first="10234", pixel_columns_first="01324", scattered="23014"),
        **each(_ordered, channels_first="01423", row_channels="01243", image_transposed="10324"),
        **each(_cut, means=lambda b: b.mean(axis=(2, 3)), maxima=lambda b: b.max(axis=(2, 3))),
        **each(_cut, channel_means=lambda b: b.mean(axis=4), first_channel=lambda b: b[..., 0]),
        **each(_cut, first_pixel=lambda b: b[:, :, 0, 0], from_the_bottom=lambda b: b[::-1]),
        divided=_cut(lambda b: b / 255),
        grid_and_patches=_blocks,
        **returning(
            _blocks,
            grid=lambda b: b.reshape(*b.shape[:2], -1),
            not_flat=lambda b: b.reshape(-1, *b.shape[2:]),
            channels_not_flat=lambda b: b.reshape(-1, b.shape[2] ** 2, b.shape[4]),
            not_transposed=lambda b: b.swapaxes(1, 2).reshape(-1, b.shape[2], b[0, 0, 0].size),
            whole_rows=lambda b: b.swapaxes(1, 2).reshape(len(b), -1),
            torn=lambda b: b.swapaxes(1, 2).reshape(-1, b[0, 0].size),
        ),
        **returning(_cut(), transposed=np.transpose, first_alone=lambda rows: rows[0]),
        **each(
            _cut, upside_down=lambda b: b[::-1, :, ::-1], mirrored=lambda b: b[:, ::-1, :, ::-1]
        ),
        height_for_width=lambda x, n: _cut()(x.reshape(*x.shape[1::-1], -1), n),
        overlapping=lambda x, n: _flat(np.moveaxis(sliding_window_view(x, (n, n), (0, 1)), 2, -1)),
        as_many=lambda x, n: _flat(_blocks(x, x.shape[0] // n, x.shape[1] // n)),
    ),
    clues={"cannot reshape": "how_many"},
)


def _cross_cases(rng: np.random.Generator) -> Cases:
    def inputs(lengths: list[int], len_q: int, len_k: int, d_x: int, *sizes: int) -> Inputs:
        x = rng.standard_normal((len(lengths), len_q, d_x))
        memory = rng.standard_normal((len(lengths), len_k, sizes[0]))
        projections = _projections(rng, d_x, *sizes)
        return {"x": x, "memory": memory, "lengths": np.array(lengths), **projections}

    # Equal lengths and widths: the wrong sequence shows as wrong numbers, not as an error.
    yield inputs([3, 2, 4], 5, 5, 7, 7, 13, 11), "real_part"
    yield inputs([3, 0, 7], 2, 7, 11, 5, 13, 17), "length_zero"
    padded = inputs([3, 1], 5, 7, 3, 2, 11, 13)
    for memory, length in zip(padded["memory"], padded["lengths"], strict=True):
        memory[length:] = 1e12 * rng.choice([-1, 1], memory[length:].shape)
    yield padded, "large_padding"
    large = inputs([2, 3, 5], 7, 5, 3, 11, 2, 13)
    large["x"] *= 10_000
    yield large, "maximum"
    for sign in (1, -1):  # the same with scores close to one another
        shapes = {"x": (2, 3, 5), "memory": (2, 7, 3), "lengths": (), "w_q": (5, 4)}
        shapes |= {"w_k": (3, 4), "w_v": (3, 2)}
        close = {name: coarse(rng, *shape) for name, shape in shapes.items()}
        close["lengths"] = np.array([4, 6])
        apart(close, "x", "memory", sign)
        yield close, "maximum"
    integers = inputs([1, 3], 2, 5, 3, 7, 11, 13)
    for name in ("x", "memory"):
        integers[name] = rng.integers(-2, 3, integers[name].shape)
    yield integers, "stored_as_integers"
    zeros = inputs([3, 5], 2, 5, 3, 7, 11, 13)
    zeros["memory"][:, 1] = 0
    yield zeros, "token_of_zeros"
    yield inputs([1030], 1, 1031, 3, 2, 5, 7), "long"


def _cross(by: str = "xq mk mv", attend: Function = ATTEND) -> Function:
    return lambda x, memory, lengths, *projections: attend(
        *_chosen(by, x, memory, *projections), padding_mask(lengths, memory.shape[1])
    )


_right_cross = _cross(attend=scaled_dot_product_attention)
_CROSS = Exercise(
    call="attend_to_memory(x, memory, lengths, w_q, w_k, w_v)",
    returns=("output", "weights"),
    reference=_right_cross,
    cases=_cross_cases,
    mistakes=dict(
        **each(_cross, only_x="xq xk xv", keys_of_x="xq xk mv", values_of_x="xq mk xv"),
        **each(_cross, only_memory="mq mk mv", roles_swapped="mq xk xv", values_raw="xq mk m"),
        **each(_cross, swapped_projections="xk mq mv", values_by_w_k="xq mk mk"),
        **each(
            lambda attend: _cross(attend=attend),
            **but(put_wrong("scale", "mask", "give"), "by_len_q"),
            padding_zeroed=lambda q, k, v, m: ATTEND(q, k * m.swapaxes(1, 2), v * m.swapaxes(1, 2)),
        ),
        **each(
            lambda weigh: _cross(attend=replace(ATTEND, weigh=weigh)),
            padding_first=lambda s, m: ATTEND.weigh(s, np.flip(m, axis=-1)),
            causal_alone=lambda s, m: ATTEND.weigh(s, np.tri(*s.shape[1:])),
            causal_too=lambda s, m: ATTEND.weigh(s, np.tri(*s.shape[1:]) * m),
            rows_masked=lambda s, m: ATTEND.weigh(s, m.swapaxes(1, 2)),
            rows_nan=lambda s, m: np.where(m.swapaxes(1, 2), softmax(s), np.nan),
            rows_uniform=lambda s, m: softmax(s * m.swapaxes(1, 2)),
        ),
        **taking(
            _right_cross,
            one_of_padding=lambda x, m, n, *w: (x, m, np.minimum(n + 1, m.shape[1]), *w),
            lacks_last=lambda x, m, n, *w: (x, m, np.maximum(n - 1, 0), *w),
            longest=lambda x, m, n, *w: (x, m, 0 * n + n.max(), *w),
            shortest=lambda x, m, n, *w: (x, m, 0 * n + n.min(), *w),
            by_width=lambda x, m, n, q, *w: (x, m, n, q * np.sqrt(q.shape[1] / m.shape[2]), *w),
        ),
    ),
    rows_sum_to_one=True,
    clues={
        "1031": "long",
        r"matmul.*core dimension": "columns_of",
        "broadcast together": "mask_of_keys",
    },
)


def _without_cases(rng: np.random.Generator) -> Cases:
    def inputs(n: int, d_v: int) -> Inputs:
        weights = softmax(rng.standard_normal(n))
        return {"weights": weights, "value": rng.standard_normal((n, d_v))}

    yield inputs(5, 3), "by_hand"
    yield inputs(11, 1), "one_column"
    zero, twins, whole = inputs(7, 2), inputs(13, 5), inputs(3, 7)
    zero["weights"][4] = 0
    twins["weights"][8] = twins["weights"][3]
    for case, id_ in ((zero, "zero_weight"), (twins, "equal_weights")):
        case["weights"] /= case["weights"].sum()
        yield case, id_
    yield {**whole, "value": rng.integers(-9, 10, (3, 7))}, "stored_as_integers"


def _without(combine: Function) -> Function:
    """Make rows of a column of weights, the values, and their weighted mean."""
    return lambda weights, value: combine(weights[:, None], value, weights @ value)


def _left(weigh: Function) -> Function:
    """Make rows of an array of weights, right or wrong: one row for each hidden key."""
    return lambda weights, value: weigh(weights, np.eye(len(weights), dtype=bool)) @ value


def _normalised(weights: Array) -> Any:
    return weights / weights.sum(axis=-1, keepdims=True)


_right_without = _without(lambda w, v, mean: (mean - w * v) / (1 - w))
_WITHOUT = Exercise(
    call="outputs_without(weights, value)",
    reference=_right_without,
    cases=_without_cases,
    mistakes=dict(
        **each(_without, values=lambda w, v, m: v, last_term=lambda w, v, m: m - w * v / (1 - w)),
        **each(_without, own_part=lambda w, v, m: w * v, kept=lambda w, v, m: m / (1 - w)),
        **each(_without, whole=lambda w, v, m: m - v, nothing_hidden=lambda w, v, m: m + 0 * v),
        **each(_without, undivided=lambda w, v, m: m - w * v, by_one=lambda w, v, m: m - w * v - w),
        **each(
            _without,
            multiplied=lambda w, v, m: (m - w * v) * (1 - w),
            divided_twice=lambda w, v, m: (m - w * v) / (1 - w) ** 2,
            by_own_weight=lambda w, v, m: (m - w * v) / w,
            by_one_plus=lambda w, v, m: (m - w * v) / (1 + w),
            sign_turned=lambda w, v, m: (m - w * v) / (w - 1),
            by_others=lambda w, v, m: (m - w * v) / (len(w) - 1),
            by_all=lambda w, v, m: (m - w * v) / len(w),
            whole_divided=lambda w, v, m: (m - v) / (1 - w),
            added=lambda w, v, m: (m + w * v) / (1 - w),
            added_in_both=lambda w, v, m: (m + w * v) / (1 + w),
            alike=lambda w, v, m: (v.sum(axis=0) - v) / (len(v) - 1),
            weights_alone=lambda w, v, m: w.T * (1 - np.eye(len(w))) / (1 - w),
        ),
        **each(
            _left,
            columns_divided=lambda w, hidden: w * ~hidden / (1 - w),
            weights_transposed=lambda w, hidden: _normalised(w * ~hidden).T,
            shared_equally=lambda w, hidden: (w + w[:, None] / (len(w) - 1)) * ~hidden,
            softmax_again=lambda w, hidden: softmax(np.where(hidden, -np.inf, w)),
            softmax_of_0=lambda w, hidden: softmax(w * ~hidden),
            score_of_0=lambda w, hidden: softmax(np.where(hidden, 0, np.log(w))),
            infinity=lambda w, hidden: np.where(hidden, -np.inf, w),
            infinity_divided=lambda w, hidden: _normalised(np.where(hidden, -np.inf, w)),
            stay_hidden=lambda w, hidden: _normalised(np.triu(w * ~hidden)),
            stay_undivided=lambda w, hidden: np.triu(w * ~hidden),
            stay_by_one=lambda w, hidden: np.triu(w * ~hidden) / (1 - w)[:, None],
            after_hidden=lambda w, hidden: _normalised(np.tril(w * ~hidden)),
            equal_hidden=lambda w, hidden: _normalised(w * (w != w[:, None])),
        ),
        **returning(_right_without, first_row=lambda r: r[0], last_row=lambda r: r[-1]),
        **returning(_right_without, lacks_first=lambda r: r[1:], lacks_last=lambda r: r[:-1]),
        key_after=lambda w, v: np.roll(_right_without(w, v), -1, axis=0),
        change=lambda w, v: _right_without(w, v) - w @ v,
        change_by_key=lambda w, v: w @ v - _right_without(w, v),
        nan_at_zero=lambda w, v: _right_without(w, v) * (w / w)[:, None],
        skipped=lambda w, v: _right_without(w, v) * (w != 0)[:, None],
        cut_to_integers=lambda w, v: _right_without(w, v).astype(v.dtype),
    ),
    clues={r"broadcast (together|input)": "a_column", r"core dimension|not aligned": "out_of_both"},
)


EXERCISES = with_hints(
    __file__,
    {"self-attention": _SELF, "influence": _INFLUENCE, "patches": _PATCHES}
    | {"cross-attention": _CROSS, "without-one": _WITHOUT},
)
