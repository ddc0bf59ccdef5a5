"""Plug-ins for QEMU, compiled for this machine and its QEMU's interface."""

import re
from pathlib import Path

from ethosgen.host.kept_files import compiled_file
from ethosgen.host.tools import HOST_GCC, QEMU, CommandError, run_command
from ethosgen.values.errors import ToolError

_LIMIT_S = 60.0
_VERSION = re.compile(r"version (\d+)\.")
_FIRST_WITH_NEW_PLUGINS = 9
_MOST_KEPT = 16
"""Plug-ins in the cache: there are a few, each for a version of ethosgen, QEMU and the compiler."""


def stored_plugin(source: Path, what: str) -> Path:
    """Return the plug-in in the user's cache folder, compiled if missing.

    `what` names it in messages. ToolError without a C compiler for this machine or QEMU, or if one
    of them fails.
    """

    def build(into: Path) -> Path:
        plugin = into / f"{source.stem}.so"
        _build(source, plugin, what)
        return plugin

    facts = (_interface(), str(HOST_GCC.find()), source.read_text("utf-8"))
    return compiled_file("plugins", f"{source.stem}.so", facts, build, _MOST_KEPT)


def _build(source: Path, plugin: Path, what: str) -> None:
    command = [str(HOST_GCC.find()), "-O2", "-shared", "-fPIC", f"-DPLUGIN_VERSION={_interface()}"]
    try:
        run_command([*command, "-o", str(plugin), str(source)], _LIMIT_S)
    except CommandError as error:
        raise ToolError(f"cannot build {what}: {error}") from None


def _interface() -> int:
    """Return the version of QEMU's interface for plug-ins."""
    try:
        match = _VERSION.search(run_command([str(QEMU.find()), "--version"], _LIMIT_S))
    except CommandError as error:
        raise ToolError(f"QEMU does not report its version: {error}") from None
    return 2 if match and int(match[1]) >= _FIRST_WITH_NEW_PLUGINS else 1
