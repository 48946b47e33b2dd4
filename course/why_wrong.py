"""The page *Why is my attention wrong?*: the code of its entries, and what each costs SmolLM2."""

import json
import re
from pathlib import Path

from course.chapters import ROOT
from course.words import say

PATH = ROOT / "book/why-wrong.md"
MEASURED = ROOT / "attnbook/data/mistakes.json"  # written by `python -m tools measure_mistakes`
COST = re.compile(r"\{cost\}`([\w-]+)`")  # of an entry, of what is right, or why there is none


def blocks(text: str) -> dict[str, str]:
    """Return the code of each block by its class."""
    matches = re.findall(r"^```\{code-block\} python\n:class: (\S+)\n(.*?)^```$", text, re.M | re.S)
    if not len(dict(matches)) == len(matches) == text.count("```{code-block}"):
        raise ValueError(f"a block lacks its class, or is one of two with the same:\n{text}")
    return dict(matches)


def parts(path: Path = PATH) -> tuple[str, dict[str, str]]:
    """Return the page's head, with the table, and the text under each label."""
    head, *rest = re.split(r"^(?=\(why-[\w-]+\)=$)", path.read_text(encoding="utf-8"), flags=re.M)
    return head, {re.match(r"\(([\w-]+)", part)[1]: part for part in rest}


def entries() -> dict[str, dict[str, str]]:
    """Return the code of each entry; a part that is no entry heads a group of them."""
    _, labelled = parts()
    return {name: blocks(text) for name, text in labelled.items() if "\n### " in text}


def measurable() -> list[str]:
    """List the entries of which the page says what they cost."""
    _, labelled = parts()
    return [name for name, text in labelled.items() if name in COST.findall(text)]


def with_costs(text: str) -> str:
    """Say at each mark what was measured, or why nothing could be."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    return COST.sub(lambda mark: cost(mark[1], measured), text)


def cost(name: str, measured: dict) -> str:
    """Say what a mistake costs, what the right model does, or the reason why there is no number."""
    right, prompt = measured["right"], measured["prompt"]
    if name == "right":
        tokens = measured["tokens"]
        text = shown(right["text"])
        return say("cost_right", nats=right["nats"], tokens=tokens, prompt=prompt, text=text)
    if name not in measured["mistakes"]:
        return say(f"cost_{name}")
    mistake = measured["mistakes"][name]
    if mistake is None:
        return say("cost_raises")
    if mistake["nats"] is None:
        return say("cost_nan")
    difference, same = mistake["nats"] - right["nats"], mistake["text"] == right["text"]
    if same and abs(difference) < 0.005:
        return say("cost_nothing")
    more = f"{difference:+.2f}".replace("-", "\N{MINUS SIGN}")
    if same:
        return say("cost_same_text", more=more)
    return say("cost", more=more, text=shown(mistake["text"]))


def shown(text: str) -> str:
    """Return a text as code in a line: a new line as a sign, and fenced if it has a backtick."""
    text = re.sub(r"[^\S ]", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", text)
    text = text.strip(" ") or text.replace(" ", "\N{OPEN BOX}")  # nothing else: show them
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"
