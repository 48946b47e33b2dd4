"""Assignment 3, Attend to yourself, attend to others."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import cosine, dot, each, projection, returning, taking
from attnbook.functional import softmax
from attnbook.layers import self_attention
from course.grading.task import Measurement, sizes

# find-patch


def _near(wanted, patches):
    return -((wanted[:, None] - patches) ** 2).sum(axis=-1)


def _patches(rng, queries, count, d):
    patches = rng.standard_normal((count, d)) * rng.uniform(0.5, 2, (count, 1))
    wanted = patches[rng.permutation(count)[:queries]]
    wanted = wanted + 0.3 * rng.standard_normal(wanted.shape)
    return {"patches": patches, "wanted": wanted, "sharpness": float(rng.uniform(0.2, 0.5))}


def _patch_cases(rng):
    yield _patches(rng, *sizes(rng, (2, 5), (7, 11), (3,))), "score"
    yield _patches(rng, *sizes(rng, (2, 3, 5), (11, 13, 17), (5, 7))), "other_sizes"
    alike = _patches(rng, *sizes(rng, (2, 3, 5), (7, 11, 13), (2, 3)))
    alike = {name: 0.01 * alike[name] for name in ("patches", "wanted")}
    yield {**alike, "sharpness": float(rng.uniform(2000, 5000))}, "other_sizes"
    far = _patches(rng, *sizes(rng, (2, 3), (7, 11, 13), (3, 5)))
    yield {**far, "sharpness": float(rng.uniform(20_000, 80_000))}, "large_scores"
    away = _patches(rng, *sizes(rng, (2, 3), (7, 11), (5,)))  # far from all, and several count
    away = {"patches": 0.1 * away["patches"], "wanted": away["wanted"] + 100}
    yield {**away, "sharpness": float(rng.uniform(0.02, 0.04))}, "large_scores"
    yield _patches(rng, 1, *sizes(rng, (7, 11), (3, 5))), "single"


def _nearest_if_far(patches, wanted, sharpness):
    scores = sharpness * _near(wanted, patches)
    nearest = np.eye(len(patches))[scores.argmax(axis=-1)]
    return np.where(np.exp(scores).any(axis=-1, keepdims=True), softmax(scores), nearest)


def _patch(score):
    return lambda patches, wanted, sharpness: softmax(sharpness * score(wanted, patches))


_right_patch = _patch(_near)
_FIND_PATCH = Exercise(
    call="find_patch(patches, wanted, sharpness)",
    reference=_right_patch,
    cases=_patch_cases,
    mistakes=dict(
        **each(
            _patch,
            dot_products=dot,
            scaled_dots=lambda w, p: dot(w, p) / np.sqrt(p.shape[-1]),
            cosine=cosine,
            not_squared=lambda w, p: -np.sqrt(-_near(w, p)),
            without_two=lambda w, p: dot(w, p) - (p**2).sum(axis=-1),
            absolute=lambda w, p: -np.abs(w[:, None] - p).sum(axis=-1),
            hard=lambda w, p: np.where(_near(w, p) == _near(w, p).max(-1)[:, None], 0, -np.inf),
        ),
        **taking(
            _right_patch,
            turned=lambda p, w, s: (p, w, -s),
            no_sharpness=lambda p, w, s: (p, w, 1),
            halved=lambda p, w, s: (p, w, s / 2),
            by_root=lambda p, w, s: (p, w, s / np.sqrt(p.shape[-1])),
            means=lambda p, w, s: (p, w, s / p.shape[-1]),
        ),
        over_queries=lambda p, w, s: softmax(s * _near(w, p), axis=0),
        nearest_if_far=_nearest_if_far,
    ),
)


# prefix-attention


def _prefix(rule):
    return lambda x, w_q, w_k, w_v, prefix: self_attention(
        x, w_q, w_k, w_v, rule(*np.indices((len(x), len(x))), prefix)
    )


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
    yield _prefixed(rng, (7, 11), (3, 4, 5)), "who_sees_what"
    yield _prefixed(rng, (13, 17), (6, 8, 9, 10)), "who_sees_what"
    yield _prefixed(rng, (5, 11), (0,)), "prefix_zero"
    yield _prefixed(rng, (3, 7, 11)), "prefix_whole"
    yield _prefixed(rng, (1,)), "single"


_right_prefix = _prefix(lambda i, j, n: (j <= i) | (j < n))
_PREFIX_ATTENTION = Exercise(
    call="prefix_attention(x, w_q, w_k, w_v, prefix)",
    reference=_right_prefix,
    cases=_prefix_cases,
    returns=("output", "weights"),
    rows_sum_to_one=True,
    mistakes=dict(
        **each(
            _prefix,
            causal=lambda i, j, n: j <= i,
            no_mask=lambda i, j, n: j >= 0,
            too_long=lambda i, j, n: (j <= i) | (j <= n),
            too_short=lambda i, j, n: (j <= i) | (j < n - 1),
            prefix_sees_all=lambda i, j, n: (j <= i) | (i < n),
            prefix_unseen=lambda i, j, n: (j <= i) & (j >= n) | (np.maximum(i, j) < n),
            last_tokens=lambda i, j, n: (j <= i) | (j > j.max() - n),
            transposed=lambda i, j, n: (i <= j) | (i < n),
            inverted=lambda i, j, n: (j > i) & (j >= n),
        ),
        **taking(
            _right_prefix,
            unscaled=lambda x, q, *others: (x, q * np.sqrt(q.shape[1]), *others),
            by_d_in=lambda x, q, *others: (x, q * np.sqrt(q.shape[1] / len(q)), *others),
        ),
        **returning(_right_prefix, swapped=lambda r: r[::-1], output_alone=lambda r: r[0]),
    ),
)


# two-scores

NOISE = np.linspace(0, 2, 21)


def _noise_cases(rng):
    patches = rng.standard_normal((36, 8)) * rng.uniform(0.5, 2, (36, 1))
    noise = rng.standard_normal((36, 8))
    yield {"patches": patches, "noise": noise, "levels": NOISE.copy()}, "two_rows"


def _found(first=dot, second=_near, axis=-1):
    """Return the share of hits by either score, the best of an axis, at each level of noise."""

    def hits(score, patches, wanted):
        return np.mean(score(wanted, patches).argmax(axis=axis) == np.arange(len(patches)))

    return lambda patches, noise, levels: np.array(
        [[hits(score, patches, patches + a * noise) for a in levels] for score in (first, second)]
    )


def _lead(_, *arguments):
    by_dot, by_distance = _found()(*arguments)
    return (by_distance - by_dot).max()


_TWO_SCORES = Measurement(
    call="found",
    reference=_found(),
    cases=_noise_cases,
    returns=("found",),
    read=_lead,
    how="largest_difference",
    mistakes=dict(
        swapped_rows=_found(_near, dot),
        both_dot=_found(dot, dot),
        farthest=_found(second=lambda w, p: -_near(w, p)),
        cosine=_found(cosine),
        over_patches=_found(axis=0),
        **returning(
            _found(),
            counts=lambda shares: 36 * shares,
            percentages=lambda shares: 100 * shares,
            misses=lambda shares: 1 - shares,
            transposed=np.transpose,
        ),
    ),
)

TASKS = with_hints(
    __file__,
    {"find-patch": _FIND_PATCH, "prefix-attention": _PREFIX_ATTENTION, "two-scores": _TWO_SCORES},
)
