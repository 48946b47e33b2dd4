"""The quizzes as words, whoever shows them: the sources, the pages or the packages."""

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

_markdown = MarkdownIt().use(dollarmath_plugin, renderer=lambda tex, _: tex)


def words(html):
    """Return the words of a piece of HTML; of a formula its TeX, however it is shown."""
    soup = BeautifulSoup(html, "html.parser")
    for formula in soup.select(".katex"):
        formula.replace_with(formula["data-tex"])
    for picture in soup.select("img.equation_image"):
        picture.replace_with(picture["data-equation-content"])
    return " ".join(soup.get_text().replace("’", "'").split())


def words_of_source(text):
    return words(_markdown.render(text))
