"""What is told about chapter 3 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import re

import numpy as np

from attnbook import (
    causal_mask,
    cross_attention,
    influence,
    scaled_dot_product_attention,
    self_attention,
    softmax,
)
from attnbook.pretrained import minilm
from course.chapters import by_name
from course.quiz import code, numbers
from course.truths import Truths, pictures, printed, snippets

TRUTHS = Truths(
    said={
        "may_see": ["None", "causal_mask(12)", "~causal_mask(12)"],
        "our_caption": [
            '"fire on the grass"',
            '"The red boat on the grass shines on the sun the house fire"',
            '"boat"',
        ],
    }
)
rng = np.random.default_rng(0)


@TRUTHS.question
def backwards(question):
    x, matrices = rng.standard_normal((7, 5)), rng.standard_normal((3, 5, 3))
    forth, back = self_attention(x, *matrices), self_attention(x[::-1], *matrices)
    np.testing.assert_allclose(back.output, forth.output[::-1])
    np.testing.assert_allclose(back.weights, forth.weights[::-1, ::-1])
    assert not np.allclose(back.output, forth.output)
    assert not np.allclose(back.weights, forth.weights[::-1])
    only_rows = forth.weights[::-1] @ (x[::-1] @ matrices[2])
    assert not np.allclose(only_rows, back.output)  # what the feedback says
    return "both-sides"


@TRUTHS.question
def mask_after_softmax(question):
    x = rng.standard_normal((5, 3))

    def attend(x, again=False):
        weights = softmax(x @ x.T) * causal_mask(len(x))
        return weights / (weights.sum(axis=-1, keepdims=True) if again else 1)

    sums = attend(x).sum(axis=-1)
    assert (sums[:-1] < 1).all()
    assert np.isclose(sums[-1], 1)
    moved = influence(lambda x: attend(x) @ x, x, rng)
    assert moved[np.triu_indices(5, 1)].all()
    before = scaled_dot_product_attention(x, x, x, causal_mask(5), scale=1).weights
    assert not np.allclose(attend(x), before)
    np.testing.assert_allclose(attend(x, again=True), before)
    return "leaks"


@TRUTHS.question
def words_and_patches(question):
    patches, d_memory, words, d_x, _, d_k, *_ = numbers(question)
    x, memory = rng.standard_normal((words, d_x)), rng.standard_normal((patches, d_memory))
    w_q, w_k = rng.standard_normal((d_x, d_k)), rng.standard_normal((d_memory, d_k))
    return code(cross_attention(x, memory, w_q, w_k, w_k).weights.shape)


@TRUTHS.question
def where_causal(question):
    source, target = rng.standard_normal((2, 5, 3))
    matrices = rng.standard_normal((3, 3, 3))
    memory = self_attention(source, *matrices).output

    def leaks(mask):
        def decode(x):
            x = self_attention(x, *matrices, mask).output
            return cross_attention(x, memory, *matrices).output

        return np.triu(influence(decode, target, rng), 1).any()

    assert leaks(None)
    assert not leaks(causal_mask(5))  # and the encoder and cross-attention need none
    return "decoder-self-attention"


@TRUTHS.question
def weight_of_a_third(question):
    wide = minilm.sentences()[1]
    tokens = minilm.tokens(wide)
    assert "wide" in tokens
    head, x = minilm.head_projections(layer=3, head=1), minilm.hidden_states(wide, layer=3)
    q, k, v = (x @ getattr(head, f"w_{n}") + getattr(head, f"b_{n}") for n in "qkv")
    weights = scaled_dot_product_attention(q, k, v).weights[tokens.index("it")]
    assert weights.argmax() == tokens.index("[CLS]")
    assert np.isclose(weights[0], 1 / 3, atol=0.01)
    it = tokens.index("it")
    before = scaled_dot_product_attention(q, k, v).output[it]
    after = scaled_dot_product_attention(q, k, v, np.arange(len(x)) != 0).output[it]
    assert np.linalg.norm(weights[0] * v[0]) < 0.05 * np.linalg.norm(before)
    alike = before @ after / np.linalg.norm(before) / np.linalg.norm(after)
    assert alike > 0.99
    assert np.isclose(np.linalg.norm(after) / np.linalg.norm(before), 1.5, atol=0.05)
    np.testing.assert_allclose(after, (before - weights[0] * v[0]) / (1 - weights[0]))
    return "half-as-much-again"


@TRUTHS.question
def next_token(question):
    answer, asked = re.findall(r"\*(.+?)\*", question.text)
    fed = ["<start>", *answer.split()]
    target = [*answer.split(), "<end>"]
    assert len(re.search(r"`(<start> .+?)`", question.text)[1].split()) == len(fed)
    return target[fed.index(asked)]


@TRUTHS.of_session
def all_pairs_leak_but_with_the_causal_mask(shown):
    leaks = {}
    for source, outputs in shown:
        if "may_see" in source:
            mask = re.match(r"may_see = (.+?)  #", source)[1]
            leaks[mask] = re.findall(r"\d+", printed(outputs))
    assert leaks == {
        "None": ["66", "66"],
        "causal_mask(12)": ["0", "66"],
        "~causal_mask(12)": ["66", "66"],
    }


@TRUTHS.of_session
def each_word_of_a_caption_gets_a_picture_once(shown):
    drawn = {}
    for source, outputs in shown:
        for svg in pictures(outputs):
            drawn[source.split('"')[1]] = re.findall(r"<!-- (\w+) -->", svg)
    assert [len(words) for words in drawn.values()] == [4, 9, 1]
    assert set(drawn["fire on the grass"]) == {"fire", "on", "the", "grass"}


@TRUTHS.of_session
def the_plan_lists_the_words_of_which_a_caption_can_be_made(shown):
    chapter = by_name("03-self-and-cross")
    (line,) = [each.sentence for each in snippets(chapter) if "caption" in each.code]
    text = chapter.notebook.read_text(encoding="utf-8")
    words = re.search(r"vocabulary = \[(.+?)\]", text)[1].replace("\\", "").replace('"', "")
    assert f"`{words}`" in line
