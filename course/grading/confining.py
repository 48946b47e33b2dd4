"""Where the grader is root, run a student's kernel as a user of its own, who owns nothing."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MASTERS = Path(__file__).parents[1]
UIDS = range(50_000, 60_000)  # of nobody, on most machines
PROCESSES = 200  # and threads, that such a user may have: no fork bomb


@functools.cache
def why_not() -> str | None:
    """Say why kernels cannot be confined here, or return None."""
    if os.name != "posix" or os.geteuid() != 0:
        return "the grader is not root"
    tried = [sys.executable, "-c", "import attnbook, ipykernel"]
    uid = UIDS[0]
    as_other = {"user": uid, "group": uid, "extra_groups": [], "cwd": "/", "capture_output": True}
    with contextlib.suppress(OSError):
        if not subprocess.run(tried, **as_other).returncode:
            return None
    return f"other users cannot run {sys.executable}"


class Stranger:
    """A user for one notebook: it can neither read the course nor signal the grader.

    Everything it still runs is killed at the end, so that it meets no other student. The course's
    folder, and that of the masters, are closed to all users but the grader.
    """

    def __init__(self, course: Path):
        self.uid = secrets.choice(UIDS)
        self.home = Path(tempfile.mkdtemp(prefix="student-"))
        self.own(self.home)
        for folder in {course, MASTERS}:
            folder.chmod(0o700)

    def own(self, path: Path) -> None:
        """Give a file or folder to this user."""
        os.chown(path, self.uid, self.uid)

    def options(self, manager, environment: dict[str, str]) -> dict:
        """Return how to start the kernel of a kernel manager."""
        manager.connection_file = str(self.home / f"kernel-{secrets.token_hex(8)}.json")

        def become():
            import resource

            self.own(Path(manager.connection_file))
            resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
            os.setgroups([])
            os.setgid(self.uid)
            os.setuid(self.uid)

        names = ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME")
        environment = environment | dict.fromkeys(names, str(self.home))
        return {"cwd": str(self.home), "env": environment, "preexec_fn": become}

    def kill(self) -> None:
        """End all that this user runs."""
        subprocess.run(["kill", "-9", "-1"], user=self.uid, group=self.uid, extra_groups=[])

    def leave(self) -> None:
        """End all that this user runs, and remove what it wrote into its home."""
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)
