"""A kernel for a student's notebook, in a sandbox that bubblewrap makes.

It sees programs, Python and the package, all read-only, folders of its own that end with it, and
nothing else: no file of the course's or of other students, no network, no other process.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import zmq
from jupyter_client.manager import AsyncKernelManager

import attnbook

WRITTEN_FOR = {"jupyter-client": "8.10.0"}  # whose provisioner is replaced here; a test compares
HOME = "/home/student"
PACKAGE = "/opt/attnbook"
NOBODY = 65534  # whom a sandbox runs as where the grader is root: root has no limit of processes
DISK = 2**28  # bytes of each folder, which are in memory, and of each file
MEMORY = 2**32  # bytes of a process
PROCESSES = 200  # and threads
SECONDS = 900  # of a processor; a notebook's own limit comes before
LARGEST = 2**23  # bytes of each part of a message that the kernel sends
WAITING = 50  # such messages that wait to be read
GROWTH = 2**29  # bytes by which our own memory may grow while we read them
# A process has its parent's keyring of the session, in which it finds keys and leaves some. Where
# it gets none of its own it may have none.
ALONE = """
import ctypes, os, sys
call, keyctl = ctypes.CDLL(None).syscall, {"x86_64": 250, "aarch64": 219}[os.uname().machine]
if call(keyctl, 1, None) < 0 and call(keyctl, 0, -3, 0) >= 0:
    sys.exit("no keyring of its own")
os.execv(sys.argv[1], sys.argv[1:])
"""
# The command of a sandbox, as one would type it: what makes it nobody's where the grader is root,
# what comes before all that is shown there, and what behind. No file of a student's is taken for a
# module; the processes are the first to go where memory is short.
AS_NOBODY = f"""
--die-with-parent --dev-bind /dev /dev --bind /proc /proc --
setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --
""".split()
BEFORE = f"""
--unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
--hostname sandbox --proc /proc --dev /dev --size {DISK} --tmpfs /tmp --size {DISK} --tmpfs /var/tmp
--size {DISK} --tmpfs /dev/shm --size {DISK} --tmpfs {HOME}
--clearenv --setenv HOME {HOME} --setenv PYTHONPATH {Path(PACKAGE).parent} --setenv PYTHONSAFEPATH 1
--setenv LANG C.UTF-8 --setenv OMP_NUM_THREADS 1 --setenv OPENBLAS_NUM_THREADS 1
""".split()
BEHIND = f"""
--remount-ro /dev --remount-ro / --chdir {HOME} -- choom -n 1000 --
prlimit --as={MEMORY} --nproc={PROCESSES} --fsize={DISK} --cpu={SECONDS} --core=0 --
""".split()
INSTALL = "install bubblewrap 0.8 or newer (apt-get install bubblewrap)"


class StopError(KeyboardInterrupt):
    """Nobody's work may be graded now: after any other error nbgrader goes on with the next."""


def _shown() -> list[str]:
    """Return what a sandbox shows beside the package, where it is there."""
    python = {sys.base_prefix, os.path.realpath(sys.base_prefix)}
    python.add(str(Path(sys.executable).resolve().parents[1]))
    programs = [f"{prefix}/{part}" for prefix in {"/usr", *python} for part in ("bin", "lib")]
    system = ["/bin", "/lib", "/lib64", "/usr/lib64", "/etc/ld.so.cache", shutil.which("bwrap")]
    return sorted({*programs, *system, *[sys.prefix] * (sys.prefix != sys.base_prefix)})


def _each(option: str, *values: Iterable[object]) -> list[str]:
    """Return an option once for each of some values, or of those that lie side by side."""
    together = zip(*values, strict=True)
    return [str(word) for each in together for word in (option, *each)]


@functools.cache
def _together() -> list[str]:
    """Return how to limit all processes of a command together, where systemd can: a cgroup."""
    limits = (f"MemoryMax={MEMORY}", "MemorySwapMax=0", f"TasksMax={2 * PROCESSES}")
    command = [shutil.which("systemd-run") or "systemd-run", *["--user"] * bool(os.geteuid())]
    command += ["--scope", "--quiet", "--collect", *(f"--property={one}" for one in limits), "--"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run([*command, "true"], env=bare(), capture_output=True, check=True, timeout=60)
        return command
    return []


def confined(command: list[str], *folders: Path) -> list[str]:
    """Return how to run a command, its program by its path, in a sandbox that may write to folders.

    Where the grader is root, a first sandbox shows the same to nobody, who makes the second one:
    nobody may not enter a home folder of root's, where Python may lie.
    """
    bwrap, found, first = shutil.which("bwrap"), _shown(), []
    sources, places = [*found, Path(attnbook.__file__).parent], [*found, PACKAGE]
    own = _each("--bind", folders, folders)
    if os.geteuid() == 0:
        parents = {str(p) for place in [*places, *folders] for p in Path(place).parents} - {"/"}
        # In /tmp the second builds what it shows.
        first = [bwrap, *_each("--dir", sorted(parents | {"/tmp"}))]
        first += [*_each("--ro-bind-try", sources, places), *own, *AS_NOBODY]
        sources = places
    shown = _each("--ro-bind-try", sources, places)
    path = os.pathsep.join([f"{sys.prefix}/bin", "/usr/bin", "/bin"])
    second = [bwrap, *BEFORE, "--setenv", "PATH", path, *shown, *own, *BEHIND]
    return [*_together(), *first, *second, sys.executable, "-ISc", ALONE, *command]


def bare() -> dict[str, str]:
    """Return the environment of a sandbox's first process, which a student's code can read."""
    kept = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")  # by which systemd is found
    return {"PATH": "/usr/bin:/bin"} | {k: os.environ[k] for k in kept if k in os.environ}


def end(process: subprocess.Popen) -> None:
    """End a sandbox that began a session: of two bubblewraps, one would go on without the other."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@functools.cache
def why_not() -> str | None:
    """Say why no sandbox can be had here and what to do, or return None."""
    if sys.platform != "linux":
        return "sandboxes are on Linux only, so grade there, or in a virtual machine"
    if not shutil.which("bwrap"):
        return INSTALL
    with _folder() as folder:
        tried = confined([sys.executable, "-c", "import attnbook, ipykernel"], folder)
        done = subprocess.run(tried, env=bare(), capture_output=True, text=True)
    if not done.returncode:
        return None
    said = [f"status {done.returncode}", *done.stderr.strip().splitlines()][-1]
    wanted = f"let bubblewrap make a sandbox and run {sys.executable} there. It says: {said}"
    return INSTALL if "Unknown option" in said else wanted


def _folder() -> tempfile.TemporaryDirectory:
    made = tempfile.TemporaryDirectory(prefix="kernel-")
    if os.geteuid() == 0:
        os.chown(made.name, NOBODY, NOBODY)
    return made


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Kernel(AsyncKernelManager):
    """A student's kernel, to which we speak by sockets in a folder.

    When all are connected, and no student's code ran, the folder goes: there is no place there to
    fill a disk with, or to put something else where a socket was.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self._folder = _folder()
        self._within = Path(self._folder.name)
        self.transport, self.ip = "ipc", str(self._within / "socket")
        self.connection_file = str(self._within / "kernel.json")
        self.context.setsockopt(zmq.MAXMSGSIZE, LARGEST)
        self.context.setsockopt(zmq.RCVHWM, WAITING)

    def format_kernel_cmd(self, extra_arguments=None):
        """Return the command that starts the kernel."""
        if os.geteuid() == 0:
            os.chown(self.connection_file, NOBODY, NOBODY)
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", self.connection_file]
        # To send a long answer without copying it takes a thread: there may be no room for one.
        command += [f"--Session.copy_threshold={LARGEST}", *(extra_arguments or [])]
        return command if why_not() else confined(command, self._within)

    async def start_kernel(self, **options):
        """Start the kernel, without the class's phrase in its environment."""
        quiet = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)  # not your terminal
        await super().start_kernel(**options | quiet | {"env": bare()})

    def connected(self) -> None:
        """Remove the folder of the sockets, and begin to watch what the kernel sends."""
        self._folder.cleanup()
        about = (self.provisioner.process, _memory() + GROWTH)
        threading.Thread(target=_watch, args=about, daemon=True).start()


def _watch(process: subprocess.Popen, allowed: int) -> None:
    """End a kernel when our memory grows: no limit of a socket's counts a message's parts."""
    while process.poll() is None:
        if _memory() > allowed:
            end(process)
        time.sleep(0.05)


def ended(status: int | None) -> str:
    """Say how a kernel ended that has this status, by itself or by one of our limits."""
    number = -status if (status or 0) < 0 else (status or 0) - 128  # bubblewrap adds 128
    if number == signal.SIGKILL:
        return "the kernel was killed, as it is when memory runs out"
    if number in set(signal.Signals):
        name = signal.Signals(number).name
        return f"the kernel crashed ({name}), which may be for want of memory"
    return f"the kernel was ended from within (exit {status or 0})"


if __name__ == "__main__":
    sys.exit(why_not() and f"sandbox   SKIPPED: students' code cannot be run: {why_not()}")
