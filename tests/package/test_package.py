"""The package as users meet it: what importing loads, what help() says, what a wheel holds."""

import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distributions
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from packaging.specifiers import SpecifierSet

import attnbook
from attnbook import Decoder, KVCache, MultiHeadAttention
from attnbook.toys.translator import Translator
from tests.package import reader_code

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(sys.executable).parent

# Modules that are imported by name, since not every reader needs what they load.
BY_NAME = tuple(f"attnbook.{name}" for name in ("exercises", "plotting", "pretrained", "toys"))


# The checkers' own parts are nobody's interface: of `exercises`, the package itself is.
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(attnbook.__path__, "attnbook.")
    if not found.name.startswith("attnbook.exercises.") and "._" not in found.name
]


def public(kind):
    """Return the public functions or classes by name, each from the module that defines it."""
    return {
        f"{module.__name__}.{name}": thing
        for module in MODULES
        for name, thing in vars(module).items()
        if not name.startswith("_") and kind(thing) and thing.__module__ == module.__name__
    }


FUNCTIONS, CLASSES = public(inspect.isfunction), public(inspect.isclass)
METHODS = {
    f"{of.__name__}.{name}": getattr(of, name)
    for of, names in (
        (MultiHeadAttention, ("init", "__call__", "queries", "keys", "values", "combine")),
        (KVCache, ("append",)),
        (Decoder, ("logits", "trace", "generate")),
        (Translator, ("init", "memory", "logits", "trace", "greedy", "translate")),
    )
    for name in names
}


# --- Importing ------------------------------------------------------------------------


def test_importing_loads_numpy_and_nothing_else(tmp_path):
    script = """
import sys
before = set(sys.modules)
import attnbook, json
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout)) - set(sys.stdlib_module_names)
    assert loaded == {"attnbook", "numpy"}


def test_all_is_sorted_and_complete():
    exported = attnbook.__all__
    assert exported == sorted(exported)
    expected = {name.partition(".")[2] for name in BY_NAME}
    for module, name in (path.rsplit(".", 1) for path in FUNCTIONS | CLASSES):
        if not module.startswith(BY_NAME):
            expected.add(name)
    assert set(exported) == expected
    for name in exported:
        assert hasattr(attnbook, name) or importlib.import_module(f"attnbook.{name}")


def test_the_package_says_that_it_is_typed():
    assert (Path(attnbook.__file__).parent / "py.typed").is_file()


def test_the_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev0)?", attnbook.__version__)


def test_a_reader_s_code_runs(capsys):
    functions = inspect.getmembers(reader_code, inspect.isfunction)
    own = [function for _, function in functions if function.__module__ == reader_code.__name__]
    calls = [function for function in own if not inspect.signature(function).parameters]
    assert len(calls) == 12
    with mpl.rc_context({"backend": "Agg"}):
        for call in calls:
            call()
    plt.close("all")
    assert "softmax: correct" in capsys.readouterr().out


def test_a_reader_s_code_calls_all_there_is():
    source = inspect.getsource(reader_code)
    for name in [path.rsplit(".", 1)[1] for path in FUNCTIONS | METHODS]:
        called = {"__call__": "layer", "examine": "check", "init": "MultiHeadAttention.init"}
        assert re.search(rf"\b{called.get(name, name)}\(", source), name


# --- Docstrings -----------------------------------------------------------------------


def section(doc, title):
    """Return a numpydoc section's text, or None if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found and found[1]


@pytest.mark.pinned
def test_all_that_is_pinned_runs_on_the_oldest_python():
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[1]
    needs = {found.name: found.metadata["Requires-Python"] for found in distributions()}
    assert len(needs) > 50
    newer = {
        name: which
        for name, which in needs.items()
        if which and not SpecifierSet(which).contains(f"{oldest}.0")
    }
    assert newer == {}


def test_there_are_docstrings_to_test():
    # Were one of these lists to come out empty, the tests below would test nothing.
    assert {"attnbook.functional.softmax", "attnbook.plotting.number_grid"} <= set(FUNCTIONS)
    assert "attnbook.exercises.check" in FUNCTIONS
    assert "attnbook.layers.MultiHeadAttention" in CLASSES


@pytest.mark.parametrize("name", FUNCTIONS | METHODS | CLASSES)
def test_a_docstring_is_short_and_starts_with_a_sentence(name):
    doc = inspect.getdoc((FUNCTIONS | METHODS | CLASSES)[name])
    assert len(doc.splitlines()) <= 25
    first = doc.split("\n\n")[0]
    assert re.fullmatch(r"[A-Z].*[^.]\.", first), first
    assert "\n" not in first


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_describes_parameters_and_result(name):
    function = FUNCTIONS[name]
    doc, signature = inspect.getdoc(function), inspect.signature(function)
    if signature.parameters:
        described = re.findall(
            r"^(\w+(?:, \w+)*)(?: :.*)?$", section(doc, "Parameters"), re.MULTILINE
        )
        names = [name for line in described for name in line.split(", ")]
        assert sorted(names) == sorted(signature.parameters)
    if signature.return_annotation != "None":
        assert section(doc, "Returns").strip()


RAISING = [
    name
    for name, function in FUNCTIONS.items()
    if re.search(r"raise |check\w*\(|real_array\(|_one_head\(", inspect.getsource(function))
]


@pytest.mark.parametrize("name", RAISING)
def test_a_docstring_says_what_is_raised(name):
    text = section(inspect.getdoc(FUNCTIONS[name]), "Raises")
    assert re.search(r"\w+(Error|Answer)\b", text or "")
    source = inspect.getsource(FUNCTIONS[name])
    assert set(re.findall(r"raise (\w+)", source)) <= set(re.findall(r"\w+", text))


@pytest.mark.parametrize(
    "name",
    [name for name in attnbook.__all__ if inspect.isfunction(getattr(attnbook, name))]
    + ["Decoder", "KVCache", "MultiHeadAttention"],
)
def test_a_docstring_has_an_example(name):
    assert ">>> " in section(inspect.getdoc(getattr(attnbook, name)), "Examples")


# --- The wheel ------------------------------------------------------------------------

FROM_OUTSIDE = """
import json, sys
from importlib import resources
from pathlib import Path

import attnbook
import numpy as np
assert Path(attnbook.__file__).is_relative_to(sys.prefix), attnbook.__file__
assert (Path(attnbook.__file__).parent / "py.typed").is_file()

import matplotlib.pyplot as plt
from attnbook.plotting import use_style
use_style()
assert plt.rcParams["svg.hashsalt"] == "attnbook"
from matplotlib.font_manager import findfont
assert Path(findfont("Book Sans", fallback_to_default=False)).is_relative_to(sys.prefix)

text = (resources.files("attnbook") / "data" / "mask_conventions.json").read_text("utf-8")
data = {name: np.array(json.loads(text)[name]) for name in ("query", "key", "value", "mask")}
weights = attnbook.scaled_dot_product_attention(**data).weights
assert ((weights > 0) == data["mask"]).all()

from attnbook.pretrained import minilm, romanizer, storyteller, word_reader
tired = minilm.sentences()[0]
it, animal = (minilm.tokens(tired).index(word) for word in ("it", "animal"))
weights = minilm.multi_head_attention(3)(minilm.hidden_states(tired, 3)).weights
assert abs(weights[1, it, animal] - 0.68) < 0.005
assert romanizer.alignment(romanizer.names()[0]).inverted == "Mamma"
assert word_reader.load()("ball") == ("B", "AO1", "L")
teller = storyteller.load()
asked = teller.tokenizer.encode("<start> the kite is with Ann . who has the kite ?")
assert teller.tokenizer.decode(teller.generate(asked, 1)[-1:]) == "Ann"
data = resources.files("attnbook") / "data"
for name in ("minilm", "romanizer", "g2p", "sans", "smollm2"):
    assert (data / f"{name}.LICENSE.txt").is_file() and (data / f"{name}.README.md").is_file()

attnbook.exercises.check("softmax", attnbook.softmax)
"""


def test_a_wheel_works_in_an_empty_environment(tmp_path):
    # A copy: setuptools writes into the folder it builds, and reads what older builds left there.
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnbook", source / "attnbook", ignore=ignored)

    venv.create(tmp_path / "empty")
    scripts = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    constraints = ROOT / "constraints.txt"
    pinned = ["-c", str(constraints)] if constraints.exists() else []

    def python(*arguments, of=scripts):
        # -I: neither this folder nor PYTHONPATH may lend the package.
        command = [of / "python", "-I", *arguments]
        environment = os.environ | {"MPLBACKEND": "Agg"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pip(*arguments):
        return python("-m", "pip", "--python", str(scripts / "python"), *arguments, of=HERE)

    pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source))
    (wheel,) = tmp_path.glob("attnbook-*.whl")
    pip("install", "--no-compile", *pinned, str(wheel))
    assert python("-c", FROM_OUTSIDE) == "softmax: correct\n"
