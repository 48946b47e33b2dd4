"""Judge an answer to a task; hidden tests consist of one call of a function here."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np

from attnbook.exercises.examining import examine
from attnbook.exercises.exercise import WrongAnswer, read_hints
from course.chapters import chapters
from course.grading.bridge import LIMIT, count_steps
from course.grading.seeds import class_seed, secret_seed
from course.grading.task import Measurement, Task

# Of what a loop would run over. The first call may import something. No two sizes are equal, so
# that a cache helps none of them; none is beyond a power of two that the others are not, so that a
# method which doubles needs as many steps for each.
SIZES = (68, 72, 120)

GENERAL = read_hints(Path(__file__).with_suffix(".ini"))["judging"]


@functools.cache
def all_tasks() -> dict[str, Task | Measurement]:
    """Return the tasks of all assignments by name."""
    modules = [chapter.part("tasks") for chapter in chapters()]
    return {name: task for module in modules for name, task in module.TASKS.items()}


def judge(name: str, answer: Callable) -> None:
    """Raise WrongAnswer unless a function is right on data drawn from the class's secret."""
    examine(name, all_tasks()[name], answer, np.random.default_rng(secret_seed(name)))


def judge_loops(name: str, answer: Callable) -> None:
    """Raise WrongAnswer if a function is wrong, or does more Python steps on longer inputs.

    Counted are the interpreter's instructions, not seconds. Those of NumPy are none of them.
    One more per item is already a loop.
    """
    judge(name, answer)
    count = getattr(answer, "count_steps", lambda arguments: count_steps(answer, arguments))
    sized = all_tasks()[name].sized
    steps = [
        count(list(sized(np.random.default_rng(secret_seed(name)), n).values())) for n in SIZES
    ]
    _, small, large = SIZES
    if max(steps) >= LIMIT or steps[2] - steps[1] > large - small:
        counts = {"few": steps[1], "many": steps[2], "small": small, "large": large}
        _refuse(name, "loop", **counts)


def judge_value(name: str, measured, *read) -> None:
    """Raise WrongAnswer unless measured numbers, and the one read off them, are the class's."""
    task = all_tasks()[name]
    try:
        examine(name, task, lambda *_: measured, np.random.default_rng(class_seed()))
    except WrongAnswer:
        if not read:
            raise
        _refuse(name, "not_yet")
    if not read:
        return
    rng = np.random.default_rng(class_seed())
    arguments, _ = next(iter(task.cases(rng)))
    expected = task.read(rng, *arguments.values())
    number = np.asarray(*read)
    if number.shape or number.dtype.kind not in "iuf" or not np.isclose(number, expected):
        _refuse(name, "read_off", how=task.say(task.how))


def cases_of(name):
    """Return the arguments of each case of a task, as the class draws them."""
    task = all_tasks()[name]
    measured = isinstance(task, Measurement)
    seed = class_seed() if measured else secret_seed(name)
    return [arguments for arguments, _ in task.cases(np.random.default_rng(seed))]


def ask(name, answer):
    """Raise WrongAnswer unless an answer of a bank is right, as a hidden test does."""
    if not isinstance(all_tasks()[name], Measurement):
        return judge(name, answer)
    with np.errstate(all="ignore"):
        return judge_value(name, answer(*copy.deepcopy(cases_of(name)[0]).values()))


def general(id_: str, **fields: object) -> str:
    """Return what a student of any assignment may be told."""
    return GENERAL[id_].format(**fields)


def _refuse(name: str, id_: str, **fields: object) -> NoReturn:
    raise WrongAnswer(f"{name}: {general(id_, **fields)}", id_) from None
