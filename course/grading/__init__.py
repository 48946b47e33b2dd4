"""What grades the assignments: a judge, and what nbgrader is given to run it and to collect."""

from course.grading.judging import judge, judge_value

__all__ = ["judge", "judge_value"]
