"""Build the site with the newest versions of what it is built with, into _build/newest.

`make test-newest` names the folders of our extensions in PYTHONPATH.

Without Jupyter Book, which holds Sphinx back: its settings are read, and of what it adds those that
the pages need. No cell is executed; the package's tests run beside this.
"""

import sys
from importlib.metadata import version

import yaml
from sphinx.application import Sphinx

from tools.pins import ROOT, written_for

BUILD = ROOT / "_build/newest"


def settings() -> dict:
    """Return Sphinx's settings."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config, html = book["sphinx"]["config"], book["html"]
    config["extensions"].remove("jupyter_book")
    config |= {name: book[name] for name in ("author", "copyright", "exclude_patterns")}
    config["exclude_patterns"] += ["_build", "**.ipynb_checkpoints"]
    config |= {"html_baseurl": html["baseurl"], "html_favicon": html["favicon"]}
    config |= {"project": book["title"], "html_title": book["title"], "html_sourcelink_suffix": ""}
    config |= {"myst_enable_extensions": book["parse"]["myst_enable_extensions"]}
    config |= {"external_toc_path": "_toc.yml", "external_toc_exclude_missing": True}
    config |= {"numfig": True, "nitpicky": True, "suppress_warnings": ["myst.domains"]}
    config["nb_execution_mode"] = "off"
    return config


def main() -> None:
    """Say which code was written for another version; build, and fail at a warning."""
    for (path, package), pinned in written_for().items():
        try:
            newest = version(package)
        except ModuleNotFoundError:  # it is used elsewhere
            continue
        if newest != pinned:
            print(f"{path} was written for {package} {pinned}; this is {newest}")
    app = Sphinx(
        ROOT, None, BUILD / "html", BUILD / "doctrees", "html", settings(), status=None,
        freshenv=True, warningiserror=True,
    )  # fmt: skip
    app.build(force_all=True)
    if app.statuscode:
        sys.exit("the site was not built")
    print(f"built with Sphinx {version('sphinx')}, MyST-NB {version('myst-nb')}")
