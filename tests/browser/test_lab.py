"""Binder, played on this machine: its environment, JupyterLab, and each chapter opened in it.

In one chapter all cells are run: a copy without outputs, so what is found was made by this run.
That the others run in this environment, too, and show the same, is tests/course/test_running's.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import time
from urllib.parse import urlsplit

import pytest

from course.chapters import MEASURED, ROOT, chapters
from course.promises import keep
from tests.browser.waiting import STARTED, wait_for
from tests.outputs import cells, outputs
from tools import PATIENCE

BOOK = ROOT / "book"
LAB = ROOT / ".venv-lab"
TIMES = json.loads(MEASURED.read_text(encoding="utf-8"))["chapters"]
# The one that is run: of those with a cell that is meant to fail the quickest.
RUN, *_ = sorted(
    (
        chapter
        for chapter in chapters()
        if "raises-exception" in chapter.notebook.read_text("utf-8")
    ),
    key=lambda chapter: TIMES[chapter.name],
)
CHAPTERS = [RUN.notebook.name, *(each.notebook.name for each in chapters() if each != RUN)]

# Questions to the running JupyterLab. It knows of cells that it has not drawn yet.
OPEN = """async (path) => {
  await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
}"""
OPENED = """(name) => {
  const shown = window.jupyterapp?.shell.currentWidget;
  return shown?.context?.path.endsWith(name) && shown.content.model?.cells.length > 10;
}"""
KERNEL = "() => jupyterapp.shell.currentWidget.sessionContext.kernelDisplayStatus === 'idle'"
FINISHED = """() => {
  const all = [...jupyterapp.shell.currentWidget.content.model.cells];
  const code = all.filter((cell) => cell.type === 'code');
  const meant = (cell) => cell.getMetadata('tags')?.includes('raises-exception');
  const outputsOf = ({outputs}) => Array.from({length: outputs.length}, (_, n) => outputs.get(n));
  const failed = (cell) => outputsOf(cell).some((out) => out.type === 'error');
  const done = (cell) => cell.executionCount && cell.executionState === 'idle';
  return code.every(done) || code.some((cell) => failed(cell) && !meant(cell));
}"""
SAVED = "() => !jupyterapp.shell.currentWidget.context.model.dirty"
DRAWN = """() => {
  const drawn = [...jupyterapp.shell.currentWidget.node.querySelectorAll('.jp-Notebook .jp-Cell')];
  return drawn.length === jupyterapp.shell.currentWidget.content.model.cells.length
    && drawn.every((cell) => !cell.matches('.jp-MarkdownCell')
      || cell.querySelector('.myst')?.children.length);
}"""
WIDTHS = "(images) => images.map((image) => image.complete && image.naturalWidth)"
LOST = "(references) => references.map((tag) => [tag.title, tag.textContent])"
PROSE = """(texts) => texts.map((text) => {
  const copy = text.cloneNode(true);
  copy.querySelectorAll('code, .katex').forEach((tag) => tag.remove());
  return copy.textContent;
})"""


def without_outputs(path, target):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    target.write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a copy of the repository as far as a reader opens it."""
    folder = tmp_path_factory.mktemp("binder")
    shutil.copytree(BOOK, folder / "book", ignore=shutil.ignore_patterns(".*"))
    without_outputs(RUN.notebook, folder / "book" / RUN.notebook.name)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def jupyter(folder, home):
    """Start JupyterLab as a stranger would who has no settings; return its address and token."""
    subprocess.run(["make", "-s", f"{LAB.name}/ready"], cwd=ROOT, check=True)
    foreign = ("JUPYTER", "IPYTHON", "PYTHON", "MPL", "XDG")
    settings = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    settings |= {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(home / "run")}
    settings |= {"PYTHONNOUSERSITE": "1", "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    # Matplotlib looks for fonts once. If that takes 5 s it says so, in a chapter's output.
    fonts = [LAB / "bin/python", "-c", "import matplotlib.font_manager"]
    subprocess.run(fonts, env=settings, check=True)
    # Of stored outputs figures are shown in notebooks that are trusted, as those one ran are.
    trust = [LAB / "bin/jupyter", "trust", *(folder / "book" / name for name in CHAPTERS)]
    subprocess.run(trust, env=settings, check=True, capture_output=True)
    token = secrets.token_hex()
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "IdentityProvider.token": token,
        "LabApp.expose_app_in_browser": True,  # as window.jupyterapp
        "LabApp.news_url": None,  # asks another host
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",  # asks another host
        "LabApp.extension_manager": "readonly",  # asks another host
    }
    command = [
        LAB / "bin/jupyter",
        "lab",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=settings, stdout=log, stderr=log)
        try:
            started = time.monotonic()
            while not list((home / "run").glob("jpserver-*-open.html")):
                assert server.poll() is None, (home / "log").read_text()
                assert time.monotonic() - started < PATIENCE, (home / "log").read_text()
                time.sleep(0.1)
            (about,) = (home / "run").glob("jpserver-*.json")  # complete: written before the other
            yield json.loads(about.read_text(encoding="utf-8"))["url"], token
        finally:
            server.terminate()
            server.wait(PATIENCE)


def choose(page, menu, entry):
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()


@pytest.fixture(scope="module")
def lab(chromium, jupyter):
    """Open JupyterLab where Binder opens it, with one chapter; return it, and its complaints."""
    url, token = jupyter
    complaints = []
    page = chromium.new_page(viewport={"width": 1200, "height": 1000})
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(" ".join(error.stack.split())))
    page.on("request", lambda request: complaints.append(request.url) if foreign(request) else None)
    page.goto(f"{url}lab/tree/book/{RUN.notebook.name}?token={token}")
    wait_for(page, STARTED, "JupyterLab is there", polling=500)
    yield page, complaints
    page.close()


@pytest.fixture(scope="module", params=CHAPTERS)
def opened(request, lab):
    """Open a chapter, run one of them; return page, file, complaints."""
    (page, complaints), name = lab, request.param
    complaints.clear()
    if name != RUN.notebook.name:
        page.evaluate(OPEN, f"book/{name}")
    wait_for(page, OPENED, "the chapter is opened", arg=name, polling=500)
    if name == RUN.notebook.name:
        wait_for(page, KERNEL, "its kernel is ready", polling=500)
        choose(page, "Run", "Run All Cells")
        wait_for(page, FINISHED, "every cell ran, or one failed", polling=500)
        choose(page, "File", "Save Notebook")
        wait_for(page, SAVED, "the chapter is saved", polling=500)
    wait_for(page, DRAWN, "every cell is drawn", polling=500)
    yield page, name, complaints
    page.evaluate("() => jupyterapp.shell.currentWidget.dispose()")


def foreign(request):
    parts = urlsplit(request.url)
    return parts.scheme.startswith("http") and parts.hostname != "127.0.0.1"


@pytest.mark.parametrize("opened", [RUN.notebook.name], indirect=True)
def test_every_cell_ran_and_did_what_it_did_for_the_book(opened, folder):
    _, name, _ = opened
    now, stored = cells(folder / "book" / name, "code"), cells(BOOK / name, "code")
    assert [cell["execution_count"] for cell in now] == list(range(1, len(stored) + 1))
    for cell, before in zip(now, stored, strict=True):
        failed = any(out["output_type"] == "error" for out in cell["outputs"])
        assert failed == ("raises-exception" in cell["metadata"].get("tags", []))
        assert outputs(cell) == outputs(before)


def test_every_figure_is_seen(opened):
    page, name, _ = opened
    shown = [out for cell in cells(BOOK / name, "code") for out in outputs(cell)[1]]
    figures = sum("image/svg+xml" in out for out in shown)
    pictures = page.locator(".jp-OutputArea-output img, .jp-OutputArea-output svg")
    widths = pictures.evaluate_all(WIDTHS)
    assert len(widths) == figures
    assert all(widths)


def test_the_text_is_rendered(opened):
    page, name, _ = opened
    source = "\n".join("".join(cell["source"]) for cell in cells(BOOK / name, "markdown"))
    boxes = {"admonition": "admonition", "proof": r"prf:\w+", "exercise": "exercise|solution-\\w+"}
    for box, directive in boxes.items():
        written = len(re.findall(rf"^:::\{{(?:{directive})\}}", source, re.M))
        assert page.locator(f".myst-{box}").count() == written > 0
    keep(name, "a chapter", "formulas", page.locator(".myst .katex").count())
    assert page.locator(".myst .katex-error").count() == 0
    prose = page.locator(".myst").evaluate_all(PROSE)
    assert not re.findall(r":::|```|\{[a-z:-]+\}|\$|^\([a-z-]+\)=", "\n".join(prose), re.M)


def test_references_lead_somewhere(opened):
    page, name, _ = opened
    lost = page.locator(".myst [title$='Not Found']").evaluate_all(LOST)
    assert all(title == "Citation Not Found" or text.startswith("fig-") for title, text in lost)
    source = "\n".join("".join(cell["source"]) for cell in cells(BOOK / name, "markdown"))
    found = page.locator(".myst a.hover-link")
    assert found.count() >= len(re.findall(r"\{(?:eq|prf:ref)\}`", source)) > 0


def test_nothing_else_complained_and_no_other_host_was_asked(opened):
    _, _, complaints = opened
    lines = [line for message in complaints for line in message.splitlines()]
    known = [
        r"^Cross reference target was not found: fig-",  # names of figures, see above
        r"^Legacy syntax used for link target, please prepend a '#'",  # but Sphinx wants none
        r"^TypeError: .* at \S+\._markdownOverlapsToolbar ",  # JupyterLab's own, of its buttons
    ]
    assert not [line for line in lines if not re.search("|".join(known), line)]
