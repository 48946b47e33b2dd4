"""The drawings of the built site, read from their files: width, type, seams, ground and ink."""

import importlib
import io
import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attnbook.plotting import attention_heatmap, number_grid, use_style
from course.promises import broken, keep
from tests.drafts import every
from tests.site.test_site import PAGES, SITE, article

twins = importlib.import_module("book._ext.twins")

DARK = "#14181b"
COLUMN, PHONE, PHONE_WIDE = 736, 358, 576  # px: what a figure may take at 1280 and at 390 px
NUMBER = r"-?\d+(?:\.\d+)?"
BLACK = {"fill": "#000000"}


def luminance(colour):
    channels = np.array(mpl.colors.to_rgb(colour))
    curved = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return curved @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted((luminance(one) + 0.05, luminance(other) + 0.05))
    return high / low


def tag(element):
    return element.tag.rpartition("}")[2]


class Drawing:
    """What a drawing paints, in its order: words with their size and place, and shapes."""

    def __init__(self, svg):
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = map(float, self.root.get("viewBox").split()[2:])
        self.px = self.width * 96 / 72
        self.painted = []
        self.walk(self.root, self.root.attrib, ())

    def walk(self, element, style, names):
        names = (*names, element.get("id", ""))
        style = {**style, **dict(re.findall(r"([\w-]+): ([^;]+)", element.get("style", "")))}
        move = element.get("transform", "")
        if any(name.startswith("text_") for name in names) and "scale" in move:
            (x, y), (size,) = (
                [
                    float(each)
                    for each in re.findall(NUMBER, re.search(rf"{what}\(([^)]*)", move)[1])
                ][:count]
                for what, count in (("translate", 2), ("scale", 1))
            )
            self.painted.append(("words", names, style, (x, y), 100 * size * 96 / 72))
        elif tag(element) == "path" and "defs" not in names:
            points = re.findall(rf"({NUMBER}) ({NUMBER})", element.get("d", ""))
            places = np.array(points or [(0, 0)], dtype=float)
            self.painted.append(("shape", names, style, (*places.min(0), *places.max(0)), None))
        elif tag(element) not in ("defs", "metadata"):
            for child in element:
                self.walk(child, style, names)

    def words(self):
        """Yield the ink, the size and, where a shape lies behind, its colour for each text."""
        grounds = []
        for kind, _, style, place, size in self.painted:
            fill = style.get("fill", "#000000")
            if (
                kind == "shape"
                and fill.startswith("#")
                and not {"opacity", "fill-opacity"} & {*style}
            ):
                grounds.append((place, fill))
            elif kind == "words":
                x, y = place
                below = [
                    fill for (x0, y0, x1, y1), fill in grounds if x0 <= x <= x1 and y0 <= y <= y1
                ]
                yield fill, size, (below or [None])[-1]

    def cells(self):
        painted = [each for each in self.painted if any("QuadMesh_" in name for name in each[1])]
        return [style.get("fill", "#000000") for _, _, style, _, _ in painted]

    def lines(self):
        for kind, names, style, _, _ in self.painted:
            is_curve = any(name.startswith("line2d") for name in names)
            if kind == "shape" and is_curve and not any("tick" in name for name in names):
                yield style.get("stroke", "none")


def faults_of(light, dark, wide=False):
    """Yield what is wrong with a drawing, given as two SVGs."""
    here, there = Drawing(light), Drawing(dark)
    if told := broken("it", "a drawing", "wide_width" if wide else "width", here.px):
        yield told
    room = PHONE_WIDE if wide else PHONE
    smallest = min((size for _, size, _ in here.words()), default=99)
    for name, shown in (("390", min(1, room / here.px)), ("1280", min(1, COLUMN / here.px))):
        if told := broken(f"on a screen of {name} px it", "a drawing", "type", smallest * shown):
            yield told
    for name, drawing in (("light", here), ("dark", there)):
        for kind, _, style, box, _ in drawing.painted:
            fill = style.get("fill", "#000000")
            if kind == "shape" and fill.startswith("#"):
                area = (box[2] - box[0]) * (box[3] - box[1])
                if area > 0.9 * drawing.width * drawing.height:
                    yield f"{name}: a ground of {fill}, where the page should show"
    for kind, names, style, _, _ in here.painted:
        mesh = [name for name in names if name.startswith(("QuadMesh", "numbers"))]
        fill, edge = style.get("fill", "#000000"), style.get("stroke", "none")
        is_thin = edge in ("none", fill) and float(style.get("stroke-width", edge != "none")) < 1
        if kind == "shape" and mesh and fill != "none" and is_thin:
            yield f'seams in {mesh[0]}: give it edgecolor="face", linewidth=1'
            break
    if here.cells() != there.cells():
        yield "dark: cells of a mesh have other colours"
    for ink, _, ground in there.words():
        if contrast(ink, ground or DARK) < (3 if ground else 4.5):
            yield f"dark: text in {ink} on {ground or 'the page'}"
    for before, after in zip(here.lines(), there.lines(), strict=True):
        if before != "none" and contrast(after, DARK) < min(3, contrast(before, "#fff")) - 0.02:
            yield f"dark: a line in {after}, which was {before}"


@cache
def drawings(name):
    """Return the pictures of a page by what they are called in a message."""
    found = {}
    for image in article(name).select('img[src$=".svg"]:not(.on-dark)'):
        caption = (image.find_parent("figure") or image).find("figcaption")
        number = caption and re.match(r"Fig\. [\d.]+", caption.get_text().strip())
        found[f"{name}: {number[0] if number else image['src']} ({image['alt'][:40]}…)"] = image
    return found


ALL = [(name, called) for name in PAGES for called in drawings(name)]


@pytest.mark.parametrize(("name", "called"), ALL, ids=[called for _, called in ALL])
class TestDrawing:
    def test_is_there_for_a_light_and_for_a_dark_page(self, name, called):
        light = drawings(name)[called]
        dark = light.find_next_sibling()
        assert dark is not None, called
        shades = {"on-light": light, "on-dark": dark}
        for shade, image in shades.items():
            assert shade in image["class"], called
            assert (SITE / f"{name}.html").parent.joinpath(image["src"]).is_file(), called
        assert dark["src"] == light["src"].replace(".svg", ".dark.svg"), called
        assert dark["loading"] == "lazy", called  # which is not loaded as long as it is not shown
        differ = {"src", "class", "loading"}
        assert {**light.attrs, **dict.fromkeys(differ)} == {**dark.attrs, **dict.fromkeys(differ)}

    def test_is_legible_wherever_it_is_shown(self, name, called):
        image, folder = drawings(name)[called], (SITE / f"{name}.html").parent
        texts = [
            folder.joinpath(image["src"].replace(".svg", suffix)).read_text(encoding="utf-8")
            for suffix in (".svg", ".dark.svg")
        ]
        faults = sorted(set(faults_of(*texts, wide="wide" in image["class"])))
        assert not faults, "\n".join([called, *faults])


@pytest.mark.parametrize("name", every(lambda chapter: [f"book/{chapter.name}"]))
def test_at_most_two_drawings_of_a_chapter_are_too_wide_for_a_phone(name):
    wide = [called for called, image in drawings(name).items() if "wide" in image["class"]]
    keep(name, "a chapter", "wide_figures", len(wide))


def test_the_dark_page_is_as_dark_as_drawings_believe():
    css = (SITE / "_static/attnbook.css").read_text(encoding="utf-8")
    assert re.search(r"--page: light-dark\(#fff, (#\w+)\)", css)[1] == twins.PAGE == DARK


# --- These tests can fail: drawings made here, right and wrong --------------------------------


def draw(change=lambda ax: None, *, size=(5, 3), wide=False, redrawn=True, darkened=True):
    """Draw all that the book draws, change it, and return what is wrong with it."""
    with mpl.rc_context(), io.StringIO() as file:
        use_style()
        figure, axes = plt.subplots(1, 2, figsize=size)
        attention_heatmap(np.tri(3) / 2, mask=np.tri(3) > 0, ax=axes[0], annotate=True)
        axes[0].pcolormesh([3, 4, 5], [0, 1], [[0, 1]], cmap="gray")
        axes[0].text(3.4, 0.5, "0", color="white")
        for colour in range(7):
            axes[1].plot([0, colour], color=f"C{colour}", label=f"$x_{colour}$")
        axes[1].legend()
        axes[1].bar([1], [3], color="C0")
        axes[1].text(1, 1, "5", color="white")
        axes[1].axhline(2, color="0.9")
        change(axes[1])
        figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)
        svg = file.getvalue()
    texts = [twins.redrawn(svg, dark) for dark in (False, darkened)] if redrawn else [svg, svg]
    return sorted(set(faults_of(*texts, wide=wide)))


def test_a_drawing_in_the_style_has_no_fault():
    assert draw() == []
    assert draw(size=(7.4, 3), wide=True) == []
    assert draw(lambda ax: number_grid([[1, 2]], ax=ax, color=["#fdd0a2", "#c6dbef"])) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"size": (5.4, 3)}, " px of width; a drawing promises at most 482"),
        ({"size": (9, 3), "wide": True}, " px of width; a drawing promises at most 712"),
        (
            {"change": lambda ax: ax.set_title("small", size=10)},
            "on a screen of 390 px it has",
        ),
        ({"change": lambda ax: ax.set_title("small", size=8)}, "on a screen of 1280"),
        ({"change": lambda ax: ax.pcolormesh(np.eye(2), ec="face", lw=0.5)}, "seams in QuadMesh"),
        ({"change": lambda ax: ax.figure.set_layout_engine("none")}, "seams in QuadMesh"),
        ({"redrawn": False}, "light: a ground of #ffffff"),
        ({"darkened": False}, "dark: text in #000000 on the page"),
        ({"darkened": False}, "dark: a line in #000000"),
    ],
)
def test_each_fault_of_a_drawing_is_named(change, fault):
    assert [each for each in draw(**change) if fault in each]


def test_what_was_told_apart_on_the_light_page_is_told_apart_on_the_dark_one():
    pale = ["#dcebf5", "#fbe3d0", "#d5efe4", "#f2f2f2"]
    cycle = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]
    for colours in (pale, cycle):
        dark = [mpl.colors.to_rgb(twins.swapped(colour)) for colour in colours]
        assert min(np.abs(np.subtract(*pair)).max() for pair in pairwise(dark)) > 0.03
    assert all(contrast(twins.swapped(colour), DARK) < 2 for colour in pale)
    assert all(contrast(twins.swapped(colour), DARK) >= 3 for colour in cycle)
    assert twins.swapped("#000000") == twins.swapped("#010101")
    assert contrast(twins.swapped("#777777"), DARK) == pytest.approx(4.48, abs=0.1)
    assert contrast(twins.swapped("#ffffff"), DARK) < 1.05
