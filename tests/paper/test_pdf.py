"""The PDF: what a printed page must not lose, and what a screen reader needs."""

import re
from urllib.parse import urlsplit

import pikepdf
import pypdfium2
import pytest

from course.chapters import ROOT, chapters
from tests.paper.built import ALONE, NAMES, PDFS, article, formulas, pictures
from tools.offers import MADE
from tools.paper.pages import ADDRESS, SITE

MM = 72 / 25.4
NEAR, FAR = 34 * MM, 38 * MM  # the margins, as in tools/paper/paper.css
STANDARD = {
    *("Document", "Part", "Art", "Sect", "Div", "BlockQuote", "Caption", "NonStruct", "P"),
    *("H1", "H2", "H3", "L", "LI", "Lbl", "LBody", "Table", "TR", "TH", "TD", "THead", "TBody"),
    *("Span", "Link", "Figure", "Formula"),
}


def elements(pdf):
    """Yield the tags of a file in the order of reading."""
    todo = [pdf.Root.StructTreeRoot.K[0]]
    while todo:
        element = todo.pop()
        if isinstance(element, pikepdf.Dictionary) and "/S" in element:
            yield element
            kids = element.get("/K", [])
            todo += reversed([*kids] if isinstance(kids, pikepdf.Array) else [kids])


def kind(element):
    return str(element.S)[1:]


def letters(text):
    """Return what is left of a text when lines, hyphens and spaces may differ."""
    return "".join(filter(str.isalnum, text))


@pytest.mark.parametrize("name", PDFS)
def test_a_file_is_sound_and_not_large(name):
    path = MADE / name
    assert path.stat().st_size < 8e6
    with pikepdf.open(path) as pdf:
        assert pdf.check_pdf_syntax() == []
        assert pdf.Root.Lang == "en"
        assert pdf.Root.MarkInfo.Marked
        assert pdf.Root.ViewerPreferences.DisplayDocTitle
        with pdf.open_metadata() as about:
            assert about["pdfuaid:part"] == "1"
            assert "The Attention Book" in about["dc:title"]
            assert about["dc:creator"]
            assert about["dc:description"]


def test_tags_are_of_the_standard_and_hold_together(book):
    found, level = set(), 0
    for element in elements(book):
        found.add(kind(element))
        if re.fullmatch("H[1-6]", kind(element)):
            now = int(kind(element)[1])
            assert now <= level + 1, "a level of headings is left out"
            level = now
        if kind(element) in ("Figure", "Formula"):
            assert str(element.get("/Alt", "")).strip(), "no words for a picture or a formula"
        for kid in element.K if isinstance(element.K, pikepdf.Array) else [element.K]:
            if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
                assert kid.P.objgen == element.objgen
    assert {"H1", "H2", "H3", "P", "Figure", "Formula", "Table", "TH", "L", "Link"} <= found
    assert found <= STANDARD


def test_all_that_is_drawn_is_tagged_and_each_page_knows_its_tags(book):
    numbers = book.Root.StructTreeRoot.ParentTree.Nums
    known = {int(numbers[at]): numbers[at + 1] for at in range(0, len(numbers), 2)}
    for number, page in enumerate(book.pages):
        ids = [
            int(operands[1].MCID)
            for operands, operator in pikepdf.parse_content_stream(page, "BDC")
            if str(operator) == "BDC" and "/MCID" in operands[1]
        ]
        assert sorted(ids) == list(range(len(known[number]))), f"page {number + 1}"
        for link in page.get("/Annots", []):
            assert int(link.StructParent) in known
            assert str(link.Contents)


def test_every_figure_is_there_with_its_words(book):
    words = [str(each.Alt) for each in elements(book) if kind(each) == "Figure"]
    for name in NAMES:
        wanted = pictures(name)
        assert set(wanted) <= set(words), name
    assert len(words) == sum(len(pictures(name)) for name in NAMES) + 1  # and the title's


def test_every_formula_is_one_and_is_read_as_its_tex(book):
    read = {str(each.Alt) for each in elements(book) if kind(each) == "Formula"}
    for name in NAMES:
        assert set(formulas(name)) <= read, name


def test_fonts_are_in_the_file_and_their_letters_can_be_read(book):
    seen = set()
    for page in book.pages:
        for font in page.Resources.get("/Font", {}).values():
            if font.objgen in seen:
                continue
            seen.add(font.objgen)
            assert "/ToUnicode" in font
            ours = re.match(r"/[A-Z]{6}\+(Book-|KaTeX_)", str(font.BaseFont))
            assert ours, f"{font.BaseFont}, of this machine: name one of the book's in paper.css"
            (descendant,) = font.DescendantFonts
            assert {"/FontFile2", "/FontFile3"} & set(descendant.FontDescriptor.keys())
    assert seen


def test_nothing_stands_beyond_the_margins(pages, book):
    outside = []
    for number, page in enumerate(pages):
        width, height = page.get_size()
        left, right = (NEAR, FAR) if number % 2 == 0 else (FAR, NEAR)
        text = page.get_textpage()
        for index in range(text.count_rects()):
            box = text.get_rect(index)
            words = text.get_text_bounded(*box)
            slack = 2 * MM if words.endswith(" ") else MM  # of a last space nothing is seen
            inside = box[0] > left - MM and box[2] < width - right + slack
            if not (inside and box[1] > 10 * MM and box[3] < height - 10 * MM):
                outside.append((number + 1, words))
    assert outside == []
    for element in elements(book):
        if kind(element) == "Figure":
            x_1, _, x_2, _ = (0.75 * float(each) for each in element.A.BBox)
            assert x_1 > NEAR - 1, element.Alt
            assert x_2 < width - NEAR + 1, element.Alt
            assert x_2 - x_1 <= width - NEAR - FAR + 1, element.Alt


def test_the_text_is_read_in_its_order(pages):
    """Each paragraph of a chapter begins behind the one before."""
    toc = {mark.get_title(): mark.get_dest().get_index() for mark in pages.get_toc(max_depth=1)}
    starts = sorted(toc.values())
    for chapter in chapters():
        (first,) = (page for title, page in toc.items() if title.startswith(f"{chapter.number}. "))
        last = next((page for page in starts if page > first), len(pages))
        text = letters(
            " ".join(pages[number].get_textpage().get_text_range() for number in range(first, last))
        )
        position, read = 0, 0
        for paragraph in article(chapter.name).cssselect("section > p"):
            moved = paragraph.xpath("ancestor::details | following-sibling::*[1][self::ol[@class]]")
            if moved or paragraph.xpath("ancestor::div[contains(@class, 'exercise')]"):
                continue
            begins = letters(re.split(r"\n", paragraph.text or "")[0])[:30]
            if len(begins) < 20:
                continue
            found = text.find(begins, position)
            assert found >= 0, (chapter.name, begins)
            position, read = found, read + 1
        assert read > 10, chapter.name


def test_links_lead_somewhere(book):
    names = set(pikepdf.NameTree(book.Root.Names.Dests))
    led = 0
    for page in book.pages:
        for link in page.get("/Annots", []):
            if "/Dest" in link:
                assert str(link.Dest) in names, link.Dest
                led += 1
                continue
            address = str(link.A.URI)
            if address.startswith(f"{ADDRESS}book/"):
                path, _, place = address.removeprefix(ADDRESS).partition("#")
                assert (SITE / path).is_file(), address
                ids = re.findall(r'\sid="([^"]*)"', (SITE / path).read_text(encoding="utf-8"))
                assert not place or place in ids, address
            else:
                assert urlsplit(address).scheme in ("http", "https"), address
    assert led > 500


def test_a_chapter_by_itself_has_the_pages_of_the_book(pages):
    alone = pypdfium2.PdfDocument(MADE / f"{ALONE.name}.pdf")
    (title,) = (
        mark for mark in pages.get_toc(max_depth=1)
        if mark.get_title().startswith(f"{ALONE.number}. ")
    )  # fmt: skip
    first = title.get_dest().get_index()
    assert first % 2 == 0, "on a right-hand page"
    for number in (0, len(alone) - 1):
        ours, theirs = (
            pdf[at].get_textpage().get_text_range()
            for pdf, at in ((alone, number), (pages, first + number))
        )
        assert ours == theirs
        assert alone.get_page_label(number) == pages.get_page_label(first + number)
        assert ours.strip()
    alone.close()


def test_the_contents_and_the_index_name_the_pages_where_things_stand(book, pages):
    """Links of both show the number that the page they lead to bears."""
    labels = [pages.get_page_label(number) for number in range(len(pages))]
    places = {page.objgen: number for number, page in enumerate(book.pages)}
    dests = pikepdf.NameTree(book.Root.Names.Dests)
    checked = 0
    opening = [number for number, label in enumerate(labels) if not label.isdigit()]
    for number in [*opening, *range(len(pages) - 8, len(pages))]:
        text = pages[number].get_textpage()
        for link in book.pages[number].get("/Annots", []):
            if "/Dest" not in link:
                continue
            shown = re.search(r"(\d+)\s*$", text.get_text_bounded(*map(float, link.Rect)).strip())
            if shown and re.fullmatch(
                r".* \. [ .]*\d+" if number in opening else r"\d+", shown.string
            ):
                target = labels[places[dests[str(link.Dest)][0].objgen]]
                assert shown[1] == target, (number + 1, shown.string)
                checked += 1
    assert checked > 200


def test_what_is_folded_says_where_it_opens(pages):
    folds = sum(len(article(name).cssselect("details.code-fold")) for name in NAMES)
    text = " ".join(page.get_textpage().get_text_range() for page in pages)
    assert len(re.findall(r"on the site in §", text)) == folds
    assert str(ROOT) not in "".join(text.split())  # nothing of the machine that made it
