"""The commands and examples that the pages of the repository give: each is there and works."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from course.chapters import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", "course/README.md", "book/index.md"]
PAGES += [f"book/instructors{part}.md" for part in ("", "-grading", "-hub")]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.+?)^```$", read(name), re.M | re.S)


def commands():
    """Yield each call of make that a page gives, in a block or within a sentence."""
    workflows = [f".github/workflows/{name}.yml" for name in ("test", "newest", "release")]
    for name in [*PAGES, *workflows]:
        found = [line for block in blocks(name, "bash") for line in block.splitlines()]
        found += re.findall(r"`(make [^`]+)`", read(name))
        found += re.findall(r"^ *- run: (make .+)$", read(name), re.M)
        for command in found:
            if command.startswith("make "):
                yield pytest.param(command, id=f"{name} {command.partition('#')[0].strip()}")


def test_there_are_commands_to_test():
    given = [param.values[0] for param in commands()]
    assert len(given) > 30
    assert sum(command.startswith("make test") for command in given) > 3


@pytest.mark.parametrize("command", list(commands()))
def test_a_command_for_make_is_one_that_it_knows(command):
    words = shlex.split(command.replace("…", "x"), comments=True)
    targets = [word for word in words[1:] if "=" not in word]
    assert targets
    for target in targets:
        known = re.search(rf"^{target}:.* ## ", MAKEFILE, re.M)
        assert known, f"make help knows no {target}: mend the page, or the Makefile"
    for name in (word.removeprefix("CHAPTER=") for word in words if word.startswith("CHAPTER=")):
        begun = f"make chapter NAME={name}" in read("CONTRIBUTING.md")
        assert begun or (ROOT / f"book/{name}.ipynb").is_file(), f"there is no chapter {name}"
    asked = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize("name", ["README.md", "book/index.md"])
def test_the_example_in_python_runs(name, tmp_path):
    (example,) = blocks(name, "python")
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-c", example + "\nprint(output.shape, weights.shape)"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.endswith("(5, 8) (5, 5)\n")
    if "print(" in example:
        first, last = printed.stdout.splitlines()[0], printed.stdout.splitlines()[4]
        assert first.strip("[ ]").split() == ["1.", "0.", "0.", "0.", "0."]  # it is causal
        assert "0. " not in last


def test_the_repository_is_cloned_from_its_address():
    for name in PAGES:
        for line in (line for block in blocks(name, "bash") for line in block.splitlines()):
            if line.startswith("git clone"):
                assert line == "git clone https://github.com/attnbook/attnbook", name
            elif line.startswith("cd "):
                assert line == "cd attnbook" or (ROOT / line[3:]).is_dir(), (name, line)


def is_made(path):
    """Tell whether git leaves a path, or what is in it, alone, since a command makes it."""
    asked = ["git", "check-ignore", "-q", f"{path}/x"]
    return not subprocess.run(asked, cwd=ROOT).returncode


def test_the_files_that_a_page_names_are_there():
    for name in PAGES:
        for path in re.findall(
            r"`((?:attnbook|book|course|tools|tests|scripts)/[\w./-]+)`", read(name)
        ):
            if not re.search("NN|STUDENT|NAME|one_number", path):
                assert (ROOT / path).exists() or is_made(path), (name, path)
    for name in ["README.md", "CONTRIBUTING.md", "course/README.md"]:
        for link in re.findall(r"\]\((?!http|#)([^)#]+)", read(name)):
            assert (Path(ROOT, name).parent / link).exists(), (name, link)


def test_each_command_of_the_makefile_is_made_once_and_called_by_its_name():
    made = re.findall(r"^((?:[a-z]+-?)+)(?: [a-z-]+)?:", MAKEFILE, re.M)
    (phony,) = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)$", MAKEFILE, re.M)
    assert sorted(set(made)) == sorted(phony.replace("\\", "").split())
    for stage, run in (
        ("test-notebooks", "$(nbval)"),
        ("test-package", "pytest"),
        ("lint", "ruff"),
    ):
        recipe = re.search(rf"^{stage}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1]
        assert run in recipe
