"""A made-up chapter for tests: another one's text and room under other names, added to a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from course import verdicts
from course.chapters import ROOT, Chapter, chapters, chapters_and_drafts
from tools.chapter import list_in_toc

SLUG, TITLE = "made-up", "Make a chapter up"
LEFT_OUT = {"_build", ".git"}


def copy_of_the_repository(target: Path) -> Path:
    """Copy what git tracks, or would, as it stands in the working tree."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    verdicts.judged()
    kept = verdicts.place(chapters()[0], verdicts.TASKS).parent
    shutil.copytree(kept, target / kept.relative_to(ROOT))  # what is the same is judged once
    return target


def run(root: Path, *module: str | Path, environment: str = ".venv") -> str:
    """Run a module of Python's in a copy, with an environment of this checkout."""
    # The environments have this checkout on their path: what stands here comes before.
    settings = os.environ | {"PYTHONPATH": str(root), "PHRASE": "made up"}
    settings.pop("ATTNBOOK_CLASS", None)
    command = [ROOT / environment / "bin/python", "-m", *module]
    if module[0] == "-c":
        command.remove("-m")
    done = subprocess.run(command, cwd=root, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def renamed(text: str, like: Chapter, new: Chapter) -> str:
    """Give what is a chapter's own names and words that no other chapter has."""
    prose = like.prose
    labels = set(re.findall(r"^(?:\(|:label: |\$\$ \()((?:sec|eq|ex|thm|def)-[\w-]+)", prose, re.M))
    labels |= set(re.findall(r'"name": "(fig-[\w-]+)"', like.notebook.read_text(encoding="utf-8")))
    for label in sorted(labels, key=len, reverse=True):
        kind, _, rest = label.partition("-")
        text = re.sub(rf"(?<![\w-]){label}(?![\w-])", f"{kind}-made-{rest}", text)
    tasks = list(like.part("tasks").TASKS)
    for name in [*like.exercises, *tasks]:
        quoted = rf'(?<="){name}(?=["\\]|-\w+"|: correct)'
        text = re.sub(rf"{quoted}|(?<=^\[){name}(?=\]$)", f"made-{name}", text, flags=re.M)
    for function in (name.replace("-", "_") for name in tasks):
        text = re.sub(rf"\b{function}\b", f"made_{function}", text)
    # What a figure says, and what one learns, is said once in a book.
    text = re.sub(r'^( +"(?:caption|alt)": ")', r"\1Once more: ", text, flags=re.M)
    for old, now in (
        *((each["can"], f"re-{each['can']}") for each in like.about["objectives"]),
        (like.about["title"], TITLE),
        (like.name, new.name),
        (like.module, new.module),
        (like.label, new.label),
        (f"quiz-{like.label[3:]}", f"quiz-{new.label[3:]}"),
        (f"hapter {like.number} of", f"hapter {new.number} of"),
        (f"ssignment {like.number}", f"ssignment {new.number}"),
    ):
        text = text.replace(old, now)
    return text


def add_chapter(root: Path) -> Chapter:
    """Add a chapter as CONTRIBUTING says: a page, a room, a module of checkers, a line."""
    like = chapters()[3]
    number = len(chapters_and_drafts()) + 1
    new = Chapter(number, f"{number:02}-{SLUG}", root)
    shutil.copytree(like.room, new.room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(like.notebook, new.notebook)
    checkers = [root / f"attnbook/exercises/{new.module}{kind}" for kind in (".py", ".ini")]
    for path in checkers:
        shutil.copy(path.with_stem(like.module), path)
    for path in [new.notebook, *checkers, *new.room.iterdir()]:
        path.write_text(renamed(path.read_text(encoding="utf-8"), like, new), encoding="utf-8")
    list_in_toc(new)
    return new
