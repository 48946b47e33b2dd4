"""Attention and rotary positions as lean as NumPy allows, and as tutorials write them."""

import math

import numpy as np


def lean(query, key, value):
    """Compute attention with as few passes over the scores as NumPy allows."""
    scores = (query * np.float32(1 / math.sqrt(query.shape[-1]))) @ key.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores *= 1 / (scores @ np.ones((scores.shape[-1], 1), scores.dtype))
    return scores @ value, scores


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
