"""Make a release: set its version, commit and tag it, begin the next, and say what to push.

The version stands in `attnbook/__init__.py`. Between releases it is the next one's, with `.dev0`,
and in Colab notebooks install the package from the branch they are on; a release's install it from
its tag. So a notebook and the package that it gets always belong together.
"""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import yaml

from course.chapters import ROOT, chapters

VERSION = ROOT / "attnbook/__init__.py"
CITATION = ROOT / "CITATION.cff"
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "## Unreleased\n"


def repository() -> dict[str, str]:
    """Return the address and the branch of the repository."""
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]


def notebooks() -> list[Path]:
    """Return what is opened in Colab: the chapters' notebooks, and the assignments' masters."""
    return [path for each in chapters() for path in (*each.notebooks, each.master)]


def current() -> str:
    """Return the version of this tree."""
    return re.search(r'__version__ = "(.+)"', VERSION.read_text(encoding="utf-8"))[1]


def pointed(text: str, version: str) -> str:
    """Return a notebook's text in which all that Colab takes from the repository is a version's."""
    released = not version.endswith(".dev0")
    url = repository()["url"]
    raw = url.replace("https://github.com", "https://raw.githubusercontent.com")
    tag, place = (f"@v{version}", f"v{version}") if released else ("", repository()["branch"])
    text = re.sub(rf"(git\+{re.escape(url)})(@v[\d.]+\d)?", rf"\g<1>{tag}", text)
    return re.sub(rf"({re.escape(raw)}/)[^/\"\\]+", rf"\g<1>{place}", text)


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace what stands once in a file."""
    found, count = re.subn(pattern, text, path.read_text(encoding="utf-8"), flags=re.M)
    if count != 1:
        sys.exit(f"{path.name}: {pattern} must stand there once")
    path.write_text(found, encoding="utf-8")


def set_version(version: str) -> None:
    """Write a version where it stands, and where it is named."""
    replace(VERSION, '^__version__ = ".+"$', f'__version__ = "{version}"')
    for path in notebooks():
        path.write_text(pointed(path.read_text(encoding="utf-8"), version), encoding="utf-8")


def git(*arguments: str) -> str:
    """Run git, and return what it prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def why_not(version: str) -> str | None:
    """Say what stands in the way of a release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return "name a version, as in make release VERSION=0.2.0"
    parts = [tuple(map(int, each.split(".")[:3])) for each in (version, current())]
    if parts[0] < parts[1]:
        return f"{version} is older than {current()}"
    if git("status", "--porcelain"):
        return "commit or stash what git status names"
    if git("branch", "--show-current").strip() != repository()["branch"]:
        return f"go to the branch {repository()['branch']}"
    if git("tag", "--list", f"v{version}"):
        return f"there is a tag v{version}"
    if not CHANGELOG.read_text(encoding="utf-8").partition(UNRELEASED)[2].startswith("\n- "):
        return "CHANGELOG.md: say under Unreleased what is new"
    return None


def main(version: str = "") -> None:
    """Make two commits, the release with its tag, and the beginning of the next."""
    if reason := why_not(version):
        sys.exit(f"no release: {reason}")
    today = date.today().isoformat()
    set_version(version)
    replace(CITATION, "^version: .+$", f"version: {version}")
    replace(CITATION, "^date-released: .+$", f'date-released: "{today}"')
    replace(CHANGELOG, f"^{UNRELEASED}", f"{UNRELEASED}\n## {version} ({today})\n")
    git("commit", "-qam", f"Release {version}")
    git("tag", "-a", f"v{version}", "-m", f"The Attention Book {version}")
    major, minor, _ = version.split(".")
    following = f"{major}.{int(minor) + 1}.0.dev0"
    set_version(following)
    git("commit", "-qam", f"Begin {following.removesuffix('.dev0')}")
    branch = repository()["branch"]
    print(f"{version} is tagged, {branch} is {following}. Look at both commits: git log -p -2")
    print(f"git push origin {branch}       # CI tests it")
    print(
        f"git push origin v{version}     # tests it, then publishes: .github/workflows/release.yml"
    )
