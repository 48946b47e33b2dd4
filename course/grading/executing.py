"""A step of nbgrader's grading: run a submission in two processes.

Students' cells run in their kernel. Test cells run here, in nbgrader's own process, in the
wording that the gradebook keeps; of the kernel they see only what its functions return.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import json
import os
import time
from pathlib import Path

import numpy as np
from jupyter_core.utils import run_sync
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_output
from nbformat.v4.nbbase import validate
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute
from traitlets import Integer, Unicode

from course.grading.confining import Stranger, why_not
from course.grading.remote import NoAnswer, Remote
from course.grading.seeds import VARIABLE

LOST = "the names of this cell are lost, those of other cells are kept."


def names_from_outside(source: str) -> set[str]:
    """Return the names that code uses and neither makes nor imports nor has from Python."""
    made, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            made |= {name.asname or name.name for name in node.names}
        elif isinstance(node, ast.Name):
            (made if isinstance(node.ctx, ast.Store) else used).add(node.id)
    return used - made


class JudgedExecute(Execute):
    """Run students' cells in a kernel, and test cells outside it."""

    call_timeout = Integer(10, help="seconds for one call of a student's function").tag(config=True)
    course = Unicode(help="the folder of the course, closed to students' code").tag(config=True)
    most_restarts = Integer(5, help="kernels that one notebook may use up").tag(config=True)
    most_seconds = Integer(300, help="seconds that one notebook may take in all").tag(config=True)
    most_output = Integer(1_000_000, help="characters that one cell may print").tag(config=True)

    def preprocess(self, nb, resources=None, km=None):
        """Execute and judge a notebook."""
        self.interrupt_on_timeout = False  # a loop may catch the interrupt: end the kernel instead
        self.shutdown_kernel = "immediate"
        self.timeout_func = self._seconds
        self._done, self._stuck, self._restarts, self._asked_to_end = [], set(), 0, False
        self._end = time.monotonic() + self.most_seconds
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
            graded = {cell.name for cell in notebook.grade_cells}
            self._tests = {
                cell.name: cell.source
                for cell in notebook.source_cells
                if cell.locked and cell.cell_type == "code" and cell.name in graded
            }
        if why_not():
            self.log.info("Students' code can read and write what you can: %s", why_not())
            self._stranger = None
            return super().preprocess(nb, resources, km)
        self._stranger = Stranger(Path(self.course))
        try:
            return super().preprocess(nb, resources, km)
        finally:
            self._stranger.leave()

    async def async_start_new_kernel(self, **keywords):
        """Start the student's kernel, without the class's phrase in its environment."""
        hidden = (VARIABLE, "PYTHONPATH")
        keywords["env"] = {k: v for k, v in os.environ.items() if k not in hidden}
        if self._stranger:
            keywords |= self._stranger.options(self.km, keywords["env"])
        await super().async_start_new_kernel(**keywords)

    start_new_kernel = run_sync(async_start_new_kernel)  # nbclient's is bound to its own

    async def async_start_new_kernel_client(self):
        """Connect to the kernel; if it died, to a second one: two may have chosen one port."""
        try:
            return await super().async_start_new_kernel_client()
        except RuntimeError:
            self.km = self.create_kernel_manager()
            await self.async_start_new_kernel()
            return await super().async_start_new_kernel_client()

    start_new_kernel_client = run_sync(async_start_new_kernel_client)

    def preprocess_cell(self, cell, resources, index):
        """Judge a test cell, or run a student's cell."""
        if cell.cell_type == "code":
            cell.outputs = []
            if utils.is_grade(cell) and cell.metadata.nbgrader.get("grade_id") in self._tests:
                self._judge(cell)
            else:
                self._run_students_cell(cell, index)
        return cell, resources

    def _given_up(self):
        """Say why no more of this notebook is run, or return None."""
        if self._restarts > self.most_restarts:
            return "the notebook ended too many kernels"
        return "the notebook took too long" if time.monotonic() > self._end else None

    def _run_students_cell(self, cell, index):
        if self._given_up():
            return
        try:
            self._run(cell, index)
            for output in cell.outputs:
                validate(output, "output")
            json.dumps(cell.outputs, ensure_ascii=False).encode()  # as it is written
            self._done.append((cell, index))
        except Exception as error:
            kind = type(error).__name__
            why = {"CellTimeoutError": "It took too long", "DeadKernelError": "The kernel died"}
            message = f"{why.get(kind, 'The kernel sent what nobody can read')}; {LOST}"
            cell.outputs = [new_output("error", ename=kind, evalue=message, traceback=[message])]
            self._restart()

    def _judge(self, cell):
        """Run a test in the gradebook's wording, whatever the student wrote."""
        source = self._tests[cell.metadata.nbgrader["grade_id"]]
        try:
            exec(compile(source, "test", "exec"), self._namespace(source))
        except (Exception, NoAnswer) as error:
            kind, told = type(error).__name__, getattr(error, "told", None)
            text = told or str(error) or "this does not hold"
            plain = told or kind in ("WrongAnswer", "NoAnswer")
            message = text if plain else f"{kind}: {text}"
            cell.outputs = [new_output("error", ename=kind, evalue=text, traceback=[message])]

    def _namespace(self, source):
        """Give a test the names it uses: the student's ones reach into the kernel."""
        namespace = {"np": np}
        give = self._stranger.own if self._stranger else lambda folder: None
        for name in sorted(names_from_outside(source) - set(namespace)):
            run = functools.partial(self._call, name)
            namespace[name] = Remote(name, run, give).resolve()
        return namespace

    def _call(self, name, code):
        """Run code that calls a student's function."""
        if self._given_up():
            raise NoAnswer(f"{name}: not run, since {self._given_up()}.")
        if name in self._stuck:
            raise NoAnswer(f"{name}: it took too long, or ended the kernel, in a test before.")
        cell = new_code_cell(code, metadata={"attnbook": "call"})
        try:
            self._run(cell, 0, store_history=False)
        except Exception as error:
            self._stuck.add(name)
            self._restart()
            late = isinstance(error, CellTimeoutError)
            why = f"gave no result in {self.call_timeout} s" if late else "ended the kernel"
            raise NoAnswer(f"{name}: a call {why}. Does a loop never end?") from error

    def _run(self, cell, index, **options):
        """Run a cell; raise DeadKernelError also if it asked its kernel to end by exit()."""
        self._asked_to_end, self._printed = False, 0
        there = self.nb.cells[index]
        try:
            self.execute_cell(cell, index, **options)
        finally:
            self.nb.cells[index] = there  # a call is no cell of the notebook
        if self._asked_to_end:
            raise DeadKernelError("exit")

    def on_cell_executed(self, **about):
        """Note whether a cell asked the kernel to end: it may do so only after the next one."""
        payloads = about["execute_reply"]["content"].get("payload", [])
        self._asked_to_end |= any(found.get("source") == "ask_exit" for found in payloads)
        super().on_cell_executed(**about)

    def output(self, outs, msg, display_id, cell_index):
        """Keep an output, unless the cell printed too much; the kernel may print for ever."""
        before, self._printed = self._printed, self._printed + len(str(msg["content"]))
        if self._printed <= self.most_output:
            return super().output(outs, msg, display_id, cell_index)
        if before <= self.most_output:
            outs.append(new_output("stream", name="stdout", text="... more output is left out\n"))
        return None

    def _seconds(self, cell):
        limit = self.call_timeout if cell.metadata.get("attnbook") == "call" else self.timeout
        return max(1, min(limit, self._end - time.monotonic()))

    def _restart(self):
        """Begin a kernel anew with the cells that ended well before."""
        self._restarts += 1
        self._cleanup_kernel()
        if self._stranger:
            self._stranger.kill()
        self.km = self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for cell, index in self._done:
            if self._given_up():
                return
            outputs = cell.outputs
            # It ended well before; if it does not now, give up on it.
            with contextlib.suppress(Exception):
                self._run(cell, index)
            cell.outputs = outputs
