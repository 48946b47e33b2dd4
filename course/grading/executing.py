"""A step of nbgrader's grading: run a submission in two processes.

Students' cells run in their kernel. Test cells run here, in nbgrader's own process, in the
wording that the gradebook keeps; of the kernel they see only what its functions return.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import time
from collections.abc import Iterator
from queue import Empty

import numpy as np
from jupyter_core.utils import run_sync
from nbclient.exceptions import CellExecutionComplete, DeadKernelError
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute
from traitlets import Bool, Integer

from attnbook.exercises import WrongAnswer
from course.grading import on_examples, sandbox
from course.grading.judging import GENERAL
from course.grading.remote import NoAnswer, Remote
from course.grading.seeds import SEED, class_phrase, class_seed
from course.grading.showing import LEFT_OUT, plain_outputs
from course.words import say

# Whose methods, some of them private, are replaced here; a test compares with constraints.txt.
WRITTEN_FOR = {"nbgrader": "0.9.5", "nbclient": "0.11.0"}
SHOWN = {"status", "stream", "display_data", "update_display_data", "execute_result", "error"}
SHOWN |= {"clear_output"}  # messages; those of widgets, for one, are none


def names_from_outside(source: str) -> set[str]:
    """Return the names that code uses and neither makes nor imports nor has from Python."""
    made, used = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            made |= {name.asname or name.name for name in node.names}
        elif isinstance(node, ast.Name):
            (made if isinstance(node.ctx, ast.Store) else used).add(node.id)
    return used - made


def names_a_mistake(error: BaseException) -> bool:
    """Return whether an error says more than that an answer is wrong."""
    return isinstance(error, WrongAnswer) and error.ids[0] not in ("not_written", "raised")


def what_is_told(error: BaseException) -> str:
    """Return what a student reads of an error of a test."""
    text = getattr(error, "told", None) or str(error) or "this does not hold"
    plain = hasattr(error, "told") or isinstance(error, WrongAnswer | NoAnswer)
    return text if plain else f"{type(error).__name__}: {text}"


def raised(statements: list[ast.stmt], namespace: dict) -> Iterator[BaseException]:
    """Run statements of a test one by one; yield what each raises."""
    for statement in statements:
        try:
            exec(compile(ast.Module([statement], []), "test", "exec"), namespace)
        except (Exception, NoAnswer) as error:
            yield error


class AskedToEndError(DeadKernelError):
    """A kernel was asked to end, which it may do only after the next cell."""


def check_exit(reply: dict) -> None:
    """Raise AskedToEndError if what was run asked its kernel to end, as by exit()."""
    if any(asked.get("source") == "ask_exit" for asked in reply["content"].get("payload", [])):
        raise AskedToEndError


class JudgedExecute(Execute):
    """Run students' cells in a kernel, and test cells outside it."""

    call_timeout = Integer(10, help="seconds for one call of a student's function").tag(config=True)
    run_student_code_unconfined = Bool(False, help="without a sandbox").tag(config=True)
    most_restarts = Integer(5, help="kernels that one notebook may use up").tag(config=True)
    most_seconds = Integer(300, help="seconds that one notebook may take in all").tag(config=True)
    most_output = Integer(1_000_000, help="characters that one cell may send").tag(config=True)

    def preprocess(self, nb, resources=None, km=None):
        """Execute and judge a notebook."""
        if sandbox.why_not() and not self.run_student_code_unconfined:
            self._stop(say("no_sandbox", why=sandbox.why_not()))
        self.interrupt_on_timeout = False  # a loop may catch the interrupt: end the kernel instead
        self.raise_on_iopub_timeout = False  # of a flood some is lost, even its end
        self.shutdown_kernel = "immediate"
        self.kernel_manager_class = sandbox.Kernel
        self.on_notebook_start = lambda **_: self.km.connected()
        self.timeout_func = self._seconds
        self._done, self._stuck, self._restarts = [], {}, 0
        self._failed, self._later = None, []
        self._end = time.monotonic() + self.most_seconds
        # These cells have been put back as the gradebook keeps them.
        locked = [cell.source.splitlines() for cell in nb.cells if utils.is_locked(cell)]
        self._check_phrase({line for lines in locked for line in lines})
        return super().preprocess(nb, resources, km)

    def _check_phrase(self, lines):
        """Stop the grading of all students unless the gradebook's seed is the class's."""
        problem = "course/class-phrase.txt is not the phrase of the release"
        try:
            if SEED.format(class_seed(class_phrase())) in lines:
                return
        except RuntimeError as error:
            problem = str(error)
        self._stop(say("no_right_phrase", why=problem))

    def _stop(self, problem):
        self.log.error(problem)
        raise sandbox.StopError(problem)

    def preprocess_cell(self, cell, resources, index):
        """Judge a test cell, or run a student's cell."""
        if cell.cell_type == "code":
            cell.outputs = []
            if utils.is_grade(cell) and utils.is_locked(cell):
                self._judge(cell)
            else:
                self._run_students_cell(cell, index)
        if index == len(self.nb.cells) - 1:
            self._judge_on_the_class_s_data()
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
            cell.outputs = plain_outputs(cell.outputs)
            self._done.append((cell, index))
        except Exception as error:
            self._tell(cell, type(error), [f"{self._why(error, self.timeout)}. {GENERAL['lost']}"])
            self._restart()

    def _why(self, error, limit):
        """Say why the kernel has to begin anew."""
        if isinstance(error, TimeoutError):
            return f"it gave no result in {limit} s (does a loop never end?)"
        if isinstance(error, AskedToEndError):
            return "the kernel was asked to end, as by exit()"
        if isinstance(error, DeadKernelError):
            return sandbox.ended(self.km.provisioner.process.poll())
        return "the kernel sent what nobody can read"

    def _judge(self, cell):
        """Run a test on examples, whatever the student wrote.

        Where a visible check fails, the hidden ones after it still tell which mistake it is.
        """
        namespace, statements, errors = {}, [], []
        try:
            namespace, statements = self._namespace(cell.source), ast.parse(cell.source).body
        except (Exception, NoAnswer) as error:
            errors = [error]
        with on_examples():
            for error in raised(statements, namespace):
                errors += [error] if not errors or names_a_mistake(error) else []
        if errors:
            self._tell(cell, type(errors[0]), [what_is_told(error) for error in errors])
        else:
            self._later.append((cell, statements, namespace))

    def _judge_on_the_class_s_data(self):
        """Judge what is right on examples on the class's data, when no student's cell is left.

        What a student's code now says, or how its kernel ends, nobody is told: it knows the data.
        """
        over = self._given_up()
        for cell, statements, namespace in self._later:
            hidden = [statement for statement in statements if isinstance(statement, ast.Expr)]
            if over or next(raised(hidden, namespace), None):
                why = f"not run, since {over}." if over else GENERAL["not_on_yours"]
                self._tell(cell, WrongAnswer, [why])

    def _tell(self, cell, kind, messages):
        if self._failed:  # it is not the student's fault
            raise self._failed
        about = {"ename": kind.__name__, "evalue": messages[0], "traceback": messages}
        cell.outputs = [new_output("error", **about)]

    def _namespace(self, source):
        """Give a test the names it uses: the student's ones reach into the kernel."""
        namespace = {"np": np}
        for name in sorted(names_from_outside(source) - set(namespace)):
            namespace[name] = Remote(name, functools.partial(self._call, name)).resolve()
        return namespace

    def _call(self, name, expression):
        """Evaluate an expression that calls a student's function; return what it prints as."""
        if why := self._given_up() or self._failed or self._stuck.get(name):
            raise NoAnswer(f"{name}: not run, since {why}.")
        try:
            reply = self._evaluate(expression)
            return reply["content"]["user_expressions"]["reply"]["data"]["text/plain"]
        except (TimeoutError, DeadKernelError) as error:
            why = self._why(error, self.call_timeout)
            self._stuck[name] = f"in a test before {why}"
            self._restart()
            raise NoAnswer(f"{name}: {why}.") from error

    async def _async_evaluate(self, expression):
        """Evaluate an expression in the kernel, whose outputs nobody reads, and return the reply.

        Raises
        ------
        TimeoutError
            If there is no reply in time.
        DeadKernelError
            If the kernel ended, or was asked to.
        """
        end = time.monotonic() + self._seconds()
        name = self.kc.execute("", user_expressions={"reply": expression}, store_history=False)
        while time.monotonic() < end:
            with contextlib.suppress(Empty):
                reply = await self.kc.shell_channel.get_msg(timeout=0.1)
                if reply["parent_header"].get("msg_id") == name:
                    check_exit(reply)
                    return reply
            if not await self.km.is_alive():
                raise DeadKernelError
        raise TimeoutError

    _evaluate = run_sync(_async_evaluate)

    def _run(self, cell, index):
        self._printed = 0
        self.execute_cell(cell, index)

    def on_cell_executed(self, **about):
        """Stop where a cell asked the kernel to end."""
        check_exit(about["execute_reply"])
        super().on_cell_executed(**about)

    def process_message(self, msg, cell, cell_index):
        """Process what a cell shows; leave out what cannot be shown, and what is too much.

        The kernel may print for ever. What ends a cell is always processed.
        """
        before, self._printed = self._printed, self._printed + len(str(msg["content"]))
        if self._printed > self.most_output and msg["msg_type"] != "status":
            if before <= self.most_output:
                cell.outputs.append(new_output("stream", name="stdout", text=LEFT_OUT))
        elif msg["msg_type"] in SHOWN:
            try:
                return super().process_message(msg, cell, cell_index)
            except CellExecutionComplete:
                raise
            except Exception as error:  # a student's code may have sent anything
                self.log.debug("left out: %r", error)
        return None

    def _seconds(self, cell=None):
        """Return how many seconds there are for a cell, or for one call."""
        limit = self.timeout if cell else self.call_timeout
        return max(1, min(limit, self._end - time.monotonic()))

    def _restart(self):
        """Begin a kernel anew with the cells that ended well before."""
        self._restarts += 1
        try:
            self._cleanup_kernel()
            self.km = self.create_kernel_manager()
            self.start_new_kernel()
            self.start_new_kernel_client()
        except Exception as error:
            self._failed = error
            raise
        for cell, index in self._done:
            if self._given_up():
                return
            outputs = cell.outputs
            # It ended well before; if it does not now, give up on it.
            with contextlib.suppress(Exception):
                self._run(cell, index)
            cell.outputs = outputs
