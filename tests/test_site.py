"""The built site, read from its files: run by `make test` after `make book`."""

import copy
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(entry["file"] for part in TOC["parts"] for entry in part["chapters"])]
CHAPTERS = [page for page in PAGES if re.search(r"/\d\d-", page)]


@cache
def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def page(name):
    return soup(SITE / f"{name}.html")


def article(name):
    return page(name).find("article")


def test_every_page_of_the_table_of_contents_was_built():
    built = {str(path.relative_to(SITE).with_suffix("")) for path in SITE.glob("book/*.html")}
    assert built == set(PAGES)
    assert CHAPTERS


@pytest.mark.parametrize("name", PAGES)
class TestPage:
    def test_is_a_page(self, name):
        assert page(name).html["lang"] == "en"
        assert len(article(name).find_all("h1")) == 1
        assert page(name).title.get_text().strip()

    def test_links_lead_somewhere(self, name):
        here = SITE / f"{name}.html"
        broken = []
        for link in page(name).find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or parts.netloc or link["href"] in ("#", ""):
                continue
            target = (here.parent / unquote(parts.path)).resolve() if parts.path else here
            anchor = unquote(parts.fragment) if target.suffix == ".html" else ""
            if not target.is_file() or (anchor and not soup(target).find(id=anchor)):
                broken.append(link["href"])
        assert not broken

    def test_asks_no_other_host_and_finds_what_it_asks_for(self, name):
        here = SITE / f"{name}.html"
        asked = [tag["src"] for tag in page(name).find_all(src=True)]
        kinds = {"stylesheet", "preload", "prefetch", "icon", "shortcut", "modulepreload"}
        for tag in page(name).find_all("link", href=True):
            if kinds & set(tag.get("rel", [])):
                asked.append(tag["href"])
        assert asked
        for url in asked:
            parts = urlsplit(url)
            assert not parts.netloc, url
            if parts.scheme != "data":
                assert (here.parent / unquote(parts.path)).resolve().is_file(), url

    def test_pictures_have_alt_text(self, name):
        for image in article(name).find_all("img"):
            assert len(image.get("alt", "").split()) >= 15, image.get("src")

    def test_shows_no_raw_markup(self, name):
        prose = copy.copy(article(name))
        for tag in prose.find_all(["pre", "code", "annotation"]):
            tag.decompose()
        raw = r"\$[^$\n]+\$|\{(?:ref|numref|eq|cite|prf)[\w:]*\}|:::|\\\(|\| --- \|"
        assert not re.findall(raw, prose.get_text())
        assert not article(name).select(".problematic, .system-message")

    def test_formulas_are_rendered_once_and_without_error(self, name):
        assert not article(name).select(".katex-error")
        for formula in article(name).select(".math"):
            assert len(formula.select(".katex-mathml math")) == 1
            assert len(formula.select(".katex-html")) == 1
        styles = [tag["href"] for tag in page(name).find_all("link", rel="stylesheet")]
        assert any("katex.min.css" in style for style in styles)


@pytest.mark.parametrize("name", CHAPTERS)
class TestChapter:
    def test_has_formulas_figures_and_theorems(self, name):
        assert len(article(name).select(".math .katex")) >= 20
        assert len(article(name).select("figure img")) >= 8
        assert article(name).select(".proof.theorem, .proof.definition")

    def test_figures_are_numbered_and_mentioned(self, name):
        figures = [figure for figure in article(name).select("figure") if figure.find("img")]
        for figure in figures:
            assert re.match(r"Fig\. \d+(\.\d+)?", figure.find("figcaption").get_text().strip())

    def test_solutions_are_folded_and_executed(self, name):
        solutions = article(name).select(".solution")
        assert len(solutions) == len(article(name).select(".exercise"))
        for solution in solutions:
            assert "dropdown" in solution["class"]
            assert ": correct" in solution.get_text()

    def test_the_rocket_opens_this_chapter_in_binder_and_colab(self, name):
        rocket = page(name).select(".dropdown-launch-buttons a[href]")
        repository, notebook = "gh/attnbook/attnbook/main", f"{name}.ipynb"
        assert [link["href"] for link in rocket] == [
            f"https://mybinder.org/v2/{repository}?urlpath=lab/tree/{notebook}",
            f"https://colab.research.google.com/github/attnbook/attnbook/blob/main/{notebook}",
        ]
        assert (ROOT / notebook).is_file()

    def test_shows_no_error_that_was_not_meant(self, name):
        notebook = (ROOT / f"{name}.ipynb").read_text(encoding="utf-8")
        meant = notebook.count('"raises-exception"')
        assert len(article(name).select(".output.traceback")) == meant


def test_styles_ask_no_other_host():
    for style in SITE.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text), style


def test_fonts_of_the_formulas_are_there():
    folder = SITE / "_static/katex"
    fonts = re.findall(
        r"url\((fonts/[\w-]+\.woff2)\)", (folder / "katex.min.css").read_text(encoding="utf-8")
    )
    assert len(fonts) >= 20
    assert all((folder / font).is_file() for font in fonts)


def test_the_package_page_documents_every_public_name():
    import attnbook

    documented = {tag["id"].rpartition(".")[2] for tag in page("book/api").select("dt[id]")}
    assert set(attnbook.__all__) - {"exercises"} <= documented


def test_the_sources_list_every_entry_of_the_bibliography():
    entries = re.findall(
        r"^@\w+\{", (ROOT / "book/references.bib").read_text(encoding="utf-8"), re.M
    )
    assert len(page("book/references").select(".citation")) == len(entries)
