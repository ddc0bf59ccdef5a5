"""What our HTML pages share: a stylesheet, sortable tables, a policy that forbids a network."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache

from ethosgen.host.resources import template_folder

BASE = "base.css"
"""The stylesheet of all pages."""
TABLES = "tables.js"
"""Sorts tables; it needs no other script."""


@cache
def page_file(name: str) -> str:
    """Return a stylesheet or a script of the pages."""
    return (template_folder("report") / name).read_text("utf-8")


def joined_script(names: Sequence[str]) -> str:
    """Return one script of several files, which share their names with each other only."""
    return '"use strict";\n(() => {\n' + "\n".join(map(page_file, names)) + "})();\n"


def content_policy(styles: str, scripts: Sequence[str], has_picture: bool = False) -> str:
    """Return a Content-Security-Policy that allows these and nothing from elsewhere.

    A picture that another program drew has styles of its own inside.
    """
    style = "'unsafe-inline'" if has_picture else _hash(styles)
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; style-src {style}; script-src {allowed}; img-src 'none'; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
