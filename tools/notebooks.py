"""Execute notebooks in place, keeping nothing in them that changes from run to run."""

import ast
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager, KernelManager
from nbclient import NotebookClient

from course.chapters import ROOT, cells, chapters
from tools import PATIENCE

EXECUTED = ROOT / "book/executed.json"  # when each notebook was executed, and with what

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def by_files(manager: type[KernelManager]) -> type[KernelManager]:
    """Return a manager whose kernels are reached by files in folders of their own, not by ports.

    A kernel binds ports some time after it was told them as free; if another program has one by
    then, as a second kernel may that starts at the same moment, it dies.
    """
    if os.name == "nt":
        return manager

    class Kernel(manager):
        def __init__(self, **options: Any) -> None:
            folder = tempfile.mkdtemp(prefix="kernel-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            super().__init__(transport="ipc", connection_file=f"{folder}/kernel.json", **options)

    return Kernel


def client_of(path: Path, **options: Any) -> NotebookClient:
    """Return what executes a notebook, in the folder where it lies."""
    return NotebookClient(
        nbformat.read(path, as_version=4),
        resources={"metadata": {"path": path.parent}},
        kernel_manager_class=by_files(AsyncKernelManager),
        **options,
    )


def execute(path: Path) -> None:
    """Execute one notebook and write it as the repository keeps it."""
    client = client_of(path, timeout=PATIENCE, record_timing=False, coalesce_streams=True)
    notebook = client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # stable ids: a new random one is a change that says nothing
        for output in cell.get("outputs", []):
            # The full trace names folders of this machine; nbval compares name and message.
            if output.output_type == "error":
                output.traceback = output.traceback[-1:]
    nbformat.write(notebook, path)
    print(f"executed {path.relative_to(ROOT)}")


def made_of(path: Path) -> str:
    """Return a digest of what decides a notebook's outputs: its code, the package, the pins.

    Comments and docstrings decide nothing, nor do the checkers of another chapter.
    """
    parts = [cell["source"] for cell in cells(path, "code")]
    for file in sorted((ROOT / "attnbook").rglob("*")):
        name = file.relative_to(ROOT).as_posix()
        of_chapter = re.match(r"attnbook/exercises/ch(\d\d)_", name)
        if of_chapter and not path.name.startswith(of_chapter[1]):
            continue
        if file.suffix == ".py":
            parts += [name, code_of(file)]
        elif file.is_file() and file.suffix != ".pyc" and file.name != "py.typed":
            parts += [name, digest_of(file)]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    parts += re.findall(r"^(?:numpy|matplotlib)==.*$", pins, re.M)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@functools.cache
def digest_of(file: Path) -> str:
    """Return a digest of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@functools.cache
def code_of(file: Path) -> str:
    """Return a module's lines but for docstrings, comments and the version."""
    text = file.read_text(encoding="utf-8")
    lines = dict(enumerate(text.splitlines(), 1))
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno
            for number in range(first, last + 1):
                del lines[number]
    return "\n".join(
        line for line in lines.values() if not re.match(r"\s*(#|$)|__version__ = ", line)
    )


def record(path: Path) -> None:
    """Keep that a notebook was executed today, unless it was already, with the same."""
    kept = json.loads(EXECUTED.read_text(encoding="utf-8")) if EXECUTED.exists() else {}
    now = made_of(path)
    if kept.get(path.stem, {}).get("of") != now:
        kept[path.stem] = {"of": now, "on": date.today().isoformat()}
        text = json.dumps(kept, indent=1, sort_keys=True)
        EXECUTED.write_text(f"{text}\n", encoding="utf-8")


def old_outputs() -> dict[str, str]:
    """Return the notebooks whose stored outputs are of other code, each with their day."""
    kept = json.loads(EXECUTED.read_text(encoding="utf-8")) if EXECUTED.exists() else {}
    paths = [path for chapter in chapters() for path in chapter.notebooks]
    unknown = {"of": "", "on": "an unknown day"}
    about = {path: kept.get(path.stem, unknown) for path in paths}
    return {path.stem: each["on"] for path, each in about.items() if each["of"] != made_of(path)}


def main(*paths: str) -> None:
    """Execute the named notebooks, or all."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in make: two threads add in another order
    every = [path for chapter in chapters() for path in chapter.notebooks]
    for path in [Path(each).resolve() for each in paths] if paths else every:
        execute(path)
        record(path)
