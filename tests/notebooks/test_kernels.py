"""A kernel starts though every port is taken that was free when it was told of it."""

import importlib.util
import socket

import nbval.kernel
import pytest
from jupyter_cache.executors import utils
from jupyter_client import KernelManager
from jupyter_client.connect import LocalPortCache
from nbformat.v4 import new_code_cell, new_notebook, writes

from course.chapters import ROOT
from tools.notebooks import METADATA, client_of


@pytest.fixture(autouse=True)
def _thief(monkeypatch):
    """Take each port that `jupyter_client` finds, before the kernel can."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(LocalPortCache, "find_available_port", lambda *_: port)
        yield


def load(name):
    """Run a file that changes how notebooks are executed."""
    spec = importlib.util.spec_from_file_location("loaded", ROOT / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def notebook():
    return new_notebook(cells=[new_code_cell("6 * 7")], metadata=METADATA)


def test_that_of_nbval(monkeypatch):
    monkeypatch.setattr(nbval.kernel, "KernelManager", KernelManager)
    load("book/conftest.py")
    kernel = nbval.kernel.RunningKernel("python3")
    assert kernel.is_alive()
    kernel.stop()


def test_that_of_the_build(notebook, monkeypatch):
    monkeypatch.setattr(utils, "executenb", utils.executenb)
    load("book/_ext/kernels.py").setup(None)
    result = utils.single_nb_execution(notebook, cwd=None, timeout=60, allow_errors=False)
    assert result.nb.cells[0].outputs[0].data["text/plain"] == "42"


def test_that_of_our_own(notebook, tmp_path):
    path = tmp_path / "one.ipynb"
    path.write_text(writes(notebook), encoding="utf-8")
    assert client_of(path).execute().cells[0].outputs[0].data["text/plain"] == "42"
