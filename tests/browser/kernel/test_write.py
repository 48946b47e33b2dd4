"""Answers that are written on the page, in the Python of JupyterLite, in Chromium.

Every exercise gets a right answer and, for each mistake that its check knows, a wrong one of the
bank; what is said must be what CPython says. One Python is started for all of them.
"""

import shutil
import zipfile

import pytest

from course import verdicts
from course.chapters import ROOT, chapters
from course.words import say
from course.writing import begin
from tests.book.test_write import BY_PAGE
from tests.browser.waiting import wait_for

pytestmark = pytest.mark.xdist_group("write")  # one process, so that Python starts once

SITE, LITE = ROOT / "_build/html", ROOT / "_build/lite-test"
PAGE = f"book/{chapters()[1].name}.html"
START = """(site) => new Promise((done) => {
  window.python = new Worker(new URL("_static/write-worker.js", site));
  python.onmessage = ({data}) => done(data.failed);
  python.postMessage({lite: new URL("lite/", site).href});
})"""
PLAY = """async (jobs) => {
  const results = [];
  for (const job of jobs) results.push(await new Promise((done) => {
    let printed = "";
    python.onmessage = ({data: {done: end, printed: more}}) => {
      if (end) done([end, printed]);
      else printed += more;
    };
    python.postMessage({earlier: [], ...job});
  }));
  return results;
}"""
SEEN = """() => {
  const [state, said, printed] = [document.querySelector(".write").dataset.state,
    ...[".write-said", ".write-printed"].map((name) => document.querySelector(name).textContent)];
  return {state, said, printed};
}"""
DONE = "[data-state]:not([data-state=noted], [data-state=waiting], [data-state=running])"
EXERCISE, FUNCTION = "softmax", "my_softmax"
RIGHT = """import numpy as np
def my_softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
LOOP = "print('begun', flush=True)\nwhile True:\n    pass\n"

# What is said in the browser and not in CPython, with the reason.
DIFFERENCES = {}


def linked(folder, to, but):
    """Make a folder of links to what is in another one, but for one name."""
    folder.mkdir()
    for path in to.iterdir():
        if path.name != but:
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory, serve):
    """Serve the site with JupyterLite in it, and the banks beside the package that is loaded."""
    folder = linked(tmp_path_factory.mktemp("served") / "site", SITE, "lite")
    lite = linked(folder / "lite", LITE, "write")
    shutil.copytree(LITE / "write", lite / "write")
    (wheel,) = (lite / "write").glob("*.whl")
    rooms = [f"course/{chapter.module}/exercise_answers.py" for chapter in chapters()]
    with zipfile.ZipFile(wheel, "a") as packed:
        for path in ("course/__init__.py", "course/bank.py", *rooms):
            packed.write(ROOT / path, path)
    with serve(folder) as address:
        yield f"{address}/"


@pytest.fixture(scope="module")
def page(chromium, site):
    """Return a page on which an exercise is opened, and all that is asked for meanwhile."""
    context = chromium.new_context()
    page, asked = context.new_page(), []
    context.on("request", lambda request: asked.append((request.method, request.url)))
    page.clock.install()  # which goes on by itself, and is put on by hand
    page.goto(f"{site}{PAGE}")
    page.evaluate("window.planted = 0")
    page.asked = asked
    page.locator(f".write-open[value={EXERCISE}]").click()
    page.locator(".cm-content").wait_for()
    yield page
    context.close()


def play(page, text, press="check", until=DONE):
    """Type a text, press a button; return what is said, in which state, and what was printed."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    page.get_by_role("button", name=press, exact=True).click()
    return heard(page, until)


def heard(page, until):
    wait_for(page, f"document.querySelector('.write').matches('.write{until}')", f"it is {until}")
    return page.evaluate(SEEN)


def jobs(chapter, name, function):
    """Return the texts to be played of an exercise, with what CPython says to each."""
    judged, bank = verdicts.judged()[name], chapter.part("exercise_answers").BANK
    known, first = set(chapter.checkers[name].mistakes), {}
    for number, wrong in enumerate(bank.wrong[name]):
        if wrong.names_mistake and (of := judged.wrong[number].ids[0]) in known:
            first.setdefault(of, number)
    played = [("right", 0, f"{name}: correct\n")]
    played += [("wrong", number, judged.wrong[number].message) for number in first.values()]
    for kind, number, said in played:
        answer = getattr(bank, kind)[name][number]
        answer = getattr(answer, "answer", answer)
        text = (
            f"from course.{chapter.module}.exercise_answers import BANK\n"
            f"answer = BANK.{kind}[{name!r}][{number}]\n"
            f"{function} = getattr(answer, 'answer', answer)\n"
        )
        yield answer.__name__, {"text": text, "name": name, "function": function}, said


def functions():
    """Return what the functions that are asked for are called, by their exercises."""
    every = [each for page in BY_PAGE.values() for each in page.items()]
    return {name: begin(name, code).function for name, code in every}


def test_every_exercise_says_what_it_says_in_cpython(one_page, site):
    page = one_page
    page.goto(f"{site}{PAGE}")
    assert page.evaluate(START, site) == ""
    told, count, of = [], 0, functions()
    for chapter in chapters():
        for name in chapter.exercises:
            names, asked, said = zip(*jobs(chapter, name, of[name]), strict=True)
            for answer, (done, printed), expected in zip(
                names, page.evaluate(PLAY, list(asked)), said, strict=True
            ):
                count += 1
                now = done.get("message", printed)
                if now != expected and (name, answer) not in DIFFERENCES:
                    told.append(f"{name}, {answer}: {now!r} {done}, in CPython {expected!r}")
    assert not told, "\n".join(told)
    checkers = [each for chapter in chapters() for each in chapter.checkers.values()]
    assert count == sum(1 + len(checker.mistakes) for checker in checkers)


def test_a_right_answer_is_accepted_on_the_page_and_a_mistake_named(page):
    told = play(page, RIGHT)
    assert told == {
        "state": "accepted",
        "said": say("write_accepted"),
        "printed": f"{EXERCISE}: correct\n",
    }
    told = play(page, RIGHT.replace(" - x.max(axis=-1, keepdims=True)", ""))
    assert told["state"] == "wrong"
    assert "subtract from each row its own largest score first" in told["said"]
    told = play(page, RIGHT.replace("e.sum", "e.summ"))
    assert "(Line 4.)" in told["said"]


SHORT = {
    "a text of no Python": ("def f(:\n", "check", "error", "SyntaxError in line 1."),
    "what is not there": ("import torch\n", "check", "error", "ModuleNotFoundError in line 1."),
    "an error on import": ("import json\njson.loads('')\n", "run", "error", "in line 2."),
    "input": ("x = 1\ny = input()\n", "run", "input", say("write_input", line=2).replace("`", "")),
    "standard input": ("import sys\nprint(repr(sys.stdin.read()))", "run", "ran", "judged"),
    "too much": ("x = [0] * 10**9\n", "run", "memory", say("write_memory")),
    "a gigabyte": ("import numpy as np\nx = np.ones(2**27)\n", "run", "ran", "judged"),
    "recursion": ("def f(n): return f(n + 1)\nf(0)\n", "run", "error", "RecursionError"),
    "exit": ("import os, sys\nsys.exit(3)\n", "run", "error", "SystemExit in line 2."),
    "no function": ("x = 1\n", "check", "missing", FUNCTION),
}


@pytest.mark.parametrize("case", SHORT)
def test_whatever_is_typed_ends_in_a_sentence_and_a_working_editor(page, case):
    text, press, state, said = SHORT[case]
    told = play(page, text, press)
    assert (told["state"], said in told["said"]) == (state, True), told
    assert page.evaluate("progress.read('exercise', 'softmax').text") == text
    assert play(page, RIGHT)["state"] == "accepted"


def test_of_ten_thousand_lines_the_first_are_shown(page):
    told = play(page, "for i in range(10_000):\n    print(i)\n", "run")
    assert told["printed"].startswith("0\n1\n2\n")
    assert told["printed"].endswith("199\n" + say("write_left", left=9800))


def test_what_is_printed_or_said_is_shown_as_text(page):
    script = "<script>window.planted = 1</script><img src=x onerror='window.planted = 1'>"
    steering = "\\x1b[31m\\x00\\u202egnp.exe" + "e\\u0301" * 50
    told = play(page, f'print("{script}{steering}")\nraise ValueError("{script}")\n', "run")
    assert told["printed"].startswith(script + "␛[31m␀\\u202egnp.exe" + "e\u0301" * 50)
    assert f"ValueError: {script}" in told["printed"]
    broken = RIGHT.replace("    e =", f'    raise ValueError("{script}`{script}`")\n    e =')
    assert script in play(page, broken)["said"]
    assert page.evaluate("window.planted") == 0
    assert page.locator(".write :is(script, img)").count() == 0


def test_python_is_loaded_beside_the_page_which_has_nothing_to_do_with_it(page):
    assert play(page, RIGHT)["state"] == "accepted"
    # A worker keeps a list of its own.
    entries = """() => new Promise((done) => new PerformanceObserver((list) =>
      done(list.getEntries().map(({name}) => name))).observe({type: "resource", buffered: true}))"""
    on_the_page = page.evaluate(entries)
    names = {url.partition("?")[0].rsplit("/", 1)[1] for url in on_the_page}
    assert {"write.js", "write-editor.js"} <= names
    assert not [name for name in names if name.endswith((".wasm", ".whl", ".zip", ".json"))]
    assert "pyodide.js" not in names
    assert page.evaluate("typeof loadPyodide") == "undefined"
    (worker,) = page.workers
    beside = {url.partition("?")[0].rsplit(".", 1)[1] for url in worker.evaluate(entries)}
    assert {"json", "whl"} <= beside


def test_an_endless_loop_is_stopped_by_hand_and_by_itself(page):
    play(page, LOOP, "run", "[data-state=running]")
    wait_for(page, f"({SEEN})().printed === 'begun\\n'", "what is printed before is there")
    page.get_by_role("button", name="stop", exact=True).click()
    assert heard(page, "[data-state=stopped]")["said"] == say("write_stopped")
    assert page.evaluate("progress.read('exercise', 'softmax').text") == LOOP
    play(page, LOOP, "run", "[data-state=running]")
    page.clock.fast_forward(19_000)
    assert page.evaluate(SEEN)["state"] == "running"
    page.clock.fast_forward(2_000)
    assert say("write_too_long", seconds=20) in heard(page, "[data-state=too_long]")["said"]
    assert play(page, RIGHT)["state"] == "accepted"


def test_nothing_is_sent_anywhere(page, site):
    assert play(page, RIGHT)["state"] == "accepted"
    assert {method for method, _ in page.asked} == {"GET"}
    assert all(
        url.startswith((site, "blob:", "data:")) and "?q" not in url for _, url in page.asked
    )
    names = {url.partition("?")[0].rsplit("/", 1)[1] for _, url in page.asked}
    assert {"pyodide.js", "python.json", "write-worker.js", "write-editor.js"} <= names
