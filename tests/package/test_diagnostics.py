"""The spread of scores and the focus of weights, against numbers worked out by hand and loops."""

import math
import re
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook import (
    ScoreStatistics,
    Spread,
    because,
    effective_keys,
    entropy,
    influence,
    pairing_gaps,
    rank_correlation,
    score_statistics,
    softmax,
)
from tests.package import oracles

BATCH, LEN_Q, LEN_K, D_K = 2, 3, 5, 7


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_score_statistics_by_hand():
    # Dot products 2, 4, 6 and 12; the scale is 1/sqrt(4).
    result = score_statistics([[2.0, 0, 0, 0], [0, 0, 0, 6]], [[1.0, 9, 9, 2 / 3], [3.0, 0, 0, 2]])
    assert isinstance(result, ScoreStatistics)
    assert isinstance(result.before, Spread)
    # The mean is 6; the squared distances 16, 4, 0 and 36 have the mean 14.
    assert result.before == pytest.approx((2, 12, 6, math.sqrt(14)))
    assert result.after == pytest.approx((1, 6, 3, math.sqrt(14) / 2))
    assert all(type(number) is float for spread in result for number in spread)


@pytest.mark.parametrize("scale", [None, 0.3, -2])
def test_score_statistics_equal_loops(scale):
    query, key = normal(BATCH, LEN_Q, D_K), normal(BATCH, LEN_K, D_K)
    dots = [oracles.dot(query[b, i], key[b, j]) for b, i, j in np.ndindex(BATCH, LEN_Q, LEN_K)]
    factor = 1 / math.sqrt(D_K) if scale is None else scale
    result = score_statistics(query, key, scale=scale)
    for spread, scores in zip(result, (dots, [factor * x for x in dots]), strict=True):
        assert spread.minimum == pytest.approx(min(scores))
        assert spread.maximum == pytest.approx(max(scores))
        assert spread.mean == pytest.approx(statistics.fmean(scores))
        assert spread.std == pytest.approx(statistics.pstdev(scores))


def test_score_statistics_of_half_precision_do_not_overflow():
    query = np.full((LEN_Q, D_K), 300, np.float16)
    assert score_statistics(query, query).before.maximum == 300 * 300 * D_K


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        (
            (LEN_Q, D_K),
            (LEN_K, 2),
            f"query and key must have the same last axis d_k, got {D_K} and 2",
        ),
        ((D_K,), (LEN_K, D_K), f"query must have at least 2 axes .* got shape \\({D_K},\\)"),
        ((LEN_Q, D_K), (D_K,), f"key must have at least 2 axes .* got shape \\({D_K},\\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(query, key, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        score_statistics(np.ones(query), np.ones(key))


def test_no_scores_are_named():
    with pytest.raises(ValueError, match=r"^there must be at least one score, got shape \(0, 5\)$"):
        score_statistics(np.ones((0, D_K)), np.ones((LEN_K, D_K)))


def test_score_statistics_need_a_feature():
    with pytest.raises(ValueError, match=r"^d_k must be at least 1"):
        score_statistics(np.ones((LEN_Q, 0)), np.ones((LEN_K, 0)))


def test_leading_axes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"^leading axes of query and key"):
        score_statistics(np.ones((BATCH, LEN_Q, D_K)), np.ones((LEN_Q, LEN_K, D_K)))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 1009])
def test_entropy_of_equal_weights_is_the_logarithm_of_their_number(count):
    weights = np.full(count, 1 / count)
    assert entropy(weights) == pytest.approx(math.log(count), abs=1e-12)
    assert effective_keys(weights) == pytest.approx(count)


def test_entropy_of_a_single_key_is_plain_zero():
    rows = entropy(np.eye(LEN_K))
    np.testing.assert_array_equal(rows, np.zeros(LEN_K))
    assert not np.signbit(rows).any()  # -0.0 would print as "-0."
    assert not np.signbit(entropy([0.0, 0.0]))
    np.testing.assert_array_equal(effective_keys(np.eye(LEN_K)), np.ones(LEN_K))


def test_entropy_by_hand():
    # 1/2 log 2 + 1/4 log 4 + 1/4 log 4 = 3/2 log 2
    assert entropy([0.5, 0.25, 0.25]) == pytest.approx(1.5 * math.log(2))
    assert effective_keys([0.5, 0.25, 0.25]) == pytest.approx(2**1.5)


@given(st.integers(0, 2**32), st.sampled_from([0, 1, 2, -1]))
def test_entropy_equals_loops_along_any_axis(seed, axis):
    weights = softmax(5 * np.random.default_rng(seed).standard_normal((2, 3, 5)), axis=axis)
    rows = np.moveaxis(weights, axis, -1)
    result, count = entropy(weights, axis), effective_keys(weights, axis)
    assert result.shape == count.shape == rows.shape[:-1]
    for at in np.ndindex(result.shape):
        expected = -math.fsum(w * math.log(w) for w in rows[at].tolist())
        assert result[at] == pytest.approx(expected)
        assert count[at] == pytest.approx(math.exp(expected))


def test_a_row_that_attends_to_nothing_has_no_keys():
    rows = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    np.testing.assert_array_equal(effective_keys(rows), [0, 1])
    np.testing.assert_array_equal(entropy(rows), [0, 0])
    assert effective_keys(np.empty((LEN_Q, 0))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("function", [entropy, effective_keys])
@pytest.mark.parametrize(
    ("given_dtype", "expected"),
    [(np.float16, np.float16), (np.float32, np.float32), (np.int64, np.float64)],
)
def test_the_dtype_is_kept_and_the_input_unchanged(function, given_dtype, expected):
    weights = np.array([[0, 1, 0], [0, 0, 0]], given_dtype)
    before = weights.tobytes()
    assert function(weights).dtype == expected
    assert weights.tobytes() == before


def test_effective_keys_in_half_precision_are_computed_in_single():
    weights = np.full(1009, 1 / 1009, np.float16)
    single = effective_keys(weights.astype(np.float32))
    assert effective_keys(weights) == single.astype(np.float16)


@pytest.mark.parametrize("function", [entropy, effective_keys])
def test_a_negative_weight_is_named(function):
    with pytest.raises(ValueError, match=r"^weights must not be negative, got -0\.25"):
        function([[0.5, 0.5], [1.25, -0.25]])


# --- influence, rank_correlation ------------------------------------------------------


def test_influence_is_a_table_of_outputs_by_tokens(rng):
    # Output 0 reads token 2, output 1 nothing, output 2 tokens 0 and 1, output 3 itself.
    reads = np.zeros((4, 4))
    reads[[0, 2, 2, 3], [2, 0, 1, 3]] = 1
    x, seen = rng.standard_normal((4, 3)), []

    def attend(tokens):
        seen.append(tokens.copy())
        return np.tanh(reads @ tokens @ np.ones((3, 5)))

    np.testing.assert_array_equal(influence(attend, x, rng), reads == 1)
    assert len(seen) == 5
    np.testing.assert_array_equal(seen[0], x)  # x itself was not changed
    assert all((each != x).any(axis=1).sum() == 1 for each in seen[1:])  # one token at a time


def test_influence_sees_one_coordinate_and_small_leaks_and_no_rounding(rng):
    x = rng.standard_normal((3, 2))
    last = influence(lambda t: np.column_stack([t[:, 0] * 0, np.roll(t[:, 1], 1)]), x, rng)
    np.testing.assert_array_equal(last, np.roll(np.eye(3, dtype=bool), 1, axis=0))
    small = influence(lambda t: t + 1e-9 * t.sum(axis=0), x, rng)
    assert small.all()
    rounded = influence(lambda t: t + 1e-15 * t.sum(axis=0), x, rng)
    np.testing.assert_array_equal(rounded, np.eye(3, dtype=bool))


def test_influence_wants_tokens_by_features(rng):
    with pytest.raises(ValueError, match=r"^x must have 2 axes \(len, d_in\), got shape \(3,\)"):
        influence(np.cumsum, [1.0, 2.0, 3.0], rng)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [2, 4, 8, 9], 1),
        ([1, 2, 3, 4], [9, 8, 4, 2], -1),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),  # 1 - 6 * 4 / (5 * 24)
        ([1, 2, 2, 3], [1, 2, 3, 4], 0.948683298051),  # 1, 2.5, 2.5, 4
        ([-1e9, 0.5, 2], [0.1, 0.3, 0.2], 0.5),
    ],
)
def test_rank_correlation_by_hand(first, second, expected):
    assert rank_correlation(first, second) == pytest.approx(expected, abs=1e-11)
    assert rank_correlation(second, first) == rank_correlation(first, second)


@pytest.mark.parametrize(("first", "second"), [([1], [2]), ([1, 2], [1, 2, 3]), (np.eye(3),) * 2])
def test_rank_correlation_wants_two_lists(first, second):
    message = re.escape(
        "first and second must have one axis, the same length and at least 2 numbers, "
        f"got shapes {np.shape(first)} and {np.shape(second)}"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        rank_correlation(first, second)


def test_influence_compares_every_coordinate_and_changes_every_coordinate(rng):
    x = rng.standard_normal((3, 2))
    turning = lambda t: np.stack([np.cos(t.sum(axis=1)), np.sin(t.sum(axis=1))], axis=1)  # noqa: E731
    np.testing.assert_array_equal(influence(turning, x, rng), np.eye(3, dtype=bool))
    # A function of the difference of two features: adding one number to both changes nothing.
    difference = influence(lambda t: t[:, :1] - t[:, 1:], x, rng)
    np.testing.assert_array_equal(difference, np.eye(3, dtype=bool))
    # A function of the fraction only: adding 1 changes nothing.
    fraction = influence(lambda t: t % 1, x, rng)
    np.testing.assert_array_equal(fraction, np.eye(3, dtype=bool))


def test_influence_adds_to_the_token_and_draws_from_the_generator(rng):
    x, seen = 1e6 * np.arange(1.0, 7).reshape(3, 2), []
    influence(lambda t: seen.append(t.copy()) or t, x, np.random.default_rng(5))
    again = []
    influence(lambda t: again.append(t.copy()) or t, x, np.random.default_rng(5))
    np.testing.assert_array_equal(seen, again)
    assert np.abs(np.array(seen[1:]) - x).max() < 10  # added to, not put in the place of
    state = rng.bit_generator.state
    influence(np.tanh, x, rng)
    assert rng.bit_generator.state != state


def test_influence_takes_integers_and_leaves_its_input(rng):
    x = np.array([[1, 2], [3, 4]])

    def in_place(tokens):
        tokens *= 2
        return tokens

    np.testing.assert_array_equal(influence(in_place, x, rng), np.eye(2, dtype=bool))
    assert x.tolist() == [[1, 2], [3, 4]]
    floats = x.astype(float)
    influence(in_place, floats, rng)
    np.testing.assert_array_equal(floats, x)


@pytest.mark.parametrize(("step", "moved"), [(1e-12, False), (-1e-12, False), (1.001e-12, True)])
def test_influence_takes_a_move_of_a_trillionth_for_rounding(rng, step, moved):
    x = np.ones((1, 1))
    assert influence(lambda t: step * (t != x), x, rng).tolist() == [[moved]]


def test_influence_counts_a_nan_as_moved(rng):
    x = np.ones((2, 1))
    table = influence(lambda t: np.where(t == 1, t, np.nan), x, rng)
    np.testing.assert_array_equal(table, np.eye(2, dtype=bool))


def test_influence_refuses_a_batch(rng):
    with pytest.raises(ValueError, match=r"^x must have 2 axes .* got shape \(2, 3, 5\)$"):
        influence(np.tanh, np.ones((2, 3, 5)), rng)


def test_rank_correlation_is_exact_for_two_numbers():
    assert rank_correlation([1, 2], [3, 4]) == 1
    assert rank_correlation([0.1, 0.7, 0.3], [0.1, 0.7, 0.3]) == 1


@pytest.mark.parametrize("numbers", [[2, 2, 2], [1, float("nan"), 2]])
def test_rank_correlation_refuses_what_has_no_order(numbers):
    message = re.escape(f"must hold different numbers and no NaN, got {np.array(numbers)}")
    with pytest.raises(ValueError, match=f"^second {message}$"):
        rank_correlation([1, 2, 3], numbers)
    with pytest.raises(ValueError, match=f"^first {message}$"):
        rank_correlation(numbers, [1, 2, 3])


def test_a_table_of_influence_is_boolean():
    table = influence(lambda x: x, np.eye(3), np.random.default_rng(0))
    assert table.dtype == bool


def test_because_returns_nothing_when_all_three_hold():
    assert because([5, 6, 7], [1, 2, 0], [7, 5, 6], line=3) is None
    assert because([-5, -6], [1.5], [-9, -4, -3.5], line=-3) is None  # below, and other controls
    assert because(0.9, 0.1, np.float32(0.8), line=0.5, margin=0.2) is None
    assert because([True, True], [False, False], [True, 0.75], line=0.5) is None


WITH, WITHOUT, CONTROL = [5.0, 6, 7, 8], [1.0, 2, 0, 1], [6.0, 5, 8, 7]
AT_ONCE = "without is below 3 in 3 of 4 cases, seen 0 to 4; control is above 3 in 2 of 4"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"with_cause": [5, 6, 2, 8]}, "with_cause is above 3 in 3 of 4 cases, seen 2 to 8"),
        ({"with_cause": [5, 3, 3]}, "with_cause is above 3 in 1 of 3 cases, seen 3 to 5"),
        ({"without": [1, 2, 0, 3]}, "without is below 3 in 3 of 4 cases, seen 0 to 3"),
        ({"control": [6, 5, 3, 7.25]}, "control is above 3 in 3 of 4 cases, seen 3 to 7.25"),
        ({"without": WITH}, "without is below 3 in 0 of 4 cases, seen 5 to 8"),
        ({"control": WITHOUT}, "control is above 3 in 0 of 4 cases, seen 0 to 2"),
        ({"control": 2.5}, "control is above 3 in 0 of 1 cases, seen 2.5 to 2.5"),
        ({"without": math.nan}, "without is below 3 in 0 of 1 cases, seen nan to nan"),
        ({"without": [4, 2, 0, 1], "control": [1, 2, 8, 7]}, AT_ONCE),
        ({"margin": 2}, "with_cause is above 3 by more than 2 in 3 of 4 cases, seen 5 to 8"),
        ({"margin": 2}, "without is below 3 by more than 2 in 1 of 4 cases, seen 0 to 2"),
        ({"margin": 2}, "control is above 3 by more than 2 in 3 of 4 cases, seen 5 to 8"),
    ],
)
def test_because_says_which_of_the_three_does_not_hold(given, told):
    settings = {"with_cause": WITH, "without": WITHOUT, "control": CONTROL, "line": 3} | given
    with pytest.raises(AssertionError, match=f"^it must hold in all cases, but .*{told}"):
        because(**settings)
    mirrored = {key: each if key == "margin" else -np.array(each) for key, each in settings.items()}
    other = {"above": "below", "below": "above"}
    told = re.sub(r"(above|below) 3", lambda side: f"{other[side[1]]} -3", told.split(", seen")[0])
    with pytest.raises(AssertionError, match=f"^it must hold in all cases, but .*{told}"):
        because(**mirrored)


def test_because_counts_the_cases_that_hold():
    near = [2, 5, 6, 8]
    assert because(near, WITHOUT, CONTROL, line=3, in_cases=0.75) is None
    assert because(WITH, [4, *WITHOUT[1:]], near, line=3, in_cases=0.75) is None
    with pytest.raises(AssertionError, match=r"^it must hold in 76% cases, but with_cause is"):
        because(near, WITHOUT, CONTROL, line=3, in_cases=0.76)
    with pytest.raises(AssertionError, match=r"control is above 0\.5 in 0 of 1 cases, seen 0 to 0"):
        because([True, True], [False], False, line=0.5)
    just = [5] * 14 + [1] * 11  # 0.56 * 25 is 14.000000000000002
    assert because(just, [0], [9], line=3, in_cases=0.56) is None


@pytest.mark.parametrize("control", [WITH, np.array(WITH, np.float32), tuple(WITH)])
def test_because_refuses_a_control_that_changed_nothing(control):
    with pytest.raises(AssertionError, match=r"^the control changed nothing: it equals with_cause"):
        because(WITH, WITHOUT, control, line=3)
    nearly = np.array(WITH)
    nearly[2] = np.nextafter(nearly[2], 9)
    assert because(WITH, WITHOUT, nearly, line=3) is None


def test_because_refuses_one_number_for_all_cases_that_changed_nothing():
    with pytest.raises(AssertionError, match="changed nothing"):
        because(5, 1, [5, 5, 5], line=3)
    with pytest.raises(AssertionError, match="changed nothing"):
        because([5, 5, 5], 1, 5, line=3)
    assert because([5, 5, 5], 1, [5, 5], line=3) is None  # other cases: two runs that agree


@pytest.mark.parametrize("name", ["with_cause", "without", "control"])
@pytest.mark.parametrize("values", [[], [[1.0, 2.0]]])
def test_because_wants_cases_along_one_axis(name, values):
    given = {"with_cause": WITH, "without": WITHOUT, "control": CONTROL, name: values}
    shape = re.escape(str(np.shape(values)))
    with pytest.raises(ValueError, match=rf"^{name} must be a number .* got shape {shape}$"):
        because(**given, line=3)


@pytest.mark.parametrize(
    ("margin", "in_cases"), [(-0.1, 1), (0, 0.5), (0, 1.01), (math.nan, 1), (0, math.nan)]
)
def test_because_wants_a_share_and_a_margin_that_make_sense(margin, in_cases):
    message = re.escape(f"got {margin} and {in_cases}")
    with pytest.raises(ValueError, match=f"^margin must not be negative .*{message}$"):
        because(WITH, WITHOUT, CONTROL, line=3, margin=margin, in_cases=in_cases)


# --- pairing_gaps -------------------------------------------------------------------


def test_pairing_gaps_by_hand():
    # Two heads of four columns with norms 1 2 5 4 and 3 3 6 12.
    norms = np.array([1, 2, 5, 4, 3, 3, 6, 12])
    gaps = pairing_gaps(norms * [[0.6], [-0.8]], 2)
    assert gaps["interleaved"] == pytest.approx(math.log(2 * 5 / 4 * 1 * 2) / 4)
    assert gaps["halves"] == pytest.approx(math.log(5 * 2 * 2 * 4) / 4)


def test_pairing_gaps_follow_the_columns_from_one_pairing_to_the_other(rng):
    head_dim = 6
    w = rng.standard_normal((7, 3 * head_dim))
    to_halves = np.r_[0:head_dim:2, 1:head_dim:2]
    moved = w.reshape(7, 3, head_dim)[..., to_halves].reshape(w.shape)
    assert pairing_gaps(moved, 3)["halves"] == pytest.approx(pairing_gaps(w, 3)["interleaved"])
    assert pairing_gaps(w, 3)["halves"] != pytest.approx(pairing_gaps(w, 3)["interleaved"])


def test_pairing_gaps_do_not_depend_on_the_scale(rng):
    w = rng.standard_normal((5, 8)).astype(np.float32)
    assert pairing_gaps(100 * w, 2) == pytest.approx(pairing_gaps(w, 2), rel=1e-5)
    assert all(isinstance(gap, float) for gap in pairing_gaps(w, 2).values())


@pytest.mark.parametrize(
    ("shape", "num_heads"), [((5, 6), 2), ((5, 7), 1), ((5,), 1), ((2, 5, 8), 2), ((5, 0), 1)]
)
def test_pairing_gaps_wants_heads_of_even_size(shape, num_heads):
    message = f"w must have the shape .* got {re.escape(str(shape))} and {num_heads} heads"
    with pytest.raises(ValueError, match=message):
        pairing_gaps(np.ones(shape), num_heads)


def test_pairing_gaps_wants_columns_with_a_norm():
    with pytest.raises(ValueError, match=r"^w must have no column that is all zero, got 2$"):
        pairing_gaps([[1.0, 0, 0, 2]], 1)
    with pytest.raises(ValueError, match=r"^num_heads must be at least 1, got 0$"):
        pairing_gaps(np.ones((3, 4)), 0)


# --- Numbers that are not real --------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda wrong: score_statistics(wrong, np.ones((3, 1))), "query"),
        (lambda wrong: score_statistics(np.ones((3, 1)), wrong), "key"),
        (entropy, "weights"),
        (effective_keys, "weights"),
        (lambda wrong: pairing_gaps(wrong, 1), "w"),
        (lambda wrong: because(wrong, WITHOUT, CONTROL, line=3), "with_cause"),
        (lambda wrong: because(WITH, wrong, CONTROL, line=3), "without"),
        (lambda wrong: because(WITH, WITHOUT, wrong, line=3), "control"),
    ],
)
def test_what_holds_no_real_numbers_is_named(call, name):
    with pytest.raises(TypeError, match=f"^{name} must hold real numbers, got dtype complex128$"):
        call(np.ones((2, 1)) * 1j)
