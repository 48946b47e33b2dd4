"""Collect what students handed in from the files that Canvas or Moodle lets you download."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from nbgrader.plugins import FileNameCollectorPlugin


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
        for path in filter(Path.is_file, self.folder.rglob("*")):
            student, age, named = self.read(path)
            found = ours if named and path.suffix == ".ipynb" else others
            found.setdefault(student, []).append((age, path))
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
