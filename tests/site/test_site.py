"""The built site, read from its files: run by `make test` after `make book`."""

import copy
import gzip
import os
import pkgutil
import re
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from course import quiz
from course.chapters import ROOT, by_name, drafts
from course.promises import keep
from course.words import say
from tests.drafts import every
from tests.quiz_words import words, words_of_source
from tools import offers

SITE = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
LISTED = [entry for part in TOC["parts"] for entry in part["chapters"]]
BELOW = [entry for listed in LISTED for entry in listed.get("sections", [])]  # in no contents
PAGES = [TOC["root"], *(entry["file"] for entry in [*LISTED, *BELOW])]
DRAFTS = [f"book/{chapter.name}" for chapter in drafts()]
CHAPTERS = [page for page in PAGES if re.search(r"/\d\d-", page) and page not in DRAFTS]
every_chapter = pytest.mark.parametrize("name", every(lambda chapter: [f"book/{chapter.name}"]))


@cache
def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def ids(path):
    """Return the ids of a page, which many links of other pages ask for."""
    return set(re.findall(r'\sid="([^"]*)"', path.read_text(encoding="utf-8")))


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
            if not target.is_file() or (anchor and anchor not in ids(target)):
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

    def test_no_two_things_have_one_id(self, name):
        ids = Counter(tag["id"] for tag in page(name).find_all(id=True))
        assert [each for each, count in ids.items() if count > 1] == []

    def test_pictures_have_alt_text(self, name):
        for image in article(name).find_all("img"):
            keep(f"{name}, {image['src']},", "a figure", "alt", len(image.get("alt", "").split()))

    def test_shows_no_raw_markup(self, name):
        prose = copy.copy(article(name))
        for tag in prose.find_all(["pre", "code"]):
            tag.decompose()
        raw = r"\$[^$\n]+\$|\{(?:ref|numref|eq|cite|prf)[\w:]*\}|:::|\\\(|\| --- \|"
        assert not re.findall(raw, prose.get_text())
        assert not article(name).select(".problematic, .system-message")

    def test_formulas_are_rendered_once_and_without_error(self, name):
        assert not article(name).select(".katex-error")
        for formula in article(name).select(".math"):
            assert not formula.select("math")
            assert len(formula.select(".katex-html")) == 1
            (told,) = formula.select("[role=math]")
            assert told["aria-label"].strip()
            assert told["data-tex"].strip()
            assert told.select_one(".katex-html")["aria-hidden"] == "true"


@every_chapter
class TestChapter:
    def test_has_formulas_figures_and_theorems(self, name):
        stated = {"formulas": ".math .katex", "figures": "figure img:not(.on-dark)"}
        stated["theorems"] = ".proof.theorem, .proof.definition"
        for what, selector in stated.items():
            keep(name, "a chapter", what, len(article(name).select(selector)))

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

    def test_the_quiz_is_folded_and_says_what_its_source_says(self, name):
        chapter = by_name(name.rpartition("/")[2])
        sections = chapter.sections
        (listed,) = article(name).select("section > ol.quiz")
        items = listed.find_all("li", recursive=False)
        for item, question in zip(items, quiz.read(chapter).questions.values(), strict=True):
            folds = item.find_all("details", recursive=False)
            shown = item.decode_contents().partition("<details")[0]
            assert words(shown) == words_of_source(question.text)
            for fold, choice in zip(folds, question.choices, strict=True):
                assert not fold.has_attr("open")
                assert not fold.summary.find(["a", "button"])
                assert words(str(fold.summary)) == words_of_source(choice.text)
                told = words("".join(map(str, fold.summary.next_siblings)))
                again = {"feedback": choice.feedback, "section": sections.get(choice.section)}
                assert told == words_of_source(say("right" if choice.right else "wrong", **again))
                links = [link["href"] for link in fold.find_all("a")]
                assert links == ([f"#{choice.section}"] if choice.section else [])

    def test_what_an_answer_is_written_with_weighs_little_before_it_is_asked_for(self, name):
        path = SITE / f"{name}.html"
        text = path.read_text(encoding="utf-8")
        without = re.sub(r"<script[^>]* data-exercise=.*?</script>\n", "", text)
        without = re.sub(r'<a class="solved".*?</a>', "", without)
        assert text.count("data-exercise=") == len(article(name).select("div.exercise")) > 0
        script = gzip.compress((SITE / "_static/progress.js").read_bytes())
        grown = len(gzip.compress(text.encode())) - len(gzip.compress(without.encode()))
        keep(name, "a page", "to_write", (len(script) + grown) / 1024)

    def test_shows_no_error_that_was_not_meant(self, name):
        notebook = (ROOT / f"{name}.ipynb").read_text(encoding="utf-8")
        meant = notebook.count('"raises-exception"')
        assert len(article(name).select(".output.traceback")) == meant


def test_the_editor_is_made_and_light():
    made = gzip.compress((SITE / "_static/write-editor.js").read_bytes())
    keep("_static/write-editor.js", "a page", "editor", len(made) / 1024)


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


def test_each_table_of_what_the_checks_catch_is_folded_below_its_heading():
    headings = article("book/kill-table").find_all("h3")
    assert len(headings) == len(article("book/kill-table").find_all("table"))
    for heading in headings:
        fold = heading.find_next_sibling()
        assert fold.name == "details"
        assert re.search(r"\d+.*\d+.*\d+", fold.summary.get_text())
        assert not fold.summary.find(["a", "button"])
        assert fold.find("table")


def test_the_package_page_documents_every_public_name():
    import attnbook

    documented = {tag["id"].rpartition(".")[2] for tag in page("book/api").select("dt[id]")}
    modules = {module.name for module in pkgutil.iter_modules(attnbook.__path__)}
    assert set(attnbook.__all__) - modules <= documented


def test_each_function_says_how_to_import_it_and_where_its_source_is():
    things = page("book/api").select("article section > dl.py:is(.function, .class) > dt")
    assert len(things) > 30
    for thing in things:
        name = thing["id"].rpartition(".")[2]
        introduction = thing.find_next_sibling("dd").find("p")
        how = rf"from attnbook(\.\w+)? import ({name}\b|(?P<of>\w+), then (?P=of)\.{name}\b)"
        assert re.match(how, introduction.get_text()), name
        source = thing.find("a", string="[source]")["href"]
        assert re.search(r"/blob/main/attnbook/\w+(/\w+)?\.py#L\d+-L\d+$", source), name


def test_the_sources_list_every_entry_of_the_bibliography():
    entries = re.findall(
        r"^@\w+\{", (ROOT / "book/references.bib").read_text(encoding="utf-8"), re.M
    )
    assert len(page("book/references").select(".citation")) == len(entries)


def test_each_source_says_in_which_sections_it_is_cited():
    for entry in page("book/references").select(".citation"):
        assert entry.select(".cited-in a"), entry.get_text()


def test_the_sections_that_a_source_names_cite_it():
    folder = SITE / "book"
    for entry in page("book/references").select(".citation"):
        for link in entry.select(".cited-in a"):
            name, _, anchor = link["href"].partition("#")
            back = f"a[href$='references.html#{entry['id']}']"
            section = soup(folder / name).find(id=anchor)
            assert section.select(back), (entry.get_text(), link["href"])


def test_a_page_says_which_version_it_shows():
    import attnbook

    for name in PAGES:
        (shown,) = page(name).select("footer a.version")
        assert shown.get_text() == f"Version {attnbook.__version__}"


def test_a_section_leads_to_the_functions_it_names():
    import attnbook

    linked = {
        link["href"].rpartition(".")[2]
        for name in CHAPTERS
        for link in article(name).select("a[href^='api.html#attnbook']")
    }
    assert linked >= {"scaled_dot_product_attention", "MultiHeadAttention", "split_heads"}
    assert linked <= set(attnbook.__all__)


def test_no_other_theme_is_in_the_site():
    folders = {path.name for path in (SITE / "_static").iterdir() if path.is_dir()}
    assert folders == {"fonts", "katex"}
    other = re.compile(
        r"sphinx[-_]book|pydata|bootstrap|fontawesome|thebe|togglebutton|design", re.I
    )
    files = [path.relative_to(SITE).as_posix() for path in SITE.glob("[!l]*/**/*")]
    assert not [name for name in files if other.search(name)]
    for path in ALL_PAGES:
        tags = soup(path).find_all(["link", "script", "img"])
        asked = [tag.get("href") or tag.get("src") or tag.get_text() for tag in tags]
        assert not [text for text in asked if other.search(text)], path


def linked(path):
    """Return the names of a page's styles and scripts, in their order."""
    styles = [tag["href"] for tag in soup(path).select("link[rel=stylesheet]")]
    scripts = [tag["src"] for tag in soup(path).select("script[src]")]
    assert all(tag.has_attr("defer") for tag in soup(path).select("script[src]"))
    return [[urlsplit(url).path.rpartition("/")[2] for url in urls] for urls in (styles, scripts)]


ALL_PAGES = sorted(
    path
    for path in SITE.rglob("*.html")
    if not path.relative_to(SITE).as_posix().startswith(("lite/", "_"))
)


def said(path, **which):
    """Return the content of one meta element."""
    tags = soup(path).head.find_all("meta", attrs=which)
    assert len(tags) == 1, which
    return tags[0]["content"]


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_every_page_says_what_it_is(path):
    assert "The Attention Book" in soup(path).title.get_text()
    length = len(said(path, name="description"))
    keep(path.relative_to(SITE), "a page", "description", length)
    assert soup(path).head.find("link", rel="icon")


@pytest.mark.parametrize("path", ALL_PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_every_page_links_the_styles_and_scripts_that_it_needs(path):
    name = path.relative_to(SITE).with_suffix("").as_posix()
    framed = bool(soup(path).find("article"))
    assert framed == (name not in ("404", "index"))
    code, formulas = (
        bool(soup(path).select(f"article {sort}")) for sort in (".highlight", ".math")
    )
    touched = sorted({figure["data-live"] for figure in soup(path).select("[data-live]")})
    live = [f"live-{'-'.join(touched)}"] if touched else []
    # The page waits for each style that is a file; short ones stand in it.
    assert not framed or len(soup(path).head.find_all("style")) == code + len(live)
    assert linked(path) == [
        ["katex.min.css"] * formulas + ["attnbook.css"] * framed,
        ["documentation_options.js", "doctools.js", "sphinx_highlight.js"] * (name == "search")
        + ["attnbook.js", "progress.js"] * framed
        + ["search.js", "searchtools.js", "language_data.js", "searchindex.js"] * (name == "search")
        + [f"{each}.js" for each in live]
        + ["exercises.js"] * (name == "book/exercises")
        + ["filter.js"] * bool(soup(path).select(".filter"))
        + ["tabs.js"] * bool(soup(path).select(".tabs")),
    ]


CONF = """
extensions = ["myst_nb", "attnbook_theme"]
nb_execution_mode = "off"
html_theme = "attnbook"
html_sourcelink_suffix = ""
html_theme_options = {
    "repository": {"url": "https://github.com/someone/book", "branch": "new"},
    "launch_buttons": {"notebook_interface": "jupyterlab", "binderhub_url": "https://hub.example",
                        "colab_url": "https://lab.example"},
}
html_context = {"descriptions": {}, "default_description": ""}

def bring_a_figure(app, pagename, templatename, context, doctree):
    if pagename == "book/10-tenth":
        app.add_css_file("figure.css")
        app.add_js_file("figure.js", loading_method="defer")

def setup(app):
    app.add_js_file("everywhere.js")
    app.connect("html-page-context", bring_a_figure)
"""


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """Build a book of another project: a tenth chapter with a figure of its own, and a page."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "book").mkdir()
    (folder / "conf.py").write_text(CONF, "utf-8")
    (folder / "index.md").write_text(
        "# Index\n```{toctree}\nbook/10-tenth\nbook/page\n```\n", "utf-8"
    )
    (folder / "book/page.md").write_text("# Page\n", "utf-8")
    cell = nbformat.v4.new_markdown_cell("# Tenth\n", id="one")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "book/10-tenth.ipynb")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(folder), str(folder / "html")]
    # Jupyter Book finds the theme by its `local_extensions`.
    settings = os.environ | {"PYTHONPATH": str(ROOT / "book/_theme")}
    subprocess.run(command, env=settings, check=True)
    return folder / "html/book"


def test_the_tenth_chapter_has_buttons_and_links_of_the_repository_that_is_set(small_site):
    chapter, other = soup(small_site / "10-tenth.html"), soup(small_site / "page.html")
    assert [a["href"] for a in chapter.select("#run a")] == [
        "https://hub.example/v2/gh/someone/book/new?urlpath=lab/tree/book/10-tenth.ipynb",
        "https://lab.example/github/someone/book/blob/new/book/10-tenth.ipynb",
        "../lite/lab/index.html?path=10-tenth.ipynb",
        "../_sources/book/10-tenth.ipynb",
    ]
    assert not other.select("#run")
    links = {a.get_text(): a["href"] for a in other.select(".after a")}
    assert links["Edit this page"] == "https://github.com/someone/book/edit/new/book/page.md"
    assert links["Open an issue"].startswith("https://github.com/someone/book/issues/new?title=")


def test_an_extension_brings_a_script_to_one_page_and_none_to_all(small_site):
    assert linked(small_site / "page.html") == [["attnbook.css"], ["attnbook.js"]]
    styles, scripts = linked(small_site / "10-tenth.html")
    assert (styles, scripts) == (["attnbook.css", "figure.css"], ["attnbook.js", "figure.js"])


@pytest.mark.parametrize("name", PAGES)
class TestShared:
    def test_has_a_card_for_links(self, name):
        path = SITE / f"{name}.html"
        assert said(path, property="og:title") in page(name).title.get_text()
        assert said(path, property="og:description") == said(path, name="description")
        assert said(path, property="og:url") == page(name).find("link", rel="canonical")["href"]
        assert said(path, property="og:image") == BASE + "_static/social.png"
        assert (SITE / "_static/social.png").read_bytes()[16:24] == struct.pack(">II", 1200, 630)

    def test_can_be_edited_and_complained_of(self, name):
        links = {a.get_text(): a["href"] for a in page(name).select(".after a")}
        source = next((ROOT / "book").glob(f"{Path(name).name}.*")).name
        assert links["Edit this page"].endswith(f"/edit/main/book/{source}")
        assert "/issues/new?title=" in links["Open an issue"]
        assert "Cite the book" in links

    def test_pictures_have_a_size_and_wait_until_they_are_near(self, name):
        for place, image in enumerate(article(name).find_all("img")):
            picture = (SITE / f"{name}.html").parent / image["src"]
            if picture.suffix == ".svg":
                box = re.search(r'viewBox="0 0 (\S+) (\S+)"', picture.read_text("utf-8"))
                ratio = float(box[1]) / float(box[2])
                assert int(image["width"]) / int(image["height"]) == pytest.approx(ratio, rel=0.02)
            assert int(image["width"]) > 100
            is_drawn_over = image.find_parent(class_="live-stage")
            opens = article(name).select(".objectives") and place == 0 and not is_drawn_over
            is_seen_at_once = opens or ("/story." in image["src"] and "on-light" in image["class"])
            assert (image.get("loading") == "lazy") != bool(is_seen_at_once)

    def test_is_light(self, name):
        """The limits that Lighthouse counts, here for all that a page may ever ask for."""
        here = SITE / f"{name}.html"
        styles = [tag["href"] for tag in page(name).select("link[rel=stylesheet]")]
        parts = {here} | {
            (here.parent / urlsplit(url).path).resolve()
            for url in [*styles, *(tag["src"] for tag in page(name).find_all(src=True))]
        }
        # Of a drawing's two inks a page shows one.
        parts -= {path for path in parts if path.name.endswith(".dark.svg")}
        figures = {path for path in parts if path.parent.name == "_images"}
        fonts = sum(path.stat().st_size for path in SITE.glob("_static/fonts/*.woff2"))
        formulas = sum(path.stat().st_size for path in SITE.glob("_static/katex/fonts/*.woff2"))
        texts = {path: len(gzip.compress(path.read_bytes())) for path in parts}
        rest = sum(texts[path] for path in parts - figures)
        sizes = {"without_formulas": rest + fonts}
        sizes["without_figures"] = rest + fonts + formulas  # no page asks for every font of these
        sizes["whole"] = sum(texts.values()) + fonts + formulas
        for what, size in sizes.items():
            keep(name, "a page", what, size / 1024)


BASE = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]


def test_descriptions_differ():
    texts = [said(SITE / f"{name}.html", name="description") for name in PAGES]
    assert len(set(texts)) == len(texts)


def test_the_list_for_search_engines_has_every_page():
    listed = re.findall(r"<loc>(.*?)</loc>", (SITE / "sitemap.xml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(f"{BASE}{name}.html" for name in PAGES if name not in DRAFTS)
    assert f"Sitemap: {BASE}sitemap.xml" in (SITE / "robots.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_draft_and_no_other_page_says_so_and_is_kept_out_of_search_engines(name):
    marks = page(name).select("meta[name=robots][content=noindex]"), page(name).select(".draft")
    assert list(map(len, marks)) == [name in DRAFTS] * 2
    assert say("draft_means") in "".join(each.get_text() for each in marks[1]) or not marks[1]


def test_the_first_address_leads_to_the_landing_page():
    refresh = soup(SITE / "index.html").find("meta", attrs={"http-equiv": "refresh"})
    assert refresh["content"] == f"0; url={PAGES[0]}.html"
    assert soup(SITE / "index.html").find("a")["href"] == f"{PAGES[0]}.html"


def test_the_page_for_a_wrong_address_works_at_any_depth():
    tags = soup(SITE / "404.html").find_all(["a", "link", "script", "img"])
    addresses = [tag.get("href") or tag.get("src") for tag in tags]
    assert addresses
    assert all(address.startswith(("https://", "data:")) for address in addresses)


@every_chapter
def test_buttons_open_this_chapter_wherever_it_runs(name):
    links = {a.get_text(): a["href"] for a in page(name).select("#run a.button")}
    repository, file = "attnbook/attnbook", f"{Path(name).name}.ipynb"
    notebook = (SITE / f"{name}.html").parent / links.pop("Notebook")
    assert links == {
        "Binder": f"https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/{name}.ipynb",
        "Colab": f"https://colab.research.google.com/github/{repository}/blob/main/{name}.ipynb",
        "In the browser": f"../lite/lab/index.html?path={file}",
    }
    assert notebook.read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


def test_the_citation_is_that_of_the_citation_file():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = next(pre for pre in article(PAGES[0]).find_all("pre") if "@misc" in pre.get_text())
    text = entry.get_text()
    assert f"{{{{{cited['authors'][0]['name']}}}}}" in text
    assert cited["title"] in text
    assert f"Version {cited['version']}" in text
    assert f"{{{cited['date-released'][:4]}}}" in text
    assert BASE in text


def test_the_zip_holds_the_site():
    with zipfile.ZipFile(SITE / "the-attention-book.zip") as archive:
        packed = {name.partition("/")[2] for name in archive.namelist()}
        pages = {
            name: archive.read(f"the-attention-book/{name}")
            for name in packed
            if not name.startswith("lite/")
        }
    built = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file()}
    extra = {name for name in built if name.startswith(("lite/", "paper/"))}
    assert built - extra - packed == {"the-attention-book.zip", ".buildinfo"}
    assert "lite/lab/index.html" in packed
    first = "book/index.html"  # what it offers besides is not in the zip
    offered = (SITE / first).read_text(encoding="utf-8")
    assert pages.pop(first).decode() == offers.PLACE.sub(r"\1\3", offered)
    assert all(data == (SITE / name).read_bytes() for name, data in pages.items())


def test_building_again_keeps_every_page():
    before = {path for path in SITE.rglob("*") if path.is_file()}
    settings = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(["make", "-s", "book"], cwd=ROOT, env=settings, check=True)
    assert before - {path for path in SITE.rglob("*") if path.is_file()} == set()
    assert (SITE / "lite/lab/index.html").is_file()
