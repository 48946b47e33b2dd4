"""Build the site; first forget what an older build left, where it no longer holds."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from course.chapters import ROOT, chapters
from tools import offers
from tools.notebooks import old_outputs

BUILD = ROOT / "_build"
SITE = BUILD / "html"
LITE = BUILD / "lite"
ZIP = "the-attention-book.zip"  # for reading offline
STAND_IN = "lite/lab/index.html"  # says why JupyterLite, which needs a server, is not there
# What every page depends on besides its text; Jupyter Book sees no change in it.
PAGES = [
    "book/_ext",
    "book/_theme",
    "book/write",
    "_build/codemirror/editor.js",
    "book/_static",
    "book/references.bib",
    "_config.yml",
]
PAGES += ["course/words.toml", "constraints.txt"]
ALL = ["attnbook", "book", "course", "_config.yml", "_toc.yml", "constraints.txt"]
ALL += ["_build/codemirror/editor.js"]
LITES = ["attnbook", "tools/lite.py", "tools/lite-requirements.txt", "constraints.txt"]


def fingerprint(*places: str) -> str:
    """Return a digest of files, and of those in folders: their names, their bytes, this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            parts = file.relative_to(path).parts  # caches of tools are none of it
            if file.is_file() and not any(p.startswith((".", "__pycache__")) for p in parts):
                digest.update(f"{file.relative_to(ROOT).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def is_kept(name: str, now: str) -> bool:
    """Tell whether the last build had the same fingerprint."""
    kept = BUILD / name
    return kept.is_file() and kept.read_text() == now


def pack() -> None:
    """Put the site into one file, the same bytes for the same pages."""
    with zipfile.ZipFile(SITE / ZIP, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(SITE.rglob("*")):
            name = file.relative_to(SITE).as_posix()
            ours = name not in (ZIP, ".buildinfo") and not name.startswith(("lite/", "paper/"))
            if file.is_file() and (ours or name == STAND_IN):
                entry = zipfile.ZipInfo(f"the-attention-book/{name}", (2020, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def lite_now() -> str:
    """Return the fingerprint of what JupyterLite is built from."""
    paths = [path for chapter in chapters() for path in chapter.notebooks]
    return fingerprint(*LITES, *(str(path.relative_to(ROOT)) for path in paths))


def add_lite() -> None:
    """Put JupyterLite, which is built beside the site, in the place that is kept for it."""
    shutil.rmtree(SITE / "lite", ignore_errors=True)
    shutil.copytree(LITE, SITE / "lite")


def build() -> None:
    """Build the pages that changed; pack them, and add JupyterLite if it is there and current."""
    BUILD.mkdir(exist_ok=True)
    now = {"whole": fingerprint(*ALL), "pages": fingerprint(*PAGES)}
    if is_kept("whole", now["whole"]) and (SITE / "index.html").is_file():
        print(f"{SITE.relative_to(ROOT)}, as it was: nothing has changed")
        return
    (BUILD / "whole").unlink(missing_ok=True)
    if not is_kept("pages", now["pages"]):
        (BUILD / "pages").unlink(missing_ok=True)
        for path in (BUILD / ".doctrees", SITE):
            shutil.rmtree(path, ignore_errors=True)
    program = Path(sys.executable).with_name("jupyter-book")
    options = ["-W", "-n", "--keep-going", "-q"]
    if subprocess.run([program, "build", ".", *options], cwd=ROOT).returncode:
        # A page with a warning is read again next time, or its second build would be falsely green.
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
        sys.exit("the site was not built")
    for name, digest in now.items():
        (BUILD / name).write_text(digest)
    offers.forget()
    stands_in = SITE / STAND_IN
    if stands_in.is_file() and "make lite" in stands_in.read_text(encoding="utf-8"):
        pack()
        if is_kept("lite.ready", lite_now()):
            add_lite()
    for name, day in old_outputs().items():
        print(f"book      {name} shows outputs of {day}, made by other code: make notebooks")
    print(SITE.relative_to(ROOT))


def main(step: str = "build") -> None:
    """Build, or, after `python -m tools lite` or `… paper`, add what that has made."""
    if step == "build":
        build()
    elif step == "add-lite":
        add_lite()
        (BUILD / "lite.ready").write_text(lite_now())
    elif step == "add-paper":
        offers.offer()
    else:
        sys.exit(f"no such step: {step}")
