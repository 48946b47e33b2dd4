"""Answers that are written on the page, in the Python of JupyterLite, in Chromium.

Every exercise gets a right answer and, for each mistake that its check knows, a wrong one of the
bank; what is said must be what CPython says. One Python is started for all of them.
"""

import contextlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from course import verdicts
from course.chapters import ROOT, chapters
from course.words import say
from course.writing import begin
from tests.book.test_write import BY_PAGE
from tests.browser.waiting import wait_for

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
    python.onmessage = ({data}) => data.done ? done([data.done, printed]) : (printed += data.printed);
    python.postMessage({earlier: [], ...job});
  }));
  return results;
}"""
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


@pytest.fixture
def page(chromium, site):
    """Return a page that asks no other host, and what it asks for and complains of."""
    context = chromium.new_context()
    context.route(lambda url: not url.startswith(site), lambda route: route.abort())
    page = context.new_page()
    page.asked, page.errors = [], []
    context.on("request", lambda request: page.asked.append(request))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(f"{site}{PAGE}")
    yield page
    context.close()


def jobs(chapter, name, function):
    """Return the texts to be played of an exercise, with what CPython says to each."""
    judged, bank = verdicts.judged()[name], chapter.part("exercise_answers").BANK
    known, first = set(chapter.checkers[name].mistakes), {}
    for number, wrong in enumerate(bank.wrong[name]):
        if wrong.names_mistake and (of := judged.wrong[number].ids[0]) in known | {None}:
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


def test_every_exercise_says_what_it_says_in_cpython(page, site):
    assert page.evaluate(START, site) == ""
    functions = {
        name: begin(name, code).function for all_ in BY_PAGE.values() for name, code in all_.items()
    }
    told, count = [], 0
    for chapter in chapters():
        for name in chapter.exercises:
            names, asked, said = zip(*jobs(chapter, name, functions[name]), strict=True)
            for answer, (done, printed), expected in zip(
                names, page.evaluate(PLAY, list(asked)), said, strict=True
            ):
                count += 1
                now = done.get("message", printed)
                if now != expected and (name, answer) not in DIFFERENCES:
                    told.append(f"{name}, {answer}: {now!r} {done}, in CPython {expected!r}")
    assert not told, "\n".join(told)
    assert count > 20 * len(functions)
