"""Every number in the text of a chapter is what a cell of its section prints, writes or asserts.

Or it is tied to an expression, and compared where nbval runs the notebook (tests/notebooks), or it
carries a reason, in a comment right behind it: `1964<!-- citation -->`.
"""

import json

import pytest

from course.passages import read
from tests.book.number_faults import Result, in_notebook, result, tied, untied
from tests.book.numbers_read import REASONS, ties
from tests.drafts import every


@pytest.mark.parametrize("notebook", every(lambda each: each.notebooks), ids=lambda path: path.stem)
def test_each_number_is_computed_or_asserted_in_its_section_or_has_a_reason(notebook):
    # Those that are tied to an expression are compared where nbval runs it: tests/notebooks.
    faults = list(untied(notebook))
    reasons = " or ".join(f"<!-- {each} -->" for each in REASONS)
    if faults:
        lines = "\n".join(faults)
        pytest.fail(f"{len(faults)} numbers; a reason is {reasons}\n{lines}", pytrace=False)


CODE = """\
import numpy as np
w = np.array([[0.6834, 0.3166], [0.2, 0.8]])
kept, right, count, loss, many = w[0, 0], 5, 22026.4, -3.2, 2.96e7
print(w[:, 1].round(2), "0.125", count)
"""
CHECKS = """\
# what is shown
assert right == 5 and np.allclose(w.sum(axis=-1), 1)
assert len(w) == 2 and kept > 2 / 3
"""
PROSE = """\
## Two heads

The word gives 0.68<!-- = w[0, 0] --> of its weight, *68 %<!-- = kept -->*, to five words, that is
**two-thirds**, and 0.32 to the rest. It printed 12.5 %. Some five<!-- = right --> of
22,026<!-- = count --> lose −3<!-- = loss -->, 30 million<!-- = many --> in all,
in 1964<!-- citation --> {cite:p}`a1964`. GPT-2, SmolLM2-135M, float16 and the 3rd, `7 of 9`
[more](x-17) stay, and so does one.

:::{admonition} Pitfall: the 64<!-- definition -->-unit state
:class: warning n-99
Of 7–30<!-- citation -->, of $x_9 < 10^{-6}$<!-- instruction -->, of $e^{3} \\approx 5$.

| a | b |
|---|---|
| 0.8 | 2<!-- = len(w) --> |
:::

$$ x = 22026 / 2 $$ (eq-12)

:::{admonition} Eight questions
:class: quiz
They unfold on the page.
:::

### Another section

It has no 0.32<!-- = w[0, 1] --> of its own.
"""
CAPTION = {"caption": "About 0.32 of five.", "name": "fig-44"}
ABOUT = {
    "slideshow": {"headline": "Two of 0.68<!-- = kept -->"},
    "mystnb": {"figure": CAPTION, "image": {"alt": "A 5 and a 1."}},
}


def faults(path):
    """Yield what is wrong with the numbers of a small notebook, run here and not in a kernel."""
    yield from untied(path)
    names = {}
    for section in read(path):
        for cell in section.cells:
            exec(cell["source"], names)
        results = {}
        for tie in ties(section):
            try:
                results[tie] = result(eval(in_notebook(tie), names))
            except Exception as problem:
                results[tie] = Result(None, problem=f"{type(problem).__name__}: {problem}")
        yield from tied(section, results)


def faults_of_made_up(tmp_path, old="", new=""):
    """Return the faults of a small chapter in which one text stands in for another."""
    printed = [{"output_type": "stream", "text": ["[0.32 0.8 ] 0.125 22026.4\n"]}]
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": PROSE.partition("### ")[0]},
        {"cell_type": "code", "metadata": ABOUT, "source": CODE, "outputs": printed},
        {"cell_type": "code", "metadata": {}, "source": CHECKS, "outputs": []},
        {"cell_type": "markdown", "metadata": {}, "source": "".join(PROSE.partition("### ")[1:])},
    ]
    path = tmp_path / "made-up.ipynb"
    text = json.dumps({"cells": cells}, ensure_ascii=False)
    assert json.dumps(old, ensure_ascii=False)[1:-1] in text
    old, new = (json.dumps(each, ensure_ascii=False)[1:-1] for each in (old, new))
    path.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return "\n".join(faults(path))


@pytest.mark.english
def test_a_chapter_whose_numbers_are_tied_has_no_fault(tmp_path):
    assert faults_of_made_up(tmp_path) == ""


@pytest.mark.english
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("0.68<!-- = w[0", "0.86<!-- = w[0", "0.86 is tied to w[0, 0], which gives 0.6834: mend"),
        ("68 %", "86 %", "86 % is tied to kept, which gives 68.34 %"),
        ("to five words", "to six words", "six is not asserted in this section (nearest: 5)"),
        ("two-thirds", "three-quarters", "three-quarters is not asserted in this section"),
        ("0.32 to", "0.23 to", "0.23 is not printed, nor written in the code, in this section"),
        ("12.5 %", "15.2 %", "15.2 % is not printed"),
        ("five<!--", "four<!--", "four is tied to right, which gives 5"),
        ("22,026", "22,062", "22,062 is tied to count, which gives 22026.4"),
        ("−3", "3", "3 is tied to loss, which gives -3.2"),
        ("30 million", "40 million", "40 million is tied to many, which gives 2.96e+07"),
        ("30 million", "thirty", "thirty is tied to many, which gives 2.96e+07"),
        ("1964<!-- citation -->", "1964", "1964 is not printed"),
        ("1964<!-- citation -->", "1964 <!-- citation -->", "stands behind no number"),
        ("<!-- citation --> {cite", "<!-- somewhere --> {cite", "1964 is not printed"),
        ("GPT-2", "Llama 4", "4 is not asserted"),
        ("SmolLM2-135M", "135M", "135 is not printed"),
        (
            "7–30<!-- citation -->",
            "7-30",
            '"Of 7-30, of $x_9 < 10^{-6}$, of $e^{3} \\approx 5$.": 30 is',
        ),
        ("float16", "float of 16", "16 is not printed"),
        ("the 3rd", "the 33", "33 is not printed"),
        ("so does one", "so do two hundred", "two hundred is not asserted"),
        ("`7 of 9`", "7 of 9", "7 is not asserted"),
        ("64<!-- definition -->", "64", '"Pitfall: the 64-unit state": 64 is not printed'),
        ("7–30<!-- citation -->", "7–30", "7 is not asserted"),
        ("<!-- instruction -->", "", "10^{-6} is not printed"),
        ("approx 5", "approx 50", "50 is not printed"),
        ("| 0.8 |", "| 0.9 |", "0.9 is not printed"),
        ("2<!-- = len(w) -->", "2<!-- = 2 -->", "has no name of the notebook"),
        ("2<!-- = len(w) -->", "2<!-- = gone -->", "tied to gone, which fails: NameError"),
        ("22026 / 2", "22062 / 2", "22062 is not printed"),
        (
            "## Two heads",
            "## Six heads",
            "section 'Six heads', text: \"Six heads\": Six is",
        ),
        (
            "<!-- = w[0, 1] -->",
            "",
            "section 'Another section', text: \"It has no 0.32 of its own.\"",
        ),
        ("About 0.32", "About 0.23", 'caption: "About 0.23 of five.": 0.23 is not printed'),
        ("of five.", "of nine.", 'caption: "About 0.32 of nine.": nine is not asserted'),
        ("A 5", "A 6", 'alt text: "A 6 and a 1.": 6 is not asserted'),
        ("Two of", "Six of", 'headline: "Six of 0.68": Six is not asserted'),
        ("22026.4", "22028.4", "22,026 is tied to count, which gives 22028.4"),
        ("right == 5", "right == right", "five is not asserted"),
        ("right == 5 and", "w[5:].sum() == 0 and", "five is not asserted"),
        ("axis=-1), 1)", "axis=-1), np.ones(1))", '"A 5 and a 1.": 1 is not asserted'),
    ],
)
def test_a_number_that_nothing_shows_is_named_with_its_place(tmp_path, old, new, told):
    assert told in faults_of_made_up(tmp_path, old, new)
