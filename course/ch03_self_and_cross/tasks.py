"""Assignment 3, Attend to yourself, attend to others."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.mistakes import projection
from attnbook.functional import scaled_dot_product_attention, softmax
from course.grading.task import Measurement, Task, sizes

# find-patch


def _squared(wanted, patches):
    return ((wanted[:, None] - patches) ** 2).sum(axis=-1)


def _patches(rng, queries, count, d):
    patches = rng.standard_normal((count, d)) * rng.uniform(0.5, 2, (count, 1))
    wanted = patches[rng.permutation(count)[:queries]] if queries <= count else None
    if wanted is None:
        wanted = patches[rng.integers(0, count, queries)]
    wanted = wanted + 0.3 * rng.standard_normal(wanted.shape)
    return {"patches": patches, "wanted": wanted, "sharpness": float(rng.uniform(0.2, 0.5))}


def _patch_cases(rng):
    hint = "The score is minus the sharpness times the squared distance."
    yield _patches(rng, *sizes(rng, (2, 5), (7, 11), (3,))), hint
    hint = "Right before, wrong for other sizes or another sharpness."
    yield _patches(rng, *sizes(rng, (2, 3, 5), (11, 13, 17), (5, 7))), hint
    alike = _patches(rng, *sizes(rng, (2, 3, 5), (7, 11, 13), (2, 3)))
    alike = {name: 0.01 * alike[name] for name in ("patches", "wanted")}
    yield {**alike, "sharpness": float(rng.uniform(2000, 5000))}, hint
    far = _patches(rng, *sizes(rng, (2, 3), (7, 11, 13), (3, 5)))
    far["sharpness"] = float(rng.uniform(20_000, 80_000))
    yield far, "Large scores: softmax needs its maximum subtracted."


def _patch(score):
    return lambda patches, wanted, sharpness: softmax(score(patches, wanted, sharpness))


def _cosine(patches, wanted):
    return (wanted / np.linalg.norm(wanted, axis=-1, keepdims=True)) @ (
        patches / np.linalg.norm(patches, axis=-1, keepdims=True)
    ).T


FIND_PATCH = Task(
    call="find_patch(patches, wanted, sharpness)",
    reference=_patch(lambda p, w, s: -s * _squared(w, p)),
    cases=_patch_cases,
    sized=lambda rng, n: _patches(rng, n, 11, 3),
    rows_sum_to_one=False,
    mistakes={
        "these are dot products: a bright patch wins them although it is another one.": _patch(
            lambda p, w, s: s * w @ p.T
        ),
        "these are scaled dot products: the score is minus sharpness times squared distance.": (
            _patch(lambda p, w, s: s * w @ p.T / np.sqrt(p.shape[-1]))
        ),
        "these are cosine similarities: two patches that differ in brightness get the same.": (
            _patch(lambda p, w, s: s * _cosine(p, w))
        ),
        "the sign is turned: the nearest patch gets the largest weight.": _patch(
            lambda p, w, s: s * _squared(w, p)
        ),
        "the distance is not squared.": _patch(lambda p, w, s: -s * np.sqrt(_squared(w, p))),
        "the dot product needs a factor of 2: |w - p|**2 = |w|**2 - 2 * w @ p + |p|**2.": _patch(
            lambda p, w, s: s * (w @ p.T - (p**2).sum(axis=-1))
        ),
        "the distance is a sum of absolute differences: square them.": _patch(
            lambda p, w, s: -s * np.abs(w[:, None] - p).sum(axis=-1)
        ),
        "the scores are divided by sqrt(d): multiply by the sharpness alone.": _patch(
            lambda p, w, s: -s * _squared(w, p) / np.sqrt(p.shape[-1])
        ),
        "the softmax runs over the queries: each query shares out one unit, axis=-1.": (
            lambda p, w, s: softmax(-s * _squared(w, p), axis=0)
        ),
        "the sharpness is squared as well.": _patch(lambda p, w, s: -(s**2) * _squared(w, p)),
        "the scores are divided by the sharpness: multiply.": _patch(
            lambda p, w, s: -_squared(w, p) / s
        ),
        "the distances are halved, as in a Gaussian: here there is no 2.": _patch(
            lambda p, w, s: -s * _squared(w, p) / 2
        ),
        "the sharpness is not used.": _patch(lambda p, w, s: -_squared(w, p)),
        "the distances are means over the last axis: take the sum.": _patch(
            lambda p, w, s: -s * _squared(w, p) / p.shape[-1]
        ),
        "these are scores: the softmax is missing.": lambda p, w, s: -s * _squared(w, p),
        "each query takes only the nearest patch: use softmax.": (
            lambda p, w, s: (_squared(w, p) == _squared(w, p).min(axis=-1, keepdims=True)) * 1.0
        ),
    },
)


# prefix-attention


def _prefix(rule, causal_too=True):
    def attend(x, w_q, w_k, w_v, prefix):
        query, key = np.arange(len(x))[:, None], np.arange(len(x))
        return tuple(
            scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, rule(query, key, prefix))
        )

    return attend


def _prefixed(rng, lengths, prefixes=None):
    """Draw arguments; without numbers to draw the prefix from it is the whole sequence."""
    length, d_in, d_k, d_v, prefix = sizes(rng, lengths, *3 * [(2, 3, 5, 7)], prefixes or (0,))
    return {
        "x": rng.standard_normal((length, d_in)),
        "w_q": 2 * projection(rng, d_in, d_k),
        "w_k": projection(rng, d_in, d_k),
        "w_v": projection(rng, d_in, d_v),
        "prefix": prefix if prefixes else length,
    }


def _prefix_cases(rng):
    hint = "Every token sees the prefix; beyond it, a token sees itself and what is before it."
    yield _prefixed(rng, (7, 11), (3, 4, 5)), hint
    yield _prefixed(rng, (13, 17), (6, 8, 9, 10)), hint
    yield _prefixed(rng, (5, 11), (0,)), "With prefix 0 the mask is the plain causal one."
    yield _prefixed(rng, (3, 7, 11)), "The prefix is the whole sequence here: all see all."


def _unscaled(x, w_q, w_k, w_v, prefix):
    query, key = np.arange(len(x))[:, None], np.arange(len(x))
    mask = (key <= query) | (key < prefix)
    return tuple(scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask, scale=1))


_RIGHT_PREFIX = _prefix(lambda i, j, prefix: (j <= i) | (j < prefix))

PREFIX_ATTENTION = Task(
    call="prefix_attention(x, w_q, w_k, w_v, prefix)",
    reference=_RIGHT_PREFIX,
    cases=_prefix_cases,
    returns=("output", "weights"),
    rows_sum_to_one=True,
    mistakes={
        "this is the plain causal mask: tokens of the prefix see the whole prefix.": _prefix(
            lambda i, j, prefix: j <= i
        ),
        "there is no mask: beyond the prefix a token sees nothing after itself.": _prefix(
            lambda i, j, prefix: (j <= i) | (j >= 0)
        ),
        "the prefix is one too long: it is the first prefix tokens, j < prefix.": _prefix(
            lambda i, j, prefix: (j <= i) | (j <= prefix)
        ),
        "the prefix is one too short: it is the first prefix tokens, j < prefix.": _prefix(
            lambda i, j, prefix: (j <= i) | (j < prefix - 1)
        ),
        "tokens of the prefix see everything: what comes after it is hidden from them.": _prefix(
            lambda i, j, prefix: (j <= i) | (i < prefix)
        ),
        "tokens see the prefix alone: those beyond it see themselves and what is before, too.": (
            _prefix(lambda i, j, prefix: (j < prefix) | (i == j))
        ),
        "tokens beyond the prefix do not see it: they see all that is before them.": _prefix(
            lambda i, j, prefix: (
                ((i < prefix) & (j < prefix)) | ((i >= prefix) & (j >= prefix) & (j <= i))
            )
        ),
        "the last tokens are taken for the prefix: it is the first ones.": _prefix(
            lambda i, j, prefix: (j <= i) | (j > j.max() - prefix)
        ),
        "the mask is transposed: rows are queries, columns are keys.": _prefix(
            lambda i, j, prefix: (i <= j) | (i < prefix)
        ),
        "the mask is inverted: True means may attend.": _prefix(
            lambda i, j, prefix: ~((j <= i) | (j < prefix))
        ),
        "a token does not see itself: use <=.": _prefix(
            lambda i, j, prefix: (j < i) | (j < prefix)
        ),
        "the scores are not scaled: divide by sqrt(d_k).": _unscaled,
        "the scale is that of x: divide by sqrt(d_k), the length of a query.": (
            lambda x, w_q, *others: _RIGHT_PREFIX(
                x, w_q * np.sqrt(w_q.shape[1] / len(w_q)), *others
            )
        ),
        "weights and output are swapped: return output first.": (
            lambda *arguments: _RIGHT_PREFIX(*arguments)[::-1]
        ),
        "this is the output only: return both, output and weights.": (
            lambda *arguments: _RIGHT_PREFIX(*arguments)[0]
        ),
    },
)


# two-scores

NOISE = np.linspace(0, 2, 21)


def _noise_cases(rng):
    patches = rng.standard_normal((36, 8)) * rng.uniform(0.5, 2, (36, 1))
    noise = rng.standard_normal((36, 8))
    hint = "One row for the dot product and one for the distance; a column for each noise level."
    yield {"patches": patches, "noise": noise, "levels": NOISE.copy()}, hint


def _hits(score, patches, wanted, axis=-1):
    return np.mean(score(patches, wanted).argmax(axis=axis) == np.arange(len(patches)))


def _dot(patches, wanted):
    return wanted @ patches.T


def _near(patches, wanted):
    return -_squared(wanted, patches)


def _found(first=_dot, second=_near, add=lambda p, n, a: p + a * n, hits=_hits):
    return lambda patches, noise, levels: np.array(
        [[hits(s, patches, add(patches, noise, a)) for a in levels] for s in (first, second)]
    )


def _lead(_, patches, noise, levels):
    dot, distance = _found()(patches, noise, levels)
    return (distance - dot).max()


TWO_SCORES = Measurement(
    call="found",
    reference=_found(),
    cases=_noise_cases,
    returns=("found",),
    read=_lead,
    how="lead is the largest of the differences, the share by distance minus that by dot product",
    mistakes={
        "the rows are swapped: the dot product comes first.": _found(_near, _dot),
        "these are counts: divide by the number of patches.": (
            lambda p, n, a: len(p) * _found()(p, n, a)
        ),
        "these are percentages: give shares between 0 and 1.": (
            lambda p, n, a: 100 * _found()(p, n, a)
        ),
        "these are shares of misses: count the hits.": lambda p, n, a: 1 - _found()(p, n, a),
        "the axes are swapped: one row for each score, one column for each level.": (
            lambda p, n, a: _found()(p, n, a).T
        ),
        "both rows are dot products: the second uses the distance.": _found(_dot, _dot),
        "both rows use the distance: the first uses the dot product.": _found(_near, _near),
        "the largest distance is taken for the best: the nearest patch has the smallest.": _found(
            _dot, lambda p, w: -_near(p, w)
        ),
        "the dot product is a cosine here: keep the lengths.": _found(_cosine, _near),
        "the noise is multiplied by the patches: add it.": _found(
            add=lambda p, n, a: p * (1 + a * n)
        ),
        "each patch picks a query: each query picks a patch, axis=-1.": _found(
            hits=lambda s, p, w: _hits(s, p, w, axis=0)
        ),
        "the noise is added to the patches and to the queries: only to the queries.": _found(
            hits=lambda s, p, w: np.mean(s(w, w).argmax(axis=-1) == np.arange(len(p)))
        ),
    },
)

TASKS = {
    "find-patch": FIND_PATCH,
    "prefix-attention": PREFIX_ATTENTION,
    "two-scores": TWO_SCORES,
}
