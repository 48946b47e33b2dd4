"""The door, without a kernel: what attackers hand in is refused by name, and nobody else pays."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from course.chapters import ROOT
from course.grading import door, sandbox
from course.grading.door import Door, only_collected, plain, whose
from course.grading.sandbox import StopError
from tests.course import attacks
from tests.course.attacks import ASSIGNMENT, HONEST, NOTEBOOK, handed_in, put
from tools.collect import table

root_plays = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
RELEASE = attacks.released()


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return a course with a release."""
    root = tmp_path_factory.mktemp("course")
    put(root / "release" / ASSIGNMENT / NOTEBOOK, json.dumps(RELEASE).encode())
    return root


@pytest.fixture
def course(begun, tmp_path):
    """Return a course of one's own, in which nothing is handed in."""
    shutil.copytree(begun, tmp_path / "course")
    return tmp_path / "course"


def collected(root):
    """Return what lies where nbgrader looks: the files of each student's folder."""
    return {
        path.name: sorted(str(p.relative_to(path / ASSIGNMENT)) for p in path.rglob("*.*"))
        for path in (root / "submitted").iterdir()
    }


def taken(root, student):
    """Return the notebook that is to be graded."""
    return json.loads((root / "submitted" / student / ASSIGNMENT / NOTEBOOK).read_text())


def is_the_release_with(notebook, texts):
    """Assert that a notebook is the release but for the text of its answers."""
    assert {key: notebook[key] for key in notebook if key != "cells"} == {
        key: RELEASE[key] for key in RELEASE if key != "cells"
    }
    for cell, released in zip(notebook["cells"], RELEASE["cells"], strict=True):
        role = released["metadata"].get("nbgrader", {})
        if role.get("solution"):
            assert cell["source"] == texts[role["grade_id"]]
        assert cell | {"source": ""} == released | {"source": ""}
        assert role.get("solution") or cell["source"] == released["source"]


def reasons(rows):
    """Return what became of each file, by the first part of its path."""
    return {row.file.split("/")[0]: row for row in rows}


# No reading


@pytest.mark.parametrize("program", ["false", "true"])
def test_where_nothing_can_be_read_that_is_said_and_nothing_collected(
    course, tmp_path, monkeypatch, program
):
    put(tmp_path / "handed-in" / "ann.ipynb", handed_in(RELEASE))
    monkeypatch.setattr(sandbox, "why_not", lambda: None)
    monkeypatch.setattr(sandbox, "confined", lambda command: [shutil.which(program)])
    with pytest.raises(OSError, match="ended early"):
        Door(course, ASSIGNMENT).collect(tmp_path / "handed-in")
    assert not (course / "submitted").exists()


def test_what_lies_on_another_file_system_is_nobody_s():
    """There a user may say of a file whose it is."""
    root, owners = os.open("/", os.O_RDONLY), {door._name(0), door._name(os.geteuid())}
    with pytest.raises(ValueError, match="on a file system of its own"):
        door._content(root, ("proc", "version"), owners, door.LARGEST)
    os.close(root)


# A download


@pytest.fixture(scope="module")
def download(begun, tmp_path_factory):
    root = tmp_path_factory.mktemp("downloaded") / "course"
    shutil.copytree(begun, root)
    attacks.lay_download(root / "submissions.zip")
    return root, Door(root, ASSIGNMENT).collect(root / "submissions.zip")


@pytest.mark.parametrize("name", attacks.uploads())
def test_an_odd_upload_is_named_with_the_reason_or_collected(name, download):
    root, rows = download
    number = 100 + list(attacks.uploads()).index(name)
    (row,) = (row for row in rows if row.student == str(number))
    *_, why = attacks.uploads()[name]
    assert row.what == ("REFUSED" if why else "collected")
    assert (why or "") in row.why
    assert (root / "submitted" / str(number)).exists() == (why is None)
    if why is None:
        is_the_release_with(taken(root, str(number)), attacks.FULL)


def test_honest_uploads_beside_odd_ones_are_collected_and_nothing_is_unpacked(download):
    root, rows = download
    for number in "123":
        is_the_release_with(taken(root, number), attacks.FULL)
    assert {path.name for path in root.iterdir()} == {
        "release", "submitted", "submissions.zip", "collected.json",
    }  # fmt: skip
    assert {file for files in collected(root).values() for file in files} == {NOTEBOOK}
    assert len(rows) == 3 + len(attacks.uploads())


def test_a_download_that_is_no_archive_is_refused(course):
    put(course / "x.zip", b"PK\5\6 none")
    with pytest.raises(ValueError, match="the archive cannot be read"):
        Door(course, ASSIGNMENT).collect(course / "x.zip")


def test_a_file_that_ends_the_reading_costs_nobody_else(course, monkeypatch):
    # No file is known that does; so the program that reads is one that ends itself at some.
    reads = "        found = content("
    assert reads in door.READING
    ends = f"        'evil' in members[at].filename and __import__('os')._exit(1)\n{reads}"
    monkeypatch.setattr(door, "READING", door.READING.replace(reads, ends))
    with zipfile.ZipFile(course / "x.zip", "w") as archive:
        for number, name in enumerate(("a", "evil", "b", "evil", "c"), 1):
            archive.writestr(f"{name}_{number}_{number}_{NOTEBOOK}", handed_in(RELEASE))
    rows = Door(course, ASSIGNMENT).collect(course / "x.zip")
    assert [row.student for row in rows if row.what == "collected"] == ["1", "3", "5"]
    assert [row.why for row in rows if row.student in "24"] == [
        "to read it takes more than 60 s, or memory"
    ] * 2


def test_what_is_read_for_ever_is_ended(course, monkeypatch):
    reads = "        found = content("
    waits = f"        'evil' in members[at].filename and __import__('time').sleep(10**6)\n{reads}"
    monkeypatch.setattr(door, "READING", door.READING.replace(reads, waits))
    communicate, limits = subprocess.Popen.communicate, iter([None, None, 1, None])

    def hasty(process, content, timeout):
        """Wait as long as it takes for the names and for what can be read."""
        assert timeout == door.SECONDS
        return communicate(process, content, next(limits))

    monkeypatch.setattr(subprocess.Popen, "communicate", hasty)
    with zipfile.ZipFile(course / "x.zip", "w") as archive:
        for number, name in enumerate(("a", "evil", "b"), 1):
            archive.writestr(f"{name}_{number}_{number}_{NOTEBOOK}", handed_in(RELEASE))
    rows = Door(course, ASSIGNMENT).collect(course / "x.zip")
    assert [row.what for row in rows] == ["collected", "REFUSED", "collected"]
    assert "more than 60 s" in rows[1].why


@pytest.mark.parametrize(
    ("path", "student", "order"),
    [
        (f"doejane_12345_678910_{NOTEBOOK}", "12345", 678910),
        (f"doejane_LATE_12345_1000000_{ASSIGNMENT}-1.ipynb", "12345", 1000000),
        (f"x_222_9999999_555_678916_{ASSIGNMENT}.zip", None, None),  # called x_222-_9999999
        (f"x_222_555_678917_{NOTEBOOK}", None, None),  # or x_222
        (f"Jane Doe_123456_assignsubmission_file_/{NOTEBOOK}", "123456", 0),
        (f"Max Roe_123457_assignsubmission_file_{ASSIGNMENT}(1).ipynb", "123457", 0),
        (f"Ann Lee_123458_assignsubmission_file/{NOTEBOOK}", "123458", 0),
        (f"Bo Wu_123459_assignsubmission_files/{NOTEBOOK}", None, None),
        (f"a_1_2_{NOTEBOOK}\n", None, None),
        (f"a_１_２_{NOTEBOOK}", None, None),
        (f"x_222_9999999_{NOTEBOOK}_555_678916_{NOTEBOOK}", None, None),  # called all of the first
        (
            f"x_222_assignsubmission_file_{ASSIGNMENT}_5_assignsubmission_file_{NOTEBOOK}",
            None,
            None,
        ),
        (
            f"ann+{ASSIGNMENT}+2026-01-31 12:00:00.123456789 UTC/{NOTEBOOK}",
            "ann",
            1769860800.123456,
        ),
        (f"ann+{ASSIGNMENT}+0001-01-01 00:00:00 UTC/{NOTEBOOK}", None, None),
        (f"ann+{ASSIGNMENT}+9999-12-31 23:59:59 UTC/{NOTEBOOK}", None, None),
        (f"ann+{ASSIGNMENT}+2026-01-31 12:00:60 UTC/{NOTEBOOK}", None, None),
        (f"a\n_1_2_{NOTEBOOK}", "1", 2),
        ("leeann_333_678914_homework.ipynb", None, None),
    ],
)
def test_whose_an_upload_is(path, student, order):
    found = whose(tuple(path.split("/")), ASSIGNMENT)
    if student is None:
        assert found.problem or found.way == "by hand"
    else:
        assert (found.student, found.order, found.problem) == (student, order, "")


# By hand


@pytest.fixture(scope="module")
def by_hand(begun, tmp_path_factory):
    root = tmp_path_factory.mktemp("by-hand") / "course"
    shutil.copytree(begun, root)
    with contextlib.chdir(root):
        attacks.lay_by_hand(root / "handed-in")
    return root, Door(root, ASSIGNMENT).collect(root / "handed-in")


@pytest.mark.parametrize("name", attacks.notebooks())
def test_an_odd_notebook_is_named_with_the_reason_or_reduced_to_its_answers(name, by_hand):
    root, rows = by_hand
    row, (_, why) = reasons(rows)[name], attacks.notebooks()[name]
    assert row.what == ("REFUSED" if why else "collected")
    assert (why or "") in row.why
    assert (root / "submitted" / name).exists() == (why is None)
    if why is None:
        texts = {"surrogates": attacks.FULL | {attacks.TEXT: "? \x00 \u202e"}}
        is_the_release_with(taken(root, name), texts.get(name, attacks.FULL))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *dict.fromkeys(("a-link", "a-dead-link", "linked-folder"), "a link").items(),
        *dict.fromkeys(("a-pipe", "a-folder", "two-names"), "no plain file").items(),
        ("a-socket", "No such device or address"),
        ("a-hole", "larger than"),
    ],
)
def test_what_is_no_plain_file_is_not_read(name, why, by_hand):
    row = reasons(by_hand[1])[name]
    assert row.what == "REFUSED"
    assert why in row.why


@pytest.mark.parametrize("name", attacks.NAMES)
def test_a_name_that_is_more_than_letters_is_nobody_s(name, by_hand):
    root, rows = by_hand
    (row,) = (row for row in rows if row.file.startswith(plain(name) + "/"))
    assert (row.what, row.why) == ("REFUSED", "no name for a student")
    assert not (root / "submitted" / name).exists()


def test_honest_files_beside_odd_ones_are_collected_and_nothing_that_lies_beside(by_hand):
    root, rows = by_hand
    first, *others = HONEST
    for name in others:
        is_the_release_with(taken(root, name), attacks.FULL)
    assert reasons(rows)[first].why == "no plain file, or one with two names"  # of two-names
    is_the_release_with(taken(root, "beside"), attacks.FULL)
    assert {file for files in collected(root).values() for file in files} == {NOTEBOOK}


def test_the_table_is_of_plain_letters(by_hand):
    text = table(by_hand[1])
    assert all(c.isprintable() for line in text.splitlines() for c in line)
    assert len(text.splitlines()) == len(by_hand[1]) + 2
    assert "owned" in text  # the name itself can be read


def test_only_what_the_door_put_there_is_graded(by_hand, tmp_path):
    root = tmp_path / "course"
    shutil.copytree(by_hand[0] / "submitted", root / "submitted")
    shutil.copy(by_hand[0] / "collected.json", root)
    folder = root / "submitted" / HONEST[1] / ASSIGNMENT
    only_collected([str(folder / NOTEBOOK)])
    right = (folder / NOTEBOOK).read_bytes()

    def edited():
        (folder / NOTEBOOK).write_bytes(right + b" ")

    def added():
        put(folder / "evil.html", b"")

    def linked():
        (folder / NOTEBOOK).rename(root / "moved")
        (folder / NOTEBOOK).symlink_to(root / "moved")

    def beside():
        (folder / "timestamp.txt").symlink_to("/etc/passwd")

    for change in (edited, added, linked, beside):
        change()
        with pytest.raises(StopError, match="was not put there by make collect"):
            only_collected([str(folder / NOTEBOOK)])
        shutil.rmtree(folder)
        put(folder / NOTEBOOK, right)
        only_collected([str(folder / NOTEBOOK)])
    put(root / "submitted" / "put" / ASSIGNMENT / NOTEBOOK, right)
    with pytest.raises(StopError):
        only_collected([str(root / "submitted" / "put" / ASSIGNMENT / NOTEBOOK)])


# Again, and better or worse


def hand(course, student, texts=None):
    file = course / "handed-in" / f"{student}.ipynb"
    put(file, handed_in(RELEASE, texts))
    return Door(course, ASSIGNMENT).collect(course / "handed-in")


def test_a_better_submission_replaces_and_a_worse_or_refused_one_does_not(course):
    first = {attacks.GIVEN.first: "one = 1"}
    assert hand(course, "ann", first)[0].what == "collected"
    assert hand(course, "ann", first)[0].what == "as before"
    (kept,) = hand(course, "ann", {})
    assert kept[1:3] == ("kept", "1 tasks were answered before, here 0")
    put(course / "handed-in" / "ann.ipynb", b"none")
    (refused,) = Door(course, ASSIGNMENT).collect(course / "handed-in")
    assert refused.what == "REFUSED"
    is_the_release_with(taken(course, "ann"), {**released_texts(), **first})
    assert hand(course, "ann", {attacks.GIVEN.first: "two = 2"})[0].what == "collected"
    assert hand(course, "ann")[0].what == "collected"
    is_the_release_with(taken(course, "ann"), attacks.FULL)


def released_texts():
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["source"]
        for cell in RELEASE["cells"]
        if "nbgrader" in cell["metadata"]
    }


def test_what_was_collected_is_not_replaced_by_an_older_upload(course):
    for number, text, what in (
        (5, "five", "collected"),
        (4, "four", "kept"),
        (6, "six", "collected"),
    ):
        with zipfile.ZipFile(course / "x.zip", "w") as archive:
            content = handed_in(RELEASE, {attacks.GIVEN.first: text})
            archive.writestr(f"ann_1_{number}_{NOTEBOOK}", content)
        assert [row.what for row in Door(course, ASSIGNMENT).collect(course / "x.zip")] == [what]
    assert "six" in json.dumps(taken(course, "1"))


def test_of_several_uploads_the_newest_that_can_be_read_counts(course):
    with zipfile.ZipFile(course / "x.zip", "w") as archive:
        for number, text in ((1, "one"), (2, "two")):
            content = handed_in(RELEASE, {attacks.GIVEN.first: text})
            archive.writestr(f"ann_1_{number}_{NOTEBOOK}", content)
        archive.writestr(f"ann_1_3_{NOTEBOOK}", b"none")
    rows = Door(course, ASSIGNMENT).collect(course / "x.zip")
    assert [row.what for row in rows] == ["REFUSED", "collected", "left out"]
    assert "two" in json.dumps(taken(course, "1"))


def test_of_several_from_moodle_the_shortest_name_counts_and_a_later_download_replaces(course):
    def row(**texts):
        with zipfile.ZipFile(course / "x.zip", "w") as archive:
            for more, text in texts.items():
                name = f"ann_1_assignsubmission_file_{ASSIGNMENT}{more.strip('_')}.ipynb"
                archive.writestr(name, handed_in(RELEASE, {attacks.GIVEN.first: text}))
        rows = Door(course, ASSIGNMENT).collect(course / "x.zip")
        return [(row.what, row.why) for row in rows]

    assert row(_="short", v2="long") == [("collected", ""), ("left out", "another counts")]
    assert "short" in json.dumps(taken(course, "1"))
    assert row(_="other") == [("collected", "")]  # Moodle's names say nothing of age
    assert "other" in json.dumps(taken(course, "1"))


def test_of_many_that_cannot_be_read_a_few_are_tried(course):
    with zipfile.ZipFile(course / "x.zip", "w") as archive:
        for number in range(8):
            content = b"none" if number else handed_in(RELEASE)
            archive.writestr(f"ann_1_{number}_{NOTEBOOK}", content)
        archive.writestr(f"bo_2_9_{NOTEBOOK}", handed_in(RELEASE))
    rows = Door(course, ASSIGNMENT).collect(course / "x.zip")
    assert Counter(row.why for row in rows if row.student == "1") == {
        "it is no notebook (JSONDecodeError)": 5, "5 that are newer cannot be read": 3
    }  # fmt: skip
    assert [row.what for row in rows if row.student == "2"] == ["collected"]


def test_a_teacher_s_file_in_the_way_is_not_deleted(course):
    put(course / "submitted" / "ann" / ASSIGNMENT / NOTEBOOK, b"mine")
    (row,) = hand(course, "ann")
    assert row.what == "REFUSED"
    assert "move it away" in row.why
    assert (course / "submitted" / "ann" / ASSIGNMENT / NOTEBOOK).read_bytes() == b"mine"


def test_a_class_list_leaves_out_who_is_not_in_it(course):
    (course / "students.txt").write_text("ann\nbo\n")
    hand(course, "ann")
    rows = hand(course, "mallory")
    assert [row[:3] for row in rows] == [
        ("ann", "as before", ""),
        ("mallory", "REFUSED", "students.txt has no such name"),
    ]


# A shared folder


@pytest.fixture
def inbound(course):
    (course / "inbound").mkdir()
    (course / "inbound").chmod(0o1733)
    return course / "inbound"


@root_plays
def test_the_folder_that_the_page_says_to_make_lets_nobody_replace_an_assignment(tmp_path):
    page = (ROOT / "book/instructors-grading.md").read_text(encoding="utf-8")
    (mode,) = re.findall(r"chmod (\d+) /usr/local/share/nbgrader/exchange", page)
    swap = "mv attention old && mkdir attention"
    for each, succeeds in ((mode, False), ("0777", True)):
        folder = Path(tempfile.mkdtemp())  # which others can reach, unlike this test's own
        folder.chmod(int(each, 8))
        (folder / "attention").mkdir()
        _, mallory, *_ = attacks.sharing()
        tried = subprocess.run(["sh", "-c", swap], cwd=folder, user=mallory, capture_output=True)
        shutil.rmtree(folder)
        assert (tried.returncode == 0) == succeeds


@root_plays
def test_a_shared_folder_full_of_attempts(course, inbound):
    (course / "class-phrase.txt").write_text("the phrase")
    (course / "class-phrase.txt").chmod(0o600)
    me, mallory, *victims = attacks.lay_shared(inbound, course / "class-phrase.txt")
    rows = Door(course, ASSIGNMENT).collect(inbound)
    found = {}
    for row in rows:
        found.setdefault((row.student, row.what), []).append(row.why)
    assert {student for student, what in found if what == "collected"} == {mallory, victims[1]}
    # The link to the first victim's file gives it a second name: then it is read from neither.
    assert found[victims[0], "REFUSED"].count(f"it belongs to {mallory}") == 2
    assert "no plain file, or one with two names" in found[victims[0], "REFUSED"]
    assert found[victims[1], "REFUSED"] == ["its date is yet to come"]
    assert found[mallory, "REFUSED"].count("a link") == 2
    refused = sorted(row.why for row in rows if row.student not in (mallory, *victims))
    nobody_s = ["no name for a student"] * 3
    assert refused == [f"it belongs to {mallory}", "its date is none", *nobody_s]
    files = collected(course)
    assert files[victims[1]] == [NOTEBOOK, "submission_secret.txt", "timestamp.txt"]
    assert files[mallory] == [NOTEBOOK, "timestamp.txt"]
    everything = b"".join(
        p.read_bytes() for p in (course / "submitted").rglob("*.*") if p.is_file()
    )
    assert b"the phrase" not in everything
    assert me not in files


def test_no_link_is_followed_to_list_what_a_folder_holds(course, tmp_path):
    handed, secret = tmp_path / "handed", tmp_path / "secret"
    handed.mkdir()
    put(secret / "plan-of-the-exam.ipynb", b"{}")
    put(secret / ASSIGNMENT / NOTEBOOK, b"{}")
    for name in ("doe_7_assignsubmission_file", "mallory"):
        (handed / name).symlink_to(secret)
    rows = Door(course, ASSIGNMENT).collect(handed)
    assert {row.file for row in rows} == {f"{link.name}/{NOTEBOOK}" for link in handed.iterdir()}
    assert {row.what for row in rows} == {"REFUSED"}


def test_a_file_that_is_swapped_for_a_link_while_it_is_read_gives_nothing_away(course, monkeypatch):
    """Play every order in which file and folder can be swapped between calls to the system."""
    secret, folder = course / "away" / NOTEBOOK, course / "handed-in" / "mallory"
    put(secret, handed_in(RELEASE, {attacks.GIVEN.first: "the phrase"}))
    right, file = handed_in(RELEASE), folder / NOTEBOOK
    folder.parent.mkdir()

    def lay(state, lies=[]):  # noqa: B006 - it is what lay there before
        if lies[-1:] == [state]:
            return None
        lies.append(state)
        if os.path.lexists(file) and not folder.is_symlink():
            file.unlink()
            folder.rmdir()
        folder.unlink(missing_ok=True)
        if state == "linked folder":
            return folder.symlink_to(secret.parent)
        folder.mkdir()
        return file.symlink_to(secret) if state == "linked file" else file.write_bytes(right)

    def swapping(call):
        def swapped(*given, **about):
            lay(next(states))
            return call(*given, **about)

        return swapped

    opened, owners, read = os.open(folder.parent, os.O_RDONLY), {door._name(os.geteuid())}, []
    for order in itertools.product(("right", "linked file", "linked folder"), repeat=4):
        states = iter(order)
        with monkeypatch.context() as patched, contextlib.suppress(ValueError):
            patched.setattr(os, "open", swapping(os.open))
            patched.setattr(os, "fstat", swapping(os.fstat))
            read.append(door._content(opened, ("mallory", NOTEBOOK), owners, door.LARGEST))
    os.close(opened)
    assert set(read) == {right}
