"""Cells of notebooks, and what they have shown, to be compared between two runs."""

import json


def cells(path, kind):
    """Return a notebook's cells of one kind."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def outputs(cell):
    """Return what a cell printed, and what it showed or raised, in however many pieces it came."""
    printed, rest = "", []
    for out in cell["outputs"]:
        if out["output_type"] == "stream":
            printed += "".join(out["text"])
        elif out["output_type"] == "error":
            rest.append((out["ename"], out["evalue"]))
        else:
            rest.append({kind: "".join(data) for kind, data in out["data"].items()})
    return printed, rest
