"""Measure what each mistake of *Why is my attention wrong?* costs SmolLM2. Run by hand.

    python -m tools measure_mistakes

Takes four minutes and the package with the model, which .binder/model.txt pins. Each mistake is
the page's own code, put in the place of a part of the decoder; of an entry whose code is about
another thing, such as a cache, the same mistake is written here. Writes mistakes.json.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import attnbook
from attnbook import (
    AttentionOutput,
    Decoder,
    Parts,
    Placed,
    Rotary,
    apply_rotary,
    causal_mask,
    cross_entropy,
    merge_heads,
    split_heads,
)
from attnbook import scaled_dot_product_attention as attention
from attnbook.pretrained import smollm2
from attnbook.pretrained.smollm2 import SHA256
from course.why_wrong import MEASURED, blocks, entries, measurable, parts

# Written for this book.
TEXT = (
    "A letter arrived at the library on Tuesday morning, addressed to nobody in particular. The "
    "librarian put it on her desk and forgot it until the evening, when the last readers had gone "
    "home. Then she opened it. Inside there was a map of the town, drawn in pencil, with a small "
    "red cross behind the old mill. Under the map somebody had written a single sentence: bring a "
    "spade, a lamp and a friend you can trust. She read the sentence twice, looked at the map "
    "again, and laughed. She knew the handwriting. It was her brother's, and her brother had been "
    "promising her a garden for twenty years."
)
PROMPT = "The capital of France is"
COUNT = 12  # tokens that it writes
TIED = 0.001  # logits so close that rounding may choose between them: there the text ends
WINDOW = 64  # tokens that one sees, with a sliding window
BUFFER = 2048  # tokens that a cache has room for: as many as SmolLM2 was trained on
Wrong = dict[str, Any]  # `positions` of a decoder, and parts by their names


@dataclass
class Turned:
    """Positions that are a function of queries and of keys alone."""

    turn: Callable

    def place(self, positions, key_positions, sizes) -> Placed:
        return Placed(turn=self.turn)


def turned_by(turn: Callable) -> Wrong:
    return {"positions": Turned(turn)}


def masked_by(mask: Callable) -> Wrong:
    """Attend with another mask, which is a function of the length."""
    return {"attend": lambda q, k, v, _: attention(q, k, v, mask(q.shape[-2]))}


def split_by(wrong: Callable, model: Decoder) -> Wrong:
    """Split queries, keys and values otherwise, before they are turned."""

    def again(heads):
        return wrong(merge_heads(heads), heads.shape[-3])

    rotary = functools.partial(apply_rotary, base=model.positions.base)
    attend = {"attend": lambda q, k, v, mask: attention(q, k, again(v), mask)}
    return turned_by(lambda heads: rotary(again(heads))) | attend


def merged_by(wrong: Callable) -> Wrong:
    def attend(*qkvm):
        heads, weights = attention(*qkvm)
        return AttentionOutput(split_heads(wrong(heads), heads.shape[-3]), weights)

    return {"attend": attend}


def expanded_by(expanded: Callable, attend: Callable = attention) -> Wrong:
    """Give each query head keys and values of its own, then attend."""

    def with_own(query, key, value, mask):
        own = (expanded(heads, query.shape[-3]) for heads in (key, value))
        output, weights = attend(query, *own, mask)
        return output.astype(value.dtype), weights  # or all that follows is in float64, slowly

    return {"attend": with_own}


def of_own(attend: Callable) -> Wrong:
    """Attend by code of the page, which is about heads that share nothing."""

    def repeated(heads, count):
        return np.repeat(heads, count // heads.shape[-3], axis=-3)

    return expanded_by(repeated, attend)


def logits(model: Decoder, tokens, wrong: Wrong) -> np.ndarray:
    """Return the model's logits with what is wrong in its place."""
    parts = {name: part for name, part in wrong.items() if name != "positions"}
    changed = replace(model, positions=wrong.get("positions", model.positions))
    return changed.logits(tokens, parts=Parts(**parts))


def places(heads: np.ndarray) -> np.ndarray:
    return np.arange(heads.shape[-2])


def with_room(query, key, value, mask):
    """Attend to keys and values in a cache whose empty places nobody hides."""
    room = [(0, 0)] * (key.ndim - 2) + [(0, BUFFER - key.shape[-2]), (0, 0)]
    seen = np.pad(mask, [(0, 0), (0, BUFFER - key.shape[-2])], constant_values=True)
    return attention(query, np.pad(key, room), np.pad(value, room), seen)


def others(model: Decoder) -> dict[str, Wrong]:
    """Return the mistakes for which the code of the page has another form than SmolLM2 needs."""
    unturned: Wrong = {"positions": None}
    base = model.positions.base
    rotary = functools.partial(apply_rotary, base=base)
    prompt = len(model.tokenizer.encode(PROMPT))  # of TEXT, as many tokens are the prompt

    def new_at_zero(heads):
        return np.where(places(heads) < prompt, places(heads), 0)

    wide = 1 / np.sqrt(len(model.final_norm))
    return {
        "why-sequence-first": masked_by(lambda n: np.eye(n, dtype=bool)) | unturned,
        "why-scale-of-whole": {"attend": functools.partial(attention, scale=wide)},
        "why-aligned": masked_by(lambda n: np.broadcast_to(np.arange(n) == 0, (n, n))),
        "why-position-zero": turned_by(lambda heads: rotary(heads, new_at_zero(heads))),
        "why-buffer": {"attend": with_room},
        "why-no-positions": unturned,
        "why-along-batch": unturned,
        "why-half-exponent": {"positions": Rotary(np.sqrt(base))},
        "why-layout": {"positions": Rotary(base, "halves")},
        "why-backwards": turned_by(lambda heads: rotary(heads, -places(heads))),
        # No word of the text is padding, which `True` would say: all keys are hidden.
        "why-torch-mask": masked_by(lambda n: causal_mask(n) & np.zeros(n, dtype=bool)),
    }


def replaced(name: str, code: str, model: Decoder) -> Wrong:
    """Return the parts that the wrong code of an entry replaces."""
    if name in (written := others(model)):
        return written[name]
    names: dict = {}
    exec(blocks(parts()[0])["set-up"], names)
    if name != "why-rotary-base":
        names["apply_rotary"] = functools.partial(apply_rotary, base=model.positions.base)
    defined, given = re.match(r"def (\w+)\((.*?)\)", code).groups()
    if defined in ("attention", "attend_rotary") and "mask" not in given:
        # It leaves the mask out, so the mask is put into what it calls.
        def masked(query, key, value, **scale):
            return attention(query, key, value, causal_mask(key.shape[-2]), **scale)

        names["softmax"] = lambda scores: attnbook.softmax(
            np.where(causal_mask(scores.shape[-1]), scores, -np.inf).astype(scores.dtype)
        )
        names["attention"] = masked
        names["attnbook"] = SimpleNamespace(scaled_dot_product_attention=masked)
    exec(code, names)
    wrong = names.get(defined)
    if defined in ("softmax", "score", "weigh"):

        def attend(query, key, value, mask):
            weights = names["weigh"](names["score"](query, key), mask)
            return weights @ value, weights

        return of_own(attend)
    if name == "why-half-scores":

        def attend_in_half(*given):
            output, weights = wrong(*(each.astype(np.float16) for each in given[:3]))
            return output.astype(np.float32), weights

        return of_own(attend_in_half)
    if defined == "attention" and given in ("query, key, value, mask", "query, key, value"):
        return of_own(lambda *arrays: wrong(*arrays[: given.count(",") + 1]))
    if defined == "attention":  # Keras's order, called as if it were the book's
        return of_own(lambda query, key, value, _: wrong(query, key, value))
    if defined == "attend_rotary":
        attend = of_own(lambda q, k, v, _: (wrong(q, k, v, places(k)), None))
        return {"positions": None} | attend
    if defined == "turn":  # it is written for the heads of one text
        return turned_by(lambda heads: np.stack([wrong(each) for each in heads]))
    if defined == "positions":
        rotary = names["apply_rotary"]
        return turned_by(lambda heads: rotary(heads, wrong(heads.shape[-2])))
    if defined == "total":

        def attend_with_total(query, key, value, mask):
            scores = np.where(mask, names["score"](query, key), -np.inf)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights = weights / np.apply_along_axis(wrong, -1, weights)[..., None]
            return weights.astype(np.float32) @ value, weights

        return of_own(attend_with_total)
    if defined == "window_mask":
        return masked_by(lambda length: wrong(length, WINDOW))
    if defined == "causal_mask":
        return masked_by(wrong)
    if defined == "rms_norm":
        return {"norm": wrong}
    if defined == "split_heads":
        return split_by(wrong, model)
    if defined == "merge_heads":
        return merged_by(wrong)
    if defined == "expanded":
        return expanded_by(wrong)
    raise ValueError(f"{name} replaces {defined}, which is no part of the decoder: say how")


def nats(model: Decoder, wrong: Wrong) -> float | None:
    """Return the loss a token on the text, or None if it is no number."""
    tokens = np.array(model.tokenizer.encode(TEXT))
    with np.errstate(all="ignore"):
        scores = logits(model, tokens[None], wrong)[0]
    if not np.isfinite(scores).all():
        return None
    return round(float(cross_entropy(scores[:-1], tokens[1:])[0]), 3)


def writes(model: Decoder, wrong: Wrong) -> str:
    """Return how the model continues the prompt, up to where two tokens are as good as tied."""
    start = model.tokenizer.encode(PROMPT)
    tokens = [*start]
    while len(tokens) < len(start) + COUNT:
        with np.errstate(all="ignore"):
            scores = logits(model, [tokens], wrong)[0, -1]
        second, first = np.sort(scores)[-2:]
        if not first - second > TIED:
            break
        tokens.append(int(scores.argmax()))
    return model.tokenizer.decode(tokens[len(start) :])


def measured(model: Decoder, wrong: Wrong) -> dict | None:
    """Return the loss and the text, or None if arrays do not fit."""
    try:
        return {"nats": nats(model, wrong), "text": writes(model, wrong)}
    except ValueError:
        return None


def of_the_page(model: Decoder) -> Iterator[tuple[str, Wrong]]:
    """Yield the mistakes of which the page says what they cost."""
    code = entries()
    for name in measurable():
        yield name, replaced(name, code[name]["wrong"], model)


def main() -> None:
    """Write mistakes.json."""
    model = smollm2.load()
    facts = {
        "sha256": SHA256,
        "text": TEXT,
        "tokens": len(model.tokenizer.encode(TEXT)),
        "prompt": PROMPT,
        "right": measured(model, {}),
        "mistakes": {name: measured(model, wrong) for name, wrong in of_the_page(model)},
    }
    MEASURED.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
