"""Install more into an environment that is there."""

import sys
from pathlib import Path

from tools.install import install


def main(folder: str, requirements: str) -> None:
    """Install what further requirements list."""
    sys.exit(install(Path(folder, "bin/python"), "-r", requirements))
