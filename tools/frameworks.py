"""Run the snippets of *The same in PyTorch and JAX* and store how far they are from attnbook.

    .venv-frameworks/bin/python -m tools frameworks [--write] [THING ...]

Each runs twice, on numbers in double and in single precision. What the book's
lines assign as a result, a snippet has to assign, too, the same but for rounding.
"""

import contextlib
import importlib
import json
import math
import sys
from importlib.metadata import version
from typing import Any

import numpy as np

from course import frameworks
from course.frameworks import FOLDER, LIBRARIES, SEEN, line, snippet

DTYPES = {"float64": 1e-12, "float32": 1e-5}  # and the largest difference that is allowed
# What computes its softmax, or its angles and norms, in float32 whatever it is given.
SINGLE = "jax.nn.dot_product_attention", "modeling_llama"
# PyTorch adds 1e-6 to a norm that it clips; Optax has its schedules in float32.
LARGEST = {"clipping": 1e-6, "training_step": 1e-6}
# What the result of a snippet is called: the book's lines and the library's both assign it.
RESULTS = [
    *("output", "weights", "logsumexp", "split", "merged", "head", "projected", "encoding"),
    *("rotated", "scores", "d_query", "d_key", "d_value", "right", "loss", "losses"),
    *("d_logits", "w", "stepped", "rates", "norm", "clipped", "normed", "added"),
    *("vectors", "predicted", "mixed", "after", "probabilities"),
]
MODELS = "storyteller.load", "smollm2.load"  # in single precision, whatever the numbers are
SHOWN = ("torch", "jax", "optax", "transformers")


class WrongSnippet(AssertionError):
    """A snippet does not run, or gives something else than the book."""


def main(*arguments: str) -> None:
    """Run what is named, or all, and print it; store it where it is to be written."""
    write = "--write" in arguments
    names = [name for name in arguments if name != "--write"] or frameworks.things()
    seen, wrong = json.loads(SEEN.read_text("utf-8"))["seen"] if SEEN.exists() else {}, 0
    for thing in names:
        for library in frameworks.libraries(thing):
            try:
                seen.setdefault(thing, {})[library] = differences(thing, library)
                print(f"{thing:20} {library:6} {seen[thing][library]}", flush=True)
            except WrongSnippet as error:
                print(error, flush=True)
                wrong += 1
    if write and not wrong:
        made_with = {name: version(name).partition("+")[0] for name in SHOWN}
        kept = {thing: seen[thing] for thing in frameworks.things()}
        text = json.dumps({"made_with": made_with, "seen": kept}, indent=1)
        SEEN.write_text(text + "\n", encoding="utf-8")
    sys.exit(f"{wrong} are wrong" if wrong else 0)


def differences(thing: str, library: str) -> dict[str, float]:
    """Return the largest difference seen in each precision, rounded up to one digit.

    Raise an error that names the line of the page if a snippet fails, or differs by too much.
    """
    where = f"{line(thing)} shows {FOLDER.name}/{thing}/{library}.py, in {LIBRARIES[library]}"
    seen, code = {}, everything(thing, library)
    for dtype, allowed in DTYPES.items():
        if dtype == "float64" and any(name in snippet(thing, library) for name in MODELS):
            continue
        with in_double() if dtype == "float64" else contextlib.nullcontext():
            try:
                ours, theirs = both(thing, library, given(np.dtype(dtype)))
            except Exception as error:
                told = f"{where}, which fails: {type(error).__name__}: {error}"
                raise WrongSnippet(told) from error
        if any(name in code for name in SINGLE):
            allowed = DTYPES["float32"]
        most = 0.0
        names = [name for name in RESULTS if name in ours_of(thing)]
        if lacking := sorted({*names} - {*theirs}):
            raise WrongSnippet(f"{where}, which does not assign {', '.join(lacking)}")
        for name in names:
            if ours[name].shape != theirs[name].shape:
                told = f"{name} has shape {theirs[name].shape}, not {ours[name].shape}"
                raise WrongSnippet(f"{where}: {told}")
            found = difference(ours[name], theirs[name])
            single = ours[name].dtype == np.float32
            limit = LARGEST.get(thing, DTYPES["float32"] if single else allowed)
            if not found <= limit:
                told = f"{where}: {name} differs by {found:.1e} in {dtype}, allowed {limit:.0e}"
                raise WrongSnippet(told)
            most = max(most, found)
        seen[dtype] = rounded_up(most)
    return seen


def in_double() -> Any:
    """Let JAX compute in double precision, which it does only when told."""
    return importlib.import_module("jax").enable_x64(True)


def given(dtype: np.dtype) -> dict[str, Any]:
    """Return what a snippet is given, with floats in a dtype."""
    names: dict[str, Any] = {}
    exec((FOLDER / "given.py").read_text("utf-8"), names)
    kept = {name: held for name, held in names.items() if isinstance(held, np.ndarray | int)}
    return {
        name: held.astype(dtype) if getattr(held, "dtype", None) == np.float64 else held
        for name, held in kept.items()
    }


def both(thing: str, library: str, start: dict[str, Any]) -> tuple[dict, dict]:
    """Run the book's lines and a library's; return the numbers that each assigns."""
    theirs = run(thing, library, converted(start, library))
    code = snippet(thing, "book")
    ours = {name: held.copy() if hasattr(held, "copy") else held for name, held in start.items()}
    if "state" in theirs:  # a model's, which the book reads
        ours["state"] = theirs["state"]
    exec(compile(code, f"{thing}/book.py", "exec"), ours)
    if (FOLDER / thing / "then.py").is_file():  # what is read is used
        code = snippet(thing, "then")
        exec(compile(code, f"{thing}/then.py", "exec"), ours)
    return kept(ours), kept(theirs)


def ours_of(thing: str) -> list[str]:
    """List the names that the book's lines assign, or those that a test adds to them."""
    parts = [part for part in ("book", "then") if (FOLDER / thing / f"{part}.py").is_file()]
    return [name for part in parts for name in frameworks.assigned(snippet(thing, part))]


def kept(names: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the results among what code has assigned, as arrays."""
    found = {name: numbers(names[name]) for name in RESULTS if name in names}
    return {name: array for name, array in found.items() if array is not None}


def run(thing: str, library: str, start: dict[str, Any]) -> dict[str, Any]:
    """Run a snippet, with the functions that it takes from others; return all its names."""
    names = dict(start)
    for function, other in frameworks.needed(thing, library).items():
        names[function] = run(other, library, start)[function]
    exec(compile(snippet(thing, library), f"{thing}/{library}.py", "exec"), names)
    return names


def everything(thing: str, library: str) -> str:
    """Return the code of a snippet and of all that it needs."""
    others = frameworks.needed(thing, library).values()
    return snippet(thing, library) + "".join(everything(other, library) for other in others)


def converted(start: dict[str, Any], library: str) -> dict[str, Any]:
    """Return arrays as those of a library."""
    if library == "torch":
        make = importlib.import_module("torch").from_numpy
    else:
        make = importlib.import_module("jax.numpy").asarray
    return {n: make(a.copy()) if isinstance(a, np.ndarray) else a for n, a in start.items()}


def numbers(held: Any) -> np.ndarray | None:
    """Return anything of numbers as an array; nothing of what is none."""
    if isinstance(held, list | tuple):
        parts = [numbers(each) for each in held]
        alike = parts and all(part is not None and part.shape == parts[0].shape for part in parts)
        return np.stack(parts) if alike else None
    if hasattr(held, "detach"):
        held = held.detach().numpy()
    array = np.asarray(held) if isinstance(held, bool | float | int) or shaped(held) else None
    return array if array is not None and array.dtype.kind in "bfiu" else None


def shaped(held: Any) -> bool:
    return hasattr(held, "shape") and hasattr(held, "dtype")


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference, relative to the largest number if that is above 1."""
    one, other = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return float(np.where(same, 0, abs(one - other)).max(initial=0) / max(1, abs(one).max()))


def rounded_up(number: float) -> float:
    """Round to one digit, so that no more was seen."""
    if not number:
        return 0.0
    step = 10.0 ** math.floor(math.log10(number))
    return float(f"{math.ceil(number / step) * step:.0e}")
