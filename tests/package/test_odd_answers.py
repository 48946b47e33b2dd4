"""No answer, however odd, lets a check end otherwise than it says; right ones in odd forms pass."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections import UserList
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from attnbook.exercises import WrongAnswer, check
from attnbook.exercises.exercise import COMMON
from course.chapters import chapters
from course.grading.judging import all_tasks, judge_value
from course.grading.task import Measurement
from course.verdicts import PHRASE, ask, cases_of

EXERCISES = {name: found for each in chapters() for name, found in each.checkers.items()}
TASKS = all_tasks()


def raising(self, *arguments, **options):
    raise RuntimeError("not for you")


# All that NumPy or Python might ask an object for.
ASKED = (
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __len__ __iter__ __getitem__ "
    "__contains__ __float__ __int__ __index__ __complex__ __array__ __array_interface__ "
    "__array_struct__ __array_ufunc__ __array_function__ __repr__ __str__ __format__ __add__ "
    "__sub__ __mul__ __neg__ __abs__ __getattr__ __reduce_ex__ __copy__ __deepcopy__ __class__"
)
methods = {name: raising for name in ASKED.split()}
for attribute in ("__class__", "__array_interface__", "__array_struct__"):
    methods[attribute] = property(raising)
Refuses = type("Refuses", (), methods)
RefusesInAList = type("RefusesInAList", (list,), {"__iter__": raising, "__len__": raising})
RefusesInATuple = type("RefusesInATuple", (tuple,), {"__iter__": raising, "__len__": raising})
RefusesAsArray = type(
    "RefusesAsArray",
    (np.ndarray,),
    {name: raising for name in ("__array_ufunc__", "__array_function__", "__iter__", "__len__")}
    | {"shape": property(raising), "dtype": property(raising), "__getitem__": raising},
)


class SaysNothing(Exception):
    __str__ = __repr__ = raising


class Equal:
    """Whatever it is compared with is equal."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __array__(self, dtype=None, copy=None):
        return np.array(self, dtype=object)


class NotAFunction:
    __signature__ = "no signature"

    def __call__(self, *arguments):
        raise TypeError("wrong")


def again(*arguments):
    return again(*arguments)


def itself():
    loop = []
    loop.append(loop)
    return loop


def deep():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def leave(*arguments):
    raise SystemExit(0)


def raises(error):
    def answer(*arguments):
        raise error

    return answer


def strict(*arguments):
    np.seterr(all="raise")  # else than in NumPy 1.26 it would hold on
    warnings.simplefilter("error")
    return np.full(3, 1e-320)


def spoils(*arguments):
    for given in arguments:
        if isinstance(given, np.ndarray):
            given.setflags(write=True)
            given[...] = 0
        elif isinstance(given, list | dict):
            given.clear()
            given |= {0: Refuses()} if isinstance(given, dict) else [Refuses()]
    return arguments[0]


class Lying(np.ndarray):
    """An array that calls itself of another shape."""

    shape = (2, 3)
    ndim = 2


ODD_RESULTS = {
    "none": None,
    "ellipsis": ...,
    "not_implemented": NotImplemented,
    "nan": np.nan,
    "inf": -np.inf,
    "long_int": 10**400,
    "long_ints": [10**400, -(10**400)],
    "complex": 1j,
    "string": "an answer",
    "number_as_string": "0.5",
    "bytes": b"\x00",
    "empty_list": [],
    "empty_tuple": (),
    "empty_array": np.empty((0, 3)),
    "ragged": [[1.0], [2.0, 3.0]],
    "set": {1.0, 2.0},
    "dict": {"result": 1},
    "class": int,
    "module": np,
    "function": np.exp,
    "object": object(),
    "refuses": Refuses(),
    "list_of_refusing": [Refuses(), Refuses()],
    "refusing_list": RefusesInAList([1, 2]),
    "refusing_tuple": RefusesInATuple((1, 2)),
    "refusing_array": np.ones(3).view(RefusesAsArray),
    "lying_array": np.ones((3, 2)).view(Lying),
    "equal": Equal(),
    "itself": itself(),
    "deep": deep(),
    "huge": np.broadcast_to(0.5, (10**6, 10**6)),
    "huge_objects": np.broadcast_to(np.array(None), (10**6, 10**6)),
    "many_axes": np.ones((1,) * 32),
    "no_rows": np.empty((10**12, 0)),
    "structured": np.zeros(3, dtype=[("a", float)]),
    "dates": np.array(["2026-11-24"], dtype="datetime64[D]"),
    "durations": np.array([1, "NaT"], dtype="timedelta64[s]"),
    "text_array": np.array([["a", "b"]]),
    "objects": np.array([None, "a", 1.0], dtype=object),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "nothing_but_masked": np.ma.masked,
    "long_double": np.longdouble("1e4000"),
    "decimal_nan": Decimal("sNaN"),
    "many_results": tuple(range(1000)),
}
ODD_ANSWERS = {
    **{name: lambda *_, result=result: result for name, result in ODD_RESULTS.items()},
    "class_itself": dict,
    "builtin": print,
    "ufunc": np.add,
    "no_arguments": lambda: 0,
    "keyword_alone": lambda *, x: 0,
    "bad_signature": NotAFunction(),
    "coroutine": type("C", (), {"__call__": lambda self, *_: (yield)})(),
    "recursion": again,
    "leaves": leave,
    "generator_exit": raises(GeneratorExit()),
    "says_nothing": raises(SaysNothing()),
    "says_much": raises(ValueError("much " * 10**6)),
    "group": raises(ExceptionGroup("several", [ValueError(1), KeyError("x")])),
    "stops": raises(StopIteration(1)),
    "out_of_memory": raises(MemoryError()),
    "assertion": raises(AssertionError("as a check says")),
    "as_a_check": raises(WrongAnswer("as a check says")),
    "strict": strict,
    "spoils": spoils,
    "returns_what_it_gets": lambda *arguments: arguments,
}


def outcome(say, answer):
    """Return the ids of what an answer is told, or None if it is right; nothing else may come."""
    before, told = np.geterr(), None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            say(answer)
    except WrongAnswer as wrong:
        told = wrong
    assert np.geterr() == before
    if told is None:
        return None
    assert told.ids
    assert str(told).isprintable()
    assert len(str(told)) < 1500
    return told.ids


@pytest.mark.parametrize("odd", ODD_ANSWERS)
@pytest.mark.parametrize("name", EXERCISES)
def test_an_odd_answer_is_told_so(name, odd):
    # Where no change of the inputs is asked for, one that returns what it gets may be right.
    assert outcome(lambda answer: check(name, answer), ODD_ANSWERS[odd])


@pytest.mark.parametrize("odd", ODD_ANSWERS)
@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if not isinstance(t, Measurement)])
def test_an_odd_answer_to_a_task_is_told_so(name, odd):
    assert outcome(lambda answer: ask(name, answer, PHRASE), ODD_ANSWERS[odd])


@pytest.mark.parametrize("odd", ODD_RESULTS)
@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if isinstance(t, Measurement)])
def test_odd_measured_numbers_are_told_so(name, odd):
    result = ODD_RESULTS[odd]
    assert outcome(lambda given: judge_value(name, given, phrase=PHRASE), result)
    measured = TASKS[name].reference(*cases_of(name, PHRASE)[0].values())
    assert outcome(lambda read: judge_value(name, measured, read, phrase=PHRASE), result)


def test_what_is_not_called_is_a_type_error():
    for odd in (None, Refuses(), 3, "softmax"):
        with pytest.raises(TypeError, match="your function itself"):
            check("softmax", odd)
    for name in (None, ["softmax"], 3):
        with pytest.raises(ValueError, match="no exercise is called"):
            check(name, np.exp)


def test_a_reader_s_interrupt_goes_through():
    with pytest.raises(KeyboardInterrupt):
        check("softmax", raises(KeyboardInterrupt()))


# Right answers in odd forms: accepted, or told precisely what to change


def several(change):
    """Change each array of a result."""

    def changed(result):
        return tuple(map(change, result)) if isinstance(result, tuple | list) else change(result)

    return changed


def of_objects(number):
    def change(array):
        array = np.asarray(array)
        made = np.empty(array.shape, dtype=object)
        if array.dtype.kind == "b":
            return array
        for at, each in np.ndenumerate(array):
            made[at] = number(each) if np.isfinite(each) else each
        return made

    return several(change)


def decimals(number):
    return Decimal(repr(float(number)))


def read_only(array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def backwards(array):
    """Return a view with negative strides."""
    array = np.asarray(array)
    return np.flip(np.flip(array).copy())


def as_view(array):
    array = np.array(array, order="C")
    return memoryview(array) if array.shape and array.dtype.kind != "b" else array


class OfMine(np.ndarray):
    pass


ACCEPTED = {
    "list": several(lambda array: np.asarray(array).tolist()),
    "list_of_results": lambda result: list(result) if isinstance(result, tuple) else result,
    "decimals": of_objects(decimals),
    "fractions": of_objects(lambda number: Fraction(float(number))),
    "python_floats_as_objects": of_objects(float),
    "read_only": several(read_only),
    "backwards": several(backwards),
    "fortran": several(lambda array: np.array(array, order="F")),
    "memoryview": several(as_view),
    "subclass": several(lambda array: np.asarray(array).view(OfMine)),
    "unmasked": several(np.ma.asarray),
    "other_bytes": several(
        lambda array: np.asarray(array).astype(np.asarray(array).dtype.newbyteorder())
    ),
    "long_double": several(
        lambda array: (
            array if np.asarray(array).dtype.kind == "b" else np.asarray(array, dtype=np.longdouble)
        )
    ),
    "zero_axes": several(np.asarray),
}
NUMBERS = [name for name in EXERCISES if name not in ("grow", "byte-pair-merge")]


@pytest.mark.parametrize("form", ACCEPTED)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_right_answer_in_an_odd_form_is_accepted(name, form):
    right = EXERCISES[name].reference
    odd = ACCEPTED[form]
    assert outcome(lambda answer: check(name, answer), lambda *a: odd(right(*a))) is None


@pytest.mark.parametrize("name", [name for name in NUMBERS if len(EXERCISES[name].returns) == 1])
def test_a_generator_and_a_masked_element_are_told_apart_from_a_wrong_number(name):
    right = EXERCISES[name].reference
    say = lambda answer: check(name, answer)  # noqa: E731
    assert outcome(say, lambda *a: iter(np.atleast_1d(right(*a)))) == ("iterator",)
    hidden = outcome(say, lambda *a: np.ma.masked_array(right(*a), np.ones(np.shape(right(*a)))))
    assert hidden == ("masked_elements",)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_half_precision_are_told_so_or_exact(name):
    exercise = EXERCISES[name]
    half = several(lambda array: np.asarray(array).astype(np.float16))
    ids = outcome(lambda answer: check(name, answer), lambda *a: half(exercise.reference(*a)))
    if not exercise.boolean:
        assert ids in (None, ("low_precision",)) or ids[0] in ("not_finite", "others_right"), ids


def test_one_number_in_an_array_is_told_which_to_return():
    for name, exercise in EXERCISES.items():
        if name in NUMBERS and len(exercise.returns) == 1 and not exercise.boolean:
            arguments, _ = next(iter(exercise.cases(np.random.default_rng(0))))
            if np.shape(exercise.reference(*arguments.values())) == ():
                ids = outcome(
                    lambda answer: check(name, answer),  # noqa: B023
                    lambda *a: np.array([exercise.reference(*a)]),  # noqa: B023
                )
                assert ids == ("shape", "one_number"), name


def test_an_exponential_with_where_and_out_is_a_softmax_like_any_other():
    def masked_softmax(scores, mask):
        scores, mask = np.broadcast_arrays(scores.astype(float), mask)
        top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=-np.inf)
        e = np.exp(scores - top, where=mask, out=np.zeros(scores.shape))
        total = e.sum(axis=-1, keepdims=True)
        return np.divide(e, total, where=total > 0, out=np.zeros(e.shape))

    assert outcome(lambda answer: check("masked-softmax", answer), masked_softmax) is None


def test_the_hints_to_odd_forms_say_what_to_do():
    for id_ in ("iterator", "masked_elements", "one_number", "low_precision"):
        assert ":" in COMMON[id_]


def test_a_list_of_another_class_is_read_as_numbers():
    right = EXERCISES["scores"].reference
    assert outcome(lambda a: check("scores", a), lambda *a: UserList(right(*a).tolist())) is None
