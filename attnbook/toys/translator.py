"""A translator of dates: an encoder, a decoder, and every gradient of both, one after the other.

The encoder reads *friday, march 13 1998*, the decoder writes *1998-03-13*, a character at a time.
Each is one layer of the first transformer :cite:p:`vaswani2017`, with a norm before each part.
``loss_and_gradient`` reads from top to bottom: forward, then backward in reverse order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_tokens, check_weight, real_array
from attnbook.decoder import feed_forward, rms_norm
from attnbook.gradients import (
    cross_entropy,
    embedding_backward,
    feed_forward_backward,
    linear_backward,
    multi_head_backward,
    rms_norm_backward,
)
from attnbook.layers import MultiHeadAttention
from attnbook.masks import causal_mask
from attnbook.positional import sinusoidal_encoding
from attnbook.toys.dates import PAD, START, VOCAB_SIZE, decode, encode, examples
from attnbook.training import Adam, map_arrays, warmup_cosine

_Array = NDArray[np.floating]
_LENGTH = len("1998-03-13")


@dataclass(frozen=True, eq=False)
class EncoderLayer:
    """Self-attention, then a feed-forward layer, each after a norm and around it a residual.

    Parameters
    ----------
    attention_norm, feed_forward_norm : (d_model,), (d_model,), gains
    attention : MultiHeadAttention, from d_model to d_model
    w_in, b_in, w_out, b_out : (d_model, hidden), (hidden,), (hidden, d_model), (d_model,)
    """

    attention_norm: _Array
    attention: MultiHeadAttention
    feed_forward_norm: _Array
    w_in: _Array
    b_in: _Array
    w_out: _Array
    b_out: _Array


@dataclass(frozen=True, eq=False)
class TranslatorLayer:
    """Self-attention, cross-attention to the memory, then a feed-forward layer.

    Parameters
    ----------
    attention_norm, cross_norm, feed_forward_norm : (d_model,) each, gains
    attention, cross_attention : MultiHeadAttention, from d_model to d_model
    w_in, b_in, w_out, b_out : (d_model, hidden), (hidden,), (hidden, d_model), (d_model,)
    """

    attention_norm: _Array
    attention: MultiHeadAttention
    cross_norm: _Array
    cross_attention: MultiHeadAttention
    feed_forward_norm: _Array
    w_in: _Array
    b_in: _Array
    w_out: _Array
    b_out: _Array


class TranslatorTrace(NamedTuple):
    """What a translator computed: the logits, the memory, the weights of its three attentions.

    Of shapes (..., len, VOCAB_SIZE); (..., source_len, d_model); (..., num_heads, len_q, len_k)
    from source to source, from target to target, and from target to source.
    """

    logits: _Array
    memory: _Array
    encoder_weights: _Array
    decoder_weights: _Array
    cross_weights: _Array


@dataclass(frozen=True, kw_only=True, eq=False)
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

    Examples
    --------
    >>> model = Translator.init(np.random.default_rng(0))
    >>> model.logits(encode("13 mar 98"), encode("1998-")).shape
    (1, 5, 39)
    >>> loss, gradient = loss_and_gradient(model, encode("13 mar 98"), encode("1998-03-13"))
    >>> gradient.decoder.cross_attention.w_q.shape  # the gradient is a Translator, too
    (32, 32)
    """

    embedding: _Array
    encoder: EncoderLayer
    memory_norm: _Array
    decoder: TranslatorLayer
    final_norm: _Array
    output: _Array

    @classmethod
    def init(
        cls, rng: np.random.Generator, d_model: int = 32, num_heads: int = 4, hidden: int = 64
    ) -> Translator:
        """Draw the parameters with which training begins.

        What a part adds to the residual stream begins half as large as usual, and the logits
        small, so that all characters are about equally probable.
        """

        def normal(rows: int, columns: int, spread: float) -> _Array:
            return rng.normal(scale=spread / math.sqrt(rows), size=(rows, columns))

        def attention() -> MultiHeadAttention:
            drawn = MultiHeadAttention.init(rng, d_model, num_heads)
            return replace(drawn, w_o=drawn.w_o / 2)

        def feed_forward_layer() -> dict[str, _Array]:
            w_in, w_out = normal(d_model, hidden, 1), normal(hidden, d_model, 0.5)
            return {"w_in": w_in, "b_in": np.zeros(hidden), "w_out": w_out, "b_out": one * 0}

        one = np.ones(d_model)
        return cls(
            embedding=0.5 * rng.standard_normal((VOCAB_SIZE, d_model)),
            encoder=EncoderLayer(
                attention_norm=one,
                attention=attention(),
                feed_forward_norm=one,
                **feed_forward_layer(),
            ),
            memory_norm=one,
            decoder=TranslatorLayer(
                attention_norm=one,
                attention=attention(),
                cross_norm=one,
                cross_attention=attention(),
                feed_forward_norm=one,
                **feed_forward_layer(),
            ),
            final_norm=one,
            output=normal(d_model, VOCAB_SIZE, 0.3),
        )

    def memory(self, source: ArrayLike) -> _Array:
        """Read texts: return what the decoder looks at, (..., source_len, d_model)."""
        memory, _ = self._read(self._tokens("source", source))
        return memory

    def logits(
        self, source: ArrayLike, target_in: ArrayLike, memory: ArrayLike | None = None
    ) -> _Array:
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
        source, target_in = self._tokens("source", source), self._tokens("target_in", target_in)
        own, encoder_weights = self._read(source)
        memory = _another(memory, own)
        logits, *weights = self._write(target_in, memory, _seen(source))
        return TranslatorTrace(logits, memory, encoder_weights, *weights)

    def greedy(self, source: ArrayLike, memory: ArrayLike | None = None) -> NDArray[np.intp]:
        """Write the most probable character ten times, each after those before it.

        Parameters
        ----------
        source, memory : as for logits

        Returns
        -------
        (..., 10)
        """
        source = self._tokens("source", source)
        memory = _another(memory, self._read(source)[0])
        written = np.full((*source.shape[:-1], 1), START)
        for _ in range(_LENGTH):
            logits, *_ = self._write(written, memory, _seen(source))
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

    def _tokens(self, name: str, given: ArrayLike) -> NDArray[np.intp]:
        tokens = check_tokens(name, given, len(self.embedding))
        if not tokens.ndim or not tokens.shape[-1]:
            raise ValueError(f"{name} must have shape (..., len), len > 0, got {tokens.shape}")
        return tokens

    def _embedded(self, tokens: NDArray[np.intp]) -> _Array:
        """Look up each character's vector, and add its position's: (..., len, d_model)."""
        embedded: _Array = self.embedding[tokens]
        return embedded + sinusoidal_encoding(*embedded.shape[-2:])

    def _read(self, source: NDArray[np.intp]) -> tuple[_Array, _Array]:
        """Return the memory, and the weights of the encoder's attention."""
        layer = self.encoder
        x = self._embedded(source)
        added, weights = layer.attention(rms_norm(x, layer.attention_norm), mask=_seen(source))
        x = x + added
        normed = rms_norm(x, layer.feed_forward_norm)
        x = x + feed_forward(normed, layer.w_in, layer.b_in, layer.w_out, layer.b_out)
        return rms_norm(x, self.memory_norm), weights

    def _write(
        self, target_in: NDArray[np.intp], memory: _Array, seen: NDArray[np.bool_]
    ) -> tuple[_Array, _Array, _Array]:
        """Return the logits, and the weights of the decoder's two attentions."""
        layer = self.decoder
        y = self._embedded(target_in)
        past = causal_mask(target_in.shape[-1])
        added, weights = layer.attention(rms_norm(y, layer.attention_norm), mask=past)
        y = y + added
        found, cross_weights = layer.cross_attention(
            rms_norm(y, layer.cross_norm), memory, mask=seen
        )
        y = y + found
        normed = rms_norm(y, layer.feed_forward_norm)
        y = y + feed_forward(normed, layer.w_in, layer.b_in, layer.w_out, layer.b_out)
        return rms_norm(y, self.final_norm) @ self.output, weights, cross_weights


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


def _another(memory: ArrayLike | None, own: _Array) -> _Array:
    """Return the memory that is given, if one is, and if it is as large as the source's own."""
    if memory is None:
        return own
    memory = real_array("memory", memory)
    check_weight("memory", memory, own.shape)
    return memory


def _seen(source: NDArray[np.intp]) -> NDArray[np.bool_]:
    seen: NDArray[np.bool_] = source != PAD
    return seen[..., None, :]  # (..., 1, source_len)


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
    encoder, decoder = model.encoder, model.decoder
    target_in = after_start(target)
    seen, past = _seen(source), causal_mask(target.shape[-1])

    # Forward: the encoder reads.
    x0 = model._embedded(source)  # (batch, source_len, d_model)
    n0 = rms_norm(x0, encoder.attention_norm)
    added, encoder_weights = encoder.attention(n0, mask=seen)
    x1 = x0 + added
    n1 = rms_norm(x1, encoder.feed_forward_norm)
    x2 = x1 + feed_forward(n1, encoder.w_in, encoder.b_in, encoder.w_out, encoder.b_out)
    memory = rms_norm(x2, model.memory_norm)

    # The decoder writes.
    y0 = model._embedded(target_in)  # (batch, len, d_model)
    m0 = rms_norm(y0, decoder.attention_norm)
    added, decoder_weights = decoder.attention(m0, mask=past)
    y1 = y0 + added
    m1 = rms_norm(y1, decoder.cross_norm)
    added, cross_weights = decoder.cross_attention(m1, memory, mask=seen)
    y2 = y1 + added
    m2 = rms_norm(y2, decoder.feed_forward_norm)
    y3 = y2 + feed_forward(m2, decoder.w_in, decoder.b_in, decoder.w_out, decoder.b_out)
    m3 = rms_norm(y3, model.final_norm)
    logits = m3 @ model.output  # (batch, len, VOCAB_SIZE)
    loss, d_logits = cross_entropy(logits, target)

    # Backward, from the last line up. A residual connection hands its gradient on as it is, and
    # what came through the part beside it is added.
    d_m3, d_output = linear_backward(d_logits, m3, model.output)
    d_y3, d_final_norm = rms_norm_backward(d_m3, y3, model.final_norm)
    d_m2, *d_decoder_feed_forward = feed_forward_backward(
        d_y3, m2, decoder.w_in, decoder.b_in, decoder.w_out, decoder.b_out
    )
    d_part, d_decoder_feed_forward_norm = rms_norm_backward(d_m2, y2, decoder.feed_forward_norm)
    d_y2 = d_y3 + d_part
    d_m1, d_key, d_value, d_cross_attention = multi_head_backward(
        d_y2, decoder.cross_attention, m1, memory, mask=seen, weights=cross_weights
    )
    d_memory = d_key + d_value  # keys and values are made of it, (batch, source_len, d_model)
    d_part, d_cross_norm = rms_norm_backward(d_m1, y1, decoder.cross_norm)
    d_y1 = d_y2 + d_part
    d_query, d_key, d_value, d_decoder_attention = multi_head_backward(
        d_y1, decoder.attention, m0, mask=past, weights=decoder_weights
    )
    d_part, d_decoder_norm = rms_norm_backward(
        d_query + d_key + d_value, y0, decoder.attention_norm
    )
    d_y0 = d_y1 + d_part

    # The encoder learns through the memory only.
    d_x2, d_memory_norm = rms_norm_backward(d_memory, x2, model.memory_norm)
    d_n1, *d_encoder_feed_forward = feed_forward_backward(
        d_x2, n1, encoder.w_in, encoder.b_in, encoder.w_out, encoder.b_out
    )
    d_part, d_encoder_feed_forward_norm = rms_norm_backward(d_n1, x1, encoder.feed_forward_norm)
    d_x1 = d_x2 + d_part
    d_query, d_key, d_value, d_encoder_attention = multi_head_backward(
        d_x1, encoder.attention, n0, mask=seen, weights=encoder_weights
    )
    d_part, d_encoder_norm = rms_norm_backward(
        d_query + d_key + d_value, x0, encoder.attention_norm
    )
    d_x0 = d_x1 + d_part
    d_embedding = embedding_backward(d_x0, source, VOCAB_SIZE)
    d_embedding += embedding_backward(d_y0, target_in, VOCAB_SIZE)

    return loss, Translator(
        embedding=d_embedding,
        encoder=EncoderLayer(
            d_encoder_norm,
            d_encoder_attention,
            d_encoder_feed_forward_norm,
            *d_encoder_feed_forward,
        ),
        memory_norm=d_memory_norm,
        decoder=TranslatorLayer(
            d_decoder_norm,
            d_decoder_attention,
            d_cross_norm,
            d_cross_attention,
            d_decoder_feed_forward_norm,
            *d_decoder_feed_forward,
        ),
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
    loss, gradient = loss_and_gradient(run.model, source, target)
    rate = warmup_cosine(step, run.steps, run.warmup, run.peak)
    model, adam = run.adam.step(run.model, gradient, rate)
    # Machines add in different orders. Training would make the difference, of 1e-16, ten times as
    # large every 40 steps; without the digits after the sixth there is none to begin with.
    model = map_arrays(lambda array: array.round(6), model)
    run.model, run.adam = model, adam
    run.losses.append(loss)
