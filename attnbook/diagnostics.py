"""Numbers that tell whether attention is healthy: the spread of scores, the focus of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_count, check_same_d_k, check_sequences, promote, real_array
from attnbook.functional import _scale

__all__ = ["ScoreStatistics", "Spread", "because", "effective_keys", "entropy", "influence"]
__all__ += ["pairing_gaps", "rank_correlation", "score_statistics"]


class Spread(NamedTuple):
    """Smallest, largest, mean and standard deviation of a set of numbers."""

    minimum: float
    maximum: float
    mean: float
    std: float


class ScoreStatistics(NamedTuple):
    """The spread of the raw dot products, and of the scores after scaling."""

    before: Spread
    after: Spread


def score_statistics(
    query: ArrayLike, key: ArrayLike, *, scale: float | None = None
) -> ScoreStatistics:
    """Summarise the dot products of all queries with all keys, before and after scaling.

    Parameters
    ----------
    query, key : (..., len_q, d_k), (..., len_k, d_k)
    scale : float, optional
        ``1/sqrt(d_k)`` by default.

    Returns
    -------
    ScoreStatistics
        ``before`` and ``after``, each with minimum, maximum, mean and std

    Raises
    ------
    ValueError
        If the last axes differ or there is no score to summarise.

    Examples
    --------
    >>> score_statistics([[2, 0, 0, 0]], [[1, 0, 0, 0], [3, 0, 0, 0]]).after
    Spread(minimum=1.0, maximum=3.0, mean=2.0, std=1.0)
    """
    (query, key), _ = promote(query=query, key=key)
    check_sequences(query=query, key=key)
    check_same_d_k(query, key)
    scores = query @ key.swapaxes(-1, -2)  # (..., len_q, len_k)
    if scores.size == 0:
        raise ValueError(f"there must be at least one score, got shape {scores.shape}")
    return ScoreStatistics(_spread(scores), _spread(scores * _scale(scale, query)))


def entropy(weights: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Measure how spread out each row of weights is, in nats.

    ``-sum(w * log(w))`` with ``0 log 0 = 0``: 0 for a single key, ``log(n)`` for n equal ones
    :cite:p:`shannon1948`.

    Parameters
    ----------
    weights : any shape
        Non-negative; each row along ``axis`` sums to one, or is all zeros.
    axis : int

    Returns
    -------
    The shape of ``weights`` without ``axis``

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> entropy([[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """
    (weights,), dtype = promote(weights=weights)
    return _entropy(weights, axis).astype(dtype)


def effective_keys(weights: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Count the keys a row attends to: the number of equal weights with the same entropy.

    ``exp(entropy)``; 0 for a row that attends to nothing.

    Parameters
    ----------
    weights : any shape
        Non-negative; each row along ``axis`` sums to one, or is all zeros.
    axis : int

    Returns
    -------
    The shape of ``weights`` without ``axis``

    Raises
    ------
    ValueError
        If a weight is negative.

    Examples
    --------
    >>> effective_keys([[0.5, 0.5], [1, 0], [0, 0]])
    array([2., 1., 0.])
    """
    (weights,), dtype = promote(weights=weights)
    spread = np.exp(_entropy(weights, axis))
    return np.where((weights != 0).any(axis=axis), spread, 0)[()].astype(dtype)


def _entropy(weights: NDArray[np.floating], axis: int) -> NDArray[np.floating]:
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, got {weights.min()}")
    terms = weights * np.log(np.where(weights > 0, weights, 1))
    total: NDArray[np.floating] = terms.sum(axis=axis)
    return 0 - total  # 0 - x: no negative zero


def _spread(x: NDArray[np.floating]) -> Spread:
    return Spread(float(x.min()), float(x.max()), float(x.mean()), float(x.std()))


def influence(
    attend: Callable[[NDArray[np.float64]], ArrayLike], x: ArrayLike, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Find out which outputs of a function of tokens move when one token is changed.

    Every token in turn gets random numbers added; an output that differs by more than 1e-12,
    which suits numbers near 1, has moved. It can show a leak, and not prove that there is none.

    Parameters
    ----------
    attend : callable, from (len, d_in) to (len, d_out)
    x : (len, d_in)
    rng : numpy.random.Generator

    Returns
    -------
    (len, len), bool, whose entry [i, j] is true if changing token j moved output i

    Raises
    ------
    ValueError
        If x has not two axes.

    Examples
    --------
    >>> influence(np.cumsum, [[1.0], [2.0]], np.random.default_rng(0)).tolist()
    [[True, False], [True, True]]
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"x must have 2 axes (len, d_in), got shape {x.shape}")
    before = np.reshape(attend(x.copy()), (len(x), -1))
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += rng.standard_normal(x.shape[1])
        after = np.reshape(attend(changed), before.shape)
        moved[:, j] = ~(np.abs(after - before) <= 1e-12).all(axis=1)  # a NaN has moved
    return moved


def pairing_gaps(w: ArrayLike, num_heads: int) -> dict[str, float]:
    """Compare the norms of paired columns, for both ways to pair them: a hint at the trained one.

    Rotation turns the two columns of a pair into each other, and in many trained models they are
    nearly as long. A gap is the mean ``abs(log(norm / norm of its partner))``: if one is far below
    the other, rotate in those pairs. Gaps that are about the same tell nothing, as in small models.

    Parameters
    ----------
    w : (d_model, num_heads * head_dim), a rotary model's w_q or w_k, no column all zero
    num_heads : int, of keys for w_k

    Returns
    -------
    dict from a ``pairing`` of ``apply_rotary`` to its gap, 0 where all partners are equally long

    Raises
    ------
    ValueError
        If columns do not make heads of an even size, or one is all zero.

    Examples
    --------
    >>> pairing_gaps([[2, 2, 1, 1]], 1)
    {'interleaved': 0.0, 'halves': 0.6931471805599453}
    """
    (w,), _ = promote(w=w)
    num_heads = check_count("num_heads", num_heads)
    if w.ndim != 2 or w.shape[1] == 0 or w.shape[1] % (2 * num_heads):
        raise ValueError(
            "w must have the shape (d_model, num_heads * head_dim) with an even head_dim, "
            f"got {w.shape} and {num_heads} heads"
        )
    norms = np.linalg.norm(w, axis=0)
    if not norms.all():
        raise ValueError(f"w must have no column that is all zero, got {np.sum(norms == 0)}")
    logs = np.log(norms).reshape(num_heads, -1)  # (num_heads, head_dim)
    half = logs.shape[1] // 2
    return {
        "interleaved": float(abs(logs[:, 0::2] - logs[:, 1::2]).mean()),
        "halves": float(abs(logs[:, :half] - logs[:, half:]).mean()),
    }


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Measure how far two lists put the same things in the same order, between -1 and 1.

    Spearman's coefficient: the correlation of the ranks; equal numbers share their mean rank.

    Parameters
    ----------
    first, second : (n,)

    Returns
    -------
    float, 1 for the same order, -1 for the opposite one

    Raises
    ------
    ValueError
        If they are not two lists of the same length, have fewer than two different numbers, or
        hold a NaN.

    Examples
    --------
    >>> rank_correlation([1, 2, 3], [10, 100, 1000])
    1.0
    """
    first, second = np.asarray(first), np.asarray(second)
    if first.ndim != 1 or first.shape != second.shape or len(first) < 2:
        raise ValueError(
            "first and second must have one axis, the same length and at least 2 numbers, "
            f"got shapes {first.shape} and {second.shape}"
        )
    for name, numbers in (("first", first), ("second", second)):
        if not numbers.min() < numbers.max():  # constant, or a NaN
            raise ValueError(f"{name} must hold different numbers and no NaN, got {numbers}")
    # How many are smaller, less how many are larger: as the rank, but for a factor and a shift.
    ranks = [(x[:, None] > x).sum(axis=1) - (x[:, None] < x).sum(axis=1) for x in (first, second)]
    return float(np.corrcoef(ranks)[0, 1].round(12))


def because(
    with_cause: ArrayLike,
    without: ArrayLike,
    control: ArrayLike,
    *,
    line: float,
    margin: float = 0.0,
    in_cases: float = 1.0,
) -> None:
    """Assert that an effect is there with its cause, gone without it, and there in a control.

    One measure, three times: with the cause; without it and nothing else changed; and with the
    cause, but something else of the same size changed. On which side of the line the effect is
    there, most cases of ``with_cause`` say.

    Parameters
    ----------
    with_cause, without, control : scalars or (cases,)
    line : float
    margin : float, further than which from the line each case must be
    in_cases : float, the share of cases, above one half, that must hold

    Raises
    ------
    AssertionError
        If one of the three does not hold, or the control equals ``with_cause`` in every bit.
    ValueError
        If there is no case, or a margin or share makes no sense.

    Examples
    --------
    >>> because([5, 6], [1, 2], [7, 5], line=3, margin=0.5)
    """
    if not margin >= 0 or not 0.5 < in_cases <= 1:
        raise ValueError(
            "margin must not be negative and in_cases must be above 0.5 and at most 1, "
            f"got {margin} and {in_cases}"
        )
    settings = {"with_cause": with_cause, "without": without, "control": control}
    cases = {name: np.array(real_array(name, each), ndmin=1) for name, each in settings.items()}
    for name, values in cases.items():
        if values.ndim > 1 or len(values) == 0:
            raise ValueError(
                f"{name} must be a number or have the shape (cases,), got shape {values.shape}"
            )
    there, changed = cases["with_cause"], cases["control"]
    comparable = len(there) == len(changed) or 1 in (len(there), len(changed))
    if comparable and np.all(there == changed):
        raise AssertionError("the control changed nothing: it equals with_cause in every bit")
    above = np.sum(there > line) >= np.sum(there < line)
    failed = []
    for name, values in cases.items():
        up = above != (name == "without")
        held = int(np.sum(values > line + margin if up else values < line - margin))
        if held < in_cases * len(values) - 1e-9:
            failed.append(
                f"{name} is {'above' if up else 'below'} {line:g} "
                f"{f'by more than {margin:g} ' if margin else ''}in {held} of {len(values)} cases, "
                f"seen {values.min():.4g} to {values.max():.4g}"
            )
    if failed:
        needed = "all" if in_cases == 1 else f"{in_cases:.0%}"
        raise AssertionError(f"it must hold in {needed} cases, but {'; '.join(failed)}")
