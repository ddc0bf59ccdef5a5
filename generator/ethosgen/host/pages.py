"""The common part of our HTML pages: stylesheet, sortable tables, a policy without a network."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape

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
    """Return several files as one script, with names that only they share."""
    return '"use strict";\n(() => {\n' + "\n".join(map(page_file, names)) + "})();\n"


def content_policy(styles: str, scripts: Sequence[str], has_picture: bool = False) -> str:
    """Return a Content-Security-Policy that allows these and nothing from elsewhere.

    A picture by another program contains its own styles.
    """
    style = "'unsafe-inline'" if has_picture else _hash(styles)
    images = "data:" if has_picture else "'none'"
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; style-src {style}; script-src {allowed}; img-src {images}; "
        "connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def framed_page(title: str, heading: str, parts: Iterable[str], generator: str = "ethosgen") -> str:
    """Return a page with the common look around HTML; `generator` is the command that wrote it.

    The parts may contain pictures by other programs.
    """
    styles, script = page_file(BASE), joined_script([TABLES])
    policy = content_policy(styles, [script], has_picture=True)
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta name="generator" content="{escape(generator)}">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{styles}</style></head><body>",
        f"<header><h1>{escape(heading)}</h1></header><main>",
        *parts,
        f"</main><script>{script}</script></body></html>",
    ]
    return "\n".join(filter(None, lines)) + "\n"


def command_line(command: str) -> str:
    """Return the command that made a page, "" if it is not known."""
    if not command:
        return ""
    region = 'tabindex="0" role="region" aria-label="Command"'
    return f"<pre {region}><code>{escape(command)}</code></pre>"


def figure(svg: str, label: str) -> str:
    """Return a drawn picture in a region that scrolls; in dark mode its colours are inverted."""
    picture = svg[svg.index("<svg") :].replace(
        "<svg", f'<svg role="img" aria-label="{escape(label)}"', 1
    )
    return f'<figure tabindex="0" role="region" aria-label="Picture">{picture}</figure>'


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
