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
from types import SimpleNamespace

import numpy as np

import attnbook
from attnbook import Decoder, apply_rotary, causal_mask, cross_entropy, mistakes
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
Parts = dict[str, Callable]


def places(heads: np.ndarray) -> np.ndarray:
    return np.arange(heads.shape[-2])


def with_room(query, key, value, mask):
    """Attend to keys and values in a cache whose empty places nobody hides."""
    room = [(0, 0)] * (key.ndim - 2) + [(0, BUFFER - key.shape[-2]), (0, 0)]
    seen = np.pad(mask, [(0, 0), (0, BUFFER - key.shape[-2])], constant_values=True)
    return attention(query, np.pad(key, room), np.pad(value, room), seen)


def others(model: Decoder) -> dict[str, Parts]:
    """Return the mistakes for which the code of the page has another form than SmolLM2 needs."""
    unturned: Parts = {"turn": lambda heads: heads}
    rotary = functools.partial(apply_rotary, base=model.rope_base)
    wide = 1 / np.sqrt(len(model.final_norm))
    return {
        "why-sequence-first": {"causal_mask": lambda n: np.eye(n, dtype=bool)} | unturned,
        "why-scale-of-whole": {"attend": functools.partial(attention, scale=wide)},
        "why-aligned": {"causal_mask": lambda n: np.broadcast_to(np.arange(n) == 0, (n, n))},
        "why-position-zero": unturned,
        "why-buffer": {"attend": with_room},
        "why-no-positions": unturned,
        "why-along-batch": unturned,
        "why-half-exponent": {
            "turn": functools.partial(apply_rotary, base=np.sqrt(model.rope_base))
        },
        "why-layout": {"turn": functools.partial(rotary, pairing="halves")},
        "why-backwards": {"turn": lambda heads: rotary(heads, -places(heads))},
        "why-torch-mask": {"causal_mask": lambda n: ~causal_mask(n)},
    }


def replaced(name: str, code: str, model: Decoder) -> Parts:
    """Return the parts that the wrong code of an entry replaces."""
    if name in (written := others(model)):
        return written[name]
    names: dict = {}
    exec(blocks(parts()[0])["set-up"], names)
    if name != "why-rotary-base":
        names["apply_rotary"] = functools.partial(apply_rotary, base=model.rope_base)
    defined, given = re.match(r"def (\w+)\((.*?)\)", code).groups()
    if defined in ("attend", "attend_rotary") and "mask" not in given:
        # It leaves the mask out, so the mask is put into what it calls.
        def masked(query, key, value, **scale):
            return attention(query, key, value, causal_mask(key.shape[-2]), **scale)

        names["softmax"] = lambda scores: attnbook.softmax(
            np.where(causal_mask(scores.shape[-1]), scores, -np.inf).astype(scores.dtype)
        )
        names["attend"] = masked
        names["attnbook"] = SimpleNamespace(scaled_dot_product_attention=masked)
    exec(code, names)
    wrong = names.get(defined)
    if defined in ("softmax", "score", "weigh"):

        def attend(query, key, value, mask):
            weights = names["weigh"](names["score"](query, key), mask)
            return weights @ value, weights

        return {"attend": attend}
    if name == "why-half-scores":

        def attend_in_half(*given):
            output, weights = wrong(*(each.astype(np.float16) for each in given[:3]))
            return output.astype(np.float32), weights

        return {"attend": attend_in_half}
    if defined == "attend" and given in ("query, key, value, mask", "query, key, value"):
        return {"attend": lambda *arrays: wrong(*arrays[: given.count(",") + 1])}
    if defined == "attend":  # Keras's order, called as if it were the book's
        return {"attend": lambda query, key, value, _: wrong(query, key, value)}
    if defined == "attend_rotary":
        turn = {"turn": lambda heads: heads}
        return turn | {"attend": lambda q, k, v, _: (wrong(q, k, v, places(k)), None)}
    if defined == "turn":  # it is written for the heads of one text
        return {"turn": lambda heads: np.stack([wrong(each) for each in heads])}
    if defined == "positions":
        rotary = names["apply_rotary"]
        return {"turn": lambda heads: rotary(heads, wrong(heads.shape[-2]))}
    if defined == "total":

        def attend_with_total(query, key, value, mask):
            scores = np.where(mask, names["score"](query, key), -np.inf)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights = weights / np.apply_along_axis(wrong, -1, weights)[..., None]
            return weights.astype(np.float32) @ value, weights

        return {"attend": attend_with_total}
    if defined == "window_mask":
        return {"causal_mask": lambda length: wrong(length, WINDOW)}
    if defined in ("split_heads", "merge_heads", "expanded", "rms_norm", "causal_mask"):
        return {defined: wrong}
    raise ValueError(f"{name} replaces {defined}, which is no part of the decoder: say how")


def nats(model: Decoder, wrong: Parts) -> float | None:
    """Return the loss a token on the text, or None if it is no number."""
    tokens = np.array(model.tokenizer.encode(TEXT))
    with np.errstate(all="ignore"):
        logits = mistakes.logits(model, tokens[None], **wrong)[0]
    if not np.isfinite(logits).all():
        return None
    return round(float(cross_entropy(logits[:-1], tokens[1:])[0]), 3)


def writes(model: Decoder, wrong: Parts) -> str:
    """Return how the model continues the prompt, up to where two tokens are as good as tied."""
    start = model.tokenizer.encode(PROMPT)
    tokens = [*start]
    while len(tokens) < len(start) + COUNT:
        with np.errstate(all="ignore"):
            logits = mistakes.logits(model, [tokens], **wrong)[0, -1]
        second, first = np.sort(logits)[-2:]
        if not first - second > TIED:
            break
        tokens.append(int(logits.argmax()))
    return model.tokenizer.decode(tokens[len(start) :])


def measured(model: Decoder, wrong: Parts) -> dict | None:
    """Return the loss and the text, or None if arrays do not fit."""
    try:
        return {"nats": nats(model, wrong), "text": writes(model, wrong)}
    except ValueError:
        return None


def of_the_page(model: Decoder) -> Iterator[tuple[str, Parts]]:
    """Yield the mistakes of which the page says what they cost."""
    code = entries()
    for name in measurable():
        yield name, replaced(name, code[name]["wrong"], model)


def main() -> None:
    """Write mistakes.json."""
    model = smollm2()
    facts = {
        "sha256": SHA256,
        "text": TEXT,
        "tokens": len(model.tokenizer.encode(TEXT)),
        "prompt": PROMPT,
        "right": measured(model, {}),
        "mistakes": {name: measured(model, wrong) for name, wrong in of_the_page(model)},
    }
    MEASURED.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
