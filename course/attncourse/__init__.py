"""What grades the assignments: tasks, a judge, and how nbgrader runs them.

Instructors only. Students have the package `attnbook` and the released notebooks.
"""

from attncourse.judging import judge, judge_loops, judge_value

__all__ = ["judge", "judge_loops", "judge_value"]
