"""What our extensions make of a small book: comments stay out, a wrong formula has a place."""

import os
import subprocess
import sys

import nbformat
import pytest
from bs4 import BeautifulSoup

from course.chapters import ROOT

CONF = """
extensions = ["myst_nb", "sphinxcontrib.katex", "selfcontained", "pages", "evidence", "rooms"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer, katex_prerender, nb_execution_mode = "katex", True, "off"
"""
TEXT = r"""
(sec-a)=
# Two<!-- definition --> heads

In *0.68<!-- = w[0, 1] -->* of **5<!-- = (w > 0).sum() -->**, $x = 12$<!-- = a -->, a
[link 4<!-- = b -->](sec-a).

$$
\frac{1}{2}
$$

<!-- definition -->

| a | b |
|---|---|
| 4<!-- = w --> | *5<!-- = w["a"] -->* |

- 3<!-- = q -->

:::{admonition} Pitfall: 3<!-- = a -->
*As written:* `3`.
:::
"""
FIGURE = {"figure": {"caption": "Of *0.68<!-- = w[0, 1] -->*.", "name": "fig-a"}}
FIGURE["image"] = {"alt": "It has 0.68<!-- = w[0] > 2 --> here."}
SVG = {"image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'}


def build(folder, text):
    """Build a book of one notebook, with a text and a figure."""
    v4 = nbformat.v4
    drawn = v4.new_output("display_data", SVG)
    figure = v4.new_code_cell("# it grows", metadata={"mystnb": FIGURE}, outputs=[drawn])
    cells = [v4.new_markdown_cell(TEXT), figure, v4.new_markdown_cell(text)]
    nbformat.write(v4.new_notebook(cells=cells), folder / "index.ipynb")
    (folder / "conf.py").write_text(CONF, "utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", str(folder), str(folder / "html")]
    settings = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'book/_ext'}"}
    return subprocess.run(command, env=settings, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    return build(folder, "see\n\n$x^$ or $$\\foo$$"), folder / "html"


def test_comments_stay_out_of_the_page_and_break_nothing(built):
    page = BeautifulSoup((built[1] / "index.html").read_text(encoding="utf-8"), "html.parser")
    main = page.select_one("[role=main]")
    assert "<!--" not in main.decode(formatter=None)
    assert main.section["id"] == "two-heads"
    assert [each.get_text() for each in main.select("em")] == ["0.68", "5", "As written:", "0.68"]
    assert main.strong.get_text() == "5"
    assert main.select_one("a[href='#sec-a']").get_text() == "link 4"
    assert [each.get_text() for each in main.select("td, li")] == ["4", "5", "3"]
    assert main.select_one(".admonition-title").get_text() == "Pitfall: 3"
    assert main.img["alt"] == "It has 0.68 here."
    assert "definition" not in (built[1] / "searchindex.js").read_text(encoding="utf-8")


def test_a_wrong_formula_is_named_with_its_page_cell_and_line(built):
    said = built[0].stderr
    assert "index.ipynb" in said
    assert "mend the formula in cell 2, line 3, 'x^': KaTeX parse error" in said
    assert "mend the formula in cell 2, line 3, '\\\\foo': KaTeX parse error" in said
