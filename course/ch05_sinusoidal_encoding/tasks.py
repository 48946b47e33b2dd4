"""Assignment 5, Tell positions apart with sine and cosine."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import MASK, but, each, masked, taking
from attnbook.masks import causal_mask
from attnbook.positional import relative_rotation, sinusoidal_encoding
from course.grading.task import Measurement, level, sizes


def _moved(encoding, offset):
    """Return the encodings of the positions moved by an offset, which may be before 0."""
    return encoding @ relative_rotation(offset, encoding.shape[-1]).T


# head-back


def _head(query=lambda keys, back: _moved(keys, -back), weigh=masked):
    def weights(length, d_model, back, sharpness):
        keys = sinusoidal_encoding(length, d_model)
        return weigh(query(keys, back) @ keys.T * sharpness, causal_mask(length))

    return weights


def _head_cases(rng):
    for lengths, backs, part in (
        ((11, 13), (2, 3, 4), "turned_back"),
        ((19, 23), (5, 7, 9, 11), "turned_back"),
        ((7, 11), (2, 3), "turned_back"),
        ((1,), (2, 3), "single"),
    ):
        length, back, d_model = sizes(rng, lengths, backs, (6, 8, 10, 12, 14))
        sharpness = float(rng.uniform(0.5, 2))
        arguments = {"length": length, "d_model": d_model, "back": back, "sharpness": sharpness}
        yield arguments, part


_HEAD_BACK = Exercise(
    call="head_back(length, d_model, back, sharpness)",
    reference=_head(),
    cases=_head_cases,
    rows_sum_to_one=True,
    mistakes=dict(
        **each(
            _head,
            ahead=_moved,
            itself=lambda keys, back: keys,
            previous=lambda keys, back: _moved(keys, -1),
            too_far=lambda keys, back: _moved(keys, -back - 1),
            clipped=lambda keys, back: keys[np.maximum(np.arange(len(keys)) - back, 0)],
            rolled=lambda keys, back: np.roll(keys, back, axis=0),
            padded=lambda keys, back: np.vstack([0 * keys[:back], keys[:-back]]),
        ),
        **each(
            lambda weigh: _head(weigh=weigh),
            **but(MASK, "far_scores", "underflow", "masked_maximum"),
        ),
        by_root=lambda n, d, back, sharpness: _head()(n, d, back, sharpness / np.sqrt(d)),
    ),
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

# Several of these often have the same offset: what is said is true of all of them.
_MEASURES = each(
    _closer,
    sum=lambda x: np.abs(x).sum(axis=-1),
    mean=lambda x: np.abs(x).mean(axis=-1),
    square=lambda x: _norm(x) ** 2,
    root_mean_square=lambda x: _norm(x) / np.sqrt(x.shape[-1]),
    mean_square=lambda x: (x**2).mean(axis=-1),
    relative=lambda x: _norm(x) / np.sqrt(x.shape[-1] / 2),
    largest=lambda x: np.abs(x).max(axis=-1),
    sines=lambda x: _norm(x[:, 0::2]),
    cosines=lambda x: _norm(x[:, 1::2]),
    first_pair=lambda x: _norm(x[:, :2]),
    last_pair=lambda x: _norm(x[:, -2:]),
)
# In the first case each of these has an offset of its own.
_OTHER_OFFSETS = dict(
    **each(
        lambda pick: _closer(pick=pick),
        from_0=lambda close: _first(close) - 1,
        one_too_large=lambda close: _first(close) + 1,
        last=lambda close: len(close) - _first(close[::-1]) + 1,
        count=lambda close: int(close.sum()),
        far_enough=lambda close: _first(~close),
    ),
    **each(lambda base: _closer(base=base), base_10000=10000.0, base_100=100.0),
    nearest=lambda d, base, t, n: int(_norm(_differences(d, base, n)).argmin()) + 1,
)


def _collision(rng, d_model, tolerances, longest, telling):
    """Draw a base until a case tells what it should."""
    while True:
        case = (d_model, float(rng.uniform(10, 40)), float(rng.uniform(*tolerances)), longest)
        if telling(*case):
            return dict(zip(("d_model", "base", "tolerance", "longest"), case, strict=True))


def _others_apart(*case):
    """Tell whether each of the other mistakes has an offset of its own, that no measure has."""
    measures = {rule(*case) for rule in _MEASURES.values()}
    others = [rule(*case) for rule in _OTHER_OFFSETS.values()]
    apart = len({_by_norm(*case), *others}) == 1 + len(others) and measures.isdisjoint(others)
    return apart and min(others) > 0


def _measures_apart(*case):
    """Tell whether every other measure has another offset than the norm."""
    right = _by_norm(*case)
    return right > 0 and all(rule(*case) != right for rule in _MEASURES.values())


def _collision_cases(rng):
    yield _collision(rng, 4, (0.15, 0.22), 6000, _others_apart), "distance_from_0"
    yield _collision(rng, 6, (0.3, 0.5), 3000, _measures_apart), "distance_from_0"
    yield _collision(rng, 2, (0.03, 0.2), 500, _by_norm), "distance_from_0"
    far = _collision(rng, 6, (0.18, 0.25), 30_000, lambda *case: _by_norm(*case) > 5000)
    yield far, "distance_from_0"
    first = _by_norm(*far.values())
    yield {**far, "longest": first}, "longest_itself"
    yield {**far, "longest": first - 1}, "beyond_longest"
    yield {**far, "tolerance": float(rng.uniform(1.2, 1.6))}, "neighbours"
    none = {"d_model": 8, "base": 10000.0, "tolerance": 0.01}
    yield {**none, "longest": int(rng.integers(40, 90))}, "no_collision"


_FIRST_COLLISION = Exercise(
    call="first_collision(d_model, base, tolerance, longest)",
    reference=_by_norm,
    cases=_collision_cases,
    mistakes=dict(
        **_MEASURES,
        **_OTHER_OFFSETS,
        **taking(
            _by_norm,
            before_longest=lambda d, base, t, n: (d, base, t, n - 1),
            one_beyond=lambda d, base, t, n: (d, base, t, n + 1),
        ),
        from_2=_closer(pick=lambda close: next((int(k) + 2 for k in np.flatnonzero(close[1:])), 0)),
        never_0=_closer(pick=lambda close: _first(close) or 1),
    ),
)


# noisy-head

SIZES = np.linspace(0, 4, 161)


def _noisy_cases(rng):
    content = rng.standard_normal((40, 32)) / np.sqrt(32)
    yield {"content": content, "sizes": SIZES.copy()}, "mean_three_back"


def _noisy_scores(encoding, noise, back=3):
    return 4 * _moved(encoding + noise, -back) @ (encoding + noise).T


def _mean_back(pick=lambda w: np.diagonal(w, -3).mean(), scores=_noisy_scores, weigh=masked):
    def kept(content, sizes):
        noisy = [scores(sinusoidal_encoding(40, 32), size * content) for size in sizes]
        return np.array([pick(weigh(s, causal_mask(40))) for s in noisy])

    return kept


_NOISY_HEAD = Measurement(
    call="kept",
    reference=_mean_back(),
    cases=_noisy_cases,
    returns=("kept",),
    read=lambda rng, content, sizes: sizes[_mean_back()(content, sizes) < level(rng)][0],
    how="smallest_below_level",
    mistakes=dict(
        **each(
            _mean_back,
            previous=lambda w: np.diagonal(w, -1).mean(),
            over_40=lambda w: np.diagonal(w, -3).sum() / 40,
            from_4=lambda w: np.diagonal(w, -3)[1:].mean(),
            largest=lambda w: w.max(axis=-1).mean(),
            wins=lambda w: (w.argmax(axis=-1)[3:] == np.arange(37)).mean(),
        ),
        **each(
            lambda scores: _mean_back(scores=scores),
            by_root=lambda e, noise: _noisy_scores(e, noise) / np.sqrt(32),
            no_sharpness=lambda e, noise: _noisy_scores(e, noise) / 4,
            wrong_sign=lambda e, noise: _noisy_scores(e, noise, -3),
            clean_keys=lambda e, noise: 4 * _moved(e + noise, -3) @ e.T,
            content_unturned=lambda e, noise: 4 * (_moved(e, -3) + noise) @ (e + noise).T,
        ),
        no_mask=_mean_back(weigh=MASK["no_mask"]),
    ),
)

TASKS = with_hints(
    __file__,
    {"head-back": _HEAD_BACK, "first-collision": _FIRST_COLLISION, "noisy-head": _NOISY_HEAD},
)
