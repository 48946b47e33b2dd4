"""Each page's Content-Security-Policy: nothing of the site violates it, and what is put in does."""

import json
import shutil
import zipfile

import pytest

from tests.browser.conftest import SITE
from tests.browser.live.figures import PAGES, said
from tests.browser.waiting import SETTLED, wait_for

# JupyterLite's pages are its own.
READ = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if path.relative_to(SITE).parts[0] != "lite" and path != SITE / "index.html"  # leads on
)
NOTE = """
  window.violated = [];
  document.addEventListener("securitypolicyviolation", (event) =>
    violated.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
THROUGH = """async () => {
  for (let y = 0; y < document.body.scrollHeight; y += innerHeight) {
    scrollTo(0, y);
    await new Promise(requestAnimationFrame);
  }
}"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Return the address of the zip's pages on the disk."""
    folder = tmp_path_factory.mktemp("book")
    with zipfile.ZipFile(SITE / "the-attention-book.zip") as archive:
        archive.extractall(folder)
    (page,) = folder.rglob("genindex.html")
    return page.parent.as_uri()


@pytest.fixture(scope="module")
def noting(chromium):
    """Return a page that notes what violates its policy."""
    context = chromium.new_context()
    page = context.new_page()
    page.add_init_script(NOTE)
    yield page
    context.close()


def keeps_its_policy(page):
    """Assert that nothing violates a page's policy until it is read to its end."""
    if not page.url.endswith("/404.html"):  # which has no script
        page.evaluate(THROUGH)
        page.evaluate(SETTLED)
        assert page.evaluate("document.documentElement.dataset.theme")  # the one within it ran
    assert page.evaluate("violated") == []


# As they are served, they are read so in test_weight.py, each in a window of its own.
@pytest.mark.parametrize("path", [path for path in READ if path != "404.html"])
def test_no_page_that_is_opened_from_disk_violates_its_policy(noting, unpacked, path):
    noting.goto(f"{unpacked}/{path}")
    keeps_its_policy(noting)


def test_the_story_is_written_in_a_worker_that_the_policy_allows(noting, address):
    noting.goto(f"{address}/{PAGES['story']}")
    figure = noting.locator("[data-live=story]")
    figure.scroll_into_view_if_needed()
    before = said(figure)
    figure.get_by_role("button", name="write").first.click()
    wait_for(
        noting,
        "([e, words]) => e.matches('.ready:not(.moving)') && "
        "e.querySelector('.live-said').textContent !== words",
        "the story is written",
        arg=[figure.element_handle(), before],
    )
    assert noting.evaluate("violated") == []


def test_a_search_violates_nothing(noting, address):
    noting.goto(f"{address}/search.html?q=softmax")
    wait_for(noting, "document.querySelector('#search-results li')", "something is found")
    assert noting.evaluate("violated") == []


PLANTED = {
    "inline": "<script>window.planted = 1</script>",
    "handler": '<img src="data:," onerror="window.planted = 1">',
    "elsewhere": '<script src="data:text/javascript,window.planted = 1"></script>',
    "frame": """<iframe srcdoc="<script>top.planted = 1</script>"></iframe>""",
    "base": '<base href="https://evil.example/">',
    "object": '<object data="data:text/html,<script>top.planted = 1</script>"></object>',
    "worker": "<script src='planted.js?' integrity='x'></script><script>planted = 1</script>",
}


# What a frame violates is told in the frame.
VIOLATED = """violated.concat(
  ...Array.from({length: frames.length}, (_, n) => frames[n].violated ?? []))"""


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_in_a_page_does_not_run(noting, serve, tmp_path, kind):
    shutil.copytree(SITE / "_static", tmp_path / "_static")
    page = (SITE / "genindex.html").read_text(encoding="utf-8")
    assert "</main>" in page
    (tmp_path / "page.html").write_text(page.replace("</main>", PLANTED[kind] + "</main>", 1))
    with serve(tmp_path) as where:
        noting.goto(f"{where}/page.html")
        wait_for(noting, f"{VIOLATED}.length", "the policy was violated")
        assert noting.evaluate("window.planted === undefined")
        assert noting.evaluate("document.baseURI").startswith(where)
        assert noting.evaluate(f"{VIOLATED}[0]").split()[0] != "img-src"


def test_a_link_that_is_a_script_does_not_run(noting, serve, tmp_path):
    shutil.copytree(SITE / "_static", tmp_path / "_static")
    page = (SITE / "genindex.html").read_text(encoding="utf-8")
    link = f"<a class=planted href={json.dumps('javascript:window.planted=1')}>x</a>"
    (tmp_path / "page.html").write_text(page.replace("</main>", link + "</main>", 1))
    with serve(tmp_path) as where:
        noting.goto(f"{where}/page.html")
        noting.locator(".planted").click()
        wait_for(noting, "violated.length", "the policy was violated")
        assert noting.evaluate("window.planted === undefined")
