"""Mistakes that are one stage of a pipeline put wrong, written once, and how they are composed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnbook.exercises.exercise import Array, Cases, Function, Inputs
from attnbook.functional import softmax


def projection(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Return a matrix that keeps the size of what it projects."""
    return rng.standard_normal((rows, columns)) / np.sqrt(rows)


def coarse(rng: np.random.Generator, *shape: int) -> Any:
    """Return normal noise in quarters, which stay exact, in float32 too, when 5000 is added."""
    return np.round(4 * rng.standard_normal(shape)) / 4


def apart(inputs: Inputs, query: str, key: str, sign: int, width: int = 4) -> None:
    """Move all scores by 5000, up or down, of heads of a width; their differences stay small.

    The first number of a token is 100, and only the first column of a head gets it.
    """
    for name, weights, first in ((query, "w_q", 1), (key, "w_k", sign)):
        inputs[name][..., 0] = 100
        inputs[weights][0] = 0
        inputs[weights][0, ::width] = first
        inputs[weights][1:, ::width] = 0
    inputs["w_v"][0] = 0


def number_cases(hints: str, **numbers: list[Any]) -> Callable[[np.random.Generator], Cases]:
    """Make the cases of a function of some numbers, which are listed by their names."""
    rows = zip(*numbers.values(), hints.split(), strict=True)
    cases = [(dict(zip(numbers, row, strict=False)), row[-1]) for row in rows]
    return lambda rng: iter(cases)


# To compose mistakes


def each(make: Function, **wrong: Any) -> dict[str, Function]:
    """Make a mistake out of each part that is wrong, as ``make`` makes the right answer."""
    return {id_: make(part) for id_, part in wrong.items()}


def returning(right: Function, **change: Function) -> dict[str, Function]:
    """Do something wrong to what a right answer returns."""
    return {id_: lambda *a, wrong=wrong: wrong(right(*a)) for id_, wrong in change.items()}


def taking(right: Function, **change: Function) -> dict[str, Function]:
    """Give a right answer other arguments than it should get."""
    return {id_: lambda *a, wrong=wrong: right(*wrong(*a)) for id_, wrong in change.items()}


def but(mistakes: Mapping[str, Function], *ids: str) -> dict[str, Function]:
    """Leave out those mistakes that an exercise cannot tell from others, or from a right answer."""
    return {id_: wrong for id_, wrong in mistakes.items() if id_ not in ids}


# The stages of attention, right and wrong


def dot(query: Array, key: Array) -> Array:
    return query @ key.swapaxes(-1, -2)


def scaled(query: Array, key: Array) -> Any:
    return dot(query, key) / np.sqrt(query.shape[-1])


def cosine(query: Array, key: Array) -> Array:
    return dot(*(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (query, key)))


def torn(key: Array) -> Array:
    return key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2]).swapaxes(-1, -2)


def naive_softmax(x: Array, axis: int = -1) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def hard_max(x: Array) -> Any:
    return (x == x.max(axis=-1, keepdims=True)).astype(float)


def hard_far(x: Array) -> Any:
    large = np.abs(x[np.isfinite(x)]).max(initial=0) > 700
    return np.eye(x.shape[-1])[x.argmax(axis=-1)] if large else softmax(x)


def guarded_above(x: Array) -> Any:
    return softmax(x) if x.max() > 0 else naive_softmax(x)


def masked(scores: Array, mask: Any) -> Array:
    return softmax(_hidden(scores, mask))


def _hidden(scores: Array, mask: Any) -> Array:
    return np.where(mask, scores, -np.inf)


def _late_maximum(scores: Array, mask: Any) -> Any:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Attention:
    """Attention in stages: ``replace(Attention(), scale=...)`` is wrong in one of them."""

    score: Function = dot  # of query and key
    scale: Function = lambda s, q, k, v: s / np.sqrt(q.shape[-1])
    weigh: Function = masked  # of scores and mask
    mix: Function = lambda w, s, k, v: w @ v
    give: Function = lambda output, weights, scores: (output, weights)

    def scores(self, query: Array, key: Array, value: Any = None) -> Any:
        return self.scale(self.score(query, key), query, key, value)

    def __call__(self, query: Array, key: Array, value: Array, mask: Any = True) -> Any:
        scores = self.scores(query, key, value)
        weights = self.weigh(scores, mask)
        return self.give(self.mix(weights, scores, key, value), weights, scores)


ATTEND = Attention()

# Of an array x of scores, each row to become weights.
SOFTMAX: dict[str, Function] = dict(
    over_queries=lambda x: softmax(x, axis=-2),
    no_softmax=lambda x: x,
    no_exponential=lambda x: x / x.sum(axis=-1, keepdims=True),
    hard=hard_max,
    hard_far=hard_far,
    uniform=lambda x: np.full(x.shape, 1 / x.shape[-1]),
    overflow=naive_softmax,
    underflow=guarded_above,
    no_sum=lambda x: np.exp(x - x.max(axis=-1, keepdims=True)),
    bare=np.exp,
    sum_of_all=lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    turned=lambda x: softmax(-x),
)

# Of scores and a mask that hides some of them.
MASK: dict[str, Function] = dict(
    no_mask=lambda s, m: softmax(s),
    inverted=lambda s, m: masked(s, ~m),
    mask_after=lambda s, m: softmax(s) * m,
    zero_fill=lambda s, m: softmax(np.where(m, s, 0)),
    one_fill=lambda s, m: softmax(np.where(m, s, 1)),
    added_mask=lambda s, m: softmax(s + m),
    no_sum=lambda s, m: m * np.exp(s - _hidden(s, m).max(axis=-1, keepdims=True)),
    bare=lambda s, m: m * np.exp(s),
    no_softmax=_hidden,
    far_scores=lambda s, m: naive_softmax(_hidden(s, m)),
    underflow=lambda s, m: guarded_above(_hidden(s, m)),
    masked_maximum=_late_maximum,
    over_queries=lambda s, m: softmax(_hidden(s, m), axis=-2),
    hard=lambda s, m: hard_max(_hidden(s, m)) * m,
    hard_far=lambda s, m: hard_far(_hidden(s, m)) * m,
    uniform=lambda s, m: masked(0 * s, m),
)

# The same, where a row may be empty.
MASK_OF_ALL: dict[str, Function] = dict(
    but(MASK, "far_scores", "underflow", "masked_maximum"),
    far_scores=lambda s, m: np.nan_to_num(naive_softmax(_hidden(s, m))),
    underflow=lambda s, m: np.nan_to_num(guarded_above(_hidden(s, m))),
    masked_maximum=lambda s, m: np.nan_to_num(_late_maximum(s, m)),
    mask_of_first=lambda s, m: masked(s, m[:1]),
    empty_uniform=lambda s, m: softmax(np.where(m, s, -1e9)),
    empty_unmasked=lambda s, m: softmax(s + np.where(m, 0, -1e9)),
    empty_nan=lambda s, m: np.where(m.any(axis=-1, keepdims=True), masked(s, m), np.nan),
)

# The scale comes after the softmax: the logarithm is undone there.
SCALED_LATE = Attention(
    scale=lambda s, q, k, v: np.log(softmax(s) / np.sqrt(q.shape[-1])),
    weigh=lambda s, m: np.exp(s),
)

STAGES: dict[str, dict[str, Function]] = {
    "score": dict(torn=lambda q, k: dot(q, torn(k))),
    "scale": dict(
        cosine=lambda s, q, k, v: cosine(q, k),
        unscaled=lambda s, q, k, v: s,
        by_d_k=lambda s, q, k, v: s / q.shape[-1],
        times_root=lambda s, q, k, v: s * np.sqrt(q.shape[-1]),
        by_whole_root=lambda s, q, k, v: s / int(np.sqrt(q.shape[-1])),
        by_half=lambda s, q, k, v: s / (q.shape[-1] / 2),
        by_double=lambda s, q, k, v: s / q.shape[-1] / 2,
        by_eight=lambda s, q, k, v: s / 8,
        by_len_k=lambda s, q, k, v: s / np.sqrt(k.shape[-2]),
        by_len_q=lambda s, q, k, v: s / np.sqrt(q.shape[-2]),
        by_d_v=lambda s, q, k, v: s / np.sqrt(v.shape[-1]),
    ),
    "weigh": each(lambda wrong: lambda s, m: wrong(s), **SOFTMAX),
    "mask": MASK_OF_ALL,
    "mix": dict(
        mixed_by_scores=lambda w, s, k, v: s @ v,
        mixed_by_unscaled=lambda w, s, k, v: softmax(s * np.sqrt(k.shape[-1])) @ v,
        mixed_by_best=lambda w, s, k, v: hard_max(s) @ v,
        mean_of_mixed=lambda w, s, k, v: w @ v / k.shape[-2],
        unmixed=lambda w, s, k, v: v,
        mixed_keys=lambda w, s, k, v: w @ k,
    ),
    "give": dict(
        scores_given=lambda output, weights, scores: (output, scores),
        swapped=lambda output, weights, scores: (weights, output),
        weights_alone=lambda output, weights, scores: weights,
        output_alone=lambda output, weights, scores: output,
    ),
}


def put_wrong(*stages: str) -> dict[str, Attention]:
    """Return attention with each mistake of some stages, by its id; the other stages are right."""
    parts = {stage: "weigh" if stage == "mask" else stage for stage in stages}
    return {
        id_: replace(ATTEND, **{part: wrong})
        for stage, part in parts.items()
        for id_, wrong in STAGES[stage].items()
    }


# What can go wrong with the frequencies of the pairs of d columns, whatever they are needed for


def exponents(d: int) -> Any:
    return -2 * np.arange(d // 2) / d


def frequencies(d: int, base: float) -> Any:
    return base ** exponents(d)


FREQUENCIES: dict[str, Function] = dict(
    **each(lambda n: lambda d, b: b ** (n * exponents(d)), single=0.5, doubled=2, no_minus=-1),
    **each(lambda n: lambda d, b: b ** (exponents(d) * d / max(d - n, 1)), one_less=1, two_less=2),
    cut_frequencies=lambda d, b: np.trunc(frequencies(d, b)),
    times_base=lambda d, b: b * exponents(d),
    divided_late=lambda d, b: b ** (exponents(d) * d) / d,
    **each(lambda n: lambda d, b: n ** exponents(d), no_base=np.e, all_ones=1, fixed_base=1e4),
    log10=lambda d, b: np.exp(exponents(d) * np.log10(b)),
    **each(lambda n: lambda d, b: n * frequencies(d, b), degrees=np.pi / 180, in_turns=2 * np.pi),
)
