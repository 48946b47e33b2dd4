"""Attention mechanisms in NumPy, small enough to read and tested enough to trust.

Importing this package loads NumPy and nothing else. The figures of the book are drawn by
``attnbook.plotting``, the only module that imports Matplotlib. It is imported by its name, as are
``attnbook.pretrained`` (trained models) and ``attnbook.toys``.
"""

from attnbook import exercises as exercises
from attnbook.decoder import *
from attnbook.diagnostics import *
from attnbook.functional import *
from attnbook.gradients import *
from attnbook.layers import *
from attnbook.long import *
from attnbook.masks import *
from attnbook.positional import *
from attnbook.training import *

__version__ = "0.2.0.dev0"

# What each module calls its own, and what is imported by its name.
_HERE = {name for name, thing in vars().items() if hasattr(thing, "__module__") and name[0] != "_"}
__all__ = sorted({*_HERE, "exercises", "plotting", "pretrained", "toys"})
