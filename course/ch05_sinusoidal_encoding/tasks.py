"""Assignment 5, Tell positions apart with sine and cosine."""

from __future__ import annotations

import numpy as np

from attnbook.functional import softmax
from attnbook.masks import causal_mask
from attnbook.positional import relative_rotation, sinusoidal_encoding
from course.grading.task import Measurement, Task, level, sizes

# head-back


def _turned(length, d_model, offset):
    """Return the encodings of the positions moved by an offset, which may be before 0."""
    return sinusoidal_encoding(length, d_model) @ relative_rotation(offset, d_model).T


def _head(offset=lambda back: -back, scale=None, masked=True):
    def weights(length, d_model, back, sharpness):
        scores = _turned(length, d_model, offset(back)) @ sinusoidal_encoding(length, d_model).T
        scores = scores * (sharpness if scale is None else scale(sharpness, d_model))
        return softmax(np.where(causal_mask(length), scores, -np.inf) if masked else scores)

    return weights


def _head_cases(rng):
    hint = "Token p asks with the encoding of position p - back; keys are the encodings."
    for lengths, backs in (((11, 13), (2, 3, 4)), ((19, 23), (5, 7, 9, 11)), ((7, 11), (2, 3))):
        length, back, d_model = sizes(rng, lengths, backs, (6, 8, 10, 12, 14))
        sharpness = float(rng.uniform(0.5, 2))
        arguments = {"length": length, "d_model": d_model, "back": back, "sharpness": sharpness}
        yield arguments, hint


def _one_hot(length, d_model, back, sharpness):
    return np.eye(length)[np.maximum(np.arange(length) - back, 0)]


def _clipped(length, d_model, back, sharpness):
    encoding = sinusoidal_encoding(length, d_model)
    scores = sharpness * encoding[np.maximum(np.arange(length) - back, 0)] @ encoding.T
    return softmax(np.where(causal_mask(length), scores, -np.inf))


def _rolled(length, d_model, back, sharpness):
    encoding = sinusoidal_encoding(length, d_model)
    scores = sharpness * np.roll(encoding, back, axis=0) @ encoding.T
    return softmax(np.where(causal_mask(length), scores, -np.inf))


def _after(length, d_model, back, sharpness):
    return _head(masked=False)(length, d_model, back, sharpness) * causal_mask(length)


def _by_column(length, d_model, back, sharpness):
    scores = sharpness * _turned(length, d_model, -back) @ sinusoidal_encoding(length, d_model).T
    return softmax(np.where(causal_mask(length), scores, -np.inf), axis=0)


def _padded(length, d_model, back, sharpness):
    encoding = sinusoidal_encoding(length, d_model)
    query = np.concatenate([np.zeros((back, d_model)), encoding])[:length]
    return softmax(np.where(causal_mask(length), sharpness * query @ encoding.T, -np.inf))


HEAD_BACK = Task(
    call="head_back(length, d_model, back, sharpness)",
    reference=_head(),
    cases=_head_cases,
    sized=lambda rng, n: {"length": n, "d_model": 8, "back": 3, "sharpness": 1.0},
    rows_sum_to_one=True,
    mistakes={
        "this head looks ahead: the rotation is by -back.": _head(lambda back: back),
        "each token asks for its own position: rotate the query by -back.": _head(lambda back: 0),
        "this head looks one back whatever back is.": _head(lambda back: -1),
        "this head looks one too far back.": _head(lambda back: -back - 1),
        "this head looks one too few back.": _head(lambda back: 1 - back),
        "the mask is missing: a token sees nothing after itself.": _head(masked=False),
        "the mask comes after the softmax: rows no longer sum to 1.": _after,
        "the first tokens ask for position 0: there, too, the query is turned by -back.": _clipped,
        "the first tokens ask for the last positions: np.roll runs in a circle.": _rolled,
        "the queries of the first tokens are zeros: there, too, the query is turned by -back.": _padded,
        "the softmax runs over the queries: each token shares out one unit, axis=-1.": _by_column,
        "the scores are divided by sqrt(d_model): multiply by the sharpness alone.": _head(
            scale=lambda s, d: s / np.sqrt(d)
        ),
        "the sharpness is not used.": _head(scale=lambda s, d: 1),
        "the scores are divided by the sharpness: multiply.": _head(scale=lambda s, d: 1 / s),
        "all weight is on one token: use softmax.": _one_hot,
    },
)


# first-collision


def _differences(d_model, base, longest):
    encoding = sinusoidal_encoding(longest + 1, d_model, base=base)
    return encoding[1:] - encoding[0]


def _first(close):
    return int(close.argmax()) + 1 if close.any() else 0


def _norm(differences):
    return np.linalg.norm(differences, axis=-1)


def _closer(measure=_norm, base=None, pick=_first):
    """Return a rule: by a measure of the differences, maybe with another base or another pick."""
    return lambda d, given_base, tolerance, longest: pick(
        measure(_differences(d, base or given_base, longest)) < tolerance
    )


_by_norm = _closer()


def _by_nearest(d, base, t, n):
    return int(_norm(_differences(d, base, n)).argmin()) + 1


# Several of these often have the same offset: what is said is true of all of them.
MEASURES = {
    f"another measure than the norm of the difference is compared, such as {measure}.": _closer(
        rule
    )
    for measure, rule in {
        "the sum of the absolute differences": lambda x: np.abs(x).sum(axis=-1),
        "their mean": lambda x: np.abs(x).mean(axis=-1),
        "the squared distance": lambda x: _norm(x) ** 2,
        "the root of the mean square": lambda x: _norm(x) / np.sqrt(x.shape[-1]),
        "the mean square, which is 1 - cosine here": lambda x: (x**2).mean(axis=-1),
        "the norm divided by that of an encoding": lambda x: _norm(x) / np.sqrt(x.shape[-1] / 2),
        "the largest difference of one number": lambda x: np.abs(x).max(axis=-1),
        "the norm of the sines alone": lambda x: _norm(x[:, 0::2]),
        "the norm of the cosines alone": lambda x: _norm(x[:, 1::2]),
        "the norm of the first pair alone": lambda x: _norm(x[:, :2]),
        "the norm of the last pair alone": lambda x: _norm(x[:, -2:]),
    }.items()
}
# In the first case each of these has an offset of its own.
OTHER_OFFSETS = {
    "the count begins at 0: neighbours have offset 1.": _closer(
        pick=lambda close: _first(close) - 1
    ),
    "the count is one too large.": _closer(pick=lambda close: _first(close) + 1),
    "the base is 10000 here whatever base is.": _closer(base=10000.0),
    "the base is 100 here whatever base is.": _closer(base=100.0),
    "this is the last offset that is close: return the first.": _closer(
        pick=lambda close: len(close) - _first(close[::-1]) + 1
    ),
    "this is the nearest offset of all: return the first within the tolerance.": _by_nearest,
    "this is how many offsets are close: return the first.": _closer(
        pick=lambda close: int(close.sum())
    ),
    "this is the first offset that is far enough: return the first that is too close.": _closer(
        pick=lambda close: _first(~close)
    ),
}


def _collision(rng, d_model, tolerances, longest, telling):
    """Draw a base until a case tells what it should."""
    while True:
        case = (d_model, float(rng.uniform(10, 40)), float(rng.uniform(*tolerances)), longest)
        if telling(*case):
            return dict(zip(("d_model", "base", "tolerance", "longest"), case, strict=True))


def _others_apart(*case):
    """Tell whether each of the other mistakes has an offset of its own, that no measure has."""
    measures = {rule(*case) for rule in MEASURES.values()}
    others = [rule(*case) for rule in OTHER_OFFSETS.values()]
    apart = len({_by_norm(*case), *others}) == 1 + len(others) and measures.isdisjoint(others)
    return apart and min(others) > 0


def _measures_apart(*case):
    """Tell whether every other measure has another offset than the norm."""
    right = _by_norm(*case)
    return right > 0 and all(rule(*case) != right for rule in MEASURES.values())


def _collision_cases(rng):
    hint = "The distance between the encodings of 0 and k, for k = 1, 2, ..., longest."
    yield _collision(rng, 4, (0.15, 0.22), 6000, _others_apart), hint
    yield _collision(rng, 6, (0.3, 0.5), 3000, _measures_apart), hint
    yield _collision(rng, 2, (0.03, 0.2), 500, _by_norm), hint
    far = _collision(rng, 6, (0.18, 0.25), 30_000, lambda *case: _by_norm(*case) > 5000)
    yield far, hint
    first = _by_norm(*far.values())
    yield {**far, "longest": first}, "The offset longest itself is the answer here."
    yield {**far, "longest": first - 1}, "The first collision is beyond longest here: return 0."
    hint = "With a large tolerance neighbours collide: return 1."
    yield {**far, "tolerance": float(rng.uniform(1.2, 1.6))}, hint
    yield (
        {"d_model": 8, "base": 10000.0, "tolerance": 0.01, "longest": int(rng.integers(40, 90))},
        "No two positions collide here: return 0.",
    )


FIRST_COLLISION = Task(
    call="first_collision(d_model, base, tolerance, longest)",
    reference=_by_norm,
    cases=_collision_cases,
    mistakes={
        **MEASURES,
        **OTHER_OFFSETS,
        "longest itself is an offset, too: the offsets are 1, 2, ..., longest.": (
            lambda d, base, t, n: _by_norm(d, base, t, n - 1)
        ),
        "the offsets begin at 1: neighbours may collide, too.": _closer(
            pick=lambda close: next((int(k) for k in np.flatnonzero(close) + 1 if k > 1), 0)
        ),
        "the offsets end at longest: this is one beyond.": (
            lambda d, base, t, n: _by_norm(d, base, t, n + 1)
        ),
        "where no two collide, return 0.": _closer(pick=lambda close: _first(close) or 1),
    },
)


# noisy-head

SIZES = np.linspace(0, 4, 161)


def _noisy_cases(rng):
    content = rng.standard_normal((40, 32)) / np.sqrt(32)
    hint = "The mean weight of token p on token p - 3, for p from 3 on, at each size of content."
    yield {"content": content, "sizes": SIZES.copy()}, hint


def _mean_back(
    pick=lambda w: np.diagonal(w, -3).mean(), back=3, sharpness=4.0, masked=True, add=None
):
    encoding = sinusoidal_encoding(40, 32)
    rotation = relative_rotation(-back, 32)

    def kept(content, sizes):
        found = []
        for size in sizes:
            x = encoding + size * content if add is None else add(encoding, size, content)
            scores = sharpness * (x @ rotation.T) @ x.T
            scores = np.where(causal_mask(40), scores, -np.inf) if masked else scores
            found.append(pick(softmax(scores)))
        return np.array(found)

    return kept


def _clean_keys(content, sizes):
    encoding, rotation = sinusoidal_encoding(40, 32), relative_rotation(-3, 32)
    return np.array(
        [
            np.diagonal(
                softmax(
                    np.where(
                        causal_mask(40),
                        4 * ((encoding + size * content) @ rotation.T) @ encoding.T,
                        -np.inf,
                    )
                ),
                -3,
            ).mean()
            for size in sizes
        ]
    )


def _content_unturned(content, sizes):
    encoding, rotation = sinusoidal_encoding(40, 32), relative_rotation(-3, 32)
    found = []
    for size in sizes:
        key = encoding + size * content
        scores = 4 * (encoding @ rotation.T + size * content) @ key.T
        weights = softmax(np.where(causal_mask(40), scores, -np.inf))
        found.append(np.diagonal(weights, -3).mean())
    return np.array(found)


NOISY_HEAD = Measurement(
    call="kept",
    reference=_mean_back(),
    cases=_noisy_cases,
    returns=("kept",),
    read=lambda rng, content, sizes: sizes[_mean_back()(content, sizes) < level(rng)][0],
    how="breaks is the smallest size of the list with a mean weight below level",
    mistakes={
        "these are weights on the next-nearest tokens: three back, not two.": _mean_back(
            lambda w: np.diagonal(w, -2).mean()
        ),
        "these are weights on the previous token: three back.": _mean_back(
            lambda w: np.diagonal(w, -1).mean()
        ),
        "these are weights on the token itself: three back.": _mean_back(
            lambda w: np.diagonal(w).mean()
        ),
        "the first three tokens are counted in: the mean is over p from 3 on.": _mean_back(
            lambda w: np.diagonal(w, -3).sum() / 40
        ),
        "the mean begins after p = 3: token 3 has a token three back, too.": _mean_back(
            lambda w: np.diagonal(w, -3)[1:].mean()
        ),
        "these are the largest weights: take those three back.": _mean_back(
            lambda w: w.max(axis=-1).mean()
        ),
        "these count how often three back wins: average the weight.": _mean_back(
            lambda w: (w.argmax(axis=-1)[3:] == np.arange(37)).mean()
        ),
        "the mask is missing.": _mean_back(masked=False),
        "the scores are divided by sqrt(d_model): multiply by 4 alone.": _mean_back(
            sharpness=4 / np.sqrt(32)
        ),
        "the sharpness is missing: multiply the scores by 4.": _mean_back(sharpness=1.0),
        "the rotation has the wrong sign: it is by -3.": _mean_back(back=-3),
        "the content is in the queries only: keys are made of the same x.": _clean_keys,
        "the content is not turned: turn the whole tokens.": _content_unturned,
        "the encodings are multiplied by the size, too.": _mean_back(
            add=lambda encoding, size, content: size * (encoding + content)
        ),
        "these are medians: take the mean.": _mean_back(lambda w: np.median(np.diagonal(w, -3))),
    },
)

TASKS = {
    "head-back": HEAD_BACK,
    "first-collision": FIRST_COLLISION,
    "noisy-head": NOISY_HEAD,
}
