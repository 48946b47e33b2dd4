"""What is told about chapter 1 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attnbook import additive_attention, scaled_dot_product_attention, softmax
from attnbook.pretrained import minilm
from course.quiz import code, numbers
from course.truths import Truths, pictures, printed

TRUTHS = Truths(said={"our_pixels": ["[4, 13]", "[1]", "[3, 4]", "[0, 1, 2, 3, 5]"]})
rng = np.random.default_rng(0)


@TRUTHS.question
def halfway(question):
    told = [float(n) for n in re.findall(r"-?\d+\.?\d*", question.text)]
    matches, (first, last, sharpness) = told[:6], told[6:]
    rows = ".#. ### ### #.# ### ###", "##. ..# ..# #.# #.. #..", ".#. ### ### ### ### ###"
    rows += ".#. #.. ..# ..# ..# #.#", "### ### ### ..# ### ###"  # the chapter's digits
    digits = np.array([[[c == "#" for c in part] for part in row.split()] for row in rows])
    key = 2.0 * digits.swapaxes(0, 1).reshape(6, 15) - 1
    np.testing.assert_allclose(key @ (key[1] + key[2]) / 2, matches)
    weights = softmax(sharpness * np.array(matches))
    assert weights[1] == weights[2] > 2 * weights[3:].max()
    np.testing.assert_allclose(weights[4:], weights[1] * np.exp(-2))
    assert np.isclose(weights[1], 1 / (2 + 2 * np.exp(-2) + np.exp(-4) + np.exp(-8)))
    assert (first, last) == (1, 6)
    return f"{weights[1]:.2f}"


@TRUTHS.question
def one_matrix(question):
    k = rng.standard_normal((7, 5))
    k[1] = 3 * k[0]  # in the same direction, and of larger norm
    scores = k @ k.T
    np.testing.assert_allclose(scores, scores.T)
    weights = scaled_dot_product_attention(k, k, k).weights
    assert weights[0].argmax() == 1
    assert not np.allclose(weights, weights.T)
    return "symmetric"


@TRUTHS.question
def register(question):
    (pairs,) = numbers(question)
    names = rng.choice([-1.0, 1.0], size=(12000, pairs, 5))
    values, queried = rng.standard_normal((12000, pairs)), rng.integers(pairs, size=12000)
    rows = np.arange(12000)
    page = names.reshape(12000, -1), values, names[rows, queried], np.ones((12000, 1))
    shown, wanted = np.hstack(page), values[rows, queried]
    read_out = np.linalg.lstsq(shown[:6000], wanted[:6000])[0]
    answers = shown[6000:] @ read_out, values[6000:].mean(axis=1)
    for answer in answers:
        recall = np.corrcoef(answer, wanted[6000:])[0, 1] ** 2
        assert abs(recall - 1 / pairs) < 0.03
    return str(1 / pairs)


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
    assert differ(unit(query), key)  # a query's norm does not help
    assert not differ(query, 2 * unit(key))  # of equal norms
    return "equal-norms"


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
    sentence = minilm.sentences()[0]
    weights = minilm.recorded_weights(sentence)[3, 1].astype(float)
    it = minilm.tokens(sentence).index("it")
    assert np.isclose(weights[it].sum(), 1, atol=1e-2)
    assert abs(weights[:, it].sum() - 1) > 0.1
    return "`weights[it]`"


@TRUTHS.of_session
def the_weight_of_the_three_is_less_than_that_of_a_clean_one(shown):
    for cell, outputs in shown:
        (weights,) = re.findall(r"\[(.+)\]", printed(outputs))
        found = np.array(weights.split(), dtype=float)
        assert len(found) == 6
        assert abs(found.sum() - 1) < 0.03
        assert found[2] < 0.75
        pixels = re.search(r"our_pixels = \[(.+?)\]", cell)[1].split(", ")
        assert (found.argmax() == 2) == (len(pixels) < 5)
        assert len(pictures(outputs)) == 1
