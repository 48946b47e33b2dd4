"""How parameters learn: what a decoder's loss asks of each, Adam, and how fast it goes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from attnbook._checks import Array, check_tokens, real_array
from attnbook.decoder import Decoder, DecoderLayer, _rms_norm, _Steps
from attnbook.gradients import (
    _combine_backward,
    _embedding_backward,
    _heads_backward,
    _linear_backward,
    _project_backward,
    _rms_norm_backward,
    _swiglu_backward,
    cross_entropy,
)
from attnbook.positional import Rotary, _placed

__all__ = ["Adam", "loss_and_gradient", "map_arrays", "warmup_cosine"]

_P = TypeVar("_P")


def loss_and_gradient(
    decoder: Decoder, tokens: ArrayLike, mask: ArrayLike | None = None
) -> tuple[float, Decoder]:
    """Ask a decoder for each token from those before it, and for the loss's gradient.

    Parameters
    ----------
    decoder, tokens : Decoder, (..., len) int, at least two
    mask : (..., len), bool, optional, True where predicting a token counts; the first never does

    Returns
    -------
    loss, gradient : the mean of those that count; a Decoder whose arrays are the gradients

    Raises
    ------
    ValueError, TypeError
        If shapes do not fit, a token is not in the vocabulary or none counts; if tokens are not
        integers, the mask not boolean.

    Examples
    --------
    >>> from attnbook.pretrained import storyteller
    >>> knows_nothing = map_arrays(np.zeros_like, storyteller.load())
    >>> loss, gradient = loss_and_gradient(knows_nothing, [2, 40, 41])
    >>> round(math.exp(loss), 4), gradient.embedding.shape  # all of 60 words are alike to it
    (60.0, (60, 64))
    """
    tokens = check_tokens("tokens", tokens, len(decoder.embedding))
    if not tokens.ndim or tokens.shape[-1] < 2:
        raise ValueError(f"tokens must be at least 2, (..., len), got shape {tokens.shape}")
    if mask is not None:
        mask = real_array("mask", mask, tokens.shape)[..., 1:]
    given, targets = tokens[..., :-1], tokens[..., 1:]
    eps = decoder.norm_eps
    output = decoder.embedding.T if decoder.output is None else decoder.output

    x, placed, may_see = decoder._begin(given, None, None)  # (..., len - 1, d_model)
    turn_back = _turn_back(decoder, given.shape[-1])
    entered = []  # all that is kept of a layer: its steps are computed again on the way back
    for layer in decoder.layers:
        entered.append(x)
        x = decoder._feed(layer, decoder._attend(layer, x, placed, may_see))
    normed = _rms_norm(x, decoder.final_norm, eps)
    logits = normed @ output  # (..., len - 1, vocab)

    loss, d_logits = cross_entropy(logits, targets, mask)
    d_normed, d_output, _ = _linear_backward(d_logits, normed, output)
    d_x, d_final_norm = _rms_norm_backward(d_normed, x, decoder.final_norm, eps)
    d_layers = []
    for layer, x in zip(decoder.layers[::-1], entered[::-1], strict=True):
        steps = decoder._attend(layer, x, placed, may_see)
        d_x, d_layer = _layer_backward(d_x, layer, x, steps, turn_back, eps)
        d_layers.append(d_layer)
    d_embedding = _embedding_backward(d_x * placed.scale, given, len(decoder.embedding))
    if decoder.output is None:  # one matrix at both ends: what each end asks of it adds up
        d_embedding = d_embedding + d_output.T
    return loss, dataclasses.replace(
        decoder,
        embedding=d_embedding,
        layers=tuple(d_layers[::-1]),
        final_norm=d_final_norm,
        output=None if decoder.output is None else d_output,
        positions=map_arrays(np.zeros_like, decoder.positions),  # they learn nothing
    )


def _turn_back(decoder: Decoder, length: int) -> Callable[[Array], Array]:
    """Return what takes a gradient back through the turn of queries and keys."""
    scheme, sizes = decoder.positions, decoder._sizes
    turn, turn_back = (
        _placed(scheme, positions, positions, sizes).turn or _as_they_are
        for positions in (np.arange(length), -np.arange(length))
    )
    if not (isinstance(scheme, Rotary) or turn is turn_back is _as_they_are):  # the reader's own
        shape = 2, sizes.num_heads, length, sizes.head_dim
        one, other = np.random.default_rng(0).standard_normal(shape)
        there, back = (turn(one) * other).sum(axis=-1), (one * turn_back(other)).sum(axis=-1)
        if not np.allclose(there, back, atol=1e-4):
            raise ValueError(
                "positions must turn back at -positions what they turn at positions, as a "
                f"rotation does, to be trained; {scheme!r} do not"
            )
    return turn_back


def _as_they_are(heads: Array) -> Array:
    return heads


def _layer_backward(
    d_output: Array,
    layer: DecoderLayer,
    x: Array,
    steps: _Steps,
    turn_back: Callable[[Array], Array],
    eps: float,
) -> tuple[Array, DecoderLayer]:
    """Take a gradient back through a layer's steps, in reverse order."""
    attention, normed = layer.attention, steps.attended
    d_fed, d_w_gate, d_w_up, d_w_down = _swiglu_backward(
        d_output, steps.fed, layer.w_gate, layer.w_up, layer.w_down
    )
    d_between, d_norm = _rms_norm_backward(d_fed, steps.between, layer.feed_forward_norm, eps)
    d_between = d_between + d_output  # beside the feed-forward layer
    d_heads, of_output = _combine_backward(d_between, attention, steps.heads)
    inputs = steps.queries, steps.keys, steps.values
    d_queries, d_keys, d_values = _heads_backward(d_heads, inputs, None, steps.heads, steps.weights)
    of_heads = turn_back(d_queries), turn_back(d_keys), d_values
    *parts, d_attention = _project_backward(of_heads, attention, [normed] * 3, of_output)
    d_normed = parts[0] + parts[1] + parts[2]  # from query, key and value
    d_x, d_attention_norm = _rms_norm_backward(d_normed, x, layer.attention_norm, eps)
    d_x = d_x + d_between  # beside the attention
    return d_x, DecoderLayer(
        attention_norm=d_attention_norm,
        attention=d_attention,
        feed_forward_norm=d_norm,
        w_gate=d_w_gate,
        w_up=d_w_up,
        w_down=d_w_down,
    )


@dataclass(frozen=True, eq=False)
class Adam(Generic[_P]):
    """Remember what gradients were, and make the next step by it :cite:p:`kingma2015`.

    ``rate * mean / (sqrt(square) + eps)`` is taken off each parameter: steps that are alike in
    size, however large the gradients are, and small where their signs change.

    Parameters
    ----------
    mean, square : of the parameters' class
        Moving averages of the gradients and of their squares, begun at 0.
    steps : int, the steps so far; averages that began at 0 are too small at first, by this known

    Examples
    --------
    >>> parameters = np.array([1.0, 1.0]), np.array([1.0])
    >>> adam = Adam.start(parameters)
    >>> gradient = np.array([100.0, 0.001]), np.array([-7.0])
    >>> parameters, adam = adam.step(parameters, gradient, 0.01)  # the first: rate * sign
    >>> [array.round(6).tolist() for array in parameters], adam.steps
    ([[0.99, 0.99], [1.01]], 1)
    """

    mean: _P
    square: _P
    steps: int = 0

    @classmethod
    def start(cls, parameters: _P) -> Adam[_P]:
        """Remember nothing yet."""
        return cls(map_arrays(np.zeros_like, parameters), map_arrays(np.zeros_like, parameters))

    def step(
        self,
        parameters: _P,
        gradient: _P,
        rate: float,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ) -> tuple[_P, Adam[_P]]:
        """Return the parameters after one more step, and what to remember.

        Parameters
        ----------
        parameters, gradient : dataclasses or tuples of arrays, as map_arrays takes them
        rate : float, about how far each number moves
        beta1, beta2 : float, the share of the old that each average keeps
        eps : float, keeps the quotient finite where all gradients are 0

        Returns
        -------
        parameters, adam : new ones; nothing is changed in place

        Raises
        ------
        ValueError, TypeError
            If a gradient does not have its parameter's shape; if the classes differ.
        """
        steps = self.steps + 1
        missing1, missing2 = 1 - beta1**steps, 1 - beta2**steps
        mean = map_arrays(lambda m, g: beta1 * m + (1 - beta1) * g, self.mean, gradient)
        square = map_arrays(lambda s, g: beta2 * s + (1 - beta2) * g * g, self.square, gradient)
        parameters = map_arrays(
            lambda p, m, s: p - rate * (m / missing1) / (np.sqrt(s / missing2) + eps),
            *(parameters, mean, square),
        )
        return parameters, Adam(mean, square, steps)


def warmup_cosine(step: int, steps: int, warmup: int, peak: float) -> float:
    """Let the rate rise in a line to its peak, then fall along half a cosine to 0.

    Adam's averages of the first few gradients say little, so large steps can wait; and only
    small ones come to rest at a minimum :cite:p:`loshchilov2017`.

    Parameters
    ----------
    step : int, from 0
    steps, warmup : int, all of them, and those that rise
    peak : float, the rate of the last that rises, and of the first that falls

    Returns
    -------
    float, the rate of this step

    Raises
    ------
    ValueError
        If step is not below steps, warmup is above them, or one is negative.

    Examples
    --------
    >>> [round(warmup_cosine(step, 6, 2, 0.01), 4) for step in range(6)]
    [0.005, 0.01, 0.01, 0.0085, 0.005, 0.0015]
    """
    if not 0 <= step < steps:
        raise ValueError(f"step must be from 0 to steps - 1 = {steps - 1}, got {step}")
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup must be from 0 to steps = {steps}, got {warmup}")
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2


def map_arrays(f: Callable[..., Any], first: _P, *others: _P) -> _P:
    """Apply a function to each array of a dataclass, or to those at one place of several.

    Parameters
    ----------
    f : takes as many arrays as there are dataclasses, and returns one
    first, others : dataclasses or tuples, of arrays or of such; alike in all but numbers

    Returns
    -------
    Like the first; what is no array there, a number of heads for one, stays as it is

    Raises
    ------
    ValueError, TypeError
        If the others differ from the first in a class, a length or an array's shape.

    Examples
    --------
    >>> map_arrays(np.add, (np.ones(2), (np.ones(1), "relu")), (np.ones(2), (np.zeros(1), "relu")))
    (array([2., 2.]), (array([1.]), 'relu'))
    """
    mapped: _P = _mapped(f, type(first).__name__, first, *others)
    return mapped


def _mapped(f: Callable[..., Any], name: str, *things: Any) -> Any:
    first = things[0]
    for other in things[1:]:
        if type(other) is not type(first):
            kinds = type(first).__name__, type(other).__name__
            raise TypeError(f"{name} must be {kinds[0]}, got {kinds[1]}")
        if isinstance(first, np.ndarray) and other.shape != first.shape:
            raise ValueError(f"{name} must have shape {first.shape}, got {other.shape}")
        if isinstance(first, tuple) and len(other) != len(first):
            raise ValueError(f"{name} must have length {len(first)}, got {len(other)}")
    if isinstance(first, np.ndarray):
        return np.asarray(f(*things))  # of an array without axes, NumPy makes a number
    if isinstance(first, tuple):
        parts = enumerate(zip(*things, strict=True))
        return tuple(_mapped(f, f"{name}[{n}]", *part) for n, part in parts)
    if dataclasses.is_dataclass(first):
        mapped = {
            key: _mapped(f, f"{name}.{key}", *(getattr(thing, key) for thing in things))
            for key in (field.name for field in dataclasses.fields(first))
        }
        return dataclasses.replace(first, **mapped)  # type: ignore[type-var]
    return first
