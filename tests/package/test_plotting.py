"""The book's figures, read back from what was drawn: cells, colours, hatches and text."""

import io
import json
import os
import re
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager

from attnbook import padding_mask
from attnbook.plotting import (
    attention_heatmap,
    grid_page,
    number_grid,
    place_grid,
    shaded_words,
    use_style,
)

LEN_Q, LEN_K = 3, 5
QUERIES = ["I", "saw", "it"]
KEYS = ["je", "l'ai", "vu", "hier", "soir"]

WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(LEN_K), LEN_Q)
MASK = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 0, 1, 0, 1]], dtype=bool)


@pytest.fixture(autouse=True)
def no_traces(monkeypatch):
    """Fail a drawing that calls show or changes a global setting; close its figures."""
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("plt.show was called"))
    settings = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == settings
    plt.close("all")


def colour_at(ax, x, y):
    """Render the figure and look at the pixel in the middle of a cell."""
    canvas = ax.figure.canvas
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    column, row = ax.transData.transform((x, y))
    return pixels[pixels.shape[0] - 1 - int(row), int(column)] / 255


def drawn_weights(ax):
    """Read the weights back from the mesh as a dict {(query, key): weight}."""
    mesh = ax.collections[0]
    corners = mesh.get_coordinates()
    values = np.ma.getdata(mesh.get_array()).reshape(len(corners) - 1, -1)
    cells = {}
    for i, j in np.ndindex(values.shape):
        x, y = corners[i : i + 2, j : j + 2].reshape(4, 2).mean(axis=0)
        cells[int(y), int(x)] = values[i, j]
    return cells


def hatched_cells(ax):
    return {
        tuple(int(c) for c in path.vertices[:4].mean(axis=0)[::-1])
        for collection in ax.collections
        if collection.get_hatch()
        for path in collection.get_paths()
    }


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def bars(figure):
    return [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]


# --- Sizes, when no axes are given -----------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "size"),
    [
        (lambda: attention_heatmap(WEIGHTS), (1.6 + 0.45 * LEN_K, 1.1 + 0.45 * LEN_Q)),
        (lambda: attention_heatmap(np.eye(17)), (5, 1.1 + 3.4)),
        (lambda: number_grid(WEIGHTS), (0.7 * LEN_K, 0.7 * LEN_Q)),
        (lambda: number_grid(np.ones((2, 13))), (5, 2 * 5 / 13)),
    ],
)
def test_a_figure_is_as_large_as_its_cells_need_and_no_wider_than_a_phone(draw, size):
    assert draw().figure.get_size_inches() == pytest.approx(size)


# --- attention_heatmap --------------------------------------------------------------


def test_rows_are_queries_and_columns_are_keys():
    ax = attention_heatmap(WEIGHTS, QUERIES, KEYS)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert tick_labels(ax.yaxis) == QUERIES
    assert tick_labels(ax.xaxis) == KEYS
    np.testing.assert_allclose(ax.get_yticks(), np.arange(LEN_Q) + 0.5)
    np.testing.assert_allclose(ax.get_xticks(), np.arange(LEN_K) + 0.5)
    assert ax.yaxis_inverted()
    assert not ax.xaxis_inverted()
    assert drawn_weights(ax) == {(i, j): WEIGHTS[i, j] for i, j in np.ndindex(WEIGHTS.shape)}


@pytest.mark.parametrize("cell", [(0, 1), (2, 4), (1, 0)])
def test_the_colour_of_a_cell_is_its_weight(cell):
    weights = np.zeros((LEN_Q, LEN_K))
    weights[cell] = 0.75
    ax = attention_heatmap(weights)
    colours = plt.get_cmap(mpl.rcParams["image.cmap"])
    for row, column in np.ndindex(weights.shape):
        expected = colours(0.75 if (row, column) == cell else 0.0)
        colour = colour_at(ax, column + 0.5, row + 0.5)
        np.testing.assert_allclose(colour, expected, atol=0.02)


@pytest.mark.parametrize("scale", [1, 0.01])
def test_colours_go_from_zero_to_one_whatever_the_weights(scale):
    ax = attention_heatmap(scale * WEIGHTS)
    assert ax.collections[0].get_clim() == (0, 1)
    (bar,) = bars(ax.figure)
    assert bar.get_ylim() == (0, 1)


def test_the_colour_bar_is_named_and_optional():
    (bar,) = bars(attention_heatmap(WEIGHTS).figure)
    assert bar.get_ylabel() == "attention weight"
    assert bars(attention_heatmap(WEIGHTS, colorbar=False).figure) == []


def test_an_axes_that_is_given_is_drawn_on_and_returned():
    figure, axes = plt.subplots(1, 2)
    assert attention_heatmap(WEIGHTS, ax=axes[1], colorbar=False) is axes[1]
    assert plt.get_fignums() == [figure.number]
    assert not axes[0].collections
    assert len(drawn_weights(axes[1])) == LEN_Q * LEN_K


def test_tokens_are_numbered_by_default():
    ax = attention_heatmap(WEIGHTS)
    assert tick_labels(ax.yaxis) == ["0", "1", "2"]
    assert tick_labels(ax.xaxis) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("mask", [None, True, MASK, MASK[2], MASK[:, :1], ~np.ones_like(MASK)])
def test_masked_cells_and_only_these_are_hatched(mask):
    ax = attention_heatmap(WEIGHTS, mask=mask)
    allowed = np.broadcast_to(True if mask is None else mask, WEIGHTS.shape)
    assert hatched_cells(ax) == {(i, j) for i, j in np.ndindex(allowed.shape) if not allowed[i, j]}


def test_a_masked_cell_looks_different_from_a_weight_of_zero():
    ax = attention_heatmap(np.zeros((LEN_Q, LEN_K)), mask=MASK)
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())

    def colours_in(row, column):
        (left, bottom), (right, top) = ax.transData.transform(
            [(column + 0.2, row + 0.8), (column + 0.8, row + 0.2)]
        )
        rows = slice(pixels.shape[0] - int(top), pixels.shape[0] - int(bottom))
        return len(np.unique(pixels[rows, int(left) : int(right)].reshape(-1, 4), axis=0))

    assert colours_in(0, 0) == 1  # a plain face
    assert colours_in(0, 1) > 1  # a face and its hatching


def test_annotations_are_the_allowed_weights():
    weights = np.array([[0.125, 0.9], [1, 0]])
    ax = attention_heatmap(weights, annotate=True, mask=[[True, True], [True, False]])
    texts = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    assert texts == {(0.5, 0.5): "0.12", (0.5, 1.5): "0.90", (1.5, 0.5): "1.00"}
    assert not attention_heatmap(weights).texts


def test_annotations_stand_out_from_their_cells():
    ax = attention_heatmap(np.array([[0.0, 1.0]]), annotate=True)
    assert [text.get_color() for text in ax.texts] == ["white", "black"]


BAD = {
    "one axis": ((WEIGHTS[0],), {}, r"weights must be \(len_q, len_k\), got shape \(5,\)"),
    "three axes": (
        (np.ones((7, LEN_Q, LEN_K)),),
        {},
        r"weights must be \(len_q, len_k\), got shape \(7, 3, 5\)",
    ),
    "below 0": ((WEIGHTS - 1,), {}, "weights must lie between 0 and 1"),
    "above 1": ((WEIGHTS + 1,), {}, "weights must lie between 0 and 1"),
    "nan": ((WEIGHTS * np.nan,), {}, "weights must lie between 0 and 1"),
    "query labels": ((WEIGHTS, KEYS), {}, "query_labels must name 3 tokens, got 5"),
    "key labels": ((WEIGHTS, None, QUERIES), {}, "key_labels must name 5 tokens, got 3"),
    "mask": ((WEIGHTS,), {"mask": MASK.T}, r"mask of shape \(5, 3\) must broadcast .* \(3, 5\)"),
}


@pytest.mark.parametrize(("args", "options", "message"), BAD.values(), ids=BAD)
def test_weights_that_cannot_be_drawn_are_named(args, options, message):
    with pytest.raises(ValueError, match=message):
        attention_heatmap(*args, **options)


def test_a_mask_that_is_not_boolean_is_refused():
    with pytest.raises(TypeError, match="mask must be boolean"):
        attention_heatmap(WEIGHTS, mask=MASK.astype(int))


def test_a_mask_of_three_axes_is_named():
    with pytest.raises(
        ValueError, match=r"mask of shape \(1, 1, 5\) must broadcast to .* \(3, 5\)"
    ):
        attention_heatmap(WEIGHTS, mask=padding_mask([3], LEN_K))


def test_a_drawn_heatmap_has_no_seams_and_its_bar_has_the_colours_of_the_cells():
    with mpl.rc_context(), io.StringIO() as file:
        use_style()
        attention_heatmap(np.ones((LEN_Q, LEN_K)) / LEN_K, mask=MASK).figure.savefig(
            file, format="svg"
        )
        meshes = re.findall(r'<g id="QuadMesh_\d+">(.*?)</g>', file.getvalue(), re.S)
    styles = [re.findall(r'style="([^"]+)"', mesh) for mesh in meshes]
    assert [len(cells) for cells in styles] == [MASK.size, 256]
    for style in {style for cells in styles for style in cells} - {"fill: none"}:
        fill, stroke = re.fullmatch("fill: (#.{6}); stroke: (#.{6})", style).groups()
        assert fill == stroke
    cell = {style[:13] for style in styles[0]} - {"fill: none"}
    assert len(cell) == 1
    assert cell <= {style[:13] for style in styles[1]}


# --- number_grid ----------------------------------------------------------------------


def test_a_grid_shows_each_number_in_its_place():
    values = np.arange(15).reshape(LEN_Q, LEN_K) / 2
    ax = number_grid(values, title="values", fmt="{:.1f}")
    assert ax.get_title() == "values"
    assert ax.yaxis_inverted()
    texts = {text.get_position()[::-1]: text.get_text() for text in ax.texts}
    assert texts == {
        (i + 0.5, j + 0.5): f"{(5 * i + j) / 2:.1f}" for i, j in np.ndindex(LEN_Q, LEN_K)
    }


def test_a_grid_draws_on_the_axes_it_is_given_in_the_colour_it_is_given():
    figure, ax = plt.subplots()
    assert number_grid([[1, 2]], ax=ax, color="#ff0000") is ax
    assert plt.get_fignums() == [figure.number]
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    np.testing.assert_allclose(colour_at(ax, 0.1, 0.1), [1, 0, 0, 1])


FIVE = ["#ff0000", "#00ff00", "#0000ff", "#ffff00", "#00ffff"]


@pytest.mark.parametrize(
    ("colors", "expected"),
    [
        (FIVE, lambda i, j: FIVE[j]),  # one for each column
        (np.array(FIVE[:3])[:, None], lambda i, j: FIVE[i]),  # one for each row
        (np.roll(FIVE * 3, 2).reshape(3, 5), lambda i, j: np.roll(FIVE * 3, 2)[5 * i + j]),
        (FIVE[3], lambda i, j: FIVE[3]),
    ],
    ids=["columns", "rows", "cells", "one"],
)
def test_each_cell_of_a_grid_has_its_own_colour(colors, expected):
    ax = number_grid(np.arange(15).reshape(LEN_Q, LEN_K), color=colors)
    for i, j in np.ndindex(LEN_Q, LEN_K):
        seen = colour_at(ax, j + 0.15, i + 0.15)
        np.testing.assert_allclose(seen, mpl.colors.to_rgba(expected(i, j)))


def test_a_grid_of_one_cell_has_its_colour():
    np.testing.assert_allclose(colour_at(number_grid([[7]], color=[["#00ff00"]]), 0.1, 0.1)[1], 1)


@pytest.mark.parametrize("colors", [FIVE[:3], [FIVE, FIVE], [[FIVE] * LEN_Q]])
def test_colours_that_do_not_fit_a_grid_are_named(colors):
    message = f"color of shape {np.shape(colors)} must broadcast to (rows, columns) = (3, 5)"
    with pytest.raises(ValueError, match=re.escape(message)):
        number_grid(np.arange(15).reshape(LEN_Q, LEN_K), color=colors)


@pytest.mark.parametrize("values", [[1, 2], [[[1]]]])
def test_a_grid_needs_a_matrix(values):
    message = f"values must have 2 axes, got shape {np.shape(values)}"
    with pytest.raises(ValueError, match=re.escape(message)):
        number_grid(values)


# --- The style ------------------------------------------------------------------------


def svg():
    with mpl.rc_context(), io.StringIO() as file:
        use_style()
        figure, axes = plt.subplots(1, 2)
        attention_heatmap(WEIGHTS, mask=MASK, ax=axes[0])  # hatches and clips have ids
        axes[1].plot([1, 2, 3])
        figure.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()


def test_figures_in_the_style_are_the_same_bytes_twice():
    first = svg()
    assert first == svg()
    assert "<text" not in first  # outlines: the same with any fonts installed
    assert "<dc:date>" not in first


def run(script, tmp_path):
    """Run a script in a process of its own and return what it prints as JSON."""
    # IPython writes to its directory: not to the one of whoever runs the tests.
    environment = os.environ | {"MPLBACKEND": "Agg", "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_use_style_applies_the_style(tmp_path):
    script = """
import json, matplotlib.pyplot as plt
from attnbook.plotting import use_style
use_style()
names = ["svg.hashsalt", "svg.fonttype", "image.cmap", "figure.constrained_layout.use"]
print(json.dumps([plt.rcParams[name] for name in names]))
"""
    assert run(script, tmp_path) == ["attnbook", "path", "viridis", True]


def test_the_style_draws_all_that_figures_write_without_a_warning(caplog):
    signs = "αβγθλμπσφωΔΣΩ←→↑↓↔−×·√≤≥≈≠∞²³⁻⁵₀₁…–‖′✓●■▲"
    with mpl.rc_context():
        use_style()
        font = font_manager.get_font(font_manager.findfont("Book Sans", fallback_to_default=False))
        assert [sign for sign in signs if not font.get_char_index(ord(sign))] == []
        formula = (
            r"$\mathrm{softmax}(Q K^\top / \sqrt{d_k})\,V \in \mathbb{R}^n,\ \mathbf{w}, \|x\|_2$"
        )
        for i, style in enumerate([{}, {"weight": "bold"}, {"style": "italic"}]):
            plt.gcf().text(0.1, 0.2 * i, f"{formula} and {signs}", **style)
        plt.gcf().text(0.1, 0.8, "∈ ∅, which the typeface lacks")
        plt.gcf().savefig(io.StringIO(), format="svg")
        sizes = [mpl.rcParams[name] for name in ("font.size", "axes.titlesize")]
    assert caplog.messages == []
    assert min(sizes) * 96 / 72 * 358 / 480 > 11  # as a phone shows a picture of 5 inches


def test_in_the_style_axes_stand_at_rounded_places(tmp_path):
    # The solver of the layout may return other last bits in another process, and an SVG names
    # its clip paths after them.
    script = """
import json, matplotlib.pyplot as plt
from attnbook.plotting import attention_heatmap, use_style
use_style()
figure, axes = plt.subplots(3, 3, figsize=(7.2, 5), width_ratios=[1.2, 4, 1.2])
attention_heatmap([[0.25, 0.75]], ax=axes[0, 0])
axes[1, 1].set(ylabel="weight", title="of each key")
figure.draw_without_rendering()
print(json.dumps([ax.get_position(original=True).bounds[:2] for ax in figure.axes]))
"""
    places = np.array(run(script, tmp_path))
    assert len(places) == 10  # with the colour bar
    assert len(np.unique(places[:, 0])) > 3  # the layout was at work
    assert np.array_equal(places, places.round(6))


def test_in_a_notebook_figures_are_svg_without_a_date(tmp_path):
    script = """
import json, warnings
warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
import matplotlib.pyplot as plt
from attnbook.plotting import attention_heatmap, use_style
use_style()
figures = [attention_heatmap([[0.5, 0.5]], mask=[[True, False]]).figure for _ in range(2)]
print(json.dumps([shell.display_formatter.format(figure)[0] for figure in figures]))
"""
    first, second = run(script, tmp_path)
    assert first == second
    assert "image/png" not in first
    assert "<svg" in first["image/svg+xml"]
    assert "<dc:date>" not in first["image/svg+xml"]
    assert "data:image" not in first["image/svg+xml"]  # the colour bar is drawn, too


def test_use_style_starts_no_shell_outside_a_notebook(tmp_path):
    script = """
import builtins, json, sys
from attnbook.plotting import use_style
use_style()
print(json.dumps("IPython" in sys.modules or hasattr(builtins, "__IPYTHON__")))
"""
    assert run(script, tmp_path) is False
    assert not list(tmp_path.iterdir())


def test_a_grid_stands_where_it_is_placed():
    page = grid_page(13, 7, figsize=(6.5, 3.5))
    box = place_grid(page, 2, 5, [[1, 2, 3], [4, 5, 6]], title="X", color=["r", "g", "b"])
    page.figure.draw_without_rendering()
    corners = page.transData.inverted().transform(box.get_window_extent().get_points())
    np.testing.assert_allclose(corners, [[2, 3], [5, 5]], atol=0.15)  # two rows down from 5
    written = [text.get_text() for text in box.texts]
    assert written == ["1", "2", "3", "4", "5", "6"]
    (title,) = page.texts
    assert title.get_text() == "X"
    assert title.get_position() == (3.5, 5.25)
    assert page.get_xlim() == (0, 13)
    assert page.get_ylim() == (0, 7)
    assert not page.axison


def test_a_placed_grid_wants_a_matrix():
    page = grid_page(5, 3, figsize=(5, 3))
    with pytest.raises(ValueError, match=r"values must have 2 axes, got shape \(3,\)"):
        place_grid(page, 0, 3, [1, 2, 3])


def test_words_are_shaded_by_their_weights_and_the_rivals_of_one_are_bars():
    words = ["where", "is", "Tom", "?", "mill"]
    ax = shaded_words(words, [0, 0.5, 0.03, 1], chosen=4, candidates={"mill": 0.75, "park": 0.2})
    assert [text.get_text() for text in ax.texts] == [*words, "mill", "75 %", "park", "20 %"]
    grounds = ax.patches[:3]  # of "is", "?" and "mill"; what is below 0.04 has none
    orange = np.array(mpl.colors.to_rgb("C1"))
    expected = 1 - 0.7 * np.array([[0.5], [1], [0]]) * (1 - orange)
    drawn = [mpl.colors.to_rgb(ground.get_facecolor()) for ground in grounds]
    np.testing.assert_allclose(drawn, expected, atol=1 / 255)
    assert [ground.get_edgecolor()[3] > 0 for ground in grounds] == [False, False, True]
    for ground, i in zip(grounds, (1, 3, 4), strict=True):
        x, y = ax.texts[i].get_position()
        assert ground.get_x() < x < ground.get_x() + ground.get_width()
        assert ground.get_y() < y < ground.get_y() + ground.get_height()
    assert [bar.get_width() for bar in ax.patches[3:]] == [230 * 0.75, 230 * 0.2]


def test_a_long_text_is_broken_into_lines_none_too_wide():
    ax = shaded_words(["forest"] * 40, [0.5])
    boxes = [text.get_window_extent() for text in ax.texts]
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.width
    assert all(a.y0 > b.y0 or a.x1 < b.x0 for a, b in pairwise(boxes))
    assert len({box.y0 for box in boxes}) > 1
    assert min(box.y0 for box in boxes) >= 0


@pytest.mark.parametrize(("weights", "message"), [([0.5] * 3, "2 words"), ([1.5], "between 0 and")])
def test_words_whose_weights_do_not_fit_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        shaded_words(["a", "b"], weights)
