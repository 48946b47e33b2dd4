"""Execute notebooks in place, keeping nothing in them that changes from run to run."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client import AsyncKernelManager, KernelManager
from nbclient import NotebookClient

from course.chapters import chapters

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
    client = client_of(path, timeout=120, record_timing=False, coalesce_streams=True)
    notebook = client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # stable ids: a new random one is a change that says nothing
        for output in cell.get("outputs", []):
            # The full trace names folders of this machine; nbval compares name and message.
            if output.output_type == "error":
                output.traceback = output.traceback[-1:]
    nbformat.write(notebook, path)
    print(f"executed {path}")


def main(*paths: str) -> None:
    """Execute the named notebooks, or all."""
    every = [path for chapter in chapters() for path in chapter.notebooks]
    for path in map(Path, paths) if paths else every:
        execute(path)
