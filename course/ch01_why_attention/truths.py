"""What is told about chapter 1 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attnbook import additive_attention, pretrained, scaled_dot_product_attention, softmax
from course.quiz import code, numbers
from course.truths import Truths, printed

TRUTHS = Truths(said={"our_radius": ["1.1", "0.1", "0.9", "1.5"]})
rng = np.random.default_rng(0)


@TRUTHS.question
def way_back(question):
    n = numbers(question)[0]
    links = {f"{a}{i}": f"{a}{i + 1}" for a in "hg" for i in range(n - 1)}
    links[f"h{n - 1}"] = "g0"
    start = rng.standard_normal(3)
    here, state = "h0", start
    while here != f"g{n - 1}":
        here, state = links[here], state @ (0.5 * np.eye(3))
    factor = np.linalg.norm(state) / np.linalg.norm(start)
    assert (round(0.5**8, 3), round(0.5 / len(links), 2)) == (0.004, 0.03)
    return f"{factor:.6f}"


def shift_register(units, inputs):
    return np.column_stack([np.roll(inputs, lag) for lag in range(units)])


@TRUTHS.question
def sum_of_recalls(question):
    (units,) = numbers(question)
    inputs = rng.uniform(-1, 1, 4000)
    past = shift_register(100, inputs)[200:]
    trained = np.tanh(shift_register(50, inputs) @ rng.standard_normal((50, units)) / 9)[200:]
    sums = []
    for states in (shift_register(units, inputs)[200:], trained):
        spans = [np.linalg.qr(a - a.mean(axis=0))[0] for a in (states, past)]
        shared = (spans[0].T @ spans[1]) ** 2  # of each direction of the state, by each lag
        assert len(shared) == units
        assert shared.sum(axis=1).max() <= 1 + 1e-9
        sums.append(shared.sum())
    assert np.isclose(sums[0], units)  # reached
    assert sums[1] <= units + 1e-9  # by no function of the inputs exceeded
    assert units**2 == 1024
    return str(round(sums[0]))


@TRUTHS.question
def thirty_bits(question):
    bits, state, states = rng.integers(0, 2, 3000), 0.0, []
    for bit in bits:
        state = (state + bit) / 2
        states.append(state)
    states = np.array(states)
    for lag in range(30):
        digit = np.floor(states * 2.0 ** (lag + 1)) % 2
        assert (digit[100:] == bits[100 - lag : len(bits) - lag]).all()
    past = shift_register(100, bits)[200:].astype(float)
    q = np.linalg.qr(past - past.mean(axis=0))[0]
    one = states[200:] - states[200:].mean()
    assert np.linalg.norm(q.T @ one / np.linalg.norm(one)) ** 2 <= 1 + 1e-9  # by linear reading
    return "not-linear"


@TRUTHS.question
def near_or_alike(question):
    def differ(query, key, sharpness=3):
        by_dot = softmax(sharpness * query @ key.T)
        distances = ((query[:, None] - key) ** 2).sum(axis=-1)
        return not np.allclose(by_dot, softmax(-sharpness * distances / 2))

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True)

    query, key = rng.standard_normal((7, 5)), rng.standard_normal((11, 5))
    assert differ(query, key)  # not always
    assert differ(unit(query), key)  # a query's length does not help
    assert not differ(query, 2 * unit(key))  # of seven lengths
    return "equal-lengths"


@TRUTHS.question
def no_match(question):
    value = rng.standard_normal((6, 3))
    answer = scaled_dot_product_attention(np.zeros((1, 15)), np.eye(6, 15), value, scale=5)
    np.testing.assert_allclose(answer.output[0], value.mean(axis=0))
    return "mean-of-all"


@TRUTHS.question
def key_as_value(question):
    contents, query = rng.standard_normal((2, 7, 3))
    exchanged = contents[[0, 1, 4, 3, 2, 5, 6]]
    before = scaled_dot_product_attention(query, contents, contents).output
    after = scaled_dot_product_attention(query, exchanged, exchanged).output
    np.testing.assert_allclose(after, before)
    fixed = scaled_dot_product_attention(query, contents, exchanged).output
    assert not np.allclose(fixed, before)  # what the feedback says
    return "nothing"


@TRUTHS.question
def all_pairs(question):
    len_q, d_q, len_k, d_k, hidden = numbers(question)
    query, key = rng.standard_normal((len_q, d_q)), rng.standard_normal((len_k, d_k))
    w_query, w_key = rng.standard_normal((d_q, hidden)), rng.standard_normal((d_k, hidden))
    w_score = rng.standard_normal(hidden)
    found = (query @ w_query)[:, None] + key @ w_key
    weights = additive_attention(query, key, key, w_query, w_key, w_score).weights
    np.testing.assert_allclose(softmax(np.tanh(found) @ w_score), weights)
    assert weights.shape == (4, 9)
    with pytest.raises(ValueError, match="mismatch"):
        query @ key.T
    return code(found.shape), "not-by-dot-product"


@TRUTHS.question
def reading(question):
    sentence = pretrained.sentences()[0]
    weights = pretrained.recorded_weights(sentence)[3, 1].astype(float)
    it = pretrained.tokens(sentence).index("it")
    assert np.isclose(weights[it].sum(), 1, atol=1e-2)
    assert abs(weights[:, it].sum() - 1) > 0.1
    return "`weights[it]`"


@TRUTHS.of_session
def the_derivative_fades_or_grows_as_the_radius_that_is_said(shown):
    norms = {}
    for _, outputs in shown:
        radius, _, norm = re.findall(r"\d\S*\d", printed(outputs))
        norms[float(radius)] = float(norm)
    assert sorted(norms) == [0.1, 0.9, 1.1, 1.5]
    assert norms[0.1] < 1e-50 < norms[0.9] < 1e-2 < 0.1 < norms[1.1] < 50 < norms[1.5]
