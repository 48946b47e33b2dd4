"""What figures compute in the browser is what the package computes: asked of Node, in one go."""

import base64
import json
import os
import runpy
import shutil
import subprocess
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from attnbook import (
    MultiHeadAttention,
    Rotary,
    apply_rotary,
    effective_keys,
    scaled_dot_product_attention,
    softmax,
)
from attnbook.decoder import _choose, rms_norm
from attnbook.pretrained import storyteller
from attnbook.toys import small_world
from course.chapters import ROOT

NODE = shutil.which("node") or shutil.which("nodejs")
CORE = ROOT / "book/live/core.js"
STORY = ROOT / "book/live/story"
ASK = """
const asked = require(process.argv[1]);
const given = JSON.parse(require("fs").readFileSync(0), (_, x) => (x === "-inf" ? -Infinity : x));
console.log(JSON.stringify(given.map(([name, ...rest]) => asked[name](...rest))));
"""


def ask(*calls, script=CORE, how=ASK):
    """Return what functions of a script give, of the core's if none is named."""
    if NODE is None:
        assert "CI" not in os.environ, "CI needs Node"
        pytest.skip("Node is not here: install it to test what figures compute")
    given = json.dumps(calls)
    command = [NODE, "-e", how, script]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_softmax(rng):
    rows = [*(10.0 ** rng.uniform(-2, 3) * rng.standard_normal((50, 7))), np.array([1000.0, 999])]
    for row, shown in zip(rows, ask(*(["softmax", list(row)] for row in rows)), strict=True):
        np.testing.assert_allclose(shown, softmax(row), rtol=1e-12, atol=1e-300)
    assert ask(["softmax", ["-inf", "-inf"]]) == [[0, 0]]


@pytest.mark.parametrize("scale", [None, 0.1, 20])
def test_attention(rng, scale):
    for d_k in (1, 3, 64):
        query, key, value = (rng.standard_normal(s) for s in [(4, d_k), (6, d_k), (6, 2)])
        mask = rng.random((4, 6)) < 0.6
        mask[2] = False
        options = {"mask": mask.tolist()} | ({"scale": scale} if scale else {})
        [shown] = ask(["attention", query.tolist(), key.tolist(), value.tolist(), options])
        output, weights = scaled_dot_product_attention(query, key, value, mask, scale=scale)
        np.testing.assert_allclose(shown["output"], output, atol=1e-12)
        np.testing.assert_allclose(shown["weights"], weights, atol=1e-12)


def test_linear(rng):
    x, w, b = (rng.standard_normal(shape) for shape in [(3, 5), (5, 2), 2])
    x, w, b = x.tolist(), w.tolist(), b.tolist()
    shown = ask(["linear", x, w, b], ["linear", x, w])
    np.testing.assert_allclose(shown[0], np.matmul(x, w) + b, atol=1e-12)
    np.testing.assert_allclose(shown[1], np.matmul(x, w), atol=1e-12)


def test_rms_norm(rng):
    x, gain = rng.standard_normal((3, 7)), rng.standard_normal(7)
    x[0] /= 1000  # so that eps counts
    shown = ask(*(["rmsNorm", x.tolist(), gain.tolist(), *eps] for eps in [[], [0.1]]))
    np.testing.assert_allclose(shown[0], rms_norm(x, gain), atol=1e-12)
    np.testing.assert_allclose(shown[1], rms_norm(x, gain, 0.1), atol=1e-12)


@pytest.mark.parametrize("biased", [True, False])
def test_multi_head(rng, biased):
    query, memory, mask = rng.random((2, 6)), rng.random((5, 7)), rng.random((2, 5)) < 0.6
    sizes = {"q": (6, 9), "k": (7, 9), "v": (7, 6), "o": (6, 4)}
    about = {f"w_{letter}": rng.standard_normal(size) for letter, size in sizes.items()}
    if biased:
        about |= {f"b_{letter}": rng.standard_normal(size[1]) for letter, size in sizes.items()}
    layer = {name: array.tolist() for name, array in about.items()} | {"num_heads": 3}
    [shown] = ask(["multiHead", layer, query.tolist(), memory.tolist(), mask.tolist()])
    output, weights = MultiHeadAttention(**about, num_heads=3)(query, memory, memory, mask)
    np.testing.assert_allclose(shown["output"], output, atol=1e-12)
    np.testing.assert_allclose(shown["weights"], weights, atol=1e-12)


def test_effective_keys(rng):
    weights = [*softmax(3 * rng.standard_normal((20, 9))), np.eye(3)[1]]
    shown = ask(*(["effectiveKeys", list(row)] for row in weights))
    np.testing.assert_allclose(shown, [effective_keys(row) for row in weights], rtol=1e-12)


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotary(rng, pairing):
    for head_dim, position, base in [(2, 37, 10000), (4, -5.25, 100), (14, 0, 3), (22, 1009, 7.5)]:
        x, options = rng.standard_normal(head_dim), {"base": base, "pairing": pairing}
        [shown] = ask(["rotary", list(x), position, options])
        expected = apply_rotary(x[None], [position], **options)
        np.testing.assert_allclose(shown, expected[0], atol=1e-12)
    x = rng.standard_normal(6)
    [shown] = ask(["rotary", list(x), 3])
    np.testing.assert_allclose(shown, apply_rotary(x[None], [3])[0], atol=1e-12)


def test_numbers_of_16_bits_are_unpacked(rng):
    given = {"a.w": rng.standard_normal((2, 3, 5)), "a.b": 1e-6 * rng.standard_normal(7)}
    given = {name: array.astype("<f2") for name, array in given.items()}
    numbers = base64.b64encode(b"".join(array.tobytes() for array in given.values())).decode()
    shapes = {name: array.shape for name, array in given.items()}
    [shown] = ask(["unpack", {"shapes": shapes, "numbers": numbers}])
    assert shown == {"a": {"w": given["a.w"].tolist(), "b": given["a.b"].tolist()}}


# ---- Write a story: book/live/story/model.js ----

# Weights are many numbers: told at the first word, the middle one and the last.
WRITE = """
const { unpack, write } = require(process.argv[1]);
const [parameters, ...jobs] = JSON.parse(require("fs").readFileSync(0)), model = unpack(parameters);
console.log(JSON.stringify(jobs.map((job) => {
  const steps = [];
  write(model, job, (step) => steps.push(step));
  const told = [0, Math.floor(steps.length / 2), steps.length - 1];
  return steps.map(({ token, logits, weights }, at) =>
    ({ token, logits, weights: told.includes(at) ? [...weights] : undefined }));
})));
"""
# What a word takes: products of numbers and parameters of the layers, and of queries and keys.
COUNT = """
const { write, unpack } = require(process.argv[1]), core = globalThis.attnbook;
const [parameters, job] = JSON.parse(require("fs").readFileSync(0)), model = unpack(parameters);
const { linear, attention } = core;
let multiplied = 0, scored = 0;
core.linear = (x, w, b) => {
  multiplied += x.length * w.length * w[0].length;
  return linear(x, w, b);
};
core.attention = (query, key, ...others) => {
  scored += query.length * key.length * key[0].length;
  return attention(query, key, ...others);
};
const counts = [];
write(model, job, () => {
  counts.push([multiplied, scored]);
  [multiplied, scored] = [0, 0];
});
console.log(JSON.stringify(counts));
"""
RANDOM = """
const { defaultRng } = require(process.argv[1]), seeds = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(seeds.map((seed) => Array.from({ length: 20 }, defaultRng(seed)))));
"""
CHOOSE = """
const { choose, defaultRng } = require(process.argv[1]);
const calls = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(calls.map(([logits, seed, ...rest]) =>
  choose(logits, defaultRng(seed), ...rest).token)));
"""


def written(*jobs, how=WRITE):
    """Return the steps of each job, as a worker of the page takes them."""
    parameters = runpy.run_path(str(STORY / "data.py"))["data"]()["parameters"]
    return ask(parameters, *jobs, script=STORY / "model.js", how=how)


def job(tokens, **about):
    usual = {"stop": 1, "temperature": 0, "topP": 1, "seed": 0, "mistake": "right"}
    return {"tokens": [int(token) for token in tokens], "most": 201, **usual, **about}


@pytest.fixture(scope="module")
def model():
    return storyteller.load()


def prompts(model, count, seed=0, most=None):
    """Cut stories of the small world anywhere."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        words = small_world.story(rng).words[:most]
        yield model.tokenizer.encode(" ".join(words[: rng.integers(1, len(words))]))


def test_random_numbers_are_those_of_default_rng():
    seeds = [0, 1, 7, 99, 2**31, 2**32 - 1]
    expected = [np.random.default_rng(seed).random(20).tolist() for seed in seeds]
    assert ask(*seeds, script=STORY / "model.js", how=RANDOM) == expected


def test_a_word_is_chosen_as_the_package_chooses_it(rng):
    """With ties, where one number more or less decides what top_p leaves."""
    calls, expected = [], []
    for i in range(500):
        logits = rng.integers(0, 4, size=9) / [1, 4][i % 2]
        top_p, seed = float(rng.choice([0.1, 0.35, 0.5, 0.9, 1])), int(rng.integers(1000))
        temperature = float(rng.choice([0, 0.3, 1, 2]))
        calls.append([logits.tolist(), seed, temperature, top_p])
        expected.append(_choose(logits, np.random.default_rng(seed), temperature, top_p))
    # A half reaches a half: of two or four alike, one or two are left.
    for many, seed in [(2, 0), (2, 3), (4, 1), (4, 5)]:
        calls.append([[0.0] * many, seed, 1, 0.5])
        expected.append(_choose(np.zeros(many), np.random.default_rng(seed), 1, 0.5))
    assert ask(*calls, script=STORY / "model.js", how=CHOOSE) == expected


def test_greedy_words_are_the_packages_without_exception(model):
    """To the end of the story or the 201st word; the logits to 1e-3."""
    begun = list(prompts(model, 32))
    stories = written(*(job(tokens) for tokens in begun))
    assert sum(map(len, stories)) > 5_000
    for tokens, steps in zip(begun, stories, strict=True):
        words = np.array([0, *(step["token"] for step in steps)])
        logits = model.logits(words[:-1])
        np.testing.assert_allclose([step["logits"] for step in steps], logits, atol=1e-3)
        # Word for word what `generate` writes: each is the likeliest after those before it.
        assert words[: len(tokens)].tolist() == list(tokens)
        assert words[len(tokens) :].tolist() == logits.argmax(-1)[len(tokens) - 1 :].tolist()
        assert len(words) == 201 or words[-1] == 1
        assert 1 not in words[len(tokens) : -1]


def test_words_drawn_from_the_same_random_numbers_are_the_packages(model):
    rng, jobs, expected = np.random.default_rng(1), [], []
    for tokens in prompts(model, 40, seed=1, most=24):
        seed, temperature = int(rng.integers(100)), round(rng.uniform(0.1, 2), 1)
        top_p = round(rng.uniform(0.1, 1), 2)
        jobs.append(job(tokens, seed=seed, temperature=temperature, topP=top_p, most=72))
        generator = np.random.default_rng(seed)
        about = {"rng": generator, "temperature": temperature, "top_p": top_p, "stop": 1}
        expected.append(model.generate(tokens, 72 - len(tokens), **about).tolist())
    assert sum(map(len, expected)) - sum(len(job["tokens"]) for job in jobs) > 2_000
    stories = written(*jobs)
    assert [[0, *(step["token"] for step in steps)] for steps in stories] == expected


def broken(model, mistake):
    """Return the storyteller with a mistake built into its parameters or settings."""
    if mistake == "halves":
        return replace(model, positions=Rotary(pairing="halves"))
    change = {
        # Query head h on KV head h % 2: the heads in another order, h // 2 as ever.
        "tiled": lambda w_q, w_o: (w_q[:, [0, 2, 1, 3]], w_o[[0, 2, 1, 3]]),
        "unscaled": lambda w_q, w_o: (w_q * 4, w_o),
    }.get(mistake, lambda w_q, w_o: (w_q, w_o))
    layers = []
    for layer in model.layers:
        w_q, w_o = layer.attention.w_q, layer.attention.w_o
        w_q, w_o = change(w_q.reshape(64, 4, 16), w_o.reshape(4, 16, 64))
        heads = replace(layer.attention, w_q=w_q.reshape(64, 64), w_o=w_o.reshape(64, 64))
        layers.append(replace(layer, attention=heads))
    return replace(model, layers=tuple(layers))


def places(mistake, begun, length):
    """Return the positions that a mistake gives to tokens."""
    at = np.arange(length)
    return {
        "unrotated": np.zeros(length),
        "backward": -at,
        "restart": np.where(at < begun, at, 0),
    }.get(mistake, at)


MISTAKES = ["right", "unrotated", "backward", "halves", "restart", "tiled", "unscaled"]


@pytest.fixture(scope="module")
def mistaken(model):
    """Return the beginnings, and what each mistake makes of them: asked for once."""
    begun = list(prompts(model, 3, seed=2))
    jobs = [job(tokens, mistake=mistake, most=150) for mistake in MISTAKES for tokens in begun]
    stories = written(*jobs)
    return begun, {mistake: stories[3 * i : 3 * i + 3] for i, mistake in enumerate(MISTAKES)}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_those_that_they_are_called(model, mistaken, mistake):
    begun, stories = mistaken
    as_made = broken(model, mistake)
    for tokens, steps in zip(begun, stories[mistake], strict=True):
        words = [0, *(step["token"] for step in steps)]
        positions = places(mistake, len(tokens), len(steps))
        trace = as_made.trace(words[:-1], position_ids=positions)
        np.testing.assert_allclose([step["logits"] for step in steps], trace.logits, atol=1e-3)
        assert words[len(tokens) :] == trace.logits.argmax(-1)[len(tokens) - 1 :].tolist()
        # After head 1 and 2 changed places, head 2's weights are found at 1.
        order = [0, 2, 1, 3] if mistake == "tiled" else [0, 1, 2, 3]
        for at in (0, len(steps) // 2, len(steps) - 1):
            expected = trace.weights[:, order, at, : at + 1].ravel()
            np.testing.assert_allclose(steps[at]["weights"], expected, atol=1e-4)


def test_a_word_takes_each_parameter_once_and_each_word_before_it_once(model):
    """So a story is written fast: what was computed for a word is kept for those after it."""
    tokens = next(prompts(model, 1))
    counts = written(job(tokens), how=COUNT)
    layers = [each.attention for each in model.layers]
    matrices = sum(
        matrix.size
        for each in model.layers
        for matrix in [
            *(getattr(each.attention, f"w_{letter}") for letter in "qkvo"),
            *(each.w_gate, each.w_up, each.w_down),
        ]
    )
    assert len(counts) > 100
    for at, (multiplied, scored) in enumerate(counts):
        assert multiplied == matrices
        assert scored == sum(layer.w_q.shape[1] for layer in layers) * (at + 1)


def test_the_figure_knows_the_words_and_the_mistakes_of_the_model(model):
    about = tomllib.loads((STORY / "figure.toml").read_text(encoding="utf-8"))
    assert tuple(about["words"]["vocabulary"].split()) == model.tokenizer.words
    [mistakes] = [each["choices"] for each in about["controls"] if each["key"] == "mistake"]
    assert set(mistakes) <= set(about["words"])


def test_answers_are_judged_by_what_the_story_tells():
    rng = np.random.default_rng(0)
    stories = [small_world.story(rng, ask=0.2) for _ in range(200)]
    shown = ask(
        *(["judged", list(words), 0] for words, _ in stories),
        *(["judged", wrong(words, questions), 0] for words, questions in stories),
        *(["judged", list(words), questions[1].position] for words, questions in stories),
        script=STORY / "model.js",
    )
    for i, (_, questions) in enumerate(stories):
        many, first = len(questions), questions[0].position
        assert shown[i] == {"right": many, "all": many, "first": first}
        assert shown[i + 200] == {"right": many - 1, "all": many, "first": first}
        later = questions[1].position
        assert shown[i + 400] == {"right": many - 1, "all": many - 1, "first": later}


def wrong(words, questions):
    """Give a story one answer that is no answer."""
    words = list(words)
    words[questions[-1].position] = "he"
    return words


NUMBERS = "test_its_numbers_are_attnbooks"


@pytest.mark.parametrize(
    "name", sorted(path.name for path in (ROOT / "book/live").iterdir() if path.is_dir())
)
def test_every_figure_has_a_test_of_its_numbers(name):
    path = ROOT / f"tests/browser/live/test_{name}.py"
    written = path.read_text(encoding="utf-8") if path.is_file() else ""
    assert f"def {NUMBERS}(" in written, (
        f"book/live/{name} is a figure whose numbers nobody compares: write {NUMBERS} in"
        f" {path.relative_to(ROOT)}, which sets its controls to 200 random settings (`tried`) and"
        " compares what is drawn with what attnbook computes; test_clock.py beside it is short"
    )
