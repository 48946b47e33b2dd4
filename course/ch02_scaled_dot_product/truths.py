"""What is told about chapter 2 in its quiz, session and assignment, worked out again."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from importlib import resources

import numpy as np

from attnbook import causal_mask, scaled_dot_product_attention, softmax
from course.quiz import code, numbers
from course.truths import Truths

TRUTHS = Truths()
rng = np.random.default_rng(0)


@TRUTHS.question
def shapes(question):
    sizes = numbers(question)
    query, key, value = (rng.standard_normal(sizes[i : i + 2]) for i in (0, 2, 4))
    found = scaled_dot_product_attention(query, key, value)
    assert found.weights.shape == (5, 7)
    return code(found.output.shape)


@TRUTHS.question
def constant(question):
    *value, first, root, added = numbers(question)[:5]
    scores, value = np.array([first, np.log(root)]), np.array(value, dtype=float)
    exps = np.exp(scores + added)  # no maximum subtracted
    output = exps / exps.sum() @ value
    np.testing.assert_allclose(softmax(scores) @ value, output)
    np.testing.assert_allclose(exps / exps.sum(), [1 / 4, 3 / 4])
    assert value.mean() == 6
    assert 709 < np.log(np.finfo(np.float64).max) < 710
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(np.float32(added)))
    return f"{output:.0f}"


@TRUTHS.question
def spread(question):
    d_k = numbers(question)[-1]
    query, key = rng.standard_normal((2, 20_000, d_k))
    products = (query * key).sum(axis=-1)
    assert np.isclose(products.std(), np.sqrt(d_k), rtol=0.02)
    assert np.isclose((products / np.sqrt(d_k)).std(), 1, rtol=0.02)
    assert round((products / d_k).std(), 2) == 0.06  # the feedback: scaled twice
    return f"{np.sqrt(d_k):.0f}"


@TRUTHS.question
def which_gradient(question):
    """Differences of the losses themselves, so that no formula of a gradient is trusted."""
    d_k, _, _, num_keys = numbers(question)
    rows = 300
    query, key = rng.standard_normal((rows, 1, d_k)), rng.standard_normal((rows, num_keys, d_k))
    scores, wanted = (query * key).sum(axis=-1), rng.integers(num_keys, size=rows)
    value = rng.standard_normal((rows, num_keys, num_keys))
    value /= np.linalg.norm(value, axis=-1, keepdims=True)
    each = np.arange(rows)

    def of_output(scores):
        output = (softmax(scores)[:, :, None] * value).sum(axis=1)
        return ((output - value[each, wanted]) ** 2).sum(axis=-1) / 2

    def cross_entropy(scores):
        return np.logaddexp.reduce(scores, axis=-1) - scores[each, wanted]

    def gradient(loss):
        nudges = 1e-5 * np.eye(num_keys)
        return np.stack([(loss(scores + e) - loss(scores - e)) / 2e-5 for e in nudges], axis=-1)

    norms = {loss: np.linalg.norm(gradient(loss), axis=-1) for loss in (of_output, cross_entropy)}
    assert np.median(norms[of_output]) < 1e-3
    assert norms[of_output].mean() > 0.01  # the feedback: the mean falls less
    assert np.isclose(np.median(norms[cross_entropy]), np.sqrt(2), rtol=0.01)
    y = np.eye(num_keys)[wanted]
    np.testing.assert_allclose(gradient(cross_entropy), softmax(scores) - y, atol=1e-6)
    return "output-only"


@TRUTHS.question
def nothing_to_see(question):
    scores = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(softmax(scores - 1e9), softmax(scores), rtol=1e-6)
    single = softmax(scores.astype(np.float32) - np.float32(1e9))
    np.testing.assert_allclose(single, np.full(3, 1 / 3), rtol=1e-6)
    none = np.zeros((1, 3), dtype=bool)
    ours = scaled_dot_product_attention(np.ones((1, 1)), scores[:, None], scores[:, None], none)
    assert (ours.weights == 0).all()
    with np.errstate(invalid="ignore"):
        e = np.exp(np.full(3, -np.inf) - -np.inf)
    assert np.isnan(e).all()
    return "as-without-a-mask"


@TRUTHS.question
def other_way_round(question):
    file = resources.files("attnbook") / "data/mask_conventions.json"
    golden = json.loads(file.read_text(encoding="utf-8"))
    rows = [row for row in golden["rows"] if row["function"] == "MultiheadAttention"]
    assert [row["recipe"] for row in rows] == ["~mask", "additive", "~mask"]
    mask = causal_mask(5)
    query, key = rng.standard_normal((2, 5, 3))

    def layer(attn_mask):
        """Return the weights of PyTorch's layer: `True` hides, and numbers are added."""
        hidden = {"bias": attn_mask} if attn_mask.dtype == float else {"mask": ~attn_mask}
        return scaled_dot_product_attention(query, key, key, **hidden).weights

    wanted = scaled_dot_product_attention(query, key, key, mask).weights
    written = [re.search("`(.+?)`", choice.text)[1] for choice in question.choices]
    right = [code for code in written if np.allclose(layer(eval(code, {"mask": mask})), wanted)]
    np.testing.assert_array_equal(mask.T ^ ~mask, np.eye(5, dtype=bool))  # each query itself, too
    assert mask.T[0].all()  # hidden: every key of the first query
    assert mask[-1].all()  # or of the last
    added = layer(mask.astype(float))
    assert (added > 0).all()  # hides nothing
    plain = scaled_dot_product_attention(query, key, key).weights
    heavier = added / plain  # of the seen against the unseen, in each row
    np.testing.assert_allclose(heavier[0, 0] / heavier[0, 1:], np.e)
    return [f"`{code}`" for code in right]


class Counted(float):
    """A number that counts how often numbers of its kind are multiplied."""

    total = 0

    def __mul__(self, other):
        Counted.total += 1
        return float(self) * float(other)

    __rmul__ = __mul__


@TRUTHS.question
def twice_as_long(question):
    def count(n, d_k=3, d_v=5):
        Counted.total = 0
        q, k, v = (np.frompyfunc(Counted, 1, 1)(np.ones((n, d))) for d in (d_k, d_k, d_v))
        softmax((q @ k.T).astype(float)) @ v
        return Counted.total

    bits, short, long = numbers(question)
    assert long == 2 * short
    assert count(7) == 7**2 * (3 + 5)
    query, key = np.ones((2, long, 3), dtype=f"float{bits}")
    size = (query @ key.T).nbytes
    assert size == 4 * (query[:short] @ key[:short].T).nbytes == 16e6
    return str(Fraction(count(14), count(7))), f"{size / 1e6:.0f}"


@TRUTHS.of_assignment
def the_reach_and_the_scores_of_windows(measured):
    position = np.arange(40)
    back = position[:, None] - position
    reach = np.linalg.matrix_power(((back >= 0) & (back < 4)).astype(int), 6)
    assert np.max(np.where(reach, back, 0)) == 18
    window, causal = sum(min(i + 1, 4) for i in range(4096)), sum(i + 1 for i in range(4096))
    return window, causal, round(causal / window)
