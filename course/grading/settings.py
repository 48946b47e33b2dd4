"""What nbgrader is set to do in a course's folder; `course/nbgrader_config.py` asks for it."""

import functools
import warnings
from pathlib import Path

import nbgrader.api
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.preprocessors import Execute, OverwriteCells

from course.grading import steps
from course.grading.door import only_collected
from course.grading.executing import JudgedExecute
from course.grading.formgrading import guard
from course.grading.showing import ShowOnly

# Of which a method and a name are replaced here; a test compares with constraints.txt.
WRITTEN_FOR = {"nbgrader": "0.9.5"}
for converter in (Autograde, GenerateFeedback):
    converter.convert_single_notebook = steps.in_time(converter.convert_single_notebook)
# A notebook's steps open the gradebook ten times; each would compile all statements anew.
nbgrader.api.create_engine = functools.cache(nbgrader.api.create_engine)


def settle(c, root: Path) -> None:
    """Set nbgrader's configuration for the course in a folder."""
    # SQLAlchemy says this of nbgrader's own code, whatever students hand in.
    warnings.filterwarnings("ignore", "Object of type <Submitted.*> not in session")

    guard()
    c.CourseDirectory.course_id = "attention"
    c.CourseDirectory.root = str(root)
    # Not by nbgrader's own name: where this is not loaded, it finds no assignment to grade.
    c.CourseDirectory.db_url = f"sqlite:///{root}/scores.db?timeout=60"  # seconds to wait
    c.IncludeHeaderFooter.header = ""
    release = GenerateAssignment.preprocessors.default()
    c.GenerateAssignment.preprocessors = [steps.SetClassSeed, *release]
    c.Autograde.pre_convert_hook = only_collected
    ours = {OverwriteCells: steps.AddHiddenTests, Execute: JudgedExecute}
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        before = getattr(Autograde, name).default()
        c.Autograde[name] = [ours.get(step, step) for step in before]
    c.Autograde.autograde_preprocessors.append(ShowOnly)
    # A kernel's warnings are about no student.
    c.JudgedExecute.extra_arguments = ["--log-level=ERROR"]
    c.JudgedExecute.timeout = 30  # seconds for a cell
    c.JudgedExecute.call_timeout = 10  # seconds for one call of a student's function in a test
    c.JudgedExecute.most_seconds = 300  # seconds for a notebook, whatever it does

    c.ZipCollectApp.extractor_plugin = steps.UnpackNothing
    c.ExchangeFactory.collect = steps.ByTheDoor
    # A template of ours replaces nbconvert's, which would ask another host.
    theirs = Path(nbgrader.__file__).parent / "server_extensions/formgrader"
    templates = [str(folder / "templates") for folder in (Path(__file__).parent, theirs)]
    c.HTMLExporter.extra_template_basedirs = templates
    c.GenerateFeedback.preprocessors = [*GenerateFeedback.preprocessors.default(), steps.InertPage]
    c.ExchangeFactory.release_feedback = steps.ReleaseFeedback
