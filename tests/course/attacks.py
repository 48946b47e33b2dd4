"""What attackers hand in beside honest students: in a download, a shared folder, and by hand.

Each attack has a name, which is its student's where it may choose, and what is said of it: the
reason why it is refused, or None where the door lets its answers through.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import os
import pwd
import socket
import struct
import tarfile
import zipfile
from pathlib import Path

from tools import students

ASSIGNMENT = students.ODD_ASSIGNMENT
NOTEBOOK = f"{ASSIGNMENT}.ipynb"
GIVEN = students.ASSIGNMENTS[ASSIGNMENT]
TEXT = "window-reach"  # the cell of the written answer
FULL = dict(GIVEN.solutions)
HONEST = ("honest-1", "honest-2", "honest-3")
DATE = "2026-01-31 12:00:00 UTC"


def released() -> dict:
    """Return the assignment as students get it, made from the master without nbgrader."""
    notebook = json.loads(GIVEN.chapter.master.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if students.role(cell).get("solution"):
            code = cell["cell_type"] == "code"
            cell["source"] = (
                "# YOUR CODE HERE\nraise NotImplementedError" if code else "YOUR ANSWER"
            )
    return notebook


def handed_in(release: dict, texts: dict[str, str] | None = None, change=None) -> bytes:
    """Return a submission as a file's bytes: the release with texts, perhaps changed."""
    notebook = json.loads(json.dumps(release))
    for cell in notebook["cells"]:
        name = students.role(cell).get("grade_id")
        cell["source"] = (FULL if texts is None else texts).get(name, cell["source"])
    if change:
        change(notebook)
    return json.dumps(notebook).encode()


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


# A download: what one student's upload is, by the name that it has there. None: it is collected.


def patched(content: bytes, at: bytes, offset: int, value: bytes) -> bytes:
    """Return a zip with some bytes of each of its headers of one kind changed."""
    changed, where = bytearray(content), content.find(at)
    while where >= 0:
        changed[where + offset : where + offset + len(value)] = value
        where = content.find(at, where + 1)
    return bytes(changed)


@functools.cache
def uploads() -> dict[str, tuple[str, bytes, str | None]]:
    """Return by an attack's name what is behind the student's number, its bytes, and the reason."""
    release = released()
    right = handed_in(release)
    one = zipped({NOTEBOOK: right})
    long = zipped({"x" * 300: b"", NOTEBOOK: right})
    up = zipped({"../../submitted/1/x.ipynb": right, f"../{NOTEBOOK}": right})
    # A file and a folder of one name.
    both = zipped({"a": b"", "a/b": b"", NOTEBOOK: right})
    linked, link = io.BytesIO(), zipfile.ZipInfo(NOTEBOOK)
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(linked, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    bomb = zipped({NOTEBOOK: b" " * 2**25})
    inner = zipped({NOTEBOOK: zipped({NOTEBOOK: right})})
    says_less = patched(patched(bomb, b"PK\1\2", 24, b"\1\0\0\0"), b"PK\3\4", 22, b"\1\0\0\0")
    many = zipped({f"{i}.txt": b"" for i in range(20_000)} | {NOTEBOOK: right})
    other = zipped({"evil_1_9999999_" + NOTEBOOK: right})
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packed:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            about = tarfile.TarInfo(f"{kind.decode()}/{NOTEBOOK}")
            about.type, about.linkname = kind, "/etc/passwd"
            packed.addfile(about)
    tar = archive.getvalue()
    false = patched(one, b"PK\1\2", 16, bytes(4))  # its checksum
    elsewhere = patched(one, b"PK\1\2", 42, b"\xff\xff\xff\x7f")  # where the file begins
    no, big = "it is no notebook", "larger than"
    z = f"{ASSIGNMENT}.zip"
    return {
        "a-tar": (f"{ASSIGNMENT}.tar", tar, "no notebook"),
        "a-tar-as-a-zip": (z, tar, no),
        "false-checksum": (z, false, no),
        "begins-elsewhere": (z, elsewhere, no),
        "behind-a-script": (z, b"#!/bin/sh\ntouch owned\n" + one, no),
        "from-the-root": (z, zipped({f"/etc/{NOTEBOOK}": right}), None),
        "backslashes": (z, zipped({f"..\\..\\{NOTEBOOK}": right}), "no notebook in it"),
        "a-folder-as-a-file": (z, zipped({f"{NOTEBOOK}/": b"", f"{NOTEBOOK}/x": right}), "no note"),
        "broken": (z, b"PK\3\4 broken", no),
        "truncated": (z, one[: len(one) // 2], no),
        "encrypted": (
            z,
            patched(patched(one, b"PK\3\4", 6, b"\1"), b"PK\1\2", 8, b"\1"),
            "encrypted",
        ),
        "gzipped": (f"{NOTEBOOK}.gz", gzip.compress(right), "no notebook"),
        "long-name": (z, long, None),
        "climbs": (z, up, "no notebook in it"),
        "file-and-folder": (z, both, None),
        "a-link-in-a-zip": (z, linked.getvalue(), no),
        "bomb": (z, bomb, big),
        "plain-bomb": (NOTEBOOK, b" " * 2**25, big),
        "lies-about-its-size": (z, says_less, no),
        "nested": (z, inner, no),
        "many-names": (z, many, None),
        "another-s-name": (z, other, "no notebook in it"),
        "lzma": (z, zipped({NOTEBOOK: right}, zipfile.ZIP_LZMA), "encrypted, or compressed"),
        "escapes": (f"{ASSIGNMENT}\x1b]0;owned\x07\x1b[2J.txt", right, "no notebook"),
        "a-picture": ("figure.png", b"\x89PNG", "no notebook"),
        "empty-zip": (z, zipped({}), "no notebook in it"),
        "no-name": (".ipynb", right, "no notebook"),
        "hidden": (z, zipped({f"__MACOSX/._{NOTEBOOK}": right}), "no notebook in it"),
    }


def lay_download(path: Path) -> None:
    """Lay a download of Canvas's, with three honest uploads."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(HONEST, 1):
            archive.writestr(f"{name}_{number}_{number}_{NOTEBOOK}", handed_in(released()))
        for number, (name, (file, content, _)) in enumerate(uploads().items(), 100):
            archive.writestr(f"{name}_{number}_{number}_{file}", content)


# What a notebook says of itself, by hand.


@functools.cache
def notebooks() -> dict[str, tuple[bytes, str | None]]:
    """Return by an attack's name its bytes, and the reason why it is refused."""
    release = released()
    right = handed_in(release)

    def with_cells(**about):
        def change(notebook):
            for cell in notebook["cells"]:
                cell.update(about)

        return handed_in(release, change=change)

    def tagged(notebook):
        notebook["cells"][2]["metadata"]["tags"] = [{"a": i} for i in range(20_000)]

    def roles(notebook):
        for cell in notebook["cells"]:
            if role := students.role(cell):
                role.update(points=1000, locked=False, solution=True, schema_version=99, task=True)
                cell["cell_type"] = "raw"

    def odd_roles(notebook):
        for i, cell in enumerate([*notebook["cells"]]):
            twin = json.loads(json.dumps(cell))
            twin["metadata"]["nbgrader"] = [None, "x", [], {"grade_id": {}}][i % 4]
            notebook["cells"].append(twin)

    def doubled(notebook):
        for cell in [*notebook["cells"]]:
            if students.role(cell).get("grade"):
                notebook["cells"].insert(0, cell | {"source": "points = 1000"})

    def many(notebook):
        notebook["cells"] += [students.new_code_cell("1/0") for _ in range(5_000)]

    def about(notebook):
        notebook["metadata"] |= {"title": "</title><script>", "kernelspec": {"name": "bash"}}
        notebook["metadata"]["widgets"] = {"x": {"state": {}}}
        notebook["nbformat_minor"] = 99

    def old(notebook):
        notebook["worksheets"] = [{"cells": notebook.pop("cells")}]
        notebook["nbformat"] = 3

    def attached(notebook):
        for cell in notebook["cells"]:
            cell["attachments"] = {"a.html": {"text/html": "<script>window.owned=1</script>"}}
            cell["outputs"] = [{"output_type": "display_data", "data": {"text/html": "<script>"}}]

    def change(make):
        return handed_in(release, change=make)

    no, big, odd = "it is no notebook", "larger than", "no cell of this assignment"
    longest = FULL | {GIVEN.first: "#" * 7_001}
    deep = b"[" * 1_000_000
    return {
        "tags": (change(tagged), None),
        "roles": (change(roles), None),
        "odd-roles": (change(odd_roles), None),
        "doubles": (change(doubled), None),
        "many-cells": (change(many), None),
        "about": (change(about), None),
        "attached": (change(attached), None),
        "surrogates": (handed_in(release, FULL | {TEXT: "\ud800 \x00 \u202e"}), None),
        "bom": (b"\xef\xbb\xbf" + right, None),
        "ids": (with_cells(id='"><script>window.owned=1</script>'), None),
        "of-the-future": (handed_in(release, change=lambda found: found.update(nbformat=5)), None),
        "format-is-text": (
            handed_in(release, change=lambda found: found.update(nbformat="x")),
            None,
        ),
        "twice-its-cells": (right[:-1] + b', "cells": []}', odd),
        "a-byte-more": (right + b"\0", no),
        "lists-in-lists": (with_cells(source=[["a"]]), no),
        "no-kind": (with_cells(cell_type=None), None),
        "text": (b'"text"', no),
        "old-format": (change(old), no),
        "utf-16": (right.decode().encode("utf-16"), no),
        "bad-json": (right[:-20], no),
        "deep": (deep, no),
        "deep-cell": (right[:-1] + b',"x":' + b'{"a":' * 300_000 + b"1" + b"}" * 300_001, no),
        "nan": (b'{"cells": NaN, "x": 1' + b"0" * 9_000 + b"}", no),
        "long-number": (b'{"cells": [' + b"9" * 100_000 + b"]}", no),
        "empty": (b"", no),
        "a-list": (b"[]", no),
        "cells-are-a-dict": (b'{"cells": {"a": 1}}', no),
        "null-metadata": (with_cells(metadata=None), no),
        "null-source": (with_cells(source=None), no),
        "sources-are-numbers": (with_cells(source=[1, 2]), no),
        "no-cells": (b'{"cells": []}', odd),
        "the-chapter": (GIVEN.chapter.notebook.read_bytes(), odd),
        "too-large": (right + b" " * 2**22, big),
        "long-answer": (handed_in(release, longest), "more than 7000 characters"),
        "is-a-zip": (zipped({NOTEBOOK: right}), None),
        "many-lists": (b'{"cells": [' + b"[]," * 1_300_000 + b"[]]}", no),
    }


def lay_by_hand(folder: Path) -> None:
    """Lay files as a teacher does, with some that no submission is."""
    release = released()
    for name in HONEST:
        put(folder / name / NOTEBOOK, handed_in(release))
    for name, (content, _) in notebooks().items():
        put(folder / name / ASSIGNMENT / NOTEBOOK, content)
    for name, there in odd_files(folder).items():
        (folder / name).mkdir()
        with contextlib.suppress(FileNotFoundError):
            there(folder / name / NOTEBOOK)
    put(folder / "linked-folder-target" / "x" / NOTEBOOK, handed_in(release))
    (folder / "linked-folder").symlink_to(folder / "linked-folder-target" / "x")
    put(folder / "beside" / NOTEBOOK, handed_in(release))
    for name in ("evil.html", "ipykernel_launcher.py", "nbgrader_config.py", "numpy.py"):
        put(folder / "beside" / name, b"raise SystemExit('owned')")
    for number in range(3_000):
        put(folder / "beside" / "many" / str(number), b"")
    for name in NAMES:
        put(folder / name / NOTEBOOK, handed_in(release))


NAMES = ('";window.owned=1;"', "<img src=x onerror=1>", "=HYPERLINK(1)", "=cmd|1,2", "-x", "a\nb")
NAMES += ("a\x1b[2Jb", "x" * 65, "né", "a b", "victim+x")


def odd_files(folder: Path) -> dict:
    """Return by a student's name what makes a thing that is no plain file."""

    def bound(path):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))

    return {
        "a-link": lambda path: path.symlink_to("/etc/passwd"),
        "a-dead-link": lambda path: path.symlink_to("/nowhere"),
        "a-pipe": os.mkfifo,
        "a-folder": Path.mkdir,
        "a-socket": bound,
        "two-names": lambda path: os.link(folder / HONEST[0] / NOTEBOOK, path),
        "a-hole": lambda path: (path.touch(), os.truncate(path, 2**40)),
    }


def put(path: Path, content: bytes) -> None:
    """Write a file, and the folders that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def sharing() -> list[str]:
    """Return four users of this machine, of whom the first is one's own; root can play all."""
    users = [each.pw_name for each in pwd.getpwall() if each.pw_uid != os.geteuid()]
    return [pwd.getpwuid(os.geteuid()).pw_name, *users[:3]]


def give(path: Path, user: str) -> None:
    """Give what is at a path to a user."""
    about = pwd.getpwnam(user)
    for each in (path, *path.rglob("*")):
        os.chown(each, about.pw_uid, about.pw_gid, follow_symlinks=False)
    if path.parent.name == "inbound":
        path.chmod(0o700)


def send(inbound: Path, name: str, user: str, files: dict[str, bytes]) -> Path:
    """Lay a submission into a shared folder, as `nbgrader submit` or an attacker does."""
    folder = inbound / name
    for file, content in files.items():
        put(folder / file, content)
    give(folder, user)
    return folder


def folder_of(student: str, date: str = DATE, more: str = "+abc") -> str:
    """Return what a submission is called in a shared folder."""
    return f"{student}+{ASSIGNMENT}+{date}{more}"


def lay_shared(inbound: Path, phrase: Path) -> list[str]:
    """Lay a shared folder full of attempts; return one's own name, the attacker's, the victims'.

    The attacker wants what is in the phrase's file.
    """
    right, secret = handed_in(released()), ("ab" * 64).encode()
    me, mallory, *victims = sharing()
    for name in victims:
        send(inbound, folder_of(name), name, {NOTEBOOK: right, "submission_secret.txt": secret})
    # Mallory under another's name, with a date to come, with no date, a name that is a script.
    send(inbound, folder_of(victims[0], "2026-11-01 12:00:00 UTC"), mallory, {NOTEBOOK: right})
    send(inbound, folder_of(victims[1], "2099-01-31 12:00:00 UTC"), victims[1], {NOTEBOOK: right})
    send(inbound, folder_of(mallory, "yesterday"), mallory, {NOTEBOOK: right})
    send(inbound, folder_of(mallory, "2026-02-31 25:00:00 UTC"), mallory, {NOTEBOOK: right})
    send(inbound, folder_of("<img src=x onerror=1>"), mallory, {NOTEBOOK: right})
    send(inbound, folder_of("a\nb"), mallory, {NOTEBOOK: right})
    send(inbound, folder_of(mallory, more="+evil"), mallory, {
        NOTEBOOK: right, "evil.html": b"<script>", "timestamp.txt": b"no date",
        "submission_secret.txt": b"../../x", "large": b" " * 2**20,
    })  # fmt: skip
    # What is another's, reached by links of either kind.
    linked = send(inbound, folder_of(mallory, "2026-05-01 12:00:00 UTC"), mallory, {"x": b""})
    (linked / NOTEBOOK).symlink_to(phrase)
    hard = send(inbound, folder_of(mallory, "2026-05-02 12:00:00 UTC"), mallory, {"x": b""})
    os.link(inbound / folder_of(victims[0]) / NOTEBOOK, hard / NOTEBOOK)
    away = inbound / folder_of(mallory, "2026-05-03 12:00:00 UTC")
    away.symlink_to(inbound / folder_of(victims[1]))
    # By other patterns than the folder's.
    put(inbound / f"{victims[0]}.ipynb", right)
    give(inbound / f"{victims[0]}.ipynb", mallory)
    put(inbound / f"x_5_9999999_{NOTEBOOK}", right)
    give(inbound / f"x_5_9999999_{NOTEBOOK}", mallory)
    send(inbound, f"{mallory}+assignment-01+{DATE}", mallory, {NOTEBOOK: right})
    return [me, mallory, *victims]


def struct_png(width: int, height: int) -> bytes:
    """Return the beginning of a picture that says that it is so large."""
    return (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2" + bytes(30)
    )
