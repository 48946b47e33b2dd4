"""The EPUB in Chromium: each page is XHTML that it reads, in light and in dark."""

import os
import zipfile

import pytest

from course.chapters import ROOT

EPUB = ROOT / "_build/paper/the-attention-book.epub"
LOADED = """() => Promise.all([...document.images].map(async (image) => {
    await image.decode();
    return [image.currentSrc.endsWith(".dark.svg"), image.naturalWidth > 0];
}))"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_read_and_shown(unpacked, serve, chromium, scheme):
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 420, "height": 600})
    page = context.new_page()
    drawn = 0
    with serve(unpacked) as address:
        for path in sorted(unpacked.glob("*.xhtml")):
            page.goto(f"{address}/{path.name}")
            assert page.locator("parsererror").count() == 0, path.name
            assert page.evaluate("document.documentElement.localName") == "html"
            assert page.evaluate(WIDE) <= 0, f"{path.name} is wider than the screen"
            for is_dark, is_there in page.evaluate(LOADED):
                assert is_there, path.name
                assert is_dark == (scheme == "dark"), path.name
                drawn += 1
            sizes = (
                "[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().width)"
            )
            assert min(page.evaluate(sizes), default=1) > 0, path.name
    assert drawn > 100
    context.close()
