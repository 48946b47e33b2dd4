"""The book that runs in the browser: its files, and its page. Run after `make lite`.

Pyodide is not part of these tests, `make test-lite` plays it: a few lines stand in for it, which
ask for attnbook's wheel as Pyodide does and then let the kernel wait for ever.
"""

import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest

import attnbook
from course.chapters import ROOT, chapters

SITE = ROOT / "_build/html"
CHAPTERS = [path.name for chapter in chapters() for path in chapter.notebooks]  # appendices, too
OPENED = chapters()[1].notebook.name
TITLE = chapters()[1].about["title"]

KERNEL = "extensions/@jupyterlite/pyodide-kernel-extension"
PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
VERSION = "0.27.7"  # what test-lite plays is what readers get
DEFAULT = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/pyodide.js"
STAND_IN = f"""// {VERSION}
self.loadPyodide = async (options) => {{
  for (const name of options.packages) if (name.endsWith(".whl")) await fetch(name);
  return new Promise(() => {{}});
}};
"""


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def kernel_settings(site):
    return read(site / "lite/jupyter-lite.json")["jupyter-config-data"]["litePluginSettings"][
        PLUGIN
    ]


@pytest.fixture(scope="module")
def closed_site(tmp_path_factory):
    """Build JupyterLite as `make lite PYODIDE=...` does, with a stand-in for Pyodide."""
    folder = tmp_path_factory.mktemp("pyodide")
    (folder / "pyodide.js").write_text(STAND_IN, encoding="utf-8")
    needed = ["numpy", "matplotlib", "micropip", "ipython", "jedi"]
    packages = {name: {"file_name": f"{name}.whl"} for name in needed}
    (folder / "pyodide-lock.json").write_text(json.dumps({"packages": packages}), encoding="utf-8")
    for name in needed:
        (folder / f"{name}.whl").touch()
    site = tmp_path_factory.mktemp("site")
    command = [ROOT / ".venv-lite/bin/python", "-m", "tools", "lite"]
    subprocess.run([*command, site / "lite", folder], check=True, capture_output=True)
    return site


# --- The files --------------------------------------------------------------------------


def test_all_chapters_are_in_with_their_outputs():
    folder = SITE / "lite/files"
    assert {path.name for path in folder.iterdir()} == set(CHAPTERS)
    listed = read(SITE / "lite/api/contents/all.json")["content"]
    assert {entry["path"] for entry in listed} == set(CHAPTERS)
    for name in CHAPTERS:
        code = [c for c in read(folder / name)["cells"] if c["cell_type"] == "code"]
        assert all(cell["metadata"]["trusted"] for cell in code)  # or no figure would show
        shipped, ours = (
            nbformat.read(path / name, as_version=4) for path in (folder, ROOT / "book")
        )
        assert shipped == ours


def test_the_wheel_holds_todays_package_and_is_loaded_before_the_first_cell():
    *needs, url = kernel_settings(SITE)["loadPyodideOptions"]["packages"]
    assert needs == ["numpy", "matplotlib"]
    wheel = SITE / f"lite/pypi/attnbook-{attnbook.__version__}-py3-none-any.whl"
    scripts = (SITE / "lite" / KERNEL / "static").glob("*.js")
    workers = [path for path in scripts if "importScripts" in path.read_text(encoding="utf-8")]
    assert workers
    for worker in workers:  # the URL is relative to the worker that loads it
        assert Path(os.path.normpath(worker.parent / url)) == wheel

    shipped = zipfile.ZipFile(wheel)
    package = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in (ROOT / "attnbook").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    names = {name for name in shipped.namelist() if ".dist-info/" not in name}
    assert {name: shipped.read(name) for name in names} == package


def test_wheels_have_the_listed_hashes_and_no_other_index_is_needed():
    folder = SITE / "lite/pypi"
    index = read(folder / "all.json")
    assert set(index) == {"attnbook", "comm"}  # all that the kernel needs and Pyodide lacks
    for project in index.values():
        for (release,) in project["releases"].values():
            digest = hashlib.sha256((folder / release["filename"]).read_bytes()).hexdigest()
            assert release["digests"]["sha256"] == digest


def test_a_given_pyodide_is_shipped_and_nothing_names_another_host(closed_site):
    settings = kernel_settings(closed_site)
    assert settings["pyodideUrl"] == "./static/pyodide/pyodide.js"
    assert settings["disablePyPIFallback"] is True
    assert (closed_site / "lite/static/pyodide/numpy.whl").is_file()
    for path in closed_site.rglob("jupyter-lite.*"):  # of the .ipynb, its metadata count
        config = read(path)
        assert "://" not in json.dumps(config.get("metadata", config)), path


def test_a_folder_that_is_no_pyodide_is_refused(tmp_path):
    command = [ROOT / ".venv-lite/bin/python", "-m", "tools", "lite"]
    refused = subprocess.run(
        [*command, tmp_path / "lite", tmp_path], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert f"must be an unpacked Pyodide {VERSION}" in refused.stderr
    assert not (tmp_path / "lite").exists()


def test_no_source_maps_are_shipped():
    assert not list((SITE / "lite").rglob("*.map"))


# --- The page ---------------------------------------------------------------------------


def open_chapter(chromium, address):
    """Open a chapter; check what it shows; return every URL asked for."""
    context = chromium.new_context()
    shared = {"Access-Control-Allow-Origin": "*"}
    context.route(
        lambda url: not url.startswith(address),
        lambda route: (
            route.fulfill(body=STAND_IN, content_type="text/javascript", headers=shared)
            if route.request.url == DEFAULT
            else route.abort()
        ),
    )
    page, errors, asked, answers = context.new_page(), [], set(), {}
    context.on("request", lambda request: asked.add(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    context.on("response", lambda response: answers.update({response.url: response.status}))
    wheel = f"{address}/lite/pypi/attnbook-{attnbook.__version__}-py3-none-any.whl"
    with context.expect_event("response", lambda response: response.url == wheel):
        page.goto(f"{address}/lite/lab/index.html?path={OPENED}")
    notebook = page.locator(".jp-Notebook")
    notebook.locator("h1", has_text=TITLE).wait_for()
    listing = page.locator(".jp-DirListing-itemText")
    listing.first.wait_for()
    assert sorted(listing.all_inner_texts()) == sorted(CHAPTERS)
    assert ":::" not in notebook.locator(".jp-MarkdownCell").first.inner_text()
    figure = notebook.locator(".jp-RenderedSVG img").first
    figure.scroll_into_view_if_needed()
    assert figure.bounding_box()["width"] > 300
    context.close()
    assert not errors
    assert all(status < 400 for status in answers.values()), answers
    return asked


def elsewhere(asked, address):
    return {url for url in asked if url.startswith("http") and not url.startswith(address)}


def test_a_chapter_opens_beside_the_list_and_only_its_kernel_asks_another_host(chromium, address):
    asked = open_chapter(chromium, address)
    assert elsewhere(asked, address) == {DEFAULT}


def test_with_a_given_pyodide_no_other_host_is_asked(chromium, serve, closed_site):
    with serve(closed_site) as address:
        asked = open_chapter(chromium, address)
    assert not elsewhere(asked, address)
    assert f"{address}/lite/static/pyodide/pyodide.js" in asked
