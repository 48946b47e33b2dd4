"""A step of nbgrader's feedback: long lines of output go on below."""

from __future__ import annotations

from nbgrader.preprocessors import NbGraderPreprocessor

# Bootstrap, which nbgrader brings, would break within words.
STYLE = ".output_area pre { white-space: pre-wrap; overflow-wrap: anywhere; word-break: normal }"


class WrapOutput(NbGraderPreprocessor):
    """Wrap outputs, since nbgrader's page cuts a message off at its right edge.

    A template of our own would not do: Formgrader makes feedback by nbgrader's, whatever is set.
    """

    def preprocess(self, nb, resources):
        """Add to the page's styles, which CSSHTMLHeaderPreprocessor has begun."""
        resources["inlining"]["css"].append(STYLE)
        return nb, resources
