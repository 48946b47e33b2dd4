"""How the build reaches the kernels that execute the chapters: there is no option for it."""

from functools import partial

from jupyter_cache.executors import utils
from jupyter_client import AsyncKernelManager

from tools.notebooks import by_files


def setup(_):
    """Begin."""
    manager = by_files(AsyncKernelManager)
    utils.executenb = partial(utils.executenb, kernel_manager_class=manager)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
