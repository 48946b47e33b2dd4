"""A student's function as the judge sees it: calls go to the student's kernel and back."""

from __future__ import annotations

import builtins
import inspect
import io
import json
import os
import pickle
import stat
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

BRIDGE = Path(__file__).with_name("bridge.py")
LARGEST = 2**25  # bytes of an answer: more than the bridge writes


class NoAnswer(BaseException):
    """A call that took too long or ended the kernel. No checker takes it for a result."""


class Remote:
    """A function of the student's notebook.

    Parameters
    ----------
    name : str
    run : callable, which runs code in the student's kernel, or raises NoAnswer
    give : callable, which lets that kernel write into a folder
    """

    def __init__(self, name: str, run: Callable[[str], None], give: Callable[[Path], None]):
        self.name, self._run, self._give = name, run, give

    def __call__(self, *arguments, **keywords):
        """Call the function on copies there; return what it returned, as arrays."""
        reply, arrays = self._ask("call", list(arguments), keywords)
        for i in reply["changed"]:
            if isinstance(arguments[i], list):
                arguments[i].append(None)  # whatever is in it now, it is not what was given
            else:
                arguments[i][...] = arrays[f"changed{i}"]
        return _rebuilt(reply, arrays)

    def count_steps(self, arguments: list) -> int:
        """Count the steps in Python that one call takes."""
        return int(_rebuilt(*self._ask("steps", arguments, {})))

    def resolve(self):
        """Return the value if the name stands for numbers, else this function itself."""
        reply, arrays = self._ask("value", [], {})
        return self if reply.get("callable") else _rebuilt(reply, arrays)

    def _ask(self, what, arguments, keywords):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            request = what, self.name, arguments, keywords
            Path(folder, "request").write_bytes(pickle.dumps(request))
            bridge = Path(folder, "bridge.py")  # a copy tells nobody where we are
            bridge.write_bytes(BRIDGE.read_bytes())
            reply = Path(folder, "reply")
            reply.mkdir()
            self._give(reply)
            self._run(
                f"__import__('runpy').run_path({str(bridge)!r}, init_globals="
                f"{{'attnbook_request': {folder!r}, 'attnbook_names': globals()}}) and None"
            )
            try:
                arrays = _read_arrays(reply / "arrays.npz")
                reply = {**json.loads(_read(reply / "reply.json"))}
            except Exception as error:  # a student's code may have written anything
                raise NoAnswer(f"{self.name}: the kernel gave no answer to read.") from error
        if reply.get("missing"):
            raise NameError(
                f"name '{self.name}' is not defined: is its cell left empty, or did it fail?"
            )
        if "error" in reply:
            self._raise(*reply["error"])
        return reply, arrays

    def _raise(self, kind, message, fits):
        """Raise what the function raised; ``told`` is what to tell if no checker catches it."""
        if not fits:  # so that a checker sees which arguments the function does not take
            self.__signature__ = inspect.Signature([])
        found = getattr(builtins, str(kind), None)
        known = isinstance(found, type) and issubclass(found, Exception)
        try:
            error = found(message) if known else RuntimeError(f"{kind}: {message}")
        except TypeError:  # some errors are not made of one message
            error = RuntimeError(f"{kind}: {message}")
        raised = ": ".join(filter(None, [str(kind), str(message)]))
        error.told = f"your function {self.name} raised {raised}"
        if kind == "NotImplementedError":
            error.told = f"{self.name} is not written yet: it raised {raised}"
        raise error


def _read(path):
    """Return a file's bytes; raise OSError for what may never end: a pipe, a device, a link."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise OSError(f"not a file of at most {LARGEST} bytes: {path}")
        return file.read(LARGEST)


def _read_arrays(path):
    """Return the arrays of a file, if unpacked they are not too large for this process."""
    found = io.BytesIO(_read(path))
    with zipfile.ZipFile(found) as file:
        size = sum(part.file_size for part in file.infolist())
    if size > LARGEST:
        raise OSError(f"{size} bytes in {path}")
    with np.load(found, allow_pickle=False) as file:
        return dict(file)


def _rebuilt(reply, arrays):
    kind = reply["kind"]
    if kind == "none":
        return None
    if kind.startswith("other"):
        return type(kind.partition(" ")[2] or "object", (), {})()
    parts = [arrays[f"part{i}"] for i in range(reply["count"])]
    if kind == "one":
        return parts[0] if parts[0].ndim else parts[0][()]
    return tuple(parts) if kind == "tuple" else parts
