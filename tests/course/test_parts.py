"""The parts of grading one by one, without a round: what a program finds in a sandbox, why there
is none, how a kernel ended, and what is made of a submission's cells.
"""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import textwrap

import pytest

from tests.course import attacks
from tests.course.nbgrading import BIN, ROOT, needs_sandbox


def asked(code, *arguments, path=f"{BIN}:/usr/bin:/bin"):
    """Return what code prints, as JSON, in the environment that grades."""
    settings = {"PATH": path, "PYTHONPATH": str(ROOT)}
    command = [BIN / "python", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# The sandbox

LOOKS = """
    import ctypes, json, os, resource, socket, sys
    call = ctypes.CDLL(None).syscall  # its numbers are those of x86_64
    def size(place):
        about = os.statvfs(place)
        return about.f_blocks * about.f_frsize
    def may_write(place):
        try:
            open(place + "/x", "w").close()
        except OSError:
            return False
        return True
    limits = ("AS", "NPROC", "FSIZE", "CPU", "CORE")
    status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
    own = ("/tmp", "/var/tmp", "/dev/shm", "/home/student")
    others = ("/", "/dev", "/etc", "/usr/lib", "/opt", "/opt/attnbook", "/home", sys.prefix)
    print(json.dumps({
        "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in limits],
        "sizes": [size(place) for place in own],
        "writes": [place for place in (*own, *others) if may_write(place)],
        "folder": may_write(sys.argv[1]),
        "rights": [status[name] for name in ("CapEff", "CapBnd")],
        "first to go": open("/proc/self/oom_score_adj").read().strip(),
        "processes": max(int(name) for name in os.listdir("/proc") if name.isdigit()) < 9,
        "network": [name for _, name in socket.if_nameindex()],
        "machine": os.uname().nodename,
        "here": os.getcwd(),
        "environment": sorted(os.environ),
        "path": os.environ["PATH"].split(":")[0] == sys.prefix + "/bin",
        "files": [os.listdir("."), sorted(os.listdir("/etc")), os.listdir("/home")],
        "keys": [call(250, 10, ring, b"user", b"secret", 0) for ring in (-3, -4, -5)],
        "keeps": call(248, b"user", b"other", b"x", 1, -3) > 0,
        "session": os.getsid(0),
        "own": __import__("attnbook").__file__,
    }))
"""
RUNS = """
    import ctypes, subprocess, sys
    from course.grading import sandbox
    call = ctypes.CDLL(None).syscall
    call(250, 1, None)
    assert call(248, b"user", b"secret", b"x", 1, -3) > 0
    with sandbox._folder() as folder:
        looks = [sys.executable, "-c", sys.argv[1], str(folder)]
        command = sandbox.confined(looks, folder)
        done = subprocess.run(command, env=sandbox.bare(), capture_output=True, text=True)
    print(done.stdout)
    sys.exit(done.stderr.strip() or None)
"""


def test_a_program_finds_in_a_sandbox_what_it_may_have_and_no_more():
    needs_sandbox()
    report = asked(RUNS, textwrap.dedent(LOOKS))
    assert report["keys"] == [-1] * 3
    assert report["keeps"]
    assert report["limits"] == [[n, n] for n in (4 * 2**30, 200, 256 * 2**20, 900, 0)]
    assert report["sizes"] == [256 * 2**20] * 4
    assert report["writes"] == ["/tmp", "/var/tmp", "/dev/shm", "/home/student"]
    assert report["folder"]
    assert set("".join(report["rights"])) == {"0"}
    assert report["first to go"] == "1000"
    assert report["processes"]
    assert report["session"]  # its own: there is no terminal of ours
    assert report["network"] == ["lo"]
    assert report["machine"] == "sandbox"
    assert report["here"] == "/home/student"
    own = {"HOME", "LANG", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PYTHONPATH", "PWD"}
    own.add("PYTHONSAFEPATH")
    assert set(report["environment"]) == own
    assert report["path"]
    *files, homes = report["files"]
    assert files == [["x"], ["ld.so.cache"]]
    assert set(homes) - {BIN.parts[2]} == {"student"}  # and, in whose home it may lie, the program
    assert report["own"] == "/opt/attnbook/__init__.py"


def test_why_there_is_no_sandbox_is_said(tmp_path):
    install, says = "install bubblewrap 0.8 or newer (apt-get install bubblewrap)", "It says: "
    for name, played in {
        "old": "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1",
        "refuses": "echo one >&2; echo 'bwrap: uid map: Permission denied' >&2; exit 1",
        "silent": "exit 3",
        "works": "exit 0",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "bwrap").write_text(f"#!/bin/sh\n{played}\n")
        (tmp_path / name / "bwrap").chmod(0o755)
    code = """
        import json, os, sys
        from course.grading import sandbox
        found = []
        for place in ("old", "refuses", "silent", "works", "none"):
            os.environ["PATH"] = f"{sys.argv[1]}/{place}"
            found.append(sandbox.why_not.__wrapped__())
        sys.platform = "darwin"
        print(json.dumps([*found, sandbox.why_not.__wrapped__()]))
    """
    old, refuses, silent, works, none, elsewhere = asked(code, tmp_path)
    assert old == none == install
    assert refuses.startswith(f"let bubblewrap make a sandbox and run {BIN}/python there. ")
    assert refuses.endswith(f"{says}bwrap: uid map: Permission denied")
    assert silent.endswith(f"{says}status 3")
    assert works is None
    assert elsewhere.startswith("sandboxes are on Linux only")


def test_how_a_kernel_ended_is_said():
    killed, crashed = -signal.SIGKILL, 128 + signal.SIGSEGV
    statuses = [killed, 128 + signal.SIGKILL, crashed, -signal.SIGABRT, 0, 3, None]
    code = """
        import json, sys
        from course.grading.sandbox import ended
        print(json.dumps([ended(status) for status in json.loads(sys.argv[1])]))
    """
    found = asked(code, json.dumps([status and int(status) for status in statuses]))
    memory = "the kernel was killed, as it is when memory runs out"
    crash = "the kernel crashed (SIG{}), which may be for want of memory"
    within = "the kernel was ended from within (exit {})"
    assert found == [memory, memory, *map(crash.format, ("SEGV", "ABRT"))] + [
        within.format(status) for status in (0, 3, 0)
    ]


def test_a_folder_of_sockets_that_stays_is_an_error():
    code = """
        import json, os
        from course.grading import sandbox
        kernel, said = sandbox.Kernel(), []
        os.mkdir(kernel._within / "held")
        sandbox.tempfile._os.rmdir = lambda *_, **__: os.close(-1)
        try:
            kernel.connected()
        except OSError as error:
            said.append(type(error).__name__)
        print(json.dumps(said))
    """
    assert asked(code) == ["OSError"]


def test_a_step_that_takes_too_long_is_ended_and_named():
    code = """
        import json
        from types import SimpleNamespace
        from course.grading.steps import in_time
        def shows(converter, name):
            while name == "endless":
                try:
                    while True:
                        pass
                except Exception:
                    said.append("caught")
            return "shown"
        def told(name):
            try:
                return in_time(shows)(converter, name)
            except TimeoutError as error:
                return str(error)
        said, limits = [], {"most_seconds": -119}
        converter = SimpleNamespace(config=SimpleNamespace(JudgedExecute=limits))
        said += [told("short"), told("endless"), told("short")]
        print(json.dumps(said))
    """
    assert asked(code) == ["shown", "endless took more than 1 s", "shown"]


# What is shown of a submission

TEXTS = {  # what is made of Markdown, but for classes and the frames of code
    "a *b* <img src=x>": "<p>a <em>b</em> &lt;img src=x&gt;</p>",
    "![six](http://x/y.png) ![](z)": "<p>[six] [image]</p>",
    "[a](javascript:x) [b](//x)": "<p><a>a</a> <a>b</a></p>",
    "[a](http://x) [b](x.html) [c](/x)": "<p><a>a</a> <a>b</a> <a>c</a></p>",
    "[a](https://x.y) [b](mailto:x@y) [c](#z)": '<p><a href="https://x.y">a</a> '
    '<a href="mailto:x@y">b</a> <a href="#z">c</a></p>',
    "a\x1b[31mb\u202ec\x00": "<p>abc</p>",
    "price: \\$5": "<p>price: &#36;5</p>",
    "## Head": "<h2>Head</h2>",
    "```mermaid\na<b\n```": "<pre>a&lt;b\n</pre>",
    "```python\nx = 1 < 2\n```": "<pre>x = 1 &lt; 2\n</pre>",
    "$\\left( <b>$": "<p><code>&#92;left( &lt;b&gt;</code></p>",
}
FORMULAS = {  # how each is displayed, and what is in it
    "so $i < j$": ("inline", "<mo>&lt;</mo>"),
    "$$x$$": ("block", "<mi>x</mi>"),
    "\\begin{align}x\\end{align}": ("block", "<mtable"),
    "$a\\quad b$": ("inline", '<mspace width="1em">'),
    "$a\\hspace{99em} b$": ("inline", "<mspace>"),
}
LONG = {10_000: "", 10_001: "\n... more output is left out\n"}
PNG = base64.b64encode(attacks.struct_png(2000, 2000)).decode()
LARGE = base64.b64encode(attacks.struct_png(60_000, 60_000)).decode()
ROLE = {"nbgrader": {"grade_id": "a"}}
OUTPUTS = [  # the kind of each, what it is, and what is made of it
    ("stream", {"name": "stderr", "text": ["a", "b"]}, {"name": "stderr", "text": "ab"}),
    ("stream", {"name": "<x>", "text": "c"}, {"name": "stdout", "text": "c"}),
    (
        "error",
        {"ename": "E", "evalue": 5, "traceback": ["d", "e\ud800"]},
        {"ename": "E", "evalue": "5", "traceback": ["d", "e?"]},
    ),
    ("error", {"traceback": "d"}, {"ename": "", "evalue": "", "traceback": ["d"]}),
    ("error", {"traceback": None}, {"ename": "", "evalue": "", "traceback": []}),
    (
        "execute_result",
        {"data": {"text/plain": "f", "text/html": "<b>"}},
        {"data": {"text/plain": "f"}},
    ),
    (
        "display_data",
        {"data": {"image/png": f"{PNG[:9]}\n{PNG[9:]}", "image/jpeg": 'x"y', "text/plain": "g"}},
        {"data": {"image/png": PNG}},
    ),
    ("display_data", {"data": {"image/png": LARGE}}, None),
    ("display_data", {"data": {"image/png": "iVBORw0=", "image/svg+xml": "<svg/>"}}, None),
    ("display_data", {"data": {"image/jpeg": "AAAA"}}, None),
    ("stream", {"text": "\x1b[1mA\x1b]8;;x\x07b\r\nc\x9b\b"}, {"name": "stdout", "text": "Ab\nc"}),
    ("display_data", {"data": {"text/html": "<b>"}}, None),
    ("display_data", {"data": 5}, None),
    ("other", {}, None),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return a notebook's cells as they are made anew: the texts above, a raw cell, code."""
    cells = [
        {"cell_type": kind, "metadata": {**ROLE, "tags": ["x"]}, "id": "<x>", "source": source}
        for kind, sources in (
            ("markdown", [*TEXTS, *FORMULAS]),
            ("raw", ["<b> *x*\n\\n"]),
            ("code", ["é" * count for count in LONG]),
        )
        for source in sources
    ]
    for cell in cells[-2:]:
        cell["outputs"] = [{"output_type": kind, **given} for kind, given, _ in OUTPUTS]
    path = tmp_path_factory.mktemp("shown") / "cells.json"
    path.write_text(json.dumps(cells))
    code = """
        import json, sys
        import nbformat
        from course.grading.showing import ShowOnly
        about = {"metadata": {"title": "x"}, "nbformat": 4, "nbformat_minor": 2}
        about["cells"] = json.load(open(sys.argv[1]))
        made, _ = ShowOnly().preprocess(nbformat.from_dict(about), {})
        nbformat.validate(made)
        print(json.dumps(made))
    """
    return asked(code, path)


@pytest.fixture(scope="module")
def texts(shown):
    """Return what is made of each text cell, without its frame, with its line ends as they are."""
    frame, end, found = '<div class="tex2jax_ignore">', "</div>", {}
    sources = [*TEXTS, *FORMULAS, "raw"]
    for source, cell in zip(sources, shown["cells"], strict=False):
        assert cell["source"].startswith(frame)
        assert cell["source"].endswith(end)
        assert not re.search(r"[\n$\\]", cell["source"])
        made = cell["source"][len(frame) : -len(end)].replace("&#10;", "\n").strip()
        found[source] = made
    return found


@pytest.mark.parametrize("source", TEXTS)
def test_markdown_becomes_html_that_runs_nothing(source, texts):
    plain = re.sub(r'(?<=<pre>)<span></span>|</?div[^>]*>| class="[^"]*"', "", texts[source])
    assert plain == TEXTS[source]


@pytest.mark.parametrize("source", FORMULAS)
def test_formulas_become_mathml(source, texts):
    display, part = FORMULAS[source]
    assert re.findall(r"<math[^>]*>", texts[source]) == [f'<math display="{display}">']
    assert part in texts[source]


def test_a_cell_that_is_no_markdown_is_shown_as_it_was_written(texts):
    assert texts["raw"] == "<pre>&lt;b&gt; *x*\n&#92;n</pre>"


def test_a_very_long_cell_is_cut(shown):
    for (_, rest), cell in zip(LONG.items(), shown["cells"][-2:], strict=True):
        assert cell["source"] == "é" * 10_000 + rest


def test_of_a_submission_s_settings_only_the_cells_roles_are_kept(shown):
    assert sorted(shown["metadata"]) == ["kernelspec", "language_info"]
    assert [cell["id"] for cell in shown["cells"]] == [
        f"cell-{number}" for number in range(len(shown["cells"]))
    ]
    assert all(cell["metadata"] == ROLE for cell in shown["cells"])


def test_outputs_are_made_anew_of_text_and_pictures(shown):
    kinds = {"execute_result": "display_data"}
    for cell in shown["cells"][-2:]:
        found = [{**output} for output in cell["outputs"]]
        assert [each.pop("output_type") for each in found] == [
            kinds.get(kind, kind) for kind, _, made in OUTPUTS if made
        ]
        assert all(each.pop("metadata", {}) == {} for each in found)
        assert found == [made for *_, made in OUTPUTS if made]


# What nbgrader is set to do


def test_what_is_set_is_what_pages_say():
    code = """
        import json
        from pathlib import Path
        from traitlets.config import Config
        from course.grading.executing import JudgedExecute
        from course.grading.settings import settle
        c = Config()
        settle(c, Path("/course"))
        step = JudgedExecute(config=c)
        limits = ("timeout", "call_timeout", "most_seconds", "most_restarts", "most_output")
        print(json.dumps({
            "limits": [getattr(step, name) for name in limits],
            "without a sandbox": step.run_student_code_unconfined,
            "course": c.CourseDirectory,
            "exchange": [found.__name__ for found in (
                c.ZipCollectApp.extractor_plugin,
                c.ExchangeFactory.collect,
                c.ExchangeFactory.release_feedback,
            )],
            "templates": [
                Path(place, name).is_dir()
                for place, name in zip(
                    c.HTMLExporter.extra_template_basedirs, ("base", "formgrade"), strict=True
                )
            ],
            "door": c.Autograde.pre_convert_hook.__name__,
            "page": [c.IncludeHeaderFooter.header, c.JudgedExecute.extra_arguments],
            "steps": {
                kind: [step.__name__ for step in c[section][name]]
                for kind, section, name in (
                    ("release", "GenerateAssignment", "preprocessors"),
                    ("before", "Autograde", "sanitize_preprocessors"),
                    ("grade", "Autograde", "autograde_preprocessors"),
                    ("feedback", "GenerateFeedback", "preprocessors"),
                )
            },
        }))
    """
    found = asked(code)
    assert found["limits"] == [30, 10, 300, 5, 1_000_000]  # as README.md says
    assert not found["without a sandbox"]
    assert found["course"] == {
        "course_id": "attention",
        "root": "/course",
        "db_url": "sqlite:////course/scores.db?timeout=60",
    }
    assert found["exchange"] == ["UnpackNothing", "ByTheDoor", "ReleaseFeedback"]
    assert found["templates"] == [True, True]
    assert found["door"] == "only_collected"
    assert found["page"] == ["", ["--log-level=ERROR"]]
    steps = found["steps"]
    assert steps["release"][0] == "SetClassSeed"
    assert "AddHiddenTests" in steps["before"]
    assert "OverwriteCells" not in steps["before"]
    assert steps["grade"][-1] == "ShowOnly"  # the last one: nothing is added to what is shown
    assert "JudgedExecute" in steps["grade"]
    assert "Execute" not in steps["grade"]
    assert steps["feedback"][-1] == "InertPage"
    assert min(map(len, steps.values())) > 2
