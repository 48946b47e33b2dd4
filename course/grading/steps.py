"""Small steps of nbgrader's release, feedback and return."""

from __future__ import annotations

import functools
import signal
import threading
from glob import glob
from pathlib import Path

from nbconvert.preprocessors import Preprocessor
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.plugins import ExtractorPlugin
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells

from course.grading.seeds import SEED, class_phrase, class_seed

# Bootstrap, which nbgrader brings, would break within words.
STYLE = ".output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal }"

COLLECT = "Nothing was collected. In the repository's root, use make collect: see Assign and grade."
POLICY = """<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">"""


class SetClassSeed(NbGraderPreprocessor):
    """Put the class's public seed where the master has a 0."""

    def preprocess_cell(self, cell, resources, index):
        """Replace the seed in one cell."""
        if cell.cell_type == "code":
            seed = SEED.format(class_seed(class_phrase()))
            cell.source = cell.source.replace(SEED.format(0), seed)
        return cell, resources


class AddHiddenTests(OverwriteCells):
    """Put the hidden tests, and what else the gradebook has, into the release's cells."""

    def report_change(self, name, attr, old, new):
        """Say nothing: the door let nothing of a student's into such a cell."""


class LateError(BaseException):
    """A step took too long; whatever is passed over in silence, this is not."""


def in_time(convert):
    """Give one notebook's conversion, our own steps among them, a time in which it must end."""

    @functools.wraps(convert)
    def within(self, filename):
        if threading.current_thread() is not threading.main_thread():
            return convert(self, filename)  # no signal comes there
        seconds = 120 + int(self.config.JudgedExecute.get("most_seconds", 300))

        def late(*_):
            raise LateError

        before = signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, seconds, 5)
        try:
            return convert(self, filename)
        except LateError:
            raise TimeoutError(f"{filename} took more than {seconds} s") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return within


class ByTheDoor(ExchangeCollect):
    """Collect nothing in nbgrader's way, which follows links and believes names."""

    def start(self):
        """Say what collects."""
        self.fail(COLLECT)


class UnpackNothing(ExtractorPlugin):
    """Unpack no download in nbgrader's way, which stops at one broken file."""

    def extract(self, *_, **__):
        """Say what collects."""
        raise SystemExit(COLLECT)


class InertPage(Preprocessor):
    """Let a page of feedback load and run nothing, and wrap its outputs.

    nbgrader's page cuts a message off at its right edge. A template of our own would not do:
    Formgrader makes feedback by nbgrader's, whatever is set.
    """

    enabled = True

    def preprocess(self, nb, resources):
        """Add to the page's styles, which CSSHTMLHeaderPreprocessor has begun."""
        resources["inlining"]["css"].append(f"{STYLE}</style>{POLICY}<style>")
        return nb, resources


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Name, and leave out, who handed in otherwise: nbgrader would stop at the first one.

    A student fetches feedback by a secret that `nbgrader submit` makes; without it nobody can.
    """

    def copy_files(self):
        """Copy the feedback of those who have a secret."""
        for page in map(Path, sorted(glob(f"{self.src_path}/*.html"))):
            if not page.with_name("submission_secret.txt").exists():
                self.coursedir.student_id_exclude += f",{page.parents[1].name}"
                self.log.warning("Not handed in by nbgrader submit: give the student %s", page)
        super().copy_files()
