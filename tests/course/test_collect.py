"""From a download of Canvas's to its gradebook, with the real nbgrader: who gets what."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.course.nbgrading import BIN, begin_course, collect, nbgrader, python
from tools import canvas_grades, grade_demo, students

FIRST, SECOND, *_ = students.ASSIGNMENTS

# What Canvas calls an upload, and which notebook is in it. The newest has the largest number.
UPLOADS = {
    f"doejane_12345_678910_{FIRST}.ipynb": "empty",
    f"doejane_LATE_12345_1000000_{FIRST}-1.ipynb": "perfect",
    "doejane_12345_1000001_homework.ipynb": "endless",
    f"doejane_12346_678912_{FIRST} (1).ipynb": "perfect",
    f"müllerzoë_222_678913_{FIRST}.ipynb": "empty",
    "leeann_333_678914_homework.ipynb": "perfect",
    f"x_222_9999999_555_678918_{FIRST}.ipynb": "perfect",
}
ZIPS = (
    f"roemax_444_678915_{FIRST}.zip",
    f"x_222_9999999_555_678916_{FIRST}.zip",  # by a student who called himself x_222-_9999999
    f"x_222_555_678917_{FIRST}.zip",  # or x_222
)
INSIDE = {  # each of the zips
    f"evil_222_9999999_{FIRST}.ipynb": "perfect",
    f"{FIRST}/{FIRST}.ipynb": "slips",
    f"{FIRST}/.ipynb_checkpoints/{FIRST}-checkpoint.ipynb": "empty",
    f"__MACOSX/{FIRST}/._{FIRST}.ipynb": "empty",
}
COLLECTED = {"12345": "perfect", "12346": "perfect", "222": "empty", "444": "slips"}


@pytest.fixture(scope="session")
def course(tmp_path_factory):
    """Return a course with a release, and in `made` what students hand in."""
    root = tmp_path_factory.mktemp("course")
    begin_course(root, FIRST)
    nbgrader(root, "generate_assignment", SECOND)
    for name in {*UPLOADS.values(), *INSIDE.values()}:
        grade_demo.hand_in(root, name, FIRST, getattr(students, name))
    (root / "handed-in").rename(root / "made")
    return root


def made(course, name):
    return (course / "made" / name / FIRST / f"{FIRST}.ipynb").read_bytes()


def answers(content):
    """Return the texts of a notebook's answers."""
    return [
        "".join(cell["source"])
        for cell in json.loads(content)["cells"]
        if students.role(cell).get("solution")
    ]


@pytest.fixture(scope="session")
def collected(course):
    with zipfile.ZipFile(course / "attention-01_submissions.zip", "w") as file:
        with zipfile.ZipFile(course / "work.zip", "w") as inner:
            for name, what in INSIDE.items():
                inner.writestr(name, made(course, what))
        for name in ZIPS:
            file.write(course / "work.zip", name)
        file.writestr("doejane_12345_1000002_figure.png", b"no notebook")
        for name, what in UPLOADS.items():
            file.writestr(name, made(course, what))
    return collect(course, FIRST, "attention-01_submissions.zip")


def test_a_download_of_canvas_is_collected(course, collected):
    found = {path.relative_to(course / "submitted") for path in (course / "submitted").rglob("*.*")}
    assert found == {Path(student, FIRST, f"{FIRST}.ipynb") for student in COLLECTED}
    for student, name in COLLECTED.items():
        taken = course / "submitted" / student / FIRST / f"{FIRST}.ipynb"
        assert answers(taken.read_bytes()) == answers(made(course, name)), student


def test_what_is_not_collected_is_named_with_the_reason(collected):
    found = re.findall(r"(?m)^(\d+) +(REFUSED|left out) +(\S+): (.*)$", collected)
    reason = f"no notebook, or zip of one, whose name begins with {FIRST}"
    assert sorted(found) == sorted([
        ("12345", "REFUSED", "doejane_12345_1000001_homework.ipynb", reason),
        ("12345", "REFUSED", "doejane_12345_1000002_figure.png", reason),
        ("12345", "left out", f"doejane_12345_678910_{FIRST}.ipynb", "one is newer"),
        ("333", "REFUSED", "leeann_333_678914_homework.ipynb", reason),
        ("222", "REFUSED", f"x_222_9999999_555_678918_{FIRST}.ipynb", reason),
        ("222", "REFUSED", f"x_222_9999999_555_678916_{FIRST}.zip", reason),
        ("222", "REFUSED", f"x_222_555_678917_{FIRST}.zip", reason),
    ])  # fmt: skip
    assert collected.splitlines()[-1] == "6 REFUSED, 4 collected, 1 left out"


def test_a_download_of_moodle_is_collected_packed_or_not(course):
    content = (course / "release" / SECOND / f"{SECOND}.ipynb").read_text()
    unpacked = course / "unpacked"
    with zipfile.ZipFile(course / "Attention-Assignment 2-4711.zip", "w") as file:
        for name in (
            f"Jane Doe_123456_assignsubmission_file_/{SECOND}.ipynb",
            f"Max Roe_123457_assignsubmission_file_{SECOND}(1).ipynb",
            f"Ann Lee_123458_assignsubmission_file/{SECOND}.ipynb",
            f"Bo Wu_123459_assignsubmission_files/{SECOND}.ipynb",  # no upload of Moodle's
        ):
            file.writestr(name, content)
        file.extractall(unpacked)
    for place in ("Attention-Assignment 2-4711.zip", "unpacked"):
        collect(course, SECOND, place)
        found = {path.parent.name for path in (course / "submitted").glob(f"*/{SECOND}")}
        assert found - {"Bo Wu_123459_assignsubmission_files"} == {"123456", "123457", "123458"}
        for student in found:
            shutil.rmtree(course / "submitted" / student)


# Grades for Canvas

GRADEBOOK = f"""\
Student,ID,SIS User ID,SIS Login ID,Section,Notes,Essay (900),{FIRST} (901),Final Score
,,,,,,,Manual Posting,
    Points Possible,,,,,,100,20.00,(read only)
"Doe, Jane",12345,A1,jane,One,kind,80,,71
"Doe, Jane",12346,A2,doe,One,,,3,
"Lee, Ann",333,A3,lee,One,,,,
"Müller, Zoë",222,A4,zoe,Two,,,,
"Roe, Max",444,A5,max,Two,,,EX,
"""
HEADED = GRADEBOOK.replace(FIRST, "Assignment 1: Why attention?")
TEACHER = f"""
from nbgrader.api import Gradebook
with Gradebook("sqlite:///scores.db") as gradebook:
    (notebook,) = gradebook.find_submission("{FIRST}", "12345").notebooks
    notebook.late_submission_penalty = 2
    for grade in notebook.grades:
        if grade.needs_manual_grade:
            grade.manual_score, grade.needs_manual_grade = 3.5, False
    gradebook.db.commit()
"""


def as_exported():
    """Return the rows for Canvas as they are with no score of ours."""
    return [row[:5] + row[7:8] for row in csv.reader(HEADED.splitlines())]


def for_canvas(course):
    """Return the rows for Canvas, and what is told."""
    exported, new = course / "exported.csv", course / "new" / "filled.csv"
    exported.write_text(HEADED, encoding="utf-8-sig")
    command = [BIN / "python", "-m", "tools", "canvas_grades", exported, new, course]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(new, newline="", encoding="utf-8") as file:
        return list(csv.reader(file)), done.stdout


@pytest.fixture(scope="session")
def stopped(course, collected):
    """Return what is said where the phrase is lost, or another one is there."""
    phrases = ("", "another phrase")
    said = [nbgrader(course, "autograde", FIRST, phrase=phrase, fails=True) for phrase in phrases]
    return said, for_canvas(course)


def test_without_the_phrase_of_the_release_nobody_is_graded(course, stopped):
    both, (rows, told) = stopped
    for said, problem in zip(both, ("there is no", "not the phrase of"), strict=True):
        assert problem in said.splitlines()[-1]
        assert said.count("Nothing was graded") == 2  # in the log, and at the end
        assert said.count("Creating/updating student") == 1
    assert not list((course / "autograded").glob("*/*/*.ipynb"))
    assert rows == as_exported()
    assert "waits for you: Doe, Jane (12345)" in told


@pytest.fixture(scope="session")
def filled(course, collected, stopped):
    """Grade all, and one text by hand; return the rows for Canvas, and what is told."""
    # Each takes seconds; and for each one kernel has to do, with none in its place.
    nbgrader(course, "autograde", FIRST, "--student=[!4]*", most_restarts=0)
    python(course, TEACHER)
    return for_canvas(course)


def test_canvas_gets_the_scores_that_are_certain_and_nothing_else(filled):
    expected = as_exported()
    expected[3][5] = "16.5"  # 15 by nbgrader, 3.5 by the teacher, 2 less for being late
    expected[6][5] = "0"  # an empty notebook; of the others one waits, two have no score
    assert filled[0] == expected


def test_a_student_whose_text_waits_is_named(filled):
    (line,) = (line for line in filled[1].splitlines() if "waits for you" in line)
    assert "Doe, Jane (12346)" in line
    assert "12345" not in line


OURS = {FIRST: canvas_grades.Scores((FIRST, "Assignment 1: Why?"), 20.0, {"12345": 17.256})}


def rows(**changed):
    text = GRADEBOOK
    for old, new in changed.items():
        text = text.replace({"title": f"{FIRST} (901)", "points": "20.00"}[old], new)
    return list(csv.reader(text.splitlines()))


@pytest.mark.parametrize("title", ["Assignment-01-Why-Attention", "assignment 1: why? (7)"])
def test_a_column_is_found_by_name_or_heading(title):
    found, _ = canvas_grades.fill(rows(title=title), OURS)
    assert found[0][-1] == title
    assert found[3][-1] == "17.26"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"points": "100"}, "20 points here, in Canvas 100"),
        ({"points": ""}, "in Canvas none"),
        ({"title": "01"}, "no column of Canvas's is ours"),
        ({"title": f"{FIRST} (901),{FIRST} (902)"}, "2 columns"),
    ],
)
def test_what_is_not_certain_is_refused(changed, problem):
    with pytest.raises(ValueError, match=problem):
        canvas_grades.fill(rows(**changed), OURS)


def test_a_gradebook_with_semicolons_and_another_beginning_is_read(tmp_path):
    text = f"LastName;FirstName;ID;SIS Login ID;Section;{FIRST} (901)\n"
    text += "    Points Possible;;;;;20,00\nDoe;Jane;12345;j;One;\n"
    (tmp_path / "exported.csv").write_text(text, encoding="utf-8-sig")
    found, told = canvas_grades.fill(canvas_grades.read(tmp_path / "exported.csv"), OURS)
    assert found[2] == ["Doe", "Jane", "12345", "j", "One", "17.26"]
    assert told == [f"{FIRST}: 1 scores"]


def test_who_is_excused_in_canvas_stays_excused():
    ours = {FIRST: OURS[FIRST]._replace(students={"12345": 1.0, "444": 2.0})}
    found, _ = canvas_grades.fill(rows(), ours)
    assert [row[-1] for row in found[3:]] == ["1", "3", "", "", "EX"]


def test_who_is_graded_but_unknown_to_canvas_is_named():
    ours = {FIRST: OURS[FIRST]._replace(students={"12345": 1.0, "999": 2.0})}
    assert "  graded, but not in Canvas's file: 999" in canvas_grades.fill(rows(), ours)[1]


def test_who_has_handed_in_nothing_is_named_but_not_who_is_excused_or_has_a_score():
    told = canvas_grades.fill(rows(), OURS)[1]
    assert "  not filled, since nothing was collected: Lee, Ann (333); Müller, Zoë (222)" in told


def test_what_a_student_is_called_reaches_the_terminal_as_letters_only():
    nasty = "Doe\x1b[2J\x07\n\u202e, Jane"
    exported = rows()
    exported[3][0] = exported[5][0] = exported[6][0] = nasty
    ours = {FIRST: OURS[FIRST]._replace(students={"12345": None, "9\x1b]0;x\x07": 1.0})}
    filled, told = canvas_grades.fill(exported, ours)
    assert filled[3][0] == nasty  # which Canvas knows
    assert all(line.isprintable() for line in told), told
    assert [line.count("Doe?[2J???, Jane (") for line in told] == [0, 1, 2, 0]
    assert "9?]0;x?" in told[-1]
