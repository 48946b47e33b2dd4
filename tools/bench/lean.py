"""Attention, rotary positions and training as lean as NumPy allows, or as tutorials write them."""

import math

import numpy as np

from attnbook import sinusoidal_encoding
from attnbook.toys.dates import PAD, VOCAB_SIZE
from attnbook.toys.translator import after_start


def lean(query, key, value):
    """Compute attention with as few passes over the scores as NumPy allows."""
    scores = (query * np.float32(1 / math.sqrt(query.shape[-1]))) @ key.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores *= 1 / (scores @ np.ones((scores.shape[-1], 1), scores.dtype))
    return scores @ value, scores


def lean_there_and_back(d_output, query, key, value):
    """Compute attention and the gradients of its inputs, from the weights, which are kept."""
    output, weights = lean(query, key, value)
    d_scores = d_output @ value.mT
    d_scores -= (d_output * output).sum(axis=-1, keepdims=True)
    d_scores *= weights
    d_scores *= np.float32(1 / math.sqrt(query.shape[-1]))
    return d_scores @ key, d_scores.mT @ query, weights.mT @ d_output


def textbook(query, key, value):
    """Compute attention with einsum as tutorials write it, which does not call BLAS."""
    scores = np.einsum("...nd,...md->...nm", query, key) / np.sqrt(query.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("...nm,...md->...nd", weights, value), weights


def lean_rotary(x):
    """Rotate neighbours as complex numbers, with angles in single precision."""
    length, head_dim = x.shape[-2:]
    frequencies = (10000.0 ** (-np.arange(0, head_dim, 2) / head_dim)).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    turn = np.empty(angles.shape, np.complex64)
    np.cos(angles, out=turn.real)
    np.sin(angles, out=turn.imag)
    return (x.view(np.complex64) * turn).view(np.float32)


def lean_halves(x):
    """Do the same where a pair's numbers are half a head apart."""
    length, head_dim = x.shape[-2:]
    half = head_dim // 2
    frequencies = (10000.0 ** (-np.arange(0, head_dim, 2) / head_dim)).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = x[..., :half], x[..., half:]
    turned = np.empty_like(x)
    turned[..., :half] = first * cosine - second * sine
    turned[..., half:] = first * sine + second * cosine
    return turned


def lean_translator(p, source, target, num_heads):
    """Compute what `attnbook.toys.translator.loss_and_gradient` does, with nothing done twice.

    Parameters and gradients by name, `encoder.attention.w_q`. Sequences lie one behind the other,
    (batch * len, d_model); what backward needs is kept from forward; sums are made in place.
    """
    batch, d_model = len(source), p["embedding"].shape[1]
    d = {}

    def embedded(tokens):
        positions = sinusoidal_encoding(tokens.shape[1], d_model)
        return (p["embedding"][tokens] + positions).reshape(-1, d_model)

    def norm(x, gain):
        root = np.vecdot(x, x)[:, None]
        root /= d_model
        root += 1e-5
        np.sqrt(root, out=root)
        normed = x / root
        return normed * p[gain], (gain, normed, root)

    def norm_backward(d_output, kept):
        gain, normed, root = kept
        d[gain] = (d_output * normed).sum(axis=0)
        d_x = d_output * p[gain]
        normed *= np.vecdot(d_x, normed)[:, None] / d_model
        d_x -= normed
        d_x /= root
        return d_x

    def linear(x, name, letter):
        output = x @ p[f"{name}.w_{letter}"]
        output += p[f"{name}.b_{letter}"]
        return output

    def linear_backward(d_output, x, name, letter):
        d[f"{name}.w_{letter}"] = x.T @ d_output
        d[f"{name}.b_{letter}"] = d_output.sum(axis=0)
        return d_output @ p[f"{name}.w_{letter}"].T

    def split(x):
        return x.reshape(batch, -1, num_heads, d_model // num_heads).swapaxes(1, 2)

    def merge(x):
        return x.swapaxes(1, 2).reshape(-1, d_model)

    scale = 1 / math.sqrt(d_model // num_heads)

    def attend(name, x, memory, hidden):
        query = split(linear(x, name, "q"))
        key, value = (split(linear(memory, name, letter)) for letter in "kv")
        scores = (query * scale) @ key.mT
        np.copyto(scores, -np.inf, where=hidden)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores *= 1 / (scores @ np.ones((scores.shape[-1], 1)))
        heads = merge(scores @ value)
        return linear(heads, name, "o"), (name, x, memory, query, key, value, scores, heads)

    def attend_backward(d_output, kept):
        name, x, memory, query, key, value, weights, heads = kept
        d_heads = linear_backward(d_output, heads, name, "o")
        mean = np.vecdot(split(d_heads), split(heads))[..., None]
        d_heads = split(d_heads)
        d_scores = d_heads @ value.mT
        d_scores -= mean
        d_scores *= weights
        d_scores *= scale
        d_x = linear_backward(merge(d_scores @ key), x, name, "q")
        d_memory = linear_backward(merge(d_scores.mT @ query), memory, name, "k")
        d_memory += linear_backward(merge(weights.mT @ d_heads), memory, name, "v")
        return d_x, d_memory

    def feed_forward(side, x):
        hidden = linear(x, side, "in")
        np.maximum(hidden, 0, out=hidden)
        return linear(hidden, side, "out"), (side, x, hidden)

    def feed_forward_backward(d_output, kept):
        side, x, hidden = kept
        d_hidden = linear_backward(d_output, hidden, side, "out")
        d_hidden *= hidden > 0
        return linear_backward(d_hidden, x, side, "in")

    padding = (source == PAD)[:, None, None, :]
    future = np.triu(np.ones((target.shape[1],) * 2, bool), 1)
    target_in = after_start(target)
    x = embedded(source)
    normed, norm0 = norm(x, "encoder.attention_norm")
    added, encoder_attention = attend("encoder.attention", normed, normed, padding)
    x += added
    normed, norm1 = norm(x, "encoder.feed_forward_norm")
    added, encoder_feed_forward = feed_forward("encoder", normed)
    x += added
    memory, norm2 = norm(x, "memory_norm")
    y = embedded(target_in)
    normed, norm3 = norm(y, "decoder.attention_norm")
    added, decoder_attention = attend("decoder.attention", normed, normed, future)
    y += added
    normed, norm4 = norm(y, "decoder.cross_norm")
    added, cross_attention = attend("decoder.cross_attention", normed, memory, padding)
    y += added
    normed, norm5 = norm(y, "decoder.feed_forward_norm")
    added, decoder_feed_forward = feed_forward("decoder", normed)
    y += added
    normed, norm6 = norm(y, "final_norm")

    scores, tokens = normed @ p["output"], target.ravel()
    at_targets = np.arange(tokens.size), tokens
    scores -= scores.max(axis=-1, keepdims=True)
    likely = scores[at_targets]
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1)
    loss = float((np.log(total) - likely).mean())
    scores /= total[:, None] * tokens.size
    scores[at_targets] -= 1 / tokens.size

    d["output"] = normed.T @ scores
    d_y = norm_backward(scores @ p["output"].T, norm6)
    d_y += norm_backward(feed_forward_backward(d_y, decoder_feed_forward), norm5)
    d_normed, d_memory = attend_backward(d_y, cross_attention)
    d_y += norm_backward(d_normed, norm4)
    d_normed, d_more = attend_backward(d_y, decoder_attention)
    d_y += norm_backward(d_normed + d_more, norm3)
    d_x = norm_backward(d_memory, norm2)
    d_x += norm_backward(feed_forward_backward(d_x, encoder_feed_forward), norm1)
    d_normed, d_more = attend_backward(d_x, encoder_attention)
    d_x += norm_backward(d_normed + d_more, norm0)
    tokens = np.concatenate([source.ravel(), target_in.ravel()])
    places = np.zeros((VOCAB_SIZE, tokens.size))
    places[tokens, np.arange(tokens.size)] = 1
    d["embedding"] = places @ np.concatenate([d_x, d_y])
    return loss, d


def lean_adam(p, d, mean, square, steps, rate):
    """Make a step of Adam in place."""
    for name, gradient in d.items():
        mean[name] *= 0.9
        mean[name] += 0.1 * gradient
        gradient = gradient * gradient
        gradient *= 0.001
        square[name] *= 0.999
        square[name] += gradient
        root = square[name] / (1 - 0.999**steps)
        np.sqrt(root, out=root)
        root += 1e-8
        p[name] -= rate / (1 - 0.9**steps) * mean[name] / root
