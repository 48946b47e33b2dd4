"""The exercises of the chapter Split one attention into many heads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Exercise, Function, Inputs
from attnbook.exercises.mistakes import (
    MAXIMUM,
    MIXING_MISTAKES,
    SIZES,
    dot,
    mixed,
    projection,
    returned_wrongly,
    scaled,
)
from attnbook.functional import AttentionOutput, scaled_dot_product_attention, softmax
from attnbook.layers import MultiHeadAttention, merge_heads, split_heads
from attnbook.masks import causal_mask

_ONE_HEAD = "Here num_heads is 1: is an axis of length 1 lost, or a number of heads fixed?"
_NARROW = "Here head_dim is 1: is an axis of length 1 lost, or a size fixed in the code?"


# split-heads


def _split_cases(rng: np.random.Generator) -> Cases:
    def inputs(batch: int, length: int, num_heads: int, head_dim: int) -> Inputs:
        x = rng.standard_normal((batch, length, num_heads * head_dim))
        return {"x": x, "num_heads": num_heads}

    hint = (
        "Here head_dim is 3: head 0 of token 0 is x[0, 0, :3] and head 1 of it is x[0, 0, 3:6]. "
        "Where does your answer put them?"
    )
    yield inputs(2, 7, 5, 3), hint
    yield inputs(11, 2, 3, 5), SIZES
    yield inputs(5, 3, 1, 7), _ONE_HEAD
    yield inputs(3, 5, 7, 1), _NARROW


def _cut(blocks: str, order: str) -> Function:
    """Make a split that reshapes to some blocks and puts their axes in some order.

    The letters are b(atch), l(ength), h(eads) and d, the head_dim.
    """

    def split(x: Array, num_heads: int) -> Array:
        batch, length, d_model = x.shape
        sizes = {"b": batch, "l": length, "h": num_heads, "d": d_model // num_heads}
        axes = [blocks.index(letter) for letter in order]
        return x.reshape([sizes[letter] for letter in blocks]).transpose(axes)

    return split


def _of_split(change: Function) -> Function:
    """Make a split from what is done to the right heads."""
    return lambda x, num_heads: change(split_heads(x, num_heads))


SPLIT_HEADS = Exercise(
    call="split(x, num_heads)",
    reference=split_heads,
    cases=_split_cases,
    mistakes={
        (
            "you reshape straight to the final shape, and each head gets pieces of a few whole "
            "tokens: cut the last axis first, then move the heads."
        ): _cut("bhld", "bhld"),
        "you cut the features but leave the heads after the length: they come before it.": _cut(
            "blhd", "blhd"
        ),
        (
            "you give each head every num_heads-th feature: the features of a head are neighbours, "
            "so num_heads is cut off before head_dim."
        ): _cut("bldh", "bhld"),
        "you have num_heads and head_dim swapped: d_model is cut into num_heads pieces.": _cut(
            "bldh", "bdlh"
        ),
        "you have num_heads and head_dim swapped, and each head gets every few features.": _cut(
            "blhd", "bdlh"
        ),
        "you have num_heads and head_dim swapped, and the heads come after the length.": _cut(
            "bldh", "bldh"
        ),
        "you have num_heads and head_dim swapped, and reshape straight to the final shape.": _cut(
            "bdlh", "bdlh"
        ),
        "you put the heads before the batch: the batch stays the first axis.": _cut("blhd", "hbld"),
        "you put the heads last: they come right after the batch.": _cut("blhd", "bldh"),
        "you swap the heads with the batch instead of with the length.": _cut("blhd", "hlbd"),
        "you take the second axis for the batch and the first for the length: the batch comes first.": (
            _cut("blhd", "lhbd")
        ),
        "you move the length to the end: the rows of a head are tokens, its columns features.": (
            _cut("blhd", "bhdl")
        ),
        "you reverse all axes, as .T does: swap two of them and leave the batch first.": _cut(
            "blhd", "dhlb"
        ),
        (
            "you swap length and features first and reshape then to the final shape, which tears "
            "both apart: leave the length alone until the features are cut."
        ): lambda x, num_heads: x.swapaxes(1, 2).reshape(split_heads(x, num_heads).shape),
        "you reshape to (batch, num_heads, head_dim, len), which tears tokens apart.": _cut(
            "bhdl", "bhdl"
        ),
        "you reshape to (batch, num_heads, head_dim, len), then swap: the tokens are torn before.": (
            _cut("bhdl", "bhld")
        ),
        "you reshape to (num_heads, batch, len, head_dim), which tears the batch apart.": _cut(
            "hbld", "hbld"
        ),
        "you reshape to (num_heads, batch, len, head_dim), then swap: the batch is torn before.": (
            _cut("hbld", "bhld")
        ),
        "you merge heads and batch into one axis: give the heads an axis of their own.": _of_split(
            lambda heads: heads.reshape(-1, *heads.shape[2:])
        ),
        (
            "you merge heads and batch into one axis, and by a reshape that tears the tokens apart: "
            "give the heads an axis of their own."
        ): lambda x, num_heads: x.reshape(-1, x.shape[1], x.shape[2] // num_heads),
        "you merge heads and batch into one axis, the heads first: give them one of their own.": (
            _of_split(lambda heads: heads.swapaxes(0, 1).reshape(-1, *heads.shape[2:]))
        ),
        "you merge heads and length into one axis: give the heads an axis of their own.": _of_split(
            lambda heads: heads.reshape(len(heads), -1, heads.shape[3])
        ),
        "you copy the whole of x for each head: a head gets head_dim features of it.": lambda x, num_heads: (
            np.repeat(x[:, None], num_heads, axis=1)
        ),
        "you return one head alone: keep them all.": _of_split(lambda heads: heads[:, 0]),
        "you return the last head alone: is your return inside the loop, or your list overwritten?": (
            _of_split(lambda heads: heads[:, -1])
        ),
        "you give each head the first head_dim features: head h starts at h * head_dim.": _of_split(
            lambda heads: np.repeat(heads[:, :1], heads.shape[1], axis=1)
        ),
        "you take the heads in reverse: the first one has the first features.": _of_split(
            lambda heads: heads[:, ::-1]
        ),
        "you split the first sequence alone: keep the whole batch.": _of_split(
            lambda heads: heads[0]
        ),
        "you return x as it is.": lambda x, num_heads: x,
        "you squeeze away an axis of length 1: keep four axes, whatever their lengths.": _of_split(
            np.squeeze
        ),
    },
    clues={
        "equal division": (
            "The axis that you split is not that of the features: they are on the last one."
        ),
        "cannot reshape": (
            "The sizes you reshape to must multiply to x.size, with head_dim = d_model / num_heads."
        ),
        "not enough values|too many values": "x has three axes: batch, length and features.",
        "cannot be interpreted as an integer": "Divide with // to get a whole number.",
    },
)


# merge-heads


def _merge_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: Any) -> Inputs:
        return {"heads": rng.standard_normal(shape)}

    hint = (
        "The first three features of token 0 are heads[0, 0, 0], the next three heads[0, 1, 0]. "
        "Where does your answer put them?"
    )
    yield inputs(2, 5, 7, 3), hint
    yield inputs(11, 3, 2, 5), SIZES
    yield inputs(3, 1, 5, 7), _ONE_HEAD
    yield inputs(5, 7, 3, 1), _NARROW


def _joined(order: str) -> Function:
    """Make a merge that puts the axes in some order, then reshapes to (batch, len, d_model)."""

    def merge(heads: Array) -> Array:
        axes = ["bhld".index(letter) for letter in order]
        return heads.transpose(axes).reshape(heads.shape[0], heads.shape[2], -1)

    return merge


def _of_merge(change: Function) -> Function:
    """Make a merge from what is done to the heads before it."""
    return lambda heads: merge_heads(change(heads))


MERGE_HEADS = Exercise(
    call="merge(heads)",
    reference=merge_heads,
    cases=_merge_cases,
    mistakes={
        (
            "you reshape without moving the heads first, so a row holds several tokens of one head: "
            "it should hold the heads of one token."
        ): _joined("bhld"),
        (
            "you take one feature of each head in turn: put whole heads side by side, with head_dim "
            "as the last axis when you reshape."
        ): _joined("bldh"),
        "you put the length last before you reshape: then it is cut up instead of the heads.": (
            _joined("bhdl")
        ),
        "you swap the heads with the batch: they belong right after the length.": _joined("hbld"),
        "you reverse all axes, as .T does, before you reshape: swap heads and length only.": (
            _joined("dlhb")
        ),
        "you put the length before the batch when you reshape: then sequences are mixed.": _joined(
            "lbhd"
        ),
        "you swap length and head_dim before you reshape: swap heads and length.": _joined("bdlh"),
        "you swap heads and head_dim before you reshape: swap heads and length.": _joined("bdhl"),
        "you swap the batch with the length before you reshape: swap heads and length.": _joined(
            "lhbd"
        ),
        "you put the heads together in reverse: the first one comes first.": _of_merge(
            lambda heads: heads[:, ::-1]
        ),
        "you concatenate the heads along the length: put them side by side, along the features.": (
            lambda heads: heads.reshape(len(heads), -1, heads.shape[3])
        ),
        "you move the heads next to head_dim but leave them two axes: make one of them.": (
            lambda heads: heads.swapaxes(1, 2)
        ),
        (
            "you concatenate the sequences of the batch, as np.concatenate(heads, axis=-1) does: it "
            "goes through the first axis, and the heads are on the second."
        ): lambda heads: np.concatenate(list(heads), axis=-1),
        (
            "you merge the batch with the heads, as np.concatenate(heads) does: it goes through the "
            "first axis, and the heads are on the second."
        ): lambda heads: heads.reshape(-1, *heads.shape[2:]),
        (
            "you concatenate along the length, and the sequences of the batch instead of the heads, "
            "as np.hstack does."
        ): lambda heads: np.concatenate(list(heads), axis=1),
        "you put the length before the batch: the batch stays the first axis.": lambda heads: (
            merge_heads(heads).swapaxes(0, 1)
        ),
        "you have the last two axes swapped: each token is a row.": lambda heads: merge_heads(
            heads
        ).swapaxes(1, 2),
        "you add the heads up: put them side by side.": lambda heads: heads.sum(axis=1),
        "you average the heads: put them side by side.": lambda heads: heads.mean(axis=1),
        "you keep the largest number of all heads: put them side by side.": lambda heads: heads.max(
            axis=1
        ),
        "you return the first head alone: put all of them side by side.": lambda heads: heads[:, 0],
        "you return the last head alone: is your list overwritten in the loop?": lambda heads: (
            heads[:, -1]
        ),
        "you repeat the first head: put different ones side by side.": _of_merge(
            lambda heads: np.repeat(heads[:, :1], heads.shape[1], axis=1)
        ),
        "you repeat the last head: does your loop fill all columns each time?": _of_merge(
            lambda heads: np.repeat(heads[:, -1:], heads.shape[1], axis=1)
        ),
        "you write each head to the first columns, and the others stay 0: head h starts at h * head_dim.": (
            _of_merge(lambda heads: np.concatenate([heads[:, -1:], 0 * heads[:, 1:]], axis=1))
        ),
        "you merge the first sequence alone: keep the whole batch.": lambda heads: merge_heads(
            heads
        )[0],
        "you merge batch and length, too: keep them two axes.": lambda heads: merge_heads(
            heads
        ).reshape(-1, heads.shape[1] * heads.shape[3]),
        "you flatten each sequence to one row: a token keeps a row of its own.": lambda heads: (
            merge_heads(heads).reshape(len(heads), -1)
        ),
        "you flatten each sequence to one row, and head after head: a token keeps a row of its own.": (
            lambda heads: heads.reshape(len(heads), -1)
        ),
        "you return the heads as they are.": lambda heads: heads,
    },
    clues={
        "cannot reshape": "The merged features are num_heads * head_dim, not one of the two.",
        "not enough values|too many values": (
            "heads has four axes: batch, num_heads, length and head_dim."
        ),
        "axis 3 is out of bounds": (
            "You go through the first axis, the batch: the heads are on the second."
        ),
    },
)


# multi-head


def _multi_cases(rng: np.random.Generator) -> Cases:
    def inputs(batch: int, length: int, num_heads: int, head_dim: int) -> Inputs:
        d_model = num_heads * head_dim
        weights = {f"w_{letter}": projection(rng, d_model, d_model) for letter in "qkvo"}
        x = rng.standard_normal((batch, length, d_model))
        return {"x": x, **weights, "num_heads": num_heads}

    hint = (
        "Take the steps one by one: project, split, attend, merge, mix with w_o. Print after each "
        "what head 0 holds of token 0."
    )
    yield inputs(2, 7, 5, 3), hint
    yield inputs(11, 2, 3, 5), SIZES
    yield inputs(5, 3, 1, 7), _ONE_HEAD
    large = inputs(2, 7, 5, 3)
    large["x"] *= 1000
    yield large, MAXIMUM


def _mix(heads: Array, w_o: Array) -> Array:
    return merge_heads(heads) @ w_o


def _multi(
    split: Function = split_heads,
    attend: Function = scaled_dot_product_attention,
    combine: Function = _mix,
) -> Function:
    """Make a multi-head attention of its three parts, right or wrong."""

    def multi_head(
        x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, num_heads: int
    ) -> tuple[Array, Array]:
        query, key, value = (split(x @ w, num_heads) for w in (w_q, w_k, w_v))
        output, weights = attend(query, key, value)
        return combine(output, w_o), weights

    return multi_head


def _right_multi(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, num_heads: int
) -> AttentionOutput:
    layer = MultiHeadAttention(w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=num_heads)
    return layer(x)


def _of_matrices(choose: Function) -> Function:
    """Make a multi-head attention that takes other matrices than it should."""
    return lambda x, w_q, w_k, w_v, w_o, num_heads: _right_multi(
        *(x, *choose(w_q, w_k, w_v, w_o), num_heads)
    )


def _of_weights(change: Function) -> Function:
    """Make a multi-head attention from what is done to the right weights before a return."""

    def multi_head(*arguments: Any) -> tuple[Array, Array]:
        output, weights = _right_multi(*arguments)
        return output, change(weights)

    return multi_head


def _heads_first(array: Array) -> Array:
    """Take the one axis of batch and heads apart, as if the heads came first."""
    batch, heads = array.shape[:2]
    return array.reshape(heads, batch, *array.shape[2:]).swapaxes(0, 1)


def _over_keys_and_queries(scores: Array) -> Array:
    return softmax(scores.reshape(*scores.shape[:2], -1)).reshape(scores.shape)


def _one_attention(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, num_heads: int
) -> tuple[Array, Array]:
    """Attend once, with the whole of d_model."""
    output, weights = scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
    return output @ w_o, weights


def _copied_for_heads(x: Array, *matrices_and_heads: Any) -> tuple[Array, Array]:
    output, weights = _one_attention(x, *matrices_and_heads)
    return output, np.repeat(weights[:, None], matrices_and_heads[-1], axis=1)


def _diagonal_blocks(heads: Array, w_o: Array) -> Array:
    """Mix each head by the block of w_o on its rows and columns, and put these side by side."""
    head_dim = heads.shape[3]
    starts = range(0, len(w_o), head_dim)
    blocks = np.array([w_o[s : s + head_dim, s : s + head_dim] for s in starts])
    return merge_heads(heads @ blocks)


def _without_projections(
    x: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, num_heads: int
) -> AttentionOutput:
    one = np.eye(x.shape[2])
    return _right_multi(x, one, one, one, w_o, num_heads)


_STRAIGHT = _cut("bhld", "bhld")
_INTERLEAVED = _cut("bldh", "bhld")


MULTI_HEAD = Exercise(
    call="multi_head(x, w_q, w_k, w_v, w_o, num_heads)",
    returns=("output", "weights"),
    reference=_right_multi,
    cases=_multi_cases,
    rows_sum_to_one=True,
    mistakes={
        (
            "you divide the scores by sqrt(d_model): a dot product of one head sums over head_dim "
            "numbers, so divide by the square root of that."
        ): _multi(attend=mixed(lambda q, k: softmax(dot(q, k) / np.sqrt(q.shape[1] * q.shape[3])))),
        "you divide the scores by sqrt(num_heads): the scale is the square root of head_dim.": (
            _multi(attend=mixed(lambda q, k: softmax(dot(q, k) / np.sqrt(q.shape[1]))))
        ),
        (
            "you split by a reshape straight to the final shape: a head then holds pieces of a few "
            "whole tokens, so cut the last axis first and move the heads after that."
        ): _multi(split=_STRAIGHT),
        (
            "you split and merge by a reshape alone: the shapes are right, but a head holds pieces "
            "of a few whole tokens."
        ): _multi(split=_STRAIGHT, combine=lambda heads, w_o: _joined("bhld")(heads) @ w_o),
        "you merge by a reshape alone: move the heads behind the length first.": _multi(
            combine=lambda heads, w_o: _joined("bhld")(heads) @ w_o
        ),
        (
            "you cut the features but leave the heads after the length, so the heads of one token "
            "attend to one another: move them before the length."
        ): _multi(
            split=_cut("blhd", "blhd"),
            combine=lambda heads, w_o: heads.reshape(*heads.shape[:2], -1) @ w_o,
        ),
        "you give each head every num_heads-th column: the columns of a head are neighbours.": (
            _multi(split=_INTERLEAVED)
        ),
        (
            "you give each head every num_heads-th column, and merge in that order, too: the "
            "columns of a head are neighbours."
        ): _multi(split=_INTERLEAVED, combine=lambda heads, w_o: _joined("bldh")(heads) @ w_o),
        "you merge one feature of each head in turn: put whole heads side by side.": _multi(
            combine=lambda heads, w_o: _joined("bldh")(heads) @ w_o
        ),
        "you put the heads together in reverse: the first one comes first.": _multi(
            combine=lambda heads, w_o: _mix(heads[:, ::-1], w_o)
        ),
        "you have num_heads and head_dim swapped: d_model is cut into num_heads pieces.": _multi(
            split=lambda x, num_heads: split_heads(x, x.shape[2] // num_heads)
        ),
        "you swap heads and batch when you take their common axis apart: the batch comes first.": (
            _multi(
                attend=lambda q, k, v: [
                    _heads_first(array) for array in scaled_dot_product_attention(q, k, v)
                ]
            )
        ),
        "you leave batch and heads in one axis of the weights: give each its own.": _of_weights(
            lambda weights: weights.reshape(-1, *weights.shape[2:])
        ),
        "you put the heads before the batch in the weights: the batch comes first.": _of_weights(
            lambda weights: weights.swapaxes(0, 1)
        ),
        "you put the heads after the queries in the weights: they come right after the batch.": (
            _of_weights(lambda weights: weights.swapaxes(1, 2))
        ),
        "you transpose the weights before you return them: rows are queries.": _of_weights(
            lambda weights: weights.swapaxes(2, 3)
        ),
        "you average the weights over the heads before you return them: keep those of each head.": (
            _of_weights(lambda weights: weights.mean(axis=1))
        ),
        "you add the weights of the heads up before you return them: keep those of each head.": (
            _of_weights(lambda weights: weights.sum(axis=1))
        ),
        "you return the weights of the first head alone: keep those of each head.": _of_weights(
            lambda weights: weights[:, 0]
        ),
        "you return the weights of the last head alone: collect those of each head.": _of_weights(
            lambda weights: weights[:, -1]
        ),
        (
            "you average the weights over the heads before they mix the values: each head mixes "
            "its values with its own."
        ): _multi(
            attend=mixed(
                lambda q, k: np.repeat(
                    softmax(scaled(q, k)).mean(axis=1, keepdims=True), q.shape[1], axis=1
                )
            )
        ),
        "you average the scores over the heads: each head has scores of its own.": _multi(
            attend=mixed(
                lambda q, k: np.repeat(
                    softmax(scaled(q, k).mean(axis=1, keepdims=True)), q.shape[1], axis=1
                )
            )
        ),
        "you take the softmax over the heads: take it over the keys, the last axis.": _multi(
            attend=mixed(lambda q, k: softmax(scaled(q, k), axis=1))
        ),
        "you take the softmax over the batch: take it over the keys, the last axis.": _multi(
            attend=mixed(lambda q, k: softmax(scaled(q, k), axis=0))
        ),
        "you take one softmax over queries and keys together: each query has its own.": _multi(
            attend=mixed(lambda q, k: _over_keys_and_queries(scaled(q, k)))
        ),
        "you leave out w_o: it mixes the heads once they are side by side.": _multi(
            combine=lambda heads, w_o: merge_heads(heads)
        ),
        "you transpose w_o: the merged heads are multiplied as they are, from the left.": (
            _of_matrices(lambda q, k, v, o: (q, k, v, o.T))
        ),
        "you transpose w_q, w_k and w_v: the matrices here are applied as x @ w.": _of_matrices(
            lambda q, k, v, o: (q.T, k.T, v.T, o)
        ),
        (
            "you transpose all four matrices, as PyTorch's layers do with theirs: here they are "
            "applied as x @ w."
        ): _of_matrices(lambda q, k, v, o: (q.T, k.T, v.T, o.T)),
        "you apply w_o twice.": _multi(combine=lambda heads, w_o: _mix(heads, w_o) @ w_o),
        "you apply w_o to the values, before they are split: it mixes the merged heads.": (
            lambda x, w_q, w_k, w_v, w_o, num_heads: _right_multi(
                x, w_q, w_k, w_v @ w_o, np.eye(len(w_o)), num_heads
            )
        ),
        (
            "you mix each head with its own block of w_o and put the results side by side: a head "
            "has its own rows of w_o, but all columns, and the results add up."
        ): _multi(combine=_diagonal_blocks),
        "you mix every head with the first rows of w_o: head h has those from h * head_dim on.": (
            _multi(combine=lambda heads, w_o: heads.sum(axis=1) @ w_o[: heads.shape[3]])
        ),
        (
            "you average the heads and mix that with the first rows of w_o: put the heads side by "
            "side and mix them with all of w_o."
        ): _multi(combine=lambda heads, w_o: heads.mean(axis=1) @ w_o[: heads.shape[3]]),
        "you average the heads: put them side by side, each with its own rows of w_o.": _multi(
            combine=lambda heads, w_o: _mix(
                np.repeat(heads.mean(axis=1, keepdims=True), heads.shape[1], axis=1), w_o
            )
        ),
        "you divide the output by num_heads: the heads are mixed by w_o, not averaged.": _multi(
            combine=lambda heads, w_o: _mix(heads, w_o) / heads.shape[1]
        ),
        "you keep the first head alone: put all of them side by side.": _multi(
            combine=lambda heads, w_o: _mix(np.repeat(heads[:, :1], heads.shape[1], axis=1), w_o)
        ),
        "you keep the last head alone: collect the output of each head in the loop.": _multi(
            combine=lambda heads, w_o: _mix(np.repeat(heads[:, -1:], heads.shape[1], axis=1), w_o)
        ),
        "you give every head the first head_dim columns: head h starts at h * head_dim.": _multi(
            split=lambda x, num_heads: np.repeat(
                split_heads(x, num_heads)[:, :1], num_heads, axis=1
            )
        ),
        "you attend once, with all of d_model: split query, key and value into heads first.": (
            _one_attention
        ),
        (
            "you attend once, with all of d_model, and copy the weights for each head: split query, "
            "key and value first."
        ): _copied_for_heads,
        "you project nothing: query, key and value are x @ w_q, x @ w_k and x @ w_v.": (
            _without_projections
        ),
        "you do not project the value: it is x @ w_v.": _of_matrices(
            lambda q, k, v, o: (q, k, np.eye(len(v)), o)
        ),
        "you have w_q and w_k swapped: rows are queries, columns are keys.": _of_matrices(
            lambda q, k, v, o: (k, q, v, o)
        ),
        "you project query and key both by w_q: the key has w_k.": _of_matrices(
            lambda q, k, v, o: (q, q, v, o)
        ),
        "you project query and key both by w_k: the query has w_q.": _of_matrices(
            lambda q, k, v, o: (k, k, v, o)
        ),
        "you project query, key and value all by w_q.": _of_matrices(
            lambda q, k, v, o: (q, q, q, o)
        ),
        "you add x to the output: the residual connection is not part of the attention.": (
            lambda x, *others: (
                x + _right_multi(x, *others).output,
                _right_multi(x, *others).weights,
            )
        ),
        "you mask the future: here every token may attend to all.": _multi(
            attend=lambda q, k, v: scaled_dot_product_attention(q, k, v, causal_mask(q.shape[2]))
        ),
        **{hint: _multi(attend=attend) for hint, attend in MIXING_MISTAKES.items()},
        **returned_wrongly(_right_multi),
    },
    clues={
        r"matmul.*core dimension": (
            "w_o has a row for each column of all heads side by side; query and key of a head meet "
            "over head_dim, their last axis."
        ),
        "cannot reshape": (
            "The sizes you reshape to must multiply to the number of elements, with head_dim = "
            "d_model / num_heads."
        ),
        "not enough values|too many values": "x has three axes: batch, length and features.",
        "equal division": "You cut the length into heads: cut the features, the last axis.",
    },
)


# packed-weights


def _packed_cases(rng: np.random.Generator) -> Cases:
    def inputs(d_model: int) -> Inputs:
        return {
            "in_proj_weight": projection(rng, 3 * d_model, d_model),
            "out_proj_weight": projection(rng, d_model, d_model),
        }

    hint = (
        "With W = in_proj_weight, the query of x is x @ W[:5].T here, since d_model is 5: compare "
        "that with x @ w_q."
    )
    yield inputs(5), hint
    yield inputs(2), SIZES
    yield inputs(7), SIZES


def _unpacked(cut: Any, transpose_out: Any = True) -> Function:
    """Make an unpack from a function that gives three matrices of the packed one."""
    return lambda packed, out: (*cut(packed), out.T if transpose_out else out)


def _rows(packed: Array) -> Array:
    return packed.reshape(3, -1, packed.shape[1])


def _columns(packed: Array) -> Array:
    return packed.T.reshape(len(packed.T), 3, -1).swapaxes(0, 1)


def _leaving(index: int) -> Function:
    """Make an unpack that transposes all matrices but one."""

    def unpack(packed: Array, out: Array) -> list[Any]:
        matrices = list(_right_unpack(packed, out))
        matrices[index] = matrices[index].T
        return matrices

    return unpack


def _reordered(order: Any) -> Function:
    return lambda packed, out: tuple(_right_unpack(packed, out)["qkvo".index(i)] for i in order)


def _torn_rows(packed: Array) -> Array:
    """Take every third row, as if they came in threes: one of the query, one of the key ..."""
    return packed.reshape(-1, 3, packed.shape[1]).swapaxes(0, 1)


_right_unpack = _unpacked(_columns)


_IN_ORDER = "the rows of in_proj_weight hold query, key and value, in this order."

UNPACK = Exercise(
    call="unpack(in_proj_weight, out_proj_weight)",
    returns=("w_q", "w_k", "w_v", "w_o"),
    reference=_right_unpack,
    cases=_packed_cases,
    mistakes={
        "you transpose nothing: PyTorch applies x @ W.T, and here it is x @ w.": _unpacked(
            _rows, transpose_out=False
        ),
        "you do not transpose in_proj_weight: PyTorch applies x @ W.T, and here it is x @ w.": (
            _unpacked(_rows)
        ),
        "you do not transpose out_proj_weight: it is applied as x @ W.T, too.": _unpacked(
            _columns, transpose_out=False
        ),
        **{
            f"you do not transpose w_{letter}, only the others: all four are applied as x @ W.T.": (
                _leaving("qkv".index(letter))
            )
            for letter in "qkv"
        },
        **{
            f"you return w_{', w_'.join(order)}: the order is w_q, w_k, w_v, w_o.": _reordered(
                order
            )
            for order in itertools.permutations("qkvo")
            if order != tuple("qkvo")
        },
        **{
            (
                f"you take the rows as w_{', w_'.join(order)} and transpose nothing: {_IN_ORDER}"
            ): lambda packed, out, order=order: (
                *(_rows(packed)["qkv".index(i)] for i in order),
                out,
            )
            for order in itertools.permutations("qkv")
            if order != tuple("qkv")
        },
        "you take every third row: query, key and value are blocks of d_model rows.": _unpacked(
            lambda packed: _torn_rows(packed).swapaxes(1, 2)
        ),
        (
            "you take every third row, as a reshape to (d_model, 3 * d_model) does: query, key and "
            "value are blocks of d_model rows, to be transposed."
        ): _unpacked(_torn_rows),
        (
            "you take every third row, as a reshape to (d_model, 3 * d_model) does, and leave "
            "out_proj_weight as it is: the three are blocks of rows, and all are transposed."
        ): _unpacked(_torn_rows, transpose_out=False),
        (
            "you transpose first and then reshape to (3, d_model, d_model): after the transpose the "
            "three lie side by side, as blocks of columns."
        ): _unpacked(lambda packed: packed.T.reshape(3, *packed.T.shape[:1], -1)),
        (
            "you transpose first and then reshape to (3, d_model, d_model), and out_proj_weight is "
            "not transposed: after the transpose the three lie side by side."
        ): _unpacked(lambda packed: packed.T.reshape(3, *packed.T.shape[:1], -1), False),
        (
            "you transpose twice: once in_proj_weight is transposed, its three blocks of columns "
            "are what you want."
        ): _unpacked(lambda packed: packed.T.reshape(3, *packed.T.shape[:1], -1).swapaxes(1, 2)),
        "you take the first block three times: key and value have rows of their own.": _unpacked(
            lambda packed: [_columns(packed)[0]] * 3
        ),
        "you take the first block three times and transpose nothing.": _unpacked(
            lambda packed: [_rows(packed)[0]] * 3, transpose_out=False
        ),
        "you invert the matrices: transpose them.": lambda packed, out: tuple(
            np.linalg.inv(w) for w in (*_rows(packed), out)
        ),
        "you turn the matrices by 90 degrees: transpose them.": lambda packed, out: tuple(
            np.rot90(w) for w in (*_rows(packed), out)
        ),
        "you flip the columns: transpose, so that rows become columns.": lambda packed, out: tuple(
            np.fliplr(w) for w in (*_rows(packed), out)
        ),
        "you read out_proj_weight for w_v: the value is the last third of in_proj_weight.": (
            lambda packed, out: (*_columns(packed)[:2], out.T, out.T)
        ),
        "you leave out w_o: it is out_proj_weight, transposed.": lambda packed, out: tuple(
            _columns(packed)
        ),
        "you return in_proj_weight in one piece: cut it into three.": lambda packed, out: (
            packed.T,
            out.T,
        ),
        "you return in_proj_weight in one piece, and nothing is transposed: cut it into three.": (
            lambda packed, out: (packed, out)
        ),
    },
    clues={
        "equal division": "The three are stacked in the rows: in_proj_weight is (3 * d_model, d_model).",
        "too many values|not enough values": (
            "in_proj_weight has 3 * d_model rows: three blocks, each of d_model."
        ),
        "cannot reshape": "d_model is the number of columns of in_proj_weight, not of its rows.",
        "out of bounds": "d_model is the number of columns of in_proj_weight, not of its rows.",
    },
)


# head-contributions


def _contribution_cases(rng: np.random.Generator) -> Cases:
    def inputs(num_heads: int, length: int, head_dim: int, d_model: int) -> Inputs:
        return {
            "heads": rng.standard_normal((num_heads, length, head_dim)),
            "w_o": projection(rng, num_heads * head_dim, d_model),
        }

    hint = (
        "Set all heads but head 0 to zero: what merge_heads(heads) @ w_o gives then is result[0]."
    )
    # A square w_o first: there its columns in place of its rows show as wrong numbers.
    yield inputs(5, 7, 3, 15), hint
    yield inputs(3, 11, 5, 2), "Here w_o is not square: take rows of it, and all of its columns."
    yield inputs(1, 3, 7, 5), _ONE_HEAD


def _by_rows(rows: Function) -> Function:
    """Make contributions from the rows of w_o that each head gets: (num_heads, head_dim, d)."""
    return lambda heads, w_o: heads @ rows(w_o, *heads.shape[::2])


def _blocks(w_o: Array, num_heads: int, head_dim: int) -> Array:
    return w_o.reshape(num_heads, head_dim, -1)


_right_contributions = _by_rows(_blocks)


def _of_contributions(change: Function) -> Function:
    """Make contributions from what is done to the right ones."""
    return lambda heads, w_o: change(_right_contributions(heads, w_o))


def _alone(heads: Array) -> Array:
    """Return (num_heads, num_heads, len, head_dim): all heads but one are zero."""
    return heads * np.eye(len(heads))[:, :, None, None]


def _own_columns(array: Array, head_dim: int) -> Array:
    """Keep in each head's array its own columns only."""
    mask = np.repeat(np.eye(len(array)), head_dim, axis=1)
    return array * mask[:, None, :]


CONTRIBUTIONS = Exercise(
    call="contributions(heads, w_o)",
    reference=_right_contributions,
    cases=_contribution_cases,
    leading="head",
    mistakes={
        "you add the contributions up: keep one for each head.": _of_contributions(
            lambda parts: parts.sum(axis=0)
        ),
        "you average the contributions: keep one for each head.": _of_contributions(
            lambda parts: parts.mean(axis=0)
        ),
        (
            "you give each head the same share of the output: what a head adds depends on its own "
            "rows of w_o."
        ): _of_contributions(lambda parts: np.repeat(parts.mean(axis=0)[None], len(parts), axis=0)),
        "you give each head the whole output: leave the other heads out.": _of_contributions(
            lambda parts: np.repeat(parts.sum(axis=0)[None], len(parts), axis=0)
        ),
        "you divide by num_heads: the contributions should sum to the output.": _of_contributions(
            lambda parts: parts / len(parts)
        ),
        "you give each head every num_heads-th row of w_o: those of a head are neighbours.": (
            _by_rows(
                lambda w_o, num_heads, head_dim: w_o.reshape(head_dim, num_heads, -1).swapaxes(0, 1)
            )
        ),
        (
            "you give every head the first rows of w_o, as zeros padded at the end do: head h has "
            "those from h * head_dim on."
        ): _by_rows(lambda w_o, num_heads, head_dim: w_o[:head_dim]),
        (
            "you give every head the last rows of w_o, as zeros padded at the start do: head h has "
            "those from h * head_dim on."
        ): _by_rows(lambda w_o, num_heads, head_dim: w_o[-head_dim:]),
        "you give out the rows of w_o in reverse: the first head has the first ones.": _by_rows(
            lambda *a: _blocks(*a)[::-1]
        ),
        "you reverse the rows within each head: they stay in their order.": _by_rows(
            lambda *a: _blocks(*a)[:, ::-1]
        ),
        "you give each head the rows of the next one: Python counts from 0.": _by_rows(
            lambda *a: np.roll(_blocks(*a), -1, axis=0)
        ),
        "you start at row h of w_o for head h: it has the head_dim rows from h * head_dim on.": _by_rows(
            lambda w_o, num_heads, head_dim: np.array(
                [w_o[h : h + head_dim] for h in range(num_heads)]
            )
        ),
        "you take columns of w_o for a head, or w_o transposed: a head has rows of it.": _by_rows(
            lambda w_o, *sizes: _blocks(w_o.T, *sizes)
        ),
        "you reshape w_o so that its numbers are torn from their rows: keep its last axis whole.": (
            _by_rows(
                lambda w_o, num_heads, head_dim: w_o.reshape(num_heads, -1, head_dim).swapaxes(1, 2)
            )
        ),
        (
            "you cut the output into pieces of columns: a head adds to all columns of the output, "
            "through its own rows of w_o."
        ): lambda heads, w_o: _own_columns(
            np.repeat(_right_contributions(heads, w_o).sum(axis=0)[None], len(heads), axis=0),
            heads.shape[2],
        ),
        (
            "you cut the output into pieces of columns, one for each head: a head adds to all "
            "columns of the output, through its own rows of w_o."
        ): lambda heads, w_o: split_heads(_right_contributions(heads, w_o).sum(axis=0), len(heads)),
        (
            "you let a head add to its own columns alone: it has rows of w_o, but all columns of "
            "them."
        ): lambda heads, w_o: _own_columns(_right_contributions(heads, w_o), heads.shape[2]),
        "you take a square block of w_o for each head: it has rows of w_o, but all columns of them.": (
            lambda heads, w_o: split_heads(
                _own_columns(_right_contributions(heads, w_o), heads.shape[2]).sum(axis=0),
                len(heads),
            )
        ),
        "you return the output without head h: return what it adds to the others.": (
            _of_contributions(lambda parts: parts.sum(axis=0) - parts)
        ),
        "you have the sign turned: take the output without the head from that with all heads.": (
            _of_contributions(lambda parts: -parts)
        ),
        "you return the output of the heads up to h: return what head h alone adds.": (
            _of_contributions(lambda parts: np.cumsum(parts, axis=0))
        ),
        "you return the output of the heads from h on: return what head h alone adds.": (
            _of_contributions(lambda parts: np.cumsum(parts[::-1], axis=0)[::-1])
        ),
        "you merge the heads by a reshape alone, which mixes tokens: move the length first.": (
            lambda heads, w_o: _alone(heads).reshape(*heads.shape[:2], -1) @ w_o
        ),
        "you have the heads padded with zeros, but not mixed: multiply with w_o.": lambda heads, w_o: (
            merge_heads(_alone(heads))
        ),
        "you return the heads as they are: multiply each with its rows of w_o.": lambda heads, w_o: (
            heads
        ),
        "you put the length before the heads: the heads come first.": _of_contributions(
            lambda parts: parts.swapaxes(0, 1)
        ),
        "you have the last two axes swapped: each token is a row.": _of_contributions(
            lambda parts: parts.swapaxes(1, 2)
        ),
        "you put the heads last: they come first.": _of_contributions(
            lambda parts: np.moveaxis(parts, 0, -1)
        ),
        "you put the contributions side by side: keep one for each head.": _of_contributions(
            merge_heads
        ),
        "you put the contributions below one another: give the heads an axis of their own.": (
            _of_contributions(lambda parts: parts.reshape(-1, parts.shape[2]))
        ),
        "you return the lengths of the contributions: return the vectors.": _of_contributions(
            lambda parts: np.linalg.norm(parts, axis=2)
        ),
        "you return one number for each head: return what it adds to every token.": (
            _of_contributions(lambda parts: np.linalg.norm(parts, axis=(1, 2)))
        ),
        "you sum over the tokens: return what a head adds to every token.": _of_contributions(
            lambda parts: parts.sum(axis=1)
        ),
        "you average over the tokens: return what a head adds to every token.": _of_contributions(
            lambda parts: parts.mean(axis=1)
        ),
        "you take away the signs: keep them, so that the contributions sum to the output.": (
            _of_contributions(np.abs)
        ),
        "you scale the contributions to sum to 1: return what the heads add, as it is.": (
            _of_contributions(lambda parts: parts / parts.sum(axis=0))
        ),
        "you return the first head's alone: keep one for each head.": _of_contributions(
            lambda parts: parts[0]
        ),
        "you return the last head's alone: is your list overwritten in the loop?": (
            _of_contributions(lambda parts: parts[-1])
        ),
        "you squeeze away an axis of length 1: keep three axes, whatever their lengths.": (
            _of_contributions(np.squeeze)
        ),
    },
    clues={
        r"matmul.*core dimension|not aligned": (
            "A head has head_dim columns, so take as many rows of w_o for it, and all columns."
        ),
        "broadcast": (
            "A contribution is (len, d_model), whatever the size of a head: take rows of w_o, and "
            "all columns."
        ),
        "cannot reshape": "w_o has num_heads * head_dim rows and d_model columns.",
    },
)


EXERCISES = {
    "split-heads": SPLIT_HEADS,
    "merge-heads": MERGE_HEADS,
    "multi-head": MULTI_HEAD,
    "packed-weights": UNPACK,
    "head-contributions": CONTRIBUTIONS,
}
