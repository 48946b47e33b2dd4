"""Build the wheel and the source distribution of the package into dist, and check them."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def copy_package(folder: Path) -> None:
    """Copy what is shipped: setuptools would also read what older builds left beside it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnbook", folder / "attnbook", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)


def main() -> None:
    """Build the source distribution, of it the wheel, and see that an index would show them."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy_package(Path(folder))
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, folder]
        if subprocess.run(build).returncode:
            sys.exit("nothing was built")
    files = sorted(DIST.iterdir())
    if subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files]).returncode:
        sys.exit("an index would refuse this, or show it badly")
    print(*(path.relative_to(ROOT) for path in files))
