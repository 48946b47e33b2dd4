"""Measure what a chapter costs a student, and their hub, in time and memory.

    .venv-lab/bin/python scripts/measure_chapters.py [--write]

Runs on Linux, in the environment that Binder and a class's hub have, with one thread for NumPy.
Prints the numbers as JSON; with --write, by `make measure`, they go into the page for instructors.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import nbformat
import psutil
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book/instructors.md"
PLACE = re.compile(r"(?<=<!-- measured by make measure -->\n).*?(?=<!-- end -->)", re.S)
CLASS = 10  # students who run a chapter at the same moment
MB = 1e6


def shared_memory(process: psutil.Process) -> float:
    """Return a process's memory in MB; what it shares is divided among those who share it."""
    return process.memory_full_info().pss / MB


def run(path: Path) -> tuple[float, float, float]:
    """Run a chapter: processor seconds, most memory, memory kept until the kernel ends, in MB."""
    client = NotebookClient(
        nbformat.read(path, as_version=4),
        timeout=600,
        resources={"metadata": {"path": path.parent}},
    )
    with client.setup_kernel():
        for number, cell in enumerate(client.nb.cells):
            client.execute_cell(cell, number)
        kernel = psutil.Process(client.km.provisioner.pid)
        used = kernel.cpu_times()
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{kernel.pid}/status").read_text())
        return used.user + used.system, int(peak[1]) * 1024 / MB, kernel.memory_info().rss / MB


def server() -> float:
    """Return the memory in MB of JupyterLab's server before a notebook is opened."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=", "--allow-root"]
        command = [sys.executable, "-m", "jupyter", "lab", *options, f"--notebook-dir={folder}"]
        started = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            for _ in range(1200):
                try:
                    urlopen(f"http://127.0.0.1:{port}/lab", timeout=60).read()
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                raise TimeoutError("JupyterLab's server does not answer")
            time.sleep(1)
            return shared_memory(psutil.Process(started.pid))
        finally:
            started.terminate()
            started.wait()


def together(path: Path) -> tuple[float, float]:
    """Return the seconds, and the most memory in MB, when a class runs a chapter at once."""
    most, start = 0.0, time.monotonic()
    with ThreadPoolExecutor(CLASS) as pool:
        jobs = [pool.submit(run, path) for _ in range(CLASS)]
        while not all(job.done() for job in jobs):
            found = 0.0
            for kernel in psutil.Process().children():
                try:
                    found += shared_memory(kernel)
                except psutil.Error:  # it has ended
                    continue
            most = max(most, found)
            time.sleep(0.2)
    for job in jobs:
        job.result()
    return time.monotonic() - start, most


def alone() -> dict:
    """Return the memory of a server, and what each chapter takes when it runs alone."""
    chapters = sorted((ROOT / "book").glob("[0-9]*.ipynb"))
    return {"server": server(), "chapters": {path.stem: run(path) for path in chapters}}


def in_class(measured: dict) -> list:
    """Return what the chapter that runs longest takes when a class runs it at once."""
    name = max(measured["chapters"], key=lambda name: measured["chapters"][name][0])
    return [name, CLASS, os.cpu_count(), *together(ROOT / f"book/{name}.ipynb")]


def words(measured: dict) -> str:
    """Return the numbers as a table and sentences for the page."""
    lines = [
        "| chapter | to read | exercises | runs for | at most | keeps |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, (seconds, peak, kept) in measured["chapters"].items():
        text = (ROOT / f"book/{name}.ipynb").read_text(encoding="utf-8")
        read = re.search(r"about (\d+) minutes to read", text)[1]
        exercises = text.count(":::{exercise} ")
        lines.append(
            f"| [](ch-{name[3:]}) | {read} min | {exercises} of 10 min "
            f"| {seconds:.0f} s | {peak:.0f} MB | {kept:.0f} MB |"
        )
    kept = {name: kept for name, (_, _, kept) in measured["chapters"].items()}
    name, students, cores, seconds, most = measured["class"]
    server = measured["server"]
    worst = server + sum(kept.values()) - kept[name] + measured["chapters"][name][1]
    return (
        "\n".join(lines)
        + f"""

JupyterLab's server takes {server:.0f} MB besides. A student who leaves all five chapters open \
holds {(server + sum(kept.values())) / 1000:.1f} GB, and for a moment {worst / 1000:.1f} GB while \
[](ch-{name[3:]}) runs again. When {students} students ran that chapter at the same moment on \
{cores} cores, all had finished after {seconds:.0f} s, and their kernels together took at most \
{most / 1000:.1f} GB.
"""
    )


if __name__ == "__main__":
    found = alone()
    print(json.dumps(found))
    if "--write" in sys.argv[1:]:
        found["class"] = in_class(found)
        page, made = PLACE.subn(lambda _: words(found), PAGE.read_text(encoding="utf-8"))
        if made != 1:
            sys.exit(f"{PAGE.name} has no place for the numbers")
        PAGE.write_text(page, encoding="utf-8")
