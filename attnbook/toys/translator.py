"""A translator of dates: an encoder, a decoder, and every gradient of both, one after the other.

The encoder reads *friday, march 13 1998*, the decoder writes *1998-03-13*, a character at a time.
Each is one layer of the first transformer :cite:p:`vaswani2017`, with a norm before each part.
``loss_and_gradient`` goes forward, then back through the same steps in reverse order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import Array, Mask, check_tokens, real_array
from attnbook.decoder import _rms_norm
from attnbook.gradients import (
    _cross_entropy,
    _embedding_backward,
    _feed_forward_backward,
    _linear_backward,
    _multi_head_backward,
    _rms_norm_backward,
)
from attnbook.layers import MultiHeadAttention
from attnbook.masks import _causal
from attnbook.positional import sinusoidal_encoding
from attnbook.toys.dates import PAD, START, VOCAB_SIZE, decode, encode, examples
from attnbook.training import Adam, map_arrays, warmup_cosine

_LENGTH = len("1998-03-13")


@dataclass(frozen=True, eq=False, repr=False)
class EncoderLayer:
    """Self-attention, then a feed-forward layer, each after a norm and around it a residual.

    Parameters
    ----------
    attention_norm, feed_forward_norm : (d_model,), (d_model,), gains
    attention : MultiHeadAttention, from d_model to d_model
    w_in, b_in, w_out, b_out : (d_model, hidden), (hidden,), (hidden, d_model), (d_model,)
    """

    attention_norm: Array
    attention: MultiHeadAttention
    feed_forward_norm: Array
    w_in: Array
    b_in: Array
    w_out: Array
    b_out: Array

    def __repr__(self) -> str:
        return f"EncoderLayer({self.attention!r}, hidden {len(self.w_out)})"


@dataclass(frozen=True, eq=False, repr=False)
class TranslatorLayer:
    """Self-attention, cross-attention to the memory, then a feed-forward layer.

    Parameters
    ----------
    attention_norm, cross_norm, feed_forward_norm : (d_model,) each, gains
    attention, cross_attention : MultiHeadAttention, from d_model to d_model
    w_in, b_in, w_out, b_out : (d_model, hidden), (hidden,), (hidden, d_model), (d_model,)
    """

    attention_norm: Array
    attention: MultiHeadAttention
    cross_norm: Array
    cross_attention: MultiHeadAttention
    feed_forward_norm: Array
    w_in: Array
    b_in: Array
    w_out: Array
    b_out: Array

    def __repr__(self) -> str:
        attentions = f"{self.attention!r}, {self.cross_attention!r}"
        return f"TranslatorLayer({attentions}, hidden {len(self.w_out)})"


@dataclass(frozen=True)
class Parts:
    """What a translator computes with: with a part missing or wrong it is a variant.

    ``source_positions`` and ``target_positions`` take a length and d_model, ``past`` two lengths,
    ``norm`` vectors and a gain, ``norm_backward`` a gradient before those; ``add`` the residual
    stream and what a part adds to it, and their gradients. ``attention_backward`` takes and
    returns what ``multi_head_backward`` does. The others are as in attnbook.
    """

    source_positions: Callable[[int, int], Array] = sinusoidal_encoding
    target_positions: Callable[[int, int], Array] = sinusoidal_encoding
    past: Callable[[int, int], Mask] = _causal
    norm: Callable[[Array, Array], Array] = _rms_norm
    norm_backward: Callable[[Array, Array, Array], tuple[Array, Array]] = _rms_norm_backward
    add: Callable[[Array, Array], Array] = operator.add
    attention_backward: Callable[..., tuple[Array, Array, Array, MultiHeadAttention]] = (
        _multi_head_backward
    )
    embedding_backward: Callable[[Array, NDArray[np.intp], int], Array] = _embedding_backward
    cross_entropy: Callable[[Array, NDArray[np.intp]], tuple[float, Array]] = _cross_entropy


class TranslatorTrace(NamedTuple):
    """What a translator computed: the logits, the memory, the weights of its three attentions.

    Of shapes (..., len, VOCAB_SIZE); (..., source_len, d_model); (..., num_heads, len_q, len_k)
    from source to source, from target to target, and from target to source.
    """

    logits: Array
    memory: Array
    encoder_weights: Array
    decoder_weights: Array
    cross_weights: Array


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Translator:
    """An encoder and a decoder of one layer each; the fields are the parameters.

    Parameters
    ----------
    embedding : (VOCAB_SIZE, d_model), of source and target
    encoder : EncoderLayer
    memory_norm : (d_model,), a gain
    decoder : TranslatorLayer
    final_norm : (d_model,), a gain
    output : (d_model, VOCAB_SIZE)
    parts : Parts, as usual by default

    Examples
    --------
    >>> model = Translator.init(np.random.default_rng(0))
    >>> model.logits(encode("13 mar 98"), encode("1998-")).shape
    (1, 5, 39)
    >>> loss, gradient = loss_and_gradient(model, encode("13 mar 98"), encode("1998-03-13"))
    >>> gradient.decoder.cross_attention.w_q.shape  # the gradient is a Translator, too
    (32, 32)
    """

    embedding: Array
    encoder: EncoderLayer
    memory_norm: Array
    decoder: TranslatorLayer
    final_norm: Array
    output: Array
    parts: Parts = Parts()

    def __repr__(self) -> str:
        """Tell the sizes: the arrays would fill pages."""
        vocab, d_model = self.embedding.shape
        heads, hidden = self.encoder.attention.num_heads, len(self.encoder.w_out)
        return (
            f"Translator(d_model {d_model}, {heads} heads, hidden {hidden}, vocab {vocab}, "
            f"{self.embedding.dtype})"
        )

    @classmethod
    def init(
        cls, rng: np.random.Generator, d_model: int = 32, num_heads: int = 4, hidden: int = 64
    ) -> Translator:
        """Draw the parameters with which training begins.

        What a part adds to the residual stream begins half as large as usual, and the logits
        small, so that all characters are about equally probable.
        """

        def normal(rows: int, columns: int, spread: float) -> Array:
            return rng.normal(scale=spread / math.sqrt(rows), size=(rows, columns))

        def attention() -> MultiHeadAttention:
            drawn = MultiHeadAttention.init(rng, d_model, num_heads)
            return replace(drawn, w_o=drawn.w_o / 2)

        def feed_forward_layer() -> dict[str, Array]:
            w_in, w_out = normal(d_model, hidden, 1), normal(hidden, d_model, 0.5)
            return {"w_in": w_in, "b_in": np.zeros(hidden), "w_out": w_out, "b_out": one * 0}

        one = np.ones(d_model)
        return cls(
            embedding=0.5 * rng.standard_normal((VOCAB_SIZE, d_model)),
            encoder=EncoderLayer(one, attention(), one, **feed_forward_layer()),
            memory_norm=one,
            decoder=TranslatorLayer(
                one, attention(), one, attention(), one, **feed_forward_layer()
            ),
            final_norm=one,
            output=normal(d_model, VOCAB_SIZE, 0.3),
        )

    def memory(self, source: ArrayLike) -> Array:
        """Read texts: return what the decoder looks at, (..., source_len, d_model)."""
        return self._remembered(source, None)[1]

    def logits(
        self, source: ArrayLike, target_in: ArrayLike, memory: ArrayLike | None = None
    ) -> Array:
        """Score every character as the next one, after each of target_in.

        Parameters
        ----------
        source : (..., source_len), int, shorter ones padded with PAD, which no attention sees
        target_in : (..., len), int, as ``after_start`` makes it
        memory : (..., source_len, d_model), optional
            To look at instead of what the encoder makes of the source.

        Returns
        -------
        (..., len, VOCAB_SIZE)

        Raises
        ------
        ValueError, TypeError
            If a token is not in the vocabulary, or shapes do not fit; if tokens are not integers.
        """
        return self.trace(source, target_in, memory).logits

    def trace(
        self, source: ArrayLike, target_in: ArrayLike, memory: ArrayLike | None = None
    ) -> TranslatorTrace:
        """Compute the logits and keep the memory and the weights of every attention.

        Parameters
        ----------
        source, target_in, memory : as for logits
        """
        seen, memory, weights = self._remembered(source, memory)
        target_in = self._tokens("target_in", target_in)
        logits, past_weights, cross_weights, *_ = self._write(target_in, memory, seen)
        return TranslatorTrace(logits, memory, weights, past_weights, cross_weights)

    def greedy(self, source: ArrayLike, memory: ArrayLike | None = None) -> NDArray[np.intp]:
        """Write the most probable character ten times, each after those before it.

        Parameters
        ----------
        source, memory : as for logits

        Returns
        -------
        (..., 10)
        """
        seen, memory, _ = self._remembered(source, memory)
        written = np.full((*memory.shape[:-2], 1), START)
        for _ in range(_LENGTH):
            logits, *_ = self._write(written, memory, seen)
            best = logits[..., -1:, :].argmax(axis=-1)  # (..., 1)
            written = np.concatenate([written, best], axis=-1)
        return written[..., 1:]

    def translate(self, *texts: str) -> list[str]:
        """Write each date as *1998-03-13*, or what the model takes for it.

        Raises
        ------
        ValueError
            If a text has a character that no date has, an upper-case one, for instance.
        """
        return decode(self.greedy(encode(*texts)))

    def _tokens(self, name: str, tokens: ArrayLike) -> NDArray[np.intp]:
        tokens = check_tokens(name, tokens, len(self.embedding))
        if not tokens.ndim or not tokens.shape[-1]:
            raise ValueError(f"{name} must have shape (..., len), len > 0, got {tokens.shape}")
        return tokens

    def _remembered(
        self, source: ArrayLike, another: ArrayLike | None
    ) -> tuple[Mask, Array, Array]:
        """Return what may be seen, the memory, or another if given, and the encoder's weights."""
        source = self._tokens("source", source)
        seen = _seen(source)
        memory, weights, *_ = self._read(source, seen)
        if another is not None:
            memory = real_array("memory", another, memory.shape)
        return seen, memory, weights

    def _read(self, source: NDArray[np.intp], seen: Mask) -> tuple[NDArray[Any], ...]:
        """Return memory, weights and the encoder's steps, (..., source_len, d_model) if unsaid."""
        layer, parts = self.encoder, self.parts
        x0 = self.embedding[source]
        x0 = x0 + parts.source_positions(*x0.shape[-2:])
        n0 = parts.norm(x0, layer.attention_norm)
        added, weights = layer.attention._attend(n0, n0, n0, seen, None)
        x1 = parts.add(x0, added)
        n1 = parts.norm(x1, layer.feed_forward_norm)
        hidden = np.maximum(n1 @ layer.w_in + layer.b_in, 0)  # (..., source_len, hidden)
        x2 = parts.add(x1, hidden @ layer.w_out + layer.b_out)
        memory = parts.norm(x2, self.memory_norm)
        return memory, weights, x0, n0, x1, n1, hidden, x2

    def _write(
        self, target_in: NDArray[np.intp], memory: Array, seen: Mask
    ) -> tuple[NDArray[Any], ...]:
        """Return logits, both weights and the decoder's steps, (..., len, d_model) if unsaid."""
        layer, parts = self.decoder, self.parts
        y0 = self.embedding[target_in]
        y0 = y0 + parts.target_positions(*y0.shape[-2:])
        m0 = parts.norm(y0, layer.attention_norm)
        past = parts.past(m0.shape[-2], m0.shape[-2])  # (len, len)
        added, weights = layer.attention._attend(m0, m0, m0, past, None)
        y1 = parts.add(y0, added)
        m1 = parts.norm(y1, layer.cross_norm)
        added, cross_weights = layer.cross_attention._attend(m1, memory, memory, seen, None)
        y2 = parts.add(y1, added)
        m2 = parts.norm(y2, layer.feed_forward_norm)
        hidden = np.maximum(m2 @ layer.w_in + layer.b_in, 0)  # (..., len, hidden)
        y3 = parts.add(y2, hidden @ layer.w_out + layer.b_out)
        m3 = parts.norm(y3, self.final_norm)
        logits = m3 @ self.output  # (..., len, VOCAB_SIZE)
        return logits, weights, cross_weights, past, y0, m0, y1, m1, y2, m2, hidden, y3, m3


def after_start(target: ArrayLike) -> NDArray[np.intp]:
    """Put START before the target and leave its last away: what predicts it, one at a time.

    Parameters
    ----------
    target : (..., len), int

    Returns
    -------
    (..., len), int

    Examples
    --------
    >>> decode(after_start(encode("1998-03-13")))  # START is written as nothing
    ['1998-03-1']
    """
    target = np.asarray(target)
    start = np.full((*target.shape[:-1], 1), START)
    return np.concatenate([start, target[..., :-1]], axis=-1)


def _seen(source: NDArray[np.intp]) -> Mask:
    seen: Mask = source != PAD
    return seen[..., None, None, :]  # (..., 1, 1, source_len): for every head and query


def loss_and_gradient(
    model: Translator, source: ArrayLike, target: ArrayLike
) -> tuple[float, Translator]:
    """Compute the loss of translating a batch, and its gradient with respect to every parameter.

    Each character is predicted from the right ones before it (teacher forcing).

    Parameters
    ----------
    model : Translator
    source, target : (batch, source_len), (batch, len), int, without START

    Returns
    -------
    loss, gradient
        The mean over all characters of the target, in nats; a Translator of gradients.

    Raises
    ------
    ValueError, TypeError
        If a token is not in the vocabulary, or shapes do not fit; if tokens are not integers.
    """
    source, target = model._tokens("source", source), model._tokens("target", target)
    if source.ndim != 2 or target.shape[:-1] != source.shape[:-1]:
        raise ValueError(
            "source and target must have shapes (batch, source_len) and (batch, len), "
            f"got {source.shape} and {target.shape}"
        )
    target_in = after_start(target)
    seen = _seen(source)
    memory, x_weights, x0, n0, x1, n1, x_hidden, x2 = model._read(source, seen)
    written = model._write(target_in, memory, seen)
    logits, y_weights, cross_weights, past, y0, m0, y1, m1, y2, m2, y_hidden, y3, m3 = written
    loss, d_logits = model.parts.cross_entropy(logits, target)

    # Backward, from the last line up. A residual connection hands its gradient on as it is, and
    # what came through the part beside it is added.
    layer, parts = model.decoder, model.parts
    d_m3, d_output, _ = _linear_backward(d_logits, m3, model.output)
    d_y3, d_final_norm = parts.norm_backward(d_m3, y3, model.final_norm)
    d_m2, *d_feed_forward = _feed_forward_backward(d_y3, m2, layer.w_in, y_hidden, layer.w_out)
    d_part, d_feed_forward_norm = parts.norm_backward(d_m2, y2, layer.feed_forward_norm)
    d_y2 = parts.add(d_y3, d_part)
    d_m1, d_key, d_value, d_cross_attention = parts.attention_backward(
        d_y2, layer.cross_attention, m1, memory, memory, seen, cross_weights
    )
    d_memory = d_key + d_value  # (batch, source_len, d_model)
    d_part, d_cross_norm = parts.norm_backward(d_m1, y1, layer.cross_norm)
    d_y1 = parts.add(d_y2, d_part)
    d_query, d_key, d_value, d_attention = parts.attention_backward(
        d_y1, layer.attention, m0, m0, m0, past, y_weights
    )
    d_m0 = d_query + d_key + d_value
    d_part, d_attention_norm = parts.norm_backward(d_m0, y0, layer.attention_norm)
    d_y0 = parts.add(d_y1, d_part)
    d_decoder = TranslatorLayer(
        *(d_attention_norm, d_attention, d_cross_norm, d_cross_attention),
        *(d_feed_forward_norm, *d_feed_forward),
    )

    # The encoder learns through the memory only.
    encoder = model.encoder
    d_x2, d_memory_norm = parts.norm_backward(d_memory, x2, model.memory_norm)
    d_n1, *d_feed_forward = _feed_forward_backward(d_x2, n1, encoder.w_in, x_hidden, encoder.w_out)
    d_part, d_feed_forward_norm = parts.norm_backward(d_n1, x1, encoder.feed_forward_norm)
    d_x1 = parts.add(d_x2, d_part)
    d_query, d_key, d_value, d_attention = parts.attention_backward(
        d_x1, encoder.attention, n0, n0, n0, seen, x_weights
    )
    d_n0 = d_query + d_key + d_value
    d_part, d_attention_norm = parts.norm_backward(d_n0, x0, encoder.attention_norm)
    d_x0 = parts.add(d_x1, d_part)
    d_embedding = parts.embedding_backward(d_x0, source, VOCAB_SIZE)
    d_embedding += parts.embedding_backward(d_y0, target_in, VOCAB_SIZE)

    return loss, replace(
        model,
        embedding=d_embedding,
        encoder=EncoderLayer(d_attention_norm, d_attention, d_feed_forward_norm, *d_feed_forward),
        memory_norm=d_memory_norm,
        decoder=d_decoder,
        final_norm=d_final_norm,
        output=d_output,
    )


@dataclass
class Training:
    """A run of training, with all that it takes to go on after a stop.

    A step's examples are drawn from the seed and the step's number, so a run that was stopped,
    even in the middle of a step, ends as if it had not been.

    Parameters
    ----------
    seed : int
    steps, warmup, peak : as for ``warmup_cosine``
    batch_size : int, examples a step
    model : Translator, as it is now
    adam : Adam, what it remembers
    losses : list of float, of the steps so far
    loss_and_gradient : called with model, source, target; another rule learns something else

    Examples
    --------
    >>> run = Training(steps=2, warmup=1)
    >>> while len(run.losses) < run.steps:  # run this line again after a stop
    ...     train_step(run)
    >>> len(run.losses), abs(run.losses[0] - math.log(VOCAB_SIZE)) < 0.5  # knows nothing yet
    (2, True)
    """

    seed: int = 0
    steps: int = 1200
    warmup: int = 50
    peak: float = 0.006
    batch_size: int = 32
    model: Translator = field(init=False, repr=False)
    adam: Adam[Translator] = field(init=False, repr=False)
    losses: list[float] = field(init=False, repr=False, default_factory=list)
    loss_and_gradient: Callable[[Translator, NDArray[np.intp], NDArray[np.intp]], Any] = field(
        repr=False, default=loss_and_gradient
    )

    def __post_init__(self) -> None:
        self.model = Translator.init(np.random.default_rng(self.seed))
        self.adam = Adam.start(self.model)


def train_step(run: Training) -> None:
    """Draw examples, take the loss's gradient, let every parameter move a little against it.

    Parameters
    ----------
    run : Training, which is changed: it has a new model, what Adam remembers, and one loss more
    """
    step = len(run.losses)
    batch = examples(np.random.default_rng([run.seed, step]), run.batch_size)
    source = encode(*[example.written for example in batch])
    target = encode(*[example.iso for example in batch])
    loss, gradient = run.loss_and_gradient(run.model, source, target)
    rate = warmup_cosine(step, run.steps, run.warmup, run.peak)
    model, adam = run.adam.step(run.model, gradient, rate)
    # Machines add in different orders. Training would make the difference, of 1e-16, ten times as
    # large every 40 steps; without the digits after the sixth there is none to begin with.
    model = map_arrays(lambda array: array.round(6), model)
    run.model, run.adam = model, adam
    run.losses.append(loss)
