"""Firefox and WebKit: three exercises, every figure that is touched, as in Chromium, and the EPUB.

Run by hand, `make test-others`, with Debian's firefox-esr, webkit2gtk-driver and xvfb.
"""

import re

import pytest

from course.chapters import chapters
from tests.browser.kernel.test_write import functions, jobs, site  # noqa: F401 (a fixture)
from tests.browser.live.figures import SHOWN
from tests.browser.others import drivers
from tests.browser.paper.test_epub import read_through, unpacked  # noqa: F401 (a fixture)
from tests.browser.waiting import SETTLED

BROWSERS = {
    "firefox": drivers.FIREFOX,
    "webkit": drivers.WEBKIT and drivers.BROWSER,
}
EXERCISES = ["softmax", "merge-heads", "rms-norm"]
OPEN = """(name) => new Promise((done) => {
  document.querySelector(`.write-open[value="${name}"]`).click();
  const look = () => document.querySelector(".write .cm-content") ? done(1) : setTimeout(look, 50);
  look();
})"""
# What a hand would do: select all, type one line, press the first button.
PLAY = """(text) => new Promise((done) => {
  const box = document.querySelector(".write"), field = box.querySelector(".cm-content");
  const all = {key: "a", keyCode: 65, ctrlKey: true, bubbles: true, cancelable: true};
  field.focus();
  field.dispatchEvent(new KeyboardEvent("keydown", all));
  const look = () => {
    const state = box.dataset.state;
    if (["noted", "waiting", "running"].includes(state)) return setTimeout(look, 50);
    const text = (name) => box.querySelector(name).textContent;
    done({state, said: text(".write-said"), printed: text(".write-printed")});
  };
  setTimeout(() => {
    document.execCommand("insertText", false, text);
    setTimeout(() => {
      box.querySelector("button").click();
      look();
    }, 100);
  }, 100);
})"""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CONTROLS = ".live-controls :is(select, [type=range], [type=checkbox])"
# What each figure says at first, and when each control is moved to its end.
TOUCH = """async ([name, controls]) => {
  const errors = [];
  addEventListener("error", ({message}) => errors.push(message));
  const figure = document.querySelector(`[data-live="${name}"]`);
  figure.scrollIntoView();
  const rest = async () => {
    let last, same = 0;
    while (same < 12) {
      await new Promise((done) => setTimeout(done, 50));
      const moving = !figure.matches(".ready:not(.moving)");
      const now = figure.querySelector(".live-said").textContent;
      same = !moving && now && now === last ? same + 1 : 0;
      last = now;
    }
    return last;
  };
  const told = [await rest()];
  for (const input of figure.querySelectorAll(controls)) {
    if (input.type === "checkbox") input.checked = !input.checked;
    else if (input.type === "range") input.value = input.max;
    else input.selectedIndex = input.options.length - 1;
    input.dispatchEvent(new Event("input", {bubbles: true}));
    told.push(await rest());
  }
  const go = figure.querySelector(".live-stage .go"); // it writes, in a worker, when asked
  if (go) {
    go.click();
    for (let last = told.at(-1); last === told[0];) last = await rest();
    told.push(await rest());
  }
  return {told, errors, wide: document.documentElement.scrollWidth - innerWidth};
}"""


@pytest.fixture(params=BROWSERS)
def browser(request):
    """Return a tab of a browser that is started anew; where there is none, say so."""
    if not BROWSERS[request.param]:
        pytest.skip(f"no {request.param} found: install firefox-esr, or webkit2gtk-driver and xvfb")
    with getattr(drivers, request.param)() as found:
        yield found


def one_line(job):
    """Return a text that no editor indents."""
    return job["text"].strip().replace("\n", "; ")


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_is_solved_and_a_mistake_named(browser, site, name):  # noqa: F811
    (chapter,) = (each for each in chapters() if name in each.exercises)
    browser.goto(f"{site}book/{chapter.name}.html")
    assert browser.evaluate(OPEN, name)
    (_, right, said), (_, wrong, message), *_ = jobs(chapter, name, functions()[name])
    told = browser.evaluate(PLAY, one_line(right))
    assert (told["state"], told["printed"]) == ("accepted", said)
    told = browser.evaluate(PLAY, one_line(wrong))
    assert (told["state"], told["said"]) == ("wrong", message.replace("`", ""))


@pytest.mark.parametrize(("name", "page"), SHOWN)
def test_a_figure_says_what_it_says_in_chromium(browser, one_page, site, name, page):  # noqa: F811
    seen = []
    for tab in (browser, one_page):
        tab.goto(f"{site}{page}")
        tab.evaluate(SETTLED)  # WebKit keeps no place while a page grows above it
        seen.append(tab.evaluate(TOUCH, [name, CONTROLS]))
    here, chromium = seen
    assert here["errors"] == []
    assert here["wide"] <= 0
    for now, then in zip(here["told"], chromium["told"], strict=True):
        assert NUMBER.sub("#", now) == NUMBER.sub("#", then)
        # Sines differ in the last bit, so a number that is rounded may in its last digit.
        both = [list(map(float, NUMBER.findall(text))) for text in (now, then)]
        assert both[0] == pytest.approx(both[1], abs=0.0101)
    assert len(set(here["told"])) > 1


# What of a figure stands beyond its edge, which on a phone is that of the text.
BEYOND = """async (name) => {
  await document.fonts.ready;
  const figure = document.querySelector(`[data-live="${name}"]`);
  figure.scrollIntoView();
  await new Promise((done) => setTimeout(done, 300));
  const edge = figure.getBoundingClientRect().right + 0.5;
  return [...figure.querySelectorAll(".live-controls *")]
    .filter((e) => e.getBoundingClientRect().right > edge).map((e) => e.outerHTML.slice(0, 99));
}"""


@pytest.mark.parametrize(("name", "page"), SHOWN)
def test_on_a_phone_no_control_stands_out(browser, site, name, page):  # noqa: F811
    browser.resize(400)
    browser.goto(f"{site}{page}")
    assert browser.evaluate(BEYOND, name) == []


def test_the_epub_is_read_and_shown(browser, serve, unpacked):  # noqa: F811
    browser.resize(420)
    assert not any(read_through(unpacked, serve, browser))  # neither has asked for the dark
