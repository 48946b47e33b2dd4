"""What was made for paper and for readers: tested by `make test-paper`, in .venv-paper."""

import pikepdf
import pypdfium2
import pytest

from tools.offers import BOOK, MADE


@pytest.fixture(scope="session")
def book():
    """Return the book as a tree of objects."""
    with pikepdf.open(MADE / f"{BOOK}.pdf") as pdf:
        yield pdf


@pytest.fixture(scope="session")
def pages():
    """Return the book as pages with boxes."""
    pdf = pypdfium2.PdfDocument(MADE / f"{BOOK}.pdf")
    yield pdf
    pdf.close()
