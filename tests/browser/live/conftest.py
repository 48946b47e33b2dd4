"""What the tests of figures that are touched share."""

import pytest

from tests.browser.live.figures import opening


@pytest.fixture
def open_figure(chromium, address, one_page):
    """Return a function that opens a figure's page and returns both, the figure in sight."""
    with opening(chromium, address, one_page) as open_figure:
        yield open_figure
