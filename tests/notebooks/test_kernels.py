"""A kernel starts though every port is taken that was free when it was told of it."""

import socket

import pytest
from jupyter_client.connect import LocalPortCache
from nbformat.v4 import new_code_cell, new_notebook, writes

from tests.notebooks.riding import Kernel
from tools.notebooks import METADATA, client_of


@pytest.fixture(autouse=True)
def _thief(monkeypatch):
    """Take each port that `jupyter_client` finds, before the kernel can."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(LocalPortCache, "find_available_port", lambda *_: port)
        yield


@pytest.fixture
def notebook():
    return new_notebook(cells=[new_code_cell("6 * 7")], metadata=METADATA)


def test_that_of_nbval(tmp_path):
    kernel = Kernel(tmp_path)
    assert kernel.is_alive()
    assert [each.value for each in kernel.evaluate(["6 * 7", "6 / 0", "6 *"])] == [42, None, None]
    kernel.stop()


def test_that_of_our_own(notebook, tmp_path):
    path = tmp_path / "one.ipynb"
    path.write_text(writes(notebook), encoding="utf-8")
    assert client_of(path).execute().cells[0].outputs[0].data["text/plain"] == "42"
