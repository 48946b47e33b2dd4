"""Every chapter in the browser's own Python: JupyterLite as readers get it, and Run All Cells.

`make test-lite` builds it with a Pyodide beside it, so that no other host is asked. How the text
looks is tested elsewhere and takes long to draw, so here it stays as it is written, in a small
window. SmolLM2 is not there: cells with the tag `smollm2` are not played, and say so.
"""

import contextlib
import json
import re

import pytest
from playwright.sync_api import TimeoutError

from attnbook.pretrained.smollm2 import MISSING
from course.chapters import ROOT, chapters
from tests.browser.waiting import STARTED, wait_for

NOTEBOOKS = [path for chapter in chapters() for path in chapter.notebooks]

SITE = ROOT / "_build/lite-test"
SETTINGS = {"exposeAppInBrowser": True, "disabledExtensions": ["jupyterlab-myst"]}

# While Python computes a larger one is drawn again and again: a third of all the work.
WINDOW = {"width": 320, "height": 240}

OPEN = """async (path) => {
  await jupyterapp.restored;
  await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
}"""
OPENED = """(name) => {
  const shown = jupyterapp.shell.currentWidget;
  if (shown?.context?.path.endsWith(name)) return shown.content.model?.cells.length > 10;
  // Asked again, lest the first asking was lost: what is open is shown, and not opened twice.
  jupyterapp.commands.execute('docmanager:open', {path: name, factory: 'Notebook'});
}"""
CLOSE = """async () => {
  const shown = jupyterapp.shell.currentWidget;
  await shown.sessionContext.shutdown();
  shown.dispose();
}"""
KERNEL = "() => jupyterapp.shell.currentWidget.sessionContext.kernelDisplayStatus === 'idle'"
RUN_ALL = """async () => {
  await jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
  jupyterapp.commands.execute('notebook:run-all-cells');
}"""
CELLS = """() => [...jupyterapp.shell.currentWidget.content.model.cells]
  .filter((cell) => cell.type === 'code').map((cell) => ({
    ran: cell.executionCount && cell.executionState === 'idle',
    outputs: cell.outputs.toJSON(),
  }))"""
# Asked again and again, so without copying what is shown.
COUNTS = """() => {
  const code = [...jupyterapp.shell.currentWidget.content.model.cells]
    .filter((cell) => cell.type === 'code');
  const outputsOf = ({outputs}) => Array.from({length: outputs.length}, (_, n) => outputs.get(n));
  const ran = code.filter((cell) => cell.executionCount && cell.executionState === 'idle').length;
  const failed = code.some((cell) => outputsOf(cell).some((out) => out.type === 'error'));
  return {ran, finished: failed || ran === code.length};
}"""


@pytest.fixture(scope="module")
def lab(chromium, serve):
    """Open JupyterLite; return its page, in which each chapter has a kernel of its own."""
    config = json.loads((SITE / "jupyter-lite.json").read_text(encoding="utf-8"))
    config["jupyter-config-data"] |= SETTINGS
    window = chromium.new_context(viewport=WINDOW)
    with serve(SITE) as address, contextlib.closing(window) as context:
        context.route(lambda url: not url.startswith(address), lambda route: route.abort())
        page = context.new_page()
        page.route(f"{address}/jupyter-lite.json", lambda route: route.fulfill(json=config))
        page.goto(f"{address}/lab/index.html")
        wait_for(page, STARTED, "JupyterLite is there", polling=1000)
        yield page


def played(page, notebook):
    """Run all cells of a chapter; return for each code cell if it ran, and its outputs."""
    page.evaluate(OPEN, notebook)
    wait_for(page, OPENED, "the chapter is opened", arg=notebook, polling=1000)
    wait_for(page, KERNEL, "its kernel is ready", polling=1000)
    page.evaluate(RUN_ALL)
    more = f"(ran) => {{ const now = ({COUNTS})(); return now.finished || now.ran > ran; }}"
    with contextlib.suppress(TimeoutError):  # then a cell is found that did not run
        while not (now := page.evaluate(COUNTS))["finished"]:  # a chapter may take long, a cell not
            page.wait_for_function(more, arg=now["ran"], polling=1000)
    cells = page.evaluate(CELLS)
    page.evaluate(CLOSE)
    return cells


def shown(outputs):
    """Return what a cell prints, errors that are meant included, and all else that it shows.

    How a figure is drawn depends on Matplotlib's version. So only its being there counts.
    """
    printed, others = "", []
    for out in outputs:
        if out["output_type"] == "stream":
            printed += "".join(out["text"])
        elif out["output_type"] == "error":
            printed += "\n".join(out["traceback"]) + "\n"
        else:
            data = {kind: "".join(text) for kind, text in out["data"].items()}
            others.append({kind: "<svg" in text or text for kind, text in data.items()})
    return re.sub(r"\x1b\[[\d;]*m", "", printed), others


def complaints(name, stored, cells):
    """Yield a line for each cell that did not do in the browser what is stored in the notebook."""
    for number, (before, cell) in enumerate(zip(stored, cells, strict=True), start=1):
        if "smollm2" in before["metadata"].get("tags", []):
            before = {"outputs": [{"output_type": "stream", "text": [MISSING + "\n"]}]}
        where = f"book/{name}: cell [{number}]"
        raised = [out for out in cell["outputs"] if out["output_type"] == "error"]
        if raised or not cell["ran"]:
            what = "does not come to its end in the browser's kernel"
            if raised:
                error, _, text = shown(raised)[0].strip().splitlines()[-1].partition(": ")
                what = f"raises {error} in the browser's kernel: {text}"
            yield f"{where} {what}. To do: mend it for that Python"
            return  # what waits after an error is dropped
        for does, now, then in zip(
            ("prints", "shows"), shown(cell["outputs"]), shown(before["outputs"]), strict=True
        ):
            if now != then:
                yield (
                    f"{where} {does} {now!r} in the browser's kernel, but {then!r} is stored."
                    " To do: run make notebooks if that is old, else make it the same in both"
                )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_does_in_the_browsers_kernel_what_it_did_for_the_book(notebook, lab):
    found = json.loads(notebook.read_text(encoding="utf-8"))
    stored = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    cells = played(lab, notebook.name)
    if found := list(complaints(notebook.name, stored, cells)):
        pytest.fail("\n".join(found), pytrace=False)
