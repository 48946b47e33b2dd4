"""Made students: what each hands in, and the points it must get.

A submission is a dict from a cell's name to its new text; what it lacks stays as it was released.
In `*cells*` is a function that changes the list of all cells, in `*file*` another file's text.
"""

from __future__ import annotations

import copy
import inspect
import re
from typing import NamedTuple

import numpy as np
from nbformat.v4 import new_code_cell

from course.chapters import Chapter, cells, chapters
from course.grading.judging import all_tasks


class Assignment(NamedTuple):
    """What an assignment asks for: two coded tasks, a measured one, and the names it gives."""

    first: str
    second: str
    third: str
    measured: str
    read: str
    data: str  # the cell that draws what is measured
    solutions: dict[str, str]
    chapter: Chapter


def role(cell):
    """Return what nbgrader knows of a cell."""
    return cell["metadata"].get("nbgrader", {})


def assignment_of(chapter: Chapter) -> Assignment:
    """Read what an assignment asks for, and its solutions, off its master."""
    code = cells(chapter.master, "code")
    tasks = [role(cell)["grade_id"] for cell in code if role(cell).get("solution")]
    text = "\n".join(cell["source"] for cell in code)
    (values,) = re.findall(rf'^judge_value\("{tasks[-1]}", (\w+), (\w+)\)$', text, re.M)
    (data,) = (c["source"] for c in code if "default_rng(CLASS_SEED)" in c["source"])
    solutions = {
        role(cell)["grade_id"]: re.sub(r".*### .*\n?", "", cell["source"])
        for cell in code + cells(chapter.master, "markdown")
        if role(cell).get("solution")
    }
    return Assignment(*tasks, *values, data, solutions, chapter)


ASSIGNMENTS = {chapter.assignment: assignment_of(chapter) for chapter in chapters()}
BANKS = [chapter.part("task_answers").BANK for chapter in chapters()]
WRONG = {task: answers for bank in BANKS for task, answers in bank.wrong.items()}


class Points(NamedTuple):
    """An assignment's autograded points: two functions, the numbers, and what is read off them."""

    first: float
    second: float
    measured: float
    read: float


FULL = Points(5, 5, 3, 2)
NONE = Points(0, 0, 0, 0)
NOT_GRADED = Points(None, None, None, None)  # the teacher must look


def tests_among(cells):
    """Return the cells that test."""
    return [cell for cell in cells if role(cell).get("grade") and not role(cell)["solution"]]


def defining(task, body):
    """Return a cell that defines the function a task asks for, whatever it is called with."""
    return f"def {called(task)}(*arguments, **keywords):\n{body}\n"


def called(task):
    """Return the name of the function that a task asks for."""
    return task.replace("-", "_")


def handed_in(answer, name):
    """Return an answer of a bank as the text of a cell that defines it under a name."""
    source = re.sub(r"\A(@.*\n)+", "", inspect.getsource(answer))
    return f"{source}\n\n{name} = {answer.__name__}\n"


def perfect(assignment):
    """Hand in the solutions."""
    return dict(assignment.solutions)


def empty(assignment):
    """Hand in the release as it is."""
    return {}


def slips(assignment):
    """Make a mistake in the first task."""
    answer = WRONG[assignment.first][0].answer
    return assignment.solutions | {assignment.first: handed_in(answer, called(assignment.first))}


def endless(assignment):
    """Loop for ever in the second task, and catch the interrupt."""
    body = """\
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            pass
"""
    return assignment.solutions | {assignment.second: defining(assignment.second, body)}


def edits_tests(assignment):
    """Answer the first task only; empty every test cell and raise its points."""

    def change(cells):
        for cell in tests_among(cells):
            cell["source"] = "pass"
            role(cell).update(points=100, locked=False)

    return {assignment.first: assignment.solutions[assignment.first], "*cells*": change}


def fakes(task):
    """Print that all is well, and redefine whatever might judge."""
    fake = """
import builtins, sys, types
import numpy as np
from nbformat.v4 import new_code_cell
import attnbook, attnbook.exercises
def yes(*arguments, **keywords):
    print("correct: passed, 20 points")
    return True
for name in ("check", "examine", "_problem", "judge", "judge_value"):
    globals()[name] = yes
    setattr(attnbook.exercises, name, yes)
for name in ("allclose", "array_equal", "isclose"):
    setattr(np, name, yes)
sys.modules["course.grading"] = types.SimpleNamespace(judge=yes, judge_value=yes)
builtins.AssertionError = builtins.NameError = Warning
class Equal:
    __eq__ = __lt__ = __gt__ = __bool__ = yes
print("passed: 20 of 20")
"""
    lie, print_passed = "    return Equal()", f"print('{task.third}: correct')"
    return {
        task.first: fake + defining(task.first, lie),
        task.second: defining(task.second, lie),
        task.third: f"{task.measured} = {task.read} = Equal()\n{print_passed}\n",
    }


def last_year(assignment):
    """Be perfect, but give the numbers that another class measured."""
    solution = assignment.solutions[assignment.third]
    return assignment.solutions | {
        assignment.third: f"CLASS_SEED = 1\n{assignment.data}\n{solution}"
    }


def leaves(assignment):
    """End the kernel in the first task; raise SystemExit in the second; be right in the third."""
    return {
        assignment.first: "import os\n\n" + defining(assignment.first, "    os._exit(0)"),
        assignment.second: defining(assignment.second, "    raise SystemExit(0)") + "\nexit()",
        assignment.third: assignment.solutions[assignment.third],
    }


def spies(assignment):
    """Look for the expected answer in the caller's frames, modules and environment."""
    spy = """
import gc, os, sys
def spy(*arguments):
    secrets, frame = [], sys._getframe()
    while frame is not None:
        secrets += [v for k, v in frame.f_locals.items() if k in ("expected", "exercise", "task")]
        frame = frame.f_back
    secrets += [v for k, v in os.environ.items() if "ATTN" in k]
    secrets += [m for name, m in sys.modules.items() if name.startswith("course")]
    secrets += [o for o in gc.get_objects() if type(o).__name__ in ("Exercise", "Measurement")]
    for thing in secrets:
        if hasattr(thing, "reference"):
            return thing.reference(*arguments)
    return secrets[0] if secrets else None
print([v for k, v in os.environ.items() if "ATTN" in k])
"""
    return {
        assignment.first: f"{spy}\n{called(assignment.first)} = spy",
        assignment.second: f"{called(assignment.second)} = spy",
        assignment.third: f"{assignment.measured} = {assignment.read} = spy()",
    }


def tampers(assignment):
    """Be right in the first task, then turn every later cell into nothing."""
    hook = 'IPython.get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\\n"])'
    return {
        assignment.first: assignment.solutions[assignment.first],
        assignment.second: f"import IPython\n{hook}\n",
    }


def wrong(number):
    """Make a student who hands in the wrong answer of this number to every task."""

    def hand_in(assignment):
        """Hand in a wrong answer of the bank to every task."""
        answers = {task: WRONG[task][number % len(WRONG[task])].answer for task in assignment[:3]}
        *functions, measure = (handed_in(answer, called(task)) for task, answer in answers.items())
        data, _ = next(iter(all_tasks()[assignment.third].cases(np.random.default_rng(0))))
        measure += f"{assignment.measured} = {called(assignment.third)}({', '.join(data)})\n"
        return dict(
            zip(assignment, [*functions, f"{measure}{assignment.read} = -1.0\n"], strict=False)
        )

    return hand_in


# Odd submissions: what is right gets its points, and grading goes on.


def copies_tests(assignment):
    """Copy tests, move them, delete them, raise points, invent cells and roles; be right."""

    def change(cells):
        tests = tests_among(cells)
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
        cells.append(new_code_cell("'20 points'", metadata={"nbgrader": invented}))

    return {**assignment.solutions, "*cells*": change}


def loses_cells(assignment):
    """Delete the cells that import, that give the data and that test; be right."""

    def change(cells):
        cells[:] = [cell for cell in cells if not role(cell).get("locked")]

    return {**assignment.solutions, "*cells*": change}


def dies_often(assignment):
    """End more kernels than a notebook may, after a right first task."""

    def change(cells):
        at = [role(cell).get("grade_id") for cell in cells].index(assignment.second)
        cells[at:at] = [new_code_cell(f"import os\nos._exit({n})") for n in range(1, 5)]

    return {**assignment.solutions, "*cells*": change}


def floods(assignment):
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

    def change(cells):
        cells[2:2] = map(new_code_cell, (flood, broken, surrogate))

    return {**assignment.solutions, "*cells*": change}


def stops(assignment):
    """Stop the kernel in the first task, and return 10^11 numbers in the second."""
    huge = "    return np.broadcast_to(1.0, (10**6, 10**5))"
    return {
        assignment.first: defining(assignment.first, "    import os\n    os.kill(os.getpid(), 19)"),
        assignment.second: defining(assignment.second, huge),
        assignment.third: assignment.solutions[assignment.third],
    }


def unreadable(assignment):
    """Hand in what is no notebook."""
    return {"*file*": "{ no notebook"}


def hands_in_the_chapter(assignment):
    """Hand in the chapter in place of its assignment."""
    return {"*file*": assignment.chapter.notebook.read_text(encoding="utf-8")}


# Ten students, and the points they get in every assignment.
STUDENTS = {
    "perfect": (perfect, FULL),
    "empty": (empty, NONE),
    "slips": (slips, FULL._replace(first=0)),
    "endless": (endless, FULL._replace(second=0)),
    "edits-tests": (edits_tests, NONE._replace(first=5)),
    "fakes": (fakes, NONE),
    "last-year": (last_year, FULL._replace(measured=0, read=0)),
    "leaves": (leaves, NONE._replace(measured=3, read=2)),
    "spies": (spies, NONE),
    "tampers": (tampers, NONE._replace(first=5)),
}
ODD_STUDENTS = {  # of one assignment
    "copies-tests": (copies_tests, FULL),
    "loses-cells": (loses_cells, FULL),
    "dies-often": (dies_often, NONE._replace(first=5)),
    "floods": (floods, FULL),
    "stops": (stops, NONE._replace(measured=3, read=2)),
    "unreadable": (unreadable, NOT_GRADED),
    "the-chapter": (hands_in_the_chapter, NOT_GRADED),
}
# One for each wrong answer of the longest bank, so that every wrong answer is handed in.
WRONG_STUDENTS = {
    f"wrong-{number:02}": (wrong(number), NONE) for number in range(max(map(len, WRONG.values())))
}
EVERYBODY = STUDENTS | ODD_STUDENTS | WRONG_STUDENTS
NEVER_END = ("endless", "stops")  # only a limit ends what they hand in
ODD_ASSIGNMENT = chapters()[1].assignment

# In a short round each test of each assignment meets what it must take and what it must refuse,
# alone and among others. The rest tries the machine that runs tests: there one assignment will do.
SHORT = {"perfect", "empty", "slips", "edits-tests", "fakes", "last-year", "wrong-00"}


def submissions(short: bool) -> list[tuple[str, str]]:
    """Return who hands in which assignment."""
    everywhere = SHORT if short else (STUDENTS | WRONG_STUDENTS).keys()
    return [
        (student, assignment)
        for student in EVERYBODY
        for assignment in ASSIGNMENTS
        if student in everywhere or (assignment == ODD_ASSIGNMENT and student not in WRONG_STUDENTS)
    ]
