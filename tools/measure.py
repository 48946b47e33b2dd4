"""Measure what a chapter costs a student, and their hub, in time and memory.

    .venv-lab/bin/python -m tools measure [--write]

Runs on Linux, in the environment that Binder and a class's hub have, with one thread for NumPy.
Prints the numbers as JSON; with --write, by `make measure`, they go
into course/measured.json, of which the page *Run a class* is made.
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

from course.chapters import ROOT, by_name, chapters
from course.pages import MEASURED

EXECUTED = ROOT / "_build/measured"  # for a test to look into
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
        EXECUTED.mkdir(parents=True, exist_ok=True)
        nbformat.write(client.nb, EXECUTED / path.name)
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
    return {"server": server(), "chapters": {each.name: run(each.notebook) for each in chapters()}}


def in_class(measured: dict) -> list:
    """Return what the chapter that runs longest takes when a class runs it at once."""
    name = max(measured["chapters"], key=lambda name: measured["chapters"][name][0])
    seconds, most = together(by_name(name).notebook)
    return [name, CLASS, os.cpu_count(), round(seconds), round(most, -2)]


def write(measured: dict) -> None:
    """Keep the numbers, a line for each chapter."""
    lines = [
        f"  {json.dumps(name)}: {json.dumps([round(number) for number in numbers])}"
        for name, numbers in measured["chapters"].items()
    ]
    told = ",\n".join(lines)
    rest = f' "server": {round(measured["server"])},\n "class": {json.dumps(measured["class"])}'
    MEASURED.write_text(f'{{\n "chapters": {{\n{told}\n }},\n{rest}\n}}\n', encoding="utf-8")


def main(*options: str) -> None:
    """Measure; print what was found, or keep it."""
    found = alone()
    print(json.dumps(found))
    if "--write" in options:
        found["class"] = in_class(found)
        write(found)
