"""What an exercise's editor begins with: taken from the solution that the book has of it."""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

import attnbook


class Beginning(NamedTuple):
    """The name of the function that is asked for, and the text that a reader goes on from."""

    function: str
    text: str


def begin(name: str, solution: str) -> Beginning:
    """Return the first line of a solution's function, below the imports that it needs.

    Raises ValueError unless the solution defines a function and hands it to `check`.
    """
    tree = ast.parse(solution)
    function = _checked(name, tree)
    defined = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == function]
    if len(defined) != 1:
        raise ValueError(f'the solution must define the function that check("{name}", …) is given')
    first = f"def {function}({ast.unparse(defined[0].args)}):"
    return Beginning(function, "\n".join([*_imports(tree), "", "", first, "    ...", ""]))


def _checked(name: str, tree: ast.Module) -> str:
    """Return the name of the function that is checked."""
    for call in ast.walk(tree):
        match call:
            case ast.Call(ast.Name("check"), [ast.Constant(value), ast.Name(function)]):
                if value == name:
                    return function
    return ""


def _imports(tree: ast.Module) -> list[str]:
    """Return the lines that import what the code of a solution uses, NumPy in any case."""
    nodes = list(ast.walk(tree))
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)} | {*dir(builtins)}
    bound |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}  # not what is to be written
    used = {n.id for n in nodes if isinstance(n, ast.Name)} - bound
    ours, lines = used & {*attnbook.__all__}, ["import numpy as np"]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "attnbook":
            ours |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            lines.append(ast.unparse(node))
    lines += ["import attnbook"] * ("attnbook" in used)
    lines += [f"from attnbook import {', '.join(sorted(ours))}"] * bool(ours)
    return lines
