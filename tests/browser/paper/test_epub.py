"""The EPUB in Chromium: each page is XHTML that it reads, in light and in dark."""

import os
import zipfile

import pytest

from course.chapters import ROOT

EPUB = ROOT / "_build/paper/the-attention-book.epub"
# What a page shows: its pictures, dark or not, its formulas, and what stands beyond the edge.
LOOK = """async () => ({
    read: document.documentElement.localName === "html" && !document.querySelector("parsererror"),
    beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    formulas: [...document.querySelectorAll("math")].map((m) => m.getBoundingClientRect().width),
    pictures: await Promise.all([...document.images].map(async (image) => {
        await image.decode();
        return [image.naturalWidth > 0, image.currentSrc.endsWith(".dark.svg")];
    })),
})"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    if not EPUB.is_file():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "make epub, which needs Pango, first"
        )
    folder = tmp_path_factory.mktemp("epub")
    with zipfile.ZipFile(EPUB) as archive:
        archive.extractall(folder)
    return folder / "EPUB"


def read_through(unpacked, serve, tab):
    """Open each page in a browser's tab; return for each picture whether it is the dark one."""
    dark = []
    with serve(unpacked) as address:
        for path in sorted(unpacked.glob("*.xhtml")):
            tab.goto(f"{address}/{path.name}")
            seen = tab.evaluate(LOOK)
            assert seen["read"], path.name
            assert seen["beyond"] <= 0, f"{path.name} is wider than the screen"
            assert min(seen["formulas"], default=1) > 0, path.name
            assert all(there for there, _ in seen["pictures"]), path.name
            dark += [is_dark for _, is_dark in seen["pictures"]]
    assert len(dark) > 100
    return dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_read_and_shown(unpacked, serve, chromium, scheme):
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 420, "height": 600})
    assert set(read_through(unpacked, serve, context.new_page())) == {scheme == "dark"}
    context.close()
