"""The index, from the glossary: its terms, and where they are explained, or set bold."""

from __future__ import annotations

from collections.abc import Iterator

from tools.paper.pages import GLOSSARY, Book, anchor


def entries(book: Book) -> Iterator[tuple[str, list[str]]]:
    """Yield each term, sorted, with the places that the index leads to."""
    glossary, found = book.by_name[GLOSSARY], {}
    for terms in glossary.article.iter("dt"):
        definition = next(terms.itersiblings("dd"))
        links = [link.get("href") for link in definition.iter("a")]
        places = [terms.get("id"), *(link[1:] for link in links if "--sec-" in link)]
        found[terms.text_content().strip()] = places
    bold = {}
    for part in book.parts:
        if part is glossary:
            continue
        for count, strong in enumerate(part.article.iter("strong")):
            word = strong.text_content().strip().casefold()
            place = strong.get("id") or anchor(part.name, f"bold-{count}")
            strong.set("id", place)
            bold.setdefault(word, []).append(place)
    for term in sorted(found, key=sorted_by):
        yield term, found[term] + bold.get(term.casefold(), [])


def sorted_by(term: str) -> str:
    """Return what a term is looked for by, without a sign before it."""
    return term.lstrip("-[").casefold()
