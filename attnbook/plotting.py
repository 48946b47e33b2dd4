"""The book's figures of weights and arrays. The only module that imports Matplotlib."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike, NDArray

from attnbook._checks import check_mask

_HATCH = "#8a8a8a"  # in the middle: seen on a light and on a dark page
_WIDEST = 5.0  # inches, 480 px: what a phone shows with its text at 11 px


def use_style() -> None:
    """Draw all further figures in the book's style; in a notebook, as reproducible SVG.

    The only function here that changes global settings; each chapter calls it once.
    """
    known = {font.fname for font in font_manager.fontManager.ttflist}
    for font in sorted(Path(__file__).parent.glob("data/sans-*.ttf")):
        if str(font) not in known:
            font_manager.fontManager.addfont(font)
    plt.style.use("attnbook.attnbook")
    plt.rcParams["figure.hooks"] = ["attnbook.plotting:_steady"]
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        inline = importlib.import_module("matplotlib_inline.backend_inline")
        inline.set_matplotlib_formats("svg", metadata={"Date": None})


class _SteadyLayout(ConstrainedLayoutEngine):
    # The same bytes on every run and machine. The solver's last bits follow memory addresses, and
    # SVG names clip paths after positions; a long colour bar would be embedded as PNG, whose
    # compression depends on the processor. And no seams: between cells without an edge, as a colour
    # bar has them, what lies behind shines through.
    def execute(self, fig: Figure) -> Any:
        layouts = super().execute(fig)
        for mesh in fig.findobj(QuadMesh):
            mesh.set_rasterized(False)
            if not len(mesh.get_edgecolor()):
                mesh.set(edgecolor="face", linewidth=1)  # 1 px on a phone; with less, they stay
        ax: Any  # whose method is Matplotlib's own, for its layout engines
        for ax in fig.axes:
            corners = ax.get_position(original=True).get_points().round(6)
            ax._set_position(Bbox(corners), which="original")
        return layouts


def _steady(figure: Figure) -> None:
    if figure.get_layout_engine():  # none, where a caller wants none
        figure.set_layout_engine(_SteadyLayout())


def attention_heatmap(
    weights: ArrayLike,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    *,
    mask: ArrayLike | None = None,
    ax: Axes | None = None,
    annotate: bool = False,
    colorbar: bool = True,
) -> Axes:
    """Draw attention weights: a row for each query, a column for each key, colours 0 to 1.

    Parameters
    ----------
    weights : (len_q, len_k), between 0 and 1
    query_labels, key_labels : sequences of str, optional
        Numbers from 0 by default.
    mask : (len_q, len_k) or broadcasting to it, bool, optional
        True where a query may attend; the other cells are hatched.
    ax : Axes, optional
    annotate, colorbar : bool
        Write each weight into its cell; draw the colour bar.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If weights have not two axes, leave 0 to 1, or do not fit the labels.
    """
    weights, query_labels, key_labels, mask = _checked(weights, query_labels, key_labels, mask)
    len_q, len_k = weights.shape
    if ax is None:
        cell = min(0.45, (_WIDEST - 1.6) / max(len_k, 1))
        _, ax = plt.subplots(figsize=(1.6 + cell * len_k, 1.1 + cell * len_q))
    seen, hidden = np.ma.masked_where(~mask, weights), np.ma.masked_where(mask, weights)
    mesh = ax.pcolormesh(seen, vmin=0, vmax=1)
    ax.pcolor(hidden, cmap=ListedColormap(["none"]), edgecolors=_HATCH, hatch="////", linewidth=0)
    if annotate:
        for row, column in np.argwhere(mask):
            weight = weights[row, column]
            ink = "white" if weight < 0.6 else "black"
            ax.text(column + 0.5, row + 0.5, f"{weight:.2f}", color=ink, ha="center", va="center")
    ax.set_xticks(np.arange(len_k) + 0.5, key_labels)
    ax.set_yticks(np.arange(len_q) + 0.5, query_labels)
    if max(map(len, key_labels), default=0) > 4:
        ax.tick_params(axis="x", labelrotation=90)
    ax.tick_params(length=0)
    ax.set(xlabel="key", ylabel="query", xlim=(0, len_k), ylim=(len_q, 0), aspect="equal")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    if colorbar:
        bar = ax.figure.colorbar(mesh, ax=ax, ticks=[0, 0.5, 1], shrink=0.9)
        bar.set_label("attention weight")
        bar.outline.set_visible(False)
        bar.ax.grid(False)
    return ax


def number_grid(
    values: ArrayLike,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    fmt: str = "{:g}",
    color: ArrayLike = "#dcebf5",
) -> Axes:
    """Draw a matrix as a grid of its numbers, one cell each, row 0 on top.

    Parameters
    ----------
    values : (rows, columns)
    ax : Axes, optional
        Its cells are drawn square.
    title : str, optional
    fmt : str
        How a number is written.
    color : str, or array of str broadcasting to (rows, columns)
        The colour of the cells: of all, of each column, or of each cell.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If values have not two axes or color does not fit them.
    """
    values, colors = np.asarray(values), np.asarray(color)
    if values.ndim != 2:
        raise ValueError(f"values must have 2 axes, got shape {values.shape}")
    rows, columns = values.shape
    try:
        colors = np.broadcast_to(colors, values.shape).ravel()
    except ValueError:
        raise ValueError(
            f"color of shape {colors.shape} must broadcast to (rows, columns) = {values.shape}"
        ) from None
    if ax is None:
        cell = min(0.7, _WIDEST / max(columns, 1))
        _, ax = plt.subplots(figsize=(cell * columns, cell * rows))
    numbers, each = np.arange(values.size).reshape(values.shape), ListedColormap(colors.tolist())
    # By its id the site knows that its colours are no data.
    ax.pcolormesh(numbers, cmap=each, edgecolors="#4a6b80", linewidth=1, gid="numbers")
    for row, column in np.ndindex(rows, columns):
        text = fmt.format(values[row, column])
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center")
    ax.set(xlim=(-0.05, columns + 0.05), ylim=(rows + 0.05, -0.05), aspect="equal", title=title)
    ax.axis("off")
    return ax


def grid_page(width: float, height: float, *, figsize: tuple[float, float]) -> Axes:
    """Make an empty page on which place_grid puts grids of numbers, measured in their cells.

    Parameters
    ----------
    width, height : float
        Of the page, in cells; the origin is at the lower left.
    figsize : (width, height) of the figure in inches

    Returns
    -------
    Axes
    """
    _, ax = plt.subplots(figsize=figsize)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return ax


def place_grid(
    ax: Axes,
    x: float,
    y: float,
    values: ArrayLike,
    *,
    title: str | None = None,
    fmt: str = "{}",
    color: ArrayLike = "#dcebf5",
) -> Axes:
    """Draw a matrix as a grid of its numbers at a place of a page, to show where numbers move.

    Parameters
    ----------
    ax : Axes, as grid_page makes it
    x, y : float
        Where the grid's upper left corner goes; each cell is one unit wide and high.
    values : (rows, columns)
    title : str, optional
    fmt : str
    color : str, or array of str broadcasting to (rows, columns)

    Returns
    -------
    Axes of the grid

    Raises
    ------
    ValueError
        If values have not two axes or color does not fit them.
    """
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(f"values must have 2 axes, got shape {values.shape}")
    rows, columns = values.shape
    box = ax.inset_axes((x, y - rows, columns, rows), transform=ax.transData)
    number_grid(values, ax=box, color=color, fmt=fmt)
    if title:
        ax.text(x + columns / 2, y + 0.25, title, ha="center")
    return box


def shaded_words(
    words: Sequence[str],
    weights: ArrayLike,
    *,
    chosen: int | None = None,
    candidates: Mapping[str, float] | None = None,
) -> Axes:
    """Draw a text, each word on a ground as dark as its weight, and what else one word could be.

    Parameters
    ----------
    words : sequence of str
    weights : (len_k,), between 0 and 1
        Of the first words; those after them get none.
    chosen : int, optional
        The word to outline: the one that was chosen with these weights.
    candidates : mapping of words to probabilities, optional
        Drawn as bars below the text.

    Returns
    -------
    Axes, whose unit is a point (1/72 inch)

    Raises
    ------
    ValueError
        If there are more weights than words, or a weight is not between 0 and 1.
    """
    rows, _, _, _ = _checked(np.asarray(weights)[None], None, None, None)
    if rows.size > len(words):
        raise ValueError(f"weights must be of the {len(words)} words or fewer, got {rows.size}")
    width, line, places = 72 * (_WIDEST - 0.1) - 6, 20, [(0.0, 0.0)]
    sizes = [_length(word) + 7 for word in words]
    for size, following in zip(sizes, [*sizes[1:], 0], strict=True):
        x, y = places[-1]
        fits = x + size + following <= width
        places.append((x + size, y) if fits else (0.0, y + line))
    bars = list((candidates or {}).items())
    top = places[len(words) - 1][1] + line
    height = top + (18 * len(bars) + 14 if bars else 0)
    figure = plt.figure(figsize=(_WIDEST - 0.1, height / 72), layout="none")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(-3, width + 3), ylim=(height, 0))
    ax.axis("off")
    shades = [*rows[0], *[0.0] * (len(words) - rows.size)]
    for i, (word, size, (x, y)) in enumerate(zip(words, sizes, places, strict=False)):
        edge = "C0" if i == chosen else "none"
        ground = to_hex(1 - 0.7 * shades[i] * (1 - np.array(to_rgb("C1"))))
        if shades[i] > 0.04 or i == chosen:  # what is paler looks like a stain on a dark page
            box = (x + 0.5, y + 2), size - 1, line - 3
            ax.add_patch(Rectangle(*box, facecolor=ground, edgecolor=edge, linewidth=1.8))
        ax.text(x + 3.5, y + 14.5, word, color="C0" if i == chosen else "#222222")
    for i, (word, share) in enumerate(bars):
        y = top + 18 * i + 10
        is_chosen = chosen is not None and word == words[chosen]
        ax.text(60, y + 10, word, ha="right", color="C0" if is_chosen else "#222222")
        ax.add_patch(Rectangle((66, y), max(0.5, 230 * share), 13, facecolor="C2"))
        ax.text(72 + 230 * share, y + 10, f"{100 * share:.0f} %", color="#444444")
    return ax


def _length(text: str) -> float:
    """Return how long a text is, in points, whatever it is drawn on."""
    return float(TextPath((0, 0), text, size=plt.rcParams["font.size"]).get_extents().x1)


def _checked(
    weights: ArrayLike,
    query_labels: Sequence[str] | None,
    key_labels: Sequence[str] | None,
    mask: ArrayLike | None,
) -> tuple[NDArray[np.float64], list[str], list[str], NDArray[np.bool_]]:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 2:
        raise ValueError(f"weights must be (len_q, len_k), got shape {weights.shape}")
    if not ((weights >= 0) & (weights <= 1 + 1e-6)).all():
        raise ValueError(
            f"weights must lie between 0 and 1, got {weights.min():.3g} to {weights.max():.3g}"
        )
    labels: list[list[str]] = []
    pairs = (("query_labels", query_labels), ("key_labels", key_labels))
    for (name, tokens), length in zip(pairs, weights.shape, strict=True):
        tokens = [str(label) for label in (range(length) if tokens is None else tokens)]
        if len(tokens) != length:
            raise ValueError(f"{name} must name {length} tokens, got {len(tokens)}")
        labels.append(tokens)
    mask = check_mask(True if mask is None else mask, weights.shape)
    if mask.ndim > 2:
        raise ValueError(
            f"mask of shape {mask.shape} must broadcast to (len_q, len_k) = {weights.shape}: "
            "choose one sequence of the batch"
        )
    return weights, labels[0], labels[1], np.broadcast_to(mask, weights.shape)
