"""Releases: one version, what follows from it, and a release made in a copy of this repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

import attnbook
from course.chapters import ROOT
from tools import release

URL = "https://github.com/attnbook/attnbook"
RAW = "https://raw.githubusercontent.com/attnbook/attnbook"


def read(name, folder=ROOT):
    return (folder / name).read_text(encoding="utf-8")


def numbers(version):
    return [int(number) for number in version.removesuffix(".dev0").split(".")]


def test_the_version_stands_in_one_place_and_all_else_agrees():
    assert release.current() == attnbook.__version__
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "attnbook.__version__"}
    (newest, day), *_ = re.findall(r"^## (\d\S+) \((\S+)\)$", read("CHANGELOG.md"), re.M)
    cited = yaml.safe_load(read("CITATION.cff"))
    assert (cited["version"], cited["date-released"]) == (newest, day), "cite the newest release"
    if attnbook.__version__.endswith(".dev0"):
        assert numbers(attnbook.__version__) > numbers(newest)
    else:
        assert attnbook.__version__ == newest


@pytest.mark.parametrize("path", release.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_installs_in_colab_the_package_that_it_belongs_to(path):
    text = path.read_text(encoding="utf-8")
    assert f"%pip install -q git+{URL}" in text
    assert release.pointed(text, attnbook.__version__) == text, (
        f"write it for {attnbook.__version__} with tools.release.set_version"
    )


def test_a_released_notebook_points_to_its_tag_and_the_next_to_the_branch_again():
    text = f'"    %pip install -q git+{URL}"\n home = \\"{RAW}/main\\"\n {URL}/issues'
    released = release.pointed(text, "1.2.3")
    assert f'git+{URL}@v1.2.3"' in released
    assert f'{RAW}/v1.2.3\\"' in released
    assert f"{URL}/issues" in released
    assert f"git+{URL}@v1.3.0" in release.pointed(released, "1.3.0")
    assert release.pointed(released, "1.3.0.dev0") == text


def test_the_workflow_builds_what_the_tag_names_and_publishes_without_a_password():
    text = read(".github/workflows/release.yml")
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    build, publish = (workflow["jobs"][name] for name in ("build", "publish"))
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert "pypa/gh-action-pypi-publish" in publish["steps"][-1]["uses"]
    commands = [step["run"] for step in build["steps"] if "run" in step]
    assert "attnbook/__init__.py" in commands[0]
    assert commands[-1] == "make test dist"
    assert "secrets" not in text
    assert "password:" not in text


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a repository with the files of this one, and what runs a command in it."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("_config.yml", "_toc.yml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("attnbook", "book", "course", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "data", "_static", "_theme", "s[ou]*ed")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / ".gitignore").write_text("__pycache__/\n")
    user = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    user |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in user.items()}
    environment = os.environ | user | {"PYTHONPATH": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}

    def run(*command):
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    for command in ("init -q -b main", "add -A", "commit -q -m all"):
        assert run("git", *command.split()).returncode == 0
    return folder, run


def test_a_release_is_made_by_one_command(copy):
    folder, run = copy

    def make(*version):
        return run(sys.executable, "-m", "tools", "release", *version)

    (folder / "new.txt").write_text("not committed")
    assert "commit or stash" in make("97.0.0").stderr
    (folder / "new.txt").unlink()
    assert "name a version" in make("97.0").stderr
    assert "is older" in make("0.0.1").stderr
    run("git", "switch", "-q", "-c", "other")
    assert "go to the branch main" in make("97.0.0").stderr
    run("git", "switch", "-q", "main")
    assert run("git", "log", "--oneline").stdout.count("\n") == 1  # nothing has been done

    made = make("97.0.0")
    assert made.returncode == 0, made.stderr
    assert "git push origin v97.0.0" in made.stdout
    assert run("git", "status", "--porcelain").stdout == ""
    assert "say under Unreleased what is new" in make("98.0.0").stderr
    notebook = release.notebooks()[0].relative_to(ROOT)
    assert read("attnbook/__init__.py", folder).count('__version__ = "97.1.0.dev0"') == 1
    assert read(notebook, folder) == read(notebook)
    assert "## Unreleased\n\n## 97.0.0 (20" in read("CHANGELOG.md", folder)

    run("git", "checkout", "-q", "v97.0.0")
    assert read("attnbook/__init__.py", folder).count('__version__ = "97.0.0"') == 1
    assert yaml.safe_load(read("CITATION.cff", folder))["version"] == "97.0.0"
    for path in release.notebooks():
        text = read(path.relative_to(ROOT), folder)
        assert f"%pip install -q git+{URL}@v97.0.0" in text
        assert f"{RAW}/main" not in text
