"""The whole round with the real nbgrader: what a release shows, and what made students get."""

from __future__ import annotations

import ast
import copy
import csv
import io
import json
import re
import subprocess
import zipfile

import pytest
import yaml
from bs4 import BeautifulSoup

from attnbook.exercises import WrongAnswer
from course.chapters import ROOT, chapters
from course.grading import EXAMPLES
from course.grading.judging import all_tasks
from course.verdicts import ask
from tools import grade_demo, students

COURSE = ROOT / ".venv-course" / "bin" / "python"
PLAYED = ROOT / "_build" / "grade-demo"
SHORT = students.submissions(short=True)

every_assignment = pytest.mark.parametrize("assignment", students.ASSIGNMENTS)


@pytest.fixture(scope="session")
def scores():
    command = [COURSE, "-m", "tools", "grade_demo", PLAYED, "short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((PLAYED / "scores.json").read_text())


def chapter_of(assignment):
    (found,) = (chapter for chapter in chapters() if chapter.assignment == assignment)
    return found


def cells_of(path):
    return json.loads(path.read_text())["cells"]


def graded(student, assignment):
    return PLAYED / "autograded" / student / assignment / f"{assignment}.ipynb"


def master_of(assignment):
    return chapter_of(assignment).master


# What they get


@pytest.mark.parametrize(
    ("student", "assignment"), [pair for pair in SHORT if pair[0] not in students.ODD_STUDENTS]
)
def test_a_made_student_gets_the_points_it_must(student, assignment, scores):
    got = scores[student][assignment]
    first, second, third, *_ = students.ASSIGNMENTS[assignment]
    cells = [f"{first}-right", f"{second}-right", f"{third}-numbers", f"{third}-reading"]
    _, expected = students.EVERYBODY[student]
    assert {cell: got[cell] for cell in cells} == dict(zip(cells, expected, strict=True))


@pytest.mark.parametrize("student", students.ODD_STUDENTS)
def test_an_odd_submission_gets_the_points_it_must(student, scores):
    _, expected = students.ODD_STUDENTS[student]
    if expected == students.NOT_GRADED:  # the door says why
        assert student not in scores
        assert re.search(rf"(?m)^{student} +REFUSED ", (PLAYED / "collected.txt").read_text())
    else:
        (got,) = scores[student].values()
        assert tuple(got.values())[:4] == expected


@every_assignment
def test_a_written_answer_waits_for_the_teacher_and_an_empty_one_gets_nothing(assignment, scores):
    for student, waits in (("last-year", None), ("edits-tests", 0)):
        assert list(scores[student][assignment].values())[-1] == waits


@every_assignment
def test_with_the_teacher_s_points_a_perfect_student_has_all_twenty(assignment, scores):
    assert sum(scores["perfect"][assignment].values()) == 20
    with (PLAYED / "scores.csv").open(newline="") as file:
        rows = {(row["assignment"], row["student_id"]): row for row in csv.DictReader(file)}
    exported = {
        student: float(rows[assignment, student]["score"]) for student in ("perfect", "last-year")
    }
    assert exported == {"perfect": 20, "last-year": 5}


def test_the_class_s_phrase_is_not_in_the_environment_of_a_student_s_code(scores):
    text = graded("spies", students.ODD_ASSIGNMENT).read_text()
    assert '"[]\\n"' in text  # what it printed
    assert grade_demo.PHRASE not in text


def test_too_many_kernels_are_told(scores):
    text = graded("dies-often", students.ODD_ASSIGNMENT).read_text()
    assert "the notebook ended too many kernels" in text


def test_a_flood_of_output_is_cut(scores):
    path = graded("floods", students.ODD_ASSIGNMENT)
    assert path.stat().st_size < 2_000_000
    assert "more output is left out" in path.read_text()


@every_assignment
def test_grading_leaves_the_text_between_the_tests_as_it_was(assignment, scores):
    released = PLAYED / "release" / assignment / f"{assignment}.ipynb"
    before, after = (
        ["".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "markdown"][:-1]
        for path in (released, graded("last-year", assignment))
    )
    assert len(before) == len(after)
    for markdown, made in zip(before, after, strict=True):
        page = BeautifulSoup(made, "html.parser")
        formulas = [formula.extract() for formula in page.find_all("math")]
        assert bool(formulas) == ("$" in markdown)
        text = re.sub(r"(?s)\$.*?\$|(?<=\])\(.*?\)", " ", markdown)
        assert re.findall(r"[A-Za-z]+", page.get_text(" ")) == re.findall(r"[A-Za-z]+", text)


@every_assignment
def test_the_points_of_an_assignment_are_twenty(assignment):
    about = [cell["metadata"].get("nbgrader", {}) for cell in cells_of(master_of(assignment))]
    assert [cell["points"] for cell in about if cell.get("grade")] == [5, 5, 3, 2, 5]


@every_assignment
def test_the_cell_that_installs_on_colab_comes_through_release_and_grading(assignment, scores):
    for path in (
        PLAYED / "release" / assignment / f"{assignment}.ipynb",
        graded("last-year", assignment),
    ):
        first = next(cell for cell in cells_of(path) if cell["cell_type"] == "code")
        assert "".join(first["source"]) == installing_cell(assignment)
        assert not any(output["output_type"] == "error" for output in first["outputs"])


@every_assignment
def test_edited_tests_are_restored(assignment, scores):
    for student in ("edits-tests", *["copies-tests"] * (assignment == students.ODD_ASSIGNMENT)):
        cells = cells_of(graded(student, assignment))
        tests = [c for c in cells if "BEGIN HIDDEN TESTS" in "".join(c["source"])]
        assert len(tests) == 4


@every_assignment
def test_feedback_tells_what_was_wrong(assignment, scores):
    first = students.ASSIGNMENTS[assignment].first
    with pytest.raises(WrongAnswer) as caught:
        ask(first, students.WRONG[first][0].answer, EXAMPLES)
    page = PLAYED / "feedback" / grade_demo.TOLD / assignment / f"{assignment}.html"
    shown = BeautifulSoup(page.read_text(), "html.parser").get_text(" ")
    assert " ".join(str(caught.value).split()) in " ".join(shown.split())


def test_an_endless_loop_is_told(scores):
    text = graded("endless", students.ODD_ASSIGNMENT).read_text()
    assert f"gave no result in {grade_demo.HASTY['call_timeout']} s" in text


def test_a_whole_round_hands_in_every_wrong_answer_everywhere_and_a_short_one_some():
    longest = max(len(found) for found in students.WRONG.values())
    assert set(students.WRONG) == set(all_tasks())
    whole = students.submissions(short=False)
    assert len(students.WRONG_STUDENTS) == longest
    assert {*whole} >= {(s, a) for s in students.WRONG_STUDENTS for a in students.ASSIGNMENTS}
    assert {*whole} > {*SHORT}
    assert {student for student, _ in SHORT} >= {*students.STUDENTS, *students.ODD_STUDENTS}


# What the demo prints


def all_scores():
    """Return scores that made students may have, without grading."""
    cells = ("first", "second", "measured", "read", "text")
    row = {name: dict.fromkeys(cells, 0.0) for name in students.ASSIGNMENTS}
    odd = {students.ODD_ASSIGNMENT: dict.fromkeys(cells)}
    return {
        name: copy.deepcopy(odd if name in students.ODD_STUDENTS else row)
        for name in students.EVERYBODY
    }


def test_the_table_says_what_its_columns_are_and_what_each_student_does():
    text = grade_demo.table(all_scores())
    _, head, *_ = text.splitlines()
    assert set(head.split()) == {"1", "2", "m", "r", "w"}
    points = dict(zip(students.Points._fields, students.FULL, strict=True)) | {"text": 5}
    named = re.findall(r"\((\d)(?: points each)?\)", text)
    each = [points[name] for name in ("first", "measured", "read", "text")]
    assert [int(number) for number in named] == each
    for name, (made, _) in (students.STUDENTS | students.ODD_STUDENTS).items():
        assert re.search(rf"(?m)^{name} +{re.escape(made.__doc__.splitlines()[0])}$", text), name


def test_the_table_folds_wrong_answers_that_get_nothing():
    text = grade_demo.table(all_scores())
    wrong = sum(len(found) for found in students.WRONG.values())
    line = f" students who hand in the banks' wrong answers, all {wrong} of them: 0 points each"
    assert f"{len(students.WRONG_STUDENTS)}{line}" in text.splitlines()
    assert "wrong-" not in text


def test_the_table_shows_wrong_answers_if_one_gets_a_point():
    found = all_scores()
    found["wrong-07"][students.ODD_ASSIGNMENT]["measured"] = 3.0
    text = grade_demo.table(found)
    assert "0 points each" not in text
    assert re.search(r"(?m)^wrong-07 .* 3$", text)
    assert re.search(r"(?m)^wrong-08 .* 0$", text)


# What a release shows


@every_assignment
def test_a_release_shows_no_solution_and_no_hidden_test(assignment, scores):
    archive = zipfile.ZipFile(io.BytesIO((PLAYED / "zips" / f"{assignment}.zip").read_bytes()))
    assert archive.namelist() == [f"{assignment}/", f"{assignment}/{assignment}.ipynb"]
    shown = json.loads(archive.read(archive.namelist()[1]))
    text = "\n".join("".join(cell["source"]) for cell in shown["cells"])
    for word in ("BEGIN SOLUTION", "HIDDEN", "grading", "judge"):
        assert word not in json.dumps(shown)
    for word in ("solution", "hidden test", "rubric", "model answer"):
        assert word not in text.lower()
    assert not any(cell.get("outputs") for cell in shown["cells"])
    for cell in cells_of(master_of(assignment)):
        source = "".join(cell["source"])
        hidden = re.findall(r"(?s)### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", source)
        about = cell["metadata"].get("nbgrader", {})
        if about.get("solution") and cell["cell_type"] == "markdown":
            hidden = [source]
        assert hidden or not (about.get("grade") or about.get("solution"))
        for line in "".join(hidden).splitlines():
            if len(line.strip()) > 12:
                assert line.strip() not in text, line
    assert "YOUR CODE HERE" in text
    assert "YOUR ANSWER HERE" in text


@every_assignment
def test_a_release_has_the_class_s_seed_and_not_its_phrase(assignment, scores):
    text = (PLAYED / "release" / assignment / f"{assignment}.ipynb").read_text()
    assert re.search(r"CLASS_SEED = [1-9]\d*", text)
    assert "a phrase that students do not know" not in text


# The masters as files


def installing_cell(assignment):
    """Return the chapter's cell for Colab, without the line that shortens error messages."""
    chapter = cells_of(chapter_of(assignment).notebook)
    found, *_ = ("".join(c["source"]) for c in chapter if "google.colab" in "".join(c["source"]))
    return found.removeprefix("%xmode Minimal\n")


@every_assignment
def test_a_master_installs_the_package_on_colab_before_it_imports_it(assignment):
    code = [
        "".join(c["source"]) for c in cells_of(master_of(assignment)) if c["cell_type"] == "code"
    ]
    assert code[0] == installing_cell(assignment)
    assert "import attnbook" in code[1]


@every_assignment
def test_a_master_links_its_chapter_on_the_site(assignment):
    site = yaml.safe_load((ROOT / "_config.yml").read_text())["html"]["baseurl"]
    chapter = chapter_of(assignment).notebook
    assert chapter.exists()
    assert chapter.name != f"{assignment}.ipynb"  # in one folder it would replace it
    head = "".join(cells_of(master_of(assignment))[0]["source"])
    title = re.match(r"# Assignment \d: (.+)\n", head)[1]
    assert f"After the chapter [*{title}*]({site}book/{chapter.stem}.html).\n" in head


@every_assignment
def test_a_master_is_written_as_the_chapters_are(assignment):
    text = master_of(assignment).read_text()
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


@every_assignment
def test_the_master_s_cells_are_short_and_clean(assignment):
    cells = cells_of(master_of(assignment))
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            lines = re.sub(r"(?s)\n### BEGIN HIDDEN.*", "", source).splitlines()
            code = [line for line in lines if line.strip() and "### " not in line]
            assert len(code) <= 15
            assert not cell["outputs"]
    names = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells]
    named = [name for name in names if name]
    assert len(set(named)) == len(named)


@every_assignment
def test_a_visible_check_says_what_it_expects(assignment):
    for cell in cells_of(master_of(assignment)):
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code":
            shown = re.sub(r"(?s)### BEGIN HIDDEN.*", "", "".join(cell["source"]))
            for node in ast.walk(ast.parse(shown)):
                assert not isinstance(node, ast.Assert) or node.msg, ast.unparse(node)
