"""The other parts of a transformer, and a decoder-only one made of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import (
    Array,
    Mask,
    check_axes,
    check_count,
    check_mask,
    check_positions,
    check_shape,
    check_tokens,
    promote,
    real_array,
)
from attnbook.functional import AttentionOutput, _dot_product_attention, _quiet, _softmax_in_place
from attnbook.layers import MultiHeadAttention
from attnbook.long import KVCache
from attnbook.masks import _causal
from attnbook.positional import Placed, Positions, Rotary, Sizes, _placed

__all__ = ["Decoder", "DecoderLayer", "DecoderTrace", "Parts", "feed_forward", "layer_norm"]
__all__ += ["rms_norm", "swiglu"]


def _vectors(x: ArrayLike, **others: ArrayLike) -> tuple[list[Array], np.dtype[Any]]:
    """Return all in the dtype to compute in, x first, and the dtype the result shall have."""
    arrays, dtype = promote(x=x, **others)
    check_axes("x", arrays[0], 1, "(..., d_model)")
    return arrays, dtype


def rms_norm(x: ArrayLike, gain: ArrayLike, eps: float = 1e-5) -> NDArray[np.floating]:
    """Divide each vector by its root mean square, then scale each feature.

    ``x / sqrt(mean(x**2) + eps) * gain`` :cite:p:`zhang2019`

    Parameters
    ----------
    x, gain : (..., d_model), (d_model,)
    eps : float

    Returns
    -------
    Shape and dtype of x (float64 for integers)

    Raises
    ------
    ValueError, TypeError
        If the gain does not fit; if not real numbers.

    Examples
    --------
    >>> rms_norm([1, 7], [5, 10], eps=0)  # the mean of 1 and 49 is 25
    array([ 1., 14.])
    """
    (x,), dtype = _vectors(x)
    gain = real_array("gain", gain, x.shape[-1:])
    return _rms_norm(x, gain, eps).astype(dtype, copy=False)


def _rms_norm(x: Array, gain: NDArray[Any], eps: float = 1e-5) -> Array:
    mean_square = np.vecdot(x, x)[..., None] / x.shape[-1]  # (..., 1)
    normed: Array = x / np.sqrt(mean_square + eps) * gain
    return normed


def layer_norm(
    x: ArrayLike, gain: ArrayLike, bias: ArrayLike, eps: float = 1e-5
) -> NDArray[np.floating]:
    """Give each vector mean 0 and variance 1, then scale and shift each feature.

    ``(x - mean(x)) / sqrt(var(x) + eps) * gain + bias`` :cite:p:`ba2016`

    Parameters
    ----------
    x, gain, bias : (..., d_model), (d_model,), (d_model,)
    eps : float

    Returns
    -------
    Shape and dtype of x (float64 for integers)

    Raises
    ------
    ValueError, TypeError
        If gain or bias does not fit; if not real numbers.

    Examples
    --------
    >>> layer_norm([1, 7], [1, 10], [0, 5], eps=0)  # mean 4, deviations -3 and 3
    array([-1., 15.])
    """
    (x,), dtype = _vectors(x)
    gain = real_array("gain", gain, x.shape[-1:])
    bias = real_array("bias", bias, x.shape[-1:])
    deviation = x - x.mean(axis=-1, keepdims=True)
    normed: NDArray[np.floating] = _rms_norm(deviation, gain, eps) + bias
    return normed.astype(dtype, copy=False)


def feed_forward(
    x: ArrayLike, w_in: ArrayLike, b_in: ArrayLike, w_out: ArrayLike, b_out: ArrayLike
) -> NDArray[np.floating]:
    """Send each token through two layers with a bend between them.

    ``max(x @ w_in + b_in, 0) @ w_out + b_out``, the bend being ReLU :cite:p:`vaswani2017`.

    Parameters
    ----------
    x : (..., d_model)
    w_in, b_in : (d_model, hidden), (hidden,)
    w_out, b_out : (hidden, d_out), (d_out,)

    Returns
    -------
    (..., d_out), dtype of x (float64 for integers)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> feed_forward([[1], [-1]], [[2]], [1], [[10]], [0]).tolist()
    [[30.0], [0.0]]
    """
    (x,), dtype = _vectors(x)
    w_in, b_in, w_out, b_out = _feed_forward_parameters(x.shape[-1], w_in, b_in, w_out, b_out)
    hidden = np.maximum(x @ w_in + b_in, 0)  # (..., hidden)
    output: NDArray[np.floating] = hidden @ w_out + b_out
    return output.astype(dtype, copy=False)


def _feed_forward_parameters(
    d_model: int, w_in: ArrayLike, b_in: ArrayLike, w_out: ArrayLike, b_out: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the parameters as arrays, if they fit one another and d_model."""
    w_in, b_in = real_array("w_in", w_in), real_array("b_in", b_in)
    w_out, b_out = real_array("w_out", w_out), real_array("b_out", b_out)
    check_shape("w_in", w_in, (d_model, b_in.size))
    check_shape("b_in", b_in, w_in.shape[1:])
    check_shape("w_out", w_out, (b_in.size, b_out.size))
    check_shape("b_out", b_out, w_out.shape[1:])
    return w_in, b_in, w_out, b_out


def swiglu(
    x: ArrayLike, w_gate: ArrayLike, w_up: ArrayLike, w_down: ArrayLike
) -> NDArray[np.floating]:
    """Send each token through two layers, where one half of the first gates the other.

    ``(silu(x @ w_gate) * (x @ w_up)) @ w_down``, ``silu(z) = z / (1 + exp(-z))``
    :cite:p:`shazeer2020`

    Parameters
    ----------
    x : (..., d_model)
    w_gate, w_up, w_down : (d_model, hidden), (d_model, hidden), (hidden, d_out)

    Returns
    -------
    (..., d_out), dtype of x (float64 for integers)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if not real numbers.

    Examples
    --------
    >>> swiglu([np.log(3)], [[1]], [[1]], [[4]]) / np.log(3) ** 2  # a gate of 3/4
    array([3.])
    """
    (x,), dtype = _vectors(x)
    parameters = _swiglu_parameters(x.shape[-1], w_gate, w_up, w_down)
    return _swiglu(x, *parameters).astype(dtype, copy=False)


def _swiglu_parameters(
    d_model: int, w_gate: ArrayLike, w_up: ArrayLike, w_down: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the parameters as arrays, if they fit one another and d_model."""
    w_gate, w_down = real_array("w_gate", w_gate), real_array("w_down", w_down)
    if w_gate.ndim != 2 or w_down.ndim != 2:
        raise ValueError(
            f"w_gate and w_down must have 2 axes, got shapes {w_gate.shape} and {w_down.shape}"
        )
    hidden = w_gate.shape[1]
    check_shape("w_gate", w_gate, (d_model, hidden))
    w_up = real_array("w_up", w_up, (d_model, hidden))
    check_shape("w_down", w_down, (hidden, w_down.shape[1]))
    return w_gate, w_up, w_down


@np.errstate(over="ignore")  # exp(-z) may be infinite: z / infinity is the 0 it should be
def _swiglu(x: Array, w_gate: NDArray[Any], w_up: NDArray[Any], w_down: NDArray[Any]) -> Array:
    gate = x @ w_gate  # (..., hidden)
    gate = gate / (1 + np.exp(-gate))
    output: Array = (gate * (x @ w_up)) @ w_down
    return output


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DecoderLayer:
    """One layer of a decoder: attention, then SwiGLU, each after a norm and around it a residual.

    ``x = x + attention(rms_norm(x))``, then ``x = x + swiglu(rms_norm(x))``
    :cite:p:`touvron2023`

    Parameters
    ----------
    attention_norm, feed_forward_norm : (d_model,), (d_model,)
        The gains of the two norms.
    attention : MultiHeadAttention, from d_model to d_model
    w_gate, w_up, w_down : (d_model, hidden), (d_model, hidden), (hidden, d_model)

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit; if a parameter is not of real numbers.
    """

    attention_norm: NDArray[np.floating]
    attention: MultiHeadAttention
    feed_forward_norm: NDArray[np.floating]
    w_gate: NDArray[np.floating]
    w_up: NDArray[np.floating]
    w_down: NDArray[np.floating]

    def __post_init__(self) -> None:
        for name in ("attention_norm", "feed_forward_norm", "w_gate", "w_up", "w_down"):
            _hold_real(self, name)
        if not isinstance(self.attention, MultiHeadAttention):
            raise TypeError(
                f"attention must be a MultiHeadAttention, got {type(self.attention).__name__}"
            )
        d_model = self.attention.w_o.shape[1]
        for letter in "qkv":
            weight = getattr(self.attention, f"w_{letter}")
            check_shape(f"attention.w_{letter}", weight, (d_model, weight.shape[1]))
        check_shape("attention_norm", self.attention_norm, (d_model,))
        check_shape("feed_forward_norm", self.feed_forward_norm, (d_model,))
        _swiglu_parameters(d_model, self.w_gate, self.w_up, self.w_down)
        check_shape("w_down", self.w_down, (self.w_down.shape[0], d_model))

    def __repr__(self) -> str:
        """Tell the sizes: the arrays would fill pages."""
        return f"DecoderLayer({self.attention!r}, hidden {self.w_gate.shape[1]})"


class DecoderTrace(NamedTuple):
    """What a decoder computed: the logits, the residual stream, the weights of every head.

    Of shapes (..., len, vocab); (num_layers + 1, ..., len, d_model), what enters each layer and
    what leaves the last; (num_layers, ..., num_heads, len, len).
    """

    logits: NDArray[np.floating]
    states: NDArray[np.floating]
    weights: NDArray[np.floating]


class Parts(NamedTuple):
    """What a decoder computes with; another function can be put in a part's place.

    ``norm(x, gain, eps)``, as ``rms_norm``; ``attend(query, key, value, mask)``, once a layer, with
    heads that may share keys, and with ``bias=`` if positions give one, as
    ``scaled_dot_product_attention``: it returns an AttentionOutput; ``feed_forward(x, w_gate, w_up,
    w_down)``, as ``swiglu``. The defaults are these three without their checks.
    """

    norm: Callable[..., NDArray[np.floating]] = _rms_norm
    attend: Callable[..., AttentionOutput] = _dot_product_attention
    feed_forward: Callable[..., NDArray[np.floating]] = _swiglu


_USUAL = Parts()


class _Steps(NamedTuple):
    """What a layer computed up to its feed-forward part: all that its backward needs."""

    attended: NDArray[np.floating]  # what attention reads, (..., len, d_model)
    queries: NDArray[np.floating]  # (..., num_heads, len, head_dim)
    keys: NDArray[np.floating]  # (..., num_kv_heads, len, head_dim)
    values: NDArray[np.floating]
    heads: NDArray[np.floating]  # what attention mixed, (..., num_heads, len, value_dim)
    weights: NDArray[np.floating]
    between: NDArray[np.floating]  # the residual stream, (..., len, d_model)
    fed: NDArray[np.floating]  # what the feed-forward layer reads


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Decoder:
    """A decoder-only transformer: it predicts each token from those before it.

    Embedding, layers, RMSNorm, product with the output matrix :cite:p:`touvron2023`.

    Parameters
    ----------
    embedding : (vocab, d_model); its dtype is that of the logits
    layers : tuple of DecoderLayer, alike in their heads
    final_norm : (d_model,)
    output : (d_model, vocab), optional, the transposed embedding by default (tied)
    positions : Rotary, Sinusoidal, Alibi, None, or what has their method ``place``
    norm_eps : float, as in ``rms_norm``
    tokenizer : optional, anything with encode and decode; not used here

    Examples
    --------
    >>> zero, one = np.zeros((2, 2)), np.ones(2)
    >>> attention = MultiHeadAttention(w_q=zero, w_k=zero, w_v=zero, w_o=zero, num_heads=1)
    >>> layer = DecoderLayer(attention_norm=one, attention=attention, feed_forward_norm=one,
    ...                      w_gate=zero, w_up=zero, w_down=zero)  # adds nothing
    >>> model = Decoder(embedding=np.eye(2), layers=(layer,), final_norm=one)
    >>> model.logits([1, 0]).round(2).tolist()
    [[0.0, 1.41], [1.41, 0.0]]
    >>> model.generate([1], 2).tolist()
    [1, 1, 1]
    """

    embedding: NDArray[np.floating]
    layers: tuple[DecoderLayer, ...]
    final_norm: NDArray[np.floating]
    output: NDArray[np.floating] | None = None
    positions: Positions | None = field(default_factory=Rotary)
    norm_eps: float = 1e-5
    tokenizer: Any = None

    def __post_init__(self) -> None:
        _hold_real(self, "embedding")
        _hold_real(self, "final_norm")
        if self.embedding.dtype.kind != "f":
            object.__setattr__(self, "embedding", self.embedding.astype(np.float64))
        if self.embedding.ndim != 2:
            raise ValueError(f"embedding must have 2 axes, got shape {self.embedding.shape}")
        vocab, d_model = self.embedding.shape
        check_shape("final_norm", self.final_norm, (d_model,))
        if self.output is not None:
            _hold_real(self, "output")
            check_shape("output", self.output, (d_model, vocab))
        if not self.layers:
            raise ValueError("layers must hold at least 1 DecoderLayer, got none")
        for number, layer in enumerate(self.layers):
            check_shape(f"layers[{number}].attention_norm", layer.attention_norm, (d_model,))
        heads = {(layer.attention.num_heads, layer.attention.head_dim) for layer in self.layers}
        if len(heads) > 1:
            raise ValueError(f"layers must be alike in (num_heads, head_dim), got {sorted(heads)}")
        if self.positions is not None and not callable(getattr(self.positions, "place", None)):
            raise TypeError(
                "positions must be None or have a method place, as Rotary() has, "
                f"got {self.positions!r}"
            )
        nothing = np.arange(0)  # is enough to see whether sizes allow these positions
        _placed(self.positions, nothing, nothing, self._sizes)

    def __repr__(self) -> str:
        """Tell the sizes: the arrays would fill pages."""
        vocab, d_model = self.embedding.shape
        attention = self.layers[0].attention
        return (
            f"Decoder({len(self.layers)} layers, d_model {d_model}, {attention.num_heads} heads of "
            f"{attention.head_dim} on {attention.num_kv_heads}, vocab {vocab}, "
            f"positions {self.positions!r}, {self.embedding.dtype})"
        )

    @functools.cached_property
    def _sizes(self) -> Sizes:
        """What positions need to know, and the dtype to compute in: the widest parameter's."""
        attention = self.layers[0].attention
        holders = self, *self.layers, *(layer.attention for layer in self.layers)
        held = [value for holder in holders for value in vars(holder).values()]
        dtypes = {value.dtype for value in held if isinstance(value, np.ndarray)}
        dtype = np.result_type(np.float32, *dtypes)
        return Sizes(self.embedding.shape[1], attention.num_heads, attention.head_dim, dtype)

    def logits(
        self,
        tokens: ArrayLike,
        *,
        position_ids: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        parts: Parts = _USUAL,
    ) -> NDArray[np.floating]:
        """Score every token of the vocabulary as the next one, after each token.

        Parameters
        ----------
        tokens : (..., len), int
        position_ids : (..., len), optional, ``0 ... len-1`` by default; may be fractions
        mask : (..., len, len), bool, optional
            Takes from the causal mask, which always holds: for padding, or a sliding window.
        parts : Parts, optional, functions in the place of norm, attention or feed-forward layer

        Returns
        -------
        (..., len, vocab)

        Raises
        ------
        ValueError, TypeError
            If a token is not in the vocabulary, or shapes do not fit; if tokens are not
            integers, position_ids not finite numbers, the mask not boolean.
        """
        x, placed, mask = self._begin(tokens, position_ids, mask)
        for layer in self.layers:
            x = self._feed(layer, self._attend(layer, x, placed, mask, parts), parts)
        return self._read(x, parts)

    def trace(
        self,
        tokens: ArrayLike,
        *,
        position_ids: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> DecoderTrace:
        """Compute the logits and keep what was computed on the way.

        Parameters
        ----------
        tokens, position_ids, mask : as for logits

        Returns
        -------
        DecoderTrace
            Logits (..., len, vocab), states (num_layers + 1, ..., len, d_model) and weights
            (num_layers, ..., num_heads, len, len)
        """
        x, placed, mask = self._begin(tokens, position_ids, mask)
        states, weights = [x], []
        for layer in self.layers:
            steps = self._attend(layer, x, placed, mask)
            x = self._feed(layer, steps)
            states.append(x)
            weights.append(steps.weights)
        dtype = self.embedding.dtype
        stacked = (np.stack(kept).astype(dtype, copy=False) for kept in (states, weights))
        return DecoderTrace(self._read(x), *stacked)

    def generate(
        self,
        prompt_tokens: ArrayLike,
        max_new_tokens: int,
        *,
        rng: np.random.Generator | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        stop: ArrayLike | None = None,
        caches: Sequence[KVCache] | None = None,
    ) -> NDArray[np.intp]:
        """Continue a prompt, token by token; a cache spares computing the past again.

        Parameters
        ----------
        prompt_tokens : (len,), int, at least one
        max_new_tokens : int
        rng, temperature : Generator, float
            At temperature 0 the likeliest token is taken; above, the generator draws one with
            the probabilities ``softmax(logits / temperature)``.
        top_p : float, above 0 and at most 1
            Draw from the fewest likeliest tokens whose probabilities sum to at least this.
        stop : int, one token or several, optional: generation ends after the first of them
        caches : one empty KVCache for each layer, optional: with a window, tokens see no further

        Returns
        -------
        (len + new,), int, the prompt and the new tokens

        Raises
        ------
        ValueError, TypeError
            If an argument is out of its range, or of the wrong type.
        """
        prompt = check_tokens("prompt_tokens", prompt_tokens, len(self.embedding))
        if prompt.ndim != 1 or not prompt.size:
            raise ValueError(
                f"prompt_tokens must have shape (len,) with at least 1 token, got {prompt.shape}"
            )
        max_new_tokens = check_count("max_new_tokens", max_new_tokens, 0)
        stops = check_tokens("stop", [] if stop is None else stop, len(self.embedding))
        _check_sampling(rng, temperature, top_p)
        if caches is not None:
            _check_caches(caches, len(self.layers))
        caches = [KVCache() for _ in self.layers] if caches is None else caches

        tokens = np.concatenate([prompt, np.zeros(max_new_tokens, prompt.dtype)])
        positions = np.arange(tokens.size)
        # As much of the prompt as every window holds goes first: its tokens see one another.
        windows = [cache.window for cache in caches if cache.window is not None]
        done, until = 0, min([prompt.size, *windows])
        known = prompt.size
        while known < tokens.size:
            placed = _placed(self.positions, positions[done:until], positions[:until], self._sizes)
            # A single token sees all that is kept.
            mask = _causal(until, until) if done == 0 else None
            x = self._enter(tokens[done:until], placed)  # (new, d_model)
            for layer, cache in zip(self.layers, caches, strict=True):
                x = self._feed(layer, self._attend(layer, x, placed, mask, cache=cache))
            done, until = until, until + 1
            if done < known:
                continue
            tokens[known] = _choose(self._read(x[-1]), rng, temperature, top_p)
            known += 1
            if tokens[done] in stops:
                break
        return tokens[:known]

    def _begin(
        self, given: ArrayLike, position_ids: ArrayLike | None, mask: ArrayLike | None
    ) -> tuple[Array, Placed, Mask]:
        """Check what logits and trace are given, and take the tokens to the first layer."""
        tokens = check_tokens("tokens", given, len(self.embedding))
        check_axes("tokens", tokens, 1, "(..., len)")
        length = tokens.shape[-1]
        position_ids = np.arange(length) if position_ids is None else position_ids
        position_ids = np.atleast_1d(check_positions("position_ids", position_ids, tokens.shape))
        may_see = _causal(length, length)
        if mask is not None:
            shape = (*tokens.shape, length)
            if np.ndim(mask) > len(shape):
                raise ValueError(
                    "mask must not have more axes than (..., len, len), "
                    f"got shape {np.shape(mask)} for {shape}"
                )
            may_see = may_see & check_mask(mask, shape)
        if may_see.ndim > 2:
            may_see = np.expand_dims(may_see, -3)  # (..., 1, len, len)
        placed = _placed(self.positions, position_ids, position_ids, self._sizes)
        return self._enter(tokens, placed), placed, may_see

    def _enter(self, tokens: NDArray[np.intp], placed: Placed) -> Array:
        """Look up the tokens' vectors: the first place where positions may enter."""
        x = self.embedding[tokens].astype(self._sizes.dtype, copy=False)  # (..., len, d_model)
        if placed.scale != 1:
            x = x * placed.scale
        return x if placed.added is None else x + placed.added.astype(x.dtype, copy=False)

    @_quiet
    def _attend(
        self,
        layer: DecoderLayer,
        x: Array,
        placed: Placed,
        mask: Mask | None,
        parts: Parts = _USUAL,
        cache: KVCache | None = None,
    ) -> _Steps:
        """Add to each token what attention tells it, and norm it for the feed-forward layer."""
        attention, dtype = layer.attention, x.dtype  # to which each part's result is rounded
        attended = parts.norm(x, layer.attention_norm, self.norm_eps)  # (..., len, d_model)
        attended = attended.astype(dtype, copy=False)
        queries = attention._queries(attended)  # (..., num_heads, len, head_dim)
        keys = attention._keys(attended)  # (..., num_kv_heads, len, head_dim)
        values = attention._values(attended)
        if placed.turn is not None:
            queries, keys = placed.turn(queries), placed.turn(keys)
        if cache is not None:
            keys, values = cache._append(keys, values)
        options = {}
        if placed.bias is not None:  # of the keys that are kept, if a window forgot the first
            bias = placed.bias[..., -keys.shape[-2] :] if cache is not None else placed.bias
            options["bias"] = bias.astype(dtype, copy=False)
        heads, weights = parts.attend(queries, keys, values, mask, **options)
        heads = heads.astype(dtype, copy=False)
        between = x + attention._combined(heads)  # (..., len, d_model)
        fed = parts.norm(between, layer.feed_forward_norm, self.norm_eps).astype(dtype, copy=False)
        return _Steps(attended, queries, keys, values, heads, weights, between, fed)

    @_quiet
    def _feed(self, layer: DecoderLayer, steps: _Steps, parts: Parts = _USUAL) -> Array:
        """Add what the feed-forward layer makes of each token."""
        added = parts.feed_forward(steps.fed, layer.w_gate, layer.w_up, layer.w_down)
        return steps.between + added.astype(steps.between.dtype, copy=False)

    @_quiet
    def _read(self, x: Array, parts: Parts = _USUAL) -> Array:
        """Turn the residual stream into logits."""
        output = self.embedding.T if self.output is None else self.output
        logits: Array = parts.norm(x, self.final_norm, self.norm_eps) @ output
        return logits.astype(self.embedding.dtype, copy=False)  # (..., len, vocab)


def _check_caches(caches: Sequence[KVCache], layers: int) -> None:
    for number, cache in enumerate(caches):
        if not isinstance(cache, KVCache):
            raise TypeError(f"caches[{number}] must be a KVCache, got {type(cache).__name__}")
    if len(caches) != layers or len({*map(id, caches)}) != layers:
        raise ValueError(
            f"caches must be one KVCache for each of {layers} layers, got "
            f"{len({*map(id, caches)})} in {len(caches)} places"
        )
    if any(map(len, caches)):
        raise ValueError(f"caches must be empty, got lengths {[*map(len, caches)]}")


def _check_sampling(rng: np.random.Generator | None, temperature: float, top_p: float) -> None:
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be finite and not negative, got {temperature}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")
    if not isinstance(rng, np.random.Generator) and (rng is not None or temperature > 0):
        raise TypeError(
            "rng must be a numpy.random.Generator where temperature is above 0, "
            f"got {type(rng).__name__}"
        )


def _choose(
    logits: Array, rng: np.random.Generator | None, temperature: float, top_p: float
) -> int:
    """Take the likeliest token, or draw one from the likeliest."""
    if rng is None or temperature == 0:
        return int(logits.argmax())
    logits = logits.astype(np.float64)
    with np.errstate(over="ignore"):  # -inf is right where a temperature is very low
        probabilities = _softmax_in_place((logits - logits.max()) / temperature)
    order = np.argsort(-probabilities, kind="stable")
    shares = probabilities[order].cumsum()
    shares = shares[: shares.searchsorted(top_p) + 1]  # the fewest that reach top_p
    return int(order[shares.searchsorted(rng.random() * shares[-1], side="right")])


def _hold_real(holder: object, name: str) -> None:
    """Take what a field was given as an array of real numbers, though the class is frozen."""
    object.__setattr__(holder, name, real_array(name, getattr(holder, name)))
