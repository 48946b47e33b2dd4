"""Ask the judge about an answer of the banks, as the hidden tests of the assignments do."""

from __future__ import annotations

import copy

import numpy as np

from course.grading import seeds
from course.grading.judging import all_tasks, judge, judge_value
from course.grading.task import Measurement


def cases_of(name):
    """Return the arguments of each case of a task, as the class draws them."""
    task = all_tasks()[name]
    measured = isinstance(task, Measurement)
    seed = seeds.class_seed() if measured else seeds.secret_seed(name)
    return [arguments for arguments, _ in task.cases(np.random.default_rng(seed))]


def ask(name, answer):
    """Raise WrongAnswer unless an answer to a task is right."""
    if not isinstance(all_tasks()[name], Measurement):
        return judge(name, answer)
    with np.errstate(all="ignore"):
        return judge_value(name, answer(*copy.deepcopy(cases_of(name)[0]).values()))
