"""Write the page that lists what the checks catch: each wrong answer of each exercise's bank.

Run by `make kill-table`, which writes book/kill-table.md; a test compares it with what this makes.
"""

import contextlib
import importlib
import io
import json
import pkgutil
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import answers  # noqa: E402 - found there only

from attnbook.exercises import WrongAnswer, _all_exercises, check  # noqa: E402

PAGE = ROOT / "book/kill-table.md"
INTRODUCTION = """\
# What the checks catch

<!-- Made by `make kill-table`: change the banks in tests/answers, not this page. -->

Each exercise has a bank of wrong answers, written as readers write them. On this page stands what \
`check` says to each. A test runs them all at every change of the book and compares; so an answer \
listed here is never called correct. {summary}

A message that names the mistake is in plain type. *In italics* are those that can only say what \
is wrong with the result, since several mistakes look like that.

A check tries an answer on a few inputs, always the same ones. A wrong answer that is not in the \
bank may pass.
"""


def message(name, answer):
    """Return what a reader with this wrong answer is told."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            check(name, answer)
    except WrongAnswer as problem:
        return str(problem).removeprefix(f"{name}: ")
    raise ValueError(f"{answer.__name__} is called correct")


def plain(text):
    """Escape what Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^&])", r"\\\1", " ".join(text.split()))


def words(answer, prefix):
    """Say in words which wrong answer it is: its name, without that of the exercise."""
    name = answer.__name__.removeprefix(prefix).strip("_").replace("_", " ")
    return name[:1].upper() + name[1:]


def common_prefix(names):
    """Return the first words that all names share."""
    split = [name.split("_") for name in names]
    shared = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "_".join(shared) + "_" if shared else ""


def table(name, bank):
    """Return the rows of an exercise."""
    wrongs = bank.wrong[name]
    everyone = [each.answer.__name__ for each in wrongs] + [a.__name__ for a in bank.right[name]]
    prefix = common_prefix(everyone)
    rows = ["| wrong answer | what the reader is told |", "|---|---|"]
    for wrong in wrongs:
        told = plain(message(name, wrong.answer))
        rows.append(
            f"| {plain(words(wrong.answer, prefix))} | "
            f"{told if wrong.names_mistake else f'*{told}*'} |"
        )
    return "\n".join(rows)


def chapters():
    """Yield each chapter's title, label and exercises: pairs of a name and a title."""
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        label, title = re.search(r"^\((ch-[\w-]+)\)=\n# (.+)$", text, re.M).groups()
        yield title, label, re.findall(r":::\{exercise\} (.+)\n:label: ex-([\w-]+)", text)


def page():
    """Return the whole page."""
    banks = [
        importlib.import_module(f"answers.{module.name}").BANK
        for module in pkgutil.iter_modules(answers.__path__)
    ]
    of = {name: bank for bank in banks for name in bank.wrong}
    wrongs = [wrong for name, bank in of.items() for wrong in bank.wrong[name]]
    named = sum(wrong.names_mistake for wrong in wrongs)
    summary = (
        f"There are {len(of)} exercises and {len(wrongs)} wrong answers; "
        f"for {named} of them the message names the mistake."
    )
    parts, listed = [INTRODUCTION.format(summary=summary)], []
    for title, label, exercises in chapters():
        parts.append(f"## [{title}]({label})\n")
        for heading, name in exercises:
            parts.append(f"### [{heading}](ex-{name})\n\n{table(name, of[name])}\n")
            listed.append(name)
    if sorted(listed) != sorted(_all_exercises()):
        raise ValueError("a chapter lacks one of the exercises, or has one more")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
