"""Attention in plain Python loops, written from the formulas: the tests' independent answers.

Nothing here imports attnbook, and no line of arithmetic is NumPy's; arrays only carry the numbers.
"""

import json
import math
from pathlib import Path

import numpy as np

GOLDEN = json.loads((Path(__file__).parent / "golden" / "attention.json").read_text("utf-8"))


def softmax_row(scores, allowed=None):
    """Weigh one row: masked keys are left out of the sum, not filled with a number."""
    allowed = [True] * len(scores) if allowed is None else allowed
    kept = [score for score, may in zip(scores, allowed, strict=True) if may and score > -math.inf]
    if not kept:
        return [0.0] * len(scores)
    total = math.fsum(math.exp(score - max(kept)) for score in kept)
    return [
        math.exp(score - max(kept)) / total if may else 0.0
        for score, may in zip(scores, allowed, strict=True)
    ]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def matmul(x, w):
    """Multiply the last two axes of x with the matrix w, one dot product at a time."""
    x, w = np.asarray(x), np.asarray(w)
    result = np.empty((*x.shape[:-1], w.shape[1]))
    for *row, column in np.ndindex(*result.shape):
        result[(*row, column)] = dot(x[tuple(row)], w[:, column])
    return result


def attention(score, query, key, value, mask=None):
    """Attend with any score(query vector, key vector); leading axes broadcast."""
    query, key, value = map(np.asarray, (query, key, value))
    len_q, len_k = query.shape[-2], key.shape[-2]
    mask = np.ones((len_q, len_k), bool) if mask is None else np.atleast_2d(mask)
    leading = np.broadcast_shapes(*(array.shape[:-2] for array in (query, key, value, mask)))
    query, key, value = (
        np.broadcast_to(array, leading + array.shape[-2:]) for array in (query, key, value)
    )
    mask = np.broadcast_to(mask, (*leading, len_q, len_k))
    weights = np.empty((*leading, len_q, len_k))
    output = np.empty((*leading, len_q, value.shape[-1]))
    for at in np.ndindex(*leading, len_q):
        batch = at[:-1]
        scores = [score(query[at], key[batch][j]) for j in range(len_k)]
        weights[at] = softmax_row(scores, mask[at])
        for c in range(value.shape[-1]):
            output[at][c] = dot(weights[at], value[batch][:, c])
    return output, weights


def dot_product_attention(query, key, value, mask=None, scale=None):
    scale = 1 / math.sqrt(np.shape(query)[-1]) if scale is None else scale
    return attention(lambda q, k: scale * dot(q, k), query, key, value, mask)


def additive_attention(query, key, value, w_query, w_key, w_score, mask=None):
    def score(q, k):
        hidden = range(len(w_score))
        return math.fsum(
            w_score[h] * math.tanh(dot(q, w_query[:, h]) + dot(k, w_key[:, h])) for h in hidden
        )

    return attention(score, query, key, value, mask)


def multi_head_attention(query, key, value, parameters, num_heads, mask=None):
    """Run the heads one after the other, each on its own columns of the projections."""
    projected = [
        matmul(x, parameters[f"w_{letter}"]) + parameters[f"b_{letter}"]
        for x, letter in ((query, "q"), (key, "k"), (value, "v"))
    ]
    outputs, weights = [], []
    for head in range(num_heads):
        q, k, v = (
            x[..., head * (x.shape[-1] // num_heads) : (head + 1) * (x.shape[-1] // num_heads)]
            for x in projected
        )
        output, weight = dot_product_attention(q, k, v, mask)
        outputs.append(output)
        weights.append(weight)
    joined = np.concatenate(outputs, axis=-1)
    return matmul(joined, parameters["w_o"]) + parameters["b_o"], np.stack(weights, axis=-3)


def encoding_at(position, d_model, base=10000.0):
    """Encode one position, which may lie between two tokens or before the first."""
    row = []
    for j in range(d_model // 2):
        angle = position / base ** (2 * j / d_model)
        row += [math.sin(angle), math.cos(angle)]
    return np.array(row)


def as_floats(nested):
    """Read an array of a JSON file, where "-inf" is a string."""
    return np.array(nested, dtype=float)
