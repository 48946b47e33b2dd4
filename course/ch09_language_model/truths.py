"""What is told about chapter 9 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import functools
import itertools
import json
import re

import numpy as np

from attnbook import (
    causal_mask,
    map_arrays,
    rms_norm,
    scaled_dot_product_attention,
    softmax,
    swiglu,
)
from attnbook.pretrained import storyteller
from course.quiz import numbers
from course.truths import Truths, printed

TRUTHS = Truths(
    said={
        "our_words": [
            '"the kite is with Tom . who has the kite ?"',
            '"Ann is in the park . Ben is in the mill . where is Ann ? in the"',
            '"the cup is with Mia . the cup is red . what colour is the cup ?"',
            '"Tom"',
        ],
        "our_chances, our_share": [
            "[8, 4, 2, 1, 1], 0.7",
            "[1, 1, 1, 1, 1], 0.5",
            "[90, 4, 3, 2, 1], 0.95",
            "[5, 1, 3, 2, 4], 0.3",
        ],
    }
)


def decimals(text):
    """Return the numbers with a point in a text."""
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


@functools.cache
def model():
    """Return the storyteller in float64."""
    return map_arrays(np.float64, storyteller.load())


@TRUTHS.question
def nothing_added(question):
    first = model()

    def empty(layer):
        attention = layer.attention.__class__(
            **vars(layer.attention) | {"w_o": 0 * layer.attention.w_o}
        )
        return layer.__class__(**vars(layer) | {"attention": attention, "w_down": 0 * layer.w_down})

    fields = {name: given for name, given in vars(first).items() if name != "_sizes"}
    bare = first.__class__(**fields | {"layers": tuple(map(empty, first.layers))})
    tokens = [3, 1, 4, 1, 5]
    logits = bare.logits(tokens)
    assert np.abs(logits).max() > 1
    np.testing.assert_array_equal(logits[1], logits[3])  # the same token, another past and place
    assert np.abs(first.logits(tokens)[1] - first.logits(tokens)[3]).max() > 0.1
    assert np.abs(logits[1] - logits[2]).max() > 0.1
    return "token-alone"


@TRUTHS.question
def kv_parameters(question):
    d_model, heads, kv_heads, size = numbers(question)
    assert d_model == heads * size
    matrices = {
        "w_q": np.zeros((d_model, heads * size)),
        "w_k": np.zeros((d_model, kv_heads * size)),
        "w_v": np.zeros((d_model, kv_heads * size)),
        "w_o": np.zeros((heads * size, d_model)),
    }
    right = sum(w.size for w in matrices.values())
    wrong = {4 * d_model**2, right - matrices["w_o"].size, 2 * d_model**2}
    told = {int(choice.text.replace(",", "")) for choice in question.choices}
    assert told == wrong | {right}
    return (f"{right:,}",)


@TRUTHS.question
def rank_decides(question):
    merges = [tuple(pair.split()) for pair in re.findall(r"`(\w+ \w+)`", question.text)]
    assert len(merges) == 4
    (word,) = re.findall(r"`(\w+)`", question.text)
    parts = list(word)
    while known := [pair for pair in itertools.pairwise(parts) if pair in merges]:
        best = min(known, key=merges.index)
        at = list(itertools.pairwise(parts)).index(best)
        parts[at : at + 2] = ["".join(best)]
    cut = [re.findall(r"`(\w+)`", choice.text) for choice in question.choices]
    assert all("".join(each) == word for each in cut)
    assert [cut.index(parts)] == [at for at, c in enumerate(question.choices) if c.right]
    known = ["".join(pair) for pair in merges]
    longest = max((each for each in known if word.startswith(each)), key=len)
    assert [longest, word.removeprefix(longest)] in cut
    return "by-rank"


@TRUTHS.question
def colder(question):
    first, second, temperature = decimals(question.text)
    assert first + second == 1

    def at(temperature):
        return softmax(np.log([first, second]) / temperature)[0]

    np.testing.assert_allclose(at(1), first)
    offered = {decimals(choice.text)[0] for choice in question.choices}
    known = {at(temperature), at(1 / temperature), (first + 1) / 2, at(1e-3)}
    assert offered == {round(float(chance), 2) for chance in known}
    return (f"{at(temperature):.2f}",)


@TRUTHS.question
def last_state(question):
    tokens = np.random.default_rng(0).integers(2, 60, 30)
    layers = len(model().layers)
    logits, states, _ = model().trace(tokens)
    assert len(states) == layers + 1
    told = numbers(question)
    assert told[1] == told[0] + 1

    def lens(state):
        return rms_norm(state, model().final_norm) @ model().embedding.T

    np.testing.assert_allclose(lens(states[-1]), logits, atol=1e-12)
    others = lens(states[-2]), lens(states[-1] - states[-2]), states[-1] @ model().embedding.T
    assert all(np.abs(other - logits).max() > 0.1 for other in others)
    assert (lens(states[0]).argmax(axis=-1) == tokens).mean() > 0.9
    assert (lens(states[-1]).argmax(axis=-1) == tokens).mean() < 0.5
    return "own-logits"


@TRUTHS.question
def always_the_same(question):
    """A head that adds a vector, then a layer and the output of the storyteller."""
    layer, tokens = model().layers[3], np.random.default_rng(0).integers(2, 60, 200)
    added = np.broadcast_to(np.random.default_rng(1).standard_normal(64), (200, 64))

    def loss(of_the_head):
        x = model().embedding[tokens] + of_the_head
        normed = rms_norm(x, layer.feed_forward_norm)
        x = x + swiglu(normed, layer.w_gate, layer.w_up, layer.w_down)
        logits = rms_norm(x, model().final_norm) @ model().embedding.T
        trained = rms_norm(x_0, model().final_norm) @ model().embedding.T
        right = trained.argmax(axis=-1)  # what it was made to say
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        return -np.take_along_axis(logs, right[:, None], axis=-1).mean()

    x_0 = model().embedding[tokens] + added
    normed = rms_norm(x_0, layer.feed_forward_norm)
    x_0 = x_0 + swiglu(normed, layer.w_gate, layer.w_up, layer.w_down)
    whole = loss(added)
    np.testing.assert_allclose(loss(added.mean(axis=0)), whole)
    assert loss(0 * added) > whole + 0.1
    return "zeros-alone"


@TRUTHS.question
def better_than_right(question):
    """A head that looks one token on, with and without its mask."""
    rng = np.random.default_rng(0)
    port, original = decimals(question.text)
    assert port < original
    tokens = rng.integers(0, 9, 50)
    place = np.eye(50)

    def logits(tokens, mask):
        x = np.eye(9)[tokens]
        query, key = 30 * np.roll(place, 1, axis=1), place  # each asks for the next place
        return 5 * scaled_dot_product_attention(query, key, x, mask).output

    def loss(mask):
        logs = np.log(softmax(logits(tokens, mask)[:-1]))
        return -np.take_along_axis(logs, tokens[1:, None], axis=-1).mean()

    changed = tokens.copy()
    changed[-1] = (changed[-1] + 1) % 9
    moved = {}
    for name, mask in (("right", causal_mask(50)), ("leak", np.ones((50, 50), bool))):
        before, after = logits(tokens, mask), logits(changed, mask)
        assert before.shape == (50, 9)
        moved[name] = bool(np.abs(after - before)[:-1].max() > 1e-6)
    assert moved == {"right": False, "leak": True}
    assert loss(np.ones((50, 50), bool)) < loss(causal_mask(50))
    return "leak-test"


@TRUTHS.of_session
def the_storyteller_s_next_words_are_those_of_the_class_s_beginning(shown):
    likeliest = []
    for source, outputs in shown:
        if "our_words" in source:
            words = re.search(r'our_words = "(.+?)"', source)[1]
            lines = [line.split(": ") for line in printed(outputs).strip().split("\n")]
            tokens = model().tokenizer.encode("<start> " + words)
            expected = softmax(model().logits(tokens)[-1])
            printed_chances = [float(number) for _, number in lines]
            assert printed_chances == sorted(printed_chances, reverse=True)
            places = [model().tokenizer.encode(word)[0] for word, _ in lines]
            np.testing.assert_allclose(printed_chances, expected[places], atol=6e-4)
            assert len(lines) == 3
            likeliest.append(lines[0][0])
    # The cell in its place comes first.
    assert likeliest == ["Tom", "Tom", "park", "red", likeliest[-1]]


@TRUTHS.of_session
def a_low_temperature_sharpens_and_fewer_tokens_are_kept(shown):
    count = 0
    for source, outputs in shown:
        if "our_chances" in source:
            match = re.search(r"our_share = (\[.+?\]), (\S+)", source)
            chances, share = np.array(json.loads(match[1]), float), float(match[2])
            kept, largest = [], []
            for line in printed(outputs).strip().split("\n"):
                temperature = float(re.search(r"temperature (\S+):", line)[1])
                sharpened = np.array(re.search(r"\[(.+?)\]", line)[1].split(), float)
                expected = chances ** (1 / temperature)
                expected /= expected.sum()
                np.testing.assert_allclose(sharpened, expected, atol=6e-4)
                kept.append(int(re.search(r"keeps (\d)", line)[1]))
                sums = np.sort(expected)[::-1].cumsum()
                assert sums[kept[-1] - 1] >= share - 1e-9
                assert kept[-1] == 1 or sums[kept[-1] - 2] < share
                largest.append(expected.max())
            assert kept == sorted(kept)
            assert largest == sorted(largest, reverse=True)
            count += 1
    assert count == 5


@TRUTHS.of_assignment
def a_port_s_parameters_are_counted(measured):
    d_model, hidden, vocab, layers, heads, kv_heads = 576, 1536, 49_152, 30, 9, 3
    embedding = vocab * d_model
    attention = 2 * d_model**2 + 2 * d_model * (d_model // heads * kv_heads)
    feed_forward, norms = 3 * d_model * hidden, 2 * d_model
    total = embedding + layers * (attention + feed_forward + norms) + d_model
    return total, embedding, attention, feed_forward


@TRUTHS.of_assignment
def what_is_said_of_heads_holds_in_every_class(measured):
    found, both = measured("worth-of-heads"), measured("worth-of-heads", read_off=True)
    assert found.max() > 1
    assert found.min() < 0.01
    assert (found < 0.1).sum() >= 4
    *_, second, first = np.sort(found, axis=None)
    assert abs(both - first - second) > 0.05  # less the whole model's loss, nearly 0
    return 1, 0.1
