"""What rides on the one run of a notebook by nbval, in the same kernel: a plugin, `make` names it.

At the end of each section: the numbers of its text that are tied to an expression, and the cells
that the session's plan has there. At the end of the notebook: these cells with every value that a
class may say, what the plan promises of them, and the memory that the kernel has used.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from course.chapters import MEASURED, ROOT, Chapter, chapters
from course.passages import Section, read
from course.truths import pictures, printed, snippets
from tests.book.number_faults import Result, in_notebook, result, tied
from tests.book.numbers_read import ties
from tests.drawn import drawn_alike
from tools import PATIENCE
from tools.notebooks import by_files

WRITTEN_FOR = {"nbval": "0.11.0"}  # what it reaches into
SVG = "image/svg+xml"
READERS = ROOT / ".venv-lab/bin/python"  # the Python of Binder and of a class's hub


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Put a notebook with all that rides on it in the place of nbval's."""
    found = yield
    return [
        Notebook.from_parent(parent, path=file_path) if type(each) is IPyNbFile else each
        for each in found
    ]


def pytest_collection_modifyitems(items):
    """Begin with the notebook that takes longest, so that none ends long last."""
    chapters = json.loads(MEASURED.read_text("utf-8"))["chapters"]
    seconds = {name: measured[0] for name, measured in chapters.items()}
    items.sort(key=lambda item: -seconds.get(item.path.stem, 0))


def pytest_configure(config):
    """Wait for a cell as for all else."""
    config.option.nbval_cell_timeout = PATIENCE


class Specs(KernelSpecManager):
    """Knows one kernel: the Python of readers, where it is installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return how to start it."""
        python = READERS if READERS.exists() else sys.executable
        return KernelSpec(
            argv=[str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            display_name=str(python),
            language="python",
        )


class Kernel(RunningKernel):
    """A kernel as nbval uses it, but for what it starts and how long it waits."""

    def __init__(self, cwd: Path) -> None:
        self.km = by_files(KernelManager)(kernel_name="python3", kernel_spec_manager=Specs())
        self.km.start_kernel(cwd=str(cwd), stderr=subprocess.DEVNULL)
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=PATIENCE)

    def evaluate(self, expressions: list[str]) -> list[Result]:
        """Return what expressions give in the notebook as it stands."""
        asked = {}
        for number, expression in enumerate(expressions):
            try:
                asked[str(number)] = in_notebook(expression)
            except SyntaxError:
                asked[str(number)] = expression  # the kernel says what is wrong with it
        request = self.kc.execute("", silent=True, user_expressions=asked)
        reply: dict[str, Any] = {}
        while reply.get("parent_header", {}).get("msg_id") != request:
            reply = self.kc.get_shell_msg(timeout=PATIENCE)
        given = reply["content"]["user_expressions"]
        return [_result(given[str(number)]) for number in range(len(expressions))]


def as_stored(shown: list[Any], stored: list[Any]) -> list[Any]:
    """Return outputs with each drawing as it is stored, where the two are alike."""
    for now, then in zip(shown, stored, strict=False):
        data, kept = now.get("data", {}), then.get("data", {})
        if SVG in data and SVG in kept and drawn_alike(data[SVG], kept[SVG]):
            data[SVG] = kept[SVG]
    return shown


def _compared(exactly: Callable[..., bool], shown: Any, stored: Any, *options: Any) -> bool:
    return exactly(as_stored(shown, stored), stored, *options)


def _result(given: dict[str, Any]) -> Result:
    if given["status"] == "ok":
        return result(ast.literal_eval(given["data"]["text/plain"]))
    return Result(None, problem=f"{given['ename']}: {given['evalue']}")


class Notebook(IPyNbFile):
    """A notebook that nbval executes and compares, with what rides on that run."""

    def setup(self) -> None:
        """Start the kernel."""
        self.kernel = Kernel(self.path.parent)
        self.setup_sanitize_files()
        self.shown: list[tuple[str, list[Any]]] = []  # by the session's cells

    def collect(self) -> Iterator[pytest.Item]:
        """Yield nbval's items, and behind the last of each section what rides on it."""
        cells = list(super().collect())
        for cell in cells:
            cell.output_timeout = PATIENCE
            cell.compare_outputs = partial(_compared, cell.compare_outputs)
        of_chapter = {chapter.notebook: chapter for chapter in chapters()}
        chapter = of_chapter.get(self.path)
        plan = snippets(chapter) if chapter else []
        starts = {each.code: section_after(each.section, self.nb.cells) for each in plan}
        code = [i for i, cell in enumerate(self.nb.cells) if cell.cell_type == "code"]
        done = 0
        for section in read(self.path):
            yield from cells[done : (done := done + len(section.cells))]
            if ties(section):
                yield Ties.from_parent(self, name=f"Numbers: {section.title}", section=section)
            # What stands before the next section of the plan's level has run, and no more.
            for each in [each for each in plan if sum(i < starts[each.code] for i in code) <= done]:
                plan.remove(each)
                yield Pasted.of(self, f"Session, {len(plan)} to come", each.code)
        if chapter:
            yield from self.at_the_end(chapter)

    def at_the_end(self, chapter: Chapter) -> Iterator[pytest.Item]:
        """Yield the session's cells with all that a class may say, and what the plan promises."""
        yield Memory.from_parent(self, name="Memory")
        truths = chapter.part("truths").TRUTHS
        for snippet in snippets(chapter):
            for number, code in enumerate(variants(snippet.code, truths.said), 1):
                yield Pasted.of(self, f"Said, {number}", code)
        for check in truths.session:
            yield Promise.from_parent(self, name=f"Promise: {check.__name__}", check=check)


class Pasted(IPyNbCell):
    """A cell that an instructor pastes and runs in front of the class: it shows something."""

    @classmethod
    def of(cls, notebook: Notebook, kind: str, code: str) -> Pasted:
        """Return the item of a cell; xdist takes two of one name for one."""
        options = defaultdict(bool, check=False)
        cell = nbformat.v4.new_code_cell(code)
        name = f"{kind}: {code.splitlines()[0]}"
        made = cls.from_parent(notebook, name=name, cell_num=-1, cell=cell, options=options)
        made.output_timeout = PATIENCE
        return made

    def runtest(self) -> None:
        """Run it, and keep what it shows for the checks of the plan."""
        super().runtest()
        code, outputs = self.cell.source, self.test_outputs
        self.parent.shown.append((code, outputs))
        assert printed(outputs) or pictures(outputs), f"shows nothing:\n{code}"
        assert not [out for out in outputs if out.get("name") == "stderr"], f"warns:\n{code}"
        assert len(pictures(outputs)) == ("plt." in code), f"has not one picture:\n{code}"


class Rider(pytest.Item):
    """A test of its own in the kernel of a notebook."""

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where it stands."""
        return self.path, 0, f"{self.path.name}::{self.name}"


class Ties(Rider):
    """The numbers of a section's text that are tied to expressions."""

    def __init__(self, *, section: Section, **about: Any) -> None:
        super().__init__(**about)
        self.section = section

    def runtest(self) -> None:
        """Compare them with what the expressions give where the section ends."""
        tied_to = ties(self.section)
        results = dict(zip(tied_to, self.parent.kernel.evaluate(tied_to), strict=True))
        if faults := list(tied(self.section, results)):
            lines = "\n".join(faults)
            pytest.fail(f"{self.path.stem}: {len(faults)} numbers\n{lines}", pytrace=False)


class Promise(Rider):
    """What a session's plan promises of what its cells show."""

    def __init__(self, *, check: Callable[[list[tuple[str, list[Any]]]], None], **about: Any):
        super().__init__(**about)
        self.check = check

    def runtest(self) -> None:
        """Check it."""
        self.check(self.parent.shown)


class Memory(Rider):
    """The most memory that the kernel has used, beside what the page *Run a class* says."""

    def runtest(self) -> None:
        """Compare them with wide room: `make measure` measures, and this finds what has grown."""
        status = Path(f"/proc/{self.parent.kernel.km.provisioner.pid}/status")
        if not status.exists():
            pytest.skip("only Linux tells the most memory that a process has used")
        most = int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) * 1024 / 1e6
        measured = json.loads(MEASURED.read_text(encoding="utf-8"))["chapters"]
        if self.path.stem not in measured:
            pytest.fail(f"{self.path.stem} is not measured: run `make measure`", pytrace=False)
        said = measured[self.path.stem][1]
        todo = "run `make measure` if that is meant"
        assert said / 1.5 < most < said * 1.5, f"{most:.0f} MB, the page says {said}: {todo}"
        assert most <= 1024**3 / 1e6, f"{most:.0f} MB: a chapter has 1 GiB on Binder"


def section_after(section: str, cells: list[Any]) -> int:
    """Return the number of the cell with which the section behind one begins."""
    begins = [i for i, cell in enumerate(cells) if f"({section})=\n## " in cell.source]
    assert len(begins) == 1, f"no section, or several, with the label {section}"
    return next(i for i in range(begins[0] + 1, len(cells)) if "\n## " in "\n" + cells[i].source)


def variants(code: str, said: dict[str, list[str]]) -> list[str]:
    """Return a cell with each value that a class may say; the first is the one it has."""
    codes = [code]
    for variable, values in said.items():
        line = re.compile(rf"^{variable} = .+?(?=  # )", re.M)
        if line.search(code):
            every = itertools.product(codes, values)
            codes = [line.sub(f"{variable} = {value}", each) for each, value in every]
    if codes[0] != code:
        raise ValueError(f"the first values that are said are not those of the cell:\n{code}")
    return codes
