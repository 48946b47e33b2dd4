"""What *The package* says beside docstrings: import, section, source."""

import functools
import inspect
import sys
from operator import attrgetter

import attnbook
from course.chapters import ROOT, chapters
from course.pages import public_address
from course.words import say


@functools.cache
def taught():
    """Return the section that teaches each name, as the chapters say, by its path in attnbook."""
    return {name: label for chapter in chapters() for name, label in chapter.teaches.items()}


def imported(module, name):
    """Return a name's path in attnbook, as it is imported, and the line that imports it."""
    if getattr(attnbook, name, None) is getattr(sys.modules[module], name):
        return name, f"``from attnbook import {name}``"
    path = f"{module.removeprefix('attnbook.')}.{name}"
    package, _, namespace = module.rpartition(".")
    if package == "attnbook":
        return path, f"``from {module} import {name}``"
    return path, f"``from {package} import {namespace}``, then ``{namespace}.{name}``"


def introduce(app, what, fullname, thing, options, lines):
    """Begin a docstring with the import of the thing, and a link to its section."""
    module, _, name = fullname.rpartition(".")
    if module not in sys.modules or what == "module":  # a method, or a module itself
        return
    path, text = imported(module, name)
    if path in taught():
        text += f" · {say('taught', section=f':ref:`{taught()[path]}`')}"
    lines[:0] = [text, ""]


def is_field(app, what, name, thing, skip, options):
    """Leave out the fields of a class, which its own docstring describes."""
    method = callable(thing) or isinstance(thing, property | classmethod | staticmethod)
    return True if what == "class" and not method else None


def source_address(domain, about):
    """Return where a definition is shown to all, or None: a field has none."""
    module = sys.modules[about["module"]]
    thing = inspect.unwrap(attrgetter(about["fullname"])(module))
    try:
        lines, first = inspect.getsourcelines(thing)
        path = ROOT.joinpath(inspect.getsourcefile(thing)).relative_to(ROOT)
    except TypeError:
        return None
    return f"{public_address(ROOT / path)}#L{first}-L{first + len(lines) - 1}"


def resolve(app, config):
    config.linkcode_resolve = source_address
    config.release = attnbook.__version__  # which stands at the foot of every page


def setup(app):
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("config-inited", resolve)
    # After Napoleon, which has the default priority and reads docstrings alone.
    app.connect("autodoc-skip-member", is_field)
    app.connect("autodoc-process-docstring", introduce, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
