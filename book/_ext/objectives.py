"""A table of what readers can do afterwards, made of the sources at every build."""

import objectives_source
from sphinx.util.docutils import SphinxDirective


class Objectives(SphinxDirective):
    """What each chapter is for, and what tests it."""

    def run(self):
        self.env.note_dependency(str(objectives_source.SOURCE))
        for name in objectives_source.read():
            for path in objectives_source.files(name):
                self.env.note_dependency(str(path))
        try:
            return self.parse_text_to_nodes(objectives_source.table())
        except (OSError, ValueError, KeyError) as problem:
            raise self.error(f"objectives: {problem!r}") from problem


def setup(app):
    app.add_directive("objectives", Objectives)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
