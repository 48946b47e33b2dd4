"""The one door for what students hand in: of each answer, by its id, its text comes through.

A download of Canvas's or Moodle's, a shared folder and files put by hand are read in one way: files
are opened without following links, and their owner and kind are asked of what was opened; bytes,
seconds and depth are limited; archives and JSON are read in the sandbox. What goes on to nbgrader
is the release itself, with the texts in the cells of its answers.
"""

from __future__ import annotations

import calendar
import contextlib
import copy
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
import threading
import time
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from course.grading import sandbox

READING = Path(__file__).with_name("reading.py").read_text(encoding="utf-8")
LARGEST = 2**22  # bytes of a submission
LONGEST = 7_000  # characters of an answer: to colour code takes the square of its length
SECONDS = 30  # to read one submission
STARTS = 300  # seconds until the first is read
MOST = 100  # files of an upload of Moodle's that is a folder
TRIES = 5  # submissions of one student that are read
STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # safe as a folder, in a page, in a table
# Canvas names an upload NAME_STUDENT_NUMBER_FILE, or NAME_LATE_STUDENT_NUMBER_FILE, Moodle
# NAME_STUDENT_assignsubmission_file_FILE, and a folder NAME_STUDENT_assignsubmission_file or that
# with a _ behind it. What follows is the student's own, and has to begin with the assignment's
# name: then nobody can call himself, or a file in a zip, so that it counts as another student's.
UPLOAD = re.compile(r".*?_(\d{1,30})_(?:(\d{1,30})_|assignsubmission_file(?:_|$))", re.S)
SHARED = re.compile(r"([^+]*)\+([^+]*)\+(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)? UTC(\+.*)?", re.S)
SECRET = "submission_secret.txt"  # by which nbgrader gives feedback back, as well as by the date
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LEDGER = "collected.json"  # what came through this door
EARLY = "its reading ended early: does python -m course.grading.sandbox say why?"


class Upload(NamedTuple):
    """A submission: whose it is, how it came, its place among those of its student, its texts."""

    file: str
    student: str = ""
    way: str = "by hand"
    order: float = 0
    date: str = ""
    secret: str = ""
    texts: dict = {}  # noqa: RUF012 - nobody changes it
    others: int = 0
    problem: str = ""


class Row(NamedTuple):
    """What became of a submission: collected, as before, kept, left out or REFUSED."""

    student: str
    what: str
    why: str
    file: str


def plain(text: str) -> str:
    """Return a text with a ? for each character that a terminal may take for more than a letter."""
    return "".join(c if c.isprintable() else "?" for c in text)[:120]


def whose(parts: tuple[str, ...], assignment: str) -> Upload:
    """Return whose a file is by its path, and what is wrong with that."""
    file, notebook = "/".join(parts), f"{assignment}.ipynb"
    named = f"no notebook, or zip of one, whose name begins with {assignment}"
    for i, part in enumerate(parts):
        if found := UPLOAD.match(part):
            own = [*filter(None, [part[found.end() :]]), *parts[i + 1 :][-1:]]
            ours = all(name.startswith(assignment) for name in own)
            ours &= parts[-1].endswith((".ipynb", ".zip"))
            order = int(found[2] or 0)
            return Upload(file, found[1], "upload", order, problem="" if ours else named)
    if found := SHARED.fullmatch(parts[0]):
        date, fraction = found[3], found[4] or ".0"
        try:
            when = calendar.timegm(time.strptime(date, "%Y-%m-%d %H:%M:%S")) + float(fraction)
        except ValueError:
            return Upload(file, problem="its date is none")
        late = "its date is yet to come" if when > time.time() + 60 else ""
        return Upload(file, found[1], "shared", when, f"{date}{fraction} UTC", problem=late)
    if parts[1:] in [(notebook,), (assignment, notebook)]:
        return Upload(file, parts[0])
    student, ending = os.path.splitext(parts[0])
    if len(parts) == 1 and ending == ".ipynb" and not student.startswith(assignment):
        return Upload(file, student)
    return Upload(file, problem="its name tells no student")


def _open(top: int, *parts: str) -> int:
    """Open what is at a path below an opened folder; follow no link, wait for nobody."""
    opened = os.dup(top)
    for part in parts:
        try:
            within = os.open(part, FLAGS, dir_fd=opened)
        finally:
            os.close(opened)
        opened = within
    return opened


def _content(top: int, parts: tuple[str, ...], owners: set[str], most: int) -> bytes:
    """Return the bytes of a plain file of one of these owners; raise ValueError for another."""
    try:
        opened = _open(top, *parts)
    except OSError as error:
        raise ValueError("a link" if error.errno == errno.ELOOP else error.strerror) from None
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
            raise ValueError("no plain file, or one with two names")
        if (owner := _name(about.st_uid)) not in owners:
            raise ValueError(f"it belongs to {owner}")
        with open(opened, "rb", closefd=False) as file:
            found = file.read(most + 1)
    finally:
        os.close(opened)
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
        self.release = json.loads(path.read_text("utf-8"))
        cells = [cell for cell in self.release["cells"] if "nbgrader" in cell["metadata"]]
        self.cells = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in cells}
        listed = root / "students.txt"
        self.students = listed.read_text("utf-8").split() if listed.exists() else None

    def collect(self, source: Path) -> list[Row]:
        """Collect from a download or a folder; say what became of each file."""
        rows, by_student = [], defaultdict(list)
        for upload in self._uploads(source):
            student, file = plain(upload.student), plain(upload.file)
            if problem := upload.problem or self._of_nobody(upload.student):
                rows.append(Row(student, "REFUSED", plain(problem), file))
            else:
                by_student[upload.student].append(upload)
        for student, uploads in by_student.items():
            *older, newest = sorted(uploads, key=lambda upload: (upload.order, -len(upload.file)))
            rows += [Row(student, "left out", "one is newer", plain(old.file)) for old in older]
            rows.append(Row(student, *self._put(newest), plain(newest.file)))
        return sorted(rows)

    def _of_nobody(self, student):
        if not STUDENT.fullmatch(student):
            return "no name for a student"
        return "" if student in (self.students or [student]) else "students.txt has no such name"

    def _uploads(self, source):
        opened = os.open(source, FLAGS)
        try:
            if stat.S_ISREG(os.fstat(opened).st_mode):
                yield from self._read(opened)
                return
            with tempfile.TemporaryFile() as packed:
                with zipfile.ZipFile(packed, "w") as archive:
                    uploads = [*self._packed(opened, archive)]
                yield from (upload for upload in uploads if upload.problem)
                yield from self._read(packed, [upload for upload in uploads if not upload.problem])
        finally:
            os.close(opened)

    def _packed(self, top, archive):
        """Copy what may be a submission from a folder into an archive, and yield each."""
        own, tried = {_name(os.fstat(top).st_uid), _name(os.geteuid())}, Counter()
        for name in sorted(os.listdir(top), reverse=True):
            shared = SHARED.fullmatch(name)
            if name.startswith(".") or (shared and shared[2] != self.assignment):
                continue
            for parts in self._within(top, name):
                upload = whose(parts, self.assignment)
                owners = {upload.student} if shared else own
                try:
                    content = _content(top, parts, owners, LARGEST)
                    if upload.problem or tried[upload.student] >= TRIES:
                        raise ValueError(upload.problem or f"more than {TRIES} are newer")
                    archive.writestr("/".join(map(ascii, parts)), content)
                    tried[upload.student] += 1
                    if shared:
                        with contextlib.suppress(ValueError):
                            secret = _content(top, (name, SECRET), owners, 128).decode()
                            upload = upload._replace(secret=re.sub("[^0-9a-f]", "", secret))
                except ValueError as error:
                    upload = upload._replace(problem=str(error))
                yield upload

    def _within(self, top, name):
        """Return the paths of what may be submissions in what has a name in a folder."""
        notebook = f"{self.assignment}.ipynb"
        if SHARED.fullmatch(name):
            return [(name, notebook)]
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(os.close, opened := _open(top, name))
            if not stat.S_ISDIR(os.fstat(opened).st_mode):
                return [(name,)]
            inside = sorted(itertools.islice((each.name for each in os.scandir(opened)), MOST))
            if UPLOAD.match(name):
                return [(name, each) for each in inside]
            return [(name, *[self.assignment] * (self.assignment in inside), notebook)]
        return [(name,)]

    def _read(self, file, known=()):
        """Yield what is in an archive; whose it is its names tell, unless it is known."""
        skip, begun = 0, self
        while begun:  # what ended a reading: what comes after it is read by another
            begun, over = None, False
            for line in self._lines(file, skip):
                if "at" in line:
                    skip, parts = line["at"] + 1, tuple(line["file"].split("/"))
                    begun = known[line["at"]] if known else whose(parts, self.assignment)
                elif begun:
                    line["problem"] = begun.problem or line.get("problem", "")
                    yield begun._replace(**line)
                    begun = None
                else:  # broken, or done
                    over = True
                    if "broken" in line:
                        yield Upload("", problem=line["broken"])
            if begun:
                yield begun._replace(problem=f"to read it takes more than {SECONDS} s, or memory")
            elif not over:
                raise OSError(EARLY)

    def _lines(self, file, skip):
        about = json.dumps([self.assignment, [*self.cells], LARGEST, LONGEST, skip])
        command = [sys.executable, "-I", "-S", "-c", READING, about]
        command = command if sandbox.why_not() else sandbox.confined(command)
        pipes = {"stdin": file, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment, seconds = sandbox.bare(), STARTS
        with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
            try:
                while True:
                    timer = threading.Timer(seconds, sandbox.end, [process])
                    timer.start()
                    line, seconds = process.stdout.readline(LARGEST), SECONDS
                    timer.cancel()
                    if not line.endswith(b"\n"):
                        return
                    yield json.loads(line)
            finally:
                sandbox.end(process)

    def _put(self, upload):
        """Put a submission where nbgrader looks, unless a better one is there; say so."""
        notebook, answered, changed = copy.deepcopy(self.release), 0, []
        for cell in notebook["cells"]:
            role = cell["metadata"].get("nbgrader", {})
            name, released = role.get("grade_id"), "".join(cell["source"])
            text = upload.texts.get(name, "" if name else released)
            differs = text.strip() != released.strip()
            if role.get("solution"):
                cell["source"] = text
                answered += bool(text.strip() and differs)
            elif differs:
                changed.append(name)
        content = (json.dumps(notebook, indent=1) + "\n").encode()
        about = {"way": upload.way, "order": upload.order, "answered": answered}
        about["sha256"] = hashlib.sha256(content).hexdigest()
        ledger = _ledger(self.root)
        before = ledger.get(self.assignment, {}).get(upload.student)
        folder = self.root / "submitted" / upload.student / self.assignment
        if folder.exists() and (before or {}).get("sha256") != _digest(folder):
            return "REFUSED", f"{folder} did not come by this door: move it away"
        if before and folder.exists():
            if before["way"] == upload.way and before["order"] > upload.order:
                return "kept", "what was collected before is newer"
            if before["answered"] > answered:
                return "kept", f"{before['answered']} tasks were answered before, here {answered}"
        made = folder.with_name(f".{folder.name}")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        beside = {"timestamp.txt": upload.date, SECRET: upload.secret}
        for name, text in {f"{self.assignment}.ipynb": content.decode(), **beside}.items():
            if text:
                (made / name).write_text(text, encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
        ledger.setdefault(self.assignment, {})[upload.student] = about
        kept = self.root / f"{LEDGER}.new"
        kept.write_text(json.dumps(ledger, indent=1))
        kept.replace(self.root / LEDGER)
        said = [f"{', '.join(changed)} changed or missing: as released"] if changed else []
        said += [f"{upload.others} cells of the student's own left out"] if upload.others else []
        same = before and before["sha256"] == about["sha256"]
        return "as before" if same else "collected", "; ".join(said)


def _ledger(root: Path) -> dict:
    file = root / LEDGER
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def _digest(folder: Path) -> str:
    """Return the digest of a submission that has no more than the door put there."""
    inside = [*folder.iterdir()] if folder.is_dir() and not folder.is_symlink() else []
    notebook = folder / f"{folder.name}.ipynb"
    ours = {notebook, *(folder / name for name in (SECRET, "timestamp.txt"))}
    if notebook not in inside or not ours.issuperset(inside):
        return ""
    if any(path.is_symlink() or not path.is_file() for path in inside):
        return ""
    return hashlib.sha256(notebook.read_bytes()).hexdigest()


def only_collected(notebooks: list[str], **_) -> None:
    """Stop before what did not come by the door is read."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        about = _ledger(folder.parents[2]).get(folder.name, {}).get(folder.parent.name)
        if not about or about["sha256"] != _digest(folder):
            raise sandbox.StopError(
                f"Grading stops: {folder} was not put there by make collect. Move it away, and "
                "collect it from there"
            )
