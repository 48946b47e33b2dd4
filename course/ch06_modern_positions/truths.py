"""What is told about chapter 6 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import re

import numpy as np

from attnbook import alibi_bias, apply_rotary, relative_rotation, sinusoidal_encoding, softmax
from course.quiz import numbers
from course.truths import Truths, printed

TRUTHS = Truths(
    said={
        "our_places": [
            "np.array([[9], [6]])",
            "np.array([[6], [9]])",
            "np.array([[40], [40]])",
            "np.array([[0], [-5]])",
        ],
        "our_heads": ["8", "1", "12"],
    }
)
rng = np.random.default_rng(0)


def at(vector, position, **convention):
    """Return one vector, rotated by its position."""
    return apply_rotary(vector[None], [position], **convention)[0]


def told(question, name):
    """Return the text and the feedback of a choice that has an id, or of the one that is right."""
    (choice,) = (c for c in question.choices if c.id == name or (not name and c.right))
    return f"{choice.text} {choice.feedback}"


@TRUTHS.question
def where_rotary_enters(question):
    x, w_q, w_k = rng.standard_normal((3, 7, 10, 10))
    queries, keys = x @ w_q, x @ w_k
    added = [
        apply_rotary(q) @ apply_rotary(k).swapaxes(-1, -2) - q @ k.swapaxes(-1, -2)
        for q, k in ((queries, keys), (2 * queries, keys))
    ]
    np.testing.assert_allclose(added[1], 2 * added[0])  # so no number that is added to scores
    assert np.abs(added[0]).max() > 1
    by_offset = np.diagonal(added[0], -1, 1, 2)
    assert np.ptp(by_offset) > 1  # nor one that only the offset decides
    return "queries-and-keys"


@TRUTHS.question
def values_turned(question):
    (shift,) = numbers(question)[:1]
    query, key, value = rng.standard_normal((3, 11, 10))

    def attend(positions):
        scores = apply_rotary(query, positions) @ apply_rotary(key, positions).T
        weights = softmax(scores / np.sqrt(10))
        return weights, weights @ apply_rotary(value, positions)

    places = np.arange(11)
    (weights, output), (moved_weights, moved) = attend(places), attend(places + shift)
    np.testing.assert_allclose(moved_weights, weights, atol=1e-12)
    assert np.abs(moved - output).max() > 0.1
    np.testing.assert_allclose(moved, apply_rotary(output, np.full(11, shift)), atol=1e-12)
    np.testing.assert_allclose(*(np.linalg.norm(each, axis=-1) for each in (output, moved)))
    return "turned-on"


@TRUTHS.question
def wrong_pairing(question):
    query, key = rng.standard_normal((2, 10))

    def score(m, n, pairing):
        return at(query, m, pairing=pairing) @ at(key, n, pairing=pairing)

    for pairing in ("interleaved", "halves"):
        for m, n in ((5, 3), (3, 5), (0, 9)):
            np.testing.assert_allclose(score(m + 300, n + 300, pairing), score(m, n, pairing))
        norms = np.linalg.norm(at(query, 7, pairing=pairing)), np.linalg.norm(query)
        np.testing.assert_allclose(*norms)
        np.testing.assert_allclose(score(6, 6, pairing), query @ key)
    assert not np.isclose(score(5, 3, "halves"), score(5, 3, "interleaved"), atol=0.1)
    return "recorded"


@TRUTHS.question
def same_score(question):
    m, n = numbers(question)
    pairs = {tuple(map(int, re.findall(r"\d+", c.text))) for c in question.choices} - {()}
    same = set()
    for each in pairs:
        gaps = []
        for query, key in rng.standard_normal((20, 2, 10)):
            gaps.append(at(query, each[0]) @ at(key, each[1]) - at(query, m) @ at(key, n))
        if np.allclose(gaps, 0, atol=1e-9):
            same.add(each)
        else:
            assert np.abs(gaps).min() > 1e-3
    ((one, other),) = same
    return f"{one}", f"{other}"


@TRUTHS.question
def bias_of_one_query(question):
    num_heads, keys, head = numbers(question)
    biases = alibi_bias(num_heads, 1, keys)[:, 0]

    def shown(row):
        return f"`[{', '.join(f'{number:g}' for number in row + 0.0)}]`"

    wrong = [biases[head, ::-1], biases[0], -biases[head]]
    assert {c.text for c in question.choices if not c.right} == {*map(shown, wrong)}
    return shown(biases[head])


@TRUTHS.question
def divided_positions(question):
    trained, read, by = numbers(question)
    unit = np.tile([1.0, 0.0], 32)

    def angles(positions):
        """Return the angles of all pairs, of which the fast ones go round and round."""
        rows = apply_rotary(np.tile(unit, (len(positions), 1)), positions)
        found = np.unwrap(np.arctan2(rows[:, 1::2], rows[:, ::2]), axis=0)
        return found - found[0]

    before, after = angles(np.arange(trained)), angles(np.arange(read) / by)
    undivided = angles(np.arange(read))
    assert (after.max(axis=0) <= before.max(axis=0)).all()
    assert (undivided.max(axis=0) > before.max(axis=0)).all()
    np.testing.assert_allclose(np.diff(after, axis=0) * by, np.diff(undivided, axis=0), atol=1e-9)
    assert len(np.unique(np.arange(read) / by)) == read
    assert str((read - 1) / by) in told(question, "nearer")
    return "nearer"


@TRUTHS.question
def new_token_by_column(question):
    paddings, tokens, first, last, by_column = numbers(question)
    assert [first, last, by_column] == [0, tokens - 1, paddings + tokens]
    keys, query = rng.standard_normal((tokens, 10)), rng.standard_normal(10)
    cached = apply_rotary(keys, np.arange(tokens))
    seen = cached @ at(query, by_column)
    by = [
        shift
        for shift in range(-6, 7)
        if np.allclose(apply_rotary(keys, np.arange(tokens) - shift) @ at(query, tokens), seen)
    ]
    offsets = [by_column - n for n in range(tokens)], [tokens - n for n in range(tokens)]
    asked = [int(digit) for digit in re.findall(r"\d", told(question, "further-back"))]
    assert asked == [*by, *offsets[0], tokens, *offsets[1]]
    all_by_column = apply_rotary(keys, np.arange(tokens) + paddings) @ at(query, by_column)
    np.testing.assert_allclose(all_by_column, cached @ at(query, tokens))
    assert list(range(tokens, by_column)) == [5, 6, 7]
    return "further-back"


@TRUTHS.of_session
def the_score_stays_when_both_move_on_and_changes_when_they_change_places(shown):
    found = {}
    for code, outputs in shown:
        if "our_places" in code:
            scores = re.findall(r"score (-?\d+\.\d+)", printed(outputs))
            assert len(scores) == 3
            assert len(set(scores)) == 1
            m, n = map(int, re.findall(r"\[(-?\d+)\]", code))
            query, key = np.random.default_rng(6).standard_normal((2, 64))
            score = query @ relative_rotation(m - n, 64) @ key
            assert abs(float(scores[0]) - score) < 1e-6
            found[m, n] = scores[0]
    assert len(found) == 4
    assert found[9, 6] != found[6, 9]


@TRUTHS.of_session
def the_heads_of_a_layer_fade_as_their_slopes_say(shown):
    heads = []
    for code, outputs in shown:
        if "our_heads" in code:
            heads.append(int(re.search(r"our_heads = (\d+)", code)[1]))
            weights = [float(number) for number in re.findall(r"\d\.\d*", printed(outputs))]
            assert len(weights) == heads[-1]
            slopes = 2.0 ** (-8 * np.arange(1, heads[-1] + 1) / heads[-1])
            if heads[-1] in (1, 8):
                ratio = np.exp(-slopes)
                np.testing.assert_allclose(weights, (1 - ratio) / (1 - ratio**41), atol=0.0051)
            else:  # no power of two: the slopes of 8 heads, then those between
                assert weights[:8] == sorted(weights[:8], reverse=True)
                assert weights[8] > weights[0]
    assert heads[:1] == [8]
    assert set(heads) == {1, 8, 12}


@TRUTHS.of_assignment
def the_pairs_that_made_a_turn_are_counted_and_steep_slopes_keep_near(measured):
    near = measured("alibi-reach")
    assert near[0] < 0.3
    assert near[-1] > 0.9
    assert (np.diff(near) > 0).all()
    frequencies = 10000.0 ** (-np.arange(32) / 32)
    turned = int((1023 * frequencies >= 2 * np.pi).sum())
    # The hands of an encoding are the same: of those that went round, each quarter has some.
    sines, cosines = sinusoidal_encoding(1024, 64).reshape(1024, 32, 2).T.swapaxes(1, 2)
    quarters = [(a * sines > 0) & (b * cosines > 0) for a in (1, -1) for b in (1, -1)]
    assert np.all([q.any(axis=0)[:turned] for q in quarters])
    assert 3999 / 4 < 1023
    return turned, 32 - turned
