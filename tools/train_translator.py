"""Train the translator of dates, whole and with a part taken out, and write what is shipped of it.

    python -m tools train_translator [NAME ...]    (12 s a run of a quiet core; 90 runs in all)
    python -m tools train_translator --export

A name is one of the variants below, `whole` for the translator itself; without a name, all are
trained that are not yet in _build/translator. A variant is `attnbook/toys/translator.py` with a
line or two replaced, or a function put in place of another, so its whole code can be seen here.
--export writes attnbook/data/translator.npz and translator.json.
"""

import dataclasses
import json
import math
import sys
import types
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np

from attnbook import gradients
from attnbook.toys import translator
from attnbook.toys.dates import FORMS, encode, fields, unseen_examples
from course.chapters import ROOT

DATA, BUILD = ROOT / "attnbook/data", ROOT / "_build/translator"
SHOWN = "friday, march 13 1998"
SHOWN_AT = (0, 200, 300, 400, 600, 1200)  # steps
EVERY = 25  # steps, of the snapshots
FIRST = 20  # losses kept in full, for a test to replay


# --- Variants: lines of attnbook/toys/translator.py and what stands there instead -------------

NO_SOURCE_POSITIONS = [
    ("x0 = model._embedded(source)", "x0 = model.embedding[source]"),
    ("x = self._embedded(source)", "x = self.embedding[source]"),
]
NO_TARGET_POSITIONS = [
    ("y0 = model._embedded(target_in)", "y0 = model.embedding[target_in]"),
    ("y = self._embedded(target_in)", "y = self.embedding[target_in]"),
]
NO_CROSS_ATTENTION = [
    ("y2 = y1 + added", "y2 = y1 + 0 * added"),
    ("y = y + found", "y = y + 0 * found"),
    ("        d_y2, decoder.cross_attention", "        0 * d_y2, decoder.cross_attention"),
]
NO_FEED_FORWARD = [
    ("x2 = x1 + feed", "x2 = x1 + 0 * feed"),
    ("x = x + feed", "x = x + 0 * feed"),
    ("y3 = y2 + feed", "y3 = y2 + 0 * feed"),
    ("y = y + feed", "y = y + 0 * feed"),
    ("        d_x2, n1, encoder.w_in", "        0 * d_x2, n1, encoder.w_in"),
    ("        d_y3, m2, decoder.w_in", "        0 * d_y3, m2, decoder.w_in"),
]
NO_RESIDUALS = [
    *[(f"x{n + 1} = x{n} + ", f"x{n + 1} = ") for n in range(2)],
    *[(f"y{n + 1} = y{n} + ", f"y{n + 1} = ") for n in range(3)],
    *[(f"d_x{n} = d_x{n + 1} + d_part", f"d_x{n} = d_part") for n in range(2)],
    *[(f"d_y{n} = d_y{n + 1} + d_part", f"d_y{n} = d_part") for n in range(3)],
    *[("x = x + added", "x = added"), ("x = x + feed", "x = feed")],
    *[("y = y + added", "y = added"), ("y = y + found", "y = found"), ("y = y + feed", "y = feed")],
]
PLAIN_DESCENT = [
    (
        "model, adam = run.adam.step(run.model, gradient, rate)",
        "model, adam = map_arrays(lambda p, g: p - rate * g, run.model, gradient), run.adam",
    )
]
NO_SCALE = [
    (
        "loss, gradient = loss_and_gradient(run.model, source, target)",
        "loss, gradient = loss_and_gradient(unscaled(run.model), source, target)\n"
        "    gradient = unscaled(gradient)",
    )
]


def unscaled(model):
    """Multiply queries by sqrt(head_dim), which takes the scale 1/sqrt(head_dim) away.

    The same of the gradient, since the loss depends on w_q times that number.
    """

    def louder(layer):
        by = math.sqrt(layer.w_q.shape[1] / layer.num_heads)
        return dataclasses.replace(layer, w_q=layer.w_q * by, b_q=layer.b_q * by)

    encoder, decoder = model.encoder, model.decoder
    return dataclasses.replace(
        model,
        encoder=dataclasses.replace(encoder, attention=louder(encoder.attention)),
        decoder=dataclasses.replace(
            decoder,
            attention=louder(decoder.attention),
            cross_attention=louder(decoder.cross_attention),
        ),
    )


def without_keys(*arguments, **options):
    """Leave out the gradient of the keys: w_k never learns, nor what keys are made of by them."""
    d_query, d_key, d_value, d_layer = gradients.multi_head_backward(*arguments, **options)
    d_layer = dataclasses.replace(d_layer, w_k=0 * d_layer.w_k, b_k=0 * d_layer.b_k)
    return d_query, 0 * d_key, d_value, d_layer


def last_one_only(d_output, tokens, vocab_size):
    """Write each place's gradient into its token's row, as `table[tokens] += d_output` does."""
    table = np.zeros((vocab_size, d_output.shape[-1]))
    table[tokens] += d_output
    return table


def not_divided(logits, targets):
    loss, d_logits = gradients.cross_entropy(logits, targets)
    return loss, d_logits * np.size(targets)


@contextmanager
def without_dot_product():
    """Leave out, meanwhile, what softmax's gradient takes off each row: its weighted mean."""
    whole = gradients._through_attention

    def without(d_output, query, key, value, weights, mean, mask, scale):
        return whole(d_output, query, key, value, weights, 0 * mean, mask, scale)

    gradients._through_attention = without
    try:
        yield
    finally:
        gradients._through_attention = whole


# Of each: lines replaced; names of the module replaced; what Training gets.
VARIANTS = {
    "whole": ([], {}, {}),
    "no_source_positions": (NO_SOURCE_POSITIONS, {}, {}),
    "no_target_positions": (NO_TARGET_POSITIONS, {}, {}),
    "no_positions": (NO_SOURCE_POSITIONS + NO_TARGET_POSITIONS, {}, {}),
    "no_causal_mask": (
        [
            ("causal_mask(target.shape[-1])", "np.ones((target.shape[-1],) * 2, bool)"),
            ("causal_mask(target_in.shape[-1])", "np.ones((target_in.shape[-1],) * 2, bool)"),
        ],
        {},
        {},
    ),
    "no_scale": (NO_SCALE, {"unscaled": unscaled}, {}),
    "one_head": ([("num_heads: int = 4", "num_heads: int = 1")], {}, {}),
    "no_cross_attention": (NO_CROSS_ATTENTION, {}, {}),
    "no_feed_forward": (NO_FEED_FORWARD, {}, {}),
    "no_residuals": (NO_RESIDUALS, {}, {}),
    "no_norms": (
        [],
        {
            "rms_norm": lambda x, gain: x,
            "rms_norm_backward": lambda d_output, x, gain: (d_output, 0 * gain),
        },
        {},
    ),
    "no_warmup": ([], {}, {"warmup": 0}),
    **{f"adam_{rate}": ([], {}, {"peak": rate}) for rate in (0.002, 0.02)},
    "no_warmup_0.02": ([], {}, {"warmup": 0, "peak": 0.02}),
    **{f"descent_{rate}": (PLAIN_DESCENT, {}, {"peak": rate}) for rate in (0.1, 0.3, 1.0, 3.0)},
    "keys_without_gradient": ([], {"multi_head_backward": without_keys}, {}),
    "memory_by_values_only": ([("d_memory = d_key + d_value", "d_memory = d_value")], {}, {}),
    "softmax_without_dot_product": ([], {}, {}),
    "repeated_characters_lost": ([], {"embedding_backward": last_one_only}, {}),
    "not_divided": ([], {"cross_entropy": not_divided}, {}),
    "not_divided_descent_0.3": (
        PLAIN_DESCENT,
        {"cross_entropy": not_divided},
        {"peak": 0.3},
    ),
}

BRACKETS = {"descent_0.1", "descent_3.0", "adam_0.002", "not_divided_descent_0.3"}


def variant(name):
    """Return the module `attnbook.toys.translator` as the variant has it."""
    replaced, others, _ = VARIANTS[name]
    source = Path(translator.__file__).read_text(encoding="utf-8")
    for line, instead in replaced:
        if source.count(line) != 1:
            sys.exit(f"{name}: {line!r} must stand once in attnbook/toys/translator.py")
        source = source.replace(line, instead)
    module = types.ModuleType(f"translator_{name}")
    sys.modules[module.__name__] = module  # where dataclasses look their annotations up
    exec(compile(source, name, "exec"), module.__dict__)
    module.__dict__.update(others)
    return module


def begin(name, seed):
    """Return the variant's module and its run, before the first step."""
    module = variant(name)
    return module, module.Training(seed=seed, **VARIANTS[name][2])


def steps(name, module, run):
    """Make the steps of a run, and give its number of steps after each."""
    is_wrong = name == "softmax_without_dot_product"
    with (
        without_dot_product() if is_wrong else nullcontext(),
        np.errstate(all="ignore"),
    ):  # some variants overflow: that is their result
        while len(run.losses) < run.steps:
            module.train_step(run)
            yield len(run.losses)


# --- What is measured ------------------------------------------------------------------------

TEST = unseen_examples()
SOURCE, TARGET = encode(*[e.written for e in TEST]), encode(*[e.iso for e in TEST])


def by_position(module, model):
    """Return the loss of each character of the unseen dates, given the right ones before it."""
    logits = model.logits(SOURCE, module.after_start(TARGET))
    logits = logits - logits.max(axis=-1, keepdims=True)
    at_target = np.take_along_axis(logits, TARGET[..., None], axis=-1)[..., 0]
    return np.log(np.exp(logits).sum(axis=-1)) - at_target, logits.argmax(axis=-1)


def judged(module, model):
    """Measure a trained model on the unseen dates."""
    losses, forced = by_position(module, model)
    written = model.greedy(SOURCE)
    return {
        "loss": float(losses.mean()),
        "exact": float((written == TARGET).all(axis=-1).mean()),
        "characters": float((written == TARGET).mean()),
        "forced": float((forced == TARGET).all(axis=-1).mean()),
        "by_form": [
            float((written == TARGET)[n :: len(FORMS)].all(axis=-1).mean())
            for n in range(len(FORMS))
        ],
    }


def train(name, seed):
    """Train, judge and save one run."""
    module, run = begin(name, seed)
    snapshots, weights = [], {}
    whole = name == "whole" and seed == 0
    if whole:
        snapshots.append(snapshot(module, run.model))
        weights[0] = shown(module, run.model)
    for step in steps(name, module, run):
        if whole and step % EVERY == 0:
            snapshots.append(snapshot(module, run.model))
        if whole and step in SHOWN_AT:
            weights[step] = shown(module, run.model)
    model = unscaled(run.model) if name == "no_scale" else run.model
    with np.errstate(all="ignore"):
        found = {"seed": seed, **judged(module, model)}
    found["train_loss"] = float(np.mean(run.losses[-50:]))
    found["curve"] = [float(loss) for loss in np.reshape(run.losses, (-1, EVERY)).mean(axis=1)]
    found["first"] = run.losses[:FIRST]
    BUILD.mkdir(parents=True, exist_ok=True)
    if whole:
        found["snapshots"], found["weights"] = snapshots, weights
        np.savez(BUILD / "whole.npz", **flat(model))
    file = BUILD / f"{name}-{seed}.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    print(
        f"{name:28} seed {seed}  loss {found['loss']:.4f}  exact {found['exact']:.3f}  "
        f"forced {found['forced']:.3f}",
        flush=True,
    )


def snapshot(module, model):
    """Return the loss of each character, and each head's share of weight on each field."""
    losses, _ = by_position(module, model)
    weights = model.trace(SOURCE, module.after_start(TARGET)).cross_weights
    return {"losses": losses.mean(axis=0).tolist(), "shares": shares(weights).tolist()}


def shares(weights):
    """Return (num_heads, 3, 4): of the digits of year, month, day, on y, m, d and all else."""
    of = np.array([list(fields(example).ljust(SOURCE.shape[1])) for example in TEST])
    on = np.stack([of == letter for letter in "ymd"], axis=-1)  # (500, source_len, 3)
    on = np.concatenate([on, ~on.any(axis=-1, keepdims=True)], axis=-1)
    found = weights @ on[:, None]  # (500, num_heads, 10, 4)
    digits = ([0, 1, 2, 3], [5, 6], [8, 9])
    return np.stack([found[:, :, part].mean(axis=(0, 2)) for part in digits], axis=1)


def shown(module, model):
    source, target = encode(SHOWN), encode("1998-03-13")
    return model.trace(source, module.after_start(target)).cross_weights[0].tolist()


# --- What is shipped -------------------------------------------------------------------------


def flat(model):
    """Return the parameters by name, `encoder.attention.w_q` for instance."""
    found = {}
    for name, part in vars(model).items():
        if isinstance(part, np.ndarray):
            found[name] = part
        elif dataclasses.is_dataclass(part):
            found |= {f"{name}.{rest}": array for rest, array in flat(part).items()}
    return found


def export():
    """Round the parameters and write them, with all that was measured."""
    parameters = dict(np.load(BUILD / "whole.npz"))
    rounded = {name: array.astype(np.float16) for name, array in parameters.items()}
    np.savez_compressed(DATA / "translator.npz", **rounded)
    runs = {
        name: [
            json.loads((BUILD / f"{name}-{seed}.json").read_text(encoding="utf-8"))
            for seed in seeds_of(name)
        ]
        for name in VARIANTS
    }
    whole = runs["whole"][0]
    snapshots = whole.pop("snapshots")
    record = {key: [each[key] for each in snapshots] for key in ("losses", "shares")}
    record |= {"text": SHOWN, "weights": whole.pop("weights")}
    first = {name: of_seeds[0]["first"] for name, of_seeds in runs.items()}
    for of_seeds in runs.values():
        for run in of_seeds:
            del run["first"], run["forced"], run["train_loss"]
    content = {"numpy": np.__version__, "runs": rounded_numbers(runs, 4)}
    content |= {"record": rounded_numbers(record, 3), "first": rounded_numbers(first, 16)}
    (DATA / "translator.json").write_text(
        json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8"
    )


def rounded_numbers(thing, digits):
    """Round every number to so many decimals; one that is none becomes null."""
    if isinstance(thing, dict):
        return {key: rounded_numbers(each, digits) for key, each in thing.items()}
    if isinstance(thing, list):
        return [rounded_numbers(each, digits) for each in thing]
    if isinstance(thing, float):
        return round(thing, digits) if math.isfinite(thing) else None
    return thing


def seeds_of(name):
    if name == "whole":
        return range(5)
    return range(1 if name in BRACKETS else 3)


def main(*arguments):
    if "--export" in arguments:
        export()
        return
    for name in arguments or VARIANTS:
        for seed in seeds_of(name):
            if arguments or not (BUILD / f"{name}-{seed}.json").exists():
                train(name, seed)
