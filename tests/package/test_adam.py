"""Adam against its formula in loops and PyTorch; the schedule by hand; arrays at their places."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook import Adam, MultiHeadAttention, map_arrays, warmup_cosine
from tests.package import oracles

GOLDEN = oracles.BACKWARD_GOLDEN["adam"]


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


@dataclass(frozen=True, eq=False)
class Part:
    w: np.ndarray
    b: np.ndarray
    name: str = "part"


@dataclass(frozen=True, eq=False)
class Model:
    parts: tuple[Part, ...]
    attention: MultiHeadAttention
    output: np.ndarray | None = None


def model(seed=0):
    parts = tuple(Part(normal(3, 5, seed=seed + n), normal(7, seed=seed + n)) for n in range(2))
    return Model(parts, MultiHeadAttention.init(np.random.default_rng(seed), 4, 2, 1))


# --- Adam -----------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-9), (np.float32, 1e-6)])
def test_steps_equal_pytorch(dtype, atol):
    parameters = Part(np.array(GOLDEN["w"], dtype), np.array(GOLDEN["b"], dtype))
    adam = Adam.start(parameters)
    settings = {name: GOLDEN[name] for name in ("beta1", "beta2", "eps")}
    after = GOLDEN[f"after_{np.dtype(dtype)}"]
    for n, (rate, given_now) in enumerate(zip(GOLDEN["rates"], GOLDEN["gradients"], strict=True)):
        gradient = Part(np.array(given_now["w"], dtype), np.array(given_now["b"], dtype))
        parameters, adam = adam.step(parameters, gradient, rate, **settings)
        for name in ("w", "b"):
            assert getattr(parameters, name).dtype == dtype
            found = getattr(parameters, name)
            np.testing.assert_allclose(found, after[n][name], rtol=0, atol=atol)
        assert adam.steps == n + 1


def test_the_usual_settings():
    # Two steps in plain numbers, with the paper's 0.9, 0.999 and 1e-8.
    gradients, x, m, v = (0.3, -2.0), 5.0, 0.0, 0.0
    parameters = (np.array([5.0]),)
    adam = Adam.start(parameters)
    for t, g in enumerate(gradients, start=1):
        parameters, adam = adam.step(parameters, (np.array([g]),), 0.01)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        x -= 0.01 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(parameters[0], [x], rtol=1e-14)
    np.testing.assert_allclose((adam.mean[0], adam.square[0]), ([m], [v]), rtol=1e-14)


def test_a_parameter_without_gradient_stays():
    parameters = (np.array([3.0, 4.0]),)
    after, _ = Adam.start(parameters).step(parameters, (np.array([0.0, 1.0]),), 0.1)
    np.testing.assert_allclose(after[0], [3.0, 3.9])


def test_a_step_of_a_whole_model():
    before, gradient = model(), model(seed=9)
    kept = [array.tobytes() for array in arrays_of(before) + arrays_of(gradient)]
    adam = Adam.start(before)
    after, later = adam.step(before, gradient, 0.01)
    assert [array.tobytes() for array in arrays_of(before) + arrays_of(gradient)] == kept
    assert adam.steps == 0
    assert not any(array.any() for array in arrays_of(adam.mean) + arrays_of(adam.square))
    assert type(after) is type(later.mean) is type(later.square) is Model
    for old, new, of in zip(*map(arrays_of, (before, after, gradient)), strict=True):
        np.testing.assert_allclose(new, old - 0.01 * np.sign(of), rtol=0, atol=1e-8)
    assert (after.attention.num_heads, after.attention.num_kv_heads) == (2, 1)
    assert after.parts[1].name == "part"
    assert after.output is None


def arrays_of(tree):
    found = []
    map_arrays(lambda array: found.append(array) or array, tree)
    return found


def test_it_comes_to_rest_at_a_minimum():
    target = normal(5)
    parameters = (np.zeros(5),)
    adam = Adam.start(parameters)
    for step in range(200):
        gradient = (2 * (parameters[0] - target),)
        parameters, adam = adam.step(parameters, gradient, warmup_cosine(step, 200, 10, 0.1))
    np.testing.assert_allclose(parameters[0], target, atol=1e-2)


# --- The schedule ---------------------------------------------------------------------


def test_rates_by_hand():
    rates = [warmup_cosine(step, 9, 3, 0.6) for step in range(9)]
    cosines = [1, math.sqrt(3) / 2, 1 / 2, 0, -1 / 2, -math.sqrt(3) / 2]
    assert rates == pytest.approx([0.2, 0.4, 0.6, *(0.3 * (1 + cosine) for cosine in cosines)])


@given(st.data())
@settings(deadline=None)
def test_rates_rise_to_the_peak_and_fall(data):
    steps = data.draw(st.integers(1, 50))
    warmup = data.draw(st.integers(0, steps))
    rates = [warmup_cosine(step, steps, warmup, 0.5) for step in range(steps)]
    assert max(rates) == 0.5
    assert min(rates) > 0
    assert rates[:warmup] == sorted(rates[:warmup])
    assert rates[warmup:] == sorted(rates[warmup:], reverse=True)


@pytest.mark.parametrize(
    ("step", "steps", "warmup", "message"),
    [
        (5, 5, 2, "step must be from 0 to steps - 1 = 4, got 5"),
        (-1, 5, 2, "step must be from 0 to steps - 1 = 4, got -1"),
        (0, 5, 6, "warmup must be from 0 to steps = 5, got 6"),
        (0, 5, -1, "warmup must be from 0 to steps = 5, got -1"),
    ],
)
def test_steps_that_are_not_there_are_refused(step, steps, warmup, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        warmup_cosine(step, steps, warmup, 0.1)


# --- map_arrays -----------------------------------------------------------------------


def test_each_array_meets_those_at_its_place():
    one, two, three = model(), model(seed=1), model(seed=2)
    found = map_arrays(lambda a, b, c: a * b - c, one, two, three)
    arrays = [arrays_of(each) for each in (found, one, two, three)]
    assert [array.shape for array in arrays[0]] == [
        *[(3, 5), (7,)] * 2,
        *[(4, 4), (4, 2), (4, 2), (4, 4)],
        *[(4,), (2,), (2,), (4,)],
    ]
    for got, a, b, c in zip(*arrays, strict=True):
        np.testing.assert_array_equal(got, a * b - c)


def test_an_array_without_axes_stays_an_array():
    (found,) = map_arrays(np.add, (np.array(1.0),), (np.array(2.0),))
    assert isinstance(found, np.ndarray)
    assert found == 3
    assert map_arrays(np.negative, np.ones(2)).tolist() == [-1, -1]


DIFFERENT = {
    "shape": (
        lambda x: replace(x, parts=(x.parts[0], Part(x.parts[1].w[:1], x.parts[1].b))),
        ValueError,
        r"Model\.parts\[1\]\.w must have shape \(3, 5\), got \(1, 5\)",
    ),
    "length": (
        lambda x: replace(x, parts=x.parts[:1]),
        ValueError,
        r"Model\.parts must have length 2, got 1",
    ),
    "missing": (
        lambda x: replace(x, parts=(None, x.parts[1])),
        TypeError,
        r"Model\.parts\[0\] must be Part, got NoneType",
    ),
    "added": (
        lambda x: replace(x, output=np.ones(3)),
        TypeError,
        r"Model\.output must be NoneType, got ndarray",
    ),
    "list": (
        lambda x: replace(x, parts=list(x.parts)),
        TypeError,
        r"Model\.parts must be tuple, got list",
    ),
    "other": (lambda x: x.parts[0], TypeError, r"Model must be Model, got Part"),
}


@pytest.mark.parametrize(("change", "error", "message"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_is_not_alike_is_named(change, error, message):
    whole = model()
    with pytest.raises(error, match=f"^{message}$"):
        map_arrays(np.add, whole, change(whole))
    with pytest.raises(error, match=f"^{message}$"):
        Adam.start(whole).step(whole, change(whole), 0.1)
