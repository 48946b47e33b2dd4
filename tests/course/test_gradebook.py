"""What the teacher and the student see of a submission, in Chromium: nothing in it runs."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.course.nbgrading import (
    BIN,
    PHRASE,
    ROOT,
    begin_course,
    collect,
    nbgrader,
    needs_sandbox,
    python,
    scores,
)
from tools import PATIENCE, grade_demo, students

ASSIGNMENT = students.ODD_ASSIGNMENT
FOREIGN = "http://attacker.example"
RUN = f"window.owned=1;new Image().src='{FOREIGN}/ran';document.title='owned'"
LINK = "javascript:window.owned=1"
# What pages are made of beside a student's cells, and what no cell of a student's may have.
FORBIDDEN = (
    "script, style, link, form, input, button, iframe, object, embed, base, meta, svg, video"
)

TEXT = f"""
<img src="{FOREIGN}/a.png" onerror="{RUN}">
<svg onload="{RUN}"><script>{RUN}</script></svg>
<style>body {{ display: none }} .container {{ position: fixed; inset: 0; z-index: 9 }}</style>
<div style="position:fixed;inset:0;width:100vw;height:100vh;background:url({FOREIGN}/b)"></div>
<form action="{FOREIGN}/form"><input name="score" value="20"><button>Save</button></form>
<iframe srcdoc="<script>parent.owned=1</script>"></iframe><base href="{FOREIGN}/">
<a href="javascript:{RUN}">one</a> <a href="#" onclick="{RUN}">two</a>

[three]({LINK}) [four](  JaVaScRiPt:window.owned=1) [five](data:text/html,<svg/onload={LINK}>)
![six]({FOREIGN}/c.png) ![seven](attachment:eight.png) <{LINK}>
[my figure](evil.html) [out](//evil.example/x) [plain](http://evil.example)
[ten](&#106;avascript:window.owned=1)
[eleven](vbscript:x) [twelve](<{LINK}>) [nine] `<img src=x onerror={RUN}>`
\\<img src=x onerror={RUN}>

[nine]: {LINK}

$i < j$ and $\\frac{{q \\cdot k}}{{\\sqrt{{d_k}}}}$, but $\\text{{<img src=x onerror={RUN}>}}$
$\\href{{javascript:{RUN}}}{{x}}$ $\\style{{position:fixed}}{{x}}$
$\\unknown{{<script>{RUN}</script>}}$

$$\\sum_j a_{{ij}} = 1$$

```"><img src=x onerror={RUN}>
<script>{RUN}</script>
```

```mermaid
graph TD; a["<img src=x onerror={RUN}>"]
```
"""
OUTPUTS = (
    f"""
from IPython.display import display
run, foreign = {RUN!r}, {FOREIGN!r}
"""
    + """
image = f'<img src=x onerror="{run}">'
tried = {
    "text/html": f"<script>{run}</script>{image}",
    "image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload=\\"{run}\\">"
    f"<script>{run}</script><image href='{foreign}/svg'/></svg>",
    "application/javascript": run,
    "text/latex": f"$x$<script>{run}</script>",
    "text/markdown": image,
    "image/png": f'iVBOR" onerror="{run}',
    "application/vnd.jupyter.widget-view+json": {"model_id": f"</script><script>{run}</script>"},
    "text/plain": image,
}
for kind, value in tried.items():
    about = {"width": f"1 onload={run}", "filenames": {kind: f"{foreign}/file"}, "isolated": True}
    display({"text/plain": "shown", kind: value}, raw=True, metadata={kind: about, **about})
print(f"<script>{run}</script>", chr(27) + "]8;;javascript:" + run + chr(7) + "link")
kernel, nasty = get_ipython().kernel, f'"><script>{run}</script>'
get_ipython().execution_count = nasty
for kind, about in {
    "error": {"ename": nasty, "evalue": nasty, "traceback": [nasty]},
    "stream": {"name": nasty, "text": nasty},
}.items():
    kernel.session.send(kernel.iopub_socket, kind, about, parent=kernel.get_parent())
kernel.language_info["name"] = nasty
"""
)


def attempts(assignment):
    """Try to run a script, to ask another host and to cover the page, everywhere."""
    nasty = f'"><script>{RUN}</script>'

    def change(cells):
        for cell in cells:
            cell["metadata"] |= {"tags": [nasty], "magics_language": nasty}
            cell["id"] = nasty
            if cell["cell_type"] == "markdown":
                cell["attachments"] = {"eight.png": {f'image/png"onerror="{RUN}': nasty}}
        cells.append({"cell_type": "raw", "metadata": {}, "source": TEXT})

    third = f"{assignment.solutions[assignment.third]}\n{OUTPUTS}"
    return assignment.solutions | {assignment.third: third, "window-reach": TEXT, "*cells*": change}


@pytest.fixture(scope="module")
def course(tmp_path_factory, chromium):  # without a browser nothing is graded for it
    """Return a course with a graded submission full of attempts, and its feedback."""
    needs_sandbox()
    root = tmp_path_factory.mktemp("course")
    begin_course(root, ASSIGNMENT)
    path = grade_demo.hand_in(root, "attempts", ASSIGNMENT, attempts)
    notebook = json.loads(path.read_text())
    notebook["metadata"] |= {"title": f"</title><script>{RUN}</script>"}
    path.write_text(json.dumps(notebook))
    (path.parent / "evil.html").write_text(f"<script>{RUN}</script>")  # what TEXT links to
    collect(root, ASSIGNMENT)
    nbgrader(root, "autograde", ASSIGNMENT)
    nbgrader(root, "generate_feedback", ASSIGNMENT)
    return root


@pytest.fixture(scope="module")
def formgrader(course):
    """Return the address of the submission in a Formgrader that serves the course."""
    settings = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "ATTNBOOK_CLASS": PHRASE}
    settings |= {"HOME": str(course), "JUPYTER_RUNTIME_DIR": str(course / "runtime")}
    options = ("--allow-root", "--no-browser", "--IdentityProvider.token=", "--ServerApp.port=0")
    command = [BIN / "jupyter", "server", *options, f"--ServerApp.root_dir={course}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=course, env=settings, **quiet) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not (found := list(course.glob("runtime/jpserver-*.json"))):
                assert server.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            address = json.loads(found[0].read_text())["url"]
            asks = (
                "from nbgrader.api import Gradebook\n"
                "with Gradebook('sqlite:///scores.db') as book:\n"
                f"    print(book.find_submission('{ASSIGNMENT}', 'attempts').notebooks[0].id)"
            )
            name = python(course, asks).strip()
            yield f"{address}formgrader/submissions/{name}/?index=0"
        finally:
            server.terminate()


# When an image that we add to a loaded page has failed, those before it have, and were asked for.
ALL_BEGUN = """() => new Promise(done => {
    const last = new Image();
    last.onerror = () => setTimeout(done);
    last.src = "data:image/png,none";
})"""


def opened(chromium, address, ours):
    """Open a page; return it, and what tells its errors and what it has asked of others.

    What a policy stops is not asked.
    """
    page, asked, stopped = chromium.new_page(), [], []
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda found: stopped.extend([found.url] * (found.failure == "csp")))
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address)
    page.evaluate(ALL_BEGUN)
    return page, lambda: [url for url in asked if not ours(url) and url not in stopped]


def inspect(page, cells):
    """Assert that a page has run nothing, and has nothing to run in cells."""
    assert page.evaluate("window.owned") is None
    assert page.title() != "owned"
    shown = page.locator(cells)
    assert shown.count() > 10
    assert shown.locator(FORBIDDEN).count() == 0
    assert page.locator("base").count() == 0
    attributes = page.evaluate(
        """cells => [...document.querySelectorAll(cells)].flatMap(cell =>
            [...cell.querySelectorAll('*')].flatMap(node => [...node.attributes])
            .map(({name, value}) => [name, value]))""",
        cells,
    )
    assert attributes
    for name, value in attributes:
        assert not name.startswith("on"), name
        assert name not in ("srcdoc", "action", "background", "id"), (name, value)
        assert name != "style" or re.fullmatch(COLORS, value), value
        if name == "href":  # whoever clicks on a link goes there
            assert value.startswith(("#", "https://", "mailto:")), value
        assert name != "src" or value.startswith("data:image/"), value
    assert page.locator(f"{cells} math").count() >= 3
    assert page.locator(f"{cells} math msqrt").first.bounding_box()["width"] > 5
    assert "<img src=x onerror=" in page.locator(cells).all_inner_texts().__str__()


COLORS = r"((background-)?color: rgb\([\d,]+\);? ?)*"  # which a terminal's codes stand for
CELLS = ".text_cell_render, .output_subarea, .input_area"


def test_in_formgrader_nothing_of_a_submission_runs(course, formgrader, chromium):
    before = scores(course, ASSIGNMENT)
    address = formgrader.partition("/formgrader")[0]
    page, asked = opened(chromium, formgrader, lambda url: url.startswith((address, "data:")))
    inspect(page, CELLS)
    assert page.locator("input.score").count() >= 5  # it is Formgrader's page, and works
    page.wait_for_selector(".tabbable:focus", state="attached")  # where the teacher goes on
    assert asked() == []
    page.close()
    assert scores(course, ASSIGNMENT) == before
    assert before["attempts"][:4] == students.FULL


def test_formgrader_runs_its_own_scripts_and_no_other_whatever_a_page_shows(
    course, formgrader, chromium
):
    """Put into a graded notebook what no step of ours would let through, and open it."""
    path = course / "autograded" / "attempts" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    right = path.read_text()
    notebook = json.loads(right)
    nasty = f"<script>{RUN}</script><img src=x onerror='{RUN}'><svg onload='{RUN}'></svg>"
    nasty += f"<form action='{FOREIGN}'></form><iframe srcdoc='<script>parent.owned=1</script>'>"
    notebook["cells"][0]["source"] = nasty
    path.chmod(0o644)
    path.write_text(json.dumps(notebook))
    try:
        address = formgrader.partition("/formgrader")[0]
        page, asked = opened(chromium, formgrader, lambda url: url.startswith((address, "data:")))
        assert page.evaluate("[...document.scripts].some(s => s.text.includes('window.owned'))")
        assert page.evaluate("window.owned") is None
        assert page.evaluate("[...document.scripts].filter(s => s.nonce).length") >= 10
        page.locator("span.name-hidden").click()  # Formgrader's own
        page.wait_for_selector("span.name-shown", state="visible")
        assert asked() == []
        page.close()
        for name in ("manage_assignments", "gradebook", "manage_students"):
            page, asked = opened(chromium, f"{address}/formgrader/{name}", lambda url: True)
            page.wait_for_selector("table tbody td a", state="attached")  # a script fills it
            page.close()
    finally:
        path.write_text(right)


def test_in_feedback_nothing_runs_and_nothing_is_asked_of_any_host(course, chromium):
    (path,) = (course / "feedback").glob("*/*/*.html")
    page, asked = opened(chromium, path.as_uri(), lambda url: url.startswith(("file:", "data:")))
    inspect(page, CELLS)
    assert asked() == []
    page.close()


def test_a_feedback_s_policy_comes_before_all_that_could_load(course):
    (path,) = (course / "feedback").glob("*/*/*.html")
    text = path.read_text()
    assert text.index("Content-Security-Policy") < text.index("<script")
    assert Path(path).stat().st_size < 2_000_000
