"""Settings shared by all tests, and the browser of those that need one."""

import importlib.util
import os
import shutil

import pytest
from hypothesis import settings

from course.chapters import Chapter, by_name
from tools import PATIENCE

# The same examples on every run, so a red test is red for everybody.
settings.register_profile(
    "attnbook", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("attnbook")

# Run by hand, with PyTorch, which no test needs.
collect_ignore = ["package/golden/make_smollm2.py", "package/golden/make_storyteller.py"]
if not importlib.util.find_spec("torch"):  # `make test-frameworks` has it
    collect_ignore.append("frameworks")


def pytest_addoption(parser):
    """Let `make chapter-test` ask for the tests of one chapter."""
    parser.addoption("--chapter", help="leave out what is tested of other chapters only")


def pytest_collection_modifyitems(config, items):
    """Keep the tests of one chapter, and those without parameters, which see the whole book."""
    if name := config.getoption("chapter", default=None):
        here = names_of(by_name(name))
        other = [each for each in items if hasattr(each, "callspec") and not here & called(each)]
        config.hook.pytest_deselected(items=other)
        items[:] = [each for each in items if each not in set(other)]


def names_of(chapter: Chapter) -> set[str]:
    """Return all that tests call a chapter and its parts by."""
    pages = [path.stem for path in chapter.notebooks]
    modules = [f"course.{chapter.module}.{path.stem}" for path in chapter.room.glob("*.py")]
    modules.append(f"attnbook.exercises.{chapter.module}")
    banks = [chapter.part(each).BANK for each in ("exercise_answers", "task_answers")]
    names = {name for bank in banks for name in (*bank.right, *bank.wrong)}
    return names.union(pages, [f"book/{page}" for page in pages], modules, chapter.checkers)


def called(item: pytest.Item) -> set[str]:
    """Return the names that a test has as parameters: of chapters, notebooks, exercises."""
    found = item.callspec.params.values()
    return {str(getattr(each, "stem", getattr(each, "name", each))) for each in found}


# The shell without windows comes first: it lays out and draws the same with a third less work.
NAMES = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    f"--{flag}"
    for flag in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
    )
]


@pytest.fixture(scope="session")
def chromium():
    """Return a headless Chromium. A worker has one: a second Playwright would meet its loop."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium found: install one")
    sync_api = pytest.importorskip("playwright.sync_api", reason="make .venv/browser installs it")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE * 1000
        )
        browser.on("context", lambda context: context.set_default_timeout(PATIENCE * 1000))
        yield browser
        browser.close()
