"""Exercises that are answered on the page: where an answer begins, and what is said to it.

Here in this Python, without a page; `tests/browser/kernel` does it in the browser's.
"""

import ast
import json
import re
import runpy

import pytest

from course.chapters import ROOT, cells, chapters
from course.words import WORDS
from course.writing import begin

HERE = ROOT / "book/write"
ANSWER = runpy.run_path(str(HERE / "answer.py"))
SOLUTION = re.compile(r"\{solution-start\} ex-(\S+)\n")
SOFTMAX = "import numpy as np\ndef my_softmax(x):\n    e = np.exp(x - x.max(-1, keepdims=True))\n"
RIGHT = SOFTMAX + "    return e / e.sum(-1, keepdims=True)\n"


def solutions(notebook):
    """Return the code of a notebook's solutions, by the names of their exercises."""
    found, name = {}, None
    for cell in cells(notebook, "markdown", "code"):
        if cell["cell_type"] == "markdown":
            name = (SOLUTION.findall(cell["source"]) or [None])[-1]
        elif name:
            found[name] = found.get(name, "") + cell["source"] + "\n"
    return found


BY_PAGE = {path: solutions(path) for chapter in chapters() for path in chapter.notebooks}


def play(text, name="softmax", function="my_softmax", earlier=()):
    """Return what becomes of a text, and what it printed."""
    told = []
    result = ANSWER["play"](text, earlier, name, function, told.append)
    return json.loads(result), "".join(told)


def defined(code):
    """Return what a solution defines and imports, without the calls of it."""
    kept = (ast.FunctionDef, ast.Import, ast.ImportFrom)
    return "\n".join(ast.unparse(part) for part in ast.parse(code).body if isinstance(part, kept))


@pytest.mark.parametrize("page", BY_PAGE, ids=lambda path: path.stem)
def test_an_exercise_begins_with_what_its_solution_needs(page):
    earlier = []
    for name, code in BY_PAGE[page].items():
        function, text = begin(name, code)
        *imports, first, dots = text.strip().split("\n")
        assert first.startswith(f"def {function}(")
        assert dots == "    ..."
        assert all(re.match("import |from |$", line) for line in imports)
        assert not [line for line in imports if re.search(rf"import .*\b{function}\b", line)]
        result, _ = play(text, name, function)
        assert result["kind"] == "wrong"  # nothing is written yet
        solved = "\n".join([*imports, defined(code)])
        result, printed = play(solved, name, function, earlier)
        assert (result["kind"], printed) == ("accepted", f"{name}: correct\n")
        earlier.append(solved)


def test_every_exercise_has_a_solution_to_begin_with():
    named = {name for chapter in chapters() for name in chapter.exercises}
    assert {name for page in BY_PAGE.values() for name in page} == named


def test_a_solution_without_its_check_or_its_function_is_an_error():
    with pytest.raises(ValueError, match="must define the function"):
        begin("softmax", "def my_softmax(x):\n    return x")
    with pytest.raises(ValueError, match="must define the function"):
        begin("softmax", 'check("softmax", my_softmax)')


def test_names_of_the_package_are_imported_and_no_others():
    code = "def f(x, *, attend=None):\n    softmax = x\n    return split_heads(softmax, attnbook)\n"
    code = f'import math\nfrom attnbook import padding_mask\n{code}check("a", f)'
    assert begin("a", code).text == (
        "import numpy as np\nimport math\nimport attnbook\n"
        "from attnbook import padding_mask, split_heads\n\n\n"
        "def f(x, *, attend=None):\n    ...\n"
    )


def test_a_right_answer_is_accepted_and_a_mistake_named():
    assert play(RIGHT) == ({"kind": "accepted", "left": 0}, "softmax: correct\n")
    result, printed = play(RIGHT.replace(" / e.sum(-1, keepdims=True)", ""))
    assert result["kind"] == "wrong"
    assert "not divided by their sum" in result["message"]
    assert (result["line"], printed) == (0, "")


def test_an_error_while_it_is_checked_is_told_with_its_line():
    result, _ = play(RIGHT.replace("e.sum", "e.summ"))
    assert result["message"].startswith("softmax: `my_softmax(x)` raised AttributeError")
    assert result["line"] == 4


@pytest.mark.parametrize(
    ("text", "error", "line", "told"),
    [
        ("x = 1\nimport no_such_module\n", "ModuleNotFoundError", 2, "no_such_module"),
        ("x = 1\n\ndef f(:\n", "SyntaxError", 3, "def f(:"),
        ("def f():\n    1 / 0\n\nf()\n", "ZeroDivisionError", 2, "1 / 0"),
        ("raise SystemExit\n", "SystemExit", 1, "SystemExit"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("def f(n):\n    return f(n)\nf(1)", "RecursionError", 2, "repeated"),
        ("import json\njson.loads('?')\n", "JSONDecodeError", 2, "json.loads"),
        ("x = 1\x00\n", "SyntaxError", 0, "null bytes"),
        ("class E(Exception):\n    __str__ = 1\nraise E", "E", 3, "failed"),
    ],
)
def test_an_error_is_told_with_its_line_and_the_readers_own_lines_only(text, error, line, told):
    result, _ = play(text)
    assert (result["kind"], result["error"], result["line"]) == ("error", error, line)
    assert told in result["told"]
    assert str(ROOT) not in result["told"]
    assert "decoder.py" not in result["told"]


def test_what_asks_for_input_or_too_much_memory_is_told_so():
    assert play("x = 1\nname = input('who? ')")[0] == {"kind": "input", "line": 2, "left": 0}
    assert play("x = [0] * 2**62")[0]["kind"] == "memory"


def test_a_text_without_the_function_is_told_so_whatever_was_solved_before():
    assert play("def softmax(x): ...", earlier=[RIGHT])[0]["kind"] == "missing"
    assert play("my_softmax = 3")[0]["error"] == "TypeError"


def test_what_was_solved_before_is_there_and_what_fails_of_it_does_no_harm():
    after = "def again(x):\n    return my_softmax(x)\n"
    earlier = ["raise SystemExit", "print('no')\n" + RIGHT, "1 / 0"]
    assert play(after, "softmax", "again", earlier) == (
        {"kind": "accepted", "left": 0},
        "softmax: correct\n",
    )


def test_a_run_judges_nothing_and_prints_the_value_of_the_last_line():
    assert play("x = 2\nx + 1\n", "") == ({"kind": "ran", "left": 0}, "3\n")
    assert play("None\n", "") == ({"kind": "ran", "left": 0}, "")


@pytest.mark.parametrize("text", ["print(i)", "print(i, flush=True)"])
def test_of_ten_thousand_lines_two_hundred_are_shown_and_the_others_counted(text):
    result, printed = play(f"for i in range(10_000):\n    {text}\n", "")
    assert result == {"kind": "ran", "left": 9800}
    assert printed == "".join(f"{i}\n" for i in range(200))


def test_a_line_without_end_is_cut():
    _, printed = play("print('x' * 1_000_000)", "")
    assert printed == "x" * 20_000


def test_half_a_letter_is_told_in_a_way_that_a_page_can_show():
    _, printed = play("print('a\\ud800b')", "")
    assert printed == "a\\ud800b\n"


def test_each_thing_that_is_said_has_words_and_no_words_are_left():
    for kind, names in {"write": ["write.js"], "progress": ["progress.js"]}.items():
        script = "".join((HERE / name).read_text(encoding="utf-8") for name in names)
        asked = set(re.findall(r"\b(?:say|WORDS)\.(\w+)", script))
        asked |= set(re.findall(r'(?:press|stop|fail)\("(\w+)"', script))
        if kind == "write":
            asked |= set(re.findall(r'"kind": "(\w+)"', (HERE / "answer.py").read_text("utf-8")))
            asked |= set(re.findall(r'return "(\w+)"', (HERE / "worker.js").read_text("utf-8")))
            asked -= {"wrong"}  # the check's own words
        assert {f"{kind}_{name}" for name in asked} == {
            k for k in WORDS if k.startswith(f"{kind}_")
        }
