"""The storyteller, which writes in a worker."""

from urllib.parse import urlsplit

import numpy as np
import pytest

from attnbook import softmax
from attnbook.pretrained import storyteller
from attnbook.toys import small_world
from tests.browser.live.figures import SITE, controls, counting, said, use
from tests.browser.waiting import at_rest, wait_for

LISTEN = """
window.told = [];
window.Worker = class extends Worker {
  constructor(url) {
    super(url);
    this.addEventListener("message", ({ data }) => window.told.push(data));
  }
};
"""
READ = """e => ({words: [...e.querySelectorAll(".word")].map((word) => word.textContent),
  weights: [...e.querySelectorAll(".word")].map((word) => +word.dataset.weight),
  chosen: [...e.querySelectorAll(".word")].findIndex((word) => word.ariaPressed === "true"),
  names: [...e.querySelectorAll(".rivals b")].map((name) => name.textContent),
  bars: [...e.querySelectorAll(".rivals i")].map((bar) => +bar.dataset.probability),
  cut: [...e.querySelectorAll(".rivals i")].map((bar) => bar.matches(".cut")),
  kept: +e.querySelector(".bar span").dataset.kept,
  still: e.querySelector(".live-stage").matches(".still")})"""
SET = """(e, setting) => {
  for (const [key, value] of Object.entries(setting)) {
    const input = e.querySelector(`[name="${key}"]`);
    input.value = value;
    input.dispatchEvent(new Event("input", {bubbles: true}));
  }
}"""


def told(figure, **setting):
    """Set inputs of the story, wait until it is written, and return the sentence."""
    figure.evaluate(SET, setting)
    return said(figure)


def a_beginning(rng, least=0, most=100):
    """Return the first words of a story of the small world, without <start>."""
    words = small_world.story(rng).words[1:-1]
    return " ".join(words[: rng.integers(least, min(most, len(words)))])


def test_its_numbers_are_attnbooks(open_figure):
    rng, model = np.random.default_rng(0), storyteller.load()
    page, figure = open_figure("story", "?story.on=yes")
    said(figure)
    names = model.tokenizer.words
    for _ in range(40):
        temperature, top_p = (
            round(rng.uniform(0, 2), 1),
            round(rng.choice(np.arange(2, 21)) / 20, 2),
        )
        temperature *= rng.random() < 0.7
        prompt, seed = a_beginning(rng), int(rng.integers(100))
        layer, head = rng.integers(4, size=2)
        begun = model.tokenizer.encode(f"<start> {prompt}")
        about = {"temperature": temperature, "top_p": top_p, "rng": np.random.default_rng(seed)}
        tokens = model.generate(begun, 96, stop=1, **about)
        chosen = int(rng.integers(1, len(tokens)))
        setting = {"prompt": prompt, "temperature": temperature, "top_p": top_p, "seed": seed}
        sentence = told(figure, **setting, head=f"{layer}.{head}", word=chosen)
        shown = figure.evaluate(READ)
        assert shown["words"] == model.tokenizer.decode(tokens).split()
        trace = model.trace(tokens[:chosen])
        expected = np.zeros(len(tokens))
        expected[:chosen] = trace.weights[layer, head, -1]
        np.testing.assert_allclose(shown["weights"], expected, atol=1e-5)
        shares = softmax(trace.logits[-1].astype(float) / (temperature or 1))
        order = (-shares).argsort(kind="stable")
        best = [*order[:5]] if tokens[chosen] in order[:5] else [*order[:4], tokens[chosen]]
        np.testing.assert_allclose(shown["bars"], shares[best], atol=1e-4)
        assert [names.index(name) for name in shown["names"]] == best or len(set(shares[best])) < 5
        sums = shares[order].cumsum()
        kept = int((sums < top_p).sum()) + 1 if temperature else 1
        if not temperature or np.abs(sums - top_p).min() > 1e-4:
            assert shown["cut"] == [token not in order[:kept] for token in best]
        assert shown["kept"] == chosen * sum(
            2 * each.attention.w_k.shape[1] for each in model.layers
        )
        assert shown["chosen"] == chosen
        assert f"“{names[tokens[chosen]]}”" in sentence
        assert f" {np.rint(100 * expected.max()):.0f} %" in sentence
    assert page.troubles == []


def test_a_long_story_is_written_word_by_word_beside_the_page(open_figure):
    """Of 200 words and more: each comes by itself, logits to 1e-3; the page multiplies nothing."""
    watched = []

    def prepare(page):
        page.add_init_script(LISTEN)
        watched.append(counting(page))

    page, figure = open_figure("story", "?story.temperature=1", own={}, prepare=prepare)
    [calls] = watched
    prompt = " ".join(small_world.story(np.random.default_rng(0), length=400).words[1:131])
    told(figure, prompt=prompt)
    calls()
    figure.locator(".go").click()
    wait_for(page, "told.some((each) => each.rate)", "the story comes to its end")
    said(figure)
    counts = calls()
    *steps, end = page.evaluate("told")
    expected = storyteller.load().generate(
        storyteller.load().tokenizer.encode(f"<start> {prompt}"),
        96,
        temperature=1,
        rng=np.random.default_rng(0),
        stop=1,
    )
    assert "rate" in end
    steps = [each["step"] for each in steps]  # a message has one word
    assert [0, *(step["token"] for step in steps)] == expected.tolist()
    logits = [step["logits"] for step in steps]
    np.testing.assert_allclose(logits, storyteller.load().logits(expected[:-1]), atol=1e-3)
    assert len(steps) >= 200
    # What it takes is the worker's: the page only shows.
    assert "grow" in counts["names"]
    assert not {"dot", "linear", "attention", "softmax", "rotary", "unpack"} & set(counts["names"])
    assert counts["blocks"] <= 200 * len(steps)


def test_the_model_is_loaded_when_asked_and_all_has_less_than_half_a_megabyte(open_figure):
    loaded = {}

    def prepare(page):
        page.on("response", lambda answer: loaded.update({answer.url: answer}))

    page, figure = open_figure("story", own={}, prepare=prepare)
    first = said(figure)
    for control in controls(figure):
        use(control)
    said(figure)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 4000)
    assert at_rest(page) > before
    assert not [url for url in loaded if "story-data" in url]
    figure.locator(".live-reset").click()
    assert said(figure) == first
    figure.locator(".go").press("Enter")
    assert said(figure) != first
    own = [answer for url, answer in loaded.items() if "live-" in url and "story" in url]
    assert len(own) == 2  # script and model: its style stands in the page
    sizes = {answer.url: len(answer.body()) for answer in own}
    assert sum(sizes.values()) <= 500_000
    [model] = [size for url, size in sizes.items() if "data" in url]
    assert f"{model / 1e6:.2f} MB" in first


def test_a_story_is_written_from_disk(chromium):
    page, troubles = chromium.new_page(), []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto((SITE / "book/index.html").as_uri())
    figure = page.locator("[data-live=story]")
    figure.locator(".go").click()
    page.wait_for_selector("[data-live=story] .word")
    assert "“mill”" in said(figure)
    assert troubles == []
    page.close()


def test_a_story_without_a_model_says_so_and_can_be_asked_again(open_figure):
    page, figure = open_figure("story")
    page.route("**/live-story-data.js*", lambda route: route.abort())
    first = said(figure)
    figure.locator(".go").click()
    failed = said(figure)
    assert failed != first
    assert figure.evaluate(READ)["still"]
    page.unroute_all()
    figure.locator(".go").click()
    assert said(figure) not in (failed, first)


def test_beginnings_that_it_cannot_read_are_named(open_figure):
    page, figure = open_figure("story")
    go = figure.locator(".go")
    assert "“dragon”" in told(figure, prompt="the dragon is in the park .")
    assert go.is_disabled()
    assert "161" in told(figure, prompt="the " * 161)
    assert go.is_disabled()
    assert "<start>" in told(figure, prompt=" ")
    assert go.is_enabled()
    go.click()
    said(figure)
    model = storyteller.load()
    expected = model.generate([0], 96, stop=1)
    assert figure.evaluate(READ)["words"] == model.tokenizer.decode(expected).split()
    # Full stops at words, capital letters: as one writes. A word it lacks stops it again.
    told(figure, prompt="tom is in the Park. where is Tom?")
    assert figure.evaluate(READ)["words"][1:11] == [
        "Tom",
        "is",
        "in",
        "the",
        "park",
        ".",
        "where",
        "is",
        "Tom",
        "?",
    ]
    assert "128" in told(figure, prompt="the " * 160)
    assert "“1”" in told(figure, prompt="Tom is in the park . 1")
    assert figure.evaluate(READ)["still"]
    assert page.troubles == []


def test_words_are_walked_by_arrows_and_a_link_shows_the_same(open_figure):
    page, figure = open_figure("story")
    figure.locator(".go").focus()
    page.keyboard.press("Enter")
    first = said(figure)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaPressed") == "true"
    chosen = figure.evaluate(READ)["chosen"]
    page.keyboard.press("ArrowLeft")
    assert said(figure) != first
    assert figure.evaluate(READ)["chosen"] == chosen - 1
    page.keyboard.press("Home")
    assert "“Tom”" in said(figure)
    told(figure, mistake="unrotated", temperature=1.2, seed=7)
    before, seen = said(figure), figure.evaluate(READ)
    page, figure = open_figure("story", "?" + urlsplit(page.url).query)
    assert said(figure) == before
    assert figure.evaluate(READ) == seen
    figure.locator(".go").click()
    said(figure)
    assert figure.locator("[name=seed]").input_value() == "8"
    figure.locator(".word").nth(5).click()
    said(figure)
    assert figure.evaluate(READ)["chosen"] == 5
    assert page.troubles == []


# How many words are seen in each frame.
WATCH = """(e) => {
  window.counts = [];
  const count = () => {
    window.counts.push(e.querySelectorAll(".word").length);
    requestAnimationFrame(count);
  };
  e.querySelector(".go").click();
  requestAnimationFrame(count);
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_story_appears_word_by_word_where_motion_is_wanted(open_figure, motion):
    page, figure = open_figure("story", reduced_motion=motion)
    said(figure)
    figure.evaluate(WATCH)
    said(figure)
    seen = [count for count in dict.fromkeys(page.evaluate("counts")) if count]
    assert len(seen) == 1 if motion == "reduce" else max(np.diff(seen)) <= 4 and len(seen) > 8


def test_only_the_last_of_many_changes_is_shown(open_figure):
    """A slider is drawn while the worker writes: what was asked for in between is passed over."""
    page, figure = open_figure("story", "?story.on=yes&story.temperature=1")
    said(figure)
    figure.evaluate(
        """async (e) => {
        const seed = e.querySelector("[name=seed]");
        for (const value of [...Array(30).keys(), 3, 4, 3]) {
          seed.value = value;
          seed.dispatchEvent(new Event("input", {bubbles: true}));
          await new Promise(requestAnimationFrame);
        } }"""
    )
    said(figure)
    model = storyteller.load()
    begun = model.tokenizer.encode(f"<start> {figure.locator('[name=prompt]').input_value()}")
    expected = model.generate(begun, 96, rng=np.random.default_rng(3), temperature=1, stop=1)
    assert figure.evaluate(READ)["words"] == model.tokenizer.decode(expected).split()
    assert page.troubles == []
