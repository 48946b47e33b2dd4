"""How nbval reaches the kernels of the chapters: it has no option for that."""

import nbval.kernel

from tools.notebooks import by_files

nbval.kernel.KernelManager = by_files(nbval.kernel.KernelManager)
