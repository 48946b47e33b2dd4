"""The page of symptoms: what it says catches a mistake does catch it, and accepts what is right."""

import contextlib
import json
import re

import numpy as np
import pytest

import attnbook
from attnbook.exercises import _all_exercises
from course import why_wrong
from course.chapters import ROOT, chapters, without_comments
from tools.train_translator import VARIANTS, Variant, begin, judged, steps

PAGE = why_wrong.PATH.read_text(encoding="utf-8")
TABLE, LABELLED = why_wrong.parts()
SYMPTOMS = [text for text in LABELLED.values() if "\n## " in text]
TEXTS = {name: text for name, text in LABELLED.items() if "\n### " in text}
SET_UP = why_wrong.blocks(TABLE)["set-up"]
ENTRIES = why_wrong.entries()
LABELS = {label for chapter in chapters() for label in chapter.sections}
LABELS |= {f"ex-{name}" for name in _all_exercises()}
every_entry = pytest.mark.parametrize("name", ENTRIES)


def run(*code, seed=0):
    """Run pieces of code one after the other, as a reader does, and return what they define."""
    names = {}
    with np.errstate(all="ignore"):  # a wrong answer may divide by zero
        for piece in (SET_UP.replace("default_rng(0)", f"default_rng({seed})"), *code):
            exec(piece, names)
    return names


@pytest.mark.parametrize("seed", range(3))
@every_entry
def test_the_property_accepts_what_is_right_and_catches_what_is_wrong(name, seed):
    wrong, right, catch = (ENTRIES[name].get(kind, "") for kind in ("wrong", "right", "catch"))
    run(right, catch, seed=seed)
    run(right, wrong, seed=seed)
    with pytest.raises(AssertionError):
        run(right, wrong, catch, seed=seed)


# Exercises whose answers take what the functions of the page take.
ASKED = {
    "softmax": "softmax",
    "scores": "score",
    "masked-softmax": "weigh",
    "split-heads": "split_heads",
    "merge-heads": "merge_heads",
    "softmax-backward": "softmax_backward",
    "adam-step": "adam_step",
}


@pytest.mark.parametrize("exercise", ASKED)
def test_the_property_accepts_other_right_answers(exercise):
    banks = (chapter.part("exercise_answers").BANK for chapter in chapters())
    answers = [answer for bank in banks for answer in bank.right[exercise]]
    asked = [code for code in ENTRIES.values() if f"def {ASKED[exercise]}(" in code["wrong"]]
    assert len(answers) >= 4
    assert asked
    for answer in answers:
        for code in asked:
            names = run(code.get("right", ""))
            names[ASKED[exercise]] = lambda *given, right=answer: np.asarray(right(*given))
            # An answer may be written for as many axes as the exercise has.
            expected = contextlib.suppress(ValueError, TypeError, IndexError)
            with expected, np.errstate(all="ignore"):
                exec(code["catch"], names)


# What an entry says of its mistake besides: each holds once the wrong code has run.
CLAIMS = {
    "why-overflow": """
assert np.isfinite(softmax(np.array([709.0]))) and np.isnan(softmax(np.array([710.0])))
with np.errstate(all="ignore"):
    single = [np.isfinite(np.exp(np.float32(each))) for each in (88, 89)]
assert single == [True, False]""",
    "why-maximum-of-all": """
assert np.isnan(softmax(np.array([[0.0], [-5000.0]]))).ravel().tolist() == [False, True]""",
    "why-masked-maximum": """
hidden = np.where(mask, scores, 1e4)
assert (np.exp(hidden - 1e4) * mask == 0).all()""",
    "why-empty-row": """
empty = weigh(scores, padding_mask([7, 4, 0]))
assert np.isnan(empty[2]).all() and np.isfinite(empty[:2]).all()""",
    "why-zero-times-infinity": "assert np.isnan(weigh(scores, mask)).all()",
    "why-hidden-nan": """
dirty = np.where(mask.swapaxes(-1, -2), value, np.nan)
assert np.isnan(attention(query, key, dirty, mask)[0][1:]).all()""",
    "why-softmax-axis": "assert np.allclose(softmax(scores).sum(axis=-2), 1)",
    "why-keepdims": """
square, e = np.eye(7), np.exp(np.eye(7) - 1)
assert np.allclose(softmax(square), e / e.sum(axis=1)[None, :])
try:
    softmax(scores[0])
except ValueError:
    pass
else:
    raise AssertionError
try:
    softmax(rng.standard_normal((3, 7, 7)))
except ValueError:
    pass
else:
    raise AssertionError
one = rng.standard_normal((1, 7, 7))  # a batch of one
assert softmax(one).shape == one.shape and not np.allclose(softmax(one).sum(axis=-1), 1)""",
    "why-mask-after": """
assert (weigh(scores, mask)[1, :, 4:] == 0).all()
assert not np.allclose(weigh(scores + 3 * ~mask, mask), weigh(scores, mask))""",
    "why-scaled-late": """
assert np.allclose(attention(query, key, value)[1].sum(axis=-1), 1 / np.sqrt(5))""",
    "why-integers": """
assert (softmax(np.array([[2, 1, 0]])) == 0).all()
assert np.allclose(softmax(scores).sum(axis=-1), 1)""",
    "why-epsilon": """
assert (softmax(scores - 1000) == 0).all()
assert np.exp(-25.0) > 0 and np.isclose(softmax(np.full(7, -25.0)).sum(), 0.09, atol=0.005)""",
    "why-precedence": "assert np.allclose(score(query, key), query @ key.swapaxes(1, 2) / 5 / 2)",
    "why-keys-mixed": """
assert attention(query, key, key)[0].shape == query.shape
assert np.array_equal(attention(query, key, key)[0], attention(query, key, key + 1)[0])""",
    "why-raw-values": """
assert np.array_equal(*(self_attention(x, w_q, w_k, w).output for w in (w_v, 0 * w_v)))""",
    "why-pairs": """
scores = additive_scores(key, key, np.eye(5), np.eye(5), np.ones(5))
assert np.allclose(scores, np.tanh(2 * key).sum(axis=-1))""",
    "why-in-place": """
first, second = (attention(query, key, value).weights for _ in range(2))
assert not np.allclose(first, second)""",
    "why-one-ahead": """
moved = influence(lambda t: attention(t, t, t, causal_mask(7)).output, x[0], rng)
assert np.array_equal(moved, np.tri(7, 7, 1))
def deep(t):
    inner = attention(t, t, t, causal_mask(7)).output
    return attention(inner, inner, inner, causal_mask(7)).output
assert np.array_equal(influence(deep, x[0], rng), np.tri(7, 7, 2))""",
    "why-added": """
seen, hidden = weigh(np.zeros(2), np.array([True, False]))
assert np.isclose(seen / hidden, np.e)""",
    "why-finite-fill": """
assert (weigh(scores, mask)[1, :, 4:] == 0).all()
assert np.allclose(weigh(scores - 4e4, mask)[1, :, 4:].sum(axis=-1), 1)
high = scores[1] - 4e4
high[:, 0] = 0  # one visible score far above the fill
assert (weigh(high, mask[1])[:, 4:] == 0).all()""",
    "why-empty-uniform": "assert np.allclose(weigh(scores, np.zeros(7, dtype=bool)), 1 / 7)",
    "why-combined": "assert (combined(causal_mask(7), mask) == (causal_mask(7) | mask)).all()",
    "why-unscaled": """
for d_k in (16, 256):
    spread = score(*rng.standard_normal((2, 101, d_k))).std()
    assert np.isclose(spread, np.sqrt(d_k), rtol=0.1)
weights = softmax(score(*rng.standard_normal((2, 101, 256))))
assert np.median(weights.max(axis=-1)) > 0.95
for keys in (10, 100, 1000):
    q, k = rng.standard_normal((400, 64)), rng.standard_normal((keys, 64))
    assert np.mean(softmax(score(q, k)).max(axis=-1) > 0.5) > 0.6
def passed(keys, scale):  # the median norm of softmax's Jacobian at a query's scores
    q, k = rng.standard_normal((101, 256)), rng.standard_normal((keys, 256))
    each = softmax(scale * score(q, k))
    return np.median([np.linalg.norm(np.diag(w) - np.outer(w, w)) for w in each])
assert passed(5, 1) < 0.1 * passed(5, 1 / 16)
assert passed(1000, 1) > 0.5 * passed(1000, 1 / 16)  # with many keys it is not so""",
    "why-scaled-twice": """
scores = query @ key.swapaxes(-1, -2) / 5
assert np.allclose(attention(query, key, value).weights, softmax(scores))""",
    "why-softmax-twice": """
weights = weigh(100 * scores, mask)
assert (weights.max(axis=-1) <= np.e * weights.min(axis=-1) + 1e-12).all()
assert (weights > 0).all()""",
    "why-drown": """
assert np.isclose(np.mean(sinusoidal_encoding(101, 512) ** 2), 1 / 2)
for drawn in (0.02, 1 / np.sqrt(512)):
    words = drawn * rng.standard_normal((101, 512))
    words_alone, places = (np.mean(each**2) for each in (words, sinusoidal_encoding(101, 512)))
    assert words_alone < 0.01 * places and (drawn == 0.02 or 512 * words_alone > 1.5 * places)
ids, at = rng.integers(50, size=101), sinusoidal_encoding(101, 512)
table = rng.standard_normal((50, 512))
for std, words_win in ((0.02, False), (1 / np.sqrt(512), False), (1.0, True)):
    x = std * table[ids] + at
    pairs = ~np.eye(101, dtype=bool)
    word, place = (np.corrcoef((x @ x.T)[pairs], by[pairs])[0, 1] ** 2
                   for by in (ids[:, None] == ids, at @ at.T))
    assert (word > 2 * place) if words_win else (place > 2 * word)""",
    "why-no-average": """
weights, d_weights = softmax(scores), rng.standard_normal(scores.shape)
assert np.allclose(softmax_backward(d_weights + 3, weights).sum(axis=-1), 3 +
                   softmax_backward(d_weights, weights).sum(axis=-1))
average = (weights * d_weights).sum(axis=-1, keepdims=True)
assert abs(softmax_backward(average + np.zeros_like(weights), weights)).max() > 0.1
off = {"weighted": average, "plain": d_weights.mean(axis=-1, keepdims=True)}
sums = {name: abs((weights * (d_weights - each)).sum(axis=-1)) for name, each in off.items()}
assert sums["weighted"].max() < 1e-9 and sums["plain"].mean() > 0.1""",
    "why-left-out": """
d_output = rng.standard_normal((3, 11, 5))
d_query, d_key, d_value = attention_backward(d_output, query, key, key)
assert np.array_equal(through_memory(d_output, key), d_value) and abs(d_key).max() > 0.1""",
    "why-repeated-tokens": """
d_table = embedding_backward(x[0, :4], np.array([2, 0, 2, 2]), 3)
assert np.array_equal(d_table, [x[0, 1], np.zeros(10), x[0, 3]])
np.add.at(d_table := np.zeros((3, 10)), np.array([2, 0, 2, 2]), x[0, :4])
assert np.allclose(d_table[2], x[0, 0] + x[0, 2] + x[0, 3])""",
    "why-first-loss": """
normed = attnbook.rms_norm(rng.standard_normal((1009, 10)), np.ones(10))
logits = normed @ draw_output(rng, 10, 997)
assert np.isclose(logits.std(), np.sqrt(10), rtol=0.1)
loss, _ = cross_entropy(logits, rng.integers(997, size=1009))
assert loss - np.log(997) > 3""",
    "why-padded-loss": """
logits, real = rng.standard_normal((3, 7, 10)), mask[:, 0]
sure = np.where(real[..., None], logits, 50 * np.eye(10)[0])
told, right = loss(sure, 3 * real, real), cross_entropy(sure, 3 * real, real)[0]
assert np.isclose(told, right * real.mean())""",
    "why-not-divided": """
logits, targets = rng.standard_normal((7, 5)), np.arange(7) % 5
d_logits = cross_entropy(logits, targets)[1]
right = attnbook.cross_entropy(logits, targets)[1]
assert np.allclose(d_logits, 7 * right)
begin = attnbook.Adam.start(logits)
one, two = (begin.step(logits, d, 0.01)[0] for d in (d_logits, right))
assert np.allclose(one, two, atol=1e-7) and not np.allclose(one, logits, atol=1e-3)""",
    "why-adam-start": """
at, m, v = np.zeros(1), np.zeros(1), np.zeros(1)
moves = []
for step in range(1, 11):
    before = at
    at, m, v = adam_step(at, np.ones(1), m, v, step, 1.0)
    moves.append(before - at)
assert 3 < moves[0] < 3.5 and 6 < moves[-1] < 7
assert 0.6 < 1 - 0.999**1000 < 0.7
assert 1 - 0.999**1000 < 2 / 3""",
    "why-transpose": """
try:
    score(query, key)
except ValueError as error:
    assert "matmul" in str(error)
else:
    raise AssertionError""",
    "why-fixed-axis": "assert np.allclose(softmax(scores[1]), attnbook.softmax(scores[1]))",
    "why-first-mask": "assert np.allclose(weigh(scores, mask)[0], weigh(scores[:1], mask[:1])[0])",
    "why-queries-masked": """
mask = padding_mask(np.array([7, 4]), 7)
assert (weigh(scores[:2, :7], mask)[1, 4:] == 0).all()
assert (weigh(scores[:2, :7], mask)[1, :4, 4:] > 0).all()""",
    "why-split": """
assert np.array_equal(split_heads(x, 2).reshape(x.shape), x)
assert np.array_equal(split_heads(x, 1), attnbook.split_heads(x, 1))""",
    "why-merge": """
assert np.array_equal(merge_heads(x.reshape(3, 2, 7, 5)), x)
assert np.array_equal(merge_heads(x[:, None]), x)""",
    "why-in-turn": """
merged, right = (merge(split_heads(x, 2)) for merge in (merge_heads, attnbook.merge_heads))
assert np.array_equal(np.sort(merged), np.sort(right))
assert np.array_equal(merge_heads(x[:, None]), x)
interleaved = x.reshape(3, 7, 5, 2).transpose(0, 3, 1, 2)
assert np.array_equal(merge_heads(interleaved), x)""",
    "why-scale-of-whole": """
q, k = (split_heads(x @ w, 2) for w in (w_q, w_k))
assert np.allclose(layer(x).weights, softmax(score(q, k) / np.sqrt(2)))""",
    "why-head-axis": """
heads = rng.standard_normal((2, 2, 5, 7))
assert (weigh_heads(heads, padding_mask([4, 7]))[:, 0, :, 4:] == 0).all()
try:
    weigh_heads(rng.standard_normal((3, 2, 5, 7)), mask)
except ValueError:
    pass
else:
    raise AssertionError
assert weigh_heads(heads, padding_mask([4, 7])).shape == heads.shape
one = weigh_heads(rng.standard_normal((3, 1, 5, 7)), mask)  # one head: with the mask of each
assert one.shape == (3, 3, 5, 7) and (one[0, 2, :, 2:] == 0).all()""",
    "why-tile": """
assert np.array_equal(folded(mask, 2)[1], mask[1])
heads = split_heads(x, 2)
right = attention(heads, heads, heads, mask[:, None]).weights
beside = [heads.reshape(6, 7, 5)] * 3  # the heads of a sequence are neighbours
along = [np.concatenate(np.split(x, 2, axis=2))] * 3  # the sequences are
repeated = np.repeat(mask, 2, axis=0)
for folds, fits, fails, back in (
    (beside, repeated, folded(mask, 2), lambda w: w.reshape(3, 2, 7, 7)),
    (along, folded(mask, 2), repeated, lambda w: w.reshape(2, 3, 7, 7).swapaxes(0, 1)),
):
    assert np.allclose(back(attention(*folds, fits).weights), right)
    assert not np.allclose(back(attention(*folds, fails).weights), right)""",
    "why-groups": """
one = layer.keys(x)[:, :1]
assert np.array_equal(expanded(one, 4), np.repeat(one, 4, axis=1))
assert expanded(layer.keys(x), 4).shape == (3, 4, 7, 5)""",
    "why-eight": """
wide = np.tile(query, 13)[..., :64]
assert np.allclose(score(wide, wide), wide @ wide.swapaxes(1, 2) / np.sqrt(64))""",
    "why-odd": """
norms = np.linalg.norm(encode(20_000, 7), axis=1)
assert np.allclose(norms[:10], norms[0], rtol=1e-3) and np.ptp(norms) > 0.1""",
    "why-causal-cross": """
weights = cross_attention(x, x, w_q, w_k, w_v).weights
assert ((weights[:, 0] > 0).sum(axis=-1) == 1).all()
assert ((weights[:, 1] > 0).sum(axis=-1) == 2).all()""",
    "why-aligned": "assert causal_for(1, 7).tolist() == [[True] + [False] * 6]",
    "why-buffer": """
room = np.pad(key[0], ((0, 6), (0, 0)))
weights = attend_cached(query[0], room, room, 7).weights
assert (weights[:, 7:] > 0).all()""",
    "why-window-positions": """
whole = score(*map(apply_rotary, (x[0], x[0])))  # nothing is dropped yet
assert np.allclose(scores_in_window(x[0, 6:], x[0], 6), whole[6:])
one, two = (apply_rotary(x[0, 6:], [6]), apply_rotary(x[0, 4:], [0, 1, 2]))  # four dropped
assert np.allclose(scores_in_window(x[0, 6:], x[0, 4:], 6), score(one, two))
assert np.allclose(score(one, two), score(apply_rotary(x[0, 6:], [10]), apply_rotary(
    x[0, 4:], [4, 5, 6])))  # as though the query stood four further on""",
    "why-sink": """
from attnbook.pretrained.smollm2 import window_loss as loss
lost, with_first = (loss(64, kept)[1:].mean() - loss()[1:].mean() for kept in ([], [0]))
assert 0.85 < lost < 0.95 and 0.235 < with_first < 0.245""",
    "why-correction": """
total = step(*step(-np.inf, 0.0, np.zeros(3)), np.ones(4))[1]
assert total == 3 + 4 > 3 * np.exp(0 - 1) + 4
assert 3 * np.exp(1 - 0) + 4 > total and np.isnan(0.0 * np.exp(1 - -np.inf))  # upside down""",
    "why-output-kept": """
_, total, mixed = step(7.0, 1.0, 1.0, np.arange(1.0, 8), np.ones(7))
assert np.isclose(mixed / total, 1)
_, total, mixed = step(0.0, 1.0, 1.0, np.arange(1.0, 8), np.ones(7))
assert mixed > total
def mixture(scores, value):
    found = -np.inf, 0.0, 0.0
    for block in range(0, len(scores), 8):
        found = step(*found, scores[block : block + 8], value[block : block + 8])
    return found[2] / found[1]
drawn = rng.standard_normal((100, 64))  # of values that are not equal it need not show
assert np.mean([mixture(each, np.ones(64)) > 1.01 for each in drawn]) > 0.7
values = rng.standard_normal((100, 64))
mixed = np.array(list(map(mixture, drawn, values)))
assert (mixed < values.max(axis=1)).mean() > 0.95 and (mixed > values.min(axis=1)).mean() > 0.95""",
    "why-hidden-block": """
first = step(-np.inf, 0.0, np.full(3, -np.inf))
assert np.isnan(first[1]) and np.isnan(step(*first, np.zeros(3))[1])""",
    "why-logsumexp": """
assert np.isposinf(logsumexp(scores + 1000)).all() and np.isneginf(logsumexp(scores - 1000)).all()
assert np.allclose(logsumexp(scores), np.log(np.exp(scores).sum(axis=-1)))""",
    "why-half-total": """
assert total(np.ones(2048)) == total(np.ones(4099)) == 2048
assert np.float16(2048) + np.float16(1) == 2048""",
    "why-half-scores": """
assert np.finfo(np.float16).max == 65504 and 64 * 32 * 32 == 65536""",
    "why-half-positions": """
assert np.array_equal(positions(2049), np.arange(2049))
assert (positions(4099)[2049:] % 2 == 0).all()""",
    "why-no-positions": """
forth, back = (layer(t).output for t in (x, x[:, ::-1]))
assert np.allclose(back, forth[:, ::-1])""",
    "why-along-batch": """
assert np.allclose(add_positions(x) - x, sinusoidal_encoding(3, 10)[:, None])""",
    "why-half-exponent": """
right = attnbook.sinusoidal_encoding(7, 10, base=100)
assert np.allclose(sinusoidal_encoding(7, 10), right)
for d_model in (64, 512):  # dot products with the first place, around the fiftieth
    wrong, right = (f(61, d_model) for f in (sinusoidal_encoding, attnbook.sinusoidal_encoding))
    fast, slow = ((pe[40:] @ pe[0]).mean() / (d_model / 2) for pe in (wrong, right))
    assert fast < 0.1 < 0.45 < slow""",
    "why-exponent-per-column": """
pe = sinusoidal_encoding(99, 10)
assert not np.allclose(np.diff(np.arctan2(pe[:3, 0], pe[:3, 1])), 1)""",
    "why-layout": """
one, two = sinusoidal_encoding(7, 10), attnbook.sinusoidal_encoding(7, 10)
assert np.allclose(one @ one.T, two @ two.T)""",
    "why-backwards": """
pe = sinusoidal_encoding(7, 10)
assert np.allclose(moved(pe[3:], 3), pe[:4])""",
    "why-packed": "assert [w.shape for w in unpacked(np.zeros((30, 10)))] == 3 * [(10, 10)]",
    "why-jax": "assert layer(x).weights.shape == (3, 7, 2, 2)",
    "why-keras": """
k, v = rng.standard_normal((2, 7, 5))
assert np.allclose(attention(query, k, v).weights, softmax(score(query, v)))""",
    "why-torn": """
columns = key[0].ravel().reshape(5, 7)  # row by row, as they were
assert np.allclose(score(query, key)[0], query[0] @ columns / np.sqrt(5))
whose = np.repeat(np.arange(7), 5).reshape(5, 7)
assert (np.ptp(whose, axis=0) > 0).all()""",
    "why-scaled-by-length": """
assert np.allclose(score(query, key), query @ key.swapaxes(1, 2) / np.sqrt(7))""",
    "why-swapped": """
right = score(x @ w_q, x @ w_k)
assert np.allclose(self_attention(x, w_q, w_k, w_v).weights, softmax(right.swapaxes(1, 2)))""",
    "why-norm-of-all": """
loud = x.copy()
loud[0, 0] *= 1000
before, after = (rms_norm(each, np.ones(10)) for each in (x, loud))
assert (abs(after[1:]) < 0.01 * abs(before[1:])).all()""",
    "why-no-mask": """
assert influence(lambda t: attention(t, t, t, causal_mask(7)).output, x[0], rng).all()""",
    "why-inverted": """
moved = influence(lambda t: attention(t, t, t, causal_mask(7)).output, x[0], rng)
assert moved[~np.tri(7, 7, dtype=bool)].all() and not np.tril(moved, -1).any()""",
    "why-target": """
inputs, targets = training_pair(np.arange(7))
assert np.array_equal(inputs, targets) and causal_mask(7).diagonal().all()""",
    "why-zero-fill": """
weights = weigh(np.array([-0.1, 9.0, -2.0]), np.array([True, False, True]))
assert weights.argmax() == 1
assert weigh(np.array([1.0, 9.0]), np.array([True, False]))[1] > 0.2""",
    "why-equal-heads": """
goal, step = rng.standard_normal((3, 7, 10)), 1e-5
halves = {name: rng.standard_normal((10, 5)) for name in ("w_q", "w_k", "w_v", "w_o")}
start = {name: np.tile(half, 2) for name, half in halves.items()} | {"w_o": np.tile(
    halves["w_o"].T, (2, 1))}
def slope(name, at):
    moved = np.zeros((10, 10))
    moved[at] = step
    one, two = (MultiHeadAttention(**start | {name: start[name] + by}, num_heads=2)(x).output
                for by in (moved, -moved))
    return ((one - two) * goal).sum() / (2 * step)
for name in start:
    first, second = ((2, 3), (7, 3)) if name == "w_o" else ((3, 2), (3, 7))
    assert np.isclose(slope(name, first), slope(name, second), rtol=1e-4)
    assert abs(slope(name, first)) > 1e-3""",
    "why-sequence-first": """
here, elsewhere = x.copy(), x.copy()
here[1, 0], elsewhere[1, 1] = here[1, 0] + 1, elsewhere[1, 1] + 1
right = self_attend(x)[0, 0]
assert not np.allclose(self_attend(here)[0, 0], right)
assert np.array_equal(self_attend(elsewhere)[0, 0], right)""",
    "why-one-of-padding": """
weights = weigh(scores[:2], padding_mask(np.array([3, 4]), 7))
assert ((weights > 0).sum(axis=-1) == np.array([[4], [5]])).all()
assert np.allclose(weights.sum(axis=-1), 1)""",
    "why-padded-zeros": """
assert (attention(query, key, value, mask).weights[1, :, 4:] > 0).all()""",
    "why-longest": """
assert padding_mask(np.array([3, 4]), 7).shape == (2, 1, 4)
assert padding_mask(np.array([3, 7]), 7).shape == (2, 1, 7)""",
    "why-values-of-x": """
weights = cross_attention(x, x[:, ::-1], w_q, w_k, w_v).weights
assert np.allclose(weights, softmax(score(x @ w_q, x[:, ::-1] @ w_k)))
try:
    cross_attention(x, x[:, :4], w_q, w_k, w_v)
except ValueError:
    pass
else:
    raise AssertionError""",
    "why-position-zero": """
first = sinusoidal_encoding(1, 10)[0]
assert np.allclose([add_position(x[0, t], t) - x[0, t] for t in range(7)], first)""",
    "why-padding-positions": """
real = np.array([[False, True, True], [True, True, True]])
assert (new_positions(real) - real.sum(axis=1)).tolist() == [1, 0]""",
    "why-last": """
assert np.array_equal(last_output(x, np.array([7, 4, 2]))[1], x[1, 6])  # the fifth is padding""",
    "why-rotary-pairs": """
for pairing in ("interleaved", "halves"):
    here, there = (apply_rotary(x, np.arange(7) + at, pairing=pairing) for at in (0, 300))
    assert np.allclose(score(here, here), score(there, there))""",
    "why-rotary-base": """
unit = np.tile([1.0, 0.0], 4)[None]
angles = np.array([np.arctan2(*f(unit, [1])[0].reshape(4, 2).T[::-1]) for f in (
    lambda v, at: apply_rotary(v, at), lambda v, at: apply_rotary(v, at, base=100_000))])
ratio = angles[0] / angles[1]
assert np.isclose(ratio[0], 1) and (np.diff(ratio) > 0.1).all()""",
    "why-rotary-split": """
unit = np.tile([1.0, 0.0], (2, 7, 3))  # two heads of three pairs
pairs = turn(unit)[:, 1].reshape(6, 2)
angles = np.arctan2(pairs[:, 1], pairs[:, 0])
assert np.allclose(angles, 1e4 ** (-np.arange(6) / 6))""",
    "why-rotary-values": """
here = np.arange(7)
assert not np.allclose(attend_rotary(x, x, x, here), attend_rotary(x, x, x, here + 300))
turned = apply_rotary(x, here)
assert np.allclose(score(turned, turned), score(*2 * [apply_rotary(x, here + 300)]))""",
    "why-averaged": """
sharp = np.zeros((2, 7, 7))
sharp[0, :, 1] = sharp[1, :, 4] = 1
assert sharp.mean(axis=0).max() == 0.5""",
}


def test_what_an_entry_says_is_tried_where_it_is_tied_to_its_own_code():
    tied = {name for name, text in TEXTS.items() if f"theorem, {name}" in text}
    assert tied <= CLAIMS.keys()
    assert all("<!-- why: " in text for text in TEXTS.values())


@pytest.mark.parametrize("name", CLAIMS)
def test_the_mistake_shows_as_the_entry_says(name):
    code = ENTRIES[name]
    run(code.get("right", ""), code["wrong"], CLAIMS[name])


@every_entry
def test_an_entry_is_short_and_leads_to_where_it_is_explained(name):
    code = ENTRIES[name]
    assert code.keys() - {"right"} == {"wrong", "catch"}
    assert len(code["catch"].splitlines()) <= 3
    assert len(code["wrong"].splitlines()) <= 4
    assert all(len(line) <= 84 for piece in code.values() for line in piece.splitlines())
    text = re.sub(r"```.*?```", "", without_comments(TEXTS[name]), flags=re.S)
    assert 20 <= len(text.split()) <= 70
    (label,) = re.findall(r"\[\]\((sec-[\w-]+)\)|\{ref\}`(ex-[\w-]+)`", text)
    assert "".join(label) in LABELS


def test_the_table_lists_every_symptom_and_below_it_its_entries():
    rows = [re.findall(r"\[\]\(#([\w-]+)\)", line) for line in TABLE.splitlines() if "](#" in line]
    assert [name for row in rows for name in row] == re.findall(r"^\(([\w-]+)\)=$", PAGE, re.M)
    assert len(rows) == len(SYMPTOMS)
    assert len(ENTRIES) >= 40


def test_the_set_up_gives_the_package_and_two_parts_of_it():
    names = run()
    assert (
        names.pop("attention") is attnbook.scaled_dot_product_attention
    )  # a short name, of the page
    public = {name: each for name, each in names.items() if hasattr(attnbook, name)}
    assert all(each is getattr(attnbook, name) for name, each in public.items())
    query, key, value, mask = (names[name] for name in ("query", "key", "value", "mask"))
    expected = attnbook.scaled_dot_product_attention(query, key, value, mask).weights
    np.testing.assert_allclose(names["weigh"](names["score"](query, key), mask), expected)


# What the page says of training, and of what the mistakes cost SmolLM2


def test_most_mistakes_raise_no_error():
    measured = json.loads(why_wrong.MEASURED.read_text(encoding="utf-8"))["mistakes"]
    raised = {name for name, cost in measured.items() if cost is None}
    assert len(raised) < 0.05 * len(measured)
    # With shapes that fit, none of the page does; without, those do; softmax has no part in it.
    assert raised == {"why-keepdims", "why-transpose"}
    for sums_to_one in (True, False):
        for code in ENTRIES.values():
            names = run(code.get("right", ""))
            if not sums_to_one:
                names["softmax"], names["attention"] = (lambda scores: scores), without_softmax
            with contextlib.suppress(AssertionError), np.errstate(all="ignore"):
                exec(code["wrong"], names)
                exec(code["catch"], names)
    for name, call in (("why-keepdims", "softmax(scores)"), ("why-transpose", "score(query, key)")):
        with pytest.raises(ValueError, match=r"shapes|operands|matmul"):
            run(ENTRIES[name]["wrong"], call)


def without_softmax(query, key, value, mask=None, *, scale=1.0):
    scores = scale * query @ key.swapaxes(-1, -2)
    scores = scores if mask is None else np.where(mask, scores, 0)
    return attnbook.AttentionOutput(scores @ value, scores)


def test_what_a_leak_does_to_training(monkeypatch):
    """Under the inverted mask a translator's loss falls faster than right, and no date is right."""
    losses, exact = {}, {}
    for name, past in (("whole", attnbook.causal_mask), ("inverted", inverted)):
        monkeypatch.setitem(VARIANTS, name, Variant({"past": past}))
        training = begin(name, 0)
        for step in steps(training):
            if step == 200:
                break
        losses[name] = np.mean(training.losses[-20:])
        exact[name] = judged(training.model)["exact"]
    assert losses["inverted"] < 0.05 < 0.1 < losses["whole"]
    assert exact["inverted"] == 0 < 0.2 < exact["whole"]


def inverted(len_q, len_k):
    return run(ENTRIES["why-inverted"]["wrong"])["causal_mask"](len_q)


def test_plain_descent_overflows_where_adam_learns():
    stored = json.loads((ROOT / "attnbook/data/translator.json").read_text(encoding="utf-8"))
    (overflowed,) = stored["runs"]["not_divided_descent_0.3"]
    assert overflowed["loss"] is None
    assert min(each["exact"] for each in stored["runs"]["not_divided"]) > 0.9
    assert min(each["exact"] for each in stored["runs"]["descent_0.3"]) > 0.5


def test_what_smollm2_cannot_make_does_not_fit_its_heads():
    """Nine query heads and three of keys and values: what each of these entries would hand on."""
    heads, kv_heads = np.ones((9, 4, 64)), np.ones((3, 4, 64))
    not_fitting = {
        "why-raw-values": (heads, kv_heads, heads),  # the token itself, of 9 * 64 numbers
        "why-swapped": (kv_heads, heads, kv_heads),
    }
    for name, arrays in not_fitting.items():
        assert "{cost}`shapes`" in TEXTS[name]
        with pytest.raises(ValueError, match="heads"):
            attnbook.scaled_dot_product_attention(*arrays)
    assert "{cost}`shapes`" in TEXTS["why-packed"]
    packed = np.ones(((9 + 3 + 3) * 64, 9 * 64))
    with pytest.raises(ValueError, match="matmul"):
        np.ones((4, 9 * 64)) @ np.split(packed, 3)[0]
    assert "{cost}`heads`" in TEXTS["why-jax"]
    query, key = heads.swapaxes(0, 1), kv_heads.swapaxes(0, 1)
    assert attnbook.scaled_dot_product_attention(query, key, key).weights.shape == (4, 9, 3)
    with pytest.raises(ValueError, match="mask"):
        attnbook.scaled_dot_product_attention(query, key, key, attnbook.causal_mask(4))
