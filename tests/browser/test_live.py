"""Figures that are touched: anybody can use and read them, and their numbers are attnbook's."""

import gzip
from importlib.resources import files
from urllib.parse import urlsplit

import numpy as np
import pytest
from bs4 import BeautifulSoup

from attnbook import (
    apply_rotary,
    dates,
    effective_keys,
    merge_heads,
    pretrained,
    scaled_dot_product_attention,
    sinusoidal_encoding,
    small_world,
    softmax,
    split_heads,
)
from attnbook.translator import after_start
from course.chapters import ROOT
from course.promises import keep

SITE = ROOT / "_build" / "html"
LIVE = ROOT / "book/live"
NAMES = sorted(path.name for path in LIVE.iterdir() if path.is_dir())
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SHOWN = [
    (figure["data-live"], path.relative_to(SITE).as_posix())
    for path in sorted(SITE.glob("book/*.html"))
    for figure in BeautifulSoup(path.read_bytes(), "html.parser").select("[data-live]")
]
every_place = pytest.mark.parametrize(("name", "page_of"), SHOWN)
every_figure = pytest.mark.parametrize(("name", "page_of"), list(dict(SHOWN).items()))
KIB = 1024


def test_every_figure_is_shown():
    assert {name for name, _ in SHOWN} == set(NAMES) != set()


@pytest.fixture
def open_figure(chromium, address):
    """Return a function that opens a figure's page and returns both, the figure in sight."""
    contexts = []

    def open_figure(name, page_of, asked="", *, width=1280, theme="light", **options):
        about = {"viewport": {"width": width, "height": 900}, "color_scheme": theme, **options}
        contexts.append(chromium.new_context(**about))
        page = contexts[-1].new_page()
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on(
            "request",
            lambda request: (
                page.troubles.append(request.url)
                if urlsplit(request.url).netloc not in ("", urlsplit(address).netloc)
                else None
            ),
        )
        page.goto(f"{address}/{page_of}{asked}")
        figure = page.locator(f"[data-live={name}]")
        figure.scroll_into_view_if_needed()
        if options.get("java_script_enabled", True):
            page.wait_for_selector(f"[data-live={name}].ready")
        return page, figure

    yield open_figure
    for context in contexts:
        context.close()


def said(figure):
    figure.page.wait_for_function("e => !e.matches('.moving')", arg=figure.element_handle())
    return figure.locator(".live-said").inner_text()


def controls(figure):
    """Return what is seen of a figure's controls, but the reset."""
    return figure.locator(".live-controls label > *:not(span, output)").all()


def use(control):
    """Change a control by the keyboard alone."""
    control.focus()
    kind = control.evaluate("e => e.type")
    before = control.input_value()
    keys = {"checkbox": ["Space"], "range": ["ArrowRight", "ArrowLeft"], "text": ["1"]}
    for key in keys.get(kind, ["ArrowDown", "ArrowUp"]):
        if control.input_value() == before:  # the last of a list has none below it
            control.press(key)


VALUES = (
    "e => [...e.querySelectorAll('[name]')].map((i) => i.type === 'checkbox' ? i.checked : i.value)"
)


@every_figure
def test_it_is_used_by_keyboard_reset_and_linked_to(open_figure, name, page_of):
    page, figure = open_figure(name, page_of)
    first, words = figure.evaluate(VALUES), said(figure)
    assert figure.locator(".live-try").inner_text()
    assert words
    assert "{" not in words
    assert "undefined" not in words
    for control in controls(figure):
        before = figure.evaluate(VALUES)
        use(control)
        assert figure.evaluate(VALUES) != before
        assert "{" not in said(figure)
    changed, told, address = figure.evaluate(VALUES), said(figure), page.url
    assert told != words
    assert f"{name}." in address
    _, again = open_figure(name, page_of, "?" + urlsplit(address).query)
    assert again.evaluate(VALUES) == changed
    assert said(again) == told
    figure.locator(".live-reset").press("Enter")
    assert said(figure) == words
    assert figure.evaluate(VALUES) == first
    assert f"{name}." not in page.url
    assert page.troubles == []


@every_figure
def test_an_address_that_makes_no_sense_does_no_harm(open_figure, name, page_of):
    keys = BeautifulSoup((SITE / page_of).read_bytes(), "html.parser").select(
        f"[data-live={name}] [name]"
    )
    asked = "&".join(f"{name}.{key['name']}=nonsense" for key in keys)
    page, figure = open_figure(name, page_of, f"?{asked}")
    assert "NaN" not in said(figure)
    assert page.troubles == []


@every_figure
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_nothing_is_cut_or_small_and_axe_finds_nothing(open_figure, name, page_of, width, theme):
    page, figure = open_figure(name, page_of, width=width, theme=theme)
    for control in controls(figure):
        use(control)
    said(figure)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    smallest = figure.evaluate(
        """e => Math.min(...[...e.querySelectorAll("button, input:not([type=hidden]), select")]
        .map((i) => i.getBoundingClientRect()).flatMap((box) => [box.height, box.width]))"""
    )
    keep(name, "a live figure", "target", smallest)
    page.evaluate(AXE)
    found = page.evaluate(
        "async (where) => (await axe.run(where, {resultTypes: ['violations']})).violations",
        f"[data-live={name}]",
    )
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []


@every_place
@pytest.mark.parametrize("width", [1280, 390])
def test_its_place_is_kept_until_its_script_starts(chromium, address, name, page_of, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    figure, boxes = page.locator(f"[data-live={name}]"), []
    page.route("**/live-*.js*", lambda route: route.abort())
    for _ in range(2):
        page.goto(f"{address}/{page_of}")
        page.evaluate("document.fonts.ready")
        figure.scroll_into_view_if_needed()
        if boxes:
            page.wait_for_selector(f"[data-live={name}].ready")
            page.wait_for_timeout(300)
        boxes.append(figure.bounding_box()["height"])
        page.unroute_all()
    page.close()
    assert boxes[0] == pytest.approx(boxes[1], abs=1)


@every_figure
def test_without_scripts_and_on_paper_the_picture_is_there(open_figure, name, page_of):
    _, figure = open_figure(name, page_of, java_script_enabled=False)
    picture, panel = figure.locator("img.on-light"), figure.locator(".live-controls")
    assert picture.is_visible()
    assert picture.bounding_box()["width"] > 300
    assert not panel.is_visible()
    page, figure = open_figure(name, page_of)
    assert panel.count() == 1
    assert figure.locator("img.on-light").is_visible() == figure.locator(".still").count()
    page.emulate_media(media="print")
    assert figure.locator("img.on-light").is_visible()
    assert not figure.locator(".live-controls").is_visible()
    assert not figure.locator("svg, .live-stage > div").first.is_visible()


@every_figure
def test_a_drag_answers_within_a_frame_of_a_slow_machine(open_figure, name, page_of):
    page, figure = open_figure(name, page_of)
    session = page.context.new_cdp_session(page)
    # Time of the thread, not of the wall: what else the machine does is no part of it.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent():
        metrics = session.send("Performance.getMetrics")["metrics"]
        parts = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
        return 1000 * sum(each["value"] for each in metrics if each["name"] in parts)

    def dragged():
        before = spent()
        drags = figure.evaluate(
            """async (e) => {
            const input = e.querySelector("input[type=range]") ?? e.querySelector("[name]");
            let i = 0;
            for (; i < 40; i++) {
              input.value = input.type === "range"
                ? +input.min + (i % 20) / 20 * (input.max - input.min)
                : input.options[i % input.options.length].value;
              input.dispatchEvent(new Event("input", {bubbles: true}));
              await new Promise((done) => requestAnimationFrame(() => {
                e.getBoundingClientRect();  // what was drawn is laid out
                done();
              }));
            }
            return i; }"""
        )
        return 4 * (spent() - before) / drags

    # The best of three: the caches of a core are shared with what else it does.
    assert 0 < min(dragged() for _ in range(3)) < 16


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small(name):
    shared = [LIVE / part for part in ("core.js", "frame.js", "frame.css")]
    own = [LIVE / name / f"figure.{kind}" for kind in ("js", "css", "toml")]
    packed = sum(len(gzip.compress(path.read_bytes())) for path in shared + own)
    keep(f"book/live/{name}", "a live figure", "packed", packed / KIB)


@pytest.mark.parametrize(
    ("name", "most"), [("dates", 60_000), ("heads", 85_000), ("story", 280_000)]
)
def test_what_it_loads_is_small(name, most):
    assert len(gzip.compress((SITE / f"_static/live-{name}-data.js").read_bytes())) <= most


def test_nothing_moves_by_itself():
    for path in LIVE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert "animation" not in text
        assert "transition" not in text


# ---- The numbers ---------------------------------------------------------------------------

# Set the inputs of a figure in one go, and read what is drawn.
TRY = """async ([name, settings, read]) => {
  const figure = document.querySelector(`[data-live="${name}"]`), found = [];
  const reader = new Function("e", `return ${read}`);
  for (const setting of settings) {
    for (const [key, value] of Object.entries(setting)) {
      const input = figure.querySelector(`[name="${key}"]`);
      if (input.type === "checkbox") input.checked = value; else input.value = value;
      input.dispatchEvent(new Event("input", {bubbles: true}));
    }
    await new Promise(requestAnimationFrame);
    found.push(reader(figure));
  }
  return found;
}"""


def tried(page, name, settings, read):
    return page.evaluate(TRY, [name, settings, read])


def on_clock(hour):
    return np.stack([np.sin(hour * np.pi / 6), np.cos(hour * np.pi / 6)], axis=-1)


def test_the_clock_shows_what_attnbook_computes(open_figure):
    rng = np.random.default_rng(0)
    page, _ = open_figure("clock", "book/index.html")
    settings = [
        {
            "hand": round(rng.uniform(0.5, 12.5), 1),
            "temperature": round(rng.uniform(0.02, 3), 2),
            "hour": int(rng.integers(1, 13)),
            "length": round(rng.uniform(1, 4), 1),
        }
        for _ in range(200)
    ]
    read = """{weights: [...e.querySelectorAll(".dot")].map((dot) => +dot.dataset.weight),
      radii: [...e.querySelectorAll(".dot")].map((dot) => +dot.getAttribute("r")),
      output: e.querySelector(".answer").dataset.output.split(",").map(Number),
      place: e.querySelector(".answer").getAttribute("transform"),
      effective: +e.querySelector(".answer").dataset.effective}"""
    hours = on_clock(np.arange(1, 13))
    for setting, shown in zip(settings, tried(page, "clock", settings, read), strict=True):
        keys = hours * np.where(np.arange(1, 13) == setting["hour"], setting["length"], 1)[:, None]
        output, weights = scaled_dot_product_attention(
            on_clock(np.array([setting["hand"]])), keys, hours, scale=1 / setting["temperature"]
        )
        np.testing.assert_allclose(shown["weights"], weights[0], atol=1e-6)
        np.testing.assert_allclose(shown["radii"], np.sqrt(6 + 700 * weights[0]), atol=1e-6)
        np.testing.assert_allclose(shown["output"], output[0], atol=1e-6)
        x, y = map(float, shown["place"].removeprefix("translate(").rstrip(")").split())
        np.testing.assert_allclose([x, -y], 100 * output[0], atol=1e-4)
        assert shown["effective"] == pytest.approx(effective_keys(weights)[0], abs=1e-6)


def test_the_hand_of_the_clock_is_dragged(open_figure):
    page, figure = open_figure("clock", "book/index.html")
    box = figure.locator("svg").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 80, middle[1], steps=4)
    page.mouse.up()
    assert said(figure)
    assert figure.locator("[name=hand]").input_value() == "9"
    assert "clock.hand=9" in page.url


def test_clocks_of_a_position_show_the_encoding_and_its_dot_product(open_figure):
    page, _ = open_figure("positions", "book/05-sinusoidal-encoding.html")
    rng = np.random.default_rng(0)
    settings = [
        {
            "position": int(rng.integers(0, 201)),
            "offset": int(rng.integers(0, 65)),
            "base": str(rng.choice([4, 100, 10000])),
            "columns": str(rng.choice([8, 16, 24])),
        }
        for _ in range(200)
    ]
    read = """{hands: ["here", "there"].map((name) => [...e.querySelectorAll(`line.${name}`)]
        .map((hand) => ["x1", "y1", "x2", "y2"].map((end) => +hand.getAttribute(end)))),
      curve: e.querySelector(".curve").getAttribute("d").slice(1).split("L")
        .map((at) => +at.split(" ")[1]),
      dot: ["cx", "cy"].map((at) => +e.querySelector(".dot").getAttribute(at)),
      product: +e.querySelector(".dot").dataset.product}"""
    for setting, shown in zip(settings, tried(page, "positions", settings, read), strict=True):
        d_model, base = int(setting["columns"]), float(setting["base"])
        table = sinusoidal_encoding(300, d_model, base=base)
        rows = table[[setting["position"], setting["position"] + setting["offset"]]]
        ends = np.array(shown["hands"])
        hands = (ends[..., 2:] - ends[..., :2]) * [1, -1] / 28  # to the right, and up
        np.testing.assert_allclose(hands.reshape(2, -1), rows, atol=1e-6)
        assert shown["product"] == pytest.approx(rows[0] @ rows[1], abs=1e-6)
        products = table[:65] @ table[0] / (d_model / 2)
        heights = np.array(shown["curve"])
        scale = (heights[0] - heights[1]) / (products[0] - products[1])
        np.testing.assert_allclose(heights - heights[0], scale * (products - 1), atol=1e-6)
        assert shown["dot"][1] == pytest.approx(heights[setting["offset"]], abs=1e-6)


def five_tests(split, merge):
    """Return which properties of a right split and merge hold, for 4 tokens of 3 heads of 2."""
    x = np.arange(24.0).reshape(4, 6)
    own = np.arange(6) // 2 == np.arange(3)[:, None]  # (heads, columns)

    def moves(given, mix):
        return merge(mix(split(x + given))) != merge(mix(split(x)))

    def running(heads):
        return heads.cumsum(axis=-2)

    def total(heads):
        return np.broadcast_to(heads.sum(axis=-2, keepdims=True), heads.shape)

    def later(t):
        return np.arange(4)[:, None] >= t

    tokens, heads = np.eye(4)[..., None], range(3)  # of tokens: (which, token, 1)
    return {
        "slice": all(
            np.array_equal(moves(tokens[t] * own[g], running), later(t) & own[g])
            for t in range(4)
            for g in heads
        ),
        "own": all(not np.delete(split(x + own[g]) != split(x), g, axis=0).any() for g in heads),
        "reaches": all(moves(1.0 * t, total).any(axis=-1).all() for t in tokens),
        "trip": np.array_equal(merge(split(x)), x),
        "leak": all(not (moves(1.0 * tokens[t], running) & ~later(t)).any() for t in range(4)),
    }


def test_where_each_number_goes_and_which_tests_see_it(open_figure):
    page, _ = open_figure("numbers", "book/04-multi-head.html")
    ways = {
        "split": {"right": lambda x: split_heads(x, 3), "wrong": lambda x: x.reshape(3, 4, 2)},
        "merge": {"right": merge_heads, "wrong": lambda heads: heads.reshape(4, 6)},
    }
    settings = [
        {"number": number, "split": split, "merge": merge}
        for split in ways["split"]
        for merge in ways["merge"]
        for number in range(24)
    ]
    read = """{cells: [...e.querySelectorAll(".cell")].map((cell) => +cell.textContent),
      followed: [...e.querySelectorAll(".cell")].flatMap((cell, at) =>
        cell.matches(".followed") ? [at] : []),
      lamps: Object.fromEntries([...e.querySelectorAll(".lamp")].map((lamp) =>
        [lamp.dataset.test, lamp.textContent.startsWith("✓")]))}"""
    x = np.arange(24.0).reshape(4, 6)
    for setting, shown in zip(settings, tried(page, "numbers", settings, read), strict=True):
        split, merge = (ways[step][setting[step]] for step in ("split", "merge"))
        cells = np.concatenate([x.ravel(), split(x).ravel(), merge(split(x)).ravel()])
        assert shown["cells"] == cells.tolist()
        assert shown["followed"] == np.flatnonzero(cells == setting["number"]).tolist()
        assert shown["lamps"] == five_tests(split, merge)


def test_words_are_marked_with_the_recorded_weights(open_figure):
    page, _ = open_figure("heads", "book/01-why-attention.html")
    rng, sentences = np.random.default_rng(0), pretrained.sentences()
    settings = []
    for _ in range(200):
        number = int(rng.integers(len(sentences)))
        settings.append(
            {
                "sentence": str(number),
                "word": int(rng.integers(len(pretrained.tokens(sentences[number])))),
                "layer": int(rng.choice([0, 1, 2, 3, 3, 3, 4, 5])),
                "head": int(rng.integers(12)),
                "measure": str(rng.choice(["weight", "norm"])),
            }
        )
    read = """{shares: [...e.querySelectorAll(".word")].map((word) => +word.dataset.share),
      words: [...e.querySelectorAll(".word")].map((word) => word.textContent),
      arcs: [...e.querySelectorAll(".arc")].map((arc) => +arc.getAttribute("stroke-width")),
      grid: [...e.querySelectorAll(".grid i")].map((cell) => +cell.dataset.most)}"""
    for setting, shown in zip(settings, tried(page, "heads", settings, read), strict=True):
        sentence, word = sentences[int(setting["sentence"])], setting["word"]
        weights = pretrained.recorded_weights(sentence)
        layer, head = setting["layer"], setting["head"]
        expected = weights[layer, head, word]
        if setting["measure"] == "norm" and (layer == 3 or (layer, head) in [(0, 2), (1, 8)]):
            about = pretrained.head_projections(layer, head)
            values = pretrained.hidden_states(sentence, layer) @ about.w_v + about.b_v
            expected = expected * np.linalg.norm(values, axis=-1)
            expected /= expected.sum()
        percents = np.rint(100 * expected)
        assert shown["words"] == list(pretrained.tokens(sentence))
        assert shown["shares"] == percents.tolist()
        others = np.delete(percents, word)
        np.testing.assert_allclose(shown["arcs"], others[others >= 2] / 9, atol=1e-6)
        most = np.rint(100 * weights[:, :, word].max(axis=-1)).ravel()
        assert shown["grid"] == most.tolist()


def hidden_by(x, seen, way):
    """Attend with a mask that is applied in one of three ways."""
    if way == "before":
        return scaled_dot_product_attention(x, x, x, seen)
    scores = x @ x.T / np.sqrt(2)
    weights = softmax(scores) * seen if way == "after" else softmax(np.where(seen, scores, -1e9))
    return weights @ x, weights


def test_the_mask_lab_attends_and_leaks_as_numpy_does(open_figure):
    page, _ = open_figure("masks", "book/02-scaled-dot-product.html")
    rng = np.random.default_rng(0)
    x = np.array([[1.0, 1], [0, 1], [2, 0], [1, 0]])
    settings = [
        {
            "wiggle": str(rng.choice(["none", "0", "1", "2", "3"])),
            "apply": str(rng.choice(["before", "large", "after"])),
            "start": "own",
            "mask": "".join(rng.choice(["0", "1"], size=16)),
        }
        for _ in range(200)
    ]
    read = """{weights: [...e.querySelectorAll(".weight")].map((cell) => +cell.dataset.weight),
      outputs: [...e.querySelectorAll(".output")].map((row) =>
        row.dataset.output.split(",").map(Number)),
      states: [...e.querySelectorAll(".output")].map((row) => row.textContent)}"""
    for setting, shown in zip(settings, tried(page, "masks", settings, read), strict=True):
        seen = np.array(list(setting["mask"]), dtype=int).reshape(4, 4) == 1
        output, weights = hidden_by(x, seen, setting["apply"])
        np.testing.assert_allclose(shown["weights"], weights.ravel(), atol=1e-6)
        np.testing.assert_allclose(shown["outputs"], output, atol=1e-6)
        changed = x.copy()
        token = None if setting["wiggle"] == "none" else int(setting["wiggle"])
        if token is not None:
            changed[token] += 0.5
        moved = np.abs(hidden_by(changed, seen, setting["apply"])[0] - output).max(axis=-1) > 1e-9
        expected = [
            "stays" if not moved[i] else "moves" if i == token or seen[i, token] else "leaks"
            for i in range(4)
        ]
        assert shown["states"] == expected


def test_a_cell_of_the_mask_is_pressed_by_keyboard(open_figure):
    _, figure = open_figure("masks", "book/02-scaled-dot-product.html")
    cell = figure.get_by_role("button", name="crane may see fish")
    assert cell.get_attribute("aria-pressed") == "false"
    cell.press("Enter")
    said(figure)
    assert figure.locator("[name=start]").input_value() == "own"
    assert cell.get_attribute("aria-pressed") == "true"


def on_circle(degrees):
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def test_rotary_arrows_and_score_are_those_of_apply_rotary(open_figure):
    page, _ = open_figure("rotary", "book/06-modern-positions.html")
    rng = np.random.default_rng(0)
    # Which way the query turns and in which pairs; the same of the key.
    mistakes = {
        "none": ((1, "interleaved"), (1, "interleaved")),
        "backward": ((1, "interleaved"), (-1, "interleaved")),
        "halves": ((1, "interleaved"), (1, "halves")),
        "backward-both": ((-1, "interleaved"), (-1, "interleaved")),
        "halves-both": ((1, "halves"), (1, "halves")),
    }
    settings = [
        {
            **{name: int(rng.integers(0, 25)) for name in ("m", "n")},
            "both": int(rng.integers(0, 33)),
            "mistake": str(rng.choice(list(mistakes))),
            **{name: int(rng.integers(-180, 181)) for name in ("query", "key")},
        }
        for _ in range(200)
    ]
    read = """{arrows: ["before", "after"].map((when) => ["query", "key"].map((name) =>
        [...e.querySelectorAll(`path.${name}.${when}`)].map((arrow) =>
          [...(arrow.getAttribute("d") + arrow.getAttribute("transform"))
            .match(/H(.+?)m0-5 (.+?) .*rotate\\((.+?)\\)/)].slice(1).map(Number)))),
      grips: ["before", "after"].map((when) => ["query", "key"].map((name) =>
        ["cx", "cy"].map((at) => +e.querySelector(`.${name}.${when}.grip`).getAttribute(at)))),
      curve: e.querySelector(".curve").getAttribute("d").slice(1).split("L")
        .map((at) => at.split(" ").map(Number)),
      right: e.querySelector(".right").getAttribute("d").match(/ (.+)H/)?.[1],
      dot: ["cx", "cy"].map((at) => +e.querySelector(".dot").getAttribute(at)),
      score: +e.querySelector(".dot").dataset.score,
      told: e.querySelector("text.score").textContent}"""
    moved = np.arange(0, 32.25, 0.25)
    for setting, shown in zip(settings, tried(page, "rotary", settings, read), strict=True):
        before, after, right, offset = [], [], [], setting["both"]
        for name, fast, at, (way, pairing) in zip(
            ("query", "key"), (20, -40), "mn", mistakes[setting["mistake"]], strict=True
        ):
            row = np.concatenate([0.5 * on_circle(fast), on_circle(setting[name])])
            positions = setting[at] + moved
            rows = np.tile(row, (len(moved), 1))
            before.append(row)
            after.append(apply_rotary(rows, way * positions, base=100, pairing=pairing))
            right.append(apply_rotary(rows, positions, base=100))
        long, head, turned = np.moveaxis(np.array(shown["arrows"]), -1, 0)
        ends = (long + head) / 84 * on_circle(-turned)  # (x and y, when, query or key, plane)
        now = [rows[4 * offset] for rows in after]
        expected = np.array([before, now]).reshape(2, 2, 2, 2)[:, :, ::-1]  # the slow pair first
        np.testing.assert_allclose(np.moveaxis(ends, 0, -1), expected, atol=1e-6)
        tips = [125, 130] + 84 * expected[:, :, 0] * [1, -1]
        np.testing.assert_allclose(shown["grips"], tips, atol=1e-4)
        scores = (after[0] * after[1]).sum(axis=-1)
        assert shown["score"] == pytest.approx(scores[4 * offset], abs=1e-6)
        assert shown["told"].replace("−", "-") == f"{scores[4 * offset]:.2f}"
        across, heights = np.array(shown["curve"]).T
        np.testing.assert_allclose(340 - heights, 50 * scores / 1.25, atol=1e-4)
        assert shown["dot"] == pytest.approx([across[4 * offset], heights[4 * offset]])
        if setting["mistake"] == "none":
            assert np.ptp(scores) < 1e-12
            assert shown["right"] is None
        else:
            best = (right[0] * right[1]).sum(axis=-1)[0]
            assert 340 - float(shown["right"]) == pytest.approx(50 * best / 1.25, abs=1e-4)


def test_arrows_are_dragged_and_the_curve_moves_both(open_figure):
    _, figure = open_figure("rotary", "book/06-modern-positions.html", "?rotary.m=0&rotary.n=10")
    rim, mouse = figure.locator(".rim").first.bounding_box(), figure.page.mouse
    for name, expected in (("query", -90), ("key", -90 - 57)):  # the key has turned by 10 positions
        box = figure.locator(f".{name}.after.grip").bounding_box()
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        mouse.down()
        mouse.move(rim["x"] + rim["width"] / 2, rim["y"] + rim["height"] - 3, steps=4)
        mouse.up()
        said(figure)
        found = int(figure.locator(f"[name={name}]").input_value())
        assert found == pytest.approx(expected, abs=1)
    first = figure.locator("text.score").text_content()
    figure.locator(".back").click(force=True)
    assert figure.locator("[name=both]").input_value() == "16"
    assert "16" in said(figure)
    assert figure.locator("text.score").text_content() == first


def test_a_finger_turns_an_arrow_and_not_the_page(open_figure):
    options = {"width": 390, "has_touch": True}
    page, figure = open_figure("rotary", "book/06-modern-positions.html", **options)
    page.wait_for_timeout(300)  # where the page was scrolled to has settled
    before, fingers = page.evaluate("scrollY"), page.context.new_cdp_session(page)
    box = figure.locator(".query.after.grip").bounding_box()
    keep("rotary", "a live figure", "target", min(box["width"], box["height"]))
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for i in range(9):
        about = {"type": "touchMove" if i else "touchStart"}
        points = [{"x": x - 4 * i, "y": y + 12 * i}]
        fingers.send("Input.dispatchTouchEvent", {**about, "touchPoints": points})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert "NaN" not in said(figure)
    assert 90 < int(figure.locator("[name=query]").input_value()) < 170
    assert page.evaluate("scrollY") == before


def translated(model, text, hidden):
    """Return what a model writes where some characters are hidden from its decoder, and how."""
    source = dates.encode("".join(char for char in text if char in dates.ALPHABET))
    kept = [mark for char, mark in zip(text, hidden, strict=True) if char in dates.ALPHABET]
    left = np.where(np.array(kept) == "_", dates.PAD, source)
    memory = model.trace(source, [[dates.START]]).memory
    written = model.greedy(left, memory)
    trace = model.trace(left, after_start(written), memory)
    return named(written[0]), softmax(trace.logits[0]), trace.cross_weights[0]


def named(tokens):
    return "".join([*dates.ALPHABET, "?", "?"][token] for token in tokens)


def a_text(rng):
    """Write a date, perhaps with a character changed, or with one that no date has."""
    [example] = dates.examples(rng, 1)
    text, at = list(example.written), int(rng.integers(len(example.written)))
    text[at] = str(rng.choice([text[at], *dates.ALPHABET, *"Aü;é"]))
    return "".join(text)


def test_the_translator_writes_what_attnbook_writes(open_figure):
    rng, model = np.random.default_rng(0), pretrained.translator()
    page, _ = open_figure("dates", "book/08-train-it.html", reduced_motion="reduce")
    settings = []
    for _ in range(200):
        text = a_text(rng)
        left = ["_" if rng.random() < 0.2 else char for char in text.lower()]
        settings.append(
            {
                "text": text,
                "digit": int(rng.integers(1, 11)),
                "head": str(rng.choice(["mean", "0", "1", "2", "3"])),
                "hidden": "".join(left) if rng.random() < 0.5 and "_" in left else "",
            }
        )
    read = """{weights: [...e.querySelectorAll(".char")].map((char) => +char.dataset.weight),
      hidden: [...e.querySelectorAll(".char")].map((char) =>
        char.getAttribute("aria-pressed") === "true"),
      lines: [...e.querySelectorAll("path")].map((line) => +line.getAttribute("stroke-width")),
      answer: [...e.querySelectorAll(".digit b")].map((digit) => digit.textContent).join(""),
      changed: [...e.querySelectorAll(".digit s")].map((digit) => digit.textContent),
      probabilities: [...e.querySelectorAll(".digit")].map((digit) => +digit.dataset.probability),
      best: [...e.querySelectorAll(".guesses b")].map((name) => name.textContent).join(""),
      bars: [...e.querySelectorAll(".guesses i")].map((bar) => +bar.dataset.probability)}"""
    for setting, shown in zip(settings, tried(page, "dates", settings, read), strict=True):
        text, at = setting["text"].lower(), setting["digit"] - 1
        hidden = setting["hidden"] or text
        answer, probabilities, weights = translated(model, text, hidden)
        before = translated(model, text, text)[0]
        assert shown["answer"] == answer
        assert shown["changed"] == [
            "" if a == b else a for a, b in zip(before, answer, strict=True)
        ]
        known = [char in dates.ALPHABET for char in text]
        assert shown["hidden"] == [a and mark == "_" for a, mark in zip(known, hidden, strict=True)]
        row = weights.mean(axis=0) if setting["head"] == "mean" else weights[int(setting["head"])]
        expected = np.zeros(len(text))
        expected[known] = row[at]
        np.testing.assert_allclose(shown["weights"], expected, atol=1e-6)
        np.testing.assert_allclose(shown["lines"], 12 * expected[expected >= 0.02], atol=1e-6)
        np.testing.assert_allclose(shown["probabilities"], probabilities.max(axis=-1), atol=1e-6)
        best = probabilities[at].argsort()[:-4:-1]
        np.testing.assert_allclose(shown["bars"], probabilities[at, best], atol=1e-6)
        assert shown["best"] == named(best)


def test_a_character_is_hidden_by_keyboard_and_shown_again(open_figure):
    page, figure = open_figure("dates", "book/08-train-it.html", "?dates.text=13 mar 98")
    state, first = figure.locator("[name=hidden]"), said(figure)
    figure.locator(".char").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert "“m”" in said(figure)
    assert state.input_value() == "13 _ar 98"
    page.keyboard.press("Enter")
    assert said(figure) == first
    assert state.input_value() == ""
    figure.get_by_role("button", name="hide all else").click()
    assert said(figure) != first
    weights = figure.locator(".char").evaluate_all("e => e.map((each) => +each.dataset.weight)")
    assert [char == "_" for char in state.input_value()] == [weight == 0 for weight in weights]
    figure.get_by_role("button", name="show all").click()
    assert said(figure) == first
    figure.get_by_role("button", name="hide where it looks").click()
    assert "_" in state.input_value()
    figure.locator("[name=text]").fill("4 mär 98")
    assert "“ä”" in said(figure)
    assert state.input_value() == ""  # what was hidden was of another text
    figure.locator("[name=text]").fill("")
    assert said(figure)
    assert not figure.locator(".digit").first.is_visible()
    assert page.troubles == []


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_answer_appears_digit_by_digit_where_motion_is_wanted(open_figure, motion):
    _, figure = open_figure("dates", "book/08-train-it.html", reduced_motion=motion)
    written = figure.evaluate(
        """async (e) => {
        const counts = [], text = e.querySelector("[name=text]");
        text.value = "5/31/2049";  // no digit is the first answer's
        text.dispatchEvent(new Event("input", {bubbles: true}));
        for (let i = 0; i < 120; i++) {
          await new Promise(requestAnimationFrame);
          counts.push(e.querySelectorAll(".digit:not(.later)").length);
        }
        return counts; }"""
    )
    stages = list(dict.fromkeys(written))
    assert stages == ([*range(1, 11)] if motion == "no-preference" else [10])


# ---- Write a story -------------------------------------------------------------------------

STORY = ("story", "book/index.html")
LISTEN = """
window.told = [];
window.Worker = class extends Worker {
  constructor(url) {
    super(url);
    this.addEventListener("message", ({ data }) => window.told.push(data));
  }
};
window.tasks = [];
new PerformanceObserver((list) => {
  window.tasks.push(...list.getEntries().map((each) => each.duration));
}).observe({ type: "longtask" });
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


def test_a_story_is_the_packages_word_for_word(open_figure):
    rng, model = np.random.default_rng(0), pretrained.storyteller()
    page, figure = open_figure(*STORY, "?story.on=yes")
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


def test_a_long_story_is_written_fast_beside_the_page(chromium, address):
    """Of 200 words and more: logits to 1e-3; no task of 50 ms in the page; 150 words a second."""
    model, page = pretrained.storyteller(), chromium.new_page()
    page.add_init_script(LISTEN)
    page.goto(f"{address}/book/index.html?story.temperature=1")
    figure = page.locator("[data-live=story]")
    figure.scroll_into_view_if_needed()
    prompt = " ".join(small_world.story(np.random.default_rng(0), length=400).words[1:131])
    told(figure, prompt=prompt)
    written, longest = [], []
    for _ in range(3):  # what else the machine does only lengthens: the best counts
        page.evaluate("tasks.length = told.length = 0")
        figure.locator(".go").click()
        page.wait_for_function("told.some((each) => each.rate)")
        said(figure)
        longest.append(max(page.evaluate("tasks"), default=0))
        written.append(page.evaluate("told.map(({step, rate}) => step ?? rate)"))
    steps = written[0][:-1]  # the others have other seeds
    tokens = model.tokenizer.encode(f"<start> {prompt}")
    about = {"temperature": 1, "rng": np.random.default_rng(0), "stop": 1}
    expected = model.generate(tokens, 96, **about)
    assert [0, *(step["token"] for step in steps)] == expected.tolist()
    logits = [step["logits"] for step in steps]
    np.testing.assert_allclose(logits, model.logits(expected[:-1]), atol=1e-3)
    assert len(steps) >= 200
    assert max(each[-1] for each in written) >= 150
    assert min(longest) <= 50
    page.close()


def test_the_model_is_loaded_when_asked_and_all_has_less_than_half_a_megabyte(chromium, address):
    page, loaded = chromium.new_page(), {}
    page.on("response", lambda answer: loaded.update({answer.url: answer}))
    page.goto(f"{address}/book/index.html")
    figure = page.locator("[data-live=story]")
    figure.scroll_into_view_if_needed()
    at_rest = said(figure)
    for control in controls(figure):
        use(control)
    said(figure)
    page.mouse.wheel(0, 4000)
    page.wait_for_timeout(300)
    assert not [url for url in loaded if "story-data" in url]
    figure.locator(".live-reset").click()
    assert said(figure) == at_rest
    figure.locator(".go").press("Enter")
    assert said(figure) != at_rest
    own = [answer for url, answer in loaded.items() if "live-" in url and "story" in url]
    assert len(own) == 3  # script, style, model
    sizes = {answer.url: len(answer.body()) for answer in own}
    assert sum(sizes.values()) <= 500_000
    [model] = [size for url, size in sizes.items() if "data" in url]
    assert f"{model / 1e6:.2f} MB" in at_rest
    page.close()


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
    page, figure = open_figure(*STORY)
    page.route("**/live-story-data.js*", lambda route: route.abort())
    at_rest = said(figure)
    figure.locator(".go").click()
    page.wait_for_selector("[data-live=story]:not(.moving)")
    failed = said(figure)
    assert failed != at_rest
    assert figure.evaluate(READ)["still"]
    page.unroute_all()
    figure.locator(".go").click()
    assert said(figure) not in (failed, at_rest)


def test_beginnings_that_it_cannot_read_are_named(open_figure):
    page, figure = open_figure(*STORY)
    go = figure.locator(".go")
    assert "“dragon”" in told(figure, prompt="the dragon is in the park .")
    assert go.is_disabled()
    assert "161" in told(figure, prompt="the " * 161)
    assert go.is_disabled()
    assert "<start>" in told(figure, prompt=" ")
    assert go.is_enabled()
    go.click()
    said(figure)
    model = pretrained.storyteller()
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
    page, figure = open_figure(*STORY)
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
    _, again = open_figure(*STORY, "?" + urlsplit(page.url).query)
    assert said(again) == said(figure)
    assert again.evaluate(READ) == figure.evaluate(READ)
    figure.locator(".go").click()
    said(figure)
    assert figure.locator("[name=seed]").input_value() == "8"
    figure.locator(".word").nth(5).click()
    said(figure)
    assert figure.evaluate(READ)["chosen"] == 5
    assert page.troubles == []


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_story_appears_word_by_word_where_motion_is_wanted(open_figure, motion):
    _, figure = open_figure(*STORY, reduced_motion=motion)
    counts = figure.evaluate(
        """async (e) => {
        const counts = [];
        e.querySelector(".go").click();
        do {
          await new Promise(requestAnimationFrame);
          counts.push(e.querySelectorAll(".word").length);
        } while (e.matches(".moving") && counts.length < 1000);
        return counts; }"""
    )
    seen = [count for count in dict.fromkeys(counts) if count]
    assert len(seen) == 1 if motion == "reduce" else max(np.diff(seen)) <= 4 and len(seen) > 8


def test_only_the_last_of_many_changes_is_shown(open_figure):
    """A slider is drawn while the worker writes: what was asked for in between is passed over."""
    page, figure = open_figure(*STORY, "?story.on=yes&story.temperature=1")
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
    model = pretrained.storyteller()
    begun = model.tokenizer.encode(f"<start> {figure.locator('[name=prompt]').input_value()}")
    expected = model.generate(begun, 96, rng=np.random.default_rng(3), temperature=1, stop=1)
    assert figure.evaluate(READ)["words"] == model.tokenizer.decode(expected).split()
    assert page.troubles == []
