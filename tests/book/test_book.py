"""The book as files: what nobody sees until a reader does."""

import ast
import json
import re
import tomllib
from urllib.parse import parse_qsl, urlsplit

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml

from attnbook._without_smollm2 import NeedsSmolLM2
from attnbook.exercises import _all_exercises
from course.chapters import ROOT, by_name, chapters, chapters_and_drafts, without_comments
from course.checks import checks
from course.claims import KEYS
from course.pages import contents, lead
from course.promises import PROMISES, keep
from course.words import counted
from tests.drafts import every
from tests.drawn import drawn_alike
from tools import cover

EXERCISES = _all_exercises()
BOOK = ROOT / "book"
URL = "https://github.com/attnbook/attnbook"
CHAPTERS = [chapter.notebook for chapter in chapters()]
NOTEBOOKS = [path for each in chapters_and_drafts() for path in each.notebooks]  # appendices, too
APPENDICES = [path for chapter in chapters() for path in chapter.notebooks[1:]]


def read(path):
    return path.read_text(encoding="utf-8")


def cells(path, kind):
    notebook = json.loads(read(path))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


def prose(path):
    return without_comments("\n".join(source(cell) for cell in cells(path, "markdown")))


def is_figure(cell):
    return any(kind.startswith("image/") for out in cell["outputs"] for kind in out.get("data", {}))


def is_hidden(cell):
    return "remove-cell" in cell["metadata"].get("tags", [])


def is_folded(cell):
    return {"evidence", "hide-input", "remove-cell"} & {*cell["metadata"].get("tags", [])}


def listed_in_toc():
    toc = yaml.safe_load(read(ROOT / "_toc.yml"))
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    below = [page for entry in entries for page in entry.get("sections", [])]
    return [toc["root"], *(entry["file"] for entry in [*entries, *below])]


def test_the_table_of_contents_and_the_folder_agree():
    on_disk = {path.stem for path in [*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]}
    assert CHAPTERS
    assert {f"book/{name}" for name in on_disk} == set(listed_in_toc())
    assert len(listed_in_toc()) == len(on_disk)


def test_the_list_of_chapters_numbers_them_and_each_has_a_room_and_no_other():
    names = [chapter.name for chapter in chapters_and_drafts()]
    assert [name[:3] for name in names] == [f"{number:02}-" for number in range(1, len(names) + 1)]
    rooms = {path.name for path in (ROOT / "course").glob("ch[0-9]*") if any(path.glob("*.*"))}
    other = rooms ^ {chapter.module for chapter in chapters_and_drafts()}
    assert not other, f"_toc.yml and the folders in course/ do not agree about {sorted(other)}"


def test_the_landing_page_maps_each_chapter_and_no_other():
    mapped = re.findall(r"^\| \[\]\(([\w-]+\.ipynb)\) \|", "\n".join(contents()), re.M)
    assert mapped == [path.name for path in CHAPTERS]


@pytest.mark.english
def test_the_landing_page_says_how_many_chapters_there_are():
    (said,) = lead()
    assert f" {counted(len(CHAPTERS)).capitalize()} chapters lead " in said


@pytest.mark.parametrize("chapter", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    """What holds for a draft, too."""

    def test_was_executed_in_order_and_holds_only_intended_errors(self, chapter):
        code = cells(chapter, "code")
        told = f"{chapter.name}: execute it from top to bottom, by make page CHAPTER={chapter.stem}"
        assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1)), told
        for cell in code:
            has_error = any(out["output_type"] == "error" for out in cell["outputs"])
            meant = "raises-exception" in cell["metadata"].get("tags", [])
            told = (
                "raises no error: drop its tag" if meant else "raises an error: mend it, or tag it"
            )
            assert has_error == meant, f"{chapter.name}, {cell['id']} {told} `raises-exception`"

    def test_metadata_is_minimal(self, chapter):
        assert json.loads(read(chapter))["metadata"].keys() == {"kernelspec", "language_info"}
        allowed = {"tags", "live", "mystnb", "jupyter", "slideshow", *KEYS}
        for cell in json.loads(read(chapter))["cells"]:
            assert cell["metadata"].keys() <= allowed
            assert "attachments" not in cell

    def test_is_written_as_make_notebooks_writes_it(self, chapter):
        """Or executing it again, with the same outputs, would show as a change."""
        notebook = json.loads(read(chapter))
        assert read(chapter) == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        for cell in notebook["cells"]:
            written = json.dumps(cell["metadata"], sort_keys=True)
            assert json.dumps(cell["metadata"]) == written, cell["id"]

    def test_figures_are_svg_with_alt_text_caption_and_a_mention(self, chapter):
        names = []
        for cell in (c for c in cells(chapter, "code") if is_figure(c)):
            about = cell["metadata"].get("mystnb", {})
            figure, image = about.get("figure", {}), about.get("image", {})
            name = figure.get("name", "")
            where = f"{chapter.name}, {cell['id']}, figure {name or '(give it a name)'}"
            kinds = [kind for out in cell["outputs"] for kind in out.get("data", {})]
            assert kinds.count("image/svg+xml") == 1, f"{where}: draw one picture, as SVG"
            assert "image/png" not in kinds, f"{where}: draw it as SVG"
            for text in ("alt", "caption"):  # what one sees and learns
                said = without_comments({**figure, **image}.get(text, "")).split()
                keep(f"{where},", "a figure", text, len(said))
            names.append(name)
        assert len(set(names)) == len(names), f"{chapter.name}: two figures have one name, {names}"
        assert all(name.startswith("fig-") for name in names)

    def test_directives_read_well_where_they_are_not_rendered(self, chapter):
        # In Colab a fence of backticks is a block of code: its title is gone, its formulas are raw.
        assert "```{" not in prose(chapter), f"{chapter.name}: write :::{{name}}, not ```{{name}}"

    def test_tags_the_cells_that_need_smollm2_and_no_other(self, chapter):
        looks, found = NeedsSmolLM2(), []
        for cell in cells(chapter, "code"):
            code = ast.parse(re.sub(r"^( *)[%!].*$", r"\1pass", source(cell), flags=re.M))
            found.append(looks.visit(code) is not code)
        tagged = ["smollm2" in c["metadata"].get("tags", []) for c in cells(chapter, "code")]
        assert tagged == found
        loads = "%load_ext attnbook._without_smollm2"
        if any(tagged):
            hidden = [source(c) for c in cells(chapter, "code") if is_hidden(c)]
            assert any(loads in each for each in hidden)

    def test_installs_on_colab_only_in_a_hidden_cell(self, chapter):
        first = cells(chapter, "code")[0]
        assert "remove-cell" in first["metadata"]["tags"]
        assert '"google.colab" in sys.modules' in source(first)
        assert f"git+{URL}" in source(first)


@pytest.mark.parametrize("chapter", every(lambda each: each.notebooks), ids=lambda path: path.stem)
class TestChapter:
    def test_imports_the_package(self, chapter):
        imports = [re.search(r"^from attnbook", source(c), re.M) for c in cells(chapter, "code")]
        assert any(imports), f"{chapter.name}: import something from attnbook"

    def test_code_cells_are_short(self, chapter):
        for cell in cells(chapter, "code"):
            proves = "evidence" in cell["metadata"].get("tags", [])
            where = f"{chapter.name}, {cell['id']} ({source(cell).partition(chr(10))[0]})"
            what = "lines_of_evidence" if proves else "lines"
            keep(where, "a cell", what, len(source(cell).splitlines()))

    def test_no_comment_has_broken_its_line(self, chapter):
        """A line too long with its comment is put into brackets by the formatter."""
        for cell in cells(chapter, "code"):
            broken = re.search(r"[(\[{]\n[^\n]{1,64}\n *[)\]}][^\n]*  # .*", source(cell))
            assert not broken, f"{chapter.name}, {cell['id']}: put the comment above {broken[0]!r}"

    def test_has_figures(self, chapter):
        whose = "an appendix" if chapter in APPENDICES else "a chapter"
        keep(chapter.stem, whose, "figures", sum(map(is_figure, cells(chapter, "code"))))

    def test_pitfalls_are_run_live(self, chapter):
        notebook = json.loads(read(chapter))["cells"]
        pitfalls = [i for i, cell in enumerate(notebook) if ":class: warning" in source(cell)]
        if chapter not in APPENDICES:
            keep(chapter.stem, "a chapter", "pitfalls", len(pitfalls))
        for i in pitfalls:
            where = f"{chapter.name}, cell {i}"
            runs = notebook[i + 1]["cell_type"] == "code" and checks(source(notebook[i + 1]))
            assert runs, f"{where}: put a cell behind the pitfall that runs it, with an assertion"

    def test_each_exercise_has_an_empty_cell_and_a_checked_solution(self, chapter):
        text = prose(chapter)
        exercises = re.findall(r":::\{exercise\}.*\n:label: (ex-[\w-]+)", text)
        if chapter not in APPENDICES:
            keep(chapter.stem, "a chapter", "exercises", len(exercises))
        assert re.findall(r"\{solution-start\} (ex-[\w-]+)\n:class: dropdown", text) == exercises
        assert text.count("{solution-end}") == len(exercises)
        solved = set()
        for cell in cells(chapter, "code"):
            solved |= set(re.findall(r'^check\("([\w-]+)"', source(cell), re.M))
        names = {label.removeprefix("ex-") for label in exercises}
        assert solved == names
        lines = [source(c).splitlines() for c in cells(chapter, "code")]
        empty = [each for each in lines if each and all(line[0] == "#" for line in each)]
        assert len(empty) == len(exercises)

    def test_a_statement_names_the_function_as_its_checker_does(self, chapter):
        statements = re.findall(
            r":::\{exercise\}.*\n:label: ex-([\w-]+)\n(.*?):::", prose(chapter), re.S
        )
        for name, text in statements:
            assert f"`{EXERCISES[name].call}`" in text, name

    def test_the_stated_minutes_are_those_of_its_words_and_lines(self, chapter):
        if chapter in APPENDICES:
            return  # it states none
        words = len(prose(chapter).split())
        column = [c for c in cells(chapter, "code") if not is_folded(c)]
        lines = sum(len(source(c).splitlines()) for c in column)
        rates = PROMISES["a chapter"]
        measured = words / rates["words_a_minute"] + lines / rates["lines_a_minute"]
        stated = by_name(chapter.stem).about["minutes"]
        where = f"{chapter.stem} takes {measured:.0f} minutes, is said to take {stated}, and so"
        keep(where, "a chapter", "minutes_off", abs(stated - measured))
        row = next(line for line in contents() if chapter.name in line)
        own = read(chapter).count(":::{exercise}")
        more = len(by_name(chapter.stem).exercises) - own
        exercises = f"{own} + {more}" if more else f"{own}"
        assert [cell.strip() for cell in row.split("|")[-3:-1]] == [exercises, str(stated)]

    @pytest.mark.english
    def test_has_no_filler(self, chapter):
        words = "simply|obviously|clearly|powerful|delve|crucial|straightforward|of course"
        assert not re.findall(rf"\b({words})\b", prose(chapter), re.I)

    def test_has_no_todo_or_path_of_a_machine(self, chapter):
        left = re.findall(
            r"^.*?(?:TODO|FIXME|@[A-Z]+@|/home/|/tmp/|/root/).*$", read(chapter), re.M
        )
        if left:
            pytest.fail("\n".join([f"{chapter.name}: write these lines", *left]), pytrace=False)


@pytest.mark.parametrize("chapter", every(), ids=lambda chapter: chapter.name)
def test_nothing_is_left_to_do_in_its_room_nor_in_its_checkers(chapter):
    checkers = (ROOT / "attnbook/exercises").glob(f"{chapter.module}.*")
    left = [
        f"{path.relative_to(ROOT)}, line {number}: {line.strip()}"
        for path in sorted([*chapter.room.glob("*.*"), *checkers])
        for number, line in enumerate(read(path).splitlines(), 1)
        if "TODO" in line
    ]
    if left:
        pytest.fail("\n".join(["write these lines", *left]), pytrace=False)


def test_the_link_for_a_class_pulls_this_repository_and_opens_a_chapter():
    (link,) = re.findall(r"^https://\S+/git-pull\?\S+$", read(BOOK / "instructors-hub.md"), re.M)
    parts = urlsplit(link)
    assert parts.path == "/hub/user-redirect/git-pull"
    asked = dict(parse_qsl(parts.query, strict_parsing=True))
    assert asked.keys() == {"repo", "branch", "urlpath"}
    assert asked["repo"] == URL
    assert asked["branch"] == yaml.safe_load(read(ROOT / "_config.yml"))["repository"]["branch"]
    folder = f"lab/tree/{URL.rpartition('/')[2]}/"
    assert ROOT / asked["urlpath"].removeprefix(folder) in CHAPTERS


def citations():
    """Return every citation key used in the pages and in the docstrings."""
    texts = [prose(path) for path in NOTEBOOKS]
    texts += [read(path) for path in [*BOOK.glob("*.md"), *(ROOT / "attnbook").rglob("*.py")]]
    keys = re.findall(r"\{cite:[pt]\}`([^`]+)`|:cite:[pt]:`([^`]+)`", "\n".join(texts))
    listed = ",".join(first or second for first, second in keys)
    return {re.sub(r"\{.*", "", key).strip() for key in listed.split(",")}


def test_every_citation_resolves_and_every_source_is_complete():
    bibliography = read(BOOK / "references.bib")
    entries = re.findall(r"^@\w+\{([\w-]+),\n(.*?)^\}", bibliography, re.M | re.S)
    assert citations() == {key for key, _ in entries}
    for key, body in entries:
        for field in ("author", "title", "year"):
            assert re.search(rf"^\s*{field} = ", body, re.M), (key, field)
        assert re.search(r"^\s*(url|doi) = ", body, re.M), key


def test_the_repository_address_is_the_same_everywhere():
    assert yaml.safe_load(read(ROOT / "_config.yml"))["repository"]["url"] == URL
    assert yaml.safe_load(read(ROOT / "CITATION.cff"))["repository-code"] == URL
    assert tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["urls"] == {"Homepage": URL}
    written = []
    for path in [*ROOT.glob("*.*"), *BOOK.glob("*.*"), *(ROOT / "attnbook").rglob("*.py")]:
        if path.is_file():
            written += re.findall(r"https://github\.com/attnbook(?:/[\w-]+)?", read(path))
    assert set(written) == {URL}


@pytest.mark.pinned
def test_the_pictures_of_the_front_are_what_their_script_draws(tmp_path):
    for name, draw in (("story.svg", cover.draw_story), ("cover.svg", cover.draw)):
        draw(tmp_path / name)
        assert drawn_alike(read(tmp_path / name), read(BOOK / "_static" / name))
    cover.draw_card(tmp_path / "social.png")
    drawn, stored = (plt.imread(folder / "social.png") for folder in (tmp_path, BOOK / "_static"))
    assert stored.shape[:2] == (630, 1200)
    np.testing.assert_allclose(drawn, stored, atol=0.02)
