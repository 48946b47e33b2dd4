"""Each drawing twice: in ink for a light page and in ink for a dark one, on no ground of its own.

A notebook's figure is a white card, which JupyterLab and Colab show as it is. The site takes the
white away. For the dark page all colours get the contrast with it that they had with white, so
that black becomes light and a pale box dark; the cells of a mesh, which are data, stay.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

PAGE = "#14181b"  # the dark page, as in attnbook.css
MOST, READABLE = 14, 4.5  # contrasts: of the text of a dark page, and the least that text may have
COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")
NUMBERS = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", LINK[1:-5])


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def written(parts):
    """Return the colour that `linear` takes apart."""
    parts = [
        part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in parts
    ]
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def luminance(parts):
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one, other):
    low, high = sorted(luminance(linear(colour)) + 0.05 for colour in (one, other))
    return high / low


def swapped(colour, least=1):
    """Return a colour whose contrast with the dark page is that of the given one with white."""
    parts = linear(colour)
    had = contrast(colour, "#ffffff")
    had = max(had, min(had**2, 2), least)  # of two pale colours one sees the difference here, too
    wanted = min(MOST, had) * (luminance(linear(PAGE)) + 0.05) - 0.05
    vivid = max(parts) > 0 and min(parts) < 0.35 * max(parts)
    if vivid and luminance(parts) > wanted:  # orange is seen on both
        return colour
    parts = parts if vivid else [part**3 for part in parts]
    parts = [min(1, part * wanted / max(luminance(parts), 1e-9)) for part in parts]
    rest = (wanted - luminance(parts)) / (1 - luminance(parts))
    return written([part + rest * (1 - part) for part in parts])


def box_of(path):
    """Return the corners of the box around a path."""
    points = [(float(x), float(y)) for x, y in NUMBERS.findall(path.get("d", ""))]
    return [edge(column) for edge in (min, max) for column in zip(*points, strict=True)] or [0] * 4


def darken(root):
    """Give a drawing the ink of the dark page."""
    paths = {path.get("id"): path for path in root.iter(f"{SVG}path")}
    filled = []  # boxes and colours, in the order of painting: text may stand on them

    def paint(element, around):
        around += "/" + element.get("id", element.tag.removeprefix(SVG))
        style = element.get("style", "")
        place = NUMBERS.search(element.get("transform", ""))
        if "/text_" in around and place:
            x, y = map(float, place.groups())
            ink = dict(COLOUR.findall(style)).get("fill", "#000000")
            least = READABLE if contrast(ink, "#ffffff") > 2 else 1  # else it was for a dark ground
            best, below = swapped(ink, least), "none"
            for (left, top, right, bottom), fill in filled:
                below = fill if left <= x <= right and top <= y <= bottom else below
            if below != "none":
                best = max(ink, best, key=lambda color: contrast(color, below))
            element.set("style", f"fill: {best}; {COLOUR.sub('', style)}".rstrip("; "))
            return
        shape = paths.get(element.get(LINK, "#")[1:], element)
        is_shape = shape.tag == f"{SVG}path" and "/defs/" not in around
        if is_shape and "fill:" not in style:
            style = f"fill: #000000; {style}"
        if "/QuadMesh" not in around:
            style = COLOUR.sub(lambda match: f"{match[1]}: {swapped(match[2])}", style)
        if style:
            element.set("style", style)
        fill = dict(COLOUR.findall(style)).get("fill")
        if is_shape and fill and "opacity: 0." not in style:
            shift = [float(element.get(axis, 0)) for axis in "xyxy"]
            filled.append(([a + b for a, b in zip(box_of(shape), shift, strict=True)], fill))
        for child in element:
            paint(child, around)

    paint(root, "")


def redrawn(svg, dark):
    """Return a drawing without its white ground, in ink for a light or a dark page."""
    root = ElementTree.fromstring(svg)
    for parent in root.iter(f"{SVG}g"):
        first = next(iter(parent), ())
        is_ground = [path.get("style") for path in first] == ["fill: #ffffff"]
        if is_ground and re.match("figure_|axes_", parent.get("id", "")):
            parent.remove(first)
    if dark:
        darken(root)
    return ElementTree.tostring(root, encoding="unicode")


def write_twins(app, exception):
    """Write both of each drawing that a page shows."""
    if exception or app.builder.name != "html":
        return
    for source, name in app.builder.images.items():
        if name.endswith(".svg"):
            svg = Path(app.srcdir, source).read_text(encoding="utf-8")
            for suffix in (".svg", ".dark.svg"):
                path = Path(app.outdir, app.builder.imagedir, name).with_suffix(suffix)
                path.write_text(redrawn(svg, dark=suffix == ".dark.svg"), encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_twins)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
