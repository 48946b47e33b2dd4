"""The trained model's slices: that they are what the model computed, whole, small and safe."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from attnbook import padding_mask, scaled_dot_product_attention
from attnbook.pretrained import minilm

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attnbook" / "data"
SENTENCES = minilm.sentences()
SHIPPED = [(0, 2), (1, 8), *((3, head) for head in range(12))]
# Scores of size 10 from float16 inputs are off by up to 0.005, and a weight reacts with at most
# a quarter of that. Measured: 0.00099.
HALF = 2 * np.finfo(np.float16).eps  # 0.00195


def names(sentence, *words):
    tokens = minilm.tokens(sentence)
    return [tokens.index(word) for word in words]


# --- The model's own numbers ----------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize(("layer", "head"), SHIPPED)
def test_a_head_recomputes_its_recorded_weights(sentence, layer, head):
    x = minilm.hidden_states(sentence, layer)
    w_q, b_q, w_k, b_k, w_v, b_v = minilm.head_projections(layer, head)
    found = scaled_dot_product_attention(x @ w_q + b_q, x @ w_k + b_k, x @ w_v + b_v).weights
    recorded = minilm.recorded_weights(sentence)[layer, head]
    np.testing.assert_allclose(found, recorded, atol=HALF, rtol=0)
    # The tolerance is no wider than it must be: without the biases, or with another head's
    # keys, or without the scale, the weights are far off.
    for wrong in (
        scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v),
        scaled_dot_product_attention(x @ w_q + b_q, x @ w_v + b_v, x @ w_k + b_k),
        scaled_dot_product_attention(x @ w_q + b_q, x @ w_k + b_k, x @ w_v + b_v, scale=1),
    ):
        assert abs(wrong.weights - recorded).max() > 10 * HALF or (layer, head) == (0, 2)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_whole_layer_recomputes_all_its_heads(sentence):
    x = minilm.hidden_states(sentence, layer=3)
    layer = minilm.multi_head_attention(3)
    output, weights = layer(x)
    assert output.shape == x.shape
    np.testing.assert_allclose(weights, minilm.recorded_weights(sentence)[3], atol=HALF, rtol=0)
    # The output by heads in a loop, from the single heads' projections.
    by_hand = np.zeros(x.shape) + layer.b_o
    for head in range(12):
        w_q, b_q, w_k, b_k, w_v, b_v = minilm.head_projections(3, head)
        one = scaled_dot_product_attention(x @ w_q + b_q, x @ w_k + b_k, x @ w_v + b_v)
        by_hand += one.output @ layer.w_o[32 * head : 32 * (head + 1)]
    np.testing.assert_allclose(output, by_hand, atol=1e-10)


def test_the_layer_takes_padding_and_float32():
    one, other = (minilm.hidden_states(s, layer=3) for s in (SENTENCES[0], SENTENCES[5]))
    layer = minilm.multi_head_attention(3)
    batch = np.full((2, len(other), 384), 1e4)
    batch[0, : len(one)], batch[1] = one, other
    output = layer(batch, mask=padding_mask([len(one), len(other)])).output
    np.testing.assert_allclose(output[0, : len(one)], layer(one).output, atol=1e-10)
    assert layer(one.astype(np.float32)).output.dtype == np.float32


@pytest.mark.parametrize("sentence", SENTENCES)
def test_recorded_weights_are_whole(sentence):
    length = len(minilm.tokens(sentence))
    recorded = minilm.recorded_weights(sentence)
    assert recorded.shape == (6, 12, length, length)
    assert (recorded >= 0).all()
    np.testing.assert_allclose(recorded.sum(axis=-1), 1, atol=length * 2**-12)


def test_the_named_heads_do_what_they_are_named_for():
    for sentence in SENTENCES:
        recorded = minilm.recorded_weights(sentence)
        assert np.diagonal(recorded[0, 2], -1).min() > 0.99  # the previous token
        assert 0.5 < np.diagonal(recorded[1, 8], 1).mean() < 0.7  # the next one
    tired, wide, big, small, _, _ = SENTENCES
    for sentence, word, weight in (
        (tired, "animal", 0.68),
        (tired, "street", 0.05),
        (wide, "animal", 0.28),
        (wide, "street", 0.12),
        (wide, "[CLS]", 0.33),
        (big, "trophy", 0.62),
        (small, "trophy", 0.65),
    ):
        it, other = names(sentence, "it", word)
        found = minilm.recorded_weights(sentence)[3, 1, it, other]
        assert found == pytest.approx(weight, abs=0.005)


def test_hidden_states_are_those_of_the_positions_and_layers():
    tired, wide = SENTENCES[:2]
    (place,) = (
        i
        for i, pair in enumerate(zip(minilm.tokens(tired), minilm.tokens(wide), strict=True))
        if pair[0] != pair[1]
    )
    # One word differs. Before layer 0 nothing has been mixed: only its own row differs.
    one, other = (minilm.hidden_states(s, layer=0) for s in (tired, wide))
    assert np.flatnonzero((one != other).any(axis=-1)).tolist() == [place]
    one, other = (minilm.hidden_states(s, layer=1) for s in (tired, wide))
    assert (one != other).any(axis=-1).all()


def test_the_position_table_is_the_models():
    table = minilm.position_table()
    assert table.shape == (128, 384)
    assert len(np.unique(table, axis=0)) == 128
    # Neighbours resemble each other more than distant positions do, on average.
    unit = table[1:] - table[1:].mean(axis=0)
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    cosine = unit @ unit.T
    assert np.diagonal(cosine, 1).mean() > np.diagonal(cosine, 60).mean() + 0.3


# --- The interface --------------------------------------------------------------------


def test_sentences_and_tokens():
    assert len(SENTENCES) == len(set(SENTENCES)) == 6
    for sentence in SENTENCES:
        tokens = minilm.tokens(sentence)
        assert 7 <= len(tokens) <= 30
        assert tokens[0] == "[CLS]"
        assert tokens[-1] == "[SEP]"
        letters = "".join(tokens[1:-1]).replace("##", "")
        assert letters == sentence.lower().replace(" ", "")


@pytest.mark.parametrize(
    "load",
    [
        lambda: minilm.hidden_states(SENTENCES[0], 1),
        lambda: minilm.recorded_weights(SENTENCES[0]),
        lambda: minilm.head_projections(3, 5).w_q,
        lambda: minilm.head_projections(1, 8).b_k,
        lambda: minilm.multi_head_attention(3).w_o,
        minilm.position_table,
    ],
)
def test_arrays_are_float64_and_the_readers_own(load):
    array = load()
    assert array.dtype == np.float64
    assert np.isfinite(array).all()
    before = array.copy()
    array[...] = 7
    assert np.array_equal(load(), before)


@pytest.mark.parametrize("call", ["tokens", "recorded_weights"])
@pytest.mark.parametrize("sentence", ["Hello.", 0, ["Hello."]])
def test_an_unknown_sentence_is_refused(call, sentence):
    with pytest.raises(ValueError, match=r"^sentence must be one of sentences\(\), got ['0\[]"):
        getattr(minilm, call)(sentence)


@pytest.mark.parametrize("layer", [-1, 2, 4, 6, True, 3.0, "3"])
def test_layers_that_are_not_shipped_are_refused(layer):
    with pytest.raises(ValueError, match=rf"^layer \({layer}\) must be 0, 1 or 3"):
        minilm.hidden_states(SENTENCES[0], layer)
    with pytest.raises(ValueError, match=rf"^layer \({layer}\) must be 3"):
        minilm.multi_head_attention(layer)
    with pytest.raises(ValueError, match="is not shipped"):
        minilm.head_projections(layer, 0)


@pytest.mark.parametrize(
    ("layer", "head"),
    [(0, 1), (1, 2), (3, 12), (3, -1), (3, True), (3, 1.0), (False, 2), (True, 8)],
)
def test_heads_that_are_not_shipped_are_refused(layer, head):
    with pytest.raises(ValueError, match=rf"^head \({head}\) of layer \({layer}\) is not shipped"):
        minilm.head_projections(layer, head)


def test_every_array_comes_back_as_it_is_stored():
    with np.load(DATA / "minilm.npz") as stored:
        arrays = dict(stored)
    layer = minilm.multi_head_attention(3)
    found = {"positions": minilm.position_table()}
    for letter in "qkvo":
        for kind in "wb":
            found[f"layer3.{kind}_{letter}"] = getattr(layer, f"{kind}_{letter}")
    for number, head in SHIPPED[:2]:
        for name, array in minilm.head_projections(number, head)._asdict().items():
            found[f"layer{number}.head{head}.{name}"] = array
    for number, sentence in enumerate(SENTENCES):
        found[f"sentence{number}.weights"] = minilm.recorded_weights(sentence)
        for entered in (0, 1, 3):
            states = minilm.hidden_states(sentence, entered)
            found[f"sentence{number}.layer{entered}"] = states
    assert found.keys() == arrays.keys()
    for name, array in found.items():
        assert np.array_equal(array, arrays[name]), name


# --- The files ------------------------------------------------------------------------


def test_the_slices_are_small_float16():
    with np.load(DATA / "minilm.npz") as stored:
        arrays = dict(stored)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    assert sum(array.nbytes for array in arrays.values()) < 2_000_000
    assert (DATA / "minilm.npz").stat().st_size < 2_000_000


def test_provenance_and_licence_lie_beside_the_data():
    facts = json.loads((DATA / "minilm.json").read_text())
    script = (ROOT / "tools/extract_pretrained.py").read_text()
    readme = (DATA / "minilm.README.md").read_text()
    source = facts["source"]
    assert len(source["sha256"]) == 64
    for text in (script, readme):
        assert source["sha256"] in text
        assert source["version"] in text
        assert source["package"] in text
    # What the script wrote, byte for byte: an edited file is not the model's.
    digest = hashlib.sha256((DATA / "minilm.npz").read_bytes()).hexdigest()
    assert digest == "e92242af32232f70a0a659fa400bcbb6fe21272dbc8cff4deb345c39836433de"
    assert digest in readme
    assert facts["licence"] == "Apache-2.0"
    assert "Apache License" in (DATA / "minilm.LICENSE.txt").read_text()
    assert set(SENTENCES) == {each["text"] for each in facts["sentences"]}
