"""The one door for what students hand in: of each answer, by its id, its text comes through.

A download of Canvas's or Moodle's, a shared folder and files put by hand are read in one way: files
are opened without following links, and their owner and kind are asked of what was opened; bytes,
seconds and depth are limited; archives and JSON are read in the sandbox. What goes on to nbgrader
is the release itself, with the texts in the cells of its answers.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import itertools
import json
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from course.grading import sandbox
from course.words import say

READING = Path(__file__).with_name("reading.py").read_text(encoding="utf-8")
LARGEST = 2**22  # bytes of a submission
LONGEST = 7_000  # characters of an answer: to colour code takes the square of its length
SECONDS = 60  # to start a sandbox and read one submission there
MOST = 100  # files of an upload of Moodle's that is a folder
TRIES = 5  # submissions of one student that are read until one can be
STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # safe as a folder, in a page, in a table
# Canvas names an upload NAME_STUDENT_NUMBER_FILE, or NAME_LATE_STUDENT_NUMBER_FILE, Moodle
# NAME_STUDENT_assignsubmission_file_FILE, and a folder NAME_STUDENT_assignsubmission_file or that
# with a _ behind it. What follows is the student's own, and has to begin with the assignment's
# name: then nobody can call himself, or a file in a zip, so that it counts as another student's.
UPLOAD = re.compile(r"(?sa).*?_(\d{1,30})_(?:(\d{1,30})_|assignsubmission_file(?:_|$))")
SHARED = re.compile(r"(?sa)([^+]*)\+([^+]*)\+(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) UTC(\+.*)?")
BY_HAND = r"(?s)(?!{0})([^/]+)\.ipynb|([^/]+)/(?:{0}/)?{0}\.ipynb"
SECRET = "submission_secret.txt"  # by which nbgrader gives feedback back, as well as by the date
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LEDGER = "collected.json"  # what came through this door


class Upload(NamedTuple):
    """What may be a submission: where it lies, whose it is, how it came, its place among others."""

    parts: tuple[str, ...]
    student: str = ""
    way: str = "by hand"
    order: float = 0
    problem: str = ""
    at: int | None = None  # where in an archive

    def row(self, what: str, why: str) -> Row:
        """Return what became of it."""
        return Row(plain(self.student), what, plain(why, 1000), plain("/".join(self.parts)))


class Row(NamedTuple):
    """What became of a submission: collected, as before, kept, left out or REFUSED."""

    student: str
    what: str
    why: str
    file: str


def plain(text: str, most: int = 120) -> str:
    """Return a text with a ? for each character that a terminal may take for more than a letter."""
    return "".join(c if c.isprintable() else "?" for c in text)[:most]


def whose(parts: tuple[str, ...], assignment: str) -> Upload:
    """Return whose a file is by its path, and what is wrong with that."""
    for i, part in enumerate(parts):
        if found := UPLOAD.match(part):
            problem, own = "", [part[found.end() :] or assignment, *parts[i + 1 :][-1:]]
            if UPLOAD.match(part, found.end()):
                problem = "whose it is can be read in two ways"
            elif not (
                own[-1].endswith((".ipynb", ".zip")) and all(n.startswith(assignment) for n in own)
            ):
                problem = f"no notebook, or zip of one, whose name begins with {assignment}"
            return Upload(parts, found[1], "upload", int(found[2] or 0), problem)
    if found := SHARED.fullmatch(parts[0]):
        try:
            when = datetime.datetime.fromisoformat(f"{found[3]}+00:00").timestamp()
        except ValueError:
            when = -1  # as of years for which nbgrader has no words
        if when < 0:
            return Upload(parts, problem="its date is none")
        late = "its date is yet to come" if when > time.time() + 60 else ""
        return Upload(parts, found[1], "shared", when, late)
    by_hand = BY_HAND.format(re.escape(assignment))
    if found := re.fullmatch(by_hand, "/".join(parts)):
        return Upload(parts, found[1] or found[2])
    return Upload(parts, problem="its name tells no student")


def _content(top: int, parts: tuple[str, ...], owners: set[str], most: int) -> bytes:
    """Return the bytes of a plain file of one of these owners; raise ValueError for another.

    It is opened step by step below an opened folder; no link is followed, nobody waited for.
    """
    device = os.fstat(top).st_dev
    with contextlib.ExitStack() as stack:
        try:
            for part in parts:
                stack.callback(os.close, top := os.open(part, FLAGS, dir_fd=top))
        except OSError as error:
            problem = "a link" if error.errno == errno.ELOOP else error.strerror
            raise ValueError(problem) from None
        about = os.fstat(top)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            raise ValueError("no plain file, or one with two names")
        if about.st_dev != device:  # whose owner may say there what he likes
            raise ValueError("on a file system of its own")
        if (owner := _name(about.st_uid)) not in owners:
            raise ValueError(f"it belongs to {owner}")
        with open(top, "rb", closefd=False) as file:
            found = file.read(most + 1)
    if len(found) > most:
        raise ValueError(f"larger than {most} bytes")
    return found


def _name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


class Door:
    """The door of one assignment, in a course's folder."""

    def __init__(self, root: Path, assignment: str):
        self.root, self.assignment = root, assignment
        path = root / "release" / assignment / f"{assignment}.ipynb"
        self.release = path.read_text("utf-8")
        roles = [cell["metadata"].get("nbgrader") for cell in json.loads(self.release)["cells"]]
        self.names = [role["grade_id"] for role in roles if role]
        listed = root / "students.txt"
        self.students = listed.read_text("utf-8").split() if listed.exists() else None

    def collect(self, source: Path) -> list[Row]:
        """Collect from a download or a folder; say what became of each file."""
        rows, uploads = [], []
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, opened := os.open(source, FLAGS))
            archive = stat.S_ISREG(os.fstat(opened).st_mode)
            for upload in self._packed(opened) if archive else self._laid(opened):
                if problem := upload.problem or self._of_nobody(upload.student):
                    rows.append(upload.row("REFUSED", problem))
                else:
                    uploads.append(upload)
            uploads.sort(key=lambda u: (u.student, -u.order, len("/".join(u.parts)), u))
            for _, waiting in itertools.groupby(uploads, lambda u: u.student):
                rows += self._newest(opened, waiting)
        return sorted(rows)

    def _of_nobody(self, student):
        if not STUDENT.fullmatch(student):
            return "no name for a student"
        return "" if student in (self.students or [student]) else "students.txt has no such name"

    def _packed(self, opened):
        """Yield what may be submissions in an archive."""
        for at, name in enumerate(self._read("names", opened)):
            if not name.endswith("/"):
                yield whose(tuple(name.split("/")), self.assignment)._replace(at=at)

    def _laid(self, top):
        """Yield what may be submissions in a folder; no link is followed to see what is in it."""
        notebook = f"{self.assignment}.ipynb"
        for name in os.listdir(top):
            shared, paths = SHARED.fullmatch(name), [(name, notebook)]
            if name.startswith(".") or (shared and shared[2] != self.assignment):
                continue
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                stack.callback(os.close, opened := os.open(name, FLAGS, dir_fd=top))
                paths = [(name,)]  # if it is no folder
                within = stack.enter_context(os.scandir(opened))
                inside = {each.name for each in itertools.islice(within, MOST)}
                deeper = [self.assignment] * (self.assignment in inside and not shared)
                paths = [(name, *deeper, notebook)]
                if UPLOAD.match(name):
                    paths = [(name, each) for each in inside]
            yield from (whose(path, self.assignment) for path in paths)

    def _newest(self, opened, waiting):
        """Put the newest of a student's submissions that can be read; yield what became of each."""
        tried = 0
        for upload in waiting:
            try:
                content = self._content(opened, upload) if upload.at is None else None
                if (tried := tried + 1) > TRIES:
                    raise ValueError(f"{TRIES} that are newer cannot be read")
                found = self._read(upload.at, opened, content)
            except ValueError as error:
                yield upload.row("REFUSED", str(error))
            else:
                yield upload.row(*self._put(opened, upload, **found))
                for other in waiting:
                    why = "one is newer" if upload.order > other.order else "another counts"
                    yield other.row("left out", why)

    def _content(self, top, upload, beside="", most=LARGEST):
        """Return the bytes of a submission in a folder, or of a file beside it."""
        own = {_name(os.fstat(top).st_uid), _name(os.geteuid())}
        parts = (upload.parts[0], beside) if beside else upload.parts
        return _content(top, parts, {upload.student} if upload.way == "shared" else own, most)

    def _read(self, at, archive, content=None):
        """Return what is in a file, or at a place in an archive; it is read in the sandbox."""
        about = json.dumps([at, self.assignment, self.names, LARGEST, LONGEST])
        command = [sys.executable, "-I", "-S", "-c", READING, about]
        command = command if sandbox.why_not() else sandbox.confined(command)
        how = {"stdin": archive if content is None else subprocess.PIPE, "start_new_session": True}
        how |= {"stderr": subprocess.DEVNULL, "env": sandbox.bare()}
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen(command, stdout=said, **how) as process:
                try:
                    process.communicate(content, timeout=SECONDS)
                except subprocess.TimeoutExpired:
                    sandbox.end(process)
            said.seek(0)
            begun, line = said.readline(), said.readline(4 * LARGEST)
        if not begun:
            raise OSError("its reading ended early: does python -m course.grading.sandbox say why?")
        if not line.endswith(b"\n"):
            raise ValueError(f"to read it takes more than {SECONDS} s, or memory")
        found, problem = json.loads(line)
        if problem:
            raise ValueError(problem)
        return found

    def _put(self, opened, upload, texts, others):
        """Put a submission where nbgrader looks, unless a better one is there; say so."""
        notebook, answered, changed = json.loads(self.release), 0, []
        for cell in notebook["cells"]:
            if role := cell["metadata"].get("nbgrader"):
                text = texts.get(role["grade_id"], "")
                differs = text.strip() != "".join(cell["source"]).strip()
                if role["solution"]:
                    cell["source"] = text
                    answered += bool(text.strip() and differs)
                elif differs:
                    changed.append(role["grade_id"])
        ledger = _ledger(self.root)
        collected = ledger.setdefault(self.assignment, {})
        before = collected.get(upload.student, {})
        folder = self.root / "submitted" / upload.student / self.assignment
        if folder.exists():
            if before.get("sha256") != _digest(folder):
                return "REFUSED", f"{folder} did not come by this door: move it away"
            if before["way"] == upload.way and before["order"] > upload.order:
                return "kept", "what was collected before is newer"
            if before["answered"] > answered:
                return "kept", f"{before['answered']} tasks were answered before, here {answered}"
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        (folder / f"{self.assignment}.ipynb").write_text(json.dumps(notebook, indent=1) + "\n")
        if upload.way == "shared":
            (folder / "timestamp.txt").write_text(f"{SHARED.fullmatch(upload.parts[0])[3]} UTC")
            with contextlib.suppress(ValueError):
                secret = self._content(opened, upload, SECRET, most=128)
                if re.fullmatch(rb"[0-9a-f]+", secret):
                    (folder / SECRET).write_bytes(secret)
        about = {"way": upload.way, "order": upload.order, "answered": answered}
        collected[upload.student] = about | {"sha256": _digest(folder)}
        kept = self.root / f"{LEDGER}.new"
        kept.write_text(json.dumps(ledger, indent=1))
        kept.replace(self.root / LEDGER)
        said = [f"{', '.join(changed)} changed or missing: as released"] if changed else []
        said += [f"{others} cells of the student's own left out"] if others else []
        same = before.get("sha256") == collected[upload.student]["sha256"]
        return "as before" if same else "collected", "; ".join(said)


def _ledger(root: Path) -> dict:
    file = root / LEDGER
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def _digest(folder: Path) -> str:
    """Return the digest of all that lies in a submission's folder."""
    inside = sorted(
        (str(path.relative_to(folder)), path.is_symlink(), path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    )
    return "" if folder.is_symlink() else hashlib.sha256(repr(inside).encode()).hexdigest()


def only_collected(notebooks: list[str], **_) -> None:
    """Stop before what did not come by the door is read."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        about = _ledger(folder.parents[2]).get(folder.name, {}).get(folder.parent.name)
        if not about or about["sha256"] != _digest(folder):
            raise sandbox.StopError(say("not_by_the_door", folder=folder))
