"""What a check is in the code of a cell, and which checks can never fail."""

from __future__ import annotations

import ast
import builtins
import re

COMPARE = ("allclose", "isclose", "array_equal", "all", "any")


def tree(source: str) -> ast.Module:
    """Return the code of a cell, without IPython's commands."""
    return ast.parse(re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.M))


def called(node: ast.AST) -> str:
    """Return the name of what is called, without its module."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))


def is_check(node: ast.AST) -> bool:
    """Tell whether a node is an assertion, NumPy's and `because` among them."""
    return isinstance(node, ast.Assert) or called(node).startswith(("assert_", "because"))


def checks(source: str) -> list[ast.AST]:
    """Return the checks in the code of a cell."""
    return [node for node in ast.walk(tree(source)) if is_check(node)]


def names(node: ast.AST) -> set[str]:
    """Return the names in some code, but for Python's own and what a comparison is called by."""
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return used - set(dir(builtins))


def is_vacuous(node: ast.AST) -> bool:
    """Tell whether a check, or what it asserts, is the same whatever the notebook computes."""
    if isinstance(node, ast.Assert):
        return is_vacuous(node.test)
    if isinstance(node, ast.UnaryOp):
        return is_vacuous(node.operand)
    if isinstance(node, ast.BoolOp):
        return any(map(is_vacuous, node.values))
    if isinstance(node, ast.Compare):
        sides = [ast.dump(each) for each in (node.left, *node.comparators)]
        return not names(node) or len(set(sides)) < len(sides)
    if isinstance(node, ast.Call) and (called(node) in COMPARE or is_check(node)):
        if called(node) in ("all", "any"):
            (compared, *_) = [*node.args, getattr(node.func, "value", node)]
            return is_vacuous(compared)
        sides = [ast.dump(each) for each in node.args[: 3 if called(node) == "because" else 2]]
        return not set().union(*map(names, node.args)) or len(set(sides)) < len(sides)
    return isinstance(node, ast.Tuple) or not names(node)
