"""Made students: what each hands in, and the points it must get.

A submission is made from the release alone: a dict from a cell's name to its new text.
"""

from __future__ import annotations

import copy
import inspect
import re
import zlib
from typing import NamedTuple

import numpy as np

from course.chapters import Chapter, cells, chapters
from course.grading.judging import all_tasks


class Asked(NamedTuple):
    """What an assignment asks for: two coded tasks, a measured one, and the names it gives."""

    first: str
    second: str
    third: str
    measured: str
    read: str


def asked(chapter: Chapter) -> Asked:
    """Read what an assignment asks for off its master."""
    code = cells(chapter.master, "code")
    about = [cell["metadata"].get("nbgrader", {}) for cell in code]
    tasks = [each["grade_id"] for each in about if each.get("solution")]
    text = "\n".join(cell["source"] for cell in code)
    (values,) = re.findall(rf'^judge_value\("{tasks[-1]}", (\w+), (\w+)\)$', text, re.M)
    return Asked(*tasks, *values)


CHAPTERS = chapters()
ASSIGNMENTS = {chapter.assignment: asked(chapter) for chapter in CHAPTERS}
BANKS = [chapter.part("task_answers").BANK for chapter in CHAPTERS]
RIGHT = {task: found for bank in BANKS for task, found in bank.right.items()}
WRONG = {task: found for bank in BANKS for task, found in bank.wrong.items()}
LOOPS = {task: found for bank in BANKS for task, found in bank.loops.items()}


class Points(NamedTuple):
    """An assignment's autograded points: right, without loops, right, measured, read off."""

    first: float
    loops: float
    second: float
    measured: float
    read: float


FULL = Points(4, 2, 4, 3, 2)
NONE = Points(0, 0, 0, 0, 0)


def called(task):
    """Return the name of the function that a task asks for."""
    return task.replace("-", "_")


def handed_in(answer, name):
    """Return an answer of a bank as the text of a cell that defines it under a name."""
    source = re.sub(r"\A(@.*\n)+", "", inspect.getsource(answer))
    return f"{source}\n\n{name} = {answer.__name__}\n"


def measured(task, variable, answer):
    """Return an answer of a bank to a measurement as the text of a cell."""
    arguments, _ = next(iter(all_tasks()[task].cases(np.random.default_rng(0))))
    return f"{handed_in(answer, 'measure')}{variable} = measure({', '.join(arguments)})\n"


def perfect(solutions, assignment):
    """Hand in the solutions."""
    return dict(solutions)


def empty(solutions, assignment):
    """Hand in the release as it is."""
    return {}


def loops(solutions, assignment):
    """Loop where others vectorise."""
    task = ASSIGNMENTS[assignment][0]
    return {**solutions, task: handed_in(LOOPS[task][0], called(task))}


def endless(solutions, assignment):
    """Loop for ever in the second task, and catch the interrupt."""
    task = ASSIGNMENTS[assignment][1]
    return {
        **solutions,
        task: f"""
def {called(task)}(*arguments):
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass
""",
    }


def edits_tests(solutions, assignment):
    """Answer the first task only; empty every test cell and raise its points."""
    task = ASSIGNMENTS[assignment][0]
    return {task: solutions[task], "*tests*": "pass"}


def fakes(solutions, assignment):
    """Print that all is well, and redefine whatever might judge."""
    first, second, third, variable, read = ASSIGNMENTS[assignment]
    fake = """
import builtins, sys, types
import numpy as np
import attnbook, attnbook.exercises
def yes(*arguments, **keywords):
    print("correct: passed, 20 points")
    return True
for name in ("check", "examine", "_problem", "judge", "judge_loops", "judge_value"):
    globals()[name] = yes
    setattr(attnbook.exercises, name, yes)
for name in ("allclose", "array_equal", "isclose"):
    setattr(np, name, yes)
sys.modules["course.grading"] = types.SimpleNamespace(judge=yes, judge_loops=yes, judge_value=yes)
builtins.AssertionError = builtins.NameError = Warning
class Equal:
    __eq__ = __lt__ = __gt__ = __bool__ = yes
print("passed: 20 of 20")
"""
    lie = "\n\ndef {}(*arguments, **keywords):\n    return Equal()\n"
    return {
        first: fake + lie.format(called(first)),
        second: lie.format(called(second)),
        third: f"{variable} = {read} = Equal()\nprint('{third}: correct')\n",
    }


def last_year(solutions, assignment):
    """Be perfect, but give the numbers that another class measured."""
    third = ASSIGNMENTS[assignment][2]
    return {**solutions, third: f"CLASS_SEED = 1\n{DATA_CELLS[assignment]}\n{solutions[third]}"}


DATA_CELLS = {}  # the release's data cells, filled in by whoever plays


def leaves(solutions, assignment):
    """End the kernel in the first task; raise SystemExit in the second; be right in the third."""
    first, second, third, *_ = ASSIGNMENTS[assignment]
    return {
        first: f"import os\n\ndef {called(first)}(*arguments):\n    os._exit(0)\n",
        second: f"def {called(second)}(*arguments):\n    raise SystemExit(0)\n\nexit()",
        third: solutions[third],
    }


def spies(solutions, assignment):
    """Look for the expected answer in the caller's frames, modules and environment."""
    first, second, third, variable, read = ASSIGNMENTS[assignment]
    spy = """
import gc, os, sys
def spy(*arguments):
    found, frame = [], sys._getframe()
    while frame is not None:
        found += [v for k, v in frame.f_locals.items() if k in ("expected", "exercise", "task")]
        frame = frame.f_back
    found += [v for k, v in os.environ.items() if "ATTN" in k]
    found += [m for name, m in sys.modules.items() if name.startswith("course")]
    found += [o for o in gc.get_objects() if type(o).__name__ in ("Task", "Measurement")]
    for thing in found:
        if hasattr(thing, "reference"):
            return thing.reference(*arguments)
    return found[0] if found else None
print([v for k, v in os.environ.items() if "ATTN" in k])
"""
    return {
        first: f"{spy}\n{called(first)} = spy",
        second: f"{called(second)} = spy",
        third: f"{variable} = {read} = spy()",
    }


def tampers(solutions, assignment):
    """Be right in the first task, then turn every later cell into nothing."""
    first, second, *_ = ASSIGNMENTS[assignment]
    return {
        first: solutions[first],
        second: """
import IPython
IPython.get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])
""",
    }


def wrong(number):
    """Make a student who hands in the wrong answer of this number to every task."""

    def hand_in(solutions, assignment):
        """Hand in a wrong answer of the bank to every task."""
        first, second, third, variable, read = ASSIGNMENTS[assignment]
        cells = {}
        for task in (first, second):
            answers = WRONG[task]
            cells[task] = handed_in(answers[number % len(answers)].answer, called(task))
        answers = WRONG[third]
        answer = answers[number % len(answers)].answer
        cells[third] = measured(third, variable, answer) + f"{read} = -1.0\n"
        return cells

    return hand_in


# Ten students whom the tests always play, and the points they get in every assignment.
STUDENTS = {
    "perfect": (perfect, FULL),
    "empty": (empty, NONE),
    "loops": (loops, FULL._replace(loops=0)),
    "endless": (endless, FULL._replace(second=0)),
    "edits-tests": (edits_tests, NONE._replace(first=4, loops=2)),
    "fakes": (fakes, NONE),
    "last-year": (last_year, FULL._replace(measured=0, read=0)),
    "leaves": (leaves, NONE._replace(measured=3, read=2)),
    "spies": (spies, NONE),
    "tampers": (tampers, NONE._replace(first=4, loops=2)),
}


# Odd submissions, of one assignment: what is right gets its points, and grading goes on.


def copies_tests(solutions, assignment):
    """Copy tests, move them, delete them, raise points, invent cells and roles; be right."""

    def change(notebook):
        cells = notebook["cells"]
        tests = [cell for cell in cells if role(cell).get("grade") and not role(cell)["solution"]]
        for number, cell in enumerate(tests):
            copied = copy.deepcopy({**cell, "id": f"copy-{number}", "source": "pass"})
            role(copied).update(points=100, schema_version=99)
            cells.append(copied)
            role(cell).update(solution=True, locked=False)
        cells.remove(tests[0])
        cells.insert(0, cells.pop(cells.index(tests[1])))
        cells.remove(copied)
        cells[1]["metadata"]["nbgrader"] = "none"
        invented = {"grade_id": "bonus", "grade": True, "points": 100, "schema_version": 3}
        cells.append(a_cell("'20 points'", nbgrader=invented))

    return {**solutions, "*notebook*": change}


def loses_cells(solutions, assignment):
    """Delete the cells that import, that give the data and that test; be right."""

    def change(notebook):
        notebook["cells"] = [cell for cell in notebook["cells"] if not role(cell).get("locked")]

    return {**solutions, "*notebook*": change}


def dies_often(solutions, assignment):
    """End more kernels than a notebook may, after a right first task."""
    second = ASSIGNMENTS[assignment][1]

    def change(notebook):
        names = [role(cell).get("grade_id") for cell in notebook["cells"]]
        at = names.index(second)
        notebook["cells"][at:at] = [a_cell(f"import os\nos._exit({n})") for n in range(1, 5)]

    return {**solutions, "*notebook*": change}


def floods(solutions, assignment):
    """Print thirty million characters and what no file can hold, send no message, be right."""
    flood = """
for _ in range(30):
    print("much " * 200_000)
"""
    broken = """
kernel = get_ipython().kernel
about = {"data": 5, "metadata": [], "transient": {}}
kernel.session.send(kernel.iopub_socket, "display_data", about, parent=kernel.get_parent())
kernel.session.send(kernel.iopub_socket, "display_data", {}, parent=kernel.get_parent())
"""
    surrogate = "print(chr(0xD800))"

    def change(notebook):
        notebook["cells"][2:2] = [a_cell(flood), a_cell(broken), a_cell(surrogate)]

    return {**solutions, "*notebook*": change}


def stops(solutions, assignment):
    """Stop the kernel in the first task, and return 10^11 numbers in the second."""
    first, second, third, *_ = ASSIGNMENTS[assignment]
    stop = "import os\n    os.kill(os.getpid(), 19)"
    huge = "return np.broadcast_to(1.0, (10**6, 10**5))"
    return {
        first: f"def {called(first)}(*_):\n    {stop}\n",
        second: f"def {called(second)}(*_):\n    {huge}\n",
        third: solutions[third],
    }


def unreadable(solutions, assignment):
    """Hand in what is no notebook."""
    return {"*notebook*": lambda notebook: "{ no notebook"}


def hands_in_the_chapter(solutions, assignment):
    """Hand in the chapter in place of its assignment."""
    (chapter,) = (each for each in CHAPTERS if each.assignment == assignment)
    return {"*notebook*": lambda notebook: chapter.notebook.read_text()}


def role(cell):
    """Return what nbgrader knows of a cell."""
    return cell["metadata"].get("nbgrader", {})


def a_cell(source, **metadata):
    """Make a cell that the release does not have."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"new-{zlib.crc32(source.encode())}",
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


ODD_ASSIGNMENT = CHAPTERS[1].assignment
NOT_GRADED = Points(None, None, None, None, None)  # the teacher must look
ODD_STUDENTS = {
    "copies-tests": (copies_tests, FULL),
    "loses-cells": (loses_cells, FULL),
    "dies-often": (dies_often, NONE._replace(first=4, loops=2)),
    "floods": (floods, FULL),
    "stops": (stops, NONE._replace(measured=3, read=2)),
    "unreadable": (unreadable, NOT_GRADED),
    "the-chapter": (hands_in_the_chapter, NOT_GRADED),
}

# One for each wrong answer of the longest bank, so that every wrong answer is handed in.
WRONG_STUDENTS = {
    f"wrong-{number:02}": (wrong(number), NONE)
    for number in range(max(len(found) for found in WRONG.values()))
}
