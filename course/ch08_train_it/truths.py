"""What is told about chapter 8 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from attnbook import attention_backward, check_gradient, scaled_dot_product_attention, softmax
from course.quiz import code, numbers
from course.truths import Truths, printed

TRUTHS = Truths(
    said={
        "our_scores, our_values": [
            "[0, 1, 2, 3], [3, 1, 4, 2]",
            "[2, 2, 2, 2], [1, 3, 5, 3]",
            "[-1000, 0, 1000, 1001], [9, 8, 1, 2]",
            "[5, -1, 0, 2], [7, 7, 7, 7]",
        ],
        "our_gradients": [
            "[1, 1, 1, 1, -1]",
            "[0.001, 0.001, 0.001, 0.001, -0.001]",
            "[5, 0, 0, 0, 0]",
            "[0, 0, 3, -3, 3]",
        ],
    }
)


def decimals(text):
    """Return the numbers with a point in a text."""
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def cross_entropy(logits, targets):
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return -np.take_along_axis(logs, targets[..., None], axis=-1).mean()


@TRUTHS.question
def first_loss(question):
    rng = np.random.default_rng(0)
    (vocab,) = numbers(question)
    targets = rng.integers(0, vocab, 1000)
    loss = cross_entropy(np.zeros((1000, vocab)), targets)
    # What knows nothing, and is a little unsure of that, is not far from it.
    unsure = cross_entropy(0.1 * rng.standard_normal((1000, vocab)), targets)
    assert abs(unsure - loss) < 0.05
    bits = loss / np.log(2)
    known = sorted([1 - 1 / vocab, bits, loss, 1 / vocab])
    assert sorted(decimals(c.text)[0] for c in question.choices) == [round(n, 2) for n in known]
    return (f"{loss:.2f}",)


@TRUTHS.question
def like_the_average(question):
    rng = np.random.default_rng(0)
    half, d_output = 0.5, rng.standard_normal((1, 3))
    value = rng.standard_normal((4, 3))
    weights = np.array([half, 0.1, 0.15, 0.25])
    value[0] = weights[1:] @ value[1:] / (1 - half)  # so it is the average of all, too
    np.testing.assert_allclose(weights @ value, value[0])
    key = np.log(weights)[:, None]
    one = np.ones((1, 1))
    _, d_scores, d_value = attention_backward(d_output, one, key, value, scale=1)
    assert abs(d_scores[0, 0]) < 1e-15 < 0.01 < np.abs(d_scores[1:]).max()
    np.testing.assert_allclose(d_value[0], half * d_output[0])
    assert abs(half * (1 - half) * (d_output @ value[0])[0]) > 0.01  # nor that
    return "zero"


@TRUTHS.question
def all_tokens_requests(question):
    rng = np.random.default_rng(0)
    *x_shape, d_model, d_k = numbers(question)
    assert x_shape.pop() == d_model
    x, d_query = rng.standard_normal((*x_shape, d_model)), rng.standard_normal((*x_shape, d_k))
    w_q = rng.standard_normal((d_model, d_k))
    tokens = int(np.prod(x_shape))
    outer = np.einsum("bni,bnj->bnij", x, d_query).reshape(tokens, d_model, d_k)
    place, step = (3, 5), 1e-4
    moved = w_q.copy()
    moved[place] += step
    change = ((x @ moved - x @ w_q) * d_query).sum() / step
    np.testing.assert_allclose(outer.sum(axis=0)[place], change, atol=1e-6)
    assert abs(outer.mean(axis=0)[place] - change) > 0.1
    shapes = [re.search(r"`(\(.+?\))`", c.text)[1] for c in question.choices]
    right = [c for c in question.choices if c.right]
    assert shapes.count(code(w_q.shape)[1:-1]) == 2
    assert code(w_q.shape) in right[0].text
    assert str(tokens) in right[0].text
    return "summed"


@TRUTHS.question
def twice_in_a_text(question):
    tokens = np.array(json.loads(re.search(r"d_table\[(\[.+?\])\]", question.text)[1]))
    gradients = np.array([1.0, 10, 100])
    assert {1, 10, 100} <= set(numbers(question))
    table, right = np.zeros(6), np.zeros(6)
    table[tokens] += gradients
    np.add.at(right, tokens, gradients)
    (row,) = {token for token in tokens.tolist() if tokens.tolist().count(token) > 1}
    assert right[row] == 101 != table[row]
    return (f"{table[row]:.0f}",)


@TRUTHS.question
def first_step(question):
    small, rate = decimals(question.text)
    for gradient in (small, 100.0):
        m, v = 0.1 * gradient, 0.001 * gradient**2
        move = rate * (m / (1 - 0.9)) / (np.sqrt(v / (1 - 0.999)) + 1e-8)
        np.testing.assert_allclose(move, rate, rtol=2e-4)
        np.testing.assert_allclose(rate * m / np.sqrt(v), 0.0095, rtol=2e-3)  # not corrected
    wrong = {0.0000003, 0.3, 0.0095, 0.0003}
    told = {number for c in question.choices for number in decimals(c.text)}
    assert told == wrong | {rate}
    return (str(rate),)


@TRUTHS.question
def put_to_a_test(question):
    """Two heads have the same weights on the same keys; the output of one owes nothing to them."""
    rng = np.random.default_rng(0)
    (weight,) = decimals(question.text)
    scores = np.log([weight / 2, weight / 2, (1 - weight) / 2, (1 - weight) / 2])
    year = np.array([True, True, False, False])

    def attend(values):
        return scaled_dot_product_attention(np.ones((1, 1)), scores[:, None], values, scale=1)

    read = rng.standard_normal((4, 3))
    for_show = read.copy()
    for_show[year] = 1.0  # says the same of every date
    other, other_for_show = rng.standard_normal((4, 3)), for_show.copy()
    told = []
    for values, others in ((read, other), (for_show, other_for_show)):
        first, again = attend(values), attend(values)
        np.testing.assert_array_equal(first.output, again.output)
        np.testing.assert_allclose(first.weights[:, year].sum(), weight)
        np.testing.assert_allclose(first.weights.sum(), 1)
        exchanged = attend(np.where(year[:, None], others, values)).output
        told.append(np.abs(exchanged - first.output).max() > 0.1)
    assert told == [True, False]
    return "other-year"


@TRUTHS.question
def own_answers(question):
    share, dates = numbers(question)
    rng = np.random.default_rng(0)
    share, length, size = share / 100, 10, 12
    shares = []
    targets = rng.integers(0, size, (dates, length))
    for error in (0.002, 0.0051, 0.05):
        # Any function of what was written will do: here a table of right answers, with errors that
        # depend on all of it.
        seed = int(1e6 * error)

        def choice(date, written, seed=seed, error=error):
            at = len(written)
            luck = np.random.default_rng([seed, date, *written]).random()
            right = written == targets[date, :at].tolist()
            return int(targets[date, at]) if right and luck > error else (at * 7 + date) % size

        forced, own = set(), set()
        for date in range(dates):
            row, written = targets[date].tolist(), []
            if all(choice(date, row[:at]) == row[at] for at in range(length)):
                forced.add(date)
            for _ in range(length):
                written.append(choice(date, written))
            if written == row:
                own.add(date)
        assert forced == own
        shares.append(len(own) / dates)
    assert shares[0] > shares[1] > shares[2]
    assert abs(shares[1] - share) < 0.03
    assert abs(0.95**10 - 0.6) < 0.01
    return "same-dates"


@TRUTHS.question
def nobody_noticed(question):
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((6, 4)), rng.standard_normal((6, 3))
    start = [rng.standard_normal(shape) / 2 for shape in ((4, 5), (4, 5), (4, 3))]

    def forward(w_q, w_k, w_v):
        return scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)

    def backward(d_output, w_q, w_k, w_v, average=True):
        query, key, weights = x @ w_q, x @ w_k, forward(w_q, w_k, w_v).weights
        d_weights = d_output @ (x @ w_v).T
        d_scores = weights * d_weights
        if average:
            d_scores -= weights * d_scores.sum(axis=1, keepdims=True)
        d_scores /= np.sqrt(5)
        return x.T @ (d_scores @ key), x.T @ (d_scores.T @ query), x.T @ (weights.T @ d_output)

    def wrong(d_output, *parameters):
        return backward(d_output, *parameters, average=False)

    losses = {}
    for step in (backward, wrong):
        parameters, losses[step] = [w.copy() for w in start], []
        for _ in range(400):
            error = forward(*parameters).output - target
            losses[step].append((error**2).sum())
            gradients = step(2 * error, *parameters)
            for w, gradient in zip(parameters, gradients, strict=True):
                assert gradient.shape == w.shape  # the shapes say nothing
                w -= 0.01 * gradient
    assert losses[wrong][0] == losses[backward][0]  # nor does the first loss
    assert losses[wrong][-1] < 0.8 * losses[wrong][0]  # nor the curve
    assert losses[wrong][-1] > losses[backward][-1]
    check_gradient(forward, backward, *start)
    with pytest.raises(AssertionError):
        check_gradient(forward, wrong, *start)
    return "differences"


@TRUTHS.of_session
def the_gradients_of_a_row_are_the_class_s_and_sum_to_zero(shown):
    count = 0
    for source, outputs in shown:
        if "our_scores" in source:
            match = re.search(r"our_values = (\[.+?\]), (\[.+?\])", source)
            scores, values = (np.array(json.loads(match[i]), float) for i in (1, 2))
            lines = printed(outputs).strip().split("\n")
            table = np.array([[float(n) for n in re.findall(r"[-+]?\d+\.?\d*", x)] for x in lines])
            weights = softmax(scores)
            expected = weights * (values - weights @ values)
            np.testing.assert_allclose(table[:, 1], weights, atol=6e-4)
            np.testing.assert_allclose(table[:, 3], expected, atol=6e-5)
            assert abs(table[:, 3].sum()) < 3e-4
            assert table[:, [0, 2]].tolist() == np.stack([scores, values], axis=1).tolist()
            count += 1
    assert count == 5  # the cell in its place, then with all that is said


@TRUTHS.of_session
def adam_goes_by_the_signs_of_gradients_and_not_by_their_size(shown):
    moves = []
    for source, outputs in shown:
        if "our_gradients" in source:
            gradients = json.loads(re.search(r"our_gradients = (\[.+?\])", source)[1])
            lines = printed(outputs).strip().split("\n")
            told = [[float(n) for n in re.findall(r"[-+]?\d+\.?\d*", x)] for x in lines]
            assert [row[0] for row in told] == gradients
            np.testing.assert_allclose(
                np.cumsum([r[1] for r in told]), [r[2] for r in told], atol=3e-4
            )
            moves.append([row[1] for row in told])
    usual, again, small, once, late = moves
    assert usual == again
    np.testing.assert_allclose(small, usual, atol=2e-4)  # but for epsilon
    np.testing.assert_allclose(usual[:4], -0.1, atol=1e-4)
    assert -0.1 < usual[4] < 0  # the average still has the old direction
    assert once[0] == -0.1
    assert (np.diff(once) > 0).all()
    assert once[-1] < 0  # it goes on, more and more slowly
    assert late[:2] == [0, 0]
    assert late[2] < 0


@TRUTHS.of_assignment
def a_first_loss_and_what_adam_makes_of_a_sum(measured):
    rng = np.random.default_rng(0)
    vocab, batch = 40, 64
    loss = cross_entropy(np.zeros((7, vocab)), np.arange(7))
    large = cross_entropy(9 * rng.standard_normal((999, vocab)), rng.integers(0, vocab, 999))
    assert large > 9.1 > 2 * loss
    places = []
    for factor in (1, batch):
        gradients, m, v, place = np.random.default_rng(3).standard_normal(50), 0, 0, 0.0
        for step, g in enumerate(factor * gradients, 1):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            place -= 0.003 * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        places.append(place)
    np.testing.assert_allclose(*places, rtol=1e-5)
    return vocab, batch, round(float(loss), 2)


@TRUTHS.of_assignment
def what_is_said_of_shares_and_changes_holds_in_every_class(measured):
    share, moved = measured("swapped-fields")
    most = share.argmax()
    assert share[most] > 0.4 > 0.3 > np.delete(share, most).max()
    assert most == moved.argmin()
    assert moved[most] < 0.1 < np.delete(moved, most).min()
    return (0.4,)
