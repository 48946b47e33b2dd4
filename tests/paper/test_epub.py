"""The EPUB: as epubcheck reads it, and as a reader that shows no picture needs it."""

import json
import os
import shutil
import subprocess
import zipfile

import pytest
from lxml import etree

from tests.paper.built import NAMES, formulas, pictures
from tools.offers import BOOK, MADE

EPUB = MADE / f"{BOOK}.epub"
XHTML, MATHML = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/1998/Math/MathML}"
OPF = "{http://www.idpf.org/2007/opf}"


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(EPUB) as archive:
        yield {name: archive.read(name) for name in archive.namelist()}


def page(files, name):
    return etree.fromstring(files[f"EPUB/{name}.xhtml"])


def test_epubcheck_finds_nothing(tmp_path):
    java, epubcheck = map(shutil.which, ("java", "epubcheck"))
    if not (java and epubcheck):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("install epubcheck")
    report = tmp_path / "report.json"
    command = [java, "-jar", epubcheck, "-q", "--json", report, EPUB]
    subprocess.run(command, capture_output=True)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["messages"] == []
    assert found["checker"]["nFatal"] == found["checker"]["nError"] == 0
    assert found["publication"]["title"] == "The Attention Book"


def test_it_is_not_large_and_made_again_is_the_same(files):
    assert EPUB.stat().st_size < 8e6
    with zipfile.ZipFile(EPUB) as archive:
        assert archive.infolist()[0].filename == "mimetype"
        assert {entry.date_time[0] for entry in archive.infolist()} == {2020}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_its_formulas_and_figures_with_their_words(files, name):
    text = page(files, name)
    told = [math.get("alttext") for math in text.iter(f"{MATHML}math")]
    assert sorted(told) == sorted(formulas(name))
    words = [image.get("alt") for image in text.iter(f"{XHTML}img")]
    assert sorted(words) == sorted(pictures(name))
    for picture in text.iter(f"{XHTML}picture"):
        (source,) = picture.iter(f"{XHTML}source")
        assert source.get("media") == "(prefers-color-scheme: dark)"
        assert source.get("srcset") == picture.find(f"{XHTML}img").get("src").replace(
            ".svg", ".dark.svg"
        )


def test_it_says_how_it_can_be_read(files):
    package = etree.fromstring(files["EPUB/package.opf"])
    known = {}
    for meta in package.iter(f"{OPF}meta"):
        known.setdefault(meta.get("property"), []).append(meta.text)
    assert known["schema:accessMode"] == ["textual", "visual"]
    assert "textual" in known["schema:accessModeSufficient"]
    assert {"alternativeText", "MathML", "structuralNavigation"} <= set(
        known["schema:accessibilityFeature"]
    )
    assert known["schema:accessibilityHazard"] == ["none"]
    assert known["schema:accessibilitySummary"][0]


def test_links_within_it_lead_somewhere(files):
    ids = {
        name: {each.get("id") for each in page(files, name).iter() if each.get("id")}
        for name in [*NAMES, "title", "nav"]
    }
    led = 0
    for name in ids:
        for link in page(files, name).iter(f"{XHTML}a"):
            target = link.get("href")
            if not target.startswith("http"):
                path, _, place = target.partition("#")
                other = path.removesuffix(".xhtml") or name
                assert not place or place in ids[other], (name, target)
                led += 1
    assert led > 500
