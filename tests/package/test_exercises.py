"""The checkers against a bank of right and wrong answers, written as readers write them."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import pkgutil
from fractions import Fraction

import numpy as np
import pytest

from attnbook import apply_rotary, exercises, split_heads
from attnbook.exercises import WrongAnswer, check, examining, symptoms
from attnbook.exercises import exercise as exercise_
from course import verdicts
from course.bank import CLASSES
from course.chapters import ROOT, chapters, chapters_and_drafts
from course.grading.judging import all_tasks
from course.grading.task import Measurement
from course.promises import keep
from course.verdicts import Verdict

EXERCISES = {name: found for each in chapters() for name, found in each.checkers.items()}
BANKS = [chapter.part("exercise_answers").BANK for chapter in chapters()]
# An exercise without answers has none here: the tests below say where they are missing.
RIGHT = dict.fromkeys(EXERCISES, ()) | {name: r for bank in BANKS for name, r in bank.right.items()}
WRONG = dict.fromkeys(EXERCISES, ()) | {name: w for bank in BANKS for name, w in bank.wrong.items()}

every_exercise = pytest.mark.parametrize("name", EXERCISES)
every_right = pytest.mark.parametrize(
    ("name", "answer"),
    [pytest.param(n, a, id=a.__name__) for n, found in RIGHT.items() for a in found],
)


@pytest.fixture(scope="session")
def judged():
    """Return what was said to each answer of the banks, when a check judged it."""
    return verdicts.judged()


def cases_of(name):
    return [arguments for arguments, _ in EXERCISES[name].cases(np.random.default_rng(0))]


def copies(arguments):
    return copy.deepcopy(list(arguments.values()))


def verdict(name, answer):
    """Return what a check prints or, if the answer is wrong, what it raises."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            check(name, answer)
    except WrongAnswer as error:
        return str(error)
    return printed.getvalue()


def ids(name, answer):
    """Return the ids of the hints to a wrong answer, with spaces between them."""
    with pytest.raises(WrongAnswer) as caught:
        check(name, answer)
    return " ".join(caught.value.ids)


# The bank


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(n, i, id=wrong.answer.__name__)
        for n, found in WRONG.items()
        for i, wrong in enumerate(found)
    ],
)
def test_a_wrong_answer_is_rejected_and_told_why(name, number, judged):
    verdict = judged[name].wrong[number]
    assert " ".join(verdict.ids) in WRONG[name][number].ids
    assert verdict.message.startswith(f"{name}: ")
    assert verdict.printed == ""


@pytest.mark.parametrize(
    ("name", "number"),
    [pytest.param(n, i, id=a.__name__) for n, found in RIGHT.items() for i, a in enumerate(found)],
)
def test_a_right_answer_passes_and_prints_one_line(name, number, judged):
    assert judged[name].right[number] == Verdict(printed=f"{name}: correct\n")


@every_exercise
def test_the_bank_is_large_enough(name):
    (bank,) = (each.module for each in chapters() if name in each.checkers)
    where = f"course/{bank}/exercise_answers.py: {name}"
    keep(where, "an exercise", "wrong_answers", len(WRONG[name]))
    keep(where, "an exercise", "right_answers", len(RIGHT[name]))


def test_each_chapter_has_a_bank_for_its_exercises_and_names_of_its_own():
    names, rooms = [], {chapter.module: chapter for chapter in chapters()}
    modules = {found.name for found in pkgutil.iter_modules(exercises.__path__)}
    began = {chapter.module for chapter in chapters_and_drafts()}
    other = {name for name in modules if name.startswith("ch")} ^ began
    assert not other, f"_toc.yml and the modules in attnbook/exercises do not agree about {other}"
    for module, chapter in rooms.items():
        bank = chapter.part("exercise_answers").BANK
        found = importlib.import_module(f"attnbook.exercises.{module}").EXERCISES
        where = f"course/{module}/exercise_answers.py: give each exercise right and wrong answers"
        assert set(bank.right) == set(bank.wrong) == set(found), where
        names += found
    assert sorted(names) == sorted(EXERCISES)


@every_exercise
def test_each_known_mistake_has_a_wrong_answer_that_is_told_so(name):
    # On what is tried in no bank a browser is not compared with CPython, either.
    named = {id_ for wrong in WRONG[name] if wrong.names_mistake for id_ in wrong.ids}
    left = set(EXERCISES[name].mistakes) - named
    assert not left, f"give {name} a wrong answer that names {', '.join(sorted(left))}"


@every_exercise
def test_named_mistakes_have_messages_of_their_own(name, judged):
    # A checker with one message for everything would name nothing.
    both = zip(WRONG[name], judged[name].wrong, strict=True)
    messages = {verdict.message for wrong, verdict in both if wrong.names_mistake}
    keep(name, "an exercise", "percent_of_messages", 100 * len(messages) / max(len(WRONG[name]), 1))


# The classes of mistakes

REASONS = {key: why for bank in BANKS for key, why in bank.reasons.items()}


@every_exercise
@pytest.mark.parametrize("class_", CLASSES)
def test_each_class_of_mistakes_is_tried_on_each_exercise_or_cannot_be_made(class_, name):
    tried = [wrong for wrong in WRONG[name] if wrong.of == class_]
    if bool(tried) == ((class_, name) in REASONS):
        told = f"give {name} a wrong answer of={class_!r}, or BANK.never(...) a reason"
        pytest.fail(f"{told}, but not both", pytrace=False)
    assert all(wrong.names_mistake for wrong in tried)  # that each is refused, the bank's test says


def test_the_classes_know_no_other_exercise_and_the_banks_no_other_class():
    assert {name for _, name in REASONS} <= set(EXERCISES)
    assert {class_ for class_, _ in REASONS} <= set(CLASSES)
    assert {wrong.of for found in WRONG.values() for wrong in found} == {None, *CLASSES}


def in_float32(result):
    """Return the numbers of a result as float32 keeps them."""
    if isinstance(result, tuple | list):
        return tuple(map(in_float32, result))
    kind = np.asarray(result).dtype.kind
    return np.asarray(result, dtype=np.float32) if kind == "f" else result


@every_right
def test_a_right_answer_is_right_on_other_inputs_and_in_float32(name, answer):
    check(name, lambda *arguments: in_float32(answer(*arguments)))
    if name != "influence":  # its inputs are chosen to keep away from its limit, 1e-12
        examining.examine(name, EXERCISES[name], answer, np.random.default_rng(1))


@pytest.mark.parametrize("name", ["soft-lookup", "softmax", "attention", "causal", "multi-head"])
def test_scores_that_are_large_and_close_are_exact_in_float32(name):
    def answer(*inputs):
        return RIGHT[name][0](
            *(np.float32(x) if np.asarray(x).dtype == float else x for x in inputs)
        )

    check(name, answer)


# The call


def test_an_unknown_name_lists_the_exercises():
    with pytest.raises(ValueError, match="no exercise is called 'sofmax'") as caught:
        check("sofmax", np.exp)
    assert all(name in str(caught.value) for name in EXERCISES)


def test_a_result_instead_of_a_function_is_a_type_error():
    with pytest.raises(TypeError, match="your function itself, got ndarray"):
        check("softmax", np.ones((2, 3, 5)))


def test_wrong_answers_are_assertion_errors():
    assert issubclass(WrongAnswer, AssertionError)


@every_exercise
def test_a_check_says_the_same_each_time(name, judged):
    # That of a known mistake is the same text; in the others stand numbers.
    np.random.seed(1)  # noqa: NPY002 - a check must not depend on the global generator
    for wrong, said in zip(WRONG[name], judged[name].wrong, strict=True):
        if not wrong.names_mistake:
            assert verdict(name, wrong.answer) == said.message


@every_exercise
@pytest.mark.parametrize(
    "answer", [lambda: 0, lambda a, b, c, d, e, f, g: 0], ids=["none", "seven"]
)
def test_an_answer_that_takes_other_arguments_is_told_which_it_gets(name, answer):
    assert ids(name, answer) == "other_arguments"
    message = verdict(name, answer)
    assert f"`{EXERCISES[name].call}`" in message
    assert "TypeError: " in message
    assert f"`{', '.join(cases_of(name)[0])}`" in message


def test_a_helper_that_takes_other_arguments_is_not_taken_for_the_answer():
    def helper(x):
        return x

    for answer in (lambda x: helper(x, -1), lambda x: helper(x, axis=-1), lambda x: helper()):
        assert ids("softmax", answer) == "raised calls_others"


def test_an_answer_that_is_not_written_yet_gets_no_hint_at_a_mistake():
    def empty(x):
        raise NotImplementedError

    assert ids("softmax", empty) == "not_written"
    assert "NotImplementedError." in verdict("softmax", empty)


def test_an_error_without_words_is_told_without_a_colon():
    def bare(x):
        raise KeyError

    assert ids("softmax", bare) == "raised row_by_row"
    assert "KeyError. " in verdict("softmax", bare)


@every_exercise
def test_the_call_names_the_arguments_in_their_order(name):
    for arguments in cases_of(name):
        assert EXERCISES[name].call.endswith(f"({', '.join(arguments)})")


# The inputs: a mistake must show on them


@every_exercise
def test_the_inputs_are_the_same_each_time(name):
    for first, second in zip(cases_of(name), cases_of(name), strict=True):
        for argument, given in first.items():
            if callable(given):  # compare what the two functions give
                asked = [first["x"]] if "x" in first else [0, first["length"] - 1]
                given, second[argument] = given(*asked), second[argument](*asked)
            np.testing.assert_array_equal(second[argument], given)


@every_exercise
def test_the_inputs_come_in_more_than_one_size(name):
    sizes = [
        str([np.shape(a) or a for a in arguments.values() if not callable(a)])
        for arguments in cases_of(name)
    ]
    assert len(set(sizes)) > 1


@pytest.mark.parametrize(
    "name",
    [
        "softmax",
        "scores",
        "attention",
        "causal",
        "masked-softmax",
        "cross-attention",
        "split-heads",
        "multi-head",
    ],
)
def test_some_input_is_a_batch_of_one_and_the_first_are_of_several(name):
    inputs = [next(iter(arguments.values())) for arguments in cases_of(name)]
    assert any(len(given) == 1 for given in inputs)
    for first in inputs[:3]:
        assert first.ndim == 3
        assert len(first) >= 2
        assert not np.array_equal(first[0], first[1])


def test_axes_of_the_first_inputs_have_different_lengths():
    for name in ("softmax", "scores", "attention", "causal", "masked-softmax"):
        shapes = [a.shape for a in cases_of(name)[0].values()]
        batch, len_q, last = shapes[0]
        assert len({batch, len_q, last}) == 3
    for query, key in (c.values() for c in cases_of("scores")[:3]):
        assert len({query.shape[0], query.shape[1], key.shape[1], query.shape[2]}) == 4
    for query, key, value in (c.values() for c in cases_of("attention")[:3]):
        sizes = [*query.shape, key.shape[1], value.shape[2]]
        assert len(set(sizes)) == 5


@pytest.mark.parametrize(
    "name", ["softmax", "attention", "causal", "masked-softmax", "self-attention", "multi-head"]
)
def test_weights_of_the_first_inputs_are_not_saturated(name):
    # With one weight near 1, softmax and argmax look alike, and a scale does not show.
    result = RIGHT[name][0](*cases_of(name)[0].values())
    weights = result[1] if isinstance(result, tuple) else result
    assert weights.max() < 0.9


@pytest.mark.parametrize("name", ["softmax", "attention", "causal", "masked-softmax"])
def test_some_inputs_are_beyond_the_reach_of_exp(name):
    def naive(x):
        with np.errstate(over="ignore"):
            return np.exp(x)

    scores = [
        RIGHT["scores"][0](c["query"], c["key"]) if "query" in c else next(iter(c.values()))
        for c in cases_of(name)
    ]
    largest = [naive(s).max(axis=-1) for s in scores]
    assert any(np.isinf(e).any() or (e == 0).any() for e in largest)


def test_causal_inputs_have_fewer_and_as_many_queries():
    gaps = [c["scores"].shape[2] - c["scores"].shape[1] for c in cases_of("causal")]
    assert min(gaps) == 0
    assert len({gap for gap in gaps if gap > 0}) >= 2  # so that no fixed offset passes


def test_masked_inputs_have_an_empty_a_full_and_a_broadcast_mask():
    masks = [c["mask"] for c in cases_of("masked-softmax")]
    assert all(mask.dtype == bool for mask in masks)
    assert any((~mask).all(axis=-1).any() for mask in masks)
    assert any(mask.all(axis=-1).any() for mask in masks)
    assert {mask.ndim for mask in masks} == {1, 2, 3}
    broadcast = [mask for mask in masks if mask.ndim == 3 and mask.shape[1] == 1]
    assert any(mask.any(axis=-1).all() for mask in broadcast)
    assert not all(mask.any(axis=-1).all() for mask in broadcast)


def test_share_inputs_show_whether_d_ff_is_used():
    cases = [tuple(c.values()) for c in cases_of("attention-share")]
    assert all(isinstance(size, int) for case in cases for size in case)
    ratios = [d_ff / d_model for _, d_model, d_ff in cases]
    assert ratios[0] != 4  # so that it shows at once
    assert ratios.count(4) == 1
    for case in cases:  # no share like 2/5 that another formula hits, too
        assert Fraction(RIGHT["attention-share"][0](*case)).limit_denominator(1000).denominator > 50


# The inputs of the chapter Why attention?


def test_sharp_lookups_are_beyond_the_reach_of_exp_above_and_below():
    cases = cases_of("soft-lookup")
    scores = [c["sharpness"] * (c["key"] @ c["query"]) for c in cases]
    assert max(s.min() for s in scores) > 710  # every exponential overflows
    assert min(s.max() for s in scores) < -746  # every one underflows
    assert all(c["sharpness"] != 1 for c in cases[:2])
    assert np.exp(scores[0]).max() / np.exp(scores[0]).sum() < 0.9


def test_recall_inputs_have_odd_and_even_steps_and_a_recall_between_0_and_1():
    steps = [len(c["states"]) for c in cases_of("recall")]
    assert {n % 2 for n in steps} == {0, 1}
    for case in cases_of("recall"):
        assert 0.1 < RIGHT["recall"][0](**case) < 0.9


def test_jacobian_inputs_have_many_steps_and_one():
    steps = [len(c["states"]) for c in cases_of("state-jacobian")]
    assert steps[0] > 2
    assert 1 in steps
    for case in cases_of("state-jacobian"):
        assert np.abs(RIGHT["state-jacobian"][0](**case)).max() > 0.01


def test_some_queries_of_a_regression_are_far_from_all_data_and_some_are_not():
    case = cases_of("kernel-regression")[2]
    distances = (case["x_query"][:, None] - case["x"]) / case["bandwidth"]
    largest = np.exp(-(distances**2) / 2).max(axis=1)
    assert {float(kernel) for kernel in largest} > {0.0}
    kinds = {a.dtype.kind for c in cases_of("kernel-regression") for a in (c["x_query"], c["y"])}
    assert kinds == {"f", "i"}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("soft-lookup", 3),
        ("additive-scores", 5),
        ("self-attention", 4),
        ("cross-attention", 7),
        ("without-one", 2),
    ],
)
def test_all_sizes_of_some_input_differ(name, count):
    def sizes(case):
        return {size for a in case.values() for size in np.shape(a)}

    assert any(len(sizes(case)) == count for case in cases_of(name))


# The inputs of the chapter Attend to yourself, attend to others


def effects(attend, x):
    """Return by how much each output moves when 1 is added to one token: [output, token]."""
    size = [np.abs(attend(x + one[:, None]) - attend(x)).max(axis=1) for one in np.eye(len(x))]
    return np.transpose(size)


def test_influence_inputs_catch_each_way_to_miss_a_change():
    cases = [(c["attend"], c["x"]) for c in cases_of("influence")]
    assert any((x == 0).all(axis=1).any() for _, x in cases)  # no change by a factor
    moved = [effects(*case) for case in cases]
    assert any((np.diag(m) == 0).any() and not (m == 0).all() for m in moved)
    assert any(np.triu(m, 1).any() and not np.tril(m, -1).any() for m in moved)
    assert any(np.tril(m, -1).any() and not np.triu(m, 1).any() for m in moved)
    assert any((m == np.diag(np.diag(m))).all() for m in moved)
    hints = [hint for _, hint in EXERCISES["influence"].cases(np.random.default_rng(0))]
    told = [hints.index(hint) for hint in ("adds_14", "one_read", "turning")]
    (tiny, small_x), (one_column, x), (turning, turning_x) = (cases[i] for i in told)
    # The leak is real, but np.isclose overlooks all of it.
    future = moved[told[0]][np.triu_indices(len(small_x), 1)]
    assert 1e-8 < future.min() < future.max() < 1e-5 * np.abs(tiny(small_x)).min()
    np.testing.assert_array_equal(one_column(x), one_column(x * [1, 7]))  # reads column 0 only
    np.testing.assert_allclose(np.linalg.norm(turning(turning_x), axis=1), 1)
    sums = [attend(x).sum(axis=1) for attend, x in cases]
    assert any((s == 0).all() and m.any() for s, m in zip(sums, moved, strict=True))


@pytest.mark.parametrize("size", [0.1, 1, 100, 1000])
def test_influence_does_not_depend_on_the_change(size):
    rng = np.random.default_rng(7)
    for arguments in cases_of("influence"):
        attend, x = arguments.values()
        expected = EXERCISES["influence"].reference(attend, x)
        for _ in range(5):
            change = size * rng.standard_normal(x.shape)
            for j, one in enumerate(np.eye(len(x))):
                gap = np.abs(attend(x + change * one[:, None]) - attend(x)).max(axis=1)
                np.testing.assert_array_equal(gap > 1e-12, expected[:, j])
                assert not ((gap > 1e-13) & (gap <= 1e-12)).any()


def test_images_are_neither_square_nor_cut_into_a_square_grid():
    *several, one = (c.values() for c in cases_of("patches"))
    assert EXERCISES["patches"].reference(*one).shape[0] == 1
    for image, size in several:
        height, width, channels = image.shape
        assert height % size == width % size == 0
        assert len({size, height // size, width // size, channels}) == 4
        assert len(np.unique(image)) > image.size / 2  # a pixel in a wrong place shows
    assert "u" in {c["image"].dtype.kind for c in cases_of("patches")}


def test_memories_have_empty_full_and_loud_padding():
    lengths = [set(c["lengths"].tolist()) for c in cases_of("cross-attention")]
    longest = [c["memory"].shape[1] for c in cases_of("cross-attention")]
    assert lengths[0].isdisjoint({0, longest[0]})  # every sequence has some padding
    assert {0, longest[1]} < lengths[1]
    padding = [
        np.abs(1.0 * memory[length:]).min(initial=np.inf)
        for c in cases_of("cross-attention")
        for memory, length in zip(c["memory"], c["lengths"], strict=True)
    ]
    assert any(1e10 < number < np.inf for number in padding)


def test_hidden_keys_have_weights_of_every_kind():
    cases = [(c["weights"], c["value"]) for c in cases_of("without-one")]
    for weights, value in cases:
        assert len(weights) == len(value)
        assert weights.min() >= 0
        assert 0.1 < weights.max() < 0.9
        assert weights.sum() == pytest.approx(1)
    zeros = [np.flatnonzero(weights == 0) for weights, _ in cases]
    assert sorted(map(len, zeros)) == [0] * (len(cases) - 1) + [1]
    for (weights, value), hidden in zip(cases, zeros, strict=True):
        result = RIGHT["without-one"][0](weights, value)
        np.testing.assert_allclose(result[hidden], (weights @ value)[None].repeat(len(hidden), 0))
    assert len(zeros[0]) == 0  # so that a mistake shows first where it is not a NaN
    assert any(len(np.unique(weights)) < len(weights) for weights, _ in cases)
    assert {value.dtype.kind for _, value in cases} == {"f", "i"}
    assert 1 in {value.shape[1] for _, value in cases}


# The inputs of the chapter Split one attention into many heads


def head_sizes(name):
    """Return (batch or none, len, num_heads, head_dim) of each input."""
    if name == "merge-heads":
        return [np.array(c["heads"].shape)[[0, 2, 1, 3]].tolist() for c in cases_of(name)]
    if name == "head-contributions":
        return [np.array(c["heads"].shape)[[1, 0, 2]].tolist() for c in cases_of(name)]
    shapes = [(*c["x"].shape, c["num_heads"]) for c in cases_of(name)]
    return [[batch, length, n, d_model // n] for batch, length, d_model, n in shapes]


@pytest.mark.parametrize("name", ["split-heads", "merge-heads", "multi-head", "head-contributions"])
def test_no_two_sizes_of_heads_are_the_same(name):
    sizes = head_sizes(name)
    for case in sizes:
        assert len(set(case)) == len(case)
    assert any(case[-2] > case[-1] > 1 for case in sizes)  # a swap of the two shows
    assert any(1 < case[-2] < case[-1] for case in sizes)
    assert any(case[-2] == 1 for case in sizes)


def test_contributions_are_mixed_by_a_square_matrix_and_by_others_and_add_up():
    shapes = [c["w_o"].shape for c in cases_of("head-contributions")]
    assert shapes[0][0] == shapes[0][1]  # columns for rows: wrong numbers, not an error
    assert all(rows != columns for rows, columns in shapes[1:])
    for heads, w_o in (c.values() for c in cases_of("head-contributions")):
        parts = EXERCISES["head-contributions"].reference(heads, w_o)
        np.testing.assert_allclose(parts.sum(axis=0), np.concatenate(list(heads), axis=1) @ w_o)


def test_packed_weights_do_what_the_matrices_do():
    for packed, out in (c.values() for c in cases_of("packed-weights")):
        d_model = len(out)
        assert d_model != 3  # where (d_model, 3, d_model) has the shape of the three blocks
        x = np.random.default_rng(1).standard_normal((11, d_model))
        *qkv, w_o = EXERCISES["packed-weights"].reference(packed, out)
        np.testing.assert_allclose(np.hstack([x @ w for w in qkv]), x @ packed.T)
        np.testing.assert_allclose(x @ w_o, x @ out.T)


# The inputs of the chapter Tell positions apart with sine and cosine


@pytest.mark.parametrize("name", ["sinusoidal", "rotation", "offset-score", "reversal"])
def test_bases_and_widths_are_of_several_kinds(name):
    bases = [c["base"] for c in cases_of(name)]
    assert bases[0] != 10000  # so that a fixed one shows
    assert {type(base) for base in bases} == {int, float}
    widths = [c["d_model"] for c in cases_of(name)]
    assert all(d_model % 2 == 0 for d_model in widths)
    assert widths[0] >= 10  # wide enough for pairs of every kind: first, last and between
    assert 2 in widths


def test_positions_are_added_where_no_shape_tells_batch_from_length_and_where_it_does():
    shapes = [c["x"].shape for c in cases_of("add-positions")]
    assert shapes[0][0] == shapes[0][1] != shapes[0][2]
    assert all(len(set(shape)) == 3 for shape in shapes[1:])
    assert {c["x"].dtype.kind for c in cases_of("add-positions")} == {"f", "i"}


@pytest.mark.parametrize("name", ["rotation", "offset-score"])
def test_offsets_are_positive_negative_and_zero(name):
    offsets = [c["offset"] for c in cases_of(name)]
    assert {int(np.sign(offset)) for offset in offsets} == {-1, 0, 1}
    assert offsets[0] > 0


def test_some_offset_score_is_negative_and_none_is_a_cosine_similarity():
    cases = [tuple(c.values()) for c in cases_of("offset-score")]
    scores = [EXERCISES["offset-score"].reference(*case) for case in cases]
    assert min(scores) < -0.5
    assert scores[0] > 1  # no cosine similarity, and no absolute value


def test_the_encodings_of_a_sequence_leave_one_matrix_that_reverses_it():
    # Else an answer that is fitted to them would be right, and not the same.
    for case in cases_of("reversal"):
        encoding = EXERCISES["sinusoidal"].reference(*case.values())
        assert len(encoding) > encoding.shape[1]
        assert np.linalg.cond(encoding) < 1e7
        reversal = EXERCISES["reversal"].reference(*case.values())
        np.testing.assert_allclose(encoding @ reversal.T, encoding[::-1], atol=1e-9)
        moved = EXERCISES["rotation"].reference(case["length"] - 1, case["d_model"], case["base"])
        assert not np.allclose(reversal, moved, atol=0.1)


# The inputs of the chapter Rotate queries and keys: modern positions


def test_rotary_inputs_have_positions_that_nothing_guesses():
    cases = [tuple(c.values()) for c in cases_of("rotary")]
    (x, positions, base), *_ = cases
    assert x.shape[0] == x.shape[1] != x.shape[2]  # a rotation along the batch is no error
    assert not np.array_equal(positions, np.arange(5))
    assert len(set(positions)) == 5
    assert base != 10000
    assert {type(base) for *_, base in cases} == {int, float}
    assert {x.ndim for x, *_ in cases} == {2, 3, 4}
    assert {x.dtype.kind for x, *_ in cases} == {"f", "i"}
    assert min(p.min() for _, p, _ in cases) < 0
    assert any((p % 1).any() for _, p, _ in cases)
    assert any(x.shape[-1] == 2 for x, *_ in cases)
    assert any(x.shape[-2] == 1 for x, *_ in cases)
    # Far out an angle in float32 is off by more than the tolerance, in float64 by far less.
    x, positions, base = cases[-1]
    assert len(positions) > 5000 < positions.max()
    angle = positions[-1] * base ** (-2 / x.shape[-1])
    assert abs(np.float32(angle) - angle) > 1e-3


def test_columns_to_interleave_are_none_that_another_order_hits():
    cases = [(c["w"], c["num_heads"]) for c in cases_of("interleave")]
    w, num_heads = cases[0]
    assert w.shape[0] == w.shape[1]  # so that rows for columns are no error
    assert num_heads % 2 == 0  # nor the number of heads for their size
    # In heads of four the permutation is its own inverse.
    assert all(len(w.T) // heads not in (4, num_heads) for w, heads in cases)
    assert any(len(w.T) // heads == 2 for w, heads in cases)
    assert any(heads == 1 for _, heads in cases)
    assert {w.ndim for w, _ in cases} == {1, 2}
    assert all(len(np.unique(w)) == w.size for w, _ in cases)


def test_interleaved_columns_give_the_scores_that_halves_gave():
    """What the statement promises of the one array that is accepted."""
    rng, interleave = np.random.default_rng(3), EXERCISES["interleave"].reference
    x, w_q, w_k = rng.standard_normal((7, 13)), *rng.standard_normal((2, 13, 3 * 10))

    def scores(w_q, w_k, pairing):
        query, key = (apply_rotary(split_heads(x @ w, 3), pairing=pairing) for w in (w_q, w_k))
        return query @ key.swapaxes(-1, -2)

    halves = scores(w_q, w_k, "halves")
    permuted = scores(interleave(w_q, 3), interleave(w_k, 3), "interleaved")
    np.testing.assert_allclose(permuted, halves, atol=1e-12)
    assert np.abs(scores(w_q, w_k, "interleaved") - halves).max() > 1  # as they were


def test_biases_are_of_powers_of_two_and_of_fewer_queries_first():
    cases = [tuple(c.values()) for c in cases_of("alibi")]
    assert all(num_heads.bit_count() == 1 for num_heads, *_ in cases)
    assert all(len_q <= len_k for _, len_q, len_k in cases)
    (num_heads, len_q, len_k), *_ = cases
    assert 1 < len_q < len_k
    assert num_heads not in (1, 8, len_q, len_k)
    assert any(len_q == len_k for _, len_q, len_k in cases)
    assert {1} < {len_q for _, len_q, _ in cases}
    assert 8 in {num_heads for num_heads, *_ in cases}
    assert 1 in {num_heads for num_heads, *_ in cases}
    assert max(len_k for *_, len_k in cases) > 5000


def test_padding_is_on_the_left_and_of_every_kind():
    cases = [tuple(c.values()) for c in cases_of("next-positions")]
    for real, _ in cases:
        assert real.dtype == bool
        assert (real[:, 1:] >= real[:, :-1]).all()
    real, num_new = cases[0]
    assert len(real) == real.shape[1] != num_new > 1  # a count along the batch is no error
    counts = real.sum(axis=1)
    assert 0 < counts.min() < counts.max() < real.shape[1]
    assert not np.array_equal(counts, real.sum(axis=0))
    assert counts[0] not in (counts.min(), counts.max())
    assert any(real.all() for real, _ in cases)
    assert any((~real).all(axis=1).any() for real, _ in cases)
    assert any(num_new == 1 == len(real) for real, num_new in cases)
    assert max(real.shape[1] for real, _ in cases) > 5000


def test_scores_are_of_the_offset_alone_or_far_from_it():
    spread, size, neighbours, truth = {}, {}, {}, {}
    for given, hint in EXERCISES["offset-only"].cases(np.random.default_rng(0)):
        score, length = given.values()
        table = np.array([[score(m, n) for n in range(length)] for m in range(length)])
        by_offset = [np.diagonal(table, k) for k in range(1 - length, length)]
        size[hint] = np.abs(table).max() or 1
        spread[hint] = max(map(np.ptp, by_offset)) / size[hint]
        gaps = np.abs(table[1:, 1:] - table[:-1, :-1])
        neighbours[hint] = gaps.max(initial=0) / size[hint]
        truth[hint] = EXERCISES["offset-only"].reference(score, length)
        for outside in ((-1, 0), (0, -1), (length, 0), (0, length)):
            with pytest.raises(IndexError):
                score(*outside)
    for hint, relative in spread.items():
        assert (relative < 1e-12) if truth[hint] else (relative > 1e-8), hint  # 1e-9 is between
    assert 7 <= sum(truth.values()) <= len(truth) - 7
    assert neighbours["drift"] < 1e-9 < spread["drift"]
    assert spread["slightly"] < 1e-6  # what np.isclose overlooks
    assert spread["small"] * size["small"] < 1e-9 < spread["small"]  # nor atol, nor an absolute one
    assert spread["large"] * size["large"] > 1e-9
    assert spread["rotary"] > 0  # so that == is wrong


# The inputs of the chapter Attend to long sequences


def test_halves_are_beyond_exp_on_both_sides_and_empty_in_every_way():
    cases = [tuple(c.values()) for c in cases_of("two-halves")]
    equal = [first.shape for first, second in cases if first.shape == second.shape]
    assert equal == [(5, 7, 3), (2, 1, 1)]  # in others, to mix the halves up fails by its shape
    assert {first.ndim for first, _ in cases} == {1, 2, 3, 4}
    tops = [(first.max(), second.max()) for first, second in cases]
    assert any(min(top) > 710 for top in tops)
    assert any(max(top) < -746 for top in tops)
    assert any(second - first > 710 for first, second in tops)  # not the first's maximum, then
    empty = {
        tuple(bool(np.isinf(half).all()) for half in halves)
        for first, second in cases
        for halves in zip(np.atleast_2d(first), np.atleast_2d(second), strict=True)
    }
    assert empty == {(False, False), (True, False), (False, True), (True, True)}


def test_halves_to_merge_are_square_first_and_empty_in_every_way():
    cases = [tuple(c.values()) for c in cases_of("merge")]
    assert len(set(cases[0][0].shape)) == 1  # so that a share along the columns is no error
    assert {output.ndim for output, *_ in cases} == {2, 3, 4}
    totals = [np.stack([given[1], given[3]]) for given in cases]
    assert any((t > 710).all() for t in totals)
    assert any((t < -746).all() for t in totals)
    pairs = {tuple(row) for t in totals for row in np.isinf(t).reshape(2, -1).T.tolist()}
    assert pairs == {(False, False), (True, False), (False, True), (True, True)}


def test_blocks_divide_the_length_or_not_and_their_scores_are_large_on_both_sides():
    cases = [tuple(c.values()) for c in cases_of("blockwise-causal")]
    rests = {len(query) % size for query, _, _, size in cases}
    assert 0 in rests
    assert len(rests) > 2
    assert any(size > len(query) > 1 for query, _, _, size in cases)
    assert any(size == 1 < len(query) for query, _, _, size in cases)
    assert max(len(query) for query, *_ in cases) > 500
    tops = [(q @ k.T / np.sqrt(q.shape[1])).max(axis=1) for q, k, _, _ in cases if len(q) < 500]
    assert any((top > 710).all() for top in tops)
    assert any((top < -746).all() for top in tops)


def observed(answer):
    """Return what a check sees of an answer beside its output, where five blocks are needed."""
    play, case = EXERCISES["blockwise-causal"].play, cases_of("blockwise-causal")[0]
    assert len(case["query"]) == 4 * case["block_size"] + 3
    return play(answer, *copies(case))[:3]


@pytest.mark.parametrize(
    "product",
    [
        lambda q, k: q @ k.T,
        lambda q, k: (k @ q.T).T,
        lambda q, k: 7 * (q / 7) @ k.T.copy(),
        lambda q, k: np.dot(q, k.T),
        lambda q, k: np.inner(q, k),
        lambda q, k: np.einsum("id,jd->ij", q, k),
    ],
)
def test_a_check_sees_which_blocks_meet_and_how_many_scores_there_are(product):
    def of(*blocks):
        def answer(query, key, value, size):
            for rows, columns in blocks:
                product(query[rows], key[columns])
            return value

        return observed(answer)[1:]

    first, second = slice(5), slice(5, 10)
    assert of((first, first)) == of((second, first), (second, second)) == (0, 25)
    assert of((first, second), (second, second))[0] > 0
    assert of((slice(10), slice(10)))[1] == 100


def test_a_check_sees_an_array_of_all_queries_and_keys_that_no_product_made():
    play, case = EXERCISES["blockwise-causal"].play, cases_of("blockwise-causal")[-1]
    length = len(case["query"])
    for wanted, shape in ((False, (length, 99)), (True, (length, length))):
        grew, *_ = play(lambda q, k, v, size, of=shape: np.ones(of, bool)[:, :2], *copies(case))
        assert bool(grew) == wanted


def test_stores_have_room_enough_too_little_and_none():
    cases = [tuple(c.values()) for c in cases_of("grow")]
    left = [len(store) - length - len(new) for store, length, new in cases]
    assert {int(np.sign(number)) for number in left} == {-1, 0, 1}
    assert any(0 < len(store) - length < len(new) for store, length, new in cases)
    assert any(length + len(new) > 2 * len(store) > 0 for store, length, new in cases)
    assert any(len(store) == 0 for store, *_ in cases)
    for store, length, _ in cases:
        assert store.dtype == np.float32  # neither the default nor what a list becomes
        assert np.isnan(store[length:]).all()
        assert np.isfinite(store[:length]).all()


def test_ten_thousand_rows_are_copied_fewer_than_three_times():
    """What the statement promises of a store that is at least doubled."""
    for append in RIGHT["grow"]:
        store, length, copied = np.zeros((0, 2), np.float32), 0, 0
        for row in range(10_000):
            before = store
            store, length = append(store, length, np.full((1, 2), row, np.float32))
            copied += 0 if np.shares_memory(before, store) else length - 1
        assert store[:length, 0].tolist() == list(range(10_000))
        assert copied < 20_000


def test_windows_are_of_several_kinds():
    cases = [tuple(c.values()) for c in cases_of("receptive-field")]
    windows, position = cases[0]
    assert len(set(windows)) == len(windows) > 2
    assert position > np.prod(windows)  # so that no wrong answer is cut off at 0
    assert any(np.inf in windows for windows, _ in cases)
    assert any(sum(windows) - len(windows) > position for windows, position in cases)


# The inputs of the chapter Train it


def test_gradients_of_weights_are_not_centred_and_some_rows_are_empty_or_one_hot():
    cases = [tuple(c.values()) for c in cases_of("softmax-backward")]
    d_weights, weights = cases[0]
    assert d_weights.mean() > 0.5  # else the plain sum of a row is nearly 0
    assert weights.max() < 0.9
    assert {w.ndim for _, w in cases} == {1, 2, 3, 4}
    rows = np.concatenate([np.sort(w.reshape(-1, w.shape[-1]))[:, -2:] for _, w in cases])
    assert {(0, 0), (0, 1)} <= {tuple(row) for row in rows.tolist()}
    assert {d.dtype.kind for d, _ in cases} == {"f", "i"}


@pytest.mark.parametrize("name", ["d-query", "masked-backward"])
def test_attention_to_go_back_through_is_square_first_and_beyond_exp_on_both_sides(name):
    cases = [tuple(c.values()) for c in cases_of(name)]
    assert len({size for x in cases[0] for size in x.shape}) == 1  # a wrong product is no error
    assert max(len({size for x in case for size in x.shape}) for case in cases) >= 4
    assert {x.ndim for case in cases for x in case} == {2, 3, 4}
    scores = [q @ k.mT / np.sqrt(q.shape[-1]) for _, q, k, _ in cases]
    if name == "masked-backward":
        scores = [np.where(np.tri(s.shape[-1]) > 0, s, -np.inf) for s in scores]
    largest = [s.max(axis=-1, keepdims=True) for s in scores]
    assert any((top > 710).all() for top in largest)
    assert any((top < -746).all() for top in largest)
    for top, s in zip(largest, scores, strict=True):
        near = (s > top - 3).sum(axis=-1)  # where only one is, softmax has no gradient
        assert near.max() > 1 or np.isnan(s).any() or s.shape[-1] == 1


def test_a_token_that_comes_later_is_nan_in_its_key_or_in_its_value():
    cases = [tuple(c.values()) for c in cases_of("masked-backward")]
    spoilt = [tuple(np.isnan(x).any(axis=(0, -1)) for x in c) for c in cases if c[1].ndim == 3]
    found = {tuple(map(bool, map(np.any, each))) for each in spoilt}
    assert found == {(False,) * 4, (False, False, True, False), (False, False, False, True)}
    for each in spoilt:
        assert not any(tokens[:2].any() for tokens in each)  # several queries come before
    lengths = {c[1].shape[-2] for c in cases}
    assert min(lengths) == 1
    assert max(lengths) > 512
    # A later key whose score is larger by far than all that a query may see.
    tops = [q @ k.mT - (q * k).sum(axis=-1)[..., None] for _, q, k, _ in cases if len(q) == 2]
    assert any((np.triu(top) > 2000).any() for top in tops)


def test_no_count_of_targets_is_taken_for_another_and_logits_are_large_on_both_sides():
    cases = [tuple(c.values()) for c in cases_of("cross-entropy")]
    logits, targets = cases[0]
    assert len({*logits.shape, targets.size, logits.size}) == 5
    assert {x.ndim for x, _ in cases} == {2, 3, 4}
    assert any(x.min() > 710 for x, _ in cases)
    assert any(x.max() < -746 for x, _ in cases)
    assert any(np.ptp(x.max(axis=-1)) > 1500 for x, _ in cases)  # no one maximum for all
    assert any((x.max(axis=-1) - x[..., 0] > 746).any() for x, _ in cases)
    assert max(x.shape[-1] for x, _ in cases) > 512
    for x, t in cases:
        assert t.shape == x.shape[:-1]
        assert t.dtype.kind == "i"
        assert 0 <= t.min() <= t.max() < x.shape[-1]


def test_steps_of_adam_are_the_first_a_late_one_and_between():
    cases = [tuple(c.values()) for c in cases_of("adam-step")]
    steps = [step for *_, step, _ in cases]
    assert 1 < steps[0] < 20  # both corrections show, and neither is that of step 1
    assert 1 in steps
    assert max(steps) > 10_000
    assert cases[0][-1] != 1  # a rate of 1 would hide one that is missing
    for parameter, gradient, m, v, _, _ in cases:
        assert parameter.shape == gradient.shape == m.shape == v.shape
        assert v.min() >= 0
    assert {p.ndim for p, *_ in cases} == {1, 2, 3}
    sizes = [np.abs(g).max() for _, g, *_ in cases]
    assert 0 in sizes
    assert any(1e-9 < size < 1e-7 for size in sizes)  # as large as epsilon
    assert {p.dtype.kind for p, *_ in cases} == {"f", "i"}


# The inputs of the chapter Build a language model, whole


def test_vectors_to_norm_are_not_centred_and_some_are_zero_or_as_small_as_epsilon():
    cases = [tuple(c.values()) for c in cases_of("rms-norm")]
    x, gain, eps = cases[0]
    assert x.shape[1] == x.shape[2]  # a gain along the tokens is no error
    assert np.abs(x.mean(axis=-1)).max() > 0.3  # else the mean that is taken off hardly shows
    assert eps > 0.05 * (x**2).mean(axis=-1).max()
    assert np.ptp(gain) > 0.2
    assert {x.ndim for x, *_ in cases} == {1, 3, 4}
    assert any((~x.any(axis=-1)).any() for x, *_ in cases)
    assert any(0 < (x**2).mean() < eps for x, _, eps in cases)
    assert {x.dtype.kind for x, *_ in cases} == {"f", "i"}


def test_gates_are_beyond_exp_on_both_sides_and_matrices_square_first():
    cases = [tuple(c.values()) for c in cases_of("swiglu")]
    assert len({w.shape for w in cases[0][1:]}) == 1  # a transposed matrix is no error
    assert any(
        len({x.shape[-1], *w_gate.shape, *w_down.shape}) == 3 for x, w_gate, _, w_down in cases
    )
    gates = [x @ w_gate for x, w_gate, _, _ in cases]
    assert np.abs(gates[0]).max() < 9  # where SiLU and ReLU differ
    assert any(gate.min() < -746 < 710 < gate.max() for gate in gates)
    assert {x.ndim for x, *_ in cases} == {1, 3, 4}


def test_merges_are_learned_ones_and_come_in_no_order():
    cases = [tuple(c.values()) for c in cases_of("byte-pair-merge")]
    unlearned = []
    for parts, ranks in cases:
        made = {left + right: rank for (left, right), rank in ranks.items()}
        parts_first = [
            len(part) == 1 or made[part] < rank for pair, rank in ranks.items() for part in pair
        ]
        unlearned += [] if all(parts_first) else [(parts, ranks)]
    assert len(unlearned) == 2  # where a rule may come before that which makes its parts
    for parts, ranks in unlearned:
        one_by_one, all_at_once = (
            next(a for a in RIGHT["byte-pair-merge"] if a.__name__ == name)(parts, ranks)
            for name in ("merge_the_lowest", "merge_all_of_a_pair")
        )
        assert one_by_one == all_at_once  # else one of the two would be wrong
    parts, ranks = cases[0]
    assert list(ranks.values()) != sorted(ranks.values())
    assert 0 in ranks.values()
    assert len(RIGHT["byte-pair-merge"][0](parts, ranks)) < 0.6 * len(parts)
    assert any(("a", "a") in ranks and "aaa" in "".join(parts) for parts, ranks in cases)
    assert {0, 1} <= {len(parts) for parts, _ in cases}
    assert max(len(parts) for parts, _ in cases) > 512
    assert any(max(map(len, parts), default=0) > 1 for parts, _ in cases)


def test_probabilities_reach_p_exactly_are_equal_or_sum_to_less_than_one():
    cases = [tuple(c.values()) for c in cases_of("top-p")]
    for x, p in cases:
        np.testing.assert_allclose(x.sum(axis=-1), 1)
        sums = np.sort(x)[..., ::-1].cumsum(axis=-1)
        near = (np.abs(sums - p) < 1e-9) & (sums != p)
        assert p == 1 or not near.any()  # no rounding decides
    x, p = cases[0]
    kept = (RIGHT["top-p"][0](x, p) > 0).sum(axis=-1)
    assert len(set(kept.tolist())) > 1
    assert 1 in kept
    assert any((np.sort(x)[..., ::-1].cumsum(axis=-1) == p).any() for x, p in cases if p < 1)
    assert any((x.cumsum(axis=-1)[..., -1] < 1).any() for x, p in cases if p == 1)
    assert any((x == 0).any() for x, p in cases if p == 1)
    assert max(x.shape[-1] for x, _ in cases) > 512
    assert {x.ndim for x, _ in cases} == {1, 2, 3}


def test_states_grow_from_layer_to_layer_and_some_are_as_small_as_epsilon():
    cases = [tuple(c.values()) for c in cases_of("logit-lens")]
    states, _, embedding = cases[0]
    assert len({*states.shape, *embedding.shape}) == 1  # a transposed embedding is no error
    size = np.sqrt((states**2).mean(axis=(1, 2)))
    assert size[-1] > 2 * size[0]
    assert any(1e-7 < (states**2).mean() < 1e-4 for states, *_ in cases)
    assert {states.ndim for states, *_ in cases} == {2, 3, 4}
    assert {states.dtype.kind for states, *_ in cases} == {"f", "i"}


# The known mistakes: each is wrong, and told apart from the others; the catalogues of hints


@every_exercise
def test_every_known_mistake_is_recognised_as_itself(name):
    for mistake in EXERCISES[name].known:
        with pytest.raises(WrongAnswer) as caught:
            check(name, mistake.wrong)
        assert caught.value.ids == (mistake.id,)
        assert str(caught.value) == f"{name}: {mistake.hint}"


CATALOGUED = {**EXERCISES, **all_tasks()}


@pytest.mark.parametrize("name", CATALOGUED)
def test_every_hint_has_a_use_and_every_use_a_hint(name):
    exercise = CATALOGUED[name]
    used = {*exercise.mistakes, *exercise.clues.values()}
    used |= {hint for _, hint in exercise.cases(np.random.default_rng(0))}
    used |= {exercise.how} if isinstance(exercise, Measurement) else set()
    # A symptom, whose text has {fields}, may be told in an exercise's own words.
    used |= {id_ for id_, text in exercise_.COMMON.items() if "{" in text}
    for id_ in exercise.hints:
        assert id_ in used, f"no mistake, case or clue of [{name}] is {id_}: delete the hint"
    for id_ in used:
        assert exercise.say(id_).count("`") % 2 == 0, id_


def test_every_common_hint_has_a_use():
    used = {id_ for each in CATALOGUED.values() for id_ in {*each.mistakes, *each.clues.values()}}
    for exercise in EXERCISES.values():
        used |= {hint for _, hint in exercise.cases(np.random.default_rng(0))}
    code = inspect.getsource(symptoms) + inspect.getsource(examining) + inspect.getsource(exercise_)
    used |= {id_ for id_ in exercise_.COMMON if f'"{id_}"' in code}
    assert not exercise_.COMMON.keys() - used - {each.leading for each in CATALOGUED.values()}


@pytest.fixture
def write(tmp_path):
    """Return a function that reads exercises with a catalogue of some text."""

    def read(text, mistakes, **more):
        (tmp_path / "toys.ini").write_text(text, encoding="utf-8")
        toy = exercises.Exercise(
            call="toy()", reference=abs, cases=lambda rng: [], mistakes=mistakes, **more
        )
        return exercise_.with_hints(str(tmp_path / "toys.py"), {"toy": toy})

    return read


def test_a_catalogue_gives_each_mistake_its_hint(write):
    toys = write("[toy]\ntwice = it is `2 * x`: once = 1\n    is enough.\n", {"twice": abs})
    assert list(toys["toy"].known) == [("twice", abs, "it is `2 * x`: once = 1 is enough.")]


def test_an_exercise_s_own_hint_comes_before_the_common_one(write):
    mistakes = {"bare": abs, "hard": abs}
    bare, hard = write("[toy]\nbare = its own\n", mistakes)["toy"].known
    assert (bare.hint, hard.hint) == ("its own", exercise_.COMMON["hard"])


@pytest.mark.parametrize(
    ("text", "mistakes", "says"),
    [
        ("[toy]\n", {"twice": abs}, r"toys.ini: write a hint for 'twice' into \[toy\]"),
        (
            "[toy]\na = b\na = c\n",
            {},
            r"toys.ini, line 3: the id 'a' is used twice in \[toy\], rename",
        ),
        ("[toy]\n[toi]\n", {}, r"toys.ini: no exercise is called toi"),
    ],
    ids=["without a hint", "an id used twice", "of no exercise"],
)
def test_a_catalogue_that_does_not_fit_is_refused_with_what_to_do(write, text, mistakes, says):
    with pytest.raises(ValueError, match=says):
        write(text, mistakes)
    assert write("[toy]\nclue = c\n", {}, clues={"x": "clue"})
    with pytest.raises(ValueError, match="'clue'"):
        write("[toy]\n", {}, clues={"x": "clue"})


def test_catalogues_keep_to_the_width_of_the_code():
    for path in [*(ROOT / "attnbook").rglob("*.ini"), *(ROOT / "course").rglob("*.ini")]:
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 100, path


@pytest.fixture
def make_toy(monkeypatch):
    """Return a function that makes an exercise named toy the only one there is."""

    def make(reference, cases, mistakes=(), **more):
        mistakes = dict(mistakes)
        said = {*mistakes, *(hint for _, hint in cases), *more.get("clues", {}).values()}
        toy = exercises.Exercise(
            call="toy(...)",
            reference=reference,
            cases=lambda rng: iter(cases),
            mistakes=mistakes,
            hints={id_: f"{id_}!" for id_ in said},
            **more,
        )
        monkeypatch.setattr(exercises, "_all_exercises", lambda: {"toy": toy})

    return make


def test_a_mistake_that_showed_earlier_is_not_blamed_later(make_toy):
    # The answer is right on the first input; "doubled" agrees with it on the second only.
    make_toy(
        lambda x: x,
        [({"x": 1.0}, "one"), ({"x": 2.0}, "two")],
        {"doubled": lambda x: 2 * x, "squared": lambda x: x**2},
    )
    assert verdict("toy", lambda x: x if x < 2 else 4.0) == "toy: squared!"


def test_a_mistake_that_does_not_fit_the_shapes_is_not_blamed(make_toy):
    long = np.arange(3.0)
    mistakes = {"too_short": lambda x: x + np.ones(3), "doubled": lambda x: 2 * x}
    make_toy(lambda x: x, [({"x": long}, "three"), ({"x": np.arange(5.0)}, "five")], mistakes)
    assert verdict("toy", lambda x: x + 1) == "toy: too_short!"
    # Right on three, doubled on five: the mistake that cannot be made with five is passed over.
    assert ids("toy", lambda x: x if len(x) == 3 else 2 * x) == "differs five"
    make_toy(lambda x: x, [({"x": np.arange(5.0)}, "five")], mistakes)
    assert verdict("toy", lambda x: 2 * x) == "toy: doubled!"


# Arguments that are functions, results that are boolean


def test_an_argument_may_be_a_function(make_toy):
    make_toy(lambda f, x: f(x), [({"f": np.cos, "x": np.arange(5.0)}, "hint")])
    assert verdict("toy", lambda f, x: f(x)) == "toy: correct\n"

    def in_place(f, x):
        x += 1
        return f(x - 1)

    assert ids("toy", in_place) == "in_place"
    assert "`x`" in verdict("toy", in_place)


@pytest.mark.parametrize("answer", [lambda x: [True, True, False], lambda x: x < 2])
def test_a_boolean_result_that_is_right(answer, make_toy):
    make_toy(lambda x: x < 2, [({"x": np.arange(3)}, "hint")], boolean=True)
    assert verdict("toy", answer) == "toy: correct\n"


@pytest.mark.parametrize(
    ("answer", "wanted", "shown"),
    [
        (lambda x: (x < 2).astype(float), "not_boolean", ["float64"]),
        (lambda x: (x < 2) * 1, "not_boolean", ["int"]),
        (lambda x: x < 1, "differs hint", ["`result[1]`", "False", "True"]),
        (lambda x: x / 10, "not_true_or_false hint", ["0.1"]),
        (lambda x: x * np.nan, "not_true_or_false hint", ["nan"]),
    ],
)
def test_a_boolean_result_must_be_boolean(answer, wanted, shown, make_toy):
    make_toy(lambda x: x < 2, [({"x": np.arange(3)}, "hint")], boolean=True)
    assert ids("toy", answer) == wanted
    assert all(part in verdict("toy", answer) for part in shown)


def test_the_clue_of_an_exercise_comes_before_the_general_one(make_toy):
    case = [({"x": np.ones((2, 3))}, "hint")]
    make_toy(lambda x: x, case, clues={"matmul": "own"})
    assert ids("toy", lambda x: x @ x) == "raised own"
    make_toy(lambda x: x, case)
    assert ids("toy", lambda x: x @ x) == "raised axes_of_matmul"


def test_an_exercise_may_use_an_answer_more_than_once(make_toy):
    def twice(answer, x):
        return answer(answer(x)), 2

    case = [({"x": np.arange(3.0)}, "hint")]
    make_toy(lambda x: x + 1, case, {"minus": lambda x: x - 1}, play=twice, returns=("x", "times"))
    assert verdict("toy", lambda x: 1 + x) == "toy: correct\n"
    assert verdict("toy", lambda x: x - 1) == "toy: minus!"
    assert ids("toy", lambda x: x + 2) == "others_right differs"  # whose hint, of two calls?
    assert ids("toy", lambda x, y: x) == "other_arguments"


def test_an_infinity_that_is_right_is_not_what_is_told(make_toy):
    right = np.array([-np.inf, 1.5, 100])
    make_toy(lambda x: x, [({"x": right}, "hint")])
    assert verdict("toy", lambda x: x.copy()) == "toy: correct\n"
    for change, wanted, shown in (
        ([0, 0, 2], "differs hint", ("`result[2]`", "102", "100")),
        ([0, 0, 0.1], "nearly", ("`result`", "0.1")),
        ([np.inf, 0, 0], "not_finite hint", ("nan",)),
        ([0, np.inf, 0], "not_finite hint", ("inf",)),
    ):
        assert ids("toy", lambda x, c=change: x + c) == wanted
        told = verdict("toy", lambda x, c=change: x + c)
        assert all(part in told for part in shown)
    assert ids("toy", lambda x: np.maximum(x, -5)) == "differs hint"
    told = verdict("toy", lambda x: np.maximum(x, -5))
    assert all(part in told for part in ("`result[0]`", "-5", "-inf"))


# Results of several arrays, or of an array with several axes


def test_the_arrays_that_are_right_are_named_together(make_toy):
    names = ("one", "two", "three", "four")
    make_toy(lambda x: (x, x, x, x), [({"x": np.arange(3.0)}, "hint")], returns=names)
    for answer, right, wrong, number in (
        (lambda x: (x + 1, x, x, x), "two, three, four", "one[0]", "1"),
        (lambda x: (x + 1, 2 * x, x, x), "three, four", "two[2]", "4"),
        (lambda x: (x, x, 2 * x, x), "four", "three[2]", "4"),
    ):
        assert ids("toy", answer) == "others_right differs hint"
        assert all(part in verdict("toy", answer) for part in (f"`{right}`", f"`{wrong}`", number))
    assert ids("toy", lambda x: (x, x, x, 2 * x)) == "differs hint"


def test_a_stacked_array_that_unpacks_into_the_arrays_is_right(make_toy):
    case = [({"x": np.arange(3.0)}, "hint")]
    same = {"same": lambda x: (x, x)}
    make_toy(lambda x: (x, 2 * x), case, same, returns=("one", "two"))
    assert verdict("toy", lambda x: np.stack([x, 2 * x])) == "toy: correct\n"
    assert ids("toy", lambda x: np.stack([x, x])) == "same"
    assert ids("toy", lambda x: np.stack([x, 2 * x, x])) == "count"
    assert ids("toy", lambda x: np.array(1.0)) == "count"


@pytest.mark.parametrize("leading", ["sequence", "head"])
def test_an_answer_that_is_right_along_part_of_the_first_axis_is_told_so(make_toy, leading):
    def first_only(x):
        return x * np.array([1, 2, 3])[:, None, None]

    make_toy(lambda x: x, [({"x": np.ones((3, 5, 7))}, "hint")], leading=leading)
    assert ids("toy", first_only) == "first_only hint"
    assert exercise_.COMMON[leading] in verdict("toy", first_only)


# Results that are not arrays of numbers


@pytest.mark.parametrize(
    ("wrap", "wanted", "shown"),
    [
        (lambda weights: weights.astype(complex), "kind", "`ndarray`"),
        (lambda weights: weights.astype(str), "kind", "`ndarray`"),
        (lambda weights: iter(weights), "iterator", "iterator"),
        (lambda weights: {"weights": weights}, "kind", "`dict`"),
        (lambda weights: [[1.0], [0.5, 0.5]], "kind", "`list`"),
        (lambda weights: (weights, weights), "shape", "`(2, 2, 3, 5)`"),
        (lambda weights: weights.swapaxes(1, 2), "shape swapped_axes", "`(2, 5, 3)`"),
        (lambda weights: weights[None], "shape", "`(1, 2, 3, 5)`"),
        (lambda weights: (weights,), "shape stray_comma", "`(1, 2, 3, 5)`"),
        (lambda weights: weights[::-1], "differs row_by_row", "`result["),
        (lambda weights: weights * np.inf, "not_finite row_by_row", "inf"),
        (
            lambda weights: np.ma.masked_array(weights, weights < 0.1),
            "masked_elements",
            "filled(0)",
        ),
        (lambda weights: -weights, "negative_weight row_by_row", "-0."),
        (lambda weights: weights.astype(np.float16), "low_precision", "`float16`"),
        (lambda weights: None, "none", "`my_softmax(x)`"),
    ],
)
def test_a_spoilt_result_is_described(wrap, wanted, shown):
    def answer(x):
        return wrap(RIGHT["softmax"][0](x))

    assert ids("softmax", answer) == wanted
    assert shown in verdict("softmax", answer)
