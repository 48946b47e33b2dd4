"""What the site's first page offers: all that was made, with its size, and nothing in the zip."""

import re
import zipfile

from course.chapters import chapters
from tools import offers
from tools.offers import BOOK, MADE, PAPERS, SITE

INDEX = "book/index.html"
ALONE = [f"{chapter.name}.pdf" for chapter in chapters()]


def offered(text):
    return dict(re.findall(r'href="\.\./paper/([^"]+)" download>([^<]+)</a>', text))


def test_the_first_page_offers_what_was_made_with_its_size():
    links = offered((SITE / INDEX).read_text(encoding="utf-8"))
    assert set(links) >= {f"{BOOK}.pdf", f"{BOOK}.epub"}
    for name, words in links.items():
        size = (SITE / "paper" / name).stat().st_size
        assert size == (MADE / name).stat().st_size
        assert name in ALONE or f"({size / 1e6:.1f} MB)" in words
    for suffix in PAPERS.values():
        name = f"{BOOK}{suffix}.pdf"
        assert (name in links) == (MADE / name).is_file()


def test_chapters_are_offered_when_all_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(offers, "MADE", tmp_path)
    for number, name in enumerate(ALONE, 1):
        assert not offered(" ".join(offers.single()))
        (tmp_path / name).write_bytes(bytes(number * 100_000))
    assert list(offered(" ".join(offers.single()))) == ALONE
    assert not offered(" ".join(offers.book()))


def test_the_zip_has_and_offers_none_of_it():
    with zipfile.ZipFile(SITE / f"{BOOK}.zip") as archive:
        names = archive.namelist()
        text = archive.read(f"{BOOK}/{INDEX}").decode()
    assert not [name for name in names if name.endswith((".pdf", ".epub"))]
    assert not offered(text)
    assert 'data-offers="book"></span>' in text
