"""Answers that are written on the page: the editor, what is kept, and what is said without Python.

Python itself runs in `make test-lite`; here its address is never reached.
"""

import json
import zipfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from course.chapters import ROOT, chapters
from course.words import say
from tests.browser.test_policy import NOTE
from tests.browser.waiting import SETTLED, at_rest, wait_for

SITE = ROOT / "_build/html"
CHAPTER = chapters()[1]
PAGE, ALL = f"book/{CHAPTER.name}.html", "book/exercises.html"
FIRST, SECOND = list(CHAPTER.exercises)[:2]
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
FOUND = """async () => (await axe.run(document.querySelector(".write"),
  {resultTypes: ["violations"]})).violations.map((rule) => rule.id + rule.nodes[0].html)"""
ANSWER = "def f():\n    return 1\n"


@pytest.fixture(scope="module", autouse=True)
def where_python_is():
    assert (SITE / "lite").is_dir(), "run make lite first: it says where the page has Python from"


@pytest.fixture
def page(chromium, address):
    """Return a page of a browser that keeps nothing from before, and what it asks for."""
    context = chromium.new_context(accept_downloads=True)
    context.route(lambda url: urlsplit(url).netloc not in address, lambda route: route.abort())
    page, asked = context.new_page(), []
    page.add_init_script(NOTE)
    context.on("request", lambda request: asked.append(request.url))
    page.asked = asked
    yield page
    context.close()


def answer(page, name=FIRST):
    """Open the editor of an exercise; return its box."""
    button = page.locator(f".write-open[value={name}]")
    button.click()
    box = page.locator(".to-write", has=page.locator(f"[data-exercise={name}]")).locator(".write")
    box.locator(".cm-content, textarea").wait_for()
    return box


def rich(page, name=FIRST):
    box = answer(page, name)
    box.locator(".cm-content").wait_for()
    return box


def said(page, box, words):
    """Wait until something is said; return it whole."""
    told = box.locator(".write-said")
    wait_for(
        page, "([e, words]) => e.textContent.includes(words)", words, [told.element_handle(), words]
    )
    return told


def kept(page, kind="exercise", name=FIRST):
    return page.evaluate("([kind, name]) => progress.read(kind, name)", [kind, name])


def keep(page, **states):
    """Have answers kept, as if they had been written before."""
    page.evaluate(
        "(all) => Object.entries(all).forEach((each) => progress.write('exercise', ...each))",
        states,
    )


def begun(text):
    return {"text": text}


# Opening it


def test_nothing_of_it_is_loaded_before_the_button_is_pressed(page, address):
    page.goto(f"{address}/{PAGE}")
    page.evaluate(SETTLED)
    before = list(page.asked)
    assert not [url for url in before if "write" in url or "pyodide" in url or "/lite/" in url]
    said(page, rich(page), say("write_network"))  # no other host is reached here
    after = [urlsplit(url).path for url in page.asked[len(before) :] if "/_images/" not in url]
    names = {Path(path).name for path in after if not path.endswith(".whl")}
    ours = {"write.js", "write.css", "write-editor.js", "write-worker.js", "python.json"}
    by_any_hand = {"documentation_options.js", "clipboard.min.js", "copybutton.js"}
    assert names - by_any_hand == {*ours, "pyodide.js"}
    assert page.evaluate("violated") == []


# The boxes of a button and of the line whose place it takes, at one moment:
# a page may move by a fraction of a pixel between two questions.
BOTH = """(button) => {
  const line = button.closest(".to-write").querySelector(".cell_input");
  return [button, line].map((e) => {
    const {x, y, width, height} = e.getBoundingClientRect();
    return [x, y, width, height];
  });
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_the_button_has_the_place_of_the_line_and_nothing_above_moves(page, address, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{PAGE}")
    button = page.locator(f".write-open[value={SECOND}]")
    button.scroll_into_view_if_needed()
    page.evaluate(SETTLED)
    here, line = button.evaluate(BOTH)
    assert here == pytest.approx(line)
    assert line[3] >= 24
    where = f"() => [scrollY, document.getElementById('ex-{SECOND}').getBoundingClientRect().top]"
    before = at_rest(page, where)
    rich(page, SECOND)
    assert at_rest(page, where) == before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_open_editor_is_accessible_and_has_the_colours_of_code(page, address, theme, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    page.goto(f"{address}/{PAGE}")
    box = rich(page)
    said(page, box, say("write_network"))
    page.evaluate(AXE)
    assert page.evaluate(FOUND) == []
    colour = "(e) => getComputedStyle(e).color"
    keyword = page.locator(".cell_input .highlight .k").first.evaluate(colour)
    assert box.locator(".cm-line .k").first.evaluate(colour) == keyword


def test_the_editor_is_named_reached_and_left_by_keyboard(page, address):
    page.goto(f"{address}/{PAGE}")
    page.locator(f".write-open[value={FIRST}]").focus()
    page.keyboard.press("Enter")
    field = page.locator(".cm-content")
    field.wait_for()
    wait_for(page, "document.activeElement.matches('.cm-content')", "the editor has the focus")
    function = json.loads(page.locator(f"[data-exercise={FIRST}]").text_content())["function"]
    named = page.get_by_role("textbox", name=say("write_label", function=function))
    assert named.count() == 1
    assert page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
    ) == say("write_leave")
    page.keyboard.type("return 1")  # in place of the three dots, which are selected
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert kept(page)["text"].endswith("\n    return 1\n        \n")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == say("write_check")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    assert not page.evaluate("Boolean(document.activeElement.closest('.write'))")


def test_brackets_close_and_lines_are_indented(page, address):
    page.goto(f"{address}/{PAGE}")
    rich(page)
    page.keyboard.press("Control+a")
    page.keyboard.type("def f(x):\nreturn [1")
    assert kept(page)["text"] == "def f(x):\n    return [1]"


def test_a_slash_is_typed_and_leads_to_no_search(page, address):
    page.goto(f"{address}/{PAGE}")
    rich(page)
    page.keyboard.press("Control+a")
    page.keyboard.type("x = 1 / 2\ny = 3\n")
    assert page.evaluate("document.activeElement.matches('.cm-content')")
    assert kept(page)["text"] == "x = 1 / 2\ny = 3\n"


def test_the_rest_of_a_wrapped_line_stands_further_in(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/{PAGE}")
    rich(page)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("    " + 20 * "many " + "\n    one")
    first, *rest = page.locator(".cm-line").first.evaluate(
        """(line) => {
          const range = document.createRange();
          range.selectNodeContents(line);
          return [...range.getClientRects()].map(({x}) => x);
        }"""
    )
    assert rest
    letter = page.locator(".cm-content").evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)")
    assert all(x > first + 2 * letter for x in rest)


def test_without_the_editors_script_a_plain_field_does_the_same(page, address):
    page.route("**/write-editor.js*", lambda route: route.abort())
    page.goto(f"{address}/{PAGE}")
    box = answer(page)
    said(page, box, say("write_network"))
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(ANSWER)
    assert kept(page) == begun(ANSWER)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == say("write_check")
    box.get_by_role("button", name=say("write_again")).click()
    assert kept(page) == {}
    page.keyboard.press("Control+z")
    assert kept(page) == begun(ANSWER)


def test_without_its_script_the_button_says_so_and_can_be_pressed_again(page, address):
    page.route("**/write.js*", lambda route: route.abort(), times=1)
    page.goto(f"{address}/{PAGE}")
    button = page.locator(f".write-open[value={FIRST}]")
    button.click()
    wait_for(
        page,
        "(words) => document.querySelector('.write-open').textContent === words",
        "it is said",
        say("progress_no_script"),
    )
    button.click()
    page.locator(".cm-content").wait_for()


# Without Python


def test_a_copy_without_python_says_how_to_get_it_and_keeps_the_text(page, address):
    page.route("**/python.json", lambda route: route.fulfill(status=404))
    page.goto(f"{address}/{PAGE}")
    box = rich(page)
    told = said(page, box, say("write_absent").replace("`", ""))
    assert told.locator("a").get_attribute("href").endswith(f"/attnbook/{PAGE}#ex-{FIRST}")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(ANSWER)
    box.get_by_role("button", name=say("write_check"), exact=True).click()
    said(page, box, say("write_absent").replace("`", ""))
    page.reload()
    assert rich(page).locator(".cm-content").inner_text().split() == ANSWER.split()


def test_from_the_zip_it_is_said_what_is_missing_and_the_text_is_kept(page, tmp_path):
    with zipfile.ZipFile(SITE / "the-attention-book.zip") as archive:
        archive.extractall(tmp_path)
    (path,) = tmp_path.rglob(PAGE)
    page.goto(path.as_uri())
    told = said(page, rich(page), say("write_from_disk"))
    assert told.locator("a").get_attribute("href").endswith(f"/attnbook/{PAGE}#ex-{FIRST}")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(ANSWER)
    # What this Chromium does now and then by itself, about once in ten times, done each time.
    page.evaluate("localStorage.clear()")
    page.reload()
    assert kept(page) == begun(ANSWER)
    assert rich(page).locator(".cm-content").inner_text().split() == ANSWER.split()
    page.goto(path.with_name(Path(ALL).name).as_uri())
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=say("exercises_forget")).click()
    assert kept(page) == {}
    assert page.evaluate("violated") == []
    assert all(url.startswith(("file:", "data:")) for url in page.asked)


def test_where_the_browser_keeps_nothing_the_page_does(page, address):
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }})"
    )
    page.goto(f"{address}/{PAGE}")
    rich(page)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(ANSWER)
    assert kept(page) == begun(ANSWER)


# Stands where Python is: it is there at once, and keeps what it is asked to run.
STUB = """window.Worker = class extends EventTarget {
  postMessage(job) {
    const started = new MessageEvent("message", {data: {started: true}});
    if (job.lite) setTimeout(() => this.dispatchEvent(started));
    else window.job = job;
  }
  terminate() {}
}"""


def test_it_is_said_that_check_does_what_the_exercise_asks_for(page, address):
    page.add_init_script(STUB)
    page.goto(f"{address}/{PAGE}")
    box = rich(page)
    asked = page.locator(f"#ex-{FIRST} code").last.inner_text()
    function = json.loads(page.locator(f"[data-exercise={FIRST}]").text_content())["function"]
    assert asked == f'check("{FIRST}", {function})'
    ready = say("write_ready", name=FIRST, function=function).replace("`", "")
    assert said(page, box, asked).inner_text() == ready


def test_while_it_runs_no_button_stands_where_another_stood(page, address):
    page.add_init_script(STUB)
    page.goto(f"{address}/{PAGE}")
    box = rich(page)
    names = [say(f"write_{key}") for key in ("check", "run", "again")]
    buttons = [box.get_by_role("button", name=name, exact=True) for name in names]
    before = [button.bounding_box() for button in buttons]
    buttons[0].click()
    stop = box.get_by_role("button", name=say("write_stop"), exact=True)
    stop.wait_for()
    assert [button.bounding_box() for button in buttons] == before
    assert buttons[2].is_disabled()
    stop.click()
    assert buttons[2].is_enabled()


def test_what_is_begun_again_can_be_brought_back(page, address):
    page.add_init_script(STUB)
    page.goto(f"{address}/{PAGE}")
    box = rich(page)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(ANSWER)
    box.get_by_role("button", name=say("write_check"), exact=True).click()
    box.get_by_role("button", name=say("write_stop"), exact=True).click()
    said(page, box, say("write_stopped"))
    box.get_by_role("button", name=say("write_again"), exact=True).click()
    told = said(page, box, say("write_cleared"))
    assert say("write_stopped") not in told.inner_text()
    assert kept(page) == {}
    told.get_by_role("button", name=say("write_back")).click()
    assert kept(page) == begun(ANSWER)
    assert page.evaluate("document.activeElement.matches('.cm-content')")
    assert told.get_by_role("button").count() == 0


def test_what_was_solved_above_is_run_before_unless_a_file_brought_it(page, address):
    page.add_init_script(STUB)
    page.goto(f"{address}/{PAGE}")
    box = rich(page, SECOND)
    for state, earlier in [({}, [ANSWER]), ({"loaded": True}, [])]:
        keep(page, **{FIRST: begun(ANSWER) | {"solved": True} | state})
        page.evaluate("window.job = undefined")
        box.get_by_role("button", name=say("write_check"), exact=True).click()
        wait_for(page, "() => window.job", "it is asked to run")
        assert page.evaluate("job.earlier") == earlier
        box.get_by_role("button", name=say("write_stop"), exact=True).click()


# What is kept


def test_how_many_are_solved_stands_in_the_list_and_at_the_head(page, address):
    page.goto(f"{address}/{PAGE}")
    head, beside = page.locator(".run .solved"), page.locator(".side a.current small")
    assert head.inner_text() == f"{len(CHAPTER.exercises)} exercises"
    assert beside.count() == 0
    keep(page, **{FIRST: {"text": ANSWER, "solved": True}, SECOND: begun(ANSWER)})
    told = say("progress_solved", solved=1, all=len(CHAPTER.exercises))
    assert (head.inner_text(), beside.inner_text()) == (told, told)
    opens = [page.locator(f".write-open[value={name}]").inner_text() for name in (FIRST, SECOND)]
    assert [text.rpartition("· ")[2] for text in opens] == [
        say("progress_is_solved"),
        say("progress_begun"),
    ]
    page.goto(f"{address}/book/{chapters()[4].name}.html")
    link = page.locator(f"#side-chapters a[href='{CHAPTER.name}.html']")
    assert link.locator("small").inner_text() == told
    assert page.locator("#side-chapters small").count() == 1
    head.click()
    page.wait_for_url(f"**/{ALL}")
    mark = page.locator(f"li:has(a[href$='#ex-{FIRST}']) .is")
    assert mark.inner_text() == say("progress_is_solved")


def test_the_page_of_all_exercises_has_each_with_its_state(page, address):
    page.goto(f"{address}/{ALL}")
    links = page.locator("article li a[href*='#ex-']")
    names = [name for chapter in chapters() for name in chapter.exercises]
    assert [
        href.partition("#ex-")[2] for href in links.evaluate_all("all => all.map((a) => a.href)")
    ] == names
    keep(page, **{FIRST: {"text": ANSWER, "solved": True}, SECOND: begun(ANSWER)})
    page.reload()
    told = say("exercises_kept", solved=1, all=len(names), begun=1)
    assert page.get_by_role("status").inner_text() == told


def test_what_is_kept_is_saved_loaded_and_forgotten(page, address, tmp_path):
    page.goto(f"{address}/{ALL}")
    keep(page, **{FIRST: {"text": ANSWER, "solved": True}, SECOND: begun("</script>\n")})
    page.evaluate("progress.write('quiz', '02-scaled-dot-product', {'quiz-a': [1]})")
    everything = page.evaluate("Object.entries(localStorage).sort()")
    with page.expect_download() as download:
        page.get_by_role("button", name=say("exercises_save")).click()
    download.value.save_as(tmp_path / "kept.json")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_role("button", name=say("exercises_forget")).click()
    assert asked == [say("exercises_sure")]
    assert page.evaluate("Object.entries(localStorage).sort()") == everything
    page.evaluate("localStorage.setItem('attention-book-theme', 'dark')")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name=say("exercises_forget")).click()
    told = page.get_by_role("status")
    assert told.inner_text().startswith(say("exercises_forgotten"))
    assert page.evaluate("Object.keys(localStorage)") == ["attention-book-theme"]
    page.evaluate("localStorage.clear()")
    page.locator("input[type=file]").set_input_files(tmp_path / "kept.json")
    wait_for(
        page,
        "(words) => document.querySelector('[role=status]').textContent.startsWith(words)",
        "it is loaded",
        say("exercises_loaded", count=2),
    )
    loaded = {"loaded": True}
    assert kept(page) == {"text": ANSWER, "solved": True} | loaded
    assert kept(page, name=SECOND) == begun("</script>\n") | loaded
    assert page.locator(f"li:has(a[href$='#ex-{FIRST}']) .is").inner_text() == say(
        "progress_is_solved"
    )
    with page.expect_download() as download:
        page.get_by_role("button", name=say("exercises_save")).click()
    download.value.save_as(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text("utf-8")) == {
        key: json.loads(value) for key, value in everything
    }


KEY = f"attention-book.exercise.{FIRST}"
UNKNOWN = [
    "",
    "[",
    "[]x",
    "7",
    "null",
    "[]",
    '{"a": 1}',
    json.dumps({KEY: "text"}),
    json.dumps({KEY: {"text": 7}}),
]
UNKNOWN += [json.dumps({KEY: {"text": "x", "more": 1}}), json.dumps({KEY: {"text": "x"}, "b": {}})]
UNKNOWN += [
    json.dumps({f"{KEY}<img>": {"text": "x"}}),
    json.dumps({"attention-book.quiz.a": {"b": "c"}}),
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_file_of_another_form_changes_nothing(page, address, tmp_path, text):
    page.goto(f"{address}/{ALL}")
    keep(page, **{FIRST: begun(ANSWER)})
    Path(tmp_path / "x.json").write_text(text, encoding="utf-8")
    page.locator("input[type=file]").set_input_files(tmp_path / "x.json")
    wait_for(
        page,
        "(words) => document.querySelector('[role=status]').textContent.startsWith(words)",
        "it is refused",
        say("exercises_unknown"),
    )
    assert page.evaluate("Object.keys(localStorage)") == [KEY]
    assert kept(page) == begun(ANSWER)


def test_choices_of_the_quiz_stay_open(page, address):
    page.goto(f"{address}/{PAGE}")
    choices = page.locator(".quiz details")
    for n in (1, 2, 5):
        choices.nth(n).locator("summary").click()
    choices.nth(2).locator("summary").press("Enter")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # which opens all, and is no choice
    page.reload()
    opened = choices.evaluate_all("all => all.flatMap((e, n) => e.open ? [n] : [])")
    assert opened == [1, 5]
    page.goto(f"{address}/book/{chapters()[2].name}.html")
    assert page.locator(".quiz details[open]").count() == 0
