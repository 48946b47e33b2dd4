"""Time functions against one another, measure their memory, and keep the rows."""

import functools
import os
import platform
import re
import time
import timeit
import tracemalloc
from pathlib import Path

import numpy as np

PAUSE = 0.03  # seconds, in which the threads of the library before go to sleep


class Table:
    """The rows of one run: what takes how long, or how many bytes, and what it is compared with."""

    def __init__(self):
        self.rows = []

    def add(self, what, amount, other, amount_of_other, unit, length=None):
        """Print a row and keep it; its ratio says how many times as much the other takes."""
        ratio = amount_of_other / amount
        row = {"what": what, "length": length, "amount": float(f"{amount:.3g}"), "unit": unit}
        row |= {"other": other, "amount of other": float(f"{amount_of_other:.3g}")}
        self.rows.append(row | {"ratio": float(f"{ratio:.3g}")})
        at = "" if length is None else f"{length:,}"
        print(
            f"{what:34} {at:>7} {amount:9.3g} {unit:2}   {other:34} {amount_of_other:9.3g} {unit:2}"
            f"   {ratio:7.2f} x",
            flush=True,
        )


def best_times(functions, arrays=(), rounds=5, calls=1):
    """Return each function's best time in seconds; rounds interleave, so load hits all alike."""
    timers = [timeit.Timer(functools.partial(function, *arrays)) for function in functions]
    times = np.full(len(timers), np.inf)
    for _ in range(rounds):
        for i, timer in enumerate(timers):
            time.sleep(PAUSE)
            times[i] = min(times[i], timer.timeit(calls) / calls)
    return times


def peak_of_numpy(function):
    """Return the most bytes of arrays that a call holds at a time, its result included."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def peak_of_process(function):
    """Return by how many bytes a call raises the resident memory of its process (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    function()
    return _status("VmHWM") - before


def _status(key):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{key}:\s+(\d+) kB", text)[1])


def machine():
    """Name what the times depend on."""
    cpuinfo = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    blas = np.show_config("dicts")["Build Dependencies"]["blas"]
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "threads": threads(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
    }


def threads():
    """Return how many threads NumPy's matrix products have."""
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
