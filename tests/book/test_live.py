"""What figures compute in the browser is what the package computes: asked of Node, in one go."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from attnbook import (
    MultiHeadAttention,
    apply_rotary,
    effective_keys,
    scaled_dot_product_attention,
    softmax,
)
from attnbook.decoder import rms_norm
from course.chapters import ROOT

NODE = shutil.which("node") or shutil.which("nodejs")
CORE = ROOT / "book/live/core.js"
ASK = """
const attnbook = require(process.argv[1]);
const given = JSON.parse(require("fs").readFileSync(0), (_, x) => (x === "-inf" ? -Infinity : x));
console.log(JSON.stringify(given.map(([name, ...rest]) => attnbook[name](...rest))));
"""


def ask(*calls):
    """Return what functions of the core give."""
    if NODE is None:
        assert "CI" not in os.environ, "CI needs Node"
        pytest.skip("Node is not here: install it to test what figures compute")
    done = subprocess.run(
        [NODE, "-e", ASK, CORE], input=json.dumps(calls), capture_output=True, text=True, check=True
    )
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
