"""Train the translator of dates, whole and with a part taken out, and write what is shipped of it.

    python -m tools train_translator [NAME ...]    (12 s a run of a quiet core; 110 runs in all)
    python -m tools train_translator --export

A name is one of the variants below, `whole` for the translator itself; without a name, all are
trained that are not yet in _build/translator. A variant has other parts, begins with others, or
learns by another rule: all that it differs in stands in its line of VARIANTS.
--export writes attnbook/data/translator.npz and translator.json.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from attnbook import Adam, cross_entropy, linear_backward, map_arrays, merge_heads, split_heads
from attnbook.toys import translator
from attnbook.toys.dates import FORMS, encode, fields, unseen_examples
from attnbook.toys.translator import Parts, Training, Translator, after_start, train_step
from course.chapters import ROOT

DATA, BUILD = ROOT / "attnbook/data", ROOT / "_build/translator"
SHOWN = "friday, march 13 1998"
SHOWN_AT = (0, 200, 300, 400, 600, 1200)  # steps
EVERY = 25  # steps, of the snapshots
MEANS = 48  # of which a curve is made, each of as many steps
FIRST = 20  # losses kept in full, for a test to replay


# --- Variants: the parts, the beginning, the rule by which they learn ------------------------


@dataclasses.dataclass(frozen=True)
class Variant:
    """What a run has that the translator's own has not.

    ``parts`` of Translator; ``init`` of ``Translator.init``; ``training`` of Training;
    ``seen_as`` returns the parameters, and their gradient, as what computes sees them;
    ``descends`` without Adam.
    """

    parts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    init: dict[str, int] = field(default_factory=dict)
    training: dict[str, float] = field(default_factory=dict)
    seen_as: Callable[[Translator], Translator] | None = None
    descends: bool = False


def no_positions(length, d_model):
    return np.zeros((length, d_model))


def all_visible(len_q, len_k):
    return np.ones((len_q, len_k), dtype=bool)


def the_part_alone(x, added):
    """Leave out the residual stream, and its gradient."""
    return added


def without_cross_attention(model):
    """Put zeros where cross-attention writes, into the parameters or into their gradient."""
    layer = model.decoder
    silent = silenced(layer.cross_attention, "w_o", "b_o")
    return dataclasses.replace(model, decoder=dataclasses.replace(layer, cross_attention=silent))


def without_feed_forward(model):
    """Put zeros where the feed-forward layers write."""
    return dataclasses.replace(
        model,
        encoder=silenced(model.encoder, "w_out", "b_out"),
        decoder=silenced(model.decoder, "w_out", "b_out"),
    )


def silenced(layer, *names):
    return dataclasses.replace(layer, **{name: 0 * getattr(layer, name) for name in names})


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


def without_keys(*arguments):
    """Leave out the gradient of the keys: w_k never learns, nor what keys are made of by them."""
    d_query, d_key, d_value, d_layer = Parts().attention_backward(*arguments)
    d_layer = dataclasses.replace(d_layer, w_k=0 * d_layer.w_k, b_k=0 * d_layer.b_k)
    return d_query, 0 * d_key, d_value, d_layer


def memory_by_values_only(d_output, layer, query, key, *rest):
    """Leave out what reaches the memory through the keys."""
    d_query, d_key, *others = Parts().attention_backward(d_output, layer, query, key, *rest)
    return d_query, d_key if key is query else 0 * d_key, *others


def without_dot_product(d_output, layer, query, key, value, mask, weights):
    """Leave out what softmax's gradient takes off each row: its weighted mean."""
    queries, keys, values = layer.queries(query), layer.keys(key), layer.values(value)
    merged = merge_heads(weights @ values)
    d_merged, d_w_o, d_b_o = linear_backward(d_output, merged, layer.w_o, layer.b_o)
    d_heads = split_heads(d_merged, layer.num_heads)  # (batch, num_heads, len_q, head_dim)
    d_scores = (d_heads @ values.mT) * weights
    scale = 1 / math.sqrt(queries.shape[-1])
    of = {
        "q": (scale * (d_scores @ keys), query),
        "k": (scale * (d_scores.mT @ queries), key),
        "v": (weights.mT @ d_heads, value),
    }
    d_inputs, d_layer = [], {"w_o": d_w_o, "b_o": d_b_o}
    for letter, (d_projected, x) in of.items():
        weight, bias = getattr(layer, f"w_{letter}"), getattr(layer, f"b_{letter}")
        d_x, d_w, d_b = linear_backward(merge_heads(d_projected), x, weight, bias)
        d_inputs.append(d_x)
        d_layer |= {f"w_{letter}": d_w, f"b_{letter}": d_b}
    return *d_inputs, dataclasses.replace(layer, **d_layer)


def last_one_only(d_output, tokens, vocab_size):
    """Write each place's gradient into its token's row, as `table[tokens] += d_output` does."""
    table = np.zeros((vocab_size, d_output.shape[-1]))
    table[tokens] += d_output
    return table


def not_divided(logits, targets):
    loss, d_logits = cross_entropy(logits, targets)
    return loss, d_logits * np.size(targets)


class Descent(Adam):
    """Plain gradient descent, which remembers nothing."""

    def step(self, parameters, gradient, rate):
        return map_arrays(lambda p, g: p - rate * g, parameters, gradient), self


NO_NORMS = {
    "norm": lambda x, gain: x,
    "norm_backward": lambda d_output, x, gain: (d_output, 0 * gain),
}
NO_POSITIONS = {"source_positions": no_positions, "target_positions": no_positions}
VARIANTS = {
    "whole": Variant(),
    "no_source_positions": Variant({"source_positions": no_positions}),
    "no_target_positions": Variant({"target_positions": no_positions}),
    "no_positions": Variant(NO_POSITIONS),
    "no_causal_mask": Variant({"past": all_visible}),
    "no_scale": Variant(seen_as=unscaled),
    "one_head": Variant(init={"num_heads": 1}),
    "no_cross_attention": Variant(seen_as=without_cross_attention),
    "no_feed_forward": Variant(seen_as=without_feed_forward),
    "no_residuals": Variant({"add": the_part_alone}),
    "no_residuals_longer": Variant({"add": the_part_alone}, training={"steps": 4800}),
    "no_norms": Variant(NO_NORMS),
    "no_warmup": Variant(training={"warmup": 0}),
    **{f"adam_{rate}": Variant(training={"peak": rate}) for rate in (0.0006, 0.002, 0.02, 0.06)},
    "no_warmup_0.02": Variant(training={"warmup": 0, "peak": 0.02}),
    **{
        f"descent_{rate}": Variant(training={"peak": rate}, descends=True)
        for rate in (0.1, 0.3, 0.6, 1.0, 1.7, 3.0)
    },
    "keys_without_gradient": Variant({"attention_backward": without_keys}),
    "memory_by_values_only": Variant({"attention_backward": memory_by_values_only}),
    "softmax_without_dot_product": Variant({"attention_backward": without_dot_product}),
    "repeated_characters_lost": Variant({"embedding_backward": last_one_only}),
    "not_divided": Variant({"cross_entropy": not_divided}),
    "not_divided_descent_0.3": Variant(
        {"cross_entropy": not_divided}, training={"peak": 0.3}, descends=True
    ),
}

PAIRED = {"whole", "no_target_positions", "no_scale", "one_head", "no_feed_forward", "no_norms"}


def begin(name, seed):
    """Return the variant's run, before the first step."""
    variant = VARIANTS[name]
    run = Training(seed=seed, **variant.training)
    model = Translator.init(np.random.default_rng(seed), **variant.init)
    run.model = dataclasses.replace(model, parts=Parts(**variant.parts))
    run.adam = (Descent if variant.descends else Adam).start(run.model)
    if seen_as := variant.seen_as:

        def loss_and_gradient(model, source, target):
            loss, gradient = translator.loss_and_gradient(seen_as(model), source, target)
            return loss, seen_as(gradient)

        run.loss_and_gradient = loss_and_gradient
    return run


def steps(run):
    """Make the steps of a run, and give its number of steps after each."""
    with np.errstate(all="ignore"):  # some variants overflow: that is their result
        while len(run.losses) < run.steps:
            train_step(run)
            yield len(run.losses)


# --- What is measured ------------------------------------------------------------------------

TEST = unseen_examples()
SOURCE, TARGET = encode(*[e.written for e in TEST]), encode(*[e.iso for e in TEST])


def by_position(model):
    """Return the loss of each character of the unseen dates, given the right ones before it."""
    logits = model.logits(SOURCE, after_start(TARGET))
    logits = logits - logits.max(axis=-1, keepdims=True)
    at_target = np.take_along_axis(logits, TARGET[..., None], axis=-1)[..., 0]
    return np.log(np.exp(logits).sum(axis=-1)) - at_target, logits.argmax(axis=-1)


def judged(model):
    """Measure a trained model on the unseen dates."""
    losses, forced = by_position(model)
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
    run = begin(name, seed)
    snapshots, weights = [], {}
    whole = name == "whole" and seed == 0
    if whole:
        snapshots.append(snapshot(run.model))
        weights[0] = shown(run.model)
    for step in steps(run):
        if whole and step % EVERY == 0:
            snapshots.append(snapshot(run.model))
        if whole and step in SHOWN_AT:
            weights[step] = shown(run.model)
    seen_as = VARIANTS[name].seen_as
    model = seen_as(run.model) if seen_as else run.model
    with np.errstate(all="ignore"):
        found = {"seed": seed, **judged(model)}
    found["train_loss"] = float(np.mean(run.losses[-50:]))
    found["curve"] = [float(loss) for loss in np.reshape(run.losses, (MEANS, -1)).mean(axis=1)]
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


def snapshot(model):
    """Return the loss of each character, and each head's share of weight on each field."""
    losses, _ = by_position(model)
    weights = model.trace(SOURCE, after_start(TARGET)).cross_weights
    return {"losses": losses.mean(axis=0).tolist(), "shares": shares(weights).tolist()}


def shares(weights):
    """Return (num_heads, 3, 4): of the digits of year, month, day, on y, m, d and all else."""
    of = np.array([list(fields(example).ljust(SOURCE.shape[1])) for example in TEST])
    on = np.stack([of == letter for letter in "ymd"], axis=-1)  # (500, source_len, 3)
    on = np.concatenate([on, ~on.any(axis=-1, keepdims=True)], axis=-1)
    found = weights @ on[:, None]  # (500, num_heads, 10, 4)
    digits = ([0, 1, 2, 3], [5, 6], [8, 9])
    return np.stack([found[:, :, part].mean(axis=(0, 2)) for part in digits], axis=1)


def shown(model):
    source, target = encode(SHOWN), encode("1998-03-13")
    return model.trace(source, after_start(target)).cross_weights[0].tolist()


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
    if name == "not_divided_descent_0.3":
        return range(1)
    return range(5 if name in PAIRED else 3)


def main(*arguments):
    if "--export" in arguments:
        export()
        return
    for name in arguments or VARIANTS:
        for seed in seeds_of(name):
            if arguments or not (BUILD / f"{name}-{seed}.json").exists():
                train(name, seed)
