"""The exercises of the chapter Build a language model, whole."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from attnbook.exercises.exercise import Cases, Exercise, Function, with_hints
from attnbook.exercises.stages import each, projection, taking
from attnbook.functional import softmax

# RMSNorm


def _rms_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, eps: float, size: float = 1) -> Any:
        x = size * (rng.standard_normal(shape) + 0.5)
        gain = rng.uniform(0.5, 2, shape[-1]) * (-1) ** np.arange(shape[-1])
        return {"x": x, "gain": gain, "eps": eps}

    yield inputs(3, 5, 5, eps=0.25), "mean_of_squares"
    yield inputs(2, 7, 3, eps=0.1), "mean_of_squares"
    yield inputs(7, eps=0.3), "leading_axes"
    yield inputs(2, 3, 5, 7, eps=0.2), "leading_axes"
    yield inputs(3, 2, 5, eps=1e-5, size=1e-3), "small"
    zeros = inputs(2, 3, 5, eps=1e-6)
    zeros["x"][1, 2] = 0
    yield zeros, "zeros"
    yield inputs(2, 1, 3, eps=0.1), "single"
    whole = inputs(3, 2, 7, eps=0.2)
    yield whole | {"x": np.round(3 * whole["x"]).astype(int)}, "stored_as_integers"


def _mean(x: Any, axis: Any = -1) -> Any:
    return x.mean(axis=axis, keepdims=True)


def _root(x: Any, eps: float) -> Any:
    return np.sqrt(_mean(x**2) + eps)


def _rms(
    root: Function = _root,
    centre: Function = lambda x: x,
    divide: Function = lambda x, root: x / root,
    scale: Function = lambda x, gain: x * gain,
) -> Function:
    """Make a norm of its steps: what is divided, by what, and what the gain does."""
    return lambda x, gain, eps: scale(divide(centre(x), root(x, eps)), gain)


# Of vectors x and epsilon e, what they are divided by.
_ROOTS: dict[str, Function] = dict(
    no_root=lambda x, e: _mean(x**2) + e,
    sum_of_squares=lambda x, e: np.sqrt((x**2).sum(axis=-1, keepdims=True) + e),
    eps_outside=lambda x, e: np.sqrt(_mean(x**2)) + e,
    no_eps=lambda x, e: np.sqrt(_mean(x**2)),
    eps_squared=lambda x, e: np.sqrt(_mean(x**2) + e**2),
    fixed_eps=lambda x, e: np.sqrt(_mean(x**2) + 1e-5),
    by_deviation=lambda x, e: np.sqrt(_mean((x - _mean(x)) ** 2) + e),
    by_absolute=lambda x, e: _mean(np.abs(x)) + e,
    by_largest=lambda x, e: np.abs(x).max(axis=-1, keepdims=True) + e,
    one_less=lambda x, e: np.sqrt((x**2).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1) + e),
    over_tokens=lambda x, e: np.sqrt(_mean(x**2, -2) + e),
    over_all=lambda x, e: np.sqrt((x**2).mean() + e),
)
# What the gain does to what has been divided.
_GAINS: dict[str, Function] = dict(
    no_gain=lambda x, gain: x,
    gain_added=lambda x, gain: x + gain,
    gain_plus_one=lambda x, gain: x * (1 + gain),
    gain_divides=lambda x, gain: x / gain,
    gain_of_tokens=lambda x, gain: x * gain[:, None],
    gain_without_sign=lambda x, gain: x * np.abs(gain),
)

_RMS_NORM = Exercise(
    call="rms_norm(x, gain, eps)",
    reference=_rms(),
    cases=_rms_cases,
    mistakes=dict(
        **each(_rms, **_ROOTS),
        **each(lambda scale: _rms(scale=scale), **_GAINS),
        layer_norm=_rms(_ROOTS["by_deviation"], lambda x: x - _mean(x)),
        centred=_rms(centre=lambda x: x - _mean(x)),
        multiplied=_rms(divide=lambda x, root: x * root),
        gain_first=lambda x, gain, eps: _rms()(x * gain, 1, eps),
        twice=lambda x, gain, eps: _rms()(_rms()(x, 1, eps), gain, eps),
        root_alone=lambda x, gain, eps: _root(x, eps),
        cut_to_integers=lambda x, gain, eps: _rms()(x, gain, eps).astype(x.dtype),
    ),
    clues={"broadcast": "keepdims", "unpack|out of bounds": "leading_axes"},
)


# SwiGLU


def _swiglu_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, hidden: int, d_out: int, size: float = 1) -> Any:
        d_model = shape[-1]
        return {
            "x": 2 * rng.standard_normal(shape),
            "w_gate": size * projection(rng, d_model, hidden),
            "w_up": projection(rng, d_model, hidden),
            "w_down": projection(rng, hidden, d_out),
        }

    yield inputs(2, 5, 5, hidden=5, d_out=5), "gate_times_up"
    yield inputs(2, 3, 5, hidden=7, d_out=11), "gate_times_up"
    yield inputs(7, hidden=3, d_out=2), "leading_axes"
    yield inputs(2, 5, 3, 7, hidden=11, d_out=5), "leading_axes"
    yield inputs(3, 7, 5, hidden=13, d_out=2, size=1000), "large"
    yield inputs(2, 1, 3, hidden=5, d_out=7), "single"
    whole = inputs(3, 2, 5, hidden=7, d_out=3)
    yield whole | {"x": np.round(whole["x"]).astype(int)}, "stored_as_integers"


def _sigmoid(z: Any) -> Any:
    return (1 + np.tanh(z / 2)) / 2


def _silu(z: Any) -> Any:
    return z * _sigmoid(z)


def _gated(
    bend: Function = _silu, join: Function = lambda gate, up, bend: bend(gate) * up
) -> Function:
    """Make the layer of its bend, and of how the halves come together."""
    return lambda x, w_gate, w_up, w_down: join(x @ w_gate, x @ w_up, bend) @ w_down


def _gelu(z: Any) -> Any:
    return z * _sigmoid(np.sqrt(8 / np.pi) * (z + 0.044715 * z**3))  # by tanh, as GPT-2's


# Of a gate z: what should be its SiLU.
_BENDS: dict[str, Function] = dict(
    relu=lambda z: np.maximum(z, 0),
    gelu=_gelu,
    quick_gelu=lambda z: z * _sigmoid(1.702 * z),
    sigmoid=_sigmoid,
    no_bend=lambda z: z,
    tanh=np.tanh,
    softplus=lambda z: np.logaddexp(0, z),
    turned=lambda z: z * _sigmoid(-z),
    minus=lambda z: z / (1 - np.exp(-z)),
    softmax=softmax,
    overflow=lambda z: z * np.exp(z) / (1 + np.exp(z)),
)

_SWIGLU = Exercise(
    call="swiglu(x, w_gate, w_up, w_down)",
    reference=_gated(),
    cases=_swiglu_cases,
    mistakes=dict(
        **each(_gated, **_BENDS),
        **each(
            lambda join: _gated(join=join),
            bend_on_up=lambda gate, up, bend: gate * bend(up),
            bend_on_both=lambda gate, up, bend: bend(gate) * bend(up),
            bend_on_product=lambda gate, up, bend: bend(gate * up),
            added=lambda gate, up, bend: bend(gate) + up,
            no_up=lambda gate, up, bend: bend(gate),
            no_gate=lambda gate, up, bend: up,
            up_bent=lambda gate, up, bend: bend(up),
            gate_twice=lambda gate, up, bend: bend(gate) * gate,
            divided=lambda gate, up, bend: bend(gate) * up / gate.shape[-1],
        ),
        **taking(
            _gated(),
            gate_transposed=lambda x, gate, up, down: (x, gate.T, up, down),
            up_transposed=lambda x, gate, up, down: (x, gate, up.T, down),
            down_transposed=lambda x, gate, up, down: (x, gate, up, down.T),
            all_transposed=lambda x, gate, up, down: (x, gate.T, up.T, down.T),
        ),
        bend_at_the_end=lambda x, gate, up, down: _silu((x @ gate) * (x @ up) @ down),
        not_down=lambda x, gate, up, down: _silu(x @ gate) * (x @ up),
        residual=lambda x, gate, up, down: x + _gated()(x, gate, up, down),
        cut_to_integers=lambda x, gate, up, down: _gated()(x, gate, up, down).astype(x.dtype),
    ),
    clues={"unpack|out of bounds": "leading_axes"},
)


# A word in byte pairs: all is compared as two arrays, its letters' codes and its parts' lengths

_Parts: TypeAlias = list[str]
_Ranks: TypeAlias = dict[tuple[str, str], int]


def _compared(answer: Function, parts: _Parts, ranks: _Ranks) -> Any:
    merged = answer(parts, ranks)
    if isinstance(merged, np.ndarray) and merged.size <= len(parts):
        merged = merged.tolist()
    if merged is None:
        return None
    if not isinstance(merged, list | tuple) or not all(isinstance(p, str) for p in merged):
        return merged, merged  # which are no numbers, and are told so
    return np.array([ord(letter) for letter in "".join(merged)]), np.array(list(map(len, merged)))


def _pairs(parts: _Parts) -> Iterable[tuple[str, str]]:
    return itertools.pairwise(parts)


def _joined(parts: _Parts, at: int) -> _Parts:
    return [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]


def _lowest(parts: _Parts, ranks: _Ranks) -> int | None:
    """Return where the pair of the lowest rank is, the first of several."""
    ranked = [(ranks[pair], at) for at, pair in enumerate(_pairs(parts)) if pair in ranks]
    return min(ranked)[1] if ranked else None


def _merge(where: Function = _lowest, join: Function = _joined, rounds: float = np.inf) -> Function:
    """Make a merge of its steps: where, and into what; ``where`` says None when it is done."""

    def merge(parts: _Parts, ranks: _Ranks) -> Any:
        parts = list(parts)
        for number in itertools.count():
            at = where(parts, ranks)
            if at is None or number >= rounds:
                return parts
            parts = join(parts, at)

    return merge


_MERGE = _merge()


def _learned(rng: np.random.Generator, letters: str, length: int, count: int) -> _Ranks:
    """Learn merges, as byte pairs are, from letters drawn at random; the dict is in no order."""
    text, ranks = list(map(str, rng.choice(list(letters), length))), {}
    for rank in range(count):
        often = Counter(_pairs(text)).most_common(1)[0][0]
        ranks[often] = rank
        text = _merge()(text, {often: 0})
    return {pair: ranks[pair] for pair in [[*ranks][at] for at in rng.permutation(count)]}


def _merge_cases(rng: np.random.Generator) -> Cases:
    def inputs(letters: str, length: int, count: int, of: int = 400) -> Any:
        ranks = _learned(rng, letters, of, count)
        return {"parts": list(map(str, rng.choice(list(letters), length))), "ranks": ranks}

    yield inputs("abcd", 29, 17), "lowest_first"
    yield inputs("abc", 37, 13), "lowest_first"
    known = {("a", "a"): 1, ("aa", "a"): 3, ("b", "a"): 0, ("aa", "aa"): 2}
    yield {"parts": list("aaabaaaaaaa"), "ranks": known}, "from_the_left"
    grown = inputs("eno", 31, 11)
    for at in (19, 11, 7, 2):  # joined by chance, as no merge would
        grown["parts"] = _joined(grown["parts"], at)
    yield grown, "longer_parts"
    long_last = {("c", "d"): 0, ("cd", "c"): 1, ("b", "cdc"): 3, ("a", "b"): 2}
    yield {"parts": ["a", "b", "cdc", "a", "b"], "ranks": long_last}, "longer_parts"
    turned = {("b", "c"): 1, ("a", "bc"): 0, ("abc", "d"): 3, ("c", "d"): 2, ("bc", "bc"): 4}
    yield {"parts": list("dabcdbcbcabc"), "ranks": turned}, "made_later"
    falling = {("a", "b"): 3, ("ab", "c"): 2, ("abc", "d"): 1, ("abcd", "e"): 0}
    yield {"parts": list("eabcdeabcd"), "ranks": falling}, "made_later"
    yield inputs("ab", 7, 5) | {"parts": list("xyzzy")}, "nothing_known"
    yield inputs("ab", 1, 3), "one_part"
    yield inputs("ab", 0, 3), "no_part"
    yield inputs("abc", 601, 29, of=2000), "long"


def _rank_of_lowest(parts: _Parts, ranks: _Ranks, least: int) -> int | None:
    ranked = [(ranks[p], at) for at, p in enumerate(_pairs(parts)) if ranks.get(p, -1) >= least]
    return min(ranked)[1] if ranked else None


def _first(parts: _Parts, ranks: _Ranks) -> int | None:
    return next((at for at, pair in enumerate(_pairs(parts)) if pair in ranks), None)


def _longest_made(parts: _Parts, ranks: _Ranks) -> int | None:
    made = [(-len(a + b), at) for at, (a, b) in enumerate(_pairs(parts)) if (a, b) in ranks]
    return min(made)[1] if made else None


def _highest(parts: _Parts, ranks: _Ranks) -> int | None:
    ranked = [(-ranks[pair], at) for at, pair in enumerate(_pairs(parts)) if pair in ranks]
    return min(ranked)[1] if ranked else None


def _by_order(parts: _Parts, ranks: _Ranks) -> int | None:
    return _lowest(parts, {pair: rank for rank, pair in enumerate(ranks)})


def _rightmost(parts: _Parts, ranks: _Ranks) -> int | None:
    ranked = [(ranks[pair], -at) for at, pair in enumerate(_pairs(parts)) if pair in ranks]
    return -min(ranked)[1] if ranked else None


def _most_frequent(parts: _Parts, ranks: _Ranks) -> int | None:
    known = Counter(pair for pair in _pairs(parts) if pair in ranks)
    if not known:
        return None
    often = max(known, key=lambda pair: (known[pair], -ranks[pair]))
    return list(_pairs(parts)).index(often)


def _longest(parts: _Parts, ranks: _Ranks) -> _Parts:
    """Take the longest known token from the left, again and again."""
    known, merged, at = {a + b for a, b in ranks}, [], 0
    while at < len(parts):
        ends = [end for end in range(at + 2, len(parts) + 1) if "".join(parts[at:end]) in known]
        end = max(ends, default=at + 1)
        merged.append("".join(parts[at:end]))
        at = end
    return merged


def _overlapping(parts: _Parts, ranks: _Ranks) -> _Parts:
    """Join every pair of the lowest rank, also those that share a part."""
    parts = list(parts)
    while (at := _lowest(parts, ranks)) is not None:
        pair, merged, taken = (parts[at], parts[at + 1]), [], False
        for index, part in enumerate(parts):
            is_pair = (part, *parts[index + 1 : index + 2]) == pair
            merged += ["".join(pair)] if is_pair else [] if taken else [part]
            taken = is_pair
        parts = merged
    return parts


def _sweeps(parts: _Parts, ranks: _Ranks, times: int) -> _Parts:
    """Use each rule in the order of the ranks, and all of them so many times."""
    for pair in times * sorted(ranks, key=ranks.__getitem__):
        parts = _MERGE(parts, {pair: 0})
    return parts


_BYTE_PAIR_MERGE = Exercise(
    call="merge(parts, ranks)",
    returns=("letters", "parts"),
    reference=_MERGE,
    cases=_merge_cases,
    play=_compared,
    mistakes=dict(
        **each(
            _merge,
            first_known=_first,
            longest_made=_longest_made,
            highest_rank=_highest,
            order_of_the_dict=_by_order,
            from_the_right=_rightmost,
            most_frequent=_most_frequent,
            rank_zero=lambda parts, ranks: _rank_of_lowest(parts, ranks, 1),
            last_pair=lambda parts, ranks: _lowest(parts[:-1], ranks),
        ),
        first_pair=_merge(
            lambda parts, ranks: (
                None if (at := _lowest(parts[1:], ranks)) is None else at + 1
            )
        ),
        one_round=_merge(rounds=1),
        one_sweep=lambda parts, ranks: _sweeps(parts, ranks, 1),
        two_sweeps=lambda parts, ranks: _sweeps(parts, ranks, 2),
        longest=_longest,
        overlapping=_overlapping,
        swapped_halves=_merge(
            join=lambda parts, at: [*parts[:at], parts[at + 1] + parts[at], *parts[at + 2 :]]
        ),
        part_kept=_merge(
            join=lambda parts, at: [*parts[:at], parts[at] + parts[at + 1], *parts[at + 1 :]]
        ),
        unmerged=lambda parts, ranks: parts,
        all_joined=lambda parts, ranks: ["".join(parts)],
        letters_again=lambda parts, ranks: _MERGE(list("".join(parts)), ranks),
        known_alone=lambda parts, ranks: [
            part for part in _MERGE(parts, ranks) if part in {a + b for a, b in ranks}
        ],
        spaces_between=lambda parts, ranks: [" ".join(_MERGE(parts, ranks))],
    ),
    clues={
        "unpack|min\\(\\)|empty|max\\(\\)|out of range|iterable argument": "nothing_left",
        "KeyError|^\\(": "unknown_pair",
    },
)  # fmt: skip


# The nucleus: top-p


def _top_p_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, p: float, sharp: float = 1) -> Any:
        return {"probabilities": softmax(sharp * rng.standard_normal(shape)), "p": p}

    first = inputs(5, 11, p=0.6)
    sure = first["probabilities"][1::2]  # one token is likelier than p
    sure[:] = 0.3 * sure + 0.7 * (sure == sure.max(axis=-1, keepdims=True))
    yield first, "fewest"
    yield inputs(3, 7, p=0.83), "fewest"
    probabilities = np.array([[0.125, 0.5, 0.125, 0.25], [0.0625, 0.1875, 0.25, 0.5]])
    yield {"probabilities": probabilities, "p": 0.75}, "just_reached"
    equal = np.array([[0.25, 0.25, 0.25, 0.25], [0.125, 0.5, 0.1875, 0.1875]])
    yield {"probabilities": equal, "p": 0.5}, "equal_ones"
    yield {"probabilities": equal[:, ::-1].copy(), "p": 0.6}, "equal_ones"
    # So many equal ones that a sort that is not stable mixes them up; no sum comes close to p.
    for count in (48, 300, 1000):
        levels = rng.integers(1, 4, count)
        levels[0] += 4 * count - levels.sum()
        yield {"probabilities": levels / (4.0 * count), "p": 0.6301}, "many_equal_ones"
    yield inputs(13, p=0.5), "leading_axes"
    yield inputs(2, 3, 5, p=0.7), "leading_axes"
    yield inputs(5, 7, p=0.9, sharp=40), "one_at_least"
    yield inputs(2, 5, p=1e-9), "one_at_least"
    tenth = np.full((2, 10), 0.1)
    tenth[1] = 0, 0.1, 0.2, 0, 0.3, 0, 0.1, 0.1, 0.2, 0
    yield {"probabilities": tenth, "p": 1.0}, "all_of_it"
    yield inputs(2, 1, 3, p=0.8), "single"
    long = 1 / np.arange(1, 1010.0)
    yield {"probabilities": rng.permutation(long / long.sum()), "p": 0.9}, "long"


def _order(x: Any) -> Any:
    return np.argsort(-x, axis=-1, kind="stable")


def _before(x: Any, order: Function = _order) -> Any:
    """Return for each token the probability of all that come before it in an order."""
    places = order(x)
    ordered = np.take_along_axis(x, places, axis=-1)
    sums = np.empty(x.shape)
    np.put_along_axis(sums, places, ordered.cumsum(axis=-1) - ordered, axis=-1)
    return sums


def _sum(x: Any) -> Any:
    return x.sum(axis=-1, keepdims=True)


def _kept(
    keep: Function = lambda x, p: _before(x) < p, again: Function = lambda x, p: x / _sum(x)
) -> Function:
    """Make a distribution of which tokens are kept, and what becomes of the rest's share."""
    return lambda x, p: again(np.where(keep(x, p), x, 0), p)


def _up_to(x: Any, p: float) -> Any:
    return _before(x) + x <= p


def _ranked(x: Any) -> Any:
    """Return each token's place among the likeliest."""
    return np.argsort(_order(x), axis=-1, kind="stable")


_TOP_P = Exercise(
    call="top_p(probabilities, p)",
    reference=_kept(),
    cases=_top_p_cases,
    mistakes=dict(
        **each(
            _kept,
            one_less=_up_to,
            one_less_but_one=lambda x, p: _up_to(x, p) | (_ranked(x) == 0),
            one_more=lambda x, p: _before(x) <= p,
            threshold=lambda x, p: x >= p,
            share_of_largest=lambda x, p: x >= p * x.max(axis=-1, keepdims=True),
            share_of_tokens=lambda x, p: _ranked(x) < np.ceil(p * x.shape[-1]),
            least_likely=lambda x, p: _before(x, lambda x: np.argsort(x, kind="stable")) < p,
            not_sorted=lambda x, p: x.cumsum(axis=-1) - x < p,
            places_of_sorted=lambda x, p: (
                np.take_along_axis(x, _order(x), axis=-1).cumsum(axis=-1)
                - np.take_along_axis(x, _order(x), axis=-1) < p
            ),
            turned=lambda x, p: _before(x) >= p,
            one_minus_p=lambda x, p: _before(x) < 1 - p,
            likeliest=lambda x, p: _ranked(x) == 0,
            all_kept=lambda x, p: x >= 0,
            equal_kept=lambda x, p: x >= np.where(_before(x) < p, x, 9).min(-1, keepdims=True),
            last_of_equal=lambda x, p: (
                _before(x, lambda x: np.argsort(x, axis=-1, kind="stable")[..., ::-1]) < p
            ),
            unstable=lambda x, p: _before(x, lambda x: np.argsort(-x, axis=-1)) < p,
            whole_array=lambda x, p: _before(x.ravel()).reshape(x.shape) < p,
            as_many_as_first=lambda x, p: _ranked(x) < (_before(x[0]) < p).sum(),
            as_many_as_most=lambda x, p: _ranked(x) < (_before(x) < p).sum(axis=-1).max(),
            as_first=lambda x, p: _before(x[0]) < p,
            nothing_at_one=lambda x, p: (
                _ranked(x) <= ((np.sort(x)[..., ::-1].cumsum(-1) >= p).argmax(-1)[..., None])
            ),
        ),
        **each(
            lambda again: _kept(again=again),
            not_again=lambda x, p: x,
            divided_by_p=lambda x, p: x / p,
            softmax_again=lambda x, p: softmax(np.where(x > 0, x, -np.inf)),
            softmax_of_zeros=lambda x, p: softmax(x),
            uniform=lambda x, p: (x > 0) / _sum(x > 0),
            rest_to_largest=lambda x, p: x + (1 - _sum(x)) * (_ranked(x) == 0),
            rest_to_all=lambda x, p: x + (x > 0) * (1 - _sum(x)) / _sum(x > 0),
            sum_of_all=lambda x, p: x / x.sum(),
            mask_alone=lambda x, p: 1.0 * (x > 0),
            how_many=lambda x, p: (x > 0).sum(axis=-1),
            tokens_alone=lambda x, p: _order(x)[..., : int((x > 0).sum(axis=-1).max())],
            left_sorted=lambda x, p: -np.sort(-x / _sum(x), axis=-1),
        ),
    ),
    clues={"broadcast": "keepdims", "unpack|ambiguous|only length-1|index": "leading_axes"},
)  # fmt: skip


# The logit lens


def _lens_cases(rng: np.random.Generator) -> Cases:
    def inputs(*shape: int, vocab: int, size: float = 3) -> Any:
        growing = np.arange(1, 1 + shape[0]).reshape(-1, *(1,) * (len(shape) - 1))
        states = size * growing * (rng.standard_normal(shape) + 0.5)
        return {
            "states": states,
            "final_norm": rng.uniform(0.5, 2, shape[-1]),
            "embedding": rng.standard_normal((vocab, shape[-1])),
        }

    yield inputs(5, 5, 5, vocab=5), "norm_then_product"
    yield inputs(3, 5, 7, vocab=11), "norm_then_product"
    yield inputs(5, 7, vocab=3), "leading_axes"
    yield inputs(3, 2, 5, 7, vocab=13), "leading_axes"
    yield inputs(3, 2, 5, vocab=7, size=1e-3), "small"
    yield inputs(2, 1, 3, vocab=5), "single"
    whole = inputs(3, 2, 5, vocab=7)
    whole["states"] = np.round(2 * whole["states"]).astype(int)
    yield whole | {"embedding": np.round(3 * whole["embedding"]).astype(int)}, "stored_as_integers"


def _lens(
    norm: Function = lambda x, gain: _rms()(x, gain, 1e-5),
    read: Function = lambda x, embedding: x @ embedding.T,
    of: Function = lambda states: states,
) -> Function:
    """Make a lens: what it reads of the states, through which norm, by which product."""
    return lambda states, gain, embedding: read(norm(of(states), gain), embedding)


_LENS = _lens()

_LOGIT_LENS = Exercise(
    call="logit_lens(states, final_norm, embedding)",
    reference=_LENS,
    cases=_lens_cases,
    leading="layer",
    mistakes=dict(
        **each(
            _lens,
            no_norm=lambda x, gain: x,
            gain_alone=lambda x, gain: x * gain,
            no_gain=lambda x, gain: _rms()(x, 1, 1e-5),
            gain_added=lambda x, gain: _rms()(x, 1, 1e-5) + gain,
            gain_plus_one=lambda x, gain: _rms()(x, 1 + gain, 1e-5),
            layer_norm=lambda x, gain: _RMS_NORM.mistakes["layer_norm"](x, gain, 1e-5),
            by_length=lambda x, gain: x / np.linalg.norm(x, axis=-1, keepdims=True) * gain,
            no_root=lambda x, gain: x / (_mean(x**2) + 1e-5) * gain,
            no_eps=lambda x, gain: x / np.sqrt(_mean(x**2)) * gain,
            small_eps=lambda x, gain: _rms()(x, gain, 1e-6),
            over_layers=lambda x, gain: x / np.sqrt(_mean(x**2, 0) + 1e-5) * gain,
            over_tokens=lambda x, gain: x / np.sqrt(_mean(x**2, -2) + 1e-5) * gain,
            over_all=lambda x, gain: x / np.sqrt((x**2).mean() + 1e-5) * gain,
            root_of_the_last=lambda x, gain: x / _root(x[-1], 1e-5) * gain,
            only_the_last_normed=lambda x, gain: np.concatenate(
                [x[:-1], _rms()(x[-1:], gain, 1e-5)]
            ),
            twice=lambda x, gain: _rms()(_rms()(x, gain, 1e-5), gain, 1e-5),
        ),
        **each(
            lambda read: _lens(read=read),
            not_transposed=lambda x, embedding: x @ embedding,
            probabilities=lambda x, embedding: softmax(x @ embedding.T),
            log_probabilities=lambda x, embedding: (
                x @ embedding.T - np.logaddexp.reduce(x @ embedding.T, axis=-1, keepdims=True)
            ),
            cosines=lambda x, embedding: (
                x @ embedding.T
                / np.linalg.norm(x, axis=-1, keepdims=True)
                / np.linalg.norm(embedding, axis=-1)
            ),
            tokens_alone=lambda x, embedding: (x @ embedding.T).argmax(axis=-1),
            normed_alone=lambda x, embedding: x,
        ),
        **each(
            lambda of: _lens(of=of),
            last_layer=lambda states: states[-1],
            embedding_left_out=lambda states: states[1:],
            last_left_out=lambda states: states[:-1],
            last_token=lambda states: states[..., -1, :],
            added_up=lambda states: states.cumsum(axis=0),
            differences=lambda states: np.diff(states, axis=0, prepend=0 * states[:1]),
            mean_of_tokens=lambda states: states.mean(axis=-2),
            from_the_top=lambda states: states[::-1],
        ),
        norm_of_logits=lambda states, gain, embedding: _rms()(states @ embedding.T, 1, 1e-5),
        embedding_normed=lambda states, gain, embedding: states @ _rms()(embedding, gain, 1e-5).T,
        cut_to_integers=lambda states, gain, embedding: _LENS(states, gain, embedding).astype(
            states.dtype
        ),
    ),
    clues={"matmul|not aligned": "embedding_turned", "unpack|out of bounds": "leading_axes"},
)  # fmt: skip

EXERCISES = with_hints(
    __file__,
    {
        "rms-norm": _RMS_NORM,
        "swiglu": _SWIGLU,
        "byte-pair-merge": _BYTE_PAIR_MERGE,
        "top-p": _TOP_P,
        "logit-lens": _LOGIT_LENS,
    },
)
