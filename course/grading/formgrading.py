"""What Formgrader's pages may run: the scripts of its own templates, and no other."""

from __future__ import annotations

import base64
import hashlib
import secrets
import sys

from jinja2.ext import Extension

# Whose handlers are changed here; a test compares with constraints.txt.
WRITTEN_FOR = {"nbgrader": "0.9.5"}
MARK = secrets.token_urlsafe(16)  # which nobody knew who wrote what a page shows
CLICKS = ("toggle_name(true);", "toggle_name(false);", "toggleAllNames()")  # in its templates


class Marked(Extension):
    """Mark the scripts of a template, before anything else is put into it."""

    def preprocess(self, source, name, filename=None):
        """Mark the scripts of one template."""
        return source.replace("<script", f'<script nonce="{MARK}"')


def policy(handler: object = None) -> str:
    """Return what a page may load and run."""
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in CLICKS)
    clicks = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'nonce-{MARK}' 'unsafe-hashes' {clicks}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )


def guard() -> None:
    """Give the pages of a Formgrader that runs in this process their policy."""
    handlers = sys.modules.get("nbgrader.server_extensions.formgrader.handlers")
    if not handlers:
        return

    def marked(handler, key="nbgrader_exporter"):
        made = handler.settings[key]
        getattr(made, "environment", made).add_extension(Marked)
        return made

    def render(handler, template, **about):
        return marked(handler, "nbgrader_jinja2_env").get_template(template).render(**about)

    handlers.BaseHandler.exporter = property(marked)
    handlers.BaseHandler.render = render
    handlers.BaseHandler.content_security_policy = property(policy)
    handlers.SubmissionFilesHandler.content_security_policy = "sandbox"
