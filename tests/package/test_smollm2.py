"""SmolLM2's slices: that they are what the model computed, whole, small and safe."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from attnbook import apply_rotary, causal_mask, rms_norm, scaled_dot_product_attention
from attnbook.pretrained import smollm2

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attnbook" / "data"
SENTENCES = smollm2.sentences()
BASE = smollm2.ROPE_BASE
# The projections are exact, but states were rounded to float16, by up to 2**-12 of themselves.
# Scores of this layer reach 20, so they are off by up to 0.005 or so, and a weight reacts with at
# most a quarter of that. Measured: 0.00102.
HALF = 2 * np.finfo(np.float16).eps  # 0.00195


def normed(sentence, layer):
    states = smollm2.hidden_states(sentence, layer)
    return rms_norm(states, smollm2.norm(layer))


def weights(query, key, turn=lambda x: apply_rotary(x, base=BASE)):
    return scaled_dot_product_attention(
        turn(query), turn(key), key, causal_mask(key.shape[-2])
    ).weights


# --- The model's own numbers ----------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_whole_layer_recomputes_all_its_heads(sentence):
    x, layer = normed(sentence, 18), smollm2.multi_head_attention(18)
    query, key = layer.queries(x), layer.keys(x)
    shared = key.repeat(3, axis=0)  # (9, len, 64)
    assert BASE == 100_000  # as the model's file says; 1 % more would move no weight enough
    recorded = smollm2.recorded_weights(sentence, 18)
    np.testing.assert_allclose(weights(query, shared), recorded, atol=HALF, rtol=0)
    # The tolerance is no wider than it must be: each mistake moves some weight much further.
    for wrong in (
        weights(query, np.tile(key, (3, 1, 1))),
        weights(query, shared, turn=lambda x: apply_rotary(x, base=BASE, pairing="halves")),
        weights(query, shared, turn=lambda x: apply_rotary(x, -np.arange(len(x[0])), base=BASE)),
        weights(query, shared, turn=apply_rotary),
        weights(query, shared, turn=lambda x: x),
    ):
        assert abs(wrong - recorded).max() > 50 * HALF


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize(("layer", "head"), [(16, 0), *((18, head) for head in range(9))])
def test_a_head_recomputes_its_recorded_weights(sentence, layer, head):
    x = normed(sentence, layer)
    one = smollm2.head_projections(layer, head)
    for bias in (one.b_q, one.b_k, one.b_v):
        assert np.array_equal(bias, np.zeros(64))
    recorded = smollm2.recorded_weights(sentence, layer)
    found = weights(x @ one.w_q, x @ one.w_k)
    np.testing.assert_allclose(found, recorded[head], atol=HALF, rtol=0)
    assert one.w_v.shape == (576, 64)
    if layer == 18:  # the values of its group, as the layer has them
        values = smollm2.multi_head_attention(18).values(x)
        np.testing.assert_allclose(x @ one.w_v, values[head // 3], atol=1e-9)


def test_weights_are_made_of_codes_by_hand():
    with np.load(DATA / "smollm2.npz") as stored:
        arrays = dict(stored)
    layer = smollm2.multi_head_attention(18)
    found = {f"layer18.w_{letter}": getattr(layer, f"w_{letter}") for letter in "qkvo"}
    one = smollm2.head_projections(16, 0)
    found |= {f"layer16.head0.w_{letter}": getattr(one, f"w_{letter}") for letter in "qkv"}
    for name, matrix in found.items():
        codes, scale, least = (arrays[f"{name}.{part}"] for part in ("codes", "scale", "least"))
        assert codes.max() == 15
        for row, column in [(0, 0), (31, 1), (32, 1), (575, 2), (544, matrix.shape[1] - 1)]:
            block = column, row // 32
            by_hand = float(scale[block]) * int(codes[block][row % 32]) + float(least[block])
            assert matrix[row, column] == by_hand
        assert matrix.shape == (576, len(codes))


@pytest.mark.parametrize("layer", [16, 18])
@pytest.mark.parametrize("sentence", SENTENCES)
def test_recorded_weights_are_whole_and_causal(sentence, layer):
    length = len(smollm2.tokens(sentence))
    recorded = smollm2.recorded_weights(sentence, layer)
    assert recorded.shape == (9, length, length)
    assert (recorded >= 0).all()
    assert not recorded[:, ~causal_mask(length)].any()
    np.testing.assert_allclose(recorded.sum(axis=-1), 1, atol=length * 2**-12)


def test_the_named_heads_do_what_they_are_named_for():
    for sentence in SENTENCES:
        previous = smollm2.recorded_weights(sentence, 16)[0]
        heads = smollm2.recorded_weights(sentence, 18)
        assert 0.65 < np.diagonal(previous, -1)[1:].mean() < 0.8
        assert heads[8, :, 0].min() > 0.995  # the sink: all on the first token
    # Nothing was said twice before the phrase comes again, and the induction head rests.
    repeated, tokens = heads[6], smollm2.tokens(SENTENCES[3])
    assert repeated[2:16, 0].min() > 0.95
    for query, key, weight in ((20, 5, 0.79), (21, 6, 0.54), (23, 8, 0.66)):
        assert tokens[query] == tokens[key - 1]
        assert repeated[query].argmax() == key
        assert repeated[query, key] == pytest.approx(weight, abs=0.005)


def test_the_first_token_has_the_same_state_wherever_it_is_first():
    # A causal model sees no more of it: so the two sentences that begin with "The" agree.
    for layer in (16, 18):
        one, other = (smollm2.hidden_states(SENTENCES[i], layer) for i in (0, 3))
        assert np.array_equal(one[0], other[0])
        assert not np.isclose(one[1], other[1]).all()
    assert abs(one).argmax() < 576  # and its state has an entry like no other token's
    assert abs(one[0]).max() == pytest.approx(22469, abs=16)
    assert abs(one[1:]).max() < 1000


def test_the_table_of_heads_is_of_these_sentences():
    found = {name: smollm2.head_table(name) for name in ("first", "previous")}
    for layer in (16, 18):
        first, previous = [], []
        for sentence in SENTENCES:
            for head in smollm2.recorded_weights(sentence, layer):
                queries = range(2, len(head))
                first.append([head[query, 0] for query in queries])
                previous.append([head[query, query - 1] for query in queries])
        for name, kind in (("first", first), ("previous", previous)):
            by_head = [np.concatenate(kind[head::9]).mean() for head in range(9)]
            np.testing.assert_allclose(found[name][layer], by_head, atol=HALF)
    # "old lighthouse" at 20 and 21 was there at 4 and 5, and so on; "The keeper" was not.
    pairs = [(18, 3), (19, 4), (20, 5), (21, 6), (22, 7), (23, 8)]
    weights = smollm2.recorded_weights(SENTENCES[3], 18)
    by_hand = np.mean([weights[:, query, key] for query, key in pairs], axis=0)
    found["induction"] = smollm2.head_table("induction")
    np.testing.assert_allclose(found["induction"][18], by_hand, atol=HALF)
    for table in found.values():
        assert table.shape == (30, 9)
        assert ((table >= 0) & (table <= 1)).all()
    assert np.argmax(found["previous"]) == 16 * 9
    assert np.argmax(found["first"]) == 18 * 9 + 8


def test_a_window_needs_the_first_token():
    whole = smollm2.window_loss()
    for window in (32, 64, 128, 256):
        last, sink, four = (smollm2.window_loss(window, kept) for kept in ([], [0], range(4)))
        full = window // 64  # stretches whose tokens see all there is before them
        np.testing.assert_array_equal(last[:full], whole[:full])
        np.testing.assert_array_equal(sink[:full], whole[:full])
        for each in (last, sink, four):
            assert each.shape == whole.shape == (10,)
            assert ((each > 2.5) & (each < 5.5)).all()
        assert (last - sink)[max(full, 1) :].min() > 0.2
        assert abs(four - sink)[full:].max() < 0.1
        assert (sink - whole)[full:].mean() > 0.05
    small, large = smollm2.window_loss(32, [0]), smollm2.window_loss(256)
    assert small[4:].mean() < large[4:].mean() - 0.2
    for other in ([1], [100, 101, 102, 103]):  # any other kept token is no help
        gain = smollm2.window_loss(64) - smollm2.window_loss(64, other)
        assert gain[4:].mean() < 0


def test_the_place_of_the_first_token_is_not_enough():
    whole, last, sink = (smollm2.window_loss(*how) for how in ((), (64,), (64, [0])))
    muted = smollm2.window_loss(64, [0], muted=True)
    assert abs(muted[0] - whole[0]) < 0.05
    assert (muted > sink)[1:].all()
    assert 0.8 < (muted - whole)[2:].mean() / (last - whole)[2:].mean() < 1
    with pytest.raises(ValueError, match=r"^window and kept must be one of"):
        smollm2.window_loss(64, muted=True)


def test_a_cache_of_few_bits_is_recorded():
    whole = smollm2.window_loss()
    records = json.loads((DATA / "smollm2.json").read_text())["rounded"]
    for row in records:
        how = row["bits"], row["keys"], row["values"]
        found = smollm2.rounded_loss(*how, row["exact"])
        np.testing.assert_array_equal(found, row["nats"])
        assert found.shape == whole.shape
        assert abs(found[0] - whole[0]) < 0.001  # these tokens see nothing rounded
    assert len({tuple(row["nats"]) for row in records}) == len(records) == 14
    by_token, by_channel = (smollm2.rounded_loss(2, by)[1:] for by in ("token", "channel"))
    assert (by_token > by_channel + 0.5).all()


def test_what_sees_only_itself_becomes_a_sink():
    found = smollm2.sink_weights()
    for sees_one in ("sees only itself", "sees only the one before"):
        first, other = found.pop(sees_one)
        assert abs(first - other) < 0.02
        assert 0.25 < other < 0.35
    assert len(found) == 5
    for first, other in found.values():  # another word, position, or its word again: no matter
        assert 0.5 < first < 0.6
        assert other < 0.01


# --- The interface --------------------------------------------------------------------


def test_sentences_and_tokens():
    assert len(SENTENCES) == len(set(SENTENCES)) == 4
    for sentence in SENTENCES:
        tokens = smollm2.tokens(sentence)
        assert 12 <= len(tokens) <= 40
        assert "".join(tokens) == sentence
        assert len(smollm2.hidden_states(sentence, 16)) == len(tokens)
    assert tokens[1:8] == tokens[17:24]  # the last one says a phrase twice


@pytest.mark.parametrize(
    "load",
    [
        lambda: smollm2.hidden_states(SENTENCES[0], 16),
        lambda: smollm2.recorded_weights(SENTENCES[0], 18),
        lambda: smollm2.head_table("first"),
        lambda: smollm2.window_loss(64, [0]),
        lambda: smollm2.rounded_loss(4, "channel", "token"),
        lambda: smollm2.norm(16),
        lambda: smollm2.head_projections(16, 0).w_q,
        lambda: smollm2.head_projections(18, 5).b_v,
        lambda: smollm2.multi_head_attention(18).w_o,
    ],
)
def test_arrays_are_float64_and_the_readers_own(load):
    array = load()
    assert array.dtype == np.float64
    assert np.isfinite(array).all()
    before = array.copy()
    array[...] = 7
    assert np.array_equal(load(), before)


@pytest.mark.parametrize("sentence", ["Hello.", 0, ["Hello."]])
def test_an_unknown_sentence_is_refused(sentence):
    for call in (
        lambda: smollm2.tokens(sentence),
        lambda: smollm2.hidden_states(sentence, 18),
        lambda: smollm2.recorded_weights(sentence, 18),
    ):
        message = r"^sentence must be one of sentences\(\), got ['0\[]"
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("layer", [-1, 0, 17, 19, 30, True, 18.0, "18"])
def test_layers_that_are_not_shipped_are_refused(layer):
    for call in (
        lambda: smollm2.hidden_states(SENTENCES[0], layer),
        lambda: smollm2.recorded_weights(SENTENCES[0], layer),
        lambda: smollm2.norm(layer),
    ):
        with pytest.raises(
            ValueError, match=rf"^layer \({layer}\) must be 16 or 18: the others are not shipped$"
        ):
            call()
    for one in (layer, 16):
        with pytest.raises(
            ValueError, match=rf"^layer \({one}\) must be 18, the one that is shipped whole$"
        ):
            smollm2.multi_head_attention(one)


@pytest.mark.parametrize(
    ("layer", "head"),
    [(16, 1), (16, 8), (16, False), (16.0, 0), (17, 0), (18, 9), (18, -1), (18, True), (18, 2.0)],
)
def test_heads_that_are_not_shipped_are_refused(layer, head):
    there = "there are head 0 of layer 16 and heads 0 to 8 of layer 18"
    message = rf"^head \({head}\) of layer \({layer}\) is not shipped; {there}$"
    with pytest.raises(ValueError, match=message):
        smollm2.head_projections(layer, head)


@pytest.mark.parametrize("name", ["last", "", 0])
def test_an_unknown_table_is_refused(name):
    with pytest.raises(
        ValueError, match=f'^name must be "first", "previous" or "induction", got {name!r}$'
    ):
        smollm2.head_table(name)


@pytest.mark.parametrize(("window", "kept"), [(48, ()), (64, (2,)), (None, (0,)), (32, (1,))])
def test_windows_that_are_not_recorded_are_refused(window, kept):
    with pytest.raises(
        ValueError, match=rf"^window and kept must be one of \[.*, got \({window}, "
    ):
        smollm2.window_loss(window, kept)


@pytest.mark.parametrize(
    "how", [(5, "token"), (4,), (4, "row"), (4, "token", "channel"), (4, None, "token", [0])]
)
def test_bits_that_are_not_recorded_are_refused(how):
    message = r"^bits, keys, values and exact must be one of \[.*, got \("
    with pytest.raises(ValueError, match=message):
        smollm2.rounded_loss(*how)


# --- The files ------------------------------------------------------------------------


def test_the_slices_are_small_and_all_are_handed_out():
    with np.load(DATA / "smollm2.npz") as stored:
        arrays = dict(stored)
    assert (DATA / "smollm2.npz").stat().st_size < 900_000
    expected = {"layer16.norm": (576,), "layer18.norm": (576,)}
    for letter, columns in (("q", 576), ("k", 192), ("v", 192), ("o", 576)):
        places = [(f"layer18.w_{letter}", columns)]
        places += [] if letter == "o" else [(f"layer16.head0.w_{letter}", 64)]
        for place, number in places:
            expected |= {f"{place}.codes": (number, 18, 32)}
            expected |= dict.fromkeys((f"{place}.scale", f"{place}.least"), (number, 18))
    for number, sentence in enumerate(SENTENCES):
        length = len(smollm2.tokens(sentence))
        for layer in (16, 18):
            expected[f"sentence{number}.layer{layer}"] = (length, 576)
            expected[f"sentence{number}.weights{layer}"] = (9, length, length)
            states = smollm2.hidden_states(sentence, layer)
            assert np.array_equal(states, arrays[f"sentence{number}.layer{layer}"])
            recorded = smollm2.recorded_weights(sentence, layer)
            assert np.array_equal(recorded, arrays[f"sentence{number}.weights{layer}"])
    for name in ("first", "previous", "induction"):
        expected[f"heads.{name}"] = (30, 9)
        assert np.array_equal(smollm2.head_table(name), arrays[f"heads.{name}"])
    for layer in (16, 18):
        assert np.array_equal(smollm2.norm(layer), arrays[f"layer{layer}.norm"])
    assert {name: array.shape for name, array in arrays.items()} == expected


def test_provenance_and_licence_lie_beside_the_data():
    facts = json.loads((DATA / "smollm2.json").read_text())
    script = (ROOT / "tools/extract_smollm2.py").read_text()
    readme = (DATA / "smollm2.README.md").read_text()
    source = facts["source"]
    assert len(source["sha256"]) == 64
    for text in (script, readme):
        assert source["sha256"] in text
        assert source["version"] in text
        assert source["package"] in text
    # What the script wrote, byte for byte: an edited file is not the model's.
    digest = hashlib.sha256((DATA / "smollm2.npz").read_bytes()).hexdigest()
    assert digest == "a63f230f53de8802ea861c5da8ac634b03767794a27211568e251eb28de2a0c8"
    assert digest in readme
    assert facts["licence"] == "Apache-2.0"
    assert "Apache License" in (DATA / "smollm2.LICENSE.txt").read_text()
    assert set(SENTENCES) == {each["text"] for each in facts["sentences"]}


def test_all_data_of_the_package_is_small():
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 6_000_000
