"""Set up nbgrader: this folder is the course's root, and our judge runs the tests.

What is set stands in `course/grading/settings.py`. Change it there, or below.
"""

import sys
from pathlib import Path

c = get_config()  # noqa: F821 - traitlets gives it

try:
    from course.grading.settings import settle

    settle(c, Path(__file__).resolve().parent)
except Exception as problem:  # nbgrader would go on, by rules that are not ours, and give zeros
    sys.exit(
        "Nothing is done: course/nbgrader_config.py does not load. Is .venv-course first on the "
        f"PATH, as the page Assign and grade says, and up to date? {type(problem).__name__}: "
        f"{problem}"
    )
