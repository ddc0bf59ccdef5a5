"""The environment that fills templates, and its cache of compiled ones."""

import os
from functools import cache

import jinja2

from ethosgen.host.folders import cache_folder
from ethosgen.host.resources import template_folder
from ethosgen.values.grammar import counted


@cache
def make_environment(folders: tuple[str, ...]) -> jinja2.Environment:
    """Return the environment for some template folders; each is parsed once in a process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(
            [template_folder(folder) for folder in (*folders, "ci", "device")]
        ),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_bytecode_cache(),
    )
    environment.filters["counted"] = counted
    return environment


def _bytecode_cache() -> jinja2.BytecodeCache | None:
    """Return the user's cache of compiled templates, None if it cannot be written.

    Compiling the fifty templates of a project takes a tenth of its time. Jinja identifies a
    template by its path and the digest of its source.
    """
    folder = cache_folder() / "templates"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return jinja2.FileSystemBytecodeCache(str(folder)) if os.access(folder, os.W_OK) else None
