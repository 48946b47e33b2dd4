"""Waiting for a condition, never for a time: a machine that does much else is slow, not wrong."""

import time

import pytest
from playwright.sync_api import Error

from tools import PATIENCE


def wait_for(page, condition, what, arg=None, polling=20):
    """Wait until a JavaScript condition holds; else say what was waited for in vain.

    Asked from here, each 20 ms: Playwright's own waiting would evaluate a string in the page,
    which the policy of the site forbids.
    """
    end, holds = time.monotonic() + PATIENCE, False
    while not holds:
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE} s in vain: {what}")
        try:
            holds = page.evaluate(condition, arg)
        except Error as error:
            if "context was destroyed" not in str(error):  # as when a page leads on to another
                raise
        if not holds:
            page.wait_for_timeout(polling)


# JupyterLab, or JupyterLite, takes commands.
STARTED = "() => window.jupyterapp?.commands.hasCommand('docmanager:open')"

# The page is laid out to its last section, its fonts are there, and what scrolls is found among
# what changed with them.
SETTLED = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  do await drawn(); while (document.documentElement.matches(".in-parts"));
  await document.fonts.ready;
  await drawn();
}"""

# What a function sees once it has seen the same in 20 frames, one after another.
RESTED = """async () => {
  let seen, same = 0;
  for (let frame = 0; same < 20 && frame < 2000; frame++) {
    const now = JSON.stringify((LOOK)() ?? null);
    same = now === seen && now !== "null" ? same + 1 : 0;
    seen = now;
    await new Promise(requestAnimationFrame);
  }
  return same && JSON.parse(seen);
}"""


def at_rest(page, look="() => scrollY"):
    """Return what a function in the page sees, once it does not move."""
    return page.evaluate(RESTED.replace("LOOK", look))
