"""Measure what a chapter costs a student, and their hub, in time and memory.

    .venv-lab/bin/python -m tools measure [--write]

Runs on Linux, in the environment that Binder and a class's hub have, with one thread for NumPy.
Prints the numbers as JSON, and the machine's name; with --write, by `make measure`, they go
into course/measured.json, of which the page *Run a class* is made.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.request import urlopen

import psutil
from jupyter_server.serverapp import list_running_servers

from course.chapters import MEASURED, by_name, chapters
from tools import PATIENCE
from tools.bench import table
from tools.notebooks import client_of

CLASS = 10  # students who run a chapter at the same moment
MB = 1_000_000


def shared_memory(process: psutil.Process) -> int:
    """Return a process's memory in MB; what it shares is divided among those who share it."""
    return round(process.memory_full_info().pss / MB)


def run(path: Path) -> list[int]:
    """Run a chapter: processor seconds, most memory, memory kept until the kernel ends, in MB."""
    client = client_of(path, timeout=PATIENCE)
    with client.setup_kernel():
        for number, cell in enumerate(client.nb.cells):
            client.execute_cell(cell, number)
        kernel = psutil.Process(client.km.provisioner.pid)
        used = kernel.cpu_times()
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{kernel.pid}/status").read_text())
        numbers = used.user + used.system, int(peak[1]) * 1024 / MB, kernel.memory_info().rss / MB
        return [round(number) for number in numbers]


def server() -> int:
    """Return the memory in MB of JupyterLab's server before a notebook is opened."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-browser", "--IdentityProvider.token=", "--allow-root"]
        command = [sys.executable, "-m", "jupyter", "lab", *options, f"--notebook-dir={folder}"]
        started = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            while started.poll() is None:
                time.sleep(0.1)
                addresses = {running["pid"]: running["url"] for running in list_running_servers()}
                with contextlib.suppress(KeyError, OSError):  # it tells its address too early
                    urlopen(f"{addresses[started.pid]}lab", timeout=PATIENCE).read()
                    break
            time.sleep(1)
            return shared_memory(psutil.Process(started.pid))
        finally:
            started.terminate()
            started.wait()


def together(path: Path) -> tuple[int, int]:
    """Return the seconds, and the most memory in MB, when a class runs a chapter at once."""
    most, start = 0, time.monotonic()
    with ThreadPoolExecutor(CLASS) as pool:
        jobs = [pool.submit(run, path) for _ in range(CLASS)]
        while wait(jobs, timeout=0.2).not_done:
            with contextlib.suppress(psutil.Error):  # one of them has just ended
                most = max(most, sum(map(shared_memory, psutil.Process().children())))
    for job in jobs:
        job.result()
    return round(time.monotonic() - start), round(most, -2)


def machine() -> dict[str, str | int]:
    """Name what the seconds depend on: processor, cores, and memory in GB."""
    memory = round(psutil.virtual_memory().total / 1e9)
    return {key: table.machine()[key] for key in ("cpu", "cores")} | {"memory": memory}


def write(measured: dict) -> None:
    """Keep the numbers, a line for each chapter."""
    text = json.dumps(measured, indent=1)
    text = re.sub(r"\[[^]]*\]", lambda numbers: " ".join(numbers[0].split()), text)
    MEASURED.write_text(f"{text}\n", encoding="utf-8")


def main(*options: str) -> None:
    """Measure a server and each chapter alone; to keep it, also a class that runs the longest."""
    alone = {chapter.name: run(chapter.notebook) for chapter in chapters()}
    measured = {"machine": machine(), "chapters": alone, "server": server()}
    print(json.dumps(measured))
    if "--write" in options:
        longest = max(alone, key=lambda name: alone[name][0])
        measured["class"] = [longest, CLASS, *together(by_name(longest).notebook)]
        write(measured)
