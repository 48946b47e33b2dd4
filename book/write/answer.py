"""Runs in the reader's browser, in a worker: an answer that was typed there, and its check.

`worker.js` has this text. What is printed goes to `tell`, at most so much of it as one reads.
"""

import ast
import contextlib
import functools
import io
import json
import linecache
import time
import traceback

from attnbook.exercises import WrongAnswer, check

PLACE = "answer.py"
LINES, LETTERS = 200, 20_000


class NoInput(RuntimeError):
    """An answer asked for something to be typed."""


def no_input(prompt=""):
    raise NoInput


class Told(io.TextIOBase):
    """What is printed: told now and then, and when it is long no more, but counted."""

    def __init__(self, tell):
        self.tell, self.waiting, self.last = tell, "", time.monotonic()
        self.lines = self.letters = self.left = 0

    def write(self, text):
        lines = text.splitlines(keepends=True)
        kept = "".join(lines[: max(LINES - self.lines, 0)])[: max(LETTERS - self.letters, 0)]
        self.waiting += kept
        self.lines += kept.count("\n")
        self.letters += len(kept)
        self.left += text.count("\n") - kept.count("\n")
        if time.monotonic() > self.last + 0.1:
            self.flush()
        return len(text)

    def flush(self):
        if self.waiting:
            # What is half a letter only, which Python allows, no page can show.
            self.tell(self.waiting.encode("utf-8", "backslashreplace").decode())
        self.waiting, self.last = "", time.monotonic()


def play(text, earlier, name, function, tell):
    """Run an answer, and check it if it has a name; return as JSON what became of it.

    What the reader has solved before, on the same page, is there, as it is in a notebook.
    """
    space = {"__name__": "__main__", "check": check, "input": no_input}
    before = Told(lambda _: None)
    with contextlib.redirect_stdout(before), contextlib.redirect_stderr(before):
        for each in earlier:
            with contextlib.suppress(Exception, SystemExit):
                exec(compile(each, "earlier.py", "exec"), space)
    space.pop(function, None)
    linecache.cache[PLACE] = len(text), None, text.splitlines(keepends=True), PLACE
    told = Told(tell)
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        result = judge(text, space, name, function)
    told.flush()
    return json.dumps({**result, "left": told.left})


def judge(text, space, name, function):
    raised = []  # by the answer, while it was checked
    try:
        run(text, space)
        if not name:
            return {"kind": "ran"}
        if function not in space:
            return {"kind": "missing"}
        check(name, noting(space[function], raised))
    except WrongAnswer as wrong:
        return {
            "kind": "wrong",
            "message": str(wrong),
            "line": place(raised[-1]) if raised else 0,
        }
    except MemoryError:
        return {"kind": "memory"}
    except NoInput as error:
        return {"kind": "input", "line": place(error)}
    except BaseException as error:  # exit() and Ctrl-C of an answer's own, too
        shown = traceback.TracebackException.from_exception(error)
        frames = [frame for frame in shown.stack if frame.filename == PLACE]
        shown.stack = traceback.StackSummary.from_list(frames)
        told = "".join(shown.format(chain=False))[-LETTERS:]
        return {
            "kind": "error",
            "error": type(error).__name__,
            "line": place(error),
            "told": told,
        }
    return {"kind": "accepted"}


def run(text, space):
    """Run a text and, as a notebook does, print the value of its last line."""
    tree = ast.parse(text, PLACE)
    last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, PLACE, "exec"), space)
    if last and (value := eval(compile(ast.Expression(last), PLACE, "eval"), space)) is not None:
        print(repr(value))


def noting(answer, raised):
    """Return an answer that is the same, and keeps what it raises."""
    if not callable(answer):
        return answer  # and `check` says what it takes

    @functools.wraps(answer)
    def noted(*arguments, **named):
        try:
            return answer(*arguments, **named)
        except Exception as error:
            raised.append(error)
            raise

    return noted


def place(error):
    """Return the line of an answer in which it failed, or 0."""
    if isinstance(error, SyntaxError) and error.filename == PLACE:
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == PLACE), 0)
