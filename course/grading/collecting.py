"""Collect what students handed in from the files that Canvas or Moodle lets you download."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import FileNameCollectorPlugin


def links(folder: Path) -> list[Path]:
    """Return what in a folder is neither a file nor a folder, as links are; or the folder itself.

    What a link leads to is the grader's to read, not the student's.
    """
    inside = [Path(at, name) for at, *names in os.walk(folder) for each in names for name in each]
    return [p for p in [folder, *inside] if p.is_symlink() or not (p.is_file() or p.is_dir())]


class LinkError(KeyboardInterrupt):
    """A submission has a link in it: after any other error nbgrader would follow it."""


def refuse_links(notebooks: list[str], **_) -> None:
    """Stop before a submission is read that has a link in it, which some hand put there."""
    for folder in {Path(notebook).parent for notebook in notebooks}:
        if linked := links(folder):
            raise LinkError(
                f"Grading stops, since this is a link, or no file: {linked[0]}. Move it"
            )


class NoLinks(ExchangeCollect):
    """Collect no submission that has a link in it, and name it."""

    def do_copy(self, src, dest, log=None):
        """Copy a submission."""
        if linked := links(Path(src)):
            self.log.error("NOT COLLECTED, since it has a link in it: %s", linked[0])
        else:
            super().do_copy(src, dest, log)


class NewestUpload(FileNameCollectorPlugin):
    """Take one notebook of each student: the newest that is named after the assignment.

    `named_regexp` reads the name of an upload as far as Canvas or Moodle writes it. What follows is
    the student's own, and has to begin with the assignment's name: then nobody can call himself, or
    a file in a zip, so that it counts as another student's.
    """

    @cached_property
    def folder(self) -> Path:
        """Return the folder into which the download was unpacked."""
        return Path(self.parent._format_collect_path(self.parent.extracted_directory))

    @cached_property
    def newest(self) -> dict[str, Path]:
        """Return each student's newest notebook; warn of students who have none."""
        ours, others = {}, {}
        for path in self.folder.rglob("*"):
            if path.is_symlink() or not path.is_file():
                continue
            student, age, named = self.read(path)
            by_student = ours if named and path.suffix == ".ipynb" else others
            by_student.setdefault(student, []).append((age, path))
        for student in sorted(filter(None, others.keys() - ours.keys())):
            _, path = max(others[student])
            wanted = f"no notebook whose name begins with {self.assignment}"
            self.log.warning("%s is NOT COLLECTED: %s, but %s", student, wanted, path.name)
        return {student: max(files)[1] for student, files in ours.items()}

    @property
    def assignment(self) -> str:
        """Return the name of the assignment that is collected."""
        return self.parent.coursedir.assignment_id

    def read(self, path: Path) -> tuple[str | None, tuple[int, int], bool]:
        """Return whose file it is, how new, and whether it is named after the assignment.

        It may be nobody's: None. Of an upload with several files the one with the shortest path
        counts as the newest.
        """
        parts = path.relative_to(self.folder).parts
        for i, part in enumerate(parts):
            if match := re.match(self.named_regexp, part):
                own = filter(None, [part[match.end() :], *parts[i + 1 :][-1:]])
                named = all(name.startswith(self.assignment) for name in own)
                return match["student_id"], (int(match["upload"] or 0), -len(str(path))), named
        return None, (0, 0), False

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return the student and the assignment's name; None for what is not to be collected."""
        path = Path(submitted_file)
        student, _, named = self.read(path)
        if not named or self.newest.get(student) != path:
            return None
        return {"student_id": student, "file_id": self.assignment}
