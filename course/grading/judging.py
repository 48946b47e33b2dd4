"""Judge an answer to a task, on data that the class's phrase decides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np

from attnbook.exercises import symptoms
from attnbook.exercises.examining import examine
from attnbook.exercises.exercise import Exercise, WrongAnswer, read_hints
from course.chapters import chapters
from course.grading.seeds import class_seed, secret_seed

GENERAL = read_hints(Path(__file__).with_suffix(".ini"))["judging"]


@functools.cache
def all_tasks() -> dict[str, Exercise]:
    """Return the tasks of all assignments by name."""
    modules = [chapter.part("tasks") for chapter in chapters()]
    return {name: task for module in modules for name, task in module.TASKS.items()}


def judge(name: str, answer: Callable, phrase: str) -> None:
    """Raise WrongAnswer unless a function is right on data drawn from the class's secret."""
    examine(name, all_tasks()[name], answer, np.random.default_rng(secret_seed(name, phrase)))


def judge_value(name: str, measured, *read, phrase: str) -> None:
    """Raise WrongAnswer unless measured numbers, and the one read off them, are the class's."""
    task = all_tasks()[name]
    try:
        examine(name, task, lambda *_: measured, np.random.default_rng(class_seed(phrase)))
    except WrongAnswer:
        if not read:
            raise
        _refuse(name, "not_yet")
    if not read:
        return
    rng = np.random.default_rng(class_seed(phrase))
    arguments, _ = next(iter(task.cases(rng)))
    expected = task.read(rng, *arguments.values())
    found = symptoms.read(*read, (np.asarray(expected),))
    number = found.arrays[0] if found and found.arrays and found.dtypes[0].kind in "iuf" else None
    if number is None or number.shape or not np.isclose(number, expected):
        _refuse(name, "read_off", how=task.say(task.how))


def _refuse(name: str, id_: str, **fields: object) -> NoReturn:
    raise WrongAnswer(f"{name}: {GENERAL[id_].format(**fields)}", id_) from None
