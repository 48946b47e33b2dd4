"""Run in the sandbox: read what students handed in, and print the text of each answer.

It imports nothing of ours. Its input is a file, or an archive, of which none is unpacked. It prints
a line when it has begun, and then another, of JSON: what it found, and what is wrong.
"""

import io
import json
import re
import sys
import zipfile


class Refused(Exception):
    """What we have words for."""


def content(archive, member, most):
    """Return a file's bytes, of which there may be so many."""
    if member.flag_bits & 1 or member.compress_type not in (0, 8):
        raise Refused("encrypted, or compressed as no browser and no learning system does it")
    with archive.open(member) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise Refused(f"larger than {most} bytes")
    return found


def notebook(found, named, most):
    """Return a notebook's bytes; of several in a zip those of the one with the shortest path."""
    if found[:2] != b"PK":
        return found
    # In no folder that is hidden, or that a Mac adds.
    wanted = re.compile(rf"(?:(?!\.|__MACOSX)[^/]*/)*{re.escape(named)}[^/]*\.ipynb")
    with zipfile.ZipFile(io.BytesIO(found)) as archive:
        inside = [member for member in archive.infolist() if wanted.fullmatch(member.filename)]
        if not inside:
            raise Refused(f"no notebook in it whose name begins with {named}")
        return content(archive, min(inside, key=lambda member: len(member.filename)), most)


def texts(found, wanted, most):
    """Return the text of each wanted cell, and how many others hold code.

    Of two with one name it is the last, which ran last.
    """
    answers, others = {}, 0
    for cell in json.loads(found.decode("utf-8-sig"))["cells"]:
        match cell["metadata"].get("nbgrader"):
            case {"grade_id": str(name)} if name in wanted:
                text = "".join(cell["source"])
                if len(text) > most:
                    raise Refused(f"its cell {name} has more than {most} characters")
                answers[name] = text.encode("utf-8", "replace").decode()
            case _ if cell["cell_type"] == "code" and cell["source"]:
                others += 1
    if not answers:
        raise Refused("no cell of this assignment is in it: is it the chapter?")
    return {"texts": answers, "others": others}


def read(at, named, wanted, most, longest):
    """Return what is in a submission; or, in place of one, the names in an archive."""
    if at is None:
        return texts(notebook(sys.stdin.buffer.read(), named, most), set(wanted), longest)
    with zipfile.ZipFile(sys.stdin.buffer) as archive:
        members = archive.infolist()
        if at == "names":
            return [member.filename for member in members]
        found = content(archive, members[at], most)
    return texts(notebook(found, named, most), set(wanted), longest)


about, found, problem = json.loads(sys.argv[1]), None, ""
print("begun", flush=True)
try:
    found = read(*about)
except Refused as error:
    problem = str(error)[:200]
except Exception as error:
    what = "the archive cannot be read" if about[0] == "names" else "it is no notebook"
    problem = f"{what} ({type(error).__name__})"
print(json.dumps([found, problem]))
