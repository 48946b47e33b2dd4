"""What the checks say to every answer of the banks: judged once, and kept in `_build/verdicts`.

Pages and tests read it. A chapter's bank is judged again when something changes that decides what
is said: the bank, its checkers and their hints, the package, the phrase, NumPy or Python.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import functools
import hashlib
import io
import json
import multiprocessing
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnbook.exercises import WrongAnswer, check
from attnbook.exercises.exercise import Inputs
from course.chapters import Chapter, chapters
from course.grading import judging
from course.grading.judging import all_tasks
from course.grading.seeds import class_seed, secret_seed
from course.grading.task import Measurement

PHRASE = "demo"  # of the class whose numbers stand in the messages
EXERCISES, TASKS = BANKS = ("exercise_answers", "task_answers")
# What decides it beside a chapter's own files.
SHARED = ["attnbook/**/*", "course/bank.py", "course/verdicts.py", "course/grading/*.*"]


class Verdict(NamedTuple):
    """What a check printed, and what it raised: no ids, and no message, if an answer is correct."""

    printed: str
    ids: tuple[str, ...] = ()
    message: str = ""


class Judged(NamedTuple):
    """The verdicts on the answers to an exercise or a task, in the bank's order."""

    wrong: list[Verdict]
    right: list[Verdict]


def judged() -> dict[str, Judged]:
    """Return the verdicts on all answers, by exercise and task; judge only what has changed."""
    banks = [(chapter, bank) for chapter in chapters() for bank in BANKS]
    if stale := [bank for bank in banks if kept(*bank) is None]:
        # In processes of their own: what a caller has changed in its modules decides nothing.
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(2, len(stale)), mp_context=spawned) as pool:
            list(pool.map(judge, *zip(*stale, strict=True)))
    return {name: verdict for bank in banks for name, verdict in (kept(*bank) or {}).items()}


def judge(chapter: Chapter, bank: str) -> None:
    """Judge a bank and keep the verdicts, unless another process has meanwhile."""
    path = place(chapter, bank)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the system lets go of it when a process dies
        if kept(chapter, bank) is not None:
            return
        now, new = key(chapter, bank), path.with_suffix(".new")
        new.write_text(json.dumps({"key": now, "verdicts": verdicts(chapter, bank)}, indent=1))
        new.replace(path)


def verdicts(chapter: Chapter, bank: str) -> dict[str, Judged]:
    """Judge the answers of a bank, as a reader or a hidden test does."""
    answers = chapter.part(bank).BANK
    names = chapter.exercises if bank == EXERCISES else chapter.tasks.keys() & all_tasks()
    by_name = {}
    for name in names:
        if bank == EXERCISES:
            say = functools.partial(check, name)
        else:
            say = functools.partial(ask, name, phrase=PHRASE)
        by_name[name] = Judged(
            [verdict(say, wrong.answer) for wrong in answers.wrong[name]],
            [verdict(say, answer) for answer in answers.right[name]],
        )
    return by_name


def verdict(say: Callable[[Callable], None], answer: Callable) -> Verdict:
    """Return what a check says to an answer; a warning is an error, as in the tests."""
    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("error")
            say(answer)
    except WrongAnswer as wrong:
        return Verdict(printed.getvalue(), wrong.ids, str(wrong))
    return Verdict(printed.getvalue())


def cases_of(name: str, phrase: str) -> list[Inputs]:
    """Return the arguments of each case of a task, as the class draws them."""
    task = all_tasks()[name]
    measured = isinstance(task, Measurement)
    seed = class_seed(phrase) if measured else secret_seed(name, phrase)
    return [arguments for arguments, _ in task.cases(np.random.default_rng(seed))]


def ask(name: str, answer: Callable, phrase: str) -> None:
    """Raise WrongAnswer unless an answer of a bank is right, as a hidden test does."""
    if not isinstance(all_tasks()[name], Measurement):
        return judging.judge(name, answer, phrase)
    with np.errstate(all="ignore"):
        measured = answer(*copy.deepcopy(cases_of(name, phrase)[0]).values())
        return judging.judge_value(name, measured, phrase=phrase)


def kept(chapter: Chapter, bank: str) -> dict[str, Judged] | None:
    """Return the verdicts on a bank, if they are kept and nothing has changed since."""
    try:
        stored = json.loads(place(chapter, bank).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if stored["key"] != key(chapter, bank):
        return None
    return {
        name: Judged(
            *([Verdict(p, tuple(ids), message) for p, ids, message in group] for group in groups)
        )
        for name, groups in stored["verdicts"].items()
    }


def place(chapter: Chapter, bank: str) -> Path:
    """Return where the verdicts on a bank are kept."""
    return chapter.root / f"_build/verdicts/{chapter.module}.{bank}.json"


def key(chapter: Chapter, bank: str) -> str:
    """Return a digest of all that decides the verdicts on a bank."""
    digest = hashlib.sha256(f"{sys.version} {np.__version__} {PHRASE}".encode())
    for path in deciding(chapter, bank):
        digest.update(f"{path.relative_to(chapter.root).as_posix()}\0".encode())
        digest.update(_digest(path, path.stat().st_mtime_ns))
    return digest.hexdigest()


def deciding(chapter: Chapter, bank: str) -> list[Path]:
    """List the files that decide the verdicts on a bank; other chapters' checkers are none."""
    shared = [path for pattern in SHARED for path in chapter.root.glob(pattern)]
    checkers = chapter.root / "attnbook/exercises"
    other = {*checkers.glob("ch[0-9][0-9]_*")} - {*checkers.glob(f"{chapter.module}.*")}
    own = [chapter.room / f"{bank}.py", *chapter.room.glob("tasks.*")]
    return sorted(
        path
        for path in {*shared, *own} - other
        if path.is_file() and "__pycache__" not in path.parts
    )


@functools.cache
def _digest(path: Path, changed: int) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
