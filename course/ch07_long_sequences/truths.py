"""What is told about chapter 7 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import re

import numpy as np

from attnbook import causal_mask, scaled_dot_product_attention, softmax
from course.quiz import numbers
from course.truths import Truths, printed

TRUTHS = Truths(
    said={
        "our_scores": [
            "[3, 1, 4, 1, 5, 9]",
            "[9, 5, 1, 4, 1, 3]",
            "[2, 2, 2, 2, 2, 2]",
            "[-1000, 0, 1000, 1001, 999, -2]",
        ],
        "our_windows": ["[3, 3, 3]", "[4]", "[2, 9, 1, 5]", "[12, 20]"],
    }
)
rng = np.random.default_rng(0)


@TRUTHS.question
def correction_factor(question):
    first, subtracted, total, second = numbers(question)[:4]
    assert first == subtracted
    # Four scores, the largest of which is the maximum, with the sum that is told.
    scores = first + np.log([1, 1, total - 2.5, 0.5])
    np.testing.assert_allclose(np.exp(scores - first).sum(), total)
    factor = np.exp(scores - second).sum() / total

    def said(text):
        *_, a, b = [0, 0, *map(int, re.findall(r"-?\d+", text.replace("- ", "-")))]
        return np.exp(a + b) if "exp(" in text else 1.0

    right = [c.text for c in question.choices if np.isclose(said(c.text), factor)]
    (text,) = right
    return (re.search(r"`.+`", text)[0],)


@TRUTHS.question
def kept_of_a_half(question):
    def half(scores, values):
        weights = softmax(scores)
        sent = {
            "output": weights @ values,
            "largest": scores.max(),
            "weights": weights,
            "keys": len(scores),
            "logsumexp": np.logaddexp.reduce(scores),
        }
        return sent, scores, values

    def merged(one, other):
        scores, values = (np.concatenate([one[i], other[i]]) for i in (1, 2))
        return softmax(scores) @ values

    values = np.array([1.0, 1.0])  # any weights give this output
    other = half(np.zeros(2), np.array([-3.0, 9.0]))
    halves = {  # pairs of halves with the same output and one more thing in common
        "largest": (half(np.array([1.0, 1.0]), values), half(np.array([1.0, -9.0]), values)),
        "weights": (half(np.array([1.0, 0.0]), values), half(np.array([4.0, 3.0]), values)),
        "keys": (half(np.array([1.0, 0.0]), values), half(np.array([2.0, 0.0]), values)),
        "logsumexp": (half(np.log([1.0, 3.0]), values), half(np.log([2.5, 1.5]), values)),
    }
    enough = set()
    for name, (one, two) in halves.items():
        for same in ("output", name):
            np.testing.assert_allclose(one[0][same], two[0][same])
        if np.isclose(merged(one, other), merged(two, other)):
            enough.add(name)
    (found,) = enough
    return found


@TRUTHS.question
def blocks_to_compute(question):
    length, rows, columns, blocks = numbers(question)
    count = length // rows
    assert (rows, count**2) == (columns, blocks)
    small = causal_mask(3 * count).reshape(count, 3, count, 3).swapaxes(1, 2)
    needed = small.any(axis=(2, 3))
    cut = needed & ~small.all(axis=(2, 3))
    return str(needed.sum()), str(cut.sum())


@TRUTHS.question
def kept_for_backward(question):
    query, key, value, d_output = rng.standard_normal((4, 7, 5))

    def attend(query, key):
        return scaled_dot_product_attention(query, key, value).output

    output, scores = attend(query, key), query @ key.T / np.sqrt(5)
    logsumexp = np.logaddexp.reduce(scores, axis=1, keepdims=True)
    assert logsumexp.size == len(query)
    d_query = np.zeros(query.shape)
    for block in (slice(3), slice(3, 7)):  # each with nothing of the other
        weights = np.exp(query @ key[block].T / np.sqrt(5) - logsumexp)
        d_weights = d_output @ value[block].T
        shared = (d_output * output).sum(axis=1, keepdims=True)
        d_query += weights * (d_weights - shared) @ key[block] / np.sqrt(5)
    for place in np.ndindex(query.shape):
        step = np.zeros(query.shape)
        step[place] = 1e-6
        change = ((attend(query + step, key) - attend(query - step, key)) * d_output).sum() / 2e-6
        np.testing.assert_allclose(d_query[place], change, atol=1e-6)
    other = key.copy()
    other[5] += 1  # a block's weights need more than its own queries and keys
    moved = scaled_dot_product_attention(query, other, value).weights[:, :3]
    assert np.abs(moved - softmax(scores)[:, :3]).max() > 0.01
    return "one-each"


@TRUTHS.question
def new_queries(question):
    cached, new, queries, keys = numbers(question)
    assert (queries, keys) == (new, cached + new)
    x = rng.standard_normal((keys, 5))
    whole = scaled_dot_product_attention(x, x, x, causal_mask(keys)).weights
    seen = np.flatnonzero(whole[cached])
    assert seen.tolist() == list(range(len(seen)))
    return (str(len(seen)),)


@TRUTHS.question
def bytes_per_token(question):
    layers, heads, kv_heads, dim, size = numbers(question)
    assert size == np.dtype(np.float16).itemsize

    def shown(*shape):
        return str(np.empty(shape, np.float16).nbytes // 2**10)

    wrong = {shown(layers, kv_heads, dim), shown(2, layers, heads, dim), shown(2, kv_heads, dim)}
    assert {re.search(r"\d+", c.text)[0] for c in question.choices if not c.right} == wrong
    return (shown(2, layers, kv_heads, dim),)


@TRUTHS.question
def dropped_sink(question):
    (share,) = map(float, re.findall(r"\d\.\d+", question.text))
    scores = np.append(np.log(share / (1 - share)), np.log(softmax(rng.standard_normal(6))))
    values = rng.standard_normal((7, 5))
    values[0] = 0
    np.testing.assert_allclose(softmax(scores)[0], share)
    before, after = softmax(scores) @ values, softmax(scores[1:]) @ values[1:]
    np.testing.assert_allclose(after, 5 * before)
    return "five-times"


@TRUTHS.question
def linear_lookup(question):
    features, _, tokens, again = numbers(question)
    assert tokens == again < features

    def positive(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    found = {"as read": [], "less the mean": []}
    for _ in range(20):
        key = rng.standard_normal((tokens, features))
        key *= 8 / np.linalg.norm(key, axis=1, keepdims=True)
        value = rng.choice([-1.0, 1.0], size=(tokens, features))
        table = positive(key) @ positive(key).T
        assert (table > 0).all()
        assert np.linalg.matrix_rank(table) == tokens
        weights = table / table.sum(axis=1, keepdims=True)
        others = weights.sum(axis=1) - np.diagonal(weights)
        assert (others > 5 * np.diagonal(weights)).all()
        for name, less in ("as read", 0), ("less the mean", value.mean(axis=0)):
            nearest = ((weights @ value - less) @ value.T).argmax(axis=1)
            found[name] += [*(nearest == np.arange(tokens))]
    assert np.mean(found["as read"]) < 0.4
    assert np.mean(found["less the mean"]) > 0.9
    return "flat"


@TRUTHS.of_session
def the_running_total_ends_in_the_logsumexp_whatever_the_order(shown):
    found = []
    for code, outputs in shown:
        if "our_scores" in code:
            scores = list(map(float, re.search(r"\[(.+?)\]", code)[1].split(",")))
            text = printed(outputs)
            assert "nan" not in text
            factors = [float(number) for number in re.findall(r"factor (\d\.\d+)", text)]
            tops = np.maximum.accumulate(scores)
            np.testing.assert_allclose(factors[1:], np.exp(tops[:-1] - tops[1:]), atol=1e-6)
            assert factors[0] == 0
            (end,) = re.findall(r"logsumexp (\S+)", text)
            assert abs(float(end) - np.logaddexp.reduce(scores)) < 1e-5
            found.append((sorted(scores), end))
    assert len(found) == 5  # the cell in its place, then with all that is said
    assert found[0] == found[1] == found[2]


@TRUTHS.of_session
def windows_reach_back_as_their_sizes_say(shown):
    found = []
    for code, outputs in shown:
        if "our_windows" in code:
            windows = list(map(int, re.search(r"\[(.+?)\]", code)[1].split(",")))
            (earliest,) = re.findall(r"to token (\d+)", printed(outputs))
            assert int(earliest) == max(0, 23 - sum(windows) + len(windows))
            found.append(int(earliest))
    assert set(found) == {17, 20, 10, 0}


@TRUTHS.of_assignment
def the_bytes_of_the_cache_and_how_far_back_it_sees(measured):
    layers, heads, kv_heads, dim, tokens, window, sinks = 32, 32, 8, 128, 131_072, 4096, 4
    per_token = np.empty((2, layers, kv_heads, dim), np.float16).nbytes
    assert heads == 4 * kv_heads
    row = dim * 4 // 8 + 2  # four bits each, and a scale
    rounded = 2 * layers * kv_heads * row * tokens / 2**30
    assert 4.1 < rounded < 4.15
    assert 0.49 < per_token * (window + sinks) / 2**30 < 0.51
    earliest = tokens - 1 - layers * (window - 1)
    whole = per_token * tokens
    return whole, whole // 2**30, 4 * whole // 2**30, earliest, sinks, earliest - 1


@TRUTHS.of_assignment
def what_is_said_of_the_errors_holds_in_every_class(measured):
    errors = measured("rounded-cache")
    assert (np.diff(errors) < 0).all()
    assert 0.1 < errors[2] < 0.25  # four bits
    assert errors[-1] < 0.0125
    ratios = errors[2:-1] / errors[3:]
    assert 1.4 < ratios.min() < ratios.max() < 3
    return ()
