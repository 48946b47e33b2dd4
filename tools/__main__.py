"""Run a tool, or list them."""

import ast
import importlib
import sys
from pathlib import Path


def tools() -> dict[str, str]:
    """Return the first line of each tool's description by its name."""
    files = [*Path(__file__).parent.glob("*.py"), *Path(__file__).parent.glob("*/__init__.py")]
    titles = {}
    for path in sorted(files):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in module.body):
            name = path.parent.name if path.name == "__init__.py" else path.stem
            titles[name] = ast.get_docstring(module).splitlines()[0]
    titles.pop(Path(__file__).stem)
    return titles


def main() -> None:
    """Run the tool that the command names."""
    name, *arguments = sys.argv[1:] or [None]
    if name not in tools():
        lines = [f"  {name:18} {about}" for name, about in tools().items()]
        sys.exit("\n".join(["python -m tools NAME ...", *lines]))
    importlib.import_module(f"tools.{name}").main(*arguments)


if __name__ == "__main__":
    main()
