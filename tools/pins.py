"""Write constraints.txt: one version of each package, for every environment, system and Python.

uv resolves what all requirements files ask for at once. A version that stands stays, unless it is
to be raised: `make pins UPGRADE="numpy sphinx"`, or `UPGRADE=all`, which raises what only other
packages ask for. What a requirements file names is raised by its name, since much may hang on it.
"""

import ast
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.install import OLDEST

ROOT = Path(__file__).parents[1]
CONSTRAINTS = "constraints.txt"
PACKAGE = "pyproject.toml"  # asks for the lowest versions that the package allows
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.M)


def normal(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def sources() -> list[str]:
    """Return the requirements files whose packages the constraints pin."""
    places = [ROOT, ROOT / ".binder", *(ROOT / name for name in ("course", "tests", "tools"))]
    paths = [path for place in places for path in sorted(place.glob("*requirements.txt"))]
    pinned = [path for path in paths if re.search(rf"^-c .*{CONSTRAINTS}$", path.read_text(), re.M)]
    return [path.relative_to(ROOT).as_posix() for path in pinned]


def written_for() -> dict[tuple[str, str], str]:
    """Return, of code that reaches into a package, by its path and that package, the version."""
    found = {}
    for folder in ("book/_ext", "book/_theme", "course/grading", "tests/notebooks", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "WRITTEN_FOR":
                    name = path.relative_to(ROOT).as_posix()
                    versions = ast.literal_eval(node.value)
                    found |= {(name, normal(key)): value for key, value in versions.items()}
    return found


def without_options(text: str, raised: set[str]) -> str:
    """Return requirements without lines for pip, and without the versions that are to be raised."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("-"))
    return PIN.sub(lambda pin: pin[1] if normal(pin[1]) in raised else pin[0], kept) + "\n"


def main(upgrade: str = "") -> None:
    """Resolve in a folder of its own, so that no path gets into the file; write what changed."""
    raised = set(map(normal, upgrade.split()))
    options = ["--upgrade"] if raised == {"all"} else [f"-P{name}" for name in sorted(raised)]
    with tempfile.TemporaryDirectory() as folder:
        for name in (CONSTRAINTS, PACKAGE):
            shutil.copy(ROOT / name, folder)
        for name in sources():
            copy = Path(folder, name)
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(without_options((ROOT / name).read_text(encoding="utf-8"), raised))
        uv = [Path(sys.executable).with_name("uv"), "pip", "compile", "-q", "--no-config"]
        every = ["--universal", "--python-version", ".".join(map(str, OLDEST))]
        every += ["--fork-strategy", "fewest"]  # one for all Pythons
        output = ["--custom-compile-command", "make pins", "-o", CONSTRAINTS]
        command = [*uv, *every, *output, *options, *sources(), PACKAGE]
        if subprocess.run(command, cwd=folder).returncode:
            sys.exit("no constraints were written: see uv above; is the package index reachable?")
        text = Path(folder, CONSTRAINTS).read_text(encoding="utf-8")
    now = {normal(name): version for name, version in PIN.findall(text)}
    for name in sources():
        path = ROOT / name
        requirements = path.read_text(encoding="utf-8")
        answer = PIN.sub(lambda pin: f"{pin[1]}=={now[normal(pin[1])]}", requirements)
        if answer != requirements:
            path.write_text(answer, encoding="utf-8")
    if text != (ROOT / CONSTRAINTS).read_text(encoding="utf-8"):  # else nothing is installed again
        (ROOT / CONSTRAINTS).write_text(text, encoding="utf-8")
    print(f"{CONSTRAINTS}: {len(now)} packages")
