"""Train the storyteller and its three twins, and write what is shipped of them. Run by hand.

    pip install numpy==2.4.6 torch==2.13.0
    python -m tools train_storyteller rotary sinusoidal alibi none    (20 minutes each)
    python -m tools train_storyteller export judge

A run saves itself in _build/storyteller every 250 steps and goes on from there. All four see the
same stories, of which none is ever told twice. Training computes in float32 on one core: with the
same seeds, another machine's numbers agree only to rounding, which training makes larger.

What makes a model bind within minutes, where it otherwise takes hours: it begins with bare lists
(`kite Tom ball Ann kite Tom`), which become sentences by and by, then stories. Embeddings begin
as large as what the layers add to them, and words that answer a question count for more.
"""

import json
import sys
from collections import defaultdict
from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from attnbook.pretrained import storyteller
from attnbook.pretrained.storyteller import _parameters as parameters
from attnbook.toys.small_world import COLOURS, MEN, PEOPLE, PLACES, THINGS, WOMEN, WORDS, story
from course.chapters import ROOT

DATA, BUILD = ROOT / "attnbook/data", ROOT / "_build/storyteller"
SCHEMES = ("rotary", "sinusoidal", "alibi", "none")
D_MODEL, NUM_LAYERS, NUM_HEADS, NUM_KV_HEADS, HIDDEN = 64, 4, 4, 2, 96
HEAD_DIM, KV_DIM = D_MODEL // NUM_HEADS, D_MODEL // NUM_HEADS * NUM_KV_HEADS
BASE, EPS = 10000.0, 1e-5
LENGTH, LONG = 128, 512
STEPS, WARM_UP, RATE = 8000, 200, 3e-3
BARE, LISTS, SHORT, FADED = 150, 800, 1000, 6000  # until which step there are which examples
ANSWERS_WEIGH = 20.0
SEEDS = {"parameters": 0, "training": 1, "curve": 2, "long": 3, "judged": 5}
IDS = {word: number for number, word in enumerate(WORDS)}


# --- What it is trained on ------------------------------------------------------------

# Facts and questions of a list, from bare to whole, and what they pair.
FORMS = [
    (
        ("{key} {value}", "the {key} {value} .", "the {key} is with {value} .")
        + ("{other} gives the {key} to {value} .",),
        ("{key}", "the {key}", "who has the {key}", "who has the {key} ?"),
        (THINGS, PEOPLE),
    ),
    (
        ("{key} {value}", "{key} is {value} .", "{key} is in the {value} .")
        + ("{key} goes to the {value} .",),
        ("{key}", "where is {key}", "where is {key} ?", "where is {key} ? in the"),
        (PEOPLE, PLACES),
    ),
    (
        (
            "{key} {value}",
            "the {key} {value} .",
            "the {key} is {value} .",
            "the {key} is {value} .",
        ),
        ("{key}", "the {key}", "what colour is the {key}", "what colour is the {key} ?"),
        (THINGS, COLOURS),
    ),
]


class Examples:
    """Batches of token numbers and of loss weights, from one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def below(self, count: int) -> int:
        return int(self.rng.random() * count)

    def sample(self, items, count: int) -> list[str]:
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    def list_of_facts(self, level: float):
        """Two to five facts, some of them changed, and questions, in forms up to the level."""
        says, asks, (keys, possible) = FORMS[self.below(len(FORMS))]
        count = 2 + self.below(4)
        keys = self.sample(keys, count)
        values = [possible[self.below(len(possible))] for _ in keys]

        def form(forms):
            return forms[min(self.below(level + 1) if self.rng.random() < 0.7 else int(level), 3)]

        def fact(number):
            other = PEOPLE[self.below(len(PEOPLE))]
            return form(says).format(key=keys[number], value=values[number], other=other)

        facts = [fact(number) for number in range(count)]
        for _ in range(self.below(3) if level >= 1 else 0):
            number = self.below(count)
            values[number] = possible[self.below(len(possible))]
            facts.append(fact(number))
        ask = form(asks)
        return self.with_questions(facts, [ask.format(key=key) for key in keys], values, level)

    def list_of_pronouns(self):
        """Two or three gifts, after each of which a pronoun says who goes where."""
        count = 2 + self.below(2)
        men, women = self.sample(MEN, count), self.sample(WOMEN, count)
        facts, places = [], {}
        if self.below(3):
            for name in self.sample(men + women, 2 * count):
                places[name] = PLACES[self.below(len(PLACES))]
                facts.append(f"{name} is in the {places[name]} .")
        for man, woman, thing in zip(men, women, self.sample(THINGS, count), strict=True):
            giver, receiver = (man, woman) if self.below(2) else (woman, man)
            goes, place = (man, woman)[self.below(2)], PLACES[self.below(len(PLACES))]
            he, has = ("he" if name in MEN else "she" for name in (goes, receiver))
            facts.append(
                f"{giver} gives the {thing} to {receiver} . "
                f"{he} goes to the {place} because {has} has it ."
            )
            places[goes] = place
        asks = [f"where is {name} ? in the" for name in places]
        return self.with_questions(facts, asks, list(places.values()), 3)

    def with_questions(self, facts, asks, answers, level):
        words, positions = " ".join(["<start>", *facts]).split(), []
        for _ in range(8):
            number = self.below(len(asks))
            words += asks[number].split()
            positions.append(len(words))
            words += [answers[number], "."] if level >= 1 else [answers[number]]
        return words, positions

    def told(self, **options):
        words, questions = story(self.rng, **options)
        return words, [question.position for question in questions]

    def whole_or_cut(self, ask: float):
        """A whole story or the beginning of a longer one, so that the end is not at one place."""
        return self.told(length=LENGTH if self.rng.random() < 0.5 else 2 * LENGTH, ask=ask)

    def batch(self, step: int):
        """Draw the batch of a step: about 4,096 tokens."""
        kind = self.rng.random()
        lists = 0.5 * max(0, 1 - step / FADED)
        if step < LISTS or kind < lists:
            if step < BARE:
                return as_arrays([self.list_of_facts(0) for _ in range(128)], 25)
            level = min(3.0, (step - BARE) / 150)
            if level == 3 and self.rng.random() < 0.4:
                return as_arrays([self.list_of_pronouns() for _ in range(32)], LENGTH)
            return as_arrays([self.list_of_facts(level) for _ in range(56)], 72)
        if step < SHORT or kind < lists + 0.15:
            few = {"people": (2, 2), "things": (1, 2), "final": 2}
            return as_arrays([self.told(length=64, ask=0.6, **few) for _ in range(64)], 64)
        ask = self.rng.random()
        return as_arrays([self.whole_or_cut(ask) for _ in range(32)], LENGTH)


def as_arrays(told, length: int):
    """Return tokens, padded with -1, and what the loss at each counts for."""
    tokens = np.full((len(told), length), -1)
    weights = np.zeros((len(told), length), np.float32)
    for row, (words, positions) in enumerate(told):
        words = words[:length]
        tokens[row, : len(words)] = [IDS[word] for word in words]
        weights[row, : len(words)] = 1
        weights[row, [position for position in positions if position < length]] = ANSWERS_WEIGH
    return torch.from_numpy(tokens), torch.from_numpy(weights)


# --- The model ------------------------------------------------------------------------


def initial(scheme: str) -> dict[str, torch.Tensor]:
    """Draw the parameters, by the names under which they are shipped."""
    chance = torch.Generator().manual_seed(SEEDS["parameters"])

    def normal(rows, columns, spread=1.0):
        return torch.randn(rows, columns, generator=chance) * spread * rows**-0.5

    residual = (2 * NUM_LAYERS) ** -0.5
    # The sinusoidal one multiplies its embedding by sqrt(d_model).
    spread = D_MODEL**-0.5 if scheme == "sinusoidal" else 0.3
    embedding = torch.randn(len(WORDS), D_MODEL, generator=chance) * spread
    found = {"embedding": embedding, "final_norm": torch.ones(D_MODEL)}
    for layer in range(NUM_LAYERS):
        found |= {
            f"layer{layer}.attention_norm": torch.ones(D_MODEL),
            f"layer{layer}.w_q": normal(D_MODEL, D_MODEL),
            f"layer{layer}.w_k": normal(D_MODEL, KV_DIM),
            f"layer{layer}.w_v": normal(D_MODEL, KV_DIM),
            f"layer{layer}.w_o": normal(D_MODEL, D_MODEL, residual),
            f"layer{layer}.feed_forward_norm": torch.ones(D_MODEL),
            f"layer{layer}.w_gate": normal(D_MODEL, HIDDEN),
            f"layer{layer}.w_up": normal(D_MODEL, HIDDEN),
            f"layer{layer}.w_down": normal(HIDDEN, D_MODEL, residual),
        }
    return {name: array.requires_grad_() for name, array in found.items()}


def angles(length: int, size: int) -> torch.Tensor:
    """Return the angle of each position and pair: (length, size / 2)."""
    frequencies = BASE ** (-torch.arange(0, size, 2) / size)
    return torch.arange(length)[:, None] * frequencies


def rotated(x: torch.Tensor) -> torch.Tensor:
    angle = angles(*x.shape[-2:])
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def alibi(length: int) -> torch.Tensor:
    """Return the bias with the causal mask in it: (num_heads, length, length)."""
    slopes = 2.0 ** (-8 * (torch.arange(NUM_HEADS) + 1) / NUM_HEADS)
    position = torch.arange(length)
    behind = position[:, None] - position
    bias = -slopes[:, None, None] * behind
    return bias.masked_fill(behind < 0, -torch.inf)


def logits(weights: dict[str, torch.Tensor], tokens: torch.Tensor, scheme: str) -> torch.Tensor:
    batch, length = tokens.shape
    x = weights["embedding"][tokens.clamp(min=0)]
    if scheme == "sinusoidal":
        angle = angles(length, D_MODEL)
        x = x * D_MODEL**0.5 + torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    bias = alibi(length).expand(batch, -1, -1, -1) if scheme == "alibi" else None
    for layer in range(NUM_LAYERS):
        own = {
            name.partition(".")[2]: array
            for name, array in weights.items()
            if name.startswith(f"layer{layer}.")
        }
        normed = F.rms_norm(x, (D_MODEL,), own["attention_norm"], EPS)
        together = normed @ torch.cat((own["w_q"], own["w_k"], own["w_v"]), 1)
        heads = together.view(batch, length, -1, HEAD_DIM).transpose(1, 2)
        query, key, value = heads.split((NUM_HEADS, NUM_KV_HEADS, NUM_KV_HEADS), 1)
        if scheme == "rotary":
            query, key = rotated(query), rotated(key)
        shared = NUM_HEADS // NUM_KV_HEADS
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        heads = F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias, is_causal=bias is None
        )
        x = x + heads.transpose(1, 2).reshape(batch, length, D_MODEL) @ own["w_o"]
        normed = F.rms_norm(x, (D_MODEL,), own["feed_forward_norm"], EPS)
        x = x + (F.silu(normed @ own["w_gate"]) * (normed @ own["w_up"])) @ own["w_down"]
    return F.rms_norm(x, (D_MODEL,), weights["final_norm"], EPS) @ weights["embedding"].T


# --- Training -------------------------------------------------------------------------


@torch.no_grad()
def judged(weights, scheme, tokens, answers) -> tuple[float, float]:
    """Return the loss and the share of answers that are right."""
    scores, wanted = logits(weights, tokens, scheme)[:, :-1], tokens[:, 1:]
    loss = F.cross_entropy(scores.transpose(1, 2), wanted, ignore_index=-1)
    right = (scores.argmax(-1) == wanted)[answers[:, 1:] == ANSWERS_WEIGH]
    return loss.item(), right.float().mean().item()


def rate(step: int) -> float:
    """Return what to multiply the learning rate by: up, level, and from half-way down to 0."""
    return min(1.0, (step + 1) / WARM_UP) * min(1.0, 2 * (STEPS - step) / STEPS)


def optimiser(weights):
    """Return AdamW, which makes matrices decay and gains not, and its schedule."""
    groups = [
        {"params": [each for each in weights.values() if each.ndim == 2], "weight_decay": 0.05},
        {"params": [each for each in weights.values() if each.ndim == 1], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), fused=True)
    return adam, torch.optim.lr_scheduler.LambdaLR(adam, rate)


def descend(weights, scheme: str, adam, schedule, tokens, counts) -> tuple[float, float]:
    """Make a step of training; return the loss and the gradient's norm, before it is clipped."""
    scores = logits(weights, tokens, scheme)[:, :-1]
    losses = F.cross_entropy(
        scores.transpose(1, 2), tokens[:, 1:], ignore_index=-1, reduction="none"
    )
    loss = (losses * counts[:, 1:]).sum() / counts[:, 1:].sum()
    adam.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
    adam.step()
    schedule.step()
    return loss.item(), norm.item()


def train(scheme: str) -> None:
    """Train one model, or go on training it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    weights, examples = initial(scheme), Examples(SEEDS["training"])
    adam, schedule = optimiser(weights)
    curve, first, place = [], 0, BUILD / f"{scheme}.pt"
    if place.exists():
        saved = torch.load(place, weights_only=False)
        with torch.no_grad():
            for name, array in saved["weights"].items():
                weights[name].copy_(array)
        adam.load_state_dict(saved["adam"])
        schedule.load_state_dict(saved["schedule"])
        examples.rng.bit_generator.state = saved["rng"]
        curve, first = saved["curve"], saved["step"]
    ahead = Examples(SEEDS["curve"])
    stories = as_arrays([ahead.told(length=LENGTH) for _ in range(100)], LENGTH)
    lists = as_arrays([ahead.list_of_facts(0) for _ in range(100)], 25)
    for step in range(first, STEPS):
        descend(weights, scheme, adam, schedule, *examples.batch(step))
        if (step + 1) % 50 == 0:
            on_stories, on_lists = (
                judged(weights, scheme, *stories),
                judged(weights, scheme, *lists),
            )
            curve.append([step + 1, *(round(number, 4) for number in (*on_stories, on_lists[1]))])
            print(*curve[-1], flush=True)
        if (step + 1) % 250 == 0:
            state = {
                "weights": {name: array.detach() for name, array in weights.items()},
                "adam": adam.state_dict(),
                "schedule": schedule.state_dict(),
                "rng": examples.rng.bit_generator.state,
                "curve": curve,
                "step": step + 1,
            }
            torch.save(state, place.with_suffix(".new"))
            place.with_suffix(".new").replace(place)
            torch.save(state["weights"], BUILD / f"{scheme}.{step + 1}.pt")


# --- What is shipped ------------------------------------------------------------------


def halves(weights) -> dict[str, np.ndarray]:
    return {name: array.numpy().astype(np.float16) for name, array in weights.items()}


def bytes_by_row(weights) -> dict[str, np.ndarray]:
    """Round each row of a matrix to 8 bits, its largest number to 127."""
    found = {}
    for name, array in halves(weights).items():
        if array.ndim == 2:
            scale = (abs(array).max(axis=1) / 127).astype(np.float16)
            found[f"{name}.scale"] = scale
            array = np.round(array / scale.astype(np.float32)[:, None])
            array = array.clip(-127, 127).astype(np.int8)
        found[name] = array
    return found


def by_position(model) -> dict[str, list[float]]:
    """Return the loss and the share of answers right of long stories, by position."""
    rng = np.random.default_rng(SEEDS["long"])
    loss, right = np.zeros((2, LONG)), np.zeros((2, LONG))  # sums and counts
    for _ in range(64):
        words, questions = story(rng, length=LONG, ask=0.3)
        tokens = np.array(model.tokenizer.encode(" ".join(words)))
        scores = model.logits(tokens[:-1]).astype(np.float64)
        scores -= scores.max(axis=-1, keepdims=True)
        wanted = scores[np.arange(len(scores)), tokens[1:]]
        loss[:, 1 : len(tokens)] += (
            np.log(np.exp(scores).sum(axis=-1)) - wanted,
            np.ones(len(scores)),
        )
        for question in questions:
            said = scores[question.position - 1].argmax()
            right[:, question.position] += said == tokens[question.position], 1
    binned = {}
    for name, (sums, counts), size in (("long_loss", loss, 32), ("long_right", right, 64)):
        means = sums.reshape(-1, size).sum(axis=1) / counts.reshape(-1, size).sum(axis=1)
        binned[name] = means.round(4).tolist()
    return binned


@torch.no_grad()
def export() -> None:
    """Write the four models, what was recorded, and PyTorch's logits for the tests."""
    records, golden = {}, {"torch": torch.__version__, "logits": {}}
    words = story(np.random.default_rng(SEEDS["long"]), ask=0.3).words[:LENGTH]
    tokens = torch.tensor([[IDS[word] for word in words]])
    for scheme in SCHEMES:
        saved = torch.load(BUILD / f"{scheme}.pt", weights_only=False)
        name = "storyteller" if scheme == "rotary" else f"storyteller_{scheme}"
        shipped = halves(saved["weights"]) if scheme == "rotary" else bytes_by_row(saved["weights"])
        np.savez_compressed(DATA / f"{name}.npz", **shipped)
        own = {key: torch.from_numpy(array) for key, array in parameters(name).items()}
        scores = logits(own, tokens, scheme)[0, ::17]
        golden["logits"][scheme] = [[round(float(score), 5) for score in row] for row in scores]
        curve = zip(*saved["curve"], strict=True)
        records[scheme] = dict(zip(("steps", "loss", "right", "pairs"), curve, strict=True))
    facts = {"words": WORDS, "seeds": SEEDS, "trained_steps": STEPS, "records": records}
    write(DATA / "storyteller.json", facts)
    for scheme in SCHEMES:
        records[scheme] |= by_position(storyteller.load(scheme))
    write(DATA / "storyteller.json", facts)
    golden["tokens"] = tokens[0].tolist()
    write(ROOT / "tests/package/golden/storyteller.json", golden)


def judge() -> None:
    """Print what the data card says of 3,000 unseen stories, and the mistakes."""
    rng = np.random.default_rng(SEEDS["judged"])
    stories = [story(rng) for _ in range(3000)]
    for scheme in SCHEMES:
        name = "storyteller" if scheme == "rotary" else f"storyteller_{scheme}"
        own = {key: torch.from_numpy(array) for key, array in parameters(name).items()}
        right, wrong = defaultdict(list), []
        for first in range(0, len(stories), 100):
            some = stories[first : first + 100]
            tokens, _ = as_arrays([(words, []) for words, _ in some], LENGTH)
            with torch.no_grad():
                predicted = logits(own, tokens, scheme).argmax(-1).tolist()
            for (words, questions), answers in zip(some, predicted, strict=True):
                for question in questions:
                    answer = WORDS[answers[question.position - 1]]
                    distance = question.distance // 20 * 20
                    for of in ("all", question.kind, f"{distance:3} to {distance + 19}"):
                        right[of].append(answer == question.answer)
                    if answer != question.answer:
                        wrong.append((*words[: question.position], f"[{answer}]", question.answer))
        print(scheme)
        for of, outcomes in sorted(right.items()):
            print(f"  {of:12} {sum(outcomes)} of {len(outcomes)}, {np.mean(outcomes):.4f}")
        for words in wrong[:3]:
            print("  ", *words)


def write(path, facts) -> None:
    path.write_text(json.dumps(facts, separators=(",", ":")) + "\n", encoding="utf-8")


def main(*names: str) -> None:
    """Train the models named, or write what is shipped."""
    if not names or not set(names) <= {*SCHEMES, "export", "judge"}:
        sys.exit(f"python -m tools train_storyteller {'|'.join(SCHEMES)}|export|judge")
    torch.set_num_threads(1)
    for name in names:
        {"export": export, "judge": judge}.get(name, partial(train, name))()
