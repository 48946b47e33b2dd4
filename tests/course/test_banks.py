"""The tasks' checkers against right and wrong answers, on the data of several classes."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from attnbook.exercises import WrongAnswer
from course import grading, verdicts
from course.chapters import chapters
from course.grading import judging, seeds
from course.grading.judging import all_tasks, judge_value
from course.grading.seeds import class_seed
from course.grading.task import Measurement
from course.promises import keep
from course.verdicts import Judged, Verdict, ask, cases_of, verdict

TASKS = all_tasks()
BANKS = [chapter.part("task_answers").BANK for chapter in chapters()]
# A task without answers has none here: the tests below say where they are missing.
RIGHT = dict.fromkeys(TASKS, ()) | {name: r for bank in BANKS for name, r in bank.right.items()}
WRONG = dict.fromkeys(TASKS, ()) | {name: w for bank in BANKS for name, w in bank.wrong.items()}

every_task = pytest.mark.parametrize("name", TASKS)
every_class = pytest.mark.parametrize("phrase", [verdicts.PHRASE, "one class", "another class"])
every_right = pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(n, i, id=a.__name__)
        for n, answers in RIGHT.items()
        for i, a in enumerate(answers)
    ],
)
every_wrong = pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(n, i, id=wrong.answer.__name__)
        for n, answers in WRONG.items()
        for i, wrong in enumerate(answers)
    ],
)


@functools.cache
def verdicts_on(name, phrase):
    """Return what a class is told about all answers to a task, judged once."""
    if phrase == verdicts.PHRASE:
        return verdicts.judged()[name]
    say = functools.partial(ask, name, phrase=phrase)
    wrong = [verdict(say, wrong.answer) for wrong in WRONG[name]]
    return Judged(wrong, [verdict(say, answer) for answer in RIGHT[name]])


@every_class
@every_right
def test_a_right_answer_passes(name, number, phrase):
    assert verdicts_on(name, phrase).right[number] == Verdict(printed="")


@every_class
@every_wrong
def test_a_wrong_answer_is_rejected_and_told_why(name, number, phrase):
    rejection = verdicts_on(name, phrase).wrong[number]
    assert " ".join(rejection.ids) in WRONG[name][number].ids
    assert rejection.message.startswith(f"{name}: ")


@every_task
def test_wrong_answers_are_rejected_in_every_class(name, monkeypatch):
    # Data that are drawn may hide a mistake by chance. Which one it is, the tests above say.
    task = dataclasses.replace(TASKS[name], mistakes={})
    monkeypatch.setattr(judging, "all_tasks", lambda: {name: task})
    for number in range(10):
        for wrong in WRONG[name]:
            with pytest.raises(WrongAnswer):
                ask(name, wrong.answer, f"class {number}")
        for answer in RIGHT[name][1:]:  # the first ones are slow
            ask(name, answer, f"class {number}")


@every_task
def test_the_bank_is_large_enough_and_two_thirds_of_its_messages_name_the_mistake(name):
    (bank,) = (each.module for each in chapters() if name in each.part("tasks").TASKS)
    where = f"course/{bank}/task_answers.py: {name}"
    keep(where, "a task", "right_answers", len(RIGHT[name]))
    keep(where, "a task", "wrong_answers", len(WRONG[name]))
    named = [wrong for wrong in WRONG[name] if wrong.names_mistake]
    keep(name, "a task", "percent_named", 100 * len(named) / max(len(WRONG[name]), 1))


@every_class
@every_task
def test_named_mistakes_have_messages_of_their_own(name, phrase):
    both = zip(WRONG[name], verdicts_on(name, phrase).wrong, strict=True)
    messages = {rejection.message for wrong, rejection in both if wrong.names_mistake}
    keep(name, "a task", "percent_of_messages", 100 * len(messages) / max(len(WRONG[name]), 1))


@every_class
@every_task
def test_no_two_classes_have_the_same_data(name, phrase):
    here = cases_of(name, phrase)
    for mine, theirs in zip(here, cases_of(name, "last year"), strict=True):
        first = mine.get("query", next(iter(mine.values())))
        if isinstance(first, np.ndarray):
            assert not np.array_equal(first, theirs.get("query", next(iter(theirs.values()))))


@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if not isinstance(t, Measurement)])
def test_no_class_knows_the_sizes_of_another(name):
    sizes = set()
    for number in range(20):
        cases = cases_of(name, f"class {number}")
        drawn = [argument for case in cases for argument in case.values()]
        sizes.add(str([x if isinstance(x, int) else np.shape(x) for x in drawn]))
    assert len(sizes) >= 4


def test_sizes_that_are_taken_for_another_differ():
    for number in range(20):
        drawn = functools.partial(cases_of, phrase=f"class {number}")
        for case in drawn("find-patch"):
            assert len({*case["patches"].shape, len(case["wanted"])}) == 3
        for case in drawn("prefix-attention"):
            assert len({*case["x"].shape, case["w_q"].shape[1], case["w_v"].shape[1]}) == 4
        for case in drawn("smaller-layer"):
            d_in, width = case["w_q"].shape
            head_dim, d_out = width // case["num_heads"], case["w_o"].shape[1]
            assert len({d_in, d_out, case["num_heads"], head_dim}) == 4
        for case in drawn("unequal-heads")[:2]:
            widths = case["widths"]
            assert len({*widths, *case["x"].shape}) == len(widths) + 2
            taken = {widths[0], max(widths), len(widths), sum(widths), sum(widths) / len(widths)}
            assert len(taken | {len(case["w_q"])}) == 6
        for case in drawn("share-heads")[:2]:
            (_, heads, len_q, d_k), (batch, kv_heads, len_k, d_v) = (
                case[name].shape for name in ("query", "value")
            )
            assert len({batch, kv_heads, heads // kv_heads, len_q, len_k, d_k, d_v}) == 7
        for case in drawn("sink-mask")[:1]:
            assert len(set(case.values())) == 4
            assert case["len_q"] > case["window"]  # the window ends before the last key
        square, *others = drawn("tied-backward")
        assert square["x"].shape[-1] == len(square["w"].T)  # a matrix not transposed is no error
        for case in others:
            assert len({*case["x"].shape, len(case["w"].T)}) == 4
        for case in drawn("whole-batch"):
            assert len({*case["gradients"].shape}) == 3
        for case in drawn("count-by-part"):
            assert len({number for number in case.values() if number > 1}) >= 5
        square, *others = drawn("without-heads")
        assert len({*square["w_o"].shape}) == 1  # a matrix not transposed is no error
        for case in others:
            assert len({*case["heads"].shape, case["w_o"].shape[1]}) == 5


def test_for_each_query_of_local_lines_several_points_count():
    for number in range(60):
        for case in cases_of("local-lines", f"class {number}"):
            distance = case["x_query"][:, None] - case["x"]
            weights = np.exp(-(distance**2) / (2 * case["bandwidth"] ** 2))
            weights /= weights.sum(axis=1, keepdims=True)
            assert np.min(1 / (weights**2).sum(axis=1)) > 2


@every_class
@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if isinstance(t, Measurement)])
def test_a_number_read_off_must_be_the_class_s(name, phrase):
    task, rng = TASKS[name], np.random.default_rng(class_seed(phrase))
    arguments, _ = next(iter(task.cases(rng)))
    number = task.read(rng, *arguments.values())
    measured = task.reference(*arguments.values())
    judge_value(name, measured, number, phrase=phrase)
    for wrong in (number * 1.01, "text", [number, number], np.nan, None):
        with pytest.raises(WrongAnswer) as caught:
            judge_value(name, measured, wrong, phrase=phrase)
        assert caught.value.ids == ("read_off",)


@every_class
@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if isinstance(t, Measurement)])
def test_what_is_read_off_wrong_numbers_gets_nothing(name, phrase):
    task, rng = TASKS[name], np.random.default_rng(class_seed(phrase))
    arguments, _ = next(iter(task.cases(rng)))
    number = task.read(rng, *arguments.values())
    measured = task.reference(*arguments.values())
    for wrong in (np.ones_like(measured), measured[:-1], None):
        with pytest.raises(WrongAnswer) as caught:
            judge_value(name, wrong, number, phrase=phrase)
        assert caught.value.ids == ("not_yet",)


def test_every_class_has_numbers_to_read_off():
    # A threshold that no entry of a list reaches would leave nothing to read.
    for name, task in TASKS.items():
        read = []
        for number in range(60 * isinstance(task, Measurement)):
            rng = np.random.default_rng(class_seed(f"class {number}"))
            arguments, _ = next(iter(task.cases(rng)))
            read.append(float(task.read(rng, *arguments.values())))
        assert len(set(read)) >= (5 if read else 0), name


@pytest.fixture
def course(monkeypatch, tmp_path):
    """Return the folder of a course that has no phrase."""
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    monkeypatch.setattr(seeds, "COURSE", tmp_path)
    return tmp_path


def test_a_class_has_no_phrase_until_one_is_kept(course):
    with pytest.raises(RuntimeError, match="there is no course/class"):
        seeds.class_phrase()
    seeds.keep_phrase(None)
    assert (course / "class-phrase.txt").stat().st_mode & 0o777 == 0o600  # for nobody else
    first = seeds.class_phrase()
    seeds.keep_phrase(None)
    assert seeds.class_phrase() == first
    seeds.keep_phrase("another")
    assert seeds.class_phrase() == "another"
    assert len({class_seed(phrase) for phrase in (first, "another", "a third")}) == 3


def test_a_hidden_test_judges_on_the_data_of_the_class_whose_phrase_is_kept(course, monkeypatch):
    (name, task), *_ = [(n, t) for n, t in TASKS.items() if isinstance(t, Measurement)]

    def measured(phrase):
        return task.reference(*cases_of(name, phrase)[0].values())

    seeds.keep_phrase("mine")
    grading.judge_value(name, measured("mine"))
    with pytest.raises(WrongAnswer):
        grading.judge_value(name, measured("other"))
    monkeypatch.setenv(seeds.VARIABLE, "other")  # comes before what is kept
    grading.judge_value(name, measured("other"))
    drawn = []
    monkeypatch.setattr(grading.judging, "judge", lambda *given: drawn.append(given))
    grading.judge("window-mask", abs)
    assert drawn == [("window-mask", abs, "other")]


@pytest.fixture
def handed_in(course):
    """Return a course that released with the phrase "mine" and has a submission."""
    seeds.keep_phrase("first")
    seeds.keep_phrase("mine")  # nobody has handed in yet
    for folder, text in ("release", seeds.SEED.format(class_seed("mine"))), ("submitted/987", "{}"):
        notebook = course / folder / "assignment-1" / "assignment-1.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(text)
    return course


def test_another_phrase_is_refused_where_students_have_handed_in(handed_in):
    with pytest.raises(ValueError, match="To go on with this class, give no PHRASE"):
        seeds.keep_phrase("other")
    for same in ("mine", None):
        seeds.keep_phrase(same)
        assert seeds.class_phrase() == "mine"


def test_a_lost_phrase_is_not_replaced_where_students_have_handed_in(handed_in):
    (handed_in / "class-phrase.txt").unlink()
    with pytest.raises(ValueError, match="the phrase that grades it is gone"):
        seeds.keep_phrase(None)
    with pytest.raises(ValueError, match="this is another one"):
        seeds.keep_phrase("other")
    assert not (handed_in / "class-phrase.txt").exists()
    seeds.keep_phrase("mine")
    assert seeds.class_phrase() == "mine"


def test_a_phrase_that_is_not_that_of_the_release_is_refused(handed_in):
    (handed_in / "class-phrase.txt").write_text("other")
    with pytest.raises(ValueError, match="this is another one"):
        seeds.keep_phrase(None)
