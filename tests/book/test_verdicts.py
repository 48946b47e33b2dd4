"""The verdicts that are kept: never stale, and made once whoever asks at the same time."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

from course import verdicts
from course.chapters import ROOT, Chapter, chapters
from course.verdicts import BANKS, EXERCISES, TASKS, Judged, Verdict, kept, key, place
from tests.book.test_imports import imports

NUMBER = 3  # the chapter whose files are changed


@pytest.fixture
def copy(tmp_path):
    """Return the chapters of a copy of all that decides verdicts."""
    for folder in ("attnbook", "course"):
        ignored = shutil.ignore_patterns("__pycache__", "data", "*.ipynb")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "_toc.yml", tmp_path)
    return chapters(tmp_path)


def keys(copy):
    return {(chapter.number, bank): key(chapter, bank) for chapter in copy for bank in BANKS}


def changed(before, after):
    return {name for name in before if before[name] != after[name]}


EVERY = {(chapter.number, bank) for chapter in chapters() for bank in BANKS}
OWN = {(NUMBER, bank) for bank in BANKS}


@pytest.mark.parametrize(
    ("path", "again"),
    [
        ("attnbook/functional.py", EVERY),
        ("attnbook/exercises/examining.py", EVERY),
        ("attnbook/exercises/common.ini", EVERY),
        ("course/bank.py", EVERY),
        ("course/verdicts.py", EVERY),
        ("course/grading/judging.py", EVERY),
        ("course/grading/judging.ini", EVERY),
        ("course/grading/seeds.py", EVERY),
        ("course/grading/task.py", EVERY),
        ("attnbook/exercises/{}.py", OWN),
        ("attnbook/exercises/{}.ini", OWN),
        ("course/{}/tasks.py", OWN),
        ("course/{}/tasks.ini", OWN),
        ("course/{}/exercise_answers.py", {(NUMBER, EXERCISES)}),
        ("course/{}/task_answers.py", {(NUMBER, TASKS)}),
        ("course/{}/truths.py", set()),
    ],
)
def test_a_change_of_what_decides_a_verdict_lets_the_bank_be_judged_again(copy, path, again):
    before = keys(copy)
    (chapter,) = [each for each in copy if each.number == NUMBER]
    file = chapter.root / path.format(chapter.module)
    file.write_text(file.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert changed(before, keys(copy)) == again


def test_another_phrase_numpy_or_python_lets_every_bank_be_judged_again(copy, monkeypatch):
    before = keys(copy)
    for module, name in ((verdicts, "PHRASE"), (np, "__version__"), (sys, "version")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, "another")
            assert changed(before, keys(copy)) == EVERY
    assert keys(copy) == before


def test_what_a_chapter_is_judged_by_is_of_no_other_chapter():
    # For these files are not in its key.
    for chapter in chapters():
        for name in (f"attnbook.exercises.{chapter.module}", f"course.{chapter.module}.tasks"):
            others = {each for each in imports(name) if ".ch" in each}
            assert {each for each in others if chapter.module not in each} == set(), name


# What is kept

PASSED, SAID = Verdict("toy: correct\n"), Verdict("", ("shape", "hint"), "toy: it is `(2,)`.")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a chapter with a bank of two answers, and a list of when it was judged."""
    chapter, times = Chapter(1, "01-toy", tmp_path), []
    monkeypatch.setattr(verdicts, "deciding", lambda chapter, bank: [])

    def judge_all(chapter, bank):
        times.append(bank)
        return {"toy": Judged([SAID], [PASSED])}

    monkeypatch.setattr(verdicts, "verdicts", judge_all)
    return chapter, times


def test_what_was_said_is_read_as_it_was_and_judged_once(toy):
    chapter, times = toy
    assert kept(chapter, EXERCISES) is None
    for _ in range(2):
        verdicts.judge(chapter, EXERCISES)
        assert kept(chapter, EXERCISES) == {"toy": Judged([SAID], [PASSED])}
    assert times == [EXERCISES]
    assert kept(chapter, TASKS) is None


def test_what_another_process_has_judged_meanwhile_is_not_judged_again(toy, monkeypatch):
    chapter, times = toy

    def waiting(file, how):  # as if another process had the lock, and judged
        told = {"key": key(chapter, EXERCISES), "verdicts": {"toy": [[SAID], []]}}
        place(chapter, EXERCISES).write_text(json.dumps(told))

    monkeypatch.setattr(fcntl, "flock", waiting)
    verdicts.judge(chapter, EXERCISES)
    assert times == []
    assert kept(chapter, EXERCISES) == {"toy": Judged([SAID], [])}


HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_process_that_dies_while_it_judges_holds_up_nobody(toy):
    chapter, times = toy
    path = place(chapter, EXERCISES).with_suffix(".lock")
    path.parent.mkdir(parents=True)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, path], **pipes) as other:
        assert other.stdout.readline() == b"locked\n"
        with path.open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.with_suffix(".new").write_text("{half a fi")
        other.kill()
    verdicts.judge(chapter, EXERCISES)
    assert times == [EXERCISES]
    assert kept(chapter, EXERCISES)


def test_what_is_printed_is_kept_and_a_warning_is_an_error():
    def say(answer):
        print("said")
        answer()

    assert verdicts.verdict(say, dict) == Verdict("said\n")
    with pytest.raises(UserWarning):
        verdicts.verdict(say, lambda: warnings.warn("careless", stacklevel=1))
