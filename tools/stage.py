"""Run a command of the Makefile: one line when it succeeds; else first what to do, then its log."""

import subprocess
import sys
import time
from pathlib import Path

LOGS = Path("_build/logs")


def main(name: str, todo: str, *command: str) -> None:
    """Run a command, its output into a log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log, start = LOGS / f"{name}.log", time.monotonic()
    print(f"{name:10}...", flush=True)
    with log.open("w", encoding="utf-8") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode
    text, seconds = log.read_text(encoding="utf-8", errors="replace"), time.monotonic() - start
    if code:
        sys.exit(f"{name:10}FAILED. To do: {todo}\n\n{text}")
    last = (text.strip().splitlines() or [""])[-1]
    print(f"{name:10}done in {seconds:.0f} s: {last}")
