"""Build the book that runs in the browser: JupyterLite with the chapters and the package.

By hand: `make lite`. It asks no network, once `.venv-lite` is there.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat
from jupyterlite_pyodide_kernel.constants import PYODIDE_KERNEL_PLUGIN_ID

from course.chapters import chapters
from tools.dist import copy_package

PYODIDE_VERSION = "0.27.7"  # what `make test-lite` plays; the kernel's own default is another
PYODIDE = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE_VERSION}/full/pyodide.js"
WHEELS = Path(sys.prefix) / "wheels"
NEEDS = ["numpy", "matplotlib"]
KERNEL_NEEDS = ["micropip", "ipython", "jedi"]

# The kernel loads packages in a worker, and a URL is relative to the worker's own file, which
# lies in extensions/@jupyterlite/pyodide-kernel-extension/static. So any folder may hold the site.
FROM_WORKER = "../../../../pypi/"

# Whose Interpreter the next lines change; a test compares with constraints.txt.
WRITTEN_FOR = {"jupyterlite-pyodide-kernel": "0.6.1"}
# After any error JupyterLite drops the cells that wait. So the kernel learns as it starts to print
# an error that is meant, in red, and to go on; and not to print that Matplotlib looks for fonts.
AT_START = r"""
import logging
from pyodide_kernel.interpreter import Interpreter
def _showtraceback(self, kind, value, lines, stop=Interpreter._showtraceback):
    if self.kernel.get_parent()["content"].get("stop_on_error", True):
        return stop(self, kind, value, lines)
    import sys
    print(*lines, sep="\n", file=sys.stderr)
Interpreter._showtraceback = _showtraceback
logging.getLogger("matplotlib.font_manager").setLevel("ERROR")
del logging, Interpreter, _showtraceback
"""


def build_wheel(folder):
    """Build the package's wheel into the folder and return its name."""
    source = folder / "source"
    source.mkdir()
    copy_package(source)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", folder, source], check=True)
    shutil.rmtree(source)
    return next(folder.glob("attnbook-*.whl")).name


def for_exercises(output, pyodide):
    """Put beside it what an exercise's page needs: the wheel without data, and where Python is."""
    (wheel,) = Path(output, "pypi").glob("attnbook-*.whl")
    folder = Path(output, "write")
    folder.mkdir()
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(folder / wheel.name, "w") as small:
        for entry in whole.infolist():
            if not entry.filename.startswith("attnbook/data/"):  # no checker reads any
                small.writestr(entry, whole.read(entry), zipfile.ZIP_DEFLATED)
    python = {"pyodide": pyodide, "wheel": f"write/{wheel.name}"}  # as seen from /lite
    (folder / "python.json").write_text(json.dumps(python), "utf-8")


def as_served(chapter):
    """Return a chapter as a notebook server would send it: JupyterLite sends files as they are.

    Text in one piece instead of a list of lines, and cells trusted, or figures would not show.
    """
    notebook = nbformat.read(chapter, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata["trusted"] = True
    return json.dumps(notebook, ensure_ascii=False)


def check_pyodide(folder):
    """Stop if the folder is not the whole distribution of the version that the kernel is for."""
    entry, lock = folder / "pyodide.js", folder / "pyodide-lock.json"
    if not (entry.is_file() and lock.is_file() and PYODIDE_VERSION in entry.read_text("utf-8")):
        sys.exit(f"PYODIDE={folder} must be an unpacked Pyodide {PYODIDE_VERSION}")
    packages = json.loads(lock.read_text("utf-8"))["packages"]
    files = [packages[name]["file_name"] for name in NEEDS + KERNEL_NEEDS]
    if missing := [name for name in files if not (folder / name).is_file()]:
        sys.exit(f"PYODIDE={folder} lacks {', '.join(missing)}: unpack the full distribution")


def main(output: str, pyodide: str | None = None) -> None:
    """Build into a folder, with an unpacked Pyodide if one is given."""
    if pyodide:
        check_pyodide(Path(pyodide))
    shutil.rmtree(output, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)  # where JupyterLite finds what it is to be built from
        shutil.copytree(WHEELS, room / "pypi")
        (room / "files").mkdir()
        for page in (path for chapter in chapters() for path in chapter.notebooks):
            (room / "files" / page.name).write_text(as_served(page), "utf-8")

        packages = [*NEEDS, FROM_WORKER + build_wheel(room / "pypi")]
        args = ["-", f"--InteractiveShellApp.exec_lines={AT_START}"]  # read by IPython
        kernel = {"pyodideUrl": PYODIDE, "loadPyodideOptions": {"packages": packages, "args": args}}
        if pyodide:
            (room / "static").mkdir()  # what is there JupyterLite copies and uses
            (room / "static/pyodide").symlink_to(Path(pyodide).resolve())
            kernel["disablePyPIFallback"] = True
        settings = {"appName": "The Attention Book", "litePluginSettings": {}}
        settings["litePluginSettings"][PYODIDE_KERNEL_PLUGIN_ID] = kernel
        config = {"jupyter-lite-schema-version": 0, "jupyter-config-data": settings}
        (room / "jupyter-lite.json").write_text(json.dumps(config), "utf-8")
        overrides = {  # chapters' names are long, their dates say nothing; find searches all cells
            "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": False},
            "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
        }
        (room / "overrides.json").write_text(json.dumps(overrides), "utf-8")

        lite = [sys.executable, "-m", "jupyterlite_core", "build", "--apps", "lab"]
        smaller = ["--no-sourcemaps", "--no-unused-shared-packages"]
        command = [*lite, *smaller, "--lite-dir", room, "--output-dir", Path(output).resolve()]
        subprocess.run(command, cwd=room, check=True)  # it leaves a database where it runs
    for_exercises(output, "static/pyodide/pyodide.js" if pyodide else PYODIDE)
    size = sum(path.stat().st_size for path in Path(output).rglob("*") if path.is_file())
    print(f"{output}, {size / 1e6:.0f} MB")
