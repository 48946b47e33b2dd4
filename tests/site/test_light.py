"""What pages leave out to be light, and that nothing is lost by it."""

import importlib
import json
import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from pygments.lexers import PythonLexer

from course.chapters import ROOT, chapters
from tests.site.test_site import PAGES, article

ink = importlib.import_module("book._ext.ink")
INK = re.compile(r"(\d+)([a-z]+)(\d+)")


def sources():
    for chapter in chapters()[::3]:
        for cell in nbformat.read(chapter.notebook, 4).cells:
            if cell.cell_type == "code":
                yield cell.source.strip("\n") + "\n"


def painted(pre):
    """Return each character of code with its kind, as a page writes it: by marks, or as ink."""
    text = pre.get_text()
    kinds = [""] * len(text)
    if "data-ink" in pre.attrs:
        end = 0
        for gap, kind, length in INK.findall(pre["data-ink"]):
            start, end = end + int(gap), end + int(gap) + int(length)
            kinds[start:end] = [kind] * int(length)
    else:
        at = 0
        for part in pre.children:
            words = part.get_text()
            kind = part["class"][0] if part.name else ""
            kinds[at : at + len(words)] = [kind] * len(words)
            at += len(words)
    return [(sign, kind) for sign, kind in zip(text, kinds, strict=True) if not sign.isspace()]


def test_code_has_its_colours_whether_it_is_open_or_folded():
    count = 0
    for source in sources():
        tokens = list(PythonLexer().get_tokens(source))
        expected = [
            (sign, ink.kind_of(token))
            for token, value in tokens
            for sign in value
            if not sign.isspace()
        ]
        written = []
        ink.Formatter().format_unencoded(tokens, type("", (), {"write": written.append}))
        for html in (written[0], ink.as_text(written[0])):
            (pre,) = BeautifulSoup(html, "html.parser").select("pre")
            assert painted(pre) == expected
        count += len(expected)
    assert count > 9000


def test_the_kinds_are_those_that_the_style_colours():
    code, page = (
        (ROOT / f"book/_theme/static/{name}.css").read_text(encoding="utf-8")
        for name in ("code", "attnbook")
    )
    marks = dict(re.findall(r"^\.highlight \.(\w+) (\{.*\})$", code, re.M))
    inks = dict(re.findall(r"^::highlight\(ink-(\w+)\) (\{.*\})$", page, re.M))
    assert marks == inks
    assert marks.keys() == ink.KINDS.keys() - {"gp"}


def test_ink_counts_what_a_script_counts():
    html = '<pre>🙂 &lt; <span class="k">if</span> x</pre>'
    assert ink.as_text(html) == '<pre data-ink="5k2">🙂 &lt; if x</pre>'


@pytest.mark.parametrize("name", PAGES)
def test_code_that_is_not_in_sight_is_text(name):
    for code in article(name).select("details pre, .tab:not(label:first-of-type + .tab) pre"):
        assert not code.find(), code


SPOKEN = {
    r"d_k": "d sub k",
    r"\sqrt{d_k}": "the square root of d sub k, end",
    r"K^\top": "K transposed",
    r"n^2": "n squared",
}


def test_formulas_are_told_in_words():
    told = {
        formula["data-tex"]: formula["aria-label"]
        for name in PAGES
        for formula in article(name).select(".katex")
    }
    assert {tex: told[tex] for tex in SPOKEN if tex in told} == {
        tex: words for tex, words in SPOKEN.items() if tex in told
    }
    assert len(SPOKEN.keys() & told.keys()) >= 3
    assert not [words for words in told.values() if set(words) & set(r"\{}^$⊤∑√")]


def test_what_is_told_of_a_formula_has_all_of_its_letters_and_numbers():
    kept = json.loads((ROOT / "_build/formulas.json").read_text(encoding="utf-8"))
    for name in PAGES:
        for formula in article(name).select(".katex"):
            mathml = BeautifulSoup(kept[formula["data-tex"]], "html.parser")
            parts = [part.get_text() for part in mathml.select("mi, mn")]
            told = formula["aria-label"]
            for part in parts:
                word = part.strip()
                if word.isalnum() and word.isascii() and word != "2":  # squared
                    assert re.search(rf"(?<![a-zA-Z]){word}(?![a-zA-Z])", told), (word, told)
