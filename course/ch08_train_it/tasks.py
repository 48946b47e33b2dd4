"""Assignment 8, Train it."""

from __future__ import annotations

import numpy as np

from attnbook.exercises.exercise import Exercise, with_hints
from attnbook.exercises.stages import each, returning
from attnbook.functional import softmax
from course.grading.task import NOT_RELATIVE, Measurement, relative, sizes

# tied-backward


def _tied(
    hidden=lambda a: np.maximum(a, 0),
    through=lambda d, a: d * (a > 0),
    residual=lambda d_x, d: d_x + d,
    uses=lambda first, second: first + second,
    tokens=lambda d_w: d_w.sum(axis=0),
    transposed=lambda first, second: (first, second.mT),
):
    """Make gradients of its steps: ``tokens`` adds those of w, one for each sequence."""

    def gradients(d_output, x, w):
        a = x @ w
        d_a = through(d_output @ w, a)
        first, second = transposed(x.mT @ d_a, hidden(a).mT @ d_output)
        return residual(d_a @ w.T, d_output), tokens(uses(first, second))

    return gradients


def _tied_cases(rng):
    def inputs(batch, lengths, dims, hidden):
        b, n, d, h = sizes(rng, batch, lengths, dims, hidden)
        return {
            "d_output": rng.standard_normal((b, n, d)),
            "x": rng.standard_normal((b, n, d)),
            "w": rng.standard_normal((d, h)) / 2,
        }

    square = inputs((3, 5), (7, 9), (6, 8, 11), (4,))
    d = square["x"].shape[-1]
    yield square | {"w": rng.standard_normal((d, d)) / 2}, "used_twice"
    yield inputs((3, 5), (2, 4), (7, 9), (6, 8, 11)), "used_twice"
    off = inputs((2,), (3, 4), (5, 6), (7, 8, 9))
    off["x"], off["w"] = abs(off["x"]) + 0.1, -abs(off["w"]) - 0.1
    yield off, "switched_off"
    yield inputs((1,), (2, 3), (5,), (4, 6)), "one_sequence"
    yield inputs((2, 3), (1,), (4, 5), (6, 7)), "one_token"


_TIED = _tied()

_TIED_BACKWARD = Exercise(
    call="tied_backward(d_output, x, w)",
    returns=("d_x", "d_w"),
    reference=_TIED,
    cases=_tied_cases,
    clues={"matmul|not aligned|broadcast|axes don't match": "shapes_of_two"},
    mistakes=dict(
        **each(
            lambda uses: _tied(uses=uses),
            first_use=lambda first, second: first,
            second_use=lambda first, second: second,
            mean_of_uses=lambda first, second: (first + second) / 2,
            difference_of_uses=lambda first, second: first - second,
        ),
        **each(
            lambda residual: _tied(residual=residual),
            no_residual=lambda d_x, d: d_x,
            residual_alone=lambda d_x, d: d,
            residual_twice=lambda d_x, d: d_x + 2 * d,
            residual_taken_off=lambda d_x, d: d_x - d,
        ),
        **each(
            lambda through: _tied(through=through),
            no_relu_backwards=lambda d, a: d,
            relu_of_the_gradient=lambda d, a: np.maximum(d, 0),
            positive_gradients=lambda d, a: d * (d > 0) * (a > 0),
            times_hidden=lambda d, a: d * np.maximum(a, 0),
            switched_on=lambda d, a: d * (a < 0),
        ),
        no_relu_forward=_tied(hidden=lambda a: a),
        no_relu=_tied(hidden=lambda a: a, through=lambda d, a: d),
        **each(
            lambda tokens: _tied(tokens=tokens),
            each_sequence=lambda d_w: d_w,
            mean_of_sequences=lambda d_w: d_w.mean(axis=0),
            last_sequence=lambda d_w: d_w[-1],
            first_sequence=lambda d_w: d_w[0],
        ),
        mean_of_tokens=lambda d, x, w: (_TIED(d, x, w)[0], _TIED(d, x, w)[1] / x[..., 0].size),
        **each(
            lambda transposed: _tied(transposed=transposed),
            second_not_transposed=lambda first, second: (first, second),
            first_transposed=lambda first, second: (first.mT, second.mT),
            both_transposed=lambda first, second: (first.mT, second),
        ),
        **returning(
            _TIED,
            swapped=lambda both: both[::-1],
            d_x_alone=lambda both: both[0],
            d_w_alone=lambda both: both[1],
        ),
    ),
)  # fmt: skip


# whole-batch


def _norm(x):
    return np.sqrt((x**2).sum())


def _mean(g, n):
    return np.tensordot(n / n.sum(), g, axes=1)


def _cut(g, largest, norm=_norm):
    return g * min(1, largest / max(norm(g), 1e-300))


def _batch(mean=_mean, cut=_cut):
    return lambda gradients, counts, largest: cut(mean(gradients, np.array(counts)), largest)


def _batch_cases(rng):
    def inputs(numbers, rows, columns, share, equal=False):
        n, r, c = sizes(rng, numbers, rows, columns)
        gradients = rng.standard_normal((n, r, c))
        counts = [int(count) for count in rng.choice(np.arange(1, 40), n, replace=False)]
        last = counts.index(max(counts))
        counts[0], counts[last] = counts[last], counts[0]  # the largest is not the last
        if equal:
            counts = [counts[0]] * n
        largest = round(float(share * _norm(_mean(gradients, np.array(counts)))), 4)
        return {"gradients": gradients, "counts": counts, "largest": largest}

    yield inputs((3, 4), (5, 6, 7), (2, 8, 9), 1000), "by_counts"
    yield inputs((5, 6), (2, 3, 4), (7, 8), 0.1), "too_long"
    yield inputs((3,), (4, 5), (6, 7, 8), 0.9, equal=True), "too_long"
    yield inputs((1,), (3, 5), (4, 6), 3), "one_small_batch"
    yield inputs((4,), (1,), (3, 5, 6), 0.3), "one_row"
    nothing = inputs((2,), (3, 4), (5, 6), 0.5, equal=True)
    one = rng.integers(-9, 10, nothing["gradients"][0].shape) * 1.0
    yield nothing | {"gradients": np.stack([one, -one])}, "zeros"
    whole = inputs((3,), (4, 5), (2, 6), 0.6)
    whole["gradients"] = np.round(9 * whole["gradients"]).astype(int)
    yield whole, "stored_as_integers"


_WHOLE_BATCH = Exercise(
    call="whole_batch(gradients, counts, largest)",
    returns=("gradient",),
    reference=_batch(),
    cases=_batch_cases,
    clues={"broadcast": "a_count_each", "unsupported operand|no attribute|must be int": "a_list"},
    mistakes=dict(
        **each(
            lambda mean: _batch(mean),
            plain_mean=lambda g, n: g.mean(axis=0),
            plain_sum=lambda g, n: g.sum(axis=0),
            not_divided=lambda g, n: np.tensordot(n, g, axes=1),
            divided_by_batches=lambda g, n: np.tensordot(n / len(n), g, axes=1),
            divided_by_largest_count=lambda g, n: np.tensordot(n / n.max(), g, axes=1),
            inverse_counts=lambda g, n: np.tensordot(1 / n / (1 / n).sum(), g, axes=1),
            sums_given=lambda g, n: g.sum(axis=0) / n.sum(),
            roots_of_counts=lambda g, n: np.tensordot(n**0.5 / (n**0.5).sum(), g, axes=1),
            last_batch=lambda g, n: g[-1],
            largest_batch=lambda g, n: g[n.argmax()],
        ),
        **each(
            lambda cut: _batch(cut=cut),
            not_cut=lambda g, largest: g,
            stretched=lambda g, largest: g * largest / max(_norm(g), 1e-300),
            each_number=lambda g, largest: np.clip(g, -largest, largest),
            to_one=lambda g, largest: g / _norm(g) if _norm(g) > largest else g,
            always_to_one=lambda g, largest: g / max(_norm(g), 1e-300),
            by_square=lambda g, largest: _cut(g, largest, lambda x: (x**2).sum()),
            by_largest_number=lambda g, largest: _cut(g, largest, lambda x: np.abs(x).max()),
            by_sum=lambda g, largest: _cut(g, largest, lambda x: np.abs(x).sum()),
            by_spectral=lambda g, largest: _cut(g, largest, lambda x: np.linalg.norm(x, 2)),
            by_root_mean=lambda g, largest: _cut(g, largest, lambda x: np.sqrt((x**2).mean())),
            each_row=lambda g, largest: np.array([_cut(row, largest) for row in g]),
            each_column=lambda g, largest: np.array([_cut(row, largest) for row in g.T]).T,
            set_to_zero=lambda g, largest: g * (_norm(g) <= largest),
            multiplied=lambda g, largest: g * largest if _norm(g) > largest else g,
            divided_by_largest=lambda g, largest: g / largest if _norm(g) > largest else g,
        ),
        cut_first=lambda g, n, largest: _mean(
            np.array([_cut(part, largest) for part in g]), np.array(n)
        ),
        cut_by_the_mean_norm=lambda g, n, largest: _cut(
            _mean(g, np.array(n)), largest, lambda x: np.mean([_norm(part) for part in g])
        ),
        each_batch=lambda g, n, largest: np.array([_cut(part, largest) for part in g]),
        zero_nan=_batch(cut=lambda g, largest: g / _norm(g) * min(_norm(g), largest)),
        cut_to_integers=lambda g, n, largest: _batch()(g, n, largest).astype(g.dtype),
    ),
)  # fmt: skip


# swapped-fields


def _swapped_cases(rng):
    field = rng.permutation(np.repeat(np.arange(4), 4))
    query = rng.standard_normal((40, 16))
    key, other_key = rng.standard_normal((2, 16, 16))
    value, other_value = rng.standard_normal((2, 16, 8))
    same = field == rng.integers(4)
    query[:, 0], key[:, 0] = 4, 1.3 * same
    other_key[:, 0], other_key[same] = 0, key[same]
    other_value[same] = value[same] + 0.05 * rng.standard_normal((4, 8))
    yield {
        "query": query, "key": key, "value": value,
        "other_key": other_key, "other_value": other_value, "field": field,
    }, "share_and_swap"  # fmt: skip


def _shares(w, of):
    return w[:, of].sum(axis=1).mean()


def _fields(
    share=_shares,
    swap=lambda k, v, other_k, other_v, of: (
        np.where(of[:, None], other_k, k), np.where(of[:, None], other_v, v)
    ),
    measure=relative,
    scale=0.25,
    weigh=softmax,
):  # fmt: skip
    def numbers(query, key, value, other_key, other_value, field):
        def weights(k):
            return weigh(query @ k.T * scale)

        full, rows = weights(key) @ value, []
        for number in range(4):
            of = field == number
            k, v = swap(key, value, other_key, other_value, of)
            rows.append((share(weights(key), of), measure(weights(k) @ v - full, full)))
        return np.array(rows).T

    return numbers


_FIELDS = _fields()


def _told(rng, *arguments):
    share, moved = _FIELDS(*arguments)
    return moved[share.argmax()]


def _left_out(query, key, value, other_key, other_value, field):
    full, moved = softmax(query @ key.T / 4) @ value, []
    for number in range(4):
        others = field != number
        moved.append(relative(softmax(query @ key[others].T / 4) @ value[others] - full, full))
    return np.array([_FIELDS(query, key, value, other_key, other_value, field)[0], moved])


_SWAPPED_FIELDS = Measurement(
    call="found",
    reference=_FIELDS,
    cases=_swapped_cases,
    returns=("found",),
    read=_told,
    how="moved_at_the_largest_share",
    mistakes=dict(
        **each(
            lambda share: _fields(share),
            mean_of_keys=lambda w, of: w[:, of].mean(),
            largest_key=lambda w, of: w[:, of].max(axis=1).mean(),
            largest_of_all=lambda w, of: w[:, of].sum(axis=1).max(),
            not_averaged=lambda w, of: w[:, of].sum(),
            first_query=lambda w, of: w[0, of].sum(),
            best_keys=lambda w, of: of[w.argmax(axis=1)].mean(),
        ),
        **each(
            lambda swap: _fields(swap=swap),
            values_alone=lambda k, v, other_k, other_v, of: (
                k, np.where(of[:, None], other_v, v)
            ),
            keys_alone=lambda k, v, other_k, other_v, of: (np.where(of[:, None], other_k, k), v),
            others_swapped=lambda k, v, other_k, other_v, of: (
                np.where(of[:, None], k, other_k), np.where(of[:, None], v, other_v)
            ),
            all_swapped=lambda k, v, other_k, other_v, of: (other_k, other_v),
            zero_values=lambda k, v, other_k, other_v, of: (k, np.where(of[:, None], 0, v)),
            all_zeros=lambda k, v, other_k, other_v, of: (
                np.where(of[:, None], 0, k), np.where(of[:, None], 0, v)
            ),
            keys_of_the_values=lambda k, v, other_k, other_v, of: (
                np.where(of[:, None], other_k, k), np.where(of[:, None], v.mean(axis=0), v)
            ),
        ),
        left_out=_left_out,
        **each(
            lambda scale: _fields(scale=scale), unscaled=1, by_d_k=1 / 16, by_d_v=1 / np.sqrt(8)
        ),
        over_queries=_fields(weigh=lambda s: softmax(s, axis=0)),
        **each(lambda measure: _fields(measure=measure), **NOT_RELATIVE),
        of_the_swapped=_fields(measure=lambda off, full: relative(off, full + off)),
        largest_change=_fields(measure=lambda off, full: np.abs(off).max() / np.abs(full).max()),
        **returning(
            _FIELDS,
            rows_swapped=lambda found: found[::-1],
            transposed=lambda found: found.T,
            shares_alone=lambda found: found[0],
            moved_alone=lambda found: found[1],
            moved_per_share=lambda found: np.array([found[0], found[1] / found[0]]),
            percents=lambda found: 100 * found,
        ),
    ),
)  # fmt: skip

TASKS = with_hints(
    __file__,
    {
        "tied-backward": _TIED_BACKWARD,
        "whole-batch": _WHOLE_BATCH,
        "swapped-fields": _SWAPPED_FIELDS,
    },
)
