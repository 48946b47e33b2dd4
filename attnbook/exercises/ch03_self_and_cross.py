"""The exercises of the chapter Attend to yourself, attend to others."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs
from attnbook.exercises.mistakes import (
    ATTENTION_MISTAKES,
    MASKING_MISTAKES,
    MAXIMUM,
    SIZES,
    dot,
    masked,
    mixed,
    projection,
    returned_wrongly,
    scaled,
)
from attnbook.functional import AttentionOutput, scaled_dot_product_attention, softmax
from attnbook.layers import cross_attention, self_attention
from attnbook.masks import causal_mask, padding_mask

# self-attention


def _self_cases(rng: np.random.Generator) -> Cases:
    def inputs(length: int, d_model: int, d_k: int, d_v: int) -> Inputs:
        return {
            "x": rng.standard_normal((length, d_model)),
            "w_q": projection(rng, d_model, d_k),
            "w_k": projection(rng, d_model, d_k),
            "w_v": projection(rng, d_model, d_v),
        }

    yield (
        inputs(5, 7, 3, 2),
        "Print query, key, value, then scores, weights, output: which is the first to differ?",
    )
    yield inputs(3, 5, 13, 11), SIZES
    large = inputs(5, 7, 3, 2)
    large["x"] *= 1000
    yield large, MAXIMUM


def _of_projections(attention: Function) -> Function:
    """Make an attention, right or wrong, into one of a sequence to itself."""
    return lambda x, w_q, w_k, w_v: attention(x @ w_q, x @ w_k, x @ w_v)


def _self_masked(mask: Function) -> Function:
    """Make a mask, as a function of the length, into self-attention under it."""
    return lambda x, w_q, w_k, w_v: self_attention(x, w_q, w_k, w_v, mask(len(x)))


def _transposed_weights(x: Array, w_q: Array, w_k: Array, w_v: Array) -> tuple[Array, Array]:
    output, weights = self_attention(x, w_q, w_k, w_v)
    return output, weights.T


SELF_ATTENTION = Exercise(
    call="attend_to_self(x, w_q, w_k, w_v)",
    returns=("output", "weights"),
    reference=self_attention,
    cases=_self_cases,
    mistakes={
        "the scores are divided by sqrt(d_model): d_k is what a dot product sums over, w_k.shape[1].": lambda x, w_q, w_k, w_v: (
            mixed(lambda q, k: softmax(dot(q, k) / np.sqrt(x.shape[1])))(x @ w_q, x @ w_k, x @ w_v)
        ),
        "w_q and w_k are swapped: rows are queries, columns are keys.": lambda x, w_q, w_k, w_v: (
            self_attention(x, w_k, w_q, w_v)
        ),
        "query and key are both projected by w_q: the key has w_k.": lambda x, w_q, w_k, w_v: (
            self_attention(x, w_q, w_q, w_v)
        ),
        "query and key are both projected by w_k: the query has w_q.": lambda x, w_q, w_k, w_v: (
            self_attention(x, w_k, w_k, w_v)
        ),
        "the value is not projected: the weights mix x @ w_v.": lambda x, w_q, w_k, w_v: (
            scaled_dot_product_attention(x @ w_q, x @ w_k, x)
        ),
        "the value is projected by w_q: it has w_v.": lambda x, w_q, w_k, w_v: self_attention(
            x, w_q, w_k, w_q
        ),
        "nothing is projected: query, key and value are x @ w_q, x @ w_k and x @ w_v.": lambda x, w_q, w_k, w_v: (
            scaled_dot_product_attention(x, x, x)
        ),
        "query and key are not projected: they are x @ w_q and x @ w_k.": lambda x, w_q, w_k, w_v: (
            scaled_dot_product_attention(x, x, x @ w_v)
        ),
        "the weights are transposed before they are returned: rows are queries.": (
            _transposed_weights
        ),
        "the weights are transposed before they mix the values: rows are queries.": lambda x, w_q, w_k, w_v: (
            self_attention(x, w_q, w_k, w_v).weights.T @ x @ w_v,
            self_attention(x, w_q, w_k, w_v).weights,
        ),
        "the future is masked: here every token may attend to all.": _self_masked(causal_mask),
        "a token may not attend to itself: here it may, there is no mask.": _self_masked(
            lambda length: ~np.eye(length, dtype=bool)
        ),
        **{hint: _of_projections(attention) for hint, attention in ATTENTION_MISTAKES.items()},
    },
    rows_sum_to_one=True,
    clues={
        r"matmul.*core dimension": (
            "Which of query, key and value are projected, and with which of w_q, w_k, w_v? The "
            "matrices themselves are not transposed."
        ),
    },
)


# influence


def _masked_attention(rng: np.random.Generator, width: int, d_out: int, mask: Array) -> Function:
    """Make attention of a sequence to itself, of (len, width) to (len, d_out), under a mask."""
    weights = [projection(rng, width, columns) for columns in (2, 2, d_out)]
    # Mixed by hand: 0 times NaN is NaN here, where attnbook leaves a masked value out.
    return lambda x: self_attention(*(x, *weights, mask)).weights @ (x @ weights[-1])


def _influence_cases(rng: np.random.Generator) -> Cases:
    def case(attend: Function, length: int, width: int) -> Inputs:
        return {"attend": attend, "x": rng.standard_normal((length, width))}

    # Token 0 sees one other token, so its query changes nothing; token 4 sees none.
    mask = np.zeros((5, 5), dtype=bool)
    mask[[0, 1, 1, 2, 2, 3, 3, 3], [3, 0, 1, 2, 4, 1, 3, 4]] = True
    yield (
        case(_masked_attention(rng, 3, 2, mask), 5, 3),
        "Column j: a fresh copy of x with token j changed, and which rows of attend differ then.",
    )

    causal = case(_masked_attention(rng, 2, 3, causal_mask(7)), 7, 2)
    causal["x"][[0, 4]] = 0
    yield causal, "Here attend is causal, and tokens 0 and 4 are zeros before you change them."

    yield case(_masked_attention(rng, 5, 3, ~causal_mask(7)), 7, 5), "Here the mask is inverted."

    square = rng.standard_normal((3, 2))
    yield case(lambda x: np.tanh(x @ square), 5, 3), "Here each output depends on its own token."

    past = _masked_attention(rng, 3, 1, causal_mask(5))
    future = _masked_attention(rng, 3, 1, ~causal_mask(5))
    yield (
        case(lambda x: np.concatenate([past(x), future(x)], axis=1), 5, 3),
        "Here coordinate 0 of the output looks back and coordinate 1 looks ahead.",
    )

    narrow = _masked_attention(rng, 2, 5, causal_mask(7))
    yield case(lambda x: narrow(x[:, 1:]), 7, 3), "Here coordinate 0 of a token is never read."

    yield (
        case(lambda x: past(x) * [1, -1], 5, 3),
        "Here the two coordinates of an output change by the same amount, up and down.",
    )

    w_q, w_k, w_v = (projection(rng, 3, columns) for columns in (2, 2, 2))

    def masked_too_late(x: Array) -> Any:
        return self_attention(x, w_q, w_k, w_v).weights * causal_mask(len(x)) @ x @ w_v

    yield (
        case(masked_too_late, 5, 3),
        "Here the mask comes after the softmax, so the future leaks in through its sum.",
    )

    def masked_by_a_number(x: Array) -> Any:
        scores = scaled(x @ w_q, x @ w_k) / 8 + np.where(causal_mask(len(x)), 0, -14)
        return softmax(scores) @ (x @ w_v + 3)

    leak = case(masked_by_a_number, 7, 3)
    yield leak, "Here the mask adds -14 in place of -inf: the future leaks, by about 1e-6."

    single = rng.standard_normal((1, 3))
    yield (
        case(lambda x: np.cumsum(x[:, :1] @ single, axis=0), 5, 2),
        "Here coordinate 0 alone of a token is read.",
    )

    def turning(x: Array) -> Array:
        angle = 10 * x[:, 1] + np.array([0, *x[:-1, 1]])
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    yield case(turning, 5, 2), "Here an output turns with its token and the one before."


def _plus_one(x: Array, j: int) -> Array:
    x[j] += 1
    return x


def _any_coordinate(after: Array, before: Array) -> Any:
    return (after != before).any(axis=1)


def _influence(change: Function = _plus_one, differs: Function = _any_coordinate) -> Function:
    """Make an influence that changes token j of a copy and compares outputs in some way."""

    def influence(attend: Function, x: Array) -> Array:
        before = attend(x)
        columns = [differs(attend(change(x.copy(), j)), before) for j in range(len(x))]
        return np.stack(columns, axis=1)

    return influence


def _changing(which: Any) -> Function:
    """Change all tokens i for which ``which(i, j)`` is true."""
    return _influence(lambda x, j: x + which(np.arange(len(x)), j)[:, None])


_right_influence = _influence()


def _only(which: Any) -> Function:
    """Take only those pairs for which ``which(i, j)`` is true."""
    return lambda attend, x: _right_influence(attend, x) & which(*np.indices((len(x), len(x))))


def _first_coordinate(x: Array, j: int) -> Array:
    x[j, 0] += 1
    return x


def _last_coordinate(x: Array, j: int) -> Array:
    x[j, -1] += 1
    return x


def _doubled(x: Array, j: int) -> Array:
    x[j] *= 2
    return x


def _to_nan(x: Array, j: int) -> Array:
    x[j] = np.nan
    return x


def _copy_of_the_first(x: Array, j: int) -> Array:
    x[j] = x[0]
    return x


INFLUENCE = Exercise(
    call="influence_of(attend, x)",
    reference=_right_influence,
    cases=_influence_cases,
    boolean=True,
    mistakes={
        "this is the transpose: row i is the output, column j the token that was changed.": lambda attend, x: (
            _right_influence(attend, x).T
        ),
        "this is inverted: True where the output changes.": lambda attend, x: (
            ~_right_influence(attend, x)
        ),
        "token j and all before it are changed: take a fresh copy of x for each j.": _changing(
            lambda i, j: i <= j
        ),
        "token j and all after it are changed: change token j alone.": _changing(
            lambda i, j: i >= j
        ),
        "all tokens but j are changed: change token j alone.": _changing(lambda i, j: i != j),
        "all tokens are changed at once: change token j alone.": _changing(lambda i, j: i == i),
        "token j + 1 is changed (or the last, for the first) in place of token j.": _influence(
            lambda x, j: _plus_one(x, (j + 1) % len(x))
        ),
        "only tokens up to i are looked at: a later one may change output i, too.": _only(
            lambda i, j: j <= i
        ),
        "only tokens before i are looked at: i itself and later ones may change output i.": _only(
            lambda i, j: j < i
        ),
        "only tokens after i are looked at: i itself and earlier ones may change output i.": _only(
            lambda i, j: j > i
        ),
        "a token's effect on its own output is left out: try j equal to i, too.": _only(
            lambda i, j: i != j
        ),
        "the diagonal is True by decree: a token need not change its own output, try it.": lambda attend, x: (
            _right_influence(attend, x) | np.eye(len(x), dtype=bool)
        ),
        "this is False everywhere: does attend get the changed copy?": lambda attend, x: np.zeros(
            (len(x), len(x)), dtype=bool
        ),
        (
            "this is True everywhere: is any taken over each output alone, with axis=1? And is the "
            "change finite? A NaN spreads even through weights of 0, since 0 times NaN is NaN."
        ): _influence(_to_nan, lambda after, before: np.isnan(after).any(axis=1)),
        "the first token takes the place of token j: the first itself is never changed, add to it.": (
            _influence(_copy_of_the_first)
        ),
        "a token of zeros stays as it is when you multiply it, or set it to 0: add to it.": _influence(
            _doubled
        ),
        "all coordinates of an output have to change: one is enough, use any.": _influence(
            differs=lambda after, before: (after != before).all(axis=1)
        ),
        "only the first coordinate of each output is compared: any may change.": _influence(
            differs=lambda after, before: after[:, 0] != before[:, 0]
        ),
        "only the last coordinate of each output is compared: any may change.": _influence(
            differs=lambda after, before: after[:, -1] != before[:, -1]
        ),
        "only the last coordinate of a token is changed: change them all.": _influence(
            _last_coordinate
        ),
        "lengths of outputs are compared, and an output may turn: compare each coordinate.": _influence(
            differs=lambda after, before: (
                np.linalg.norm(after, axis=1) != np.linalg.norm(before, axis=1)
            )
        ),
        "only the first coordinate of a token is changed: change them all.": _influence(
            _first_coordinate
        ),
        "sums (or means) of outputs are compared, and changes cancel: compare each coordinate.": _influence(
            differs=lambda after, before: ~np.isclose(after.sum(axis=1), before.sum(axis=1))
        ),
        "a small change is a change: np.isclose and np.allclose overlook it; allow for rounding, 1e-12, at most.": _influence(
            differs=lambda after, before: ~np.all(np.isclose(after, before), axis=1)
        ),
    },
    clues={
        "broadcast|same shape": (
            "Change a token, do not remove it, and compare outputs with outputs: attend(x) need not "
            "have the width of x."
        ),
    },
)


# patches


def _patches_cases(rng: np.random.Generator) -> Cases:
    hint = "Patch 0 is image[:size, :size], flattened; patch 1 is the one to the right of it."
    yield {"image": rng.random((6, 10, 7)), "size": 2}, hint
    yield {"image": rng.random((15, 6, 7)), "size": 3}, SIZES
    yield {"image": rng.integers(0, 256, (10, 15, 1), dtype=np.uint8), "size": 5}, SIZES


def _blocks(image: Array, size: int) -> Array:
    """Cut an image into (grid rows, size, grid columns, size, channels)."""
    height, width, channels = image.shape
    return image.reshape(height // size, size, width // size, size, channels)


def _cut(order: Any, flat: Any = True) -> Function:
    """Make patches whose five axes, as _blocks has them, come in some order."""

    def patches(image: Array, size: int) -> Array:
        blocks = _blocks(image, size).transpose(order)
        grid_and_patch = blocks.shape[0] * blocks.shape[1]
        return blocks.reshape(grid_and_patch, -1) if flat else blocks

    return patches


_right_patches = _cut((0, 2, 1, 3, 4))


def _torn_patches(image: Array, size: int) -> Array:
    return image.reshape(-1, size * size * image.shape[2])


def _overlapping(image: Array, size: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(image, (size, size), axis=(0, 1))
    windows = windows.transpose(0, 1, 3, 4, 2)  # (rows, columns, size, size, channels)
    return windows.reshape(-1, size * size * image.shape[2])


def _per_pixel(image: Array, size: int) -> Any:
    """Return (patches, pixels of a patch, channels)."""
    return _right_patches(image, size).reshape(-1, size * size, image.shape[2])


def _as_many(image: Array, size: int) -> Array:
    """Cut into size x size patches, instead of patches of size x size pixels."""
    height, width, channels = image.shape
    blocks = image.reshape(size, height // size, size, width // size, channels)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(size * size, -1)


PATCHES = Exercise(
    call="patches_of(image, size)",
    reference=_right_patches,
    cases=_patches_cases,
    mistakes={
        "a reshape alone cuts rows into pieces: split both axes, transpose, then reshape.": (
            _torn_patches
        ),
        "the two axes are split but not transposed: put both of the grid first.": lambda image, size: (
            _blocks(image, size).reshape(-1, size, size * image.shape[2])
        ),
        "the patches come column by column: row by row, from the top left.": _cut((2, 0, 1, 3, 4)),
        "the pixels of a patch come column by column: row by row.": _cut((0, 2, 3, 1, 4)),
        "patches and their pixels come column by column: is the image transposed?": _cut(
            (2, 0, 3, 1, 4)
        ),
        "the channels come first in each patch: rows, columns, channels.": _cut((0, 2, 4, 1, 3)),
        "in each row of a patch the channels come first: rows, columns, channels.": _cut(
            (0, 2, 1, 4, 3)
        ),
        "height and width are swapped where the axes are split: rows come first.": lambda image, size: (
            _right_patches(image.reshape(image.shape[1], image.shape[0], -1), size)
        ),
        "each row holds pixels from all over the image: the two axes of the grid come first.": _cut(
            (1, 3, 0, 2, 4)
        ),
        "the patches overlap: step by size, not by 1.": _overlapping,
        "these are the means of patches: flatten each patch, keep all its pixels.": lambda image, size: (
            _per_pixel(image, size).mean(axis=1)
        ),
        "these are the largest values of patches: flatten each patch, keep all its pixels.": lambda image, size: (
            _per_pixel(image, size).max(axis=1)
        ),
        "the channels are averaged: keep them all.": lambda image, size: _per_pixel(
            image, size
        ).mean(axis=2),
        "only the first channel is left: keep them all.": lambda image, size: _per_pixel(
            image, size
        )[..., 0],
        "only the first pixel of each patch is left: keep them all.": lambda image, size: (
            _per_pixel(image, size)[:, 0]
        ),
        "the patches are not flattened: each is a row of size * size * channels numbers.": lambda image, size: (
            _right_patches(image, size).reshape(-1, size, size, image.shape[2])
        ),
        "the pixels of a patch are flattened, its channels are not.": _per_pixel,
        "the grid of patches still has two axes, and so have the patches: reshape to (patches, -1).": _cut(
            (0, 2, 1, 3, 4), flat=False
        ),
        "the grid of patches still has two axes: make one of them.": lambda image, size: (
            _right_patches(image, size).reshape(image.shape[0] // size, image.shape[1] // size, -1)
        ),
        "the size is the number of patches along a side: it should be that of pixels.": _as_many,
        "these are whole rows of patches: cut the columns, too.": lambda image, size: image.reshape(
            image.shape[0] // size, -1
        ),
        "this is the transpose: each patch is a row.": lambda image, size: (
            _right_patches(image, size).T
        ),
        "the patches start from the bottom: start from the top left.": lambda image, size: (
            _blocks(image, size)[::-1].swapaxes(1, 2).reshape(-1, size * size * image.shape[2])
        ),
        "the image is upside down: start from the top left.": lambda image, size: _right_patches(
            image[::-1], size
        ),
        "the image is mirrored: start from the top left.": lambda image, size: _right_patches(
            image[:, ::-1], size
        ),
        "the numbers are divided by 255: leave them as they are.": lambda image, size: (
            _right_patches(image, size) / 255
        ),
        "this is the first patch alone: return them all, one a row.": lambda image, size: (
            _right_patches(image, size)[0]
        ),
    },
    clues={
        "cannot reshape": (
            "There are height // size times width // size patches of size * size * channels numbers."
        ),
    },
)


# cross-attention


def _cross_cases(rng: np.random.Generator) -> Cases:
    def inputs(
        lengths: list[int], len_q: int, len_k: int, d_in: int, d_memory: int, d_k: int, d_v: int
    ) -> Inputs:
        return {
            "x": rng.standard_normal((len(lengths), len_q, d_in)),
            "memory": rng.standard_normal((len(lengths), len_k, d_memory)),
            "lengths": np.array(lengths),
            "w_q": projection(rng, d_in, d_k),
            "w_k": projection(rng, d_memory, d_k),
            "w_v": projection(rng, d_memory, d_v),
        }

    # Equal lengths and widths: the wrong sequence shows as wrong numbers, not as an error.
    hint = (
        "Queries come from x, keys and values from memory; no query may see memory[b, lengths[b]:]."
    )
    yield inputs([3, 2, 4], 5, 5, 7, 7, 2, 11), hint
    hint = "Sequence 1 has length 0: its weights and its output should be zeros."
    yield inputs([3, 0, 7], 2, 7, 11, 5, 13, 17), hint
    padded = inputs([3, 1], 5, 7, 3, 2, 11, 13)
    for memory, length in zip(padded["memory"], padded["lengths"], strict=True):
        memory[length:] = 1e12 * rng.choice([-1, 1], memory[length:].shape)
    hint = (
        "Padding holds numbers around 1e12 here: does it count in a maximum, or is -1e9 its score?"
    )
    yield padded, hint
    large = inputs([2, 3, 5], 7, 5, 3, 11, 2, 13)
    large["x"] *= 10_000
    yield large, MAXIMUM


def _cross(make_mask: Function) -> Function:
    """Make a mask, as a function of x, memory and lengths, into attention under it."""
    return lambda x, memory, lengths, w_q, w_k, w_v: cross_attention(
        x, memory, w_q, w_k, w_v, make_mask(x, memory, lengths)
    )


def _real(x: Array, memory: Array, lengths: Array) -> Array:
    return padding_mask(lengths, memory.shape[1])


def _of_lengths(change: Function) -> Function:
    """Mask as if the lengths were others."""

    def make_mask(x: Array, memory: Array, lengths: Array) -> Array:
        return _real(x, memory, np.clip(change(lengths), 0, memory.shape[1]))

    return _cross(make_mask)


def _of_sequences(choose: Function) -> Function:
    """Take query, key and value from what ``choose(x, memory)`` returns for them."""

    def attend(
        x: Array, memory: Array, lengths: Array, w_q: Array, w_k: Array, w_v: Array
    ) -> AttentionOutput:
        query, key, value = choose(x, memory)
        mask = _real(x, memory, lengths)
        return scaled_dot_product_attention(query @ w_q, key @ w_k, value @ w_v, mask)

    return attend


def _weighed(weigh: Function) -> Function:
    """Make weights of scores and mask, right or wrong, into the whole cross-attention."""

    def attend(
        x: Array, memory: Array, lengths: Array, w_q: Array, w_k: Array, w_v: Array
    ) -> tuple[Array, Array]:
        weights = weigh(scaled(x @ w_q, memory @ w_k), _real(x, memory, lengths))
        return weights @ (memory @ w_v), weights

    return attend


def _rescaled(scale: Function) -> Function:
    """Scale the dot products by a number made from all the sizes."""

    def attend(
        x: Array, memory: Array, lengths: Array, w_q: Array, w_k: Array, w_v: Array
    ) -> tuple[Array, Array]:
        scores = scale(x, memory, w_q) * dot(x @ w_q, memory @ w_k)
        weights = masked(scores, _real(x, memory, lengths))
        return weights @ (memory @ w_v), weights

    return attend


def _rows_masked(x: Array, memory: Array, lengths: Array) -> Array:
    """Mask whole queries, as if the lengths were those of x."""
    return (np.arange(x.shape[1]) < lengths[:, None])[:, :, None]


def _padding_zeroed(
    x: Array, memory: Array, lengths: Array, w_q: Array, w_k: Array, w_v: Array
) -> AttentionOutput:
    real = np.where(_real(x, memory, lengths).swapaxes(1, 2), memory, 0)
    return cross_attention(x, real, w_q, w_k, w_v)


_right_cross = _cross(_real)


CROSS_ATTENTION = Exercise(
    call="attend_to_memory(x, memory, lengths, w_q, w_k, w_v)",
    returns=("output", "weights"),
    reference=_right_cross,
    cases=_cross_cases,
    mistakes={
        "the padding of memory is set to zeros and still takes part of the weight: mask its scores.": (
            _padding_zeroed
        ),
        "one position of padding is seen: position j is real if j < length.": _of_lengths(
            lambda lengths: lengths + 1
        ),
        "the last real position is not seen: position j is real if j < length.": _of_lengths(
            lambda lengths: lengths - 1
        ),
        "every sequence is cut at the longest length: each has its own.": _of_lengths(
            lambda lengths: np.full_like(lengths, lengths.max())
        ),
        "every sequence is cut at the shortest length: each has its own.": _of_lengths(
            lambda lengths: np.full_like(lengths, lengths.min())
        ),
        "the padding is taken to come first: the real positions do, memory[b, :lengths[b]].": _cross(
            lambda x, memory, lengths: np.flip(_real(x, memory, lengths), axis=-1)
        ),
        "whole queries are masked: the padding is in memory, so mask keys, the last axis.": _cross(
            _rows_masked
        ),
        "whole queries are masked, and their rows became NaN: mask keys, the last axis.": lambda x, memory, lengths, w_q, w_k, w_v: (
            mixed(
                lambda q, k: np.where(
                    _rows_masked(x, memory, lengths), softmax(scaled(q, k)), np.nan
                )
            )(x @ w_q, memory @ w_k, memory @ w_v)
        ),
        "whole queries are masked, and their rows became uniform: mask keys, the last axis.": lambda x, memory, lengths, w_q, w_k, w_v: (
            mixed(lambda q, k: softmax(scaled(q, k) * _rows_masked(x, memory, lengths)))(
                x @ w_q, memory @ w_k, memory @ w_v
            )
        ),
        "a causal mask is added: positions of memory are not the future of x.": _cross(
            lambda x, memory, lengths: (
                _real(x, memory, lengths) & np.tri(x.shape[1], memory.shape[1], dtype=bool)
            )
        ),
        "a causal mask stands in place of the padding mask: mask positions from lengths on.": _cross(
            lambda x, memory, lengths: np.tri(x.shape[1], memory.shape[1], dtype=bool)
        ),
        "keys and values come from x: they come from memory.": _of_sequences(
            lambda x, memory: (x, x, x)
        ),
        "the keys come from x: they come from memory, like the values.": _of_sequences(
            lambda x, memory: (x, x, memory)
        ),
        "the values come from x: they come from memory, like the keys.": _of_sequences(
            lambda x, memory: (x, memory, x)
        ),
        "the queries come from memory: they come from x.": _of_sequences(
            lambda x, memory: (memory, memory, memory)
        ),
        "x and memory are swapped: queries come from x, keys and values from memory.": _of_sequences(
            lambda x, memory: (memory, x, x)
        ),
        "w_q and w_k are swapped: w_q belongs to x, w_k to memory.": lambda x, memory, lengths, w_q, w_k, w_v: (
            _right_cross(x, memory, lengths, w_k, w_q, w_v)
        ),
        "the values are not projected: the weights mix memory @ w_v.": lambda x, memory, lengths, w_q, w_k, w_v: (
            scaled_dot_product_attention(x @ w_q, memory @ w_k, memory, _real(x, memory, lengths))
        ),
        "the values are projected by w_k: they have w_v.": lambda x, memory, lengths, w_q, w_k, w_v: (
            _right_cross(x, memory, lengths, w_q, w_k, w_k)
        ),
        "the scores are not scaled: divide by sqrt(d_k) before the softmax.": _rescaled(
            lambda x, memory, w_q: 1
        ),
        "the scores are divided by d_k: it should be its square root.": _rescaled(
            lambda x, memory, w_q: 1 / w_q.shape[1]
        ),
        "the scores are divided by the width of x or memory: d_k is w_q.shape[1].": _rescaled(
            lambda x, memory, w_q: memory.shape[2] ** -0.5
        ),
        "the scores are divided by sqrt(len_k): d_k is w_q.shape[1].": _rescaled(
            lambda x, memory, w_q: memory.shape[1] ** -0.5
        ),
        **returned_wrongly(_right_cross),
        **{hint: _weighed(weigh) for hint, weigh in MASKING_MISTAKES.items()},
    },
    rows_sum_to_one=True,
    clues={
        r"matmul.*core dimension": "w_q takes the columns of x; w_k and w_v take those of memory.",
        "broadcast together": (
            "The mask says of each key whether it is padding: (batch, 1, len_k). Two sequences "
            "have two lengths, len_q and len_k."
        ),
    },
)


# without-one


def _without_cases(rng: np.random.Generator) -> Cases:
    def inputs(n: int, d_v: int) -> Inputs:
        return {
            "weights": softmax(rng.standard_normal(n)),
            "value": rng.standard_normal((n, d_v)),
        }

    hint = (
        "Work out row 0 by hand: leave out weights[0] and value[0], divide the other weights by "
        "their sum, and mix the other values with them."
    )
    yield inputs(5, 3), hint

    hint = (
        "Here value has 11 rows and one column: is a size fixed in your code, or an axis of length 1 "
        "squeezed away?"
    )
    yield inputs(11, 1), hint

    zero = inputs(7, 2)
    zero["weights"][4] = 0
    zero["weights"] /= zero["weights"].sum()
    yield zero, "Here weights[4] is 0, so when you hide key 4 nothing changes: do you divide by it?"

    twins = inputs(13, 5)
    twins["weights"][8] = twins["weights"][3]
    twins["weights"] /= twins["weights"].sum()
    yield twins, "Here keys 3 and 8 have the same weight: do you hide both at once?"

    whole = inputs(3, 7)
    whole["value"] = rng.integers(-9, 10, (3, 7))
    yield whole, "Here value holds integers: do you write averages into an array of integers?"


def _without(combine: Function) -> Function:
    """Make rows of a column of weights, the values, and their weighted average."""
    return lambda weights, value: combine(weights[:, None], value, weights @ value)


def _left(weigh: Function) -> Function:
    """Make rows of an array of weights, right or wrong: one row for each hidden key."""

    def rows(weights: Array, value: Array) -> Any:
        hidden = np.eye(len(weights), dtype=bool)
        return weigh(weights, hidden) @ value

    return rows


_right_without = _without(lambda w, v, mean: (mean - w * v) / (1 - w))


def _others(weights: Array, hidden: Any) -> Array:
    """Return the weights, in each row without those that are hidden there."""
    return np.where(hidden, 0, weights)


def _normalised(weights: Array) -> Any:
    return weights / weights.sum(axis=-1, keepdims=True)


def _where_zero(fill: float) -> Function:
    """Fill the row of a key that has no weight."""
    return _without(
        lambda w, v, mean: np.where(w == 0, fill, _right_without(w[:, 0], v))  # whole rows
    )


def _same_weight_hidden(weights: Array, value: Array) -> Any:
    return _normalised(_others(weights, weights == weights[:, None])) @ value


def _in_the_dtype_of_value(weights: Array, value: Array) -> Any:
    return _right_without(weights, value).astype(value.dtype)


WITHOUT_ONE = Exercise(
    call="outputs_without(weights, value)",
    reference=_right_without,
    cases=_without_cases,
    mistakes={
        "you hide key j but leave the other weights as they are, and they sum to 1 - weights[j]: divide by that.": (
            _without(lambda w, v, mean: mean - w * v)
        ),
        "you multiply by 1 - weights[j], the sum of the weights that are left: divide by it.": (
            _without(lambda w, v, mean: (mean - w * v) * (1 - w))
        ),
        "you divide by 1 - weights[j] twice: once makes the weights that are left sum to 1.": (
            _without(lambda w, v, mean: (mean - w * v) / (1 - w) ** 2)
        ),
        "you divide by weights[j], the weight that is gone: divide by 1 - weights[j], the sum of those left.": (
            _without(lambda w, v, mean: (mean - w * v) / w)
        ),
        "you divide by 1 + weights[j]: hiding key j takes its weight away, so divide by 1 - weights[j].": (
            _without(lambda w, v, mean: (mean - w * v) / (1 + w))
        ),
        "you divide by weights[j] - 1, which turns the sign: divide by 1 - weights[j].": _without(
            lambda w, v, mean: (mean - w * v) / (w - 1)
        ),
        "you divide by the number of other keys, as a mean does: divide by the sum of their weights.": (
            _without(lambda w, v, mean: (mean - w * v) / (len(w) - 1))
        ),
        "you divide by the number of keys, as a mean does: divide by the sum of the weights that are left.": (
            _without(lambda w, v, mean: (mean - w * v) / len(w))
        ),
        "you subtract the whole of value[j], but only weights[j] * value[j] of it is in the output.": (
            _without(lambda w, v, mean: (mean - v) / (1 - w))
        ),
        (
            "you subtract the whole of value[j] and leave the weights as they are: subtract "
            "weights[j] * value[j], then divide by 1 - weights[j]."
        ): _without(lambda w, v, mean: mean - v),
        "you add weights[j] * value[j], so key j counts twice: subtract it.": _without(
            lambda w, v, mean: (mean + w * v) / (1 - w)
        ),
        "you add key j a second time, to the output and to the sum of the weights: subtract in both.": (
            _without(lambda w, v, mean: (mean + w * v) / (1 + w))
        ),
        "you divide by 1 - weights[j] but leave key j in the sum: subtract weights[j] * value[j] first.": (
            _without(lambda w, v, mean: mean / (1 - w))
        ),
        "you divide only the last term: put the difference in parentheses.": _without(
            lambda w, v, mean: mean - w * v / (1 - w)
        ),
        "you divide by 1 and then subtract the weight: put 1 - weights[j] in parentheses.": _without(
            lambda w, v, mean: mean - w * v - w
        ),
        "you hide nothing, every row is weights @ value: leave key j out of row j.": _without(
            lambda w, v, mean: np.broadcast_to(mean, v.shape)
        ),
        "you return the values, what each key alone gives: hide key j and keep the others (is your mask inverted?).": (
            _without(lambda w, v, mean: v)
        ),
        "you return weights[j] * value[j], the part of key j: hide it and keep the others.": _without(
            lambda w, v, mean: w * v
        ),
        "you return by how much the output changes when key j is hidden: return the output itself.": (
            _without(lambda w, v, mean: (mean - w * v) / (1 - w) - mean)
        ),
        "you return by how much key j changes the output: return the output without it.": _without(
            lambda w, v, mean: mean - (mean - w * v) / (1 - w)
        ),
        (
            "you give all other keys the same weight: keep their own weights, and divide each row by "
            "its sum, over axis=1."
        ): _without(lambda w, v, mean: (v.sum(axis=0) - v) / (len(v) - 1)),
        "you divide each column by a sum, where each row has one: sum with axis=1 and keepdims=True.": (
            _left(lambda w, hidden: _others(w, hidden) / (1 - w))
        ),
        "you have the weights transposed: row j is without key j, and has weights[i] in column i.": (
            _left(lambda w, hidden: (_others(w, hidden) / (1 - w)[:, None]).T)
        ),
        "you share the weight of key j out equally: dividing by the sum gives each in proportion.": (
            _left(lambda w, hidden: np.where(hidden, 0, w + w[:, None] / (len(w) - 1)))
        ),
        "you take a softmax of weights, but they went through one already: divide by their sum.": (
            _left(lambda w, hidden: softmax(np.where(hidden, -np.inf, w)))
        ),
        "you take a softmax of weights, and one of 0 still counts as exp(0) = 1: divide by their sum.": (
            _left(lambda w, hidden: softmax(_others(w, hidden)))
        ),
        "you hide key j with a score of 0, and exp(0) is 1: before a softmax hide with -inf.": _left(
            lambda w, hidden: softmax(np.where(hidden, 0, np.log(w)))
        ),
        "you set a weight to -inf: that hides a score, before the softmax, but a weight is hidden by 0.": (
            _left(lambda w, hidden: np.where(hidden, -np.inf, w))
        ),
        "you divide -inf by -inf: it hides a score, before the softmax, but a weight is hidden by 0.": (
            _left(lambda w, hidden: _normalised(np.where(hidden, -np.inf, w)))
        ),
        "you hide key j and leave those before it hidden: take a fresh copy for each j.": _left(
            lambda w, hidden: _normalised(_others(w, np.tri(len(w), dtype=bool)))
        ),
        "you hide key j, leave those before it hidden, and do not divide: take a fresh copy for each j.": (
            _left(lambda w, hidden: _others(w, np.tri(len(w), dtype=bool)))
        ),
        (
            "you leave the keys before j hidden and divide as if j alone were: take a fresh copy for "
            "each j."
        ): _left(lambda w, hidden: _others(w, np.tri(len(w), dtype=bool)) / (1 - w)[:, None]),
        "you hide key j and all after it: the keys after j stay, too.": _left(
            lambda w, hidden: _normalised(_others(w, ~np.tri(len(w), k=-1, dtype=bool)))
        ),
        "you hide key j + 1 in row j: Python counts from 0.": lambda weights, value: np.roll(
            _right_without(weights, value), -1, axis=0
        ),
        "you return the weights that are left: multiply them with value.": lambda weights, value: (
            _others(weights, np.eye(len(weights), dtype=bool)) / (1 - weights)[:, None]
        ),
        "you return row 0 alone: is your return inside the loop?": lambda weights, value: (
            _right_without(weights, value)[0]
        ),
        "you return the last row alone: collect one for each key.": lambda weights, value: (
            _right_without(weights, value)[-1]
        ),
        "you leave out the last row: hide each key once, the last one, too.": lambda weights, value: (
            _right_without(weights, value)[:-1]
        ),
        "you leave out row 0: hide each key once, key 0, too.": lambda weights, value: (
            _right_without(weights, value)[1:]
        ),
        "you divide by weights[j], and where it is 0 you get NaN: only 1 - weights[j] is never 0.": (
            _where_zero(np.nan)
        ),
        "you skip a key of weight 0, but its row is not 0: hiding it changes nothing, so it is weights @ value.": (
            _where_zero(0)
        ),
        "you hide all keys that have the weight of key j: compare positions, not weights.": (
            _same_weight_hidden
        ),
        "you write averages into an array of integers, which cuts them off: make it one of floats.": (
            _in_the_dtype_of_value
        ),
    },
    clues={
        r"broadcast (together|input)": (
            "To give each row its own weight you need a column, weights[:, None]."
        ),
        r"core dimension|not aligned": (
            "Leave key j out of both weights and value (the rows of value are the keys, so your "
            "np.delete needs axis=0), and write weights @ value."
        ),
    },
)


EXERCISES = {
    "self-attention": SELF_ATTENTION,
    "influence": INFLUENCE,
    "patches": PATCHES,
    "cross-attention": CROSS_ATTENTION,
    "without-one": WITHOUT_ONE,
}
