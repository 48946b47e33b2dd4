"""Begin a chapter: write all its files, small, valid, and with a TODO at each gap.

The files are those of `template/`, in which @NAME@ and the like stand for the chapter's own;
a notebook is written there as MyST Markdown. The new chapter is a draft: it is built and can be
looked at, but the course leaves it out, and tests hold it to no promise yet.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

from course.chapters import ROOT, Chapter, chapters_and_drafts
from tools import notebooks
from tools.notebooks import METADATA

TEMPLATE = Path(__file__).parent / "template"
NEXT = """\
{name} is begun, as a draft. Each gap in its files says TODO: {files}
  write it              make lab CHAPTER={name}, or any editor
  see its page          make page CHAPTER={name}
  test it               make chapter-test CHAPTER={name}
  make it a chapter     delete the line draft = true in course/{module}/chapter.toml, test again"""


def main(name: str = "") -> None:
    """Begin the chapter of a name such as 10-one-number."""
    try:
        chapter = begin(name)
    except ValueError as problem:
        sys.exit(str(problem))
    notebooks.main(str(chapter.notebook))  # its outputs are stored with it
    written = [path.relative_to(ROOT).as_posix() for path in files(chapter).values()]
    print(NEXT.format(name=name, module=chapter.module, files=", ".join(["", *written])[2:]))


def begin(name: str, root: Path = ROOT) -> Chapter:
    """Write the files of a chapter; raise ValueError, with what to do, for a wrong name."""
    chapter = named(name, root)
    slug = chapter.label.removeprefix("ch-")
    about = {"NAME": name, "NUMBER": str(chapter.number), "SLUG": slug, "LABEL": chapter.label}
    about["TITLE"] = slug.replace("-", " ").capitalize()
    chapter.room.mkdir()
    for template, path in files(chapter).items():
        text = re.sub("@([A-Z]+)@", lambda gap: about[gap[1]], template.read_text(encoding="utf-8"))
        path.write_text(notebook(text) if path.suffix == ".ipynb" else text, encoding="utf-8")
    list_in_toc(chapter)
    return chapter


def named(name: str, root: Path) -> Chapter:
    """Return the chapter that a name is for; raise ValueError if it is no name for the next one."""
    every = chapters_and_drafts(root)
    number = len(every) + 1
    words = "one-number" if all(each.name[3:] != "one-number" for each in every) else "more-numbers"
    use = f"such as make chapter NAME={number:02}-{words}"
    if not re.fullmatch(r"\d\d-[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} is no name for a chapter: give its number, of two digits, and words in "
            f"small letters, with hyphens between them, {use}"
        )
    chapter = Chapter(number, name, root)
    if name in [each.name for each in every]:
        raise ValueError(f"{name} is there already: see its page by make page CHAPTER={name}")
    if taken := [each.name for each in every if each.label == chapter.label]:
        raise ValueError(f"{taken[0]} has these words, and links to them: take others, {use}")
    if int(name[:2]) != number:
        raise ValueError(
            f"the next chapter is number {number:02}, not {name[:2]}: name it so, {use}"
        )
    if left := [path for path in [*files(chapter).values(), chapter.room] if path.exists()]:
        there = left[-1].relative_to(root)
        raise ValueError(f"{there} is there, but not in _toc.yml: delete it, or take another name")
    return chapter


def files(chapter: Chapter) -> dict[Path, Path]:
    """Return where each template goes."""
    checkers = chapter.root / f"attnbook/exercises/{chapter.module}"
    return {
        TEMPLATE / "notebook.md": chapter.notebook,
        **{TEMPLATE / f"checkers{kind}": checkers.with_suffix(kind) for kind in (".py", ".ini")},
        **{path: chapter.room / placed(path.name) for path in sorted(TEMPLATE.glob("room/*.*"))},
    }


def placed(name: str) -> str:
    return "assignment.ipynb" if name == "assignment.md" else name


def notebook(text: str) -> str:
    """Return a notebook of what is written as MyST Markdown."""
    made = read_myst_markdown_notebook(text, MdParserConfig())
    made.metadata = nbformat.from_dict(METADATA)
    made.nbformat_minor = 5
    for number, cell in enumerate(made.cells):
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{number}")
    return nbformat.writes(made) + "\n"


def list_in_toc(chapter: Chapter) -> None:
    """Add a chapter's line to `_toc.yml`, behind the last chapter's."""
    toc, last = chapter.root / "_toc.yml", chapters_and_drafts(chapter.root)[-1].name
    line = f"- file: book/{last}\n"
    before, match, after = toc.read_text(encoding="utf-8").partition(line)
    indent = before[before.rindex("\n") + 1 :]
    added = f"{indent}- file: book/{chapter.name}\n"
    toc.write_text(before + match + added + after, encoding="utf-8")
