"""The tasks' checkers against right and wrong answers, on the data of several classes."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from attnbook.exercises import WrongAnswer
from course.chapters import chapters
from course.grading import seeds
from course.grading.judging import all_tasks, ask, cases_of, judge_value
from course.grading.task import Measurement
from course.promises import keep

TASKS = all_tasks()
BANKS = [chapter.part("task_answers").BANK for chapter in chapters()]
RIGHT = {name: found for bank in BANKS for name, found in bank.right.items()}
WRONG = {name: found for bank in BANKS for name, found in bank.wrong.items()}

every_task = pytest.mark.parametrize("name", TASKS)
one_class = pytest.mark.parametrize("phrase", ["demo"], indirect=True)
every_right = pytest.mark.parametrize(
    ("name", "answer"),
    [pytest.param(n, a, id=a.__name__) for n, found in RIGHT.items() for a in found],
)
every_wrong = pytest.mark.parametrize(
    ("name", "wrong"),
    [pytest.param(n, w, id=w.answer.__name__) for n, found in WRONG.items() for w in found],
)


@pytest.fixture(autouse=True, params=["demo", "one class", "another class"])
def phrase(request, monkeypatch):
    monkeypatch.setenv(seeds.VARIABLE, request.param)


@every_right
def test_a_right_answer_passes(name, answer):
    ask(name, answer)


@every_wrong
def test_a_wrong_answer_is_rejected_and_told_why(name, wrong):
    with pytest.raises(WrongAnswer) as caught:
        ask(name, wrong.answer)
    assert " ".join(caught.value.ids) in wrong.ids
    assert str(caught.value).startswith(f"{name}: ")


@one_class
@every_task
def test_wrong_answers_are_rejected_in_every_class(name, monkeypatch):
    # Data that are drawn may hide a mistake by chance.
    for number in range(12):
        monkeypatch.setenv(seeds.VARIABLE, f"class {number}")
        for wrong in WRONG[name]:
            with pytest.raises(WrongAnswer):
                ask(name, wrong.answer)
        for answer in RIGHT[name][1:]:  # the first ones are slow
            ask(name, answer)


@every_task
def test_the_bank_is_large_enough_and_two_thirds_of_its_messages_name_the_mistake(name):
    (bank,) = (each.module for each in chapters() if name in each.part("tasks").TASKS)
    where = f"course/{bank}/task_answers.py: {name}"
    keep(where, "a task", "right_answers", len(RIGHT.get(name, [])))
    keep(where, "a task", "wrong_answers", len(WRONG.get(name, [])))
    named = [wrong for wrong in WRONG[name] if wrong.names_mistake]
    keep(name, "a task", "percent_named", 100 * len(named) / len(WRONG[name]))


@every_task
def test_named_mistakes_have_messages_of_their_own(name):
    messages = set()
    for wrong in WRONG[name]:
        if wrong.names_mistake:
            with pytest.raises(WrongAnswer) as caught:
                ask(name, wrong.answer)
            messages.add(str(caught.value))
    keep(name, "a task", "percent_of_messages", 100 * len(messages) / len(WRONG[name]))


@every_task
def test_right_answers_agree_with_one_another(name):
    # They are written independently: together they are the oracle of the checker's reference.
    for arguments in cases_of(name):
        results = []
        for answer in RIGHT[name]:
            result = answer(*copy.deepcopy(arguments).values())
            parts = result if len(TASKS[name].returns) > 1 else [result]
            results.append(np.concatenate([np.ravel(part) for part in parts]))
        for one, other in itertools.pairwise(results):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@every_task
def test_no_two_classes_have_the_same_data(name, monkeypatch):
    here = cases_of(name)
    monkeypatch.setenv(seeds.VARIABLE, "last year")
    for mine, theirs in zip(here, cases_of(name), strict=True):
        first = mine.get("query", next(iter(mine.values())))
        if isinstance(first, np.ndarray):
            assert not np.array_equal(first, theirs.get("query", next(iter(theirs.values()))))


@one_class
@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if not isinstance(t, Measurement)])
def test_no_class_knows_the_sizes_of_another(name, monkeypatch):
    found = set()
    for number in range(20):
        monkeypatch.setenv(seeds.VARIABLE, f"class {number}")
        drawn = [given for arguments in cases_of(name) for given in arguments.values()]
        found.add(str([given if isinstance(given, int) else np.shape(given) for given in drawn]))
    assert len(found) >= 4


@one_class
def test_sizes_that_are_taken_for_another_differ(monkeypatch):
    for number in range(20):
        monkeypatch.setenv(seeds.VARIABLE, f"class {number}")
        for given in cases_of("find-patch"):
            assert len({*given["patches"].shape, len(given["wanted"])}) == 3
        for given in cases_of("prefix-attention"):
            assert len({*given["x"].shape, given["w_q"].shape[1], given["w_v"].shape[1]}) == 4
        for given in cases_of("smaller-layer"):
            d_in, width = given["w_q"].shape
            head_dim, d_out = width // given["num_heads"], given["w_o"].shape[1]
            assert len({d_in, d_out, given["num_heads"], head_dim}) == 4
        for given in cases_of("unequal-heads")[:2]:
            widths = given["widths"]
            assert len({*widths, *given["x"].shape}) == len(widths) + 2
            taken = {widths[0], max(widths), len(widths), sum(widths), sum(widths) / len(widths)}
            assert len(taken | {len(given["w_q"])}) == 6
        for given in cases_of("share-heads")[:2]:
            (_, heads, len_q, d_k), (batch, kv_heads, len_k, d_v) = (
                given[name].shape for name in ("query", "value")
            )
            assert len({batch, kv_heads, heads // kv_heads, len_q, len_k, d_k, d_v}) == 7
        for given in cases_of("sink-mask")[:1]:
            assert len(set(given.values())) == 4
            assert given["len_q"] > given["window"]  # the window ends before the last key
        square, *others = cases_of("tied-backward")
        assert square["x"].shape[-1] == len(square["w"].T)  # a matrix not transposed is no error
        for given in others:
            assert len({*given["x"].shape, len(given["w"].T)}) == 4
        for given in cases_of("whole-batch"):
            assert len({*given["gradients"].shape}) == 3
        for given in cases_of("count-by-part"):
            assert len({number for number in given.values() if number > 1}) >= 5
        square, *others = cases_of("without-heads")
        assert len({*square["w_o"].shape}) == 1  # a matrix not transposed is no error
        for given in others:
            assert len({*given["heads"].shape, given["w_o"].shape[1]}) == 5


@one_class
def test_for_each_query_of_local_lines_several_points_count(monkeypatch):
    for number in range(60):
        monkeypatch.setenv(seeds.VARIABLE, f"class {number}")
        for given in cases_of("local-lines"):
            distance = given["x_query"][:, None] - given["x"]
            weights = np.exp(-(distance**2) / (2 * given["bandwidth"] ** 2))
            weights /= weights.sum(axis=1, keepdims=True)
            assert np.min(1 / (weights**2).sum(axis=1)) > 2


@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if isinstance(t, Measurement)])
def test_a_number_read_off_must_be_the_class_s(name, monkeypatch):
    task, rng = TASKS[name], np.random.default_rng(seeds.class_seed())
    arguments, _ = next(iter(task.cases(rng)))
    number = task.read(rng, *arguments.values())
    measured = task.reference(*arguments.values())
    judge_value(name, measured, number)
    for wrong in (number * 1.01, "text", [number, number], np.nan, None):
        with pytest.raises(WrongAnswer) as caught:
            judge_value(name, measured, wrong)
        assert caught.value.ids == ("read_off",)


@pytest.mark.parametrize("name", [n for n, t in TASKS.items() if isinstance(t, Measurement)])
def test_what_is_read_off_wrong_numbers_gets_nothing(name):
    task, rng = TASKS[name], np.random.default_rng(seeds.class_seed())
    arguments, _ = next(iter(task.cases(rng)))
    number = task.read(rng, *arguments.values())
    measured = task.reference(*arguments.values())
    for wrong in (np.ones_like(measured), measured[:-1], None):
        with pytest.raises(WrongAnswer) as caught:
            judge_value(name, wrong, number)
        assert caught.value.ids == ("not_yet",)


@one_class
def test_every_class_has_numbers_to_read_off(monkeypatch):
    # A threshold that no entry of a list reaches would leave nothing to read.
    for name, task in TASKS.items():
        read = []
        for number in range(60 * isinstance(task, Measurement)):
            monkeypatch.setenv(seeds.VARIABLE, f"class {number}")
            rng = np.random.default_rng(seeds.class_seed())
            arguments, _ = next(iter(task.cases(rng)))
            read.append(float(task.read(rng, *arguments.values())))
        assert len(set(read)) >= (5 if read else 0), name


def test_a_class_has_no_seed_without_a_phrase(monkeypatch, tmp_path):
    monkeypatch.delenv(seeds.VARIABLE)
    monkeypatch.setattr(seeds, "COURSE", tmp_path)
    with pytest.raises(RuntimeError, match="there is no course/class"):
        seeds.class_seed()
    seeds.keep_phrase(None)
    assert (tmp_path / "class-phrase.txt").stat().st_mode & 0o777 == 0o600  # for nobody else
    first = seeds.class_seed()
    seeds.keep_phrase(None)
    assert seeds.class_seed() == first
    seeds.keep_phrase("another")
    assert seeds.class_seed() != first


@pytest.fixture
def handed_in(monkeypatch, tmp_path):
    """Return a course that released with the phrase "mine" and has a submission."""
    monkeypatch.delenv(seeds.VARIABLE)
    monkeypatch.setattr(seeds, "COURSE", tmp_path)
    seeds.keep_phrase("first")
    seeds.keep_phrase("mine")  # nobody has handed in yet
    for folder, text in ("release", seeds.SEED.format(seeds.class_seed())), ("submitted/987", "{}"):
        notebook = tmp_path / folder / "assignment-1" / "assignment-1.ipynb"
        notebook.parent.mkdir(parents=True)
        notebook.write_text(text)
    return tmp_path


@one_class
def test_another_phrase_is_refused_where_students_have_handed_in(handed_in):
    with pytest.raises(ValueError, match="To go on with this class, give no PHRASE"):
        seeds.keep_phrase("other")
    for same in ("mine", None):
        seeds.keep_phrase(same)
        assert seeds.phrase() == "mine"


@one_class
def test_a_lost_phrase_is_not_replaced_where_students_have_handed_in(handed_in):
    (handed_in / "class-phrase.txt").unlink()
    with pytest.raises(ValueError, match="the phrase that grades it is gone"):
        seeds.keep_phrase(None)
    with pytest.raises(ValueError, match="this is another one"):
        seeds.keep_phrase("other")
    assert not (handed_in / "class-phrase.txt").exists()
    seeds.keep_phrase("mine")
    assert seeds.phrase() == "mine"


@one_class
def test_a_phrase_that_is_not_that_of_the_release_is_refused(handed_in):
    (handed_in / "class-phrase.txt").write_text("other")
    with pytest.raises(ValueError, match="this is another one"):
        seeds.keep_phrase(None)
