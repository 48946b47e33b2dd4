"""Draw the pictures of the front: a story that a model wrote; a clock asked for half past three.

`python -m tools cover` writes book/_static/story.svg, for the landing page, cover.svg, for it and
the README, and social.png, which stands beside a link to the book elsewhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from attnbook import scaled_dot_product_attention, softmax
from attnbook.plotting import shaded_words, use_style
from attnbook.pretrained import storyteller
from course.chapters import ROOT

TEMPERATURES = {0.03: "cold: a choice", 0.3: "", 3.0: "hot: an average"}
STATIC = ROOT / "book/_static"
BEGINNING = (
    "Tom is in the park . Ann is in the park . the kite is with Tom . Tom gives the kite to Ann ."
)
LAYER, HEAD = 2, 3  # the head that gives most of its weight to answers about places


def draw_faces(axes):
    """Draw one clock on each of three axes, cold to hot."""
    angle = 2 * np.pi * np.arange(1, 13) / 12
    hours = np.stack([np.sin(angle), np.cos(angle)], axis=-1)  # keys and values
    half_past_three = hours[[2, 3]].mean(axis=0)
    query = half_past_three / np.linalg.norm(half_past_three)
    for ax, (temperature, word) in zip(axes, TEMPERATURES.items(), strict=True):
        output, weights = scaled_dot_product_attention([query], hours, hours, scale=1 / temperature)
        ax.fill(*hours.T, facecolor="#f3f7fa", edgecolor="#b7cedb")
        ax.scatter(*hours.T, s=8 + 900 * weights[0], color="C0", zorder=3)
        for hour, point in enumerate(hours, 1):
            ax.text(*(1.3 * point), str(hour), ha="center", va="center", color="#444444")
        ax.annotate("", query * 0.9, (0, 0), arrowprops={"arrowstyle": "->", "color": "#888888"})
        ax.plot(*output[0], "D", color="#D55E00", markersize=9, zorder=4)
        title = f"{word}\ntemperature {temperature:g}".strip()
        ax.set(title=title, xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
        ax.axis("off")


def draw(path):
    """Write the picture as SVG, byte for byte the same with the same versions."""
    with plt.rc_context():
        use_style()
        fig, axes = plt.subplots(1, 3, figsize=(7.4, 3))
        draw_faces(axes)
        fig.savefig(path, format="svg", metadata={"Date": None})
        plt.close(fig)


def draw_story(path):
    """Write the picture of a story: what the storyteller goes on with, the likeliest words."""
    model = storyteller.load()
    begun = model.tokenizer.encode(f"<start> {BEGINNING}")
    tokens = model.generate(begun, 96, stop=model.tokenizer.encode("<end>"))
    words = model.tokenizer.decode(tokens).split()
    chosen = words.index(".", words.index("?")) - 1  # the first answer
    logits, _, weights = model.trace(tokens[:chosen])
    shares = softmax(logits[-1])
    best = (-shares).argsort(kind="stable")[:5]
    with plt.rc_context():
        use_style()
        ax = shaded_words(
            words,
            weights[LAYER, HEAD, -1],
            chosen=chosen,
            candidates={model.tokenizer.words[token]: shares[token] for token in best},
        )
        ax.figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(ax.figure)


def draw_card(path):
    """Write the card for links, 1200 by 630 pixels, the size that such cards have."""
    with plt.rc_context():
        use_style()
        fig = plt.figure(figsize=(12, 6.3), layout="none")
        fig.text(0.06, 0.82, "The Attention Book", fontsize=46, fontweight="bold", color="#1d2327")
        fig.text(0.06, 0.72, "Attention mechanisms in tested NumPy", fontsize=24, color="#0b6570")
        draw_faces([fig.add_axes((0.05 + 0.305 * i, 0.06, 0.29, 0.52)) for i in range(3)])
        fig.savefig(path, dpi=100, bbox_inches=fig.bbox_inches, metadata={"Software": None})
        plt.close(fig)


def main() -> None:
    """Write them all."""
    draw_story(STATIC / "story.svg")
    draw(STATIC / "cover.svg")
    draw_card(STATIC / "social.png")
