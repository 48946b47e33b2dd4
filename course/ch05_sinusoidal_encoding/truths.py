"""What is told about chapter 5 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np

from attnbook import (
    relative_rotation,
    scaled_dot_product_attention,
    self_attention,
    sinusoidal_encoding,
)
from attnbook.pretrained import minilm
from course.quiz import numbers
from course.truths import Truths, printed

TRUTHS = Truths(
    said={
        "our_sentence": [
            '"a head that counts back"',
            '"Oh!"',
            '"Zwölf Boxkämpfer: quer über " * 9',
        ],
        "our_turn": ["-1", "-2"],
    }
)
rng = np.random.default_rng(0)


@TRUTHS.question
def who_is_before(question):
    orders = list(itertools.permutations("abcde"))
    assert len(orders) in numbers(question)
    before = ["nobody" if o[0] == "b" else o[o.index("b") - 1] for o in orders]
    best = max(map(before.count, set(before)))
    assert best == 24
    return str(Fraction(best, len(orders)))


@TRUTHS.question
def first_row(question):
    row = sinusoidal_encoding(1, 4)[0]
    return str([int(entry) for entry in row])


@TRUTHS.question
def frequency(question):
    far = sinusoidal_encoding(2, 8)[1]
    omega = np.arctan2(far[2], far[3])  # the hand of pair 1 after one step
    assert np.isclose(10_000 ** (-1 / 8), 0.32, atol=0.005)
    assert np.isclose(10_000 ** (-3 / 8), 0.03, atol=0.005)
    return f"{omega:.1f}"


@TRUTHS.question
def moving_on(question):
    here, there, other = numbers(question)
    encoding = sinusoidal_encoding(200, 10)
    rotation = relative_rotation(there - here, 10)
    np.testing.assert_allclose(rotation @ encoding[here], encoding[there])
    assert other * there / here == 125
    for j, (sine, cosine) in enumerate(encoding[there - here].reshape(5, 2)):
        block = rotation[2 * j : 2 * j + 2, 2 * j : 2 * j + 2]
        np.testing.assert_allclose(block, [[cosine, sine], [-sine, cosine]])
    flip = np.diag([-1.0, 1.0] * 5)  # "a rotation": a reflection also takes the one to the other
    reflection = relative_rotation(here + there, 10) @ flip
    np.testing.assert_allclose(reflection @ encoding[here], encoding[there])
    assert not np.isclose(encoding, reflection @ encoding[other]).all(axis=1).any()
    (at,) = np.flatnonzero(np.isclose(encoding, rotation @ encoding[other]).all(axis=1))
    return str(at)


@TRUTHS.question
def without_transpose(question):
    encoding, back = sinusoidal_encoding(20, 16), relative_rotation(-1, 16)
    looks = {}
    for name, w_q in (("with", back.T), ("without", back), ("identity", np.eye(16))):
        found = scaled_dot_product_attention(encoding @ w_q, encoding, encoding, scale=20)
        looks[name] = found.weights.argmax(axis=-1)[1:-1] - np.arange(1, 19)
    assert (looks["with"] == -1).all()
    assert (looks["identity"] == 0).all()
    assert (looks["without"] == 1).all()
    return "next-token"


@TRUTHS.question
def wrong_axis(question):
    x, encoding = rng.standard_normal(numbers(question)[:3]), sinusoidal_encoding(99, 8)

    def wrong(x):
        return x + encoding[: len(x), None]

    def right(x):
        return x + encoding[: x.shape[1]]

    def outputs(x, add):
        return self_attention(add(x), *[np.eye(8)] * 3).output

    def merely_swapped(add):
        swap = [1, 0, 2, 3, 4]
        return np.allclose(outputs(x[:, swap], add), outputs(x, add)[:, swap])

    added, changed = wrong(x) - x, x + np.eye(5)[2][:, None]
    assert added.shape == x.shape
    np.testing.assert_allclose(added, np.broadcast_to(added[:, :1], x.shape))  # one for all
    np.testing.assert_allclose(np.linalg.norm(added, axis=-1), 2)
    for add in (wrong, right, np.copy):
        assert (abs(outputs(changed, add) - outputs(x, add)).max(axis=-1) > 1e-12).all()
    assert not merely_swapped(right)
    assert merely_swapped(wrong)
    return "swap"


@TRUTHS.question
def learned_table(question):
    one, other = np.reshape(numbers(question), (2, 2))
    assert np.ptp(one) == np.ptp(other)
    for d_model in (2, 10, 384):
        table = sinusoidal_encoding(128, d_model)
        assert np.isclose(table[one[0]] @ table[one[1]], table[other[0]] @ table[other[1]])
    rows = minilm.position_table()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = [unit[i] @ unit[j] for i, j in (one, other)]
    (both,) = (choice for choice in question.choices if choice.id == "both")
    assert re.findall(r"-?0\.\d\d", both.feedback) == [f"{c:.2f}" for c in cosines]
    return "formula"


@TRUTHS.of_session
def the_built_head_reads_the_letter_that_is_asked_for(shown):
    turns = []
    for code, outputs in shown:
        if "our_turn" in code:
            back = int(re.search(r"our_turn = -(\d)", code)[1])
            sentence, read = printed(outputs).removesuffix("\n").split("\n")
            assert read == sentence[0] * back + sentence[:-back]
            turns.append(back)
    assert sorted(turns) == [1, 1, 1, 1, 2, 2, 2]


@TRUTHS.of_assignment
def what_is_said_of_the_noisy_head_holds_in_every_class(measured):
    kept = measured("noisy-head")  # sizes from 0 to 4 in steps of 1/40
    assert 0.2 < kept[80] < 0.5
    assert kept[160] < 0.2
    return (round(kept[0], 2),)
