"""A decoder's way from tokens to logits on one screen, so that a part of it can be got wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_tokens
from attnbook.decoder import Decoder, rms_norm, swiglu
from attnbook.functional import scaled_dot_product_attention
from attnbook.layers import merge_heads, split_heads
from attnbook.masks import causal_mask
from attnbook.positional import apply_rotary

_Array = NDArray[np.floating]


def expanded(heads: ArrayLike, num_heads: int) -> NDArray[Any]:
    """Repeat each head of keys or values for the query heads that share it.

    Parameters
    ----------
    heads : (..., num_kv_heads, len, head_dim)
    num_heads : int

    Returns
    -------
    (..., num_heads, len, head_dim)

    Examples
    --------
    >>> expanded([[[0]], [[1]]], 4).ravel().tolist()
    [0, 0, 1, 1]
    """
    heads = np.asarray(heads)
    return np.repeat(heads, num_heads // heads.shape[-3], axis=-3)


def logits(
    model: Decoder,
    tokens: ArrayLike,
    *,
    rms_norm: Callable[..., _Array] = rms_norm,
    split_heads: Callable[..., _Array] = split_heads,
    turn: Callable[[_Array], _Array] | None = None,
    expanded: Callable[[_Array, int], _Array] = expanded,
    causal_mask: Callable[[int], NDArray[np.bool_]] = causal_mask,
    attend: Callable[..., tuple[_Array, Any]] = scaled_dot_product_attention,
    merge_heads: Callable[[_Array], _Array] = merge_heads,
) -> _Array:
    """Compute what ``model.logits(tokens)`` does, with some of its parts replaced.

    Parameters
    ----------
    model, tokens : Decoder with rotary positions and no biases, (..., len) of int
    rms_norm, split_heads, expanded, causal_mask, merge_heads : called as those of this name
    turn, attend : called with queries and with keys; with query, key, value and mask

    Returns
    -------
    (..., len, vocab)

    Raises
    ------
    ValueError, TypeError
        If positions are not rotary, or a token not in the vocabulary; if tokens are not integers.

    Examples
    --------
    >>> from attnbook.pretrained import storyteller
    >>> wrong = logits(model := storyteller.load(), [1, 2, 3], turn=lambda heads: heads)  # no order
    >>> bool(abs(wrong - model.logits([1, 2, 3])).max() > 1)
    True
    """
    if model.positions != "rotary":
        raise ValueError(f"model.positions must be 'rotary', got {model.positions!r}")
    tokens = check_tokens("tokens", tokens, len(model.embedding))
    if turn is None:

        def turn(heads: _Array) -> _Array:
            return apply_rotary(heads, base=model.rope_base, pairing=model.rope_pairing)

    x = model.embedding[tokens]  # (..., len, d_model)
    for layer in model.layers:
        weights, heads = layer.attention, layer.attention.num_heads
        groups = weights.num_kv_heads or heads
        normed = rms_norm(x, layer.attention_norm, model.norm_eps)
        query = turn(split_heads(normed @ weights.w_q, heads))  # (..., heads, len, head_dim)
        key = expanded(turn(split_heads(normed @ weights.w_k, groups)), heads)
        value = expanded(split_heads(normed @ weights.w_v, groups), heads)
        mixed, _ = attend(query, key, value, causal_mask(tokens.shape[-1]))
        x = x + merge_heads(mixed) @ weights.w_o
        normed = rms_norm(x, layer.feed_forward_norm, model.norm_eps)
        x = x + swiglu(normed, layer.w_gate, layer.w_up, layer.w_down)
    output = model.embedding.T if model.output is None else model.output
    return rms_norm(x, model.final_norm, model.norm_eps) @ output


def continuation(
    model: Decoder, tokens: ArrayLike, count: int, **parts: Callable[..., Any]
) -> NDArray[np.intp]:
    """Take the likeliest token, and again, reading all of the text anew for each.

    Without a cache, so a mistake is made on the whole text as it is when a loss is computed.

    Parameters
    ----------
    model, parts : as for logits
    tokens : (len,), int, at least one
    count : int

    Returns
    -------
    (count,), the new tokens

    Raises
    ------
    ValueError, TypeError
        As logits does; if there is no token to begin with.

    Examples
    --------
    >>> from attnbook.pretrained import storyteller
    >>> model = storyteller.load()
    >>> bool((continuation(model, [1, 2, 3], 4) == model.generate([1, 2, 3], 4)[3:]).all())
    True
    """
    known = check_tokens("tokens", tokens, len(model.embedding))
    if known.ndim != 1 or not known.size:
        raise ValueError(f"tokens must have shape (len,) with at least 1 token, got {known.shape}")
    start = known.size
    for _ in range(count):
        known = np.append(known, logits(model, known, **parts)[-1].argmax())
    return known[start:]
