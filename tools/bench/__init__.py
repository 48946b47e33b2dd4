"""Print how long attention and generation take, against the leanest NumPy, PyTorch and JAX.

    .venv-frameworks/bin/python -m tools bench [--write]

One table: each row has what is measured, what it is compared with, and how many times as much the
other takes. All in float32, (batch, heads, length, head_dim) = (1, 8, length, 64), best of many.
Memory is that of NumPy's arrays (tracemalloc), results included; PyTorch's is by how much a process
of its own grows (Linux). With --write the table goes into the package, attnbook/data/bench.json,
where chapters find it in Colab and in the browser, too.
"""

import json
import sys

from course.chapters import ROOT
from tools.bench import long_sequences, parts, side_by_side, training
from tools.bench.table import Table, machine, rates

STORED = ROOT / "attnbook/data/bench.json"


def main(*arguments):
    if set(arguments) - {"--write"}:
        sys.exit(__doc__)
    about = machine() | rates()
    print(", ".join(f"{name}: {what}" for name, what in about.items()))
    table = Table()
    parts.measure(table)
    long_sequences.measure(table)
    training.measure(table)
    side_by_side.measure(table)
    if arguments:
        stored = {"machine": about, "rows": table.rows}
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
