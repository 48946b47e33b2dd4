"""All tests of a page go to one process, which then reads it once."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Name the page that a test is about as its group, for xdist."""
    for item in items:
        about = getattr(item, "callspec", None)
        for page in (about.params.get("name"), about.params.get("path")) if about else ():
            if page:
                item.add_marker(
                    pytest.mark.xdist_group(str(page).rpartition("html/")[2].removesuffix(".html"))
                )
