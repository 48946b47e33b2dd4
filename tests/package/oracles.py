"""Attention in plain Python loops, written from the formulas: the tests' independent answers.

Nothing here imports attnbook, and no line of arithmetic is NumPy's; arrays only carry the numbers.
"""

import json
import math
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden/attention.json").read_text("utf-8"))
BACKWARD_GOLDEN = json.loads((HERE / "golden/backward.json").read_text("utf-8"))
DECODER_GOLDEN = json.loads((HERE / "golden/decoder.json").read_text("utf-8"))


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


def broadcast(query, key, value, mask=None, bias=None):
    """Repeat all five along the leading axes; no mask allows all, no bias is zero."""
    query, key, value = map(np.asarray, (query, key, value))
    scores = query.shape[-2], key.shape[-2]
    mask = np.atleast_2d(True if mask is None else mask)
    bias = np.atleast_2d(0.0 if bias is None else bias)
    arrays = query, key, value, mask, bias
    leading = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
    shapes = [array.shape[-2:] for array in arrays[:3]] + [scores, scores]
    return leading, *(
        np.broadcast_to(array, leading + shape) for array, shape in zip(arrays, shapes, strict=True)
    )


def attention(score, query, key, value, mask=None, bias=None):
    """Attend with any score(query vector, key vector); leading axes broadcast."""
    leading, query, key, value, mask, bias = broadcast(query, key, value, mask, bias)
    len_q, len_k = query.shape[-2], key.shape[-2]
    weights = np.empty((*leading, len_q, len_k))
    output = np.empty((*leading, len_q, value.shape[-1]))
    for at in np.ndindex(*leading, len_q):
        batch = at[:-1]
        scores = [score(query[at], key[batch][j]) + float(bias[at][j]) for j in range(len_k)]
        weights[at] = softmax_row(scores, mask[at])
        for c in range(value.shape[-1]):
            output[at][c] = dot(weights[at], value[batch][:, c])
    return output, weights


def dot_product_attention(query, key, value, mask=None, scale=None, bias=None):
    scale = 1 / math.sqrt(np.shape(query)[-1]) if scale is None else scale
    return attention(lambda q, k: scale * dot(q, k), query, key, value, mask, bias)


def attention_gradients(d_output, query, key, value, mask=None, scale=None, bias=None):
    """Take the gradient of sum(d_output * output) through softmax's whole Jacobian."""
    given = query, key, value
    gradients = [np.zeros(np.shape(array)) for array in given]
    scale = 1 / math.sqrt(np.shape(query)[-1]) if scale is None else scale
    leading, query, key, value, mask, bias = broadcast(query, key, value, mask, bias)
    for *batch, i in np.ndindex(*leading, query.shape[-2]):
        q, keys, values = query[(*batch, i)], key[tuple(batch)], value[tuple(batch)]
        d_out, len_k = d_output[(*batch, i)], len(keys)
        added = bias[(*batch, i)].tolist()
        row = softmax_row(
            [scale * dot(q, k) + b for k, b in zip(keys, added, strict=True)], mask[(*batch, i)]
        )
        d_weights = [dot(d_out, v) for v in values]
        d_query, d_key, d_value = (
            # An axis that was broadcast has one place for all.
            gradient[tuple(min(a, n - 1) for a, n in zip(reversed(batch), at, strict=False))[::-1]]
            for gradient in gradients
            for at in [gradient.shape[-3::-1]]
        )
        for j in range(len_k):
            d_score = math.fsum(row[m] * ((m == j) - row[j]) * d_weights[m] for m in range(len_k))
            d_query[i] += scale * d_score * keys[j]
            d_key[j] += scale * d_score * q
            d_value[j] += row[j] * d_out
    return gradients


def attention_as_ieee_has_it(query, key, value, mask=None, bias=None):
    """Return the output for numbers that need not be finite: sums over the keys that are seen."""
    scale = 1 / math.sqrt(np.shape(query)[-1])
    leading, query, key, value, mask, bias = broadcast(query, key, value, mask, bias)
    output = np.empty((*leading, query.shape[-2], value.shape[-1]))
    for at in np.ndindex(*leading, query.shape[-2]):
        keys, values = key[at[:-1]].tolist(), value[at[:-1]].tolist()
        seen = [j for j in range(len(keys)) if mask[at][j] and bias[at][j] > -math.inf]
        vector = query[at].tolist()
        scores = [
            scale * sum(x * y for x, y in zip(vector, keys[j], strict=True)) + float(bias[at][j])
            for j in seen
        ]
        if any(math.isnan(score) or score == math.inf for score in scores):
            weights = [math.nan] * len(seen)  # inf - inf
        else:
            weights = softmax_row(scores)
        for c in range(value.shape[-1]):
            output[at][c] = sum(
                weight * values[j][c] for weight, j in zip(weights, seen, strict=True)
            )
    return output


def additive_attention(query, key, value, w_query, w_key, w_score, mask=None):
    def score(q, k):
        hidden = range(len(w_score))
        return math.fsum(
            w_score[h] * math.tanh(dot(q, w_query[:, h]) + dot(k, w_key[:, h])) for h in hidden
        )

    return attention(score, query, key, value, mask)


def multi_head_attention(
    query, key, value, parameters, num_heads, mask=None, num_kv_heads=None, bias=None, turn=None
):
    """Run the heads one after the other, each on its own columns of the projections.

    ``bias(head)`` gives what is added to a head's scores; ``turn`` changes a head's queries and
    keys, (..., len, head_dim).
    """
    num_kv_heads = num_kv_heads or num_heads
    turn = turn or (lambda x: x)
    projected = [
        matmul(x, parameters[f"w_{letter}"]) + parameters[f"b_{letter}"]
        for x, letter in ((query, "q"), (key, "k"), (value, "v"))
    ]
    outputs, weights = [], []
    for head in range(num_heads):
        kv_head = next(g for g in range(num_kv_heads) if head in group(g, num_heads, num_kv_heads))
        q, k, v = (
            x[..., of * (x.shape[-1] // heads) : (of + 1) * (x.shape[-1] // heads)]
            for x, of, heads in zip(
                projected,
                (head, kv_head, kv_head),
                (num_heads, num_kv_heads, num_kv_heads),
                strict=True,
            )
        )
        added = None if bias is None else bias(head)
        output, weight = dot_product_attention(turn(q), turn(k), v, mask, bias=added)
        outputs.append(output)
        weights.append(weight)
    joined = np.concatenate(outputs, axis=-1)
    return matmul(joined, parameters["w_o"]) + parameters["b_o"], np.stack(weights, axis=-3)


def group(kv_head, num_heads, num_kv_heads):
    """List the query heads that use a head of keys and values: as many for each, neighbours."""
    size = num_heads // num_kv_heads
    return range(kv_head * size, (kv_head + 1) * size)


def rotated(vector, position, base=10000.0, pairing="interleaved"):
    """Turn each pair of numbers by position times its frequency (rotary, RoPE)."""
    result, half = [0.0] * len(vector), len(vector) // 2
    for j in range(half):
        a, b = (2 * j, 2 * j + 1) if pairing == "interleaved" else (j, j + half)
        x, y = float(vector[a]), float(vector[b])
        angle = position / base ** (2 * j / len(vector))
        result[a] = x * math.cos(angle) - y * math.sin(angle)
        result[b] = x * math.sin(angle) + y * math.cos(angle)
    return result


def rms_norm(vector, gain, eps):
    size = math.sqrt(math.fsum(x * x for x in vector) / len(vector) + eps)
    return [x / size * g for x, g in zip(vector, gain, strict=True)]


def swiglu(vector, w_gate, w_up, w_down):
    gates, ups = matmul([vector], w_gate)[0], matmul([vector], w_up)[0]
    hidden = [g / (1 + math.exp(-g)) * u for g, u in zip(gates, ups, strict=True)]
    return matmul([hidden], w_down)[0]


def slope(head, num_heads):
    """Return ALiBi's slope of a head, as its authors' get_slopes does."""

    def of_a_power_of_two(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    def slopes(n):
        if math.log2(n).is_integer():
            return of_a_power_of_two(n)
        lower = 2 ** math.floor(math.log2(n))
        return of_a_power_of_two(lower) + slopes(2 * lower)[0::2][: n - lower]

    return slopes(num_heads)[head]


def decoder(model, tokens, places=None, mask=None, turned=None):
    """Take the tokens of one sequence through a decoder; return (logits, states, weights).

    Of a scheme that is none of the package's, `turned(row, position)` says what it does.
    """
    length, eps, scheme = len(tokens), model.norm_eps, type(model.positions).__name__
    base, pairing = (getattr(model.positions, name, None) for name in ("base", "pairing"))
    places = range(length) if places is None else places
    x = [[float(number) for number in model.embedding[token]] for token in tokens]
    if scheme == "Sinusoidal":
        d_model = len(x[0])
        x = [
            [
                math.sqrt(d_model) * a + b
                for a, b in zip(row, encoding_at(p, d_model, base), strict=True)
            ]
            for row, p in zip(x, places, strict=True)
        ]
    may = [[j <= i and (mask is None or mask[i][j]) for j in range(length)] for i in range(length)]

    def turn(heads):
        rows = zip(heads, places, strict=True)
        if scheme == "Rotary":
            return np.array([rotated(row, p, base, pairing) for row, p in rows])
        return heads if turned is None else np.array([turned(row, p) for row, p in rows])

    states, weights = [np.array(x)], []
    for layer in model.layers:
        attention = layer.attention
        num_heads = attention.num_heads
        normed = np.array([rms_norm(row, layer.attention_norm, eps) for row in x])

        def bias(head, num_heads=num_heads):
            if scheme != "Alibi":
                return None
            return [[-slope(head, num_heads) * abs(p - q) for q in places] for p in places]

        added, seen = multi_head_attention(
            *(normed, normed, normed, vars(attention), num_heads, may, attention.num_kv_heads),
            bias,
            turn,
        )
        x = np.array(x) + added
        normed = [rms_norm(row, layer.feed_forward_norm, eps) for row in x]
        x = x + [swiglu(row, layer.w_gate, layer.w_up, layer.w_down) for row in normed]
        states.append(x)
        weights.append(seen)
    output = np.transpose(model.embedding) if model.output is None else model.output
    logits = matmul([rms_norm(row, model.final_norm, eps) for row in x], output)
    return logits, np.stack(states), np.stack(weights)


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
