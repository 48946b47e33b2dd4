"""The page of symptoms: what it says catches a mistake does catch it, and accepts what is right."""

import re

import numpy as np
import pytest

import attnbook
from course.chapters import ROOT, chapters

PAGE = (ROOT / "book" / "why-wrong.md").read_text(encoding="utf-8")
TABLE, *PARTS = re.split(r"^(?=\(why-[\w-]+\)=$)", PAGE, flags=re.M)
SYMPTOMS = [part for part in PARTS if "\n## " in part]
TEXTS = {re.match(r"\(([\w-]+)", part)[1]: part for part in PARTS if "\n### " in part}


def blocks(text):
    """Return the code of each block by its class."""
    found = re.findall(r"^```\{code-block\} python\n:class: (\S+)\n(.*?)^```$", text, re.M | re.S)
    assert len(dict(found)) == len(found) == text.count("```") / 2
    return dict(found)


SET_UP = blocks(TABLE)["set-up"]
ENTRIES = {name: blocks(text) for name, text in TEXTS.items()}
every_entry = pytest.mark.parametrize("name", ENTRIES)


def run(*code, seed=0):
    """Run pieces of code one after the other, as a reader does, and return what they define."""
    names = {}
    with np.errstate(all="ignore"):  # a wrong answer may divide by zero
        for piece in (SET_UP.replace("default_rng(0)", f"default_rng({seed})"), *code):
            exec(piece, names)
    return names


@pytest.mark.parametrize("seed", range(3))
@every_entry
def test_the_property_accepts_what_is_right_and_catches_what_is_wrong(name, seed):
    wrong, right, catch = (ENTRIES[name].get(kind, "") for kind in ("wrong", "right", "catch"))
    run(right, catch, seed=seed)
    run(right, wrong, seed=seed)
    with pytest.raises(AssertionError):
        run(right, wrong, catch, seed=seed)


@every_entry
def test_an_entry_is_short_and_leads_to_where_it_is_explained(name):
    code = ENTRIES[name]
    assert code.keys() - {"right"} == {"wrong", "catch"}
    assert len(code["catch"].splitlines()) <= 3
    assert len(code["wrong"].splitlines()) <= 4
    assert all(len(line) <= 84 for piece in code.values() for line in piece.splitlines())
    text = re.sub(r"```.*?```", "", TEXTS[name], flags=re.S)
    assert 20 <= len(text.split()) <= 70
    (label,) = re.findall(r"\[\]\((sec-[\w-]+)\)|\{ref\}`(ex-[\w-]+)`", text)
    assert "".join(label) in LABELS


LABELS = re.findall(
    r"\((sec-[\w-]+)\)=|:label: (ex-[\w-]+)",
    "".join(chapter.notebook.read_text(encoding="utf-8") for chapter in chapters()),
)
LABELS = {"".join(label) for label in LABELS}


def test_the_table_lists_every_symptom_and_below_it_its_entries():
    rows = [re.findall(r"\[\]\(#([\w-]+)\)", line) for line in TABLE.splitlines() if "](#" in line]
    assert [name for row in rows for name in row] == re.findall(r"^\(([\w-]+)\)=$", PAGE, re.M)
    assert len(rows) == len(SYMPTOMS)
    assert len(ENTRIES) >= 40


def test_the_set_up_gives_the_package_and_two_parts_of_it():
    names = run()
    public = {name: each for name, each in names.items() if hasattr(attnbook, name)}
    assert all(each is getattr(attnbook, name) for name, each in public.items())
    query, key, value, mask = (names[name] for name in ("query", "key", "value", "mask"))
    expected = attnbook.scaled_dot_product_attention(query, key, value, mask).weights
    np.testing.assert_allclose(names["weigh"](names["score"](query, key), mask), expected)
