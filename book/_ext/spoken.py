"""A formula in words, for those who hear it: what is drawn of it is in pieces that say nothing."""

import re
from xml.etree import ElementTree

from course.words import WORDS, say

MATHML = "{http://www.w3.org/1998/Math/MathML}"
LARGE = {"∑", "∏", "max", "min"}  # what stands below them says over what they go
INVISIBLE = "\u2061\u2063"  # as between the name of a function and its argument
NAMED = {"2": "formula_squared", "⊤": "formula_transposed", "′": "formula_prime"}


def spoken(mathml):
    """Return the words of a formula that KaTeX has written as MathML."""
    words = " ".join(read(ElementTree.fromstring(mathml)).split())
    pauses = re.sub(r"( ?[,;])+", lambda found: ";" if ";" in found[0] else ",", words)
    return pauses.strip(" .,;")


def signs():
    """Return the words of signs; one that has none is left to who reads aloud."""
    return dict(line.split(maxsplit=1) for line in WORDS["formula_signs"].split("|"))


def read(node):
    """Return the words of a part of a formula."""
    tag = node.tag.removeprefix(MATHML)
    if tag in ("mi", "mn", "mtext", "mo"):
        text = (node.text or "").strip()
        return signs().get(text, text.strip(INVISIBLE))
    if tag == "semantics":  # beside it stands its TeX
        return read(node[0])
    parts = [read(child) for child in node]
    below = tag in ("msub", "munder", "msubsup", "munderover")
    if below and written(node[0]) in LARGE:
        key = "formula_over" if len(node) == 2 else "formula_from"
        return say(key, of=parts[0], below=parts[1], above=parts[-1])
    if tag in ("munder", "munderover"):
        brace = written(node[1]) == "⏟"
        return parts[0] if brace else say("formula_brace", of=parts[0], below=parts[1])
    if tag in ("msub", "msup", "msubsup"):
        words = parts[0]
        if below:
            words = say("formula_sub", of=words, below=ended(parts[1]))
        if tag == "msub":
            return words
        key = NAMED.get(written(node[-1]), "formula_power")
        return say(key, of=words, above=ended(parts[-1]))
    if tag == "mfrac":
        return say("formula_fraction", above=parts[0], below=parts[1])
    if tag == "msqrt":
        return say("formula_root", of=ended(" ".join(parts)))
    return ("; " if tag == "mtable" else " ").join(parts)


def written(node):
    """Return the signs of a part of a formula."""
    return "".join(node.itertext()).strip().strip(INVISIBLE)


def ended(words):
    """Say where something ends that has more than one word."""
    return say("formula_end", of=words) if " " in words else words
