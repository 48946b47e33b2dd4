"""nbval executes the notebooks; what else is tested of them rides on that run."""

import json

import pytest
from nbval.plugin import IPyNbFile

from course.pages import MEASURED
from tests.notebooks.riding import Notebook
from tools import PATIENCE


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Put a notebook with all that rides on it in the place of nbval's."""
    found = yield
    return [
        Notebook.from_parent(parent, path=file_path)
        if type(each) is IPyNbFile
        else each
        for each in found
    ]


def pytest_collection_modifyitems(items):
    """Begin with the notebook that takes longest, so that none ends long last."""
    chapters = json.loads(MEASURED.read_text("utf-8"))["chapters"]
    seconds = {name: measured[0] for name, measured in chapters.items()}
    items.sort(key=lambda item: -seconds.get(item.path.stem, 0))


def pytest_configure(config):
    """Wait for a cell as for all else."""
    config.option.nbval_cell_timeout = PATIENCE
